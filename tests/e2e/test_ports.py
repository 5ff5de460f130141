"""Ports that services bind themselves: kept for them, and whoever has one is named (R-02, R-12, R-14)."""
import os
import re
import signal
import socket
import subprocess
import sys

import pytest

from harness import SLACK, until

LIST = "/proc/sys/net/ipv4/ip_local_reserved_ports"

# server.py PORT [V4|NEAR|V6|DUAL|SHARED]...: listens, and answers each connection with its pid as an HTTP body
SERVER = """
import os, socket, sys, threading
port, kinds = int(sys.argv[1]), sys.argv[2:] or ["V4"]
def listen(kind):
    s = socket.socket(socket.AF_INET if kind in ("V4", "NEAR", "SHARED") else socket.AF_INET6)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if kind == "SHARED": s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if kind in ("V6", "DUAL"): s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, kind == "V6")
    s.bind({"V4": ("127.0.0.1", port), "NEAR": ("127.0.0.2", port), "SHARED": ("127.0.0.1", port), "V6": ("::", port), "DUAL": ("::", port)}[kind])
    s.listen(64)
    return s
def serve(s):
    while True:
        c, _ = s.accept()
        c.recv(4000)
        body = b"%d" % os.getpid()
        c.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
        c.close()
sockets = [listen(k) for k in kinds]
print("up", flush=True)
if "READY_FD" in os.environ: os.write(int(os.environ["READY_FD"]), b"\\n")
for s in sockets[1:]: threading.Thread(target=serve, args=(s,), daemon=True).start()
serve(sockets[0])
"""


class Stranger:
    """A server that nobody here has to do with reeve: no mark of ours in its environment, and not reeve's child."""

    def __init__(self, port, *kinds, source=SERVER, env=None):
        self.proc = subprocess.Popen([sys.executable, "-c", source, str(port), *kinds], stdin=subprocess.DEVNULL, env=env,
                                     stdout=subprocess.PIPE, start_new_session=True)
        assert self.proc.stdout.readline() == b"up\n"
        self.pid = self.proc.pid

    def end(self):
        self.proc.kill()
        self.proc.wait()
        self.proc.stdout.close()


@pytest.fixture
def stranger():
    made = []

    def start(*args, **more):
        made.append(Stranger(*args, **more))
        return made[-1]

    yield start
    for s in made:
        s.end()


class Net:
    """A network namespace: `wrap` runs a command in it."""

    def __init__(self):
        script = 'ip link set lo up && echo 40000 40031 > /proc/sys/net/ipv4/ip_local_port_range && echo up && exec sleep 1000'
        self.proc = subprocess.Popen(["unshare", "-n", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, start_new_session=True)
        self.works = self.proc.stdout.readline() == b"up\n"
        self.wrap = ("nsenter", "-t", str(self.proc.pid), "-n")

    def run(self, *argv):
        return subprocess.run([*self.wrap, *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30 * SLACK)

    def reserved(self):
        return self.run("cat", LIST).stdout.strip()

    def reserve(self, text):
        assert self.run("sh", "-c", "echo '%s' > %s" % (text, LIST)).returncode == 0

    def end(self):
        self.proc.kill()
        self.proc.wait()
        self.proc.stdout.close()


@pytest.fixture
def net():
    n = Net()
    if not n.works:
        n.end()
        pytest.skip("no network namespace of its own can be made here (unshare -n)")
    yield n
    n.end()


SLEEPY = """
services:
  a: {command: [/bin/sleep, "1000"], ports: [40007, 8123]}
  b: {command: [/bin/sleep, "1000"], ports: [40008]}
"""


# ---- the kernel's list ---------------------------------------------------------------------------------------------------


@pytest.mark.root
def test_declared_ports_join_the_kernels_list_and_only_ours_leave_it(reeve, net):
    net.reserve("8120-8125,40001")
    r = reeve(SLEEPY, wrap=net.wrap)
    r.wait_ready()
    assert net.reserved() == "8120-8125,40001,40007-40008"
    net.reserve("8120-8125,40001,40007-40009")  # somebody else adds one meanwhile
    assert r.term() == 0
    assert net.reserved() == "8120-8125,40001,40009", "8123 was there before, and stays"


# More than the kernel takes in one write.
LONG = """
import os
fd = os.open("%s", os.O_RDWR)
ports = [str(p) for p in range(1001, 9001, 4)]
for i in range(0, len(ports), 400): os.pwrite(fd, ",".join(ports[i:i + 400]).encode(), min(i, 1))
""" % LIST


@pytest.mark.root
def test_a_long_list_of_others_is_kept_whole(reeve, net):
    assert net.run(sys.executable, "-c", LONG).returncode == 0
    before = net.reserved()
    assert len(before) > 9000 and before.count(",") == 1999
    r = reeve(SLEEPY.replace("[40007, 8123]", "[40007, 8123, 8125]"), wrap=net.wrap)
    r.wait_ready()
    assert set(net.reserved().split(",")) ^ set(before.split(",")) == {"8123", "40007-40008"}, "8125 was in it already"
    assert r.term() == 0
    assert net.reserved() == before


def boot_that_fails(r, _net):
    assert r.wait() == 10


def second_signal(r, net):
    r.wait_state("a", "ready")
    assert "40007" in net.reserved()
    r.signal(signal.SIGTERM)
    r.wait_text("SIGTERM")
    r.signal(signal.SIGTERM)
    assert r.wait() == 128 + signal.SIGTERM


def the_end_of_main(r, _net):
    assert r.wait() == 3


@pytest.mark.root
@pytest.mark.parametrize("leave,more", [
    (boot_that_fails, "  c: {command: [/nonexistent], needs: [a]}"),
    (boot_that_fails, "  c: {command: [/bin/sleep, '1000'], listen: [{name: l, unix: /proc/nowhere}]}"),
    (second_signal, "  c: {command: [/bin/sh, -c, 'trap : TERM; while :; do sleep 0.1; done'], stop: {timeout: 60s}}"),
    (the_end_of_main, "  c: {command: [/bin/sh, -c, 'exit 3'], needs: [a], restart: never}\nreeve: {exit-from: c}"),
], ids=["rollback", "before_the_first_start", "second_signal", "exit_from"])
def test_the_list_is_as_it_was_after_every_way_to_leave(reeve, net, leave, more):
    net.reserve("8120-8125")
    leave(reeve(SLEEPY + more, wrap=net.wrap), net)
    assert net.reserved() == "8120-8125"


# What R-02 asks of listeners, for a service that cannot take one.
HUNGRY = """
import socket, time
mine = []
while len(mine) < 100:
    s = socket.socket()
    try: s.bind(("127.0.0.1", 0)); s.listen()
    except OSError: break
    mine.append(s)
with open("meal", "w") as f: f.write(" ".join(str(s.getsockname()[1]) for s in mine))
time.sleep(1000)
"""
EATEN = """
services:
  hungry:
    command: [/usr/bin/python3, hungry.py]
    working-dir: "${env.TMPDIR}"
    ready: {exec: [test, -s, "${env.TMPDIR}/meal"]}
  s:
    needs: [hungry]
    command: [/usr/bin/python3, server.py, "40007"]
    working-dir: "${env.TMPDIR}"
    environment: {READY_FD: "${ready.fd}"}
    ports: [40007]
    ready: {fd: auto}
"""


def eat(reeve, net, wrap=(), text=EATEN):
    return reeve(text, files={"server.py": SERVER, "hungry.py": HUNGRY}, wrap=(*net.wrap, *wrap))


def meal(r):
    return until("its meal", lambda: r.read("meal").split())


@pytest.mark.root
def test_a_dependency_that_eats_every_port_leaves_the_declared_one(reeve, net):
    r = eat(reeve, net, text=EATEN.replace("    ports: [40007]\n", ""))
    assert r.wait() == 10, "without the declaration the port is gone"
    r = eat(reeve, net)
    got = meal(r)
    assert len(got) > 20 and "40007" not in got
    r.wait_ready()
    assert r.term() == 0


READ_ONLY = ("unshare", "-m", "sh", "-c", 'mount -o bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys; exec "$0" "$@"')


@pytest.mark.root
@pytest.mark.parametrize("wrap", [READ_ONLY, ("sh", "-c", 'chmod 777 . run log; exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" "$@"')],
                         ids=["read_only", "as_nobody"])
def test_where_the_list_cannot_be_changed_a_socket_holds_the_port_until_the_start(reeve, net, wrap):
    r = eat(reeve, net, wrap=wrap)
    got = meal(r)
    assert len(got) > 20 and "40007" not in got
    assert net.reserved() == ""
    # The hungry one has all ports but this: the server gets it although it was held.
    r.wait_ready()
    r.signal(signal.SIGTERM)
    assert r.wait() == 0


HELD = """
services:
  s:
    command: [/bin/sh, -c, 'test -e go || exit 1; exec /usr/bin/python3 server.py 40007']
    working-dir: "${env.TMPDIR}"
    ports: [40007]
    ready: {tcp: 40007}
    start-attempts: 1000
    restart: {delay: 60s, max-delay: 60s, limit: 0}
"""
BINDS = "import socket,sys; s=socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', 40007))"


@pytest.mark.root
def test_a_held_port_is_held_between_two_lives_and_given_up_at_the_end(reeve, net):
    r = reeve(HELD, files={"server.py": SERVER}, wrap=(*net.wrap, *READ_ONLY))
    r.wait_state("s", "backoff")
    assert "Address already in use" in net.run(sys.executable, "-c", BINDS).stderr
    r.write("go", "")
    assert r.ctl("start", "s").returncode == 0
    assert r.term() == 0
    assert net.run(sys.executable, "-c", BINDS).stderr == ""


@pytest.mark.root
def test_it_is_said_once_and_softly_that_the_list_cannot_be_changed(reeve, net):
    r = reeve(SLEEPY, args=("-v",), wrap=(*net.wrap, *READ_ONLY))
    r.wait_ready()
    assert r.stderr.count("ip_local_reserved_ports") == 1
    assert "warning" not in r.stderr
    assert r.term() == 0


def test_without_declared_ports_nobody_looks_at_the_list(reeve):
    r = reeve("services: {a: {command: [/bin/sleep, '1000']}}", args=("-v",))
    r.wait_ready()
    assert "ip_local_reserved_ports" not in r.stderr
    assert r.term() == 0


# ---- who has it ----------------------------------------------------------------------------------------------------------


def taken(port):
    return """
services:
  other: {command: [/usr/bin/python3, server.py, "%d"], working-dir: "${env.TMPDIR}", ready: {http: {url: "http://127.0.0.1:%d/"}}}
  s: {command: [/bin/sleep, "1000"], ports: [%d], needs: [other]}
""" % (port, port, port)


def test_a_port_that_another_service_took_is_named_with_that_service(reeve, free_port):
    port = free_port()
    r = reeve(taken(port), files={"server.py": SERVER})
    assert r.wait() == 10
    assert re.search(r"s: failed: cannot start: port %d is already in use by pid \d+ \(python3\) of service other\n" % port, r.stderr)


# It escaped: it is nobody's child that reeve knows, and has the mark of a life all the same.
def test_what_a_service_left_behind_is_named_with_that_service(reeve, free_port, stranger):
    port = free_port()
    r = reeve("""
services:
  other: {command: [/bin/sleep, "1000"]}
  s: {command: [/bin/sleep, "1000"], ports: [%d], startup: disabled, ready: {tcp: %d}, if-running: adopt}
""" % (port, port))
    r.wait_ready()
    with open("/proc/%d/environ" % r.service("other")["pid"]) as f:
        mark = [v for v in f.read().split("\0") if v.startswith("REEVE_INVOCATION_ID=")][0]
    s = stranger(port, env=dict(os.environ, **dict([mark.split("=", 1)])))
    got = r.ctl("start", "s")
    assert got.returncode == 1
    assert "port %d is already in use by pid %d (python3) left behind by service other" % (port, s.pid) in got.stderr
    assert r.term() == 0


# ---- whose answer it is --------------------------------------------------------------------------------------------------


def late(port, ready, kinds=""):
    return """
services:
  s:
    command: [/bin/sh, -c, 'while ! [ -e go ]; do sleep 0.02; done; exec /usr/bin/python3 server.py %d %s']
    working-dir: "${env.TMPDIR}"
    ready: {%s, timeout: 60s}
""" % (port, kinds, ready)


def is_conflict(r, port, pid):
    said = "port %d is listened on by pid %d (" % (port, pid)
    until("the stranger to be named\n" + r.stderr, lambda: said in r.service("s").get("detail", ""))
    assert r.service("s")["state"] == "starting"


# No port is declared: what the check asks is looked at.
@pytest.mark.parametrize("ready", ['http: {url: "http://127.0.0.1:%d/"}', 'http: {url: "http://localhost:%d/x?y"}', 'tcp: %d',
                                   'tcp: "127.0.0.1:%d"'], ids=["http", "localhost", "tcp_port", "tcp"])
def test_an_answer_of_somebody_else_is_a_conflict_and_no_readiness(reeve, free_port, stranger, ready):
    port = free_port()
    r = reeve(late(port, ready % port), files={"server.py": SERVER})
    r.wait_state("s", "starting")
    s = stranger(port)
    is_conflict(r, port, s.pid)
    s.end()
    r.write("go", "")
    r.wait_state("s", "ready")
    assert r.term() == 0


@pytest.mark.parametrize("kind,ready", [("V6", 'tcp: "[::1]:%d"'), ("DUAL", 'tcp: "127.0.0.1:%d"'), ("DUAL", 'http: {url: "http://[::1]:%d/"}')])
def test_an_answer_over_ipv6_is_looked_at_too(reeve, free_port, stranger, kind, ready):
    port = free_port()
    r = reeve(late(port, ready % port, kind), files={"server.py": SERVER})
    r.wait_state("s", "starting")
    s = stranger(port, kind)
    is_conflict(r, port, s.pid)
    s.end()
    r.write("go", "")
    r.wait_state("s", "ready")
    assert r.term() == 0


# The service has the port, too, but at another address than the one that was asked.
def test_a_listener_of_its_own_elsewhere_is_not_the_one_that_answered(reeve, free_port, stranger):
    port = free_port()
    r = reeve(late(port, 'tcp: "127.0.0.1:%d"' % port, "V6"), files={"server.py": SERVER})
    r.wait_state("s", "starting")
    s = stranger(port, "V4")
    r.write("go", "")
    until("the service's own listener", lambda: "up" in r.log("s"))
    is_conflict(r, port, s.pid)
    s.end()


def test_a_stranger_at_another_address_does_not_matter(reeve, free_port, stranger):
    port = free_port()
    stranger(port, "NEAR")
    r = reeve(late(port, 'tcp: "127.0.0.1:%d"' % port), files={"server.py": SERVER})
    r.write("go", "")
    r.wait_state("s", "ready")
    assert r.term() == 0


# Both may get the next connection.
def test_a_shared_listener_is_not_its_own(reeve, free_port, stranger):
    port = free_port()
    r = reeve(late(port, 'tcp: "127.0.0.1:%d"' % port, "SHARED"), files={"server.py": SERVER})
    r.wait_state("s", "starting")
    s = stranger(port, "SHARED")
    r.write("go", "")
    until("the service's own listener", lambda: "up" in r.log("s"))
    is_conflict(r, port, s.pid)
    s.end()
    r.wait_state("s", "ready")
    assert r.term() == 0


# A grandchild listens, in a session of its own; the main process has nothing.
def test_a_process_of_its_tree_may_answer(reeve, free_port):
    port = free_port()
    r = reeve("""
services:
  s:
    command: [/bin/sh, -c, 'setsid /usr/bin/python3 server.py %d & exec sleep 1000']
    working-dir: "${env.TMPDIR}"
    ready: {http: {url: "http://127.0.0.1:%d/"}}
""" % (port, port), files={"server.py": SERVER})
    r.wait_ready()
    assert r.term() == 0


# PR_SET_DUMPABLE: of such a process only root sees what it has.
SECRETIVE = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n" + SERVER


@pytest.mark.root
def test_where_the_owner_cannot_be_told_it_is_said_once_and_the_service_has_to_live(reeve, free_port):
    port = free_port()
    r = reeve(late(port, "tcp: %d" % port).replace("    ready:", "    restart: {on: always, delay: 0ms}\n    ready:"), files={"server.py": SECRETIVE},
              wrap=("sh", "-c", 'chmod 777 . run log; exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" "$@"'))
    r.write("go", "")
    first = r.wait_state("s", "ready")
    os.kill(first["pid"], signal.SIGKILL)
    until("another life", lambda: (lambda s: s.get("state") == "ready" and s["pid"] != first["pid"])(r.service("s")))
    assert r.stderr.count("it cannot be told who answers at 127.0.0.1:%d" % port) == 1
    assert r.term() == 0


def test_an_inherited_listener_is_its_own(reeve, free_port):
    port = free_port()
    r = reeve("""
services:
  s:
    command: [/usr/bin/python3, -c, 'import socket; [socket.socket(fileno=f).listen() for f in (3, 4)]; import signal; signal.pause()']
    listen: [{name: a, tcp: "0.0.0.0:%d"}, {name: b, tcp: "[::]:%d"}]
    ready: {tcp: "127.0.0.1:%d"}
""" % (port, port, port))
    r.wait_ready()
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as s:
            s.connect((host, port))
    assert r.term() == 0
