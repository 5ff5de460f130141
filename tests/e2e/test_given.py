"""Options of one start: `reevectl start NAME --option KEY=VALUE`."""
import json
import os
import signal
import subprocess

import harness

GATEWAY = os.path.join(harness.SRC, "tests", "e2e", "gateway.py")
SECRET = "s3cret-of-this-start"

GRAPH = """
services:
  gw:
    plugin: mcp-gateway
    startup: disabled
    command: [/usr/bin/python3, %(gateway)s, --port, "%(port)d", --seen, %(seen)s]
    options: {token: of-the-file}
    ready: {timeout: 20s}
    restart: {on: failure, delay: 10ms}
  user: {command: [/bin/sleep, "1000"], needs: [gw], startup: disabled}
  other: {command: [/bin/sleep, "1000"], ports: [%(taken)d]}
"""


class Stage:
    def __init__(self, reeve, tmp_path, free_port, graph=GRAPH):
        self.seen, self.port, self.taken = tmp_path / "seen", free_port(), free_port()
        self.r = reeve(graph % {"gateway": GATEWAY, "port": self.port, "seen": self.seen, "taken": self.taken})
        self.r.wait_ready()

    def lives(self):
        return [json.loads(line) for line in self.seen.read_text().splitlines()] if self.seen.exists() else []

    def start(self, *options, verb="start", input=None):
        return self.r.ctl(verb, "gw", *[word for o in options for word in ("--option", o)], input=input)


def test_options_hold_for_this_start_and_its_automatic_restarts_until_a_stop(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    got = s.start("token=" + SECRET, 'config={"exa": {"apiKey": "k"}}')
    assert got.returncode == 0, got.stderr
    first = s.r.service("gw")
    assert (s.lives()[-1]["token"], s.lives()[-1]["config"]) == (SECRET, {"exa": {"apiKey": "k"}})
    assert "started with token, config" in s.r.ctl("why", "gw").stdout
    # The gateway lets in only who has its token: that it is ready again shows that the probe has it, too.
    os.kill(first["pid"], signal.SIGKILL)
    harness.until("its next life", lambda: s.r.service("gw")["generation"] > first["generation"])
    s.r.wait_state("gw", "ready")
    assert [life["token"] for life in s.lives()] == [SECRET, SECRET]
    assert s.r.ctl("restart", "gw").returncode == 0
    assert s.lives()[-1]["token"] == SECRET
    # a stop ends them, also when it is a dependent that brings it back
    assert s.r.ctl("stop", "gw").returncode == 0
    assert s.r.ctl("start", "user").returncode == 0
    assert (s.lives()[-1]["token"], s.lives()[-1]["config"]) == ("of-the-file", {})
    assert "started with" not in s.r.ctl("why", "gw").stdout


def test_a_start_on_request_of_what_failed_is_by_the_configuration_again(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    got = s.start('config={"boom": {}}')
    assert got.returncode == 1 and "exited with 3" in got.stderr and "boom: this gateway cannot come up" in got.stderr
    assert s.r.ctl("start", "gw").returncode == 0
    assert s.lives()[-1]["config"] == {}


def test_secrets_come_from_files_and_stdin_and_are_shown_nowhere(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    (tmp_path / "token").write_text(SECRET + "\n")
    got = s.start("token=@%s" % (tmp_path / "token"), "config=@-", input='{"from": "stdin"}')
    assert got.returncode == 0, got.stderr
    assert (s.lives()[-1]["token"], s.lives()[-1]["config"]) == (SECRET, {"from": "stdin"})
    shown = [got.stdout, got.stderr, s.r.stderr, s.r.log("gw")]
    for words in (["status"], ["--json", "status"], ["plan"], ["--json", "plan"], ["why", "gw"], ["--json", "why", "gw"],
                  ["events", "-n", "all"], ["--json", "events", "-n", "all"], ["plugins"]):
        shown.append(s.r.ctl(*words).stdout)
    assert all(shown[4:])
    assert not [text for text in shown if SECRET in text]
    # an @ at the beginning is written twice
    assert s.start("token=@@at", verb="restart").returncode == 0
    assert s.lives()[-1]["token"] == "@at"


def test_a_secret_that_comes_back_in_an_answer_is_not_told(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port, GRAPH.replace("ready: {timeout: 20s}", "ready: {exec: [/bin/sh, -c, "
                                                        '"echo no: $GATEWAY_ACCESS_TOKEN; exit 1"], timeout: 3s}'))
    got = s.start("token=" + SECRET)
    assert got.returncode == 1 and "no: ***" in got.stderr, got.stderr
    assert SECRET not in got.stderr + s.r.stderr + s.r.ctl("--json", "status").stdout + s.r.ctl("events", "-n", "all").stdout


def test_values_are_checked_by_the_plugins_table_and_a_wrong_one_changes_nothing(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    before = s.r.service("gw")
    for options, words in ((["port=70000"], ["options.port", "a number from 1 to 65535"]),
                           (["port=x", "tokn=" + SECRET], ["options.port", "no option 'tokn' (did you mean 'token'?)"]),
                           (["config={'a': 1}"], ["option config must be JSON"]),
                           (["token=a", "token=b"], ["option token is given twice"]),
                           (["token"], ["KEY=VALUE"]),
                           (["token=@/nowhere"], ["cannot open /nowhere"]),
                           (["=x"], ["KEY=VALUE"])):
        got = s.start(*options)
        assert got.returncode in (1, 2), (options, got)
        assert all(w in got.stderr for w in words), (options, got.stderr)
        assert SECRET not in got.stderr
    got = s.r.ctl("restart", "other", "--option", "x=1")
    assert got.returncode == 1 and "plugin exec has no option 'x'" in got.stderr
    got = s.r.ctl("start", "gw", "other", "--option", "port=1")
    assert got.returncode == 2 and "exactly one name" in got.stderr
    got = s.r.ctl("stop", "gw", "--option", "port=1")
    assert got.returncode == 2 and "stop takes no --option" in got.stderr
    after = s.r.service("gw")
    before.pop("since_ms"), after.pop("since_ms")
    assert after == before and not s.lives()
    assert "cannot" not in s.r.stderr


def test_what_runs_takes_no_options_but_may_be_restarted_with_them(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    assert s.r.ctl("start", "gw").returncode == 0
    first = s.r.service("gw")
    got = s.start("token=new")
    assert got.returncode == 1 and "it is ready, and options are for a start" in got.stderr
    assert s.r.service("gw")["pid"] == first["pid"]
    assert s.start("token=x", "port=no", verb="restart").returncode == 1
    assert s.r.service("gw")["pid"] == first["pid"]
    assert s.start("token=new", verb="restart").returncode == 0
    assert s.lives()[-1]["token"] == "new"


def test_a_port_of_another_service_is_refused_by_name(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    got = s.start("port=%d" % s.taken)
    assert got.returncode == 1 and "port %d is that of other" % s.taken in got.stderr
    assert s.r.service("gw")["state"] == "stopped" and not s.lives()


def test_what_the_plugin_itself_refuses_changes_nothing_either(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    assert s.start("token=" + SECRET).returncode == 0
    first = s.r.service("gw")
    got = s.start("path=mcp", verb="restart")
    assert got.returncode == 1 and "option path must begin with /" in got.stderr
    assert s.r.service("gw")["pid"] == first["pid"]
    assert "started with token" in s.r.ctl("why", "gw").stdout


def test_the_type_of_a_service_is_no_matter_of_one_start(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    got = s.start("kind=launcher")
    assert got.returncode == 1 and "it would be a launcher, and it is a daemon" in got.stderr, got.stderr
    assert s.r.service("gw")["state"] == "stopped" and not s.lives()


def test_a_host_that_dies_is_told_the_options_again(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    got = s.start("token=" + SECRET)
    assert got.returncode == 0, got.stderr
    host = json.loads(s.r.ctl("--json", "version").stdout)["host_pid"]
    os.kill(host, signal.SIGKILL)
    first = s.r.service("gw")
    os.kill(first["pid"], signal.SIGKILL)
    harness.until("its next life", lambda: s.r.service("gw")["generation"] > first["generation"])
    s.r.wait_state("gw", "ready")
    assert s.lives()[-1]["token"] == SECRET


def test_the_command_line_of_reevectl_shows_no_value(reeve, tmp_path, free_port):
    s = Stage(reeve, tmp_path, free_port)
    p = subprocess.Popen([harness.REEVECTL, "-s", s.r.socket, "start", "gw", "-o", "token=" + SECRET, "-o", 'config={"mute": {}}'],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        s.r.wait_state("gw", "starting")
        assert "token=***" in harness.cmdline(p.pid) and SECRET not in harness.cmdline(p.pid)
    finally:
        p.kill()
        p.wait()
