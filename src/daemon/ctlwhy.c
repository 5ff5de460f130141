/* The method `why`: what a service waits for, in a sentence and in its parts; without names, what the sandbox lacks.
 * See ctl.h. */
#include "daemon/control.h"

#include <stdlib.h>

#include "daemon/because.h"
#include "daemon/ctl.h"
#include "sys/clock.h"
#include "wire/json.h"

enum { MISSING_SHOWN = 5 };

static const char *word_of(enum rv_awaited what)
{
	static const char *const words[] = {
		[RV_AWAIT_NOTHING] = "nothing",
		[RV_AWAIT_SERVICE] = "service",
		[RV_AWAIT_PERMIT] = "permit",
		[RV_AWAIT_SPAWN] = "start-hook",
		[RV_AWAIT_CHECK] = "check",
		[RV_AWAIT_EXIT] = "exit",
		[RV_AWAIT_DAEMON] = "daemon",
		[RV_AWAIT_UPDATE] = "update-hook",
		[RV_AWAIT_DEPENDENTS] = "dependents",
		[RV_AWAIT_STOP_HOOK] = "stop-hook",
		[RV_AWAIT_LEAVE] = "signal",
		[RV_AWAIT_DEATH] = "kill",
		[RV_AWAIT_CLEANUP] = "cleanup-hook",
		[RV_AWAIT_DELAY] = "delay",
		[RV_AWAIT_RESUME] = "resume",
		[RV_AWAIT_CONFIRM] = "confirm-hook",
	};

	return words[what];
}

static void put_one(struct rv_conn *c, rv_id id)
{
	struct rv_engine *g = c->control->engine;
	const char *next[RV_HEIRS_SHOWN];
	struct rv_buf sentence = {0};
	rv_time now = rv_now();
	struct rv_because b;
	struct rv_rpc_cause cause;
	const char *const *given;
	size_t n, given_count = rv_engine_given(g, id, &given);

	rv_because_tell(g, id, !c->admin, &b, &sentence);
	n = b.heir_count < RV_HEIRS_SHOWN ? b.heir_count : RV_HEIRS_SHOWN;
	for (size_t i = 0; i < n; i++)
		next[i] = rv_engine_name(g, b.heirs[i]);
	cause = (struct rv_rpc_cause){.name = rv_engine_name(g, id),
		.state = b.look.state,
		.pid = b.pid,
		.generation = b.look.generation,
		.since = b.look.since && now > b.look.since ? now - b.look.since : 0,
		.sentence = rv_buf_text(&sentence),
		.waits_for = word_of(b.await.what),
		.other = b.await.other == RV_NO_ID ? NULL : rv_engine_name(g, b.await.other),
		.root = b.root == id ? NULL : rv_engine_name(g, b.root),
		.answer = b.answer,
		.trying = b.await.what == RV_AWAIT_CHECK ? now - b.look.started : -1,
		.attempt = b.await.attempt,
		.left = b.await.by == RV_NEVER ? -1
			: b.await.by > now     ? b.await.by - now
					       : 0,
		.next = next,
		.next_count = n,
		.options = given,
		.option_count = given_count};
	rv_rpc_put_cause(&c->output, &cause);
	rv_buf_fini(&sentence);
}

/* ---- the whole sandbox ---- */

static void list(struct rv_engine *g, const rv_id *ids, size_t n, bool essential, struct rv_buf *to)
{
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < n; i++) {
		if (essential && rv_engine_presence(g, ids[i]) != RV_LACKED)
			continue;
		if (shown == MISSING_SHOWN) {
			more++;
			continue;
		}
		rv_buf_fmt(to, "%s%s", shown++ ? ", " : "", rv_engine_name(g, ids[i]));
	}
	if (more)
		rv_buf_fmt(to, " and %zu more", more);
}

struct sandbox {
	bool ready, degraded;
	struct rv_buf sentence;
};

/* missing: in start order. */
static void tell_sandbox(struct rv_engine *g, const rv_id *missing, size_t n, struct sandbox *s)
{
	enum rv_boot boot = rv_engine_boot(g);
	enum rv_whole whole = rv_engine_whole(g);
	struct rv_buf must = {0}, all = {0};

	list(g, missing, n, true, &must);
	list(g, missing, n, false, &all);
	s->ready = whole != RV_WHOLE_NOT_READY;
	s->degraded = whole == RV_WHOLE_DEGRADED;
	if (rv_engine_closing(g))
		rv_buf_str(&s->sentence, "the sandbox is not ready: reeve is shutting down");
	else if (s->degraded)
		rv_buf_fmt(&s->sentence, "the sandbox is ready, but degraded: without %s",
			rv_buf_text(&all));
	else if (s->ready)
		rv_buf_str(&s->sentence, "the sandbox is ready");
	else
		rv_buf_fmt(&s->sentence, "the sandbox is not ready%s: it waits for %s",
			boot == RV_BOOT_FAILED ? ", and its boot failed" : "",
			must.len	  ? rv_buf_text(&must)
				: all.len ? rv_buf_text(&all)
					  : "the boot to begin");
	rv_buf_fini(&must);
	rv_buf_fini(&all);
}

static size_t keep_missing(struct rv_engine *g, rv_id *ids, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (rv_engine_presence(g, ids[i]) != RV_THERE)
			ids[kept++] = ids[i];
	return kept;
}

/* missing: in start order. */
static void put_sandbox(struct rv_engine *g, const rv_id *missing, size_t n, struct rv_buf *out)
{
	struct sandbox s = {0};

	tell_sandbox(g, missing, n, &s);
	RV_JSON_LIT(out, "\"ready\":");
	rv_json_bool(out, s.ready);
	RV_JSON_LIT(out, ",\"degraded\":");
	rv_json_bool(out, s.degraded);
	RV_JSON_LIT(out, ",\"sentence\":");
	rv_json_str(out, rv_buf_text(&s.sentence));
	RV_JSON_LIT(out, ",");
	rv_buf_fini(&s.sentence);
}

void rv_why_put_sandbox(struct rv_engine *g, struct rv_buf *out)
{
	const struct rv_plan *plan = rv_engine_conf(g)->plan;
	rv_id *missing = calloc(rv_engine_slots(g) + 1, sizeof(*missing));
	size_t n = 0;

	for (size_t i = 0; missing && plan && i < plan->present; i++)
		if (rv_engine_presence(g, plan->order[i]) != RV_THERE)
			missing[n++] = plan->order[i];
	if (missing)
		put_sandbox(g, missing, n, out);
	free(missing);
}

/* Those that the others wait for: each cause is told once. */
static size_t keep_causes(struct rv_engine *g, rv_id *ids, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (rv_engine_glance(g, ids[i]).state != RV_WAITING)
			ids[kept++] = ids[i];
	return kept ? kept : n;
}

void rv_why(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_engine *g = c->control->engine;
	struct rv_buf *out = &c->output;
	size_t n;
	rv_id *ids;

	if (!rv_verb_resolve(c, r, &ids, &n))
		return;
	rv_rpc_begin(out, r->id);
	RV_JSON_LIT(out, "{");
	if (!r->name_count) {
		n = keep_missing(g, ids, n);
		put_sandbox(g, ids, n, out);
		n = keep_causes(g, ids, n);
	}
	RV_JSON_LIT(out, "\"boot\":");
	rv_json_str(out, rv_boot_name(rv_engine_boot(g)));
	RV_JSON_LIT(out, ",\"services\":[");
	for (size_t i = 0; i < n; i++) {
		if (i)
			RV_JSON_LIT(out, ",");
		put_one(c, ids[i]);
	}
	RV_JSON_LIT(out, "]}");
	rv_rpc_end(out);
	free(ids);
}
