"""The table of tests/README.md tells the truth about where each requirement is shown."""
import importlib.util
import os
import re

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WANTED = [*range(1, 122), *range(123, 139)]


def table():
    """requirement -> the places named for it; and those that are said not to be shown."""
    shown, owed = {}, set()
    with open(os.path.join(TESTS, "README.md")) as f:
        for line in f:
            row = re.match(r"\| R-(\d+) \| (.*) \| .*\|$", line)
            item = re.match(r"- R-(\d+): \S", line)
            if row:
                shown[int(row[1])] = re.findall(r"`([^`]+)`", row[2])
            if item:
                owed.add(int(item[1]))
    return shown, owed


def text(path):
    try:
        with open(os.path.join(TESTS, path)) as f:
            return f.read()
    except OSError:
        return ""


def test_every_place_that_the_table_names_exists():
    wrong = []
    for number, places in table()[0].items():
        for place in places:
            path, _, name = place.partition("::")
            body = text(path)
            if not body or (name and not re.search(r"(?<!\w)%s(?!\w)" % re.escape(name), body)):
                wrong.append("R-%02d: %s" % (number, place))
    assert not wrong


def test_each_requirement_is_shown_or_said_to_be_owed():
    shown, owed = table()
    assert all(shown.values())
    assert sorted(shown.keys() | owed) == WANTED
    assert not shown.keys() & owed


def test_stopping_and_signals_cite_their_number_where_they_are_shown():
    wrong = []
    for number, places in table()[0].items():
        here = [p.partition("::") for p in places if p.startswith("e2e/")]
        if not 75 <= number <= 99 or not here:
            continue
        for path, _, name in here:
            head = re.search(r"((?:^[#@ ].*\n)*)^def %s\(" % name, text(path), re.M)
            if not head or "R-%02d" % number not in head[1]:
                wrong.append("R-%02d: %s::%s" % (number, path, name))
    assert not wrong


def test_each_requirement_about_starts_and_what_was_built_has_a_mistake_that_is_seen():
    """faults/list.txt has one for each; those about stopping are planted by the simulator, which is run each time."""
    planted = set()
    for title in re.findall(r"^== (.*)", text("faults/list.txt"), re.M):
        planted |= {int(n) for n in re.findall(r"\bR-(\d+)\b", title)}
    wanted = {*range(1, 39), *range(40, 43), 45, 46, 54, 55, 57, *range(58, 75), *range(100, 117), *range(118, 122), *range(123, 139)}
    assert sorted(wanted - planted) == [110, 127]  # nothing reads the files again that could be made to; the list itself


def test_each_test_that_is_to_see_a_mistake_exists():
    named = re.findall(r"^((?:e2e|stack|unit)/\S+)::(\w+)$|^(sim/\S+)$", text("faults/list.txt"), re.M)
    assert len(named) > 150
    assert [n for n in named if not (re.search(r"(?<!\w)%s(?!\w)" % n[1], text(n[0])) if n[0] else text(n[2]))] == []


def test_each_mistake_still_has_its_place_in_the_code():
    spec = importlib.util.spec_from_file_location("faults", os.path.join(TESTS, "faults", "run.py"))
    faults = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(faults)
    hunks = [(f.title, h) for f in faults.read_list() for h in f.hunks]
    assert len(hunks) > 200
    assert [(title, h.file, h.old) for title, h in hunks if len(h.places(text(os.path.join("..", h.file)))) != 1] == []
