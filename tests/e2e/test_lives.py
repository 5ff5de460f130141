"""Later lives: restart, backoff, limits, losses, exit status (R-37, R-98)."""
import json
import os
import signal
import time

import pytest

import harness
from harness import until


def stamps(r, name="starts"):
    return [float(x) for x in r.read(name).split()]


CRASH = "#!/bin/sh\ncut -d' ' -f1 /proc/uptime >> starts\nexit 1\n"


def test_a_restart_limit_holds_and_a_manual_start_begins_anew(reeve):
    r = reeve("""
services:
  keep: {command: [/bin/sleep, "1000"]}
  s:
    command: [/bin/sh, crash.sh]
    working-dir: "${env.TMPDIR}"
    restart: {on: failure, limit: 3, delay: 100ms, factor: 2, max-delay: 1s}
""", files={"crash.sh": CRASH})
    s = r.wait_state("s", "failed", timeout=30)
    t = stamps(r)
    assert len(t) == 4
    gaps = [b - a for a, b in zip(t, t[1:])]
    assert gaps[0] >= 0.09 and gaps[1] >= 0.19 and gaps[2] >= 0.39, gaps
    assert s["restarts"] == 3 and not s.get("pid")
    assert r.ctl("start", "s").returncode in (0, 1)  # nothing proves it: it is ready once exec'ed, and dies then
    until("four more", lambda: len(stamps(r)) == 8, 20)
    r.wait_state("s", "failed")
    assert r.term() == 0


def test_restart_always_obeys_limit_and_backoff_for_exit_zero_too(reeve):
    r = reeve("""
services:
  keep: {command: [/bin/sleep, "1000"]}
  u:
    command: [/bin/sh, -c, 'echo 1 >> starts; exit 0']
    working-dir: "${env.TMPDIR}"
    restart: {on: always, limit: 2, delay: 50ms}
""")
    r.wait_state("u", "failed", timeout=20)
    assert len(r.read("starts").split()) == 3
    assert r.term() == 0


def test_the_loss_of_a_dependency_restarts_what_needs_it(reeve):
    r = reeve("""
services:
  jupyter: {command: [/bin/sleep, "1000"], restart: {on: always, delay: 50ms}}
  interpreter: {command: [/bin/sleep, "1000"], needs: [jupyter]}
  indifferent: {command: [/bin/sleep, "1000"], needs: [jupyter], on-dependency-loss: keep}
  leaver: {command: [/bin/sleep, "1000"], needs: [jupyter], on-dependency-loss: stop}
""")
    r.wait_ready()
    before = r.services()
    assert r.ctl("signal", "KILL", "jupyter").returncode == 0

    def back():
        now = r.services()
        return all(now[n]["state"] == "ready" and now[n]["generation"] > before[n]["generation"] for n in ("jupyter", "interpreter")) and now
    now = until("both to be back", back)
    assert now["indifferent"]["pid"] == before["indifferent"]["pid"]
    r.wait_state("leaver", "stopped")
    assert now["interpreter"]["restarts"] == 0, "a loss is not the dependent's own failure"
    assert r.term() == 0


def test_an_order_reaches_what_is_part_of_it_and_a_crash_does_not(reeve):
    r = reeve("""
services:
  mast: {command: [/bin/sleep, "1000"], restart: {delay: 1ms}}
  lamp: {command: [/bin/sleep, "1000"], needs: [mast], on-dependency-loss: keep, part-of: [mast]}
  sail: {command: [/bin/sleep, "1000"], part-of: [mast]}
  flag: {command: [/bin/sleep, "1000"], needs: [mast], on-dependency-loss: keep}
""")
    r.wait_ready()

    def lives():
        return {name: s["generation"] for name, s in r.services().items() if s["state"] == "ready"}
    os.kill(r.service("mast")["pid"], signal.SIGKILL)
    until("mast is back", lambda: lives().get("mast") == 2)
    assert lives() == {"mast": 2, "lamp": 1, "sail": 1, "flag": 1}
    assert r.ctl("restart", "mast").returncode == 0
    until("those that are part of it are back", lambda: lives() == {"mast": 3, "lamp": 2, "sail": 2, "flag": 1})
    assert r.ctl("stop", "mast").returncode == 0
    now = r.services()
    assert (now["lamp"]["state"], now["sail"]["state"], now["flag"]["state"]) == ("waiting", "waiting", "ready")
    assert now["mast"]["state"] == "stopped" and now["sail"]["other"] == "mast"
    assert "until mast is ready; mast was stopped on request" in r.ctl("why", "sail").stdout
    r.ctl("start", "mast")
    until("they come back with it", lambda: lives() == {"mast": 4, "lamp": 3, "sail": 3, "flag": 1})
    states = [(e["name"], e["state"]) for e in map(json.loads, r.ctl("--json", "events", "-n", "all").stdout.splitlines())
              if e["event"] == "state" and e["state"] in ("stopping", "stopped")]
    assert [n for n, _ in states].index("mast") > max([n for n, _ in states].index(n) for n in ("lamp", "sail"))
    plan = {s["name"]: s for s in json.loads(r.ctl("--json", "plan").stdout)["services"]}
    assert plan["lamp"]["part_of"] == ["mast"] and plan["flag"]["part_of"] == []
    assert "part of" in r.ctl("plan").stdout
    assert r.term() == 0


def test_stopping_a_dependency_stops_its_dependents_first_and_a_start_brings_them_back(reeve):
    r = reeve("""
services:
  db: {command: [/bin/sleep, "1000"]}
  api: {command: [/bin/sleep, "1000"], needs: [db]}
""")
    r.wait_ready()
    assert r.ctl("stop", "db").returncode == 0
    now = r.services()
    assert now["db"]["state"] == "stopped" and now["api"]["state"] == "waiting"
    assert r.stderr.index("api: stopped") < r.stderr.index("db: stopped") if "api: stopped" in r.stderr else True
    assert r.ctl("start", "db").returncode == 0
    r.wait_state("api", "ready")
    assert r.term() == 0


#
@pytest.mark.parametrize("pid1", [False, pytest.param(True, marks=pytest.mark.pid1)], ids=["as_a_child", "as_pid_1"])
@pytest.mark.parametrize("end, status", [("exit 0", 0), ("exit 1", 1), ("exit 42", 42), ("exit 126", 126), ("exit 127", 127),
                                         ("exit 255", 255), ("kill -TERM $$", 143), ("kill -SEGV $$", 139), ("kill -KILL $$", 137)])
def test_the_status_of_exit_from_becomes_ours(reeve, end, status, pid1):
    r = reeve("""
reeve: {exit-from: m}
services:
  m: {command: [/bin/sh, -c, 'ulimit -c 0; sleep 0.1; %s']}
  x: {command: [/bin/sh, -c, 'trap "" TERM; while :; do sleep 1; done'], stop: {signal: TERM, timeout: 100ms}}
  y: {command: [/bin/sh, -c, 'trap "exit 9" TERM; while :; do sleep 0.1; done']}
""" % end, pid1=pid1)
    assert r.wait(30) == status


def test_a_command_is_the_last_service_and_its_status_is_ours(reeve):
    r = reeve("services: {db: {command: [/bin/sleep, '1000']}}", args=("--", "/bin/sh", "-c", "echo from-main; exit 7"))
    assert r.wait() == 7
    assert "from-main" in r.stdout
    assert r.stderr.index("db: ready") < r.stderr.index("main")


def test_a_command_that_ends_well_has_finished(reeve):
    r = reeve("services: {db: {command: [/bin/sleep, '1000']}}", args=("--", "/bin/true"))
    assert r.wait() == 0
    assert "reeve: main: finished" in r.stderr


def test_one_that_has_ended_before_it_is_told_has_no_pid(once, tmp_path):
    (tmp_path / "r.yaml").write_text("reeve: {runtime-dir: %s}\n" % tmp_path)
    for _ in range(25):
        got = once("-c", "r.yaml", "--plugin-dir", harness.PLUGINS, "--", "/bin/sh", "-c", "exit 3")
        assert got.returncode == 3 and "pid 0" not in got.stderr, got.stderr


#
def test_signals_are_forwarded_to_the_command(reeve):
    r = reeve("services: {db: {command: [/bin/sleep, '1000']}}",
              args=("--", "/bin/sh", "-c", 'trap "echo got-usr1" USR1; trap "echo got-int; exit 3" INT; echo up; while :; do sleep 0.05; done'))
    r.wait_text("up", source="stdout")
    r.signal(signal.SIGUSR1)
    r.wait_text("got-usr1", source="stdout")
    r.signal(signal.SIGINT)
    assert r.wait() == 3
    assert "got-int" in r.stdout


def test_term_with_a_command_stops_it_first_and_gives_its_status(reeve):
    r = reeve("services: {db: {command: [/bin/sleep, '1000']}}",
              args=("--", "/bin/sh", "-c", 'trap "exit 5" TERM; echo up; while :; do sleep 0.05; done'))
    r.wait_text("up", source="stdout")
    assert r.term() == 5
    assert r.stderr.index("main: stopped") < r.stderr.index("db: stopped")


def test_giving_up_may_end_reeve(reeve):
    r = reeve("""
services:
  keep: {command: [/bin/sleep, "1000"]}
  a:
    command: [/bin/sh, -c, 'sleep 0.1; exit 1']
    restart: {on: failure, limit: 1, delay: 50ms}
    on-give-up: shutdown
""")
    assert r.wait(20) == 10
    assert "a: failed: gave up after 1 restart" in r.stderr


#
def test_the_shutdown_deadline_is_kept(reeve):
    r = reeve("""
reeve: {shutdown-timeout: 1s, start-grace: 0s}
services:
  a: {command: [/bin/sh, -c, 'trap "" TERM; echo >&3; while :; do sleep 1; done'], ready: {fd: 3}, stop: {signal: TERM, timeout: 100ms}}
""")
    r.wait_ready()
    t = time.monotonic()
    assert r.term() in (0, 12)
    assert time.monotonic() - t < 8 * harness.SLACK


def test_uptime_and_pid_are_shown(reeve):
    r = reeve("services: {a: {command: [/bin/sleep, '1000']}}")
    r.wait_ready()
    s = r.service("a")
    assert os.path.exists("/proc/%d" % s["pid"])
    got = r.ctl("status")
    assert got.returncode == 0
    head, line = got.stdout.splitlines()[:2]
    assert head.split()[:6] == ["NAME", "STATE", "PID", "UPTIME", "RESTARTS", "LAST"]
    assert line.split()[:3] == ["a", "ready", str(s["pid"])]
    assert r.term() == 0


def test_a_command_has_our_terminal(reeve):
    main, terminal = harness.terminal()
    r = reeve("services: {db: {command: [/bin/sleep, '1000']}}",
              args=("--", "/bin/sh", "-c", 'test -t 0 && test -t 1 && read line && echo "got $line"; exit 4'),
              wrap=("/bin/sh", "-c", 'exec "$0" "$@" <%s >%s' % ((os.ttyname(terminal),) * 2)))
    r.wait_text("main: ready")
    os.write(main, b"hello\n")
    assert r.wait() == 4
    seen = b""
    while b"got hello" not in seen:
        seen += os.read(main, 1000)
    os.close(main)
    os.close(terminal)


# a command that never ran has not succeeded
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_command_was_started_gives_its_own_status(reeve, number):
    r = reeve("services: {slow: {command: [/bin/sleep, '1000'], ready: {fd: 3, timeout: 20s}}}", args=("--", "/usr/bin/touch", "ran"))
    r.wait_state("slow", "starting")
    r.signal(number)
    assert r.wait() == 128 + number
    assert "slow: stopped" in r.stderr
    assert not os.path.exists(r.path("ran"))


def test_ctrl_c_reaches_what_the_shell_of_a_command_waits_for(reeve):
    r = reeve("services: {db: {command: [/bin/sleep, '1000']}}", args=("--", "/bin/sh", "-c", "echo up; sleep 1000; echo not-reached"))
    r.wait_text("up", source="stdout")
    until("the shell to wait", lambda: any(harness.cmdline(p) == "sleep 1000" for p in harness.tree_of(r.pid)))
    r.signal(signal.SIGINT)
    assert r.wait() == 130
    assert "not-reached" not in r.stdout


def test_starting_a_finished_task_disturbs_nobody_and_a_restart_runs_it_again(reeve):
    r = reeve("""
services:
  prepare: {command: [/bin/sh, -c, 'echo run >> runs'], type: task, working-dir: "${env.TMPDIR}"}
  app: {command: [/bin/sleep, "1000"], needs: [prepare]}
""")
    r.wait_ready()
    app = r.service("app")["pid"]
    assert r.ctl("start", "prepare").returncode == 0
    assert r.ctl("start", "--all").returncode == 0
    assert (r.service("app")["pid"], r.read("runs").split()) == (app, ["run"])
    assert r.ctl("restart", "prepare").returncode == 0
    r.wait_state("app", "ready")
    assert r.read("runs").split() == ["run", "run"]
    assert r.service("app")["pid"] != app
    assert r.term() == 0


def test_a_boot_that_an_operator_cut_short_names_what_is_missing(reeve):
    r = reeve("""
services:
  a: {command: [/bin/sleep, "1000"]}
  slow: {command: [/bin/sleep, "1000"], needs: [a], ready: {exec: [/bin/false], timeout: 20s}}
""")
    r.wait_state("slow", "starting")
    assert r.ctl("stop", "a").returncode == 0
    r.wait_text("degraded: without a, slow")
    assert "all ready" not in r.stderr
    assert r.term() == 0


def test_what_never_ran_is_not_said_to_have_stopped(reeve):
    r = reeve("""
services:
  a: {command: [/bin/sleep, "1000"]}
  b: {command: [/nonexistent], needs: [a]}
  c: {command: [/bin/sleep, "1000"], needs: [b]}
""")
    assert r.wait() == 10
    assert "a: stopped" in r.stderr and "c: stopped" not in r.stderr


def test_a_quiet_reeve_leaves_the_terminal_to_its_command(reeve):
    r = reeve("services: {db: {command: [/bin/sleep, '1000']}}", args=("-q", "--", "/bin/echo", "hello"))
    assert r.wait() == 0
    assert (r.stdout, r.stderr) == ("hello\n", "")
