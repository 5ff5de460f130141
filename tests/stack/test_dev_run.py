"""What a newcomer types: `./dev run`, and in a second terminal the command that it prints."""
import os
import re
import signal
import subprocess
import tempfile

import harness
import pytest
from sandbox import BUDGETS, PORTS, SERVICES, listening

pytestmark = [pytest.mark.bound(150), pytest.mark.skipif(
    os.path.realpath(harness.BUILD) != os.path.join(os.path.realpath(harness.SRC), "build"),
    reason="./dev run uses build/, and this is a test of another build")]


def test_dev_run_boots_prints_the_command_for_a_second_terminal_and_ends_on_ctrl_c(tmp_path):
    budgets = tmp_path / "budgets.yaml"
    budgets.write_text(BUDGETS)
    with tempfile.TemporaryFile("w+") as out:
        proc = subprocess.Popen([os.path.join(harness.SRC, "dev"), "run", "-c", str(budgets)], stdin=subprocess.DEVNULL,
                                stdout=out, stderr=out, start_new_session=True)

        def text():
            out.seek(0)
            return out.read()

        def told():
            return re.search(r"^ +(/\S+/reevectl -s \S+ status)$", text(), re.M)

        try:
            command = harness.until(lambda: "the command\n" + text(), told, 60).group(1)

            def up():
                got = subprocess.run(command.split(), capture_output=True, text=True, timeout=20 * harness.SLACK)
                rows = [line.split() for line in got.stdout.splitlines()[1:]]
                return sorted(row[0] for row in rows if row[1] == "ready") == SERVICES

            harness.until(lambda: "all four\n" + text(), up, 60, every=0.2)
            for name in SERVICES:
                assert re.search(r"\b%s\b.*\bready\b" % name, text()), "no readable line for %s\n%s" % (name, text())
        finally:
            os.killpg(proc.pid, signal.SIGINT)  # as a terminal does it: to the whole group
            status = proc.wait(40 * harness.SLACK)
        assert status == 0, text()
        assert not any(listening(port) for port in PORTS.values())
