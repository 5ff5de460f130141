"""Processes: PID 1, orphans, trees, what a service is given (R-07, R-75...R-79, R-91, R-99)."""
import os
import signal
import time

import pytest

from harness import SLACK, alive, children_of, cmdline, state_of, until

# With few modules: a fork costs as much as there is to copy.
STORM = """
import os, time
for i in range(2000):
    p = os.fork()
    if p == 0:
        if os.fork() == 0:
            time.sleep(i * 37 % 500 / 1000); os._exit(i % 7)
        os._exit(0)
    os.waitpid(p, 0)
open("made", "w").close()
while True: time.sleep(60)
"""


def zombies_of(pid):
    return [p for p in children_of(pid) if state_of(p) == "Z"]


def ticks(pid):
    with open("/proc/%d/stat" % pid) as f:
        return sum(int(x) for x in f.read().rpartition(")")[2].split()[11:13])


# R-79 R-77
@pytest.mark.parametrize("pid1", [pytest.param(True, marks=pytest.mark.pid1), False], ids=["as_pid_1", "as_a_subreaper"])
def test_two_thousand_orphans_are_all_reaped(reeve, pid1):
    r = reeve("services: {storm: {command: [/usr/bin/python3, -IS, storm.py], working-dir: '${env.TMPDIR}'}}",
              pid1=pid1, files={"storm.py": STORM})
    r.wait_state("storm", "ready")
    first = r.service("storm")["pid"]
    until("the storm to be made", lambda: os.path.exists(r.path("made")), 60)
    pid = r.pid
    until(lambda: "zombies to be reaped: %d" % len(zombies_of(pid)), lambda: not zombies_of(pid), 5)
    until("only the storm to be left", lambda: len([p for p in children_of(pid) if alive(p)]) <= 2, 5)
    s = r.service("storm")
    assert (s["state"], s["pid"], s["restarts"]) == ("ready", first, 0)
    before = ticks(pid)
    time.sleep(1)
    assert ticks(pid) - before <= 2, "quiet again after the storm"
    assert r.ctl("stop", "storm").returncode == 0
    assert r.term() == 0


#
@pytest.mark.parametrize("pid1", [pytest.param(True, marks=pytest.mark.pid1), False], ids=["as_pid_1", "as_a_subreaper"])
def test_nothing_of_a_service_survives_its_stop_not_even_other_sessions(reeve, pid1):
    r = reeve("""
services:
  a:
    command:
      - /bin/sh
      - -c
      - |
        setsid sh -c 'trap "" TERM; echo $$ >> pids; while :; do sleep 1; done' &
        (setsid env -i /bin/sh -c 'echo $$ >> '"$TMPDIR"'/pids; trap "" TERM; while :; do sleep 1; done' &)
        sleep 0.3; echo >&3; exec sleep 1000
    working-dir: "${env.TMPDIR}"
    ready: {fd: 3}
    stop: {signal: TERM, timeout: 500ms}
""", pid1=pid1)
    r.wait_ready()
    until("both strays", lambda: len(r.read("pids").split()) == 2)
    base = r.pid
    got = r.ctl("stop", "a")
    assert got.returncode == 0, got.stderr
    left = [p for p in children_of(base) if alive(p)]
    assert len(left) <= 1, "only the plugin host may be left: %s" % left
    assert r.term() == 0


#
def test_a_killed_main_process_takes_its_strays_with_it(reeve):
    r = reeve("""
services:
  a:
    command: [/bin/sh, -c, 'setsid sleep 999 & setsid sleep 998 & echo >&3; wait']
    ready: {fd: 3}
    restart: {on: always, delay: 100ms}
""")
    r.wait_ready()
    first = r.service("a")
    os.kill(first["pid"], signal.SIGKILL)
    until("a new life", lambda: r.service("a").get("generation", 0) > first["generation"] and r.service("a")["state"] == "ready")
    until("one set of strays", lambda: sum(1 for p in r.leftovers() if cmdline(p).startswith("sleep ")) == 2)
    assert r.service("a")["restarts"] == 1
    assert r.term() == 0


def test_children_of_a_shell_keep_the_full_grace_when_the_shell_dies_at_once(reeve):
    r = reeve("""
services:
  w:
    command: [/bin/sh, wrap.sh]
    working-dir: "${env.TMPDIR}"
    stop: {signal: TERM, timeout: 60s}
""", files={"wrap.sh": """
python3 -c 'import signal,time,os
def t(*_): time.sleep(1.0); open("clean","w").close(); os._exit(0)
signal.signal(15,t)
open("armed","w").close()
while True: time.sleep(60)' &
wait
"""})
    until("the child to be armed", lambda: os.path.exists(r.path("armed")))
    assert r.ctl("stop", "w").returncode == 0
    assert os.path.exists(r.path("clean"))
    assert "killed" not in r.stderr
    assert r.term() == 0


#
@pytest.mark.parametrize("end, ", ["exit 0", "exit 1", "exit 143", "trap - TERM; kill -TERM $$"])
def test_any_way_to_leave_after_term_is_a_clean_stop(reeve, end):
    r = reeve("""
services:
  a:
    command: [/bin/sh, -c, 'trap "%s" TERM; echo >&3; while :; do sleep 0.05; done']
    ready: {fd: 3}
""" % end)
    r.wait_ready()
    assert r.term() == 0
    assert "a: stopped" in r.stderr and "a: failed" not in r.stderr


def test_a_service_gets_a_clean_state_whatever_ours_was(reeve):
    r = reeve("""
services:
  sig: {command: [/bin/sh, -c, 'exec grep -E "SigBlk|SigIgn|SigCgt" /proc/self/status > sig'], type: task, working-dir: "${env.TMPDIR}"}
  pipe: {command: [/bin/sh, -c, 'yes | head -n 1 > /dev/null; read x; echo "read rc $?" > pipe'], type: task, working-dir: "${env.TMPDIR}"}
  plain: {command: [/bin/sleep, "1000"]}
""", wrap=("/usr/bin/python3", "-c", """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP, signal.SIGUSR1])
for s in (signal.SIGPIPE, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD): signal.signal(s, signal.SIG_IGN)
os.umask(0o077)
os.execv(sys.argv[1], sys.argv[1:])
"""))
    r.wait_ready()
    masks = {line.split(":")[0]: int(line.split()[1], 16) for line in r.read("sig").splitlines()}
    assert masks["SigBlk"] & 0x7fffffff == 0 and masks["SigIgn"] & 0x7fffffff == 0, masks
    assert r.read("pipe") == "read rc 1\n"
    assert r.ctl("stop", "plain").returncode == 0
    assert "killed" not in r.stderr, "it could hear TERM"
    assert r.term() == 0


def test_reeve_works_with_its_standard_descriptors_closed(reeve):
    r = reeve("services: {a: {command: [/bin/sh, -c, 'ls -l /proc/self/fd > fds; exec sleep 1000'], working-dir: '${env.TMPDIR}'}}",
              wrap=("/bin/sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-'))
    r.wait_ready()
    until("the list", lambda: "/dev/null" in r.read("fds"))
    assert r.term() == 0


def test_a_service_inherits_no_descriptor_but_its_own(reeve, free_port):
    r = reeve("""
services:
  other: {command: [/bin/sleep, "1000"], listen: [{name: http, tcp: "127.0.0.1:%d"}]}
  a: {command: [/bin/sh, -c, 'ls /proc/self/fd | sort -n | tr "\\n" " " > fds; exec sleep 1000'], working-dir: "${env.TMPDIR}"}
""" % free_port())
    r.wait_ready()
    until("the list", lambda: len(r.read("fds").split()) >= 3)
    assert r.read("fds").split() == ["0", "1", "2", "3"], "3 is the list's own"
    assert r.term() == 0


#
def test_the_exit_status_of_an_orphan_is_never_taken_for_the_services(reeve):
    r = reeve("""
services:
  a:
    command: [/bin/sh, -c, 'i=0; while [ $i -lt 300 ]; do (sh -c "exit 9" &); i=$((i+1)); done; exit 5']
    restart: {on: never}
  keep: {command: [/bin/sleep, "1000"]}
""")
    s = r.wait_state("a", "failed", timeout=30)
    assert "5" in str(s.get("exit")) or "5" in s.get("detail", ""), s
    assert r.term() == 0


#
def test_an_unrelated_child_of_our_parent_is_not_touched(reeve):
    r = reeve("services: {a: {command: [/bin/sleep, '1000']}}", wrap=("/bin/sh", "-c", 'sleep 1234 & echo $! > other; exec "$0" "$@"'))
    # the exec makes that sleep a child of reeve itself: one that it did not start
    r.wait_ready()
    r.ctl("restart", "a")
    other = int(r.read("other"))
    assert alive(other)
    os.kill(other, signal.SIGKILL)
    assert r.term() == 0


def test_what_outlives_a_killed_main_process_in_a_session_of_its_own_is_asked_before_it_is_killed(reeve):
    r = reeve("""
services:
  a:
    command: [/bin/bash, -c, 'setsid bash -c "trap \\"echo asked > asked; exit\\" TERM; touch armed; while :; do sleep 0.1; done" & exec sleep 1000']
    working-dir: "${env.TMPDIR}"
    stop: {timeout: 60s}
""")
    first = r.wait_state("a", "ready")
    until("the stray to be armed", lambda: os.path.exists(r.path("armed")))
    assert r.ctl("signal", "KILL", "a").returncode == 0
    until("the next life", lambda: r.service("a").get("pid") not in (None, 0, first["pid"]), 20)
    assert r.read("asked") == "asked\n"
    assert r.term() == 0


def test_what_the_main_process_leaves_in_another_session_is_asked_before_it_is_killed(reeve):
    r = reeve("""
services:
  a:
    command: [/bin/sh, -c, 'setsid sh stray.sh & while [ ! -e armed ]; do sleep 0.02; done; echo >&3; exec sleep 1000']
    working-dir: "${env.TMPDIR}"
    ready: {fd: 3}
    stop: {signal: TERM, timeout: 60s}
""", files={"stray.sh": "trap 'echo asked >> clean; exit 0' TERM; touch armed; while :; do sleep 0.05; done\n"})
    r.wait_ready()
    t = time.monotonic()
    assert r.ctl("stop", "a").returncode == 0
    assert time.monotonic() - t < 10 * SLACK
    assert r.read("clean") == "asked\n", "once, and before any KILL"
    assert "killed" not in r.stderr
    assert r.term() == 0
