"""Wrong input changes nothing: exit 78, every mistake with its place, nothing started (R-06, R-12)."""
import os
import re
import socket

import pytest

import harness


def refused(reeve, text, *words, **more):
    r = reeve(text, **more)
    assert r.wait() == 78, r.stderr
    for w in words:
        assert w in r.stderr, (w, r.stderr)
    return r


def test_all_mistakes_of_all_kinds_are_listed_in_one_run(reeve):
    r = refused(reeve, """
services:
  a:
    comand: [/bin/true]
    command: [/bin/true]
    restart: {on: sometimes}
  b:
    command: [/bin/true]
    needs: [nosuch]
    stop: {timeout: soon}
  c:
    plugin: jupiter
""", "reeve.yaml:4:5", "command", "sometimes", "nosuch", "soon", "jupiter")
    assert len([line for line in r.stderr.splitlines() if "reeve.yaml:" in line]) >= 5


def test_a_complaint_is_one_line_whatever_the_value_holds(once, tmp_path):
    (tmp_path / "r.yaml").write_text('services:\n  a:\n    command: ["/no/x\\nreeve: b"]\n    "k\\ny": 1\n    type: "x\\nreeve: all ready"\n    needs: ["b\\n"]\n')
    got = once("check", "-c", "r.yaml", "--plugin-dir", harness.PLUGINS)
    lines = got.stderr.splitlines()
    assert got.returncode == 78 and all(line.startswith("r.yaml:") for line in lines[:-1]) and len(lines) >= 4, got.stderr
    assert "\\nreeve: all ready" in got.stderr


@pytest.mark.parametrize("text, words", [
    ("services: {a: {command: [/bin/true], needs: [a]}}", ["itself"]),
    ("services: {a: {command: [/bin/true], needs: [b]}, b: {command: [/bin/true], needs: [c]}, c: {command: [/bin/true], needs: [a]}, d: {command: [/bin/touch, started]}}", ["cycle", "a -> "]),
])
def test_a_cycle_is_refused_with_its_members_and_nothing_starts(reeve, text, words):
    r = refused(reeve, text, *words)
    assert not os.path.exists(r.path("started"))


def test_an_unknown_plugin_is_refused_by_name_and_folder(reeve):
    refused(reeve, "services: {a: {plugin: nosuch}}", "nosuch")


def test_clashing_ports_are_a_configuration_error(reeve):
    refused(reeve, """
services:
  a: {command: [/bin/true], ports: [4711]}
  b: {command: [/bin/true], listen: [{name: x, tcp: "127.0.0.1:4711"}]}
""", "4711")


def test_a_taken_port_fails_before_anything_starts_and_names_the_holder(reeve):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        r = reeve("""
services:
  a: {command: [/bin/sh, -c, 'touch started'], type: task, working-dir: "${env.TMPDIR}"}
  s: {command: [/bin/sleep, "1000"], listen: [{name: http, tcp: "127.0.0.1:%d"}]}
""" % port)
        assert r.wait() == 10
        assert "127.0.0.1:%d" % port in r.stderr and str(os.getpid()) in r.stderr and "s" in r.stderr
        assert not os.path.exists(r.path("started"))


def test_check_lists_what_is_wrong_and_starts_nothing(once, tmp_path):
    (tmp_path / "reeve.yaml").write_text("services: {a: {command: [/nonexistent/x]}, b: {command: [/bin/true], user: nosuchuser}}")
    import harness
    got = once("check", "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", harness.PLUGINS)
    assert got.returncode == 78
    assert "nosuchuser" in got.stderr
    (tmp_path / "reeve.yaml").write_text("services: {a: {command: [/nonexistent/x]}}")
    got = once("check", "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", harness.PLUGINS)
    assert got.returncode == 78 and "/nonexistent/x" in got.stderr
    (tmp_path / "reeve.yaml").write_text("services: {a: {command: [/bin/true]}}")
    got = once("check", "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", harness.PLUGINS)
    assert got.returncode == 0, got.stderr


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_check_tells_everything_in_one_run(once, tmp_path):
    """Mistakes of the file, unknown accounts, and what can never run: none of them hides another."""
    import harness
    nowhere = script(tmp_path / "nowhere", "#!/nope/sh\n")
    dos = script(tmp_path / "dos", "#!/bin/sh\r\ntrue\r\n")
    script(tmp_path / "good", "#!/bin/sh\n")
    text = script(tmp_path / "text", "hello\n")
    (tmp_path / "reeve.yaml").write_text(f"""
reeve: {{control: {{owner: nosuch1, group: nosuch2}}, log: {{dir: /dev/null/x}}}}
services:
  a: {{command: [{nowhere}], user: nosuch3, group: nosuch4, groups: [nosuch5, nosuch6]}}
  b: {{command: [{dos}], ready: {{exec: /nope/x}}, log: /dev}}
  c: {{command: [{text}], tpye: task, log: /dev/null}}
  d: {{command: [/tmp], working-dir: /nodir, log: "-"}}
  e: {{command: [nosuchprogram], listen: [{{name: x, unix: {tmp_path}/x.sock, owner: nosuch7}}], log: "-"}}
  f: {{plugin: nosuchplugin, log: null}}
  g: {{command: ./good, working-dir: {tmp_path}, log: {tmp_path}/made/by/nobody.log}}
""")
    expected = ["unknown key 'tpye' in service 'c'", "cannot load plugin nosuchplugin: ", "reeve.plugin-dir"] + [f"nosuch{i}: there is no such" for i in range(1, 8)] + [
        f"{nowhere}: its interpreter /nope/sh does not exist", "service a: cannot write log /dev/null/x/a.log: Not a directory",
        f"{dos}: its interpreter /bin/sh\\x0d does not exist (the file has DOS line ends)", "cannot execute /nope/x (of ready.exec): No such file",
        "cannot write log /dev: it is a folder", f"{text}: not a program", "cannot execute /tmp: it is a folder",
        "cannot enter working-dir /nodir: No such file", "cannot execute nosuchprogram: not found in the folders of PATH"]
    got = once("check", "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", harness.PLUGINS)
    assert got.returncode == 78
    assert [e for e in expected if e not in got.stderr] == [], got.stderr
    assert "service g" not in got.stderr and not (tmp_path / "made").exists()
    # Without mistakes of the file, too: what the machine lacks is told at once.
    fine = (tmp_path / "reeve.yaml").read_text().replace("tpye: task, ", "").replace("  f: {plugin: nosuchplugin, log: null}\n", "")
    (tmp_path / "reeve.yaml").write_text(fine)
    got = once("check", "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", harness.PLUGINS)
    assert got.returncode == 78
    assert [e for e in expected[3:] if e not in got.stderr] == [], got.stderr


def test_check_shows_no_secret_in_what_it_finds_missing(once, tmp_path):
    import harness
    for mistake in ("", ", uesr: u"):
        (tmp_path / "reeve.yaml").write_text(
            'services: {a: {command: ["/no/${env.MY_TOKEN}"], working-dir: "/no/${env.MY_TOKEN}", log: "/dev/null/${env.MY_TOKEN}", '
            'ready: {exec: ["/no/${env.MY_TOKEN}"]}%s}}' % mistake)
        got = once("check", "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", harness.PLUGINS, env={"MY_TOKEN": "s3cret"})
        assert got.returncode == 78 and got.stderr.count("***") == 4, got.stderr
        assert "s3cret" not in got.stderr + got.stdout


def test_check_counts_one_service_as_one(once, tmp_path):
    import harness
    (tmp_path / "reeve.yaml").write_text("services: {a: {command: [/bin/true], log: null}}")
    got = once("check", "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", harness.PLUGINS)
    assert (got.returncode, got.stdout) == (0, "1 service, no mistakes\n"), got.stderr


def test_options_that_no_plugin_can_be_given_are_told_beside_the_other_mistakes(once, tmp_path):
    import harness
    (tmp_path / "reeve.yaml").write_text(
        "services:\n"
        "  big: {plugin: mcp-gateway, command: [/bin/true], options: {config: {a: " + 5000000 * "x" + "}}}\n"
        "  fine: {plugin: mcp-gateway, command: [/bin/true], options: {port: 50006}}\n"
        "  wrong: {plugin: mcp-gateway, command: [/bin/true], options: {port: 50007, path: mcp}}\n")
    got = once("check", "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", harness.PLUGINS)
    assert got.returncode == 78
    assert "reeve.yaml:2:3: service 'big': plugin mcp-gateway refuses this: command, options and environment" in got.stderr
    assert "reeve.yaml:4:3: service 'wrong': plugin mcp-gateway refuses this: option path" in got.stderr
    assert "fine" not in got.stderr


def test_plan_prints_argv_and_names_but_no_values_of_the_environment(once, tmp_path):
    import harness
    (tmp_path / "reeve.yaml").write_text("services: {a: {command: [/bin/echo, 'two words'], environment: {SECRETNAME: s3cret-value}}}")
    got = once("plan", "-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", harness.PLUGINS)
    assert got.returncode == 0, got.stderr
    assert "/bin/echo" in got.stdout and "two words" in got.stdout and "SECRETNAME" in got.stdout
    assert "s3cret-value" not in got.stdout + got.stderr


# all of what a start command had
PLANNED = """
environment: {LANG: C.UTF-8}
services:
  db:
    command: /usr/bin/db --name "two words" -x
    user: nobody
    inherit-environment: [PATH, HOME]
    environment: {PASSWORD: s3cret-value}
    stop: {signal: INT, timeout: 2s}
  app:
    plugin: envd
    needs: [db]
    working-dir: /srv
    options: {bin: /opt/envd, extra-args: [-verbose, "a b"], token: s3cret-token}
"""
PLAN = """\
1. db: daemon of plugin exec
    command       /usr/bin/db --name 'two words' -x
    directory     /
    user          nobody
    inherits      PATH HOME
    environment   LANG (sandbox), PASSWORD (service), HOME (account), USER (account), LOGNAME (account), SHELL (account)
2. app: daemon of plugin envd
    command       /opt/envd -port 49983 -verbose 'a b' -isnotfc
    directory     /srv
    user          (reeve's)
    inherits      all
    environment   LANG (sandbox)
    needs         db until ready (lost: restart)
    ports         49983
"""


def test_the_plan_is_as_it_is_written_here(once, tmp_path):
    (tmp_path / "a.yaml").write_text(PLANNED)
    got = once("plan", "-c", "a.yaml", "--plugin-dir", harness.PLUGINS, env={"ENVD_PORT": "", "ENVD_LOG_FILE": ""})
    assert got.returncode == 0, got.stderr
    labels = "command|directory|user|inherits|environment|needs|ports"
    assert "".join(re.findall(r"^(?:\d+\. |    (?:%s) ).*\n" % labels, got.stdout, re.M)) == PLAN
    assert "s3cret" not in got.stdout + got.stderr and "token = ***" in got.stdout


def test_values_arrive_byte_for_byte(reeve):
    r = reeve("""
services:
  no:
    command: [/bin/sh, -c, 'cat /proc/$$/environ > dump; exec sleep 1000']
    working-dir: "${env.TMPDIR}"
    environment: {COUNTRY: no, VER: 1.10, HEX: 0x1F, EXP: 1e3, T: ~, N: null, E: , D: 2026-11-29, SX: 22:22,
                  A: '100%', B: '%s%d%n%B', C: '$$2a$08$x', D2: 'a"b\\\\c', EE: 'back`tick`$(id)', F: '#not', G: ' lead and trail ', H: 'x=y=z', I: ''}
""", env={"P": "p%20q$HOME${env.X}"})
    r.wait_ready()
    r.wait_text("COUNTRY=", source="dump")
    got = dict(e.split("=", 1) for e in r.read("dump").split("\0") if "=" in e)
    want = {"COUNTRY": "no", "VER": "1.10", "HEX": "0x1F", "EXP": "1e3", "T": "~", "N": "null", "E": "", "D": "2026-11-29", "SX": "22:22",
            "A": "100%", "B": "%s%d%n%B", "C": "$$2a$08$x", "D2": 'a"b\\\\c', "EE": "back`tick`$(id)", "F": "#not", "G": " lead and trail ",
            "H": "x=y=z", "I": "", "P": "p%20q$HOME${env.X}"}
    assert {k: got.get(k) for k in want} == want
    assert r.term() == 0


def test_a_read_only_place_is_named(reeve):
    r = reeve("reeve: {runtime-dir: /proc/nowhere}\nservices: {a: {command: [/bin/sleep, '1000']}}")
    assert r.wait() != 0
    assert "/proc/nowhere" in r.stderr and "runtime-dir" in r.stderr


# each variable of the convention, and what it is for
@pytest.mark.parametrize("plugin, variable, value, shown", [
    ("envd", "ENVD_BIN", "/opt/envd", "/opt/envd"), ("envd", "ENVD_PORT", "45001", "45001"),
    ("envd", "ENVD_EXTRA_ARGS", "-cgroup-root /x", "-cgroup-root"), ("envd", "ENVD_LOG_FILE", "/tmp/of/envd.log", "/tmp/of/envd.log"),
    ("jupyter", "JUPYTER_LOG_FILE", "/tmp/of/jupyter.log", "/tmp/of/jupyter.log")])
def test_a_variable_of_the_convention_is_used_and_shown_with_its_source(once, tmp_path, plugin, variable, value, shown):
    (tmp_path / "a.yaml").write_text("services: {it: {plugin: %s}}\n" % plugin)
    for given, there in ((value, True), ("", False)):
        got = once("plan", "-c", "a.yaml", "--plugin-dir", harness.PLUGINS, env={variable: given})
        assert got.returncode == 0, got.stderr
        assert (shown in got.stdout) == there and ("(variable %s)" % variable in got.stdout) == there


def test_check_seeks_programs_where_a_start_does(once, tmp_path):
    """Relative to the working folder, and without a PATH in the same folders."""
    program = tmp_path / "app" / "server"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = """
services:
  path: {command: [./server], working-dir: %(app)s}
  empty: {command: [server], working-dir: %(app)s, environment: {PATH: "/nowhere:"}}
  none: {command: [ldconfig, -p], inherit-environment: none}
""" % {"app": program.parent}
    (tmp_path / "reeve.yaml").write_text(text)
    args = ("-c", str(tmp_path / "reeve.yaml"), "--plugin-dir", harness.PLUGINS)
    got = once("check", *args)
    assert (got.returncode, got.stderr) == (0, ""), got.stderr
    program.unlink()
    got = once("check", *args)
    assert got.returncode == 78
    assert "service path: cannot execute ./server: No such file" in got.stderr and "service empty: cannot execute server" in got.stderr


@pytest.mark.parametrize("args, hint", [
    (["check", "plan"], "exclude each other"),
    (["run", "check"], "exclude each other"),
    (["plan", "--bogus"], "unknown word '--bogus'"),
    (["-c"], "-c needs a value"),
    (["-c", ""], "-c needs a value"),
    (["check", "--init="], "--init= needs a value"),
    (["--"], "nothing behind --"),
    (["version", "--", "/bin/true"], "makes no sense"),
])
def test_a_wrong_command_line_is_2_and_says_why(once, args, hint):
    got = once(*args)
    assert got.returncode == 2 and hint in got.stderr and "reeve --help" in got.stderr, got.stderr


def test_help_and_version_win_wherever_they_stand(once):
    for args in (["-h", "check"], ["plan", "--help"], ["-V", "help"]):
        got = once(*args)
        assert got.returncode == 0 and got.stdout.startswith("usage: reeve"), args
    assert once("check", "-V").stdout.startswith("reeve "), "a version"
