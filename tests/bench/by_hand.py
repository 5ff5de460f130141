#!/usr/bin/python3
"""How long until the sample sandbox is ready: booted by reeve, and the same four started by hand in dependency order.

    by_hand.py [ROUNDS]        (./dev bench sandbox)

By hand: envd, Jupyter and the gateway at once, the interpreter when envd and Jupyter are ready; this program asks all of them
every 5 ms. By reeve: this program only waits for `reevectl wait --ready`, and then finds all of them ready by the same
requests. So each way pays for its own questions, and for no others. Each round is in a place of its own; the rounds of the two
alternate, and the medians are printed."""
import http.client
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
src = os.environ.get("RV_SRC", os.path.dirname(os.path.dirname(here)))
build = os.environ.get("RV_BUILD", os.path.join(src, "build"))
node = os.environ.get("RV_NODE") or shutil.which("node")
sandbox = os.path.join(src, "etc", "sandbox")
modules = os.path.join(sandbox, "node_modules")
python = "/usr/bin/python3"

INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "by-hand", "version": "1"}}})


def ask(port, method, path, body=None, headers=None):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        c.request(method, path, body, headers or {})
        answer = c.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        c.close()


def jupyter_ready():
    status, body = ask(8888, "GET", "/api/status")
    return status == 200 and {"connections", "kernels", "last_activity", "started"} <= set(json.loads(body))


def gateway_ready():
    status, body = ask(50005, "POST", "/mcp", INITIALIZE, {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
    return status == 200 and b'"result"' in body


READY = {
    "envd": lambda: ask(49983, "GET", "/health")[0] == 204,
    "jupyter": jupyter_ready,
    "interpreter": lambda: ask(49999, "GET", "/health") == (200, b'"OK"'),
    "mcp-gateway": gateway_ready,
}

COMMANDS = {
    "envd": [os.path.join(sandbox, "envd-standin"), "-port", "49983", "-isnotfc"],
    "jupyter": ["/usr/bin/jupyter", "server", "--ip=127.0.0.1", "--port=8888", "--ServerApp.port_retries=0",
                "--ServerApp.token=", "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True",
                "--ServerApp.root_dir=HOME", "--ServerApp.allow_root=True", "--ServerApp.open_browser=False"],
    "interpreter": [python, "-m", "uvicorn", "server:app", "--app-dir", os.path.join(sandbox, "interpreter"), "--host", "0.0.0.0",
                    "--port", "49999", "--workers", "1", "--no-access-log", "--no-use-colors", "--timeout-keep-alive", "640"],
    "mcp-gateway": [node, os.path.join(modules, "mcp-proxy/dist/bin/mcp-proxy.mjs"), "--host=0.0.0.0", "--port=50005",
                    "--server=stream", "--", node, os.path.join(modules, "@modelcontextprotocol/server-everything/dist/index.js"),
                    "stdio"],
}


def watch(began, start_more, patience=60):
    """Asks all that are not ready yet, every 5 ms; start_more(ready) is called after each one that is."""
    ready = {}
    start_more(ready)
    while len(ready) < len(READY):
        for name, probe in READY.items():
            if name not in ready and probe():
                ready[name] = time.monotonic() - began
                start_more(ready)
        if time.monotonic() - began > patience:
            raise SystemExit("not ready after %d s: %s" % (patience, sorted(set(READY) - set(ready))))
        time.sleep(0.005)
    return ready


def environment(place):
    for name in ("run", "log", "home"):
        os.mkdir(os.path.join(place, name))
    home = os.path.join(place, "home")
    return dict(os.environ, HOME=home, LANG="C.UTF-8", PYTHONDONTWRITEBYTECODE="1", CODE_INTERPRETER_WORKDIR=home,
                JUPYTER_BASE_URL="http://127.0.0.1:8888", ENVD_BASE_URL="http://127.0.0.1:49983",
                SANDBOX_RUN=os.path.join(place, "run"), SANDBOX_LOG=os.path.join(place, "log"), SANDBOX_HOME=home,
                SANDBOX_DIR=sandbox, SANDBOX_MODULES=modules, SANDBOX_NODE=node)


def by_hand(place):
    env = environment(place)
    procs = {}
    began = time.monotonic()

    def start(name):
        with open(os.path.join(place, "log", name + ".log"), "wb") as log:
            argv = [word.replace("HOME", env["HOME"]) for word in COMMANDS[name]]
            procs[name] = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, cwd=env["HOME"],
                                           start_new_session=True)

    def more(ready):
        if not procs:
            for name in ("envd", "jupyter", "mcp-gateway"):
                start(name)
        if "interpreter" not in procs and "envd" in ready and "jupyter" in ready:
            start("interpreter")

    try:
        return watch(began, more)
    finally:
        for name in ("interpreter", "mcp-gateway", "jupyter", "envd"):
            if name in procs:
                procs[name].terminate()
                procs[name].wait(20)


def by_reeve(place):
    env = environment(place)
    with open(os.path.join(place, "log", "reeve.log"), "wb") as log:
        began = time.monotonic()
        reeve = subprocess.Popen([os.path.join(build, "reeve"), "-c", os.path.join(sandbox, "reeve.yaml"), "--plugin-dir",
                                  os.path.join(build, "plugins")], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
    ctl = [os.path.join(build, "reevectl"), "-s", os.path.join(place, "run", "control.sock")]
    try:
        subprocess.run([*ctl, "wait", "--ready", "--timeout", "60s"], check=True, stdout=subprocess.DEVNULL)
        said = time.monotonic() - began
        wrong = [name for name, probe in READY.items() if not probe()]
        if wrong:
            raise SystemExit("reeve calls these ready, and they are not: %s" % wrong)
        return ready_times(ctl, began) | {"reeve says so": said}
    finally:
        reeve.send_signal(signal.SIGTERM)
        reeve.wait(30)


def ready_times(ctl, began):
    status = json.loads(subprocess.run([*ctl, "--json", "status"], check=True, stdout=subprocess.PIPE).stdout)
    now = time.monotonic() - began
    return {s["name"]: now - s["since_ms"] / 1000 for s in status["services"]}


def rounds(count):
    seen = {"by hand": [], "by reeve": []}
    for _ in range(count):
        for label, run in (("by hand", by_hand), ("by reeve", by_reeve)):
            place = tempfile.mkdtemp(prefix="rv.")
            try:
                seen[label].append(run(place))
            finally:
                shutil.rmtree(place, ignore_errors=True)
            time.sleep(0.5)
    for label, results in seen.items():
        names = sorted({name for r in results for name in r}, key=lambda n: statistics.median(r[n] for r in results))
        parts = ["%s %.2f" % (n, statistics.median(r[n] for r in results)) for n in names]
        alls = sorted(max(r.values()) for r in results)
        print("%-9s all ready after %.2f s (%.2f to %.2f, %d rounds): %s"
              % (label, statistics.median(alls), alls[0], alls[-1], len(alls), ", ".join(parts)))


if __name__ == "__main__":
    if os.environ.get("RV_INNER") != "1":
        how = ["unshare", "-n", "-p", "-f", "--mount-proc", "--kill-child", "sh", "-c", 'ip link set lo up && "$@"; exit $?', "sh"]
        os.environ["RV_INNER"] = "1"
        os.execvp(how[0], [*how, sys.executable, os.path.abspath(__file__), *sys.argv[1:]])
    rounds(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
