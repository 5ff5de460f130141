"""`recreate`: what is lost is replaced, what may be alive is not.

`mortal` is a plugin of tests/plugins whose confirm hook says what a file says; envd is the stand-in of the sample."""
import json
import os
import shutil
import signal
import threading
import urllib.request

import pytest

import harness
from harness import alive, free_port, state_of, until

BAD = os.path.join(harness.BUILD, "tests", "plugins")
STANDIN = os.path.join(harness.SRC, "etc", "sandbox", "envd-standin")

WEB = """
services:
  web:
    plugin: mortal
    recreate: true
    command: [/bin/sh, -c, "echo start >> starts; exec sleep 1000"]
    working-dir: "${env.TMPDIR}"
    restart: {delay: 1ms, limit: 0}
    options: {says: "${env.TMPDIR}/says", trace: "${env.TMPDIR}/trace", not-ready: "${env.TMPDIR}/not-ready", never: "${env.TMPDIR}/never"}
%s
  aside: {command: [/bin/sleep, "1000"]}
"""


@pytest.fixture
def mortal(reeve, tmp_path):
    """mortal(more keys of web, text) boots; says(word) is the next verdict, starts() is the newest generation, asked() has one for each question."""

    def boot(more="", text=WEB):
        folder = tmp_path / "lib" / "plugins"
        if not os.path.exists(os.path.join(BAD, "mortal.so")):
            pytest.skip("the plugins of tests/plugins are not built (make check builds them)")
        folder.mkdir(parents=True)
        for name in ("mortal", "moody"):
            shutil.copy(os.path.join(BAD, name + ".so"), str(folder / (name + ".so")))
        shutil.copy(os.path.join(harness.PLUGINS, "exec.so"), str(folder / "exec.so"))
        r = reeve(text % more if "%s" in text else text, args=["--plugin-dir", str(folder)], files={"well": ""})
        r.says = lambda word: os.replace(r.write("saying", word), r.path("says"))  # never half of it
        r.starts = lambda: max((e["generation"] for e in events(r)), default=0)
        r.asked = lambda: r.read("trace").split("confirm ")[1:]
        r.wait_ready()
        return r

    return boot


def recreate(r, *more, name="web"):
    """(exit status, the service's part of the answer, or the error)"""
    got = r.ctl("--json", "recreate", name, "--if-lost", *more)
    answer = json.loads(got.stdout)
    return got.returncode, answer["error"] if "error" in answer else answer["services"][0]


def events(r, name="web"):
    return [json.loads(line) for line in r.ctl("--json", "events", "-n", "all", name).stdout.splitlines()]


# ---- what authorises a replacement -----------------------------------------------------------------------------------


# it is off unless it is asked for, and nothing else changes
def test_without_recreate_a_report_is_refused_and_nothing_starts(mortal):
    r = mortal(text=WEB.replace("recreate: true", "recreate: false"))
    r.says("lost")
    status, error = recreate(r)
    assert status == 1 and error["class"] == "refused" and "recreate is not true" in error["message"]
    assert not error["retrySafe"]
    assert r.starts() == 1 and r.asked() == [] and r.service("web")["generation"] == 1
    assert "recreate" not in r.service("web")
    assert r.term() == 0


#
def test_with_adopt_the_configuration_is_wrong(reeve):
    r = reeve("services:\n  envd: {plugin: envd, recreate: true, if-running: adopt}\n")
    assert r.wait() == 78
    assert "reeve.yaml:2:34: recreate of service 'envd' cannot be true: if-running: adopt" in r.stderr, r.stderr


def test_exec_cannot_be_confirmed_and_the_plan_says_who_can(reeve, mortal):
    r = reeve("services:\n  web: {command: [sleep, '1'], recreate: true}\n")
    assert r.wait() == 78 and "plugin exec has none" in r.stderr
    r = mortal()
    plan = {s["name"]: s["recreate"] for s in json.loads(r.ctl("--json", "plan").stdout)["services"]}
    assert plan == {"web": True, "aside": False}
    assert "recreate      when its plugin confirms that it is lost" in r.ctl("plan").stdout
    assert r.service("web")["recreate"] is True


# a report is only a suspicion
@pytest.mark.parametrize("word, status, verdict", [("alive", 0, "alive"), ("unsure", 1, "unclear"), ("mute", 1, "unclear")])
def test_what_is_not_confirmed_is_not_replaced(mortal, word, status, verdict):
    r = mortal()
    r.says(word)
    pid = r.service("web")["pid"]
    got, web = recreate(r)
    assert (got, web["verdict"], web["replaced"]) == (status, verdict, False), web
    assert web["generation"] == 1 and web["pid"] == pid and web["state"] == "ready" and "notice" not in web
    assert "nothing was replaced" in web["why"]
    assert ("retrySafe" in web) == (status != 0) and not web.get("retrySafe")
    assert r.starts() == 1 and r.asked() == ["1\n"] and alive(pid)
    assert [e["event"] for e in events(r)][-1] == verdict
    told = r.ctl("recreate", "web", "--if-lost")
    assert told.returncode == status
    assert "nothing was replaced" in told.stdout + told.stderr
    assert r.term() == 0


# a plugin that is broken, late or gone says nothing of its service
@pytest.mark.parametrize("how", ["crash", "abort", "exit", "spin", "nonsense", "endless", "patient"])
def test_a_plugin_that_fails_has_not_confirmed_anything(mortal, how):
    r = mortal(text="""
services:
  web: {plugin: moody, recreate: true, ready: {timeout: 4s}, options: {in: confirm, do: %s}}
""".replace("%s", how))
    status, web = recreate(r)
    assert status == 1 and web["verdict"] == "unclear" and not web["replaced"], web
    assert web["generation"] == 1 and web["state"] == "ready"
    assert r.service("web")["generation"] == 1
    assert r.term() == 0


#
def test_no_value_of_the_sandbox_is_told_with_a_verdict(mortal):
    r = mortal("    on-environment-change: restart")
    assert r.ctl("env", "set", "TOKEN=hush-hush-hush").returncode == 0
    r.says("hush-hush-hush")
    answers = [r.ctl("--json", "recreate", "web", "--if-lost").stdout for _ in range(2)]
    shown = "".join(answers) + r.stderr + r.ctl("why").stdout + r.ctl("--json", "status").stdout + r.ctl("events", "-n", "all").stdout
    assert "the file says '***'" in shown and "hush" not in shown
    assert r.stderr.count("cannot tell whether it is lost") == 1, "the second answer is no news"
    assert r.term() == 0


# another generation, fresh state, and whoever asked is told what that means
def test_what_is_confirmed_is_replaced_and_the_answer_says_what_that_means(mortal):
    r = mortal()
    r.says("lost")
    pid = r.service("web")["pid"]
    status, web = recreate(r, "--generation", "1")
    assert status == 0 and web["verdict"] == "lost" and web["replaced"] and web["lost"] == 1, web
    assert web["generation"] == 2 and web["state"] == "ready" and web["pid"] != pid and not alive(pid)
    assert "fresh state" in web["notice"] and "nothing is done again" in web["notice"] and web["notice"] in web["why"]
    assert "generation 2 instead of 1" in web["why"]
    now = r.service("web")
    assert "lost" not in now and now["restarts"] == 0
    seen = [(e["event"], e["state"], e["generation"]) for e in events(r)]
    assert seen[2:] == [("lost", "ready", 1), ("state", "stopping", 1), ("state", "waiting", 1), ("state", "starting", 2),
                        ("state", "ready", 2)], seen
    assert "lost: the file says 'lost'" in events(r)[3]["detail"]
    assert "web: reported lost by user %d" % os.getuid() in r.stderr and "web: lost, as its plugin has confirmed" in r.stderr
    told = r.ctl("recreate", "web", "--if-lost")
    assert told.returncode == 0 and "web: ready" in told.stdout and "fresh state" in told.stdout
    assert r.service("aside")["generation"] == 1
    assert r.term() == 0


def test_the_dependents_of_what_is_lost_go_first_and_come_back(mortal):
    r = mortal(text=WEB + "  above: {command: [/bin/sleep, '1000'], needs: [web]}\n")
    r.says("lost")
    assert recreate(r)[0] == 0
    until("above is back", lambda: r.service("above")["generation"] == 2 and r.service("above")["state"] == "ready")
    numbers = {(e["name"], e["state"], e["generation"]): e["number"]
               for e in map(json.loads, r.ctl("--json", "events", "-n", "all").stdout.splitlines()) if e["event"] == "state"}
    assert numbers["above", "waiting", 1] < numbers["web", "stopping", 1]
    assert r.term() == 0


def test_the_command_line_says_what_is_missing(mortal):
    r = mortal()
    got = r.ctl("recreate", "web")
    assert got.returncode == 2 and "--if-lost" in got.stderr and "restart" in got.stderr
    assert r.ctl("recreate", "--if-lost").returncode == 2
    assert r.ctl("restart", "web", "--if-lost").returncode == 2
    assert r.ctl("recreate", "web", "wbe", "--if-lost").returncode == 4
    assert r.ctl("recreate", "aside", "--if-lost").returncode == 1
    assert r.asked() == []


# ---- health ----------------------------------------------------------------------------------------------------------

HEALTH = "    health: {file: \"${env.TMPDIR}/well\", period: 20ms, threshold: 2, on-failure: restart}\n"


# bad health is a suspicion, too: what is not known to be lost lives on
def test_bad_health_replaces_only_what_is_confirmed(mortal):
    r = mortal(HEALTH)
    os.unlink(r.path("well"))
    until("it has been asked", lambda: len(r.asked()) >= 3)
    web = r.service("web")
    assert web["state"] == "unhealthy" and web["generation"] == 1 and r.starts() == 1
    assert "cannot tell whether it is lost" in web["detail"] and "cannot tell" in r.ctl("why", "web").stdout
    r.says("alive")
    until("it is said to be alive", lambda: [e for e in events(r) if e["event"] == "alive"])
    assert r.service("web")["generation"] == 1 and r.starts() == 1
    r.says("lost")
    until("it is replaced", lambda: r.service("web")["generation"] >= 2)
    r.write("well", "")
    r.wait_state("web", "ready")
    stopping = [e for e in events(r) if e["state"] == "stopping"][0]
    assert "health check failed" in stopping["detail"] and "confirmed that it is lost" in stopping["detail"], stopping
    assert r.stderr.count("web: not replaced: its plugin cannot tell") == 1, r.stderr
    assert r.term() == 0


def test_bad_health_restarts_within_the_limit_and_waits_its_delay(mortal):
    r = mortal(HEALTH.replace("threshold: 2", "threshold: 1") + "    restart: {delay: 1ms, limit: 2}\n", WEB.replace("    restart: {delay: 1ms, limit: 0}\n", ""))
    r.says("lost")
    os.unlink(r.path("well"))
    web = r.wait_state("web", "failed")
    assert web["generation"] == 3 and web["restarts"] == 2 and web["lost"] == 3
    assert "gave up after 2 restarts" in web["detail"]
    assert "generation 3 of it is lost" in r.ctl("why", "web").stdout
    assert "generation 3 was lost" in r.ctl("status", "web").stdout
    assert r.term() == 0


def test_where_health_is_only_shown_nobody_is_asked(mortal):
    r = mortal(HEALTH.replace("on-failure: restart", "on-failure: none"))
    r.says("lost")
    os.unlink(r.path("well"))
    r.wait_state("web", "unhealthy")
    until("its health was asked often", lambda: r.ctl("--json", "why", "web").returncode == 0 and r.service("web")["since_ms"] > 200)
    assert r.asked() == [] and r.service("web")["generation"] == 1
    assert recreate(r)[1]["replaced"]


# ---- generations -----------------------------------------------------------------------------------------------------


# stale, safe to retry, and the notice is in the error already
@pytest.mark.parametrize("verb", [["recreate", "web", "--if-lost"], ["stop", "web"], ["restart", "web"], ["start", "web"],
                                  ["signal", "USR1", "web"], ["pause", "web"], ["wait", "web"]])
def test_a_request_for_an_earlier_life_is_stale_and_does_nothing(mortal, verb):
    r = mortal()
    r.says("lost")
    assert recreate(r)[0] == 0
    before = r.service("web")
    got = r.ctl("--json", *verb, "--generation", "1")
    error = json.loads(got.stdout)["error"]
    assert got.returncode == 8 and error["class"] == "stale" and error["retrySafe"] is True and error["generation"] == 2
    assert "generation 1 is not the present one (2)" in error["message"] and "fresh state" in error["message"]
    now = r.service("web")
    assert (now["generation"], now["pid"], now["state"]) == (2, before["pid"], "ready") and "paused" not in now
    assert r.starts() == 2 and r.asked() == ["1\n"]
    told = r.ctl(*verb, "--generation", "1")
    assert told.returncode == 8 and told.stderr.endswith("prepared again (safe to retry, with --generation 2)\n")
    assert r.term() == 0


def test_the_protocol_tells_the_present_generation_of_a_stale_request(mortal):
    r = mortal()
    assert r.ctl("restart", "web").returncode == 0
    answer = by_hand(r, {"method": "stop", "params": {"names": ["web"], "generation": 1}})
    assert answer["error"]["data"] == {"class": "stale", "retrySafe": True, "generation": 2}
    answer = by_hand(r, {"method": "stop", "params": {"names": ["nix"]}})
    assert answer["error"]["data"]["retrySafe"] is False
    assert r.term() == 0


def by_hand(r, request):
    import socket
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20 * harness.SLACK)
        s.connect(r.socket)
        s.sendall((json.dumps({"jsonrpc": "2.0", "id": 1, **request}) + "\n").encode())
        return json.loads(s.makefile().readline())


# the generation is bound once; when another life begins after the first step, a part has been done
def test_what_was_begun_is_not_safe_to_retry(mortal):
    r = mortal("    stop: {steps: [{signal: CONT, timeout: 60s}]}\n")
    pid = r.service("web")["pid"]
    got = {}

    def stop():
        got["stop"] = r.ctl("--json", "stop", "web", "--generation", "1")

    t = threading.Thread(target=stop)
    t.start()
    r.wait_state("web", "stopping")
    assert r.ctl("start", "web", "--no-wait").returncode == 0
    harness.kill(pid)
    t.join()
    web = json.loads(got["stop"].stdout)["services"][0]
    assert got["stop"].returncode == 1 and web["outcome"] == "failed" and web["retrySafe"] is False
    r.wait_state("web", "ready")
    r.signal(signal.SIGTERM)
    r.wait_state("web", "stopping")
    harness.kill(r.service("web")["pid"])  # the minute of its step is not waited for
    assert r.wait() == 0


# ---- many at one time, and what comes in between ---------------------------------------------------------------------


#
def test_twenty_callers_share_one_replacement_and_one_answer(mortal):
    r = mortal("    ready: {timeout: 120s}\n")  # the question may take as long
    r.says("wait")
    answers = []

    def call():
        answers.append(recreate(r, "--generation", "1"))

    callers = [threading.Thread(target=call) for _ in range(20)]
    for c in callers:
        c.start()
    until("all have asked", lambda: r.stderr.count("reported lost by") == 20, timeout=30)
    r.says("lost")
    for c in callers:
        c.join()
    assert len(answers) == 20 and r.starts() == 2 and r.asked() == ["1\n"]
    assert {(s, w["generation"], w["verdict"], w["replaced"], w["why"]) for s, w in answers} == {
        (0, 2, "lost", True, answers[0][1]["why"])}
    assert r.term() == 0


# the start is held up; nobody gets to see what comes of it
@pytest.mark.parametrize("verb, state", [("stop", "stopped"), ("pause", "waiting")])
def test_a_stop_or_a_pause_ends_a_replacement_unseen(mortal, verb, state):
    r = mortal()
    r.says("lost")
    r.write("not-ready", "")
    got = []
    t = threading.Thread(target=lambda: got.append(recreate(r)))
    t.start()
    until("its start is under way", lambda: r.service("web")["generation"] == 2 and r.service("web")["state"] == "starting")
    pid = r.service("web")["pid"]
    assert r.ctl(verb, "web").returncode == 0
    web = r.wait_state("web", state)
    t.join()
    os.unlink(r.path("not-ready"))
    assert not alive(pid) and web["lost"] == 1
    assert got[0][0] == {"stop": 3, "pause": 1}[verb] and not got[0][1]["replaced"], got
    assert "may be reported again" in got[0][1]["why"] or "paused" in got[0][1]["why"], got
    assert not [e for e in events(r) if e["state"] == "ready" and e["generation"] > 1]
    if verb == "pause":
        status, error = recreate(r)
        assert status == 1 and "paused" in error["message"]
    assert r.ctl("resume" if verb == "pause" else "start", "web").returncode == 0
    web = r.wait_state("web", "ready")
    assert web["generation"] == 3 and "lost" not in web
    assert r.term() == 0


@pytest.mark.parametrize("verb", ["stop", "pause"])
def test_a_stop_or_a_pause_ends_the_question(mortal, verb):
    r = mortal()
    r.says("wait")
    got = []
    t = threading.Thread(target=lambda: got.append(recreate(r)))
    t.start()
    until("it is asked", r.asked)
    until("why says so", lambda: "being asked whether it is lost" in r.ctl("why", "web").stdout)
    assert json.loads(r.ctl("--json", "why", "web").stdout)["services"][0]["waits_for"] == "confirm-hook"
    assert r.ctl(verb, "web").returncode == 0
    t.join()
    assert got[0][0] != 0 and not got[0][1]["replaced"]
    r.says("lost")
    assert r.starts() == 1 and r.service("web")["generation"] == 1
    assert r.term() == 0


def test_a_shutdown_wins_over_a_replacement(mortal):
    r = mortal()
    r.says("lost")
    r.write("not-ready", "")
    t = threading.Thread(target=lambda: r.ctl("recreate", "web", "--if-lost"))
    t.start()
    until("its start is under way", lambda: r.service("web")["generation"] == 2)
    assert r.term() == 0
    t.join()
    assert r.leftovers() == []


#
def test_a_replacement_that_fails_leaves_it_lost_and_another_report_tries_again(mortal):
    r = mortal()
    r.says("lost")
    r.write("never", "")
    status, web = recreate(r, "--generation", "1")
    assert status == 1 and web["state"] == "failed" and web["lost"] == 1 and not web["replaced"]
    assert "may be reported again" in web["why"] and web["retrySafe"] is False
    seen = r.service("web")
    assert seen["lost"] == 1 and seen["state"] == "failed"
    assert "generation 1 of it is lost" in r.ctl("why", "web").stdout
    os.unlink(r.path("never"))
    status, web = recreate(r, "--generation", "1")  # the life that the caller knows
    assert status == 0 and web["replaced"] and web["generation"] == 3 and web["lost"] == 1
    assert "lost" not in r.service("web")
    assert recreate(r, "--generation", "1")[0] == 8
    assert r.starts() == 3
    assert r.term() == 0


# what is read at the start is what is used, whatever becomes of the file
def test_the_configuration_in_force_is_used_and_not_the_file(mortal):
    r = mortal()
    until("its first life has begun its work", lambda: r.read("starts"))
    text = open(r.config).read()
    with open(r.config, "w") as f:
        f.write(text.replace("echo start", "echo changed").replace("recreate: true", "recreate: false"))
    r.says("lost")
    status, web = recreate(r)
    assert status == 0 and web["replaced"] and r.starts() == 2
    until("the new life has begun its work", lambda: len(r.read("starts").splitlines()) == 2)
    assert "changed" not in r.read("starts")
    with open(r.config, "w") as f:
        f.write("services: [")
    assert recreate(r)[0] == 0 and r.starts() == 3
    assert r.term() == 0


# A process that ends is the matter of `restart`
def test_an_exit_is_no_loss_and_needs_no_report(mortal):
    r = mortal()
    pid = r.service("web")["pid"]
    harness.kill(pid)
    until("it is back", lambda: r.service("web")["generation"] == 2 and r.service("web")["state"] == "ready")
    assert r.asked() == [] and r.service("web")["restarts"] == 1
    assert recreate(r, "--generation", "1")[0] == 8
    assert r.ctl("stop", "web").returncode == 0
    assert recreate(r)[0] == 3
    assert r.term() == 0


# ---- envd, by its stand-in -------------------------------------------------------------------------------------------


@pytest.fixture
def envd(reeve):
    def boot(options=None):
        port = free_port()
        service = {"plugin": "envd", "recreate": True, "options": {"bin": STANDIN, "port": port},
                   "environment": {"STANDIN": "loopback,health_file=${env.TMPDIR}/health", "STANDIN_DIR": "${env.TMPDIR}/evidence"},
                   "ready": {"timeout": "20s"}, "restart": {"delay": "1ms"}}
        service.update(options or {})
        r = reeve(json.dumps({"services": {"envd": service}}))
        r.port = port
        r.wait_ready()
        return r

    return boot


def post(r, path, body=b""):
    with urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:%d%s" % (r.port, path), data=body), timeout=20 * harness.SLACK) as got:
        return got.read()


def test_a_verdict_is_that_of_the_question_that_is_answered(envd):
    r = envd()
    assert recreate(r, name="envd")[1]["verdict"] == "alive"
    os.kill(r.service("envd")["pid"], signal.SIGSTOP)
    status, got = recreate(r, "--timeout", "300ms", name="envd")
    assert status == 6 and got["outcome"] == "timeout" and got["verdict"] is None, got
    os.kill(r.service("envd")["pid"], signal.SIGCONT)
    assert r.term() == 0


# none of these is a loss; the status is kept apart
def test_an_envd_that_answers_or_hangs_is_not_lost(envd):
    r = envd()
    for word in ("503", "502", "504", "401", "404", "500", "200"):
        r.write("health", word)
        status, web = recreate(r, name="envd")
        assert (status, web["verdict"], web["status"]) == (1, "unclear", int(word)), web
        assert "answered " + word in web["why"]
    r.write("health", "hang")
    status, web = recreate(r, name="envd")
    assert (status, web["verdict"]) == (1, "unclear") and "status" not in web, web
    os.unlink(r.path("health"))
    status, web = recreate(r, name="envd")
    assert (status, web["verdict"], web["status"]) == (0, "alive", 204)
    envd_now = r.service("envd")
    assert envd_now["generation"] == 1 and envd_now["restarts"] == 0
    assert r.term() == 0


# stopped by a signal it answers nobody, and lives
def test_a_process_that_is_stopped_is_not_lost(envd):
    r = envd()
    pid = r.service("envd")["pid"]
    os.kill(pid, 19)
    until("it is stopped", lambda: state_of(pid) == "T")
    status, web = recreate(r, name="envd")
    assert (status, web["verdict"]) == (1, "unclear"), web
    os.kill(pid, 18)
    assert r.service("envd")["generation"] == 1
    assert r.term() == 0


# it has lost its socket. Who uses it as before gets an error, which starts nothing; a report does
def test_an_envd_that_has_lost_its_port_is_replaced_when_it_is_reported(envd):
    r = envd()
    first = r.service("envd")
    mark = r.path("mark")
    ran = json.loads(post(r, "/test/spawn", json.dumps({"argv": ["/bin/sh", "-c", "echo once >> %s; exec sleep 1000" % mark]}).encode()))
    until("its command runs", lambda: os.path.exists(mark))
    post(r, "/test/unlisten")
    for _ in range(3):
        with pytest.raises(OSError):
            post(r, "/test/spawn", b"{}")
    now = r.service("envd")
    assert (now["generation"], now["restarts"], now["pid"]) == (1, 0, first["pid"]) and alive(first["pid"])
    status, web = recreate(r, "--generation", "1", name="envd")
    assert status == 0 and web["verdict"] == "lost" and web["replaced"] and web["generation"] == 2, web
    assert "connection refused 3 times" in [e for e in events(r, "envd") if e["event"] == "lost"][0]["detail"]
    assert "fresh state" in web["notice"]
    # what the lost one was doing has ended with it, and nothing of it is done again
    assert not alive(ran["pid"])
    with pytest.raises(urllib.error.HTTPError) as e:
        post(r, "/test/out?pid=%d" % ran["pid"])
    assert e.value.code in (404, 405)
    assert r.read("mark") == "once\n"
    assert r.term() == 0


def test_health_finds_it_by_itself(envd):
    r = envd({"health": {"period": "50ms", "threshold": 1}})
    r.write("health", "503")
    r.wait_state("envd", "unhealthy")
    until("its plugin was asked", lambda: [e for e in events(r, "envd") if e["event"] == "unclear"])
    assert r.service("envd")["generation"] == 1
    os.unlink(r.path("health"))
    r.wait_state("envd", "ready")
    post(r, "/test/unlisten")
    until("it is replaced", lambda: r.service("envd")["generation"] == 2 and r.service("envd")["state"] == "ready", timeout=20)
    assert r.term() == 0
