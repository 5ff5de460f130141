"""`reevectl reload` and SIGHUP: another configuration takes the place of the one in force, and what is the same runs on."""
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time

import pytest

from harness import REEVECTL, SLACK, alive, children_of, cmdline, has_socket, kill, sanitized, state_of, until, web_server
from test_ports import BINDS, READ_ONLY, net  # noqa: F401 (a fixture)

SLEEP = "command: [/bin/sleep, '1000']"

# serve.py FD WORD: answers each connection with its word and its pid; while there is a file `hold` it accepts none, and says so
SERVE = """
import os, select, socket, sys, time
s = socket.socket(fileno=int(sys.argv[1]))
s.listen(16)
while True:
    if os.path.exists("hold"):
        open("held.%d" % os.getpid(), "w").close()
        time.sleep(0.02)
        continue
    if not select.select([s], [], [], 0.05)[0]:
        continue
    c, _ = s.accept()
    c.sendall(("%s %d\\n" % (sys.argv[2], os.getpid())).encode())
    c.close()
"""

# Notes in `order` that it began and that it was asked to end.
NOTE = """/bin/sh, -c, 'echo "+$0" >>order; trap "echo -$0 >>order; exit 0" TERM; while :; do sleep 0.05; done'"""


def service(name, *more):
    return "  %s: {%s}\n" % (name, ", ".join(more))


def graph(*services, top=""):
    return top + "services:\n" + "".join(services)


def reload(r, text=None, *args):
    """Writes the text, and reloads; the answer as JSON."""
    if text is not None:
        r.write("reeve.yaml", text)
    got = r.ctl("--json", "reload", *args)
    assert got.stdout.strip(), got.stderr
    answer = json.loads(got.stdout)
    return got.returncode, answer


def changes(answer):
    """What is in the lists that are not empty."""
    lists = ("added", "removed", "changed", "restarted", "adjusted")
    return {k: sorted(answer[k]) for k in lists if answer[k]}


def lives(r):
    return {name: (s["pid"], s["generation"]) for name, s in r.services().items()}


# ---- what changes, and what does not --------------------------------------------------------------------------------


def test_what_is_the_same_keeps_its_life_and_the_rest_is_brought_to_what_the_files_say(reeve):
    r = reeve(graph(service("same", SLEEP), service("tuned", SLEEP), service("changed", SLEEP), service("gone", SLEEP),
                    service("on-changed", SLEEP, "needs: [changed]"), service("idle", SLEEP, "startup: disabled")))
    r.wait_ready()
    before = lives(r)
    text = graph(service("same", SLEEP), service("tuned", SLEEP, "restart: {on: always, delay: 1s}"),
                 service("changed", "command: [/bin/sleep, '1001']"), service("on-changed", SLEEP, "needs: [changed]"),
                 service("new", SLEEP, "needs: [same]"), service("idle", "command: [/bin/sleep, '7']", "startup: disabled"))
    _, foreseen = reload(r, text, "--dry-run")
    assert lives(r) == before
    status, answer = reload(r)
    assert changes(foreseen) == changes(answer)
    assert (status, answer["ok"], answer["errors"]) == (0, True, 0)
    assert changes(answer) == {"added": ["new"], "removed": ["gone"], "changed": ["changed", "idle"],
                               "restarted": ["on-changed"], "adjusted": ["tuned"]}
    assert answer["unchanged"] == 1
    after = lives(r)
    assert sorted(after) == ["changed", "idle", "new", "on-changed", "same", "tuned"]
    assert (after["same"], after["tuned"]) == (before["same"], before["tuned"])
    for name in ("changed", "on-changed"):
        assert after[name][0] != before[name][0] and after[name][1] > before[name][1]
    assert [r.service(n)["state"] for n in ("new", "idle")] == ["ready", "stopped"]
    assert not alive(before["gone"][0])
    assert "reloaded: 1 added, 1 removed, 2 changed, 1 restarted with these, 1 adjusted, 1 as before" in r.stderr
    # the tuned one is restarted by its new policy
    os.kill(after["tuned"][0], signal.SIGTERM)
    r.wait_state("tuned", "backoff")
    # and the plan that is shown is the new one
    assert "sleep 1001" in r.ctl("plan").stdout
    assert r.term() == 0


def test_a_changed_service_is_stopped_after_its_dependents_and_started_before_them(reeve):
    def text(word):
        def one(name, *more):
            return service(name, "command: [%s, %s]" % (NOTE, name), "working-dir: '${env.TMPDIR}'",
                           "ready: {exec: [/bin/grep, -qx, +%s, order]}" % name, *more)
        return graph(one("base", "environment: {WORD: '%s'}" % word), one("mid", "needs: [base]"), one("top", "needs: [mid]"), one("apart"))

    r = reeve(text("a"))
    r.wait_ready()
    r.write("order", "")
    foreseen = reload(r, text("b"), "--dry-run")[1]
    status, answer = reload(r)
    assert status == 0 and changes(answer) == changes(foreseen) == {"changed": ["base"], "restarted": ["mid", "top"]}
    assert r.read("order").split() == ["-top", "-mid", "-base", "+base", "+mid", "+top"]
    assert r.term() == 0


def test_reevectl_prints_what_was_done_and_fails_with_who_does_not_come_up(reeve):
    r = reeve(graph(service("a", SLEEP), service("b", SLEEP)))
    r.wait_ready()
    r.write("reeve.yaml", graph(service("a", SLEEP), service("c", SLEEP)))
    got = r.ctl("reload")
    assert got.returncode == 0, got.stderr
    assert got.stdout.splitlines()[:3] == ["added: c", "removed: b", "unchanged: 1"]
    assert got.stdout.splitlines()[3].startswith("c: ready, pid ")
    r.write("reeve.yaml", graph(service("a", SLEEP),
                                service("c", "command: [/bin/sh, -c, 'echo no luck >&2; exit 3']", "ready: {file: /nowhere}")))
    got = r.ctl("reload")
    assert got.returncode == 1
    assert "changed: c" in got.stdout
    assert "reevectl: cannot reload c: failed: exited with 3" in got.stderr and "  | no luck" in got.stderr
    assert r.service("a")["state"] == "ready"
    assert [json.loads(line)["event"] for line in r.ctl("--json", "events", "-n", "all").stdout.splitlines()].count("reloaded") == 2
    assert r.term() == 0


def test_without_waiting_the_answer_comes_as_soon_as_the_files_are_good(reeve):
    slow = "command: [/bin/sh, -c, 'trap \"\" TERM; while :; do sleep 0.1; done']"
    r = reeve(graph(service("deaf", slow, "stop: {timeout: 30s}")))
    r.wait_ready()
    r.write("reeve.yaml", graph(service("other", SLEEP)))
    got = r.ctl("reload", "--no-wait")
    assert got.returncode == 0 and got.stdout.splitlines() == ["added: other", "removed: deaf", "unchanged: 0"]
    late = r.ctl("reload", "--timeout", "200ms")
    assert late.returncode == 6 and "have not stopped yet" in late.stderr
    os.kill(r.service("deaf")["pid"], signal.SIGKILL)
    r.wait_state("other", "ready")
    assert sorted(r.services()) == ["other"]
    assert r.term() == 0


# ---- what is wrong changes nothing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["reevectl", "SIGHUP"])
def test_wrong_files_are_refused_with_every_reason_and_nothing_changes(reeve, by):
    r = reeve(graph(service("a", SLEEP), service("b", SLEEP)))
    r.wait_ready()
    before = lives(r)
    r.write("reeve.yaml", graph(service("a", SLEEP, "comand: [x]"), service("b", SLEEP, "needs: [nobody]"), service("c", SLEEP)))
    if by == "reevectl":
        got = r.ctl("reload")
        assert got.returncode == 1
        assert "reeve.yaml:2:" in got.stderr and "did you mean 'command'" in got.stderr and "nobody" in got.stderr
        assert "reevectl: cannot reload: 2 errors; reeve runs on as it was" in got.stderr
        status, answer = reload(r)
        assert status == 1 and not answer["ok"] and answer["errors"] == 2 and len(answer["complaints"]) == 2
    else:
        r.signal(signal.SIGHUP)
    r.wait_text("not reloaded: 2 errors in the configuration; all runs on as it was")
    assert "comand" in r.stderr and "nobody" in r.stderr
    assert lives(r) == before
    # and the next one that is right is taken
    assert changes(reload(r, graph(service("a", SLEEP), service("b", SLEEP), service("c", SLEEP)))[1]) == {"added": ["c"]}
    after = lives(r)
    assert (after["a"], after["b"]) == (before["a"], before["b"])


def test_what_belongs_to_reeve_itself_is_refused_and_not_ignored(reeve):
    r = reeve(graph(service("a", SLEEP)))
    r.wait_ready()
    before = lives(r)
    got = r.write("reeve.yaml", graph(service("a", SLEEP), service("b", SLEEP), top="""
reeve:
  runtime-dir: /run/elsewhere
  control: {mode: "0600"}
"""))
    got = r.ctl("reload")
    assert got.returncode == 1
    assert "reeve.yaml:3:16: reeve.runtime-dir cannot be changed by a reload, only by a restart of reeve" in got.stderr
    assert "reeve.yaml:4:12: reeve.control.mode cannot be changed by a reload" in got.stderr
    assert lives(r) == before
    # what may change there does
    r.write("reeve.yaml", graph(service("a", SLEEP), top="reeve: {max-timeout: 300ms, shutdown-timeout: 30s}\n"))
    assert r.ctl("reload").returncode == 0
    t = time.monotonic()
    assert r.ctl("wait", "--stopped", "a").returncode == 6
    assert time.monotonic() - t < 20 * SLACK
    assert lives(r) == before


def test_an_address_that_somebody_else_has_refuses_the_whole(reeve, free_port):
    port = free_port()
    r = reeve(graph(service("a", SLEEP)))
    r.wait_ready()
    before = lives(r)
    with socket.socket() as s:
        s.bind(("127.0.0.1", port))
        s.listen()
        r.write("reeve.yaml", graph(service("b", SLEEP, "listen: [{name: x, tcp: '127.0.0.1:%d'}]" % port)))
        got = r.ctl("reload")
        assert got.returncode == 1
        assert "cannot bind 127.0.0.1:%d for service b (listened on by pid %d" % (port, os.getpid()) in got.stderr
        assert lives(r) == before
    assert r.ctl("reload").returncode == 0
    assert sorted(r.services()) == ["b"]


def test_a_user_or_a_log_that_cannot_be_had_refuses_the_whole(reeve):
    r = reeve(graph(service("a", SLEEP)))
    r.wait_ready()
    before = lives(r)
    r.write("reeve.yaml", graph(service("b", SLEEP, "user: no-such-user-here"), service("c", SLEEP, "log: {file: /proc/nowhere/c.log}")))
    got = r.ctl("reload")
    assert got.returncode == 1 and "no-such-user-here" in got.stderr
    r.write("reeve.yaml", graph(service("c", SLEEP, "log: {file: /proc/nowhere/c.log}")))
    got = r.ctl("reload")
    assert got.returncode == 1 and "/proc/nowhere" in got.stderr
    assert lives(r) == before


def test_a_plugin_that_refuses_its_options_refuses_the_whole_and_a_new_plugin_is_loaded(reeve, free_port):
    port = free_port()
    r = reeve(graph(service("a", SLEEP)))
    r.wait_ready()
    before = lives(r)
    gateway = "plugin: mcp-gateway, command: [/bin/sleep, '1000'], startup: disabled"
    r.write("reeve.yaml", graph(service("a", SLEEP), service("gw", gateway, "options: {port: 70000}")))
    got = r.ctl("reload")
    assert got.returncode == 1 and "port" in got.stderr
    status, answer = reload(r, graph(service("a", SLEEP), service("gw", gateway, "options: {port: %d}" % port)))
    assert status == 0 and changes(answer) == {"added": ["gw"]}
    assert "mcp-gateway" in r.ctl("plugins").stdout
    assert lives(r)["a"] == before["a"]
    status, answer = reload(r, graph(service("a", SLEEP), service("gw", gateway, "options: {port: %d, token: x}" % port)))
    assert status == 0 and changes(answer) == {"changed": ["gw"]}


# ---- listeners ------------------------------------------------------------------------------------------------------


def serving(port, path, word, more=""):
    def one(name, listen):
        return """
  %s:
    command: [/usr/bin/python3, serve.py, "${listen.l.fd}", %s]
    working-dir: "${env.TMPDIR}"
    listen: [{name: l, %s, backlog: 16}]
    stop: {timeout: 5s}
    %s
""" % (name, word, listen, more)
    return "services:" + one("v4", 'tcp: "127.0.0.1:%d"' % port) + one("v6", 'tcp: "[::1]:%d"' % port) + one("un", "unix: %s" % path)


def connect(kind, port, path):
    s = socket.socket({"v4": socket.AF_INET, "v6": socket.AF_INET6, "un": socket.AF_UNIX}[kind])
    s.settimeout(20 * SLACK)
    s.connect(path if kind == "un" else ("::1" if kind == "v6" else "127.0.0.1", port))
    return s


def inode(kind, r):
    """The inode of the socket that reeve holds for it."""
    pid = r.service(kind)["pid"]
    return os.readlink("/proc/%d/fd/3" % pid)


def has_v6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
            return True
    except OSError:
        return False


@pytest.mark.skipif(not has_v6(), reason="no IPv6 on this machine's loopback")
def test_listeners_are_kept_with_what_waits_in_their_queue(reeve, free_port, tmp_path):
    port, path = free_port(), str(tmp_path / "s")
    r = reeve(serving(port, path, "one"), files={"serve.py": SERVE})
    r.wait_ready()
    kinds = ("v4", "v6", "un")
    for kind in kinds:
        assert connect(kind, port, path).recv(100).startswith(b"one ")
    sockets, dirs = [inode(k, r) for k in kinds], os.stat(path).st_ino
    # nobody accepts any more: who connects now waits in the queue, over the end of this life and to the next
    r.write("hold", "")
    until("them to accept nothing", lambda: all(os.path.exists(r.path("held.%d" % r.service(k)["pid"])) for k in kinds))
    waiting = [connect(k, port, path) for k in kinds]
    status, answer = reload(r, serving(port, path, "two"))
    assert status == 0 and changes(answer) == {"changed": sorted(kinds)}
    os.unlink(r.path("hold"))
    for s in waiting:
        assert s.recv(100).startswith(b"two ")
    assert [inode(k, r) for k in kinds] == sockets and os.stat(path).st_ino == dirs
    # one that is only adjusted is not touched at all
    before = lives(r)
    status, answer = reload(r, serving(port, path, "two", "restart: {on: always}"))
    assert status == 0 and changes(answer) == {"adjusted": sorted(kinds)} and lives(r) == before
    assert connect("v4", port, path).recv(100).startswith(b"two ")
    # removed: the port and the path are free
    status, answer = reload(r, graph(service("a", SLEEP)))
    assert status == 0 and not os.path.exists(path)
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # over what its connections left
        s.bind(("127.0.0.1", port))


def test_a_listener_may_go_to_another_service_and_be_exchanged_for_a_port_of_its_own(reeve, free_port):
    port, second = free_port(), free_port()

    def one(name, at):
        return service(name, "command: [/usr/bin/python3, serve.py, '${listen.l.fd}', %s]" % name, "working-dir: '${env.TMPDIR}'",
                       "listen: [{name: l, tcp: '127.0.0.1:%d', backlog: 8}]" % at)

    r = reeve(graph(one("a", port), one("b", second)), files={"serve.py": SERVE})
    r.wait_ready()
    first = inode("a", r)
    # they swap their ports
    status, answer = reload(r, graph(one("a", second), one("b", port)))
    assert status == 0 and changes(answer) == {"changed": ["a", "b"]}
    assert inode("b", r) == first
    assert connect("v4", port, None).recv(100).startswith(b"b ") and connect("v4", second, None).recv(100).startswith(b"a ")
    # a listener becomes a port that the service binds itself, and the other way round
    bind = "import socket,time; s=socket.create_server(('127.0.0.1', %d)); time.sleep(1000)" % port
    own = service("b", "command: [/usr/bin/python3, -c, \"%s\"]" % bind, "ports: [%d]" % port, "ready: {tcp: '127.0.0.1:%d'}" % port)
    assert reload(r, graph(one("a", second), own))[0] == 0
    assert r.service("b")["state"] == "ready"
    assert reload(r, graph(one("a", second), one("b", port)))[0] == 0
    assert connect("v4", port, None).recv(100).startswith(b"b ")
    assert r.term() == 0


def ported(*ports):
    return graph(*[service("s%d" % p, SLEEP, "startup: disabled", "ports: [%d]" % p) for p in ports], service("a", SLEEP))


@pytest.mark.root
def test_the_kernels_list_of_reserved_ports_follows(reeve, net):  # noqa: F811
    net.reserve("8120-8125")
    r = reeve(ported(40007, 8123), wrap=net.wrap)
    r.wait_ready()
    assert net.reserved() == "8120-8125,40007"
    assert reload(r, ported(40008, 8123, 8126))[0] == 0
    assert net.reserved() == "8120-8126,40008"
    assert reload(r, ported())[0] == 0
    assert net.reserved() == "8120-8125", "8123 was there before, and stays"
    assert reload(r, ported(40009))[0] == 0
    assert r.term() == 0
    assert net.reserved() == "8120-8125"


@pytest.mark.root
def test_where_sockets_hold_the_ports_they_follow(reeve, net):  # noqa: F811
    def free(port):
        return net.run("/usr/bin/python3", "-c", BINDS.replace("40007", str(port))).returncode == 0

    r = reeve(ported(40007, 40008), wrap=(*net.wrap, *READ_ONLY))
    r.wait_ready()
    assert not free(40007) and not free(40008) and free(40009)
    assert reload(r, ported(40008, 40009))[0] == 0
    assert free(40007) and not free(40008) and not free(40009)
    for _ in range(3):
        assert reload(r)[0] == 0
    assert not free(40008) and not free(40009)
    assert reload(r, ported())[0] == 0
    assert free(40008) and free(40009)
    assert r.term() == 0


# ---- lives that are in the middle of something ----------------------------------------------------------------------

# Each waits for the file `go`, and then says that it is ready in its own way.
WAIT = "until [ -e go ]; do sleep 0.02; done; "
DGRAM = "import os, socket, time\nwhile not os.path.exists('go'): time.sleep(0.02)\n" \
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n" \
        "s.sendto(b'READY=1\\nSTATUS=told', os.environ['NOTIFY_SOCKET'])\ntime.sleep(1000)\n"
WEB = "import http.server, os, sys, time\nwhile not os.path.exists('go'): time.sleep(0.02)\n" \
      "http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()\n"


def starting(port, other, more, summary):
    """One service of each kind of readiness, none of them ready."""
    def one(name, script, ready, *also):
        return service(name, "command: %s" % script, "working-dir: '${env.TMPDIR}'", "ready: {%s, timeout: 60s}" % ready,
                       "summary: %s" % summary, *more, *also)

    def sh(script):
        return "[/bin/sh, -c, '%s']" % script
    return graph(one("fd", sh(WAIT + "echo >&3; exec sleep 1000"), "fd: 3"),
                 one("line", sh(WAIT + "echo now ready; exec sleep 1000"), "log-line: 'now r.*y'"),
                 one("file", sh(WAIT + "touch there; exec sleep 1000"), "file: '${env.TMPDIR}/there'"),
                 one("exec", sh("exec sleep 1000"), "exec: [/usr/bin/test, -e, go]"),
                 one("told", "[/usr/bin/python3, dgram.py]", "notify: main"),
                 one("http", "[/usr/bin/python3, web.py, '%d']" % port, "http: {url: 'http://127.0.0.1:%d/'}" % port),
                 one("tcp", "[/usr/bin/python3, web.py, '%d']" % other, "tcp: '127.0.0.1:%d'" % other),
                 service("task", "command: %s" % sh(WAIT + "exit 0"), "working-dir: '${env.TMPDIR}'", "type: task", "summary: %s" % summary),
                 service("launched", "command: %s" % sh(WAIT + "sleep 1000 & echo $! >pid.$$; mv pid.$$ pid"), "working-dir: '${env.TMPDIR}'",
                         "type: launcher", "main-pid: {file: '${env.TMPDIR}/pid'}", "summary: %s" % summary, *more),
                 top="reeve: {boot-timeout: 90s}\n")


@pytest.mark.parametrize("more", [[], ["restart: {on: always, delay: 50ms}"]], ids=["as before", "adjusted"])
def test_who_is_starting_is_ready_in_the_same_life_however_that_is_proved(reeve, free_port, more):
    ports = free_port(), free_port()
    r = reeve(starting(*ports, [], "one"), files={"dgram.py": DGRAM, "web.py": WEB})
    r.wait_socket()
    until("all to start", lambda: all(s["state"] == "starting" and s["pid"] for s in r.services().values()))
    before = lives(r)
    for i in range(3):  # each frees what was there before
        r.write("reeve.yaml", starting(*ports, more, "number%d" % i if more else "one"))
        assert r.ctl("reload", "--no-wait").returncode == 0
    until("them to be through", lambda: r.stderr.count("reloaded: ") == 3)
    r.write("go", "")
    r.wait_ready(60)
    after = lives(r)
    assert {k: v[1] for k, v in after.items()} == {k: v[1] for k, v in before.items()}
    for name in ("fd", "line", "file", "exec", "told", "http", "tcp"):
        assert after[name] == before[name]
    assert r.service("told")["status_text"] == "told"
    assert r.service("launched")["pid"] == int(r.read("pid"))
    # and they are still whose they were: the next life is by the new policy
    os.kill(after["told"][0], signal.SIGKILL)
    until("its next life", lambda: r.service("told")["generation"] > after["told"][1])
    r.wait_state("told", "ready")
    assert r.term() == 0


def test_what_is_asked_of_its_health_changes_under_a_running_service(reeve):
    def text(*health):
        return graph(service("a", SLEEP, "working-dir: '${env.TMPDIR}'", *health))

    r = reeve(text())
    r.wait_ready()
    before = lives(r)
    slow = "health: {exec: [/bin/sleep, '100'], attempt-timeout: 3s, period: 3s, on-failure: none}"
    assert changes(reload(r, text(slow))[1]) == {"adjusted": ["a"]}
    until("it to be asked", lambda: any(cmdline(p) == "/bin/sleep 100" for p in children_of(r.pid)))
    # that question is given up for the new one, which has an answer
    assert reload(r, text("health: {file: '${env.TMPDIR}/well', period: 20ms, threshold: 2, on-failure: none}"))[0] == 0
    r.wait_state("a", "unhealthy")
    r.write("well", "")
    r.wait_state("a", "ready")
    os.unlink(r.path("well"))
    r.wait_state("a", "unhealthy")
    # nothing says otherwise any more
    assert reload(r, text())[0] == 0
    r.wait_state("a", "ready")
    assert lives(r) == before
    assert r.term() == 0


GATEWAY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gateway.py")


def test_options_of_a_start_go_on_with_what_is_the_same_and_end_with_a_change(reeve, tmp_path, free_port):
    port, seen = free_port(), tmp_path / "seen"

    def text(token, *more):
        return graph(service("gw", "plugin: mcp-gateway", "startup: disabled", "restart: {on: failure, delay: 10ms}", "ready: {timeout: 20s}",
                             "command: [/usr/bin/python3, %s, --port, '%d', --seen, %s]" % (GATEWAY, port, seen), "options: {token: %s, port: %d}" % (token, port),
                             *more), service("a", SLEEP))

    def tokens():
        return [json.loads(line)["token"] for line in seen.read_text().splitlines()]

    r = reeve(text("of-the-file"))
    r.wait_ready()
    assert r.ctl("start", "gw", "--option", "token=given", "--option", 'config={"exa": {}}').returncode == 0
    before = lives(r)
    for i in range(3):
        status, answer = reload(r, text("of-the-file", "summary: s%d" % i))
        assert status == 0 and changes(answer) == {"adjusted": ["gw"]}
    assert lives(r) == before
    assert "started with token, config" in r.ctl("why", "gw").stdout
    os.kill(before["gw"][0], signal.SIGKILL)
    until("its next life", lambda: r.service("gw")["generation"] > before["gw"][1])
    r.wait_state("gw", "ready")
    assert tokens() == ["given", "given"]
    shown = r.stderr + r.ctl("plan").stdout + r.ctl("--json", "plan").stdout + r.ctl("events", "-n", "all").stdout
    assert "given" not in shown.replace("given up", "")
    status, answer = reload(r, text("another"))
    assert status == 0 and changes(answer) == {"changed": ["gw"]}
    assert r.ctl("start", "gw").returncode == 0
    assert tokens() == ["given", "given", "another"]
    assert r.term() == 0


@pytest.mark.root
def test_a_port_that_a_socket_holds_is_held_on_when_the_options_of_a_start_end(reeve, net):  # noqa: F811
    def text(summary):
        return graph(service("gw", "plugin: mcp-gateway", "startup: disabled", "ready: {timeout: 20s}", "summary: %s" % summary,
                             "command: [/usr/bin/python3, %s, --port, '40007']" % GATEWAY, "options: {token: of-the-file, port: 40007}"), service("a", SLEEP))

    r = reeve(text("one"), wrap=(*net.wrap, *READ_ONLY))
    r.wait_ready()
    assert r.ctl("start", "gw", "--option", "token=given").returncode == 0
    assert changes(reload(r, text("two"))[1]) == {"adjusted": ["gw"]}
    assert r.ctl("stop", "gw").returncode == 0
    assert "Address already in use" in net.run("/usr/bin/python3", "-c", BINDS).stderr
    assert r.ctl("start", "gw").returncode == 0
    assert r.term() == 0


def test_who_is_adopted_stays_so_and_is_left_alone_when_its_service_goes(reeve, free_port):
    port = free_port()
    other = subprocess.Popen(web_server(port), stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        def text(*more):
            return graph(service("s", SLEEP, "ports: [%d]" % port, "if-running: adopt",
                                 "ready: {http: {url: 'http://127.0.0.1:%d/'}, timeout: 20s}" % port, *more), service("a", SLEEP))

        until("the stranger", lambda: not refused(port))
        r = reeve(text())
        r.wait_state("s", "adopted")
        for i in range(3):
            assert reload(r, text("summary: s%d" % i))[0] == 0
            assert r.service("s")["state"] == "adopted" and r.service("s")["pid"] == other.pid
        assert changes(reload(r, graph(service("a", SLEEP)))[1]) == {"removed": ["s"]}
        assert other.poll() is None
        assert r.term() == 0
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def refused(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) != 0


# ---- who watches meanwhile ------------------------------------------------------------------------------------------


def test_logs_that_are_followed_go_on_also_into_another_file(reeve):
    def text(word, more=()):
        ticking = "command: [/bin/sh, -c, 'while :; do echo %s; sleep 0.05; done']" % word
        return graph(service("tick", ticking, *more), service("quiet", SLEEP))

    r = reeve(text("one"))
    r.wait_ready()
    for name, args in (("named", ["tick"]), ("all", [])):
        out = open(r.path("followed-" + name), "wb")
        p = subprocess.Popen([REEVECTL, "-s", r.socket, "logs", "-f", *args], stdin=subprocess.DEVNULL, stdout=out, env=r.env)
        r.wait_text("one", "followed-" + name)
        setattr(r, name, p)
    assert reload(r, text("two", ["log: {file: %s}" % r.path("else.log")]))[0] == 0
    for name in ("named", "all"):
        r.wait_text("two", "followed-" + name)
    r.wait_text("two", "else.log")
    assert "two" not in r.log("tick")
    assert "one" in r.ctl("logs", "-n", "all", "tick").stdout
    # added: who follows all follows it, too; removed: who follows only that one is done
    assert reload(r, graph(service("late", "command: [/bin/sh, -c, 'while :; do echo three; sleep 0.05; done']")))[0] == 0
    r.wait_text("three", "followed-all")
    assert r.named.wait(20 * SLACK) == 0
    assert r.all.poll() is None
    assert r.term() == 0
    assert r.all.wait(20 * SLACK) == 0


def test_who_waits_is_told_when_what_is_waited_for_is_removed(reeve):
    never = "command: [/bin/sleep, '1000'], startup: disabled"
    r = reeve(graph(service("a", SLEEP), service("b", never), service("c", SLEEP)))
    r.wait_ready()
    waits = {}
    for what, name in (("--stopped", "a"), ("--exited", "c"), ("--stopped", "c")):
        waits[what + name] = subprocess.Popen([REEVECTL, "-s", r.socket, "wait", what, name], stdin=subprocess.DEVNULL,
                                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=r.env)
    # connected and asleep: what they ask has been sent, so it is read before what comes next
    until("them to wait", lambda: all(has_socket(p.pid) and state_of(p.pid) == "S" for p in waits.values()))
    assert reload(r, graph(service("b", never), service("d", SLEEP)))[0] == 0
    got = {k: (p.communicate(timeout=20 * SLACK)[1], p.returncode) for k, p in waits.items()}
    assert got["--stoppeda"][1] == 0 and got["--stoppedc"][1] == 0
    assert got["--exitedc"][1] == 3
    assert r.ctl("status", "a").returncode == 4
    # what happened to it keeps its name, also when another service has its place
    assert reload(r, graph(service("b", never), service("d", SLEEP), service("e", SLEEP), service("f", SLEEP)))[0] == 0
    events = [json.loads(line) for line in r.ctl("--json", "events", "-n", "all").stdout.splitlines()]
    named = [e["name"] for e in events if e["event"] == "state" and e["state"] == "ready"]
    assert sorted(named) == ["a", "c", "d", "e", "f"]


def test_only_an_admin_may_reload(reeve):
    r = reeve(graph(service("a", SLEEP), top='reeve: {control: {mode: "0666"}}\n'))
    r.wait_ready()
    if os.getuid() != 0:
        pytest.skip("needs root")
    got = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", REEVECTL, "-s", r.socket, "reload"],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30 * SLACK, env=dict(r.env, ASAN_OPTIONS="detect_leaks=0"))
    assert got.returncode == 5, got.stderr


def test_what_is_paused_stopped_or_failed_by_name_stays_so(reeve):
    r = reeve(graph(service("a", SLEEP), service("b", SLEEP), service("c", SLEEP),
                    service("d", "command: [/bin/false]", "essential: false", "ready: {file: /nowhere}"), top="reeve: {on-boot-failure: continue}\n"))
    r.wait_ready()
    r.wait_state("d", "failed")
    assert r.ctl("pause", "a").returncode == 0
    assert r.ctl("stop", "b").returncode == 0
    status, answer = reload(r, graph(service("a", "command: [/bin/sleep, '1001']"), service("b", "command: [/bin/sleep, '1001']"),
                                     service("c", SLEEP), service("d", "command: [/bin/false]", "essential: false", "ready: {file: /nowhere}"),
                                     service("e", SLEEP), top="reeve: {on-boot-failure: continue}\n"))
    assert status == 0
    s = r.services()
    assert s["a"]["paused"] and s["a"]["state"] == "ready"
    assert s["b"]["held"] and s["b"]["state"] == "stopped"
    assert s["d"]["state"] == "failed" and s["e"]["state"] == "ready"
    assert r.ctl("start", "b").returncode == 0
    assert r.ctl("resume", "a").returncode == 0


def test_the_command_that_reeve_was_started_with_stays_and_hup_is_its_own(reeve):
    main = "trap 'echo hup >>heard' HUP; trap 'exit 7' TERM; while :; do sleep 0.05; done"
    r = reeve(graph(service("a", SLEEP)), args=["--", "/bin/sh", "-c", main])
    r.wait_ready()
    before = lives(r)
    status, answer = reload(r, graph(service("b", SLEEP)))
    assert status == 0 and changes(answer) == {"added": ["b"], "removed": ["a"], "adjusted": ["main"]}  # it stands on all others
    assert lives(r)["main"] == before["main"]
    r.signal(signal.SIGHUP)
    r.wait_text("hup", "heard")
    assert r.stderr.count("reloading the configuration") == 1
    assert r.term() == 7


# ---- many, quickly, at any moment -----------------------------------------------------------------------------------


def rss(pid):
    with open("/proc/%d/smaps_rollup" % pid) as f:
        return sum(int(line.split()[1]) for line in f if line.startswith(("Private_", "Anonymous:")) and "Anonymous" in line)


def test_a_hundred_reloads_leave_no_memory_no_descriptor_and_no_process_behind(reeve, free_port):
    port = free_port()

    def text(i):
        words = "%d %s" % (i, "x" * 200)
        return graph(*[service("s%d" % n, SLEEP, "summary: '%s'" % words) for n in range(40)],
                     service("once%d" % i, "command: [/bin/true]", "type: task"),
                     service("l", SLEEP, "listen: [{name: x, tcp: '127.0.0.1:%d', backlog: 5}]" % port, "environment: {I: '%d'}" % (i // 10)))

    def look():
        return rss(r.pid), len(os.listdir("/proc/%d/fd" % r.pid)), len(children_of(r.pid))

    r = reeve(text(0))
    r.wait_ready()
    before = lives(r)
    for i in range(1, 11):
        assert reload(r, text(i))[0] == 0
    early = look()
    for i in range(11, 111):
        status, answer = reload(r, text(i))
        assert status == 0 and answer["added"] == ["once%d" % i] and answer["removed"] == ["once%d" % (i - 1)]
    # the connection of the last request, or its task, may be on its way out in either look
    until("no more descriptors and processes than early", lambda: all(now <= then for now, then in zip(look()[1:], early[1:])))
    late = look()
    after = lives(r)
    assert [after["s%d" % n] for n in range(40)] == [before["s%d" % n] for n in range(40)]
    if not sanitized():  # what they remember of freed memory is more than that
        assert late[0] - early[0] < 300, (early, late)  # KiB
    assert r.term() == 0


def test_the_last_of_several_reloads_is_what_holds(reeve):
    deaf = "command: [/bin/sh, -c, 'trap \"\" TERM; while :; do sleep 0.05; done']"
    r = reeve(graph(service("deaf", deaf, "stop: {timeout: 60s}"), service("a", SLEEP)))
    r.wait_ready()
    before = lives(r)
    r.write("reeve.yaml", graph(service("a", SLEEP), service("b", SLEEP)))
    first = subprocess.Popen([REEVECTL, "-s", r.socket, "reload"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, env=r.env)
    r.wait_state("deaf", "stopping")
    r.write("reeve.yaml", graph(service("a", SLEEP), service("c", SLEEP)))
    second = subprocess.Popen([REEVECTL, "-s", r.socket, "reload"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, env=r.env)
    _, error = first.communicate(timeout=20 * SLACK)
    assert first.returncode == 1 and "another reload has taken the place of this one" in error
    # a wrong one in between changes nothing of that
    r.write("reeve.yaml", "services: {a: {}}")
    assert r.ctl("reload").returncode == 1
    os.kill(before["deaf"][0], signal.SIGKILL)
    out, error = second.communicate(timeout=20 * SLACK)
    assert second.returncode == 0, error
    assert sorted(r.services()) == ["a", "c"] and lives(r)["a"] == before["a"]
    assert r.term() == 0


def test_a_reload_that_is_under_way_when_reeve_ends_ends_with_it(reeve):
    deaf = "command: [/bin/sh, -c, 'trap \"\" TERM; echo >&3; until [ -e go ]; do sleep 0.05; done']"
    r = reeve(graph(service("deaf", deaf, "working-dir: '${env.TMPDIR}'", "ready: {fd: 3}", "stop: {timeout: 60s}"), service("a", SLEEP)))
    r.wait_ready()
    r.write("reeve.yaml", graph(service("a", "command: [/bin/sleep, '1001']"), service("b", SLEEP)))
    p = subprocess.Popen([REEVECTL, "-s", r.socket, "reload"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True, env=r.env)
    r.wait_state("deaf", "stopping")
    r.signal(signal.SIGTERM)
    r.wait_text("SIGTERM")
    r.write("go", "")
    assert r.wait() == 0
    _, error = p.communicate(timeout=20 * SLACK)
    assert p.returncode in (1, 7), error


def test_while_the_sandboxs_variables_are_being_changed_a_reload_is_refused(reeve):
    gated = "command: [/bin/sh, -c, 'until [ -e go ]; do sleep 0.02; done; echo >&3; exec sleep 1000']"
    r = reeve(graph(service("a", gated, "working-dir: '${env.TMPDIR}'", "ready: {fd: 3, timeout: 60s}", "on-environment-change: restart")),
              files={"go": ""})
    r.wait_ready()
    os.unlink(r.path("go"))
    p = subprocess.Popen([REEVECTL, "-s", r.socket, "env", "set", "A=1"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=r.env)
    until("its next life", lambda: r.service("a")["generation"] == 2)
    got = r.ctl("reload")
    assert got.returncode == 1 and got.stderr == "reevectl: cannot reload: the sandbox's variables are being changed; try again\n"
    r.write("go", "")
    assert p.wait(30 * SLACK) == 0
    assert r.ctl("reload").returncode == 0
    assert r.term() == 0


def test_a_reload_while_the_boot_is_under_way_leaves_what_starts_alone(reeve):
    def text(word):
        return graph(service("slow", "command: [/bin/sh, -c, 'until [ -e go ]; do sleep 0.02; done; touch up; exec sleep 1000']",
                             "working-dir: '${env.TMPDIR}'", "ready: {file: '${env.TMPDIR}/up', timeout: 60s}"),
                     service("other", SLEEP, "needs: [slow]", "environment: {W: %s}" % word), service("late" + word, SLEEP, "needs: [slow]"),
                     top="reeve: {boot-timeout: 60s}\n")

    r = reeve(text("one"))
    r.wait_socket()
    r.wait_state("slow", "starting")
    before = lives(r)
    r.write("reeve.yaml", text("two"))
    r.signal(signal.SIGHUP)
    r.wait_text("reloaded: 1 added, 1 removed, 1 changed")
    r.write("go", "")
    r.wait_ready()
    assert lives(r)["slow"] == before["slow"]
    assert sorted(r.services()) == ["latetwo", "other", "slow"]
    assert "all ready after" in r.stderr
    assert r.term() == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_reloads_at_any_moment_end_in_what_the_last_files_say(reeve, free_port, seed):
    """Random graphs, reloaded without pause while services crash and requests come; the last one holds."""
    rng = random.Random(seed)
    ports = [free_port() for _ in range(3)]
    kinds = [SLEEP, "command: [/bin/sleep, '2000']", "command: [/bin/sh, -c, 'sleep 0.1; exit 1'], restart: {on: always, delay: 20ms}",
             "command: [/bin/true], type: task", "command: [/bin/sh, -c, 'sleep 0.05; touch r; exec sleep 1000'], ready: {file: '${env.TMPDIR}/r'}",
             "command: [/bin/sleep, '1000'], ready: {http: {url: 'http://127.0.0.1:1/x'}, timeout: 5s}",
             "command: [/bin/sh, -c, 'sleep 1000 & exec sleep 1000'], health: {exec: [/bin/true], period: 100ms}",
             "command: [/bin/sh, -c, 'trap \"\" TERM; sleep 0.3'], stop: {timeout: 100ms}"]

    def text():
        names = rng.sample(range(14), rng.randint(1, 12))
        held = rng.sample(names, min(len(names), len(ports)))
        out = []
        for i, n in enumerate(names):
            more = ["working-dir: '${env.TMPDIR}'", "essential: false"]
            if i and rng.random() < 0.5:
                more.append("%s: [s%d]" % (rng.choice(["needs", "wants", "after"]), names[rng.randrange(i)]))
            if n in held and rng.random() < 0.7:
                more.append("listen: [{name: l, tcp: '127.0.0.1:%d', backlog: 3}]" % ports[held.index(n)])
            out.append(service("s%d" % n, rng.choice(kinds), *more))
        return graph(*out, service("end", SLEEP), top="reeve: {on-boot-failure: continue}\n")

    r = reeve(text())
    r.wait_socket()
    stop = threading.Event()

    def bother():
        noise = random.Random(seed + 100)
        while not stop.is_set():
            name = "s%d" % noise.randrange(14)
            r.ctl(*noise.choice([("restart", "--no-wait", name), ("stop", "--no-wait", name), ("start", "--no-wait", name), ("status",),
                                 ("why",), ("pause", name), ("resume", name), ("logs", name), ("events",)]))

    t = threading.Thread(target=bother)
    t.start()
    try:
        for i in range(25):
            r.write("next.yaml", text())
            os.rename(r.path("next.yaml"), r.path("reeve.yaml"))  # HUP is obeyed while we go on
            if rng.random() < 0.3 and i < 24:  # not the last one: it could still be on its way when the last files come
                r.signal(signal.SIGHUP)
            else:
                got = r.ctl("reload", *rng.choice([("--no-wait",), ("--timeout", "300ms")]))
                assert got.returncode in (0, 1, 6), got.stderr
            if rng.random() < 0.5:
                for pid in children_of(r.pid)[:2]:
                    kill(pid)
    finally:
        stop.set()
        t.join()
    status, answer = reload(r, graph(service("end", SLEEP), service("last", SLEEP), top="reeve: {on-boot-failure: continue}\n"), "--timeout", "30s")
    assert sorted(r.services()) == ["end", "last"] and r.service("last")["state"] == "ready", r.story()
    assert status == 0, answer
    assert r.running() and r.term() == 0
