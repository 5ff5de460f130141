"""Boot: order, readiness, and what a failure does (R-09, R-10, R-11, R-24, R-30, R-58, R-59, R-65)."""
import json
import os
import re
import socket
import time

import pytest

import harness
from harness import until

# node.py NAME FILE [SECONDS-TO-STOP] [SECONDS-TO-BE-READY]: records start, term and gone with a monotonic stamp. In place of the
# seconds to stop, the name of another: this one goes when that one has been asked to go, too.
NODE = """
import os, signal, sys, time
name, path = sys.argv[1], sys.argv[2]
def say(word):
    with open(path, "a") as f: f.write("%s %s %.4f\\n" % (word, name, time.monotonic()))
def linger(how):
    if how[0].isdigit(): return time.sleep(float(how))
    while "term %s " % how not in open(path).read(): time.sleep(0.02)
def term(*_):
    say("term"); linger(sys.argv[3]); say("gone"); os._exit(0)
signal.signal(signal.SIGTERM, term)
say("start")
if len(sys.argv) > 4:
    time.sleep(float(sys.argv[4])); say("ready"); os.write(3, b"\\n")  # said first: the next one starts with the write
while True: time.sleep(60)
"""


def events(r, name="events"):
    out = []
    for line in r.read(name).splitlines():
        word, who, at = line.split()
        out.append((word, who, float(at)))
    return out


def when(ev, word, who):
    return [t for w, n, t in ev if w == word and n == who][0]


def side_by_side(r, a, b):
    """Each of them went only when the other had been asked to go, and did: neither had to be killed."""
    ev = events(r)
    return when(ev, "term", a) < when(ev, "gone", b) and when(ev, "term", b) < when(ev, "gone", a) and "did not stop in time" not in r.stderr


def graph(edges, extra=None):
    """YAML of nodes that record what happens; edges: name -> list of needs."""
    extra = extra or {}
    lines = ["services:"]
    for name, needs in edges.items():
        more = extra.get(name, {})
        lines += ["  %s:" % name,
                  "    command: [/usr/bin/python3, node.py, %s, events, '%s', '%s']" % (name, more.get("slow", 0), more.get("delay", 0.05)),
                  "    working-dir: ${env.TMPDIR}", "    ready: {fd: 3}", "    needs: [%s]" % ", ".join(needs),
                  "    stop: {signal: TERM, timeout: %s}" % more.get("timeout", "10s")]
    return "\n".join(lines)


DIAMOND = {"db": [], "cache": ["db"], "queue": ["db"], "api": ["cache", "queue"], "web": ["api", "db"]}


@pytest.fixture
def node(reeve):
    def run(edges, extra=None, **more):
        return reeve(graph(edges, extra), files={"node.py": NODE}, **more)
    return run


def test_services_start_only_after_what_they_need_is_ready(node):
    r = node(DIAMOND)
    r.wait_ready()
    ev = events(r)
    for name, needs in DIAMOND.items():
        for n in needs:
            assert when(ev, "ready", n) <= when(ev, "start", name), (n, name)
    assert r.term() == 0


def test_teardown_is_the_exact_reverse_and_branches_go_side_by_side(node):
    slow = {"web": {"slow": 0.5}, "api": {"slow": 0.5}, "cache": {"slow": "queue"}, "queue": {"slow": "cache"}, "db": {"slow": 0.05}}
    r = node(DIAMOND, slow)
    r.wait_ready()
    assert r.term() == 0
    ev = events(r)
    for name, needs in DIAMOND.items():
        for n in needs:
            assert when(ev, "gone", name) <= when(ev, "term", n), (name, n)
    assert side_by_side(r, "cache", "queue")


#
def test_a_deaf_service_is_killed_after_its_timeout_and_the_rest_follows(reeve):
    r = reeve("""
services:
  db: {command: [/bin/sleep, "1000"]}
  deaf:
    command: [/bin/sh, -c, 'trap "" TERM; echo >&3; while :; do sleep 1; done']
    ready: {fd: 3}
    needs: [db]
    stop: {signal: TERM, timeout: 700ms}
""")
    r.wait_ready()
    t = time.monotonic()
    assert r.term() == 0
    assert time.monotonic() - t >= 0.6
    assert "deaf: did not stop in time: killed" in r.stderr
    assert r.stderr.index("deaf: stopped") < r.stderr.index("db: stopped")


# R-92 R-98
def test_a_second_term_ends_everything_at_once(reeve):
    r = reeve("""
services:
  deaf:
    command: [/bin/sh, -c, 'trap "" TERM; echo >&3; while :; do sleep 1; done']
    ready: {fd: 3}
    stop: {signal: TERM, timeout: 60s}
""")
    r.wait_ready()
    r.signal(15)
    r.wait_text("stopping")
    r.signal(15)
    assert r.wait(10) == 128 + 15


def test_a_missing_program_is_named_with_path_and_errno_and_all_is_rolled_back(reeve):
    r = reeve("""
services:
  a: {command: [/bin/sleep, "1000"]}
  b: {command: [/nonexistent/program, -x], needs: [a]}
  c: {command: [/bin/sleep, "1000"], needs: [b]}
""")
    assert r.wait() == 10
    assert "b: failed: cannot execute /nonexistent/program: No such file or directory" in r.stderr
    assert "a: stopped" in r.stderr
    assert "127" not in r.stderr[:r.stderr.index("report: ")]
    assert "c: ready" not in r.stderr


def test_an_exit_before_ready_fails_at_once_with_status_and_last_lines(reeve):
    t = time.monotonic()
    r = reeve("""
services:
  a: {command: [/bin/sleep, "1000"]}
  b:
    command: [/bin/sh, -c, 'echo to-stdout; echo "boom 1" >&2; printf "\\033[31mboom 2" >&2; exit 7']
    needs: [a]
    ready: {fd: 3, timeout: 60s}
""")
    assert r.wait() == 10
    assert time.monotonic() - t < 20 * harness.SLACK
    assert "b: failed: exited with 7 before it was ready" in r.stderr
    assert "boom 1" in r.stderr and "boom 2" in r.stderr
    assert "\x1b" not in r.stderr, "control characters are made visible"
    assert "b: ready" not in r.stderr


def test_a_service_that_never_answers_fails_with_the_last_cause(reeve, free_port):
    port = free_port()
    r = reeve("""
services:
  a: {command: [/bin/sleep, "1000"]}
  b: {command: [/bin/sleep, "1000"], needs: [a], ready: {tcp: "127.0.0.1:%d", timeout: 600ms}}
""" % port)
    assert r.wait() == 10
    assert re.search(r"b: failed: not ready within 600ms; last check: .*refused", r.stderr), r.stderr
    assert r.stderr.index("b: failed") < r.stderr.index("a: stopped")


def test_the_boot_timeout_bounds_the_sum_of_all_gates(reeve):
    r = reeve("""
reeve: {boot-timeout: 1s}
services:
  a: {command: [/bin/sh, -c, 'sleep 0.7; echo >&3; exec sleep 1000'], ready: {fd: 3}}
  b: {command: [/bin/sh, -c, 'sleep 0.7; echo >&3; exec sleep 1000'], ready: {fd: 3}, needs: [a]}
""")
    t = time.monotonic()
    assert r.wait() == 10
    assert time.monotonic() - t < 8 * harness.SLACK
    assert "boot timeout" in r.stderr


def test_with_continue_the_independent_rest_stays_up(reeve):
    r = reeve("""
reeve: {on-boot-failure: continue}
services:
  a: {command: [/bin/sleep, "1000"]}
  b: {command: [/nonexistent]}
  c: {command: [/bin/sleep, "1000"], needs: [b]}
""")
    r.wait_state("b", "failed")
    r.wait_state("a", "ready")
    assert r.service("c")["state"] in ("waiting", "failed", "stopped")
    r.wait_text("c: not there")
    assert "b: not there (failed): cannot execute /nonexistent: No such file or directory" in r.stderr
    assert "c: not there (waiting): dependency failed: b" in r.stderr and "a: not there" not in r.stderr
    got = r.ctl("status").stdout
    assert re.search(r"^b +failed .* cannot execute /nonexistent: No such file", got, re.M), got
    assert re.search(r"^c +waiting .* dependency failed: b", got, re.M), got
    assert got.splitlines()[-1].startswith("the sandbox is not ready, and its boot failed: it waits for "), got
    assert r.ctl("wait", "--ready", "--timeout", "2s").returncode in (3, 6)
    assert r.term() == 0


def test_with_continue_the_sandbox_becomes_ready_when_somebody_starts_what_was_missing(reeve, tmp_path):
    late = tmp_path / "late"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as parent:
        parent.bind(str(tmp_path / "notify"))
        parent.settimeout(20 * harness.SLACK)
        r = reeve("""
reeve: {on-boot-failure: continue}
services:
  a: {command: [/bin/sleep, "1000"]}
  b: {command: [%s]}
  c: {command: [/bin/sleep, "1000"], needs: [b]}
""" % late, env={"NOTIFY_SOCKET": parent.getsockname()})
        assert parent.recv(4096) == b"STATUS=boot failed"
        assert r.ctl("wait", "--ready", "--timeout", "20s").returncode == 3, "it will not come by itself"
        late.write_text("#!/bin/sh\nexec sleep 1000\n")
        late.chmod(0o755)
        assert r.ctl("start", "b").returncode == 0
        assert r.ctl("wait", "--ready", "--timeout", "20s").returncode == 0
        assert parent.recv(4096).splitlines() == [b"READY=1", b"STATUS=all ready"]
        whole = json.loads(r.ctl("--json", "status").stdout)
        assert (whole["ready"], whole["degraded"], whole["boot"]) == (True, False, "failed"), "that it failed stays true"
        assert r.ctl("status").stdout.splitlines()[-1] == "the sandbox is ready"
        r.ctl("stop", "b")
        whole = json.loads(r.ctl("--json", "why").stdout)
        assert not whole["ready"] and whole["sentence"].endswith("it waits for c"), whole
    assert r.term() == 0


def test_an_optional_service_leaves_the_sandbox_ready_but_degraded(reeve):
    r = reeve("""
services:
  a: {command: [/bin/sleep, "1000"]}
  b: {command: [/nonexistent], essential: false}
""")
    r.wait_ready()
    assert re.search(r"^reeve: warning: ready after \S+, but degraded: without b$", r.stderr, re.M), r.stderr
    assert "b: not there (failed): cannot execute /nonexistent" in r.stderr
    assert r.service("b")["state"] == "failed"
    got = r.ctl("wait", "--ready", "--timeout", "5s")
    assert got.returncode == 0 and "the sandbox is ready, but degraded: without b" in got.stderr, got
    assert r.ctl("status").stdout.splitlines()[-1] == "the sandbox is ready, but degraded: without b"
    whole = json.loads(r.ctl("--json", "wait", "--ready").stdout)
    assert whole["ok"] and whole["ready"] and whole["degraded"], whole
    whole = json.loads(r.ctl("--json", "status").stdout)
    assert whole["ready"] and whole["degraded"] and "without b" in whole["sentence"], whole
    assert "sentence" not in json.loads(r.ctl("--json", "status", "a").stdout)
    assert r.term() == 0


def test_the_boot_does_not_wait_for_the_delay_of_what_is_optional(reeve):
    r = reeve("""
reeve: {boot-timeout: 10m}
services:
  a: {command: [/bin/sleep, "1000"]}
  b: {command: [/bin/false], ready: {file: /nonexistent}, essential: false, start-attempts: 3, restart: {delay: 5m, max-delay: 5m}}
  c: {command: [/bin/sleep, "1000"], essential: false, needs: [b]}
""")
    got = r.ctl("wait", "--ready", "--timeout", "30s")
    assert got.returncode == 0 and "the sandbox is ready, but degraded: without b, c" in got.stderr, got
    assert r.service("b")["state"] == "backoff" and r.service("c")["state"] == "waiting"
    assert r.term() == 0


def test_a_task_must_finish_before_what_needs_it_starts(reeve):
    r = reeve("""
services:
  prepare: {command: [/bin/sh, -c, 'sleep 0.3; echo done > made'], type: task, working-dir: "${env.TMPDIR}"}
  app: {command: [/bin/sh, -c, 'cat made > seen; exec sleep 1000'], needs: [prepare], working-dir: "${env.TMPDIR}"}
""")
    r.wait_ready()
    r.wait_text("done", source="seen")
    assert r.service("prepare")["state"] == "exited"
    assert r.term() == 0


def test_a_task_that_fails_fails_the_boot(reeve):
    r = reeve("services: {t: {command: [/bin/sh, -c, 'echo why >&2; exit 3'], type: task}}")
    assert r.wait() == 10
    assert "t: failed: exited with 3" in r.stderr and "why" in r.stderr


def test_starts_are_retried_as_often_as_the_file_says(reeve):
    r = reeve("""
services:
  a:
    command: [/bin/sh, -c, 'echo x >> tries; test $(wc -l < tries) -ge 3 && echo >&3 && exec sleep 1000; exit 1']
    working-dir: "${env.TMPDIR}"
    ready: {fd: 3}
    start-attempts: 3
    restart: {delay: 50ms}
""")
    r.wait_ready()
    assert len(r.read("tries").splitlines()) == 3
    assert r.term() == 0


#
def test_at_most_max_starts_services_start_at_one_time(reeve):
    one = "{command: [/bin/sh, -c, 'echo + >> log; sleep 0.2; echo - >> log; echo >&3; exec sleep 1000'], ready: {fd: 3}, working-dir: \"${env.TMPDIR}/x\"}"
    r = reeve("reeve: {max-starts: 2}\nservices:\n" + "".join("  s%d: %s\n" % (i, one) for i in range(6)), files={"x/log": ""})
    r.wait_ready()
    depth = most = 0
    for line in r.read("x/log").split():
        depth += 1 if line == "+" else -1
        most = max(most, depth)
    assert most == 2
    assert r.term() == 0


def test_term_during_boot_goes_through_the_same_teardown(reeve):
    r = reeve("""
services:
  a: {command: [/bin/sleep, "1000"]}
  b: {command: [/bin/sleep, "1000"], needs: [a], ready: {fd: 3, timeout: 60s}}
  c: {command: [/bin/sleep, "1000"], needs: [b]}
""")
    r.wait_state("b", "starting")
    assert r.term() == 0
    assert r.stderr.index("b: stopped") < r.stderr.index("a: stopped")
    assert "c: ready" not in r.stderr


#
def test_a_signal_that_came_before_the_first_service_is_not_lost(reeve):
    r = reeve("services: {a: {command: [/bin/sleep, '1000']}}", wrap=("/usr/bin/python3", "-c",
              "import os,signal,sys\nsignal.pthread_sigmask(signal.SIG_BLOCK,[15])\nos.kill(os.getpid(),15)\nos.execv(sys.argv[1],sys.argv[1:])"))
    assert r.wait() == 0


def test_an_unwritable_log_path_fails_before_anything_starts(reeve):
    r = reeve("""
services:
  a: {command: [/bin/sh, -c, 'touch "$TMPDIR/started"; exec sleep 1000']}
  b: {command: [/bin/sleep, "1000"], log: {file: /dev/null/nothing/b.log}}
""")
    assert r.wait() == 10
    assert "/dev/null/nothing" in r.stderr and "Not a directory" in r.stderr
    assert not os.path.exists(r.path("started"))


def test_a_log_dash_inherits_ours_and_makes_no_such_file(reeve):
    r = reeve("services: {a: {command: [/bin/sh, -c, 'echo hello-out; echo hello-err >&2; exec sleep 1000'], log: {file: '-'}}}")
    r.wait_ready()
    r.wait_text("hello-out", source="stdout")
    r.wait_text("hello-err", source="stderr")
    assert not os.path.exists(r.path("-"))
    assert r.term() == 0


# nothing of the first run is left in the second but the number of its lives
def test_a_second_run_in_one_process_is_as_the_first(node):
    r = node(DIAMOND, {"api": {"slow": 0.1}})
    r.wait_ready()

    def told(s):
        return {k: v for k, v in s.items() if k not in ("pid", "generation", "since_ms", "uptime_ms", "durations")}

    first = r.services()
    os.kill(first["db"]["pid"], 9)  # restarts, counts and reasons are of this run alone
    until("all to be back", lambda: all(s["state"] == "ready" and s["generation"] > first[n]["generation"] for n, s in r.services().items()), 30)
    assert r.services()["db"]["restarts"] == 1
    assert r.ctl("stop", "--all").returncode == 0
    assert {s["state"] for s in r.services().values()} == {"stopped"}
    began = len(events(r))
    assert r.ctl("start", "--all").returncode == 0
    r.wait_ready()
    second = r.services()
    assert {n: told(s) for n, s in second.items()} == {n: told(s) for n, s in first.items()}
    assert all(second[n]["generation"] > first[n]["generation"] + 1 for n in DIAMOND), "its lives go on counting"
    assert not {s["pid"] for s in second.values()} & {s["pid"] for s in first.values()}
    ev = events(r)[began:]
    for name, needs in DIAMOND.items():
        for n in needs:
            assert when(ev, "ready", n) <= when(ev, "start", name), (n, name)
    assert r.ctl("status").returncode == 0 and "not ready" not in r.ctl("status").stdout
    assert r.term() == 0
