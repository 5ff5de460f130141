"""`health`: what is asked again and again, and what follows when the answers are bad."""
import json
import os
import signal
import socket

import pytest

import harness
from harness import until
from test_envd import envd  # noqa: F401  (a fixture)

FILE = """
services:
  web:
    command: [/bin/sleep, "1000"]
    restart: {delay: 1ms}
    health: {file: %s, period: 20ms, threshold: 2, on-failure: %s}
  aside: {command: [/bin/sleep, "1000"]}
"""


@pytest.fixture
def mark(tmp_path):
    path = tmp_path / "mark"
    path.write_text("")
    return path


def states(r, name):
    """(state, detail) of all that has happened to it."""
    events = map(json.loads, r.ctl("--json", "events", "-n", "all", name).stdout.splitlines())
    return [(e["state"], e["detail"]) for e in events]


def test_bad_health_is_shown_and_a_good_answer_is_the_end_of_it(reeve, mark):
    r = reeve(FILE % (mark, "none"))
    r.wait_ready()
    mark.unlink()
    web = r.wait_state("web", "unhealthy")
    assert web["generation"] == 1 and str(mark) in web["detail"] and "health check failed" in web["detail"]
    assert r.ctl("status", "web").returncode == 3
    told = r.ctl("why", "web").stdout
    assert "unhealthy" in told and str(mark) in told
    assert r.service("aside")["state"] == "ready"
    mark.write_text("")
    web = r.wait_state("web", "ready")
    assert web["generation"] == 1 and web["pid"]
    assert r.ctl("status", "web").returncode == 0
    assert [s for s, _ in states(r, "web")] == ["starting", "ready", "unhealthy", "ready"]
    assert states(r, "web")[-1][1] == "ready again"
    assert r.term() == 0
    assert r.stderr.count("web: ready after") + r.stderr.count("web: ready at once") == 1, r.stderr
    assert r.stderr.count("web: ready again (pid ") == 1 and r.stderr.count("web: unhealthy: ") == 1


def test_bad_health_restarts_it(reeve, mark):
    r = reeve(FILE % (mark, "restart"))
    r.wait_ready()
    mark.unlink()
    until("it was started again", lambda: r.service("web").get("generation", 0) >= 2)
    mark.write_text("")
    until("it is well again", lambda: r.service("web")["state"] == "ready")
    assert r.service("aside")["generation"] == 1
    seen = [s for s, _ in states(r, "web")]
    assert seen[:5] == ["starting", "ready", "unhealthy", "stopping", "backoff"], seen
    assert r.term() == 0


def test_what_is_paused_is_only_shown_until_it_is_resumed(reeve, mark):
    r = reeve(FILE % (mark, "restart"))
    r.wait_ready()
    assert r.ctl("pause", "web").returncode == 0
    mark.unlink()
    assert r.wait_state("web", "unhealthy")["generation"] == 1
    assert r.ctl("resume", "web").returncode == 0
    until("it was started again", lambda: r.service("web").get("generation", 0) >= 2)
    assert r.term() == 0


# the status of the end tells health from other reasons to give up
def test_one_that_gives_up_over_its_health_ends_reeve_with_11(reeve, mark):
    r = reeve("""
services:
  web:
    command: [/bin/sleep, "1000"]
    restart: {delay: 1ms, limit: 1}
    on-give-up: shutdown
    health: {exec: [/bin/sh, -c, "test -e %s || { echo gone >&2; exit 1; }"], period: 30ms, threshold: 1}
""" % mark)
    r.wait_ready()
    mark.unlink()
    assert r.wait() == 11, r.stderr
    assert "health check failed" in r.stderr
    report = json.loads(r.stderr.splitlines()[-1].partition("report: ")[2])
    assert report["service"] == "web" and report["why"].startswith("gave up after 1 restart; "), report
    assert report["secondary"] == [], "the first error is no second one"


def test_a_server_that_hangs_is_noticed(reeve):
    """It has its port and accepts, but answers no more: only a request tells."""
    port = harness.free_port()
    r = reeve("""
services:
  web:
    command: [/usr/bin/python3, -c, %s, "%d"]
    ready: {http: "http://127.0.0.1:%d/"}
    restart: {delay: 1ms}
    health: {http: "http://127.0.0.1:%d/", period: %s, threshold: 2}
""" % (json.dumps(SERVER), port, port, port, harness.seconds(0.5)))
    r.wait_ready()
    with socket.create_connection(("127.0.0.1", port)) as c:
        c.sendall(b"GET /hang HTTP/1.1\r\n\r\n")
        until("it is in its second life", lambda: r.service("web").get("generation", 0) >= 2 and r.service("web")["state"] == "ready")
    assert any(s == "unhealthy" and "no answer within" in d for s, d in states(r, "web")), states(r, "web")
    assert r.term() == 0


SERVER = """
import socket, sys, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(50)
while True:
    c = s.accept()[0]
    if c.recv(1000).startswith(b"GET /hang"): time.sleep(1000)
    c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"); c.close()
"""


def test_the_probe_of_its_plugin_is_the_check_that_need_not_be_written(envd):  # noqa: F811
    r = envd("health_seq=204,503x2,204", service={"health": {"period": "1s", "threshold": 2, "on-failure": "none"}})
    r.wait_ready()
    until("bad answers and a good one", lambda: [s for s, _ in states(r, "envd")][:4] == ["starting", "ready", "unhealthy", "ready"])
    assert "health check failed: GET http://" in states(r, "envd")[2][1] and "/health answered 503, expected 204" in states(r, "envd")[2][1]
    assert r.service("envd")["generation"] == 1
    assert r.term() == 0


def test_it_is_in_the_plan(reeve, mark):
    r = reeve(FILE % (mark, "none"))
    r.wait_ready()
    plan = {s["name"]: s["health"] for s in json.loads(r.ctl("--json", "plan").stdout)["services"]}
    assert plan["aside"] is None
    assert plan["web"]["file"] == str(mark) and plan["web"]["period_ms"] == 20 and plan["web"]["threshold"] == 2
    assert plan["web"]["on_failure"] == "none" and plan["web"]["attempt_timeout_ms"] == 20
    line = [x for x in r.ctl("plan").stdout.splitlines() if x.strip().startswith("health")]
    assert len(line) == 1 and "every 20ms" in line[0] and "after 2 failures only shown" in line[0], line
    assert r.term() == 0


def test_a_plugin_host_that_hangs_or_dies_is_no_bad_health(reeve, fake):
    url = fake(lambda *_: (200, b"ok"))
    r = reeve("""
services:
  web:
    command: [/bin/sleep, "1000"]
    restart: {delay: 1ms}
    health: {http: "%s", period: %s, threshold: 2}
""" % (url, harness.seconds(0.5)))  # the one that is asked is this process, which may stand still for a moment
    r.wait_ready()
    for number in (signal.SIGSTOP, signal.SIGKILL, signal.SIGSTOP):
        host = until("the plugin host", lambda: json.loads(r.ctl("--json", "version").stdout)["host_pid"])
        os.kill(host, number)
        until("another host", lambda: json.loads(r.ctl("--json", "version").stdout)["host_pid"] not in (None, host))
    web = r.service("web")
    assert (web["state"], web["generation"]) == ("ready", 1), r.stderr
    assert "unhealthy" not in r.stderr
    assert r.term() == 0
