"""What is written down is what is there, both ways: options, variables, words of the command line, the plugin header, error
codes, examples, limits. `python3 test_docs.py plugins` prints the section PLUGINS of reeve.yaml(5) as the tables have it."""
import ast
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

import harness

SRC = harness.SRC
PLUGINS = ["envd", "jupyter", "interpreter", "mcp-gateway"]
PAGES = ["reeve.8", "reevectl.1", "reeve.yaml.5", "reeve-plugin.3"]


def read(*path):
    with open(os.path.join(SRC, *path)) as f:
        return f.read()


def sources(*patterns):
    return "\n".join(read(path) for pattern in patterns for path in glob.glob(os.path.join(SRC, pattern), recursive=True))


def page(name):
    return read("man", name)


def plain(roff):
    """The words of mdoc text."""
    words = []
    for line in roff.splitlines():
        if line.startswith('.\\"'):
            continue
        line = re.sub(r"^\.(Ql|Ev|Pa|Li|Cm|Fl|Xr|Ic|Sx|Dv|Fa|Dq) ", "", line)
        words += re.sub(r"\\[&e]|\\\(dq", "", line).replace("\\-", "-").split()
    return re.sub(r" ([.,;:)])(?= |$)", r"\1", " ".join(words))


# ---- options and variables (R-123) -----------------------------------------------------------------------------------

def tables(r):
    """The option tables of all plugins, as `reevectl --json plugins` has them."""
    r.wait_socket()
    got = r.ctl("--json", "plugins")
    assert got.returncode == 0, got.stderr
    return {p["name"]: p for p in json.loads(got.stdout)["plugins"]}


GRAPH = "services:\n" + "".join("  %s: {plugin: %s, startup: disabled, command: [/bin/true], ports: []}\n" % (n, n) for n in PLUGINS)


def sentence(option):
    """An option as its manual entry reads."""
    parts = [option["type"].replace("-", " ").capitalize().replace("json", "JSON").replace("Json", "JSON")]
    if "min" in option:
        parts.append("%s to %s" % (option["min"], option["max"]))
    if option["default"] is not None:
        parts.append("default %s" % option["default"])
    if option["env"]:
        parts.append("variable %s" % option["env"])
    return "%s. %s." % (", ".join(parts), option["summary"][0].upper() + option["summary"][1:])


def manual_options():
    """plugin -> option -> its entry, of the section PLUGINS."""
    section = re.search(r"^\.Sh PLUGINS\n(.*?)^\.Sh ", page("reeve.yaml.5"), re.M | re.S)
    found = {}
    for name, body in re.findall(r"^\.Ss (\S+)\n(.*?)(?=^\.Ss |\Z)", section[1], re.M | re.S):
        items = re.findall(r"^\.It Cm (\S+)\n(.*?)(?=^\.It |^\.El)", body, re.M | re.S)
        found[name] = {option: plain(text) for option, text in items}
    return found


def test_each_option_of_each_plugin_is_in_the_manual_as_its_table_has_it(reeve):
    wanted = {name: {o["name"]: sentence(o) for o in t["options"]} for name, t in tables(reeve(GRAPH)).items()}
    assert sorted(wanted) == sorted(PLUGINS)
    assert manual_options() == wanted, "see the head of this file for how to print the section anew"


def test_each_variable_that_is_read_is_in_a_manual_and_each_in_a_manual_is_known():
    code = sources("src/**/*.c", "src/**/*.h", "plugins/*.c", "plugins/*.py")
    read_ones = set(re.findall(r'(?:getenv|reeve_env|reeve_log_file)\((?:t, )?"([A-Z_]+)"', code)) | set(re.findall(r'\.env = "([A-Z_]+)"', code))
    documented = set()
    for name in PAGES:
        for line in re.findall(r"^\.(?:It )?Ev (.*)", page(name), re.M):
            documented |= set(re.findall(r"\b[A-Z][A-Z_]{2,}\b", line))
    assert {"ENVD_PORT", "CODE_INTERPRETER_HOST", "REEVE_SOCKET"} <= read_ones
    assert sorted(read_ones - documented) == []
    assert [v for v in sorted(documented) if not re.search(r"\b%s\b" % v, code)] == []


@pytest.mark.parametrize("program, manual", [("reeve", "reeve.8"), ("reevectl", "reevectl.1")])
def test_the_words_of_the_command_line_are_those_of_the_manual(program, manual):
    got = subprocess.run([os.path.join(harness.BUILD, program), "--help"], capture_output=True, text=True, timeout=20 * harness.SLACK)
    assert got.returncode == 0 and "usage" in got.stdout + got.stderr
    helped = set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", got.stdout + got.stderr))
    table = set(re.findall(r'= \{"([a-z-]+)", (?:\'.\'|0),', read("src", "ctl", "words.c"))) if program == "reevectl" else set()
    # The word by which reeve starts its own plugin host is nobody's to write.
    ours = set(re.findall(r'"--([a-z][a-z-]+)"', read("src", "daemon", "main.c"))) - {"plugin-host"}
    taken = table if program == "reevectl" else ours
    # Words of a manual are those of its synopsis and of its lists; those of other programs stand in the running text.
    lines = re.findall(r"^\.(?:It|Op|Nm|Oo|Ic|Cm|Fl) .*", page(manual), re.M)
    documented = set(re.findall(r"Fl (?:Fl |-)([a-z][a-z-]+)", "\n".join(lines)))
    assert len(documented) > 5
    assert sorted((helped | taken) - documented - {"version", "help"}) == []
    assert sorted(documented - helped - table - ours) == []


# ---- the plugin header and error codes (R-130) -----------------------------------------------------------------------

def test_each_name_of_the_plugin_header_is_in_its_manual_and_no_other():
    header, manual = read("src", "include", "reeve", "plugin.h"), page("reeve-plugin.3")
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    names = set(re.findall(r"\b(?:reeve_\w+|REEVE_\w+)\b", code)) - {"REEVE_PLUGIN_H"}
    assert len(names) > 60
    assert sorted(n for n in names if not re.search(r"(?<!\w)%s(?!\w)" % n, manual)) == []
    assert sorted(set(re.findall(r"\b(?:reeve_[a-z_0-9]+|REEVE_[A-Z_]+)\b", manual)) - names - {"REEVE_INVOCATION_ID", "reeve_plugin_v1"}) == []


# A table that is wider than a terminal is squeezed into its last column, a word a line.
def test_the_tables_of_the_manuals_fit_a_terminal():
    if not shutil.which("groff"):
        pytest.skip("no groff here")
    for name in PAGES:
        got = subprocess.run(["groff", "-mandoc", "-Tutf8", "-wbreak", os.path.join(SRC, "man", name)], capture_output=True, text=True)
        assert "can't break line" not in got.stderr, (name, got.stderr)


def test_each_exit_status_is_in_the_manual_and_the_readme():
    statuses = {int(n) for n in re.findall(r"\bEXIT_[A-Z]+ = (\d+)", sources("src/daemon/*.c", "src/ctl/*.[ch]"))}
    assert {2, 10, 70, 78} <= statuses
    manual = page("reeve.8") + page("reevectl.1")
    for status in statuses:
        assert re.search(r"^\.It (Li )?%d\b" % status, manual, re.M), status


def test_each_error_code_of_the_control_socket_is_in_its_manual():
    rows = re.findall(r'X\(RV_RPC_\w+, (-\d+), "([a-z-]+)"\)', read("src", "wire", "rpc.h"))
    manual = page("reevectl.1").replace("\\-", "-")
    assert len(rows) > 10
    assert [row for row in rows if row[0] not in manual or row[1] not in manual] == []


# ---- examples and keys (R-131) -------------------------------------------------------------------------------

def examples():
    """Everything that a reader may copy."""
    found = [("README.md", text) for text in re.findall(r"```yaml\n(.*?)```", read("README.md"), re.S)]
    for name in PAGES:
        for text in re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", page(name), re.M | re.S):
            if re.search(r"^(version|services|reeve):", text, re.M):
                found.append((name, text.replace("\\e", "\\")))
    return found


def test_each_example_is_accepted_word_by_word(once, tmp_path):
    """No aliases: an unknown key, also an option of a plugin, is an error, so what is accepted has the names of the tables."""
    assert len(examples()) >= 3
    for name, text in examples():
        if "plugin: hello" in text:
            continue  # tests/plugins/manual.sh builds that plugin and runs it
        if "services:" not in text:
            text += "services: {a: {command: [/bin/true]}}\n"  # what is for reeve itself stands beside services
        (tmp_path / "example.yaml").write_text(text)
        got = once("plan", "-c", "example.yaml", "--plugin-dir", harness.PLUGINS)
        assert got.returncode == 0, (name, text, got.stderr)


# A key that stands at two places: why it is not the same thing said twice.
SAME_WORD = {
    "environment": "of all services, and of one that overrides it",
    "environment-file": "of all services, and of one that overrides it",
    "log": "defaults of all services, and of one that overrides it",
    "file": "of a log, and what shows readiness",
    "timeout": "of readiness, of health, of each step of a stop",
    "signal": "the short form of stop.steps",
    "to": "the short form of stop.steps",
    "tcp": "where to listen, and where to knock",
    "unix": "where to listen, and where to knock",
    "mode": "of the control socket, and of a listener",
    "owner": "of the control socket, and of a listener",
    "group": "of the control socket, of a listener, and of a service's process",
    "service": "whom a dependency is on",
    "http": "what shows readiness, and what shows health",
    "exec": "what shows readiness, and what shows health",
    "attempt-timeout": "of readiness, and of health",
}


def test_no_key_is_at_two_levels_with_one_meaning():
    keys = [word for line in re.findall(r"^\.It Ic (.*)", page("reeve.yaml.5"), re.M) for word in re.split(r"[ ,]+", line) if word]
    assert len(keys) > 70
    leaves = [key.split(".")[-1] for key in keys]
    twice = {leaf for leaf in leaves if leaves.count(leaf) > 1}
    assert sorted(twice - set(SAME_WORD)) == []
    # Who a service is, is said once: its key in `services`.
    assert [key for key in keys if key.split(".")[-1] in ("name", "id", "namespace") and key != "listen.name"] == []


# ---- limits (R-124) --------------------------------------------------------------------------------------------------

def test_each_known_gap_of_the_tests_is_among_the_limits_and_no_other():
    here = os.path.relpath(os.path.abspath(__file__), SRC)
    files = glob.glob(os.path.join(SRC, "tests", "**", "*.py"), recursive=True) + glob.glob(os.path.join(SRC, "tests", "**", "*.c"), recursive=True)
    marked = set()
    for path in files:
        if os.path.relpath(path, SRC) != here:
            with open(path, errors="replace") as f:
                marked |= set(re.findall(r"known-gap: ([a-z-]+)", f.read()))
    limits = re.search(r"^## Limits\n(.*?)^## ", read("README.md"), re.M | re.S)
    listed = re.findall(r"^- \*\*([a-z-]+)\*\*: \S", limits[1], re.M)
    assert marked and sorted(listed) == sorted(marked)


# ---- images, versions, names, tables of folders (R-123) --------------------------------------

def test_what_an_image_must_look_like_is_said():
    manual = plain(page("reeve.8"))
    for words in ("Both ENTRYPOINT and CMD of the base image must be replaced", "is meant to be PID 1: it is the ENTRYPOINT",
                  "envd is one of the services, and started once", "RUN reeve check"):
        assert words in manual, words
    docker = read("etc", "Dockerfile")
    last = docker[docker.rindex("\nFROM "):]
    assert last.index("RUN reeve check") > last.index("COPY etc/sandbox/reeve.yaml")
    assert 'ENTRYPOINT ["/usr/local/bin/reeve"]' in last and "CMD []" in last


# the table of the predicate, and what a report is for
def test_which_errors_of_a_client_are_worth_a_report_is_said():
    page = " ".join(read("man", "reevectl.1").split())
    for words in ("a refused connection, 502 or 504 from the interpreter's port, 404 from the process API",
                  "an exit status other than 0", "has a snapshot", "SAFE TO RETRY",
                  ".It yes Ta no Ta no Ta true", ".It yes Ta yes Ta no or yes Ta false", ".It yes Ta no or yes Ta yes Ta false",
                  ".It no Ta no or yes Ta no or yes Ta false"):
        assert words in page, words


def test_versions_are_pinned_once_for_image_and_tests():
    docker, dev = read("etc", "Dockerfile"), read("dev")
    assert "COPY etc/sandbox/package.json etc/sandbox/package-lock.json" in docker and "npm ci" in docker
    assert 'npm_modules "$top/etc/sandbox"' in dev and "npm ci" in dev
    assert len(set(re.findall(r"^FROM (debian:\S+)", docker, re.M))) == 1
    # Each package of the sandbox that the image has is one that the tests run against.
    wanted = re.search(r"stack_packages=\((.*?)\)", dev, re.S)[1].split()
    sandbox = re.search(r"(ca-certificates jupyter-core.*?)&&", docker, re.S)[1].replace("\\\n", " ").split()
    assert sorted(set(sandbox) - set(wanted)) == []
    node = re.search(r"^FROM node:(\d+)-", docker, re.M)[1]
    assert re.search(r"^node_brought=%s\." % node, dev, re.M)


def test_public_names_say_whose_they_are_and_what_of():
    """`destroy` or `cleanup` alone would not say of what."""
    wrong = []
    for path in glob.glob(os.path.join(SRC, "src", "**", "*.h"), recursive=True):
        with open(path) as f:
            code = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        for name in re.findall(r"^(?:[a-z_]\w*[ *]+)+(\w+)\([^;{]*\)[^;{]*[;{]", code, re.M):
            if not re.match(r"(rv|reeve)_[a-z0-9]+(_[a-z0-9]+)*$", name) or re.match(r"(rv|reeve)_(destroy|cleanup|free|close|end|stop)$", name):
                wrong.append("%s: %s" % (os.path.relpath(path, SRC), name))
    assert wrong == []


def test_each_folder_is_in_the_table_of_its_readme():
    # folders of builds are no part of it, wherever somebody, or make distcheck, put them
    tops = {d for d in os.listdir(SRC) if os.path.isdir(os.path.join(SRC, d)) and not re.match(r"\.|_|build|autom4te|m4$", d)
            and not os.path.exists(os.path.join(SRC, d, "config.status"))}
    table = read("README.md")[read("README.md").index("## Where things are"):]
    assert sorted(d for d in tops if "`%s/`" % d not in table) == []
    tests = {d for d in os.listdir(os.path.join(SRC, "tests")) if os.path.isdir(os.path.join(SRC, "tests", d)) and not d.startswith((".", "__"))}
    assert sorted(d for d in tests if "| `%s/` |" % d not in read("tests", "README.md")) == []


# ---- what the suite itself keeps to (R-125, R-126) -------------------------------------------------------------------

def test_every_test_asserts_in_the_process_of_the_tests():
    """A handler of a fake server, or a thread, has no `assert`: there it would fail nobody's test."""
    wrong = []
    for path in glob.glob(os.path.join(SRC, "tests", "e2e", "*.py")) + glob.glob(os.path.join(SRC, "tests", "stack", "*.py")):
        with open(path) as f:
            tree = ast.parse(f.read())
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and any("Handler" in ast.unparse(base) for base in node.bases):
                wrong += ["%s:%d" % (path, a.lineno) for a in ast.walk(node) if isinstance(a, ast.Assert)]
    assert wrong == []


def section(found):
    out = [".Sh PLUGINS"]
    for name in PLUGINS:
        out += [".Ss %s" % name, ".Bl -tag -width Ds"]
        for o in found[name]["options"]:
            out.append(".It Cm %s" % o["name"])
            head, told = sentence(o)[:-len(o["summary"]) - 2], sentence(o)[-len(o["summary"]) - 1:]
            head = re.sub(r"default (\S+)([.,])", lambda m: "default\n.Li %s %s\n" % m.groups(), head)
            head = re.sub(r"variable (\w+)\.", r"variable\n.Ev \1 .\n", head)
            out += [line.strip() for line in head.splitlines() if line.strip()]
            out += textwrap.wrap(told, 78, break_on_hyphens=False, break_long_words=False)
        out.append(".El")
    return "\n".join(out)


if __name__ == "__main__" and sys.argv[1:] == ["plugins"]:
    one = harness.Reeve(GRAPH)
    try:
        print(section(tables(one)))
    finally:
        one.close()
        one.remove()
