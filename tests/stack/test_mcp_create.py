"""`Sandbox.create({mcp})` of the real E2B SDK, against a loopback API and a real gateway under reeve."""
import json
import os
import urllib.request

import harness
import pytest
from loopback_api import SANDBOX, Api
from sandbox import NODE, PORTS, client, listening
from sandbox import SANDBOX as FILES

pytestmark = pytest.mark.bound(150)

MODULES = os.path.join(FILES, "node_modules")
FAKE = os.path.join(harness.SRC, "tests", "e2e", "gateway.py")

# The sample sandbox's own gateway, waiting to be asked for.
REAL = """
services:
  mcp-gateway:
    plugin: mcp-gateway
    startup: disabled
    command: [%s, %s/mcp-proxy/dist/bin/mcp-proxy.mjs, --host=127.0.0.1, --port=50005, --server=stream, --,
              %s, %s/@modelcontextprotocol/server-everything/dist/index.js, stdio]
    ready: {timeout: 80s}
""" % (NODE, MODULES, NODE, MODULES)
STAND_IN = "services: {mcp-gateway: {plugin: mcp-gateway, startup: disabled, command: [/usr/bin/python3, %s]}}" % FAKE


@pytest.fixture
def create(reeve, tmp_path):
    """create(graph, mcp) boots the graph and lets the SDK create a sandbox; what it said, the API, the reeve."""
    apis = []

    def run(graph, mcp, with_command=True):
        r = reeve(graph)
        r.wait_ready()
        folder = tmp_path / "bin"
        folder.mkdir()
        if with_command:
            (folder / "mcp-gateway").symlink_to(os.path.join(harness.BUILD, "mcp-gateway"))
        token_file = tmp_path / "kept" / ".token"
        api = Api({"PATH": "%s:/usr/bin:/bin" % folder, "REEVE_SOCKET": r.socket, "MCP_GATEWAY_TOKEN_FILE": str(token_file)},
                  token_file)
        apis.append(api)
        env = {k: v for k, v in os.environ.items() if not k.startswith("E2B_")}
        env.update(E2B_API_URL=api.url, E2B_SANDBOX_URL=api.url, E2B_API_KEY="e2b_" + "0" * 40)
        return json.loads(client("create_mcp.mjs", json.dumps(mcp), env=env, timeout=100)), api, r

    yield run
    for api in apis:
        api.close()


def test_create_with_mcp_returns_when_the_real_gateway_is_ready(create):
    got, api, r = create(REAL, {"everything": {"key": "it's \"quoted\" $HOME"}})
    assert "error" not in got, got
    assert api.commands[0][0].startswith("mcp-gateway --config ") and api.users[0] == "root"
    assert api.commands[0][1] == {"GATEWAY_ACCESS_TOKEN": got["token"]}
    assert r.service("mcp-gateway")["state"] == "ready" and listening(PORTS["mcp-gateway"])
    assert got["later"] == got["token"], "who connects later reads it from the file"
    assert ("DELETE", "/sandboxes/" + SANDBOX) not in api.calls
    tools = json.loads(client("mcp_call.mjs", "http://127.0.0.1:%d/mcp" % PORTS["mcp-gateway"], "echo", '{"message": "hello"}'))
    assert tools["answer"][0]["text"] == "Echo: hello"
    with open("/proc/%d/environ" % r.service("mcp-gateway")["pid"], "rb") as f:
        environ = dict(entry.split(b"=", 1) for entry in f.read().split(b"\0") if b"=" in entry)
    assert json.loads(environ[b"MCP_GATEWAY_CONFIG"]) == {"everything": {"key": "it's \"quoted\" $HOME"}}


#
def test_a_server_that_nobody_knows_is_the_gateways_matter(create):
    got, api, _ = create(STAND_IN, {"nobody-knows-this": {"a": "b"}})
    assert "error" not in got, got
    asked = urllib.request.Request("http://127.0.0.1:%d/mcp" % PORTS["mcp-gateway"], data=b'{"jsonrpc": "2.0", "id": 1}',
                                   headers={"Authorization": "Bearer " + got["token"]})
    with urllib.request.urlopen(asked, timeout=20 * harness.SLACK) as answer:
        assert json.load(answer)["result"]["servers"] == ["nobody-knows-this"]


# the sandbox is killed, and the words of the gateway are in the SDK's error.
def test_a_gateway_that_cannot_come_up_is_the_sdks_error_with_its_stderr(create):
    got, api, r = create(STAND_IN, {"boom": {}})
    assert got["error"].startswith("Failed to start MCP gateway: "), got
    assert "boom: this gateway cannot come up" in got["error"] and "exited with 3" in got["error"]
    assert ("DELETE", "/sandboxes/" + SANDBOX) in api.calls
    assert r.service("mcp-gateway")["state"] == "failed" and not listening(PORTS["mcp-gateway"])


# without the command in the image it is the shell's 127, through the same door.
def test_an_image_without_the_command_is_the_same_error(create):
    got, api, _ = create(STAND_IN, {}, with_command=False)
    assert got["error"].startswith("Failed to start MCP gateway: ") and "not found" in got["error"], got
    assert ("DELETE", "/sandboxes/" + SANDBOX) in api.calls
