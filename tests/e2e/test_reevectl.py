"""reevectl and the control socket of a real reeve (exit statuses)."""
import json
import os
import signal
import socket
import stat
import subprocess
import threading
import time

import pytest

import harness
from harness import until

PAIR = """
services:
  db: {command: [/bin/sleep, "1000"]}
  web:
    command: [/bin/sh, -c, 'echo one; echo two; printf "\\033[31m\\377\\n"; exec sleep 1000']
    needs: [db]
  broken: {command: [/bin/sh, -c, 'echo boom >&2; exit 3'], startup: disabled, ready: {tcp: "127.0.0.1:1"}}
  slow: {command: [/bin/sleep, "1000"], startup: disabled, ready: {tcp: "127.0.0.1:1", timeout: 60s}}
"""


def ask(path, *requests):
    """Sends raw lines and returns as many answers."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20 * harness.SLACK)
        s.connect(path)
        s.sendall("".join(json.dumps(r) + "\n" for r in requests).encode())
        f = s.makefile()
        return [json.loads(f.readline()) for _ in requests]


def call(method, ident=1, **params):
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}


def ctl_nobody(*args, **more):
    env = dict(os.environ, **more.pop("env", {}))
    return subprocess.run([harness.REEVECTL, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=20 * harness.SLACK, env=env, **more)


def test_every_way_to_end_has_its_exit_status(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    assert r.ctl("status").returncode == 0
    assert r.ctl("status", "web", "db").returncode == 0
    assert r.ctl("status", "broken").returncode == 3
    assert r.ctl("start", "web").returncode == 0, "what runs is a success"
    got = r.ctl("start", "broken")
    assert got.returncode == 1 and "broken" in got.stderr and "exited with 3" in got.stderr and "boom" in got.stderr
    assert r.ctl("wait", "broken").returncode == 3
    got = r.ctl("signal", "HUP", "broken")
    assert got.returncode == 3 and got.stderr.count("cannot signal") == 1 and "does not run" in got.stderr, got.stderr
    got = r.ctl("stop", "wbe", "nothing")
    assert got.returncode == 4 and 'did you mean "web"' in got.stderr and "nothing" in got.stderr
    assert r.service("web")["state"] == "ready", "unknown names: nothing is changed"
    assert r.ctl("start", "slow", "--timeout", "100ms").returncode == 6
    assert r.ctl("wait", "slow", "--timeout=100ms").returncode == 6
    assert r.ctl("stop", "slow").returncode == 0
    assert r.ctl("restart", "web", "--generation", "999").returncode == 8
    generation = r.service("web")["generation"]
    assert r.ctl("restart", "web", "--generation", str(generation)).returncode == 0
    assert r.service("web")["generation"] > generation
    assert r.ctl("stop", "broken").returncode == 0, "what is stopped is a success"
    assert r.term() == 0


@pytest.mark.parametrize("args, hint", [
    (["strat", "web"], "did you mean start"),
    (["status", "--jsno"], "did you mean --json"),
    (["start"], "needs a name"),
    (["start", "--all", "web"], "exclude"),
    (["signal", "NOPE", "web"], "not a signal"),
    (["signal", "KILL"], "signal"),
    (["wait", "--ready", "--stopped"], "exclude"),
    (["wait", "--timeout", "soon"], "duration"),
    (["wait", "--timeout"], "missing"),
    (["wait", "--timeout", "9223372036854775806ns"], "at most 366d"),
    (["status", "--follow"], "takes no"),
    (["plan", "web"], "takes no names"),
    ([], "verb"),
])
def test_a_wrong_command_line_is_2_and_says_why(args, hint):
    got = ctl_nobody(*args)
    assert got.returncode == 2 and hint in got.stderr, got.stderr
    assert not got.stdout
    for more in (["--json", *args], [*args, "--json"]):
        got = ctl_nobody(*more)
        if args[-1:] == ["--timeout"] and more[-1] == "--json":
            continue  # it is the duration then
        error = json.loads(got.stdout)["error"]
        assert got.returncode == 2 and error["class"] == "usage" and hint in error["message"], got.stdout
        assert got.stdout.count("\n") == 1 and hint in got.stderr


def test_a_guess_is_offered_only_when_it_is_near():
    assert "did you mean start" in ctl_nobody("strat").stderr
    assert "did you mean" not in ctl_nobody("bogus").stderr


def test_help_and_version_need_no_reeve():
    assert "reevectl" in ctl_nobody("--version").stdout
    for args in (["--help"], ["-h"], ["logs", "--help"], ["help"], ["help", "logs"]):
        got = ctl_nobody(*args)
        assert got.returncode == 0 and "usage: reevectl" in got.stdout
    assert ctl_nobody("help", "logs").stdout == ctl_nobody("logs", "--help").stdout
    assert "--follow" in ctl_nobody("logs", "--help").stdout


def test_options_stand_before_or_behind_the_verb(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    for args in (["-s", r.socket, "--json", "status", "db"], ["status", "db", "--json", "-s", r.socket],
                 ["status", "--socket=" + r.socket, "--json", "--", "db"]):
        got = ctl_nobody(*args)
        assert json.loads(got.stdout)["services"][0]["name"] == "db", got.stderr
    got = ctl_nobody("status", env={"REEVE_SOCKET": r.socket})
    assert got.returncode == 0
    assert r.term() == 0


def test_json_is_one_line_also_for_errors(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    for args in (["status"], ["version"], ["plan"], ["plugins"], ["check"], ["logs", "web"], ["wait"], ["start", "web"],
                 ["signal", "CONT", "web"], ["stop", "nix"]):
        got = r.ctl("--json", *args)
        assert got.stdout.count("\n") == 1, (args, got.stdout)
        json.loads(got.stdout)
    error = json.loads(r.ctl("--json", "stop", "nix").stdout)["error"]
    assert error["class"] == "no-such-service" and 'no service "nix"' in error["message"]
    assert r.term() == 0


def test_errors_are_sentences_of_what_was_asked_for(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    assert "cannot show logs: no service" in r.ctl("logs", "nix").stderr
    assert "cannot show the status: no service" in r.ctl("status", "nix").stderr
    assert r.term() == 0


# a restart that was not begun in time
def test_a_timeout_says_what_has_not_happened(reeve):
    r = reeve("""
services:
  db: {command: [/bin/sleep, "1000"]}
  web: {command: [/bin/sh, -c, 'trap "" TERM; echo >&3; while :; do sleep 0.1; done'], ready: {fd: 3}, needs: [db],
        stop: {timeout: 60s}}
""")
    r.wait_ready()
    got = r.ctl("restart", "db", "-t", "200ms")
    assert got.returncode == 6 and "still ready: its turn to stop has not come yet" in got.stderr, got.stderr
    harness.kill(r.service("web")["pid"])
    r.wait_state("web", "ready")
    r.signal(signal.SIGTERM)
    r.wait_text("SIGTERM")
    harness.kill(r.service("web")["pid"])
    assert r.wait() == 0


def test_a_shutdown_that_takes_too_long_is_one_error(reeve):
    r = reeve("""
services:
  deaf: {command: [/bin/sh, -c, 'trap "" TERM; echo >&3; while :; do sleep 0.1; done'], ready: {fd: 3}, stop: {timeout: 60s}}
""")
    r.wait_ready()
    deaf = r.service("deaf")["pid"]
    got = r.ctl("--json", "shutdown", "-t", "100ms")
    assert got.returncode == 6 and json.loads(got.stdout)["error"]["class"] == "timeout", got.stdout
    harness.kill(deaf)
    assert r.wait(20) == 0


def test_the_table_has_its_columns_and_no_colour_in_a_pipe(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    out = r.ctl("status").stdout
    head, *rows = out.splitlines()
    assert head.split() == ["NAME", "STATE", "PID", "UPTIME", "RESTARTS", "LAST"]
    assert [row.split()[0] for row in rows][:2] == ["db", "web"], "in start order"
    assert len({row.index(row.split()[1]) for row in rows}) == 1, "aligned"
    assert "\033" not in out
    assert r.term() == 0


def test_logs_come_as_they_were_written(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    until("the lines", lambda: r.log("web").count("\n") >= 3)
    raw = subprocess.run([harness.REEVECTL, "-s", r.socket, "logs", "web"], capture_output=True, timeout=20 * harness.SLACK)
    assert raw.stdout == b"one\ntwo\n\033[31m\377\n"
    assert r.ctl("logs", "-n", "2", "web").stdout.splitlines()[0] == "two"
    both = r.ctl("logs", "-n1", "web", "db").stdout
    assert both.startswith("web | ") and "two" not in both
    assert r.term() == 0


def test_follow_shows_the_next_life_too_and_ends_with_reeve(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    p = subprocess.Popen([harness.REEVECTL, "-s", r.socket, "logs", "-f", "-n", "0", "web"], stdout=subprocess.PIPE)
    seen = []
    t = threading.Thread(target=lambda: [seen.append(line) for line in p.stdout])
    t.start()
    until("the tail", lambda: len(seen) >= 3)
    assert r.ctl("restart", "web").returncode == 0
    until("the next life", lambda: seen.count(b"two\n") == 2)
    assert r.term() == 0
    assert p.wait(20 * harness.SLACK) == 0
    t.join()


#
def test_stopping_the_wait_does_not_stop_the_operation(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    p = subprocess.Popen([harness.REEVECTL, "-s", r.socket, "start", "slow"])
    r.wait_state("slow", "starting")
    p.send_signal(signal.SIGINT)
    assert p.wait(10 * harness.SLACK) == -signal.SIGINT
    time.sleep(0.1)
    assert r.service("slow")["state"] == "starting"
    assert r.ctl("start", "slow", "--no-wait").returncode == 0
    assert r.term() == 0


def test_shutdown_waits_until_reeve_is_gone(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    assert r.ctl("shutdown").returncode == 0
    assert r.wait(5) == 0
    assert not os.path.exists(r.socket)


#
def test_start_is_refused_while_reeve_shuts_down(reeve):
    r = reeve("""
services:
  web: {command: [/bin/sleep, "1000"], startup: disabled}
  deaf: {command: [/bin/sh, -c, 'trap "" TERM; echo >&3; while :; do sleep 0.1; done'], ready: {fd: 3}, stop: {timeout: 60s}}
""")
    r.wait_ready()
    deaf = r.service("deaf")["pid"]
    assert r.ctl("shutdown", "--no-wait").returncode == 0
    got = r.ctl("start", "web")
    assert got.returncode == 1 and "shutting down" in got.stderr
    harness.kill(deaf)
    assert r.wait(20) == 0


def test_a_check_of_broken_files_is_1_and_changes_nothing(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    assert r.ctl("check").returncode == 0
    r.write("reeve.yaml", "services: {web: {comand: [/bin/true]}, a: {command: [/bin/true], needs: [b]}}\n")
    got = r.ctl("check")
    assert got.returncode == 1
    assert "reeve.yaml:1:" in got.stderr and "command" in got.stderr and "'b'" in got.stderr
    assert r.service("web")["state"] == "ready"
    assert r.term() == 0


def test_check_and_plan_are_for_jq_as_well(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    got = r.ctl("--json", "check")
    assert got.returncode == 0 and json.loads(got.stdout)["complaints"] == []
    plan = {s["name"]: s for s in json.loads(r.ctl("--json", "plan").stdout)["services"]}
    assert list(plan)[:2] == ["db", "web"], "in start order"
    assert plan["db"]["argv"] == ["/bin/sleep", "1000"] and plan["db"]["ready"] is None
    assert plan["web"]["needs"] == [{"name": "db", "until": "ready"}]
    assert plan["slow"]["ready"]["tcp"] == "127.0.0.1:1" and plan["slow"]["ready"]["timeout_ms"] == 60000
    assert plan["db"]["stop"][-1]["signal"] == "KILL" and plan["db"]["log"]["path"].endswith("/db.log")
    assert "STORY_MARK" in plan["db"]["environment"] and r.mark not in json.dumps(plan)
    r.write("reeve.yaml", "services:\n  web: {comand: [/bin/true]}\n  a: {command: [/bin/true], needs: [b]}\n")
    got = r.ctl("--json", "check")
    answer = json.loads(got.stdout)
    assert got.returncode == 1 and answer["errors"] == len([c for c in answer["complaints"] if not c["warning"]])
    one = [c for c in answer["complaints"] if "comand" in c["text"]][0]
    assert one["file"].endswith("reeve.yaml") and one["line"] == 2 and one["column"] == 9 and one["warning"] is False
    assert "%(file)s:%(line)d:%(column)d: %(text)s\n" % one in r.ctl("check").stderr
    assert r.term() == 0


# -- the protocol by hand ---------------------------------------------------------------------------------------------

def test_the_protocol_can_be_spoken_by_hand(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    a, b, c = ask(r.socket, call("status", 1, names=["web"]), call("nonsense", 2), call("stop", "x", names=["db"]))
    assert a["result"]["services"][0]["pid"] > 0
    assert b["error"]["code"] == -32601
    assert c["id"] == "x" and c["result"]["services"][0]["state"] == "stopped"
    assert r.service("web")["pid"] is None, "dependents go first"
    assert r.term() == 0


def test_garbage_slow_and_silent_clients_hold_nobody_up(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    held = []
    for junk in (b"\x00\xff\n" * 100, b"{" * 200000, b"GET / HTTP/1.1\r\n\r\n", b""):
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        s.connect(r.socket)
        try:
            s.send(junk)
        except BlockingIOError:
            pass
        held.append(s)
    greedy = socket.socket(socket.AF_UNIX)
    greedy.connect(r.socket)
    greedy.setblocking(False)
    line = (json.dumps(call("status")) + "\n").encode() * 100
    try:
        for _ in range(200):
            greedy.send(line)  # reads nothing
    except BlockingIOError:
        pass
    assert r.ctl("status").returncode == 0
    assert r.ctl("restart", "web").returncode == 0
    for s in held + [greedy]:
        s.close()
    assert r.term() == 0


@pytest.mark.root
def test_others_may_look_but_not_touch(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    os.chmod(r.socket, 0o666)
    os.chmod(r.dir, 0o755)

    def as_nobody(*args):
        return subprocess.run([harness.REEVECTL, "-s", r.socket, *args], capture_output=True, text=True, timeout=20 * harness.SLACK,
                              user=65534, group=65534, extra_groups=[])
    if as_nobody("--version").returncode != 0:
        pytest.skip("another user cannot execute this build")
    assert as_nobody("status").returncode == 0
    assert as_nobody("wait", "web").returncode == 0
    assert as_nobody("version").returncode == 0
    for args in (["stop", "web"], ["logs", "web"], ["plan"], ["shutdown"], ["signal", "KILL", "web"], ["check"]):
        got = as_nobody(*args)
        assert got.returncode == 5, (args, got.stderr)
    os.chmod(r.socket, 0o600)
    assert as_nobody("status").returncode == 5
    assert r.service("web")["state"] == "ready"
    assert r.term() == 0


# -- the socket file ----------------------------------------------------------------------------------

def test_a_socket_left_by_a_killed_reeve_is_replaced(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    r.signal(signal.SIGKILL)
    r.wait()
    for pid in r.leftovers():
        harness.kill(pid)
    until("all to be gone", lambda: not r.leftovers())
    assert os.path.exists(r.socket)
    assert r.ctl("status").returncode == 7
    again = subprocess.Popen([harness.REEVE, "-c", r.path("base.yaml"), "-c", r.path("reeve.yaml"), "--plugin-dir", harness.PLUGINS],
                             stderr=subprocess.PIPE, env=r.env, cwd=r.dir)
    try:
        until("the second life", lambda: r.ctl("status").returncode == 0)
        second = subprocess.run(again.args, capture_output=True, text=True, env=r.env, cwd=r.dir, timeout=30 * harness.SLACK)
        assert second.returncode != 0 and "another reeve" in second.stderr
        assert r.ctl("status").returncode == 0
    finally:
        again.terminate()
        assert again.wait(30 * harness.SLACK) == 0
    assert not os.path.exists(r.socket)


@pytest.mark.parametrize("kind", ["file", "folder", "dangling", "link"])
def test_what_is_no_socket_survives(once, tmp_path, kind):
    run = tmp_path / "run"
    run.mkdir()
    path, target = run / "control.sock", run / "target"
    if kind == "file":
        path.write_text("keep")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(target)
        if kind == "link":
            target.write_text("keep")
    conf = tmp_path / "r.yaml"
    conf.write_text("version: 1\nreeve: {runtime-dir: %s, log: {dir: %s}}\nservices: {a: {command: [/bin/sleep, '1']}}\n" % (run, tmp_path))
    got = once("-c", str(conf), "--plugin-dir", harness.PLUGINS)
    assert got.returncode not in (0, 1) and str(path) in got.stderr, got.stderr
    mode = os.lstat(path).st_mode
    assert {"file": stat.S_ISREG, "folder": stat.S_ISDIR, "dangling": stat.S_ISLNK, "link": stat.S_ISLNK}[kind](mode)
    assert kind not in ("file", "link") or path.read_text() == "keep"
    assert kind != "dangling" or not target.exists()


def test_mode_is_as_configured_and_hup_brings_a_removed_socket_back(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    assert stat.S_IMODE(os.stat(r.socket).st_mode) == 0o660
    os.unlink(r.socket)
    assert r.ctl("status").returncode == 7
    r.signal(signal.SIGHUP)
    until("the socket", lambda: os.path.exists(r.socket))
    assert r.ctl("status").returncode == 0
    assert r.term() == 0


def test_nobody_there_is_not_running_and_7(tmp_path):
    got = ctl_nobody("-s", str(tmp_path / "none.sock"), "status")
    assert got.returncode == 7 and "not running" in got.stderr and "none.sock" in got.stderr
    got = ctl_nobody("-s", str(tmp_path / "none.sock"), "status", "--json")
    error = json.loads(got.stdout)["error"]
    assert got.returncode == 7 and error["class"] == "unreachable" and "not running" in error["message"]
    file = tmp_path / "file"
    file.write_text("")
    for verb in ("status", "wait"):
        got = ctl_nobody("-s", str(file), verb)
        assert got.returncode == 7 and "it is not a socket" in got.stderr, got.stderr
    stale = str(tmp_path / "stale.sock")
    s = socket.socket(socket.AF_UNIX)
    s.bind(stale)
    assert ctl_nobody("-s", stale, "status").returncode == 7
    s.listen(0)
    began = time.monotonic()
    asked = [subprocess.Popen([harness.REEVECTL, "-s", stale, *verb], stderr=subprocess.PIPE, text=True)
             for verb in (["status"], ["start", "web"], ["wait", "-t", "2s"])]
    for p in asked:
        err = p.communicate(timeout=20 * harness.SLACK)[1]
        assert p.returncode == 7 and "not running" in err
    assert time.monotonic() - began < 15 * harness.SLACK
    s.close()


def test_wait_comes_before_reeve_and_other_verbs_do_not(reeve):
    r = reeve(PAIR, wrap=["/bin/sh", "-c", 'while [ ! -e go ]; do sleep 0.02; done; exec "$@"', "sh"])
    began = time.monotonic()
    assert r.ctl("start", "web").returncode == 7
    assert r.ctl("wait", "--ready", "-t", "300ms").returncode == 7
    assert 0.3 <= time.monotonic() - began < 5 * harness.SLACK
    waits = [subprocess.Popen([harness.REEVECTL, "-s", r.socket, "wait", "--ready", *more], stderr=subprocess.PIPE, text=True)
             for more in ([], ["-t", "30s"])]
    time.sleep(0.2)
    assert all(p.poll() is None for p in waits)
    r.write("go", "")
    for p in waits:
        err = p.communicate(timeout=30 * harness.SLACK)[1]
        assert p.returncode == 0, err
    assert r.term() == 0


def test_the_protocol_example_of_the_manual_works_as_printed(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    with open(os.path.join(harness.SRC, "man", "reevectl.1")) as f:
        page = f.read()
    code = page[page.index("import json, socket"):]
    code = code[:code.index(".Ed")].replace("\\e", "\\").replace("/run/reeve/control.sock", r.socket)
    got = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, text=True, timeout=20 * harness.SLACK)
    assert got.stdout.startswith("done\n") and "'outcome': 'done'" in got.stdout, got.stdout + got.stderr
    assert r.term() == 0


# --- pause and resume


def test_what_is_paused_is_not_restarted_until_it_is_resumed(reeve):
    r = reeve("""
services:
  web: {command: [/bin/sleep, "1000"], restart: {delay: 1ms}}
  aside: {command: [/bin/sleep, "1000"], restart: {delay: 1ms}}
""")
    r.wait_ready()
    assert r.ctl("pause", "web").returncode == 0
    web = r.service("web")
    assert web["paused"] is True and web["state"] == "ready", "what runs goes on"
    assert "paused" not in r.service("aside")
    assert [line.split()[0] for line in r.ctl("status").stdout.splitlines() if line.endswith("paused")] == ["web"]
    assert "`reevectl resume web`" in r.ctl("why", "web").stdout
    os.kill(web["pid"], signal.SIGKILL)
    os.kill(r.service("aside")["pid"], signal.SIGKILL)
    until("the other one is restarted",
          lambda: r.service("aside")["generation"] == 2 and r.service("aside")["state"] == "ready")
    until("its end is heard", lambda: r.service("web")["state"] != "ready")
    assert r.service("web")["state"] == "backoff" and r.service("web")["generation"] == 1
    told = r.ctl("--json", "why", "web").stdout
    assert json.loads(told)["services"][0]["waits_for"] == "resume" and "reevectl resume web" in told
    assert r.ctl("wait", "--ready", "-t", "60s").returncode == 3, "nobody knows whether it is ever resumed"
    assert r.ctl("resume", "web").returncode == 0
    until("what was resumed is restarted",
          lambda: r.service("web")["generation"] == 2 and r.service("web")["state"] == "ready")
    assert "paused" not in r.service("web")
    events = [json.loads(line) for line in r.ctl("--json", "events", "web").stdout.splitlines()]
    assert [e["event"] for e in events if e["event"] != "state"] == ["paused", "resumed"]
    assert [(e["why"], e["detail"]) for e in events if e["event"] != "state"] == [("", "on request of user %d" % os.getuid())] * 2
    assert "web paused, generation 1, pid %d: on request of user " % web["pid"] in r.ctl("events", "web").stdout
    assert r.term() == 0
    assert "web: paused on request of user" in r.stderr and "web: resumed on request of user" in r.stderr
    assert "web: killed by SIGKILL; it is paused: not started again before `reevectl resume web`" in r.stderr


def test_without_names_all_are_paused_and_orders_work_as_ever(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    assert r.ctl("pause", "web", "--generation", "99").returncode == 8
    assert r.ctl("pause", "wbe").returncode == 4
    assert "paused" not in r.service("web")
    done = json.loads(r.ctl("--json", "pause").stdout)
    assert done["ok"] and [s["name"] for s in done["services"]] == list(r.services())
    assert all(s["paused"] for s in r.services().values())
    before = r.service("web")["generation"]
    assert r.ctl("restart", "web").returncode == 0, "an order is no automatic restart"
    assert r.service("web")["generation"] == before + 1 and r.service("web")["paused"]
    assert r.ctl("stop", "web").returncode == 0
    assert r.ctl("start", "web").returncode == 0
    events = [json.loads(line) for line in r.ctl("--json", "events", "web").stdout.splitlines()]
    assert [e["why"] for e in events if e["state"] == "stopping"] == ["restarted on request", "stopped on request"]
    assert r.ctl("resume").returncode == 0
    assert not any("paused" in s for s in r.services().values())
    assert r.term() == 0


def test_a_pause_that_is_taken_back_at_once_is_told_as_both(reeve):
    r = reeve(PAIR)
    r.wait_ready()
    assert [a["result"]["ok"] for a in ask(r.socket, call("pause", names=["web"]), call("resume", names=["web"]))] == [True] * 2
    until("it is told", lambda: "web: resumed on request of user" in r.stderr)
    events = [json.loads(line) for line in r.ctl("--json", "events", "web").stdout.splitlines()]
    assert [e["event"] for e in events if e["event"] != "state"] == ["paused", "resumed"]
    assert r.stderr.count("web: paused on request of user") == 1
    assert "paused" not in r.service("web")
    assert r.term() == 0


def test_more_requests_in_a_turn_than_fit_into_the_queue_are_all_carried_out(reeve):
    r = reeve("services: {web: {command: [/bin/sleep, '1000'], restart: {delay: 1ms}}}")
    r.wait_ready()
    life = r.service("web")
    requests = [call("resume" if i % 2 else "pause", ident=i) for i in range(400)]
    got = ask(r.socket, call("restart", names=["web"], no_wait=True), *requests)
    assert len(got) == 401 and all(a["result"]["ok"] for a in got)
    until("it is restarted", lambda: r.service("web")["generation"] == life["generation"] + 1)
    assert "paused" not in r.service("web"), "the last one counts"
    assert r.term() == 0


# --- a ceiling for what clients ask for

def test_no_request_waits_longer_than_the_ceiling_and_a_shorter_one_is_not_lengthened(reeve):
    r = reeve("reeve: {max-timeout: 300ms, boot-timeout: 0s}" + PAIR)
    r.wait_text("all ready")  # `wait --ready` is a request as well, and could be cut off
    for asked in ([], ["--timeout", "60s"]):
        began = time.monotonic()
        assert r.ctl("start", "slow", *asked).returncode == 6, asked
        assert time.monotonic() - began < 19 * harness.SLACK, "capped, where 60s or more were asked for"
    assert r.ctl("wait", "slow", "--timeout", "50ms").returncode == 6
    assert r.service("slow")["state"] == "starting", "its own time is not the ceiling's"
    assert "wait 300ms at most" in r.ctl("plan").stdout
    assert r.term() == 0


def test_a_long_reason_is_cut_at_a_character_and_marked(reeve):
    r = reeve("""
services:
  asked: {command: [/bin/sleep, "1000"], essential: false, ready: {exec: [/bin/sh, -c, 'printf x%(long)s >&2; exit 1'], timeout: 60s}}
  ended: {command: [/bin/sh, -c, 'printf x%(long)s >&2; exit 1'], type: launcher, essential: false, ready: {tcp: "127.0.0.1:1"}}
""" % {"long": "ä" * 400})
    detail = until("what its check says", lambda: "xä" in r.service("asked").get("detail", "") and r.service("asked")["detail"])
    assert detail.endswith("x" + "ä" * 149 + "…"), detail
    r.wait_state("ended", "failed")
    event = json.loads(r.ctl("--json", "events", "ended").stdout.splitlines()[-1])
    assert "xäää" in event["detail"] and event["detail"].endswith("ä…") and len(event["detail"].encode()) in (198, 199), event
    assert r.term() == 0


def test_why_a_service_has_failed_is_told_as_it_was_then(reeve, tmp_path):
    r = reeve("""
services:
  good: {command: [/bin/sh, -c, 'test -e %(dir)s/well || exit 3; echo >&3; exec sleep 1000'], ready: {fd: 3}, startup: disabled}
  slow: {command: [/bin/sleep, "1000"], ready: {exec: [/usr/bin/test, -e, %(dir)s/slow]}, startup: disabled}
""" % {"dir": tmp_path})
    r.wait_ready()
    both = subprocess.Popen([harness.REEVECTL, "-s", r.socket, "start", "good", "slow"], env=r.env, stderr=subprocess.PIPE, text=True)
    r.wait_state("good", "failed")
    r.wait_state("slow", "starting")
    (tmp_path / "well").write_text("")
    assert r.ctl("start", "good").returncode == 0
    (tmp_path / "slow").write_text("")
    said = both.communicate(timeout=30 * harness.SLACK)[1]
    assert both.returncode == 1 and "cannot start good: failed: exited with 3 before it was ready; by now it is ready\n" in said, said
    assert r.term() == 0


def test_what_another_request_has_prevented_is_told_as_that(reeve, tmp_path):
    r = reeve("""
services:
  web:
    command: [/bin/sh, -c, 'rm -f %(dir)s/end; echo >&3; while test ! -e %(dir)s/end; do sleep 0.05; done']
    ready: {fd: 3}
    stop: {steps: [{signal: CONT, timeout: 60s}]}
""" % {"dir": tmp_path})
    r.wait_ready()

    def interfere(verb, other):
        """What `verb` is answered when `other` comes while it is at work."""
        with subprocess.Popen([harness.REEVECTL, "-s", r.socket, verb, "web"], env=r.env, stderr=subprocess.PIPE, text=True) as asked:
            r.wait_state("web", "stopping")
            assert r.ctl(other, "web", "--no-wait").returncode == 0
            (tmp_path / "end").write_text("")
            said = asked.communicate(timeout=30 * harness.SLACK)[1]
        assert asked.returncode == 1, said
        return said

    assert interfere("stop", "start").endswith(": another request has started it again meanwhile\n")
    r.wait_state("web", "ready")
    assert ": another request, of user %d, has stopped it meanwhile\n" % os.getuid() in interfere("restart", "stop")
    assert r.term() == 0


def test_one_that_waits_for_a_resume_is_told_so_with_what_it_has_lost(reeve):
    r = reeve("""
services:
  below: {command: [/bin/sleep, "1000"], restart: {delay: 1ms}}
  web: {command: [/bin/sleep, "1000"], needs: [below]}
""")
    r.wait_ready()
    assert r.ctl("pause", "web").returncode == 0
    os.kill(r.service("below")["pid"], signal.SIGKILL)
    until("below to be back and web to wait",
          lambda: (r.service("below")["generation"], r.service("below")["state"], r.service("web")["state"]) == (2, "ready", "waiting"))
    said = r.ctl("wait", "web", "-t", "300ms")
    assert said.returncode == 6, said
    assert said.stderr.endswith("still waiting: it is paused, and not started before `reevectl resume web`: dependency lost: below\n"), said
    assert r.term() == 0
