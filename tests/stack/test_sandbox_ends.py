"""The end of the sample sandbox, on request and by failure: in reverse, and with nothing left.
Everything is done twice: with reeve as PID 1, and with reeve as a subreaper that is not PID 1."""
import datetime
import json
import os
import re
import socket
import threading
import time

import harness
import pytest
from sandbox import PORTS, SERVICES, listening, outer_pids

pytestmark = pytest.mark.bound(150)


class Watch(threading.Thread):
    """Notes, on the wall clock, of each process a time at which it lived for certain, and one at which it was gone. However
    late a note is, both are true."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.left, self.lived, self.gone = dict(pids), {}, {}

    def run(self):
        while self.left:
            for name, pid in list(self.left.items()):
                now = time.time()
                if harness.alive(pid):
                    self.lived[name] = now
                else:
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
    watch = Watch(outer_pids(s, s.pids()))
    watch.start()
    harness.until("each to be seen", lambda: sorted(watch.lived) == SERVICES)
    assert s.term() == 0
    watch.join(10 * harness.SLACK)
    assert sorted(watch.gone) == SERVICES
    signalled = jupyter_was_signalled_at(s.log("jupyter")) + 0.001  # it is rounded down
    assert watch.lived["interpreter"] <= signalled, "jupyter was told before its dependent was gone"
    assert watch.lived["interpreter"] <= watch.gone["envd"], "envd was gone before its dependent"
    assert s.leftovers() == []
    assert not os.path.exists(s.socket)
    assert [name for name, port in PORTS.items() if listening(port)] == []


def test_a_cell_that_never_ends_does_not_hold_up_the_end(fresh):
    s = fresh()
    s.wait_ready(60)
    endless = run_endlessly(s)
    began = time.monotonic()
    assert s.term() == 0
    assert time.monotonic() - began < 20 * harness.SLACK
    endless.join(60 * harness.SLACK)  # its client notices
    assert s.leftovers() == []


def run_endlessly(s):
    """The thread that waits for a cell that never ends; the cell runs when this returns."""
    mark = s.path("endless")
    waiting = threading.Thread(target=try_to_run, args=(s, "open(%r, 'w').close()\nwhile True: pass" % mark), daemon=True)
    waiting.start()
    harness.until("the cell to run", lambda: os.path.exists(mark), 20)
    return waiting


def try_to_run(s, code):
    try:
        s.run_code(code)
    except Exception:  # the sandbox ends under it, which is what the test is about
        pass


# TERM alone never ends an interpreter in the middle of a cell
def test_a_second_term_ends_everything_at_once(fresh):
    s = fresh(files={"never.yaml": "services: {interpreter: {stop: {steps: [{signal: TERM, timeout: 5m}]}}}\n"})
    s.wait_ready(60)
    run_endlessly(s)
    s.signal(15)
    s.wait_state("interpreter", "stopping")
    s.wait_state("mcp-gateway", "stopped")  # the other branch does not wait
    assert {s.service(name)["state"] for name in ("envd", "jupyter")} == {"ready"}
    s.signal(15)
    assert s.wait(10) in (128 + 15, -15)
    harness.until("nothing to be left", lambda: s.leftovers() == [])


def test_a_port_that_jupyter_cannot_have_fails_the_boot_and_names_who_has_it(fresh):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", PORTS["jupyter"]))
        taken.listen()
        s = fresh()
        assert s.wait(40) == 10
    assert "jupyter" in s.stderr and "port 8888 is already in use" in s.stderr
    assert s.leftovers() == []


# nobody listens there, so that only Jupyter itself finds out; it does not go on to another port
def test_a_port_that_jupyter_cannot_bind_fails_with_its_own_words(fresh):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of an earlier test may linger there
        taken.bind(("127.0.0.1", PORTS["jupyter"]))
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)  # Jupyter sets it, too, and would get the port
        s = fresh()
        assert s.wait(40) == 10
    assert "jupyter: failed: exited with 1 before it was ready" in s.stderr
    assert re.search(r"^  \| .*port 8888 is already in use", s.stderr, re.M), s.stderr
    assert json.loads(s.stderr.splitlines()[-1].split("report: ", 1)[1])["boot_ms"] < 20000 * harness.SLACK, "it was waited for"
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
