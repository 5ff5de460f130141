/* The control protocol: see rpc.h. */
#include "wire/rpc.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/names.h"
#include "base/text.h"
#include "wire/json.h"

#define NS_PER_MS 1000000

#define VERB_NAME(id, name, open) name,
#define VERB_OPEN(id, name, open) open,
static const char *const verb_names[] = {RV_VERBS(VERB_NAME)};
static const bool verb_open[] = {RV_VERBS(VERB_OPEN)};

const char *rv_verb_name(enum rv_verb v)
{
	return (unsigned)v < RV_VERB_COUNT ? verb_names[v] : "?";
}

bool rv_verb_from_name(const char *name, enum rv_verb *v)
{
	for (unsigned i = 0; i < RV_VERB_COUNT; i++) {
		if (!strcmp(verb_names[i], name)) {
			*v = (enum rv_verb)i;
			return true;
		}
	}
	return false;
}

const char *rv_verb_nearest(const char *word)
{
	return rv_text_nearest(word, verb_names, RV_VERB_COUNT);
}

bool rv_verb_is_open(enum rv_verb v)
{
	return (unsigned)v < RV_VERB_COUNT && verb_open[v];
}

/* The word for data.class. */
static const char *class_of(enum rv_rpc_code code)
{
#define CLASS_CASE(id, number, class) \
	case id: return class;
	switch (code) {
		RV_RPC_CODES(CLASS_CASE)
	}
	return "failed";
}

bool rv_rpc_fail(struct rv_rpc_error *e, enum rv_rpc_code code, const char *format, ...)
{
	va_list ap;

	e->code = code;
	e->marks = 0;
	e->present = 0;
	va_start(ap, format);
	rv_text_mark_cut(e->text, sizeof(e->text), vsnprintf(e->text, sizeof(e->text), format, ap));
	va_end(ap);
	return false;
}

void rv_rpc_begin(struct rv_buf *to, const char *id)
{
	RV_JSON_LIT(to, "{\"jsonrpc\":\"2.0\",\"id\":");
	rv_buf_str(to, id);
	RV_JSON_LIT(to, ",\"result\":");
}

void rv_rpc_end(struct rv_buf *to)
{
	RV_JSON_LIT(to, "}\n");
}

static void put_retry(struct rv_buf *to, unsigned marks)
{
	RV_JSON_BOOL(to, "retrySafe", rv_retry_is_safe(marks));
}

void rv_rpc_put_error(struct rv_buf *to, const char *id, const struct rv_rpc_error *e,
	const char *const *names, size_t count)
{
	RV_JSON_LIT(to, "{\"jsonrpc\":\"2.0\",\"id\":");
	rv_buf_str(to, id);
	RV_JSON_LIT(to, ",\"error\":{\"code\":");
	rv_json_int(to, e->code);
	RV_JSON_STR(to, "message", e->text);
	RV_JSON_LIT(to, ",\"data\":{\"class\":");
	rv_json_str(to, class_of(e->code));
	put_retry(to, e->marks | (e->code == RV_RPC_STALE ? RV_MARK_STALE : 0u));
	if (e->present)
		RV_JSON_INT(to, "generation", (int64_t)e->present);
	if (names) {
		RV_JSON_LIT(to, ",\"names\":[");
		for (size_t i = 0; i < count; i++) {
			if (i)
				RV_JSON_LIT(to, ",");
			rv_json_str(to, names[i]);
		}
		RV_JSON_LIT(to, "]");
	}
	RV_JSON_LIT(to, "}}}\n");
}

void rv_rpc_put_exit(struct rv_buf *to, rv_exit e)
{
	if (e < 0) {
		RV_JSON_LIT(to, "null");
	} else if (e < 256) {
		RV_JSON_LIT(to, "{\"code\":");
		rv_json_int(to, e);
		RV_JSON_LIT(to, "}");
	} else {
		RV_JSON_LIT(to, "{\"signal\":");
		rv_json_str(to, rv_signal_name(e - 256));
		RV_JSON_INT(to, "number", e - 256);
		RV_JSON_LIT(to, "}");
	}
}

static void put_us(struct rv_buf *to, int64_t us)
{
	if (us < 0)
		RV_JSON_LIT(to, "null");
	else
		rv_buf_fmt(to, "%" PRId64 ".%03d", us / 1000, (int)(us % 1000));
}

void rv_rpc_put_durations(struct rv_buf *to, const struct rv_rpc_durations *d)
{
	RV_JSON_LIT(to, "{\"spawn_ms\":");
	put_us(to, d->spawn_us);
	RV_JSON_LIT(to, ",\"ready_ms\":");
	put_us(to, d->ready_us);
	RV_JSON_LIT(to, ",\"init_ms\":");
	put_us(to, d->init_us);
	RV_JSON_LIT(to, "}");
}

static void put_pid(struct rv_buf *to, pid_t pid)
{
	RV_JSON_LIT(to, ",\"pid\":");
	if (pid > 0)
		rv_json_int(to, pid);
	else
		RV_JSON_LIT(to, "null");
}

static void put_head(
	struct rv_buf *to, const char *name, enum rv_state state, pid_t pid, uint64_t generation)
{
	RV_JSON_LIT(to, "{\"name\":");
	rv_json_str(to, name);
	RV_JSON_STR(to, "state", rv_state_name(state));
	put_pid(to, pid);
	RV_JSON_INT(to, "generation", (int64_t)generation);
}

static void put_times(struct rv_buf *to, const struct rv_rpc_service *s)
{
	RV_JSON_INT(to, "since_ms", s->since / NS_PER_MS);
	RV_JSON_LIT(to, ",\"uptime_ms\":");
	if (s->pid > 0)
		rv_json_int(to, s->uptime / NS_PER_MS);
	else
		RV_JSON_LIT(to, "null");
	if (s->due >= 0)
		RV_JSON_INT(to, "due_ms", s->due / NS_PER_MS);
	RV_JSON_LIT(to, ",\"durations\":");
	rv_rpc_put_durations(to, &s->took);
}

static void put_flags(struct rv_buf *to, const struct rv_rpc_service *s)
{
	RV_JSON_BOOL(to, "essential", s->essential);
	RV_JSON_BOOL(to, "enabled", s->enabled);
	RV_JSON_BOOL(to, "unproven", s->unproven);
	RV_JSON_BOOL(to, "held", s->held);
	if (s->paused)
		RV_JSON_LIT(to, ",\"paused\":true");
	if (s->disabled)
		RV_JSON_LIT(to, ",\"disabled\":true");
	if (s->recreate)
		RV_JSON_LIT(to, ",\"recreate\":true");
	if (s->lost)
		RV_JSON_INT(to, "lost", (int64_t)s->lost);
}

void rv_rpc_put_service(struct rv_buf *to, const struct rv_rpc_service *s)
{
	put_head(to, s->name, s->state, s->pid, s->generation);
	RV_JSON_INT(to, "restarts", s->restarts);
	put_times(to, s);
	put_flags(to, s);
	RV_JSON_LIT(to, ",\"exit\":");
	rv_rpc_put_exit(to, s->exit);
	RV_JSON_STR(to, "why", s->why);
	RV_JSON_STR(to, "other", s->other);
	RV_JSON_STR(to, "detail", s->detail);
	if (s->status_text)
		RV_JSON_STR(to, "status_text", s->status_text);
	RV_JSON_STR(to, "plugin", s->plugin);
	RV_JSON_STR(to, "summary", s->summary);
	RV_JSON_LIT(to, "}");
}

static void put_loss(struct rv_buf *to, const struct rv_rpc_loss *l)
{
	RV_JSON_BOOL(to, "replaced", l->replaced);
	RV_JSON_STR(to, "verdict", l->verdict);
	if (l->status)
		RV_JSON_INT(to, "status", l->status);
	if (l->lost)
		RV_JSON_INT(to, "lost", (int64_t)l->lost);
	if (l->notice)
		RV_JSON_STR(to, "notice", l->notice);
}

void rv_rpc_put_result(struct rv_buf *to, const struct rv_rpc_result *r)
{
	static const char *const words[] = {"under-way", "done", "failed", "not-ready", "timeout"};

	put_head(to, r->name, r->state, r->pid, r->generation);
	RV_JSON_BOOL(to, "ok", r->outcome == RV_DONE_OK || r->outcome == RV_DONE_YET);
	RV_JSON_STR(to, "outcome", words[r->outcome]);
	RV_JSON_STR(to, "why", r->why);
	if (r->outcome > RV_DONE_OK)
		put_retry(to, r->marks);
	if (r->loss)
		put_loss(to, r->loss);
	if (r->tail) {
		RV_JSON_LIT(to, ",\"stderr\":{");
		rv_json_bytes(to, r->tail, r->tail_len);
		RV_JSON_LIT(to, "}");
	}
	RV_JSON_LIT(to, "}");
}

static void put_names(
	struct rv_buf *to, const char *key, const char *const *names, size_t count, const char *end)
{
	rv_buf_str(to, key);
	for (size_t i = 0; i < count; i++) {
		if (i)
			RV_JSON_LIT(to, ",");
		rv_json_str(to, names[i]);
	}
	rv_buf_str(to, end);
}

static void put_ms(struct rv_buf *to, const char *key, rv_time ns)
{
	rv_buf_str(to, key);
	rv_json_ms(to, ns);
}

void rv_rpc_put_cause(struct rv_buf *to, const struct rv_rpc_cause *c)
{
	put_head(to, c->name, c->state, c->pid, c->generation);
	put_ms(to, ",\"since_ms\":", c->since);
	RV_JSON_STR(to, "sentence", c->sentence);
	RV_JSON_STR(to, "waits_for", c->waits_for);
	RV_JSON_STR(to, "other", c->other);
	RV_JSON_STR(to, "root", c->root);
	RV_JSON_STR(to, "check", c->answer);
	put_ms(to, ",\"trying_ms\":", c->trying);
	RV_JSON_INT(to, "attempt", c->attempt);
	put_ms(to, ",\"left_ms\":", c->left);
	put_names(to, ",\"next\":[", c->next, c->next_count, "]");
	put_names(to, ",\"options\":[", c->options, c->option_count, "]}");
}

/* "2026-11-29T21:30:01.123Z" */
static void put_wall(struct rv_buf *to, int64_t wall)
{
	time_t seconds = (time_t)(wall / (1000 * (int64_t)NS_PER_MS));
	int ms = (int)(wall / NS_PER_MS % 1000);
	struct tm tm;
	char text[40];

	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm)) {
		RV_JSON_LIT(to, "null");
		return;
	}
	rv_buf_fmt(to, "\"%s.%03dZ\"", text, ms);
}

void rv_rpc_put_event(struct rv_buf *to, const struct rv_rpc_event *e)
{
	RV_JSON_LIT(to, "{\"number\":");
	rv_json_int(to, (int64_t)e->number);
	RV_JSON_LIT(to, ",\"time\":");
	put_wall(to, e->wall);
	put_ms(to, ",\"at_ms\":", e->at);
	if (!e->name) {
		RV_JSON_STR(to, "event", e->word ? e->word : "boot");
		RV_JSON_LIT(to, ",\"boot\":");
		rv_json_str(to, e->boot);
		if (e->detail && *e->detail)
			RV_JSON_STR(to, "detail", e->detail);
		RV_JSON_LIT(to, "}");
		return;
	}
	RV_JSON_STR(to, "event", e->word ? e->word : "state");
	RV_JSON_LIT(to, ",\"name\":");
	rv_json_str(to, e->name);
	RV_JSON_STR(to, "state", rv_state_name(e->state));
	put_pid(to, e->pid);
	RV_JSON_INT(to, "generation", (int64_t)e->generation);
	RV_JSON_LIT(to, ",\"exit\":");
	rv_rpc_put_exit(to, e->exit);
	RV_JSON_STR(to, "why", e->why);
	RV_JSON_STR(to, "other", e->other);
	RV_JSON_STR(to, "detail", e->detail);
	RV_JSON_LIT(to, "}");
}
