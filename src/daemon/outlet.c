/* reeve's own stdout and stderr as sinks that never block: see outlet.h. */
#include "daemon/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

enum way {
	WAY_FILE, /* write: a file does not make us wait */
	WAY_OWN, /* write to a description of our own, which is non-blocking */
	WAY_SOCKET, /* send */
	WAY_POLL, /* what cannot be opened again: a page at a time when poll says so */
};

struct rv_outlet {
	struct ev_loop *loop;
	struct ev_io io;
	int fd; /* 1 or 2, or our own description of it */
	enum way way;
	unsigned users;
	int number; /* 1 or 2 */
	struct rv_buf held; /* what the reader did not take yet */
	uint64_t gap; /* bytes lost and not told to the reader yet */
	int error; /* why */
};

/* The process has one stdout and one stderr: this is their state, not ours. */
static struct rv_outlet *outlets[3];

static enum way choose_way(struct rv_outlet *o, const struct stat *st)
{
	char path[32];
	int own;

	if (S_ISREG(st->st_mode))
		return WAY_FILE;
	if (S_ISSOCK(st->st_mode))
		return WAY_SOCKET;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", o->number);
	own = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (own < 0)
		return WAY_POLL;
	o->fd = own;
	return WAY_OWN;
}

/* One attempt; -1 and EAGAIN when the reader is slow. */
static ssize_t put_once(struct rv_outlet *o, const char *bytes, size_t n)
{
	struct pollfd p = {.fd = o->fd, .events = POLLOUT};

	if (o->way == WAY_SOCKET)
		return send(o->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (o->way != WAY_POLL)
		return write(o->fd, bytes, n);
	if (poll(&p, 1, 0) != 1) {
		errno = EAGAIN;
		return -1;
	}
	return write(o->fd, bytes, n);
}

/* A piece that a pipe takes whole or not at all, cut after a line where there is one, so that others who
   write to the same pipe do not get inside a line. */
static size_t piece(const struct rv_outlet *o, const char *bytes, size_t n)
{
	const char *end;

	if (o->way == WAY_FILE || n <= PIPE_BUF)
		return n;
	end = memrchr(bytes, '\n', PIPE_BUF);
	return end ? (size_t)(end - bytes) + 1 : PIPE_BUF;
}

/* Returns how much was taken; less than n: errno holds why. */
static size_t put(struct rv_outlet *o, const char *bytes, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t w = put_once(o, bytes + done, piece(o, bytes + done, n - done));

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			break;
		done += (size_t)w;
	}
	return done;
}

static void watch(struct rv_outlet *o, bool on)
{
	if (o->way == WAY_FILE)
		return;
	if (on)
		ev_io_start(o->loop, &o->io);
	else
		ev_io_stop(o->loop, &o->io);
}

static void tell_gap(struct rv_outlet *o)
{
	char note[200];
	int n;

	if (!o->gap || o->held.len)
		return;
	n = snprintf(note, sizeof(note), "reeve: %" PRIu64 " bytes were lost here: %s\n", o->gap,
		o->error == EAGAIN ? "the reader is too slow" : strerror(o->error));
	if (put(o, note, (size_t)n) == (size_t)n)
		o->gap = 0;
}

static void flush(struct rv_outlet *o)
{
	size_t done = put(o, rv_buf_text(&o->held), o->held.len);

	if (done < o->held.len && errno != EAGAIN) {
		o->error = errno;
		o->gap += o->held.len - done;
		done = o->held.len;
	}
	rv_buf_drop(&o->held, done);
	if (!o->held.len)
		rv_buf_fini(&o->held);
	tell_gap(o);
	watch(o, o->held.len > 0);
}

static void on_writable(struct ev_loop *loop, struct ev_io *w, int events)
{
	(void)loop;
	(void)events;
	flush(w->data);
}

struct rv_outlet *rv_outlet_take(struct ev_loop *loop, int fd)
{
	struct rv_outlet *o = outlets[fd], *other = outlets[3 - fd];
	struct stat st = {0}, st2;
	bool there = !fstat(fd, &st);

	if (!o && other && there && !fstat(3 - fd, &st2) && st.st_dev == st2.st_dev &&
		st.st_ino == st2.st_ino)
		o = other;
	if (!o) {
		o = calloc(1, sizeof(*o));
		if (!o)
			return NULL;
		o->loop = loop;
		o->fd = o->number = fd;
		o->held.max = RV_OUTLET_HELD;
		o->way = choose_way(o, &st);
		ev_io_init(&o->io, on_writable, o->fd, EV_WRITE);
		o->io.data = o;
	}
	outlets[fd] = o;
	o->users++;
	return o;
}

void rv_outlet_release(struct rv_outlet *o)
{
	if (!o || --o->users)
		return;
	if (o->held.len)
		flush(o);
	watch(o, false);
	if (o->way == WAY_OWN)
		close(o->fd);
	rv_buf_fini(&o->held);
	for (int i = 1; i <= 2; i++)
		if (outlets[i] == o)
			outlets[i] = NULL;
	free(o);
}

size_t rv_outlet_write(struct rv_outlet *o, const char *bytes, size_t n)
{
	size_t done = 0;

	if (o->held.len)
		flush(o);
	tell_gap(o);
	if (!o->held.len && !o->gap)
		done = put(o, bytes, n);
	else
		errno = EAGAIN;
	if (done == n)
		return 0;
	o->error = errno;
	/* Once something is lost, all is, until the reader has been told. */
	if (!o->gap && errno == EAGAIN && rv_buf_add(&o->held, bytes + done, n - done)) {
		watch(o, true);
		return 0;
	}
	o->held.full = false;
	o->gap += n - done;
	return n - done;
}
