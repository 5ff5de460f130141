#!/usr/bin/python3
"""Plants the mistakes of list.txt one at a time in a copy of the sources, and runs the tests that are to see each: they must
turn red (R-127). Words choose some: run.py R-14 whose.c. It takes long, so it is no part of any suite.

    == R-14 what is wrong then            a comment for people; its words can be chosen
    src/daemon/whose.c                    the file
    -old text, which stands there once    replaced by ...
    +new text                             ... this; without a line, it is gone
    e2e/test_ports.py::test_an_answer     each test that is to see it
"""
import filecmp
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PLACE = os.path.join(TOP, "build", "faults")
COPY, OBJ = os.path.join(PLACE, "copy"), os.path.join(PLACE, "obj")
BOUND = 300


class Fault:
    def __init__(self, title):
        self.title, self.hunks, self.tests = title, [], []

    def chosen(self, words):
        return not words or any(w in self.title.split() or any(w in h.file for h in self.hunks) for w in words)


class Hunk:
    """Some lines of a file, which stand there once; blanks at their ends do not count."""

    def __init__(self, file):
        self.file, self.old, self.new, self.before = file, [], [], None

    def places(self, text):
        """Where it stands in the lines of this text."""
        lines, old = text.split("\n"), [line.strip() for line in self.old]
        return [i for i in range(len(lines)) if [line.strip() for line in lines[i:i + len(old)]] == old]

    def plant(self):
        with open(os.path.join(COPY, self.file)) as f:
            self.before = f.read()
        lines, old, at = self.before.split("\n"), self.old, self.places(self.before)
        if len(at) != 1:
            return False
        indent = re.match(r"\s*", lines[at[0]])[0]
        lines[at[0]:at[0] + len(old)] = [indent + line for line in self.new]
        write(os.path.join(COPY, self.file), "\n".join(lines))
        return True

    def undo(self):
        if self.before is not None:
            write(os.path.join(COPY, self.file), self.before)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def read_list():
    faults = []
    with open(os.path.join(HERE, "list.txt")) as f:
        for line in f.read().splitlines():
            if line.startswith("== "):
                faults.append(Fault(line[3:]))
            elif line[:1] == "-":
                faults[-1].hunks[-1].old.append(line[1:])
            elif line[:1] == "+":
                faults[-1].hunks[-1].new.append(line[1:].strip())
            elif "::" in line or line.startswith("sim/"):
                faults[-1].tests.append(line.strip())
            elif line.strip() and not line.startswith("#"):
                faults[-1].hunks.append(Hunk(line.strip()))
    return faults


def run(argv, cwd=None, **env):
    """(status, output)"""
    try:
        got = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                             timeout=BOUND, env=dict(os.environ, RV_BUILD=OBJ, RV_SRC=COPY, PYTHONDONTWRITEBYTECODE="1", **env))
        return got.returncode, got.stdout
    except subprocess.TimeoutExpired as e:
        return 124, (e.stdout or b"").decode(errors="replace") + "\nno end within %d s" % BOUND


def make(*targets):
    return run(["make", "-s", "-j2", "-C", OBJ, *targets])


def same(a, b):
    return os.path.isfile(b) and filecmp.cmp(a, b, shallow=False)


def refresh():
    """What is as it was keeps its time, and all else has a new one: make trusts in that."""
    for place, folders, files in os.walk(TOP):
        folders[:] = [d for d in folders if d not in (".git", "node_modules", "autom4te.cache", "__pycache__") and (
            place != TOP or not d.startswith("build") or d == "build-aux")]
        to = os.path.join(COPY, os.path.relpath(place, TOP))
        os.makedirs(to, exist_ok=True)
        for name in files:
            if not same(os.path.join(place, name), os.path.join(to, name)):
                shutil.copy(os.path.join(place, name), os.path.join(to, name))
    for folder in ("etc/sandbox", "tests/stack"):
        there, link = os.path.join(TOP, folder, "node_modules"), os.path.join(COPY, folder, "node_modules")
        if os.path.isdir(there) and not os.path.islink(link):
            os.symlink(there, link)


def prepare():
    refresh()
    os.makedirs(OBJ, exist_ok=True)
    for argv, cwd in ((["autoreconf", "-i"], COPY), ([os.path.join(COPY, "configure"), "-q", "CFLAGS=-O1 -g"], OBJ)):
        status, said = run(argv, cwd)
        if status:
            sys.exit(said)
    status, said = make("check", "TESTS=")
    if status:
        sys.exit(said[-3000:])


# Each runs one test: a line that says that it is red; None: it is green; False: it was not run.

def unit(file, name):
    program = "tests/unit/" + file[:-2]
    status, said = make(program)
    if status:
        return first_word(said)
    status, said = run([os.path.join(OBJ, program)], OBJ, CMOCKA_MESSAGE_OUTPUT="TAP")
    case = re.search(r"^(not )?ok \d+ - %s$" % re.escape(name), said, re.M)
    if case:
        return case[0] if case[1] else None
    return first_word(said) if status else False


def sim(file, _name):
    status, said = make("tests/sim/story")
    if not status:
        status, said = run([os.path.join(OBJ, "tests/sim/story"), os.path.join(COPY, "tests/sim", file)], OBJ)
    return first_word(said) if status else None


def stack(file, name):
    tests = os.path.join(COPY, "tests/stack")
    said = run([sys.executable, os.path.join(tests, "run.py"), "%s::%s" % (os.path.join(tests, file), name)], OBJ)[1]
    if re.search(r"^not ok", said, re.M):
        return first_word(said)
    return None if re.search(r"^ok (?!.*# SKIP)", said, re.M) else False


def e2e(file, name):
    argv = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", "%s::%s" % (file, name)]
    status, said = run(argv, os.path.join(COPY, "tests/e2e"))
    if status in (1, 124):
        return first_word(said)
    return None if status == 0 and "passed" in said else False


def first_word(said):
    """Of what went wrong."""
    lines = said.splitlines() or ["it said nothing"]
    told = [line for line in lines if re.search(r"^#? ?E  |error:|FAILED|no end within", line)]
    return " ".join((told or lines[-1:])[0].split())[:200]


def is_red(test):
    place, _, name = test.partition("::")
    room, _, file = place.partition("/")
    return {"unit": unit, "sim": sim, "stack": stack, "e2e": e2e}[room](file, name)


def judge(fault):
    """[(well, sentence)]"""
    try:
        for hunk in fault.hunks:
            if not hunk.plant():
                return [(False, "its text does not stand once in %s" % hunk.file)]
        status, said = make("all")
        if status:
            return [(False, "does not build: " + said[-800:])]
        results = []
        for test in fault.tests:
            red = is_red(test)
            results.append((bool(red), "%s: %s" % (test, red or ("GREEN" if red is None else "was not run"))))
        return results
    finally:
        for hunk in reversed(fault.hunks):
            hunk.undo()


def main(words):
    faults = [f for f in read_list() if f.chosen(words)]
    prepare()
    unseen = 0
    for test in sorted({t for f in faults for t in f.tests}):
        red = is_red(test)
        if red is not None:
            unseen += 1
            print("RED WITHOUT A FAULT %s: %s" % (test, red or "was not run"), flush=True)
    for fault in faults:
        for well, sentence in judge(fault):
            unseen += not well
            print("%s %s\n    %s" % ("red" if well else "NOT SEEN", fault.title, sentence), flush=True)
    print("%d faults, %d not seen" % (len(faults), unseen))
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
