"""Logs under people who remove, fill and forbid them: nothing stops a service, and what was lost is told."""
import os
import re
import shutil
import subprocess
import time

import harness
import pytest

KIB = 1024

# Numbered lines, some a second, and a file that says how far it is; and how long a line ever took to be taken, in ms.
TICK = """
import sys, time
pause, width = float(sys.argv[1]), int(sys.argv[2])
i, worst = 0, 0
while True:
    before = time.monotonic()
    print("%08d %s" % (i, "x" * width), flush=True); i += 1
    worst = max(worst, time.monotonic() - before)
    open("progress", "w").write("%d %d" % (i, worst * 1000))
    time.sleep(pause)
"""

STILL = 1000 * harness.SLACK  # ms; who waits for a log to be opened again waits longer than this


def progress(r):
    """How many lines the service has written, and its longest pause in ms; polled, since the file is empty for a moment."""
    return harness.until("the progress", lambda: [int(w) for w in r.read("progress").split()] if len(r.read("progress").split()) == 2 else None)


def goes_on(r):
    at = progress(r)[0]
    harness.until("the service to write on", lambda: progress(r)[0] > at + 3)


def newest(path):
    """The number of the last whole line of a log, -1 when there is none."""
    try:
        with open(path, errors="replace") as f:
            found = re.findall(r"^(\d{8}) x+$", f.read(), re.M)
    except OSError:
        return -1
    return int(found[-1]) if found else -1


def obstructed(path):
    """Puts a folder where the first rotated file is; False when there was a rotation in between."""
    try:
        os.unlink(path)
        os.mkdir(path)
        return True
    except OSError:
        return False


def fresh(r, path, within=6):
    """Lines that are written from now on are in this file."""
    at = progress(r)[0]
    harness.until(lambda: "line %d in %s (%s)\n%s" % (at, path, newest(path), r.stderr), lambda: newest(path) >= at, within)


def replaced(r):
    """Puts a file where the folder of the logs is; False when the folder was made anew in between."""
    try:
        os.rename(r.path("logs"), r.path("gone"))
        shutil.rmtree(r.path("gone"))
        os.rename(r.write("no-folder", "no folder"), r.path("logs"))
        return True
    except OSError:
        return False


def test_a_log_that_is_removed_moved_truncated_or_obstructed_goes_on(reeve):
    r = reeve("""
services:
  t:
    command: [/usr/bin/python3, tick.py, "0.001", "90"]
    working-dir: "${env.TMPDIR}"
    log: {file: "${env.TMPDIR}/logs/t.log", max-size: 32KiB, keep: 3}
""", files={"tick.py": TICK})
    log = r.path("logs", "t.log")
    harness.until("two rotations", lambda: os.path.exists(log + ".2"))

    os.unlink(log)
    fresh(r, log)
    os.rename(log, r.path("moved"))
    fresh(r, log)
    with open(r.path("moved")) as f:
        moved = f.read()
    fresh(r, log)
    with open(r.path("moved")) as f:
        assert f.read() == moved, "a file that was moved away was written to"
    os.truncate(log, 0)
    fresh(r, log)
    assert os.path.getsize(log) <= 33 * KIB, "the size was not counted anew"

    harness.until("a folder in the place of a file", lambda: obstructed(log + ".1"))
    for n in (2, 3):
        if os.path.exists(log + ".%d" % n):
            os.unlink(log + ".%d" % n)
    harness.until("a rotation over the folder", lambda: os.path.isfile(log + ".3"))
    fresh(r, log)
    assert os.path.isdir(log + ".1") and os.listdir(log + ".1") == []
    assert r.stderr.count("t.log.1") == 1, "one warning\n" + r.stderr
    os.rmdir(log + ".1")
    harness.until("the gap to close", lambda: os.path.isfile(log + ".1"))

    os.rename(r.path("logs"), r.path("gone"))  # at once: files come back into a folder that is being emptied
    shutil.rmtree(r.path("gone"))
    goes_on(r)
    fresh(r, log)
    harness.until("a file in the place of the folder", lambda: replaced(r))
    goes_on(r)
    os.unlink(r.path("logs"))
    os.makedirs(r.path("logs"), exist_ok=True)  # it may be back already
    fresh(r, log)
    harness.until("three rotations", lambda: os.path.exists(log + ".3"))
    for name in ("t.log", "t.log.1", "t.log.2", "t.log.3"):
        assert os.path.getsize(r.path("logs", name)) <= 32 * KIB + 100, name
    assert not os.path.exists(log + ".4")
    assert progress(r)[1] < STILL, "the service stood still for %d ms" % progress(r)[1]
    assert r.service("t")["restarts"] == 0
    assert len(r.stderr.splitlines()) < 25, r.stderr
    assert r.term() == 0


HALVES = """
import os, time
for i in range(3000):
    os.write(1, b"<%06d-left" % i)
    if i % 50 == 0: os.write(2, b"(err %06d)\\n" % i); time.sleep(.002)
    os.write(1, b"-right>\\n")
os.write(1, b"LAST-WORDS")
os._exit(5)
"""


def test_rotation_splits_no_line_and_last_words_are_kept(reeve):
    r = reeve("""
services:
  h:
    command: [/usr/bin/python3, halves.py]
    working-dir: "${env.TMPDIR}"
    restart: {on: failure, delay: 200ms, limit: 1}
    log: {file: "${env.TMPDIR}/logs/h.log", max-size: 8KiB, keep: 50}
""", files={"halves.py": HALVES})
    r.wait_state("h", "failed")
    names = sorted(os.listdir(r.path("logs")), key=lambda n: -int(n.rpartition(".")[2]) if n[-1].isdigit() else 0)
    assert names[-1] == "h.log" and len(names) > 10 and "h.log.51" not in names
    whole = ""
    for name in names:
        with open(r.path("logs", name)) as f:
            text = f.read()
        assert len(text) <= 8 * KIB + 30, name
        assert re.match(r"<\d{6}-left-right>\n|\(err \d{6}\)\n|LAST-WORDS\n|<\d{6}-left\(err", text), (name, text[:40])
        assert text.endswith("\n") or name == "h.log", (name, text[-40:])
        whole += text
    lines = whole.splitlines()
    assert [ln for ln in lines if ln.startswith("<")] == ["<%06d-left-right>" % i for i in range(3000)] * 2
    assert [ln for ln in lines if ln.startswith("(")] == ["(err %06d)" % i for i in range(0, 3000, 50)] * 2
    assert [ln for ln in lines if ln[0] not in "<("] == ["LAST-WORDS"] * 2
    assert r.term() == 0


FULL = """
services:
  f:
    command: [/usr/bin/python3, tick.py, "0.002", "200"]
    working-dir: "${env.TMPDIR}"
    log: {file: "${env.TMPDIR}/small/f.log", max-size: 10MiB}
  g:
    command: [/bin/sh, -c, 'while :; do echo hello; sleep 0.1; done']
    log: {file: "${env.TMPDIR}/small/g.log"}
"""


def quick(r, *args):
    began = time.monotonic()
    got = r.ctl(*args)
    assert got.returncode == 0, (args, got.stderr)
    assert time.monotonic() - began < 5 * harness.SLACK, args
    return got.stdout


@pytest.mark.root
def test_a_full_disk_stops_nobody_and_the_log_tells_what_is_missing(reeve):
    """The small file system lies in a mount namespace of reeve's, and is reached through /proc."""
    if not harness.can_unshare():
        pytest.skip("no mount namespace can be made here")
    # mkdir, a small file system, something to remove later; then reeve in the same process.
    wrap = ["unshare", "-m", "sh", "-c", 'd="$TMPDIR/small" && mkdir "$d" && mount -t tmpfs -o size=256k none "$d"'
            ' && head -c 65536 /dev/zero >"$d/filler" && exec "$@"', "sh"]
    r = reeve(FULL, files={"tick.py": TICK}, wrap=wrap)
    r.wait_ready()
    inside = "/proc/%d/root%s" % (r.pid, r.path("small"))
    r.wait_text("No space left on device")
    goes_on(r)
    free = os.statvfs(inside)
    assert free.f_bavail == 0
    table = quick(r, "status")
    assert "f" in table and "g" in table
    before = r.service("g")["pid"]
    quick(r, "restart", "g")
    assert r.service("g")["pid"] != before
    last = progress(r)[0]
    assert re.search(r"^\d{8} x", quick(r, "logs", "-n", "5", "f"), re.M)
    assert int(re.findall(r"^(\d{8}) x", quick(r, "logs", "-n", "1", "f"), re.M)[-1]) >= last - 20, "the tail in memory goes on"
    quick(r, "stop", "g")
    quick(r, "start", "g")
    assert r.stderr.count("cannot write log") <= 4, r.stderr

    os.unlink(inside + "/filler")
    fresh(r, inside + "/f.log", within=4)
    with open(inside + "/f.log") as f:
        assert re.search(r"^reeve: \d+ bytes were lost here: No space left on device$", f.read(), re.M)
    r.wait_text("bytes were lost for log")
    assert progress(r)[1] < STILL, "the service stood still for %d ms" % progress(r)[1]
    assert r.service("f")["restarts"] == 0
    assert r.term() == 0


def test_a_bound_on_the_size_of_files_does_not_kill_reeve(reeve):
    """SIGXFSZ would; and reeve's own stderr has the same bound."""
    r = reeve(FULL.replace("0.002", "0.001"), files={"tick.py": TICK},
              wrap=["prlimit", "--fsize=%d" % (64 * KIB), "--"])
    r.wait_ready()
    r.wait_text("File too large")
    goes_on(r)
    quick(r, "status")
    before = r.service("g")["pid"]
    quick(r, "restart", "g")
    assert r.service("g")["pid"] != before
    assert os.path.getsize(r.path("small", "f.log")) <= 64 * KIB
    os.truncate(r.path("small", "f.log"), 0)
    fresh(r, r.path("small", "f.log"), within=4)
    assert progress(r)[1] < STILL
    assert r.service("f")["restarts"] == 0
    assert r.term() == 0


@pytest.mark.root
def test_a_control_socket_and_a_boot_on_a_full_disk(reeve):
    """The runtime folder is full from the beginning: a boot works, or says what is missing; status and stop work."""
    if not harness.can_unshare():
        pytest.skip("no mount namespace can be made here")
    wrap = ["unshare", "-m", "sh", "-c", 'd="$TMPDIR/full" && mkdir "$d" && mount -t tmpfs -o size=16k none "$d"'
            ' && { head -c 65536 /dev/zero >"$d/filler" 2>/dev/null; exec "$@"; }', "sh"]
    r = reeve("""
services:
  a: {command: [/bin/sh, -c, 'echo hello; echo oops >&2; exec sleep 1000'], log: {file: "${env.TMPDIR}/full/a.log"}}
""", wrap=wrap)
    r.wait_ready()
    harness.until("its words", lambda: "hello" in r.ctl("logs", "a").stdout)
    quick(r, "restart", "a")
    assert r.term() == 0


def test_a_log_on_a_full_device_is_drained(reeve):
    r = reeve("""
services:
  f:
    command: [/usr/bin/python3, tick.py, "0", "2000"]
    working-dir: "${env.TMPDIR}"
    log: {file: /dev/full}
""", files={"tick.py": TICK})
    r.wait_ready()
    harness.until("much to be written", lambda: progress(r)[0] > 500)
    assert r.stderr.count("/dev/full") <= 3, r.stderr
    assert r.service("f")["restarts"] == 0
    assert r.term() == 0
    assert re.search(r"[1-9]\d+ bytes were lost for log /dev/full: No space left on device", r.stderr), r.stderr


def test_the_logs_of_many_are_told_in_parts_that_fit_into_memory(reeve):
    body = "head -c 1200000 /dev/zero | tr '\\0' a | fold -w 99; echo; echo last words; exec sleep 1000"
    r = reeve("services:\n" + "".join('  s%d: {command: [/bin/sh, -c, "%s"]}\n' % (i, body.replace("\\", "\\\\")) for i in range(20)))
    for i in range(20):
        r.wait_text("last words", source="log/s%d.log" % i)
    told = r.ctl("logs", "-n", "all").stdout
    assert told.count("last words") == 20, "the end of each"
    assert len(told) < 12 << 20, "not 20 times the megabyte that one alone may have"
    alone = r.ctl("logs", "-n", "all", "s1").stdout
    assert 1000000 < len(alone)
    assert r.term() == 0


# What has no newline yet is shown to who asks once; who follows gets it when its end has come, and not twice.
def test_a_line_without_its_end_is_followed_once(reeve):
    r = reeve("""
services:
  a: {command: [/bin/sh, -c, 'echo one; printf part; echo >&3; exec sleep 1000'], ready: {fd: 3}}
""")
    r.wait_ready()
    harness.until("the unfinished part", lambda: r.ctl("logs", "a").stdout == "one\npart\n")
    with open(r.path("followed"), "wb") as to:
        p = subprocess.Popen([harness.REEVECTL, "-s", r.socket, "logs", "-f", "a"], stdout=to, env=r.env)
        try:
            harness.until("the first line", lambda: "one\n" in r.read("followed"))
            assert r.ctl("stop", "a").returncode == 0
            assert r.term() == 0
            assert p.wait(timeout=30 * harness.SLACK) == 0
        finally:
            if p.poll() is None:
                p.kill()
    assert r.read("followed") == "one\npart\n"
