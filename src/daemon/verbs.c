/* The methods of the control socket that answer at once: see ctl.h. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/text.h"
#include "daemon/ctl.h"
#include "daemon/load.h"
#include "sys/clock.h"
#include "wire/json.h"

#define PROTOCOL    1
#define UNKNOWN_MAX 32 /* unknown names that are listed one by one */

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
	vsnprintf(e.text, sizeof(e.text), format, ap);
	va_end(ap);
	rv_rpc_put_error(&c->output, r->id, &e, NULL, 0);
}

/* --- names ------------------------------------------------------------------------------------- */

/* Adds `no service "wbe" (did you mean "web"?)`. */
static void add_unknown(struct rv_buf *text, struct rv_engine *g, const char *name)
{
	size_t slots = rv_engine_slots(g), n = 0;
	const char **names = calloc(slots + 1, sizeof(*names));
	const char *near = NULL;

	for (rv_id id = 0; names && id < slots; id++) {
		struct rv_view v = rv_engine_look(g, id);

		if (v.name)
			names[n++] = v.name;
	}
	if (names)
		near = rv_text_nearest(name, names, n);
	rv_buf_fmt(text, "%sno service \"%.128s\"", text->len ? "; " : "", name);
	if (near)
		rv_buf_fmt(text, " (did you mean \"%s\"?)", near);
	free(names);
}

/* All unknown names in one answer. */
static void refuse_unknown(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_engine *g = c->control->engine;
	struct rv_rpc_error e = {.code = RV_RPC_NO_SUCH};
	struct rv_buf text = {.max = 65536};
	const char *unknown[UNKNOWN_MAX];
	size_t n = 0, more = 0;

	for (size_t i = 0; i < r->name_count; i++) {
		if (rv_engine_find(g, r->names[i]) != RV_NO_ID)
			continue;
		if (n < UNKNOWN_MAX) {
			unknown[n++] = r->names[i];
			add_unknown(&text, g, r->names[i]);
		} else {
			more++;
		}
	}
	if (more)
		rv_buf_fmt(&text, "; and %zu more", more);
	snprintf(e.text, sizeof(e.text), "%s", rv_buf_text(&text));
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
		.essential = v.essential,
		.enabled = v.enabled,
		.unproven = v.look.flags & RV_LOOK_UNPROVEN,
		.held = v.look.flags & RV_LOOK_HELD,
		.paused = v.look.flags & RV_LOOK_PAUSED,
		.disabled = v.look.flags & RV_LOOK_DISABLED,
		.lost = v.look.flags & RV_LOOK_LOST,
		.pid = v.pid,
		.generation = v.look.generation,
		.restarts = v.look.restarts,
		.exit = v.look.exit,
		.since = v.look.since && now > v.look.since ? now - v.look.since : 0,
		.uptime = v.look.started && now > v.look.started ? now - v.look.started : 0,
		.due = -1,
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
	RV_JSON_LIT(out, "{\"boot\":");
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
	uint64_t now = rv_engine_look(c->control->engine, id).look.generation;

	if (!r->has_generation || r->generation == now)
		return false;
	rv_verb_error(c, r, RV_RPC_STALE,
		"%s: generation %llu is not the present one (%llu): nothing was done", r->names[0],
		(unsigned long long)r->generation, (unsigned long long)now);
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

/* --- the configuration ------------------------------------------------------------------------- */

static void check(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_control *k = c->control;
	struct rv_buf *out = &c->output;
	struct rv_complaints found = {0};

	if (!k->load) {
		rv_verb_error(c, r, RV_RPC_REFUSED, "there are no files to check yet");
		return;
	}
	rv_load_check(k->load, rv_engine_conf(k->engine), &found);
	rv_rpc_begin(out, r->id);
	RV_JSON_LIT(out, "{\"ok\":");
	rv_json_bool(out, !found.errors);
	RV_JSON_LIT(out, ",\"errors\":");
	rv_json_int(out, (int64_t)found.errors);
	RV_JSON_LIT(out, ",\"warnings\":");
	rv_json_int(out, (int64_t)found.warnings);
	RV_JSON_LIT(out, ",\"text\":");
	rv_json_strn(out, rv_buf_text(&found.text), found.text.len);
	RV_JSON_LIT(out, "}");
	rv_rpc_end(out);
	rv_complaints_fini(&found);
}

/* A word of an argv, with the values of secret options as ***. */
static void put_word(struct rv_buf *out, const struct rv_service *s, const char *word)
{
	struct rv_buf text = {0};

	while (*word) {
		size_t hidden = 0;

		for (size_t i = 0; i < s->option_count && !hidden; i++) {
			const struct rv_option *o = &s->options[i];

			if (o->key->type == RV_KEY_SECRET && o->value && o->value_len &&
				!strncmp(word, o->value, o->value_len))
				hidden = o->value_len;
		}
		rv_buf_add(&text, hidden ? "***" : word, hidden ? 3 : 1);
		word += hidden ? hidden : 1;
	}
	rv_json_strn(out, rv_buf_text(&text), text.len);
	rv_buf_fini(&text);
}

static void put_argv(struct rv_buf *out, const struct rv_service *s)
{
	if (!s->argv) {
		RV_JSON_LIT(out, "null");
		return;
	}
	RV_JSON_LIT(out, "[");
	for (size_t i = 0; s->argv[i]; i++) {
		if (i)
			RV_JSON_LIT(out, ",");
		put_word(out, s, s->argv[i]);
	}
	RV_JSON_LIT(out, "]");
}

/* Names only: values of environment variables never leave. */
static void put_env_names(struct rv_buf *out, const struct rv_service *s)
{
	RV_JSON_LIT(out, "[");
	for (size_t i = 0; s->env && s->env[i]; i++) {
		if (i)
			RV_JSON_LIT(out, ",");
		rv_json_strn(out, s->env[i], strcspn(s->env[i], "="));
	}
	RV_JSON_LIT(out, "]");
}

static void put_planned(struct rv_buf *out, const struct rv_service *s)
{
	RV_JSON_LIT(out, "{\"name\":");
	rv_json_str(out, s->name);
	RV_JSON_LIT(out, ",\"plugin\":");
	rv_json_str(out, s->plugin);
	RV_JSON_LIT(out, ",\"enabled\":");
	rv_json_bool(out, s->enabled);
	RV_JSON_LIT(out, ",\"argv\":");
	put_argv(out, s);
	RV_JSON_LIT(out, ",\"user\":");
	rv_json_str(out, s->user);
	RV_JSON_LIT(out, ",\"group\":");
	rv_json_str(out, s->group);
	RV_JSON_LIT(out, ",\"working_dir\":");
	rv_json_str(out, s->working_dir ? s->working_dir : "/");
	RV_JSON_LIT(out, ",\"environment\":");
	put_env_names(out, s);
	RV_JSON_LIT(out, "}");
}

static void plan(struct rv_conn *c, const struct rv_request *r)
{
	const struct rv_conf *conf = rv_engine_conf(c->control->engine);
	struct rv_buf *out = &c->output;
	struct rv_buf text = {0};

	rv_conf_print(conf, &text);
	rv_rpc_begin(out, r->id);
	RV_JSON_LIT(out, "{\"text\":");
	rv_json_strn(out, rv_buf_text(&text), text.len);
	RV_JSON_LIT(out, ",\"services\":[");
	for (size_t i = 0; conf->plan && i < conf->plan->present; i++) {
		if (i)
			RV_JSON_LIT(out, ",");
		put_planned(out, &conf->services[conf->plan->order[i]]);
	}
	RV_JSON_LIT(out, "]}");
	rv_rpc_end(out);
	rv_buf_fini(&text);
}

/* --- plugins ----------------------------------------------------------------------------------- */

static void put_bound(struct rv_buf *out, const struct rv_key *key, int64_t v)
{
	char text[64];

	if (key->type == RV_KEY_DURATION)
		rv_json_str(out, rv_text_dur(v, text, sizeof(text)));
	else
		rv_json_int(out, v);
}

static const char *key_type_name(enum rv_key_type t)
{
	switch (t) {
	case RV_KEY_STRING: return "string";
	case RV_KEY_INT: return "int";
	case RV_KEY_BOOL: return "bool";
	case RV_KEY_DURATION: return "duration";
	case RV_KEY_SIZE: return "size";
	case RV_KEY_PORT: return "port";
	case RV_KEY_PATH: return "path";
	case RV_KEY_WORDS: return "words";
	case RV_KEY_SECRET: return "secret";
	case RV_KEY_JSON: return "json";
	}
	return "?";
}

static void put_key(struct rv_buf *out, const struct rv_key *key)
{
	RV_JSON_LIT(out, "{\"name\":");
	rv_json_str(out, key->name);
	RV_JSON_LIT(out, ",\"type\":");
	rv_json_str(out, key_type_name(key->type));
	if (key->min || key->max) {
		RV_JSON_LIT(out, ",\"min\":");
		put_bound(out, key, key->min);
		RV_JSON_LIT(out, ",\"max\":");
		put_bound(out, key, key->max);
	}
	RV_JSON_LIT(out, ",\"default\":");
	rv_json_str(out, key->preset && key->type == RV_KEY_SECRET ? "***" : key->preset);
	RV_JSON_LIT(out, ",\"env\":");
	rv_json_str(out, key->env);
	RV_JSON_LIT(out, ",\"secret\":");
	rv_json_bool(out, key->type == RV_KEY_SECRET);
	RV_JSON_LIT(out, ",\"summary\":");
	rv_json_str(out, key->summary);
	RV_JSON_LIT(out, "}");
}

static void put_plugin(struct rv_buf *out, const struct rv_plugin_table *t)
{
	bool first = true;

	RV_JSON_LIT(out, "{\"name\":");
	rv_json_str(out, t->name);
	RV_JSON_LIT(out, ",\"summary\":");
	rv_json_str(out, t->summary);
	RV_JSON_LIT(out, ",\"error\":");
	rv_json_str(out, t->error);
	RV_JSON_LIT(out, ",\"hooks\":[");
	for (unsigned h = 0; h < RV_HOOK_COUNT; h++) {
		if (!(t->hooks & RV_HAS(h)))
			continue;
		if (!first)
			RV_JSON_LIT(out, ",");
		first = false;
		rv_json_str(out, rv_hook_name((enum rv_hook)h));
	}
	RV_JSON_LIT(out, "],\"options\":[");
	for (size_t i = 0; i < t->key_count; i++) {
		if (i)
			RV_JSON_LIT(out, ",");
		put_key(out, &t->keys[i]);
	}
	RV_JSON_LIT(out, "]}");
}

static bool is_first_of(const struct rv_conf *conf, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (conf->services[i].name && conf->services[i].table == conf->services[at].table)
			return false;
	return true;
}

static void plugins(struct rv_conn *c, const struct rv_request *r)
{
	const struct rv_conf *conf = rv_engine_conf(c->control->engine);
	struct rv_buf *out = &c->output;
	bool first = true;

	rv_rpc_begin(out, r->id);
	RV_JSON_LIT(out, "{\"plugins\":[");
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct rv_service *s = &conf->services[i];

		if (!s->name || !s->table || !is_first_of(conf, i))
			continue;
		if (!first)
			RV_JSON_LIT(out, ",");
		first = false;
		put_plugin(out, s->table);
	}
	RV_JSON_LIT(out, "]}");
	rv_rpc_end(out);
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

static void act(struct rv_conn *c, const struct rv_request *r)
{
	switch (r->verb) {
	case RV_VERB_STATUS: status(c, r); break;
	case RV_VERB_WAIT: rv_wait_wait(c, r); break;
	case RV_VERB_VERSION: version(c, r); break;
	case RV_VERB_START:
	case RV_VERB_STOP:
	case RV_VERB_RESTART: rv_wait_change(c, r); break;
	case RV_VERB_SIGNAL: send_signal(c, r); break;
	case RV_VERB_LOGS: rv_logs(c, r); break;
	case RV_VERB_CHECK: check(c, r); break;
	case RV_VERB_PLAN: plan(c, r); break;
	case RV_VERB_PLUGINS: plugins(c, r); break;
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
			"wait and "
			"version",
			rv_verb_name(r.verb));
	else
		act(c, &r);
	if (r.quiet) /* a notification has no answer, whatever it was */
		c->output.len = before;
	rv_request_fini(&r);
}
