"""The lines that the manual gives to platforms, taken from there and run."""
import os
import re
import subprocess
import time

import harness

MANUAL = os.path.join(harness.SRC, "man", "reevectl.1")
GRAPH = """
reeve: {boot-timeout: 60s, on-boot-failure: continue}
services:
  must: {command: [/bin/sleep, "1000"], ready: {exec: [/usr/bin/test, -e, %(gate)s], timeout: 50s}, restart: {on: never}}
  may: {command: [/bin/sleep, "1000"], essential: false, restart: {on: never}}
"""


def text_of(path):
    with open(path) as f:
        return f.read().replace("\\e\n", "\\\n")


def commands(text):
    """(platform, argv) of each line that asks for readiness."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        e2b = re.match(r"\s*template\.set\w+\(['\"]reeve['\"], (['\"])(reevectl wait .*)\1\)", line)
        docker = re.match(r"\s*HEALTHCHECK (?:--[a-z-]+=\S+ +)+CMD (.*reevectl wait .*)$", line)
        pod = re.match(r"\s*exec: \{command: \[(reevectl, wait, .*)\]\}$", line)
        if e2b:
            found.append(("e2b", ["/bin/sh", "-c", e2b[2]]))
        if docker:
            found.append(("docker", ["/bin/sh", "-c", docker[1].strip()]))
        if pod:
            found.append(("kubernetes", pod[1].split(", ")))
    return found


def test_each_platform_has_its_lines_in_the_manual_and_the_same_ones_stand_elsewhere():
    manual = commands(text_of(MANUAL))
    assert [platform for platform, _ in manual] == ["e2b", "e2b", "docker", "kubernetes", "kubernetes"]
    for other, least in (("README.md", 2), (os.path.join("etc", "Dockerfile"), 1)):
        here = commands(text_of(os.path.join(harness.SRC, other)))
        assert len(here) >= least and all(c in manual for c in here), (other, here)


class Asker:
    def __init__(self, r):
        bin = os.path.dirname(harness.REEVECTL)
        self.env = dict(r.env, PATH="%s:/usr/bin:/bin" % bin, REEVE_SOCKET=r.socket)

    def ask(self, argv, env=None):
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * harness.SLACK,
                              env=dict(self.env, **(env or {})), cwd="/")

    def all(self, **more):
        """platform -> the statuses of its lines."""
        got = {}
        for platform, argv in sorted({(p, tuple(a)) for p, a in commands(text_of(MANUAL))}):
            # what matters is the answer, not how long the platform's own patience is
            argv = [re.sub(r"\b\d+s\b", "200ms", word) if more.get("short") else word for word in argv]
            got.setdefault(platform, []).append(self.ask(argv, more.get("env")).returncode)
        return got


def test_the_lines_say_no_until_the_sandbox_is_ready_and_yes_from_then_on(reeve, tmp_path):
    gate = tmp_path / "gate"
    r = reeve(GRAPH % {"gate": gate})
    asker = Asker(r)
    r.wait_state("must", "starting")
    assert asker.all(short=True) == {"e2b": [6], "docker": [1], "kubernetes": [6]}
    gate.write_text("")
    assert asker.ask(["/bin/sh", "-c", "reevectl wait --ready --timeout 60s"]).returncode == 0
    began = time.monotonic()
    assert asker.all() == {"e2b": [0], "docker": [0], "kubernetes": [0]}
    assert time.monotonic() - began < 10 * harness.SLACK
    # degraded is ready, and says what is missing
    r.ctl("signal", "KILL", "may")
    r.wait_state("may", "failed", "exited")
    got = asker.ask(["/bin/sh", "-c", "reevectl wait --ready --timeout 3s"])
    assert got.returncode == 0 and "without may" in got.stderr
    assert asker.all() == {"e2b": [0], "docker": [0], "kubernetes": [0]}
    # what is essential and gone for good is a no at once, not after a timeout
    r.ctl("signal", "KILL", "must")
    r.wait_state("must", "failed")
    assert asker.all() == {"e2b": [3], "docker": [1], "kubernetes": [3]}


def test_the_lines_say_no_when_there_is_no_reeve(reeve, tmp_path):
    asker = Asker(reeve(GRAPH % {"gate": "/bin/sh"}))
    assert asker.all(short=True, env={"REEVE_SOCKET": str(tmp_path / "none.sock")}) == {
        "e2b": [7], "docker": [1], "kubernetes": [7]}
