#!/usr/bin/python3
"""Runs the suites of this folder in a network and a process namespace of their own: fixed ports are free there, and nothing
outlives the run. Where namespaces cannot be made they run on this machine's own ports."""
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
args = sys.argv[1:]
if not any(os.path.exists(word.split("::")[0]) for word in args):
    args = [*args, here]
inner = [sys.executable, os.path.join(os.path.dirname(here), "e2e", "run.py"), *args]
# A shell stays as PID 1 of the namespace, so that no test is.
script = 'ip link set lo up && "$@"; exit $?'

for how in (["unshare", "-n", "-p", "-f", "--mount-proc", "--kill-child"],
            ["unshare", "-U", "-r", "-n", "-p", "-f", "--mount-proc", "--kill-child"]):
    try:
        works = subprocess.run([*how, "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        works = False
    if works:
        os.execvp(how[0], [*how, "sh", "-c", script, "sh", *inner])
print("# no namespaces here: the fixed ports of this machine are used", flush=True)
os.execv(inner[0], inner)
