"""The plugin host beside a real reeve: it may die, and no service is touched for it."""
import os
import signal

import harness
import pytest
from harness import alive, children_of, cmdline, until

STANDIN = os.path.join(harness.SRC, "etc", "sandbox", "envd-standin")
BUILD = harness.BUILD


@pytest.fixture
def plugins(tmp_path):
    """A folder with the real plugins and those that misbehave, and http.so beside it."""
    if not os.path.exists(os.path.join(BUILD, "tests", "plugins", "spin.so")):
        pytest.skip("the plugins of tests/plugins are not built (make check builds them)")
    folder = tmp_path / "plugins"
    folder.mkdir()
    (tmp_path / "http.so").symlink_to(os.path.join(BUILD, "http.so"))
    for place in ("plugins", "tests/plugins"):
        for name in os.listdir(os.path.join(BUILD, place)):
            if name.endswith(".so"):
                (folder / name).symlink_to(os.path.join(BUILD, place, name))
    return str(folder)


def name_of(pid):
    try:
        with open("/proc/%d/comm" % pid) as f:
            return f.read().strip()
    except OSError:
        return ""


def host_of(r):
    return next((p for p in children_of(r.pid) if name_of(p) == "reeve-host"), None)


def envd(port):
    return "{plugin: envd, options: {bin: %s, port: %d}, environment: {STANDIN: loopback}}" % (STANDIN, port)


def test_a_plugin_that_crashes_is_named_and_its_neighbours_become_ready(reeve, free_port, plugins):
    r = reeve("""
reeve: {on-boot-failure: continue}
services:
  good: %s
  bad: {plugin: crash, command: [/bin/sleep, "1000"], essential: false}
""" % envd(free_port()), args=("--plugin-dir", plugins))
    good = r.wait_state("good", "ready")
    bad = r.wait_state("bad", "failed")
    assert "plugin host died in crash.probe: SIGSEGV" in r.stderr
    assert not bad.get("pid")
    assert r.service("good")["pid"] == good["pid"]
    assert r.term() == 0


def test_a_plugin_that_hangs_or_spins_is_named(reeve, plugins):
    r = reeve("""
reeve: {on-boot-failure: continue}
services:
  keep: {command: [/bin/sleep, "1000"]}
  spin: {plugin: spin, command: [/bin/sleep, "1000"], essential: false}
  sleeper: {plugin: sleeper, command: [/bin/sleep, "1000"], essential: false}
""", args=("--plugin-dir", plugins))
    r.wait_state("spin", "failed")
    r.wait_state("sleeper", "failed")
    assert "plugin host died in spin.probe: a turn took more than 100ms of CPU" in r.stderr
    assert "plugin host died in sleeper.probe: hung: a turn took longer than 1s" in r.stderr
    r.wait_state("keep", "ready")
    assert r.term() == 0


def test_services_outlive_the_host_and_it_comes_back_when_it_is_needed(reeve, free_port):
    r = reeve("services: {e: %s, f: %s}\n" % (envd(free_port()), envd(free_port())))
    r.wait_ready()
    before = {n: r.service(n)["pid"] for n in "ef"}
    host = host_of(r)
    assert host and cmdline(host)
    # what is sent to everything that is called reeve is not for the host
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        os.kill(host, number)
    assert r.ctl("restart", "f").returncode == 0 and host_of(r) == host
    before["f"] = r.service("f")["pid"]
    os.kill(host, signal.SIGKILL)
    until("the host is gone", lambda: not alive(host))
    assert {n: r.service(n)["pid"] for n in "ef"} == before
    assert r.ctl("restart", "e").returncode == 0  # proven ready again, so the host was asked
    assert r.service("e")["pid"] != before["e"] and r.service("f")["pid"] == before["f"]
    assert host_of(r) not in (None, host)
    assert r.term() == 0


def test_what_cannot_be_loaded_is_refused_before_anything_starts(reeve, plugins):
    r = reeve("""
services:
  a: {plugin: oldabi}
  b: {plugin: diesloading}
  c: {plugin: exec, command: [/bin/sh, -c, 'touch "$TMPDIR/started"; exec sleep 1000']}
""", args=("--plugin-dir", plugins))
    assert r.wait() == 78
    assert "oldabi.so: it is built for plugin ABI 0" in r.stderr
    assert "died while loading diesloading: exited with 3" in r.stderr
    assert not os.path.exists(r.path("started"))


def test_a_graph_of_exec_has_no_host_once_it_is_loaded(reeve):
    r = reeve('services: {a: {command: [/bin/sleep, "1000"]}}\n')
    r.wait_ready()
    until("the host left", lambda: host_of(r) is None)
    assert r.term() == 0
