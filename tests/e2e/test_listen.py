"""Listeners and whose answer it is (R-01...R-08)."""
import grp
import itertools
import os
import pwd
import signal
import socket
import subprocess
import sys
import time

import pytest

from harness import SLACK, seconds, until

# serve.py FD: listens on an inherited descriptor and answers each connection with one line
SERVE = """
import os, socket, sys
s = socket.socket(fileno=int(sys.argv[1]))
s.listen(16)
while True:
    c, _ = s.accept()
    c.sendall(b"hi from %d\\n" % os.getpid())
    c.close()
"""


def ask(port, timeout=10.0):
    with socket.create_connection(("127.0.0.1", port), timeout * SLACK) as s:
        return s.recv(100)


def refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return False
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # it was in the backlog when that was dropped
        return False


def stranger_gets(port):
    """Whether another process could have the port: bind alone must fail already. (SO_REUSEPORT: only
    where reeve is root, else it shares with its own user, see reeve(8).)"""
    for reuse, share in itertools.product((0, 1), (0, 1) if os.geteuid() == 0 else (0,)):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, share)
            try:
                s.bind(("127.0.0.1", port))
                s.listen()
                return True
            except OSError:
                pass
    return False


def graph(port, more=""):
    return """
services:
  s:
    command: [/usr/bin/python3, serve.py, "${listen.http.fd}"]
    working-dir: "${env.TMPDIR}"
    listen: [{name: http, tcp: "127.0.0.1:%d"%s}]
    ready: {tcp: "127.0.0.1:%d", timeout: 20s}
    restart: {on: always, delay: 300ms}
""" % (port, more, port)


def test_an_inherited_listener_serves_refuses_strangers_and_outlives_its_service(reeve, free_port):
    port = free_port()
    held = graph(port).replace("[/usr/bin/python3", "[/bin/sh, -c, 'while [ -e hold ]; do sleep .02; done; exec \"$0\" \"$@\"', /usr/bin/python3")
    r = reeve(held, files={"serve.py": SERVE})
    r.wait_ready()
    first = ask(port)
    assert not stranger_gets(port)
    dead = r.service("s")["pid"]
    r.write("hold", "")
    os.kill(dead, signal.SIGKILL)
    until("a refused connect between two lives", lambda: refused(port), 5, 0.005)
    assert not stranger_gets(port), "not even between two lives"
    until("the next life", lambda: r.service("s").get("pid") not in (None, 0, dead), 10)
    assert refused(port), "it does not listen yet"
    assert not stranger_gets(port), "nor when the next one does not listen yet"
    os.unlink(r.path("hold"))
    r.wait_state("s", "ready")
    assert not stranger_gets(port)
    assert ask(port) != first
    assert r.term() == 0
    assert refused(port)


# late.py FD: its first life never listens; later ones ask each client for a word and repeat it
LATE = """
import os, socket, sys, time
if not os.path.exists("lived"):
    open("lived", "w").close()
    time.sleep(1000)
s = socket.socket(fileno=int(sys.argv[1]))
s.listen(16)
while True:
    c, _ = s.accept()
    try:
        c.sendall(b"?")
        c.sendall(b"heard " + c.recv(100))
    except OSError:  # it only looked whether we listen
        pass
    c.close()
"""


def test_a_life_that_never_listened_does_not_end_the_connections_of_the_next(reeve, free_port):
    port = free_port()
    text = graph(port).replace("serve.py", "late.py").replace('    ready: {tcp: "127.0.0.1:%d", timeout: 20s}\n' % port, "")
    r = reeve(text, files={"late.py": LATE})
    until("the first life to run", lambda: os.path.exists(r.path("lived")))
    os.kill(r.service("s")["pid"], signal.SIGKILL)
    until("the next one to listen", lambda: not refused(port))
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", port), 20) as s:
            assert s.recv(1) == b"?"
            s.sendall(b"me")
            assert s.recv(100) == b"heard me", "it was told that the client has ended"
    assert r.term() == 0


def test_boot_again_right_after_traffic(reeve, free_port):
    port = free_port()
    for _ in range(3):
        r = reeve(graph(port), files={"serve.py": SERVE})
        r.wait_ready()
        for _ in range(20):
            assert ask(port).startswith(b"hi")
        assert r.term() == 0


# whatever the way to fail
@pytest.mark.parametrize("fails", ["command: [/nonexistent]", "command: [/bin/sh, -c, 'exit 3'], ready: {tcp: 1}",
                                   "command: [/bin/sleep, '1000'], ready: {exec: ['false'], timeout: 200ms}"], ids=["exec", "exit", "timeout"])
def test_boot_again_right_after_a_boot_that_failed(reeve, free_port, fails):
    port = free_port()
    r = reeve(graph(port) + "  bad: {%s, needs: [s]}\n" % fails, files={"serve.py": SERVE})
    assert r.wait() == 10
    r = reeve(graph(port), files={"serve.py": SERVE})
    r.wait_ready()
    assert r.term() == 0


# Each listener has its first connection at the moment it listens: no one else has had time to act by then.
EAGER = """
import signal, socket, sys
for fd in range(3, 3 + int(sys.argv[1])):
    s = socket.socket(fileno=fd)
    s.listen(16)
    to = socket.create_connection(s.getsockname())
    c, _ = s.accept()
    first, last = (c, to) if sys.argv[2] == "server" else (to, c)
    first.close(); last.recv(1); last.close()
open("/proc/self/fd/" + sys.argv[3], "w").write("\\n")
signal.pause()
"""


@pytest.mark.root
@pytest.mark.parametrize("become", ["", "setpriv --reuid 65534 --regid 65534 --clear-groups"], ids=["as_root", "as_nobody"])
def test_thirty_ports_are_free_at_once_whoever_closes_the_first_connection_first(reeve, free_port, become):
    ports = set()
    while len(ports) < 30:
        ports.add(free_port())
    left = iter(ports)
    services = "services:\n" + "".join("""
  %s:
    command: [/usr/bin/python3, eager.py, "15", %s, "${ready.fd}"]
    working-dir: "${env.TMPDIR}"
    listen: [%s]
    ready: {fd: auto, timeout: 20s}
""" % (who, who, ", ".join('{name: p%d, tcp: "127.0.0.1:%d"}' % (p, p) for p in itertools.islice(left, 15)))
        for who in ("server", "client"))
    for _ in range(2):
        r = reeve(services, files={"eager.py": EAGER}, wrap=("/bin/sh", "-c", 'chmod 777 . run log; exec %s "$0" "$@"' % become))
        r.wait_ready()
        for who in ("server", "client"):
            again = r.ctl("restart", who)
            assert again.returncode == 0, again.stderr + r.stderr
        assert r.term() == 0, r.stderr


def test_without_backlog_connects_are_refused_until_the_service_listens(reeve, free_port):
    port = free_port()
    r = reeve("""
services:
  s:
    command: [/bin/sh, -c, 'echo up > up; sleep 0.5; exec /usr/bin/python3 serve.py 3']
    working-dir: "${env.TMPDIR}"
    listen: [{name: http, tcp: "127.0.0.1:%d"}]
    ready: {tcp: "127.0.0.1:%d"}
""" % (port, port), files={"serve.py": SERVE})
    r.wait_text("up", source="up")
    assert refused(port)
    assert not stranger_gets(port)
    r.wait_ready()
    assert ask(port).startswith(b"hi")
    assert r.term() == 0


def test_with_backlog_clients_wait_between_lives_and_none_is_refused(reeve, free_port):
    port = free_port()
    r = reeve("""
services:
  s:
    command: [/usr/bin/python3, -c, 'import socket,sys; c,_=socket.socket(fileno=3).accept(); c.sendall(b"hi"); c.close(); sys.exit(3)']
    listen: [{name: http, tcp: "127.0.0.1:%d", backlog: 64}]
    restart: {on: always, delay: 100ms, factor: 1, limit: 0}
""" % port)
    r.wait_socket()
    for _ in range(5):
        assert ask(port).startswith(b"hi")
    assert r.term() == 0


# R-01 R-02: what it stands on finds its port open at its own start, and cannot have it
EARLY = """
import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).close()
for reuse in (0, 1):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
    try: s.bind(("127.0.0.1", int(sys.argv[1]))); sys.exit("got it")
    except OSError as e: print(e.strerror)
"""


def test_a_dependency_finds_the_port_open_at_its_own_start_and_cannot_bind_it(reeve, free_port):
    port = free_port()
    r = reeve(graph(port, ", backlog: 16").replace("    ready:", "    needs: [early]\n    ready:") + """
  early: {command: [/usr/bin/python3, early.py, "%d"], type: task, working-dir: "${env.TMPDIR}"}
""" % port, files={"serve.py": SERVE, "early.py": EARLY})
    r.wait_ready()
    assert r.service("early")["state"] == "exited"
    assert r.log("early") == "Address already in use\n" * 2
    assert ask(port).startswith(b"hi")
    assert r.term() == 0


def test_a_unix_listener_has_its_mode_and_goes_away_with_reeve(reeve):
    r = reeve("""
services:
  s:
    command: [/usr/bin/python3, serve.py, "3"]
    working-dir: "${env.TMPDIR}"
    listen: [{name: x, unix: "${env.TMPDIR}/x.sock", mode: "0660"}]
""", files={"serve.py": SERVE})
    r.wait_ready()
    path = r.path("x.sock")
    assert os.stat(path).st_mode & 0o777 == 0o660

    def answer():
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10 * SLACK)
            try:
                s.connect(path)
                return s.recv(100)
            except OSError:
                return b""
    assert until("an answer", answer).startswith(b"hi")
    assert r.term() == 0
    assert not os.path.exists(path)


@pytest.mark.root
def test_a_unix_listener_has_its_owner_and_group_from_the_first_moment_and_after_each_life(reeve):
    r = reeve("""
services:
  s:
    command: [/usr/bin/python3, serve.py, "3"]
    working-dir: "${env.TMPDIR}"
    listen: [{name: x, unix: "${env.TMPDIR}/deep/x.sock", mode: "0640", owner: nobody, group: daemon}]
    restart: {on: always, delay: 50ms}
""", files={"serve.py": SERVE})
    nobody, daemon = pwd.getpwnam("nobody").pw_uid, grp.getgrnam("daemon").gr_gid
    path = r.path("deep", "x.sock")

    def look():
        st = os.stat(path)
        return st.st_uid, st.st_gid, st.st_mode & 0o777

    until("the socket", lambda: os.path.exists(path))
    assert look() == (nobody, daemon, 0o640)
    first = r.wait_state("s", "ready")["pid"]
    os.kill(first, signal.SIGKILL)
    until("the next life", lambda: r.service("s").get("pid") not in (None, 0, first))
    assert look() == (nobody, daemon, 0o640)
    assert r.term() == 0
    assert not os.path.exists(path)


@pytest.mark.root
def test_a_port_that_only_root_may_have_is_told_as_such(reeve):
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start") as f:
        if int(f.read()) < 1024:
            pytest.skip("here anybody may have a low port")
    r = reeve("services: {s: {command: [/bin/sleep, '1000'], listen: [{name: a, tcp: '127.0.0.1:81'}]}}", wrap=(
        "sh", "-c", 'chmod 777 . run log; exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$0" "$@"'))
    assert r.wait() == 10
    assert "cannot bind 127.0.0.1:81 for service s (ports below 1024 are for root and CAP_NET_BIND_SERVICE): Permission denied" in r.stderr


@pytest.mark.parametrize("key,words", [("owner: nobody-at-all", "no such user"), ("group: nobody-at-all", "no such group"),
                                       ("owner: 'x y'", "no such user")])
def test_an_unknown_owner_of_a_socket_is_told_with_its_place(reeve, key, words):
    r = reeve("""
services:
  s:
    command: [/bin/sleep, "1000"]
    listen:
      - {name: x, unix: "${env.TMPDIR}/x.sock", %s}
""" % key)
    assert r.wait() == 78
    assert "reeve.yaml:6:9: service s:" in r.stderr and words in r.stderr, r.stderr


# [::] is IPv6 only, so that both can be had side by side, by two services even.
def test_both_families_are_bound_side_by_side(reeve, free_port):
    port = free_port()
    r = reeve("""
services:
  four: {command: [/usr/bin/python3, serve.py, "3"], working-dir: "${env.TMPDIR}", listen: [{name: l, tcp: "0.0.0.0:%d"}], ready: {tcp: %d}}
  six: {command: [/usr/bin/python3, serve.py, "3"], working-dir: "${env.TMPDIR}", listen: [{name: l, tcp: "[::]:%d"}], ready: {tcp: "[::1]:%d"}}
""" % (port, port, port, port), files={"serve.py": SERVE})
    r.wait_ready()
    for name, family, host in (("four", socket.AF_INET, "127.0.0.1"), ("six", socket.AF_INET6, "::1")):
        with socket.socket(family) as s:
            s.settimeout(10 * SLACK)
            s.connect((host, port))
            assert s.recv(100) == b"hi from %d\n" % r.service(name)["pid"]
    assert r.term() == 0


def test_an_ipv6_listener_is_kept_from_strangers_between_two_lives(reeve, free_port):
    port = free_port()
    r = reeve("""
services:
  s:
    command: [/bin/sh, -c, 'while [ -e hold ]; do sleep .02; done; exec /usr/bin/python3 serve.py 3']
    working-dir: "${env.TMPDIR}"
    listen: [{name: l, tcp: "[::1]:%d"}]
    ready: {tcp: "[::1]:%d"}
    restart: {on: always, delay: 100ms}
""" % (port, port), files={"serve.py": SERVE})
    r.wait_ready()
    dead = r.service("s")["pid"]
    r.write("hold", "")
    os.kill(dead, signal.SIGKILL)
    until("the next life", lambda: r.service("s").get("pid") not in (None, 0, dead), 10)
    for reuse in (0, 1):
        with socket.socket(socket.AF_INET6) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
            with pytest.raises(OSError):
                s.bind(("::1", port))
    os.unlink(r.path("hold"))
    r.wait_state("s", "ready")
    assert r.term() == 0


HUNGRY = """
import socket, sys
mine, got = [], set()
for reuse, share in ((0, 0), (0, 1), (1, 0), (1, 1)):
    for _ in range(80):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, share)
        try: s.bind(("127.0.0.1", 0)); got.add(s.getsockname()[1]); mine.append(s)
        except OSError: s.close()
for s in mine[40:]: s.close()
to = socket.socket(); to.bind(("127.0.0.1", 20000)); to.listen(200)
for _ in range(80):
    s = socket.socket()
    try: s.connect(("127.0.0.1", 20000)); got.add(s.getsockname()[1]); mine.append(s)
    except OSError: s.close()
with open("got", "w") as f: f.write(" ".join(map(str, sorted(got))))
"""


# a dependency that eats up every port of the ephemeral range gets all but the reserved one
@pytest.mark.root
def test_no_service_gets_a_reserved_port_by_binding_to_zero_or_connecting(reeve):
    r = reeve(graph(40007) .replace("    ready:", "    needs: [hungry]\n    ready:") + """
  hungry: {command: [/usr/bin/python3, hungry.py], type: task, working-dir: "${env.TMPDIR}"}
""", files={"serve.py": SERVE, "hungry.py": HUNGRY}, wrap=("unshare", "-n", "/bin/sh", "-c",
              'ip link set lo up && echo 40000 40031 > /proc/sys/net/ipv4/ip_local_port_range || exit 77; exec "$0" "$@"'))
    if until("the start", lambda: r.proc.poll() or os.path.exists(r.socket)) == 77:
        pytest.skip("no network namespace with a port range of its own can be made here (unshare -n, ip, /proc/sys)")
    r.wait_ready()
    got = {int(p) for p in r.read("got").split()}
    assert len(got) > 10, "it was hungry"
    assert 40007 not in got
    assert r.term() == 0


def test_listen_variables_name_the_descriptors(reeve, free_port):
    r = reeve("""
services:
  s:
    command: [/bin/sh, -c, 'echo "$LISTEN_FDS $LISTEN_FDNAMES $LISTEN_PID $$" > vars; exec sleep 1000']
    working-dir: "${env.TMPDIR}"
    listen: [{name: a, tcp: "127.0.0.1:%d"}, {name: b, unix: "${env.TMPDIR}/b.sock"}]
""" % free_port())
    r.wait_text("a:b", source="vars")
    fds, names, pid, shell = r.read("vars").split()
    assert (fds, names) == ("2", "a:b") and pid == shell
    assert r.term() == 0


def test_what_a_stranger_answers_is_not_readiness(reeve, free_port):
    """The port is free when the service starts, and a stranger takes it before the service does."""
    port = free_port()
    r = reeve("""
services:
  s:
    command: [/bin/sh, -c, 'while ! [ -e go ]; do sleep 0.05; done; exec /usr/bin/python3 -m http.server --bind 127.0.0.1 %d']
    working-dir: "${env.TMPDIR}"
    ports: [%d]
    ready: {tcp: "127.0.0.1:%d", timeout: 60s}
""" % (port, port, port))
    r.wait_state("s", "starting")
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind(("127.0.0.1", port))
        stranger.listen()
        said = "port %d is listened on by pid %d (" % (port, os.getpid())
        until("the stranger to be named", lambda: said in r.service("s").get("detail", ""))
        assert r.service("s")["state"] == "starting"
    r.write("go", "")
    r.wait_state("s", "ready")
    assert r.term() == 0


def test_a_check_command_is_not_told_of_listeners_that_it_does_not_get(reeve, free_port):
    r = reeve("""
services:
  s:
    command: [/bin/sleep, "1000"]
    environment: {LISTEN_ADDRESS: "0.0.0.0"}
    working-dir: "${env.TMPDIR}"
    listen: [{name: a, tcp: "127.0.0.1:%d"}]
    ready: {exec: [/bin/sh, -c, 'env | grep ^LISTEN > vars; echo end >> vars']}
""" % free_port())
    r.wait_ready()
    assert r.read("vars").split() == ["LISTEN_ADDRESS=0.0.0.0", "end"]
    assert r.term() == 0


HTTP = """
import http.server, sys
codes = [int(c) for c in sys.argv[2].split(",")]
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        code = codes.pop(0) if len(codes) > 1 else codes[0]
        with open("requests", "a") as f: f.write(self.path + "\\n")  # before the answer, which may be the one that is waited for
        self.send_response(code)
        if code == 302: self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0"); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
"""


def http_graph(port, codes, timeout="20s"):
    return """
services:
  s:
    command: [/usr/bin/python3, http.py, "%d", "%s"]
    working-dir: "${env.TMPDIR}"
    environment: {PYTHONSAFEPATH: "1"}
    ready: {http: {url: "http://127.0.0.1:%d/health"}, timeout: %s}
""" % (port, codes, port, timeout)


@pytest.mark.parametrize("codes", ["200", "503,503,200", "429,204"])
def test_http_readiness_retries_what_is_transient(reeve, free_port, codes):
    r = reeve(http_graph(free_port(), codes).replace("http.py", "srv.py"), files={"srv.py": HTTP})
    r.wait_ready()
    assert len(r.read("requests").split()) >= len(codes.split(","))
    assert r.term() == 0


@pytest.mark.parametrize("code", [404, 401, 302])
def test_http_readiness_fails_at_once_on_a_permanent_answer(reeve, free_port, code):
    t = time.monotonic()
    r = reeve(http_graph(free_port(), str(code), "60s").replace("http.py", "srv.py"), files={"srv.py": HTTP})
    assert r.wait() == 10
    assert time.monotonic() - t < 19 * SLACK
    assert str(code) in r.stderr and "/health" in r.stderr
    assert "/elsewhere" not in r.read("requests")


def test_a_server_that_only_ever_says_503_fails_with_that_as_its_cause(reeve, free_port):
    # long enough for the server to come up on a machine that stands still for a moment
    r = reeve(http_graph(free_port(), "503", seconds(1.5)).replace("http.py", "srv.py"), files={"srv.py": HTTP})
    assert r.wait() == 10
    assert "not ready within " in r.stderr and "503" in r.stderr


def test_an_exec_check_decides_and_a_silent_server_is_never_ready(reeve):
    r = reeve("""
services:
  a:
    command: [/bin/sh, -c, 'sleep 0.4; touch flag; exec sleep 1000']
    working-dir: "${env.TMPDIR}"
    ready: {exec: [/bin/sh, -c, 'test -e flag || { echo no flag yet; exit 1; }'], timeout: 20s}
""")
    r.wait_ready()
    assert os.path.exists(r.path("flag"))
    assert r.term() == 0


STEAL = """
import socket, sys, time
tries = 0
while True:
    for reuse, share in ((0, 0), (1, 0), (0, 1), (1, 1)):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, share)
        try:
            s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(); sys.exit("stolen with %d %d after %d tries" % (reuse, share, tries))
        except OSError: pass
        s.close()
    tries += 1
    if tries == 1: open(sys.argv[2], "w").close()
    time.sleep(.0005)
"""


# at no instant of crash, backoff, manual restart or stop
def test_a_thief_never_gets_the_port_over_deaths_restarts_and_stops(reeve, free_port):
    port = free_port()
    r = reeve("""
services:
  s:
    command: [/usr/bin/python3, -c, 'import socket,sys; c,_=socket.socket(fileno=3).accept(); c.sendall(b"hi"); c.close(); sys.exit(3)']
    listen: [{name: http, tcp: "127.0.0.1:%d", backlog: 64}]
    restart: {on: always, delay: 150ms, factor: 1, limit: 0}
""" % port)
    r.wait_ready()
    thief = subprocess.Popen([sys.executable, "-c", STEAL, str(port), r.path("stealing")], stderr=subprocess.PIPE)
    try:
        until("the thief", lambda: os.path.exists(r.path("stealing")))
        for _ in range(5):
            assert ask(port) == b"hi", "some wait during the backoff, none is refused"
        assert r.ctl("restart", "s").returncode == 0
        assert ask(port) == b"hi"
        assert r.ctl("stop", "s").returncode == 0
        time.sleep(0.2)
        assert r.ctl("start", "s").returncode == 0
        assert ask(port) == b"hi"
        assert thief.poll() is None, thief.stderr.read()
    finally:
        thief.kill()
        thief.wait()
        thief.stderr.close()
    assert r.term() == 0


# the same without backlog, where connects are refused between lives
@pytest.mark.root
@pytest.mark.parametrize("become", ["", "setpriv --reuid 65534 --regid 65534 --clear-groups"], ids=["as_root", "as_nobody"])
def test_a_thief_never_gets_a_port_that_is_not_listening_either(reeve, free_port, become):
    port = free_port()
    r = reeve(graph(port), files={"serve.py": SERVE}, wrap=("/bin/sh", "-c", 'chmod 777 . run log; exec %s "$0" "$@"' % become))
    r.wait_ready()
    thief = subprocess.Popen([sys.executable, "-c", STEAL, str(port), r.path("stealing")], stderr=subprocess.PIPE)
    try:
        until("the thief", lambda: os.path.exists(r.path("stealing")))
        for _ in range(3):
            first = r.service("s")["pid"]
            os.kill(first, signal.SIGKILL)
            until("the next life", lambda: r.service("s").get("pid") not in (None, 0, first) and r.service("s")["state"] == "ready")
            assert thief.poll() is None, thief.stderr.read()
            assert ask(port).startswith(b"hi")
        assert r.ctl("restart", "s").returncode == 0
        assert thief.poll() is None, thief.stderr.read()
    finally:
        thief.kill()
        thief.wait()
        thief.stderr.close()
    assert r.term() == 0
