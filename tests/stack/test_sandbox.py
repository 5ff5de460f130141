"""The main job, for real: the sample sandbox is booted, proven ready, used by real clients, hurt, and torn down in reverse.
Everything is done twice: with reeve as PID 1, and with reeve as a subreaper that is not PID 1."""
import datetime
import os
import re
import threading
import time

import harness
import pytest
from sandbox import PORTS, SERVICES, Sandbox, listening

pytestmark = pytest.mark.bound(150)


@pytest.fixture(scope="module", params=["pid1", "subreaper"])
def world(request):
    if request.param == "pid1" and not harness.can_unshare():
        pytest.skip("no process namespace can be made here")
    return request.param


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


def test_an_mcp_client_lists_the_tools_and_calls_one(sandbox):
    got = sandbox.call_tool("echo", {"message": "through the gateway"})
    assert "echo" in got["tools"]
    assert got["answer"] == [{"type": "text", "text": "Echo: through the gateway"}]


def test_cells_see_what_was_given_to_envd(sandbox):
    import urllib.request
    body = b'{"envVars": {"GIVEN": "it\'s \\"quoted\\""}}'
    urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:49983/init", data=body, method="POST"), timeout=5).close()
    sandbox.ctl("restart", "interpreter")
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


def outer_pids(sandbox, pids):
    """The services' pids as they are seen from here: reeve may be in a process namespace of its own."""
    found = {}
    for pid in harness.children_of(sandbox.pid):
        with open("/proc/%d/status" % pid) as f:
            inner = int(re.search(r"^NSpid:.*?(\d+)$", f.read(), re.M).group(1))
        for name, wanted in pids.items():
            if inner == wanted:
                found[name] = pid
    assert sorted(found) == SERVICES, (pids, found)
    return found


# ---- hurt ------------------------------------------------------------------------------------------------------------


def test_after_jupyter_was_killed_the_sdk_works_again_by_itself(sandbox):
    before = sandbox.services()
    kernels = sandbox.processes("ipykernel")
    assert kernels
    got = sandbox.ctl("signal", "KILL", "jupyter")
    assert got.returncode == 0, got.stderr
    sandbox.works_again()
    sandbox.wait_ready()
    after = sandbox.services()
    assert after["jupyter"]["pid"] != before["jupyter"]["pid"]
    assert after["interpreter"]["pid"] != before["interpreter"]["pid"], "it must be restarted with what holds its kernels"
    assert after["envd"]["pid"] == before["envd"]["pid"]
    assert after["mcp-gateway"]["pid"] == before["mcp-gateway"]["pid"]
    harness.until("the kernels of the earlier life to be gone", lambda: not set(kernels) & set(sandbox.processes("ipykernel")))


def test_after_the_interpreter_was_killed_the_sdk_works_again_by_itself(sandbox):
    before = sandbox.services()
    got = sandbox.ctl("signal", "KILL", "interpreter")
    assert got.returncode == 0, got.stderr
    sandbox.works_again()
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


# ---- down ------------------------------------------------------------------------------------------------------------


class Watch(threading.Thread):
    """Notes, on the wall clock, when each process was gone."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.left, self.gone = dict(pids), {}

    def run(self):
        while self.left:
            for name, pid in list(self.left.items()):
                if not harness.alive(pid):
                    self.gone[name] = time.time()
                    del self.left[name]
            time.sleep(0.001)


def jupyter_was_signalled_at(log):
    """Jupyter's own word, to the millisecond."""
    m = re.search(r"\[C (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+) ServerApp\] received signal 15", log)
    assert m, log[-3000:]
    return datetime.datetime.strptime(m.group(1), "%Y-%m-%d %H:%M:%S.%f").timestamp()


def test_term_takes_it_down_in_reverse_and_leaves_nothing(fresh):
    s = fresh()
    s.wait_ready(60)
    assert s.run_code("1+1")[0]["text"] == "2"
    outer = outer_pids(s, s.pids())
    watch = Watch(outer)
    watch.start()
    began = time.time()
    assert s.term() == 0
    watch.join(10)
    assert sorted(watch.gone) == SERVICES
    signalled = jupyter_was_signalled_at(s.log("jupyter"))
    assert watch.gone["interpreter"] <= signalled + 0.010, "jupyter was told before its dependent was gone"
    assert watch.gone["interpreter"] <= watch.gone["envd"] + 0.005, "envd was gone before its dependent"
    assert watch.gone["mcp-gateway"] < began + 4, "the other branch does not wait"
    assert s.leftovers() == []
    assert not os.path.exists(s.socket)
    assert [name for name, port in PORTS.items() if listening(port)] == []


def test_a_cell_that_never_ends_does_not_hold_up_the_end(fresh):
    s = fresh()
    s.wait_ready(60)
    endless = threading.Thread(target=try_to_run, args=(s, "while True: pass"), daemon=True)
    endless.start()
    harness.until("the cell to run", lambda: any(cpu(pid) > 0.3 for pid in s.processes("ipykernel")), 20)
    began = time.monotonic()
    assert s.term() == 0
    assert time.monotonic() - began < 20
    assert s.leftovers() == []
    endless.join(30)


def try_to_run(s, code):
    try:
        s.run_code(code)
    except Exception:  # the sandbox ends under it, which is what the test is about
        pass


def cpu(pid):
    """Whether a process is busy: its share of the last tenth of a second."""
    def ticks():
        try:
            with open("/proc/%d/stat" % pid) as f:
                words = f.read().rpartition(")")[2].split()
            return int(words[11]) + int(words[12])
        except (OSError, IndexError):
            return 0
    before = ticks()
    time.sleep(0.1)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / 0.1


def test_a_second_term_ends_everything_at_once(fresh):
    s = fresh()
    s.wait_ready(60)
    threading.Thread(target=try_to_run, args=(s, "while True: pass"), daemon=True).start()
    harness.until("the cell to run", lambda: any(cpu(pid) > 0.3 for pid in s.processes("ipykernel")), 20)
    began = time.monotonic()
    s.signal(15)
    s.wait_state("interpreter", "stopping")
    s.signal(15)
    assert s.wait(10) in (128 + 15, -15)
    assert time.monotonic() - began < 5
    harness.until("nothing to be left", lambda: s.leftovers() == [])


def test_a_port_that_jupyter_cannot_have_fails_the_boot_with_its_own_words(fresh):
    import socket
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", PORTS["jupyter"]))
        taken.listen()
        s = fresh()
        assert s.wait(40) == 10
    assert "jupyter" in s.stderr and "already in use" in s.stderr
    assert s.leftovers() == []


def test_the_interpreter_is_not_called_ready_without_its_kernels(fresh):
    s = fresh(files={"more.yaml": "services: {interpreter: {environment: {JUPYTER_BASE_URL: 'http://127.0.0.1:1', "
                                  "JUPYTER_READY_TIMEOUT: '1'}}}\n"})
    assert s.wait(40) == 10
    assert "interpreter" in s.stderr
    assert s.leftovers() == []


def test_no_value_of_a_variable_is_in_any_log(fresh):
    secret = "value-that-nobody-may-read"
    s = fresh(env={"PASSED_ON": secret},
              files={"more.yaml": "services: {jupyter: {environment: {OWN: %s}}}\n" % secret})
    s.wait_ready(60)
    s.run_code("1")
    assert s.term() == 0
    logs = s.stderr + s.stdout + "".join(s.log(name) for name in SERVICES)
    assert secret not in logs
