/* A command run for its exit status: see trial.h. */
#include "daemon/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/fd.h"

enum { LINE_SHOWN = 300 };

/* Keeps the end of what came. */
static void keep(struct rv_trial *t, const char *bytes, size_t n)
{
	size_t over;

	if (!t->output && !(t->output = malloc(RV_TRIAL_KEPT)))
		return;
	if (n > RV_TRIAL_KEPT) {
		bytes += n - RV_TRIAL_KEPT;
		n = RV_TRIAL_KEPT;
	}
	over = t->kept + n > RV_TRIAL_KEPT ? t->kept + n - RV_TRIAL_KEPT : 0;
	memmove(t->output, t->output + over, t->kept - over);
	t->kept -= over;
	memcpy(t->output + t->kept, bytes, n);
	t->kept += n;
}

static void close_output(struct rv_trial *t)
{
	int fd = t->io.fd;

	if (fd < 0)
		return;
	ev_io_stop(t->loop, &t->io);
	ev_io_set(&t->io, -1, EV_READ);
	close(fd);
}

/* Reads what is there, at most 64 KiB: what is written for ever is read a little in each turn. */
static void drain(struct rv_trial *t)
{
	char bytes[4096];

	for (int i = 0; i < 16 && t->io.fd >= 0; i++) {
		ssize_t n = read(t->io.fd, bytes, sizeof(bytes));

		if (n > 0)
			keep(t, bytes, (size_t)n);
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			close_output(t);
		else if (errno == EAGAIN)
			return;
	}
}

static void on_readable(struct ev_loop *loop, struct ev_io *w, int events)
{
	(void)loop;
	(void)events;
	drain(w->data);
}

static void on_end(void *arg, pid_t pid, rv_exit how)
{
	struct rv_trial *t = arg;

	(void)pid;
	t->pid = 0;
	drain(t);
	close_output(t);
	t->ended(t->arg, how);
}

void rv_trial_init(struct rv_trial *t, struct ev_loop *loop, struct rv_reaper *reaper,
	void (*ended)(void *arg, rv_exit how), void *arg)
{
	*t = (struct rv_trial){.loop = loop, .reaper = reaper, .ended = ended, .arg = arg};
	ev_io_init(&t->io, on_readable, -1, EV_READ);
	t->io.data = t;
}

bool rv_trial_start(struct rv_trial *t, const struct rv_spawn *context, const char *const *argv,
	struct rv_err *e)
{
	struct rv_spawn s = *context;
	rv_auto_fd ours = -1, theirs = -1;
	struct rv_spawned out;
	int fd[2];

	t->kept = 0;
	if (pipe2(fd, O_CLOEXEC))
		return rv_fail_errno(e, errno, "cannot make a pipe for the output of %s", argv[0]);
	ours = fd[0];
	theirs = fd[1];
	s.argv = argv;
	s.out = s.err = theirs;
	s.fds = NULL;
	s.fd_count = 0;
	if (!rv_fd_nonblock(ours, true))
		return rv_fail_errno(e, errno, "cannot make a pipe for the output of %s", argv[0]);
	if (!rv_spawn(&s, &out, e))
		return false;
	t->pid = out.pid;
	ev_io_set(&t->io, rv_fd_steal(&ours), EV_READ);
	ev_io_start(t->loop, &t->io);
	rv_reaper_add_helper(t->reaper, t->pid, on_end, t);
	return true;
}

void rv_trial_stop(struct rv_trial *t)
{
	if (t->pid)
		rv_reaper_drop_helper(t->reaper, t->pid, true);
	t->pid = 0;
	close_output(t);
	free(t->output);
	t->output = NULL;
	t->kept = 0;
}

void rv_trial_last_line(const struct rv_trial *t, struct rv_buf *to)
{
	size_t end = t->kept, start;
	bool cut;

	while (end && strchr(" \t\r\n", t->output[end - 1]))
		end--;
	for (start = end; start && t->output[start - 1] != '\n';)
		start--;
	cut = end - start > LINE_SHOWN;
	if (cut)
		end = start + LINE_SHOWN;
	while (cut && end > start && ((unsigned char)t->output[end] & 0xc0) == 0x80)
		end--; /* whole characters */
	if (end > start)
		rv_text_visible(to, t->output + start, end - start);
	rv_buf_str(to, cut ? "…" : "");
}
