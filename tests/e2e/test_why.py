"""`reevectl why` and `reevectl events`: what is waited for, and what has happened."""
import json
import os
import socket
import subprocess

import harness
import pytest


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


def test_a_daemon_that_ended_with_0_is_not_said_to_have_finished_well(reeve):
    r = reeve("services: {a: {command: [/bin/true]}}")
    r.wait_state("a", "exited")
    text = why(r, "a")["sentence"]
    assert text.startswith("a ended by itself with 0 ") and text.endswith("`reevectl start a` does"), text
    assert r.ctl("wait", "--ready").returncode == 3
    assert "a: ended by itself with 0: it is not started again" in r.stderr


STATES = """
reeve: {boot-timeout: 60s, on-boot-failure: continue, max-starts: 1, control: {mode: "0666"}}
services:
  gate: {command: [/bin/sh, -c, "while [ ! -e %(gate)s ]; do sleep 0.02; done"], type: task, ready: {timeout: 50s}}
  line: {command: [/bin/sleep, "1000"], essential: false}
  deaf:
    command: [/bin/sh, -c, "trap '' TERM INT; echo >&3; while [ ! -e %(gate)s.deaf ]; do sleep 0.05; done"]
    ready: {fd: 3}
    needs: [gate]
    stop: {steps: [{signal: INT, timeout: 60s}, {signal: TERM, timeout: 2s}]}
  above:
    command: [/bin/sh, -c, "trap '' TERM; echo >&3; while [ ! -e %(gate)s.above ]; do sleep 0.05; done"]
    ready: {fd: 3}
    needs: [deaf]
    stop: {signal: TERM, timeout: 60s}
  tired: {command: [/bin/sh, -c, "while [ ! -e %(gate)s.tired ]; do sleep 0.02; done; exit 3"], needs: [gate], essential: false,
    restart: {on: always, delay: 200s, max-delay: 200s}}
  broken: {command: [/nowhere/program], needs: [gate], essential: false}
"""


def test_each_state_has_its_sentence(reeve, tmp_path):
    r = reeve(STATES % {"gate": tmp_path / "gate"})
    r.wait_state("gate", "starting")
    got = why(r, "gate")
    assert got["waits_for"] == "exit" and "it is a task, and there when it has finished well (it runs, " in got["sentence"]
    got = why(r, "line")
    assert (got["waits_for"], got["other"]) == ("permit", "gate")
    assert got["sentence"] == "line could start, and waits for a permit: max-starts is 1, and gate starts now"
    whole = why(r)
    assert not whole["ready"] and whole["sentence"].startswith("the sandbox is not ready: it waits for gate")
    (tmp_path / "gate").write_text("")
    r.wait_state("above", "ready")
    assert "gate finished well " in why(r, "gate")["sentence"]
    r.wait_state("broken", "failed")
    text = why(r, "broken")["sentence"]
    assert "broken failed " in text and "cannot execute /nowhere/program: No such file or directory; `reevectl start broken`" in text
    harness.until("the boot is over", lambda: why(r)["boot"] == "degraded")  # it does not end while somebody waits to be restarted
    (tmp_path / "gate.tired").write_text("")
    r.wait_state("tired", "backoff")
    got = why(r, "tired")
    assert got["waits_for"] == "delay" and 0 < got["left_ms"] <= 400000
    assert got["sentence"].startswith("tired starts again in ") and got["sentence"].endswith(" (restart 1): exited with 3")
    whole = why(r)
    assert (whole["ready"], whole["degraded"]) == (True, True)
    assert whole["sentence"] == "the sandbox is ready, but degraded: without tired, broken"
    assert sorted(s["name"] for s in whole["services"]) == ["broken", "tired"]
    # a stop from the top: who stands on it first, then its own steps; behind the last one comes KILL
    r.ctl("stop", "deaf", "--no-wait")
    r.wait_state("above", "stopping")
    got = why(r, "deaf")
    assert (got["waits_for"], got["other"]) == ("dependents", "above")
    assert got["sentence"] == "deaf has to stop, and waits until above, which depends on it, is gone"
    assert "above has been stopping for " in why(r, "above")["sentence"]
    assert "it got SIGTERM, and SIGKILL follows in " in why(r, "above")["sentence"]
    (tmp_path / "gate.above").write_text("")
    r.wait_state("deaf", "stopping")
    assert "(stopped on request): it got SIGINT, and SIGTERM follows in " in why(r, "deaf")["sentence"]
    (tmp_path / "gate.deaf").write_text("")
    r.wait_state("deaf", "stopped")
    assert "deaf was stopped on request of user %d " % os.getuid() in why(r, "deaf")["sentence"]
    assert "above waits until deaf is ready; deaf was stopped on request " in why(r, "above")["sentence"]


@pytest.mark.root
def test_others_may_ask_why_and_are_not_told_what_a_service_wrote(reeve, tmp_path):
    r = reeve(STATES.replace("max-starts: 1", "max-starts: 0") % {"gate": tmp_path / "gate"} + """
  checked:
    command: [/bin/sleep, "1000"]
    ready: {exec: [/bin/sh, -c, "echo what-was-written; exit 1"], timeout: 40s}
    essential: false
""")
    r.wait_socket()
    harness.until("the check to have been answered", lambda: why(r, "checked")["check"])

    def ask(*args):
        return subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", harness.REEVECTL, "-s",
                               r.socket, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30 * harness.SLACK, cwd="/")

    mine, theirs = r.ctl("why", "checked").stdout, ask("why", "checked")
    assert "what-was-written" in mine
    assert theirs.returncode == 0, theirs.stderr
    assert "its command /bin/sh does not hold yet (attempt " in theirs.stdout and "what-was-written" not in theirs.stdout
    events = ask("--json", "events", "-n", "all")
    assert events.returncode == 0 and "starting" in events.stdout and "what-was-written" not in events.stdout
    assert ask("start", "checked", "--option", "a=b").returncode == 5


def lines_of(p, count):
    return [json.loads(p.stdout.readline()) for _ in range(count)]


def test_events_are_told_in_order_with_generations_and_reasons_and_followed(reeve, tmp_path):
    r = reeve("services: {a: {command: [/bin/sleep, '1000'], restart: {on: failure, delay: 10ms}}}")
    r.wait_ready()
    past = [json.loads(line) for line in r.ctl("--json", "events").stdout.splitlines()]
    assert [(e["event"], e.get("state")) for e in past] == [("state", "starting"), ("state", "ready"), ("boot", None)]
    assert past[2]["boot"] == "done" and [e["number"] for e in past] == [0, 1, 2]
    assert past[1]["pid"] == r.service("a")["pid"] and past[1]["generation"] == 1
    p = subprocess.Popen([harness.REEVECTL, "-s", r.socket, "--json", "events", "-f", "-n", "1"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, text=True, env=r.env)
    try:
        assert lines_of(p, 1)[0]["number"] == 2
        r.ctl("signal", "KILL", "a")
        new = lines_of(p, 3)
        assert [(e["state"], e["generation"]) for e in new] == [("backoff", 1), ("starting", 2), ("ready", 2)]
        assert new[0]["exit"] == {"signal": "KILL", "number": 9} and new[0]["detail"] == "killed by SIGKILL"
        assert r.term() == 0
        assert p.wait(20 * harness.SLACK) == 0, "it ends with reeve"
    finally:
        p.kill()
        p.wait()
    text = r.stderr
    assert "cannot" not in text


def test_a_follower_that_does_not_read_costs_nothing_and_hinders_nobody(reeve, tmp_path):
    r = reeve("services: {a: {command: [/bin/sleep, '1000']}}")
    r.wait_ready()
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(r.socket)
        s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"events","params":{"follow":true}}\n')
        for _ in range(20):
            assert r.ctl("restart", "a").returncode == 0
        lines = 0
        s.settimeout(10 * harness.SLACK)
        got = b""
        while lines < 1 + 20 * 4:
            got += s.recv(65536)
            lines = got.count(b"\n")
        assert b'"lost"' not in got


# a secret in the path of a URL, of a file, of a socket or of a program is none that a sentence shows
@pytest.mark.parametrize("check, shown", [
    ("http: {url: 'http://127.0.0.1:%(port)d/a/${env.API_KEY}/b'}", "GET http://127.0.0.1:%(port)d/a/***/b: "),
    ("file: '/nowhere/${env.API_KEY}'", "file /nowhere/***: "),
    ("unix: '/nowhere/${env.API_KEY}.sock'", "unix /nowhere/***.sock: "),
    ("exec: ['%(dir)s/${env.API_KEY}/probe', '${env.API_KEY}']", "%(dir)s/***/probe exited with 3: said *** and left"),
])
def test_no_sentence_shows_a_secret_that_the_environment_brought(reeve, free_port, tmp_path, check, shown):
    secret = "s3cret-of-nobody"
    (tmp_path / secret).mkdir()
    (tmp_path / secret / "probe").write_text('#!/bin/sh\necho "said $1 and left"; exit 3\n')
    (tmp_path / secret / "probe").chmod(0o755)
    names = {"port": free_port(), "dir": tmp_path}
    r = reeve("""
reeve: {on-boot-failure: continue}
services:
  a: {command: [/bin/sleep, "1000"], ready: {%s, timeout: 40s}}
  b: {command: [/bin/sleep, "1000"], ready: {%s, timeout: %s}}
""" % (check % names, check % names, harness.seconds(1.5)), env={"API_KEY": secret})
    r.wait_socket()
    harness.until("an answer", lambda: shown % names in why(r, "a")["sentence"])
    r.wait_state("b", "failed")
    assert "b: failed: not ready within " in r.stderr and "; last check: " + shown % names in r.stderr, r.stderr
    seen = "".join(r.ctl(*words).stdout for words in (["--json", "why"], ["why"], ["--json", "status"], ["--json", "events"]))
    assert shown % names in seen and secret not in seen + r.stderr
    assert r.term() == 0
    assert secret not in r.stderr
