"""Budgets: what bounds a request, a service and the boot, what they add up to, and where the time went (R-28...R-31, R-133)."""
import re
import time

from harness import PLUGINS
from test_hosts import mixed  # noqa: F401

GATES = """
version: 1
%s
services:
  a: {command: [/bin/true], ready: {tcp: 7001, timeout: 20s}}
  b: {command: [/bin/true], ready: {tcp: 7002, timeout: 20s}, needs: [a]}
  c: {command: [/bin/true], ready: {tcp: 7003, timeout: 20s}, needs: [b]}
"""


#
def test_check_adds_the_budgets_up_and_warns_once_when_the_window_is_shorter(once, tmp_path):
    (tmp_path / "g.yaml").write_text(GATES % "reeve: {log: {dir: %s}, platform-window: 30s}" % tmp_path)
    got = once("check", "-c", "g.yaml", "--plugin-dir", PLUGINS)
    assert got.returncode == 0, got.stderr
    assert got.stderr.count("warning") == 1, got.stderr
    assert "1m (a 20s + b 20s + c 20s), more than reeve.platform-window, 30s" in got.stderr
    (tmp_path / "g.yaml").write_text(GATES % "reeve: {log: {dir: %s}, platform-window: 90s, boot-timeout: 70s}" % tmp_path)
    got = once("check", "-c", "g.yaml", "--plugin-dir", PLUGINS)
    assert got.returncode == 0 and not got.stderr, got.stderr
    (tmp_path / "g.yaml").write_text(GATES % "reeve: {platform-window: soon}")
    got = once("check", "-c", "g.yaml", "--plugin-dir", PLUGINS)
    assert got.returncode == 78 and "g.yaml:3:26: reeve.platform-window must be a duration" in got.stderr, got.stderr


SILENT = """
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen(50)
kept = []
while True:
    kept.append(s.accept()[0])
    with open("asked", "a") as f: f.write("x")
"""


# R-29 R-28: one request is given up long before the service is
def test_a_request_a_service_and_the_boot_have_a_bound_each(reeve, free_port):
    text = """
reeve: {boot-timeout: %s}
services:
  mute:
    command: [/usr/bin/python3, silent.py, "%d"]
    working-dir: "${env.TMPDIR}"
    ready: {http: {url: "http://127.0.0.1:%d/"}, attempt-timeout: 300ms, timeout: %s}
"""
    port = free_port()
    r = reeve(text % ("60s", port, port, "4s"), files={"silent.py": SILENT})
    assert r.wait() == 10
    assert 3 <= len(r.read("asked")) <= 14, "each request has its own bound"
    assert "mute: failed: not ready within 4s; last check: " in r.stderr
    assert 4 <= time.monotonic() - r.started < 14
    port = free_port()
    r = reeve(text % ("1s", port, port, "60s"), files={"silent.py": SILENT})
    assert r.wait() == 10
    assert "boot failed after 1" in r.stderr and "mute: boot timeout; last check: " in r.stderr, r.stderr


#
def test_status_tells_where_the_time_of_each_start_went(mixed):
    r = mixed(["moody"], """
  told: {plugin: moody, options: {in: update, do: slow}}
  late: {command: [/bin/sh, -c, 'sleep 0.4; echo >&3; exec sleep 1000'], ready: {fd: 3}}
  task: {command: [/bin/sleep, "0.2"], type: task}
  never: {command: [/nonexistent]}
""", well=False)
    r.wait_text("boot failed")
    got = {name: s["durations"] for name, s in r.services().items()}
    assert all(set(d) == {"spawn_ms", "ready_ms", "init_ms"} for d in got.values())
    assert 250 <= got["told"]["init_ms"] < 5000 and got["told"]["ready_ms"] < 5000, got
    assert 350 <= got["late"]["ready_ms"] < 5000 and got["late"]["init_ms"] < 100, got
    assert 150 <= got["task"]["ready_ms"] < 5000 and got["task"]["init_ms"] is None, got
    assert all(0 < got[name]["spawn_ms"] < 2000 for name in ("told", "late", "task")), got
    assert got["never"] == {"spawn_ms": None, "ready_ms": None, "init_ms": None}
    assert re.search(r"told: ready after \S+ \(pid \d+;.* init [\d.]+m?s\)", r.stderr), r.stderr
    told = [e for e in r.ctl("events", "-n", "0").stdout.splitlines() if " told ready" in e]
    assert re.search(r": after \S+;.* init [\d.]+m?s$", told[0]), told
    assert r.ctl("stop", "late").returncode == 0
    assert r.service("late")["durations"] == got["late"], "they are kept when it is over"
    assert r.term() == 0
