"""reeve at a terminal, and the state that it inherits (R-92, R-95)."""
import fcntl
import os
import signal
import struct
import subprocess
import termios
import time

import pytest

import harness
from harness import alive, children_of, state_of, until

TEXT = """
services:
  sig: {command: [/bin/sh, -c, 'exec grep -E "SigBlk|SigIgn" /proc/self/status > sig'], type: task, working-dir: "${env.TMPDIR}"}
  a: {command: [/bin/sh, -c, 'for s in INT HUP QUIT TSTP; do trap "echo $s >> heard" $s; done; trap "echo TERM >> heard; exit 0" TERM; tty > tty; (: < /dev/tty) 2>> tty; echo >&3; while :; do sleep 0.05; done'], ready: {fd: 3}, needs: [sig], working-dir: "${env.TMPDIR}"}
  p:
    command: [/bin/sleep, "1000"]
    needs: [sig]
    working-dir: "${env.TMPDIR}"
    ready: {exec: [/bin/sh, -c, 'exec grep -E "SigBlk|SigIgn" /proc/self/status > psig']}
"""


class Screen:
    """A terminal with a shell-like session leader below it: the reeve is a job, in the foreground or not."""

    def __init__(self, master, leader):
        self.master, self.leader, self.seen = master, leader, b""

    def read(self):
        os.set_blocking(self.master, False)
        try:
            while True:
                piece = os.read(self.master, 65536)
                if not piece:
                    break
                self.seen += piece
        except OSError:
            pass
        return self.seen.decode(errors="replace")

    def type(self, text):
        os.write(self.master, text)


# LEADER FG: leads the session, runs the rest as a job in the foreground (1) or background (0), waits for it
LEADER = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    for s in (signal.SIGTTOU, signal.SIGINT): signal.signal(s, signal.SIG_DFL)
    if sys.argv[1] == "1":
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[2], sys.argv[2:])
try: os.setpgid(pid, pid)
except OSError: pass
while True:
    got, status = os.waitpid(pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        open("stopped", "w").write(str(os.WSTOPSIG(status)))
        continue
    open("status", "w").write(str(os.waitstatus_to_exitcode(status)))
    break
"""


@pytest.fixture
def at_terminal(reeve, monkeypatch):
    """at_terminal(text, foreground) starts one whose descriptors 0 to 2 are a terminal."""
    made = []

    def start(text, foreground=True, args=()):
        master, slave = harness.terminal()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        mode = termios.tcgetattr(slave)
        mode[3] |= termios.TOSTOP  # who writes from the background is stopped, unless it does not care
        termios.tcsetattr(slave, termios.TCSANOW, mode)
        real = subprocess.Popen

        def popen(argv, **more):
            more.update(stdin=slave, stdout=slave, stderr=slave,
                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
            return real(argv, **more)
        monkeypatch.setattr(harness.subprocess, "Popen", popen)
        try:
            r = reeve(text, wrap=("/usr/bin/python3", "-c", LEADER, "1" if foreground else "0"), args=args)
        finally:
            monkeypatch.setattr(harness.subprocess, "Popen", real)
        os.close(slave)
        made.append(master)
        r.pid1 = True  # below the leader
        return r, Screen(master, r.proc.pid)

    yield start
    for master in made:
        os.close(master)


def clean(text):
    masks = {line.split(":")[0]: int(line.split()[1], 16) & 0x7fffffff for line in text.splitlines()}
    return masks == {"SigBlk": 0, "SigIgn": 0}


@pytest.mark.parametrize("foreground", [True, False], ids=["foreground", "background"])
def test_at_a_terminal_nothing_is_stopped_and_services_have_no_terminal(at_terminal, foreground):
    r, screen = at_terminal(TEXT, foreground)
    r.wait_ready()
    assert clean(r.read("sig")) and clean(r.read("psig"))
    assert "not a tty" in r.read("tty") and "/dev/tty" in r.read("tty"), "no terminal to read from or to open"
    until("the words on the screen", lambda: "all ready" in screen.read())
    assert state_of(r.pid) in ("S", "R", "D") and not os.path.exists(r.path("stopped"))
    os.kill(r.pid, signal.SIGTERM)
    r.wait()
    assert r.read("status") == "0"
    assert r.read("heard") == "TERM\n"


# R-93 R-94
def test_control_c_reaches_reeve_once_and_services_only_by_its_teardown(at_terminal):
    r, screen = at_terminal(TEXT)
    r.wait_ready()
    screen.type(b"\x03")
    r.wait()
    assert r.read("status") == "0"
    assert r.read("heard") == "TERM\n", "the terminal's own signal never reached the service"
    until("the words", lambda: "SIGINT" in screen.read())
    assert screen.read().count("SIGINT: stopping") == 1 and "again" not in screen.read()


def test_control_c_twice_ends_a_deaf_service_at_once(at_terminal):
    r, screen = at_terminal("services: {deaf: {command: [/bin/sh, -c, 'trap \"\" TERM; echo >&3; while :; do sleep 1; done'], ready: {fd: 3}, stop: {timeout: 60s}}}")
    r.wait_ready()
    screen.type(b"\x03")
    until("the first", lambda: "SIGINT: stopping" in screen.read())
    screen.type(b"\x03")
    r.wait()
    assert r.read("status") == str(128 + 2)


def test_a_terminal_that_goes_away_does_not_end_the_services(at_terminal):
    r, screen = at_terminal(TEXT)
    r.wait_ready()
    os.kill(r.pid, signal.SIGHUP)
    time.sleep(0.3)
    assert r.service("a")["state"] == "ready"
    os.kill(r.pid, signal.SIGTERM)
    r.wait()
    assert r.read("heard") == "TERM\n"


# a stop by the job control of a shell, and on again: nothing is lost meanwhile
def test_a_reeve_that_was_stopped_for_a_while_goes_on_where_it_was(at_terminal):
    r, screen = at_terminal("services: {a: {command: [/bin/sleep, '1000'], restart: {on: always, delay: 50ms}}}")
    r.wait_ready()
    pid, first = r.pid, r.service("a")["pid"]
    screen.type(b"\x1a")
    until("the stop", lambda: state_of(pid) == "T")
    os.kill(first, signal.SIGKILL)
    time.sleep(0.2)
    os.kill(pid, signal.SIGCONT)
    until("the next life", lambda: r.service("a").get("pid") not in (None, 0, first) and r.service("a")["state"] == "ready")
    assert r.service("a")["restarts"] == 1
    os.kill(pid, signal.SIGTERM)
    r.wait()
    assert r.read("status") == "0"


@pytest.mark.parametrize("stdin, stdout, stderr", [("<&-", "", ""), ("", ">&-", ""), ("", "", "2>&-"), ("<&-", ">&-", "2>&-")])
def test_with_closed_descriptors_no_log_gets_the_data_of_another_file(reeve, stdin, stdout, stderr):
    r = reeve("""
services:
  a: {command: [/bin/sh, -c, 'echo out-of-a; echo err-of-a >&2; exec sleep 1000']}
  b: {command: [/bin/sh, -c, 'echo out-of-b; echo err-of-b >&2; exec sleep 1000'], needs: [a]}
""", wrap=("/bin/sh", "-c", 'exec "$0" "$@" %s %s %s' % (stdin, stdout, stderr)))
    r.wait_ready()
    for name in "ab":
        r.wait_text("err-of-" + name, source="log/%s.log" % name)
        assert sorted(r.log(name).split()) == ["err-of-" + name, "out-of-" + name], "and nothing of reeve's own"
    assert r.term() == 0


# whatever was blocked or ignored, TERM ends it and children are reaped
@pytest.mark.parametrize("how", ["blocked", "ignored"])
def test_inherited_signal_state_does_not_keep_it_from_ending(reeve, how):
    r = reeve(TEXT, wrap=("/usr/bin/python3", "-c", """
import os, signal, sys
which = [signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT, signal.SIGPIPE, signal.SIGTSTP, signal.SIGRTMIN + 3]
if sys.argv[1] == "blocked": signal.pthread_sigmask(signal.SIG_BLOCK, which)
else: [signal.signal(s, signal.SIG_IGN) for s in which]
os.execv(sys.argv[2], sys.argv[2:])
""", how))
    r.wait_ready()
    assert clean(r.read("sig")) and clean(r.read("psig"))
    assert r.ctl("stop", "p").returncode == 0
    assert "killed" not in r.stderr, "it could hear TERM"
    assert r.term() == 0
    assert not [p for p in children_of(os.getpid()) if alive(p) and p == r.proc.pid]
