"""What the suite keeps to, shown by a suite that does not (R-125, R-126)."""
import os
import subprocess
import sys

import harness

E2E = os.path.dirname(os.path.abspath(__file__))

INNER = """
import urllib.request

def test_it(fake):
    def answer(method, path, headers, body):
        assert path == "/health", "asked for " + path
        return 204, b""
    try:
        urllib.request.urlopen(fake(answer) + %r, timeout=10).read()
    except OSError:
        pass  # the answer is of no matter: the assertion is
"""


def run_inner(folder, path):
    (folder / "conftest.py").write_text("import sys\nsys.path.insert(0, %r)\nfrom fixtures import *\n" % E2E)
    (folder / "test_inner.py").write_text(INNER % path)
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)], cwd=folder, capture_output=True,
                          text=True, timeout=60 * harness.SLACK, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))


# a request that is deliberately wrong fails the suite, with the words of the assertion in the fake
def test_an_assertion_inside_a_fake_server_fails_the_test(tmp_path):
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    got = run_inner(good, "/health")
    assert got.returncode == 0, got.stdout
    got = run_inner(bad, "/wrong")
    assert got.returncode == 1 and "AssertionError: asked for /wrong" in got.stdout, got.stdout


# and with reeve as the one who asks (and who sees that it is not the service that answers)
def test_reeve_asks_a_fake_for_what_it_was_told(reeve, fake):
    asked = []

    def answer(method, path, headers, body):
        asked.append(path)
        assert (method, path) == ("GET", "/ready?full=1")
        return 200, b"yes"

    r = reeve("services: {a: {command: [/bin/sleep, '1000'], ready: {http: {url: '%s/ready?full=1'}}}}" % fake(answer))
    r.wait_socket()
    harness.until("the owner of the answer", lambda: "listened on by pid %d" % os.getpid() in r.service("a").get("detail", ""))
    assert set(asked) == {"/ready?full=1"}
    assert r.term() == 0


CLUTTER = """
import os, socket, sys
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
for s in held:
    os.set_inheritable(s.fileno(), True)
os.execv(sys.argv[1], sys.argv[1:])
"""


# the socket that is looked at is the one that is meant, whatever was open before
def test_a_listener_is_told_from_sockets_that_were_open_before(reeve, free_port):
    http, admin = free_port(), free_port()
    r = reeve("""
services:
  other: {command: [/bin/sleep, "1000"], listen: [{name: x, tcp: "127.0.0.1:%d"}]}
  a:
    command: [/usr/bin/python3, -c, "import os, socket; names = os.environ['LISTEN_FDNAMES'].split(':'); print({n: socket.socket(fileno=3 + i).getsockname()[1] for i, n in enumerate(names)}, flush=True)"]
    type: task
    listen: [{name: admin, tcp: "127.0.0.1:%d"}, {name: http, tcp: "127.0.0.1:%d"}]
""" % (free_port(), admin, http), wrap=["/usr/bin/python3", "-c", CLUTTER])
    r.wait_state("a", "exited")
    assert r.log("a") == "{'admin': %d, 'http': %d}\n" % (admin, http)
    assert r.term() == 0
