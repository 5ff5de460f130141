"""Where reeve can live and what it costs there: ordinary user, read-only root, memory, quiet (design: truths 5 and 7)."""
import os
import time

import pytest

import harness
from harness import children_of, until

SLEEP = "services: {a: {command: [/bin/sleep, '1000']}, b: {command: [/bin/sleep, '1000'], needs: [a]}}"


def private_kib(pid):
    total = 0
    with open("/proc/%d/smaps_rollup" % pid) as f:
        for line in f:
            if line.startswith(("Private_Clean:", "Private_Dirty:")):
                total += int(line.split()[1])
    return total


def switches(pid):
    with open("/proc/%d/status" % pid) as f:
        return sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)


@pytest.mark.root
def test_it_runs_as_an_ordinary_user(reeve):
    r = reeve("reeve: {runtime-dir: '${env.TMPDIR}/own/run', log: {dir: '${env.TMPDIR}/own/log'}}\n" + SLEEP,
              wrap=("/bin/sh", "-c", 'mkdir -m 0777 own; exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" "$@"'))
    r.socket = r.path("own", "run", "control.sock")
    r.wait_ready()
    assert os.stat("/proc/%d" % r.service("a")["pid"]).st_uid == 65534
    assert r.term() == 0


@pytest.mark.root
def test_a_limit_of_processes_that_is_reached_is_named(reeve):
    r = reeve("reeve: {runtime-dir: '${env.TMPDIR}/own/run', log: {dir: '${env.TMPDIR}/own/log'}}\nservices:\n"
              + "".join("  s%d: {command: [/bin/sleep, '1000']}\n" % i for i in range(8)),
              wrap=("/bin/sh", "-c", 'mkdir -m 0777 own; exec setpriv --reuid 54321 --regid 54321 --clear-groups prlimit --nproc=6 "$0" "$@"'))
    assert r.wait() == 10
    assert "cannot create a process for /bin/sleep: there are as many as may be (raise the limit: ulimit -u" in r.stderr


@pytest.mark.root
def test_an_ordinary_user_is_told_what_is_missing(reeve):
    r = reeve("reeve: {runtime-dir: /run/reeve-nobody-may}\n" + SLEEP,
              wrap=("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"))
    assert r.wait() == 10
    assert "/run/reeve-nobody-may" in r.stderr and "runtime-dir" in r.stderr and "Permission denied" in r.stderr


@pytest.mark.root
def test_another_user_is_refused_by_name_when_we_are_not_root(reeve):
    r = reeve("services: {a: {command: [/bin/sleep, '1000'], user: root}}",
              wrap=("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"))
    assert r.wait() == 78
    assert "root" in r.stderr and "reeve.yaml:1:" in r.stderr


# everything read-only but the folder of the test, which is the current one
READ_ONLY = """
here=$(pwd) && mount --make-rprivate / && mount --rbind / /mnt && mount -o remount,bind,ro /mnt &&
mount --bind "$here" "/mnt$here" && exec chroot /mnt "$0" "$@"
"""


@pytest.mark.root
@pytest.mark.pid1
def test_it_runs_on_a_read_only_root_with_two_writable_places(reeve):
    r = reeve(SLEEP, wrap=("unshare", "-m", "/bin/sh", "-c", READ_ONLY))
    r.wait_ready()
    with open("/proc/%d/mountinfo" % r.pid) as f:
        assert any(line.split()[4] == "/" and line.split()[5].startswith("ro") for line in f)
    assert r.term() == 0


@pytest.mark.root
def test_a_log_folder_that_cannot_be_written_is_named_with_its_key(reeve):
    r = reeve("reeve: {log: {dir: /proc/nowhere}}\n" + SLEEP)
    assert r.wait() == 10
    assert "/proc/nowhere" in r.stderr and "log.dir" in r.stderr


def test_the_daemon_never_maps_libcurl_not_even_with_http_checks(reeve, free_port):
    port = free_port()
    r = reeve("""
services:
  web:
    command: [/usr/bin/python3, -m, http.server, "%d", --bind, 127.0.0.1]
    working-dir: "${env.TMPDIR}/empty"
    ready: {http: {url: "http://127.0.0.1:%d/"}, timeout: 30s}
""" % (port, port), files={"empty/x": ""})
    r.wait_ready()
    with open("/proc/%d/maps" % r.pid) as f:
        maps = f.read()
    assert "libcurl" not in maps and "http.so" not in maps
    assert r.term() == 0


def test_an_idle_daemon_does_not_wake_up(reeve):
    r = reeve(SLEEP)
    r.wait_ready()
    pid = r.pid
    until("the host to leave", lambda: len(children_of(pid)) == 2, 90)

    def quiet(seconds):
        before = switches(pid)
        time.sleep(seconds)
        return switches(pid) - before <= 1
    until("the end of what the last request left to do", lambda: quiet(0.2))
    assert quiet(2.5), "woken while nothing happened"
    assert r.term() == 0


@pytest.mark.skipif(harness.sanitized(),
                    reason="sanitizers use memory of their own")
def test_private_memory_with_four_services_is_under_a_mebibyte(reeve):
    r = reeve("services: {%s}" % ", ".join("s%d: {command: [/bin/sleep, '1000']}" % i for i in range(4)))
    r.wait_ready()
    assert private_kib(r.pid) < 1024
    assert r.term() == 0


def test_two_hundred_services_work_under_a_small_descriptor_limit(reeve):
    graph = "services:\n" + "".join("  s%d: {command: [/bin/sh, -c, 'trap \"exit 0\" TERM; echo tick; while :; do sleep 1; done']}\n" % i for i in range(200))
    r = reeve(graph, wrap=("/bin/sh", "-c", 'ulimit -Sn 256; exec "$0" "$@"'))
    r.wait_ready(60)
    assert len([s for s in r.services().values() if s["state"] == "ready"]) == 200
    pids = [s["pid"] for s in r.services().values()][:100]
    for p in pids:
        os.kill(p, 9)
    until("all to be back", lambda: all(s["state"] == "ready" for s in r.services().values()) and not set(pids) & {s["pid"] for s in r.services().values()}, 30)
    assert r.term() == 0


@pytest.mark.parametrize("most", [8, 12])
def test_a_descriptor_limit_that_is_too_low_is_named(reeve, most):
    r = reeve("services: {a: {command: [/bin/sleep, '1000']}}", wrap=("/bin/sh", "-c", 'ulimit -n %d; exec "$0" "$@"' % most))
    assert r.wait() == 10
    assert "ulimit -n" in r.stderr and "Invalid argument" not in r.stderr, r.stderr


def test_a_reader_of_our_own_log_that_stops_reading_stops_nothing(reeve):
    r = reeve("""
services:
  a: {command: [/bin/sh, -c, 'sleep 0.01; exit 1'], restart: {on: always, delay: 0ms, limit: 0}}
  b: {command: [/bin/sleep, "1000"]}
""", args=("-v",), wrap=("/usr/bin/python3", "-c", """
import fcntl, os, sys
read, write = os.pipe()
fcntl.fcntl(write, 1031, 4096)  # F_SETPIPE_SZ
os.set_inheritable(read, True)  # kept open by reeve's own parent process image, never read
os.dup2(write, 2)
os.execv(sys.argv[1], sys.argv[1:])
"""))
    r.wait_state("b", "ready")
    until("more lines than the pipe holds", lambda: r.service("a")["restarts"] > 100, 60)
    t = time.monotonic()
    assert r.ctl("status").returncode == 0
    assert time.monotonic() - t < 15 * harness.SLACK
    assert r.term() == 0
