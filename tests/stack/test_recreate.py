"""Jupyter itself, asked whether it is lost. With the false ones of each kind: e2e/test_recreate.py."""
import json
import os
import signal

import harness
import pytest
from sandbox import PORTS, listening
from test_kernels import ask, outer

pytestmark = pytest.mark.bound(150)

# The real server, which closes its sockets when it is told to and lives on: what a broken event loop or a bad handler leaves
# behind. Told by a file, for a signal that comes just before the loop goes to sleep is seen when something else wakes it up.
SERVER = """
import os, sys, threading, time
from jupyter_server.serverapp import ServerApp
def obey():
    while not os.path.exists("../close"):
        time.sleep(0.05)
    server = ServerApp.instance()
    server.io_loop.add_callback(server.http_server.stop)
threading.Thread(target=obey, daemon=True).start()
sys.exit(ServerApp.launch_instance(sys.argv[1:]))
"""
MORE = """
services:
  envd: {startup: disabled}
  mcp-gateway: {startup: disabled}
  interpreter: {startup: disabled}
  jupyter:
    recreate: true
    command: [/usr/bin/python3, -c, %s, --ip=127.0.0.1, --port=8888, --ServerApp.port_retries=0, "--IdentityProvider.token=",
              "--ServerApp.token=", "--ServerApp.password=", --ServerApp.disable_check_xsrf=True, --ServerApp.allow_root=True,
              --ServerApp.open_browser=False]
    ready: {timeout: 80s}
""" % json.dumps(SERVER)


@pytest.fixture
def jupyter(fresh, world):
    if world != "subreaper":
        pytest.skip("requests do not depend on how reeve runs: it is done once")
    s = fresh(files={"more.yaml": MORE})
    s.wait_ready(60)
    return s


def recreate(s, *more):
    got = s.ctl("--json", "recreate", "jupyter", "--if-lost", *more, timeout=60)
    return got.returncode, json.loads(got.stdout)["services"][0]


def answered(s):
    """What was told of one that is well; None: it was too slow to tell, as one on a busy machine may be."""
    status, told = recreate(s, "--generation", "1")
    assert (status, told["verdict"]) in [(0, "alive"), (1, "unclear")], told
    return told if status == 0 else None


# alive, hanging, and without its port
def test_a_jupyter_is_replaced_when_it_has_lost_its_port_and_not_before(jupyter):
    s = jupyter
    told = harness.until("Jupyter to answer in time", lambda: answered(s))
    assert (told["status"], told["replaced"]) == (200, False), told
    pid = outer(s, "jupyter")
    os.kill(pid, signal.SIGSTOP)
    status, told = recreate(s)
    assert (status, told["verdict"], told["replaced"]) == (1, "unclear", False), told
    os.kill(pid, signal.SIGCONT)
    assert s.service("jupyter")["generation"] == 1
    ask("POST", "/api/sessions", {"path": "one.ipynb", "type": "notebook", "kernel": {"name": "python3"}})
    s.write("close", "")
    harness.until(lambda: "its port to be closed\n" + s.story(), lambda: not listening(PORTS["jupyter"]))
    os.unlink(s.path("close"))
    assert harness.alive(pid) and s.service("jupyter")["generation"] == 1
    status, told = recreate(s, "--generation", "1")
    assert (status, told["verdict"], told["replaced"], told["generation"]) == (0, "lost", True, 2), told
    # nothing of it is there any more, and nobody says so
    assert ask("GET", "/api/sessions") == [] and "fresh state" in told["notice"]
    harness.until("the kernels of the lost one to be gone", lambda: not s.processes("ipykernel_launcher"))
    assert s.term() == 0
    assert s.leftovers() == []
