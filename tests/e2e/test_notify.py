"""What a service says of itself through NOTIFY_SOCKET, and who may say it."""
import os
import random
import re
import shutil
import socket
import time

import pytest

from harness import SLACK, alive, children_of, seconds, until

# Forwards what the test tells it to NOTIFY_SOCKET, so that a test decides when what is said, and by whom.
TELLER = r"""
import array, os, signal, socket, sys
name = sys.argv[1]
ears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
ears.bind("\0" + os.environ["STORY_MARK"] + name)
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
    elif how == b"orphan":         # a child of a child that has ended
        if os.fork() == 0:
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                say(what + b"\nSTATUS=orphan %d" % os.getpid())
                signal.pause()
            os._exit(0)
        os.wait()
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
    elif how == b"die":            # with the last word behind a flood
        for _ in range(135):
            say(b"STATUS=flood")
        say(what)
        os._exit(3)
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
    return lambda text, files=(), **more: reeve(text, files={"teller.py": TELLER, **dict(files)}, **more)


def tell(r, name, how, what=b""):
    """Waits until the service has ears, then tells it."""
    what = what.encode() if isinstance(what, str) else what

    def heard():
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            try:
                return s.sendto(how.encode() + b" " + what, "\0" + r.mark + name)
            except ConnectionRefusedError:
                return 0

    until(lambda: "%s to have ears\n%s" % (name, r.story()), heard)


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
    assert ": READY=1 has not come on NOTIFY_SOCKET; it says: loads 1 of 2 (attempt 1, " in r.ctl("why", "a").stdout
    tell(r, "a", "say", "READY=1\nSTATUS=at\x1b[31m work\n")
    r.wait_state("b", "ready")
    assert r.service("a")["state"] == "ready"
    says(r, "a", "at\\x1b[31m work")
    tell(r, "a", "say", "STATUS=" + 1000 * "x")
    says(r, "a", 256 * "x")
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


@pytest.mark.root
def test_a_user_of_another_service_cannot_write_and_the_own_one_can(started):
    r = started("services:\n" + teller("a", NOTIFY + ", user: nobody") + teller("b", NOTIFY + ", user: daemon") + teller("c", NOTIFY))
    for name in "abc":
        r.wait_state(name, "starting")
    paths = {name: until("its socket", lambda n=name: socket_of(r, n)) for name in "abc"}
    assert [oct(os.stat(paths[n]).st_mode & 0o777) for n in "abc"] == ["0o600", "0o600", "0o666"]
    assert os.stat(paths["a"]).st_uid == 65534 and os.stat(os.path.dirname(paths["a"])).st_mode & 0o777 == 0o711
    child = os.fork()
    if not child:
        os.setgid(65534)
        os.setuid(65534)
        refused = []
        for name in "bc":  # of another user; of all, but not of nobody's tree
            try:
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
                    s.sendto(b"READY=1", paths[name])
                    s.sendto(b"READY=1", paths[name])
            except PermissionError:
                refused.append(name)
        try:
            os.listdir(os.path.dirname(paths["a"]))
        except PermissionError:
            refused.append("list")
        os._exit(0 if refused == ["b", "list"] else 1)
    assert os.waitpid(child, 0)[1] == 0
    r.wait_text("c: a word on NOTIFY_SOCKET from pid %d (user 65534) is ignored" % child)
    for name in "abc":
        tell(r, name, "child", "READY=1")  # gone at once: its user counts
    r.wait_ready()
    assert r.term() == 0


def test_nonsense_is_ignored_and_changes_nothing(started):
    r = started("services:\n" + teller("a", NOTIFY))
    for what in (b"", b"\n\n\n", b"READY", b"READY=", b"READY=10", b"READY=0", b"xREADY=1", b" READY=1", b"ready=1", b"=",
                 b"A=1\0READY=1", b"\0READY=1", b"READY=1\0A=1", b"X" * 4097, b"READY=1\n" + b"X" * 4096, b"WATCHDOG=1", b"WATCHDOG=trigger",
                 b"EXTEND_TIMEOUT_USEC=-1", b"EXTEND_TIMEOUT_USEC=99999999999999999999", b"EXTEND_TIMEOUT_USEC=1s",
                 b"MAINPID=0", b"MAINPID=1", b"MAINPID=-1", b"MAINPID=x", b"ERRNO=x", b"STATUS", b"NOSUCHWORD=1\xff\xfe"):
        tell(r, "a", "say", what)
    dice = random.Random(4)
    for _ in range(200):  # never a whole READY=1 in it
        tell(r, "a", "say", bytes(dice.choice(b"READY=\n\0STUEXMAINPID_79-\xff") for _ in range(dice.randrange(60))).replace(b"READY=1", b""))
    tell(r, "a", "say", b"STATUS=all\xff said")
    says(r, "a", "all\\xff said")
    assert r.service("a")["state"] == "starting"
    tell(r, "a", "say", b"UNKNOWN=1\nREADY=1\nMORE=2\0")
    r.wait_state("a", "ready")
    assert r.stderr.count("ignored") == 2  # one line for what was too long, one for MAINPID


def test_a_flood_leaves_the_loop_alone_and_loses_nothing(started):
    r = started("services:\n" + teller("a", NOTIFY) + "  b: {command: [/bin/sleep, '1000']}\n")
    tell(r, "a", "flood", "1000")
    r.wait_text("it has to wait now and then")
    assert r.ctl("restart", "b").returncode == 0
    assert r.service("a")["state"] == "starting"
    tell(r, "a", "say", "READY=1")  # stands behind the flood
    r.wait_state("a", "ready")
    assert r.term() == 0


def test_descriptors_that_come_along_are_closed(started):
    r = started("services:\n" + teller("a", NOTIFY))
    tell(r, "a", "say", "READY=1")
    r.wait_state("a", "ready")

    def open_ones():
        return len(os.listdir("/proc/%d/fd" % r.pid))

    before = open_ones()
    for _ in range(3):
        tell(r, "a", "store")
        tell(r, "a", "barrier")
    says(r, "a", "past the barrier")
    until("the descriptors to be closed", lambda: open_ones() <= before)


def test_a_start_gets_the_time_it_asks_for_and_one_that_does_not_is_told_with_its_last_words(started):
    more = ", ready: {notify: true, timeout: %s}" % seconds(3)
    r = started("reeve: {on-boot-failure: continue}\nservices:\n" + teller("a", more) + teller("b", more))
    tell(r, "a", "say", "EXTEND_TIMEOUT_USEC=60000000")
    tell(r, "b", "say", "STATUS=migrating\nERRNO=28")
    r.wait_state("b", "failed")
    assert re.search(r"not ready within \S+; last check: READY=1 has not come on NOTIFY_SOCKET; it said: migrating; "
                     "errno 28: No space left on device", r.stderr), r.stderr
    assert r.service("a")["state"] == "starting"
    tell(r, "a", "say", "READY=1")
    r.wait_state("a", "ready")


def test_but_not_more_than_the_whole_boot(started):
    r = started("reeve: {boot-timeout: %s}\nservices:\n" % seconds(4) + teller("a", ", ready: {notify: true, timeout: %s}" % seconds(3)))
    tell(r, "a", "say", "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=migrating")
    assert r.wait() == 10
    # both bounds end at the same moment, and either may be the one that is told
    assert re.search(r"a: (boot timeout|not ready within \S+ and what else it was given)", r.stderr), r.stderr


def test_a_stop_gets_the_time_it_asks_for(started):
    more = NOTIFY + ", stop: {timeout: %s}" % seconds(3)
    r = started("services:\n" + teller("a", more, last=("EXTEND_TIMEOUT_USEC=60000000", "STATUS=flushing")) +
                teller("b", more, last=("STATUS=deaf",)))
    for name in "ab":
        tell(r, name, "say", "READY=1")
        r.wait_state(name, "ready")
    assert r.ctl("stop", "a", "b", "--no-wait").returncode == 0
    r.wait_text("b: did not stop in time: killed")
    assert r.service("a")["state"] == "stopping" and r.service("a")["status_text"] == "flushing"
    tell(r, "a", "exit", "0")
    r.wait_state("a", "stopped")
    assert "a: did not stop in time" not in r.stderr


def test_the_last_words_of_one_that_ends_are_heard(started):
    r = started("reeve: {on-boot-failure: continue}\nservices:\n" + teller("a", NOTIFY))
    tell(r, "a", "die", "STATUS=cannot bind\nERRNO=98")
    r.wait_state("a", "failed")
    assert "failed: exited with 3 before it was ready; it said: cannot bind; errno 98: Address already in use" in r.stderr


def test_what_says_that_it_is_stopping_is_not_ready_and_gets_no_signal(started):
    r = started("services:\n" + teller("a", NOTIFY + ", restart: {on: always, delay: 10ms}, stop: {timeout: 100ms}", last=("STATUS=got a signal",)))
    tell(r, "a", "say", "READY=1")
    r.wait_state("a", "ready")
    tell(r, "a", "say", "STOPPING=1\nSTATUS=draining")
    s = r.wait_state("a", "unhealthy")
    assert s["detail"] == "says that it is stopping: draining"
    tell(r, "a", "say", "READY=1")
    tell(r, "a", "say", "STATUS=still there")
    says(r, "a", "still there")
    assert r.service("a")["state"] == "unhealthy"
    tell(r, "a", "exit", "0")
    until("its next life", lambda: r.service("a")["generation"] == 2)
    tell(r, "a", "say", "READY=1")
    r.wait_state("a", "ready")
    assert "status_text" not in r.service("a")
    tell(r, "a", "exit", "0")


def test_reloading_is_shown_until_it_is_ready_again(started):
    r = started("services:\n" + teller("a", NOTIFY))
    tell(r, "a", "say", "READY=1\nSTATUS=v1")
    r.wait_state("a", "ready")
    tell(r, "a", "say", "RELOADING=1\nMONOTONIC_USEC=1")
    until("it to be shown", lambda: r.service("a")["detail"] == "reloading: v1")
    assert r.service("a")["state"] == "ready"
    tell(r, "a", "say", "READY=1")
    until("it to be over", lambda: r.service("a")["detail"] == "v1")


def test_each_life_has_its_own_path_and_nothing_is_left_at_the_end(started):
    r = started("services:\n" + teller("a", NOTIFY))
    tell(r, "a", "say", "READY=1")
    r.wait_state("a", "ready")
    first = socket_of(r, "a")
    assert r.ctl("restart", "a", "--no-wait").returncode == 0
    until("its next life", lambda: r.service("a")["generation"] == 2 and r.service("a")["pid"])
    tell(r, "a", "say", "READY=1")
    r.wait_state("a", "ready")
    second = socket_of(r, "a")
    assert first != second and not os.path.exists(first) and os.path.exists(second)
    assert r.term() == 0
    assert os.listdir(r.run) == []


def test_what_a_killed_reeve_left_is_taken_away(started):
    r = started("services:\n" + teller("a", NOTIFY))
    folder = r.path("run", "notify")
    until("its socket", lambda: os.path.isdir(folder) and os.listdir(folder))
    r.check_leftovers = False
    r.proc.kill()
    r.wait()
    assert len(os.listdir(folder)) == 1
    r2 = started("reeve: {runtime-dir: %s}\nservices:\n" % r.run + teller("a", NOTIFY))
    r2.socket = r.socket
    r2.wait_state("a", "starting")
    assert len(os.listdir(folder)) == 1
    assert r2.term() == 0
    assert not os.path.exists(folder)


def test_a_folder_that_cannot_be_made_fails_the_start_with_its_reason(started):
    r = started("reeve: {on-boot-failure: continue}\nservices:\n" + teller("a", NOTIFY) + "  b: {command: [/bin/sleep, '1000']}\n")
    r.wait_state("b", "ready")
    # a file in the way of the next life
    r.wait_state("a", "starting")
    os.rename(r.path("run", "notify"), r.path("run", "gone"))
    r.write("run/notify", "in the way")
    assert r.ctl("restart", "a").returncode == 1
    assert "cannot start: cannot use %s for NOTIFY_SOCKET: it is no folder of ours; remove it" % r.path("run", "notify") in r.stderr


@pytest.mark.root
def test_a_folder_that_its_user_may_not_pass_fails_the_start_with_its_name(started):
    r = started("reeve: {runtime-dir: \"${env.TMPDIR}/closed/run\", on-boot-failure: rollback}\nservices:\n" +
                teller("a", NOTIFY + ", user: nobody"), files={"closed/x": ""}, wrap=(
                    "/bin/sh", "-c", 'chmod 700 "$TMPDIR/closed"; exec "$@"', "sh"))
    assert r.wait() == 10
    assert "user 65534 of the service may not pass the folder %s (mode 0700)" % r.path("closed") in r.stderr


def test_a_path_that_is_too_long_is_a_mistake_with_its_place(reeve):
    r = reeve("reeve: {runtime-dir: /tmp/%s}\nservices:\n  a: {command: [/bin/true], ready: {notify: true}}\n" % (80 * "x"))
    assert r.wait() == 78
    assert "reeve.yaml:3:36: ready.notify of service 'a' needs a socket below reeve.runtime-dir" in r.stderr


@pytest.mark.parametrize("value", ["yes", "'true'", "group", "3", "[main]"])
def test_another_value_is_a_mistake_with_its_place(reeve, value):
    r = reeve("services:\n  a: {command: [/bin/true], ready: {notify: %s}}\n" % value)
    assert r.wait() == 78
    assert "reeve.yaml:2:" in r.stderr and "ready.notify of service 'a' must be true, false, main or tree" in r.stderr


def test_all_checks_must_hold_and_without_it_there_is_no_variable(started):
    r = started("services:\n" + teller("a", ", ready: {notify: true, fd: auto, exec: [/usr/bin/test, -z, \"${env.NOTHING:-}\"]}") +
                teller("b"), env={"NOTIFY_SOCKET": "/nowhere"})
    r.wait_state("b", "ready")
    assert socket_of(r, "b") == ""
    tell(r, "a", "say", "READY=1\nSTATUS=half")
    says(r, "a", "half")
    assert r.service("a")["state"] == "starting"
    fd = next(int(n) for n in sorted(os.listdir("/proc/%d/fd" % r.service("a")["pid"]), key=int) if n == "3")
    with open("/proc/%d/fd/%d" % (r.service("a")["pid"], fd), "w") as f:
        f.write("\n")
    r.wait_state("a", "ready")


@pytest.fixture
def parent(tmp_path):
    """The socket of somebody who supervises reeve: hear() waits for a word, or for none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(str(tmp_path / "notify"))

        def hear(bound):
            s.settimeout(bound if bound < 1 else bound * SLACK)  # less than a second: nothing is to come
            try:
                return s.recv(4096).decode()
            except TimeoutError:
                return None

        hear.path = s.getsockname()
        hear.socket = s
        yield hear


def test_reeve_tells_its_own_supervisor_when_all_is_ready_and_when_it_ends(started, parent):
    r = started("services:\n" + teller("a", NOTIFY), env={"NOTIFY_SOCKET": parent.path})
    r.wait_state("a", "starting")
    assert parent(0.2) is None
    tell(r, "a", "say", "READY=1")
    assert parent(20).splitlines() == ["READY=1", "STATUS=all ready"]
    r.signal(15)
    assert parent(20).splitlines() == ["STOPPING=1", "STATUS=stopping"]
    assert r.wait() == 0


def test_a_boot_that_fails_is_not_told_as_ready(reeve, parent):
    r = reeve("services: {a: {command: [/bin/false], ready: {notify: true}}}", env={"NOTIFY_SOCKET": parent.path})
    assert r.wait() == 10
    assert parent(20) == "STATUS=boot failed" and "STOPPING=1" in parent(20) and parent(0.1) is None


def test_a_supervisor_that_does_not_listen_holds_nothing_up(started, parent):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.setblocking(False)
        full = 0
        try:
            while full < 10000:
                s.sendto(b"x", parent.path)
                full += 1
        except BlockingIOError:
            pass
    r = started("services: {a: {command: [/bin/sleep, '1000']}}", env={"NOTIFY_SOCKET": parent.path})
    r.wait_ready()
    for _ in range(full):
        assert parent(5) == "x"
    assert "READY=1" in parent(20)
    assert r.term() == 0


@pytest.mark.parametrize("path", ["", "nowhere", "@", "vsock:2:1234", "/" + 200 * "x", "/no/such/socket"])
def test_a_supervisors_socket_that_cannot_be_told_is_no_reason_to_fail(reeve, path):
    r = reeve("services: {a: {command: [/bin/sleep, '1000']}}", env={"NOTIFY_SOCKET": path})
    r.wait_ready()
    assert r.term() == 0
    assert ("NOTIFY_SOCKET" in r.stderr) == bool(path)


# A daemon of the old kind: what was started forks, names the child, and leaves; or stays.
FORKS = r"""
import os, signal, socket, sys, time
def say(what):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(what.encode(), os.environ["NOTIFY_SOCKET"])
how = sys.argv[1]
armed, arm = os.pipe()
child = os.fork()
if child:
    os.read(armed, 1)
    say("MAINPID=%d\nREADY=1" % child)
    if how == "leaves":
        while not os.path.exists(os.environ["TMPDIR"] + "/go"):
            time.sleep(0.02)
        os._exit(3)
    os.wait()
    os._exit(4)
if "session" in sys.argv:
    os.setsid()
signal.signal(signal.SIGTERM, lambda s, f: (print("child term", flush=True), os._exit(0)))
os.write(arm, b"x")
while True:
    time.sleep(0.02)
"""


def forking(reeve, how, more="restart: never"):
    return reeve("services:\n  a: {command: [/usr/bin/python3, \"${env.TMPDIR}/forks.py\", %s], ready: {notify: true}, %s}\n" % (how, more),
                 files={"forks.py": FORKS})


@pytest.mark.parametrize("how", ["leaves", "leaves, session"])
def test_a_named_main_process_takes_over_when_the_first_one_leaves(reeve, how):
    r = forking(reeve, how)
    first = r.wait_state("a", "ready")["pid"]
    r.write("go", "")
    r.wait_text("a: its main process is pid")
    now = r.service("a")
    assert now["state"] == "ready" and now["generation"] == 1 and now["pid"] != first and not os.path.exists("/proc/%d" % first)
    assert r.ctl("signal", "TERM", "a").returncode == 0  # to the main process
    s = r.wait_state("a", "exited")
    assert s["exit"] == {"code": 0}
    assert r.log("a") == "child term\n"


def test_its_death_is_the_death_of_the_service(reeve):
    r = forking(reeve, "leaves, session", more="restart: {on: failure, delay: 10ms}")
    r.write("go", "")
    r.wait_text("a: its main process is pid")
    os.unlink(r.path("go"))
    os.kill(r.service("a")["pid"], 9)
    until("the next life", lambda: r.service("a")["generation"] == 2)
    assert "a: killed by SIGKILL; next start in" in r.stderr
    r.wait_state("a", "ready")
    assert r.term() == 0


def test_each_life_is_followed_to_whom_it_names_also_where_nobody_else_runs(reeve):
    r = forking(reeve, "leaves, session", more="restart: {on: failure, delay: 10ms}")
    r.write("go", "")  # each first process leaves as soon as it has said it
    for life in (1, 2):
        until("its main process\n" + r.stderr, lambda: r.stderr.count("a: its main process is pid") == life)
        now = r.wait_state("a", "ready")
        assert now["generation"] == life
        until("the plugin host to leave", lambda: children_of(r.pid) == [now["pid"]])
        os.kill(now["pid"], 9)
    assert r.term() == 0


def test_one_whose_parent_stays_is_named_in_vain(reeve):
    r = forking(reeve, "stays", more="restart: never, on-give-up: ignore")
    first = r.wait_state("a", "ready")["pid"]
    child = until("the child", lambda: children_of(first))[0]
    assert r.service("a")["pid"] == first
    os.kill(child, 9)
    s = r.wait_state("a", "failed")
    assert s["exit"] == {"code": 4}  # of the one that was started


def test_a_main_process_that_is_a_child_of_reeve_takes_over_at_once(started):
    """The orphan of a fork in the middle: the first main process stays, and is one of the tree from then on."""
    r = started("services:\n" + teller("a", NOTIFY + ", restart: never"))
    tell(r, "a", "orphan", "READY=1")
    first = r.wait_state("a", "ready")["pid"]
    orphan = int(until("its pid", lambda: r.service("a").get("status_text", "").partition(" ")[2]))
    until("reeve to have it", lambda: orphan in children_of(r.pid))
    tell(r, "a", "say", "MAINPID=%d" % orphan)
    until("the pid to be another", lambda: r.service("a")["pid"] == orphan)
    assert alive(first)
    tell(r, "a", "exit", "5")
    until("the first to be gone", lambda: not alive(first))
    assert r.service("a")["state"] == "ready"
    os.kill(orphan, 15)
    r.wait_state("a", "exited", "failed")
    assert r.service("a")["exit"] == {"signal": "TERM", "number": 15}


def test_a_stranger_is_no_main_process(started):
    r = started("services:\n" + teller("a", NOTIFY) + "  b: {command: [/bin/sleep, '1000']}\n")
    b = r.wait_state("b", "ready")["pid"]
    for pid in (b, os.getpid(), r.pid, 1):
        tell(r, "a", "say", "MAINPID=%d" % pid)
    tell(r, "a", "say", "READY=1\nSTATUS=done")
    says(r, "a", "done")
    assert r.service("a")["pid"] not in (b, os.getpid(), r.pid, 1)
    assert "a: MAINPID= on NOTIFY_SOCKET is ignored: it names no process of the service" in r.stderr
    assert r.term() == 0


def test_whoever_was_named_is_asked_to_go_when_the_first_one_goes_at_a_stop(reeve):
    r = forking(reeve, "stays, session", more="stop: {timeout: 60s}")
    r.wait_state("a", "ready")
    assert r.ctl("stop", "a", "--timeout", "20s").returncode == 0
    assert r.log("a") == "child term\n"
