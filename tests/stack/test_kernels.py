"""Kernels do not outlive those that they are for, with the real Jupyter. With the faults of a false one: e2e/test_sessions.py."""
import json
import os
import signal
import urllib.request

import harness
import pytest
from sandbox import PORTS, listening, outer_pids

pytestmark = pytest.mark.bound(150)

# Only what kernels need; each kill is followed by the next life at once.
FEWER = """
services:
  envd: {startup: disabled}
  mcp-gateway: {startup: disabled}
  jupyter: {restart: {delay: 10ms, factor: 1, limit: 0}}
  interpreter:
    needs: [jupyter]
    environment: {ENVD_BASE_URL: ""}
    restart: {delay: 10ms, factor: 1, limit: 0}
"""
CONTEXTS = """
services:
  jupyter:
    options:
      root-dir: ${env.TMPDIR}
      contexts: [{name: plain}, {name: inside, kernel: python3, working-dir: "${env.SANDBOX_LOG}"}]
      context-timeout: 60s
    ready: {attempt-timeout: 20s}
"""
KILLS = 20

# An interpreter that does no more than leave a session in Jupyter: it starts at once, and removes nothing of an earlier life.
BARE = """
import json, os, time, urllib.request
path = "%s%d" % (os.environ["CODE_INTERPRETER_SESSION_PREFIX"], os.getpid())
body = {"path": path, "type": "notebook", "kernel": {"name": "python3"}}
asked = urllib.request.Request("http://127.0.0.1:8888/api/sessions", data=json.dumps(body).encode())
urllib.request.urlopen(asked, timeout=60).read()
os.write(3, bytes([10]))
time.sleep(3600)
"""
WITH_BARE = FEWER + """
    command: [/usr/bin/python3, -IS, -c, %s]
    listen: []
    ready: {fd: 3}
""" % json.dumps(BARE)


def ask(method, path, body=None):
    data = body and json.dumps(body).encode()
    asked = urllib.request.Request("http://127.0.0.1:%d%s" % (PORTS["jupyter"], path), data=data, method=method)
    with urllib.request.urlopen(asked, timeout=20 * harness.SLACK) as got:
        return json.loads(got.read() or b"null")


def paths():
    return sorted(s["path"] for s in ask("GET", "/api/sessions"))


def kernels(s):
    return len(s.processes("ipykernel_launcher"))


def outer(s, name):
    return outer_pids(s, {name: s.service(name)["pid"]})[name]


@pytest.fixture
def alone(fresh, world):
    """As fresh, where requests do not depend on how reeve runs."""
    if world != "subreaper":
        pytest.skip("it is done once")
    return fresh


def kill(s, name):
    """Kills it, and waits until its next life is ready."""
    before = s.service(name)["generation"]
    os.kill(outer(s, name), signal.SIGKILL)
    harness.until("the next life of " + name, lambda: s.service(name).get("generation", 0) > before, 40)
    s.wait_state(name, "ready", timeout=40)


def with_a_notebook(s):
    s.wait_ready(60)
    ask("POST", "/api/sessions", {"path": "somebody-elses.ipynb", "type": "notebook", "kernel": {"name": "python3"}})
    assert len(paths()) == 2


def ends_clean(s):
    harness.until("one kernel for each session", lambda: kernels(s) == 2)
    assert s.ctl("stop", "interpreter").returncode == 0
    assert paths() == ["somebody-elses.ipynb"]
    harness.until("its kernel to end", lambda: kernels(s) == 1)
    assert "cleanup hook" not in s.stderr, s.stderr


# requests do not depend on how reeve runs, so this is done once
def test_one_that_is_killed_again_and_again_leaves_no_kernel(alone):
    s = alone(files={"fewer.yaml": WITH_BARE})
    with_a_notebook(s)
    for n in range(KILLS):
        kill(s, "interpreter")
        assert len(paths()) == 2 and "somebody-elses.ipynb" in paths(), "after %d kills: %s" % (n + 1, paths())
    ends_clean(s)


def test_the_sample_interpreter_leaves_no_kernel_when_it_is_killed(alone):
    s = alone(files={"fewer.yaml": FEWER})
    with_a_notebook(s)
    kill(s, "interpreter")
    assert len(paths()) == 2
    ends_clean(s)


# kernels are in sessions of their own. Newer ones end by themselves when their server has, but one that is stopped cannot.
def test_a_jupyter_that_is_killed_leaves_no_kernel(fresh):
    soon = "services: {jupyter: {stop: {steps: [{signal: TERM, timeout: 500ms}]}}}\n"
    s = fresh(files={"fewer.yaml": FEWER, "soon.yaml": soon})
    with_a_notebook(s)
    before = s.processes("ipykernel_launcher")
    assert len(before) == 2
    os.kill(before[0], signal.SIGSTOP)
    kill(s, "jupyter")
    assert not set(before) & set(s.processes("ipykernel_launcher"))
    s.wait_ready(60)
    assert len(paths()) == 1
    harness.until("one kernel", lambda: kernels(s) == 1)
    assert "cleanup hook" not in s.stderr, s.stderr
    assert s.term() == 0
    assert s.leftovers() == [] and not listening(PORTS["jupyter"])


# The folder of a session's path is where its kernel runs; a kernel that is not there is not asked for, so TERM ends the server.
def test_contexts_are_there_when_jupyter_is_ready(alone):
    s = alone(files={"fewer.yaml": FEWER, "more.yaml": CONTEXTS})
    s.wait_ready(60)
    made = {c["name"]: c for c in ask("GET", "/api/sessions") if not c["path"].startswith("code-interpreter-")}
    assert sorted(made) == ["inside", "plain"]
    assert made["inside"]["path"].startswith("log/")
    assert s.service("jupyter")["restarts"] == 0
    where = sorted(os.readlink("/proc/%d/cwd" % pid) for pid in s.processes("ipykernel_launcher"))
    assert s.logs in where and s.dir in where, where
    assert s.term() == 0
    assert s.leftovers() == []
