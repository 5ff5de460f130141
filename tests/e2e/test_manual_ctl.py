"""reevectl(1) and the command line agree: each verb and each option is in both."""
import os
import re
import subprocess

import harness

MANUAL = os.path.join(harness.SRC, "man", "reevectl.1")


def help_of(*words):
    got = subprocess.run([harness.REEVECTL, "help", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20 * harness.SLACK)
    assert got.returncode == 0, got.stderr
    return got.stdout


def manual():
    with open(MANUAL) as f:
        return f.read()


def verbs():
    listed = help_of().split("verbs:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines()]


def test_every_verb_has_its_entry():
    text = manual()
    assert len(verbs()) >= 15
    assert [v for v in verbs() if not re.search(r"^\.It Cm %s\b" % v, text, re.M)] == []
    entries = re.findall(r"^\.It Cm ([a-z]+)", text.split(".Ss Verbs")[1].split(".Ss Options of single verbs")[0], re.M)
    assert sorted(set(entries) - set(verbs())) == []


def test_every_option_of_a_verb_has_its_entry_and_names_the_verb():
    entries = manual().split(".Ss Options of single verbs")[1].split(".Sh ")[0]
    common = set(re.findall(r"--([a-z-]+)", help_of().split("behind the verb:")[1]))
    for verb in verbs():
        if verb == "help":
            continue
        for option in set(re.findall(r"--([a-z-]+)", help_of(verb).split("options:")[1])) - common:
            entry = re.search(r"^\.It .*\bFl Fl %s\b.*\n\.Pq (.*)$" % option, entries, re.M)
            assert entry, "--%s is not in the manual" % option
            assert verb in entry[1].split(", "), "--%s of %s" % (option, verb)
