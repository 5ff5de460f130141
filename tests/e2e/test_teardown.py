"""The end of services and of reeve in hard cases (R-58...R-66, R-72, R-75...R-92, R-98, R-99)."""
import os
import signal
import subprocess
import time

import pytest

from harness import REEVECTL, SLACK, alive, cmdline, has_socket, kill, seconds, state_of, until
from test_boot import DIAMOND, NODE, events, graph, side_by_side, when

SILENT = "[/bin/sh, -c, 'trap \"\" TERM; while :; do sleep 1; done']"
# ready when it is deaf, and not before
DEAF = "[/bin/sh, -c, 'trap \"\" TERM; echo >&3; while :; do sleep 1; done'], ready: {fd: 3}"


def in_reverse(ev, edges, gone=lambda ev, name: when(ev, "gone", name)):
    """Every dependent was gone before what it needs was asked to go."""
    for name, needs in edges.items():
        for n in needs:
            assert gone(ev, name) <= when(ev, "term", n), "%s was asked to go while %s was there: %s" % (n, name, ev)


# R-58 R-75
def test_the_reverse_order_waits_for_one_that_has_to_be_killed(reeve):
    slow = {"web": {"slow": 0.2}, "api": {"slow": 0.3}, "cache": {"slow": "queue"}, "queue": {"slow": 600, "timeout": seconds(1)}, "db": {"slow": 0.05}}
    r = reeve(graph(DIAMOND, slow), files={"node.py": NODE})
    r.wait_ready()
    assert r.term() == 0
    ev = events(r)
    in_reverse(ev, {n: [m for m in needs if n != "queue"] for n, needs in DIAMOND.items()})
    said = r.stderr
    assert when(ev, "term", "queue") < when(ev, "gone", "cache"), "branches go side by side"
    assert said.index("cache: stopped") < said.index("queue: did not stop in time: killed"), "branches go side by side"
    assert said.index("queue: did not stop in time: killed") < said.index("queue: stopped") < said.index("db: stopped")
    assert when(ev, "term", "db") - when(ev, "term", "cache") > 0.5, "db is asked when queue is killed, and not when cache has gone"


def test_what_stands_on_a_killed_service_goes_in_order_and_waits_for_it(reeve):
    edges = DIAMOND
    text = graph(edges, {"web": {"slow": 0.2}, "api": {"slow": 0.2}}).replace("  db:\n", "  db:\n    restart: {on: never}\n")
    r = reeve(text, files={"node.py": NODE})
    r.wait_ready()
    os.kill(r.service("db")["pid"], signal.SIGKILL)
    for name in ("web", "api", "cache", "queue"):
        r.wait_state(name, "waiting")
    assert r.service("db")["state"] in ("failed", "exited")
    ev = events(r)
    in_reverse(ev, {n: [m for m in needs if m != "db"] for n, needs in edges.items()})
    assert sum(1 for e in ev if e[0] == "start") == 5, "nothing is started on a ground that is not there"
    assert r.ctl("start", "db").returncode == 0
    r.wait_ready()
    assert r.term() == 0


def test_stopping_one_takes_its_dependents_down_in_order(reeve):
    r = reeve(graph(DIAMOND, {"web": {"slow": 0.2}, "api": {"slow": 0.2}}), files={"node.py": NODE})
    r.wait_ready()
    assert r.ctl("stop", "cache").returncode == 0
    ev = events(r)
    in_reverse([e for e in ev], {"web": ["api"], "api": ["cache"]})
    now = r.services()
    assert now["db"]["state"] == now["queue"]["state"] == "ready", "what does not stand on it is left alone"
    assert r.term() == 0


# the same order when a start failed
def test_a_failed_boot_goes_back_in_reverse_and_side_by_side(reeve):
    text = graph(DIAMOND, {"api": {"slow": 0.2}, "cache": {"slow": "queue"}, "queue": {"slow": "cache"}})
    text += "\n  last: {command: [/bin/sh, -c, 'exit 7'], needs: [web, api], ready: {fd: 3}}"
    r = reeve(text, files={"node.py": NODE})
    assert r.wait(30) == 10
    ev = events(r)
    in_reverse(ev, DIAMOND)
    assert side_by_side(r, "cache", "queue")
    assert "last: failed: exited with 7" in r.stderr


WRAP = """
python3 -c 'import signal,time,os
def t(*_): time.sleep(0.8); open("clean","w").close(); os._exit(0)
signal.signal(15,t)
open("armed","w").close()
while True: time.sleep(60)' &
( trap "" TERM; : > deaf; while :; do sleep 0.05 & wait; done ) &
wait
"""

WRAPPED = """
services:
  w:
    command: [/bin/sh, wrap.sh]
    working-dir: "${env.TMPDIR}"
    environment: {FC: "11"}
    stop: {signal: TERM, timeout: %s}
""" % seconds(1.5)


def fc(r, value):
    needle = ("FC=" + value).encode()
    found = []
    for pid in r.leftovers():
        try:
            with open("/proc/%d/environ" % pid, "rb") as f:
                if needle in f.read().split(b"\0"):
                    found.append(pid)
        except OSError:
            pass
    return found


# also what is forked in the middle of the stop
@pytest.mark.parametrize("verb", ["stop", "restart", "term"])
def test_a_deaf_child_that_keeps_forking_has_its_time_and_is_gone_then(reeve, verb):
    r = reeve(WRAPPED, files={"wrap.sh": WRAP})
    until("the children to be armed", lambda: os.path.exists(r.path("armed")) and os.path.exists(r.path("deaf")))
    first = r.service("w")["pid"]
    t = time.monotonic()
    if verb == "term":
        assert r.term() == 0
    else:
        assert r.ctl(verb, "w").returncode == 0
    took = time.monotonic() - t
    assert os.path.exists(r.path("clean")), "the slow child had its time"
    assert 1.4 * SLACK <= took < 6 * SLACK, took
    if verb == "restart":
        until("one set", lambda: r.service("w")["pid"] != first and r.service("w")["state"] == "ready")
        assert not alive(first)
        # the shell and its forker; a third one is about to become its sleep
        until("one set of shells", lambda: sum(cmdline(p) == "/bin/sh wrap.sh" for p in fc(r, "11")) == 2)
        assert r.ctl("stop", "w").returncode == 0
    assert not fc(r, "11")
    if verb != "term":
        assert r.service("w")["state"] == "stopped"
        assert r.term() == 0


# a service that forks as fast as it can, each child deaf and in a session of its own
def test_a_service_that_forks_at_a_high_rate_is_stopped_whole(reeve):
    r = reeve("""
services:
  bomb: {command: [/usr/bin/python3, bomb.py], working-dir: "${env.TMPDIR}", environment: {FC: bomb}, stop: {signal: TERM, timeout: 300ms}}
  calm: {command: [/bin/sleep, "1000"]}
""", files={"bomb.py": """
import os, signal, time
signal.signal(15, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
open("going", "w").close()
while True:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(0.4)
            os._exit(0)
        os._exit(0)
    time.sleep(0.002)
"""})
    until("the forking", lambda: os.path.exists(r.path("going")))
    time.sleep(0.3)
    got = r.ctl("stop", "bomb", timeout=30)
    assert got.returncode == 0, got.stderr
    assert not fc(r, "bomb")
    assert r.service("calm")["restarts"] == 0
    assert r.term() == 0


# a stopped process cannot obey before it is continued
def test_a_service_that_is_stopped_by_a_signal_can_still_obey(reeve):
    r = reeve("""
services:
  a:
    command: [/bin/sh, -c, 'trap "touch clean; exit 0" TERM; echo >&3; while :; do sleep 0.05; done']
    working-dir: "${env.TMPDIR}"
    ready: {fd: 3}
    stop: {signal: TERM, timeout: 60s}
""")
    r.wait_ready()
    pid = r.service("a")["pid"]
    os.kill(pid, signal.SIGSTOP)
    until("the stop", lambda: state_of(pid) == "T")
    assert r.ctl("stop", "a").returncode == 0
    assert os.path.exists(r.path("clean")) and "killed" not in r.stderr, "it was not killed but asked"
    assert r.term() == 0


# the first signal finds the rollback under way, the second is obeyed at once
def test_term_in_the_middle_of_a_rollback_keeps_the_first_error_and_a_second_one_ends_it(reeve):
    text = """
services:
  a: {command: %s, stop: {signal: TERM, timeout: %%s}}
  b: {command: [/bin/sh, -c, 'exit 7'], needs: [a], ready: {fd: 3}}
""" % DEAF
    r = reeve(text % "1s")
    r.wait_text("b: failed: exited with 7")
    r.signal(signal.SIGTERM)
    assert r.wait() == 10
    assert "b: failed: exited with 7" in r.stderr
    r = reeve(text % "60s")
    r.wait_text("b: failed: exited with 7")
    r.signal(signal.SIGTERM)
    r.wait_text("SIGTERM")
    t = time.monotonic()
    r.signal(signal.SIGTERM)
    assert r.wait() == 128 + 15
    assert time.monotonic() - t < 5 * SLACK
    assert "b: failed: exited with 7" in r.stderr


# R-92 R-66
@pytest.mark.parametrize("pid1", [False, pytest.param(True, marks=pytest.mark.pid1)], ids=["as_a_child", "as_pid_1"])
def test_two_terms_during_boot_end_it_within_two_seconds(reeve, pid1):
    r = reeve("""
services:
  a: {command: %s, stop: {signal: TERM, timeout: 60s}}
  b: {command: %s, needs: [a], ready: {fd: 3, timeout: 60s}, stop: {signal: TERM, timeout: 60s}}
  c: {command: [/bin/sleep, "1000"], needs: [b]}
""" % (DEAF, SILENT), pid1=pid1)
    r.wait_state("b", "starting")
    t = time.monotonic()
    r.signal(signal.SIGTERM)
    r.wait_text("SIGTERM")
    r.signal(signal.SIGTERM)
    assert r.wait() == 128 + 15
    assert time.monotonic() - t < 5 * SLACK
    assert "c: ready" not in r.stderr


# R-92 with a command: the first INT goes to it, and a second one when it has gone is still a second one
def test_interrupts_end_everything_also_behind_a_command_that_has_left(reeve):
    r = reeve("services: {deaf: {command: %s, stop: {signal: TERM, timeout: 60s}}}" % DEAF,
              args=("--", "/bin/sh", "-c", 'trap "exit 3" INT; echo up; while :; do sleep 0.05; done'))
    r.wait_text("up", source="stdout")
    r.signal(signal.SIGINT)
    until("the command to leave", lambda: r.service("main").get("state") not in ("ready", "starting"))
    r.signal(signal.SIGINT)
    time.sleep(0.2)
    r.signal(signal.SIGINT)
    assert r.wait() in (3, 130)


# R-83 R-84 R-89: every start that was under way is either stopped or never made
def test_everything_can_be_stopped_while_it_boots(reeve):
    one = "{command: [/bin/sh, -c, 'sleep 0.2; echo >&3; exec sleep 1000'], ready: {fd: 3}, environment: {FC: boot}%s}"
    names = ["s%d" % i for i in range(12)]
    text = "reeve: {max-starts: 3}\nservices:\n"
    for i, n in enumerate(names):
        text += "  %s: %s\n" % (n, one % (", needs: [%s]" % names[i - 4] if i >= 4 else ""))
    text += "  keep: {command: [/bin/sleep, '1000']}\n"
    r = reeve(text)
    until("some to be up", lambda: sum(s["state"] == "ready" for s in r.services().values()) >= 2)
    got = r.ctl("stop", *names)
    assert got.returncode == 0, got.stderr
    now = r.services()
    assert {now[n]["state"] for n in names} == {"stopped"}, now
    assert now["keep"]["state"] == "ready"
    assert not fc(r, "boot")
    assert r.ctl("start", *names).returncode == 0
    r.wait_ready()
    assert r.term() == 0


# R-88 R-90
def test_what_waits_for_a_permit_is_never_started_once_reeve_closes(reeve):
    r = reeve("""
reeve: {max-starts: 1}
services:
  slow: {command: [/bin/sh, -c, 'echo 1 >> begun; sleep 1000'], ready: {fd: 3, timeout: 60s}, working-dir: "${env.TMPDIR}"}
  queued1: {command: [/bin/sh, -c, 'echo 1 >> begun; sleep 1000'], ready: {fd: 3}, working-dir: "${env.TMPDIR}"}
  queued2: {command: [/bin/sh, -c, 'echo 1 >> begun; sleep 1000'], ready: {fd: 3}, working-dir: "${env.TMPDIR}"}
""")
    until("the first", lambda: r.read("begun"))
    assert sum(s["state"] == "queued" for s in r.services().values()) == 2
    assert r.term() == 0
    assert r.read("begun") == "1\n"


# a start that fails gives its permit back
def test_a_failed_start_gives_its_permit_to_the_next(reeve):
    r = reeve("""
reeve: {max-starts: 1, on-boot-failure: continue}
services:
  a: {command: [/nonexistent]}
  b: {command: [/bin/sh, -c, 'exit 3'], ready: {fd: 3}}
  c: {command: [/bin/sh, -c, 'echo >&3; exec sleep 1000'], ready: {fd: 3}}
""")
    r.wait_state("c", "ready")
    assert r.term() == 0


# R-83 R-86: the client that asked for the start goes away; what it created is known and is stopped
def test_a_start_whose_client_has_gone_is_owned_and_stopped(reeve):
    r = reeve("""
services:
  keep: {command: [/bin/sleep, "1000"]}
  slow: {command: [/bin/sh, -c, 'until [ -e go ]; do sleep 0.02; done; echo >&3; exec sleep 1000'], working-dir: "${env.TMPDIR}",
    ready: {fd: 3}, startup: disabled, environment: {FC: slow}}
""")
    r.wait_ready()
    client = subprocess.Popen([REEVECTL, "-s", r.socket, "start", "slow"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    r.wait_state("slow", "starting")
    client.kill()
    client.wait()
    r.write("go", "")
    r.wait_state("slow", "ready")
    assert r.ctl("stop", "slow").returncode == 0
    assert not fc(r, "slow")
    assert r.term() == 0


# R-94 R-80: many stops at one time are one stop with one result
def test_stops_at_the_same_time_share_one_stop(reeve):
    r = reeve("""
services:
  keep: {command: [/bin/sleep, "1000"]}
  a:
    command: [/bin/sh, -c, 'trap "echo term >> terms; sleep 0.5; exit 0" TERM; echo >&3; while :; do sleep 0.05; done']
    working-dir: "${env.TMPDIR}"
    ready: {fd: 3}
""")
    r.wait_ready()
    many = [subprocess.Popen([REEVECTL, "-s", r.socket, "stop", "a"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for _ in range(6)]
    assert [p.wait(20 * SLACK) for p in many] == [0] * 6
    assert r.read("terms") == "term\n"
    assert r.ctl("stop", "a").returncode == 0
    assert r.term() == 0


#
def test_exit_from_a_task_ends_reeve_with_the_tasks_status(reeve):
    for code in (0, 5):
        r = reeve("""
reeve: {exit-from: job}
services:
  db: {command: [/bin/sleep, "1000"]}
  job: {command: [/bin/sh, -c, 'sleep 0.2; exit %d'], type: task, needs: [db]}
""" % code)
        assert r.wait() == code, r.stderr
        assert "db: stopped" in r.stderr


#
def test_term_leaves_children_alone_that_reeve_did_not_start(reeve):
    r = reeve("services: {a: {command: [/bin/sleep, '1000']}}",
              wrap=("/bin/sh", "-c", 'env -u STORY_MARK sleep 30 & echo $! > other; exec "$0" "$@"'))
    r.wait_ready()
    other = int(r.read("other"))
    assert r.term() == 0
    assert alive(other), "what was there before us goes on after us"
    os.kill(other, signal.SIGKILL)


#
@pytest.mark.pid1
def test_it_works_below_another_init(reeve):
    r = reeve("services: {a: {command: [/bin/sh, -c, '(setsid sleep 0.2 &); exec sleep 1000']}, b: {command: [/bin/sleep, '1000'], needs: [a]}}",
              wrap=("unshare", "-p", "-f", "--mount-proc", "--kill-child", "/usr/bin/python3", "-c", """
import os, signal, sys
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
signal.signal(15, lambda *_: os.kill(child, 15))
while True:
    try: pid, status = os.wait()
    except InterruptedError: continue
    if pid == child: os._exit(os.waitstatus_to_exitcode(status) & 255)
"""))
    r.wait_ready()
    from harness import children_of
    init = until("the init", lambda: children_of(r.proc.pid))[0]
    os.kill(init, signal.SIGTERM)
    assert r.wait() == 0


# known-gap: unkillable-process
# R-81 R-82: what could not be stopped stays ours, is named, and the next stop acts again
@pytest.mark.pid1
def test_a_hasty_stop_that_ran_out_may_be_asked_again(reeve):
    r = reeve("services: {keep: {command: [/bin/sleep, '1000']}, a: {command: %s, stop: {signal: TERM, timeout: 60s}}}" % DEAF)
    r.wait_ready()
    got = r.ctl("stop", "a", "--timeout", "200ms")
    assert got.returncode == 6, (got.returncode, got.stderr)
    a = r.service("a")
    assert a["state"] == "stopping" and a["pid"]
    again = subprocess.Popen([REEVECTL, "-s", r.socket, "stop", "a"], stdin=subprocess.DEVNULL)
    until("the second to wait", lambda: has_socket(again.pid) and state_of(again.pid) == "S")
    kill(a["pid"])
    assert again.wait(20 * SLACK) == 0
    assert r.service("a")["state"] == "stopped"
    assert r.term() == 0


# R-59 R-69 R-70 R-71: the first error first, whatever the way back brings; what a child wrote is shown whole and harmless
def test_the_first_error_stays_the_reported_one_over_a_bad_way_back(reeve):
    r = reeve("""
services:
  a: {command: [/bin/sh, -c, 'trap "exit 9" TERM; while :; do sleep 0.05; done']}
  deaf: {command: %s, needs: [a], stop: {signal: TERM, timeout: 500ms}}
  c: {command: [/bin/sh, -c, 'printf "bo\\000om\\n" >&2; exit 7'], needs: [deaf], ready: {fd: 3, timeout: 30s}}
""" % DEAF)
    t = time.monotonic()
    assert r.wait() == 10
    assert time.monotonic() - t < 8 * SLACK
    err = r.stderr
    assert "c: failed: exited with 7 before it was ready" in err
    assert err.index("c: failed") < err.index("deaf: did not stop in time: killed") < err.index("a: stopped")
    assert "boot failed" in err and "c" in err[err.index("boot failed"):].splitlines()[0], "named as the cause"
    assert "bo" in err and "om" in err and "\0" not in err


# only a task may leave with 0
def test_a_daemon_that_leaves_with_0_before_it_is_ready_has_failed(reeve):
    r = reeve("services: {a: {command: [/bin/true], ready: {fd: 3, timeout: 30s}}}")
    assert r.wait() == 10
    assert "a: failed: exited with 0 before it was ready" in r.stderr
    r = reeve("services: {a: {command: [/bin/true], type: task}}")
    r.wait_state("a", "exited")
    assert r.term() == 0


# R-78 under load: orphans with other statuses end all the time while services end with theirs
def test_each_of_many_gets_its_own_status_while_orphans_end_all_around(reeve):
    r = reeve("reeve: {on-boot-failure: continue}\nservices:\n  storm: {command: [/bin/sh, -c, 'while :; do (sh -c \"exit 99\" &); (setsid sh -c \"exit 98\" &); done']}\n" + "".join(
        "  s%d: {command: [/bin/sh, -c, 'sleep 0.%d; exit %d'], restart: {on: never}}\n" % (i, 2 + i % 5, 20 + i) for i in range(20)))
    for i in range(20):
        s = r.wait_state("s%d" % i, "failed", timeout=40)
        assert "exited with %d" % (20 + i) in s["detail"], s
    assert r.ctl("stop", "storm").returncode == 0
    assert r.term() == 0


# An empty list of steps asks for KILL: nobody was given time, and so nobody was late.
def test_one_without_steps_is_killed_without_a_warning(reeve):
    r = reeve("services: {a: {command: [/bin/sleep, '1000'], stop: {steps: []}}}")
    r.wait_ready()
    assert r.ctl("stop", "a").returncode == 0
    assert r.term() == 0
    assert "reeve: a: killed: its stop has no steps" in r.stderr and "warning" not in r.stderr
