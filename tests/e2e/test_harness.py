"""The harness itself: it must see what it is there to see."""
import os
import subprocess
import sys
import uuid

import harness
import pytest


def test_a_wait_that_runs_out_says_what_it_waited_for():
    with pytest.raises(harness.Late, match="the sun"):
        harness.until("the sun", lambda: False, timeout=0.1)


def test_a_process_that_was_left_behind_is_found_by_its_mark():
    mark = uuid.uuid4().hex
    env = dict(os.environ, STORY_MARK=mark)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], env=env)
    try:
        harness.until("the process to be seen", lambda: child.pid in harness.marked(mark))
    finally:
        child.kill()
        child.wait()
    assert harness.marked(mark) == []


def test_a_free_port_can_be_bound_and_is_below_the_ephemeral_range():
    assert 1024 < harness.free_port() < 32768


def test_two_programs_of_tests_are_never_given_the_same_port():
    """Nobody binds any of them, so that each looks free to all."""
    script = "import harness, sys\nprint(*[harness.free_port() for _ in range(harness.BLOCK + 1)], flush=True)\nsys.stdin.read()"
    several = [subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                cwd=os.path.dirname(os.path.abspath(__file__))) for _ in range(3)]
    given = [[int(word) for word in p.stdout.readline().split()] for p in several]
    for p in several:
        p.communicate()
    whole = [port for ports in given for port in ports]
    assert len(set(whole)) == len(whole) == 3 * (harness.BLOCK + 1), "some are given twice"


def test_what_a_reeve_started_is_found_wherever_it_went(reeve):
    """The mark must get through to services and their strays, or nobody would notice what is left behind."""
    r = reeve("services: {a: {command: [/bin/sh, -c, 'setsid sleep 100 & exec sleep 101']}}")
    r.wait_state("a", "ready")
    harness.until("both to be seen", lambda: {"sleep 100", "sleep 101"} <= {harness.cmdline(pid) for pid in r.leftovers()})
    assert r.term() == 0
    assert r.leftovers() == []
