"""TERM and INT while services start: whatever it is that is waited for, the same way back, and nobody is told twice."""
import os
import random
import re
import signal
import subprocess
import time

import pytest

import harness
from harness import SLACK, has_socket, until
from test_hosts import mixed  # noqa: F401  (a fixture: plugins that misbehave as they are told)

SIGNALS = [signal.SIGTERM, signal.SIGINT]

# Says each signal that it gets, and takes a moment to go, so that a second one would be seen.
BODY = ("trap \"echo %(name)s term >> said; sleep 0.2; exit 0\" TERM; trap \"echo %(name)s int >> said\" INT; "
        "echo %(name)s begun >> said; %(then)s; while :; do sleep 0.02; done")


def service(name, more="", then=":"):
    return "  %s: {command: [/bin/sh, -c, '%s'], working-dir: \"${env.TMPDIR}\"%s}\n" % (
        name, BODY % {"name": name, "then": then}, more)


def around(middle):
    """`low` is up, `mid` waits for something, `high` and `beside` wait for it or for nothing."""
    return ("services:\n" + service("low", ", ready: {fd: 3}", "echo >&3") + service("beside", ", ready: {fd: 3}", "echo >&3") + middle +
            service("high", ", needs: [mid]"))


def events(r):
    return r.read("said").splitlines()


def once(r, *names):
    """Each of these was begun, was asked to go once by TERM, and got no other signal."""
    ev = events(r)
    for name in names:
        assert [e for e in ev if e.startswith(name + " ")] == [name + " begun", name + " term"], ev


def went_back(r, number, status=0, within=8):
    """reeve ends after the signal as after any failure of a start: in reverse, high never began, low went last."""
    began = time.monotonic()
    r.signal(number)
    assert r.wait() == status, r.story()
    assert time.monotonic() - began < within * SLACK
    ev = events(r)
    assert "high begun" not in ev
    once(r, "low", "beside")
    if "mid term" in ev:
        once(r, "mid")
        assert ev.index("mid term") < ev.index("low term")
        assert r.stderr.index("mid: stopped") < r.stderr.index("low: stopped")
    assert r.leftovers() == []
    return ev


WAITS = {
    "descriptor": service("mid", ", needs: [low], ready: {fd: 3, timeout: 60s}"),
    "notification": service("mid", ", needs: [low], ready: {notify: true, timeout: 60s}"),
    "line": service("mid", ", needs: [low], ready: {log-line: up, timeout: 60s}"),
    "file": service("mid", ", needs: [low], ready: {file: \"${env.TMPDIR}/none\", timeout: 60s}"),
    "port": service("mid", ", needs: [low], ready: {tcp: PORT, timeout: 60s}"),
    "answer": service("mid", ", needs: [low], ready: {http: {url: \"http://127.0.0.1:PORT/\"}, timeout: 60s, attempt-timeout: 60s}"),
    "command": service("mid", ", needs: [low], ready: {exec: [/bin/sh, -c, \"echo asked > asked; exec sleep 60\"], "
                              "timeout: 60s, attempt-timeout: 60s}"),
    "launcher": service("mid", ", needs: [low], type: launcher, ready: {timeout: 60s}"),
    # only the daemon says that it was asked to go, and it says that it is there
    "its daemon": service("mid", ", needs: [low], type: launcher, main-pid: {file: \"${env.TMPDIR}/none\"}, ready: {timeout: 60s}",
                          "trap - TERM; (trap \"echo mid term >> said; sleep 0.2; exit 0\" TERM; echo up > daemon; while :; do sleep 0.02; done) & exit 0"),
    "task": service("mid", ", needs: [low], type: task"),
}


#
@pytest.mark.parametrize("wait, number", [(w, signal.SIGTERM) for w in WAITS] + [("answer", signal.SIGINT), ("command", signal.SIGINT)])
def test_a_signal_during_any_wait_goes_the_same_way_back(reeve, free_port, wait, number):
    port = free_port()
    with harness.socket.socket() as s:
        if wait == "answer":  # connects, and is never answered
            s.bind(("127.0.0.1", port))
            s.listen(8)
        r = reeve(around(WAITS[wait].replace("PORT", str(port))))
        until(lambda: "mid to begin\n" + r.story(), lambda: "mid begun" in events(r) and "beside begun" in events(r))
        r.wait_state("mid", "starting")
        if wait == "command":
            until("the check to run", lambda: r.read("asked"))
        if wait == "its daemon":
            until("the daemon to have ears", lambda: r.read("daemon"))
        held = []
        if wait == "answer":
            s.settimeout(20 * SLACK)
            held.append(s.accept())
        assert "mid term" in went_back(r, number)


#
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_next_try_is_waited_for(reeve, number):
    r = reeve(around("  mid: {command: [/bin/false], needs: [low], ready: {fd: 3}, start-attempts: 9, restart: {delay: 30s}}\n"))
    r.wait_state("mid", "backoff")
    until("beside", lambda: "beside begun" in events(r))
    went_back(r, number)


#
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_a_permit_is_waited_for_and_a_client_waits(reeve, number):
    r = reeve("reeve: {max-starts: 1}\nservices:\n" + service("low", ", ready: {fd: 3}", "echo >&3") +
              service("beside", ", ready: {fd: 3}, after: [low]", "echo >&3") +
              service("first", ", after: [beside], ready: {fd: 3, timeout: 60s}") + service("high", ", after: [beside]"))
    r.wait_state("high", "queued")
    client = subprocess.Popen([harness.REEVECTL, "-s", r.socket, "start", "high"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until("the client to wait for its answer", lambda: harness.state_of(client.pid) == "S" and has_socket(client.pid))
    went_back(r, number)
    once(r, "first")
    assert client.wait(20 * SLACK) == 1
    assert "shutting down" in client.stdout.read()
    client.stdout.close()


def moody(trace, more, options):
    return "  mid: {plugin: moody, options: {trace: %s, %s}%s}\n" % (trace, options, more)



@pytest.fixture
def plugged(mixed, tmp_path):  # noqa: F811
    """plugged(HOOK, HOW, SETTINGS) boots a service whose plugin behaves so in that hook; .hooks() is what was called."""

    def boot(hook, how, settings="on-boot-failure: rollback"):
        r = mixed(["moody"], "  mid: {plugin: moody, options: {trace: %s, in: %s, do: %s}, ready: {timeout: 60s}}\n" % (
            tmp_path / "trace", hook, how), settings=settings, well=False)
        r.hooks = lambda: (tmp_path / "trace").read_text().split() if (tmp_path / "trace").exists() else []
        return r

    return boot


# a sentence without a reason would be none
@pytest.mark.parametrize("hook, says", [("start", "mid: failed: moody.start failed without a word"),
                                        ("probe", "mid: failed: readiness check failed: moody.probe failed without a word")])
def test_a_hook_that_fails_without_a_word_is_named(plugged, hook, says):
    r = plugged(hook, "fail")
    assert r.wait() == 10
    assert says in r.stderr, r.stderr


# the plugin is asked again and again
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_a_plugin_is_asked(plugged, number):
    r = plugged("probe", "patient")
    r.wait_state("mid", "starting")
    until("its process", lambda: r.service("mid")["pid"])
    began = time.monotonic()
    r.signal(number)
    assert r.wait() == 0 and time.monotonic() - began < 8 * SLACK
    assert r.hooks() == ["rehearse", "start", "stop", "cleanup"]


# R-83 R-84: a hook that may hold state outside is not cut off in the middle; what it did is undone
@pytest.mark.parametrize("hook", ["start", "update"])
def test_a_hook_that_is_at_it_may_end_within_the_grace_and_is_undone(plugged, hook):
    r = plugged(hook, "long")
    until("the hook", lambda: hook in r.hooks())
    r.signal(signal.SIGTERM)
    assert r.wait() == 0
    assert r.hooks() == (["rehearse", "start", "done", "cleanup"] if hook == "start" else
                         ["rehearse", "start", "update", "done", "stop", "cleanup"])
    assert "mid: ready" not in r.stderr


# one that hangs is waited for that long and no longer, and this is said
@pytest.mark.parametrize("hook", ["start", "update"])
def test_a_hook_that_hangs_is_given_up_when_the_grace_is_over(plugged, hook):
    r = plugged(hook, "patient", "start-grace: 500ms")
    until("the hook", lambda: hook in r.hooks())
    began = time.monotonic()
    r.signal(signal.SIGTERM)
    assert r.wait() == 0
    assert 0.4 < time.monotonic() - began < 6 * SLACK
    assert r.hooks()[-1] == "cleanup"
    assert "mid: its %s hook did not end within reeve.start-grace: given up" % hook in r.stderr
    assert r.leftovers() == []


# a second signal waits for no hook
@pytest.mark.parametrize("hook", ["start", "update", "stop", "cleanup"])
def test_a_second_signal_waits_for_no_hook(plugged, hook):
    r = plugged(hook, "patient", "start-grace: 60s, shutdown-timeout: 200s")
    if hook in ("start", "update"):
        until("the hook", lambda: hook in r.hooks())
    else:
        r.wait_ready()
    r.signal(signal.SIGTERM)
    until("the hook\n" + r.story(), lambda: hook in r.hooks())
    r.wait_text("SIGTERM: stopping")
    began = time.monotonic()
    r.signal(signal.SIGINT)
    assert r.wait() == 128 + 2
    assert time.monotonic() - began < 5 * SLACK
    assert r.leftovers() == []


# R-88 R-95: what came while the configuration was read is obeyed before anything is started
@pytest.mark.parametrize("numbers, status", [([15], 0), ([2], 0), ([15, 2], 128 + 15)])
def test_a_signal_that_came_before_the_boot_starts_nothing(reeve, numbers, status):
    r = reeve("services:\n" + service("low") + service("high", ", needs: [low]"), wrap=(
        "/usr/bin/python3", "-c", "import os,signal,sys\nsignal.pthread_sigmask(signal.SIG_BLOCK,[2,15])\n"
        "for n in %r: os.kill(os.getpid(),n)\nos.execv(sys.argv[1],sys.argv[1:])" % numbers))
    assert r.wait() in (status, 128 + 2 if status else 0)  # the kernel gives the lower number first
    assert events(r) == [] and ": stopped" not in r.stderr


# "nothing is delivered twice": each way that leads to a stop, and several at one time
TWICE = {
    "rollback and TERM": ("  bad: {command: [/bin/sh, -c, \"exit 7\"], needs: [low, beside], ready: {fd: 3}}\n", 10),
    "stop and TERM": ("", 0),
    "shutdown and TERM": ("", 0),
    "restart and TERM": ("", 0),
}


#
@pytest.mark.parametrize("how", TWICE)
def test_a_service_is_asked_to_go_once_however_often_it_is_meant(reeve, how):
    bad, status = TWICE[how]
    # both are there until the second has met the first
    slow = ", ready: {fd: 3}, stop: {timeout: 60s}"
    stays = "while [ ! -e go ]; do sleep 0.02; done; exit"
    r = reeve("services:\n" + service("low", slow, "echo >&3").replace("sleep 0.2; exit", stays) +
              service("beside", slow, "echo >&3").replace("sleep 0.2; exit", stays) + bad)
    if bad:
        r.wait_text("bad: failed: exited with 7")
    else:
        r.wait_ready()
        word = how.split()[0]
        assert r.ctl(word, *([] if word == "shutdown" else ["low", "beside"]), "--no-wait").returncode == 0
    until("both to be asked", lambda: {"low term", "beside term"} <= set(events(r)))
    r.signal(signal.SIGTERM)
    r.wait_text("SIGTERM")
    r.write("go", "")
    assert r.wait() == status
    once(r, "low", "beside")


#
def test_neither_are_the_processes_below_it(reeve):
    """The main process goes at once; one child of its group and one with a session of its own take their time."""
    child = "trap \"echo %s term >> said; sleep 0.3; exit 0\" TERM; echo %s begun >> said; while :; do sleep 0.02; done"
    r = reeve("""
services:
  main:
    working-dir: "${env.TMPDIR}"
    ready: {exec: [/bin/sh, -c, 'test $(grep -c begun said) = 3']}
    command:
    - /bin/sh
    - -c
    - |
      sh -c '%s' &
      setsid sh -c '%s' &
      trap 'echo main term >> said; exit 0' TERM
      echo main begun >> said
      while :; do sleep 0.02; done
""" % (child % ("near", "near"), child % ("far", "far")))
    r.wait_ready()
    assert r.term() == 0
    once(r, "main", "near", "far")


# a thousand starts, and a signal at any moment among them: each is in the shutdown's set, or was never made
@pytest.mark.bound(180)
def test_no_start_is_lost_between_the_boot_and_a_signal(reeve):
    dice = random.Random(1)
    services, boots = 50, 20
    text = "reeve: {max-starts: 7}\nservices:\n" + "".join(
        "  s%d: {command: [/bin/sh, -c, 'sleep 0.02; echo >&3; exec sleep 1000'], ready: {fd: 3}%s}\n" % (
        i, ", needs: [s%d]" % (i // 2) if i % 3 and i > 1 else "") for i in range(services))
    counts = []
    for _ in range(boots):
        r = reeve(text)
        until("reeve to begin", lambda: r.running() and os.path.exists(r.socket), every=0.001)
        time.sleep(dice.random() * 0.2)
        r.signal(signal.SIGTERM)
        assert r.wait() == 0, r.story()
        assert r.leftovers() == []
        ready = set(re.findall(r"(s\d+): ready ", r.stderr))
        assert ready <= set(re.findall(r"(s\d+): stopped", r.stderr)), r.stderr
        counts.append(len(ready))
    assert min(counts) < services, "no signal came in time: %s" % counts
