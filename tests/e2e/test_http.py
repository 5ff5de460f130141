"""HTTP servers that break the rules, asked by `ready: {http: ...}` and by the envd plugin (R-25 to R-29, R-35, R-36): a good answer is
believed, a wrong one ends it at once, a broken one is asked again, and its cause is told. (That the time for it is over at some
moment is shown in test_envd.py and test_listen.py: here no test has to wait for it.)"""
import json
import os
import time

import harness
import pytest
from harness import SLACK, until

# nasty.py PORT KIND: answers each connection in its way, after the request was read.
NASTY = r"""
import socket, struct, sys, threading, time
kind = sys.argv[2]
OK = b"HTTP/1.1 200 OK\r\n"
whole = {
    "short-length": OK + b"Content-Length: 2\r\n\r\nmore than two",
    "half-body": OK + b"Content-Length: 100\r\n\r\nten bytes.",
    "half-headers": OK + b"Content-Length: 0\r\nX-Half: ",
    "half-status": b"HTTP/1.1 20",
    "status-only": OK,
    "nothing": b"",
    "no-http": b"hello, who is there?\r\n",
    "tls": b"\x15\x03\x01\x00\x02\x02\x28",
    "length-words": OK + b"Content-Length: banana\r\n\r\nx",
    "length-negative": OK + b"Content-Length: -1\r\n\r\nx",
    "length-huge": OK + b"Content-Length: 99999999999999999999999\r\n\r\nx",
    "chunk-garbage": OK + b"Transfer-Encoding: chunked\r\n\r\nzzz\r\nwhat\r\n",
    "chunk-huge": OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\nwhat",
    "chunk-cut": OK + b"Transfer-Encoding: chunked\r\n\r\n10\r\nfour",
    "chunk-good": OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n",
    "nul-header": OK + b"X-Nul: a\0b\r\nContent-Length: 0\r\n\r\n",
    "long-header": OK + b"X-Long: " + b"x" * 300000 + b"\r\n\r\n",
    "interim-then-good": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK + b"Content-Length: 0\r\n\r\n",
    "interim-only": b"HTTP/1.1 100 Continue\r\n\r\n",
    "old-version": b"HTTP/1.0 200 OK\r\n\r\nold",
    "status-999": b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n",
    "status-000": b"HTTP/1.1 000 What\r\nContent-Length: 0\r\n\r\n",
    "to-itself": b"HTTP/1.1 307 Over There\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    "multiple-choices": b"HTTP/1.1 300 Choose\r\nContent-Length: 0\r\n\r\n",
    "no-content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "no-content-with-one": b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
    "created": b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
    "forbidden-cut": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nno",
}

def forever(c, first, more, pause=0):
    c.sendall(first)
    while True:
        c.sendall(more)
        if pause: time.sleep(pause)

def answer(c):
    open("hits", "a").write(".")
    c.recv(65536)
    if kind == "endless-headers": forever(c, OK, b"X-More: " + b"y" * 60000 + b"\r\n")
    if kind == "endless-body": forever(c, OK + b"\r\n", b"z" * 65536)
    if kind == "endless-status": forever(c, b"HTTP/1.1 200 ", b"O" * 1000)
    if kind == "endless-interim": forever(c, b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
    if kind == "endless-chunks": forever(c, OK + b"Transfer-Encoding: chunked\r\n\r\n", b"4\r\nfour\r\n")
    if kind == "drip-headers": forever(c, OK, b"X-Drip: 1\r\n", 0.1)
    if kind == "drip-body": forever(c, OK + b"Content-Length: 100000\r\n\r\n", b"z", 0.1)
    if kind == "drip":
        for b in OK + b"Content-Length: 2\r\n\r\nOK":
            c.sendall(bytes([b])); time.sleep(0.01)
    elif kind == "reset":
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif kind == "silent":
        time.sleep(1000)
    else:
        c.sendall(whole[kind])
        if kind == "created" or kind.startswith("no-content"): time.sleep(0.05)
    c.close()

def safely(c):
    try: answer(c)
    except OSError: pass

s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen(64)
while True:
    threading.Thread(target=safely, args=(s.accept()[0],), daemon=True).start()
"""

GOOD = """
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
"""

READY, WRONG, BROKEN = "ready", "wrong", "broken"


def run(start, free_port, kind, plugin, attempt, env=None):
    port, other = free_port(), free_port()
    bad = {"command": ["/usr/bin/python3", "nasty.py", str(port), kind], "working-dir": "${env.TMPDIR}", "environment": {"PYTHONSAFEPATH": "1"}}
    if plugin == "exec":
        bad["ready"] = {"http": {"url": "http://127.0.0.1:%d/health" % port}, "timeout": "60s", "attempt-timeout": attempt}
    else:
        bad.update({"plugin": plugin, "options": {"port": port}, "ready": {"timeout": "60s", "attempt-timeout": attempt}})
    good = {"command": ["/usr/bin/python3", "good.py", str(other)], "working-dir": "${env.TMPDIR}", "environment": {"PYTHONSAFEPATH": "1"},
            "ready": {"http": {"url": "http://127.0.0.1:%d/" % other}, "timeout": "60s"}}
    r = start(json.dumps({"reeve": {"on-boot-failure": "continue", "boot-timeout": "60s"}, "services": {"good": good, "bad": bad}}), files={"nasty.py": NASTY, "good.py": GOOD},
              env=env)
    r.wait_state("good", "ready")
    return r


def patience(outcome):
    """The time of an attempt: short where one after the other has to be over, long where one alone is to decide."""
    return "500ms" if outcome == BROKEN else "20s"


def asked(r):
    """How often the server was asked."""
    return len(r.read("hits"))


def expect(r, kind, outcome, words=()):
    if outcome == BROKEN:
        # its words are those of a later attempt than the first, so that it was asked again after it was heard
        until(lambda: "%s to be asked again\n%s" % (kind, r.story()), lambda: asked(r) >= 3)
        said = until(lambda: "%s in %s" % (words, r.service("bad")),
                     lambda: (lambda s: all(w in s for w in words) and "no answer yet" not in s and s)(r.service("bad")["detail"]))
        assert said and r.service("bad")["state"] == "starting", (kind, said)
    else:
        bad = r.wait_state("bad", "ready", "failed", timeout=30)
        if outcome == READY:
            assert bad["state"] == "ready", bad
        else:
            assert bad["state"] == "failed" and asked(r) == 1, (kind, asked(r), bad)
            assert "not ready within" not in bad["detail"] and all(w in bad["detail"] for w in words), (kind, words, bad)
    good = r.service("good")
    assert good["state"] == "ready" and good["generation"] == 1 and good["restarts"] == 0
    assert "plugin host died" not in r.stderr, r.stderr
    began = time.monotonic()
    assert r.ctl("restart", "good").returncode == 0
    assert time.monotonic() - began < 10 * SLACK
    assert r.term() == 0
    assert r.leftovers() == []


@pytest.mark.parametrize("kind, outcome, words", [
    ("short-length", READY, ()),
    ("chunk-good", READY, ()),
    ("interim-then-good", READY, ()),
    ("old-version", READY, ()),
    ("endless-body", READY, ()),
    ("endless-chunks", READY, ()),
    ("no-content", READY, ()),
    ("no-content-with-one", READY, ()),
    ("created", READY, ()),
    ("to-itself", WRONG, ("307",)),
    ("multiple-choices", WRONG, ("300",)),
    ("status-999", BROKEN, ("999",)),
    ("half-body", BROKEN, ("/health",)),
    ("half-headers", BROKEN, ("within the answer's headers",)),
    ("half-status", BROKEN, ("/health",)),
    ("status-only", BROKEN, ("/health",)),
    ("nothing", BROKEN, ("/health",)),
    ("no-http", BROKEN, ("/health",)),
    ("tls", BROKEN, ("/health",)),
    ("length-words", BROKEN, ("ength",)),
    ("length-negative", BROKEN, ("ength",)),
    ("length-huge", READY, ()),
    ("chunk-garbage", BROKEN, ("/health",)),
    ("chunk-huge", BROKEN, ("/health",)),
    ("chunk-cut", BROKEN, ("/health",)),
    ("nul-header", BROKEN, ("/health",)),
    ("long-header", BROKEN, ("too long",)),
    ("interim-only", BROKEN, ("/health",)),
    ("status-000", BROKEN, ("/health",)),
    ("reset", BROKEN, ("reset",)),
    ("silent", BROKEN, ("no answer within",)),
    ("endless-headers", BROKEN, ("no end",)),
    ("endless-status", BROKEN, ("too long",)),
    ("endless-interim", BROKEN, ("no end",)),
    ("drip-headers", BROKEN, ("no answer within",)),
    ("drip-body", BROKEN, ("no answer within",)),
])
def test_a_server_that_breaks_the_rules_is_judged_by_what_it_did(reeve, free_port, kind, outcome, words):
    expect(run(reeve, free_port, kind, "exec", patience(outcome)), kind, outcome, words)


@pytest.mark.parametrize("kind, outcome, words", [
    ("no-content", READY, ()),
    ("no-content-with-one", READY, ()),
    ("short-length", WRONG, ("200",)),
    ("endless-body", WRONG, ("200",)),
    ("created", WRONG, ("201",)),
    ("to-itself", WRONG, ("307",)),
    ("half-body", BROKEN, ()),
    ("half-headers", BROKEN, ()),
    ("status-only", BROKEN, ()),
    ("interim-only", BROKEN, ()),
    ("nothing", BROKEN, ()),
    ("no-http", BROKEN, ()),
    ("length-words", BROKEN, ()),
    ("reset", BROKEN, ("reset",)),
    ("silent", BROKEN, ("no answer",)),
    ("endless-headers", BROKEN, ()),
    ("endless-interim", BROKEN, ()),
])
def test_envd_is_judged_by_the_same_rules_and_only_204_is_ready(reeve, free_port, kind, outcome, words):
    expect(run(reeve, free_port, kind, "envd", patience(outcome)), kind, outcome, words)


@pytest.mark.parametrize("attempt, outcome", [("10s", READY), ("200ms", BROKEN)])
def test_a_slow_drip_is_ready_within_the_time_of_an_attempt_and_not_over_it(reeve, free_port, attempt, outcome):
    expect(run(reeve, free_port, "drip", "exec", attempt=attempt), "drip", outcome)


def cpu_of(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("kind", ["endless-headers", "endless-interim", "endless-body", "endless-status"])
def test_what_has_no_end_costs_neither_memory_nor_much_time(reeve, free_port, kind):
    """The host is the child that is reeve's own binary; what it used is bounded although the server sends as fast as it can."""
    plugin = "exec" if kind != "endless-body" else "envd"
    # A sanitizer keeps freed memory for a while, which is not what is measured here.
    options = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=1"]))
    r = run(reeve, free_port, kind, plugin, attempt="1s", env={"ASAN_OPTIONS": options})
    host = next(p for p in harness.children_of(r.pid) if os.readlink("/proc/%d/exe" % p) == os.path.realpath(harness.REEVE))

    def peak():
        with open("/proc/%d/status" % host) as f:
            return int(next(ln for ln in f if ln.startswith("VmHWM")).split()[1])

    before = peak()
    if plugin == "envd":
        r.wait_state("bad", "failed")
    else:
        until("some attempts", lambda: asked(r) >= 4)
    assert peak() - before < 16 * 1024, "%d KiB more" % (peak() - before)
    assert cpu_of(host) < 1.5 * SLACK, "%.1f s of CPU" % cpu_of(host)
    assert r.term() == 0
