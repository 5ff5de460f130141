"""The command `mcp-gateway` that E2B's SDKs run in a sandbox: 0 when the gateway is ready, else its stderr."""
import json
import os
import signal
import stat
import subprocess
import urllib.request

import harness

COMMAND = os.path.join(harness.BUILD, "mcp-gateway")
GATEWAY = os.path.join(harness.SRC, "tests", "e2e", "gateway.py")
TOKEN = "11111111-2222-4333-8444-555555555555"

GRAPH = """
services:
  tools:
    plugin: mcp-gateway
    startup: disabled
    command: [%(command)s]
    options: {port: %(port)d}
    ready: {timeout: %(timeout)s}
    restart: {on: never}
"""


class Stage:
    def __init__(self, reeve, tmp_path, free_port, command=None, timeout="20s", graph=GRAPH):
        self.port, self.seen, self.file = free_port(), tmp_path / "seen", tmp_path / "etc" / ".token"
        command = command or "/usr/bin/python3, %s, --port, '%d', --seen, %s" % (GATEWAY, self.port, self.seen)
        self.r = reeve(graph % {"command": command, "port": self.port, "timeout": timeout})
        self.r.wait_ready()

    def run(self, *args, token=TOKEN, **env):
        env = dict(self.r.env, REEVE_SOCKET=self.r.socket, MCP_GATEWAY_TOKEN_FILE=str(self.file), **env)
        if token is not None:
            env["GATEWAY_ACCESS_TOKEN"] = token
        return subprocess.run([COMMAND, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60 * harness.SLACK, env=env, cwd="/")

    def lives(self):
        return [json.loads(line) for line in self.seen.read_text().splitlines()] if self.seen.exists() else []

    def initialize(self, token):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).encode()
        asked = urllib.request.Request("http://127.0.0.1:%d/mcp" % self.port, data=body,
                                       headers={"Authorization": "Bearer " + token})
        with urllib.request.urlopen(asked, timeout=10 * harness.SLACK) as got:
            return json.load(got)["result"]


# what the gateway accepts is no failure, an unknown server's name least of all.
def test_it_returns_0_when_the_gateway_is_ready_with_its_servers_and_token(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    got = s.run("--config", '{"exa": {"apiKey": "it\'s \\"quoted\\""}, "nobody-knows-this": {"a": "b"}}')
    assert (got.returncode, got.stdout, got.stderr) == (0, "", "")
    assert s.initialize(TOKEN)["servers"] == ["exa", "nobody-knows-this"]
    assert s.lives()[-1]["config"]["exa"]["apiKey"] == 'it\'s "quoted"'
    assert s.r.service("tools")["state"] == "ready"
    assert s.file.read_text() == TOKEN
    assert stat.S_IMODE(s.file.stat().st_mode) == 0o600
    assert os.listdir(s.file.parent) == [".token"]


# The form of E2B's own images: what it starts is a launcher, which is given the configuration as an argument.
def test_a_launcher_is_given_the_configuration_and_leaves_the_gateway(reeve, tmp_path, free_port):
    graph = """
services:
  tools:
    plugin: mcp-gateway
    startup: disabled
    options: {kind: launcher, bin: %(command)s, port: %(port)d}
    environment: {STANDIN: "port=%(port)d", STANDIN_DIR: %%s}
    ready: {timeout: %(timeout)s}
""".replace("%%s", str(tmp_path))
    s = Stage(reeve, tmp_path, free_port, command=os.path.join(harness.SRC, "tests", "e2e", "gateway-standin"), graph=graph)
    got = s.run("--config", '{"nobody-knows-this": {"a": "b"}}')
    assert (got.returncode, got.stderr) == (0, "")
    assert s.initialize(TOKEN)["serverInfo"]["servers"] == ["nobody-knows-this"]
    first = s.r.service("tools")
    assert first["state"] == "ready" and "gateway-standin" in harness.cmdline(first["pid"])
    assert s.run("--config", '{"two": {}}').returncode == 0
    assert s.initialize(TOKEN)["serverInfo"]["servers"] == ["two"] and not harness.alive(first["pid"])


def test_a_crash_later_brings_the_same_gateway_back(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port, graph=GRAPH.replace("on: never", "on: failure, delay: 10ms"))
    assert s.run("--config", '{"exa": {}}').returncode == 0
    first = s.r.service("tools")
    os.kill(first["pid"], signal.SIGKILL)
    harness.until("its next life", lambda: s.r.service("tools")["generation"] > first["generation"])
    s.r.wait_state("tools", "ready")
    assert s.initialize(TOKEN)["servers"] == ["exa"]


def test_one_that_runs_is_replaced_by_what_is_asked_for(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    assert s.run("--config", '{"one": {}}').returncode == 0
    assert s.run("--config={\"two\": {}}", token="another").returncode == 0
    assert s.initialize("another")["servers"] == ["two"]
    assert s.file.read_text() == "another"


# nothing is left of it, and its words come through.
def test_a_gateway_that_ends_is_told_with_its_stderr_and_status(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    got = s.run("--config", '{"boom": {}}')
    assert got.returncode != 0 and got.stdout == ""
    assert "boom: this gateway cannot come up\n" in got.stderr and "exited with 3" in got.stderr
    assert s.r.service("tools")["state"] == "failed"
    assert not [pid for pid in s.r.leftovers() if "gateway.py" in harness.cmdline(pid)]
    assert not s.file.exists()
    assert s.run("--config", "{}").returncode == 0


#
def test_a_gateway_that_is_not_there_is_named(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port, command="/nowhere/mcp-gateway")
    got = s.run("--config", "{}")
    assert got.returncode != 0
    assert "/nowhere/mcp-gateway" in got.stderr and "No such file" in got.stderr


def test_a_gateway_that_never_answers_is_told_with_its_last_answer_and_ended(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port, timeout="3s")
    got = s.run("--config", '{"mute": {}}')
    assert got.returncode != 0
    assert "not ready within 3s; last check: POST http://127.0.0.1:" in got.stderr, got.stderr
    assert "answered 503" in got.stderr or "refused" in got.stderr, "refused: it had no time to listen"
    assert not [pid for pid in s.r.leftovers() if "gateway.py" in harness.cmdline(pid)]


def test_wrong_words_start_nothing(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    for args, words in (([], "--config JSON is missing"), (["--config"], "--config"), (["--confg", "{}"], "--confg"),
                        (["--config", "{exa: 1}"], "option config must be JSON"), (["pull", "exa"], "pulled"),
                        (["--config", json.dumps({"big": "x" * 70000})], "too large")):
        got = s.run(*args)
        assert got.returncode != 0 and words in got.stderr, (args[:1], got)
    assert not s.lives() and s.r.service("tools")["state"] == "stopped"
    assert s.run("--help").returncode == 0


def test_a_token_that_cannot_be_kept_is_said_and_the_gateway_is_ready_all_the_same(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    s.file = tmp_path / "none" / "here" / ".token"
    got = s.run("--config", "{}")
    assert got.returncode == 0 and "cannot keep the token in" in got.stderr and TOKEN not in got.stderr
    assert s.initialize(TOKEN)["servers"] == []


def test_without_a_service_for_it_it_says_so(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port, graph="services: {a: {command: [/bin/sleep, '1000']}} # %(command)s %(port)d %(timeout)s")
    got = s.run("--config", "{}")
    assert got.returncode != 0 and "no service of this sandbox has the plugin mcp-gateway" in got.stderr


def test_a_service_that_runs_this_very_command_does_not_ask_for_itself_for_ever(reeve, tmp_path, free_port):
    words = '/usr/bin/env, "REEVE_SOCKET=${env.TMPDIR}/run/control.sock", %s, --config, "{}"' % COMMAND
    s = Stage(reeve, tmp_path, free_port, command=words, timeout="20s")
    got = s.run("--config", "{}")
    assert got.returncode != 0 and "must name the gateway itself" in got.stderr, got.stderr
    assert s.r.service("tools")["generation"] == 1
