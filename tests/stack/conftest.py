"""The suites of the real stack use the harness and the fixtures of tests/e2e."""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(os.path.dirname(here), "e2e")]
from fixtures import *  # noqa: E402,F401,F403
import harness  # noqa: E402
import pytest  # noqa: E402
from sandbox import Sandbox  # noqa: E402


@pytest.fixture(scope="module", params=["pid1", "subreaper"])
def world(request):
    if request.param == "pid1" and not harness.can_unshare():
        pytest.skip("no process namespace can be made here")
    return request.param


@pytest.fixture
def fresh(world, request):
    """A sandbox for one test, which ends it."""
    made = []

    def boot(**more):
        s = Sandbox(pid1=world == "pid1", **more)
        made.append(s)
        return s

    yield boot
    failed = getattr(request.node, "report_call", None) is not None and request.node.report_call.failed
    for s in made:
        story = s.story()
        trouble = s.close()
        s.remove()
        if failed:
            request.node.add_report_section("teardown", "reeve", story)
        assert not trouble, "\n".join(trouble)
