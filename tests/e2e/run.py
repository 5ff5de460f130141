#!/usr/bin/python3
"""Runs pytest on this folder (or on the paths given) and prints TAP: a plan, a line a case, the reason of each skip."""
import os
import sys

sys.dont_write_bytecode = True
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"

try:
    import pytest
except ImportError:
    print("1..0 # SKIP pytest is missing (Debian: python3-pytest)")
    sys.exit(0)


def one_line(text):
    return " ".join(str(text).split()).replace("#", "")


class Tap:
    """Turns pytest's reports into TAP as they come."""

    def __init__(self, out, third):
        self.out = out
        self.third = third
        self.cases = {}
        self.done = set()
        self.count = 0
        self.broken = []

    def say(self, line):
        self.out.write(line + "\n")
        self.out.flush()

    def pytest_collectreport(self, report):
        if report.failed:
            self.broken.append(report)

    def pytest_collection_modifyitems(self, items):
        """Keeps every third file of the folder, where a third is asked for; a file stays whole."""
        if self.third is None:
            return
        files = sorted({str(item.fspath) for item in items})
        items[:] = [item for item in items if files.index(str(item.fspath)) % 3 == self.third]

    def pytest_collection_finish(self, session):
        self.say("1..%d" % (len(session.items) + len(self.broken)))
        for report in self.broken:
            self.count += 1
            self.say("not ok %d - %s cannot be read" % (self.count, report.nodeid))
            self.explain(report)

    def explain(self, report):
        text = [report.longreprtext] + ["[%s]\n%s" % section for section in report.sections]
        for line in "\n".join(text).splitlines():
            self.say("# " + line)

    def pytest_runtest_logreport(self, report):
        case = self.cases.setdefault(report.nodeid, [])
        case.append(report)
        if report.when == "teardown":
            self.verdict(report.nodeid, case)

    def verdict(self, nodeid, reports):
        self.count += 1
        name = one_line(nodeid.split("::", 1)[-1])
        bad = [r for r in reports if r.failed]
        skip = [r for r in reports if r.skipped]
        seconds = sum(r.duration for r in reports)
        if bad:
            self.say("not ok %d - %s" % (self.count, name))
            for report in bad:
                self.explain(report)
        elif skip:
            reason = skip[0].longrepr[2] if isinstance(skip[0].longrepr, tuple) else skip[0].longrepr
            reason = one_line(reason)
            self.say("ok %d - %s # SKIP %s" % (self.count, name, reason.removeprefix("Skipped: ")))
        else:
            self.say("ok %d - %s (%.1f s)" % (self.count, name, seconds))
        for _, value in filter(lambda p: p[0] == "measured", reports[-1].user_properties):
            self.say("# measured: " + one_line(value))


def main(args, third=None):
    """third: 0, 1 or 2, so that three programs side by side run all that there is."""
    here = os.path.dirname(os.path.abspath(__file__))
    # TAP has standard output for itself: pytest's own report would be mixed into it.
    tap = Tap(os.fdopen(os.dup(1), "w"), third)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    wanted = args or [here]
    status = pytest.main(["-p", "no:cacheprovider", "--rootdir", here, "-c", os.devnull,
                          "--confcutdir", os.path.dirname(here), *wanted], plugins=[tap])
    if tap.count == 0 and status == pytest.ExitCode.NO_TESTS_COLLECTED:
        return 0
    return 0 if status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) else int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
