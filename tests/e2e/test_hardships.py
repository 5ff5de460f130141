"""What goes wrong around a service: its program, its folder, its output, /proc (design: truths 5, 7 and 9)."""
import os
import signal
import time

import pytest

from harness import SLACK, seconds, state_of, until


def test_a_program_that_loses_its_x_bit_between_two_lives_is_named(reeve):
    r = reeve("""
services:
  keep: {command: [/bin/sleep, "1000"]}
  a: {command: ["${env.TMPDIR}/prog"], restart: {on: always, delay: 300ms, limit: 2}}
""", files={"prog": "#!/bin/sh\nexec sleep 1000\n"}, wrap=("/bin/sh", "-c", 'chmod 755 prog; exec "$0" "$@"'))
    r.wait_ready()
    os.chmod(r.path("prog"), 0o644)
    os.kill(r.service("a")["pid"], signal.SIGKILL)
    s = r.wait_state("a", "failed")
    assert "prog" in s["detail"] and "Permission denied" in s["detail"], "giving up tells the last cause"
    assert s["restarts"] == 2 and not s.get("pid")
    os.chmod(r.path("prog"), 0o755)
    assert r.ctl("start", "a").returncode == 0
    assert r.service("a")["state"] == "ready"
    assert r.term() == 0


def test_a_folder_that_goes_away_between_two_lives_is_named(reeve):
    r = reeve("""
services:
  keep: {command: [/bin/sleep, "1000"]}
  a: {command: [/bin/sleep, "1000"], working-dir: "${env.TMPDIR}/there", restart: {on: always, delay: 200ms, limit: 2}}
""", files={"there/x": ""})
    r.wait_ready()
    os.rename(r.path("there"), r.path("elsewhere"))
    os.kill(r.service("a")["pid"], signal.SIGKILL)
    r.wait_state("a", "failed")
    assert r.path("there") in r.stderr and "cannot enter working directory" in r.service("a")["detail"]
    os.rename(r.path("elsewhere"), r.path("there"))
    assert r.ctl("start", "a").returncode == 0
    assert r.term() == 0


def test_a_service_that_closes_its_output_lives_on_and_is_watched(reeve):
    r = reeve("""
services:
  a:
    command: [/bin/sh, -c, 'echo last words; exec >&- 2>&-; sleep 0.3; touch on; while :; do sleep 0.05; test -e go && exit 4; done']
    working-dir: "${env.TMPDIR}"
    restart: {on: never}
  keep: {command: [/bin/sleep, "1000"]}
""")
    until("it to go on", lambda: os.path.exists(r.path("on")))
    assert r.service("a")["state"] == "ready"
    r.wait_text("last words", source="log/a.log")
    before = sum(int(x) for x in open("/proc/%d/stat" % r.pid).read().rpartition(")")[2].split()[11:13])
    time.sleep(0.5)
    after = sum(int(x) for x in open("/proc/%d/stat" % r.pid).read().rpartition(")")[2].split()[11:13])
    assert after - before < 20, "no spinning on a closed pipe"
    r.write("go", "")
    s = r.wait_state("a", "failed")
    assert "4" in s.get("detail", "") + str(s.get("exit")), s
    assert r.term() == 0


# t lives a moment first, u leaves with 0
@pytest.mark.parametrize("life, on", [("sleep 0.2; exit 1", "failure"), ("exit 0", "always")], ids=["t", "u"])
def test_a_short_life_is_no_stable_one_and_the_limit_holds(reeve, life, on):
    r = reeve("""
services:
  keep: {command: [/bin/sleep, "1000"]}
  t:
    command: [/bin/sh, -c, 'cut -d" " -f1 /proc/uptime >> starts; %s']
    working-dir: "${env.TMPDIR}"
    restart: {on: %s, limit: 3, delay: 100ms, factor: 2, max-delay: 1s}
""" % (life, on))
    s = r.wait_state("t", "failed", timeout=30)
    t = [float(x) for x in r.read("starts").split()]
    assert len(t) == 4
    gaps = [b - a for a, b in zip(t, t[1:])]
    assert gaps[0] >= 0.09 and gaps[1] >= 0.19 and gaps[2] >= 0.39, gaps
    assert s["restarts"] == 3 and not s.get("pid")
    assert len(r.stderr.splitlines()) < 40, "a crash loop does not flood the log"
    r.ctl("start", "t")
    until("four more", lambda: len(r.read("starts").split()) == 8, 20)
    r.wait_state("t", "failed")
    time.sleep(0.3)
    assert len(r.read("starts").split()) == 8
    assert r.term() == 0


STILL = """
services:
  fd: {command: [/bin/sh, -c, '%(leave)s; %(wait)s; echo >&3; %(stay)s'], ready: {fd: 3, timeout: %(time)s}%(more)s}
  line: {command: [/bin/sh, -c, '%(leave)s; %(wait)s; echo it is there; %(stay)s'], ready: {log-line: there, timeout: %(time)s}%(more)s}
  note: {command: [/bin/sh, -c, '%(leave)s; %(wait)s; %(note)s; %(stay)s'], ready: {notify: true, timeout: %(time)s}%(more)s}
  task: {type: task, command: [/bin/sh, -c, '%(wait)s'], ready: {timeout: %(time)s}%(more)s}
  other: {type: task, command: [/bin/sh, -c, '%(wait)s'], ready: {timeout: %(time)s}%(more)s}
""" % {"wait": "until [ -e go ]; do sleep 0.02; done", "stay": "touch up.$$; while :; do sleep 0.02; done",
       "leave": 'trap "touch asked.$$; until [ -e leave ]; do sleep 0.02; done; exit 0" TERM',
       "note": 'python3 -c "import os, socket; socket.socket(1, 2).sendto(b\\"READY=1\\", os.environ[\\"NOTIFY_SOCKET\\"])"',
       "time": seconds(1.5), "more": ', working-dir: "${env.TMPDIR}", stop: {timeout: %s}' % seconds(1.5)}


# A machine without time for it, a debugger, `kill -STOP`: what happened in time is not late because it is heard of late.
def test_what_came_while_reeve_stood_still_came_in_time(reeve):
    def stands_still(write, came):
        began = time.monotonic()
        r.signal(signal.SIGSTOP)
        until("reeve to stand still", lambda: state_of(r.pid) == "T")
        r.write(write, "")
        until("all that was waited for to come", came)
        time.sleep(max(0, began + 2 * SLACK - time.monotonic()))  # until their time is over
        r.signal(signal.SIGCONT)

    def are(prefix):
        return sum(name.startswith(prefix) for name in os.listdir(r.dir))

    r = reeve(STILL)
    until("all to start", lambda: len(r.services()) == 5 and all(s["pid"] for s in r.services().values()))
    pids = {name: s["pid"] for name, s in r.services().items()}
    stands_still("go", lambda: are("up.") == 3 and all(state_of(pids[n]) == "Z" for n in ("task", "other")))
    r.wait_ready()
    assert r.ctl("stop", "--all", "--no-wait").returncode == 0
    until("all to be asked", lambda: are("asked.") == 3)
    stands_still("leave", lambda: all(state_of(pids[n]) == "Z" for n in ("fd", "line", "note")))
    until("all to be stopped", lambda: {r.service(n)["state"] for n in ("fd", "line", "note")} == {"stopped"})
    assert "did not stop in time" not in r.stderr
    assert r.term() == 0


# known-gap: no-proc
# reeve where /proc is not mounted: it says so at once, or works as far as its manual says
@pytest.mark.root
@pytest.mark.pid1
def test_without_proc_it_says_what_is_missing_and_still_stops_its_services(reeve):
    r = reeve("""
services:
  a: {command: [/bin/sh, -c, 'trap "echo bye > bye; exit 0" TERM; while :; do sleep 0.05; done'], working-dir: "${env.TMPDIR}"}
  b: {command: [/bin/sleep, "1000"], needs: [a]}
""", wrap=("unshare", "-m", "-p", "-f", "--kill-child", "/bin/sh", "-c", 'umount -l /proc || exit 77; exec "$0" "$@"'))
    r.pid1 = True  # below unshare
    if until("the start", lambda: r.proc.poll() or "all ready" in r.stderr) == 77:
        pytest.skip("/proc cannot be unmounted here")
    assert "/proc" in r.stderr, "it says what is missing"
    assert r.ctl("restart", "a").returncode == 0
    r.wait_ready()
    # a sanitizer cannot look for leaks without /proc, and says so with a status of its own
    assert r.term() == (1 if "LeakSanitizer has encountered a fatal error" in r.stderr else 0)
    assert r.stderr.index("b: stopped") < r.stderr.rindex("a: stopped")


@pytest.mark.root
@pytest.mark.pid1
def test_a_proc_of_another_namespace_is_none(reeve):
    r = reeve("services: {a: {command: [/bin/sleep, '1000']}}", wrap=("unshare", "-p", "-f", "--kill-child"))
    r.pid1 = True  # below unshare
    r.wait_ready()
    assert "/proc is not mounted, or is that of another process namespace" in r.stderr
    assert r.ctl("restart", "a").returncode == 0
    assert r.term() == (1 if "LeakSanitizer has encountered a fatal error" in r.stderr else 0)
