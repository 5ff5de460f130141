#!/usr/bin/python3
"""A refused allocation, wherever it comes, ends neither in a crash nor in a hang, and loses no process: reeve refuses
the one request, or does not start and says why.

tests/fail/reeve is the daemon with malloc and its kin replaced: one boot for each allocation, with a few requests and an
orderly stop. TAP."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

BUILD = os.environ.get("RV_BUILD") or os.getcwd()
REEVE = os.path.join(BUILD, "tests/fail/reeve")
PLUGINS = [os.path.join(BUILD, p) for p in ("plugins/exec.so", "tests/plugins/good.so", "tests/plugins/taker.so")]
BOUND = 30.0 * float(os.environ.get("RV_SLACK", "1"))

CONFIG = """
reeve: {runtime-dir: "%(dir)s", start-grace: 1s, shutdown-timeout: 5s, on-boot-failure: continue, log: {dir: "%(dir)s/log"}}
services:
  first: {command: [sh, -c, "echo one; echo two >&2; exec sleep 600"], listen: [{name: u, unix: "%(dir)s/u"}], on-environment-change: restart}
  asked: {plugin: good, needs: [first], options: {do: "600"}, environment: {A: b}}
  told: {plugin: taker, options: {told: "%(dir)s/told", orders: "%(dir)s/orders"}}
  tried: {command: [sleep, "600"], ready: {exec: ["true"], timeout: 5s}, log: {file: "-"}}
  says: {command: [python3, -IS, -c, "%(says)s"], ready: {notify: true, timeout: 5s}}
  theirs: {command: [sleep, "600"], ports: [%(port)d], if-running: adopt, ready: {tcp: %(port)d, timeout: 5s}}
  kept: {command: [sleep, "600"], ports: [9]}
  work: {type: task, command: ["true"], after: [first]}
"""
# What a reload finds: one is changed, one adjusted, one removed, one added.
NEXT = CONFIG.replace("echo one;", "echo three;").replace('ready: {exec: ["true"], timeout: 5s}', 'ready: {exec: ["true"], timeout: 6s}')
NEXT = NEXT.replace('  kept: {command: [sleep, "600"], ports: [9]}', '  new: {command: [sleep, "600"], listen: [{name: u, unix: "%(dir)s/n"}]}')
SAYS = ("import _socket as s, os; s.socket(s.AF_UNIX, s.SOCK_DGRAM).sendto(b'READY=1', os.environ['NOTIFY_SOCKET']); "
        "os.execv('/bin/sleep', ['sleep', '600'])")
REQUESTS = [("status", {}), ("plan", {}), ("logs", {"names": ["first"]}), ("restart", {"names": ["first"], "timeout_ms": 3000}),
            ("stop", {"names": ["tried"], "timeout_ms": 3000}), ("start", {"names": ["tried"], "timeout_ms": 3000}),
            ("env", {"environment": {"B": "2", "C": "3"}, "timeout_ms": 3000}), ("env", {"show_values": True}), ("env", {"names": ["told"]}),
            ("wait", {"timeout_ms": 100}), ("check", {}), ("reload", {"timeout_ms": 3000}), ("status", {})]


class Theirs:
    """Listens at a port that one of the services is to have, and adopts instead: it must outlive every one of them."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            self.socket.accept()[0].close()


THEIRS = Theirs()


def ask(path, method, params):
    """One request on a connection of its own; None when it was refused by closing."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(BOUND)
    try:
        s.connect(path)
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        got = b""
        while not got.endswith(b"\n"):
            part = s.recv(65536)
            if not part:
                return None
            got += part
        return json.loads(got.split(b"\n")[0])
    except (ConnectionError, FileNotFoundError):
        return None
    finally:
        s.close()


def children_of(place):
    """Processes that name the place in their environment, whoever their parent is now."""
    left = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as f:
                if ("RV_FAIL_PLACE=" + place).encode() in f.read().split(b"\0"):
                    left.append(int(pid))
        except OSError:
            pass
    return left


def left_in(place):
    """Those that stay: what the kernel is ending with reeve has its moment."""
    until = time.monotonic() + BOUND
    while (left := children_of(place)) and time.monotonic() < until:
        time.sleep(0.01)
    return left


class Run:
    """One boot with one failure: `wrong` says what is not as it should be."""

    def __init__(self, at, many):
        self.at, self.wrong, self.reached, self.answered = at, None, 0, 0
        place = tempfile.mkdtemp(prefix="reeve-fail-")
        try:
            self.play(place, many)
        finally:
            for pid in left_in(place):
                self.wrong = self.wrong or "process %d was left behind" % pid
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            shutil.rmtree(place, ignore_errors=True)

    def play(self, place, many):
        os.mkdir(place + "/plugins", 0o755)
        for p in PLUGINS:
            shutil.copy(p, place + "/plugins")
        self.configure(place, CONFIG)
        env = dict(os.environ, RV_FAIL_AT=str(self.at), RV_FAIL_ALL=str(many), RV_FAIL_REPORT=place + "/report", RV_FAIL_PLACE=place,
                   REEVE_CREATE_ENVIRONMENT='{"envVars": {"A": "1"}}',
                   ASAN_OPTIONS="detect_leaks=1:exitcode=99", UBSAN_OPTIONS="print_stacktrace=1")
        with open(place + "/err", "wb") as err:
            child = subprocess.Popen([REEVE, "-c", place + "/c.yaml", "--plugin-dir", place + "/plugins"], env=env, stdin=subprocess.DEVNULL,
                                     stdout=err, stderr=err)
            try:
                self.talk(child, place)
            finally:
                self.end(child)
        with open(place + "/err", errors="replace") as f:
            said = f.read()
        try:
            with open(place + "/report") as f:
                self.reached = int(f.read() or 0)
        except OSError:
            pass
        self.said = said
        self.judge(child.returncode, said)

    def configure(self, place, text):
        with open(place + "/c.yaml", "w") as f:
            f.write(text % {"dir": place, "says": SAYS, "port": THEIRS.port})

    def talk(self, child, place):
        path = place + "/control.sock"
        until = time.monotonic() + BOUND
        while child.poll() is None and time.monotonic() < until:
            got = ask(path, "wait", {"timeout_ms": 3000})
            if got:
                break
            time.sleep(0.005)
        for method, params in REQUESTS:
            if method == "reload":
                self.configure(place, NEXT)
            if child.poll() is None and ask(path, method, params):
                self.answered += 1

    def end(self, child):
        try:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
            child.wait(BOUND)
        except subprocess.TimeoutExpired:
            self.wrong = "does not end"
            child.kill()
            child.wait()

    def judge(self, status, said):
        if self.wrong:
            return
        if status < 0 or status == 99 or re.search(r"AddressSanitizer|LeakSanitizer|runtime error|assert", said):
            self.wrong = "exit %d\n%s" % (status, said[-3000:])
        elif status not in (0, 10, 11) and not re.search(r"memory|cannot", said):
            self.wrong = "exit %d without a reason:\n%s" % (status, said[-1000:])


def sweep(many, step):
    """Each step-th allocation in turn, two boots at a time; the faults, and how many allocations there were."""
    whole = Run(1 << 40, 1)
    if whole.wrong or whole.answered < len(REQUESTS):
        return ["without any failure: %s (%d answers)\n%s" % (whole.wrong, whole.answered, whole.said[-2000:])], 0
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda n: Run(n, many), range(0, whole.reached, step)))
    return ["allocation %d of %d: %s" % (r.at, whole.reached, r.wrong) for r in runs if r.wrong], whole.reached


def main():
    cases = [(1, 1, "one refused allocation is survived, or reeve says why it does not start"),
             (20, int(os.environ.get("RV_FAIL_STEP", "7")), "twenty refused allocations in a row are survived, or reeve says why it does not start")]
    print("1..%d" % len(cases), flush=True)
    bad = 0
    for i, (many, step, name) in enumerate(cases):
        faults, count = sweep(many, step)
        bad += bool(faults)
        print("%s %d - %s" % ("not ok" if faults else "ok", i + 1, name))
        print("# %d allocations" % count, flush=True)
        for f in faults[:20]:
            print("# " + f.replace("\n", "\n#   "), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
