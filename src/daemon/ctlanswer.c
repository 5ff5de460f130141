/* What a request that waited is answered. See ctlwaits.h. */
#include "daemon/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "daemon/capture.h"
#include "daemon/ctlwaits.h"
#include "wire/json.h"

#define TAIL_LINES 8 /* of stderr, with a failure */
#define TAIL_BYTES 2048

static const char *note(const struct rv_wait *w, const struct rv_entry *e)
{
	if (e->was_adopted && w->aim == RV_AIM_STOP)
		return "reeve did not start it: it runs on, and is not watched any more";
	if (!e->was_there)
		return "";
	return w->aim == RV_AIM_STOP ? "it was not running" : "it was running already";
}

/* A change that has not reached it: the life of before is as it was. */
static bool is_untouched(const struct rv_wait *w, const struct rv_entry *e, const struct rv_view *v)
{
	return (w->aim == RV_AIM_STOP || w->aim == RV_AIM_RESTART) &&
		v->look.generation == e->before &&
		(v->look.state == RV_READY || v->look.state == RV_UNHEALTHY);
}

/* What came in between: another request, or the end of reeve. False: nothing of that kind. */
static bool explain_interference(const struct rv_wait *w, const struct rv_entry *e,
	const struct rv_view *v, char *to, size_t size)
{
	struct rv_engine *g = w->conn->control->engine;
	bool held = v->look.flags & RV_LOOK_HELD, changes = w->aim < RV_AIM_READY;
	bool up = v->look.state == RV_STARTING || v->look.state == RV_READY ||
		v->look.state == RV_UNHEALTHY;

	if (e->outcome != RV_DONE_FAILED && e->outcome != RV_DONE_NOT_READY)
		return false;
	if (changes && w->aim != RV_AIM_STOP && held)
		snprintf(to, size, "another request, of user %u, has stopped it meanwhile",
			(unsigned)rv_engine_stopper(g, v->id));
	else if (w->aim == RV_AIM_STOP && !held)
		snprintf(to, size, "another request has started it again meanwhile");
	else if (up && changes && rv_engine_closing(g))
		snprintf(to, size, "reeve is shutting down");
	else
		return false;
	return true;
}

static void explain(const struct rv_wait *w, const struct rv_entry *e, const struct rv_view *v,
	char *to, size_t size)
{
	const char *why = rv_why_text(v->look.why);

	if (e->outcome == RV_DONE_OK)
		snprintf(to, size, "%s", note(w, e));
	else if (e->outcome == RV_DONE_TIMEOUT && is_untouched(w, e, v))
		snprintf(to, size, "its turn to stop has not come yet");
	else if (v->look.state == RV_ADOPTED)
		snprintf(to, size,
			"reeve did not start it, and never signals what it did not start");
	else if (explain_interference(w, e, v, to, size))
		return;
	else if (rv_engine_waits_for_resume(w->conn->control->engine, v->id))
		snprintf(to, size, "it is paused, and not started before `reevectl resume %s`%s%s",
			v->name, *why ? ": " : "", w->conn->admin && *v->detail ? v->detail : why);
	else if (w->conn->admin && v->detail && *v->detail)
		snprintf(to, size, "%s", v->detail);
	else if (v->look.state == RV_WAITING && v->other)
		snprintf(to, size, "waits for %s", v->other);
	else if (*why && v->other)
		snprintf(to, size, "%s: %s", why, v->other);
	else if (!*why && v->look.state == RV_STOPPED)
		snprintf(to, size, "nothing asked for it to run");
	else
		snprintf(to, size, "%s", why);
}

void rv_wait_note(struct rv_wait *w, struct rv_entry *e)
{
	struct rv_view v = rv_engine_look(w->conn->control->engine, e->id);
	char why[1200];

	if (w->aim == RV_AIM_RECREATE) /* that has words of its own, of what it was answered */
		return;
	free(e->said);
	explain(w, e, &v, why, sizeof(why));
	e->said = strdup(why);
	e->state = v.look.state;
	e->generation = v.look.generation;
	e->pid = v.pid;
}

static void last_words(struct rv_engine *g, rv_id id, struct rv_buf *to)
{
	struct rv_capture *c = rv_engine_capture(g, id);

	if (c)
		rv_capture_tail(c, TAIL_LINES, TAIL_BYTES, true, to);
}

/* Its slot may be another's by now. */
static void put_gone(struct rv_wait *w, const struct rv_entry *e)
{
	const struct rv_rpc_result r = {
		.name = e->gone,
		.outcome = e->outcome,
		.state = RV_STOPPED,
		.why = "a reload has removed it: it is not in the configuration any more",
	};

	rv_rpc_put_result(&w->conn->output, &r);
}

/* A change was handed to the core, which may have done a part of it; another life may have begun since. */
static unsigned marks_of(const struct rv_wait *w, const struct rv_entry *e, const struct rv_view *v)
{
	return (w->aim < RV_AIM_READY ? RV_MARK_UNSAFE : 0u) |
		(v->look.generation != e->before ? RV_MARK_STALE : 0u);
}

static void put_entry(struct rv_wait *w, const struct rv_entry *e)
{
	struct rv_view v = rv_engine_look(w->conn->control->engine, e->id);
	struct rv_rpc_loss loss = {0};
	struct rv_buf tail = {0};
	char why[1200];
	struct rv_rpc_result r = {
		.name = v.name,
		.outcome = e->outcome,
		.state = v.look.state,
		.generation = v.look.generation,
		.pid = v.pid,
		.why = why,
	};

	if (w->aim == RV_AIM_RECREATE)
		rv_recreate_explain(w->conn->control->engine, e, &v, &loss, why, sizeof(why));
	else if (e->said && e->state != v.look.state)
		snprintf(why, sizeof(why), "%s; by now it is %s", e->said,
			rv_state_name(v.look.state));
	else if (e->said)
		rv_text_cut(e->said, why, sizeof(why));
	else
		explain(w, e, &v, why, sizeof(why));
	if (e->said) {
		r.state = e->state;
		r.generation = e->generation;
		r.pid = e->pid;
	}
	r.loss = w->aim == RV_AIM_RECREATE ? &loss : NULL;
	r.marks = marks_of(w, e, &v);
	if (w->conn->admin && e->outcome == RV_DONE_FAILED && w->aim < RV_AIM_READY &&
		v.look.state != RV_READY)
		last_words(w->conn->control->engine, e->id, &tail);
	r.tail = tail.data;
	r.tail_len = tail.len;
	rv_rpc_put_result(&w->conn->output, &r);
	rv_buf_fini(&tail);
}

void rv_wait_answer(struct rv_wait *w)
{
	struct rv_engine *g = w->conn->control->engine;
	struct rv_buf *out = &w->conn->output;
	bool ok = true, first = true;

	if (w->quiet)
		return;
	rv_rpc_begin(out, w->id);
	RV_JSON_LIT(out, "{");
	rv_buf_add(out, rv_buf_text(&w->head), w->head.len);
	rv_buf_str(out, w->head.len ? ",\"services\":[" : "\"services\":[");
	for (size_t i = 0; i < w->count; i++) {
		const struct rv_entry *e = &w->entries[i];
		bool good = e->outcome == RV_DONE_OK || (w->no_wait && e->outcome == RV_DONE_YET);

		ok &= good;
		if (w->whole && good)
			continue; /* of a whole sandbox only what is missing is of interest */
		if (!first)
			RV_JSON_LIT(out, ",");
		first = false;
		if (e->gone)
			put_gone(w, e);
		else
			put_entry(w, e);
	}
	if (rv_wait_is_of_sandbox(w))
		ok &= rv_engine_whole(g) != RV_WHOLE_NOT_READY;
	RV_JSON_LIT(out, "],");
	if (rv_wait_is_of_sandbox(w))
		rv_why_put_sandbox(g, out);
	RV_JSON_LIT(out, "\"boot\":");
	rv_json_str(out, rv_boot_name(rv_engine_boot(g)));
	RV_JSON_LIT(out, ",\"ok\":");
	rv_json_bool(out, ok);
	RV_JSON_LIT(out, "}");
	rv_rpc_end(out);
}
