"""What the file says is what the service gets, or an error with its place: expansion, scalars, structure."""
import json
import os
import re
import subprocess
import time

import harness
import pytest

DUMP = "/bin/sh, -c, 'cat /proc/$$/environ > \"$0\"; exec sleep 1000'"


def environment_of(r, name):
    r.wait_text("STORY_MARK=", source=name)
    return dict(e.split("=", 1) for e in r.read(name).split("\0") if "=" in e)


def refused(reeve, text, *patterns, status=78, **more):
    r = reeve(text, **more)
    assert r.wait() == status, r.stderr
    for p in patterns:
        assert re.search(p, r.stderr), "no %s in\n%s" % (p, r.stderr)
    return r


# ---- 20: percent and dollar ------------------------------------------------------------------------------------------


def test_arguments_arrive_byte_for_byte_and_are_not_split(reeve):
    odd = ["-Xlog:gc_%t_%p.log", "-a", "%h:%p %P", "$HOME", "$$2a$$08$$x", "`id`", "$(id)", "", " lead and trail ", "a\"b\\c", "*", "~", "é\t"]
    # JSON is YAML, but for what it escapes: so it says all of it without quotes of YAML.
    r = reeve(json.dumps({"services": {"s": {"command": ["/usr/bin/python3", "-c", "import time; time.sleep(1000)"] + odd}}}),
              env={"HOME": "/nowhere"})
    r.wait_ready()
    pid = r.service("s")["pid"]
    harness.until("the exec", lambda: "python3" in harness.cmdline(pid))
    with open("/proc/%d/cmdline" % pid, "rb") as f:
        assert f.read().split(b"\0")[3:-1] == [w.encode() for w in odd]
    assert r.term() == 0


def test_a_dollar_brace_is_escaped_in_one_way_everywhere(reeve):
    r = reeve("""
services:
  s:
    command: [%s, dump, '$${env.X}', 'a$${b}c', '${env.GIVEN}-${env.UNSET:-else}-$x-$$']
    working-dir: "${env.TMPDIR}"
    environment: {A: '$${env.X}', B: '${env.GIVEN}', C: '$${', D: '$$', E: '${env.EMPTY:-else}', F: '${env.EMPTY}'}
    ready: {exec: [/usr/bin/test, '$${x} %%d', =, "\\x24{x} %%d"], timeout: 20s}
""".replace('"\\x24{x} %%d"', "'$${x} %%d'") % DUMP, env={"GIVEN": "p%20q$HOME${env.A}", "EMPTY": ""})
    r.wait_ready()
    got = environment_of(r, "dump")
    want = {"A": "${env.X}", "B": "p%20q$HOME${env.A}", "C": "${", "D": "$$", "E": "else", "F": ""}
    assert {k: got.get(k) for k in want} == want
    assert got["GIVEN"] == "p%20q$HOME${env.A}", "what we inherited is data"
    with open("/proc/%d/cmdline" % r.service("s")["pid"], "rb") as f:
        assert b"sleep" in f.read()
    assert r.term() == 0


@pytest.mark.parametrize("bad", ["${env.NOT_SET_AT_ALL}", "${env.HOME", "${", "${}", "${HOME}", "${env.}", "${env.A B}",
                                 "${listen.web.fd}", "${ready.fd}", "${env.HOME:-${env.PATH}}", "${env.HOME:=x}", "a${nonsense.x}b"])
@pytest.mark.parametrize("where", ["environment: {A: '%s'}", "working-dir: '%s'", "ready: {exec: [/bin/true, '%s']}"])
def test_a_bad_expansion_is_a_load_error_with_its_place(once, tmp_path, bad, where):
    text = "services:\n  s:\n    command: [/bin/sleep, '1000']\n    %s\n" % (where % bad)
    (tmp_path / "r.yaml").write_text(text)
    got = once("check", "-c", str(tmp_path / "r.yaml"), "--plugin-dir", harness.PLUGINS)
    assert got.returncode == 78 and re.search(r"r\.yaml:4:\d+: ", got.stderr), got.stderr
    assert where.split(":")[0] in got.stderr and "service 's'" in got.stderr, got.stderr


def test_all_bad_expansions_of_a_file_are_told_in_one_run_and_nothing_is_run(reeve):
    r = refused(reeve, """
services:
  s:
    command: [/bin/touch, '${env.TMPDIR}/started', '${env.NOPE}']
    environment:
      A: '${env.GONE}'
      B: '${env.TMPDIR'
""", r"reeve\.yaml:4:\d+: .*NOPE", r"reeve\.yaml:6:\d+: .*GONE", r"reeve\.yaml:7:\d+: ")
    assert r.read("started") == ""


# ---- 24: what looks like something else -------------------------------------------------------------------------------

ODD = """{COUNTRY: no, FLAG: yes, SW: off, VER: 1.10, HEX: 0x1F, OCT: 010, EXP: 1e3, US: 1_000, Z: 08, T: ~,
  N: null, E: , D: 2026-11-29, SX: 22:22, INF: .inf, NEG: -0}"""
SEEN = {"COUNTRY": "no", "FLAG": "yes", "SW": "off", "VER": "1.10", "HEX": "0x1F", "OCT": "010", "EXP": "1e3", "US": "1_000", "Z": "08",
        "T": "~", "N": "null", "E": "", "D": "2026-11-29", "SX": "22:22", "INF": ".inf", "NEG": "-0"}


def test_services_named_no_on_null_and_1_get_their_values_and_are_controlled_by_name(reeve):
    names = ["no", "on", "null", "1"]
    text = "services:\n" + "".join("""
  %s:
    command: [%s, dump-%s]
    working-dir: "${env.TMPDIR}"
    environment: %s
""" % (n, DUMP, n, ODD) + ("    restart: no\n" if n == "on" else "    restart: 'no'\n" if n == "1" else "") for n in names)
    r = reeve(text)
    r.wait_ready()
    assert sorted(r.services()) == sorted(names)
    for n in names:
        got = environment_of(r, "dump-" + n)
        assert {k: got.get(k) for k in SEEN} == SEEN, n
    for n in names:
        pid = r.service(n)["pid"]
        assert r.ctl("restart", n).returncode == 0
        assert r.service(n)["pid"] != pid
        assert r.ctl("stop", n).returncode == 0 and r.service(n)["state"] == "stopped"
        assert r.ctl("start", n).returncode == 0 and r.service(n)["state"] == "ready"
    for n in ("on", "1"):  # restart: no, with and without quotes
        os.kill(r.service(n)["pid"], 9)
        r.wait_state(n, "failed", "stopped")
        assert r.service(n)["restarts"] == 0
    assert r.term() == 0


def test_arguments_and_dependencies_are_strings_as_they_are_written(reeve):
    r = reeve("""
services:
  no: {command: [/bin/sh, -c, 'printf "%s|" "$@" > args; exec sleep 1000', x, no, 1.10, 0x1F, ~, null, 1e3, 08, 2026-11-29, true], working-dir: "${env.TMPDIR}"}
  1: {command: [/bin/sleep, 1000], needs: [no]}
""")
    r.wait_ready() # started, that is: nothing tells when it has written
    harness.until("the arguments", lambda: r.read("args"))
    assert r.read("args") == "no|1.10|0x1F|~|null|1e3|08|2026-11-29|true|"
    assert r.term() == 0


@pytest.mark.parametrize("word, fine", [("true", True), ("false", True), ("True", None), ("yes", False), ("1", False), ('"true"', None),
                                        ("maybe", False), ("", False), ("~", False), ("on", False)])
def test_a_boolean_takes_the_words_of_the_manual_and_no_others(once, tmp_path, word, fine):
    (tmp_path / "r.yaml").write_text("services:\n  a:\n    command: [/bin/true]\n    essential: %s\n" % word)
    got = once("check", "-c", str(tmp_path / "r.yaml"), "--plugin-dir", harness.PLUGINS)
    if got.returncode == 0:
        assert fine is not False, "%r was taken" % word
    else:
        assert not fine and got.returncode == 78
        assert re.search(r"r\.yaml:4:\d+: .*true.*false", got.stderr), got.stderr


@pytest.mark.parametrize("word, fine", [("3", True), ("0", True), ('"3"', None), ("three", False), ("3.5", False), ("-1", False), ("0x3", None),
                                        ("99999999999999999999", False), ("", False), ("3 apples", False)])
def test_a_number_is_a_number_or_refused_with_its_place(once, tmp_path, word, fine):
    (tmp_path / "r.yaml").write_text("services:\n  a:\n    command: [/bin/true]\n    restart: {limit: %s}\n" % word)
    got = once("check", "-c", str(tmp_path / "r.yaml"), "--plugin-dir", harness.PLUGINS)
    if got.returncode == 0:
        assert fine is not False, "%r was taken" % word
    else:
        assert not fine and got.returncode == 78 and re.search(r"r\.yaml:4:\d+: ", got.stderr), got.stderr


# ---- 26: keys written twice, merge keys, aliases, documents -------------------------------------------------------------


@pytest.mark.parametrize("text, first, second", [
    ("services:\n  a: {command: [/bin/true]}\n  b: {command: [/bin/true]}\n  a: {command: [/bin/false]}\n", 2, 4),
    ("services:\n  a:\n    command: [/bin/true]\n    type: task\n    command: [/bin/false]\n", 3, 5),
    ("services:\n  a:\n    command: [/bin/true]\n    environment:\n      K: 1\n      L: 2\n      K: 1\n", 5, 7),
    ("services:\n  a: {command: [/bin/true]}\nservices:\n  b: {command: [/bin/true]}\n", 1, 3),
    ("services:\n  a:\n    command: [/bin/true]\n    environment:\n      K: 1\n      \"K\": 1\n", 5, 6),
])
def test_a_key_written_twice_is_refused_with_both_places(reeve, text, first, second):
    refused(reeve, text, r"reeve\.yaml:%d:\d+: .*" % second, r"(line |reeve\.yaml:|:)%d\b" % first)


MERGED = """
x: 1
services:
  base: &b {command: [%(dump)s, base], working-dir: "${env.TMPDIR}", restart: {on: always, limit: 7}, environment: {A: 1, B: 1}}
  first: {<<: *b, command: [%(dump)s, first], environment: {A: 2}}
  last: {command: [%(dump)s, last], environment: {A: 2}, <<: *b}
  list:
    <<: [{environment: {A: x}, summary: of x}, {environment: {A: y, B: y}, summary: of y}, *b]
    command: [%(dump)s, list]
""".replace("x: 1\n", "") % {"dump": DUMP}


def test_own_keys_win_over_merged_ones_wherever_they_stand_and_nesting_is_replaced(reeve):
    r = reeve(MERGED)
    r.wait_ready()
    for name in ("first", "last"):
        got = environment_of(r, name)
        assert got.get("A") == "2" and "B" not in got, name
        pid = r.service(name)["pid"]
        assert r.ctl("signal", "KILL", name).returncode == 0
        harness.until("another life", lambda: r.service(name)["pid"] not in (None, 0, pid))
    got = environment_of(r, "list")
    assert got.get("A") == "x" and "B" not in got
    assert r.service("list")["summary"] == "of x"
    assert r.term() == 0


def bounded_check(path, megabytes, seconds):
    """Runs `reeve check` under a bound of memory; address space cannot be bounded under a sanitizer, so what was used is measured."""
    began = time.monotonic()
    with open(path + ".err", "w") as err:
        p = subprocess.Popen([harness.REEVE, "check", "-c", path, "--plugin-dir", harness.PLUGINS], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=err, env=dict(os.environ, ASAN_OPTIONS="quarantine_size_mb=1"))
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    assert time.monotonic() - began < seconds * harness.SLACK
    with open(path + ".err") as err:
        text = err.read()
    assert "Sanitizer" not in text, text
    return p.returncode, text, usage.ru_maxrss // 1024


def test_aliases_that_grow_or_refer_to_themselves_are_refused_with_bounded_memory(tmp_path):
    levels = ["environment: {A: 1}", "services:", "  l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += ["  l%d: &l%d [%s]" % (i, i, ", ".join(["*l%d" % (i - 1)] * 10)) for i in range(1, 11)]
    files = {"fine": "services: {a: {command: [/bin/true]}}\n",
             "levels": "\n".join(levels) + "\n",
             "itself": "services:\n  a: &a [*a]\n",
             "itself-merged": "services:\n  a: &a {<<: *a, command: [/bin/true]}\n",
             "merged": "services:\n  m0: &m0 {" + ", ".join("k%d: 1" % i for i in range(10)) + "}\n"
                       + "".join("  m%d: &m%d {<<: [%s]}\n" % (i, i, ", ".join(["*m%d" % (i - 1)] * 10)) for i in range(1, 11)),
             "deep": "services: " + "[" * 100000 + "\n",
             "deep-block": "".join("%s- \n" % (" " * i) for i in range(3000))}
    used = {}
    for name, text in files.items():
        path = str(tmp_path / (name + ".yaml"))
        with open(path, "w") as f:
            f.write(text)
        status, said, used[name] = bounded_check(path, 50, 5)
        if name != "fine":
            assert status == 78 and re.search(r"%s\.yaml:\d+:\d+: " % name, said), (name, status, said)
            assert len(said) < 20000, (name, len(said))
    assert max(used.values()) - used["fine"] < 50, used


def test_an_unknown_anchor_is_named_with_its_place(reeve):
    refused(reeve, "services:\n  a: *nosuch\n", r"reeve\.yaml:2:\d+: .*nosuch")


@pytest.mark.parametrize("text", ["services:\n  a: {command: [/bin/true]}\n---\nservices:\n  b: {command: [/bin/true]}\n",
                                  "services: {a: {command: [/bin/true]}}\n...\n---\n{}\n"])
def test_a_second_document_is_refused_with_its_place(reeve, text):
    refused(reeve, text, r"reeve\.yaml:3:\d+: .*document")


@pytest.mark.parametrize("text", ["a: [", "\ta: 1", "a: 'x", "services: {a: {command: [/bin/true]}}}\n", "%YAML 9.9\n---\na: 1\n", "a: !!binary x\n", "\x00", "a: \x01\n",
                                  "services:\n- a\n", "[]", "just words", "services: 7", "? [a]\n: 1\n", "services: {[a]: 1}\n"])
def test_broken_yaml_is_refused_with_a_place_and_no_crash(once, tmp_path, text):
    (tmp_path / "r.yaml").write_text(text)
    got = once("check", "-c", str(tmp_path / "r.yaml"), "--plugin-dir", harness.PLUGINS)
    assert got.returncode == 78 and re.search(r"r\.yaml:\d+:\d+: ", got.stderr), (got.returncode, got.stderr)
    assert "Sanitizer" not in got.stderr and "runtime error" not in got.stderr


def test_bytes_that_are_no_text_are_refused(once, tmp_path):
    for body in (b"a: \xff\xfe\n", b"services: {a: {command: ['\xc3\x28']}}\n", b"\xff\xfea\x00:\x00"):
        (tmp_path / "r.yaml").write_bytes(body)
        got = once("check", "-c", str(tmp_path / "r.yaml"), "--plugin-dir", harness.PLUGINS)
        assert got.returncode == 78 and "r.yaml" in got.stderr and "Sanitizer" not in got.stderr, got.stderr
