"""The sessions in Jupyter that are ours: what is left of them when somebody ends, with a server that has faults.
R-59 to R-64; tests/stack/test_kernels.py does it with the real one."""
import json
import os
import signal

import harness
import pytest
from test_hosts import kill_host

JUPYTER = os.path.join(harness.SRC, "tests", "e2e", "jupyter-standin")
PREFIX = "cells-of-one-"

# What it leaves in Jupyter: sessions of its own, and one that somebody else could have made.
INTERPRETER = """
import http.server, json, os, sys, urllib.request

def post(path):
    body = {"path": path, "type": "notebook", "kernel": {"name": "python3"}}
    asked = urllib.request.Request(os.environ["JUPYTER_BASE_URL"] + "/api/sessions", data=json.dumps(body).encode())
    urllib.request.urlopen(asked, timeout=20).read()

class Health(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'"OK"')

for n in range(int(os.environ["SESSIONS"])):
    post("%s%d-%d" % (os.environ["CODE_INTERPRETER_SESSION_PREFIX"], os.getpid(), n))
post("notebook.ipynb")
http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Health).serve_forever()
"""


class Stage:
    """A Jupyter with faults."""

    def __init__(self, reeve, port, faults="", jupyter=None, more=None):
        graph = {"plugin": "jupyter", "options": {"bin": JUPYTER, "port": port, "root-dir": "${env.TMPDIR}"},
                 "environment": {"STANDIN": faults, "STANDIN_DIR": "${env.TMPDIR}/evidence"}, "restart": {"on": "never"}}
        for key, value in (jupyter or {}).items():
            graph[key] = {**graph.get(key, {}), **value}
        self.r = reeve(json.dumps({"services": {"jupyter": graph, **(more or {})}}), files={"cells.py": INTERPRETER})

    def sessions(self):
        return json.loads(self.r.read("evidence/sessions.json"))

    def paths(self):
        return [s["path"] for s in self.sessions()]

    def asked(self, method):
        lines = [json.loads(line) for line in harness.whole_lines(self.r.read("evidence/requests.log"))]
        return [line for line in lines if line["method"] == method and line["path"].startswith("/api/sessions")]


@pytest.fixture
def cells(reeve, free_port):
    """An interpreter on a Jupyter with faults; both are ready."""

    def boot(faults="", cleanup="30s", sessions=2, **more):
        port, own = free_port(), free_port()
        interpreter = {"plugin": "interpreter", "needs": ["jupyter"], "options": {"session-prefix": PREFIX},
                       "command": ["/usr/bin/python3", "${env.TMPDIR}/cells.py", "--port", str(own)],
                       "environment": {"JUPYTER_BASE_URL": "http://127.0.0.1:%d/" % port, "SESSIONS": str(sessions)},
                       "restart": {"on": "failure", "delay": "10ms"}, "stop": {"cleanup-timeout": cleanup}}
        s = Stage(reeve, port, faults, more={"interpreter": {**interpreter, **more}})
        s.r.wait_ready()
        return s

    return boot


def killed(s):
    """Its next life is ready when this returns."""
    before = s.r.service("interpreter")
    os.kill(before["pid"], signal.SIGKILL)
    harness.until("its next life", lambda: s.r.service("interpreter")["generation"] > before["generation"], 30)
    s.r.wait_state("interpreter", "ready", timeout=30)
    return before["pid"]


def test_a_killed_interpreter_leaves_none_of_its_sessions_and_all_of_the_others(cells):
    s = cells()
    assert len(s.paths()) == 3
    for _ in range(3):
        pid = killed(s)
        assert len(s.paths()) == 3 and "notebook.ipynb" in s.paths()
        assert not [p for p in s.paths() if p.startswith("%s%d-" % (PREFIX, pid))]
    assert s.r.ctl("stop", "interpreter").returncode == 0
    assert s.paths() == ["notebook.ipynb"]


# more than the 5 s that libraries have as their default
def test_a_slow_server_has_the_time_that_the_cleanup_is_given(cells):
    s = cells("delete_delay_ms=6000", cleanup="40s", sessions=1)
    assert s.r.ctl("stop", "interpreter", timeout=60).returncode == 0
    assert s.paths() == ["notebook.ipynb"]
    assert "cleanup hook" not in s.r.stderr


def test_a_cleanup_that_has_no_time_is_told_and_keeps_nobody(cells):
    s = cells("delete_delay_ms=60000", cleanup="200ms")
    assert s.r.ctl("stop", "interpreter").returncode == 0
    assert "interpreter: cleanup hook" in s.r.stderr
    assert s.r.service("interpreter")["state"] == "stopped"


#
def test_a_refusal_to_delete_is_one_warning_and_404_is_none(cells):
    s = cells("delete_status=500;404")
    assert s.r.ctl("stop", "interpreter").returncode == 0
    assert len(s.asked("DELETE")) == 2, "each is tried once"
    assert s.r.stderr.count("cleanup hook") == 1
    assert "1 of 2 sessions may be left in Jupyter: DELETE " in s.r.stderr and "answered 500" in s.r.stderr


#
def test_a_cleanup_that_fails_does_not_become_the_error(cells):
    s = cells("delete_status=500;500", restart={"on": "never"})
    os.kill(s.r.service("interpreter")["pid"], signal.SIGKILL)
    s.r.wait_state("interpreter", "failed")
    assert s.r.stderr.count("cleanup hook") == 1
    assert "killed" in s.r.service("interpreter")["detail"].lower() or "signal 9" in s.r.service("interpreter")["detail"]
    assert "sessions" not in s.r.service("interpreter")["detail"]


def test_a_jupyter_that_was_killed_is_not_waited_for(cells):
    s = cells()
    os.kill(s.r.service("jupyter")["pid"], signal.SIGKILL)
    s.r.wait_state("interpreter", "stopped", "failed", "waiting")
    assert "cleanup hook" not in s.r.stderr


# ---- contexts that jupyter has when it is ready ----------------------------------------------------------------------

@pytest.fixture
def contexts(reeve, free_port):
    """A Jupyter with faults that is to have these contexts, each a map; nobody has waited for it yet."""

    def boot(*wanted, faults="", attempt="5s", **options):
        return Stage(reeve, free_port(), faults, {"options": {"contexts": wanted, **options},
                                                  "ready": {"attempt-timeout": attempt, "timeout": "30s"}})

    return boot


def test_each_context_is_there_when_jupyter_is_ready_and_is_created_once_in_a_life(contexts):
    s = contexts({"name": "one"}, {"name": "two", "kernel": "deno", "working-dir": "${env.TMPDIR}/log"})
    s.r.wait_ready()
    assert [(c["name"], c["kernel"]["name"]) for c in s.sessions()] == [("one", "python3"), ("two", "deno")]
    assert "/" not in s.paths()[0] and s.paths()[1].startswith("log/")
    assert len(s.asked("POST")) == 2 and s.asked("DELETE") == []
    before = s.paths()
    assert s.r.ctl("restart", "jupyter").returncode == 0
    assert len(s.asked("POST")) == 4 and not set(before) & set(s.paths())


def fails(s, *words):
    """The boot fails, and says why."""
    assert s.r.wait(40) == 10
    for word in words:
        assert word in s.r.stderr, s.r.stderr


def test_a_kernel_that_does_not_exist_is_never_posted(contexts):
    s = contexts({"name": "one"}, {"name": "two", "kernel": "julia"})
    fails(s, "cannot create context two: there is no kernel julia; there are: python3, deno")
    assert s.asked("POST") == []


#
def test_what_was_created_is_deleted_when_a_later_one_fails(contexts):
    s = contexts({"name": "one"}, {"name": "two"}, faults="create_status=501,create_from=2")
    fails(s, "cannot create context two: POST ", "answered 501")
    assert len(s.asked("POST")) == 2 and len(s.asked("DELETE")) == 1 and s.sessions() == []


#
def test_a_creation_that_timed_out_is_found_by_its_path_and_deleted(contexts):
    s = contexts({"name": "one"}, faults="create_but_never_answer", **{"context-timeout": harness.seconds(1.5)})
    fails(s, "cannot create context one: POST ")
    assert len(s.asked("POST")) == 1 and len(s.asked("DELETE")) == 1 and s.sessions() == []


#
@pytest.mark.parametrize("faults, left, word", [("create_never", 0, "a session may yet come, with path "),
                                                ("create_but_never_answer,twice", 2, "2 sessions have its path ")])
def test_none_or_more_than_one_of_its_path_are_only_told(contexts, faults, left, word):
    s = contexts({"name": "one"}, faults=faults, **{"context-timeout": harness.seconds(1.5)})
    fails(s, "cannot create context one: POST ", word)
    assert len(s.asked("POST")) == 1 and s.asked("DELETE") == []
    assert left == 0 or len(s.sessions()) == left


def test_attempts_that_are_too_short_find_it_and_create_it_once(contexts):
    s = contexts({"name": "one"}, faults="create_delay_ms=1500", attempt="400ms")
    s.r.wait_ready()
    assert len(s.asked("POST")) == 1 and len(s.sessions()) == 1 and s.asked("DELETE") == []


def test_a_plugin_host_that_dies_meanwhile_creates_nothing_twice(contexts):
    s = contexts({"name": "one"}, faults="create_delay_ms=1000", attempt="10s")
    harness.until("the request", lambda: s.asked("POST"))
    assert kill_host(s.r)
    s.r.wait_ready()
    assert len(s.asked("POST")) == 1 and len(s.sessions()) == 1 and s.asked("DELETE") == []


def test_contexts_that_cannot_be_are_told_before_anything_starts(contexts):
    s = contexts({"name": "one", "working-dir": "/nowhere"})
    assert s.r.wait() == 78
    assert "option contexts, entry 1: working-dir /nowhere is not inside root-dir" in s.r.stderr
    assert s.r.read("evidence/requests.log") == ""
