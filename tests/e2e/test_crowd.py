"""Many services, and many things at one moment."""
import os
import resource
import signal
import subprocess
import threading
import time

import pytest

from harness import SLACK, children_of, until

QUICK = "'trap \"exit 0\" TERM; echo tick; while :; do sleep 1; done'"


def cpu(pid):
    with open("/proc/%d/stat" % pid) as f:
        words = f.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def crowd(n, more=""):
    lines = ["reeve: {boot-timeout: 120s, shutdown-timeout: 60s%s}" % more, "services:"]
    for i in range(n):
        lines.append("  s%d:\n    command: [/bin/sh, -c, %s]\n    stop: {timeout: 20s}\n    restart: {on: failure, delay: 50ms}" % (i, QUICK))
        if i % 50 == 0:
            lines.append("    ready: {exec: [/bin/true], timeout: 100s}")
        if i >= n * 4 // 5:
            lines.append("    needs: [s%d, s%d]" % (i - n * 4 // 5, (i - n * 4 // 5 + 1) % (n // 5)))
    return "\n".join(lines)


def limited(soft, hard):
    return ("/bin/sh", "-c", 'ulimit -Sn %s; ulimit -Hn %s; exec "$0" "$@"' % (soft, hard))


@pytest.mark.parametrize("soft, hard", [(256, 4096), (4096, 4096)])
def test_hundreds_start_lose_half_at_one_moment_and_end_with_none_forgotten(reeve, soft, hard):
    n = 300
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
        pytest.skip("the hard limit of descriptors is below %d" % hard)
    r = reeve(crowd(n), wrap=limited(soft, hard))
    t = time.monotonic()
    r.wait_ready(120)
    assert time.monotonic() - t < 60 * SLACK
    first = {k: s["pid"] for k, s in r.services().items()}
    assert len(first) == n
    victims = [first["s%d" % i] for i in range(n // 2)]
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    gone = set(victims)
    until("all to be back", lambda: all(s["state"] == "ready" and s["pid"] not in gone for s in r.services().values()), 60, 0.2)
    assert r.term(90) == 0
    assert "did not stop in time" not in r.stderr


def test_a_crowd_that_sleeps_costs_next_to_nothing(reeve):
    r = reeve("services:\n" + "".join("  s%d: {command: [/bin/sleep, '1000']}\n" % i for i in range(300)))
    r.wait_ready(60)
    until("the host to leave", lambda: len(children_of(r.pid)) == 300)
    before = cpu(r.pid)
    time.sleep(2)
    assert cpu(r.pid) - before <= 0.1
    assert r.term(60) == 0


def test_a_deaf_crowd_is_killed_side_by_side(reeve):
    r = reeve("reeve: {boot-timeout: 60s}\nservices:\n" + "".join(
        "  s%d: {command: [/bin/sh, -c, 'trap \"\" TERM; echo >&3; while :; do sleep 5; done'], ready: {fd: 3}, stop: {timeout: 1s}}\n" % i for i in range(150)))
    r.wait_ready(60)
    t = time.monotonic()
    assert r.term(60) == 0
    assert 0.9 <= time.monotonic() - t < 25 * SLACK, "not one after the other"
    assert r.stderr.count("did not stop in time: killed") == 150


def test_log_files_that_cannot_all_be_open_are_named_before_anything_starts(reeve):
    r = reeve("services:\n" + "".join("  s%d: {command: [/bin/sh, -c, 'touch \"$TMPDIR/started\"']}\n" % i for i in range(60)), wrap=limited(64, 64))
    assert r.wait() == 10
    assert "cannot open log" in r.stderr and "Too many open files" in r.stderr and "ulimit -n" in r.stderr and "service s" in r.stderr
    assert not os.path.exists(r.path("started"))


def test_where_descriptors_run_out_those_that_do_not_fit_are_named_and_the_rest_goes_on(reeve):
    r = reeve("reeve: {on-boot-failure: continue}\nservices:\n" + "".join(
        "  s%d: {command: [/bin/sleep, '1000'], restart: {on: never}, log: null}\n" % i for i in range(60)), wrap=limited(64, 64))
    r.wait_socket()
    now = until("all to be decided", lambda: (lambda s: s and all(v["state"] in ("ready", "failed") for v in s.values()) and s)(r.services()), 30)
    up = [n for n, s in now.items() if s["state"] == "ready"]
    down = [n for n, s in now.items() if s["state"] == "failed"]
    assert len(up) > 5 and len(down) > 5
    assert all("Too many open files" in now[n]["detail"] for n in down)
    assert r.ctl("stop", up[0], up[1], up[2]).returncode == 0
    assert r.ctl("start", down[0]).returncode == 0, "there is room again"
    before = cpu(r.pid)
    time.sleep(1)
    assert cpu(r.pid) - before <= 0.1, "no spinning"
    assert r.term() == 0


# the truth that a client never blocks the loop
def test_two_hundred_deaths_at_one_moment_while_status_is_asked_all_the_time(reeve):
    n = 200
    r = reeve("reeve: {boot-timeout: 60s}\nservices:\n" + "".join(
        "  s%d: {command: [/bin/sleep, '1000'], restart: {on: always, delay: 50ms}}\n" % i for i in range(n)))
    r.wait_ready(60)
    pids = {s["pid"] for s in r.services().values()}
    over, seen, slow = threading.Event(), [], []

    def ask():
        while not over.is_set():
            t = time.monotonic()
            seen.append(len(r.services()))
            slow.append(time.monotonic() - t)
    clients = [threading.Thread(target=ask) for _ in range(3)]
    for c in clients:
        c.start()
    try:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        until("all to be back", lambda: all(s["state"] == "ready" and s["pid"] not in pids for s in r.services().values()), 40)
    finally:
        over.set()
        for c in clients:
            c.join(30 * SLACK)
    assert set(seen) == {n}, "every answer is complete"
    assert max(slow) < 10 * SLACK
    assert all(s["restarts"] == 1 for s in r.services().values())
    assert r.term(60) == 0


def test_a_signal_and_a_client_are_heard_between_the_starts_of_a_crowd(reeve):
    n = 800
    r = reeve("reeve: {boot-timeout: 120s}\nservices:\n" + "".join("  s%d: {command: [/bin/sleep, '1000'], log: null}\n" % i for i in range(n)))
    r.wait_text("ready")
    assert r.ctl("version").returncode == 0
    assert r.term() == 0
    begun = r.stderr.count(": ready")
    assert 0 < begun < n, "%d of %d were started before the signal was heard" % (begun, n)
