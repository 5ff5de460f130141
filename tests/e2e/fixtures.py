"""Fixtures of the end-to-end tests: see harness.py for what a started reeve can do."""
import http.server
import os
import signal
import subprocess
import threading

import pytest

import harness

BOUND = 90  # seconds for one test, fixtures included


def pytest_configure(config):
    config.addinivalue_line("markers", "bound(seconds): the most time that this test may take")
    config.addinivalue_line("markers", "pid1: needs a process namespace of its own (skipped where it cannot be made)")
    config.addinivalue_line("markers", "root: needs root (skipped otherwise)")
    # A shell without job control starts what is in its background with INT ignored, and our children would inherit that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """No test hangs the suite: an alarm raises in the middle of it."""
    mark = item.get_closest_marker("bound")
    seconds = (mark.args[0] if mark else BOUND) * harness.SLACK

    def ring(_sig, _frame):
        raise harness.Late("the test took more than %d s" % seconds)

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


@pytest.fixture(scope="session")
def can_unshare():
    return harness.can_unshare()


@pytest.fixture(autouse=True)
def skip_what_cannot_run(request):
    if request.node.get_closest_marker("root") and os.getuid() != 0:
        pytest.skip("needs root")
    if request.node.get_closest_marker("pid1") and not request.getfixturevalue("can_unshare"):
        pytest.skip("no process namespace can be made here (unshare -p -f --mount-proc)")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    setattr(item, "report_" + call.when, outcome.get_result())


@pytest.fixture
def reeve(request):
    """reeve(text, ...) starts one (see harness.Reeve); all are ended, and what they left behind fails the test."""
    made = []

    def start(text=None, **more):
        r = harness.Reeve(text, **more)
        made.append(r)
        return r

    yield start
    failed = getattr(request.node, "report_call", None) is not None and request.node.report_call.failed
    trouble, stories = [], []
    for r in reversed(made):
        story = r.story()
        found = r.close()
        trouble += found
        if failed or found:
            stories.append(r.story() or story)
    if failed and stories:
        request.node.add_report_section("teardown", "reeve", "\n".join(stories))
    for r in made:
        if not (failed and os.environ.get("RV_KEEP")):
            r.remove()
    assert not trouble, "\n".join(trouble + stories)


@pytest.fixture
def once(tmp_path):
    """once(*args, ...) runs a reeve that is to end by itself, and returns the finished process."""

    def run(*args, env=None, timeout=30.0, cwd=None):
        return subprocess.run([harness.REEVE, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=timeout * harness.SLACK, cwd=cwd or str(tmp_path),
                              env=dict(os.environ, **(env or {})))

    return run


@pytest.fixture
def fake():
    """fake(answer) is the URL of a server in this process. answer(method, path, headers, body) returns (status, body), or
    asserts: what it raises there fails the test, however the request was answered."""
    raised, servers = [], []

    def start(answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            def handle_one(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                try:
                    status, text = answer(self.command, self.path, dict(self.headers), body)
                except BaseException as e:
                    raised.append(e)
                    status, text = 500, b""
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_DELETE = do_HEAD = do_PUT = handle_one

            def log_message(self, *_args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        servers.append(server)
        return "http://127.0.0.1:%d" % server.server_address[1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
    if raised:
        raise raised[0]


@pytest.fixture
def free_port():
    return harness.free_port
