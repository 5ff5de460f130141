#!/usr/bin/python3
"""How long from a kill -9 to the first instruction of the next life: by reeve, and by a bare loop around vfork and exec.

    restart.py [KILLS [SERVICES [PAUSE]]]        (./dev bench restart)

KILLS of each kind (200), SERVICES that each of the two keeps alive (100), PAUSE in milliseconds between kills (15: the
machine has fallen asleep by then, as it has in a sandbox; 1 shows how it is on a busy one). Both live side by side and the same
program kills one of theirs in turn, so what the machine does at that moment strikes both alike. The bare loop (loop.c) does
nothing but what the kernel needs; the ratio to it is what reeve costs."""
import mmap
import os
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
build = os.environ.get("RV_BUILD", os.path.join(os.path.dirname(os.path.dirname(here)), "build"))
stamp = os.path.join(build, "tests", "bench", "stamp")
SLOT = struct.Struct("<QQ")


class Side:
    def __init__(self, name, folder, services):
        self.name, self.services, self.took = name, services, []
        self.table = os.path.join(folder, name + ".table")
        with open(self.table, "wb") as f:
            f.truncate(SLOT.size * services)
        with open(self.table, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 0)
        self.process = subprocess.Popen(self.argv(folder), stderr=open(os.path.join(folder, name + ".err"), "wb"))

    def slot(self, i):
        return SLOT.unpack_from(self.map, i * SLOT.size)

    def wait_all(self):
        end = time.monotonic() + 20
        while not all(self.slot(i)[1] for i in range(self.services)):
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit("%s did not start its services" % self.name)
            time.sleep(0.01)
        time.sleep(1.3)  # a life that was too short may be held back
        self.cpu = self.cpu_now()

    def cpu_now(self):
        with open("/proc/%d/schedstat" % self.process.pid) as f:
            return int(f.read().split()[0])

    def kill_one(self, i):
        old = self.slot(i)[1]
        end = time.monotonic() + 10
        began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        os.kill(old, signal.SIGKILL)
        while self.slot(i)[1] == old:
            if time.monotonic() > end:
                sys.exit("%s did not start %d anew" % (self.name, i))
            time.sleep(0.0005)
        self.took.append((self.slot(i)[0] - began) / 1e3)

    def report(self):
        took = sorted(self.took)
        print("%-6s median %.0f us (10%% %.0f, 90%% %.0f), its own CPU %.0f us each" % (
            self.name, statistics.median(took), took[len(took) // 10], took[len(took) * 9 // 10],
            (self.cpu_now() - self.cpu) / 1e3 / len(took)))
        return statistics.median(took)


class Reeve(Side):
    def argv(self, folder):
        text = "version: 1\nreeve: {runtime-dir: %s/run, log: {dir: %s}}\nservices:\n" % (folder, folder)
        for i in range(self.services):
            text += "  s%d: {command: [%s, %s, '%d', '3'], ready: {fd: 3}, log: null," % (i, stamp, self.table, i)
            text += " restart: {on: always, delay: 0s, limit: 0}}\n"
        path = os.path.join(folder, "reeve.yaml")
        with open(path, "w") as f:
            f.write(text)
        return [os.path.join(build, "reeve"), "--plugin-dir", os.path.join(build, "plugins"), "-c", path]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


class Loop(Side):
    def argv(self, folder):
        return [os.path.join(build, "tests", "bench", "loop"), stamp, self.table, str(self.services)]

    def end(self):
        self.process.send_signal(signal.SIGSTOP)  # else it starts what is killed anew
        for i in range(self.services):
            os.kill(self.slot(i)[1], signal.SIGKILL)
        self.process.kill()
        self.process.wait()


def main():
    kills, services, pause = (int(n) for n in sys.argv[1:] + ["200", "100", "15"][len(sys.argv) - 1:])
    # The stamps are written to memory, not to a disk.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        sides = [Loop("loop", folder, services), Reeve("reeve", folder, services)]
        for side in sides:
            side.wait_all()
        for k in range(kills):
            for side in sides:
                side.kill_one(k % services)
                time.sleep(pause / 1e3)
        floor, ours = (side.report() for side in sides)
        print("ratio  %.2f" % (ours / floor))
        for side in sides:
            side.end()


main()
