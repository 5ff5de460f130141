"""Who services run as, and with what limits. The user database is one of the test's own, in a mount
namespace, so that no system gets users."""
import os
import resource
import shutil
import signal
import stat
import subprocess

import pytest

from harness import until

WHO = """{ id -u; id -g; id -G | tr ' ' '\\n' | sort -n | tr '\\n' ' '; echo; echo "$HOME|$USER|$LOGNAME|$SHELL"; ulimit -n; ulimit -c; pwd; } > "$1.part"
mv "$1.part" "$1"
exec sleep 1000
"""
PASSWD = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\nu:x:4711:4711::/home/u:/bin/dash\n"
GROUP = "root:x:0:\nnogroup:x:65534:\nu:x:4711:\nextra:x:4800:u\nother:x:4801:\n"

# the rest of the command line is run with our own database of users and groups
OWN_USERS = ("unshare", "-m", "/bin/sh", "-c",
             'mount --make-rprivate / && mount --bind passwd /etc/passwd && mount --bind group /etc/group || exit 77; '
             'chmod 1777 .; ulimit -Sn 1000; ulimit -Sc 0; exec "$0" "$@"')


def who(r, name):
    lines = until("the words of " + name, lambda: r.read(name).splitlines())
    return {"uid": lines[0], "gid": lines[1], "groups": lines[2].split(), "names": lines[3], "nofile": lines[4], "cwd": lines[6]}


def service(name, more):
    return "  %s: {command: [/bin/sh, who.sh, %s], working-dir: \"${env.TMPDIR}\", restart: {on: never}%s}\n" % (name, name, more)


@pytest.fixture
def started(reeve):
    def start(text, wrap=OWN_USERS):
        r = reeve(text, files={"who.sh": WHO, "passwd": PASSWD, "group": GROUP, "private/x": ""}, wrap=wrap)

        def begun():
            return r.proc.poll() is not None or os.path.exists(r.socket)
        until("a start or an end", begun)
        if r.proc.poll() == 77:
            pytest.skip("no mount namespace can be made here (unshare -m, mount --bind)")
        return r
    return start


@pytest.mark.root
def test_a_service_gets_the_user_groups_home_and_limits_that_it_is_given(started):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < 1001:
        pytest.skip("the hard limit of descriptors is below 1001")
    r = started("services:\n" + service("a", ", user: u") + service("b", ", user: '4711'") + service("c", ", user: '4712'") +
                service("d", ", user: u, group: extra") + service("f", ", user: u, environment: {HOME: /of/the/file}") +
                service("g", ", user: u, limits: {nofile: 512}") + service("j", ", user: u, groups: [other]") + service("k", ""))
    r.wait_ready()
    for name in ("a", "b"):
        w = who(r, name)
        assert (w["uid"], w["gid"], w["groups"]) == ("4711", "4711", ["4711", "4800"])
        assert w["names"] == "/home/u|u|u|/bin/dash"
        assert w["nofile"] == "1000", "what reeve was started with, not what it gave itself"
    w = who(r, "c")
    assert (w["uid"], w["gid"], w["groups"]) == ("4712", "4712", ["4712"]), "no foreign groups, and not group 0"
    assert not w["names"].split("|")[1] or w["names"].split("|")[1] != "u"
    w = who(r, "d")
    assert (w["uid"], w["gid"]) == ("4711", "4800") and "0" not in w["groups"]
    assert who(r, "f")["names"] == "/of/the/file|u|u|/bin/dash"
    assert who(r, "g")["nofile"] == "512"
    w = who(r, "j")
    assert sorted(w["groups"]) == ["4711", "4801"], "the groups that were given and no others"
    assert who(r, "k")["uid"] == "0" and who(r, "k")["nofile"] == "1000"
    assert all(who(r, n)["cwd"] == r.dir for n in "abcdfgjk")
    for name in ("a", "c", "d"):
        assert os.stat(r.path("log", name + ".log")).st_mode & stat.S_IWOTH == 0
    assert r.term() == 0


@pytest.mark.root
def test_an_unknown_user_is_refused_at_load_by_its_name(started):
    r = started("services:\n" + service("a", "") + service("e", ", user: nosuch"))
    assert r.wait() == 78
    assert "nosuch" in r.stderr and "reeve.yaml:3:" in r.stderr
    assert not os.path.exists(r.path("a")), "nothing was started"


@pytest.mark.root
def test_a_limit_above_the_hard_one_is_a_failed_start_and_no_start_without_it(started):
    wrap = OWN_USERS[:-1] + (OWN_USERS[-1].replace("ulimit -Sn 1000", "ulimit -Sn 1000; ulimit -Hn 2000"),)
    r = started("reeve: {on-boot-failure: continue}\nservices:\n" + service("a", ", user: u") +
                service("h", ", user: u, limits: {nofile: {soft: 512, hard: 1000000}}"), wrap=wrap + ())
    s = r.wait_state("h", "failed", "ready")
    if s["state"] == "ready":  # with CAP_SYS_RESOURCE we are allowed to: configured limits are set while privileged
        assert who(r, "h")["nofile"] == "512"
    else:
        assert "nofile" in s["detail"], s
        assert not os.path.exists(r.path("h"))
    assert r.term() == 0


# limits that nobody may have: the kernel's own ceiling is in force for root, too
@pytest.mark.root
def test_a_limit_that_the_kernel_refuses_is_named(started):
    r = started("reeve: {on-boot-failure: continue}\nservices:\n" + service("a", "") +
                service("h", ", limits: {nofile: {soft: 2000000000, hard: 2000000000}}"))
    s = r.wait_state("h", "failed")
    assert "nofile" in s["detail"] and "Operation not permitted" in s["detail"], s
    assert not os.path.exists(r.path("h"))
    assert r.term() == 0


@pytest.mark.root
def test_a_folder_that_only_root_may_enter_fails_the_start_of_another_user(started):
    r = started("reeve: {on-boot-failure: continue}\nservices:\n" + service("a", ", user: u") +
                "  i: {command: [/bin/sh, -c, 'echo > ../i'], user: u, working-dir: \"${env.TMPDIR}/private\"}\n",
                wrap=OWN_USERS[:-1] + ("chmod 700 private; " + OWN_USERS[-1],))
    s = r.wait_state("i", "failed")
    assert "cannot enter working directory" in s["detail"] and "Permission denied" in s["detail"], s
    assert not os.path.exists(r.path("i"))
    assert r.term() == 0


PLAIN = ("setpriv", "--reuid", "4711", "--regid", "4711", "--groups", "4711,4800")


@pytest.mark.root
@pytest.mark.parametrize("user, works", [("u", True), ("'4711'", True), ("'4712'", False), ("root", False)])
def test_without_root_only_the_own_name_is_possible(started, user, works):
    wrap = OWN_USERS[:-1] + (OWN_USERS[-1].replace('exec "$0"', 'chown 4711 run log home; exec %s "$0"' % " ".join(PLAIN)),)
    r = started("services:\n" + service("a", ", user: %s" % user) + service("g", ", limits: {nofile: 512}"), wrap=wrap)
    if not works:
        assert r.wait() == 78
        assert user.strip("'") in r.stderr and "reeve.yaml:2:" in r.stderr and "only root" in r.stderr
        assert not os.path.exists(r.path("g")), "nothing was started"
        return
    r.wait_ready()
    w = who(r, "a")
    assert (w["uid"], w["gid"], w["groups"]) == ("4711", "4711", ["4711", "4800"])
    assert w["names"] == "/home/u|u|u|/bin/dash" and w["nofile"] == "1000"
    assert who(r, "g")["nofile"] == "512"
    assert r.term() == 0


# probes run as the service does
@pytest.mark.root
def test_a_check_runs_as_the_user_of_its_service(started):
    r = started("services:\n  a: {command: [/bin/sleep, '1000'], user: u, working-dir: \"${env.TMPDIR}\", "
                "ready: {exec: [/bin/sh, -c, 'id -u > probe; echo \"$HOME\" >> probe; id -G >> probe'], timeout: 10s}}\n")
    r.wait_ready()
    assert r.read("probe").split() == ["4711", "/home/u", "4711", "4800"]
    assert r.term() == 0


def test_where_groups_cannot_be_set_none_can_be_asked_for(reeve):
    """In a user namespace setgroups is refused: the message names the way out, and it is one."""
    wrap = ["setpriv", "--clear-groups", "unshare", "-r"]
    if os.geteuid() or not shutil.which("setpriv") or subprocess.run(wrap + ["true"], capture_output=True).returncode:
        pytest.skip("no user namespaces here")
    r = reeve("services: {a: {command: [/bin/true], type: task, user: root}}", wrap=wrap)
    assert r.wait() == 10
    assert "cannot set the groups" in r.stderr and "groups: []" in r.stderr, r.stderr
    r = reeve("services: {a: {command: [/bin/sleep, '1000'], user: root, groups: []}}", wrap=wrap)
    r.wait_ready(30)
    assert r.term(30) == 0


# A container that was started without KILL: root, but not over the processes of others.
@pytest.mark.root
def test_what_reeve_may_not_signal_is_told_with_the_reason(reeve):
    drop = ("setpriv", "--bounding-set", "-kill")
    if subprocess.run([*drop, "true"], capture_output=True).returncode != 0:
        pytest.skip("no capability can be dropped here")
    r = reeve("""
services:
  a: {command: [/bin/sleep, "1000"], user: nobody, stop: {timeout: 100ms}}
  b: {command: [/bin/sleep, "1000"], stop: {timeout: 100ms}}
""", wrap=drop)
    r.wait_ready()
    assert "warning: a: reeve may not signal processes of user nobody" in r.stderr and "warning: b" not in r.stderr
    pid = r.service("a")["pid"]
    r.ctl("stop", "a", "--no-wait")
    r.wait_text("error: a: survived KILL: %d (sleep; reeve may not signal it, for want of CAP_KILL)" % pid)
    os.kill(pid, signal.SIGKILL)
    r.wait_state("a", "stopped")
    assert r.term() == 0
