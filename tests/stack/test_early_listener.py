"""A real server that is slow to start, on a listener that is open from the boot on (R-03)."""
import http.client
import socket
import time

APP = """
import asyncio, fastapi
app = fastapi.FastAPI()
@app.on_event("startup")
async def startup():
    open("began", "w").close()
    await asyncio.sleep(2)
@app.get("/health")
def health(): return "OK"
"""

GRAPH = """
services:
  web:
    command: [/usr/bin/python3, -m, uvicorn, --fd, "3", "slow:app"]
    working-dir: "${env.TMPDIR}"
    listen: [{name: http, tcp: "127.0.0.1:49999", backlog: 64}]
    ready: {http: {url: "http://127.0.0.1:49999/health"}, attempt-timeout: 20s, timeout: 60s}
"""


def test_who_asks_while_it_starts_waits_and_is_answered_and_nobody_is_refused(reeve):
    r = reeve(GRAPH, files={"slow.py": APP})
    r.wait_socket()
    began = time.monotonic()
    early = http.client.HTTPConnection("127.0.0.1", 49999, timeout=50)
    early.request("GET", "/health")
    refused = 0
    while r.service("web")["state"] != "ready":
        with socket.socket() as s:
            refused += s.connect_ex(("127.0.0.1", 49999)) != 0
        assert r.running() and time.monotonic() - began < 60, r.story()
        time.sleep(0.05)
    assert early.getresponse().status == 200
    assert time.monotonic() - began > 1, "it was asked while it started"
    assert refused == 0
    assert r.term() == 0
