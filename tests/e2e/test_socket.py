"""The control socket's file: its mode from the first sight, its end, its recovery (the rest is in test_reevectl.py)."""
import os
import re
import signal
import stat
import subprocess
import threading
import time

import harness
import pytest
from harness import SLACK, until

ONE = "services: {a: {command: [/bin/sleep, '1000']}}\n"


@pytest.mark.parametrize("mask", ["000", "022", "077", "0777"])
@pytest.mark.parametrize("mode", ["0660", "0600", "0666"])
def test_mode_is_as_configured_from_the_first_sight_whatever_the_umask(reeve, tmp_path, mask, mode):
    run = tmp_path / "run"
    run.mkdir()
    path = str(run / "control.sock")
    seen, over = set(), threading.Event()

    def look():
        while not over.is_set():
            try:
                seen.add(stat.S_IMODE(os.stat(path).st_mode))
            except OSError:
                pass

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        r = reeve("reeve: {runtime-dir: %s, control: {mode: \"%s\"}}\n%s" % (run, mode, ONE),
                  wrap=["sh", "-c", 'umask %s && exec "$@"' % mask, "sh"])
        r.socket = path
        r.wait_ready()
        until("a look", lambda: seen)  # however late: what was seen is right at any moment
    finally:
        over.set()
        watcher.join()
    assert seen == {int(mode, 8)}, [oct(m) for m in seen]
    assert r.term() == 0
    assert os.listdir(run) == []


def test_no_temporary_name_is_ever_open_to_others(reeve, tmp_path):
    """All names of the folder count, not only the last one."""
    run = tmp_path / "run"
    run.mkdir()
    wide, over = set(), threading.Event()

    def look():
        while not over.is_set():
            for name in os.listdir(run):
                try:
                    st = os.stat(run / name)
                except OSError:
                    continue
                if stat.S_ISSOCK(st.st_mode) and st.st_mode & 0o007:
                    wide.add((name, oct(st.st_mode)))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(3):
            r = reeve("reeve: {runtime-dir: %s}\n%s" % (run, ONE), wrap=["sh", "-c", 'umask 0 && exec "$@"', "sh"])
            r.socket = str(run / "control.sock")
            r.wait_ready()
            assert r.term() == 0
    finally:
        over.set()
        watcher.join()
    assert not wide


def test_lives_in_a_row_each_killed_come_up_at_once(reeve, tmp_path):
    run = tmp_path / "run"
    for _ in range(5):
        r = reeve("reeve: {runtime-dir: %s}\n%s" % (run, ONE))
        r.socket = str(run / "control.sock")
        r.wait_ready()
        pid = r.service("a")["pid"]
        r.signal(signal.SIGKILL)
        r.wait()
        harness.kill(pid)
        until("the service to be ended", lambda: not harness.alive(pid))
    assert os.path.exists(run / "control.sock")
    r = reeve("reeve: {runtime-dir: %s}\n%s" % (run, ONE))
    r.socket = str(run / "control.sock")
    r.wait_ready()
    assert r.term() == 0
    assert os.listdir(run) == [], "nothing is left, of no life"


def test_a_second_instance_says_who_is_there_and_starts_nothing(reeve):
    r = reeve(ONE)
    r.wait_ready()
    before = os.stat(r.socket)
    second = reeve("reeve: {runtime-dir: %s}\nservices: {b: {command: [/bin/touch, '%s'], type: task}}\n" % (r.run, r.path("started")))
    assert second.wait() not in (0, 1)
    assert r.socket in second.stderr and re.search(r"pid %d" % r.pid, second.stderr), second.stderr
    assert not os.path.exists(r.path("started"))
    after = os.stat(r.socket)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert r.service("a")["state"] == "ready"
    assert r.term() == 0


def test_two_that_start_at_once_do_not_both_win(reeve, tmp_path):
    run = tmp_path / "run"
    text = "reeve: {runtime-dir: %s}\n%s" % (run, ONE)
    both = [reeve(text), reeve(text)]
    until("one to give up", lambda: any(not r.running() for r in both))
    time.sleep(0.3)
    alive = [r for r in both if r.running()]
    assert len(alive) == 1, "\n".join(r.stderr for r in both)
    alive[0].socket = str(run / "control.sock")
    alive[0].wait_ready()
    assert alive[0].term() == 0


def test_a_socket_that_somebody_else_put_there_is_not_removed_at_the_end(reeve):
    r = reeve(ONE)
    r.wait_ready()
    os.rename(r.socket, r.path("aside"))
    with open(r.socket, "w") as f:
        f.write("not ours")
    assert r.term() == 0
    with open(r.socket) as f:
        assert f.read() == "not ours"


@pytest.mark.parametrize("what", ["socket", "folder"])
def test_hup_brings_back_what_was_removed(reeve, tmp_path, what):
    run = tmp_path / "a" / "run"
    r = reeve("reeve: {runtime-dir: %s}\n%s" % (run, ONE))
    r.socket = str(run / "control.sock")
    r.wait_ready()
    pid = r.service("a")["pid"]
    os.unlink(r.socket)
    if what == "folder":
        os.rmdir(run)
    got = r.ctl("status")
    assert got.returncode == 7 and "not running" in got.stderr
    r.signal(signal.SIGHUP)
    until("the socket", lambda: r.ctl("status").returncode == 0)
    assert stat.S_IMODE(os.stat(r.socket).st_mode) == 0o660
    assert "SIGHUP: ignored" not in r.stderr and "reloaded: " in r.stderr
    assert r.service("a")["pid"] == pid
    assert r.term() == 0


def test_a_runtime_folder_that_is_a_file_is_named(reeve, tmp_path):
    (tmp_path / "run").write_text("")
    r = reeve("reeve: {runtime-dir: %s}\n%s" % (tmp_path / "run", ONE))
    assert r.wait() not in (0, 1) and str(tmp_path / "run") in r.stderr, r.stderr


def test_a_path_that_is_too_long_for_a_socket_is_told(reeve, tmp_path):
    deep = tmp_path / ("d" * 120)
    r = reeve("reeve: {runtime-dir: %s}\n%s" % (deep, ONE))
    assert r.wait() not in (0, 1)
    assert "long" in r.stderr and "control.sock" in r.stderr, r.stderr


def test_reevectl_against_what_is_no_socket_is_7_without_a_raw_error(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for name in ("file", "folder", "nothing", "x" * 200):
        began = time.monotonic()
        got = subprocess.run([harness.REEVECTL, "-s", str(tmp_path / name), "status"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=20 * SLACK)
        assert got.returncode == 7 and name[:50] in got.stderr, (name, got)
        assert time.monotonic() - began < 6 * SLACK
