"""The gate on GET /envs of the envd plugin: off by default, and each answer to it (R-26, R-32 to R-34)."""
import json
import time
import urllib.request

import harness
import pytest
from test_envd import envd, fails  # noqa: F401  (envd is a fixture)

GATE = {"envs-gate": True}


def paths(r):
    return [q["path"] for q in r.requests()]


def test_without_the_gate_a_bad_environment_boots(envd):
    r = envd("envs=404")
    r.wait_ready()
    assert set(paths(r)) == {"/health"}
    assert r.term() == 0


def test_with_the_gate_both_are_asked_in_turn_and_before_init(envd):
    r = envd(options=GATE)
    r.wait_ready()
    assert paths(r)[-2:] == ["/health", "/envs"]
    assert r.term() == 0


def test_the_token_is_sent_and_shown_nowhere(envd):
    r = envd("token=a-s3cret", options={**GATE, "token": "a-s3cret"})
    r.wait_ready()
    assert [q["status"] for q in r.requests()][-2:] == [204, 200]
    shown = r.stderr + r.ctl("status", "--json").stdout + r.ctl("plan").stdout
    assert r.term() == 0
    assert "s3cret" not in shown


def test_a_wrong_token_is_final_and_shown_nowhere(envd):
    r = fails(envd("token=another", options={**GATE, "token": "a-s3cret"}, timeout="60s"), "/envs answered 401, expected 200")
    assert "s3cret" not in r.stderr


def test_a_404_fails_long_before_the_budget(envd):
    began = time.monotonic()
    r = fails(envd("envs=404", options=GATE, timeout="60s"), "envd", "/envs answered 404, expected 200")
    assert time.monotonic() - began < 8 * harness.SLACK
    assert paths(r).count("/envs") == 1


@pytest.mark.parametrize("payload, word", [
    ("array", "is no object"), ("number", "no string"), ("nested", "no string"), ("html", "is no JSON"), ("empty", "is no JSON"),
])
def test_an_environment_that_is_no_flat_object_of_strings_is_final(envd, payload, word):
    r = fails(envd("envs_payload=" + payload, options=GATE, timeout="60s"), "envd", "a flat object of strings", word)
    assert paths(r).count("/envs") == 1


def test_an_optional_envd_with_a_bad_environment_leaves_the_sandbox_degraded(envd):
    r = envd("envs_payload=array", options=GATE, service={"essential": False})
    r.wait_ready()
    assert "degraded" in r.stderr
    assert r.service("envd")["state"] == "failed"
    assert r.term() == 0


def test_a_refusal_before_init_is_final_by_default(envd):
    fails(envd("envs_401_before_init", options=GATE, timeout="60s"), "/envs answered 401, expected 200")


def test_a_refusal_before_init_may_be_waited_out(envd):
    r = envd("envs_401_before_init", options={**GATE, "envs-retry-4xx": True}, timeout="60s")
    harness.until("three refusals", lambda: paths(r).count("/envs") >= 3)
    assert r.service("envd")["state"] == "starting"
    assert "answered 401" in r.service("envd")["detail"]
    urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:%d/init" % r.port, data=b"{}", method="POST"), timeout=10).close()
    r.wait_ready()
    assert r.term() == 0


def test_a_refusal_that_is_waited_out_is_the_cause_when_the_budget_is_over(envd):
    r = envd("envs_401_before_init", options={**GATE, "envs-retry-4xx": True}, timeout=harness.seconds(2))
    fails(r, "not ready within ", "/envs answered 401, expected 200")


def test_how_to_judge_what_is_not_asked_is_a_mistake(envd):
    r = envd(options={"envs-retry-4xx": True})
    assert r.wait() == 78
    assert "envs-gate" in r.stderr
