"""The envd plugin against the stand-in: its command line, its variables, its log, and what it takes for an answer.
R-10, R-14, R-16 to R-22, R-25 to R-29, R-35, R-36."""
import http.server
import json
import os
import re
import socket
import threading
import time

import harness
import pytest

STANDIN = os.path.join(harness.SRC, "etc", "sandbox", "envd-standin")


@pytest.fixture
def envd(reeve, free_port):
    """envd(faults, ...) boots a graph of one envd on a free port, and of others; it has .port and .evidence(name)."""

    def boot(faults="", options=None, env=None, service=None, timeout="20s", boot_timeout=None, option_port=True, cwd=None,
             others=None):
        port = free_port()
        given = {"bin": STANDIN}
        if option_port:
            given["port"] = port
        given.update(options or {})
        graph = {"plugin": "envd", "options": given, "environment": {"STANDIN": ",".join(filter(None, ["loopback", faults])),
                                                                   "STANDIN_DIR": "${env.TMPDIR}/evidence"},
                 "ready": {"timeout": timeout, "attempt-timeout": "20s"}, "restart": {"on": "never"}}
        graph.update(service or {})
        whole = {"services": {"envd": graph, **(others or {})}}
        if boot_timeout:
            whole["reeve"] = {"boot-timeout": boot_timeout}
        r = reeve(json.dumps(whole), env=env, cwd=cwd)  # JSON is YAML
        r.port = port
        r.evidence = lambda name: r.read(os.path.join("evidence", name))
        r.requests = lambda: [json.loads(line) for line in harness.whole_lines(r.evidence("requests.log"))]
        return r

    return boot


def argv_of(r):
    return r.evidence("argv").splitlines()[1:]


def fails(r, *words, within=10):
    """The boot fails with 10, and reeve's own words have these."""
    assert r.wait(within) == 10, r.story()
    for word in words:
        assert word in r.stderr, "no %r in\n%s" % (word, r.stderr)
    return r


# ---- the command line ------------------------------------------------------------------------------------------------


def test_envd_is_ready_with_port_and_isnotfc_on_its_command_line(envd):
    r = envd()
    r.wait_ready()
    assert argv_of(r) == ["-port", str(r.port), "-isnotfc"]
    assert {(q["method"], q["path"]) for q in r.requests()} == {("GET", "/health")}
    assert r.term() == 0


@pytest.mark.parametrize("extra,count", [("-isnotfc", 1), ("--isnotfc", 1), ("-isnotfc=true", 1), ("-verbose", 1)])
def test_isnotfc_is_there_exactly_once(envd, extra, count):
    r = envd(options={"extra-args": extra})
    r.wait_ready()
    assert sum("isnotfc" in word for word in argv_of(r)) == count
    assert r.term() == 0


# and nobody asks at the port that it was to have
def test_a_port_in_the_extra_arguments_is_the_one_that_is_asked(envd, free_port):
    other = free_port()
    with socket.socket() as first:
        first.bind(("127.0.0.1", 0))
        first.listen()
        port = first.getsockname()[1]
        r = envd(options={"port": port, "extra-args": "-verbose --port=1 -port %d" % other})
        r.wait_ready()
        assert argv_of(r) == ["-port", str(port), "-verbose", "--port=1", "-port", str(other), "-isnotfc"]
        assert r.requests(), "it was the other port that was asked"
        assert r.term() == 0
        first.setblocking(False)
        with pytest.raises(BlockingIOError):
            first.accept()


def test_extra_arguments_are_split_at_blanks_without_quotes_or_globbing(envd):
    r = envd(env={"ENVD_EXTRA_ARGS": "-cgroup-root=/*  -cgroup-root \"a"})
    r.wait_ready()
    assert argv_of(r)[2:] == ["-cgroup-root=/*", "-cgroup-root", '"a', "-isnotfc"]
    assert r.term() == 0


def test_a_missing_program_is_named_by_path_and_is_no_exit_127(envd):
    fails(envd(options={"bin": "/nonexistent/envd"}), "/nonexistent/envd", "No such file")


# ---- the variables of the convention -----------------------------------------------------------------------------------


def test_the_variables_are_used_and_the_file_wins(envd, free_port):
    other = free_port()
    r = envd(env={"ENVD_BIN": "/nonexistent", "ENVD_PORT": str(other), "ENVD_EXTRA_ARGS": "-verbose"}, option_port=False)
    r.wait_ready()
    assert argv_of(r) == ["-port", str(other), "-verbose", "-isnotfc"]
    assert r.term() == 0


# what stands behind the default port is where it listens, so that nobody needs that one here
def test_a_variable_that_is_set_but_empty_means_the_default(envd, free_port):
    other = free_port()
    r = envd("stderr=a word", options={"extra-args": "-port %d" % other}, option_port=False, env={"ENVD_PORT": "", "ENVD_LOG_FILE": ""})
    r.wait_ready()
    assert argv_of(r) == ["-port", "49983", "-port", str(other), "-isnotfc"]
    harness.until("the word in the default log", lambda: "a word" in r.log("envd"))
    assert r.term() == 0


def test_the_folders_of_a_log_path_are_made(envd, tmp_path):
    where = tmp_path / "a" / "b" / "envd.log"
    r = envd("stderr=a word", env={"ENVD_LOG_FILE": str(where)})
    r.wait_ready()
    harness.until("the word", lambda: "a word" in where.read_text())
    assert r.term() == 0


# also where no file could be made
@pytest.mark.parametrize("cwd", [None, "/proc"])
def test_a_log_path_of_dash_is_our_own_output_and_no_file(envd, cwd):
    r = envd("stderr=a word", env={"ENVD_LOG_FILE": "-"}, cwd=cwd)
    r.wait_ready()
    harness.until("the word", lambda: "a word" in r.stderr + r.stdout)
    assert r.term() == 0
    assert not os.path.exists(r.path("-")) and not os.path.exists(r.path("log", "envd.log"))


def test_a_log_path_that_cannot_be_opened_is_named_before_anything_starts(envd, tmp_path):
    (tmp_path / "file").write_text("")
    r = envd(env={"ENVD_LOG_FILE": str(tmp_path / "file" / "envd.log")})
    assert r.wait() in (10, 78)
    assert str(tmp_path / "file") in r.stderr and "Not a directory" in r.stderr
    assert r.evidence("pid") == ""


# ---- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", ["503x3,204", "429x2,204", "500,502,504,204"])
def test_what_passes_by_itself_is_asked_again(envd, script):
    r = envd("health_seq=" + script)
    r.wait_ready()
    seen = [q["status"] for q in r.requests()]
    assert seen[-1] == 204 and 204 not in seen[:-1] and len(seen) >= 4 - script.count("x2")
    assert r.term() == 0


def test_a_late_bind_is_waited_for(envd):
    r = envd("bind_delay_ms=700")
    r.wait_ready()
    assert r.term() == 0


@pytest.mark.parametrize("faults,word", [("health=404", "404"), ("health=401", "401"), ("health_200", "200"), ("health=400", "400")])
def test_a_wrong_answer_fails_at_once_with_its_status(envd, faults, word):
    r = envd(faults, timeout="60s")
    fails(r, "envd", word)
    assert len(r.requests()) == 1, "it was asked again"


def test_a_redirect_is_a_wrong_answer_and_is_not_followed(envd):
    hits = []

    class Target(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            hits.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Target) as target:
        threading.Thread(target=target.serve_forever, daemon=True).start()
        r = envd("health_redirect=http://127.0.0.1:%d/health" % target.server_port, timeout="60s")
        fails(r, "302")
        target.shutdown()
    assert hits == []


def test_a_budget_that_runs_out_is_told_with_the_last_cause(envd):
    began = time.monotonic()
    fails(envd("health=503", timeout=harness.seconds(1.5)), "503")
    assert time.monotonic() - began < 8 * harness.SLACK


@pytest.mark.parametrize("faults", ["accept_no_reply", "listen_no_accept"])
def test_a_connect_is_no_answer_and_silence_is_bounded(envd, faults):
    began = time.monotonic()
    r = fails(envd(faults, timeout=harness.seconds(1.5)), "envd: failed: not ready within ")
    assert re.search(r"last check: (GET http://\S+/health: no answer within|the probe hook timed out after) [\d.]+m?s$", r.stderr, re.M), r.stderr
    assert time.monotonic() - began < 8 * harness.SLACK


def test_nobody_listening_is_told_as_refused(envd):
    fails(envd("no_bind", timeout=harness.seconds(1)), "envd: failed: not ready within ", "; last check: GET http://", "/health: Connection refused")


@pytest.mark.parametrize("faults", ["close_mid", "reply_delay_ms=5000"])
def test_an_answer_that_does_not_come_whole_is_not_ready(envd, faults):
    fails(envd(faults, timeout="1s"), "envd: failed: not ready within 1s; last check: ")


#
def test_an_early_exit_fails_at_once_with_status_and_last_words(envd):
    began = time.monotonic()
    r = fails(envd("exit_after_ms=200:7,stderr=out of luck,no_bind", timeout="60s"), "envd: failed: exited with 7 before it was ready", "out of luck")
    assert time.monotonic() - began < 19 * harness.SLACK
    assert "envd: ready" not in r.stderr


class Foreign(http.server.BaseHTTPRequestHandler):
    """Not ours, and yet it gives the very answer that is waited for."""

    def do_GET(self):
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_port_of_somebody_else_is_a_conflict_and_nothing_is_started(envd):
    with http.server.HTTPServer(("127.0.0.1", 0), Foreign) as foreign:
        threading.Thread(target=foreign.serve_forever, daemon=True).start()
        r = envd(options={"port": foreign.server_port}, timeout="60s")
        fails(r, "envd", "port %d" % foreign.server_port, "pid %d" % os.getpid())
        foreign.shutdown()
    assert r.evidence("pid") == ""


# the stranger comes between the start and the bind; it says nothing, or just what is waited for
@pytest.mark.parametrize("answers", [False, True])
def test_a_port_that_is_lost_after_the_start_fails_with_the_words_of_the_one_who_lost_it(envd, tmp_path, answers):
    late = tmp_path / "late"
    late.write_text("#!/bin/sh\nwhile [ ! -e %s ]; do sleep 0.02; done\nexec %s \"$@\"\n" % (tmp_path / "go", STANDIN))
    late.chmod(0o755)
    r = envd(options={"bin": str(late)}, timeout="60s")
    r.wait_state("envd", "starting")
    with http.server.ThreadingHTTPServer(("127.0.0.1", r.port), Foreign) as s:
        if answers:
            threading.Thread(target=s.serve_forever, daemon=True).start()
            harness.until("the answer to be heard", lambda: "is listened on by pid %d" % os.getpid() in r.service("envd").get("detail", ""))
        (tmp_path / "go").write_text("")
        fails(r, "envd: failed: exited with 1 before it was ready", "address already in use")
        if answers:
            s.shutdown()
    assert "envd: ready" not in r.stderr


def test_it_is_watched_after_it_was_ready(envd):
    r = envd("die_after_ready_ms=300", service={"restart": {"on": "failure", "delay": "50ms"}})
    first = r.wait_state("envd", "ready")
    harness.until("another life", lambda: r.service("envd").get("pid") not in (None, 0, first["pid"]))
    assert r.term() == 0


def test_what_it_started_is_gone_with_it(envd):
    r = envd("orphan=2:setsid,zombie=2", service={"stop": {"timeout": "1s"}})
    r.wait_ready()
    harness.until("the children", lambda: len(r.leftovers()) >= 4)
    assert r.term() == 0
    assert r.leftovers() == []


def test_a_deaf_one_is_killed_after_its_timeout(envd):
    r = envd("ignore_term", service={"stop": {"timeout": "500ms"}})
    r.wait_ready()
    began = time.monotonic()
    assert r.term() == 0
    assert 0.4 < time.monotonic() - began < 8 * harness.SLACK


def test_a_token_is_not_shown(envd):
    r = envd(options={"token": "secret-of-envd"})
    r.wait_ready()
    plan = r.ctl("plan").stdout + r.ctl("--json", "plan").stdout
    assert "secret-of-envd" not in plan + r.stderr + r.stdout
    assert r.term() == 0
