"""The harness itself: it must see what it is there to see."""
import os
import subprocess
import sys

import harness
import pytest


def test_a_wait_that_runs_out_says_what_it_waited_for():
    with pytest.raises(harness.Late, match="the sun"):
        harness.until("the sun", lambda: False, timeout=0.1)


def test_a_process_that_was_left_behind_is_found_by_its_mark():
    env = dict(os.environ, STORY_MARK="mark-of-this-test")
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"], env=env)
    try:
        harness.until("the process to be seen", lambda: child.pid in harness.marked("mark-of-this-test"))
    finally:
        child.kill()
        child.wait()
    assert harness.marked("mark-of-this-test") == []


def test_a_free_port_can_be_bound_and_is_below_the_ephemeral_range():
    assert 1024 < harness.free_port() < 32768


def test_what_a_reeve_started_is_found_wherever_it_went(reeve):
    """The mark must get through to services and their strays, or nobody would notice what is left behind."""
    r = reeve("services: {a: {command: [/bin/sh, -c, 'setsid sleep 100 & exec sleep 101']}}")
    r.wait_state("a", "ready")
    harness.until("both to be seen", lambda: {"sleep 100", "sleep 101"} <= {harness.cmdline(pid) for pid in r.leftovers()})
    assert r.term() == 0
    assert r.leftovers() == []
