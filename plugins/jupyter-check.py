# What `reeve check` runs under the python of a Jupyter Server: imports the server and looks for kernels as it will. Prints
# a line "reeve: TEXT" for each finding and ends with 3 when a start would fail.
#
# Arguments: the jupyter command; the folder of its files ("": not known); "1" when PATH decides which python this is; the
# kernels that option contexts wants, if any.
import os
import shutil
import subprocess
import sys
import tempfile

program, root, sought = sys.argv[1:4]
wanted = sys.argv[4:]
out, bad, tried = os.dup(1), False, {}
os.dup2(2, 1)  # what modules print is no finding
del sys.path[0]  # the working folder, which a script does not have there
os.environ["IPYTHONDIR"] = scratch = tempfile.mkdtemp()  # IPython makes a folder when it is imported


def say(text, warning=False):
    global bad
    bad = bad or not warning
    line = "\nreeve: %s%s\n" % ("warning: " if warning else "", " ".join(text.split()))
    os.write(out, line.encode(errors="replace"))


def ask(python, code):
    """Whether it went well, and its last line."""
    try:
        done = subprocess.run([python, "-B", "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=50)
        lines = done.stdout.decode(errors="replace").strip().splitlines()
        return done.returncode == 0, lines[-1] if lines else "it said nothing"
    except Exception as e:
        return False, str(e)


def trouble(spec):
    """Why a kernel cannot start; "": nothing is known against it."""
    own = ("python", "python%d" % sys.version_info[0], "python%d.%d" % sys.version_info[:2])
    name = spec.argv[0] if spec.argv else ""
    python = sys.executable if name in own else shutil.which(name)
    if not python:
        return "cannot execute %s" % (name or "an empty argv")
    at = spec.argv.index("-m") + 1 if "-m" in spec.argv else len(spec.argv)
    if not spec.argv[at:] or not spec.argv[at].startswith("ipykernel"):
        return ""
    if python not in tried:
        tried[python] = ask(python, "import ipykernel.kernelapp")
    good, why = tried[python]
    return "" if good else "cannot import ipykernel under %s: %s" % (python, why)


def look_at_kernels():
    """Those that are wanted, and the one that is used when nobody asks for another, must start; the rest is worth a warning."""
    from jupyter_client.kernelspec import KernelSpecManager
    manager = KernelSpecManager()
    found = manager.find_kernel_specs()
    if not found:
        say("there is no kernelspec: install ipykernel for %s, or a kernelspec below one of %s"
            % (sys.executable, ", ".join(manager.kernel_dirs)))
    for name in sorted(found):
        try:
            why = trouble(manager.get_kernel_spec(name))
        except Exception as e:
            why = "%s: %s" % (type(e).__name__, e)
        if why:
            say("kernelspec %s in %s cannot start: %s" % (name, found[name], why),
                name != "python3" and name not in wanted and len(found) > 1)
    for name in sorted(set(wanted) - set(found)) if found else ():
        say("option contexts wants the kernel %s, which is not among the kernelspecs: %s" % (name, ", ".join(sorted(found))))


def look_at_path():
    first = shutil.which("python3")
    good, prefix = ask(first, "import sys; print(sys.prefix)") if first else (True, sys.prefix)
    if not good or prefix != sys.prefix:
        say("python3 first in PATH is %s, of another environment than %s, which runs %s: what a cell or a terminal calls "
            "python3 or pip is not the server's" % (first, sys.executable, program), True)


try:
    import jupyter_server.serverapp  # noqa: F401
except BaseException as e:
    say("cannot import jupyter_server under %s, which runs %s: %s: %s; %s"
        % (sys.executable, program, type(e).__name__, e,
           "PATH chose this python: put the one that has it first" if sought
           else "install it for this python, or name another jupyter in option bin"))
try:
    look_at_kernels()
except BaseException as e:
    say("cannot look for kernelspecs under %s: %s: %s" % (sys.executable, type(e).__name__, e))
if root and not os.path.isdir(root):
    say("root-dir %s is no folder: the server would refuse to start" % root)
elif root and not os.access(root, os.R_OK | os.X_OK):
    say("root-dir %s cannot be read by user %d" % (root, os.geteuid()))
look_at_path()
shutil.rmtree(scratch, ignore_errors=True)
os._exit(3 if bad else 0)
