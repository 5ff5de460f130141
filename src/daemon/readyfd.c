/* A newline on a pipe is ready: see readyfd.h. */
#include "daemon/readyfd.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/pipes.h"
#include "sys/fd.h"

/* A process that ends closes its descriptors first: its exit, which says more, gets this many seconds to
   come before the closed descriptor is taken for an answer. */
#define CLOSED_GRACE 0.1

static void close_ours(struct rv_readyfd *r)
{
	int fd = r->io.fd;

	if (fd < 0)
		return;
	ev_io_stop(r->loop, &r->io);
	ev_io_set(&r->io, -1, EV_READ);
	close(fd);
}

static void on_grace(struct ev_loop *loop, struct ev_timer *w, int events)
{
	struct rv_readyfd *r = w->data;

	(void)loop;
	(void)events;
	r->told = RV_TOLD_FAILED;
	r->changed(r->arg);
}

static void on_close(struct rv_readyfd *r)
{
	close_ours(r);
	if (r->told != RV_TOLD_NOTHING)
		return;
	r->told = RV_TOLD_CLOSED;
	ev_now_update(r->loop);
	ev_timer_set(&r->grace, CLOSED_GRACE, 0.);
	ev_timer_start(r->loop, &r->grace);
}

/* Once ready has been told, what else comes is read and forgotten. */
static void on_readable(struct ev_loop *loop, struct ev_io *w, int events)
{
	struct rv_readyfd *r = w->data;
	char bytes[512];
	ssize_t n = read(w->fd, bytes, sizeof(bytes));

	(void)loop;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		on_close(r);
		return;
	}
	if (r->told != RV_TOLD_NOTHING || !memchr(bytes, '\n', (size_t)n))
		return;
	r->told = RV_TOLD_READY;
	r->changed(r->arg);
}

void rv_readyfd_init(
	struct rv_readyfd *r, struct ev_loop *loop, void (*changed)(void *arg), void *arg)
{
	*r = (struct rv_readyfd){.loop = loop, .child = -1, .changed = changed, .arg = arg};
	ev_io_init(&r->io, on_readable, -1, EV_READ);
	ev_timer_init(&r->grace, on_grace, 0., 0.);
	r->io.data = r->grace.data = r;
}

bool rv_readyfd_open(struct rv_readyfd *r)
{
	int fd[2];

	if (!rv_pipe_take(fd))
		return false;
	ev_io_set(&r->io, fd[0], EV_READ);
	ev_io_start(r->loop, &r->io);
	r->child = fd[1];
	return true;
}

void rv_readyfd_close(struct rv_readyfd *r)
{
	rv_fd_close(&r->child);
	close_ours(r);
	ev_timer_stop(r->loop, &r->grace);
}
