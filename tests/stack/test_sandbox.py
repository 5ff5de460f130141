"""The main job, for real: the sample sandbox is booted, proven ready, used by real clients, and hurt.
Everything is done twice: with reeve as PID 1, and with reeve as a subreaper that is not PID 1."""
import os
import subprocess
import time

import harness
import pytest
from sandbox import PORTS, SERVICES, Sandbox, outer_pids

pytestmark = pytest.mark.bound(150)


@pytest.fixture(scope="module")
def sandbox(world):
    """One booted sandbox for the tests of a world that do not end it."""
    s = Sandbox(pid1=world == "pid1")
    try:
        s.wait_ready(60)
        yield s
    finally:
        trouble = s.close()
        s.remove()
    assert not trouble, "\n".join(trouble)


# ---- up --------------------------------------------------------------------------------------------------------------


def test_all_four_are_ready_with_a_pid_each(sandbox):
    services = sandbox.services()
    assert sorted(services) == SERVICES
    assert {s["state"] for s in services.values()} == {"ready"}
    pids = [s["pid"] for s in services.values()]
    assert len(set(pids)) == 4 and all(pids)


def test_the_table_shows_a_line_for_each(sandbox):
    lines = sandbox.ctl("status").stdout.splitlines()
    assert lines[0].split()[:5] == ["NAME", "STATE", "PID", "UPTIME", "RESTARTS"]
    assert sorted(line.split()[0] for line in lines[1:]) == SERVICES
    assert all(line.split()[1] == "ready" for line in lines[1:])


def test_the_sdk_runs_a_cell_and_keeps_state_between_two(sandbox):
    one, two, three = sandbox.run_code("1+1", "x = 41", "x + 1")
    assert (one["text"], two["error"], three["text"]) == ("2", None, "42")


def test_the_sdk_sees_output_and_errors(sandbox):
    out, err, bad = sandbox.run_code("print('to stdout')", "import sys; print('to stderr', file=sys.stderr)", "1/0")
    assert (out["stdout"], err["stderr"]) == ("to stdout\n", "to stderr\n")
    assert bad["error"]["name"] == "ZeroDivisionError"


def test_the_sdk_makes_and_removes_contexts(sandbox):
    got = sandbox.run_code("--contexts")[0]
    assert got["apart"] == "False" and got["listed"] and not got["after"]


# known-gap: one-server-gateway
def test_an_mcp_client_lists_the_tools_and_calls_one(sandbox):
    got = sandbox.call_tool("echo", {"message": "through the gateway"})
    assert "echo" in got["tools"]
    assert got["answer"] == [{"type": "text", "text": "Echo: through the gateway"}]


def test_cells_see_what_was_given_to_envd(sandbox):
    import urllib.request
    body = b'{"envVars": {"GIVEN": "it\'s \\"quoted\\""}}'
    urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:49983/init", data=body, method="POST"), timeout=20 * harness.SLACK).close()
    assert sandbox.ctl("restart", "interpreter", timeout=60).returncode == 0
    sandbox.wait_ready()
    assert sandbox.run_code("import os; print(os.environ['GIVEN'])")[0]["stdout"] == "it's \"quoted\"\n"


def test_the_reserved_port_is_inherited_and_leaks_into_nobody_else(sandbox):
    pids = sandbox.pids()

    def sockets(pid):
        found = set()
        for fd in os.listdir("/proc/%d/fd" % pid):
            try:
                found.add(os.readlink("/proc/%d/fd/%s" % (pid, fd)))
            except OSError:
                pass
        return found

    inode = listener_inode(PORTS["interpreter"])
    outer = outer_pids(sandbox, pids)
    assert "socket:[%s]" % inode in sockets(outer["interpreter"])
    for name in ("envd", "jupyter", "mcp-gateway"):
        assert "socket:[%s]" % inode not in sockets(outer[name]), name


def listener_inode(port):
    with open("/proc/net/tcp") as f:
        for line in f.read().splitlines()[1:]:
            words = line.split()
            if words[1].endswith(":%04X" % port) and words[3] == "0A":
                return words[9]
    raise AssertionError("nobody listens on %d" % port)


def test_what_the_sdk_runs_for_mcp_replaces_the_gateway_and_nothing_else(sandbox, tmp_path):
    before = sandbox.pids()
    env = dict(sandbox.env, REEVE_SOCKET=sandbox.socket, GATEWAY_ACCESS_TOKEN="11111111-2222-4333-8444-555555555555",
               MCP_GATEWAY_TOKEN_FILE=str(tmp_path / "token"))
    got = subprocess.run([os.path.join(harness.BUILD, "mcp-gateway"), "--config", '{"everything": {}}'],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * harness.SLACK, env=env)
    assert (got.returncode, got.stderr) == (0, "")
    after = sandbox.pids()
    assert [name for name in SERVICES if after[name] != before[name]] == ["mcp-gateway"]
    assert sandbox.call_tool("echo", {"message": "as asked"})["answer"][0]["text"] == "Echo: as asked"


def again(sandbox, killed):
    """Waits until a cell is run again, and says how long that took; the client's own start is part of it."""
    whole = sandbox.works_again()
    began = time.monotonic()
    assert sandbox.run_code("6*7")[0]["text"] == "42"
    return "kill -9 of %s to the answer of the SDK's next runCode: %.1f s (a runCode alone: %.1f s)" % (
        killed, whole, time.monotonic() - began)


# ---- hurt ------------------------------------------------------------------------------------------------------------


def test_after_jupyter_was_killed_the_sdk_works_again_by_itself(sandbox, record_property):
    before = sandbox.services()
    kernels = sandbox.processes("ipykernel")
    assert kernels
    got = sandbox.ctl("signal", "KILL", "jupyter")
    assert got.returncode == 0, got.stderr
    record_property("measured", again(sandbox, "jupyter"))
    sandbox.wait_ready()
    after = sandbox.services()
    assert after["jupyter"]["pid"] != before["jupyter"]["pid"]
    assert after["interpreter"]["pid"] != before["interpreter"]["pid"], "it must be restarted with what holds its kernels"
    assert after["envd"]["pid"] == before["envd"]["pid"]
    assert after["mcp-gateway"]["pid"] == before["mcp-gateway"]["pid"]
    assert not set(kernels) & set(sandbox.processes("ipykernel")), "those of the earlier life"


def test_after_the_interpreter_was_killed_the_sdk_works_again_by_itself(sandbox, record_property):
    before = sandbox.services()
    got = sandbox.ctl("signal", "KILL", "interpreter")
    assert got.returncode == 0, got.stderr
    record_property("measured", again(sandbox, "interpreter"))
    sandbox.wait_ready()
    after = sandbox.services()
    assert after["interpreter"]["pid"] != before["interpreter"]["pid"]
    assert after["jupyter"]["pid"] == before["jupyter"]["pid"]
    harness.until("one kernel to be left", lambda: len(sandbox.processes("ipykernel")) == 1)


def test_after_the_gateway_was_killed_a_tool_can_be_called_again(sandbox):
    assert sandbox.ctl("signal", "KILL", "mcp-gateway").returncode == 0

    def look():
        try:
            return sandbox.call_tool("echo", {"message": "again"})["answer"][0]["text"] == "Echo: again"
        except AssertionError:
            return False

    harness.until("the tool to answer", look, 30, every=0.2)
    sandbox.wait_ready()
    assert len(sandbox.processes("server-everything/dist")) <= 2, "the proxy and one server"
