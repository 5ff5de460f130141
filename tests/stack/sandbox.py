"""The sample sandbox, booted by a real reeve in a place of its own, and the real clients of it."""
import json
import os
import re
import socket
import subprocess
import time

import harness

SANDBOX = os.path.join(harness.SRC, "etc", "sandbox")
CLIENTS = os.path.join(harness.SRC, "tests", "stack", "clients")
NODE = os.environ.get("RV_NODE") or "node"
PORTS = {"envd": 49983, "jupyter": 8888, "interpreter": 49999, "mcp-gateway": 50005}
SERVICES = sorted(PORTS)


# The budgets of the sample, as long as a busy machine needs them: no boot fails because a machine stood still.
BUDGETS = """
reeve: {boot-timeout: %(boot)ds, platform-window: 0}
services:
  envd: {ready: {timeout: %(one)ds}, options: {init-timeout: 10s}}
  jupyter: {ready: {timeout: %(one)ds}}
  interpreter:
    ready: {timeout: %(one)ds}
    environment: {JUPYTER_READY_TIMEOUT: "%(one)d", CODE_INTERPRETER_CONTEXT_CREATE_TIMEOUT: "%(one)d", ENVD_TIMEOUT: "%(one)d"}
  mcp-gateway: {ready: {timeout: %(one)ds}}
""" % {"one": 20 * harness.SLACK, "boot": 50 * harness.SLACK}


class Sandbox(harness.Reeve):
    def __init__(self, files=None, **more):
        """files: as in Reeve; each is read after the sample, in the order of their names."""
        files = {"budgets.yaml": BUDGETS, **(files or {})}
        extra = [word for name in sorted(files, key=lambda name: (name != "budgets.yaml", name)) for word in ("-c", name)]
        env = {"SANDBOX_DIR": SANDBOX, "SANDBOX_MODULES": os.path.join(SANDBOX, "node_modules"), "SANDBOX_NODE": NODE}
        env.update(more.pop("env", {}))
        super().__init__(own_config=True, files=files, args=["-c", os.path.join(SANDBOX, "reeve.yaml"), *extra],
                         env=env, **more)

    def adjust_env(self):
        self.env.update(SANDBOX_RUN=self.run, SANDBOX_LOG=self.logs, SANDBOX_HOME=self.home)

    def pids(self):
        return {name: s.get("pid") for name, s in self.services().items()}

    def processes(self, word):
        """Those of this sandbox whose command line holds a word, by pid."""
        return [pid for pid in self.leftovers() if word in harness.cmdline(pid)]

    def run_code(self, *cells, timeout=60.0):
        """The answers of the real SDK, one for each cell; AssertionError when it could not do it."""
        got = client("run_code.mjs", *cells, env=self.env, timeout=timeout)
        return [json.loads(line) for line in got.splitlines()]

    def works_again(self, timeout=40.0):
        """Polls with the SDK itself until a cell is run; how long it took."""
        began = time.monotonic()

        def look():
            try:
                return self.run_code("6*7", timeout=20)[0]["text"] == "42"
            except AssertionError:
                return False

        harness.until(lambda: "the SDK to work again\n" + self.story(), look, timeout, every=0.2)
        return time.monotonic() - began

    def call_tool(self, tool, arguments):
        """AssertionError when it could not do it."""
        url = "http://127.0.0.1:%d/mcp" % PORTS["mcp-gateway"]
        return json.loads(client("mcp_call.mjs", url, tool, json.dumps(arguments), env=self.env))


def client(script, *args, env=None, timeout=60.0):
    try:
        got = subprocess.run([NODE, os.path.join(CLIENTS, script), *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=timeout * harness.SLACK, env=env)
    except subprocess.TimeoutExpired as e:
        raise harness.Late("%s: no answer in %.0f s" % (script, e.timeout)) from None
    assert got.returncode == 0, "%s: %d\n%s%s" % (script, got.returncode, got.stdout, got.stderr)
    return got.stdout


def listening(port):
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex(("127.0.0.1", port)) == 0


def inner_pid(pid):
    """What a process is called in its own namespace; None when it is there no more."""
    try:
        with open("/proc/%d/status" % pid) as f:
            found = re.search(r"^NSpid:.*?(\d+)$", f.read(), re.M)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return found and int(found.group(1))


def outer_pids(sandbox, pids):
    """The services' pids as they are seen from here: reeve may be in a process namespace of its own."""
    inner = {inner_pid(pid): pid for pid in harness.children_of(sandbox.pid)}
    found = {name: inner.get(pid) for name, pid in pids.items()}
    assert all(found.values()), (pids, inner)
    return found
