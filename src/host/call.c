/* The run of one hook: see inside.h.
 *
 *   CALL -> turn -> HTTP / RUN / WAIT -> turn -> ... -> ANSWER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "host/inside.h"
#include "host/trust.h"
#include "sys/clock.h"

enum { TURNS_MAX = 1000 };

_Static_assert((int)RV_HP_MEMO == (int)REEVE_MEMO && (int)RV_HP_BYTES == (int)REEVE_BODY,
	"the protocol carries what the header promises");

void rv_hostcall_end(struct rv_hostcall *c)
{
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	ev_timer_stop(c->d->loop, &c->timer);
	rv_web_cancel(c->d->web, c->http);
	rv_arena_fini(&c->got);
	rv_arena_wipe(&c->kept);
	free(c);
}

void rv_hostcall_answer(
	struct rv_hostcall *c, enum rv_verdict v, const char *why, const struct reeve_turn *start)
{
	struct rv_hp_msg m = {.kind = RV_HP_ANSWER};

	m.u.answer = (struct rv_hp_answer){.call = c->m.call,
		.id = c->m.id,
		.verdict = (uint8_t)v,
		.why = why,
		.closed = v == RV_RETRY && c->refused ? c->url : "",
		.status = c->status};
	if (start)
		m.u.answer.process = rv_trust_recipe(start);
	c->d->send(c->d->arg, &m);
}

/* Ends the call for a reason of ours. A service is lost by its plugin's own word only. */
static void refuse(struct rv_hostcall *c, const char *why)
{
	rv_hostcall_answer(c, c->m.hook == RV_HOOK_CONFIRM ? RV_RETRY : RV_FAIL, why, NULL);
	rv_hostcall_end(c);
}

/* The same; the plugin's name and hook stand in front. */
static void fail(struct rv_hostcall *c, const char *format, ...) RV_PRINTF(2, 3);
static void fail(struct rv_hostcall *c, const char *format, ...)
{
	char text[400], all[600];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	snprintf(all, sizeof(all), "%s.%s %s", c->instance->m.plugin,
		rv_hook_name((enum rv_hook)c->m.hook), text);
	refuse(c, all);
}

static size_t memo_len(const unsigned char *memo)
{
	size_t n = REEVE_MEMO;

	while (n && !memo[n - 1])
		n--;
	return n;
}

static void tell_memo(struct rv_hostcall *c)
{
	struct rv_hp_msg m = {.kind = RV_HP_MEMO_IS};

	if (!memcmp(c->memo, c->told, sizeof(c->memo)))
		return;
	memcpy(c->told, c->memo, sizeof(c->told));
	m.u.memo = (struct rv_hp_memo_is){
		.call = c->m.call, .id = c->m.id, .memo = {.p = c->memo, .n = memo_len(c->memo)}};
	c->d->send(c->d->arg, &m);
}

static void on_http(void *arg, const struct rv_http_got *got);

/* `left` bounds what was asked, `preset` stands for 0. */
static rv_time bounded(rv_time asked, rv_time preset, rv_time left)
{
	if (asked <= 0)
		asked = preset;
	return asked < left ? asked : left;
}

static bool ask_http(struct rv_hostcall *c, const struct reeve_http *h)
{
	struct rv_http_ask ask = {.method = h->method,
		.url = h->url,
		.headers = h->headers,
		.body = h->body,
		.body_len = h->body_len,
		.timeout = bounded(h->timeout_ns, 2 * RV_SEC, c->deadline - rv_now())};

	if (!h->url || !rv_trust_text(h->url) || !rv_trust_text(h->method) ||
		!rv_trust_list(h->headers) || h->body_len > RV_HP_MAX)
		return false;
	if (!ask.method)
		ask.method = h->body ? "POST" : "GET";
	rv_trust_bytes(h->body, h->body ? h->body_len : 0);
	snprintf(c->url, sizeof(c->url), "%s", strlen(h->url) < sizeof(c->url) ? h->url : "");
	snprintf(c->method, sizeof(c->method), "%s", ask.method);
	c->refused = false;
	rv_turn_leave(c->d); /* loading the client takes its time, and is not the plugin's fault */
	c->http = rv_web_start(c->d->web, c->instance->m.dir, &ask, on_http, c);
	return c->http;
}

static bool ask_run(struct rv_hostcall *c, const struct reeve_run *r)
{
	struct rv_hp_msg m = {.kind = RV_HP_RUN};

	if (!r->argv || !rv_trust_list(r->argv) || !r->argv[0] || r->input_len > RV_HP_BYTES)
		return false;
	m.u.run = (struct rv_hp_run){.call = c->m.call,
		.id = c->m.id,
		.argv = r->argv,
		.input = {.p = r->input, .n = r->input ? r->input_len : 0},
		.timeout = bounded(r->timeout_ns, 5 * RV_SEC, c->deadline - rv_now())};
	c->refused = false;
	c->running = true;
	c->d->send(c->d->arg, &m);
	return true;
}

static void wait_for(struct rv_hostcall *c, rv_time ns)
{
	rv_time left = c->deadline - rv_now();

	if (ns > left)
		ns = left;
	ev_timer_stop(c->d->loop, &c->timer);
	ev_now_update(c->d->loop);
	ev_timer_set(&c->timer, ns > 0 ? (double)ns / 1e9 : 0., 0.);
	ev_timer_start(c->d->loop, &c->timer);
}

/* A start or a check of readiness that failed for no reason would be told with the reason of something else, and nobody
   replaces what is lost for no reason. The hook check has findings and no reason; after the others the daemon only warns. */
static bool is_mute(const struct rv_hostcall *c, unsigned what, const char *why)
{
	if (*why)
		return false;
	return c->m.hook == RV_HOOK_START ? what == REEVE_FAIL || what == REEVE_RETRY
					  : what == REEVE_FAIL &&
			(c->m.hook == RV_HOOK_PROBE || c->m.hook == RV_HOOK_CONFIRM);
}

static void next(struct rv_hostcall *c, unsigned what, const struct reeve_turn *t)
{
	const char *why = t->why ? t->why : "";

	if (t->arena_full)
		fail(c, "built more than %d bytes of strings in a turn", REEVE_ARENA);
	else if (!rv_trust_text(t->why))
		fail(c, "gave a reason without an end");
	else if (what == REEVE_HTTP && !ask_http(c, &t->http))
		fail(c,
			"asked for an HTTP request that cannot be: no URL, or a string without an "
			"end");
	else if (what == REEVE_RUN && !ask_run(c, &t->run))
		fail(c, "asked for a command that cannot be: no argv, or a string without an end");
	else if (what == REEVE_HTTP || what == REEVE_RUN)
		rv_text_cut(why, c->why, sizeof(c->why));
	else if (what == REEVE_WAIT) {
		rv_text_cut(why, c->why, sizeof(c->why));
		wait_for(c, t->wait_ns);
	} else if (is_mute(c, what, why)) {
		fail(c, "failed without a word");
	} else if (what == REEVE_RETRY || what == REEVE_FAIL) {
		rv_hostcall_answer(c, what == REEVE_RETRY ? RV_RETRY : RV_FAIL, why, NULL);
		rv_hostcall_end(c);
	} else if (what != REEVE_OK) {
		fail(c, "returned %u, which is no answer", what);
	} else if (c->m.hook == RV_HOOK_START && !rv_trust_process(t)) {
		fail(c, "returned a recipe that cannot be: a list or a string without an end");
	} else {
		rv_hostcall_answer(c, RV_OK, why, c->m.hook == RV_HOOK_START ? t : NULL);
		rv_hostcall_end(c);
	}
}

/* Some of the bound was spent on the way here, which nobody wants to read. */
static rv_time whole_ms(rv_time ns)
{
	return (ns + RV_MS - 1) / RV_MS * RV_MS;
}

/* Who did not answer is known here, and what the plugin said when it asked. */
static void give_up(struct rv_hostcall *c)
{
	bool asked = c->http_got.transport == REEVE_HTTP_TIMEOUT && *c->url;
	char text[RV_WHY_MAX + RV_URL_KEPT + 80], url[RV_URL_KEPT], took[32];

	snprintf(text, sizeof(text), "%s%s%s%sno answer within %s%s%s", asked ? c->method : "",
		asked ? " " : "", asked ? rv_text_url(c->url, url, sizeof(url)) : "",
		asked ? ": " : "", rv_text_dur(whole_ms(c->m.timeout), took, sizeof(took)),
		*c->why ? ": " : "", c->why);
	rv_hostcall_answer(c, RV_RETRY, text, NULL);
	rv_hostcall_end(c);
}

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static void turn(struct rv_hostcall *c)
{
	struct rv_drive *d = c->d;
	struct reeve_turn t = rv_turn_of(d, c->instance);
	rv_time left = c->deadline - rv_now();
	unsigned what;

	if (c->step >= TURNS_MAX) {
		fail(c, "did not end after %d turns", TURNS_MAX);
		return;
	}
	if (left <= 0 && c->step) {
		give_up(c);
		return;
	}
	t.step = c->step++;
	t.again = c->m.again;
	t.left_ns = left > 0 ? left : 0;
	t.generation = c->m.generation;
	t.pid = c->m.pid;
	t.exit = c->m.exit;
	t.attempt = c->m.attempt;
	t.memo = c->memo;
	t.http = c->http_got;
	t.run = c->run_got;
	t.variables = c->m.variables;
	t.variable_count = count(c->m.variables);
	t.dropped = c->m.dropped;
	t.dropped_count = count(c->m.dropped);
	rv_turn_enter(d, c->m.id, c->m.hook);
	what = (unsigned)rv_plugin_hook(c->instance->plugin, c->m.hook)(c->instance->self, &t);
	tell_memo(c);
	next(c, what, &t);
	rv_turn_leave(d);
}

/* ---- answers that come back ---- */

static void forget_got(struct rv_hostcall *c)
{
	rv_arena_fini(&c->got);
	c->http_got = (struct reeve_http){.error = "", .answer_headers = "", .answer = ""};
	c->run_got = (struct reeve_run){.error = "", .output = "", .status = RV_EXIT_UNKNOWN};
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

static void on_http(void *arg, const struct rv_http_got *got)
{
	struct rv_hostcall *c = arg;

	c->http = NULL;
	c->refused = got->transport == REEVE_HTTP_REFUSED;
	c->status = got->status;
	forget_got(c);
	c->http_got = (struct reeve_http){.transport = (enum reeve_transport)got->transport,
		.error = or_empty(rv_arena_strdup(&c->got, got->error)),
		.status = got->status,
		.answer_headers = or_empty(rv_arena_strdup(&c->got, got->headers)),
		.answer = or_empty(rv_arena_strndup(&c->got, got->body, got->body_len)),
		.answer_len = got->body_len,
		.truncated = got->truncated};
	if (c->got.full)
		c->http_got.answer_len = 0;
	turn(c);
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct rv_hostcall *c = w->data;

	(void)loop;
	(void)events;
	forget_got(c);
	turn(c);
}

static struct rv_hostcall *find_call(struct rv_drive *d, uint32_t number, uint32_t id)
{
	for (struct rv_hostcall *c = d->calls; c; c = c->next)
		if (c->m.call == number && c->m.id == id)
			return c;
	return NULL;
}

/* One that was cancelled meanwhile is no mistake: the messages crossed. */
void rv_hostcall_ran(struct rv_drive *d, const struct rv_hp_ran *m)
{
	struct rv_hostcall *c = find_call(d, m->call, m->id);

	if (!c || !c->running)
		return;
	c->running = false;
	forget_got(c);
	c->run_got = (struct reeve_run){.error = or_empty(rv_arena_strdup(&c->got, m->error)),
		.status = m->exit,
		.output = or_empty(rv_arena_strndup(&c->got, m->output.p, m->output.n)),
		.output_len = c->got.full ? 0 : m->output.n,
		.truncated = m->truncated};
	turn(c);
}

/* ---- messages ---- */

struct rv_hostcall *rv_hostcall_create(struct rv_drive *d, const struct rv_hp_call *m)
{
	struct rv_hostcall *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->d = d;
	c->m = *m;
	c->m.memo = (struct rv_hp_bytes){0};
	c->deadline = rv_now() + m->timeout;
	ev_timer_init(&c->timer, on_timer, 0., 0.);
	c->timer.data = c;
	forget_got(c);
	c->next = d->calls;
	c->at = &d->calls;
	if (c->next)
		c->next->at = &c->next;
	d->calls = c;
	return c;
}

bool rv_hostcall_take(struct rv_drive *d, const struct rv_hp_call *m, struct rv_arena *arena)
{
	struct rv_hostcall *c = rv_hostcall_create(d, m);

	if (!c)
		return false;
	if (m->variables || m->dropped) {
		c->kept = *arena;
		*arena = (struct rv_arena){0};
	}
	c->instance = rv_drive_find(d, m->id);
	if (!c->instance) {
		refuse(c, "the plugin host does not know this service");
		return true;
	}
	if (m->memo.n)
		memcpy(c->memo, m->memo.p, m->memo.n);
	memcpy(c->told, c->memo, sizeof(c->told));
	if (c->instance->plugin->error) {
		refuse(c, c->instance->plugin->error);
	} else if (!rv_plugin_hook(c->instance->plugin, m->hook)) {
		fail(c, "does not exist");
	} else {
		turn(c);
	}
	return true;
}

void rv_hostcall_cancel(struct rv_drive *d, const struct rv_hp_cancel *m)
{
	struct rv_hostcall *c = find_call(d, m->call, m->id);

	if (c)
		rv_hostcall_end(c);
}
