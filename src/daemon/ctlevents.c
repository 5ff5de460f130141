/* The method `events`: what has happened, and what happens from then on. See ctl.h.
 *
 * A follower is a number in the history: how far it was told. It holds no bytes of its own. One that does not read
 * falls behind, and what the history has dropped by then it is told as a count. */
#include "daemon/control.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "daemon/ctl.h"
#include "daemon/reload.h"
#include "sys/clock.h"
#include "wire/json.h"

struct rv_onlooker {
	char id[RV_RPC_ID_MAX];
	uint64_t next; /* number of the first event that was not told */
	size_t count; /* services that it asked for; 0: all, and the boot */
	rv_id ids[];
};

static bool is_meant(const struct rv_happening *n, const rv_id *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] == n->id)
			return true;
	return !count;
}

/* What a service wrote may be in the detail: that is the admin's. */
static void put_event(struct rv_conn *c, uint64_t number)
{
	struct rv_engine *g = c->control->engine;
	const struct rv_happening *n = rv_history_get(rv_engine_history(g), number);
	static const char *const words[] = {/* by enum rv_happened */
		NULL, "paused", "resumed", "reloaded", "environment", "environment-failed", "alive",
		"unclear", "lost"};
	const char *name = n->id < rv_engine_slots(g) ? rv_engine_name(g, n->id) : NULL;
	struct rv_rpc_event e = {.number = number,
		.word = words[n->word],
		.wall = rv_wall() - (rv_now() - n->at),
		.at = n->at - rv_engine_started(g),
		.name = n->id == RV_NO_ID ? NULL
			: n->name	  ? n->name
			: name		  ? name
					  : "",
		.boot = rv_boot_name((enum rv_boot)n->boot),
		.state = (enum rv_state)n->state,
		.pid = n->pid,
		.generation = n->generation,
		.exit = n->exit,
		.why = rv_why_text((enum rv_why)n->why),
		.other = n->other_name			? n->other_name
			: n->other < rv_engine_slots(g) ? rv_engine_name(g, n->other)
							: NULL,
		.detail = c->admin ? n->detail : ""};

	rv_rpc_put_event(&c->output, &e);
}

static void put_note(struct rv_conn *c)
{
	RV_JSON_LIT(&c->output, "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"id\":");
	rv_buf_str(&c->output, c->onlooker->id);
}

static void tell_lost(struct rv_conn *c, uint64_t lost)
{
	put_note(c);
	RV_JSON_LIT(&c->output, ",\"lost\":");
	rv_json_int(&c->output, (int64_t)lost);
	RV_JSON_LIT(&c->output, "}}\n");
}

/* May be called from the middle of the engine's turn: only appends; the loop sends. */
void rv_events_tell(struct rv_conn *c)
{
	const struct rv_history *h = rv_engine_history(c->control->engine);
	struct rv_onlooker *o = c->onlooker;

	if (!o || c->broken || o->next == h->count)
		return;
	if (rv_conn_pending(c) <= RV_CONN_FOLLOW_MAX && o->next < rv_history_first(h)) {
		tell_lost(c, rv_history_first(h) - o->next);
		o->next = rv_history_first(h);
	}
	while (o->next < h->count && rv_conn_pending(c) <= RV_CONN_FOLLOW_MAX) {
		uint64_t number = o->next++;

		if (!is_meant(rv_history_get(h, number), o->ids, o->count))
			continue;
		put_note(c);
		RV_JSON_LIT(&c->output, ",\"event\":");
		put_event(c, number);
		RV_JSON_LIT(&c->output, "}}\n");
	}
	if (rv_conn_pending(c))
		ev_io_start(c->control->loop, &c->out);
}

void rv_events_drop(struct rv_conn *c)
{
	free(c->onlooker);
	c->onlooker = NULL;
}

/* Of the service that had this slot nothing comes any more, and it does not mean who has it next. */
#define NOBODY (RV_GONE_ID - 1)

void rv_events_replacing(struct rv_conn *c, const struct rv_replacing *r)
{
	struct rv_onlooker *o = c->onlooker;

	rv_events_tell(c);
	for (size_t i = 0; o && i < o->count; i++)
		if (o->ids[i] < r->slots && r->change[o->ids[i]] == RV_REMOVED)
			o->ids[i] = NOBODY;
}

static bool follow(struct rv_conn *c, const struct rv_request *r, const rv_id *ids, size_t count)
{
	struct rv_onlooker *o = calloc(1, sizeof(*o) + count * sizeof(o->ids[0]));

	if (!o)
		return false;
	memcpy(o->id, r->id, sizeof(o->id));
	o->next = rv_engine_history(c->control->engine)->count;
	o->count = count;
	if (count)
		memcpy(o->ids, ids, count * sizeof(*ids));
	c->onlooker = o;
	return true;
}

/* Where the last `lines` that are meant begin. */
static uint64_t find_start(
	const struct rv_history *h, const struct rv_request *r, const rv_id *ids, size_t count)
{
	uint64_t at = h->count, first = rv_history_first(h);
	uint32_t left = r->lines;

	while (at > first && (left || !r->lines)) {
		at--;
		if (left && is_meant(rv_history_get(h, at), ids, count))
			left--;
	}
	return at;
}

static void put_past(struct rv_conn *c, const struct rv_request *r, const rv_id *ids, size_t count)
{
	const struct rv_history *h = rv_engine_history(c->control->engine);
	bool first = true;

	rv_rpc_begin(&c->output, r->id);
	RV_JSON_LIT(&c->output, "{\"events\":[");
	for (uint64_t at = find_start(h, r, ids, count); at < h->count; at++) {
		if (!is_meant(rv_history_get(h, at), ids, count))
			continue;
		if (!first)
			RV_JSON_LIT(&c->output, ",");
		first = false;
		put_event(c, at);
	}
	RV_JSON_LIT(&c->output, "]}");
	rv_rpc_end(&c->output);
}

/* Past and future meet in one turn, so that nothing is missing or told twice between them. */
void rv_events(struct rv_conn *c, const struct rv_request *r)
{
	rv_id *ids = NULL;
	size_t n = 0;

	if (r->follow && c->onlooker) {
		rv_verb_error(c, r, RV_RPC_REFUSED, "this connection follows events already");
		return;
	}
	if (r->name_count && !rv_verb_resolve(c, r, &ids, &n))
		return;
	if (r->follow && !follow(c, r, ids, n))
		rv_verb_error(c, r, RV_RPC_INTERNAL, "out of memory");
	else
		put_past(c, r, ids, n);
	free(ids);
}
