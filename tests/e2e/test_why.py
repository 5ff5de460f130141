"""`reevectl why` and `reevectl events`: what is waited for, and what has happened."""
import json
import os
import socket
import subprocess

import harness


def why(r, name=None):
    got = r.ctl("--json", "why", *([name] if name else []))
    assert got.returncode == 0, got.stderr
    answer = json.loads(got.stdout)
    return answer["services"][0] if name else answer


CHAIN = """
reeve: {boot-timeout: 60s, on-boot-failure: continue}
services:
  base:
    command: [/bin/sh, -c, "exec sleep 1000"]
    ready: {exec: [/bin/sh, -c, "echo not yet; test -e %(gate)s"], timeout: 40s}
  middle: {command: [/bin/sh, -c, "exec sleep 1000"], needs: [base]}
  top: {command: [/bin/sh, -c, "exec sleep 1000"], needs: [middle]}
  free: {command: [/bin/sh, -c, "exec sleep 1000"], startup: disabled}
"""


def test_why_follows_the_chain_down_to_the_check_that_fails(reeve, tmp_path):
    r = reeve(CHAIN % {"gate": tmp_path / "gate"})
    r.wait_state("base", "starting")
    harness.until("the check to have been answered", lambda: why(r, "base")["check"])
    text = r.ctl("why", "top").stdout
    assert text.startswith("top waits until middle is ready, middle until base is ready; base has been starting for "), text
    assert "/bin/sh exited with 1: not yet (attempt " in text and " left)" in text
    assert text.endswith("; then middle starts\n") and text.count("\n") == 1
    top, base = why(r, "top"), why(r, "base")
    assert (top["waits_for"], top["other"], top["root"]) == ("service", "middle", "base")
    assert (base["waits_for"], base["next"], base["root"]) == ("check", ["middle"], None)
    assert base["check"] == "/bin/sh exited with 1: not yet"
    assert 0 < base["left_ms"] < 40000 and base["trying_ms"] > 0 and base["attempt"] > 0
    (tmp_path / "gate").write_text("")
    r.wait_state("top", "ready")
    assert "has been ready for" in r.ctl("why", "base").stdout
    assert "unproven: nothing checks it" in r.ctl("why", "top").stdout
    assert "was never started: it is not enabled, and nothing needs it" in r.ctl("why", "free").stdout
