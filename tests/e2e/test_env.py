"""What a sandbox is created with: sources, checks, who receives what, and changes while it runs."""
import json
import os
import socket
import subprocess

import pytest

import harness

TEST_PLUGINS = os.path.join(harness.BUILD, "tests", "plugins")
MARKER = "v4lue-of-the-marker"

GRAPH = """
environment: {TIER: sandbox, FLAVOUR: sandbox}
services:
  taker: {plugin: taker, environment: {TAKER_ENV: %(dir)s/taker.env, OWN: mine}, options: {told: %(dir)s/told, orders: %(dir)s/orders}%(taker)s}
"""


class Stage:
    def __init__(self, reeve, tmp_path, create=None, more="", args=(), env=None, taker="", graph=GRAPH, wait=True):
        self.dir = tmp_path
        words = list(args)
        os.makedirs(tmp_path / "plugins", exist_ok=True)
        for path in (os.path.join(TEST_PLUGINS, "taker.so"), os.path.join(harness.PLUGINS, "exec.so")):
            if not os.path.exists(tmp_path / "plugins" / os.path.basename(path)):
                os.symlink(path, tmp_path / "plugins" / os.path.basename(path))
        if create is not None:
            (tmp_path / "create.json").write_text(create if isinstance(create, str) else json.dumps({"envVars": create}))
            words += ["--environment", str(tmp_path / "create.json")]
        self.r = reeve(graph % {"dir": tmp_path, "taker": taker} + more, args=["--plugin-dir", str(tmp_path / "plugins"), *words], env=env)
        if wait:
            self.r.wait_ready()

    def told(self):
        """[(generation, {name: value or None when dropped})], one for each time that the plugin was told."""
        got = []
        for line in self.read("told").splitlines():
            words = line.split()
            got.append((int(words[0]), {w.split("=")[0].lstrip("-"): w.partition("=")[2] if "=" in w else None for w in words[1:]}))
        return got

    def read(self, name):
        path = self.dir / name
        return path.read_text() if path.exists() else ""

    def environ(self, name):
        """Of the process that runs. For a moment after an exec there is none to be seen."""
        pid = self.r.service(name)["pid"]

        def look():
            with open("/proc/%d/environ" % pid, "rb") as f:
                return [e.split("=", 1) for e in f.read().decode().split("\0") if "=" in e]

        found = harness.until("the environment of %s" % name, look)
        assert len(dict(found)) == len(found), "a name is there twice"
        return dict(found)

    def order(self, what):
        (self.dir / "orders").write_text(what)

    def set(self, *words, **more):
        return self.r.ctl("env", "set", *words, **more)


def plan(once, tmp_path, text, *args, **more):
    (tmp_path / "reeve.yaml").write_text(text)
    return once("check", "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", TEST_PLUGINS, *args, **more)


# ---- sources -----------------------------------------------------------------------------------------------------------

def test_layers_are_laid_from_reeves_own_to_the_services_own(reeve, tmp_path):
    #
    (tmp_path / "file.env").write_text("FROM_FILE=sandbox-file\nFLAVOUR=file\n")
    graph = "environment-file: %s\n" % (tmp_path / "file.env") + GRAPH
    s = Stage(reeve, tmp_path, {"FLAVOUR": "create", "TIER": "create", "OWN": "create", "INHERITED": "create"}, graph=graph,
              env={"INHERITED": "reeve", "ALSO": "reeve"})
    got = s.environ("taker")
    assert (got["ALSO"], got["FROM_FILE"]) == ("reeve", "sandbox-file")
    assert (got["INHERITED"], got["TIER"], got["FLAVOUR"], got["OWN"]) == ("create", "create", "create", "mine")
    # what its recipe made of it, and what it was told: all of them, whatever its own environment says
    assert got["TASTES_OF"] == "create"
    assert s.told() == [(1, {"FLAVOUR": "create", "TIER": "create", "OWN": "create", "INHERITED": "create"})]


@pytest.mark.parametrize("text", ['{"envVars": {"A": "1"}}', '{"envs": {"A": "1"}}',
                                  '{"templateID": "base", "timeout": 300, "metadata": {"x": "y"}, "envs": {"A": "1"}}'])
def test_both_names_are_accepted_also_inside_a_whole_create_request(reeve, tmp_path, text):
    #
    s = Stage(reeve, tmp_path, text)
    assert s.told() == [(1, {"A": "1"})]


def test_the_variable_of_reeve_is_a_source_and_is_passed_to_nobody(reeve, tmp_path):
    s = Stage(reeve, tmp_path, env={"REEVE_CREATE_ENVIRONMENT": '{"envVars": {"A": "1"}}'})
    assert s.told() == [(1, {"A": "1"})]
    assert "REEVE_CREATE_ENVIRONMENT" not in s.environ("taker")


def test_without_variables_nobody_is_asked(reeve, tmp_path):
    #
    for create in (None, "{}", '{"envVars": {}}', '{"envs": null, "timeout": 3}'):
        s = Stage(reeve, tmp_path, create)
        assert s.read("told") == ""
        assert s.environ("taker")["TASTES_OF"] == "sandbox"
        assert s.r.term() == 0


# ---- checks ------------------------------------------------------------------------------------------------------------

BAD = {
    "BASH_ENV": "x", "ld_preload": "x", "Path": "x", "IFS": " ", "1A": "x", "A B": "x", "": "x", "A-B": "x", "REEVE_X": "x",
    "LINE": "a\nb", "BELL": "\a", "CR": "a\rb", "DEL": "\x7f", "LONG": "x" * 4097, "N" * 257: "x",
}


def test_all_that_is_wrong_is_told_at_once_and_nothing_is_started(once, tmp_path):
    #
    text = GRAPH % {"dir": tmp_path, "taker": ""}
    create = tmp_path / "create.json"
    create.write_text(json.dumps({"envVars": {**BAD, "GOOD": MARKER, "NUMBER": 3, "SECRET": MARKER + "\n"}}))
    (tmp_path / "reeve.yaml").write_text(text)
    for verb in ("check", "run"):
        got = once(verb, "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", TEST_PLUGINS, "--environment", str(create))
        assert got.returncode == 78, got
        for name in [n for n in BAD if n and n[0] != "N"] + ["NUMBER", "SECRET"]:
            assert "%s: %s " % (create, name) in got.stderr, (name, got.stderr)
        assert "NNN" in got.stderr and "257 bytes, at most 256" in got.stderr
        assert "LONG has a value of 4097 bytes, at most 4096" in got.stderr
        assert MARKER not in got.stderr and "GOOD" not in got.stderr
        assert not (tmp_path / "told").exists() and not (tmp_path / "taker.env").exists()


def test_both_names_at_once_and_other_nonsense_is_refused(once, tmp_path):
    #
    for text, words in (('{"envVars": {}, "envs": {}}', "only one of them"), ('{"envs": {}, "envVars": null}', "only one of them"),
                        ('{"envVars": []}', "object of strings"), ('[]', "must be an object"), ('{', "not JSON"),
                        ('{"A": "1"}', 'write {"envVars"'), ('{"envVars": {"A": "1", "A": "2"}}', "A is given twice"),
                        ('{"envVars": {"A": "x\\u0000y"}}', "NUL"), ('{"envVars": {"A": "1"}} x', "not JSON")):
        (tmp_path / "create.json").write_text(text)
        got = plan(once, tmp_path, GRAPH % {"dir": tmp_path, "taker": ""}, "--environment", str(tmp_path / "create.json"))
        assert got.returncode == 78 and words in got.stderr, (text, got.stderr)
    got = plan(once, tmp_path, GRAPH % {"dir": tmp_path, "taker": ""}, "--environment", str(tmp_path / "nowhere"))
    assert got.returncode == 78 and "cannot open it" in got.stderr


@pytest.mark.parametrize("source", ["fifo", "-"])
def test_a_source_that_does_not_end_holds_up_neither_the_start_for_ever_nor_a_request_to_end(tmp_path, source):
    os.mkfifo(tmp_path / "fifo")
    path = str(tmp_path / "fifo") if source == "fifo" else "-"
    (tmp_path / "reeve.yaml").write_text("services: {a: {command: [/bin/true]}}\n")
    words = [harness.REEVE, "check", "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", TEST_PLUGINS, "--environment", path]
    silent = [subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    harness.until("both wait", lambda: all(harness.state_of(p.pid) == "S" for p in silent))
    silent[0].terminate()
    assert silent[0].wait(timeout=30 * harness.SLACK) == 78 and "had not ended when reeve was asked to end" in silent[0].stderr.read()
    assert silent[1].wait(timeout=30 * harness.SLACK) == 78 and "no end after 10 seconds" in silent[1].stderr.read()


def test_a_fifo_may_be_written_later(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "reeve.yaml").write_text("services: {a: {command: [/bin/true], on-environment-change: restart}}\n")
    p = subprocess.Popen([harness.REEVE, "check", "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", harness.PLUGINS,
                          "--environment", str(tmp_path / "fifo")], stderr=subprocess.PIPE, text=True)
    harness.until("it waits", lambda: harness.state_of(p.pid) == "S")
    with open(tmp_path / "fifo", "w") as f:
        f.write('{"envVars": ')
        f.flush()
        f.write('{"A": 1}}')
    assert p.wait(timeout=30 * harness.SLACK) == 78 and "A has a value that is no string" in p.stderr.read()


def test_the_bounds_of_a_value_and_of_the_whole_are_exact(once, tmp_path):
    #
    def tried(values):
        (tmp_path / "create.json").write_text(json.dumps({"envVars": values}))
        return plan(once, tmp_path, GRAPH % {"dir": tmp_path, "taker": ""}, "--environment", str(tmp_path / "create.json"))

    assert tried({"A": "x" * 4096}).returncode == 0
    assert tried({"A": "x" * 4097}).returncode == 78
    whole = {c: "x" * 4096 for c in "ABC"}
    whole["D"] = ""
    whole["D"] = "x" * (16384 - len(json.dumps(whole, separators=(",", ":"))))
    assert tried(whole).returncode == 0
    whole["D"] += "x"
    got = tried(whole)
    assert got.returncode == 78 and "16385 bytes as a JSON object, at most 16384" in got.stderr


def test_variables_that_nobody_takes_are_an_error_that_names_them(once, tmp_path):
    #
    text = "services: {a: {command: [/bin/sleep, '100']%s}}"
    (tmp_path / "create.json").write_text('{"envVars": {"FIRST": "%s", "SECOND": "2"}}' % MARKER)
    words = ("-c", str(tmp_path / "reeve.yaml"), "--environment", str(tmp_path / "create.json"), "--plugin-dir", harness.PLUGINS)
    (tmp_path / "reeve.yaml").write_text(text % "")
    for verb in ("check", "run"):
        got = once(verb, *words)
        assert got.returncode == 78 and "FIRST, SECOND" in got.stderr and "no service" in got.stderr, got
        assert MARKER not in got.stderr
    # one that a boot does not start takes nothing either
    (tmp_path / "reeve.yaml").write_text(GRAPH % {"dir": tmp_path, "taker": ", startup: disabled"} + "  a: {command: [/bin/true], type: task}\n")
    assert once("check", *words, "--plugin-dir", TEST_PLUGINS).returncode == 78
    (tmp_path / "reeve.yaml").write_text(text % ", on-environment-change: restart")
    assert once("check", *words).returncode == 0


# ---- changes while it runs -----------------------------------------------------------------------------------------------

PLAIN = "  plain: {command: [/bin/sleep, '1000'], on-environment-change: %s%s}\n"


def test_a_change_is_told_to_what_runs_and_later_starts_have_it(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1", "FLAVOUR": "old"}, PLAIN % ("ignore", ""))
    before = s.r.services()
    got = s.set("A=2", "B=x y")
    assert got.returncode == 0 and got.stdout == "the sandbox has A, FLAVOUR, B; told: taker; run with the former ones until they are restarted: plain\n", got
    assert s.told()[-1] == (1, {"A": "2", "FLAVOUR": "old", "B": "x", "y": ""}) or s.told()[-1][1]["A"] == "2"
    after = s.r.services()
    assert [after[n]["pid"] for n in after] == [before[n]["pid"] for n in before]
    assert (s.environ("plain")["A"], s.environ("taker")["A"]) == ("1", "1")
    # its next life has it in its environment, its recipe is made anew, and it is told again before it is ready
    assert s.set("FLAVOUR=new").returncode == 0
    assert s.r.ctl("restart", "taker", "plain").returncode == 0
    assert (s.environ("taker")["FLAVOUR"], s.environ("taker")["TASTES_OF"]) == ("new", "new")
    assert s.environ("plain")["B"] == "x y"
    assert s.told()[-1][0] == 2 and s.told()[-1][1]["FLAVOUR"] == "new"
    # and so has what comes back by itself
    pid = s.r.service("taker")["pid"]
    harness.kill(pid)
    harness.until("its next life", lambda: s.r.service("taker").get("generation") == 3)
    s.r.wait_state("taker", "ready")
    assert s.environ("taker")["TASTES_OF"] == "new" and s.told()[-1][0] == 3


def test_variables_come_from_a_file_and_from_stdin_and_can_be_replaced(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1", "B": "1"})
    (tmp_path / "more.json").write_text('{"templateID": "x", "envs": {"C": "3"}}')
    got = s.set("--json", str(tmp_path / "more.json"))
    assert got.returncode == 0 and got.stdout.startswith("the sandbox has A, B, C;"), got
    got = s.r.ctl("--json", "env", "set", "--replace", "--json", "-", input='{"envVars": {"D": "4"}}')
    assert json.loads(got.stdout) == {"ok": True, "variables": ["D"], "told": ["taker"], "restarted": [], "kept": []}
    assert s.told()[-1] == (1, {"D": "4", "A": None, "B": None, "C": None})
    got = s.set("--replace", "--json", "-", input='{"envVars": {}}')
    assert got.returncode == 0 and got.stdout == "the sandbox has no variables; told: taker\n"
    assert s.told()[-1] == (1, {"A": None, "B": None, "C": None, "D": None})
    # then nobody has to be told any at a start
    n = len(s.told())
    assert s.r.ctl("restart", "taker").returncode == 0 and len(s.told()) == n


def test_who_says_so_is_restarted_and_only_if_its_own_environment_is_another_one(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1"}, PLAIN % ("restart", "") + (PLAIN % ("restart", ", environment: {A: mine}")).replace("plain", "own") +
              PLAIN.replace("plain", "user") % ("ignore", ", needs: [plain]"))
    before = s.r.services()
    got = s.set("A=2")
    assert got.returncode == 0 and got.stdout == "the sandbox has A; told: taker; restarted: plain, user\n", got
    after = s.r.services()
    assert after["user"]["state"] == "ready" and after["user"]["generation"] == 2  # who stands on it is waited for
    assert s.environ("plain")["A"] == "2"
    assert after["plain"]["generation"] == 2 and after["plain"]["restarts"] == 0
    assert after["own"]["pid"] == before["own"]["pid"]
    assert "environment changed" in s.r.ctl("events", "-n", "all", "plain").stdout
    # the same again is no change
    got = s.set("A=2")
    assert got.returncode == 0 and "restarted" not in got.stdout
    # who is down is told at its next start, and that is said
    assert s.r.ctl("stop", "--all").returncode == 0
    got = s.set("A=3")
    assert got.returncode == 0 and "sandbox has A; nobody runs who is told: a service has them from its next start on\n" in got.stdout, got


def test_who_refuses_fails_the_change_and_all_is_as_it_was(reeve, tmp_path):
    second = GRAPH.split("services:\n")[1] % {"dir": tmp_path / "two", "taker": ""}
    (tmp_path / "two").mkdir()
    s = Stage(reeve, tmp_path, {"A": "1"}, second.replace("taker:", "other:", 1) + PLAIN % ("restart", ""))
    before = s.r.services()
    for order in ("refuse", "retry"):
        s.order(order)
        got = s.set("A=" + MARKER, "B=2")
        assert got.returncode == 1, got
        assert "taker: it does not want A=***" in got.stderr
        assert "could not be undone: taker: it does not want A=1, and had A=***" in got.stderr
        assert MARKER not in got.stderr + s.r.stderr
    s.order("")
    assert s.set("A=1").returncode == 0
    # those who took it were told the old ones again, and to forget what is new
    other = [line.split()[1:] for line in (tmp_path / "two" / "told").read_text().splitlines()]
    assert other[0] == ["A=1"] and ["A=" + MARKER, "B=2"] in other and other[-1] == ["A=1", "-B"]
    assert s.told()[-2][1] == {"A": "1", "B": None}
    after = s.r.services()
    assert [after[n]["pid"] for n in after] == [before[n]["pid"] for n in before]
    got = json.loads(s.r.ctl("--json", "env", "--show-values").stdout)
    assert {"name": "A", "source": "set", "value": "1"} in got["variables"] and "B" not in str(got)


def test_several_that_refuse_at_once_have_each_their_own_reason(reeve, tmp_path):
    one = GRAPH.split("services:\n")[1] % {"dir": tmp_path, "taker": ""}
    s = Stage(reeve, tmp_path, {"A": "1"}, "".join(one.replace("taker:", "t%d:" % i, 1) for i in range(8)))
    s.order("refuse")
    got = s.set("A=" + MARKER)
    assert got.returncode == 1 and "it does not want A=***" in got.stderr and "it ended" not in got.stderr, got


def test_a_restart_that_fails_takes_the_change_back(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1"}, "  picky: {command: [/bin/sh, -c, 'test \"$A\" = 1 || exit 3; echo >&3; exec sleep 1000'], "
              "on-environment-change: restart, ready: {fd: 3}, restart: {delay: 10ms, limit: 2}}\n")
    got = s.set("A=2")
    assert got.returncode == 1 and "picky: " in got.stderr and "could not be undone" not in got.stderr, got
    assert "all have the former variables again" in got.stderr
    s.r.wait_state("picky", "ready")
    assert s.environ("picky")["A"] == "1"
    assert s.told()[-1] == (1, {"A": "1"})


def test_who_stands_on_one_that_is_restarted_and_does_not_come_back_takes_the_change_back(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1"}, PLAIN % ("restart", "") +
              "  picky: {command: [/bin/sh, -c, 'test \"$A\" = 1 || exit 3; echo >&3; exec sleep 1000'], needs: [plain], "
              "ready: {fd: 3}, restart: {delay: 10ms, limit: 2}}\n")
    got = s.set("A=2")
    assert got.returncode == 1 and "picky: " in got.stderr and "could not be undone" not in got.stderr, got
    assert s.r.service("picky")["state"] == "ready"
    assert (s.environ("plain")["A"], s.environ("picky")["A"]) == ("1", "1")


def test_who_was_ready_in_time_is_not_blamed_with_who_was_not(reeve, tmp_path):
    services = ("  %s: {command: [/bin/sh, -c, '[ \"$A\" = 1 ] && echo >&3; exec sleep 1000'], on-environment-change: restart%s}\n" % one
                for one in (("never", ", ready: {fd: 3}"), ("other", "")))
    s = Stage(reeve, tmp_path, {"A": "1"}, "".join(services))
    got = s.set("A=2", "--timeout", harness.seconds(2))
    assert got.returncode == 6 and "never: it was restarted, and is not ready in time" in got.stderr and "other" not in got.stderr, got
    assert (s.environ("never")["A"], s.environ("other")["A"]) == ("1", "1")


def test_one_that_is_long_in_starting_keeps_nobody_on_the_new_ones(reeve, tmp_path):
    # the way back waits 11 seconds for taker to be told, and gives that up; plain is restarted all the same
    go = tmp_path / "go"
    s = Stage(reeve, tmp_path, {"A": "1"}, PLAIN % ("restart", ""), taker=", needs: [plain], ready: {file: %s, timeout: 10m}" % go, wait=False)

    def be_ready(generation):
        harness.until("its start", lambda: (s.r.service("taker").get("generation"), s.r.service("taker").get("state")) == (generation, "starting"), 60)
        go.write_text("")
        s.r.wait_state("taker", "ready")
        go.unlink()

    be_ready(1)
    change = subprocess.Popen([harness.REEVECTL, "-s", s.r.socket, "env", "set", "A=2", "--timeout", "1s"], env=s.r.env,
                              stderr=subprocess.PIPE, text=True)
    be_ready(3)
    said = change.communicate(timeout=30 * harness.SLACK)[1]
    assert change.returncode == 6 and "could not be undone: taker: it has not answered in time" in said, said
    assert (s.environ("plain")["A"], s.environ("taker")["A"]) == ("1", "1") and s.told()[-1][1] == {"A": "1"}


def test_a_hook_has_the_askers_time_and_the_way_back_its_own(reeve, tmp_path):
    #
    s = Stage(reeve, tmp_path, {"A": "1"})
    s.order("hang")
    change = subprocess.Popen([harness.REEVECTL, "-s", s.r.socket, "env", "set", "A=2", "--timeout", harness.seconds(0.7)], env=s.r.env,
                              stderr=subprocess.PIPE, text=True)
    harness.until("it to be told what was before", lambda: s.told()[-1] == (1, {"A": "1"}) and len(s.told()) == 3)
    s.order("")
    said = change.communicate(timeout=30 * harness.SLACK)[1]
    assert change.returncode == 6 and "taker: " in said and "could not be undone" not in said, said
    assert s.r.service("taker")["state"] == "ready"
    assert s.set("A=3").returncode == 0 and s.told()[-1][1] == {"A": "3"}


def test_changes_at_the_same_time_come_one_after_the_other(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "0"})
    many = [subprocess.Popen([harness.REEVECTL, "-s", s.r.socket, "env", "set", "A=%d" % i, "B%d=x" % i], env=s.r.env,
                             stdout=subprocess.PIPE, text=True) for i in range(1, 9)]
    for one in many:
        assert "told: taker" in one.communicate(timeout=30 * harness.SLACK)[0] and one.returncode == 0
    last = s.told()[-1][1]
    assert sorted(last) == ["A"] + ["B%d" % i for i in range(1, 9)]
    # each saw what the ones before had set: the number of names grows by one each time
    assert [len(names) for _, names in s.told()] == list(range(1, 10))


def test_the_time_of_a_change_runs_while_others_have_their_turn(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1"})
    s.order("hang")
    first = subprocess.Popen([harness.REEVECTL, "-s", s.r.socket, "env", "set", "A=2"], env=s.r.env, stdout=subprocess.PIPE, text=True)
    harness.until("it to be told", lambda: s.told()[-1][1] == {"A": "2"})
    got = s.set("B=3", "--timeout", "300ms")
    assert got.returncode == 6 and "the turn of this one has not come, and it has done nothing" in got.stderr, got
    assert first.poll() is None
    s.order("")
    assert "told: taker" in first.communicate(timeout=30 * harness.SLACK)[0]
    assert s.set("C=4").returncode == 0 and s.told()[-1][1] == {"A": "2", "C": "4"}


def happenings(r):
    """(event, detail) of all that is of no single service."""
    lines = map(json.loads, r.ctl("--json", "events", "-n", "all").stdout.splitlines())
    return [(e["event"], e.get("detail")) for e in lines if "name" not in e]


def test_changes_are_events_that_name_whom_and_what_and_no_value(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": MARKER}, PLAIN % ("restart", ""))
    with subprocess.Popen([harness.REEVECTL, "-s", s.r.socket, "events", "-f", "-n", "all"], env=s.r.env, stdout=subprocess.PIPE, text=True) as follower:
        try:
            assert s.set("A=%s-2" % MARKER, "B=2").returncode == 0
            line = next(line for line in follower.stdout if "environment was" in line)
        finally:
            follower.terminate()
    assert line[13:] == "the environment was changed: told: taker; restarted: plain; set: A, B\n", line
    s.order("refuse")
    assert s.set("A=" + MARKER, "C=2").returncode == 1
    s.order("")
    assert s.set("--replace", "C=3").returncode == 0
    got = happenings(s.r)
    assert [event for event, _ in got] == ["boot", "environment", "environment-failed", "environment"]
    assert got[0][1] is None and got[1][1] == "told: taker; restarted: plain; set: A, B"
    assert got[2][1].startswith("A, C: taker: it does not want A=***"), got
    assert got[3][1] == "told: taker; restarted: plain; all there is: C"
    assert MARKER not in s.r.ctl("events", "-n", "all").stdout


def test_how_a_service_is_started_is_asked_once_for_each_set_of_variables(reeve, tmp_path):
    os.makedirs(tmp_path / "plugins")
    os.symlink(os.path.join(TEST_PLUGINS, "moody.so"), tmp_path / "plugins" / "moody.so")
    s = Stage(reeve, tmp_path, {"FLAVOUR": "old"}, "  moody: {plugin: moody, command: [/bin/sleep, '1000'], options: {trace: %s/trace}}\n" % tmp_path)

    def starts():
        return s.read("trace").splitlines().count("start")

    def restarted(n):
        for _ in range(n):
            assert s.r.ctl("restart", "moody", "taker").returncode == 0
            tastes.append(s.environ("taker")["TASTES_OF"])
        return starts()

    tastes = []
    assert restarted(2) == 0, "it is known from the rehearsal"
    assert s.set("FLAVOUR=new").returncode == 0
    assert restarted(3) == 1
    assert s.set("FLAVOUR=newer").returncode == 0
    assert restarted(2) == 2
    assert s.r.ctl("reload").returncode == 0
    assert restarted(2) == 2, "it was rehearsed again"
    assert tastes == ["old"] * 2 + ["new"] * 3 + ["newer"] * 4


def test_what_is_wrong_is_refused_before_anybody_is_told(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1"})
    before = s.read("told")
    for words, said in ((["PATH=/x"], "PATH may not be set"), (["A=a\nb", "1X=2"], "1X is no name"), (["A=x\ty", "NOVALUE"], "NAME=VALUE"),
                        (["A=1", "A=2"], "given twice"), (["A=" + "x" * 4097], "4097 bytes"), ([], "nothing to set"),
                        (["A=1", "--json", "-"], "exclude"), (["--show-values", "A=1"], "--show-values")):
        got = s.set(*words, input="{}")
        assert got.returncode == 2 and said in got.stderr, (words, got)
    # a value in the wrong place is not repeated
    got = s.set("A", MARKER, "PATH=/x", "C")
    assert "argument 2 has no =: NAME=VALUE is expected; PATH may not be set" in got.stderr and MARKER not in got.stderr, got
    # what fits alone and not with the others
    assert s.set(*["V%d=%s" % (i, "x" * 4000) for i in range(3)]).returncode == 0
    told = s.read("told")
    got = s.set("MORE=" + "x" * 4096, "YET=" + "x" * 500)
    assert got.returncode == 2 and "at most 16384" in got.stderr
    assert s.read("told") == told and before in told


def test_nothing_can_be_set_where_nobody_takes_it(reeve):
    r = reeve("services: {a: {command: [/bin/sleep, '1000']}}")
    r.wait_ready()
    got = r.ctl("env", "set", "A=1")
    assert got.returncode == 1 and "no service can take variables" in got.stderr
    assert r.ctl("env").stdout == "NAME  SOURCE\n"


def test_one_that_starts_when_they_change_is_told_the_new_ones_before_it_is_ready(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1"})
    s.order("hang")
    assert s.r.ctl("restart", "taker", "--no-wait").returncode == 0
    harness.until("its next life to be told", lambda: s.told()[-1][0] == 2)
    change = subprocess.Popen([harness.REEVECTL, "-s", s.r.socket, "env", "set", "A=2"], env=s.r.env, stdout=subprocess.PIPE, text=True)
    harness.until("it to be told of the change", lambda: s.told()[-1][1] == {"A": "2"})
    s.order("")
    assert "told: taker" in change.communicate(timeout=30 * harness.SLACK)[0]
    s.r.wait_state("taker", "ready")
    assert s.r.service("taker")["generation"] == 2


def test_an_end_while_it_is_told_is_a_refusal(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1"})
    s.order("hang")
    change = subprocess.Popen([harness.REEVECTL, "-s", s.r.socket, "env", "set", "A=2"], env=s.r.env, stderr=subprocess.PIPE, text=True)
    harness.until("it to be told", lambda: s.told()[-1][1] == {"A": "2"})
    harness.kill(s.r.service("taker")["pid"])
    harness.until("its next life to be told what was before", lambda: s.told()[-1] == (2, {"A": "1"}))
    s.order("")
    assert "it ended" in change.communicate(timeout=30 * harness.SLACK)[1] and change.returncode == 1
    s.r.wait_state("taker", "ready")


@pytest.mark.parametrize("end", ["killed", "restarted"])
def test_who_ends_on_the_way_back_is_given_the_former_ones_at_its_next_start(reeve, tmp_path, end):
    s = Stage(reeve, tmp_path, {"A": "1"})
    s.order("hang")
    change = subprocess.Popen([harness.REEVECTL, "-s", s.r.socket, "env", "set", "A=2", "--timeout", "1s"], env=s.r.env,
                              stderr=subprocess.PIPE, text=True)
    harness.until("it to be told what was before", lambda: [names for _, names in s.told()] == [{"A": "1"}, {"A": "2"}, {"A": "1"}])
    if end == "killed":
        harness.kill(s.r.service("taker")["pid"])
    else:
        assert s.r.ctl("restart", "taker", "--no-wait").returncode == 0
    said = change.communicate(timeout=30 * harness.SLACK)[1]
    s.order("")
    assert change.returncode == 6 and "taker: " in said and said.endswith("; all have the former variables again\n"), said
    harness.until("its next life to be ready", lambda: (s.r.service("taker")["generation"], s.r.service("taker")["state"]) == (2, "ready"))
    assert s.told()[-1] == (2, {"A": "1"})


def test_a_shutdown_does_not_wait_for_a_change(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1"})
    s.order("hang")
    change = subprocess.Popen([harness.REEVECTL, "-s", s.r.socket, "env", "set", "A=2"], env=s.r.env, stderr=subprocess.PIPE, text=True)
    harness.until("it to be told", lambda: s.told()[-1][1] == {"A": "2"})
    assert s.r.term() == 0
    assert "shutting down" in change.communicate(timeout=30 * harness.SLACK)[1] and change.returncode == 1


def test_a_client_that_leaves_takes_nothing_with_it(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1"})
    s.order("hang")
    change = subprocess.Popen([harness.REEVECTL, "-s", s.r.socket, "env", "set", "A=2"], env=s.r.env)
    harness.until("it to be told", lambda: s.told()[-1][1] == {"A": "2"})
    change.kill()
    change.wait()
    s.order("")
    assert s.set("B=3").returncode == 0
    assert s.told()[-1] == (1, {"A": "2", "B": "3"})


# ---- a boot that fails -----------------------------------------------------------------------------------------------------

def test_a_service_that_does_not_take_them_fails_the_boot_and_nothing_survives(reeve, tmp_path):
    #
    (tmp_path / "orders").write_text("refuse and cling")
    s = Stage(reeve, tmp_path, {"A": MARKER}, PLAIN % ("ignore", ""), wait=False, args=["-v"])
    assert s.r.wait() == 10
    first = s.r.stderr.index("boot failed")
    assert "taker: did not take its environment: it does not want A=***" in s.r.stderr[first:].splitlines()[0]
    # what goes wrong on the way back stands below it
    assert s.r.stderr.index("stop hook: it clings") > first
    assert MARKER not in s.r.stderr
    assert s.r.leftovers() == []


def test_a_boot_whose_time_is_over_while_it_is_told_is_taken_back_whole(reeve, tmp_path):
    #
    (tmp_path / "orders").write_text("hang")
    s = Stage(reeve, tmp_path, {"A": "1"}, "  second: {command: [/bin/sleep, '1000'], needs: [taker]}\nreeve: {boot-timeout: %s}\n" % harness.seconds(1), wait=False)
    assert s.r.wait() == 10
    assert "boot timeout" in s.r.stderr and s.told() == [(1, {"A": "1"})]
    assert s.r.leftovers() == []


def test_two_at_a_time_have_each_their_own(reeve, tmp_path):
    #
    both = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        both.append(Stage(reeve, tmp_path / name, {"WHO": name}))
    assert both[0].set("WHO=changed").returncode == 0
    assert [s.told()[-1][1]["WHO"] for s in both] == ["changed", "two"]
    assert [s.environ("taker")["WHO"] for s in both] == ["one", "two"]


# ---- what is shown ---------------------------------------------------------------------------------------------------------

def test_names_and_sources_are_listed_and_values_only_on_demand_and_in_no_log(reeve, tmp_path):
    #
    s = Stage(reeve, tmp_path, {"FLAVOUR": MARKER, "A": MARKER}, args=["-v"])
    assert s.set("A=%s-2" % MARKER, "B=3").returncode == 0
    got = s.r.ctl("env")
    assert [line.split() for line in got.stdout.splitlines()[:-1]] == [
        ["NAME", "SOURCE"], ["TIER", "configuration"], ["FLAVOUR", "create"], ["A", "set"], ["B", "set"]]
    assert "lost when that service is restarted" in got.stdout.splitlines()[-1]
    shown = [got.stdout]
    for words in (["--json", "env"], ["env", "taker"], ["--json", "env", "taker"], ["plan"], ["--json", "plan"], ["status"],
                  ["--json", "status"], ["events", "-n", "all"], ["why"], ["--json", "why", "taker"]):
        shown.append(s.r.ctl(*words).stdout)
    assert all(shown) and not [text for text in shown if MARKER in text]
    assert "FLAVOUR (create)" in s.r.ctl("plan").stdout
    assert "B" in json.loads(s.r.ctl("--json", "plan").stdout)["services"][0]["environment"]
    assert "A, B" in s.r.stderr and MARKER not in s.r.stderr + s.r.log("taker")
    mine = {v["name"]: v for v in json.loads(s.r.ctl("--json", "env", "--show-values", "taker").stdout)["variables"]}
    assert (mine["FLAVOUR"]["source"], mine["OWN"]["source"], mine["TASTES_OF"]["source"], mine["HOME"]["source"]) == (
        "create", "service", "plugin", "inherited")
    assert mine["A"]["value"] == MARKER + "-2" and "A" in s.r.ctl("env", "--show-values").stdout
    assert MARKER + "-2" in s.r.ctl("env", "--show-values").stdout


@pytest.mark.root
def test_what_its_account_brings_is_listed_too(reeve, tmp_path):
    r = reeve("""
services:
  a: {command: [/bin/sh, -c, 'env > %s/env; exec sleep 1000'], user: "%d", environment: {SHELL: /bin/mine}}
""" % (tmp_path, os.getuid()), env={"LOGNAME": "somebody"})
    r.wait_ready()
    got = {v["name"]: v for v in json.loads(r.ctl("--json", "env", "--show-values", "a").stdout)["variables"]}

    def its_environment():
        text = (tmp_path / "env").read_text() if (tmp_path / "env").exists() else ""
        found = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        return found if {"HOME", "USER", "LOGNAME"} <= found.keys() else None

    its = harness.until("its environment", its_environment)
    for name in ("HOME", "USER", "LOGNAME"):
        assert (got[name]["source"], got[name]["value"]) == ("account", its[name]), name
    assert (got["SHELL"]["source"], got["SHELL"]["value"]) == ("service", "/bin/mine")


def test_the_environment_is_the_admins(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1"}, "reeve: {control: {mode: '0666'}}\n")
    for d in (s.r.dir, s.r.run):
        os.chmod(d, 0o755)
    for words in (["env"], ["env", "set", "A=2"]):
        got = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", harness.REEVECTL, "-s", s.r.socket, *words],
                             capture_output=True, text=True, timeout=30 * harness.SLACK)
        assert got.returncode == 5, got
    assert len(s.told()) == 1


def test_a_reload_goes_by_the_variables_of_now(reeve, tmp_path):
    s = Stage(reeve, tmp_path, {"A": "1"})
    assert s.set("A=2").returncode == 0
    pid = s.r.service("taker")["pid"]
    s.r.write("reeve.yaml", GRAPH % {"dir": tmp_path, "taker": ""} + PLAIN % ("ignore", ""))
    assert s.r.ctl("reload").returncode == 0
    assert s.environ("plain")["A"] == "2" and s.r.service("taker")["pid"] == pid
    assert s.set("A=3").returncode == 0 and s.told()[-1][1] == {"A": "3"}
    assert s.r.ctl("restart", "plain").returncode == 0 and s.environ("plain")["A"] == "3"
    # without anybody to take them the files are wrong
    s.r.write("reeve.yaml", "services:\n" + PLAIN % ("ignore", ""))
    got = s.r.ctl("reload")
    assert got.returncode == 1 and "given A, but: no service can take" in got.stdout + got.stderr, got
    assert s.r.service("taker")["pid"] == pid


ADOPTS = """
services:
  s: {plugin: %s, command: [/bin/sleep, "1000"], ports: [%d], if-running: adopt, ready: {tcp: %d}%s}
  taker: {plugin: taker}
"""


@pytest.fixture
def stranger():
    """A listener that is there before reeve."""
    port = harness.free_port()
    p = subprocess.Popen(harness.web_server(port), stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def listens():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    harness.until("the stranger", listens)
    yield port
    p.kill()
    p.wait()


def test_whom_reeve_has_not_started_is_told_nothing_and_that_is_an_error(reeve, tmp_path, stranger):
    s = Stage(reeve, tmp_path, {"A": "1"}, graph=ADOPTS % ("taker", stranger, stranger, "") + "%(taker).0s%(dir).0s", wait=False)
    assert s.r.wait() == 10
    assert "s: cannot adopt who listens on port %d" % stranger in s.r.stderr
    # without variables it is adopted; none can be set then
    for plugin, more in (("taker", ""), ("exec", ", on-environment-change: restart")):
        s = Stage(reeve, tmp_path, graph=ADOPTS % (plugin, stranger, stranger, more) + "%(taker).0s%(dir).0s")
        s.r.wait_state("s", "adopted")
        got = s.set("A=1")
        assert got.returncode == 1 and "s was adopted" in got.stderr, got
        assert s.r.term() == 0
