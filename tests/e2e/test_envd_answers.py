"""What each answer of envd means: the table of the readiness gate, row by row, with the stand-in (R-25 to R-30, R-35, R-36)."""
import json
import time

import harness
import pytest
from test_envd import envd, fails  # noqa: F401  (envd is a fixture)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 409, 410, 418, 451, 200, 201, 202, 206, 300, 301, 302, 304, 307])
def test_a_final_answer_is_told_at_once_and_asked_once(envd, code):
    began = time.monotonic()
    r = fails(envd("health=%d" % code, timeout="60s"), "envd", "answered %d, expected 204" % code)
    assert time.monotonic() - began < 8 * harness.SLACK
    assert [q["status"] for q in r.requests()] == [code]


@pytest.mark.parametrize("code", [429, 500, 501, 502, 503, 504, 507, 599])
def test_an_answer_that_may_pass_is_asked_again_and_told_as_the_last_cause(envd, code):
    """Until the budget is over: that end is in test_envd.py, and is not waited for with each code."""
    r = envd("health=%d" % code, timeout="60s")
    harness.until("three answers", lambda: len(r.requests()) >= 3)
    harness.until("the cause", lambda: "answered %d" % code in r.service("envd")["detail"])
    assert r.service("envd")["state"] == "starting"
    assert r.term() == 0


@pytest.mark.parametrize("code", [429, 500, 503, 599])
def test_it_is_ready_with_the_first_good_answer_after_bad_ones(envd, code):
    r = envd("health_seq=%dx3,204" % code)
    r.wait_ready()
    assert [q["status"] for q in r.requests()] == [code] * 3 + [204]
    assert r.term() == 0


def test_a_final_answer_after_passing_ones_ends_it(envd):
    r = fails(envd("health_seq=503x2,404", timeout="60s"), "404")
    assert [q["status"] for q in r.requests()] == [503, 503, 404]


def test_an_endless_body_is_a_200_and_no_memory(envd):
    fails(envd("endless_body", timeout="60s"), "answered 200, expected 204")


@pytest.mark.parametrize("faults, words", [
    ("exit_now=0", ("exited with 0",)), ("exit_now=127", ("exited with 127",)), ("exit_now=78", ("exited with 78",)),
    ("sigself=11", ("SEGV",)), ("sigself=9", ("KILL",)), ("exit_after_answers=2:3,health=503", ("exited with 3", "503")),
    ("exit_after_ms=300:4,listen_no_accept", ("exited with 4",)),
])
def test_an_end_before_it_was_ready_is_told_at_once_with_its_kind_and_last_words(envd, faults, words):
    began = time.monotonic()
    fails(envd(faults + ",stderr=the last words", timeout="60s"), "envd", "before it was ready", "the last words", *words)
    assert time.monotonic() - began < 8 * harness.SLACK


@pytest.mark.parametrize("faults, word", [
    ("no_bind", "refused"), ("close_mid", "within the answer's headers"), ("accept_no_reply", "/health: no answer within"),
    ("listen_no_accept", "/health: no answer within"), ("reply_delay_ms=3000", "/health: no answer within"),
])
def test_what_never_answers_is_told_with_the_last_cause(envd, faults, word):
    r = envd(faults, service={"ready": {"timeout": "60s", "attempt-timeout": "300ms"}})
    harness.until(lambda: word + "\n" + r.story(), lambda: word in r.service("envd").get("detail", ""))
    assert r.service("envd")["state"] == "starting"
    assert r.term() == 0


def test_what_never_answers_fails_when_the_budget_is_over(envd):
    began = time.monotonic()
    fails(envd("no_bind", timeout=harness.seconds(1.5)), "not ready within ", "refused")
    assert 1.4 < time.monotonic() - began < 8 * harness.SLACK


def test_a_request_that_hangs_is_given_up_and_asked_again(envd):
    """The first connection is swallowed by a server that is not ready to serve; the next attempts are its own."""
    r = envd("reply_delay_ms=900", service={"ready": {"timeout": "60s", "attempt-timeout": "300ms"}})
    harness.until("three requests", lambda: len(r.requests()) >= 3)
    assert "no answer within" in r.service("envd")["detail"]
    assert r.term() == 0


def test_the_boot_timeout_ends_a_gate_that_has_a_longer_one(envd):
    began = time.monotonic()
    r = envd("health=503", timeout="60s", boot_timeout=harness.seconds(1.5))
    assert r.wait() == 10
    assert time.monotonic() - began < 8 * harness.SLACK
    assert "503" in r.stderr and "boot" in r.stderr, r.stderr


def test_an_envd_that_is_not_essential_leaves_the_sandbox_degraded(reeve, free_port):
    r = reeve(json.dumps({"services": {
        "envd": {"plugin": "envd", "essential": False, "options": {"bin": "/nonexistent/envd", "port": free_port()}},
        "a": {"command": ["/bin/sleep", "1000"]}}}))
    r.wait_ready()
    assert json.loads(r.ctl("--json", "status").stdout)["boot"] == "degraded"
    assert "/nonexistent/envd" in r.service("envd")["detail"]
    assert r.term() == 0


def test_two_of_them_with_one_port_are_a_configuration_error(reeve, free_port):
    port = free_port()
    r = reeve(json.dumps({"services": {
        "one": {"plugin": "envd", "options": {"bin": "/bin/true", "port": port}},
        "two": {"plugin": "envd", "options": {"bin": "/bin/true", "port": port + 1, "extra-args": "-port %d" % port}}}}))
    assert r.wait() == 78 and str(port) in r.stderr and "one" in r.stderr and "two" in r.stderr, r.stderr


@pytest.mark.parametrize("port", ["0", "65536", "-1", "ten", "", "1e3"])
def test_a_port_that_is_none_is_a_configuration_error(reeve, port):
    r = reeve("services:\n  envd: {plugin: envd, options: {bin: /bin/true, port: %s}}\n" % port)
    assert r.wait() == 78 and "port" in r.stderr and "reeve.yaml:2:" in r.stderr, r.stderr


@pytest.mark.parametrize("extra", ["-port 0", "-port=70000", "-port", "--port=x"])
def test_a_port_in_the_extra_arguments_that_is_none_is_told_before_anything_starts(envd, extra):
    r = envd(options={"extra-args": extra})
    assert r.wait() in (10, 78), r.stderr
    assert "port" in r.stderr and r.evidence("pid") == "", r.stderr


def test_a_variable_that_is_wrong_is_named(reeve):
    r = reeve("services: {envd: {plugin: envd, options: {bin: /bin/true}}}", env={"ENVD_PORT": "many"})
    assert r.wait() == 78 and "ENVD_PORT" in r.stderr, r.stderr
