"""`reeve check` with the real Jupyter, the real uvicorn and the sample's application: each thing that an image can lack
(R-118, R-119, R-120)."""
import os
import re
import subprocess

import harness
import pytest
from sandbox import NODE, SANDBOX

PYTHON = "/usr/bin/python3"


@pytest.fixture
def check(tmp_path):
    """check(text, **environment): `reeve check` of the sample, with one more file on top of it."""
    home = tmp_path / "home"
    home.mkdir()

    def run(text="services: {}", wrap=(), path="/usr/bin:/bin", **env):
        (tmp_path / "more.yaml").write_text(text)
        env = dict(os.environ, SANDBOX_DIR=SANDBOX, SANDBOX_MODULES=os.path.join(SANDBOX, "node_modules"), SANDBOX_NODE=NODE,
                   SANDBOX_RUN=str(tmp_path / "run"), SANDBOX_LOG=str(tmp_path / "log"), SANDBOX_HOME=str(home), PATH=path,
                   HOME=str(home), PYTHONDONTWRITEBYTECODE="1", **env)
        return subprocess.run([*wrap, harness.REEVE, "check", "-c", os.path.join(SANDBOX, "reeve.yaml"), "-c", str(tmp_path / "more.yaml"),
                               "--plugin-dir", harness.PLUGINS], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              cwd=tmp_path, env=env, timeout=80 * harness.SLACK)

    run.home = home
    return run


def hide(folder, module):
    """A folder for PYTHONPATH in which a module is as if it were not installed."""
    (folder / module).mkdir(parents=True)
    (folder / module / "__init__.py").write_text("raise ModuleNotFoundError('No module named %r' % __name__, name=__name__)\n")
    return folder


def refused(got, *words):
    assert got.returncode == 78, got.stdout + got.stderr
    for word in words:
        assert word in got.stderr, (word, got.stderr)


def venv(folder, *args):
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", *args, str(folder)], check=True, stdin=subprocess.DEVNULL,
                   timeout=60 * harness.SLACK)
    return folder / "bin"


def test_the_sample_sandbox_passes_and_leaves_nothing(check, tmp_path):
    before = sorted(tmp_path.iterdir())
    got = check()
    assert (got.returncode, got.stderr) == (0, ""), got.stderr
    assert got.stdout == """4 services, no mistakes
envd: port 49983 is bound by envd itself
jupyter: port 8888 is bound by jupyter itself
interpreter: 0.0.0.0:49999 is bound from the boot on, and open when interpreter listens
mcp-gateway: port 50005 is bound by mcp-gateway itself
"""
    assert sorted(os.listdir(check.home)) == []
    assert [p for p in tmp_path.iterdir() if p not in before and p.name != "more.yaml"] == []


def test_a_dependency_that_only_the_application_uses_is_missed(check, tmp_path):
    got = check("services: {interpreter: {environment: {PYTHONPATH: %s}}}" % hide(tmp_path / "lib", "httpx"))
    refused(got, "service interpreter: plugin interpreter: cannot import server:app", "under /usr/bin/python3", "No module named 'httpx'")
    assert "jupyter" not in got.stderr.replace("jupyter_", "")


def test_the_modules_that_services_are_built_on_are_missed_in_one_run(check, tmp_path):
    lib = tmp_path / "lib"
    for module in ("uvicorn", "jupyter_server", "ipykernel"):
        hide(lib, module)
    refused(check("services: {interpreter: {environment: {PYTHONPATH: %s}}, jupyter: {environment: {PYTHONPATH: %s}}}" % (lib, lib)),
            "plugin interpreter: cannot import uvicorn under /usr/bin/python3: ModuleNotFoundError: No module named 'uvicorn'",
            "plugin jupyter: cannot import jupyter_server under /usr/bin/python3, which runs /usr/bin/jupyter",
            "plugin jupyter: kernelspec python3 in ", "cannot start: cannot import ipykernel under /usr/bin/python3")


@pytest.mark.root
def test_a_missing_kernelspec_is_an_error(check, tmp_path):
    cover = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /usr/share/jupyter/kernels && exec \"$@\"", "sh"]
    if subprocess.run([*cover, "true"], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    # Jupyter would still know the kernel that it brings along, but for its module.
    text = "services: {jupyter: {environment: {PYTHONPATH: %s}}}" % hide(tmp_path / "lib", "ipykernel")
    refused(check(text, wrap=cover), "service jupyter: plugin jupyter: there is no kernelspec: install ipykernel for /usr/bin/python3")
    got = check(wrap=cover)
    assert got.returncode == 0, got.stderr


def test_a_kernel_whose_python_is_not_there_is_told(check):
    def kernel(name):
        folder = check.home / ".local" / "share" / "jupyter" / "kernels" / name
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text('{"argv": ["/nonexistent/python", "-m", "ipykernel_launcher"], "display_name": "x", "language": "python"}')

    kernel("other")
    got = check()
    assert got.returncode == 0 and "warning: service jupyter: plugin jupyter: kernelspec other in " in got.stderr, got.stderr
    kernel("python3")
    refused(check(), "kernelspec python3 in ", "cannot start: cannot execute /nonexistent/python")


def test_a_kernel_that_contexts_wants_and_that_is_not_there_is_an_error(check):
    text = "services: {jupyter: {options: {contexts: [{name: one}, {name: two, kernel: %s}]}}}"
    refused(check(text % "nosuchkernel"),
            "plugin jupyter: option contexts wants the kernel nosuchkernel, which is not among the kernelspecs: python3")
    got = check(text % "python3")
    assert got.returncode == 0 and "contexts" not in got.stderr, got.stderr


def test_a_second_python_first_in_path_is_reported(check, tmp_path):
    other = venv(tmp_path / "venv", "--system-site-packages")
    path = "%s:/usr/bin:/bin" % other
    got = check(path=path)
    assert got.returncode == 0 and "warning: service jupyter: plugin jupyter: python3 first in PATH is %s/python3" % other in got.stderr, got.stderr
    refused(check("services: {interpreter: {options: {python: python3}}}", path=path),
            "service interpreter: plugin interpreter: it runs under %s/python3 (environment %s)" % (other, tmp_path / "venv"),
            "and /usr/bin/jupyter of service jupyter under /usr/bin/python3 (environment /usr); PATH chose one of them")


def test_a_jupyter_that_leaves_its_python_to_path_is_looked_at_under_that_one(check, tmp_path):
    other = venv(tmp_path / "venv")
    (tmp_path / "jupyter").write_text("#!/usr/bin/env python3\n" + open("/usr/bin/jupyter").read().split("\n", 1)[1])
    (tmp_path / "jupyter").chmod(0o755)
    text = "services: {jupyter: {options: {bin: %s/jupyter}}}" % tmp_path
    assert check(text).returncode == 0
    refused(check(text, path="%s:/usr/bin:/bin" % other), "cannot import jupyter_server under %s/python3" % other, "PATH chose this python")


def test_parts_that_were_not_copied_into_the_image_are_missed(check):
    text = open(os.path.join(SANDBOX, "reeve.yaml")).read()
    for name in ("SANDBOX_MODULES", "SANDBOX_DIR"):
        text = re.sub(r"\$\{env\.%s:-[^}]*\}" % name, "/nonexistent", text)
    text = text.replace("root-dir: ${env.SANDBOX_HOME:-/home/user}", "root-dir: /nonexistent/home")
    refused(check(text), "cannot read /nonexistent/mcp-proxy/dist/bin/mcp-proxy.mjs", "cannot read /nonexistent/@modelcontextprotocol",
            "service envd: cannot execute /nonexistent/envd-standin", "cannot import server:app of /nonexistent/interpreter",
            "root-dir /nonexistent/home is no folder")
