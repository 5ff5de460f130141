"""How reeve ended is told once and for all: the report in its file and as the last line of the log (R-59 to R-61, R-69, R-71, R-137, R-138)."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from harness import PLUGINS, SLACK, until
from test_teardown import DEAF, fc
from test_hosts import mixed  # noqa: F401

SETTING = "reeve: {termination-report: '${env.TMPDIR}/report', %s}\n"
FAILS = """
services:
  a: {command: [/bin/sleep, "1000"]}
  b:
    command: [/bin/sh, -c, 'echo to-stdout; echo "boom 1" >&2; printf "\\033[31mboom 2\\000\\377 \\"x\\"" >&2; exit 7']
    needs: [a]
    ready: {fd: 3, timeout: 60s}
"""


def last_line(r):
    """The report in the last line of the log; None: it has none."""
    line = r.stderr.splitlines()[-1]
    head = re.match(r"reeve: (?:error: )?report: ", line)
    return json.loads(line[head.end():]) if head else None


def report(r):
    """The report in the file, which says the same as the log."""
    with open(r.path("report"), "rb") as f:
        raw = f.read()
    assert raw.endswith(b"}\n") and len(raw) <= 4096, len(raw)
    got = json.loads(raw.decode("utf-8"))
    if not r.running():
        assert got == last_line(r)
    return got


# R-69 R-138: also when it logs to a file, and where no file is asked for
@pytest.mark.parametrize("log", ["", "log: {file: '${env.TMPDIR}/b.log'}", "log: {file: '-'}"])
def test_a_failed_boot_is_told_with_service_status_and_last_lines(reeve, log):
    r = reeve(FAILS + "    %s\n" % log)
    assert r.wait() == 10
    got = last_line(r)
    assert (got["what"], got["status"], got["service"], got["exit"]) == ("boot-failed", 10, "b", {"code": 7})
    assert got["why"] == "exited with 7 before it was ready"
    assert got["last_lines"] == ["boom 1", "\\x1b[31mboom 2\\x00\\xff \"x\""], "visible, and of stderr alone"
    assert got["complete"] is True and got["secondary"] == []
    assert "boom 1" in r.stderr[:r.stderr.index("report: ")], "the log tells it as well"


# R-70 R-11: and one that is not there at all
@pytest.mark.parametrize("command, why", [
    ("[/nonexistent/gateway]", "cannot execute /nonexistent/gateway: No such file or directory"),
    ("[/bin/sh, -c, 'echo boom >&2; exit 3']", "exited with 3 before it was ready"),
], ids=["missing", "exit"])
def test_a_missing_program_and_a_bad_exit_both_arrive_in_the_report(reeve, command, why):
    r = reeve(SETTING % "" + "services: {gateway: {command: %s, ready: {fd: 3}}}" % command)
    assert r.wait() == 10
    got = report(r)
    assert (got["what"], got["status"], got["service"], got["why"]) == ("boot-failed", 10, "gateway", why)
    assert (got["exit"], got["last_lines"]) == (({"code": 3}, ["boom"]) if "exited" in why else (None, []))


# while reeve goes on, so that it is not the sweep of its end
def test_what_a_failed_start_has_allocated_is_taken_away_at_once(reeve):
    r = reeve("""
reeve: {on-boot-failure: continue}
services:
  a: {command: [/bin/sleep, "1000"]}
  gateway:
    command: [/bin/sh, -c, 'setsid sleep 1000 & (setsid sh -c "sleep 1000 & wait" &) ; echo boom >&2; exit 1']
    environment: {FC: allocated}
    ready: {fd: 3}
""")
    r.wait_state("gateway", "failed")
    assert not fc(r, "allocated")
    assert r.service("gateway")["pid"] is None and r.service("a")["state"] == "ready"
    r.wait_text("gateway: failed: exited with 1 before it was ready; its last lines:\n  | boom")
    assert r.term() == 0


def test_the_file_says_the_same_with_times_and_the_states_of_all(reeve):
    r = reeve(SETTING % "" + FAILS)
    assert r.wait() == 10
    got = report(r)
    assert got["service"] == "b" and got["status"] == 10
    assert 0 < got["boot_ms"] <= got["run_ms"] and 0 <= got["stop_ms"] <= got["run_ms"]
    for key in ("started_at", "ended_at"):
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", got[key])
    services = {s["name"]: s for s in got["services"]}
    assert got["services"][0]["name"] == "b", "what failed comes first"
    assert services["b"]["state"] == "failed" and services["b"]["durations"]["ready_ms"] is None
    assert services["a"]["state"] == "stopped" and services["a"]["durations"]["ready_ms"] >= 0
    assert os.stat(r.path("report")).st_mode & 0o777 == 0o640


# R-59 R-71: what goes wrong on the way back stands beneath it
def test_errors_on_the_way_back_are_secondary_and_never_the_first(reeve):
    r = reeve(SETTING % "" + """
services:
  bad: {command: [/bin/sh, -c, 'trap "exit 9" TERM; echo >&3; while :; do sleep 0.05; done'], ready: {fd: 3}}
  deaf: {command: %s, needs: [bad], stop: {signal: TERM, timeout: 300ms}}
  last: {command: [/bin/sh, -c, 'exit 7'], needs: [deaf], ready: {fd: 3}}
""" % DEAF)
    assert r.wait() == 10
    got = report(r)
    assert (got["service"], got["exit"], got["why"]) == ("last", {"code": 7}, "exited with 7 before it was ready")
    assert got["secondary"] == ["deaf: did not stop in time: killed", "bad: exited with 9 when it was asked to stop"]
    assert r.stderr.index("last: failed: exited with 7") < r.stderr.index("deaf: did not stop in time")


# R-60 R-61: each step of the way back is for itself
@pytest.mark.parametrize("hook", ["stop", "cleanup"])
@pytest.mark.parametrize("how", ["crash", "fail"])
def test_a_hook_that_fails_on_the_way_back_is_told_and_the_rest_goes_on(mixed, hook, how):  # noqa: F811
    r = mixed(["moody"], """
  first: {plugin: moody, options: {in: cleanup, do: slow}}
  bad: {plugin: moody, options: {in: %s, do: %s}, needs: [first], stop: {signal: TERM, hook-timeout: 200s, cleanup-timeout: 200s}}
  last: {command: [/bin/sh, -c, 'exit 7'], needs: [bad], ready: {fd: 3}}
""" % (hook, how), settings="termination-report: '${env.TMPDIR}/report'", well=False)
    assert r.wait() == 10
    got = report(r)
    assert got["service"] == "last" and got["exit"] == {"code": 7}
    assert any(re.search(r"%s( hook)?: \S" % hook, s) for s in got["secondary"]), got
    assert not any(s.startswith("first: ") for s in got["secondary"]), got
    assert {s["name"]: s["state"] for s in got["services"]} == {"last": "failed", "bad": "stopped", "first": "stopped"}


# it takes 300 ms
@pytest.mark.parametrize("hook", ["stop", "cleanup"])
@pytest.mark.parametrize("bound, in_time", [("60s", True), ("50ms", False)])
def test_a_slow_step_of_the_way_back_has_the_time_that_it_is_given(mixed, hook, bound, in_time):  # noqa: F811
    keys = {"stop": "hook-timeout", "cleanup": "cleanup-timeout"}
    r = mixed(["moody"], """
  a: {plugin: moody, options: {in: %s, do: slow}, stop: {signal: TERM, %s: %s}}
  b: {command: [/bin/sh, -c, 'exit 7'], needs: [a], ready: {fd: 3}}
""" % (hook, keys[hook], bound), settings="termination-report: '${env.TMPDIR}/report'", well=False)
    assert r.wait() == 10
    got = report(r)
    assert (got["service"], got["exit"]) == ("b", {"code": 7})
    assert got["stop_ms"] >= 290 or not in_time, got
    assert (got["secondary"] == []) == in_time, got


# the way back may be cut short from outside
def test_the_report_of_a_failed_boot_is_there_while_the_way_back_hangs(reeve):
    r = reeve(SETTING % "" + """
services:
  a: {command: %s, stop: {signal: TERM, timeout: 60s}}
  b: {command: [/bin/sh, -c, 'echo boom >&2; exit 7'], needs: [a], ready: {fd: 3}}
""" % DEAF)
    r.wait_text("boot failed")
    r.wait_text("}", source="report")
    got = report(r)
    assert got["complete"] is False and got["what"] == "boot-failed" and got["last_lines"] == ["boom"]
    r.signal(signal.SIGTERM)
    r.wait_text("SIGTERM")
    r.signal(signal.SIGTERM)
    assert r.wait() == 128 + 15
    got = report(r)
    assert got["complete"] is True and got["what"] == "forced" and got["status"] == 143
    assert got["service"] == "b" and got["exit"] == {"code": 7}, "the first error stays"
    assert "SIGTERM again: killing everything" in got["secondary"]


def test_a_boot_timeout_names_the_late_one_and_its_last_check(reeve, free_port):
    r = reeve(SETTING % "boot-timeout: 700ms" + """
services:
  a: {command: [/bin/sleep, "1000"], ready: {tcp: "127.0.0.1:%d", timeout: 60s}}
""" % free_port())
    assert r.wait() == 10
    got = report(r)
    assert got["service"] == "a" and got["exit"] is None, "it was we who ended it, later"
    assert re.match(r"boot timeout; last check: .*refused", got["why"]), got
    assert got["boot_ms"] >= 700


# It fails when its time is over, and is gone a little later: that is one error.
def test_a_timeout_is_told_once(reeve, free_port):
    r = reeve(SETTING % "" + """
services:
  a: {command: [/bin/sleep, "1000"], ready: {tcp: "127.0.0.1:%d", timeout: 300ms}}
""" % free_port())
    assert r.wait() == 10
    got = report(r)
    assert got["service"] == "a" and re.match(r"not ready within 300ms; last check: .*refused", got["why"]), got
    assert got["secondary"] == [] and got["exit"] is None, got


def test_an_end_on_request_is_told_in_the_file_and_only_then_in_the_log(reeve):
    text = "services: {a: {command: [/bin/sleep, '1000']}}"
    r = reeve(SETTING % "" + text)
    r.wait_ready()
    assert r.term() == 0
    got = report(r)
    assert (got["what"], got["status"], got["service"], got["why"], got["secondary"]) == ("stopped", 0, None, None, [])
    r = reeve(text)
    r.wait_ready()
    assert r.term() == 0
    assert last_line(r) is None


@pytest.mark.parametrize("service, what, status, why", [
    ("{command: [/bin/sh, -c, 'sleep 0.2; echo over >&2; exit 3']}", "exited", 3, "exited with 3"),
    ("{command: [/bin/sh, -c, 'sleep 0.2; kill -9 $$']}", "exited", 137, "killed by SIGKILL"),
], ids=["status", "signal"])
def test_the_end_of_exit_from_is_told(reeve, service, what, status, why):
    r = reeve("reeve: {exit-from: a}\nservices: {a: %s}" % service)
    assert r.wait() == status
    got = last_line(r)
    assert (got["what"], got["status"], got["service"], got["why"]) == (what, status, "a", why)


def test_a_command_that_fails_is_its_users_matter(reeve):
    r = reeve(args=["--", "/bin/sh", "-c", "exit 3"], text="services: {}")
    assert r.wait() == 3
    assert last_line(r) is None


def test_one_that_gives_up_and_ends_reeve_is_told(reeve):
    r = reeve(SETTING % "" + """
services:
  a: {command: [/bin/sh, -c, 'echo >&3; sleep 0.3; exit 4'], ready: {fd: 3}, on-give-up: shutdown, restart: {delay: 10ms, limit: 2}}
""")
    assert r.wait() == 10
    got = report(r)
    assert (got["what"], got["service"], got["exit"]) == ("gave-up", "a", {"code": 4})
    assert "gave up after 2 restarts; exited with 4" in got["why"], got


def test_what_cannot_even_begin_is_told(reeve):
    r = reeve(SETTING % "" + "services: {b: {command: [/bin/sleep, '1000'], log: {file: /dev/null/nothing/b.log}}}")
    assert r.wait() == 10
    got = report(r)
    assert (got["what"], got["status"]) == ("not-started", 10)
    assert "/dev/null/nothing" in got["why"] and "Not a directory" in got["why"]


def test_a_boot_that_went_on_is_not_why_it_ends(reeve):
    r = reeve(SETTING % "on-boot-failure: continue" + FAILS)
    r.wait_text("boot failed")
    r.wait_state("b", "failed")
    assert r.term() == 0
    got = report(r)
    assert (got["what"], got["service"], got["why"]) == ("stopped", None, None)
    assert got["services"][0]["name"] == "b" and got["services"][0]["why"] == "exited with 7 before it was ready"


# --- the file -------------------------------------------------------------------------------------------------------


def test_a_report_of_before_is_gone_when_the_boot_begins(reeve):
    r = reeve(SETTING % "" + "services: {a: {command: [/bin/sleep, '1000']}}", files={"report": "old\n" * 3000})
    r.wait_ready()
    assert r.read("report") == ""
    inode = os.stat(r.path("report")).st_ino
    r.write("report", "longer than a report is, written by somebody else\n" * 200)
    assert r.term() == 0
    report(r)
    assert os.stat(r.path("report")).st_ino == inode, "a mounted file cannot be replaced: it is written in place"


# Not at the end only, when it is too late to mend
def test_a_file_that_cannot_be_written_is_told_when_the_boot_begins(reeve, tmp_path):
    busy = str(tmp_path / "busy")
    shutil.copy("/bin/sleep", busy)  # nobody may write a program while it runs, root neither
    sleeper = subprocess.Popen([busy, "1000"], stdin=subprocess.DEVNULL)
    try:
        until("the program to run", lambda: os.readlink("/proc/%d/exe" % sleeper.pid) == busy)
        r = reeve("reeve: {termination-report: %s}\nservices: {a: {command: [/bin/sleep, '1000']}}" % busy)
        r.wait_ready()
        told = "warning: cannot write the termination report %s: Text file busy" % busy
        assert r.stderr.count(told) == 1, r.stderr
        assert r.term() == 0
        assert r.stderr.count(told) == 2 and last_line(r)["what"] == "stopped"
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_second_reeve_leaves_the_report_of_the_first_alone(reeve):
    r = reeve(SETTING % "" + "services: {a: {command: [/bin/sleep, '1000']}}")
    r.wait_ready()
    r.write("report", "of the first")
    again = reeve(own_config=True, args=["-c", r.path("base.yaml"), "-c", r.config], env={"TMPDIR": r.dir})
    assert again.wait() not in (0, 78)
    assert r.read("report") == "of the first"
    assert r.term() == 0


@pytest.mark.parametrize("kind", ["folder", "fifo", "device", "full", "below-a-file", "new-folder"])
def test_a_file_that_cannot_be_written_is_told_and_changes_nothing(reeve, kind):
    path = {"device": "/dev/null", "full": "/dev/full", "below-a-file": "${env.TMPDIR}/file/report",
            "new-folder": "${env.TMPDIR}/x/y/report"}.get(kind, "${env.TMPDIR}/report")
    text = "reeve: {termination-report: '%s'}\n" % path + FAILS

    def prepared(r):
        if kind == "folder":
            os.mkdir(r.path("report"))
        if kind == "fifo":
            os.mkfifo(r.path("report"))

    import harness
    old = harness.Reeve.adjust_env
    harness.Reeve.adjust_env = prepared
    try:
        r = reeve(text, files={"file": ""})
    finally:
        harness.Reeve.adjust_env = old
    t = time.monotonic()
    assert r.wait() == 10
    assert time.monotonic() - t < 10 * SLACK
    told = "cannot write the termination report" in r.stderr
    assert told == (kind not in ("device", "new-folder")), r.stderr
    assert last_line(r)["service"] == "b", "the log has it all the same"
    if kind == "new-folder":
        assert json.loads(r.read("x/y/report")) == last_line(r)


def test_a_pipe_gets_it_when_somebody_reads(reeve, tmp_path):
    fifo = str(tmp_path / "pipe")
    os.mkfifo(fifo)
    fd = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    r = reeve("reeve: {termination-report: %s}\n" % fifo + "services: {a: {command: [/bin/sleep, '1000']}}")
    r.wait_ready()
    assert r.term() == 0
    got = os.read(fd, 65536)
    os.close(fd)
    assert json.loads(got) == last_line(r)


# The limit of the platform holds whatever is written, and it stays JSON.
def test_it_fits_and_is_json_whatever_services_write_and_however_many_there_are(reeve):
    text = "reeve: {termination-report: '${env.TMPDIR}/report'}\nservices:\n"
    for i in range(60):
        text += "  s%02d: {command: [/bin/sleep, '1000']}\n" % i
    text += """  wild:
    command: [/usr/bin/python3, wild.py]
    working-dir: "${env.TMPDIR}"
    ready: {fd: 3}
    needs: [%s]
""" % ", ".join("s%02d" % i for i in range(60))
    r = reeve(text, files={"wild.py": """
import os
for n in range(20): os.write(2, bytes(range(256)) + b'"\\\\' * 40 + "\\u20ac".encode() * 300 + b"\\n")
os.write(2, b"the end " + b"\\0" * 3000)
os._exit(1)
"""})
    assert r.wait(60) == 10
    got = report(r)
    assert got["last_lines"][-1].startswith("the end \\x00\\x00") and got["last_lines"][-1].endswith("...")
    assert got["services_left_out"] + len(got["services"]) == 61
    assert got["services"][0]["name"] == "wild"


@pytest.mark.parametrize("path, reason", [("/dev/full", None), ("/tmp/x/y/z/report", None), ("/dev", "it is a folder"), ("/dev/null/report", "Not a directory")])
def test_check_refuses_a_file_that_cannot_be_had(once, tmp_path, path, reason):
    (tmp_path / "g.yaml").write_text("reeve: {termination-report: %s, runtime-dir: %s}\nservices: {a: {command: [/bin/true], log: {file: '-'}}}" % (path, tmp_path))
    got = once("check", "-c", "g.yaml", "--plugin-dir", PLUGINS)
    assert got.returncode == (78 if reason else 0), got.stderr
    assert not reason or got.stderr.count("cannot write termination-report %s: %s" % (path, reason)) == 1, got.stderr


def test_a_path_that_is_none_is_a_mistake_with_its_place(reeve):
    r = reeve("reeve: {termination-report: report}\nservices: {}")
    assert r.wait() == 78
    assert "reeve.yaml:1:29: reeve.termination-report must be an absolute path" in r.stderr


def test_a_control_socket_that_cannot_be_had_is_told_as_well(reeve):
    r = reeve("reeve: {runtime-dir: /proc/nowhere, termination-report: '${env.TMPDIR}/report'}\n"
              "services: {a: {command: [/bin/sleep, '1000']}}")
    assert r.wait() == 10
    got = report(r)
    assert (got["what"], got["status"], got["service"]) == ("not-started", 10, None)
    assert got["why"].startswith("cannot open the control socket /proc/nowhere/control.sock ")
    assert 0 <= got["run_ms"] < 600000 and got["boot_ms"] is None


def test_the_report_of_one_that_runs_is_left_alone_by_a_second(reeve):
    graph = SETTING + "services: {a: {command: [/bin/sleep, '1000']}}"
    r = reeve(graph % "")
    r.wait_ready()
    with open(r.path("report"), "w") as f:
        f.write("the first one's")
    second = reeve(graph.replace("${env.TMPDIR}", r.dir) % ("runtime-dir: %s" % r.run))
    assert second.wait() == 10
    assert "another reeve (pid %d) answers on it" % r.pid in second.stderr
    assert r.read("report") == "the first one's"
    assert r.term() == 0


# with nobody outside who would clean up after it
@pytest.mark.parametrize("how", ["not-started", "rolled-back", "forced", "asked"])
def test_whatever_the_end_reeve_takes_away_itself_what_it_made(reeve, free_port, how):
    port = free_port()
    last = {"not-started": "{command: [/bin/sleep, '1000'], log: {file: /dev/null/nothing/b.log}}",
            "rolled-back": "{command: [/bin/sh, -c, 'exit 7'], needs: [a], ready: {fd: 3}}",
            "forced": "{command: %s, needs: [a], stop: {signal: TERM, timeout: 60s}}" % DEAF,
            "asked": "{command: [/bin/sleep, '1000'], needs: [a]}"}[how]
    r = reeve("""
services:
  a:
    command: [/bin/sh, -c, 'setsid sleep 1000 & exec sleep 1000']
    listen: [{name: u, unix: "${env.TMPDIR}/a.sock"}, {name: t, tcp: "127.0.0.1:%d"}]
  b: %s
""" % (port, last))
    if how in ("forced", "asked"):
        r.wait_ready()
        assert os.path.exists(r.path("a.sock")) and os.path.exists(r.socket)
        r.signal(signal.SIGTERM)
    if how == "forced":
        r.wait_text("SIGTERM")
        r.signal(signal.SIGTERM)
    assert r.wait() == {"forced": 143, "asked": 0}.get(how, 10)
    assert r.leftovers() == []
    assert not os.path.exists(r.path("a.sock")), "its socket file"
    assert not os.path.exists(r.socket), "its control socket"
    with socket.socket() as s:
        s.bind(("127.0.0.1", port))
