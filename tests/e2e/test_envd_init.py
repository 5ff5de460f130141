"""How envd is given the sandbox's variables, against the stand-in: what is asked, what is tried again, and what a failure is.
R-39, R-43 to R-45, R-47 to R-53, R-55, R-56. Each end of a request by itself: unit/plugins_init.c."""
import json
import re
import time
import urllib.request

import harness
import pytest
from test_envd import STANDIN, envd as any_envd, fails  # noqa: F401  (a fixture)
from test_hosts import mixed  # noqa: F401  (a fixture)

# A loaded machine does not answer within the 150 ms that are the default, and which unit/plugins_init.c sees.
PATIENT = {"init-timeout": "10s"}
BRISK = {"init-timeout": harness.seconds(1)}  # for one that hangs
MARK = "v4lue-that-nobody-logs"


def given(**variables):
    """The environment of a reeve whose sandbox was created with these."""
    return {"REEVE_CREATE_ENVIRONMENT": json.dumps({"envVars": variables})}


A = given(A=MARK)


@pytest.fixture
def envd(any_envd):  # noqa: F811
    def boot(faults="", options=None, **more):
        return any_envd(faults, options={**(BRISK if "hang" in faults else PATIENT), **(options or {})}, **more)

    return boot


def ask(r, method, path, body=None, token=None):
    headers = {"X-Access-Token": token} if token else {}
    asked = urllib.request.Request("http://127.0.0.1:%d%s" % (r.port, path), method=method, headers=headers,
                                   data=None if body is None else json.dumps(body).encode())
    with urllib.request.urlopen(asked, timeout=10 * harness.SLACK) as got:
        return json.loads(got.read() or b"null")


def envs(r, token=None):
    found = ask(r, "GET", "/envs", token=token)
    assert found.pop("E2B_SANDBOX") == "false"
    return found


def paths(r):
    return [(q["method"], q["path"]) for q in r.requests() if q["path"] != "/health"]


def inits(r):
    return [q["status"] for q in r.requests() if q["path"] == "/init"]


def is_gone(r):
    assert r.leftovers() == [], r.story()


# ---- what is asked ---------------------------------------------------------------------------------------------------


def test_they_are_there_when_it_is_ready(envd):
    r = envd(env=given(A="1", B="with 'quotes' \"and\" \\ more", EMPTY=""))
    r.wait_ready()
    before = paths(r)
    assert envs(r) == {"A": "1", "B": "with 'quotes' \"and\" \\ more", "EMPTY": ""}
    assert before == [("GET", "/envs"), ("POST", "/init"), ("GET", "/envs")]
    init = [q for q in r.requests() if q["path"] == "/init"][0]
    assert init["headers"] == {"Content-Type": "application/json"}
    assert sorted(json.loads(init["body"])) == ["envVars", "timestamp"]
    assert r.term() == 0


def test_without_variables_nothing_is_asked(envd):
    r = envd("envs=404,init=500")
    r.wait_ready()
    assert paths(r) == []
    assert r.term() == 0


def test_what_the_platform_has_set_stays_and_ours_win(envd, tmp_path):
    r = envd(env=given(A="ours", B="ours"), service={"ready": {"file": str(tmp_path / "go"), "timeout": "60s"}})
    harness.until("the stand-in", lambda: r.evidence("pid"))
    harness.until("it to listen", lambda: answers(r))
    ask(r, "POST", "/init", {"envVars": {"A": "theirs", "KEEP": "theirs"}})
    (tmp_path / "go").write_text("")
    r.wait_ready()
    assert envs(r) == {"A": "ours", "B": "ours", "KEEP": "theirs"}
    assert r.term() == 0


def answers(r):
    try:
        ask(r, "GET", "/health")
        return True
    except OSError:
        return False


def test_a_new_life_is_given_them_before_it_is_ready_and_what_only_the_platform_set_is_lost(envd):
    r = envd(env=given(A="ours"), service={"restart": {"on": "failure", "delay": "50ms"}})
    r.wait_ready()
    first = r.service("envd")["pid"]
    ask(r, "POST", "/init", {"envVars": {"A": "ours", "KEEP": "theirs"}})
    assert r.ctl("signal", "KILL", "envd").returncode == 0
    harness.until("the next life", lambda: r.service("envd").get("pid") not in (None, 0, first))
    r.wait_state("envd", "ready")
    assert envs(r) == {"A": "ours"}
    assert r.term() == 0


def test_what_is_set_later_is_added_and_what_is_there_stays(envd):
    r = envd()
    r.wait_ready()
    ask(r, "POST", "/init", {"envVars": {"KEEP": "theirs"}})
    got = r.ctl("env", "set", "A=1", "B=2")
    assert got.returncode == 0, got.stderr
    assert envs(r) == {"A": "1", "B": "2", "KEEP": "theirs"}
    assert r.ctl("env", "set", "B=3").returncode == 0
    assert envs(r) == {"A": "1", "B": "3", "KEEP": "theirs"}
    assert r.term() == 0


def test_what_is_envds_own_is_not_sent_and_that_is_told(envd):
    r = envd(env=given(E2B_SANDBOX=MARK, A="1"))
    r.wait_ready()
    assert envs(r) == {"A": "1"}
    assert MARK not in "".join(q["body"] for q in r.requests())
    assert "envd sets E2B_SANDBOX by itself" in r.stderr
    assert r.term() == 0


# ---- how often -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("faults,statuses", [
    ("init_seq=503x2,204", [503, 503, 204]), ("init_seq=502,504,204", [502, 504, 204]), ("init_reset=2", [None, None, 204]),
    ("init_hang=2", [None, None, 204]), ("init_lie=2", [204, 204, 204]), ("init_no_version", [204])])
def test_what_passes_by_itself_is_tried_again(envd, faults, statuses):  # without the mark it is tried, too
    r = envd(faults, env=A)
    r.wait_ready()
    assert inits(r) == statuses
    took = r.service("envd")["durations"]["init_ms"]
    if len(statuses) == 3 and "hang" not in faults:
        assert 2 * 25 <= took <= 5000 * harness.SLACK, took  # two refusals, two pauses
    assert envs(r) == {"A": MARK}
    assert MARK not in r.stderr
    assert r.term() == 0


def test_refused_connects_are_tried_again(envd):  # R-44; the number of attempts: unit/plugins_init.c
    r = envd("refuse_ms=100", env=A, options={"init-attempts": 1000, "init-pause": "5ms"})
    r.wait_ready()
    assert envs(r) == {"A": MARK}
    assert r.term() == 0


@pytest.mark.parametrize("code", [400, 401, 404, 429, 500, 501, 302, 200])
def test_an_answer_that_does_not_pass_is_final(envd, code):
    r = fails(envd("init=%d" % code, env=A, timeout="60s"), "envd: did not take its environment: ",
              "/init answered %d, expected 204" % code)
    assert inits(r) == [code]
    assert MARK not in r.stderr
    is_gone(r)


@pytest.mark.parametrize("faults,word", [("init=503", "answered 503"), ("init_reset", "reset"), ("init_hang", "/init: "),
                                         ("init_lie", "later time stamp")])
def test_three_attempts_are_all(envd, faults, word):  # bounded, although the service has a minute
    began = time.monotonic()
    r = fails(envd(faults, env=A, timeout="60s"), "envd: did not take its environment: ", word, "(tried 3 times)")
    assert time.monotonic() - began < 12 * harness.SLACK
    assert len(inits(r)) == 3
    assert MARK not in r.stderr
    is_gone(r)


def test_the_numbers_are_options(envd):
    r = envd("init_seq=503x4,204", env=A, options={"init-attempts": 5, "init-pause": "1ms"})
    r.wait_ready()
    assert inits(r) == [503] * 4 + [204]
    assert r.term() == 0


def test_a_slow_one_is_waited_for_on_demand(envd):
    """300 ms, as after a slow restore."""
    r = envd("reply_delay_ms=300", env=A)
    r.wait_ready()
    assert inits(r) == [204]
    assert r.term() == 0


def test_another_2xx_is_taken_on_demand(envd):
    """It says 200 and does nothing: so it is not even told apart by its answer."""
    r = fails(envd("init=200", env=A, options={"init-any-2xx": True}), "variables are not as they were sent", "such as A")
    assert inits(r) == [200] * 3


# ---- who it is -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("faults,words", [
    ("envs=404", ["/envs answered 404, expected 200"]), ("envs_payload=html", ["is no JSON"]),
    ("envs_payload=number", ["no string"]), ("init=404,init_no_version", ["/init answered 404", "no answer had X-Envd-Version"])])
def test_something_else_on_the_port_fails_at_once(envd, faults, words):
    began = time.monotonic()
    r = fails(envd(faults, env=A, timeout="60s"), "envd: did not take its environment: ", *words)
    assert time.monotonic() - began < 8 * harness.SLACK
    assert len(paths(r)) <= 2
    is_gone(r)


def test_nobody_there_is_told_after_the_same_attempts_and_that_the_mark_is_missing(envd):
    r = fails(envd("no_bind", env=A, service={"ready": {"exec": ["/bin/true"], "timeout": "60s"}}),
              "envd: did not take its environment: ", "refused", "(tried 3 times)", "no answer had X-Envd-Version")
    is_gone(r)


def test_a_later_time_stamp_of_somebody_else_is_told(envd, tmp_path):
    r = envd(env=A, service={"ready": {"file": str(tmp_path / "go"), "timeout": "60s"}})
    harness.until("it to listen", lambda: answers(r))
    ask(r, "POST", "/init", {"envVars": {"KEEP": "1"}, "timestamp": "2199-01-01T00:00:00Z"})
    (tmp_path / "go").write_text("")
    fails(r, "such as A", "later time stamp")


# ---- the token -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_it", [True, False])
def test_the_token_is_where_each_endpoint_expects_it(envd, has_it):
    r = envd("token=s3cret" if has_it else "", env=A, options={"token": "s3cret"})
    r.wait_ready()
    assert envs(r, token="s3cret") == {"A": MARK}
    for q in r.requests():
        if q["path"] == "/init":
            assert json.loads(q["body"])["accessToken"] == "s3cret" and "X-Access-Token" not in q["headers"]
        if q["path"] == "/envs":
            assert q["headers"]["X-Access-Token"] == "s3cret"
        if q["path"] == "/health":
            assert "X-Access-Token" not in q["headers"]
    shown = r.stderr + r.ctl("status", "--json").stdout + r.ctl("plan").stdout + r.ctl("why", "envd").stdout
    assert r.term() == 0
    assert "s3cret" not in shown and MARK not in shown


@pytest.mark.parametrize("options", [{}, {"token": "another"}])
def test_a_wrong_token_or_none_is_final(envd, options):
    r = fails(envd("token=s3cret", env=A, options=options, timeout="60s"), "answered 401")
    assert inits(r) == [] and len(paths(r)) == 1
    assert "another" not in r.stderr


# ---- the time --------------------------------------------------------------------------------------------------------


def test_it_obeys_an_earlier_end_of_the_service(envd):
    began = time.monotonic()
    fails(envd("init_hang", env=A, timeout="1s", options={"init-timeout": "60s"}), "envd")
    assert time.monotonic() - began < 8 * harness.SLACK


def test_it_obeys_an_earlier_end_of_the_request(envd):
    """The way back has its own bound, here that of the one attempt."""
    r = envd("init_hang", options={"init-timeout": "2s", "init-attempts": 1}, timeout="60s")
    r.wait_ready()
    began = time.monotonic()
    got = r.ctl("env", "set", "A=" + MARK, "--timeout", "50ms")
    assert got.returncode in (1, 6), got.stderr
    assert re.search(r"envd: (it has not answered in time|.* no answer within \d{1,3}ms)", got.stderr), got.stderr
    assert time.monotonic() - began < 8 * harness.SLACK
    assert r.service("envd")["state"] == "ready"
    assert envs(r) == {}
    assert r.term() == 0
    assert MARK not in r.stderr + got.stderr


def test_one_that_hangs_for_ever_is_told_with_what_could_not_be_undone(envd):
    """The way back has a bound of its own, 10 s, and is waited for."""
    r = envd("init_hang", timeout="60s")
    r.wait_ready()
    got = r.ctl("env", "set", "A=" + MARK, timeout=60)
    assert got.returncode == 1 and "(tried 3 times)" in got.stderr and "could not be undone: envd: " in got.stderr, got.stderr
    assert MARK not in got.stderr + r.stderr
    assert r.service("envd")["state"] == "ready"
    assert r.term() == 0


# ---- what becomes of the rest ----------------------------------------------------------------------------------------

def sleeper(*needs):
    return {"command": ["/bin/sleep", "600"], "needs": list(needs)}


OTHERS = {"before": sleeper(), "beside": sleeper(), "after": sleeper("envd")}


def test_nothing_survives_a_failed_init(envd):
    r = fails(envd("init=500,orphan=2:setsid", env=A, service={"needs": ["before"]}, others=OTHERS), "/init answered 500")
    assert not re.search(r"\bafter: (starting|ready)", r.stderr), r.stderr
    is_gone(r)


def test_a_cancelled_start_is_cleaned_up_all_the_same(envd):
    r = envd("init_hang,orphan=2:setsid", env=A, service={"needs": ["before"]}, others=OTHERS, timeout="60s",
             options={"init-timeout": "60s"}, boot_timeout="60s")
    harness.until("the request", lambda: ("GET", "/envs") in paths(r))
    began = time.monotonic()
    r.term()
    assert time.monotonic() - began < 20 * harness.SLACK
    is_gone(r)


def test_an_error_on_the_way_back_is_told_beneath_it(mixed, free_port):  # R-52  # noqa: F811
    r = mixed(["moody"], """
  bad: {plugin: moody, options: {in: stop, do: fail}}
  envd:
    plugin: envd
    needs: [bad]
    options: {bin: %s, port: %d, init-timeout: 10s}
    environment: {STANDIN: "loopback,init=500"}
""" % (STANDIN, free_port()), settings="termination-report: '${env.TMPDIR}/report'", well=False, env=A)
    assert r.wait() == 10
    got = json.loads(r.read("report"))
    assert got["service"] == "envd" and "/init answered 500" in got["why"], got
    assert any(re.search(r"^bad: stop( hook)?: ", s) for s in got["secondary"]), got
    assert r.stderr.index("/init answered 500") < r.stderr.index("bad: stop hook")


# ---- commands and other processes ------------------------------------------------------------------------------------


def command(r, **variables):
    pid = ask(r, "POST", "/test/spawn", {"argv": ["env"], "envs": variables})["pid"]

    def out():
        with urllib.request.urlopen("http://127.0.0.1:%d/test/out?pid=%d" % (r.port, pid), timeout=10) as got:
            return got.read().decode()

    return dict(line.split("=", 1) for line in harness.until("its output", out).splitlines())


def test_a_variable_of_a_call_wins_and_does_not_stick(envd):
    r = envd(env={**given(A="sandbox", B="sandbox"), "A": "reeve's own"})
    r.wait_ready()
    with_call, without = command(r, A="call"), command(r)
    assert (with_call["A"], with_call["B"]) == ("call", "sandbox")
    assert (without["A"], without["B"]) == ("sandbox", "sandbox")
    assert r.term() == 0


def test_a_process_and_envd_get_them_by_two_ways(envd, tmp_path):
    out = str(tmp_path / "out")
    other = {"command": ["/bin/sh", "-c", 'env >"$OUT.new"; mv "$OUT.new" "$OUT"; exec sleep 600'],
             "environment": {"OUT": out, "OWN": "service"}, "ready": {"file": out}}
    r = envd(env={**given(A="sandbox", OWN="sandbox"), "A": "reeve's own", "LEFT": "reeve's own"}, others={"other": other})
    r.wait_ready()
    process = dict(line.split("=", 1) for line in (tmp_path / "out").read_text().splitlines() if "=" in line)
    assert (process["A"], process["OWN"], process["LEFT"]) == ("sandbox", "service", "reeve's own")
    assert envs(r) == {"A": "sandbox", "OWN": "sandbox"}
    assert r.term() == 0


# ---- the interpreter ---------------------------------------------------------------------------------------------------

SERVER = """
import http.server, json, os, sys
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def answer(self, status, body):
        self.send_response(status); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def do_GET(self):
        self.answer(200, b'"OK"')
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with open(sys.argv[2], "a") as f: f.write(self.path + " " + body + "\\n")
        self.answer(int(sys.argv[3]), b"")
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
"""


@pytest.fixture
def interpreter(reeve, free_port):
    """interpreter(options, ...) boots one that writes down what it is told; .told is that."""

    def boot(options=None, status=204, env=None, service=None):
        port = free_port()
        graph = {"plugin": "interpreter", "command": ["/usr/bin/python3", "-IS", "server.py", str(port), "told", str(status)],
                 "working-dir": "${env.TMPDIR}", "options": {"port": port, **(options or {})}, **(service or {})}
        r = reeve(json.dumps({"services": {"i": graph}}), env=env, files={"server.py": SERVER})
        r.told = lambda: [line.split(" ", 1) for line in r.read("told").splitlines()]
        return r

    return boot


def test_an_interpreter_with_a_path_is_told_before_it_is_ready_and_later(interpreter):
    r = interpreter({"envs-path": "/vars"}, env=given(A="1"))
    r.wait_ready()
    assert [(path, json.loads(body)) for path, body in r.told()] == [("/vars", {"envVars": {"A": "1"}})]
    pid = r.service("i")["pid"]
    assert r.ctl("env", "set", "B=2").returncode == 0
    assert json.loads(r.told()[-1][1]) == {"envVars": {"A": "1", "B": "2"}}
    assert r.service("i")["pid"] == pid
    assert r.term() == 0


def test_an_interpreter_that_does_not_take_them_fails_the_boot(interpreter):
    fails(interpreter({"envs-path": "/vars"}, 500, env=A), "i: did not take its environment: POST ", "/vars answered 500")


def test_one_without_a_path_takes_none(interpreter):
    r = interpreter(env=A)
    assert r.wait() in (10, 78)
    assert "A" in r.stderr and MARK not in r.stderr


def test_one_without_a_path_is_restarted_on_demand(interpreter):
    r = interpreter(env=A, service={"on-environment-change": "restart"})
    r.wait_ready()
    pid = r.service("i")["pid"]
    assert r.ctl("env", "set", "B=2").returncode == 0
    assert r.service("i")["pid"] != pid
    assert r.told() == []
    assert r.term() == 0
