"""Budgets: what bounds a request, a service and the boot, what they add up to, and where the time went (R-28...R-31, R-133)."""
import re
import time

from harness import PLUGINS, SLACK
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


# R-29 R-28 R-30: nobody ever answers, since nobody takes the connections that wait in the backlog
def test_a_request_a_service_and_the_boot_have_a_bound_each(reeve, free_port):
    text = """
reeve: {boot-timeout: %s}
services:
  mute:
    command: [/bin/sleep, "1000"]
    listen: [{name: http, tcp: "127.0.0.1:%d", backlog: 64}]
    ready: {http: {url: "http://127.0.0.1:${listen.http.port}/"}, attempt-timeout: 200ms, timeout: %s}
"""  # less than a second is the bound of the request, not of the service
    r = reeve(text % ("60s", free_port(), "2s"))
    assert r.wait() == 10
    assert re.search(r"mute: failed: not ready within 2s; last check: .*no answer within \d{1,3}ms", r.stderr), r.stderr
    assert 2 <= time.monotonic() - r.started < 12 * SLACK
    assert len(set(re.findall(r"no answer within \d+\w+", r.stderr))) == 1, "told in three places, and the same in each: " + r.stderr
    r = reeve(text % ("1s", free_port(), "60s"))
    assert r.wait() == 10
    assert re.search(r"boot failed after 1\S*s: mute: boot timeout; last check: .*no answer within \d{1,3}ms", r.stderr), r.stderr


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
    most = 5000 * SLACK
    assert 250 <= got["told"]["init_ms"] < most and got["told"]["ready_ms"] < most, got
    assert 350 <= got["late"]["ready_ms"] < most and got["late"]["init_ms"] < got["late"]["ready_ms"], got
    assert 150 <= got["task"]["ready_ms"] < most and got["task"]["init_ms"] is None, got
    assert all(0 < got[name]["spawn_ms"] < most for name in ("told", "late", "task")), got
    assert got["never"] == {"spawn_ms": None, "ready_ms": None, "init_ms": None}
    assert re.search(r"told: ready after \S+ \(pid \d+;.* init [\d.]+m?s\)", r.stderr), r.stderr
    told = [e for e in r.ctl("events", "-n", "0").stdout.splitlines() if " told ready" in e]
    assert re.search(r": after \S+;.* init [\d.]+m?s$", told[0]), told
    assert r.ctl("stop", "late").returncode == 0
    assert r.service("late")["durations"] == got["late"], "they are kept when it is over"
    assert r.term() == 0
