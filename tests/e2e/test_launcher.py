"""Services that are started by a launcher, which leaves a daemon behind and ends with 0. The gateway is a stand-in: see
gateway-standin, and the first two tests here for what it keeps to. R-68 to R-70, R-73, R-74."""
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request

import harness
import pytest
from harness import alive, cmdline, until

STANDIN = os.path.join(harness.SRC, "tests", "e2e", "gateway-standin")
TOKEN = "11111111-2222-4333-8444-555555555555"
INIT = """
import os, signal, sys
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
signal.signal(15, lambda *_: os.kill(child, 15))
while True:
    try: pid, status = os.wait()
    except InterruptedError: continue
    if pid == child: os._exit(os.waitstatus_to_exitcode(status) & 255)
"""


# ---- the stand-in ----------------------------------------------------------------------------------------------------


def ask(port, body, token=None, path="/mcp"):
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = "Bearer " + token
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), data=json.dumps(body).encode(), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10 * harness.SLACK) as got:
            return got.status, json.load(got)
    except urllib.error.HTTPError as e:
        return e.code, None


INITIALIZE = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {}}


def run_standin(tmp_path, *args, token=TOKEN, **switches):
    words = ",".join(k if v is True else "%s=%s" % (k, v) for k, v in switches.items())
    return subprocess.run([STANDIN, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20 * harness.SLACK,
                          env={"STANDIN": words, "STANDIN_DIR": str(tmp_path), "GATEWAY_ACCESS_TOKEN": token})


def test_the_standin_ends_with_0_and_leaves_a_gateway_that_wants_its_token(tmp_path, free_port):
    port, file = free_port(), tmp_path / "pid"
    got = run_standin(tmp_path, "--config", '{"nobody-knows-this": {"a": "b"}}', port=port, pidfile=file)
    assert (got.returncode, got.stdout, got.stderr) == (0, "", "")
    pid = int(until("the gateway", lambda: file.exists() and file.read_text()))
    try:
        assert (tmp_path / ".token").read_text() == TOKEN
        assert ask(port, INITIALIZE)[0] == 401 and ask(port, INITIALIZE, "wrong")[0] == 401
        status, answer = ask(port, INITIALIZE, TOKEN)
        assert status == 200 and answer["id"] == 7 and answer["result"]["serverInfo"]["servers"] == ["nobody-knows-this"]
        assert ask(port, INITIALIZE, TOKEN, "/other")[0] == 404
        assert os.getsid(pid) != pid, "it has forked twice"
    finally:
        os.kill(pid, signal.SIGTERM)
    until("its end", lambda: not alive(pid))


@pytest.mark.parametrize("args, status, words", [
    (("--config", "{"), 1, "is no JSON"), (("--config", "[]"), 1, "object of objects"), (("--what",), 2, "usage:"),
    ((), 2, "usage:"), (("pull", "exa"), 0, "")])
def test_the_standin_says_on_stderr_what_is_wrong(tmp_path, args, status, words):
    got = run_standin(tmp_path, *args)
    assert got.returncode == status and words in got.stderr


# ---- a gateway that is launched --------------------------------------------------------------------------------------


@pytest.fixture
def gateway(reeve, free_port):
    """gateway(service=..., **switches) boots a graph of one gateway of the kind launcher."""

    def boot(service=None, options=None, more=None, how=None, timeout="20s", **switches):
        port = free_port()
        words = ["port=%d" % port] + [k if v is True else "%s=%s" % (k, v) for k, v in switches.items()]
        graph = {"plugin": "mcp-gateway", "ready": {"timeout": timeout}, "restart": {"delay": "100ms"},
                 "options": {"kind": "launcher", "bin": STANDIN, "port": port, "token": TOKEN,
                             "config": {"nobody-knows-this-server": {"apiKey": "s3cret-key"}}, **(options or {})},
                 "environment": {"STANDIN": ",".join(words), "STANDIN_DIR": "${env.TMPDIR}/evidence"}}
        graph.update(service or {})
        r = reeve(json.dumps({"services": {"gateway": graph, **(more or {})}}), **(how or {}))  # JSON is YAML
        r.port = port
        r.evidence = lambda name: r.read(os.path.join("evidence", name))
        return r

    return boot


def daemon_of(r):
    return int(until("the pid file", lambda: r.read("daemon.pid").strip()))


def fails(r, *words, within=10):
    assert r.wait(within) == 10, r.story()
    for word in words:
        assert word in r.stderr, "no %r in\n%s" % (word, r.stderr)


WAYS = {"as a subreaper": {}, "as PID 1": {"pid1": True},
        "below another init": {"wrap": ("unshare", "-p", "-f", "--mount-proc", "--kill-child", "/usr/bin/python3", "-c", INIT)}}


def end(r, way):
    if way != "below another init":
        return r.term()
    os.kill(until("the init", lambda: harness.children_of(r.proc.pid))[0], signal.SIGTERM)
    return r.wait()


# an unknown server is the gateway's matter. R-74: exit 0 of this kind is a start.
@pytest.mark.pid1
@pytest.mark.parametrize("way", WAYS)
def test_the_daemon_is_the_service_from_then_on(gateway, way):
    r = gateway(how=WAYS[way], pidfile="${env.TMPDIR}/daemon.pid")
    r.wait_ready()
    first, pid = r.service("gateway"), daemon_of(r)
    assert first["pid"] == pid and first["exit"] is None, "the daemon's pid, and no exit"
    assert ask(r.port, INITIALIZE, TOKEN)[0] == 200
    # Its end is noticed at once, with its status, and the launcher runs again.
    t = time.monotonic()
    assert r.ctl("signal", "KILL", "gateway").returncode == 0
    until("another life", lambda: r.service("gateway").get("generation", 0) > first["generation"])
    assert time.monotonic() - t < 5 * harness.SLACK
    now = r.wait_state("gateway", "ready")
    assert now["pid"] == int(r.read("daemon.pid")) != pid and now["restarts"] == 1
    assert "gateway: killed by SIGKILL; next start in" in r.stderr
    assert ask(r.port, INITIALIZE, TOKEN)[0] == 200
    # A stop reaches the daemon, and says stopped when it is gone.
    assert r.ctl("stop", "gateway").returncode == 0
    with pytest.raises(urllib.error.URLError):
        ask(r.port, INITIALIZE, TOKEN)
    assert r.ctl("start", "gateway").returncode == 0
    assert ask(r.port, INITIALIZE, TOKEN)[0] == 200
    assert end(r, way) == 0
    assert r.stderr.rstrip().endswith("gateway: stopped")


def test_its_argv_and_variables_are_those_of_the_contract_and_nothing_secret_is_shown(gateway):
    r = gateway()
    r.wait_ready()
    assert r.evidence("argv").splitlines()[1:] == ["--config", '{"nobody-knows-this-server":{"apiKey":"s3cret-key"}}']
    assert "GATEWAY_ACCESS_TOKEN=" + TOKEN in r.evidence("environ").splitlines()
    assert r.evidence(".token") == TOKEN
    shown = r.ctl("plan").stdout + r.ctl("--json", "plan").stdout + r.ctl("--json", "status").stdout + r.stderr
    assert "--config" in shown and "***" in shown and "s3cret" not in shown and TOKEN not in shown
    assert "1. gateway: launcher of plugin mcp-gateway" in shown and "who listens on port %d" % r.port in shown


def test_options_of_one_start_reach_the_launcher(gateway, free_port):
    r = gateway(service={"startup": "disabled"}, more={"keep": {"command": ["/bin/sleep", "1000"]}})
    r.wait_ready()
    r.write("servers.json", '{"exa": {"apiKey": "of-this-start"}}')
    assert r.ctl("start", "gateway", "--option", "config=@servers.json").returncode == 0
    assert r.evidence("argv").splitlines()[2:] == ['{"exa": {"apiKey": "of-this-start"}}']
    assert ask(r.port, INITIALIZE, TOKEN)[1]["result"]["serverInfo"]["servers"] == ["exa"]
    assert "of-this-start" not in r.ctl("--json", "status").stdout + r.ctl("--json", "plan").stdout + r.stderr
    got = r.ctl("restart", "gateway")
    assert got.returncode == 0 and r.service("gateway")["pid"]


def test_it_is_not_asked_before_the_launcher_has_ended_and_its_answer_decides(gateway):
    r = gateway(bind_delay_ms=300, starting_ms=1000)
    r.wait_ready()
    asked = [json.loads(line)["status"] for line in r.evidence("requests.log").splitlines()]
    assert asked[-1] == 200 and set(asked[:-1]) == {503}, asked


# R-68 R-69 R-70: what was started is undone, the status and what it said are in the message, whatever bytes those are.
def test_a_launcher_that_ends_badly_fails_the_start_with_its_stderr(gateway):
    r = gateway(stderr="first\\x00line\\nboom", exit=3, service={"needs": ["before"]},
                more={"before": {"command": ["/bin/sleep", "1000"]}})
    fails(r, "gateway: failed: its launcher exited with 3: boom", "first\\x00line", "before: stopped")
    assert "boot failed" in r.stderr


# the same way for a program that is not there.
def test_a_launcher_that_is_missing_is_named(gateway):
    r = gateway(options={"bin": "/nonexistent/mcp-gateway"})
    fails(r, "gateway: failed: cannot execute /nonexistent/mcp-gateway", "No such file or directory")


def test_a_launcher_that_hangs_is_ended_when_its_time_is_over(gateway):
    t = time.monotonic()
    r = gateway(hang=True, timeout="700ms")
    fails(r, "gateway: failed: its launcher did not end within 700ms")
    assert 0.7 < time.monotonic() - t < 8 * harness.SLACK


@pytest.mark.parametrize("switch", ["no_daemon", "daemon_dies"])
def test_a_launcher_that_leaves_nobody_has_failed_at_once(gateway, switch):
    t = time.monotonic()
    r = gateway(timeout="60s", **{switch: True})
    fails(r, "gateway: failed: its launcher ended with 0 and left no daemon")
    assert time.monotonic() - t < 10 * harness.SLACK


def test_a_daemon_that_dies_before_it_is_ready_has_failed_at_once_with_its_status(reeve):
    r = reeve("""
services:
  a: {type: launcher, command: [/bin/sh, -c, '(until [ -e go ]; do sleep 0.02; done; echo it was the end >&2; exit 7) & exit 0'],
      working-dir: "${env.TMPDIR}", ready: {exec: [/bin/false], timeout: 60s}}
""", args=("-v",))
    r.wait_text("a: its daemon is pid")
    r.write("go", "")
    fails(r, "a: failed: its daemon (pid ", ") exited with 7 before it was ready", "it was the end")


def test_what_it_says_while_the_launcher_runs_is_not_lost(reeve):
    r = reeve("""
services:
  fd: {type: launcher, command: [/bin/sh, -c, '(echo ready >&3; exec sleep 1000) & sleep 0.2; exit 0'], ready: {fd: 3}}
  line: {type: launcher, command: [/bin/sh, -c, '(echo now listening; exec sleep 1000) & sleep 0.2; exit 0'], ready: {log-line: listening}}
  says: {type: launcher, ready: {notify: true}, command: [/usr/bin/python3, -S, "${env.TMPDIR}/says.py"]}
""", files={"says.py": """
import os, socket, time
if os.fork():
    time.sleep(0.3)
    os._exit(0)
os.setsid()
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.connect(os.environ['NOTIFY_SOCKET'])
s.send(b'READY=1')
time.sleep(1000)
"""})
    r.wait_ready(timeout=15)


# With `main` the daemon is meant, and before it is known who that is, whoever the launcher started
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_daemon_may_say_that_it_is_ready_where_only_the_main_process_may(reeve, when):
    r = reeve("""
services:
  a: {type: launcher, ready: {notify: main}, working-dir: "${env.TMPDIR}", command: [/usr/bin/python3, -S, says.py, %s]}
""" % when, args=("-v",), files={"says.py": """
import os, socket, sys, time
early = sys.argv[1] == 'before'
said, say = os.pipe()
if os.fork():
    if early:
        os.read(said, 1)
    os._exit(0)
os.setsid()
while not early and not os.path.exists('go'):
    time.sleep(0.02)
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.connect(os.environ['NOTIFY_SOCKET'])
s.send(b'READY=1')
os.write(say, b'x')
time.sleep(1000)
"""})
    if when == "after":
        r.wait_text("a: its daemon is pid")
        open(r.path("go"), "w").close()
    r.wait_ready(timeout=15)


def test_its_end_alone_is_enough_when_that_is_asked_for(gateway):
    r = gateway(starting_ms=60000, service={"ready": {"exit": True}})
    r.wait_ready()
    assert not r.evidence("requests.log")


# the same exit of a resident service is a failure.
def test_exit_0_is_a_start_for_a_launcher_and_a_failure_for_all_others(reeve):
    r = reeve("""
reeve: {on-boot-failure: continue}
services:
  launcher: {type: launcher, command: [/bin/sh, -c, 'sleep 1000 & exit 0']}
  resident: {command: [/bin/sh, -c, 'sleep 1000 & exit 0'], ready: {exec: [/bin/false]}, essential: false}
""")
    assert r.wait_state("launcher", "ready")["pid"]
    r.wait_state("resident", "failed")
    assert "resident: failed: exited with 0 before it was ready" in r.stderr
    assert "unproven" not in [line for line in r.stderr.splitlines() if "launcher: ready" in line][0]
    assert r.term() == 0


# ---- where the daemon is found ---------------------------------------------------------------------------------------


@pytest.mark.pid1
@pytest.mark.parametrize("way", WAYS)
def test_a_pid_file_counts_only_if_it_was_written_now_and_names_one_of_this_life(reeve, way):
    """Three ways to be wrong: left by an earlier boot (and its number is somebody's now), naming another tree, nonsense."""
    r = reeve("""
services:
  other: {command: [/bin/sh, -c, 'echo $$ > stale.pid; exec sleep 1000'], working-dir: "${env.TMPDIR}",
          ready: {exec: [/usr/bin/test, -s, "${env.TMPDIR}/stale.pid"]}}
  stale: {type: launcher, main-pid: {file: "${env.TMPDIR}/stale.pid"}, working-dir: "${env.TMPDIR}", needs: [other],
          command: [/bin/sh, -c, '(sleep 0.3; echo $$; exec sleep 1000) & echo $! > mine; exit 0'], ready: {timeout: 4s}, restart: never}
  another: {type: launcher, main-pid: {file: "${env.TMPDIR}/another.pid"}, working-dir: "${env.TMPDIR}", needs: [other],
          command: [/bin/sh, -c, 'sleep 1000 & cp stale.pid another.pid'], ready: {timeout: 4s}, restart: never}
  nonsense: {type: launcher, main-pid: {file: "${env.TMPDIR}/nonsense.pid"}, working-dir: "${env.TMPDIR}",
          command: [/bin/sh, -c, 'sleep 1000 & echo 12x > nonsense.pid'], ready: {timeout: 4s}, restart: never}
  good: {type: launcher, main-pid: {file: "${env.TMPDIR}/good.pid"}, working-dir: "${env.TMPDIR}",
          command: [/bin/sh, -c, '(sleep 0.2; exec sleep 1000) & p=$!; (sleep 0.1; echo $p > good.pid) & exit 0']}
reeve: {on-boot-failure: continue}
""", files={"good.pid": "2\n"}, **WAYS[way])
    good = r.wait_state("good", "ready")
    assert good["pid"] == int(r.read("good.pid"))
    for name, why in (("stale", "stale.pid has not been written since this start"),
                      ("another", "another.pid names pid %s (sleep), which is no process of this service" % r.read("stale.pid").strip()),
                      ("nonsense", "there is no pid in pid file")):
        assert r.wait_state(name, "failed")
        line = [x for x in r.stderr.splitlines() if "%s: failed: its daemon was not found within 4s" % name in x][0]
        assert why in line, line
    assert r.service("other")["state"] == "ready", "whom a file names wrongly is left alone"
    assert end(r, way) == 0


def test_who_listens_is_found_though_nothing_else_ties_it_to_its_launcher(gateway):
    r = gateway(scrub=True, pidfile="${env.TMPDIR}/daemon.pid",
                service={"command": ["/bin/sh", "-c", STANDIN + " --config {}; sleep 0.3"]})
    r.wait_ready()
    pid = daemon_of(r)
    assert r.service("gateway")["pid"] == pid and "REEVE_INVOCATION_ID" not in open("/proc/%d/environ" % pid).read()
    assert r.ctl("stop", "gateway").returncode == 0
    assert not alive(pid), "and it is owned"


@pytest.mark.root
def test_who_listens_may_be_hidden_when_there_is_only_one_it_can_be(reeve, free_port):
    port = free_port()
    r = reeve("""
services:
  a: {type: launcher, user: nobody, main-pid: {port: %d}, command: [/bin/sh, -c, '/usr/bin/python3 -S listen.py & exit 0'],
      working-dir: "${env.TMPDIR}", log: null}
""" % port, wrap=("setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"), files={"listen.py": """
import socket, time
time.sleep(0.2)
s = socket.socket()
s.bind(('127.0.0.1', %d))
s.listen()
time.sleep(1000)
""" % port})
    r.wait_ready()
    pid = r.service("a")["pid"]
    assert cmdline(pid).endswith("listen.py")
    with open("/proc/%d/status" % r.pid) as f:
        caps = int([line for line in f if line.startswith("CapEff")][0].split()[1], 16)
    assert not caps & 1 << 19, "reeve could see everything after all"


def test_what_nothing_ties_to_a_launcher_is_told_and_not_guessed(reeve, free_port):
    r = reeve("""
services:
  a: {type: launcher, command: [/bin/sh, -c, "%s --config {}; sleep 0.3"],
      environment: {STANDIN: "scrub,port=%d,pidfile=${env.TMPDIR}/daemon.pid", STANDIN_DIR: "${env.TMPDIR}/evidence"}}
""" % (STANDIN, free_port()))
    fails(r, "a: failed: its launcher ended with 0 and left no daemon: pid ", "came up meanwhile, and nothing says whose it is")


def test_of_several_the_oldest_is_taken_and_a_warning_names_them(reeve):
    r = reeve("services: {a: {type: launcher, command: [/bin/sh, -c, 'sleep 1001 & sleep 0.1; sleep 1002 & exit 0']}}")
    r.wait_ready()
    until("the oldest to be what it becomes", lambda: cmdline(r.service("a")["pid"]).endswith("sleep 1001"))
    r.wait_text("is taken for the daemon; main-pid: {file: ...} or {port: ...} would tell")
    assert r.ctl("stop", "a").returncode == 0


def test_one_that_forks_slowly_is_followed_to_its_last_process(gateway):
    r = gateway(intermediate_ms=200, pidfile="${env.TMPDIR}/daemon.pid",
                service={"main-pid": "tree", "ready": {"exec": ["/bin/true"]}})
    r.wait_ready()
    pid = daemon_of(r)
    until("the last process", lambda: r.service("gateway")["pid"] == pid)
    time.sleep(0.3)
    assert r.service("gateway")["state"] == "ready" and r.service("gateway")["restarts"] == 0


def test_a_daemon_may_be_followed_by_its_successor(reeve):
    r = reeve("""
services:
  a: {type: launcher, command: [/bin/sh, -c, "sh -c 'trap \\"sleep 1000 & exit 0\\" USR1; echo >&3; while :; do sleep 0.05; done' & exit 0"], ready: {fd: 3}}
""")
    r.wait_ready()
    first = r.service("a")
    assert r.ctl("signal", "USR1", "a").returncode == 0
    until("the successor", lambda: r.service("a")["pid"] not in (None, first["pid"]))
    now = r.service("a")
    assert now["state"] == "ready" and now["generation"] == first["generation"]
    until("it to be what it becomes", lambda: cmdline(now["pid"]) == "sleep 1000")
    assert r.ctl("signal", "KILL", "a").returncode == 0
    until("a new life", lambda: r.service("a")["generation"] > first["generation"])


# ---- while it is launched --------------------------------------------------------------------------------------------


def test_a_stop_reaches_a_launcher_that_still_runs_and_whom_it_has_left(reeve):
    r = reeve("""
services:
  a: {type: launcher, command: [/bin/sh, -c, '(setsid sleep 1003 &); sleep 1004']}
""")
    r.wait_state("a", "starting")
    until("the child", lambda: [p for p in r.leftovers() if cmdline(p) == "sleep 1003"])
    why = r.ctl("why", "a").stdout
    assert "its launcher has not ended yet" in why, why
    assert r.ctl("stop", "a").returncode == 0
    assert not [p for p in r.leftovers() if cmdline(p).startswith("sleep 100")]


def test_dependents_that_wait_for_started_wait_for_the_end_of_the_launcher(reeve):
    r = reeve("""
services:
  a: {type: launcher, command: [/bin/sh, -c, 'sleep 1000 & sleep 0.3; echo ended > ended; exit 0'], working-dir: "${env.TMPDIR}",
      ready: {exec: [/bin/false], timeout: 20s}}
  b: {type: task, command: [/bin/sh, -c, 'cat ended'], working-dir: "${env.TMPDIR}", needs: [{service: a, until: started}]}
""")
    r.wait_state("b", "exited")
    assert r.service("a")["state"] == "starting" and r.log("b") == "ended\n"


def test_a_daemon_that_goes_into_the_background_is_told_of_its_type(reeve):
    r = reeve("""
services:
  hides: {command: [/bin/sh, -c, "setsid sleep 1000 & exit 0"]}
  ends: {command: [/bin/sh, -c, "exit 0"]}
  left: {command: [/bin/sh, -c, "trap 'exit 0' TERM; setsid sleep 1000 & echo >&3; wait"], ready: {fd: 3}}
""")
    r.wait_state("hides", "exited")
    r.wait_state("ends", "exited")
    r.wait_state("left", "ready")
    assert r.ctl("stop", "left").returncode == 0
    assert r.term() == 0
    told = [line for line in r.stderr.splitlines() if "type: launcher" in line]
    assert len(told) == 1 and "hides: it ended with 0 and left " in told[0], r.stderr
