# What `reeve check` runs under the python of an interpreter: imports what will be served, as uvicorn will. Prints a line
# "reeve: TEXT" for each finding and ends with 3 when a start would fail.
#
# Arguments: MODULE:VARIABLE; its folder ("": the working one); "1" when PATH decides which python this is; then, for each
# Jupyter that it needs, the service's name and the program.
import importlib
import os
import shutil
import subprocess
import sys
import traceback

app, folder, sought, peers = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
out, bad = os.dup(1), False
os.dup2(2, 1)  # what modules print is no finding


def say(text, warning=False):
    global bad
    bad = bad or not warning
    line = "\nreeve: %s%s\n" % ("warning: " if warning else "", " ".join(text.split()))
    os.write(out, line.encode(errors="replace"))


def words(error):
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<")]
    place = " (%s, line %s)" % (frames[-1].filename, frames[-1].lineno) if frames else ""
    return "%s: %s%s" % (type(error).__name__, error, place)


def load(name, part=""):
    found = importlib.import_module(name)
    for word in part.split(".") if part else []:
        found = getattr(found, word)


def prefix_of(python):
    try:
        code = "import sys; print(sys.prefix)"
        done = subprocess.run([python, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=20)
        return done.stdout.decode(errors="replace").strip() or "nothing that is a python"
    except Exception as e:
        return "nothing that is a python (%s)" % e


def python_of(program):
    """The python of a script and whether PATH chose it; None: its first line names none."""
    try:
        with open(program, "rb") as f:
            line = f.readline(400).decode(errors="replace")
    except (OSError, TypeError):
        return None, False
    named = line[2:].split() if line.startswith("#!") else [""]
    asked = os.path.basename(named[0]) == "env"
    python = shutil.which(named[-1]) if asked else named[0]
    return (python, asked) if python and os.path.basename(python).startswith("python") else (None, asked)


def pair(service, program):
    """Kernels run under Jupyter's python: what is installed for one is not there for the other."""
    path = shutil.which(program)
    python, asked = python_of(path)
    theirs = prefix_of(python) if python else sys.prefix
    if theirs == sys.prefix:
        return
    by_path = sought or asked
    say("it runs under %s (environment %s) and %s of service %s under %s (environment %s)%s"
        % (sys.executable, sys.prefix, path, service, python, theirs,
           "; PATH chose one of them: name both by the paths of one environment" if by_path else ""), not by_path)


for k in range(0, len(peers) - 1, 2):
    pair(peers[k], peers[k + 1])
sys.path[0:1] = [folder or os.getcwd(), os.getcwd()]
try:
    load("uvicorn")
except BaseException as e:
    say("cannot import uvicorn under %s: %s; install it for this python, or name another one in option python"
        % (sys.executable, words(e)))
try:
    load(*app.split(":", 1))
except BaseException as e:
    say("cannot import %s of %s under %s: %s; install for this python what is missing, or correct option app, app-dir or "
        "python" % (app, folder or os.getcwd(), sys.executable, words(e)))
os._exit(3 if bad else 0)  # threads that the application began do not keep us
