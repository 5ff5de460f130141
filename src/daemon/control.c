/* Connections of the control socket: see control.h and ctl.h. */
#include "daemon/control.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/ctl.h"
#include "daemon/ident.h"
#include "daemon/reload.h"

#define KEEP_ROOM (64 * 1024) /* an empty output buffer larger than this is given back */

void rv_conn_close(struct rv_conn *c)
{
	struct rv_control *k = c->control;
	size_t i = 0;

	rv_wait_drop(c);
	rv_give_drop(c);
	rv_reload_forget(c);
	rv_env_drop(c);
	rv_logs_drop(c);
	rv_events_drop(c);
	ev_io_stop(k->loop, &c->in);
	ev_io_stop(k->loop, &c->out);
	close(c->fd);
	rv_buf_fini(&c->input);
	rv_buf_fini(&c->output);
	while (k->conns[i] != c)
		i++;
	k->conns[i] = k->conns[--k->count];
	k->others -= !c->admin;
	free(c);
	rv_door_left(k);
}

/* The loop closes it. */
static void fail(struct rv_conn *c)
{
	c->broken = true;
	ev_feed_event(c->control->loop, &c->out, EV_WRITE);
}

/* What has left makes room, or a client that always has something pending would use up the buffer. */
static bool compact(struct rv_conn *c, int number)
{
	if (c->sent > rv_conn_pending(c)) {
		rv_buf_drop(&c->output, c->sent);
		c->sent = 0;
	}
	return number == EAGAIN;
}

/* False: the peer is gone. */
static bool send_some(struct rv_conn *c)
{
	while (rv_conn_pending(c)) {
		ssize_t n = send(c->fd, c->output.data + c->sent, rv_conn_pending(c),
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return compact(c, errno);
		c->sent += (size_t)n;
	}
	c->sent = 0;
	if (c->output.room > KEEP_ROOM)
		rv_buf_fini(&c->output);
	else
		rv_buf_clear(&c->output);
	return true;
}

void rv_conn_flush(struct rv_conn *c)
{
	if (c->broken)
		return;
	c->last = ev_now(c->control->loop);
	if (c->output.full || !send_some(c)) { /* an answer without its end is worth nothing */
		fail(c);
		return;
	}
	if (rv_conn_pending(c))
		ev_io_start(c->control->loop, &c->out);
	else
		ev_io_stop(c->control->loop, &c->out);
}

static void refuse(struct rv_conn *c, enum rv_rpc_code code, const char *text)
{
	struct rv_rpc_error e;

	rv_rpc_fail(&e, code, "%s", text);
	rv_rpc_put_error(&c->output, "null", &e, NULL, 0);
	c->refused = true;
}

/* Handles complete lines until the output is too full; returns the bytes that are done with. */
static size_t eat_lines(struct rv_conn *c, const char *bytes, size_t n)
{
	size_t done = 0;

	while (done < n && !c->refused && !c->broken && rv_conn_pending(c) < RV_CONN_HIGH) {
		const char *line = bytes + done;
		const char *end = memchr(line, '\n', n - done);
		size_t len = end ? (size_t)(end - line) : n - done;

		if (len > RV_RPC_LINE_MAX) {
			refuse(c, RV_RPC_INVALID, "a request may have at most 65536 bytes");
			break;
		}
		if (!end)
			break;
		if (len)
			rv_verb_line(c, line, len);
		done += len + 1;
	}
	return done;
}

/* True when there is nothing to wait for any more. */
static bool is_over(const struct rv_conn *c)
{
	if (rv_conn_pending(c))
		return false;
	return c->refused || (c->ended && !c->waits && !c->follows && !c->onlooker);
}

/* After whatever happened: sends, goes on with lines that had to wait, closes what is over. */
static void settle(struct rv_conn *c)
{
	size_t n;
	bool full;

	do {
		rv_conn_flush(c);
		n = c->input.len ? eat_lines(c, c->input.data, c->input.len) : 0;
		rv_buf_drop(&c->input, n);
	} while (n);
	if (rv_conn_pending(c)) /* the last line was refused */
		rv_conn_flush(c);
	if (c->broken || is_over(c)) {
		rv_conn_close(c);
		return;
	}
	full = rv_conn_pending(c) >= RV_CONN_HIGH;
	if (c->ended || c->refused || full)
		ev_io_stop(c->control->loop, &c->in);
	else
		ev_io_start(c->control->loop, &c->in);
}

/* Whole lines are handled where they lie; only a rest is copied. */
static void feed(struct rv_conn *c, const char *bytes, size_t n)
{
	size_t done = c->input.len ? 0 : eat_lines(c, bytes, n);

	if (done < n && !rv_buf_add(&c->input, bytes + done, n - done))
		c->broken = true;
	settle(c);
}

/* The peer sends no more. It may still read (half-closed: printf | nc), or be gone altogether. */
static void on_end(struct rv_conn *c)
{
	struct pollfd p = {.fd = c->fd};

	c->ended = true;
	if (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)))
		c->broken = true;
	else if (c->input.len)
		rv_buf_str(&c->input, "\n"); /* a last line without its newline */
	settle(c);
}

static void on_input(struct ev_loop *loop, ev_io *w, int events)
{
	struct rv_conn *c = w->data;
	struct rv_control *k = c->control;
	ssize_t n = recv(c->fd, k->scratch, sizeof(k->scratch), MSG_DONTWAIT);

	(void)loop, (void)events;
	if (n > 0)
		feed(c, k->scratch, (size_t)n);
	else if (n == 0)
		on_end(c);
	else if (errno != EAGAIN && errno != EINTR)
		rv_conn_close(c);
}

static void on_output(struct ev_loop *loop, ev_io *w, int events)
{
	struct rv_conn *c = w->data;

	(void)loop, (void)events;
	rv_conn_flush(c);
	if (!c->broken && !rv_conn_pending(c))
		rv_logs_drained(c);
	if (!c->broken && !rv_conn_pending(c))
		rv_events_tell(c);
	settle(c);
}

bool rv_conn_open(struct rv_control *k, int fd, uid_t uid, bool admin)
{
	struct rv_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return false;
	c->control = k;
	c->fd = fd;
	c->admin = admin;
	c->uid = uid;
	c->last = ev_now(k->loop);
	c->input.max = sizeof(k->scratch) + RV_RPC_LINE_MAX + 2;
	ev_io_init(&c->in, on_input, fd, EV_READ);
	ev_io_init(&c->out, on_output, fd, EV_WRITE);
	c->in.data = c->out.data = c;
	ev_io_start(k->loop, &c->in);
	k->conns[k->count++] = c;
	k->others += !admin;
	return true;
}

static void on_judge(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop, (void)events;
	rv_wait_judge(w->data);
}

/* Looking is put off to the next turn: the engine is in the middle of its own. */
static void on_change(struct rv_watcher *w, rv_id id)
{
	struct rv_control *k = (struct rv_control *)((char *)w -
		offsetof(struct rv_control, watcher));

	(void)id;
	for (size_t i = 0; i < k->count; i++)
		rv_events_tell(k->conns[i]);
	for (size_t i = 0; k->replaced && i < k->count; i++)
		rv_logs_replaced(k->conns[i]);
	k->replaced = false;
	if (k->waits)
		ev_timer_start(k->loop, &k->judge);
}

static void on_replacing(struct rv_watcher *w, const struct rv_replacing *r)
{
	struct rv_control *k = (struct rv_control *)((char *)w -
		offsetof(struct rv_control, watcher));

	if (!r->given_up)
		rv_wait_replacing(k, r);
	rv_reload_replacing(k, r);
	for (size_t i = 0; !r->given_up && i < k->count; i++) {
		rv_logs_replacing(k->conns[i], r);
		rv_events_replacing(k->conns[i], r);
	}
	k->replaced = !r->given_up;
}

static bool find_owner(struct rv_control *k, const struct rv_conf *conf, struct rv_err *e)
{
	struct rv_place at = conf->control_at;

	k->perm = (struct rv_ctlsock_perm){
		.mode = conf->control_mode, .uid = (uid_t)-1, .gid = (gid_t)-1};
	if (!conf->control_owner && !conf->control_group)
		return true;
	if (rv_ident_owner(conf->control_owner, conf->control_group, &k->perm.uid, &k->perm.gid, e))
		return true;
	if (at.file && *at.file)
		return rv_fail_in(e, "%s:%u:%u: reeve.control", at.file, at.line, at.column);
	return rv_fail_in(e, "reeve.control");
}

struct rv_control *rv_control_create(
	struct ev_loop *loop, struct rv_engine *engine, struct rv_err *e)
{
	const struct rv_conf *conf = rv_engine_conf(engine);
	struct rv_control *k = calloc(1, sizeof(*k));

	if (!k) {
		rv_fail(e, RV_ERR_SYSTEM, "cannot open the control socket: out of memory");
		return NULL;
	}
	k->loop = loop;
	k->engine = engine;
	if (!find_owner(k, conf, e) ||
		!rv_ctlsock_open(&k->sock, conf->runtime_dir, &k->perm, false, e)) {
		free(k);
		return NULL;
	}
	ev_timer_init(&k->judge, on_judge, 0., 0.);
	k->judge.data = k;
	rv_door_open(k);
	k->watcher.changed = on_change;
	k->watcher.replacing = on_replacing;
	rv_engine_watch(engine, &k->watcher);
	return k;
}

void rv_control_files(struct rv_control *k, const struct rv_load *files)
{
	k->load = files;
}

bool rv_control_restore(struct rv_control *k, struct rv_err *e)
{
	struct rv_ctlsock fresh = {.fd = -1};

	if (rv_ctlsock_is_ours(&k->sock))
		return true;
	if (!rv_ctlsock_open(&fresh, rv_engine_conf(k->engine)->runtime_dir, &k->perm, true, e))
		return false;
	rv_door_close(k);
	rv_ctlsock_close(&k->sock);
	k->sock = fresh;
	rv_door_open(k);
	return true;
}

void rv_control_destroy(struct rv_control *k)
{
	if (!k)
		return;
	rv_wait_end(k);
	rv_reload_end(k);
	rv_env_refuse_all(k);
	rv_engine_unwatch(k->engine, &k->watcher);
	rv_door_close(k);
	ev_timer_stop(k->loop, &k->judge);
	rv_ctlsock_close(&k->sock);
	while (k->count) {
		send_some(k->conns[0]);
		rv_conn_close(k->conns[0]);
	}
	free(k);
}
