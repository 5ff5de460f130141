"""What `Sandbox.create({mcp})` of the E2B SDK talks to, on a loopback port.

It stands for two servers. Of the control plane: making a sandbox, connecting to it, killing it. There is one sandbox, which is
this machine, so nothing is made. Of envd: running a command and reading a file. The command is the SDK's own, run by a bash
that is no login shell (those of a test machine would set a PATH of their own), as whoever runs the test; the one file is the
gateway's token. It checks no key and no token.
"""
import base64
import http.server
import json
import os
import struct
import subprocess
import threading
import urllib.parse

SANDBOX = "loopback-sandbox"
TOKEN_FILE = "/etc/mcp-gateway/.token"


class Api:
    """env: what commands have beside what the SDK gives them. token_file: what stands for TOKEN_FILE."""

    def __init__(self, env, token_file):
        self.env, self.token_file = env, str(token_file)
        self.calls = []  # (method, path) of the control plane
        self.commands = []  # what the SDK ran, with its variables
        self.users = []  # as whom
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.server.server_address[1]

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def run(self, asked):
        process = asked["process"]
        words = [word for word in process.get("args", []) if word != "-l"]
        self.commands.append((words[-1], process.get("envs", {})))
        return subprocess.run([process["cmd"], *words], env={**self.env, **process.get("envs", {})}, cwd="/",
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)

    def handler(api):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def body(self):
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))

            def answer(self, status, value=None, kind="application/json"):
                data = b"" if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def sandbox(self, status):
                self.answer(status, {"sandboxID": SANDBOX, "templateID": "t", "clientID": "c", "envdVersion": "0.4.0",
                                     "domain": None})

            def do_POST(self):
                asked, path = self.body(), urllib.parse.urlsplit(self.path).path
                if path == "/process.Process/Start":
                    self.start(asked)
                    return
                api.calls.append(("POST", path))
                if path == "/v2/sandboxes":
                    self.sandbox(201)
                elif path == "/v2/sandboxes/%s/connect" % SANDBOX:
                    self.sandbox(200)
                else:
                    self.answer(404, {"code": 404, "message": "not known to this stand-in: " + path})

            def do_DELETE(self):
                api.calls.append(("DELETE", self.path))
                self.answer(204)

            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                asked = urllib.parse.parse_qs(url.query)
                if url.path == "/files" and asked.get("path") == [TOKEN_FILE] and os.path.exists(api.token_file):
                    with open(api.token_file, "rb") as f:
                        self.answer(200, f.read(), "text/plain")
                else:
                    self.answer(404, {"code": 404, "message": "no such file"})

            # Connect's server stream in JSON: each message is flags, length, bytes; the one with flag 2 is the last.
            def start(self, asked):
                size = struct.unpack(">I", asked[1:5])[0]
                credentials = self.headers.get("Authorization", "").partition(" ")[2]
                api.users.append(base64.b64decode(credentials).decode().partition(":")[0])
                got = api.run(json.loads(asked[5:5 + size]))
                messages = [{"event": {"start": {"pid": 1}}}]
                for name, data in (("stdout", got.stdout), ("stderr", got.stderr)):
                    if data:
                        messages.append({"event": {"data": {name: base64.b64encode(data).decode()}}})
                messages.append({"event": {"end": {"exitCode": got.returncode, "exited": True,
                                                   "status": "exit status %d" % got.returncode}}})
                stream = b"".join(self.frame(0, m) for m in messages) + self.frame(2, {})
                self.answer(200, stream, "application/connect+json")

            @staticmethod
            def frame(flags, message):
                data = json.dumps(message).encode()
                return struct.pack(">BI", flags, len(data)) + data

        return Handler
