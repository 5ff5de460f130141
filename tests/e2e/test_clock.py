"""Only the monotonic clock counts: the wall clock may jump at any moment."""
import mmap
import os
import shutil
import struct
import subprocess
import threading
import time

import pytest

from harness import SLACK, until

# Shifts the wall clock of whoever loads it by what stands in a file.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shared; /* seconds to add, then how often reeve itself asked */
static int64_t none[2];

static int64_t shift(void)
{
	if (!shared) {
		const char *path = getenv("SHIFT_FILE");
		int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
		void *p = fd < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		shared = p == MAP_FAILED ? none : p;
		if (fd >= 0)
			close(fd);
	}
	if (!strcmp(program_invocation_short_name, "reeve"))
		__atomic_add_fetch(&shared[1], 1, __ATOMIC_RELAXED);
	return shared[0];
}

static long raw(long n, long a, long b)
{
	static long (*next)(long, ...);
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return next(n, a, b);
}

int clock_gettime(clockid_t which, struct timespec *t)
{
	int status = (int)raw(SYS_clock_gettime, which, (long)t);
	if (!status && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
		t->tv_sec += shift();
	return status;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec t;
	(void)tz;
	clock_gettime(CLOCK_REALTIME, &t);
	tv->tv_sec = t.tv_sec;
	tv->tv_usec = t.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *to)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	if (to)
		*to = t.tv_sec;
	return t.tv_sec;
}
"""

HOUR, DAY, YEAR = 3600, 86400, 31557600


class Wall:
    """The wall clock of one reeve and of what it starts."""

    def __init__(self, folder):
        if not shutil.which("cc"):
            pytest.skip("no C compiler (cc) to make the clock's shim")
        self.shim, self.file = os.path.join(folder, "shim.so"), os.path.join(folder, "shift")
        source = os.path.join(folder, "shim.c")
        with open(source, "w") as f:
            f.write(SHIM)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.shim, source, "-ldl"], check=True)
        with open(self.file, "wb") as f:
            f.write(bytes(16))
        with open(self.file, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 16)
        # in a build with sanitizers their library is not the first one then, which it would refuse
        self.env = {"LD_PRELOAD": self.shim, "SHIFT_FILE": self.file, "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}

    def move(self, seconds):
        at = struct.unpack("q", self.map[0:8])[0]
        self.map[0:8] = struct.pack("q", at + seconds)

    @property
    def asked(self):
        return struct.unpack("q", self.map[8:16])[0]


@pytest.fixture
def wall(tmp_path):
    return Wall(str(tmp_path))


# b may give up before c is ready, and that is no matter here.
GRAPH = """
reeve: {on-boot-failure: continue}
services:
  a: {command: [/bin/sh, -c, 'trap "" TERM; while :; do sleep 1; done'], stop: {signal: TERM, timeout: 700ms}}
  b:
    command: [/bin/sh, -c, 'cut -d" " -f1 /proc/uptime >> starts; sleep 0.1; exit 1']
    working-dir: "${env.TMPDIR}"
    restart: {on: failure, delay: 400ms, factor: 1, limit: 2}
  c:
    command: [/bin/sh, -c, 'sleep 1; touch flag; exec sleep 1000']
    working-dir: "${env.TMPDIR}"
    ready: {exec: [/usr/bin/test, -e, flag], timeout: 20s}
  d: {command: [/bin/sleep, "1000"]}
"""


@pytest.mark.parametrize("jump", [10 * YEAR, -DAY, "storm"])
def test_no_interval_follows_the_wall_clock(reeve, wall, jump):
    over = threading.Event()

    def move():
        if jump != "storm":
            wall.move(jump)
            return
        for i in range(50):
            wall.move(DAY if i % 2 else -3 * HOUR)

    def unrest():  # not only at one moment: all along
        while not over.wait(0.1):
            move()

    t = time.monotonic()
    r = reeve(GRAPH, env=wall.env)
    mover = threading.Thread(target=unrest)
    mover.start()
    try:
        r.wait_state("c", "ready", timeout=20)
        assert 0.9 <= time.monotonic() - t < 15 * SLACK, "ready when it is, not when the clock says so"
        up = time.monotonic()
        r.wait_state("b", "failed", timeout=30)
        s = r.services()
        starts = [float(x) for x in r.read("starts").split()]
        assert len(starts) == 3
        gaps = [y - x for x, y in zip(starts, starts[1:])]
        assert all(0.38 <= g < 15 * SLACK for g in gaps), gaps
        assert s["d"]["restarts"] == s["c"]["restarts"] == 0 and s["d"]["state"] == "ready"
        shown = s["d"].get("uptime_ms", s["d"].get("uptime"))
        if shown is not None:
            seconds = shown / 1000 if "uptime_ms" in s["d"] else shown
            assert abs(seconds - (time.monotonic() - t)) < 15 * SLACK, (shown, time.monotonic() - up)
        t = time.monotonic()
        assert r.ctl("stop", "a").returncode == 0
        assert 0.6 <= time.monotonic() - t < 15 * SLACK, "a deaf one is killed after its timeout"
        t = time.monotonic()
        assert r.ctl("status").returncode == 0
        assert time.monotonic() - t < 15 * SLACK
        assert r.term() == 0
    finally:
        over.set()
        mover.join()
    assert wall.asked > 0, "the shim was never asked: this test shows nothing"


def test_a_jump_of_the_wall_clock_wakes_nobody_up(reeve, wall):
    r = reeve("services: {a: {command: [/bin/sleep, '1000']}}", env=wall.env)
    r.wait_ready()
    before = r.service("a")
    for step in (HOUR, -DAY, 10 * YEAR, -20 * YEAR):
        wall.move(step)
        now = r.service("a")
        assert (now["pid"], now["restarts"], now["state"]) == (before["pid"], 0, "ready")
    until("an answer", lambda: r.ctl("status").stdout.count("ready") == 1)
    assert "-" not in r.ctl("status").stdout.splitlines()[1].split()[3], "no negative uptime"
    assert r.term() == 0
