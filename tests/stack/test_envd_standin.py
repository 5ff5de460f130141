"""What the envd stand-in must do as envd does; with REEVE_REAL_ENVD=/path the same cases run against the real one."""
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import harness
import pytest

REAL = os.environ.get("REEVE_REAL_ENVD")  # known-gap: real-envd
STANDIN = os.path.join(harness.SRC, "etc", "sandbox", "envd-standin")
only_standin = pytest.mark.skipif(bool(REAL), reason="a switch of the stand-in, not of envd")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(NoRedirect, urllib.request.ProxyHandler({}))


class Envd:
    def __init__(self, folder, *flags, faults="", port=None, env=None):
        self.port = harness.free_port() if port is None else port
        self.folder = str(folder)
        argv = [REAL or STANDIN, "-port", str(self.port), *flags]
        self.proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     env=dict(os.environ, STANDIN=",".join(filter(None, ["loopback", faults])),
                                              STANDIN_DIR=self.folder, **(env or {})))

    def ask(self, method, path, body=None, headers=None, timeout=20 * harness.SLACK):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        request = urllib.request.Request("http://127.0.0.1:%d%s" % (self.port, path), method=method,
                                         data=None if body is None else body.encode(), headers=headers or {})
        try:
            with OPENER.open(request, timeout=timeout) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as e:
            with e:
                return e.code, e.headers, e.read()

    def connects(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def up(self):
        harness.until("envd to listen", lambda: self.connects() or self.proc.poll() is not None)
        assert self.proc.poll() is None, self.proc.stderr.read()
        return self

    def envs(self, **headers):
        status, _, body = self.ask("GET", "/envs", headers=headers)
        assert status == 200, (status, body)
        return json.loads(body)

    def init(self, body=None, **headers):
        return self.ask("POST", "/init", body, headers={"Content-Type": "application/json", **headers})

    def requests(self):
        """Those that it has noted."""
        try:
            with open(self.folder + "/requests.log") as f:
                return [json.loads(line) for line in f]
        except FileNotFoundError:
            return []

    def end(self):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.wait()
        self.proc.stdout.close()
        self.proc.stderr.close()


@pytest.fixture
def envd(tmp_path):
    made = []

    def start(*flags, **more):
        e = Envd(tmp_path / ("envd%d" % len(made)), *flags, **more)
        made.append(e)
        return e

    yield start
    for e in made:
        e.end()


@pytest.fixture
def up(envd):
    return envd("-isnotfc").up()


def run(*args, **env):
    return subprocess.run([REAL or STANDIN, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20 * harness.SLACK,
                          env=dict(os.environ, **env))


# ---- the command line ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["-cmd", "--nonsense", "-Port=1"])
def test_an_unknown_flag_is_a_usage_error(flag):
    got = run(flag)
    assert got.returncode == 2
    assert "flag provided but not defined" in got.stderr


@pytest.mark.parametrize("args", [["-port", "x"], ["-port=1.5"], ["-isnotfc=maybe"], ["-port="]])
def test_a_bad_value_is_a_usage_error(args):
    got = run(*args)
    assert got.returncode == 2
    assert "invalid" in got.stderr


def test_a_missing_value_is_a_usage_error():
    got = run("-port")
    assert (got.returncode, "flag needs an argument" in got.stderr) == (2, True)


def test_help_is_no_error():
    assert run("-h").returncode == 0


def test_the_version_is_printed_and_wins_over_the_commit():
    both, alone = run("-commit", "-version"), run("--version")
    assert (both.returncode, alone.returncode) == (0, 0)
    assert both.stdout == alone.stdout != ""


@pytest.mark.parametrize("spelling", [["-port=%d"], ["--port=%d"], ["-port", "%d"], ["--port", "%d"]])
def test_each_spelling_of_the_port_works_and_the_last_one_wins(envd, spelling):
    wanted = harness.free_port()
    e = envd("-isnotfc", *[word.replace("%d", str(wanted)) for word in spelling])
    e.port = wanted
    assert e.up().ask("GET", "/health")[0] == 204


def test_a_positional_ends_the_flags(envd):
    e = envd("-isnotfc", "true", "-port", "1").up()
    assert e.ask("GET", "/health")[0] == 204


def test_a_taken_port_ends_it_with_1_and_says_why(envd):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        e = envd("-isnotfc", port=s.getsockname()[1])
        assert e.proc.wait(20 * harness.SLACK) == 1
        assert b"bind: address already in use" in e.proc.stderr.read()


# ---- health and envs -------------------------------------------------------------------------------------------------


def test_health_is_204_without_a_body(up):
    status, headers, body = up.ask("GET", "/health")
    assert (status, headers["Cache-Control"], body) == (204, "no-store", b"")


def test_health_has_no_head(up):
    assert up.ask("HEAD", "/health")[0] == 405


def test_an_unknown_path_is_404(up):
    assert up.ask("GET", "/nothing")[0] == 404


def test_a_known_path_with_another_method_is_405(up):
    assert up.ask("GET", "/init")[0] == 405
    assert up.ask("DELETE", "/envs")[0] == 405


@pytest.mark.parametrize("flags,value", [(["-isnotfc"], "false"), (["-isnotfc=true"], "false"),
                                         (["-isnotfc", "-isnotfc=false"], "true")])
def test_envs_work_before_init(envd, flags, value):
    if REAL and value == "true":
        pytest.skip("without -isnotfc envd looks for its metadata service")
    e = envd(*flags).up()
    status, headers, body = e.ask("GET", "/envs")
    assert (status, headers["Content-Type"], headers["Cache-Control"]) == (200, "application/json", "no-store")
    assert json.loads(body) == {"E2B_SANDBOX": value}


def test_a_connection_is_kept_for_the_next_request(up):
    with socket.create_connection(("127.0.0.1", up.port), timeout=20 * harness.SLACK) as s:
        for _ in range(3):
            s.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert s.recv(4096).startswith(b"HTTP/1.1 204 ")


# ---- init ------------------------------------------------------------------------------------------------------------


def test_init_sets_the_variables_and_says_its_version(up):
    status, headers, body = up.init({"envVars": {"A": "1", "B": ""}})
    assert (status, body, headers["Cache-Control"]) == (204, b"", "no-store")
    assert headers["X-Envd-Version"]
    assert up.envs() == {"A": "1", "B": "", "E2B_SANDBOX": "false"}


@pytest.mark.parametrize("body", [None, "", "{}", "  "])
def test_an_empty_init_is_accepted_and_changes_nothing(up, body):
    up.init({"envVars": {"A": "1"}})
    assert up.init(body)[0] == 204
    assert up.envs()["A"] == "1"


def test_init_replaces_all_variables(up):
    up.init({"envVars": {"A": "1", "B": "2"}})
    up.init({"envVars": {"C": "3"}})
    assert up.envs() == {"C": "3", "E2B_SANDBOX": "false"}
    up.init({"envVars": {}})
    assert up.envs() == {"E2B_SANDBOX": "false"}


def test_internal_names_are_silently_protected(up):
    assert up.init({"envVars": {"E2B_SANDBOX": "no", "E2B_SANDBOX_ID": "x", "A": "1"}})[0] == 204
    assert up.envs() == {"A": "1", "E2B_SANDBOX": "false"}


def test_unknown_fields_are_ignored(up):
    assert up.init({"later": {"x": [1]}, "envVars": {"A": "1"}})[0] == 204
    assert up.envs()["A"] == "1"


@pytest.mark.parametrize("body", ["{", "[]", "7", '"x"', '{"envVars": []}', '{"envVars": {"A": 1}}', '{"envVars": {"A": {}}}',
                                  '{"accessToken": 5}', '{"accessToken": ""}', '{"accessToken": "a\\\\b"}',
                                  '{"timestamp": "yesterday"}', '{"timestamp": 12}', '{"defaultUser": []}'])
def test_what_cannot_be_decoded_is_400_and_changes_nothing(up, body):
    up.init({"envVars": {"KEEP": "1"}})
    assert up.init(body)[0] == 400
    assert up.envs() == {"KEEP": "1", "E2B_SANDBOX": "false"}
    assert up.init({})[0] == 204, "no token may have been set"


def test_only_a_later_timestamp_is_applied_and_a_stale_one_is_still_204(up):
    def at(stamp, value):
        assert up.init({"timestamp": stamp, "envVars": {"A": value}})[0] == 204
        return up.envs()["A"]

    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    assert at(now + ".100Z", "first") == "first"
    assert at(now + ".100Z", "same") == "first"
    assert at(now + ".099999999Z", "older") == "first"
    assert at(now + ".100000001Z", "newer") == "newer"
    assert up.init({"envVars": {"A": "without a time"}})[0] == 204
    assert up.envs()["A"] == "without a time"


def test_a_time_zone_counts(up):
    up.init({"timestamp": "2030-01-01T12:00:00+02:00", "envVars": {"A": "ten"}})
    up.init({"timestamp": "2030-01-01T10:30:00Z", "envVars": {"A": "half past"}})
    assert up.envs()["A"] == "half past"
    up.init({"timestamp": "2030-01-01T12:15:00+02:00", "envVars": {"A": "earlier"}})
    assert up.envs()["A"] == "half past"


def test_a_token_can_be_set_once_and_only_repeated(up):
    assert up.init({"accessToken": "secret", "envVars": {"A": "1"}})[0] == 204
    status, headers, body = up.ask("GET", "/envs")
    assert status == 401
    assert headers["Content-Type"] == "application/json; charset=utf-8"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert json.loads(body)["code"] == 401
    assert up.ask("GET", "/envs", headers={"X-Access-Token": "wrong"})[0] == 401
    assert up.envs(**{"X-Access-Token": "secret"})["A"] == "1"
    assert up.ask("GET", "/health")[0] == 204, "health needs no token"
    assert up.init({"accessToken": "secret", "envVars": {"A": "2"}})[0] == 204
    assert up.init({"accessToken": "other", "envVars": {"A": "3"}})[0] == 401
    assert up.init({"envVars": {"A": "4"}})[0] == 401
    assert up.init({"envVars": {"A": "5"}}, **{"X-Access-Token": "secret"})[0] == 401, "the body counts, not the header"
    assert up.envs(**{"X-Access-Token": "secret"})["A"] == "2"


def test_requests_side_by_side_are_all_answered(up):
    answers = []

    def one(n):
        answers.append(up.init({"envVars": {"N": str(n)}})[0])

    threads = [threading.Thread(target=one, args=(n,)) for n in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(20 * harness.SLACK)
    assert answers == [204] * 20


# ---- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_kills_it_by_its_default_action(up, sig):
    up.proc.send_signal(sig)
    assert up.proc.wait(20 * harness.SLACK) == -sig


# ---- what only the stand-in has --------------------------------------------------------------------------------------


@only_standin
def test_evidence_is_written_before_it_binds(envd):
    e = envd("-isnotfc", faults="no_bind", env={"MARK": "here"})
    harness.until("the evidence", lambda: os.path.exists(e.folder + "/pid"))
    harness.until("a pid", lambda: open(e.folder + "/pid").read().strip() == str(e.proc.pid))
    assert open(e.folder + "/argv").read().splitlines()[1:] == ["-port", str(e.port), "-isnotfc"]
    assert "MARK=here\n" in open(e.folder + "/environ").read()
    assert not e.connects()


@only_standin
def test_each_request_is_noted_with_its_status(envd):
    e = envd("-isnotfc").up()
    e.init({"envVars": {"A": "1"}}, **{"X-Access-Token": "t"})
    e.ask("GET", "/nothing")
    seen = e.requests()
    assert [(s["method"], s["path"], s["status"]) for s in seen] == [("POST", "/init", 204), ("GET", "/nothing", 404)]
    assert seen[0]["headers"]["X-Access-Token"] == "t"
    assert json.loads(seen[0]["body"]) == {"envVars": {"A": "1"}}


@only_standin
def test_port_zero_prints_the_port(envd):
    e = envd("-isnotfc", port=0)
    e.port = int(e.proc.stdout.readline())
    assert e.ask("GET", "/health")[0] == 204


@only_standin
@pytest.mark.parametrize("faults,seen", [
    ("health=503", [503, 503]), ("health_seq=503x2,429,204", [503, 503, 429, 204, 204]), ("health_200", [200]),
    ("health_redirect=http://127.0.0.1:1/", [302])])
def test_health_can_be_scripted(envd, faults, seen):
    e = envd("-isnotfc", faults=faults).up()
    assert [e.ask("GET", "/health")[0] for _ in seen] == seen


@only_standin
def test_init_can_be_scripted(envd):
    e = envd("-isnotfc", faults="init_seq=503x2,204").up()
    assert [e.init({"envVars": {"A": "1"}})[0] for _ in range(3)] == [503, 503, 204]
    assert e.envs()["A"] == "1"


@only_standin
def test_init_can_lie(envd):
    e = envd("-isnotfc", faults="init_lie").up()
    assert e.init({"envVars": {"A": "1"}})[0] == 204
    assert "A" not in e.envs()


@only_standin
def test_init_can_lie_for_a_while(envd):
    e = envd("-isnotfc", faults="init_lie=2").up()
    assert [e.init({"envVars": {"A": "1"}})[0] for _ in range(2)] == [204] * 2
    assert "A" not in e.envs()
    e.init({"envVars": {"A": "1"}})
    assert e.envs()["A"] == "1"


@only_standin
@pytest.mark.parametrize("fault", ["init_reset", "init_reset=2", "init_hang=2"])
def test_init_can_break_off_or_say_nothing(envd, fault):
    e = envd("-isnotfc", faults=fault).up()
    for n in (1, 2):
        with pytest.raises(OSError):  # reset, or timed out
            e.ask("POST", "/init", {}, timeout=0.3)
        harness.until("the request to be noted", lambda: len(e.requests()) >= n)
    if "=" in fault:
        assert e.init({})[0] == 204
    assert [r["status"] for r in e.requests()][:2] == [None] * 2


@only_standin
def test_init_can_be_without_its_version(envd):
    e = envd("-isnotfc", faults="init_no_version").up()
    status, headers, _ = e.init({})
    assert (status, headers["X-Envd-Version"]) == (204, None)


@only_standin
def test_connects_can_be_refused_for_a_while_after_it_was_healthy(envd):
    e = envd("-isnotfc", faults="refuse_ms=2000").up()
    assert e.ask("GET", "/health")[0] == 204
    assert not e.connects()
    harness.until("it to listen again", e.connects)
    assert e.ask("GET", "/health")[0] == 204


@only_standin
def test_envs_can_be_scripted(envd):
    e = envd("-isnotfc", faults="envs_seq=503x2,404,200").up()
    assert [e.ask("GET", "/envs")[0] for _ in range(5)] == [503, 503, 404, 200, 200]


@only_standin
@pytest.mark.parametrize("kind,body", [("array", b"[]"), ("number", b'{"A":1}'), ("empty", b"")])
def test_envs_can_be_wrong(envd, kind, body):
    e = envd("-isnotfc", faults="envs_payload=" + kind).up()
    status, _, got = e.ask("GET", "/envs")
    assert (status, got) == (200, body)


@only_standin
def test_envs_can_refuse_until_init(envd):
    e = envd("-isnotfc", faults="envs_401_before_init").up()
    assert e.ask("GET", "/envs")[0] == 401
    e.init({})
    assert e.ask("GET", "/envs")[0] == 200


@only_standin
@pytest.mark.parametrize("faults,status", [("exit_now=7", 7), ("exit_after_ms=100:5", 5), ("sigself=6", -6)])
def test_it_can_end_by_itself(envd, faults, status):
    assert envd("-isnotfc", faults=faults).proc.wait(20 * harness.SLACK) == status


@only_standin
def test_it_can_die_after_it_was_ready(envd):
    e = envd("-isnotfc", faults="die_after_ready_ms=1000").up()
    assert e.ask("GET", "/health")[0] == 204
    assert e.proc.wait(20 * harness.SLACK) == 1


@only_standin
def test_it_can_make_noise_before_it_exits(envd):
    e = envd("-isnotfc", faults="stderr=boom,stderr_bytes=100,exit_now=3")
    assert e.proc.wait(20 * harness.SLACK) == 3
    assert e.proc.stderr.read() == b"boom\n" + b"x" * 100


@only_standin
def test_it_can_be_deaf_to_term(envd):
    e = envd("-isnotfc", faults="ignore_term").up()
    e.proc.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        e.proc.wait(0.3)


@only_standin
def test_it_can_be_slow_to_end(envd):
    e = envd("-isnotfc", faults="slow_term_ms=300").up()
    began = time.monotonic()
    e.proc.terminate()
    assert e.proc.wait(20 * harness.SLACK) == 0
    assert time.monotonic() - began > 0.25


@only_standin
def test_it_can_leave_children_behind(envd):
    e = envd("-isnotfc", faults="orphan=2:setsid", env={"STORY_MARK": "standin-orphans"}).up()
    e.proc.kill()
    e.proc.wait()
    left = harness.marked("standin-orphans")
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert len(left) == 2


@only_standin
def test_a_spawned_command_gets_the_environment_of_a_command(envd):
    e = envd("-isnotfc", env={"HIDDEN": "1"}).up()
    e.init({"envVars": {"A": "sandbox", "B": "sandbox"}})
    got = json.loads(e.ask("POST", "/test/spawn", {"argv": ["env"], "envs": {"B": "call"}})[2])
    out = harness.until("its output", lambda: e.ask("GET", "/test/out?pid=%d" % got["pid"])[2]).decode()
    assert "A=sandbox\n" in out and "B=call\n" in out
    assert "HIDDEN" not in out
    again = json.loads(e.ask("POST", "/test/spawn", {"argv": ["env"]})[2])
    out = harness.until("its output", lambda: e.ask("GET", "/test/out?pid=%d" % again["pid"])[2]).decode()
    assert "B=sandbox\n" in out, "what one call sets does not stick"
