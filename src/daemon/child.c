/* What a child does between clone and exec: see child.h. Only plain system calls; set*id directly,
 * because the C library's versions would try to tell the threads of a process that is not ours. */
#include "daemon/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Instrumented frames would leave poison behind in memory that the parent goes on using. */
#define IN_CHILD __attribute__((no_sanitize("address", "undefined")))

/* The kernel's sigaction (handler, flags, restorer, mask), zero meaning SIG_DFL on all machines. */
struct kernel_action {
	unsigned long word[4];
};

IN_CHILD static bool failed(struct rv_child *c, enum rv_child_step step, int number, size_t which)
{
	c->step = step;
	c->number = number;
	c->which = which;
	return false;
}

/* exec resets handlers, but neither ignored signals nor, before it, what a signal would run here. */
IN_CHILD static void default_dispositions(uint64_t odd)
{
	struct kernel_action preset = {{0}};

	for (int i = 1; odd; i++, odd >>= 1)
		if (odd & 1)
			syscall(SYS_rt_sigaction, i, &preset, NULL, 8);
}

/* Once it is another user's, that user may stop it, and we would wait for its exec for ever. Clocks of its own
   have it go on, and end it at last. Each goes off once: a stop takes away a CONT that waits, and with it
   whatever that clock would do later. The exec takes the clocks away. */
IN_CHILD static void stay_awake(void)
{
	const struct {
		long ms;
		int number;
	} due[] = {{20, SIGCONT}, {200, SIGCONT}, {2000, SIGCONT}, {10000, SIGKILL}};

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
		const struct itimerspec at = {
			.it_value = {due[i].ms / 1000, due[i].ms % 1000 * 1000000}};
		struct sigevent what = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = due[i].number};
		int clock;

		if (!syscall(SYS_timer_create, CLOCK_MONOTONIC, &what, &clock))
			syscall(SYS_timer_settime, clock, 0, &at, NULL);
	}
}

IN_CHILD static void empty_mask(void)
{
	uint64_t none = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
}

/* A table of our own, without what lies above the highest descriptor that is needed: copying
   thousands of them, only for the exec to close them, would cost more than the rest of a spawn. */
IN_CHILD static bool part_fds(struct rv_child *c)
{
	unsigned first = (unsigned)c->highest_source + 1;

	return !c->shares_fds || !syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_UNSHARE) ||
		failed(c, RV_STEP_FD, errno, 0);
}

/* First all sources out of the way of all targets, then each to its place. Everything becomes
   CLOEXEC before, so that only what is placed here survives, whatever a library forgot. */
IN_CHILD static bool place_fds(struct rv_child *c)
{
	if (!part_fds(c))
		return false;
	syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
	for (size_t i = 0; i < c->fd_count; i++) {
		int from = c->source[i];

		if (from > c->highest)
			continue;
		from = fcntl(from, F_DUPFD_CLOEXEC, c->highest + 1);
		if (from < 0)
			return failed(c, RV_STEP_FD, errno, i);
		c->source[i] = from;
	}
	for (size_t i = 0; i < c->fd_count; i++)
		if (dup3(c->source[i], c->target[i], 0) < 0)
			return failed(c, RV_STEP_FD, errno, i);
	return true;
}

IN_CHILD static bool set_limits(struct rv_child *c)
{
	const struct rv_spawn *s = c->s;

	if (c->set_nofile)
		setrlimit(RLIMIT_NOFILE, &c->nofile);
	for (size_t i = 0; i < s->limit_count; i++) {
		const struct rv_spawn_limit *l = &s->limits[i];
		struct rlimit r = {
			.rlim_cur = l->soft == UINT64_MAX ? RLIM_INFINITY : l->soft,
			.rlim_max = l->hard == UINT64_MAX ? RLIM_INFINITY : l->hard,
		};

		if (syscall(SYS_prlimit64, 0, l->resource, &r, NULL))
			return failed(c, RV_STEP_LIMIT, errno, i);
	}
	return true;
}

/* Groups, gid, uid: each step needs the privilege that a later one gives up. */
IN_CHILD static bool become(struct rv_child *c)
{
	const struct rv_ident *who = &c->s->who;

	/* Where nobody may set groups (a user namespace), having none is still possible: we have none. */
	if (who->set_groups && syscall(SYS_setgroups, who->group_count, who->groups) &&
		(errno != EPERM || who->group_count || syscall(SYS_getgroups, 0, NULL)))
		return failed(c, RV_STEP_GROUPS, errno, 0);
	if (who->set_gid && syscall(SYS_setresgid, who->gid, who->gid, who->gid))
		return failed(c, RV_STEP_GID, errno, 0);
	if (who->set_uid && syscall(SYS_setresuid, who->uid, who->uid, who->uid))
		return failed(c, RV_STEP_UID, errno, 0);
	return true;
}

IN_CHILD static void write_pid(char *at)
{
	char digits[12];
	int n = 0;

	for (long pid = syscall(SYS_getpid); pid; pid /= 10)
		digits[n++] = (char)('0' + pid % 10);
	while (n)
		*at++ = digits[--n];
	*at = 0;
}

IN_CHILD static size_t length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

/* One candidate of the search; an empty element is the working directory. False: too long. */
IN_CHILD static bool join(struct rv_child *c, const char *dir, size_t len, const char *file)
{
	size_t n = length(file), at = 0;

	if (len + n + 2 > c->path_room)
		return false;
	for (; at < len; at++)
		c->path[at] = dir[at];
	if (len && dir[len - 1] != '/')
		c->path[at++] = '/';
	for (size_t i = 0; i <= n; i++)
		c->path[at + i] = file[i];
	return true;
}

IN_CHILD static bool goes_on(int number)
{
	return number == ENOENT || number == ENOTDIR || number == EACCES || number == ESTALE ||
		number == ENODEV || number == ETIMEDOUT || number == ENAMETOOLONG ||
		number == ELOOP;
}

/* With ENOENT: then it is the interpreter that is missing. Keeps errno. */
IN_CHILD static bool is_there(const char *path)
{
	int number = errno;
	bool there = number == ENOENT && !access(path, F_OK);

	errno = number;
	return there;
}

/* Like execvp, but with the PATH of the service, and without handing unknown files to a shell.
   What was found but not permitted is the better story than what was not found. */
IN_CHILD static void exec_searched(struct rv_child *c)
{
	const char *dir = c->search;
	bool denied = false;

	for (;;) {
		size_t len = 0;

		while (dir[len] && dir[len] != ':')
			len++;
		if (join(c, dir, len, c->argv[0])) {
			execve(c->path, c->argv, c->env);
			if (!goes_on(errno) || is_there(c->path)) {
				failed(c, RV_STEP_EXEC, errno, 1);
				return;
			}
			denied = denied || errno == EACCES;
		}
		if (!dir[len])
			break;
		dir += len + 1;
	}
	failed(c, RV_STEP_EXEC, denied ? EACCES : ENOENT, 0);
}

IN_CHILD int rv_child_main(void *child)
{
	struct rv_child *c = child;
	const struct rv_spawn *s = c->s;

	default_dispositions(c->odd_signals);
	if (s->who.set_uid && s->who.uid)
		stay_awake();
	if (syscall(SYS_setsid) < 0)
		failed(c, RV_STEP_SESSION, errno, 0);
	else if (place_fds(c) && set_limits(c) && become(c)) {
		umask(s->umask < 0 ? 022 : (mode_t)s->umask);
		if (chdir(s->dir ? s->dir : "/"))
			failed(c, RV_STEP_DIR, errno, 0);
		else {
			if (c->listen_pid)
				write_pid(c->listen_pid);
			empty_mask();
			if (c->search)
				exec_searched(c);
			else {
				execve(c->argv[0], c->argv, c->env);
				failed(c, RV_STEP_EXEC, errno, 1);
			}
		}
	}
	syscall(SYS_exit_group, 127);
	return 127;
}
