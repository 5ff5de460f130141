"""What a sandbox is created with: sources, checks, who receives what, and changes while it runs."""
import json
import os
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
        if create is not None:
            (tmp_path / "create.json").write_text(create if isinstance(create, str) else json.dumps({"envVars": create}))
            words += ["--environment", str(tmp_path / "create.json")]
        self.r = reeve(graph % {"dir": tmp_path, "taker": taker} + more, args=["--plugin-dir", TEST_PLUGINS, *words], env=env)
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
        """Of the process that runs."""
        pid = self.r.service(name)["pid"]
        with open("/proc/%d/environ" % pid, "rb") as f:
            return dict(e.split("=", 1) for e in f.read().decode().split("\0") if "=" in e)

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
