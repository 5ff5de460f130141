#!/usr/bin/python3
"""A gateway for tests: it stays in the foreground, serves MCP's `initialize` on a port to whoever has its token, and does
what its configuration says. It stands for a real one; it has no servers.

    gateway.py --port N [--seen FILE]

Of the configuration's servers (MCP_GATEWAY_CONFIG): `boom` ends it with 3 and words on stderr before it listens, `mute` makes it
answer nothing but 503. Any other name is accepted, as by the real ones. FILE gets a line of JSON for each life.
"""
import http.server
import json
import os
import sys


def flag(name, preset=None):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else preset


TOKEN = os.environ.get("GATEWAY_ACCESS_TOKEN", "")
CONFIG = json.loads(os.environ.get("MCP_GATEWAY_CONFIG") or "{}")


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        body, status = b"Unauthorized", 401
        if "mute" in CONFIG:
            body, status = b"not yet", 503
        elif not TOKEN or self.headers.get("Authorization") == "Bearer " + TOKEN:
            result = {"protocolVersion": "2025-03-26", "capabilities": {}, "servers": sorted(CONFIG), "pid": os.getpid()}
            body, status = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": result}).encode(), 200
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if flag("--seen"):
    with open(flag("--seen"), "a") as f:
        f.write(json.dumps({"pid": os.getpid(), "token": TOKEN, "config": CONFIG}) + "\n")
if "boom" in CONFIG:
    print("boom: this gateway cannot come up", file=sys.stderr, flush=True)
    sys.exit(3)
http.server.ThreadingHTTPServer(("127.0.0.1", int(flag("--port", "50005"))), Answer).serve_forever()
