"""Graph files of earlier versions mean what they meant (R-134): see tests/corpus/README.md."""
import glob
import os
import re

import pytest

import harness

CORPUS = os.path.join(harness.SRC, "tests", "corpus")
FILES = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(CORPUS, "*.yaml")))


def text(name):
    with open(os.path.join(CORPUS, name)) as f:
        return f.read()


def test_there_is_a_corpus():
    assert len(FILES) >= 4 and all(os.path.exists(os.path.join(CORPUS, name + ".plan")) for name in FILES)


@pytest.mark.parametrize("name", FILES)
def test_an_old_file_is_planned_as_it_was(once, name):
    got = once("plan", "-c", os.path.join(CORPUS, name + ".yaml"), "--plugin-dir", harness.PLUGINS)
    assert got.returncode == 0, got.stderr
    assert "".join(re.findall(r"^(?:\d+\. |    (?:command|directory|ports) ).*\n", got.stdout, re.M)) == text(name + ".plan")


def test_an_old_file_boots_as_it_did(reeve):
    place = ["/bin/sh", "-c", 'export CORPUS_RUN="$TMPDIR/run" CORPUS_LOG="$TMPDIR/log"; exec "$@"', "sh"]
    r = reeve(own_config=True, args=["-c", os.path.join(CORPUS, "everything.yaml")], wrap=place)
    r.wait_ready()
    assert {name: s["state"] for name, s in r.services().items()} == {
        "seed": "exited", "store": "ready", "api": "ready", "late": "ready", "off": "stopped"}
    assert os.stat(r.path("run", "store.sock")).st_mode & 0o777 == 0o600
    env = open("/proc/%d/environ" % r.service("api")["pid"], "rb").read().split(b"\0")
    assert {b"NO=no", b"EMPTY=", b"AGAIN=${literal}", b"B=two words"} <= set(env)
    assert r.term() == 0
