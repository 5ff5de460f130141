"""Plugins that misbehave, and a host that dies: nobody else is disturbed (the host is expendable).

A folder of plugins is put together from the real ones and those of tests/plugins."""
import os
import re
import shutil
import signal
import time

import harness
import pytest
from harness import SLACK, children_of, cmdline, until

BAD = os.path.join(harness.BUILD, "tests", "plugins")

SERVER = """
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
"""

WELL = """
  plain: {command: [/bin/sleep, "1000"]}
  web:
    command: [/usr/bin/python3, server.py, "%(port)d"]
    working-dir: "${env.TMPDIR}"
    ready: {http: {url: "http://127.0.0.1:%(port)d/"}, timeout: 20s}
"""


@pytest.fixture
def mixed(reeve, free_port, tmp_path):
    """mixed(plugins, services) boots the two healthy services and these ones; .folder is where the plugins are."""

    def boot(plugins=(), services="", settings="on-boot-failure: continue", well=True, before=None, **more):
        if not os.path.exists(os.path.join(BAD, "moody.so")):
            pytest.skip("the plugins of tests/plugins are not built (make check builds them)")
        folder = tmp_path / "lib" / "plugins"
        folder.mkdir(parents=True)
        for name in os.listdir(harness.PLUGINS):
            if name.endswith(".so"):
                shutil.copy(os.path.join(harness.PLUGINS, name), str(folder / name))
        shutil.copy(os.path.join(harness.BUILD, "http.so"), str(tmp_path / "lib" / "http.so"))
        for name in plugins:
            shutil.copy(os.path.join(BAD, name + ".so"), str(folder / (name + ".so")))
        if before:
            before(folder)
        if "in: update" in services:  # where there are no variables that hook is not asked
            more["env"] = {"REEVE_CREATE_ENVIRONMENT": '{"envVars": {"TOLD": "it"}}', **more.get("env", {})}
        text = "reeve: {%s}\nservices:\n%s%s" % (settings, WELL % {"port": free_port()} if well else "", services)
        r = reeve(text, args=["--plugin-dir", str(folder)], files={"server.py": SERVER}, **more)
        r.folder = str(folder)
        return r

    return boot


def host_of(r):
    """The pid of the plugin host: the child of reeve that runs reeve's own binary; 0: there is none."""
    for pid in children_of(r.pid):
        try:
            if os.readlink("/proc/%d/exe" % pid) == os.path.realpath(harness.REEVE):
                return pid
        except OSError:
            continue
    return 0


def open_files(pid):
    """Descriptor to what it is open on; what was closed meanwhile is left out."""
    found = {}
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            found[fd] = os.readlink("/proc/%d/fd/%s" % (pid, fd))
        except OSError:
            continue
    return found


def undisturbed(r, names=("plain", "web")):
    """The healthy services are in their first lives."""
    all_of_them = r.services()
    for n in names:
        s = all_of_them[n]
        assert s["state"] == "ready" and s["restarts"] == 0 and s["generation"] == 1, (n, s)


def prompt(r, *args, within=2, status=0):
    began = time.monotonic()
    got = r.ctl(*args)
    took = time.monotonic() - began
    assert got.returncode == status, (args, got.returncode, got.stdout, got.stderr)
    assert took < within * SLACK, "%s took %.1f s" % (args, took)
    return got


# ---- what cannot be loaded -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, words", [
    ("nullops", "ops"), ("oldabi", "ABI 0"), ("hugesize", "4294967295"), ("hugestate", "state"), ("endlesstable", "no end"),
    ("othername", "another"), ("noplugin", "reeve_plugin_v1"), ("diesloading", "exit"), ("diesrehearsing", "diesrehearsing.start"),
])
def test_a_plugin_that_cannot_be_used_is_a_configuration_error_with_its_reason(mixed, name, words):
    r = mixed([name], "  bad: {plugin: %s}\n" % name)
    assert r.wait() == 78, r.stderr
    assert "reeve.yaml:" in r.stderr and name in r.stderr and words in r.stderr, r.stderr
    if not name.startswith("dies"):
        assert os.path.join(r.folder, name + ".so") in r.stderr, r.stderr
    assert r.stderr.count("reeve.yaml:") == 1, "the others are well\n" + r.stderr


def test_all_bad_plugins_are_told_in_one_run(mixed):
    names = ["nullops", "oldabi", "hugesize", "noplugin", "diesloading", "diesrehearsing"]
    r = mixed(names, "".join("  s%s: {plugin: %s}\n" % (n, n) for n in names))
    assert r.wait() == 78
    for n in names[:-1]:
        assert re.search(r"reeve\.yaml:\d+:\d+: .*%s" % n, r.stderr), (n, r.stderr)


def text_file(path):
    with open(path, "w") as f:
        f.write("this is a text\n")


@pytest.mark.parametrize("make", [text_file, os.mkdir, lambda p: open(p, "w").close(), lambda p: os.symlink("/nonexistent", p), os.mkfifo])
def test_what_is_no_shared_object_is_refused_with_path_and_reason(mixed, make):
    r = mixed([], "  s: {plugin: text}\n", before=lambda folder: make(str(folder / "text.so")))
    assert r.wait() == 78, r.stderr
    assert re.search(r"reeve\.yaml:\d+:\d+: .*%s" % re.escape(r.folder + "/text.so"), r.stderr), r.stderr


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "a/b", "..", ".", "", "exec.so", "-x", "a\\nb", "x" * 300])
def test_a_name_that_is_no_plain_name_loads_nothing(mixed, name):
    def decoy(folder):
        shutil.copy(os.path.join(BAD, "diesloading.so"), str(folder.parent.parent / "x.so"))
        (folder / "a").mkdir()
        shutil.copy(os.path.join(BAD, "diesloading.so"), str(folder / "a" / "b.so"))

    r = mixed([], '  s: {plugin: "%s"}\n' % name, before=decoy)
    assert r.wait() == 78, r.stderr
    assert re.search(r"reeve\.yaml:\d+:\d+: .*plugin", r.stderr), r.stderr
    assert "died" not in r.stderr, r.stderr


def test_a_folder_of_plugins_that_is_not_there_is_named(once, tmp_path):
    (tmp_path / "r.yaml").write_text("services: {a: {command: [/bin/true]}}\n")
    got = once("check", "-c", str(tmp_path / "r.yaml"), "--plugin-dir", str(tmp_path / "nowhere"))
    assert got.returncode == 78 and str(tmp_path / "nowhere") in got.stderr and "No such file" in got.stderr, got.stderr


# ---- what misbehaves when it runs -----------------------------------------------------------------------------------


def test_a_probe_that_crashes_fails_only_its_own_service(mixed):
    r = mixed(["crash"], "  bad: {plugin: crash, command: [/bin/sleep, '1000']}\n")
    bad = r.wait_state("bad", "failed")
    assert "plugin host died in crash.probe: SIGSEGV" in r.stderr
    assert "plugin host died in crash.probe: SIGSEGV" in str(bad), bad
    r.wait_state("web", "ready")
    undisturbed(r)
    assert r.term() == 0


@pytest.mark.parametrize("plugin, words", [("spin", "100ms of CPU"), ("sleeper", "hung"), ("endless", "1000 turns|turns"), ("wildpointer", "SIGSEGV")])
def test_a_probe_that_never_ends_well_fails_only_its_own_service(mixed, plugin, words):
    r = mixed([plugin], "  bad: {plugin: %s, command: [/bin/sleep, '1000'], ready: {timeout: 8s}}\n" % plugin)
    r.wait_state("web", "ready")
    for _ in range(10):
        prompt(r, "status")
        time.sleep(0.05)
    r.wait_state("bad", "failed", timeout=20)
    assert re.search(words, r.stderr), r.stderr
    undisturbed(r)
    assert r.term() == 0


def test_garbage_answers_are_refused_one_by_one(mixed):
    r = mixed(["garbage"], "  bad: {plugin: garbage, command: [/bin/sleep, '1000'], start-attempts: 3, ready: {timeout: 10s}}\n")
    r.wait_state("bad", "failed", "ready", timeout=30)
    r.wait_state("web", "ready")
    undisturbed(r)
    assert "garbage" in r.stderr or "bad" in r.stderr
    assert r.term() == 0


@pytest.mark.parametrize("hook", ["start", "probe"])
@pytest.mark.parametrize("how", ["crash", "exit", "sleep", "spin", "zeros", "ones", "close", "endless", "nonsense", "greedy", "linger"])
def test_a_hook_that_misbehaves_while_starting_disturbs_nobody(mixed, hook, how):
    r = mixed(["moody"], "  bad: {plugin: moody, options: {in: %s, do: %s}, ready: {timeout: 4s}}\n" % (hook, how)
              + "  same: {plugin: moody}\n")
    bad = r.wait_state("bad", "failed", timeout=20)
    assert bad["why"] or bad["detail"], bad
    if how in ("crash", "exit", "sleep", "spin", "zeros", "ones", "close"):
        assert "plugin host died in moody.%s: " % hook in bad["detail"] + r.stderr, (bad, r.stderr)
    r.wait_state("same", "ready")
    r.wait_state("web", "ready")
    undisturbed(r, ("plain", "web"))
    assert r.service("same")["restarts"] == 0
    assert r.ctl("restart", "same").returncode == 0, "the plugin is of use again"
    assert r.ctl("restart", "web").returncode == 0, "HTTP is asked again"
    assert r.term() == 0
    assert r.leftovers() == []


@pytest.mark.parametrize("hook", ["stop", "cleanup"])
@pytest.mark.parametrize("how", ["crash", "sleep", "spin", "ones", "endless", "nonsense", "fail", "retry"])
def test_a_hook_that_misbehaves_while_stopping_does_not_keep_its_service(mixed, hook, how):
    r = mixed(["moody"], "  bad: {plugin: moody, options: {in: %s, do: %s}, stop: {timeout: 2s}}\n" % (hook, how))
    r.wait_state("bad", "ready")
    r.wait_state("web", "ready")
    pid = r.service("bad")["pid"]
    began = time.monotonic()
    assert r.ctl("stop", "bad").returncode == 0
    assert time.monotonic() - began < 13 * SLACK
    assert not harness.alive(pid) and r.service("bad")["state"] == "stopped"
    undisturbed(r)
    assert r.term() == 0


#
def test_a_shutdown_with_a_hook_that_hangs_ends_in_time(mixed):
    r = mixed(["moody"], "  bad: {plugin: moody, options: {in: stop, do: sleep}, stop: {timeout: 1s}}\n", "shutdown-timeout: 20s")
    r.wait_ready()
    began = time.monotonic()
    assert r.term() == 0
    assert time.monotonic() - began < 12 * SLACK


def test_one_of_two_services_of_a_plugin_crashes_it_and_the_other_does_not_notice(mixed):
    r = mixed(["moody"], """
  bad: {plugin: moody, essential: false, options: {in: probe, do: crash}}
  slow: {plugin: moody, options: {flag: "${env.TMPDIR}/flag"}}
""")
    r.wait_state("bad", "failed")
    assert r.service("slow")["state"] == "starting"
    r.write("flag", "")
    r.wait_ready()
    undisturbed(r, ("plain", "web", "slow"))
    assert r.term() == 0


def test_three_crashes_in_a_minute_disable_the_plugin_and_what_runs_stays(mixed):
    r = mixed(["moody"], """
  well: {plugin: moody, stop: {timeout: 3s}}
  idle: {plugin: moody, startup: disabled}
  bad: {plugin: moody, startup: disabled, options: {in: probe, do: crash}}
""")
    r.wait_ready()
    pid = r.service("well")["pid"]
    assert not r.service("well")["unproven"]
    for _ in range(3):
        assert r.ctl("start", "bad").returncode != 0
    r.wait_text("plugin moody is disabled")
    well = r.service("well")
    assert well["state"] == "ready" and well["pid"] == pid and well["restarts"] == 0 and well["unproven"], well
    assert "unproven" in r.ctl("status", "well").stdout
    for name in ("idle", "bad"):
        got = prompt(r, "start", name, status=1)
        assert "disabled" in got.stdout + got.stderr and "moody" in got.stdout + got.stderr, got
        assert not r.service(name)["pid"]
    undisturbed(r)
    prompt(r, "stop", "well")
    assert not harness.alive(pid)
    got = prompt(r, "start", "well", status=1)
    assert "disabled" in got.stdout + got.stderr, got
    prompt(r, "restart", "web", within=10)
    assert r.term() == 0


# ---- a host that is ended or stopped from outside -----------------------------------------------------------------------


def kill_host(r):
    pid = host_of(r)
    if pid:
        harness.kill(pid)
    return bool(pid)


def test_the_host_is_killed_ten_times_during_boot_and_nobody_fails(mixed):
    r = mixed(["moody"], """
  slow: {plugin: moody, options: {flag: "${env.TMPDIR}/flag"}}
  late: {plugin: moody, needs: [slow, web]}
""", settings="boot-timeout: 60s")
    r.wait_socket()
    killed = 0
    for _ in range(10):
        until("a host to be there", lambda: host_of(r))
        killed += kill_host(r)
        time.sleep(0.1)
    assert killed >= 8
    assert r.running(), r.stderr
    r.write("flag", "")
    r.wait_ready()
    undisturbed(r, ("plain", "web", "slow", "late"))
    assert r.term() == 0


def test_the_host_is_killed_ten_times_while_running_and_probes_go_on(mixed):
    r = mixed(["moody"], "  same: {plugin: moody}\n")
    r.wait_ready()
    for i in range(10):
        kill_host(r)
        if i % 3 == 0:
            assert r.ctl("restart", "same").returncode == 0, r.stderr
            assert r.ctl("restart", "web").returncode == 0, r.stderr
    assert r.service("plain")["generation"] == 1
    assert r.service("same")["state"] == "ready" and not r.service("same")["unproven"]
    assert r.term() == 0


def test_a_stopped_host_blocks_neither_reevectl_nor_other_services(mixed):
    r = mixed(["moody"], "  same: {plugin: moody}\n  brief: {command: [/bin/sleep, '1000'], startup: disabled}\n")
    r.wait_ready()
    pid = until("the host", lambda: host_of(r))
    os.kill(pid, signal.SIGSTOP)
    try:
        prompt(r, "status")
        prompt(r, "start", "brief")
        prompt(r, "restart", "plain")
        prompt(r, "logs", "plain")
        got = r.ctl("restart", "same", timeout=60)
        assert got.returncode == 0, (got.stderr, r.stderr)
        got = r.ctl("restart", "web", timeout=60)
        assert got.returncode == 0, (got.stderr, r.stderr)
        assert r.service("plain")["generation"] == 2 and r.service("brief")["restarts"] == 0
        began = time.monotonic()
        if harness.alive(pid):
            os.kill(pid, signal.SIGSTOP)
        assert r.term() == 0
        assert time.monotonic() - began < 15 * SLACK
    finally:
        if harness.alive(pid):
            os.kill(pid, signal.SIGCONT)


def test_a_stopped_host_does_not_hold_a_shutdown_up(mixed):
    r = mixed(["moody"], "  same: {plugin: moody, stop: {timeout: 2s}}\n")
    r.wait_ready()
    pid = until("the host", lambda: host_of(r))
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    assert r.term() == 0
    assert time.monotonic() - began < 15 * SLACK
    assert not harness.alive(pid)


def test_the_host_that_took_over_has_no_secret_and_no_listener(mixed, free_port):
    port = free_port()
    r = mixed(["moody"], "  same: {plugin: moody, listen: [{name: l, tcp: '127.0.0.1:%d'}]}\n" % port, env={"SECRET_OF_MINE": "s3cret"})
    r.wait_ready()
    kill_host(r)
    assert r.ctl("restart", "same").returncode == 0
    pid = until("the next host", lambda: host_of(r))
    with open("/proc/%d/environ" % pid, "rb") as f:
        assert b"s3cret" not in f.read()
    assert "--plugin-host" in cmdline(pid)
    listener = open_files(r.service("same")["pid"])["3"]
    assert listener.startswith("socket:") and listener in open_files(r.pid).values()
    assert listener not in open_files(pid).values() and len(open_files(pid)) < 12
    assert r.term() == 0


@pytest.mark.parametrize("hook", ["start", "probe"])
def test_a_kill_from_outside_costs_the_call_that_it_hits_nothing(mixed, hook):
    """A hand, or the kernel for want of memory: the call is asked again. It comes in the middle of the first one, and once."""
    r = mixed(["moody"], "  hit: {plugin: moody, options: {in: %s, do: abort-once, calm: \"${env.TMPDIR}/calm\"}}\n" % hook)
    r.wait_state("hit", "ready")
    assert os.path.exists(r.path("calm"))
    assert "SIGKILL" in r.stderr, r.stderr
    undisturbed(r, ("plain", "hit"))
    assert r.term() == 0


def test_a_plugin_that_is_killed_each_time_is_disabled_after_the_third(mixed):
    r = mixed(["moody"], "  bad: {plugin: moody, options: {in: probe, do: abort}}\n")
    bad = r.wait_state("bad", "failed")
    assert "disabled" in bad["detail"] + r.stderr, bad
    r.wait_state("web", "ready")
    undisturbed(r)
    assert r.term() == 0


def test_a_start_outlasts_a_host_that_is_killed_again_and_again(mixed):
    r = mixed(["moody"], """
  slow: {plugin: moody, options: {in: start, do: patient, calm: "${env.TMPDIR}/calm"}, ready: {timeout: 25s}}
  probed: {plugin: moody, options: {flag: "${env.TMPDIR}/calm"}, ready: {timeout: 25s}}
""", settings="boot-timeout: 60s")
    r.wait_state("slow", "starting", "failed")
    for _ in range(6):
        until("a host", lambda: host_of(r))
        kill_host(r)
        time.sleep(0.15)
    r.write("calm", "")
    r.wait_ready()
    undisturbed(r, ("plain", "web", "slow", "probed"))
    assert r.term() == 0


def test_many_asks_wait_for_a_stopped_host_and_none_is_lost(mixed):
    """More is asked than the channel takes while nobody reads it."""
    names = ["s%03d" % i for i in range(150)]
    r = mixed(["moody"], "".join("  %s: {plugin: moody, startup: disabled, environment: {MUCH: \"%s\"}}\n" % (n, "m" * 4000) for n in names))
    r.wait_ready()
    pid = until("the host", lambda: host_of(r))
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    got = r.ctl("start", *names, timeout=60)
    assert got.returncode == 0, (got.stderr, r.stderr)
    assert time.monotonic() - began < 15 * SLACK
    assert not harness.alive(pid), "the stopped one is still there"
    undisturbed(r)
    assert r.term() == 0


# ---- health

def test_the_probe_of_a_plugin_is_asked_again_and_again(mixed, tmp_path):
    flag = tmp_path / "flag"
    flag.write_text("")
    r = mixed(["moody"], "  bad: {plugin: moody, options: {flag: %s}, "
              "health: {period: 50ms, threshold: 1, on-failure: none}}\n" % flag)
    r.wait_state("bad", "ready")
    flag.unlink()
    assert "the flag is not there" in r.wait_state("bad", "unhealthy")["detail"]
    flag.write_text("")
    assert r.wait_state("bad", "ready")["generation"] == 1
    assert r.term() == 0


def test_a_hook_that_has_nothing_to_do_is_not_called(reeve, free_port):
    """An interpreter without a session prefix has nothing to clean up: its end needs no host, so there is none."""
    service = """{plugin: interpreter, command: [/bin/sleep, '1000'], ready: {exec: [/bin/true]}, ports: [%d],
    restart: {delay: 1ms}, options: {%s}}"""
    r = reeve("services:\n  bare: %s\n" % (service % (free_port(), "")))
    r.wait_state("bare", "ready")
    until("nobody needs the host", lambda: host_of(r) == 0)
    os.kill(r.service("bare")["pid"], signal.SIGKILL)
    until("its next life", lambda: r.service("bare")["generation"] == 2 and r.service("bare")["state"] == "ready")
    assert host_of(r) == 0
    assert r.ctl("stop", "bare").returncode == 0
    assert r.term() == 0
    r = reeve("services:\n  tidy: %s\n" % (service % (free_port(), "session-prefix: cells-of-one-")))
    r.wait_state("tidy", "ready")
    assert host_of(r)
    assert r.ctl("stop", "tidy").returncode == 0
    assert r.term() == 0
