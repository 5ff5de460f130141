/* What a service writes: see capture.h.
 *
 *   pipe -> pull -> held (a line without its end) -> pass -> tail, followers, file or outlet
 *
 * One pass over the bytes: a block is read, cut behind its last newline, and handed on as it is. */
#include "daemon/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/lines.h"
#include "daemon/logfile.h"
#include "daemon/outlet.h"
#include "daemon/pipes.h"
#include "daemon/say.h"
#include "daemon/tail.h"
#include "sys/fd.h"

#define BLOCK	  65536 /* bytes of one read */
#define SHORT	  4096 /* a held piece up to this is moved in front of the next block */
#define TURN	  (4 * BLOCK) /* bytes of one stream in one turn of the loop */
#define OLD_MAX	  4 /* streams of earlier lives that are read on */
#define LEFT_OVER ((size_t)1 << 20) /* bytes read at most of what a life left in its pipe */

/* The reading end of one pipe. */
struct stream {
	struct stream *next;
	struct rv_capture *c;
	struct ev_io io;
	struct rv_lines lines;
	unsigned which; /* 0 stdout, 1 stderr */
	bool old; /* of an earlier life */
};

struct rv_follower {
	struct rv_follower *next;
	void (*more)(void *ctx, const char *bytes, size_t n); /* NULL: to be removed */
	void *ctx;
};

struct rv_capture {
	struct ev_loop *loop;
	const char *service;
	int kind; /* of rv_log_conf */
	struct rv_logfile file;
	struct rv_outlet *outlet[2];
	struct rv_tail tail;
	struct stream *streams; /* newest first */
	const struct stream *midway; /* whose overlong line is only begun */
	struct rv_follower *followers;
	bool telling; /* followers are being called */
	/* who waits for a line of this life; NULL: nobody */
	void (*watch)(void *ctx, unsigned which, const char *bytes, size_t n);
	void *watch_ctx;
	int child[2]; /* the child's ends, between begin and spawned */
	uid_t owner; /* of the pipes; (uid_t)-1: ours */
	uint64_t lost; /* to a slow outlet */
};

static void tell_followers(struct rv_capture *c, const char *bytes, size_t n)
{
	struct rv_follower **at = &c->followers, *f;

	c->telling = true;
	for (f = c->followers; f; f = f->next)
		if (f->more)
			f->more(f->ctx, bytes, n);
	c->telling = false;
	while ((f = *at)) {
		if (f->more) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		free(f);
	}
}

static void sink(struct rv_capture *c, unsigned which, const char *bytes, size_t n)
{
	rv_tail_add(&c->tail, which, bytes, n);
	if (c->kind == RV_LOG_FILE)
		rv_logfile_write(&c->file, bytes, n);
	else if (c->kind == RV_LOG_INHERIT)
		c->lost += rv_outlet_write(c->outlet[which], bytes, n);
	if (c->followers)
		tell_followers(c, bytes, n);
}

/* Whole lines, or a piece of one that is too long. */
static void pass(void *arg, const char *bytes, size_t n)
{
	const struct stream *s = arg;
	struct rv_capture *c = s->c;

	if (c->midway && c->midway != s)
		sink(c, c->midway->which, "\n", 1);
	c->midway = bytes[n - 1] == '\n' ? NULL : s;
	if (c->watch && !s->old)
		c->watch(c->watch_ctx, s->which, bytes, n);
	sink(c, s->which, bytes, n);
}

/* What has no newline gets one. */
static void end_line(struct stream *s)
{
	if (rv_lines_flush(&s->lines) || s->c->midway == s)
		pass(s, "\n", 1);
}

/* Reads once, at most `most` bytes. 0: the end; -1: errno. */
static ssize_t pull_once(struct stream *s, char *block, size_t most)
{
	const struct rv_buf *held = &s->lines.held;
	size_t before = held->len <= SHORT ? held->len : 0;
	ssize_t n = read(s->io.fd, block + SHORT, most);

	if (n <= 0)
		return n;
	if (before)
		memcpy(block + SHORT - before, held->data, before);
	rv_lines_take(&s->lines, block + SHORT - before, (size_t)n + before, before);
	return n;
}

enum pulled { PULLED_ALL, PULLED_SOME, PULLED_END };

/* Reads what is there, at most about `budget` bytes. hasty: a short read is taken for the last one, since
   the loop calls again when there is more. */
static enum pulled pull(struct stream *s, size_t budget, bool hasty)
{
	char small[SHORT + SHORT];
	rv_auto_free char *big = malloc(SHORT + BLOCK);
	char *block = big ? big : small;
	size_t most = big ? BLOCK : SHORT;
	size_t done = 0;

	while (done < budget) {
		ssize_t n = pull_once(s, block, most);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return PULLED_ALL;
		if (n <= 0)
			return PULLED_END;
		if (hasty && (size_t)n < most / 2)
			return PULLED_SOME;
		done += (size_t)n;
	}
	return PULLED_SOME;
}

/* The stream has ended, or is given up. */
static void stream_end(struct stream *s)
{
	struct rv_capture *c = s->c;
	struct stream **at = &c->streams;

	end_line(s);
	ev_io_stop(c->loop, &s->io);
	close(s->io.fd);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (c->midway == s)
		c->midway = NULL;
	rv_buf_fini(&s->lines.held);
	free(s);
}

static void on_readable(struct ev_loop *loop, struct ev_io *w, int events)
{
	struct stream *s = w->data;

	(void)loop;
	(void)events;
	if (pull(s, TURN, true) == PULLED_END)
		stream_end(s);
}

struct rv_capture *rv_capture_open(
	struct ev_loop *loop, const struct rv_log_conf *conf, const char *service, struct rv_err *e)
{
	struct rv_capture *c = calloc(1, sizeof(*c));

	if (!c) {
		rv_fail_errno(e, ENOMEM, "cannot capture the output of %s", service);
		return NULL;
	}
	c->loop = loop;
	c->service = service;
	c->kind = conf->kind;
	c->child[0] = c->child[1] = -1;
	c->owner = (uid_t)-1;
	if (c->kind == RV_LOG_FILE && !strcmp(conf->path, "/dev/null"))
		c->kind = RV_LOG_NULL;
	if (c->kind == RV_LOG_FILE && !rv_logfile_open(&c->file, conf, service, e))
		goto fail;
	if (c->kind == RV_LOG_INHERIT) {
		c->outlet[0] = rv_outlet_take(loop, STDOUT_FILENO);
		c->outlet[1] = rv_outlet_take(loop, STDERR_FILENO);
		if (!c->outlet[0] || !c->outlet[1]) {
			rv_fail_errno(e, ENOMEM, "cannot capture the output of %s", service);
			goto fail;
		}
	}
	return c;
fail:
	rv_capture_close(c);
	return NULL;
}

void rv_capture_close(struct rv_capture *c)
{
	if (!c)
		return;
	rv_capture_spawned(c);
	while (c->streams) {
		pull(c->streams, LEFT_OVER, false);
		stream_end(c->streams);
	}
	while (c->followers) {
		struct rv_follower *f = c->followers;

		c->followers = f->next;
		free(f);
	}
	rv_logfile_close(&c->file);
	rv_outlet_release(c->outlet[0]);
	rv_outlet_release(c->outlet[1]);
	rv_tail_fini(&c->tail);
	free(c);
}

void rv_capture_owner(struct rv_capture *c, uid_t uid)
{
	c->owner = uid;
}

void rv_capture_rebind(struct rv_capture *c, const struct rv_log_conf *conf, const char *service)
{
	c->service = service;
	if (c->kind == RV_LOG_FILE)
		rv_logfile_rebind(&c->file, conf, service);
}

void rv_capture_redirect(struct rv_capture *c, struct rv_capture *fresh)
{
	struct rv_capture old;

	rv_capture_drain(c); /* which may exchange the descriptor of its log */
	old = *c;
	c->service = fresh->service;
	c->kind = fresh->kind;
	c->file = fresh->file;
	c->owner = fresh->owner;
	memcpy(c->outlet, fresh->outlet, sizeof(c->outlet));
	fresh->service = old.service;
	fresh->kind = old.kind;
	fresh->file = old.file;
	memcpy(fresh->outlet, old.outlet, sizeof(fresh->outlet));
}

static bool open_pipe(struct rv_capture *c, unsigned which)
{
	struct stream *s = calloc(1, sizeof(*s));
	int fd[2];

	if (!s || !rv_pipe_take(fd)) {
		free(s);
		return false;
	}
	if (c->owner != (uid_t)-1 && fchown(fd[1], c->owner, (gid_t)-1))
		rv_say(RV_DEBUG, c->service, "cannot give away the pipe for its output");
	s->c = c;
	s->which = which;
	s->lines.pass = pass;
	s->lines.arg = s;
	ev_io_init(&s->io, on_readable, fd[0], EV_READ);
	/* What came on both in one turn: first what was said, then the complaint about it. */
	ev_set_priority(&s->io, which ? -1 : 0);
	s->io.data = s;
	ev_io_start(c->loop, &s->io);
	s->next = c->streams;
	c->streams = s;
	c->child[which] = fd[1];
	return true;
}

/* What is left of earlier lives: emptied, and read on while there are few. */
static void retire(struct rv_capture *c)
{
	struct stream *s, *next;
	unsigned kept = 0;

	for (s = c->streams; s; s = next) {
		next = s->next;
		s->old = true;
		if (pull(s, LEFT_OVER, false) == PULLED_END || ++kept > OLD_MAX)
			stream_end(s);
		else
			end_line(s);
	}
}

bool rv_capture_begin(struct rv_capture *c, int *out, int *err, struct rv_err *e)
{
	int number;

	rv_capture_spawned(c);
	retire(c);
	rv_tail_life(&c->tail);
	if (!open_pipe(c, 1) || !open_pipe(c, 0)) { /* stdout first in the list */
		number = errno;
		rv_capture_spawned(c);
		return rv_fail_errno(
			e, number, "cannot make a pipe for the output of %s", c->service);
	}
	*out = c->child[0];
	*err = c->child[1];
	return true;
}

void rv_capture_spawned(struct rv_capture *c)
{
	rv_fd_close(&c->child[0]);
	rv_fd_close(&c->child[1]);
}

void rv_capture_drain(struct rv_capture *c)
{
	struct stream *s, *next;

	for (s = c->streams; s; s = next) {
		next = s->next;
		if (pull(s, LEFT_OVER, false) == PULLED_END)
			stream_end(s);
		else
			end_line(s);
	}
}

/* Lines that are not finished yet: somebody who asks wants to see them too. */
static void add_held(const struct rv_capture *c, bool err_only, struct rv_buf *to)
{
	for (const struct stream *s = c->streams; s; s = s->next) {
		if (!s->lines.held.len || (err_only && (s->which == 0 || s->old)))
			continue;
		rv_buf_add(to, s->lines.held.data, s->lines.held.len);
		rv_buf_str(to, "\n");
	}
}

static void find_tail(const struct rv_capture *c, size_t lines, size_t bytes, bool err_only,
	bool held, struct rv_buf *to)
{
	struct rv_buf all = {0};
	size_t from;

	rv_tail_read(&c->tail, err_only, &all);
	if (held)
		add_held(c, err_only, &all);
	if (all.len) {
		from = rv_tail_cut(all.data, all.len, lines, bytes);
		rv_buf_add(to, all.data + from, all.len - from);
	}
	rv_buf_fini(&all);
}

void rv_capture_tail(
	const struct rv_capture *c, size_t lines, size_t bytes, bool err_only, struct rv_buf *to)
{
	find_tail(c, lines, bytes, err_only, true, to);
}

void rv_capture_tail_whole(
	const struct rv_capture *c, size_t lines, size_t bytes, struct rv_buf *to)
{
	find_tail(c, lines, bytes, false, false, to);
}

bool rv_capture_read_back(const struct rv_capture *c, size_t lines, size_t bytes, struct rv_buf *to)
{
	return c->kind == RV_LOG_FILE && rv_logfile_read_back(&c->file, lines, bytes, to);
}

struct rv_follower *rv_capture_follow(
	struct rv_capture *c, void (*more)(void *ctx, const char *bytes, size_t n), void *ctx)
{
	struct rv_follower *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->more = more;
	f->ctx = ctx;
	f->next = c->followers;
	c->followers = f;
	return f;
}

void rv_capture_unfollow(struct rv_capture *c, struct rv_follower *f)
{
	struct rv_follower **at = &c->followers;

	if (c->telling) {
		f->more = NULL; /* removed when all have been told */
		return;
	}
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	free(f);
}

void rv_capture_watch(struct rv_capture *c,
	void (*line)(void *ctx, unsigned which, const char *bytes, size_t n), void *ctx)
{
	c->watch = line;
	c->watch_ctx = ctx;
}

uint64_t rv_capture_lost(const struct rv_capture *c)
{
	return c->lost + (c->kind == RV_LOG_FILE ? c->file.lost : 0);
}
