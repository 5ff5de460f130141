"""What a service says of itself through NOTIFY_SOCKET, and who may say it."""
import os
import shutil
import socket
import time

import pytest

from harness import until

# Forwards what the test tells it to NOTIFY_SOCKET, so that a test decides when what is said, and by whom.
TELLER = r"""
import array, os, signal, socket, sys
name = sys.argv[1]
ears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
at = os.path.join(os.environ["TMPDIR"], name + ".ears")
if os.path.exists(at):
    os.unlink(at)
ears.bind(at + ".new")
os.rename(at + ".new", at)
out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
def say(what):
    out.sendto(what, os.environ["NOTIFY_SOCKET"])
def on_term(_s, _f):
    for what in sys.argv[2:]:
        say(what.encode())
    if len(sys.argv) == 2:
        os._exit(0)
signal.signal(signal.SIGTERM, on_term)
while True:
    how, _, what = ears.recv(65536).partition(b" ")
    if how == b"say":
        say(what)
    elif how == b"child":          # a process that is gone before anybody looks
        if os.fork() == 0:
            say(what)
            os._exit(0)
        os.wait()
    elif how == b"lasting":        # one that stays
        if os.fork() == 0:
            say(what)
            signal.pause()
    elif how == b"flood":
        for _ in range(int(what)):
            say(b"STATUS=flood")
    elif how == b"barrier":
        a, b = os.pipe()
        out.sendmsg([b"BARRIER=1"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [b]))], 0,
                    os.environ["NOTIFY_SOCKET"])
        os.close(b)
        os.read(a, 1)
        os.close(a)
        say(b"STATUS=past the barrier")
    elif how == b"store":
        out.sendmsg([b"FDSTORE=1\nFDNAME=x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 40))], 0,
                    os.environ["NOTIFY_SOCKET"])
    elif how == b"exit":
        os._exit(int(what))
"""


def teller(name, more="", last=()):
    """One line of a graph: a service that says what it is told to; `last`: instead of ending at TERM it says that."""
    words = "".join(", %r" % w for w in last)
    return "  %s: {command: [/usr/bin/python3, \"${env.TMPDIR}/teller.py\", %s%s]%s}\n" % (name, name, words, more)


NOTIFY = ", ready: {notify: true}"


@pytest.fixture
def started(reeve):
    return lambda text, **more: reeve(text, files={"teller.py": TELLER}, **more)


def tell(r, name, how, what=b""):
    """Waits until the service has ears, then tells it."""
    at = r.path(name + ".ears")
    until("%s to have ears\n%s" % (name, r.story()), lambda: os.path.exists(at))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(how.encode() + b" " + (what.encode() if isinstance(what, str) else what), at)


def socket_of(r, name):
    """The path that this life has in NOTIFY_SOCKET."""
    pid = r.service(name)["pid"]
    with open("/proc/%d/environ" % pid, "rb") as f:
        return dict(e.split(b"=", 1) for e in f.read().split(b"\0") if b"=" in e).get(b"NOTIFY_SOCKET", b"").decode()


def says(r, name, text):
    until("%s to say %r\n%s" % (name, text, r.story()), lambda: r.service(name).get("status_text") == text)


def test_a_service_is_ready_when_it_says_so_and_its_status_is_shown(started):
    r = started("services:\n" + teller("a", NOTIFY) + "  b: {command: [/bin/sleep, '1000'], needs: [a]}\n")
    tell(r, "a", "say", "STATUS=loads 1 of 2")
    says(r, "a", "loads 1 of 2")
    assert r.service("a")["state"] == "starting" and r.service("b")["state"] == "waiting"
    assert "loads 1 of 2" in r.ctl("status").stdout
    tell(r, "a", "say", "READY=1\nSTATUS=at\x1b[31m work\n")
    r.wait_state("b", "ready")
    assert r.service("a")["state"] == "ready"
    says(r, "a", "at\\x1b[31m work")
    tell(r, "a", "say", "STATUS=" + 1000 * "x")
    says(r, "a", 255 * "x")
    assert r.term() == 0


@pytest.mark.parametrize("how", ["child", "lasting"])
def test_any_process_of_the_service_may_say_it_also_one_that_has_ended(started, how):
    r = started("services:\n" + teller("a", NOTIFY))
    tell(r, "a", how, "READY=1")
    r.wait_state("a", "ready")
    assert r.term() == 0


def test_with_main_only_the_main_process_may(started):
    r = started("services:\n" + teller("a", ", ready: {notify: main}"))
    tell(r, "a", "lasting", "READY=1")
    tell(r, "a", "child", "READY=1")
    r.wait_text("is ignored: that is not its main process")
    tell(r, "a", "say", "STATUS=here")
    says(r, "a", "here")
    assert r.service("a")["state"] == "starting"
    tell(r, "a", "say", "READY=1")
    r.wait_state("a", "ready")
    assert r.stderr.count("is ignored") == 1  # once a life


def test_the_words_of_strangers_do_not_count(started):
    r = started("services:\n" + teller("a", NOTIFY))
    r.wait_state("a", "starting")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b"READY=1\nSTATUS=mine", until("its socket", lambda: socket_of(r, "a")))
    r.wait_text("pid %d (user %d) is ignored: that is no process of it" % (os.getpid(), os.getuid()))
    tell(r, "a", "say", "STATUS=here")
    says(r, "a", "here")
    assert r.service("a")["state"] == "starting"


@pytest.mark.skipif(not shutil.which("systemd-notify"), reason="systemd-notify is not here")
def test_the_program_systemd_notify_works(started):
    r = started("services:\n  a: {command: [/bin/sh, -c, 'systemd-notify --ready --status=yes; exec sleep 1000']%s}\n" % NOTIFY)
    r.wait_state("a", "ready")
    says(r, "a", "yes")
