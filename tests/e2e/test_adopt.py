"""if-running: who runs already where a service was to be started (R-12, R-13)."""
import os
import signal
import subprocess
import time

import pytest

from harness import PLUGINS, REEVE, SLACK, SRC, alive, children_of, until
from test_listen import refused
from test_ports import SERVER, net, stranger  # noqa: F401 (fixtures)


def adopts(port, more="", status=200):
    return """
services:
  s:
    command: [/bin/sh, -c, 'echo born >> births; exec /usr/bin/python3 server.py %d']
    working-dir: "${env.TMPDIR}"
    ports: [%d]
    ready: {http: {url: "http://127.0.0.1:%d/"}, timeout: 20s}
    if-running: adopt
    restart: {delay: 50ms%s}
    stop: {steps: []}
  user: {command: [/bin/sleep, "1000"], needs: [s]}
""" % (port, port, port, more)


def is_adopted(r, pid):
    s = r.wait_state("s", "adopted")
    assert s["pid"] == pid
    assert "pid %d (python3)" % pid in s["detail"]
    return s


def test_who_answers_already_is_adopted_and_never_signalled(reeve, free_port, stranger):  # noqa: F811
    port = free_port()
    other = stranger(port)
    r = reeve(adopts(port), files={"server.py": SERVER})
    r.wait_ready()
    is_adopted(r, other.pid)
    assert r.service("user")["state"] == "ready", "others may build on it"
    assert "adopted" in r.ctl("status", "s").stdout
    for verb in (("signal", "TERM", "s"), ("restart", "s")):
        got = r.ctl(*verb)
        assert got.returncode == 1 and "reeve did not start it" in got.stderr, got.stderr
    is_adopted(r, other.pid)
    assert r.ctl("start", "s").returncode == 0
    assert r.term() == 0
    assert other.proc.poll() is None, "it outlives us"
    assert r.read("births") == ""
    assert "adopted: pid %d (python3)" % other.pid in r.stderr
    assert "let go: pid %d (python3)" % other.pid in r.stderr


def test_a_stop_forgets_it_and_says_so(reeve, free_port, stranger):  # noqa: F811
    port = free_port()
    other = stranger(port)
    r = reeve(adopts(port), files={"server.py": SERVER})
    r.wait_ready()
    got = r.ctl("stop", "s")
    assert got.returncode == 0, got.stderr
    assert "reeve did not start it" in got.stdout + got.stderr and "runs on" in got.stdout + got.stderr
    s = r.wait_state("s", "stopped")
    assert not s.get("pid")
    assert r.service("user")["state"] == "waiting", "its dependents went before"
    assert other.proc.poll() is None
    assert r.ctl("start", "s").returncode == 0
    is_adopted(r, other.pid)
    r.wait_state("user", "ready")
    assert r.term() == 0


@pytest.mark.pid1
def test_a_background_job_from_before_is_adopted_by_pid_1(reeve, free_port):
    """As an entry point would do it: it starts a server and then becomes reeve."""
    port = free_port()
    r = reeve(adopts(port), files={"server.py": SERVER}, pid1=False,
              wrap=("unshare", "-p", "-f", "--mount-proc", "--kill-child", "sh", "-c",
                    'env -u STORY_MARK /usr/bin/python3 server.py %d > up & until [ -s up ]; do sleep 0.02; done; exec "$0" "$@"' % port))
    r.check_leftovers = False  # the namespace takes the job along
    r.wait_ready()
    assert r.service("s")["state"] == "adopted"
    assert r.ctl("shutdown").returncode == 0
    assert r.wait() == 0


def test_when_it_ends_the_restart_policy_starts_our_own(reeve, free_port, stranger):  # noqa: F811
    port = free_port()
    other = stranger(port)
    r = reeve(adopts(port), files={"server.py": SERVER})
    r.wait_ready()
    user = r.service("user")["pid"]
    began = time.monotonic()
    other.end()
    s = r.wait_state("s", "ready")
    assert time.monotonic() - began < 8 * SLACK, "its end is heard of, and not found out by the next check, after 10 s"
    assert s["pid"] != other.pid and s["restarts"] == 1
    assert r.read("births") == "born\n"
    r.wait_state("user", "ready")
    assert r.service("user")["pid"] != user, "its ground was lost, and came back"
    r.wait_text("s: pid %d (python3) had port %d and is gone; next start in" % (other.pid, port))
    assert r.term() == 0


def test_when_it_ends_and_nothing_is_restarted_it_has_failed(reeve, free_port, stranger):  # noqa: F811
    port = free_port()
    other = stranger(port)
    r = reeve(adopts(port, ", on: never"), files={"server.py": SERVER})
    r.wait_ready()
    other.end()
    assert "is gone" in r.wait_state("s", "failed")["detail"]
    assert r.read("births") == ""
    assert r.term() == 0


# It lives on, and does its work no more; nobody signals it for that.
def test_an_adopted_one_is_asked_again_and_again(reeve, free_port, stranger, tmp_path):  # noqa: F811
    port, ill = free_port(), tmp_path / "ill"
    other = stranger(port, source=SERVER.replace('b"HTTP/1.1 200 OK', '(b"HTTP/1.1 503 Busy" if os.path.exists("%s") else b"HTTP/1.1 200 OK") + b"' % ill))
    r = reeve(adopts(port).replace("    restart:", "    health: {tcp: %d, period: 100ms, threshold: 2}\n    restart:" % port), files={"server.py": SERVER})
    r.wait_ready()
    first = is_adopted(r, other.pid)
    ill.write_text("")
    until("it to be let go", lambda: r.service("s")["generation"] > first["generation"])
    r.wait_text("s: let go: pid %d (python3) was adopted, and runs on" % other.pid)
    until("the cause", lambda: "answered 503" in r.service("s").get("detail", ""))
    assert other.proc.poll() is None and r.read("births") == ""
    ill.unlink()
    is_adopted(r, other.pid)
    assert r.term() == 0
    assert other.proc.poll() is None


# The server that we knew ends, another process of its own goes on.
def test_a_server_of_several_processes_is_followed(reeve, free_port, stranger):  # noqa: F811
    port = free_port()
    other = stranger(port, source=SERVER.replace('flush=True)\n', 'flush=True)\nos.fork()\n', 1))
    second = until("its second process", lambda: children_of(other.pid))[0]
    r = reeve(adopts(port), files={"server.py": SERVER})
    r.wait_ready()
    first = r.service("s")["pid"]
    rest = {other.pid: second, second: other.pid}[first]
    os.kill(first, signal.SIGKILL)
    until("the other one", lambda: r.service("s")["pid"] == rest)
    assert is_adopted(r, rest)["generation"] == 1, "it was never lost"
    assert r.term() == 0
    assert alive(rest)
    os.kill(rest, signal.SIGKILL)


def test_who_does_not_pass_the_check_is_not_adopted_and_is_named(reeve, free_port, stranger):  # noqa: F811
    port = free_port()
    other = stranger(port, source=SERVER.replace("200 OK", "503 Busy"))
    r = reeve(adopts(port).replace("20s", "300ms"), files={"server.py": SERVER})
    assert r.wait() == 10
    assert "not ready within 300ms" in r.stderr
    assert "(port %d is listened on by pid %d (python3))" % (port, other.pid) in r.stderr
    assert r.read("births") == ""


def test_a_process_of_another_service_is_a_conflict_and_not_adopted(reeve, free_port):
    port = free_port()
    r = reeve(adopts(port).replace("  user:", """    needs: [thief]
  thief:
    command: [/usr/bin/python3, server.py, "%d"]
    working-dir: "${env.TMPDIR}"
    ready: {http: {url: "http://127.0.0.1:%d/"}}
  user:""" % (port, port)), files={"server.py": SERVER})
    assert r.wait() == 10
    assert "s: failed: cannot start: port %d is already in use by pid" % port in r.stderr
    assert "of service thief" in r.stderr


# The example of R-12: the stand-in runs first, and is asked by the plugin's own probe; the port is the plugin's, too.
def test_an_envd_that_runs_already_is_adopted_by_the_plugins_probe(reeve, free_port, tmp_path):
    port = free_port()
    standin = os.path.join(SRC, "etc", "sandbox", "envd-standin")
    with open(tmp_path / "log", "w") as log:
        other = subprocess.Popen([standin, "-port", str(port), "-isnotfc"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 env=dict(os.environ, STANDIN="loopback", STANDIN_DIR=str(tmp_path)), start_new_session=True)
    try:
        until("the stand-in to listen", lambda: not refused(port))
        r = reeve("""
services:
  envd: {plugin: envd, options: {bin: %s, port: %d}, if-running: adopt}
  user: {command: [/bin/sleep, "1000"], needs: [envd]}
""" % (standin, port))
        r.wait_ready()
        assert r.service("envd")["state"] == "adopted" and r.service("envd")["pid"] == other.pid
        why = r.ctl("why", "envd")
        assert why.returncode == 0 and "which reeve did not start" in why.stdout, why.stdout + why.stderr
        plan = subprocess.run([REEVE, "plan", "-c", r.config, "--plugin-dir", PLUGINS], capture_output=True, text=True, env=r.env)
        assert "%d (running already: adopted)" % port in plan.stdout
        assert r.term() == 0
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
