"""The sandbox's variables in cells, by the real SDK: those that it was created with, and those that were set later."""
import json

import harness
import pytest
from sandbox import PORTS

pytestmark = pytest.mark.bound(150)

MARK = "v4lue-that-nobody-logs"
FEWER = {"fewer.yaml": "services: {mcp-gateway: {startup: disabled}}"}


def look(*names):
    return "import os; print(*[os.environ.get(n, '-') for n in %r])" % (names,)


def given(**variables):
    return {"REEVE_CREATE_ENVIRONMENT": json.dumps({"envVars": variables})}


@pytest.fixture
def once(fresh, world):
    """As fresh, where it does not matter how reeve runs."""
    if world != "subreaper":
        pytest.skip("it is done once")
    return fresh


def outputs(answers):
    assert [a["error"] for a in answers] == [None] * len(answers), answers
    return [a["stdout"].split() for a in answers]


# R-55 R-56
def test_cells_see_what_was_set_at_boot_and_later_in_a_kernel_that_runs(fresh):
    s = fresh(files=FEWER, env={**given(BOOT=MARK, A="boot"), "A": "reeve's own"})
    s.wait_ready(60)
    before = s.pids()
    assert outputs(s.run_code(look("BOOT", "A", "LATER"), "kept = 41")) == [[MARK, "boot", "-"], []]
    got = s.ctl("env", "set", "LATER=later", "A=changed")
    assert got.returncode == 0, got.stderr
    # the same kernel: what it had is still there
    assert outputs(s.run_code(look("BOOT", "A", "LATER"), "print(kept)")) == [[MARK, "changed", "later"], ["41"]]
    # a call's own variables hold for the call
    own = json.dumps({"A": "call", "ONCE": "call"})
    assert outputs(s.run_code("--envs", own, look("A", "ONCE"), look("A", "ONCE"))) == [["call", "call"], ["changed", "-"]]
    # a kernel that begins now
    assert outputs(s.run_code("--in-new", look("BOOT", "A", "LATER"))) == [[MARK, "changed", "later"]]
    assert s.pids() == before, "nobody was restarted for it"
    logs = s.stderr + "".join(s.log(name) for name in PORTS)
    assert s.term() == 0
    assert MARK not in logs


# R-39 R-56: a new life of each is given the whole set again
def test_cells_see_all_of_it_after_one_was_killed(once):
    s = once(files=FEWER, env=given(BOOT="boot"))
    s.wait_ready(60)
    assert s.ctl("env", "set", "LATER=later").returncode == 0
    for name in ("envd", "interpreter", "jupyter"):
        before = s.service(name)["pid"]
        assert s.ctl("signal", "KILL", name).returncode == 0
        harness.until("the next life of " + name, lambda: s.service(name).get("pid") not in (None, 0, before), 30)
        s.works_again()
        s.wait_ready()
        assert outputs(s.run_code(look("BOOT", "LATER"))) == [["boot", "later"]], name
    assert s.term() == 0


# what cannot be told to one is not set
def test_a_set_that_the_interpreter_cannot_be_told_changes_nothing(once):
    s = once(files={"fewer.yaml": """
services:
  mcp-gateway: {startup: disabled}
  interpreter: {options: {envs-path: /nothing-there}}
"""})
    s.wait_ready(60)
    got = s.ctl("env", "set", "LATER=later")
    assert got.returncode == 1 and "/nothing-there answered 404" in got.stderr, got.stderr
    assert outputs(s.run_code(look("LATER"))) == [["-"]]
    assert s.term() == 0
