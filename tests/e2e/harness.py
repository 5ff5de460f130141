"""Starts a real reeve on a YAML text, talks to it with the real reevectl, and proves that nothing is left behind.

A test asks for the `reeve` fixture and calls it:

    def test_a_task_that_is_done_is_exited(reeve):
        r = reeve("services: {a: {command: [/bin/true], type: task}}")
        r.wait_state("a", "exited")
        assert r.term() == 0

The runtime folder, the log folder and the plugin folder are set already (by a layer below the text). Programs are ended
by pid only, and every wait has a bound.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid

BUILD = os.environ.get("RV_BUILD", os.path.join(os.getcwd(), "build"))
SRC = os.environ.get("RV_SRC", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
REEVE = os.path.join(BUILD, "reeve")
REEVECTL = os.path.join(BUILD, "reevectl")
PLUGINS = os.environ.get("RV_PLUGINS", os.path.join(BUILD, "plugins"))
# Sanitizers and a busy machine: every bound is this many times what a quiet machine needs.
SLACK = float(os.environ.get("RV_SLACK", "1"))


def sanitized():
    """Whether this reeve has sanitizers in it (clang links them statically, so that ldd does not tell)."""
    try:
        with open(REEVE, "rb") as f:
            return b"__asan_init" in f.read()
    except OSError:
        return False


def terminal():
    """(master, slave) of a new terminal; the test is skipped where the machine has none to give."""
    import pty

    import pytest
    try:
        return pty.openpty()
    except OSError as e:
        pytest.skip("no terminal can be made here (is /dev/pts mounted?): %s" % e)


class Late(AssertionError):
    """A bounded wait that ran out."""


def until(what, probe, timeout=10.0, every=0.02):
    """Calls probe() until it returns something true, and returns that; Late when the bound is over."""
    end = time.monotonic() + timeout * SLACK
    while True:
        got = probe()
        if got:
            return got
        if time.monotonic() > end:
            raise Late("waited %.1f s for %s" % (timeout * SLACK, what() if callable(what) else what))
        time.sleep(every)


FIRST_PORT, BLOCK, BLOCKS = 10000, 200, 100
leases = {}  # first port of a block: the socket whose name keeps all other programs of tests away from that block
ports = iter(())  # what is left of the newest block


def lease():
    """The ports of a block that is ours for as long as we live. A port that was found free and is not yet bound by whom it
    is for would be free for the next program of tests as well: several run side by side."""
    start = os.getpid() * 37
    for n in range(start, start + BLOCKS):
        first = FIRST_PORT + n % BLOCKS * BLOCK
        s = socket.socket(socket.AF_UNIX)
        try:
            s.bind("\0ports-of-reeves-tests-%d" % first)
        except OSError:
            s.close()
            continue
        leases[first] = s
        return iter(range(first, first + BLOCK))
    raise RuntimeError("no block of ports is left")


def free_port():
    """A TCP port below the ephemeral range, so that no outgoing connection can take it meanwhile; never the same twice."""
    global ports
    while True:
        for port in ports:
            with socket.socket() as s:
                try:
                    s.bind(("", port))
                    return port
                except OSError:
                    continue
        ports = lease()


def seconds(n):
    """A bound in a configuration that a machine has to keep while it stands still for a moment, in YAML."""
    return "%dms" % (n * 1000 * SLACK)


def whole_lines(text):
    """The lines of a file that still grows, without one whose end has not come yet."""
    return text[:text.rfind("\n") + 1].splitlines()


def children_of(pid):
    """The direct children of a process, from all its threads."""
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as f:
                found += [int(word) for word in f.read().split()]
    except OSError:
        pass
    return found


def tree_of(pid):
    """All descendants of a process."""
    found, todo = [], [pid]
    while todo:
        kids = children_of(todo.pop())
        found += kids
        todo += kids
    return found


def web_server(port):
    """The words of a server that is not reeve's. -I: the folder of a build holds our http.so, which is no module of Python."""
    return ["/usr/bin/python3", "-I", "-m", "http.server", "-b", "127.0.0.1", str(port)]


def state_of(pid):
    """The one-letter state of a process, or '' when there is none."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def alive(pid):
    return state_of(pid) not in ("", "Z", "X")


def kill(pid):
    """Ends a process that may have gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def has_socket(pid):
    """Whether it has a socket open: a client that has one and sleeps has sent what it asks."""
    try:
        return any(os.readlink(f.path).startswith("socket:") for f in os.scandir("/proc/%d/fd" % pid))
    except OSError:
        return False  # one was closed meanwhile


def cmdline(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def marked(mark):
    """Every process whose environment holds the mark: what a reeve started, wherever it is in the tree."""
    found = []
    needle = ("STORY_MARK=" + mark).encode()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/environ" % name, "rb") as f:
                if needle in f.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            continue
    return [pid for pid in found if alive(pid) and pid != os.getpid()]


def can_unshare():
    """Whether a process namespace can be made here, for the tests with reeve as PID 1."""
    try:
        return subprocess.run(["unshare", "-p", "-f", "--mount-proc", "true"], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


class Reeve:
    """One running reeve with a folder of its own."""

    def __init__(self, text=None, args=(), env=None, pid1=False, files=None, own_config=False, wrap=(), cwd=None):
        """text: the YAML of the graph. files: more files, name to text, in the same folder. own_config: only `args`
        decide what is read. pid1: as PID 1 of a new process namespace. wrap: a command to run reeve under."""
        self.dir = tempfile.mkdtemp(prefix="rv.", dir="/tmp")
        os.chmod(self.dir, 0o755)
        self.mark = uuid.uuid4().hex
        self.run = os.path.join(self.dir, "run")
        self.logs = os.path.join(self.dir, "log")
        self.home = os.path.join(self.dir, "home")
        for d in (self.run, self.logs, self.home):
            os.mkdir(d)
        self.socket = os.path.join(self.run, "control.sock")
        for name, body in (files or {}).items():
            self.write(name, body)
        config = []
        if not own_config:
            base = self.write("base.yaml", "version: 1\nreeve: {runtime-dir: %s, log: {dir: %s}, boot-timeout: %s, platform-window: %s}\n"
                              % (self.run, self.logs, seconds(25), seconds(30)))
            config = ["-c", base]
            if text is not None:
                self.config = self.write("reeve.yaml", text)
                config += ["-c", self.config]
        argv = [REEVE, *config, "--plugin-dir", PLUGINS, *args]
        self.pid1 = pid1
        if pid1:
            argv = ["unshare", "-p", "-f", "--mount-proc", "--kill-child", *argv]
        argv = [*wrap, *argv]
        self.env = dict(os.environ, HOME=self.home, STORY_MARK=self.mark, TMPDIR=self.dir, PYTHONDONTWRITEBYTECODE="1")
        for gone in ("REEVE_SOCKET", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID"):
            self.env.pop(gone, None)
        self.env.update(env or {})
        self.adjust_env()
        self._out = open(os.path.join(self.dir, "stdout"), "wb")
        self._err = open(os.path.join(self.dir, "stderr"), "wb")
        self.started = time.monotonic()
        self.proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err,
                                     env=self.env, cwd=cwd or self.dir, start_new_session=True)
        self.check_leftovers = True

    def adjust_env(self):
        """For those who start a reeve of a special kind: called before it is started, when the folders exist."""

    # -- files and output ---------------------------------------------------------------------------------------------

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def read(self, name):
        try:
            with open(os.path.join(self.dir, name), errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    @property
    def stderr(self):
        return self.read("stderr")

    @property
    def stdout(self):
        return self.read("stdout")

    def log(self, service):
        """What a service has written so far, from its log file."""
        return self.read(os.path.join("log", service + ".log"))

    # -- the process --------------------------------------------------------------------------------------------------

    @property
    def pid(self):
        """The pid of reeve itself, as seen from here (below unshare when it is PID 1 of its own namespace)."""
        if not self.pid1:
            return self.proc.pid
        return until("unshare to fork", lambda: children_of(self.proc.pid))[0]

    def signal(self, sig):
        os.kill(self.pid, sig)

    def running(self):
        return self.proc.poll() is None

    def wait(self, timeout=15.0):
        """The exit status of reeve, bounded; a death by signal n is -n."""
        try:
            return self.proc.wait(timeout * SLACK)
        except subprocess.TimeoutExpired:
            raise Late("reeve is still running after %.1f s\n%s" % (timeout * SLACK, self.story())) from None

    def term(self, timeout=30.0):
        """A requested shutdown; returns the exit status."""
        if self.running():
            self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def leftovers(self):
        """What this reeve started and what still runs (reeve itself included)."""
        return marked(self.mark)

    # -- reevectl -----------------------------------------------------------------------------------------------------

    def ctl(self, *args, timeout=30.0, input=None):
        """Runs reevectl; the result has returncode, stdout, stderr."""
        given = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        return subprocess.run([REEVECTL, "-s", self.socket, *args], **given, capture_output=True,
                              text=True, errors="replace", timeout=timeout * SLACK, env=self.env, cwd=self.dir)

    def services(self):
        """name -> the service's part of `reevectl --json status`; {} when the daemon does not answer."""
        got = self.ctl("--json", "status")
        if not got.stdout.strip():
            return {}
        try:
            answer = json.loads(got.stdout)
        except ValueError:
            raise AssertionError("reevectl --json status did not print JSON: %r" % got.stdout) from None
        return {s["name"]: s for s in answer.get("services", [])}

    def service(self, name):
        return self.services().get(name, {})

    def wait_state(self, name, *states, timeout=15.0):
        """Waits until a service is in one of the states and returns its part of the status."""
        last = {}

        def look():
            nonlocal last
            if not self.running():
                raise AssertionError("reeve ended with %s while waiting for %s to be %s\n%s"
                                     % (self.proc.poll(), name, "/".join(states), self.story()))
            last = self.service(name)
            return last if last.get("state") in states else None

        return until(lambda: "%s to be %s (last seen: %s)\n%s" % (name, "/".join(states), last, self.story()), look, timeout)

    def wait_ready(self, timeout=30.0):
        """`reevectl wait --ready`: the whole graph is up."""
        self.wait_socket(timeout)
        got = self.ctl("wait", "--ready", "--timeout", "%ds" % max(1, int(timeout * SLACK)), timeout=timeout + 10)
        assert got.returncode == 0, "wait --ready: %d %s%s\n%s" % (got.returncode, got.stdout, got.stderr, self.story())

    def wait_socket(self, timeout=15.0):
        def look():
            if not self.running():
                raise AssertionError("reeve ended with %s before it answered\n%s" % (self.proc.poll(), self.story()))
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(5)
                try:
                    s.connect(self.socket)
                    return True
                except OSError:
                    return False
        until(lambda: "the control socket\n" + self.story(), look, timeout)

    def wait_text(self, text, source="stderr", timeout=15.0):
        """Waits until the text is in reeve's stderr (or another file of the folder)."""
        until(lambda: "%r in %s\n%s" % (text, source, self.story()), lambda: text in self.read(source), timeout)

    # -- the end ------------------------------------------------------------------------------------------------------

    def story(self, most=6000):
        """What a person wants to read when a test is red."""
        parts = ["--- stderr of reeve ---", self.stderr[-most:]]
        for name in sorted(os.listdir(self.logs)):
            parts += ["--- log of %s ---" % name, self.read(os.path.join("log", name))[-2000:]]
        return "\n".join(parts)

    def close(self):
        """Ends what is left, in any case; says what was left although reeve had gone (empty when all is well)."""
        late = False
        if self.running():
            for sig, bound in ((signal.SIGTERM, 20), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
                try:
                    self.signal(sig)
                    self.proc.wait(bound * SLACK)
                    break
                except ProcessLookupError:
                    break
                except (subprocess.TimeoutExpired, Late):
                    late = True
            if self.running():
                self.proc.kill()
                self.proc.wait()
        self._out.close()
        self._err.close()
        trouble = []
        if late:
            trouble.append("reeve did not end within 20 s of SIGTERM")
        left = self.leftovers()
        if left and self.check_leftovers:
            trouble.append("left behind: " + "; ".join("%d %s" % (pid, cmdline(pid)) for pid in left))
        for pid in left:
            kill(pid)
        for bad in ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:"):
            if bad in self.stderr:
                trouble.append("a sanitizer spoke:\n" + self.stderr[self.stderr.index(bad) - 200 if self.stderr.index(bad) > 200 else 0:][:4000])
                break
        return trouble

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)
