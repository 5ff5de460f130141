"""A real server that is slow to start, on a listener that is open from the boot on (R-03)."""
import http.client
import os
import socket

import harness

# Its start-up ends when the test has seen what it wants to see.
APP = """
import asyncio, fastapi, os
app = fastapi.FastAPI()
@app.on_event("startup")
async def startup():
    open("began", "w").close()
    while not os.path.exists("go"):
        await asyncio.sleep(0.02)
@app.get("/health")
def health(): return "OK"
"""

GRAPH = """
services:
  web:
    command: [/usr/bin/python3, -m, uvicorn, --fd, "3", "slow:app"]
    working-dir: "${env.TMPDIR}"
    listen: [{name: http, tcp: "127.0.0.1:49999", backlog: 64}]
    ready: {http: {url: "http://127.0.0.1:49999/health"}, attempt-timeout: 60s, timeout: 120s}
"""


def is_taken():
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", 49999)) == 0


def test_who_asks_while_it_starts_waits_and_is_answered_and_nobody_is_refused(reeve):
    r = reeve(GRAPH, files={"slow.py": APP})
    r.wait_socket()
    assert r.service("web"), "who is answered is behind the boot's binding"
    early = http.client.HTTPConnection("127.0.0.1", 49999, timeout=50 * harness.SLACK)
    early.request("GET", "/health")
    assert is_taken()
    harness.until(lambda: "the start-up to begin\n" + r.story(), lambda: os.path.exists(r.path("began")), 30)
    assert is_taken()
    early.sock.setblocking(False)
    try:
        assert not early.sock.recv(1), "it was answered before the start-up had ended"
    except BlockingIOError:
        pass
    early.sock.settimeout(50 * harness.SLACK)
    assert r.service("web")["state"] == "starting"
    r.write("go", "")
    assert early.getresponse().status == 200
    r.wait_ready()
    assert is_taken()
    assert r.term() == 0
