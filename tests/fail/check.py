#!/usr/bin/python3
"""The same for `reeve check`: whichever allocation is refused, it ends in time with a status of its own and says why.
TAP."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

BUILD = os.environ.get("RV_BUILD") or os.getcwd()
REEVE = os.path.join(BUILD, "tests/fail/reeve")
PLUGINS = [os.path.join(BUILD, p) for p in ("plugins/exec.so", "tests/plugins/inspector.so")]
BOUND = 60.0 * float(os.environ.get("RV_SLACK", "1"))

CONFIG = """
services:
  a: {plugin: inspector, command: [/bin/true], user: root, log: null, options: {do: run, argv: [/bin/echo, "reeve: hello"]}}
  b: {plugin: inspector, command: [/bin/true], log: null, needs: [a], options: {do: fail, say: found}}
  c: {command: [/nonexistent], log: null, environment: {A: b}}
"""


def run(place, at):
    """(what is wrong or None, how many allocations there were)"""
    report = os.path.join(place, "report.%d" % at)
    env = dict(os.environ, RV_FAIL_AT=str(at), RV_FAIL_REPORT=report, ASAN_OPTIONS="detect_leaks=1:exitcode=99")
    command = [REEVE, "check", "-c", os.path.join(place, "c.yaml"), "--plugin-dir", os.path.join(place, "plugins"), "--timeout", "1s"]
    try:
        got = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=BOUND)
    except subprocess.TimeoutExpired:
        return "does not end", 0
    if got.returncode not in (2, 10, 70, 78) or re.search(r"Sanitizer|runtime error|assert", got.stderr):
        return "exit %d\n%s" % (got.returncode, got.stderr[-3000:]), 0
    if not re.search(r"memory|cannot|found|hello", got.stderr):
        return "exit %d without a reason:\n%s" % (got.returncode, got.stderr[-1000:]), 0
    with open(report) as f:
        return None, int(f.read() or 0)


def main():
    place = tempfile.mkdtemp(prefix="rv.", dir="/tmp")
    try:
        os.mkdir(os.path.join(place, "plugins"))
        for path in PLUGINS:
            shutil.copy(path, os.path.join(place, "plugins"))
        with open(os.path.join(place, "c.yaml"), "w") as f:
            f.write(CONFIG)
        wrong, count = run(place, 1 << 40)
        faults = [wrong] if wrong or count < 20 else []
        if not faults:
            with ThreadPoolExecutor(2) as pool:
                faults = ["allocation %d of %d: %s" % (n, count, w) for n, (w, _) in enumerate(pool.map(lambda n: run(place, n), range(count))) if w]
        print("1..1")
        print("%s 1 - whichever allocation of a check is refused, it ends with a reason" % ("not ok" if faults else "ok"))
        print("# %d allocations" % count)
        for fault in faults[:20]:
            print("# " + str(fault).replace("\n", "\n#   "))
        return 1 if faults else 0
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
