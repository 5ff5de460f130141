/* The method `logs`: tails, and lines as they come. See ctl.h.
 *
 * A slow reader never blocks anything: past RV_CONN_FOLLOW_MAX pending bytes its lines are dropped and counted,
 * and it is told how many bytes it missed as soon as it reads again. */
#include "daemon/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/ctl.h"
#include "daemon/reload.h"
#include "wire/json.h"

#define TAIL_MAX ((size_t)1 << 20) /* bytes of one service */
#define TAIL_ALL ((size_t)8 << 20) /* of all in one answer, which is made in memory, in one turn */

struct rv_follow {
	struct rv_follow *next;
	struct rv_conn *conn;
	rv_id of;
	struct rv_capture *capture;
	struct rv_follower *handle;
	char *name;
	char id[RV_RPC_ID_MAX];
	uint64_t lost; /* bytes, not told yet */
};

static void put_note(struct rv_follow *f)
{
	struct rv_buf *out = &f->conn->output;

	RV_JSON_LIT(out, "{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":{\"id\":");
	rv_buf_str(out, f->id);
	RV_JSON_LIT(out, ",\"name\":");
	rv_json_str(out, f->name);
	RV_JSON_LIT(out, ",");
}

static void tell_lost(struct rv_follow *f)
{
	if (!f->lost)
		return;
	put_note(f);
	RV_JSON_LIT(&f->conn->output, "\"lost\":");
	rv_json_int(&f->conn->output, (int64_t)f->lost);
	RV_JSON_LIT(&f->conn->output, "}}\n");
	f->lost = 0;
}

/* Called by the capture, in the middle of its work: only appends; the loop sends. */
static void on_more(void *ctx, const char *bytes, size_t n)
{
	struct rv_follow *f = ctx;
	struct rv_conn *c = f->conn;

	if (c->broken)
		return;
	if (rv_conn_pending(c) + n > RV_CONN_FOLLOW_MAX) {
		f->lost += n;
		return;
	}
	tell_lost(f);
	put_note(f);
	rv_json_bytes(&c->output, bytes, n);
	RV_JSON_LIT(&c->output, "}}\n");
	ev_io_start(c->control->loop, &c->out);
}

void rv_logs_drained(struct rv_conn *c)
{
	for (struct rv_follow *f = c->follows; f; f = f->next)
		tell_lost(f);
}

static bool follow(struct rv_conn *c, const char *request, rv_id id)
{
	struct rv_capture *capture = rv_engine_capture(c->control->engine, id);
	struct rv_follow *f;

	if (!capture)
		return true; /* it logs nowhere */
	f = calloc(1, sizeof(*f));
	if (!f)
		return false;
	f->conn = c;
	f->of = id;
	f->capture = capture;
	f->name = strdup(rv_engine_name(c->control->engine, id));
	snprintf(f->id, sizeof(f->id), "%s", request);
	if (f->name)
		f->handle = rv_capture_follow(capture, on_more, f);
	if (!f->handle) {
		free(f->name);
		free(f);
		return false;
	}
	f->next = c->follows;
	c->follows = f;
	return true;
}

void rv_logs_drop(struct rv_conn *c)
{
	free(c->follows_all);
	c->follows_all = NULL;
	while (c->follows) {
		struct rv_follow *f = c->follows;

		c->follows = f->next;
		rv_capture_unfollow(f->capture, f->handle);
		free(f->name);
		free(f);
	}
}

/* What was removed is not followed any more, and who followed nothing else has heard all. */
void rv_logs_replacing(struct rv_conn *c, const struct rv_replacing *r)
{
	struct rv_follow **at = &c->follows, *f;
	bool any = c->follows;

	while ((f = *at)) {
		if (r->change[f->of] != RV_REMOVED) {
			at = &f->next;
			continue;
		}
		tell_lost(f);
		*at = f->next;
		rv_capture_unfollow(f->capture, f->handle);
		free(f->name);
		free(f);
	}
	if (!any || c->follows || c->follows_all)
		return;
	c->refused = true;
	ev_io_start(c->control->loop, &c->out);
}

static bool is_followed(const struct rv_conn *c, rv_id id)
{
	for (const struct rv_follow *f = c->follows; f; f = f->next)
		if (f->of == id)
			return true;
	return false;
}

void rv_logs_replaced(struct rv_conn *c)
{
	struct rv_engine *g = c->control->engine;

	if (!c->follows_all)
		return;
	for (rv_id id = 0; id < rv_engine_slots(g); id++)
		if (rv_engine_name(g, id) && !is_followed(c, id))
			follow(c, c->follows_all, id);
}

static size_t lines_in(const struct rv_buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += b->data[i] == '\n';
	return n;
}

/* Memory first; the file when that is not enough. */
static void find_tail(const struct rv_capture *capture, const struct rv_request *r, size_t most,
	struct rv_buf *to)
{
	uint32_t lines = r->lines;
	struct rv_buf older = {0};

	if (r->follow)
		rv_capture_tail_whole(capture, lines, most, to);
	else
		rv_capture_tail(capture, lines, most, false, to);
	if ((!lines || lines_in(to) < lines) &&
		rv_capture_read_back(capture, lines, most, &older) && older.len > to->len) {
		rv_buf_fini(to);
		*to = older;
		return;
	}
	rv_buf_fini(&older);
}

static void put_tail(struct rv_conn *c, const struct rv_request *r, rv_id id, size_t most)
{
	struct rv_capture *capture = rv_engine_capture(c->control->engine, id);
	struct rv_buf *out = &c->output;
	struct rv_buf tail = {0};

	if (capture)
		find_tail(capture, r, most, &tail);
	RV_JSON_LIT(out, "{\"name\":");
	rv_json_str(out, rv_engine_name(c->control->engine, id));
	RV_JSON_LIT(out, ",");
	rv_json_bytes(out, rv_buf_text(&tail), tail.len);
	RV_JSON_LIT(out, ",\"lost\":");
	rv_json_int(out, capture ? (int64_t)rv_capture_lost(capture) : 0);
	RV_JSON_LIT(out, "}");
	rv_buf_fini(&tail);
}

/* Tail and following happen in one turn, so that no line is missing or told twice between them. */
void rv_logs(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_buf *out = &c->output;
	bool ok = true;
	size_t n, most;
	rv_id *ids;

	if (r->follow && (c->follows || c->follows_all)) {
		rv_verb_error(c, r, RV_RPC_REFUSED, "this connection follows logs already");
		return;
	}
	if (!rv_verb_resolve(c, r, &ids, &n))
		return;
	for (size_t i = 0; r->follow && ok && i < n; i++)
		ok = follow(c, r->id, ids[i]);
	if (!ok) {
		rv_logs_drop(c);
		rv_verb_error(c, r, RV_RPC_INTERNAL, "out of memory");
		free(ids);
		return;
	}
	if (r->follow && !r->name_count)
		c->follows_all = strdup(r->id);
	most = n > TAIL_ALL / TAIL_MAX ? TAIL_ALL / n : TAIL_MAX;
	rv_rpc_begin(out, r->id);
	RV_JSON_LIT(out, "{\"services\":[");
	for (size_t i = 0; i < n; i++) {
		if (i)
			RV_JSON_LIT(out, ",");
		put_tail(c, r, ids[i], most);
	}
	RV_JSON_LIT(out, "]}");
	rv_rpc_end(out);
	free(ids);
}
