"""The kinds of readiness, for services of any plugin, alone and together (R-25 to R-29, R-35, R-36)."""
import json
import os
import time

import harness
import pytest

# a server that answers by the path: /STATUS or /body/NAME; it says on its standard error what it was asked
SERVER = r"""
import http.server, json, os, sys, time

BODIES = {"ok": b"OK", "json": b'{"status": "ok", "database": {"up": true, "ms": 1.5}, "version": "7"}', "bad": b'{"status": "starting"}'}

class H(http.server.BaseHTTPRequestHandler):
    def answer(self):
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with open("asked", "a") as f:
            f.write(json.dumps([self.command, self.path, self.headers.get("Authorization"), sent.decode(),
                                self.headers.get("Content-Length")]) + "\n")
        what = self.path.split("?")[0].strip("/").split("/")
        status, body = 200, b"x"
        if what[0] == "until":                      # /until/FILE: 404 until that is there
            status = 200 if os.path.exists(what[1]) else 404
        elif what[0] == "body":
            body = BODIES[what[1]]
        elif what[0] == "later":                    # /later/FILE: a wrong body until that is there
            body = b"OK" if os.path.exists(what[1]) else b"not yet"
        elif what[0] == "echo":
            body = (self.headers.get("Authorization") or "").encode()
        elif what[0] == "hang":
            time.sleep(1000)
        elif what[0] == "endless":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"O" * 4096)
            except OSError:
                return
        elif what[0] == "short":
            self.send_response(200)
            self.send_header("Content-Length", "10")
            self.end_headers()
            self.wfile.write(b"OK")
            return
        else:
            status = int(what[0])
        self.send_response(status)
        if status in (301, 302):
            self.send_header("Location", self.path.split("?")[1])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_HEAD = answer
    def log_message(self, *_): pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
"""


@pytest.fixture
def served(reeve, free_port):
    """served("/path", key=value, ...) boots a graph of one server that is asked so; the keys are those of http."""

    def boot(path, budget="60s", env=None, **http):
        port = free_port()
        http["url"] = "http://127.0.0.1:%d%s" % (port, path)
        graph = {"services": {"s": {"command": ["/usr/bin/python3", "-u", "server.py", str(port)], "working-dir": "${env.TMPDIR}",
                                    "ready": {"http": http, "timeout": budget, "attempt-timeout": "20s"}, "restart": "never"}}}
        r = reeve(json.dumps(graph), files={"server.py": SERVER}, env=env)
        r.asked = lambda: [json.loads(line) for line in r.read("asked").splitlines()]
        return r

    return boot


def script(reeve, lines, ready, more="", **kw):
    """A graph of one shell script; ready as flow YAML."""
    return reeve("""
services:
  s:
    command: [/bin/sh, ./script]
    working-dir: "${env.TMPDIR}"
    ready: {%s}
    restart: {on: always, delay: 20ms}
%s""" % (ready, more), files={"script": "\n".join(lines) + "\n"}, **kw)


def is_starting(r, why, service="s"):
    """It is starting, and the last check said this."""
    harness.until("%r\n%s" % (why, r.story()), lambda: why in r.service(service).get("detail", ""))
    assert r.service(service)["state"] == "starting"


def fails(r, *words, within=20):
    assert r.wait(within) == 10, r.story()
    for word in words:
        assert word in r.stderr, "no %r in\n%s" % (word, r.stderr)
    return r


WAIT = "while [ ! -e %s ]; do sleep 0.02; done"

# ---- log-line --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", ["1", "2"])
@pytest.mark.parametrize("log", ['"-"', "null", "{file: '${env.TMPDIR}/x.log', max-size: 4KiB, keep: 1}"])
def test_a_line_of_either_stream_is_ready_wherever_the_log_goes(reeve, log, stream):
    r = script(reeve, ["echo not ready yet >&" + stream, WAIT % "go", "echo ready on port 80 >&" + stream, "exec sleep 1000"],
               "log-line: '^ready on port [0-9]+$'", "    log: %s\n" % log)
    is_starting(r, "no line of its output")
    assert "no line of its output has a match for ready.log-line" in r.ctl("why", "s").stdout
    r.write("go", "")
    r.wait_ready()
    assert r.term() == 0


def test_a_line_counts_when_its_end_has_come_and_without_its_carriage_return(reeve):
    r = script(reeve, ["printf 'rea'", "echo a line >&2", "printf 'dy'", WAIT % "go", "printf '\\r\\n'", "exec sleep 1000"],
               "log-line: '^ready$'")
    is_starting(r, "no line of its output")
    r.write("go", "")
    r.wait_ready()
    assert r.term() == 0


def test_a_line_of_an_earlier_life_proves_nothing(reeve):
    r = script(reeve, ["[ -e lived ] && { touch again; exec sleep 1000; }", "touch lived",
                       "echo ready; %s; exit 1" % (WAIT % "go")], "log-line: ready")
    r.wait_ready()
    r.write("go", "")
    harness.until("another life", lambda: os.path.exists(r.path("again")))
    is_starting(r, "no line of its output")
    assert r.term() == 0


def test_a_line_that_does_not_come_is_the_cause_when_the_budget_is_over(reeve):
    fails(script(reeve, ["echo something else", "exec sleep 1000"], "log-line: ready, timeout: %s" % harness.seconds(1)),
          "not ready within ", "no line of its output has a match for ready.log-line", "something else")


def test_an_exit_before_the_line_fails_at_once(reeve):
    fails(script(reeve, ["echo starting", "exit 3"], "log-line: ready, timeout: 60s"), "exited with 3 before it was ready")


def test_a_wrong_expression_is_told_with_its_place(reeve):
    r = script(reeve, [], "log-line: '^ready ('")
    assert r.wait() == 78
    assert ":6:23: ready.log-line of service 's' is no regular expression (POSIX extended): unmatched ( at byte 8" in r.stderr


# ---- file ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ["touch made", "echo x > made.new; mv made.new made", "mkdir made", "mkfifo made", "ln -s /bin/sh made"])
def test_a_file_that_appears_is_ready(reeve, make):
    r = script(reeve, [WAIT % "go", make, "exec sleep 1000"], "file: '${env.TMPDIR}/made'")
    is_starting(r, "made: no such file or directory")
    r.write("go", "")
    r.wait_ready()
    assert r.term() == 0


@pytest.mark.parametrize("change", ["echo more >> made", "touch made", "echo x > new; mv new made", "rm made; sleep 0.1; touch made"])
def test_a_file_that_was_there_counts_when_it_is_written_anew(reeve, change):
    r = reeve("""
services:
  before: {command: [/bin/sh, -c, "touch -d 'last year' made"], type: task, working-dir: "${env.TMPDIR}"}
  s:
    command: [/bin/sh, -c, "chmod 600 made; %s; %s; exec sleep 1000"]
    working-dir: "${env.TMPDIR}"
    needs: [before]
    ready: {file: "${env.TMPDIR}/made"}
""" % (WAIT % "go", change))
    is_starting(r, "made: as it was before the start")
    r.write("go", "")
    r.wait_ready()
    assert r.term() == 0


def test_a_file_of_an_earlier_life_proves_nothing(reeve):
    r = script(reeve, ["if [ -e made ]; then %s; else touch made; %s; exit 1; fi" % (WAIT % "again", WAIT % "go"),
                       "touch made", "exec sleep 1000"], "file: '${env.TMPDIR}/made'")
    r.wait_ready()
    r.write("go", "")
    is_starting(r, "made: as it was before the start")
    r.write("again", "")
    r.wait_state("s", "ready")
    assert r.term() == 0


# ---- unix ------------------------------------------------------------------------------------------------------------

UNIX = r"""
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[1]))
s.bind("sock")
while not os.path.exists("go"): time.sleep(0.02)
if sys.argv[1] != "SOCK_DGRAM":
    s.listen(1)
    while True: s.accept()[0].close()
time.sleep(1000)
"""


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_SEQPACKET"])
def test_a_unix_socket_is_ready_when_it_listens(reeve, kind):
    r = reeve("""
services:
  s:
    command: [/usr/bin/python3, unix.py, %s]
    working-dir: "${env.TMPDIR}"
    ready: {unix: "${env.TMPDIR}/sock", timeout: 60s}
""" % kind, files={"unix.py": UNIX})
    is_starting(r, "sock: connection refused")
    r.write("go", "")
    r.wait_ready()
    assert r.term() == 0


def test_a_file_that_is_no_socket_is_said_to_be_none(reeve):
    r = reeve("""
services:
  s: {command: [/bin/sleep, "1000"], ready: {unix: "${env.TMPDIR}/file", timeout: 60s}}
""", files={"file": ""})
    is_starting(r, "/file: what is there is no socket")
    assert r.term() == 0


def test_a_datagram_socket_is_ready_when_it_is_bound(reeve):
    r = reeve("""
services:
  s: {command: [/usr/bin/python3, unix.py, SOCK_DGRAM], working-dir: "${env.TMPDIR}", ready: {unix: "${env.TMPDIR}/sock"}}
""", files={"unix.py": UNIX, "go": ""})
    r.wait_ready()
    assert r.term() == 0


def test_a_unix_socket_of_somebody_else_is_a_conflict_and_named(reeve):
    r = reeve("""
services:
  other: {command: [/usr/bin/python3, unix.py, SOCK_STREAM], working-dir: "${env.TMPDIR}", ready: {unix: "${env.TMPDIR}/sock"}}
  s: {command: [/bin/sleep, "1000"], needs: [other], ready: {unix: "${env.TMPDIR}/sock", timeout: 60s}}
""", files={"unix.py": UNIX, "go": ""})
    other = r.wait_state("other", "ready")["pid"]
    is_starting(r, "is listened on by pid %d" % other)
    is_starting(r, "not by this service")
    assert r.term() == 0


def test_a_socket_that_reeve_listens_on_for_it_is_its_own(reeve):
    r = reeve("""
services:
  s:
    command: [/bin/sleep, "1000"]
    listen: [{name: u, unix: "${env.TMPDIR}/sock", backlog: 5}]
    ready: {unix: "${env.TMPDIR}/sock"}
""")
    r.wait_ready()
    assert r.term() == 0


@pytest.mark.parametrize("path", ["sock", "run/control.sock"])
def test_a_socket_that_reeve_listens_on_for_somebody_else_is_not(reeve, path):
    r = reeve("""
services:
  s: {command: [/bin/sleep, "1000"], listen: [{name: u, unix: "${env.TMPDIR}/sock", backlog: 4000}]}
  t: {command: [/bin/sleep, "1000"], ready: {unix: "${env.TMPDIR}/%s", timeout: 1s}}
""" % path)
    assert r.wait() == 10
    assert "/%s: is listened on by reeve itself, not by this service" % path in r.stderr


# ---- http ------------------------------------------------------------------------------------------------------------


def test_a_url_alone_wants_2xx(reeve, free_port):
    port = free_port()
    r = reeve("""
services:
  s: {command: [/usr/bin/python3, server.py, "%d"], working-dir: "${env.TMPDIR}", ready: {http: "http://127.0.0.1:%d/204"}}
""" % (port, port), files={"server.py": SERVER})
    r.wait_ready()
    assert r.term() == 0


def test_what_is_asked_is_what_the_file_says(served):
    r = served("/200?q=1", method="POST", headers={"Authorization": "Bearer ${env.API_TOKEN}"}, send='{"hello": 1}',
               env={"API_TOKEN": "a-s3cret"})
    r.wait_ready()
    assert r.asked()[-1] == ["POST", "/200?q=1", "Bearer a-s3cret", '{"hello": 1}', "12"]
    assert r.term() == 0


@pytest.mark.parametrize("method, length", [("POST", "0"), ("PUT", "0"), ("DELETE", None), ("HEAD", None), ("OPTIONS", None)])
def test_each_method_is_asked_by_its_name(served, method, length):
    r = served("/200", method=method)
    r.wait_ready()
    assert r.asked()[-1] == [method, "/200", None, "", length]
    assert r.term() == 0


@pytest.mark.parametrize("status, wanted", [(404, ["404"]), (503, ["5xx"]), (302, ["200-299", 302])])
def test_any_status_can_be_the_wanted_one(served, status, wanted):
    r = served("/%d?/200" % status, status=wanted)
    r.wait_ready()
    assert {path for _, path, *_ in r.asked()} == {"/%d?/200" % status}, "a redirect was followed"
    assert r.term() == 0


def test_a_status_that_is_not_wanted_is_final_or_not_by_the_usual_rule(served):
    fails(served("/200", status=204), "/200 answered 200, expected 204")
    fails(served("/302?/200", status=["2xx", 418]), "answered 302, expected 2xx or 418")
    r = served("/429", status=204)
    is_starting(r, "/429 answered 429, expected 204")
    assert r.term() == 0


def test_a_final_status_may_be_declared_passing_and_the_other_way_round(served):
    r = served("/until/go", **{"retry-status": [404]})
    is_starting(r, "answered 404, expected 2xx")
    r.write("go", "")
    r.wait_ready()
    assert r.term() == 0
    fails(served("/503", **{"fail-status": [503]}), "/503 answered 503, expected 2xx")


@pytest.mark.parametrize("path, wanted", [
    ("/body/ok", {"body": "OK"}), ("/body/ok", {"regex": "^O.$"}), ("/body/json", {"json": ["status", "version"]}),
    ("/body/json", {"json": {"status": "ok", "version": None, "database": {"up": True, "ms": 1.5}}, "regex": '"version": "[0-9]"'}),
])
def test_a_body_that_is_as_wanted_is_ready(served, path, wanted):
    r = served(path, **wanted)
    r.wait_ready()
    assert r.term() == 0


@pytest.mark.parametrize("path, wanted, words", [
    ("/body/ok", {"body": "Ok"}, 'answered 200 with the body "OK", expected "Ok"'),
    ("/body/ok", {"regex": "^K"}, 'answered 200 with the body "OK", which has no match for "^K"'),
    ("/body/ok", {"json": ["a"]}, 'answered 200 with a body that is no JSON object: "OK"'),
    ("/body/bad", {"json": {"status": "ok"}}, 'answered 200 with /status "starting", expected "ok"'),
    ("/body/bad", {"json": {"database": {"up": True}}}, "answered 200 without the member /database/up, expected to be true"),
    ("/body/json", {"json": {"version": 7}}, 'answered 200 with /version "7", expected 7'),
    ("/endless", {"body": "OK"}, 'answered 200 with the body "OOOO'),
    ("/endless", {"json": ["a"]}, "a body that is too long to be read as JSON"),
])
def test_a_wrong_body_is_final_and_told(served, path, wanted, words):
    r = fails(served(path, **wanted), words)
    assert len(r.asked()) == 1


def test_a_wrong_body_may_be_declared_passing(served):
    r = served("/later/go", body="OK", **{"on-mismatch": "retry"})
    is_starting(r, 'answered 200 with the body "not yet", expected "OK"')
    r.write("go", "")
    r.wait_ready()
    assert r.term() == 0


def test_a_body_that_breaks_off_is_no_answer_whatever_it_has(served):
    r = served("/short", regex="^OK")
    is_starting(r, "bytes remaining")
    assert r.term() == 0


def test_a_request_has_its_own_bound(served):
    r = served("/hang", timeout="100ms")
    is_starting(r, "no answer within 100ms")
    harness.until("three requests", lambda: len(r.asked()) >= 3)
    assert r.term() == 0


def test_a_request_has_no_longer_than_the_budget(reeve, free_port):
    """Nobody ever accepts, from the first moment on: no server has to come up in time for this."""
    port = free_port()
    began = time.monotonic()
    r = reeve("""
services:
  s:
    command: [/bin/sleep, "1000"]
    listen: [{name: l, tcp: "127.0.0.1:%d", backlog: 5}]
    ready: {http: {url: "http://127.0.0.1:%d/", timeout: 30s}, timeout: 1500ms}
""" % (port, port))
    fails(r, "not ready within 1500ms", "GET http://127.0.0.1:%d/: no answer within" % port)
    assert time.monotonic() - began < 8 * harness.SLACK


def test_the_value_of_a_header_is_shown_nowhere(served):
    """Also not when the server sends it back."""
    r = fails(served("/echo", headers={"Authorization": "Bearer a-s3cret"}, body="OK"), 'with the body "***", expected "OK"')
    assert "s3cret" not in r.stderr
    r = served("/503", headers={"Authorization": "Bearer ${env.API_TOKEN}"}, env={"API_TOKEN": "a-s3cret"})
    is_starting(r, "answered 503")
    plan, listed = r.ctl("plan").stdout, r.ctl("plan", "--json").stdout
    assert "with Authorization" in plan
    assert json.loads(listed)["services"][0]["ready"]["http_headers"] == ["Authorization"]
    assert "s3cret" not in plan + listed + r.ctl("status", "--json").stdout + r.ctl("why", "s").stdout + r.stderr
    assert r.term() == 0


# ---- several ---------------------------------------------------------------------------------------------------------


def test_all_kinds_must_hold(reeve, free_port):
    """Each is given only when the one before is asked for, so that each is seen to be missing."""
    port = free_port()
    steps = [("line", "no line of its output"), ("file", "made: no such file"), ("sock", "sock: no such file"),
             ("http", "answered 503"), ("exec", "test exited with 1")]
    r = reeve("""
services:
  s:
    command: [/usr/bin/python3, -u, steps.py, "%d"]
    working-dir: "${env.TMPDIR}"
    ready:
      exec: [test, -e, exec]
      http: "http://127.0.0.1:%d/"
      tcp: %d
      unix: "${env.TMPDIR}/sock"
      file: "${env.TMPDIR}/made"
      log-line: "^ready$"
      timeout: 120s
""" % (port, port, port), files={"steps.py": r"""
import http.server, os, socket, sys, threading, time
def wait(name):
    while not os.path.exists("go-" + name): time.sleep(0.02)
wait("line"); print("ready")
wait("file"); open("made", "w").close()
wait("sock"); s = socket.socket(socket.AF_UNIX); s.bind("sock"); s.listen(5)
threading.Thread(target=lambda: [s.accept()[0].close() for _ in iter(int, 1)], daemon=True).start()
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if os.path.exists("go-http") else 503)
        self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
"""})
    for step, missing in steps:
        is_starting(r, missing)
        r.write("exec" if step == "exec" else "go-" + step, "")
    r.wait_ready()
    assert r.term() == 0
