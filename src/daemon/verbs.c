/* The methods of the control socket that answer at once: see ctl.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/text.h"
#include "daemon/ctl.h"
#include "sys/clock.h"
#include "wire/json.h"

#define PROTOCOL    1
#define UNKNOWN_MAX 32 /* unknown names that are listed one by one */
#define GUESSED_MAX 4 /* of those: the near names are sought for */

const char *rv_boot_name(enum rv_boot b)
{
	switch (b) {
	case RV_BOOT_NOT_YET: return "not-yet";
	case RV_BOOT_UNDER_WAY: return "under-way";
	case RV_BOOT_DONE: return "done";
	case RV_BOOT_DEGRADED: return "degraded";
	case RV_BOOT_FAILED: return "failed";
	}
	return "?";
}

void rv_verb_error(struct rv_conn *c, const struct rv_request *r, enum rv_rpc_code code,
	const char *format, ...)
{
	struct rv_rpc_error e = {.code = code};
	va_list ap;

	va_start(ap, format);
	rv_text_mark_cut(e.text, sizeof(e.text), vsnprintf(e.text, sizeof(e.text), format, ap));
	va_end(ap);
	rv_rpc_put_error(&c->output, r->id, &e, NULL, 0);
}

/* --- names ------------------------------------------------------------------------------------- */

/* The name that was meant; NULL: none is near, or memory was refused. Each name is compared with it. */
static const char *guess(struct rv_engine *g, const char *name)
{
	size_t slots = rv_engine_slots(g), n = 0;
	const char **names = calloc(slots + 1, sizeof(*names));
	const char *near = NULL;

	for (rv_id id = 0; names && id < slots; id++)
		if (rv_engine_name(g, id))
			names[n++] = rv_engine_name(g, id);
	if (names)
		near = rv_text_nearest(name, names, n);
	free(names);
	return near;
}

/* All unknown names in one answer: `no service "wbe" (did you mean "web"?)`. */
static void refuse_unknown(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_engine *g = c->control->engine;
	struct rv_rpc_error e = {.code = RV_RPC_NO_SUCH};
	struct rv_buf text = {.max = 65536};
	const char *unknown[UNKNOWN_MAX];
	size_t n = 0, more = 0;

	for (size_t i = 0; i < r->name_count; i++) {
		const char *near;

		if (rv_engine_find(g, r->names[i]) != RV_NO_ID)
			continue;
		if (n == UNKNOWN_MAX) {
			more++;
			continue;
		}
		near = n < GUESSED_MAX ? guess(g, r->names[i]) : NULL;
		unknown[n++] = r->names[i];
		rv_buf_fmt(&text, "%sno service \"%.128s\"", text.len ? "; " : "", r->names[i]);
		if (near)
			rv_buf_fmt(&text, " (did you mean \"%s\"?)", near);
	}
	if (more)
		rv_buf_fmt(&text, "; and %zu more", more);
	rv_text_cut(rv_buf_text(&text), e.text, sizeof(e.text));
	rv_rpc_put_error(&c->output, r->id, &e, unknown, n);
	rv_buf_fini(&text);
}

/* In start order, as people think of them. */
static size_t all_ids(struct rv_engine *g, rv_id *ids)
{
	const struct rv_plan *plan = rv_engine_conf(g)->plan;
	size_t n = 0;

	for (size_t i = 0; plan && i < plan->present; i++)
		ids[n++] = plan->order[i];
	return n;
}

static size_t named_ids(struct rv_engine *g, const struct rv_request *r, rv_id *ids, size_t slots)
{
	unsigned char *seen = r->name_count > 1 ? calloc(slots + 1, 1) : NULL;
	size_t n = 0;

	if (r->name_count > 1 && !seen)
		return SIZE_MAX;
	for (size_t i = 0; i < r->name_count; i++) {
		rv_id id = rv_engine_find(g, r->names[i]);

		if (id == RV_NO_ID) {
			n = SIZE_MAX - 1;
			break;
		}
		if (seen && seen[id]++)
			continue; /* named twice */
		ids[n++] = id;
	}
	free(seen);
	return n;
}

bool rv_verb_resolve(struct rv_conn *c, const struct rv_request *r, rv_id **ids, size_t *count)
{
	struct rv_engine *g = c->control->engine;
	size_t slots = rv_engine_slots(g);
	size_t room = slots > r->name_count ? slots : r->name_count;

	*count = 0;
	*ids = calloc((r->name_count ? r->name_count : room) + 1, sizeof(**ids));
	if (*ids)
		*count = r->name_count ? named_ids(g, r, *ids, slots) : all_ids(g, *ids);
	if (*ids && *count < SIZE_MAX - 1)
		return true;
	if (!*ids || *count == SIZE_MAX)
		rv_verb_error(c, r, RV_RPC_INTERNAL, "out of memory");
	else
		refuse_unknown(c, r);
	free(*ids);
	*ids = NULL;
	return false;
}

/* --- status ------------------------------------------------------------------------------------ */

/* What a service wrote may be in the detail: that is the admin's. */
static void put_status(struct rv_conn *c, rv_id id, rv_time now)
{
	struct rv_view v = rv_engine_look(c->control->engine, id);
	struct rv_rpc_service s = {
		.name = v.name,
		.plugin = v.plugin,
		.summary = v.summary,
		.state = v.look.state,
		.why = rv_why_text(v.look.why),
		.detail = c->admin && v.detail ? v.detail : "",
		.other = v.other,
		.status_text = c->admin ? v.status_text : NULL,
		.essential = v.essential,
		.enabled = v.enabled,
		.unproven = v.look.flags & RV_LOOK_UNPROVEN,
		.held = v.look.flags & RV_LOOK_HELD,
		.paused = v.look.flags & RV_LOOK_PAUSED,
		.disabled = v.look.flags & RV_LOOK_DISABLED,
		.recreate = rv_engine_conf(c->control->engine)->plan->node[id].recreate,
		.lost = v.look.lost,
		.pid = v.pid,
		.generation = v.look.generation,
		.restarts = v.look.restarts,
		.exit = v.look.exit,
		.since = v.look.since && now > v.look.since ? now - v.look.since : 0,
		.uptime = v.look.started && now > v.look.started ? now - v.look.started : 0,
		.due = -1,
		.took = rv_look_took(v.look),
	};

	if (v.look.state == RV_BACKOFF && v.look.due != RV_NEVER)
		s.due = v.look.due > now ? v.look.due - now : 0;
	rv_rpc_put_service(&c->output, &s);
}

static void status(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_engine *g = c->control->engine;
	struct rv_buf *out = &c->output;
	rv_time now = rv_now();
	rv_id one, *ids = &one;
	size_t n = 1;

	one = r->name_count == 1 ? rv_engine_find(g, r->names[0]) : RV_NO_ID;
	if (one == RV_NO_ID && !rv_verb_resolve(c, r, &ids, &n))
		return;
	rv_rpc_begin(out, r->id);
	RV_JSON_LIT(out, "{");
	if (!r->name_count)
		rv_why_put_sandbox(g, out);
	RV_JSON_LIT(out, "\"boot\":");
	rv_json_str(out, rv_boot_name(rv_engine_boot(g)));
	RV_JSON_LIT(out, ",\"closing\":");
	rv_json_bool(out, rv_engine_closing(g));
	RV_JSON_LIT(out, ",\"uptime_ms\":");
	rv_json_int(out, (now - rv_engine_started(g)) / RV_MS);
	RV_JSON_LIT(out, ",\"services\":[");
	for (size_t i = 0; i < n; i++) {
		if (i)
			RV_JSON_LIT(out, ",");
		put_status(c, ids[i], now);
	}
	RV_JSON_LIT(out, "]}");
	rv_rpc_end(out);
	if (ids != &one)
		free(ids);
}

/* --- signal ------------------------------------------------------------------------------------ */

bool rv_verb_is_stale(struct rv_conn *c, const struct rv_request *r, rv_id id)
{
	static const char fresh[] = "; another life began with fresh state, so what was prepared "
				    "in the former has to be prepared again";
	struct rv_look look = rv_engine_glance(c->control->engine, id);
	struct rv_rpc_error e;

	if (!r->has_generation || r->generation == look.generation)
		return false;
	/* One that is lost may be reported until it is replaced, whatever was tried meanwhile. */
	if (r->verb == RV_VERB_RECREATE && look.lost && r->generation == look.lost)
		return false;
	rv_rpc_fail(&e, RV_RPC_STALE,
		"%s: generation %llu is not the present one (%llu): nothing was done%s",
		r->names[0], (unsigned long long)r->generation, (unsigned long long)look.generation,
		r->generation < look.generation ? fresh : "");
	e.present = look.generation;
	rv_rpc_put_error(&c->output, r->id, &e, NULL, 0);
	return true;
}

static bool signal_one(struct rv_conn *c, const struct rv_request *r, rv_id id)
{
	struct rv_engine *g = c->control->engine;
	struct rv_view v = rv_engine_look(g, id);
	struct rv_err e = {0};
	bool ok = rv_engine_signal(g, id, r->signal, &e);
	struct rv_rpc_result result = {
		.name = v.name,
		.state = v.look.state,
		.generation = v.look.generation,
		.pid = v.pid,
		.outcome = ok	    ? RV_DONE_OK
			: v.pid > 0 ? RV_DONE_FAILED
				    : RV_DONE_NOT_READY,
		.why = ok	  ? ""
			: *e.text ? e.text
				  : "it does not run",
	};

	rv_rpc_put_result(&c->output, &result);
	return ok;
}

static void send_signal(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_buf *out = &c->output;
	size_t n;
	bool ok = true;
	rv_id *ids;

	if (!rv_verb_resolve(c, r, &ids, &n))
		return;
	if (!rv_verb_is_stale(c, r, ids[0])) {
		rv_rpc_begin(out, r->id);
		RV_JSON_LIT(out, "{\"services\":[");
		for (size_t i = 0; i < n; i++) {
			if (i)
				RV_JSON_LIT(out, ",");
			ok &= signal_one(c, r, ids[i]);
		}
		RV_JSON_LIT(out, "],\"ok\":");
		rv_json_bool(out, ok);
		RV_JSON_LIT(out, "}");
		rv_rpc_end(out);
	}
	free(ids);
}

/* --- reeve itself ------------------------------------------------------------------------------ */

static void version(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_engine *g = c->control->engine;
	struct rv_hostlink *host = rv_engine_host(g);
	struct rv_buf *out = &c->output;

	rv_rpc_begin(out, r->id);
	RV_JSON_LIT(out, "{\"version\":\"" PACKAGE_VERSION "\",\"protocol\":");
	rv_json_int(out, PROTOCOL);
	RV_JSON_LIT(out, ",\"pid\":");
	rv_json_int(out, getpid());
	RV_JSON_LIT(out, ",\"host_pid\":");
	if (host && rv_hostlink_pid(host) > 0)
		rv_json_int(out, rv_hostlink_pid(host));
	else
		RV_JSON_LIT(out, "null");
	RV_JSON_LIT(out, ",\"uptime_ms\":");
	rv_json_int(out, (rv_now() - rv_engine_started(g)) / RV_MS);
	RV_JSON_LIT(out, ",\"boot\":");
	rv_json_str(out, rv_boot_name(rv_engine_boot(g)));
	RV_JSON_LIT(out, "}");
	rv_rpc_end(out);
}

static void leave(struct rv_conn *c, const struct rv_request *r)
{
	const struct rv_event e = {.kind = RV_EV_SHUTDOWN, .id = RV_NO_ID};

	if (!rv_engine_closing(c->control->engine))
		rv_engine_push(c->control->engine, &e);
	rv_rpc_begin(&c->output, r->id);
	RV_JSON_LIT(&c->output, "{\"ok\":true}");
	rv_rpc_end(&c->output);
}

/* --- dispatch ---------------------------------------------------------------------------------- */

static void act(struct rv_conn *c, struct rv_request *r)
{
	switch (r->verb) {
	case RV_VERB_STATUS: status(c, r); break;
	case RV_VERB_WAIT: rv_wait_wait(c, r); break;
	case RV_VERB_VERSION: version(c, r); break;
	case RV_VERB_START:
	case RV_VERB_STOP:
	case RV_VERB_RESTART:
	case RV_VERB_RECREATE: rv_wait_change(c, r); break;
	case RV_VERB_SIGNAL: send_signal(c, r); break;
	case RV_VERB_PAUSE:
	case RV_VERB_RESUME: rv_verb_pause(c, r); break;
	case RV_VERB_RELOAD: rv_verb_reload(c, r); break;
	case RV_VERB_ENV: rv_verb_env(c, r); break;
	case RV_VERB_LOGS: rv_logs(c, r); break;
	case RV_VERB_WHY: rv_why(c, r); break;
	case RV_VERB_EVENTS: rv_events(c, r); break;
	case RV_VERB_CHECK: rv_verb_check(c, r); break;
	case RV_VERB_PLAN: rv_verb_plan(c, r); break;
	case RV_VERB_PLUGINS: rv_verb_plugins(c, r); break;
	case RV_VERB_SHUTDOWN: leave(c, r); break;
	case RV_VERB_COUNT: break;
	}
}

void rv_verb_line(struct rv_conn *c, const char *line, size_t n)
{
	struct rv_rpc_error e;
	struct rv_request r;
	size_t before = c->output.len;

	while (n && (line[n - 1] == '\r' || line[n - 1] == ' ' || line[n - 1] == '\t'))
		n--;
	if (!n)
		return;
	if (!rv_request_read(line, n, &r, &e))
		rv_rpc_put_error(&c->output, r.id, &e, NULL, 0);
	else if (!c->admin && !rv_verb_is_open(r.verb))
		rv_verb_error(c, &r, RV_RPC_DENIED,
			"%s is for root and the user that reeve runs as; others may use status, "
			"wait, why, events and version",
			rv_verb_name(r.verb));
	else
		act(c, &r);
	if (r.quiet) /* a notification has no answer, whatever it was */
		c->output.len = before;
	rv_request_fini(&r);
}
