"""Graphs that cannot be, and one that is only deep."""
import re
import time

import harness
import pytest

IDLE = "command: [/bin/sleep, '1000']"


def ring(names, **more):
    lines = ["services:"]
    for i, name in enumerate(names):
        lines.append("  %s: {%s, needs: [%s]}" % (name, IDLE, names[(i + 1) % len(names)]))
    return "\n".join(lines) + "\n" + more.get("rest", "")


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["c", "a", "b"], ["n%d" % i for i in range(50)]])
def test_a_ring_of_any_length_is_refused_with_its_members_in_order(reeve, names):
    began = time.monotonic()
    r = reeve(ring(names, rest="  innocent: {command: [/bin/touch, \"${env.TMPDIR}/started\"], type: task}\n"))
    assert r.wait() == 78, r.stderr
    assert time.monotonic() - began < 5 * harness.SLACK
    found = next(line for line in r.stderr.splitlines() if "reeve.yaml:" in line)
    if len(names) == 1:
        assert "a" in found and "itself" in found
    else:
        told = re.search(r"cycle: (.*?)(?: \(|$)", found.replace("(10 more)", "more")).group(1).split(" -> ")
        assert told[0] == told[-1] and len(told) >= min(len(names) + 1, 20), found
        for this, following in zip(told, told[1:]):
            assert "more" in (this, following) or following == names[(names.index(this) + 1) % len(names)], found
    assert "innocent" not in found and r.read("started") == ""


def test_rings_are_found_over_every_kind_of_edge(reeve):
    r = reeve("services:\n  a: {%s, wants: [b]}\n  b: {%s, after: [c]}\n  c: {%s, needs: [{service: a, until: started}]}\n" % (IDLE, IDLE, IDLE))
    assert r.wait() == 78 and " -> " in r.stderr, r.stderr


@pytest.mark.parametrize("key", ["needs", "wants", "after", "part-of"])
def test_a_name_that_nobody_has_is_refused_with_its_place(reeve, key):
    r = reeve("services:\n  db: {%s}\n  a:\n    %s\n    %s: [db, bd]\n" % (IDLE, IDLE, key))
    assert r.wait() == 78
    assert re.search(r"reeve\.yaml:5:\d+: .*bd", r.stderr), r.stderr
    assert "did you mean" in r.stderr


def test_a_chain_of_two_thousand_is_accepted(once, tmp_path):
    lines = ["services:", "  s0: {%s}" % IDLE] + ["  s%d: {%s, needs: [s%d]}" % (i, IDLE, i - 1) for i in range(1, 2000)]
    for text in (lines, lines[:1] + lines[:0:-1]):  # the file may also list them from the far end
        (tmp_path / "chain.yaml").write_text("\n".join(text) + "\n")
        began = time.monotonic()
        got = once("check", "-c", str(tmp_path / "chain.yaml"), "--plugin-dir", harness.PLUGINS)
        assert got.returncode == 0, got.stderr[:2000]
        assert time.monotonic() - began < 5 * harness.SLACK


def test_a_ring_of_two_thousand_is_refused_without_a_crash(once, tmp_path):
    (tmp_path / "ring.yaml").write_text(ring(["s%d" % i for i in range(2000)]))
    got = once("check", "-c", str(tmp_path / "ring.yaml"), "--plugin-dir", harness.PLUGINS)
    assert got.returncode == 78 and " -> " in got.stderr, got.stderr[:2000]
    assert "Sanitizer" not in got.stderr and len(got.stderr) < 100000


def test_a_ring_in_the_file_of_a_running_reeve_touches_nothing(reeve):
    text = "services:\n  a: {%s}\n  b: {%s, needs: [a]}\n" % (IDLE, IDLE)
    r = reeve(text)
    r.wait_ready()
    before = {n: s["pid"] for n, s in r.services().items()}
    r.write("reeve.yaml", text.replace("a: {", "a: {needs: [b], "))
    got = r.ctl("check")
    assert got.returncode == 1 and "a -> b" in got.stdout + got.stderr or "b -> a" in got.stdout + got.stderr, got
    assert {n: s["pid"] for n, s in r.services().items()} == before
    assert r.term() == 0
