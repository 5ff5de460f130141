/* The parent's half of a spawn: prepares everything, clones, and tells the truth about it. */
#include "daemon/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/child.h"
#include "daemon/whynot.h"
#include "sys/fd.h"

#define STACK_BYTES 65536
#define GUARD_BYTES 4096
#define LISTEN_PID  "LISTEN_PID="

#define SIGNAL_BIT(n)	      (UINT64_C(1) << ((n)-1))
#define ALL_BUT_KILL_AND_STOP (~(SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP)))

/* What every spawn of this process shares. Set once; there is one thread. */
static struct {
	char *stack; /* lowest usable byte */
	int null; /* /dev/null, above 2; 0: not opened yet */
	struct rlimit nofile; /* what we were started with */
	bool raised;
	uint64_t odd_signals; /* of rv_child */
	bool knows_signals; /* else each of them may be odd */
	bool can_part; /* the kernel lets a child leave our table of descriptors behind */
} shared;

static bool have_stack(struct rv_err *e)
{
	char *p;

	if (shared.stack)
		return true;
	p = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return rv_fail_errno(e, errno, "cannot map a stack for new processes");
	mprotect(p, GUARD_BYTES, PROT_NONE);
	shared.stack = p + GUARD_BYTES;
	return true;
}

/* Fills 0 to 2 on the way when they were closed, so that no other file ever gets these numbers. */
static bool have_null(struct rv_err *e)
{
	while (shared.null < 3) {
		int fd = open("/dev/null", O_RDWR);

		if (fd < 0)
			return rv_fail_errno(e, errno, "cannot open /dev/null");
		if (fd >= 3)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
		shared.null = fd;
	}
	return true;
}

/* Setting all 62 back to their defaults would take a tenth of the time from a death to the next exec. */
static void learn_signals(void)
{
	struct sigaction now;

	shared.odd_signals = 0;
	for (int i = 1; i < 65; i++) {
		if (i == SIGKILL || i == SIGSTOP)
			continue;
		/* The C library hides those of its own: whatever they do, they are reset. */
		if (sigaction(i, NULL, &now) || now.sa_handler != SIG_DFL)
			shared.odd_signals |= SIGNAL_BIT(i);
	}
	shared.knows_signals = true;
}

void rv_spawn_prepare(void)
{
	struct rlimit r;

	learn_signals();
	have_null(NULL);
	have_stack(NULL);
	if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC))
		for (int fd = 3; fd < 1024; fd++) /* a kernel before 5.11 */
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	/* Closes nothing here. Where it is unknown or forbidden, the child gets a copy of the table. */
	shared.can_part = !syscall(SYS_close_range, ~0U, ~0U, CLOSE_RANGE_UNSHARE);
	if (shared.raised || getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == r.rlim_max)
		return;
	shared.nofile = r;
	r.rlim_cur = r.rlim_max;
	shared.raised = !setrlimit(RLIMIT_NOFILE, &r);
}

/* ---- what the child needs, in one block ---- */

static const char *env_value(const char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; env && *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static void copy_env(struct rv_child *c, const char *const *env, char *listen_pid)
{
	size_t n = count(env);

	if (n)
		memcpy(c->env, env, n * sizeof(*env));
	c->env[n] = NULL;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(env[i], LISTEN_PID) != 0)
			continue;
		memcpy(listen_pid, LISTEN_PID, sizeof(LISTEN_PID));
		c->env[i] = listen_pid;
		c->listen_pid = listen_pid + sizeof(LISTEN_PID) - 1;
	}
}

static void map_fd(struct rv_child *c, int ours, int there)
{
	ours = ours < 0 ? shared.null : ours;
	c->highest_source = ours > c->highest_source ? ours : c->highest_source;
	c->source[c->fd_count] = ours;
	c->target[c->fd_count++] = there;
	c->highest = there > c->highest ? there : c->highest;
}

static void map_fds(struct rv_child *c)
{
	const struct rv_spawn *s = c->s;

	c->highest = 2;
	map_fd(c, s->our_stdin ? STDIN_FILENO : shared.null, STDIN_FILENO);
	map_fd(c, s->out, STDOUT_FILENO);
	map_fd(c, s->err, STDERR_FILENO);
	for (size_t i = 0; i < s->fd_count; i++)
		map_fd(c, s->fds[i].ours, s->fds[i].child);
}

/* Returns the block that *c points into; the caller frees it. */
static void *fill_child(struct rv_child *c, const struct rv_spawn *s)
{
	size_t envs = (count(s->env) + 1) * sizeof(char *);
	size_t fds = (s->fd_count + 3) * sizeof(int);
	size_t listen = sizeof(LISTEN_PID) + 12, path = 0;
	const char *search = NULL;
	char *block;

	if (!strchr(s->argv[0], '/')) {
		search = env_value(s->env, "PATH");
		search = search ? search : RV_SPAWN_PATH;
		path = strlen(search) + strlen(s->argv[0]) + 3;
	}
	block = malloc(envs + 2 * fds + listen + path);
	if (!block)
		return NULL;
	*c = (struct rv_child){.s = s, .search = search, .path_room = path, .step = RV_STEP_DONE};
	memcpy(&c->argv, &s->argv, sizeof(c->argv));
	c->env = (char **)(void *)block;
	c->source = (int *)(void *)(block + envs);
	c->target = (int *)(void *)(block + envs + fds);
	c->path = block + envs + 2 * fds + listen;
	c->nofile = shared.nofile;
	c->set_nofile = shared.raised;
	c->odd_signals = shared.knows_signals ? shared.odd_signals : ALL_BUT_KILL_AND_STOP;
	c->shares_fds = shared.can_part;
	copy_env(c, s->env, block + envs + 2 * fds);
	map_fds(c);
	return block;
}

/* ---- the clone ---- */

/* All signals stay blocked until the child has its own dispositions: a handler of ours that ran there
   would write into our memory. */
static pid_t clone_child(struct rv_child *c)
{
	uint64_t all = ~UINT64_C(0), before;
	int flags = CLONE_VM | CLONE_VFORK | SIGCHLD | (c->shares_fds ? CLONE_FILES : 0);
	char *top = shared.stack + STACK_BYTES;
	pid_t pid;
	int number;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
	pid = clone(rv_child_main, top, flags, c);
	number = errno;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
	errno = number;
	return pid;
}

static void bury(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
}

static bool no_process(struct rv_err *e, const char *program)
{
	if (errno != EAGAIN)
		return rv_fail_errno(e, errno, "cannot create a process for %s", program);
	return rv_fail(e, RV_ERR_SYSTEM,
		"cannot create a process for %s: there are as many as may be (raise the limit: "
		"ulimit "
		"-u of its user, or pids.max of the container)",
		program);
}

bool rv_spawn(const struct rv_spawn *s, struct rv_spawned *out, struct rv_err *e)
{
	rv_auto_free void *block = NULL;
	struct rv_child c;

	*out = (struct rv_spawned){0};
	if (!have_stack(e) || !have_null(e))
		return false;
	if (!s->argv || !s->argv[0] || !*s->argv[0])
		return rv_fail(e, RV_ERR_START, "cannot execute the command: it is empty");
	block = fill_child(&c, s);
	if (!block)
		return rv_fail_errno(e, ENOMEM, "cannot execute %s", s->argv[0]);
	out->pid = clone_child(&c);
	if (out->pid < 0)
		return no_process(e, s->argv[0]);
	if (!c.number)
		return true;
	bury(out->pid);
	*out = (struct rv_spawned){0};
	return rv_whynot(&c, e);
}
