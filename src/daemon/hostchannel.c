/* The plugin host as a process, and the channel to it as bytes: see hostparts.h. */
#include "daemon/hostparts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/fd.h"

enum { CHANNEL_FD = 3, PAGE_FD = 4, ABOVE = 10 };

extern char **environ;

/* Above the numbers that the child's two descriptors get. */
static bool lift(int *fd)
{
	int high = fcntl(*fd, F_DUPFD_CLOEXEC, ABOVE);

	if (high < 0) {
		errno = errno == EINVAL ? EMFILE
					: errno; /* the limit is below all that could be had */
		return false;
	}
	close(*fd);
	*fd = high;
	return true;
}

bool rv_channel_open(struct rv_channel *c, struct rv_err *e)
{
	void *p;

	*c = (struct rv_channel){.fd = -1, .exe = -1, .page_fd = -1};
	c->in.max = 2 * RV_HP_MAX;
	c->out.max = 256u << 20;
	c->exe = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	if (c->exe >= 0 && !lift(&c->exe))
		return rv_fail_errno(e, errno, "cannot keep our own binary open");
	c->page_fd = memfd_create("reeve-host", MFD_CLOEXEC);
	if (c->page_fd < 0 || ftruncate(c->page_fd, sizeof(struct rv_hp_page)) ||
		!lift(&c->page_fd))
		return rv_fail_errno(e, errno, "cannot make the page of the plugin host");
	p = mmap(
		NULL, sizeof(struct rv_hp_page), PROT_READ | PROT_WRITE, MAP_SHARED, c->page_fd, 0);
	if (p == MAP_FAILED)
		return rv_fail_errno(e, errno, "cannot map the page of the plugin host");
	c->page = p;
	return true;
}

void rv_channel_close(struct rv_channel *c)
{
	rv_channel_hang_up(c);
	rv_fd_close(&c->exe);
	rv_fd_close(&c->page_fd);
	if (c->page)
		munmap(c->page, sizeof(struct rv_hp_page));
	c->page = NULL;
	rv_buf_fini(&c->in);
	rv_buf_fini(&c->out);
}

/* In the child: only what the host needs, under the numbers that it expects. No secrets of ours come
   along with an exec: the environment is empty. */
static int child(const struct rv_channel *c, int theirs, int (*run)(int fd))
{
	char name[] = "reeve", verb[] = "--plugin-host", number[] = "3";
	char *argv[] = {name, verb, number, NULL}, *envp[] = {NULL};

	if (dup2(theirs, CHANNEL_FD) < 0 || dup2(c->page_fd, PAGE_FD) < 0)
		return 70;
	if (run)
		return run(CHANNEL_FD);
	fexecve(c->exe, argv, envp);
	return 70;
}

bool rv_channel_start(struct rv_channel *c, int (*run)(int fd), struct rv_err *e)
{
	sigset_t all, before;
	int pair[2], number;
	pid_t pid;

	if (!run && c->exe < 0)
		return rv_fail(
			e, RV_ERR_SYSTEM, "cannot start the plugin host: /proc is not mounted");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return rv_fail_errno(e, errno, "cannot start the plugin host: socket pair");
	if (!lift(&pair[0]) || !lift(&pair[1])) {
		number = errno;
		close(pair[0]);
		close(pair[1]);
		return rv_fail_errno(e, number, "cannot start the plugin host: descriptors");
	}
	c->page->since = 0;
	/* Handlers of ours must not run in the child: it shares pipes with us until it execs. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		_exit(child(c, pair[1], run));
	number = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return rv_fail_errno(e, number, "cannot start the plugin host: fork");
	}
	c->pid = pid;
	c->fd = pair[0];
	c->ended = c->nonsense = false;
	return true;
}

void rv_channel_hang_up(struct rv_channel *c)
{
	rv_fd_close(&c->fd);
	rv_buf_fini(&c->in);
	rv_buf_fini(&c->out);
	c->taken = 0;
	c->pid = 0;
}

void rv_channel_flush(struct rv_channel *c)
{
	size_t done = 0;

	while (c->fd >= 0 && done < c->out.len) {
		ssize_t n = send(
			c->fd, c->out.data + done, c->out.len - done, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			c->ended = true;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	rv_buf_drop(&c->out, done);
}

bool rv_channel_fill(struct rv_channel *c)
{
	ssize_t n;

	rv_buf_drop(&c->in, c->taken);
	c->taken = 0;
	if (c->fd < 0 || c->ended || !rv_buf_reserve(&c->in, 65536)) {
		c->ended = true;
		return false;
	}
	do
		n = recv(c->fd, c->in.data + c->in.len, 65536, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		c->in.len += (size_t)n;
	else if (n == 0 || errno != EAGAIN)
		c->ended = true;
	return n > 0;
}

enum rv_hp_got rv_channel_next(struct rv_channel *c, struct rv_arena *a, struct rv_hp_msg *m)
{
	size_t used;
	enum rv_hp_got got = RV_HP_MORE;

	if (c->taken < c->in.len)
		got = rv_hp_decode(c->in.data + c->taken, c->in.len - c->taken, a, m, &used);
	else
		used = 0;

	if (got == RV_HP_BAD)
		c->ended = c->nonsense = true;
	c->taken += used;
	if (c->taken == c->in.len) { /* no memory while nothing is on its way */
		rv_buf_fini(&c->in);
		c->taken = 0;
	}
	return got;
}

bool rv_channel_put_back(struct rv_channel *c, const struct rv_buf *frames)
{
	struct rv_buf in = {.max = c->in.max};
	size_t rest = c->in.len - c->taken; /* there may be no memory to point into */

	if (!rv_buf_add(&in, frames->data, frames->len) ||
		(rest && !rv_buf_add(&in, c->in.data + c->taken, rest))) {
		rv_buf_fini(&in);
		return false;
	}
	rv_buf_fini(&c->in);
	c->in = in;
	c->taken = 0;
	return true;
}

bool rv_channel_post(struct rv_channel *c, const struct rv_hp_msg *m)
{
	bool empty = !c->out.len;

	if (!rv_hp_encode(m, &c->out))
		return false;
	if (empty)
		rv_channel_flush(c);
	if (!c->out.len)
		rv_buf_fini(&c->out);
	return true;
}
