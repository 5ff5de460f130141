/* Spawn with real processes: what a child gets, what it does not get, and the truth about failures. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/spawn.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

struct run {
	struct rv_spawn s;
	int status;
	char out[3000]; /* what it wrote to 1 and 2 */
};

static char folder[PATH_MAX];
static const char *const plain_env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};

static struct run plain(const char *const *argv)
{
	struct run r = {.s = {.argv = argv, .env = plain_env, .umask = -1}};

	return r;
}

/* Spawns, reads its output to the end, waits for it. */
static bool go(struct run *r, struct rv_err *e)
{
	struct rv_spawned child;
	size_t n = 0;
	ssize_t got;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	r->s.out = r->s.err = ends[1];
	if (!rv_spawn(&r->s, &child, e)) {
		assert_int_equal(child.pid, 0);
		close(ends[0]);
		close(ends[1]);
		return false;
	}
	close(ends[1]);
	while ((got = read(ends[0], r->out + n, sizeof(r->out) - 1 - n)) > 0)
		n += (size_t)got;
	r->out[n] = 0;
	close(ends[0]);
	assert_int_equal(waitpid(child.pid, &r->status, 0), child.pid);
	return true;
}

static void must_go(struct run *r)
{
	struct rv_err e = {0};

	if (!go(r, &e))
		fail_msg("%s", e.text);
}

static void must_fail(struct run *r, const char *text)
{
	struct rv_err e = {0};

	assert_false(go(r, &e));
	assert_int_equal(e.code, RV_ERR_START);
	assert_string_equal(e.text, text);
}

static const char *file(const char *name, const char *text, mode_t mode)
{
	static char path[PATH_MAX + 64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static void need_root(void)
{
	if (geteuid())
		skip();
}

/* ---- failures ---- */

static void a_missing_program_is_named(void **state)
{
	struct run r = plain(LIST("/nonexistent/envd", "-port", "1"));

	(void)state;
	must_fail(&r, "cannot execute /nonexistent/envd: No such file or directory");
}

static void a_program_that_no_folder_of_path_has_is_named(void **state)
{
	struct run r = plain(LIST("no-such-program"));

	(void)state;
	must_fail(&r, "cannot execute no-such-program: not found in the folders of PATH");
}

static void a_file_without_execute_permission_is_named_with_its_mode(void **state)
{
	const char *path = file("plain", "x", 0644);
	struct run r = plain(LIST(path));
	char text[PATH_MAX + 200];

	(void)state;
	snprintf(text, sizeof(text), "cannot execute %s: Permission denied (mode 0644)", path);
	must_fail(&r, text);
}

static void a_missing_interpreter_is_named_with_its_script(void **state)
{
	const char *path = file("lost", "#! /no/such/shell -e\n", 0755);
	struct run r = plain(LIST(path));
	char text[PATH_MAX + 200];

	(void)state;
	snprintf(text, sizeof(text),
		"cannot execute %s: its interpreter /no/such/shell does not exist", path);
	must_fail(&r, text);
}

static void an_interpreter_that_is_missing_is_told_of_a_script_in_path_too(void **state)
{
	struct run r = plain(LIST("lost"));
	char path[PATH_MAX + 64];
	struct rv_err e = {0};

	(void)state;
	file("lost", "#! /no/such/shell -e\n", 0755);
	snprintf(path, sizeof(path), "PATH=%s:/bin", folder);
	r.s.env = LIST(path);
	assert_false(go(&r, &e));
	assert_non_null(strstr(e.text, "/lost: its interpreter /no/such/shell does not exist"));
}

static void dos_line_ends_are_told(void **state)
{
	const char *path = file("dos", "#!/bin/sh\r\nexit 0\r\n", 0755);
	struct run r = plain(LIST(path));
	struct rv_err e = {0};

	(void)state;
	assert_false(go(&r, &e));
	assert_non_null(strstr(e.text, "/bin/sh\\x0d does not exist (the file has DOS line ends)"));
}

static void a_script_without_its_first_line_is_not_given_to_a_shell(void **state)
{
	const char *path = file("bare", "echo oops\n", 0755);
	struct run r = plain(LIST(path));
	char text[PATH_MAX + 200];

	(void)state;
	snprintf(text, sizeof(text),
		"cannot execute %s: not a program: neither a known binary format nor a #! line",
		path);
	must_fail(&r, text);
}

static void a_missing_working_directory_is_named(void **state)
{
	struct run r = plain(LIST("/bin/true"));

	(void)state;
	r.s.dir = "/no/such/dir";
	must_fail(&r, "cannot enter working directory /no/such/dir: No such file or directory");
}

static void an_empty_command_is_refused(void **state)
{
	struct run r = plain(LIST(""));

	(void)state;
	must_fail(&r, "cannot execute the command: it is empty");
}

static int count_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void a_failed_spawn_leaves_neither_process_nor_descriptor(void **state)
{
	struct run r = plain(LIST("/nonexistent"));
	struct rv_err e;
	int before = count_open();

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_false(go(&r, &e));
	assert_int_equal(count_open(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* ---- what a child gets ---- */

static void argv_and_environment_arrive_byte_for_byte(void **state)
{
	struct run r = plain(LIST("/usr/bin/env", "-0"));

	(void)state;
	r.s.env = LIST("A=100%", "B=$x `y`\n", "C=", "LISTEN_FDS=1");
	must_go(&r);
	assert_memory_equal(r.out, "A=100%\0B=$x `y`\n\0C=\0LISTEN_FDS=1\0", 33);
}

static void listen_pid_is_filled_with_the_pid_of_the_child(void **state)
{
	struct run r = plain(LIST("/bin/sh", "-c", "test $$ = $LISTEN_PID && echo $LISTEN_FDS"));

	(void)state;
	r.s.env = LIST("LISTEN_PID=", "LISTEN_FDS=2");
	must_go(&r);
	assert_string_equal(r.out, "2\n");
}

static void a_child_leads_its_session_and_has_no_terminal(void **state)
{
	struct run r = plain(LIST("sh", "-c",
		"set -- $(cut -d' ' -f1,5,6,7 /proc/$$/stat); test $1 = $2 && test $1 = $3 && echo "
		"$4"));

	(void)state;
	must_go(&r);
	assert_string_equal(r.out, "0\n");
}

static void stdin_is_at_its_end(void **state)
{
	struct run r = plain(LIST("sh", "-c", "readlink /proc/self/fd/0; read x; echo $?"));

	(void)state;
	must_go(&r);
	assert_string_equal(r.out, "/dev/null\n1\n");
}

static void umask_and_directory_are_the_given_or_the_documented_ones(void **state)
{
	struct run r = plain(LIST("sh", "-c", "umask; pwd"));

	(void)state;
	must_go(&r);
	assert_string_equal(r.out, "0022\n/\n");
	r.s.umask = 0077;
	r.s.dir = "/usr";
	must_go(&r);
	assert_string_equal(r.out, "0077\n/usr\n");
}

static void a_name_is_sought_in_the_path_of_the_service(void **state)
{
	struct run r = plain(LIST("tool", "x"));
	char path[PATH_MAX + 64];

	(void)state;
	file("tool", "#!/bin/sh\necho mine $1\n", 0755);
	snprintf(path, sizeof(path), "PATH=/no/such:%s:/bin", folder);
	r.s.env = LIST(path);
	must_go(&r);
	assert_string_equal(r.out, "mine x\n");
}

static void a_relative_program_is_one_of_the_working_directory(void **state)
{
	struct run r = plain(LIST("./here"));

	(void)state;
	file("here", "#!/bin/sh\npwd\n", 0755);
	r.s.dir = folder;
	must_go(&r);
	assert_int_equal(strncmp(r.out, folder, strlen(folder)), 0);
}

/* The child tells its open descriptors by itself, so that no shell adds its own. */
static void a_child_has_the_given_descriptors_and_nothing_else(void **state)
{
	struct run r = plain(LIST("/usr/bin/python3", "-c",
		"import os\n"
		"for n in sorted(map(int, os.listdir('/proc/self/fd'))):\n"
		" try: print(n, os.readlink(f'/proc/self/fd/{n}'))\n"
		" except OSError: pass\n"));
	struct rv_spawn_fd fds[2];
	char want[2 * PATH_MAX + 20], *at;
	int leak = open("/dev/zero", O_RDONLY); /* not CLOEXEC, as a library might do */

	(void)state;
	fds[0] = (struct rv_spawn_fd){open(file("b", "", 0644), O_RDONLY | O_CLOEXEC), 6};
	fds[1] = (struct rv_spawn_fd){open(file("a", "", 0644), O_RDONLY | O_CLOEXEC), 3};
	r.s.fds = fds;
	r.s.fd_count = 2;
	must_go(&r);
	close(leak);
	close(fds[0].ours);
	close(fds[1].ours);
	at = strstr(r.out, "3 ");
	assert_non_null(at);
	snprintf(want, sizeof(want), "3 %s/a\n6 %s/b\n", folder, folder);
	assert_string_equal(at, want);
	assert_int_equal(strncmp(r.out, "0 /dev/null\n1 pipe:", 19), 0);
}

/* The numbers over there are numbers of other descriptors here, in a circle. */
static void numbers_that_collide_with_ours_are_sorted_out(void **state)
{
	struct run r = plain(
		LIST("sh", "-c", "cat /proc/self/fd/10 /proc/self/fd/11 /proc/self/fd/12"));
	struct rv_spawn_fd fds[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		int fd = open(
			file((char[]){(char)('x' + i), 0}, (char[]){(char)('0' + i), 0}, 0644),
			O_RDONLY | O_CLOEXEC);

		assert_int_equal(dup3(fd, 10 + i, O_CLOEXEC), 10 + i);
		close(fd);
		fds[i] = (struct rv_spawn_fd){10 + i, 10 + (i + 1) % 3};
	}
	r.s.fds = fds;
	r.s.fd_count = 3;
	must_go(&r);
	for (int i = 0; i < 3; i++)
		close(10 + i);
	assert_string_equal(r.out, "201");
}

static void limits_are_the_given_ones(void **state)
{
	struct run r = plain(LIST("sh", "-c", "ulimit -Sn; ulimit -Hn; ulimit -Sc"));
	const struct rv_spawn_limit limits[] = {{RLIMIT_NOFILE, 100, 200}, {RLIMIT_CORE, 0, 0}};

	(void)state;
	r.s.limits = limits;
	r.s.limit_count = 2;
	must_go(&r);
	assert_string_equal(r.out, "100\n200\n0\n");
}

static void a_limit_above_the_hard_one_is_named(void **state)
{
	struct run r = plain(LIST("/bin/true"));
	/* More than fs.nr_open is refused to root as well. */
	const struct rv_spawn_limit limit = {RLIMIT_NOFILE, UINT64_C(1) << 40, UINT64_C(1) << 40};
	struct rv_err e = {0};

	(void)state;
	r.s.limits = &limit;
	r.s.limit_count = 1;
	assert_false(go(&r, &e));
	assert_int_equal(
		strncmp(e.text, "cannot set limit nofile to 1099511627776: Operation not permitted",
			65),
		0);
}

/* ---- users ---- */

static void a_number_gets_its_groups_and_nothing_of_root(void **state)
{
	struct run r = plain(LIST("sh", "-c", "id -u; id -g; id -G"));
	const gid_t groups[] = {4711, 4712};

	(void)state;
	need_root();
	r.s.who = (struct rv_ident){.set_uid = true,
		.set_gid = true,
		.set_groups = true,
		.uid = 4711,
		.gid = 4710,
		.groups = groups,
		.group_count = 2};
	must_go(&r);
	assert_string_equal(r.out, "4711\n4710\n4710 4711 4712\n");
}

static void all_three_ids_change_and_capabilities_go(void **state)
{
	struct run r = plain(
		LIST("grep", "-E", "^(Uid|Gid|Groups|CapEff|CapPrm)", "/proc/self/status"));

	(void)state;
	need_root();
	r.s.who = (struct rv_ident){
		.set_uid = true, .set_gid = true, .set_groups = true, .uid = 4711, .gid = 4710};
	must_go(&r);
	assert_string_equal(r.out,
		"Uid:\t4711\t4711\t4711\t4711\nGid:\t4710\t4710\t4710\t4710\n"
		"Groups:\t \nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n");
}

static void a_directory_that_only_root_may_enter_is_refused(void **state)
{
	struct run r = plain(LIST("/bin/true"));
	char dir[] = "/tmp/rv-spawn-XXXXXX", text[200];

	(void)state;
	need_root();
	assert_non_null(mkdtemp(dir));
	r.s.dir = dir;
	r.s.who = (struct rv_ident){.set_uid = true, .uid = 4711};
	snprintf(text, sizeof(text), "cannot enter working directory %s: Permission denied", dir);
	must_fail(&r, text);
	rmdir(dir);
}

/* How often a child stops itself when it has its user already, but not its program yet. */
static int stops;

/* Stands for the C library's: the last thing a child does before it looks for its program. */
__attribute__((no_sanitize("address", "undefined"))) int chdir(const char *path)
{
	while (stops) {
		stops--;
		syscall(SYS_kill, syscall(SYS_getpid), SIGSTOP);
	}
	return (int)syscall(SYS_chdir, path);
}

/* So that a test ends also where nothing else ends the wait for the exec. */
static pid_t help_after(unsigned seconds)
{
	pid_t pid = fork();
	char file[64], *list = NULL;
	size_t room = 0;
	FILE *f;

	if (pid)
		return pid;
	sleep(seconds);
	snprintf(file, sizeof(file), "/proc/%d/task/%d/children", (int)getppid(), (int)getppid());
	f = fopen(file, "re");
	if (!f || getdelim(&list, &room, 0, f) < 0)
		_exit(1);
	for (char *at = list, *end;; at = end) {
		pid = (pid_t)strtol(at, &end, 10);
		if (at == end)
			_exit(0);
		if (pid != getpid())
			kill(pid, SIGKILL);
	}
}

/* Runs echo as an ordinary user who stops it so many times; how long that took. */
static rv_time run_stopped(int times, struct run *r)
{
	rv_time begun = rv_now();
	pid_t helper = help_after(40);

	*r = plain(LIST("echo", "here"));
	r->s.who = (struct rv_ident){.set_uid = true, .set_groups = true, .uid = 4711};
	stops = times;
	must_go(r);
	begun = rv_now() - begun;
	kill(helper, SIGKILL);
	assert_int_equal(waitpid(helper, NULL, 0), helper);
	return begun;
}

static void who_is_stopped_by_its_user_before_it_is_executed_goes_on(void **state)
{
	struct run r;

	(void)state;
	need_root();
	assert_true(run_stopped(1, &r) < 30 * RV_SEC);
	assert_string_equal(r.out, "here\n");
	assert_int_equal(stops, 0);
}

static void who_is_stopped_again_and_again_is_not_waited_for(void **state)
{
	struct run r;

	(void)state;
	need_root();
	assert_true(run_stopped(INT_MAX, &r) < 30 * RV_SEC);
	stops = 0;
	assert_string_equal(r.out, "");
	assert_true(WIFSIGNALED(r.status) && WTERMSIG(r.status) == SIGKILL);
}

/* Forks a copy of this test that does `what` as an ordinary user and must leave with 0. */
static void as_ordinary_user(void (*what)(void))
{
	pid_t pid;
	int status;

	if (geteuid()) {
		what();
		return;
	}
	pid = fork();
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(99);
		what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void try_another_user(void)
{
	struct run r = plain(LIST("/bin/true"));

	r.s.who = (struct rv_ident){.set_uid = true, .uid = 4711};
	must_fail(&r,
		"cannot become user 4711: Operation not permitted (reeve does not run as root)");
}

static void another_user_is_refused_without_root(void **state)
{
	(void)state;
	as_ordinary_user(try_another_user);
}

/* ---- a bad start of our own ---- */

/* A copy of this process in a bad state; it must leave with 0. */
static void in_a_copy(void (*spoil)(void), void (*then)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		spoil();
		then();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void spoil_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 1; i < 65; i++)
		if (i != SIGCHLD)
			signal(i, SIG_IGN);
	rv_spawn_prepare();
}

static void expect_clean_signals(void)
{
	struct run r = plain(LIST("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"));

	must_go(&r);
	if (strcmp(r.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"))
		_exit(1);
}

static void blocked_and_ignored_signals_are_not_inherited(void **state)
{
	(void)state;
	in_a_copy(spoil_signals, expect_clean_signals);
}

/* Root of a container often may not. */
static bool may_raise_limits(void)
{
	return prctl(PR_CAPBSET_READ, CAP_SYS_RESOURCE) == 1;
}

static void lower_hard_limit(void)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static void expect_raised_limit(void)
{
	struct run r = plain(LIST("sh", "-c", "ulimit -Hc; id -u"));
	const struct rv_spawn_limit limit = {RLIMIT_CORE, 0, UINT64_MAX};

	r.s.limits = &limit;
	r.s.limit_count = 1;
	r.s.who = (struct rv_ident){.set_uid = true, .uid = 4711};
	must_go(&r);
	if (strcmp(r.out, "unlimited\n4711\n"))
		_exit(1);
}

/* The child begins on our table of descriptors. Those above the given ones are never copied for it. */
static void our_own_descriptors_are_as_before(void **state)
{
	struct run r = plain(LIST("sh", "-c", "cat <&7; ls /proc/self/fd | tr '\\n' ' '"));
	int in = open(file("in", "x", 0644), O_RDONLY | O_CLOEXEC);
	int high = fcntl(in, F_DUPFD_CLOEXEC, 90), higher = fcntl(in, F_DUPFD, 700);
	struct rv_spawn_fd given[] = {{high, 7}};

	(void)state;
	r.s.fds = given;
	r.s.fd_count = 1;
	must_go(&r);
	assert_string_equal(r.out, "x0 1 2 3 7 ");
	assert_int_equal(fcntl(in, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(high, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(higher, F_GETFD), 0);
	assert_int_equal(fcntl(7, F_GETFD), -1);
	close(in);
	close(high);
	close(higher);
}

/* Raising a limit needs the privilege that the user gives up. */
static void limits_are_set_while_still_privileged(void **state)
{
	(void)state;
	need_root();
	if (!may_raise_limits())
		skip();
	in_a_copy(lower_hard_limit, expect_raised_limit);
}

static void our_own_mask_is_as_before(void **state)
{
	struct run r = plain(LIST("/bin/true"));
	sigset_t set, now;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_SETMASK, &set, NULL);
	must_go(&r);
	sigprocmask(SIG_SETMASK, NULL, &now);
	assert_int_equal(sigismember(&now, SIGUSR1), 1);
	assert_int_equal(sigismember(&now, SIGTERM), 0);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

/* A stranger closes our 0 to 2: then nothing of ours may ever land there. rv_spawn_prepare has run in
   this process already, so the copy is this program anew. */
static void closed_standard_descriptors_are_filled(void **state)
{
	char self[PATH_MAX] = {0};
	char command[2 * PATH_MAX];
	int status;

	(void)state;
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(command, sizeof(command), "exec '%s' closed <&- >&- 2>&-", self);
	status = system(command);
	assert_int_equal(status, 0);
}

static int as_closed(void)
{
	struct run r = plain(LIST("sh", "-c", "echo out; echo err >&2; readlink /proc/self/fd/0"));
	int ends[2];

	rv_spawn_prepare();
	for (int i = 0; i < 3; i++)
		if (fcntl(i, F_GETFD) < 0)
			return 2;
	if (pipe(ends) || ends[0] < 3)
		return 3;
	must_go(&r);
	return strcmp(r.out, "out\nerr\n/dev/null\n") ? 4 : 0;
}

static void our_limit_is_raised_and_services_get_the_old_one(void **state)
{
	char self[PATH_MAX] = {0};
	char command[2 * PATH_MAX];

	(void)state;
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(command, sizeof(command), "ulimit -Sn 77; exec '%s' limit", self);
	assert_int_equal(system(command), 0);
}

static int as_limited(void)
{
	struct run r = plain(LIST("sh", "-c", "ulimit -Sn; ulimit -Hn"));
	struct rlimit before, now;
	char want[64];

	getrlimit(RLIMIT_NOFILE, &before);
	rv_spawn_prepare();
	getrlimit(RLIMIT_NOFILE, &now);
	if (now.rlim_cur != before.rlim_max)
		return 2;
	must_go(&r);
	snprintf(want, sizeof(want), "77\n%llu\n", (unsigned long long)before.rlim_max);
	return strcmp(r.out, want) ? 3 : 0;
}

static void hundreds_of_spawns_leave_no_trace_in_memory(void **state)
{
	struct run r = plain(LIST("true"));

	(void)state;
	for (int i = 0; i < 300; i++)
		must_go(&r);
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/rv-spawn-XXXXXX");
	return mkdtemp(folder) && !chmod(folder, 0755) ? 0 : -1;
}

static int drop_folder(void **state)
{
	struct run r = plain(LIST("rm", "-rf", folder));

	(void)state;
	must_go(&r);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_program_is_named),
		cmocka_unit_test(a_program_that_no_folder_of_path_has_is_named),
		cmocka_unit_test(a_file_without_execute_permission_is_named_with_its_mode),
		cmocka_unit_test(a_missing_interpreter_is_named_with_its_script),
		cmocka_unit_test(an_interpreter_that_is_missing_is_told_of_a_script_in_path_too),
		cmocka_unit_test(dos_line_ends_are_told),
		cmocka_unit_test(a_script_without_its_first_line_is_not_given_to_a_shell),
		cmocka_unit_test(a_missing_working_directory_is_named),
		cmocka_unit_test(an_empty_command_is_refused),
		cmocka_unit_test(a_failed_spawn_leaves_neither_process_nor_descriptor),
		cmocka_unit_test(argv_and_environment_arrive_byte_for_byte),
		cmocka_unit_test(listen_pid_is_filled_with_the_pid_of_the_child),
		cmocka_unit_test(a_child_leads_its_session_and_has_no_terminal),
		cmocka_unit_test(stdin_is_at_its_end),
		cmocka_unit_test(umask_and_directory_are_the_given_or_the_documented_ones),
		cmocka_unit_test(a_name_is_sought_in_the_path_of_the_service),
		cmocka_unit_test(a_relative_program_is_one_of_the_working_directory),
		cmocka_unit_test(a_child_has_the_given_descriptors_and_nothing_else),
		cmocka_unit_test(numbers_that_collide_with_ours_are_sorted_out),
		cmocka_unit_test(our_own_descriptors_are_as_before),
		cmocka_unit_test(limits_are_the_given_ones),
		cmocka_unit_test(a_limit_above_the_hard_one_is_named),
		cmocka_unit_test(a_number_gets_its_groups_and_nothing_of_root),
		cmocka_unit_test(all_three_ids_change_and_capabilities_go),
		cmocka_unit_test(a_directory_that_only_root_may_enter_is_refused),
		cmocka_unit_test(who_is_stopped_by_its_user_before_it_is_executed_goes_on),
		cmocka_unit_test(who_is_stopped_again_and_again_is_not_waited_for),
		cmocka_unit_test(limits_are_set_while_still_privileged),
		cmocka_unit_test(another_user_is_refused_without_root),
		cmocka_unit_test(blocked_and_ignored_signals_are_not_inherited),
		cmocka_unit_test(our_own_mask_is_as_before),
		cmocka_unit_test(closed_standard_descriptors_are_filled),
		cmocka_unit_test(our_limit_is_raised_and_services_get_the_old_one),
		cmocka_unit_test(hundreds_of_spawns_leave_no_trace_in_memory),
	};

	if (argc > 1)
		return !strcmp(argv[1], "closed") ? as_closed() : as_limited();
	rv_spawn_prepare();
	return cmocka_run_group_tests_name("spawn", tests, make_folder, drop_folder);
}
