"""Jupyter's kernels bind to ports that the kernel of the machine chooses, and one of those may be the port that another
service is to have (R-02): seen to happen where the port is not declared, and not where it is."""
import subprocess

import harness
import pytest

PORT = 49999

# A bind to port 0 gets a port at an odd distance from the first one, as long as there are any; connections get the others.
# crowd.py leaves as many as are wanted, the declared one among them; two kernels bind five each.
FIRST, LAST = 49900, 49999
CROWD = """
import os, socket, sys, time
mine = []
for port in range(%d, %d - 2 * int(sys.argv[1]), 2):
    mine.append(socket.socket())
    mine[-1].bind(("127.0.0.1", port))
    mine[-1].listen()
os.write(int(os.environ["READY_FD"]), b"\\n")
time.sleep(1000)
""" % (FIRST + 1, LAST + 2)

# kernels.py: two kernels, which listen
KERNELS = """
import glob, json, os, time, urllib.request
for _ in range(2):
    urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:8888/api/kernels", b"{}"), timeout=60).close()
wanted = set()
for name in glob.glob(os.environ["HOME"] + "/.local/share/jupyter/runtime/kernel-*.json"):
    with open(name) as f:
        wanted |= {port for key, port in json.load(f).items() if key.endswith("_port")}
assert len(wanted) == 10, wanted
while True:
    with open("/proc/net/tcp") as f:
        rows = [line.split() for line in f][1:]
    if wanted <= {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A"}:
        break
    time.sleep(0.05)
"""

# late.py: what cannot take a listener, and binds its port when the kernels are there
LATE = """
import os, socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", %d))
s.listen()
os.write(int(os.environ["READY_FD"]), b"\\n")
time.sleep(1000)
""" % PORT

GRAPH = """
reeve: {boot-timeout: 4m, platform-window: 0}
services:
  crowd:
    command: [/usr/bin/python3, crowd.py, "%d"]
    working-dir: "${env.TMPDIR}"
    environment: {READY_FD: "${ready.fd}"}
    ready: {fd: auto}
  jupyter:
    plugin: jupyter
    needs: [crowd]
    working-dir: "${env.TMPDIR}"
    options: {bin: /usr/bin/jupyter, port: 8888, root-dir: "${env.TMPDIR}"}
    ready: {timeout: 80s}
    stop: {steps: [{signal: TERM, timeout: 4s}, {signal: TERM, timeout: 1s}]}
  kernels: {command: [/usr/bin/python3, kernels.py], working-dir: "${env.TMPDIR}", type: task, needs: [jupyter], ready: {timeout: 100s}}
  late:
    command: [/usr/bin/python3, late.py]
    working-dir: "${env.TMPDIR}"
    needs: [kernels]
    environment: {READY_FD: "${ready.fd}"}
    ready: {fd: auto}
%s
"""

NETWORK = ("unshare", "-n", "sh", "-c", 'ip link set lo up && echo %s > /proc/sys/net/ipv4/ip_local_port_range || exit 77; '
           '"$0" "$@"; status=$?; cat /proc/sys/net/ipv4/ip_local_reserved_ports > reserved; exit $status' % ("%d %d" % (FIRST, LAST)))


@pytest.fixture(scope="module", autouse=True)
def network():
    got = subprocess.run([*NETWORK, "true"], cwd="/tmp", stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    if got.returncode == 77:
        pytest.skip("no network namespace with a port range of its own can be made here")


def boot(reeve, left, more, wrap=()):
    return reeve(GRAPH % (left, more), files={"crowd.py": CROWD, "kernels.py": KERNELS, "late.py": LATE}, wrap=(*NETWORK, *wrap))


def test_a_port_that_nobody_declared_is_taken_by_a_kernel(reeve):
    r = boot(reeve, 10, "")
    assert r.wait(90) == 10, r.story()
    assert "Address already in use" in r.log("late"), r.story()


READ_ONLY = ("unshare", "-m", "sh", "-c", 'mount -o bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys; exec "$0" "$@"')


@pytest.mark.parametrize("wrap", [(), READ_ONLY], ids=["reserved", "held"])
def test_a_declared_port_is_left_by_the_kernels(reeve, wrap):
    r = boot(reeve, 11, "    ports: [%d]" % PORT, wrap)  # ten, and the one that is not theirs
    r.wait_ready(90)
    assert r.service("late")["state"] == "ready"
    kernels = [pid for pid in r.leftovers() if "ipykernel" in harness.cmdline(pid)]
    assert len(kernels) == 2
    assert r.ctl("shutdown").returncode == 0
    assert r.wait(30) == 0
    assert r.read("reserved").strip() == ""
