"""Budgets: what bounds a request, a service and the boot, what they add up to, and where the time went (R-28...R-31, R-133)."""
from harness import PLUGINS

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
