/* The turn driver: see drive.h.
 *
 *   CALL -> turn -> HTTP / RUN / WAIT -> turn -> ... -> ANSWER
 *
 * One turn is one call into a plugin. It begins in enter(), which tells the page and starts the CPU
 * clock, and ends in leave(), after what the plugin handed out was read: so a wild pointer in an
 * answer is told as the death of that hook, too. */
#include "host/drive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/names.h"
#include "base/text.h"
#include "host/instance.h"
#include "host/load.h"
#include "host/trust.h"
#include "host/web.h"
#include "sys/clock.h"

enum {
	TURNS_MAX = 1000,
	CPU_MS = 100,
	IDS_MAX = 1 << 20,
	WHY_MAX = 500,
};

_Static_assert((int)RV_HP_MEMO == (int)REEVE_MEMO && (int)RV_HP_BYTES == (int)REEVE_BODY,
	"the protocol carries what the header promises");

struct call {
	struct call *next, **at;
	struct rv_drive *d;
	struct rv_instance *instance; /* NULL: a get */
	struct rv_hp_call m; /* without memo */
	unsigned char memo[REEVE_MEMO], told[REEVE_MEMO];
	uint32_t step;
	rv_time deadline;
	ev_timer timer; /* WAIT, or an answer that is known at once */
	struct rv_web_try *http; /* in flight */
	bool running; /* a command is: RAN will come */
	struct reeve_http http_got; /* strings in `got` */
	struct reeve_run run_got;
	struct rv_arena got;
	char why[WHY_MAX]; /* the last reason, for a deadline that passes */
};

struct rv_drive {
	struct ev_loop *loop;
	struct rv_hp_page *page;
	void (*send)(void *arg, const struct rv_hp_msg *m);
	void *arg;
	struct rv_plugins plugins;
	struct rv_web *web;
	struct rv_instance **instances; /* by id */
	size_t instance_room;
	struct call *calls;
	unsigned char memo[REEVE_MEMO]; /* of rehearsals */
	char arena[REEVE_ARENA] __attribute__((aligned(16)));
};

/* ---- the page and the CPU clock ---- */

static void enter(struct rv_drive *d, uint32_t id, uint32_t what)
{
	struct itimerval cpu = {.it_value.tv_usec = CPU_MS * 1000};

	if (what >= RV_HOOK_COUNT) /* loading: the dynamic linker works for it */
		cpu = (struct itimerval){.it_value.tv_sec = 1};
	d->page->id = id;
	d->page->what = what;
	d->page->turn++;
	d->page->since = rv_now();
	setitimer(ITIMER_PROF, &cpu, NULL);
}

static void leave(struct rv_drive *d)
{
	struct itimerval off = {0};

	setitimer(ITIMER_PROF, &off, NULL);
	d->page->since = 0;
}

/* ---- instances ---- */

static struct rv_instance *find(struct rv_drive *d, uint32_t id)
{
	return id < d->instance_room ? d->instances[id] : NULL;
}

static void call_end(struct call *c);

/* Calls of it have been cancelled or answered by now; one that is left would have nobody to talk to. */
static void forget_instance(struct rv_drive *d, struct rv_instance *i)
{
	struct call *after;

	for (struct call *c = d->calls; c; c = after) {
		after = c->next;
		if (i && c->instance == i)
			call_end(c);
	}
	rv_instance_destroy(i);
}

static bool keep(struct rv_drive *d, struct rv_instance *i)
{
	size_t room = d->instance_room ? d->instance_room : 16;
	struct rv_instance **v;

	if (i->m.id >= IDS_MAX)
		return false;
	while (room <= i->m.id)
		room *= 2;
	if (room > d->instance_room) {
		v = realloc(d->instances, room * sizeof(struct rv_instance *));
		if (!v)
			return false;
		memset(v + d->instance_room, 0, (room - d->instance_room) * sizeof(*v));
		d->instances = v;
		d->instance_room = room;
	}
	forget_instance(d, d->instances[i->m.id]);
	d->instances[i->m.id] = i;
	return true;
}

/* ---- a turn ---- */

static struct reeve_turn turn_of(struct rv_drive *d, const struct rv_instance *i)
{
	return (struct reeve_turn){.size = sizeof(struct reeve_turn),
		.service = i->m.service,
		.options = i->values,
		.option_count = i->m.option_count,
		.command = i->m.command,
		.env = i->m.env,
		.listeners = i->listeners,
		.listener_count = i->m.listener_count,
		.ports = i->m.ports,
		.port_count = i->m.port_count,
		.exit = RV_EXIT_UNKNOWN,
		.arena = d->arena,
		.arena_room = sizeof(d->arena)};
}

static void call_end(struct call *c)
{
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	ev_timer_stop(c->d->loop, &c->timer);
	rv_web_cancel(c->d->web, c->http);
	rv_arena_fini(&c->got);
	free(c);
}

static void answer(
	struct call *c, enum rv_verdict v, const char *why, const struct reeve_process *p)
{
	struct rv_hp_msg m = {.kind = RV_HP_ANSWER};

	m.u.answer = (struct rv_hp_answer){
		.call = c->m.call, .id = c->m.id, .verdict = (uint8_t)v, .why = why};
	if (p)
		m.u.answer.process = rv_trust_recipe(p);
	c->d->send(c->d->arg, &m);
}

/* Ends the call for a reason of ours; the plugin's name and hook stand in front. */
static void fail(struct call *c, const char *format, ...) RV_PRINTF(2, 3);
static void fail(struct call *c, const char *format, ...)
{
	char text[400], all[600];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	snprintf(all, sizeof(all), "%s.%s %s", c->instance->m.plugin,
		rv_hook_name((enum rv_hook)c->m.hook), text);
	answer(c, RV_FAIL, all, NULL);
	call_end(c);
}

static size_t memo_len(const unsigned char *memo)
{
	size_t n = REEVE_MEMO;

	while (n && !memo[n - 1])
		n--;
	return n;
}

static void tell_memo(struct call *c)
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

static bool ask_http(struct call *c, const struct reeve_http *h)
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
	leave(c->d); /* loading the client takes its time, and is not the plugin's fault */
	c->http = rv_web_start(c->d->web, c->instance->m.dir, &ask, on_http, c);
	return c->http;
}

static bool ask_run(struct call *c, const struct reeve_run *r)
{
	struct rv_hp_msg m = {.kind = RV_HP_RUN};

	if (!r->argv || !rv_trust_list(r->argv) || !r->argv[0] || r->input_len > RV_HP_BYTES)
		return false;
	m.u.run = (struct rv_hp_run){.call = c->m.call,
		.id = c->m.id,
		.argv = r->argv,
		.input = {.p = r->input, .n = r->input ? r->input_len : 0},
		.timeout = bounded(r->timeout_ns, 5 * RV_SEC, c->deadline - rv_now())};
	c->running = true;
	c->d->send(c->d->arg, &m);
	return true;
}

static void wait_for(struct call *c, rv_time ns)
{
	rv_time left = c->deadline - rv_now();

	if (ns > left)
		ns = left;
	ev_timer_stop(c->d->loop, &c->timer);
	ev_now_update(c->d->loop);
	ev_timer_set(&c->timer, ns > 0 ? (double)ns / 1e9 : 0., 0.);
	ev_timer_start(c->d->loop, &c->timer);
}

static void next(struct call *c, unsigned what, const struct reeve_turn *t)
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
		snprintf(c->why, sizeof(c->why), "%s", why);
	else if (what == REEVE_WAIT) {
		snprintf(c->why, sizeof(c->why), "%s", why);
		wait_for(c, t->wait_ns);
	} else if (what == REEVE_RETRY || what == REEVE_FAIL) {
		answer(c, what == REEVE_RETRY ? RV_RETRY : RV_FAIL, why, NULL);
		call_end(c);
	} else if (what != REEVE_OK) {
		fail(c, "returned %u, which is no answer", what);
	} else if (c->m.hook == RV_HOOK_START && !rv_trust_process(&t->process)) {
		fail(c, "returned a recipe that cannot be: a list or a string without an end");
	} else {
		answer(c, RV_OK, why, c->m.hook == RV_HOOK_START ? &t->process : NULL);
		call_end(c);
	}
}

/* Some of the bound was spent on the way here, which nobody wants to read. */
static rv_time whole_ms(rv_time ns)
{
	return (ns + RV_MS - 1) / RV_MS * RV_MS;
}

static void turn(struct call *c)
{
	struct rv_drive *d = c->d;
	struct reeve_turn t = turn_of(d, c->instance);
	rv_time left = c->deadline - rv_now();
	char took[32];
	unsigned what;

	if (c->step >= TURNS_MAX) {
		fail(c, "did not end after %d turns", TURNS_MAX);
		return;
	}
	if (left <= 0 && c->step) {
		char text[WHY_MAX + 80];

		snprintf(text, sizeof(text), "no answer within %s%s%s",
			rv_text_dur(whole_ms(c->m.timeout), took, sizeof(took)),
			*c->why ? ": " : "", c->why);
		answer(c, RV_RETRY, text, NULL);
		call_end(c);
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
	enter(d, c->m.id, c->m.hook);
	what = (unsigned)rv_plugin_hook(c->instance->plugin, c->m.hook)(c->instance->self, &t);
	tell_memo(c);
	next(c, what, &t);
	leave(d);
}

/* ---- answers that come back ---- */

static void forget_got(struct call *c)
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
	struct call *c = arg;

	c->http = NULL;
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
	struct call *c = w->data;

	(void)loop;
	(void)events;
	forget_got(c);
	turn(c);
}

static struct call *find_call(struct rv_drive *d, uint32_t number, uint32_t id)
{
	for (struct call *c = d->calls; c; c = c->next)
		if (c->m.call == number && c->m.id == id)
			return c;
	return NULL;
}

/* One that was cancelled meanwhile is no mistake: the messages crossed. */
static void take_ran(struct rv_drive *d, const struct rv_hp_ran *m)
{
	struct call *c = find_call(d, m->call, m->id);

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

static struct call *call_create(struct rv_drive *d, const struct rv_hp_call *m)
{
	struct call *c = calloc(1, sizeof(*c));

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

static bool take_call(struct rv_drive *d, const struct rv_hp_call *m)
{
	struct call *c = call_create(d, m);

	if (!c)
		return false;
	c->instance = find(d, m->id);
	if (!c->instance) {
		answer(c, RV_FAIL, "the plugin host does not know this service", NULL);
		call_end(c);
		return true;
	}
	if (m->memo.n)
		memcpy(c->memo, m->memo.p, m->memo.n);
	memcpy(c->told, c->memo, sizeof(c->told));
	if (c->instance->plugin->error) {
		answer(c, RV_FAIL, c->instance->plugin->error, NULL);
		call_end(c);
	} else if (!rv_plugin_hook(c->instance->plugin, m->hook)) {
		fail(c, "does not exist");
	} else {
		turn(c);
	}
	return true;
}

/* 2xx is an answer; a busy or broken server may get better, any other status will not. */
static enum rv_verdict judge(const struct rv_http_got *got)
{
	if (got->transport == REEVE_HTTP_INVALID)
		return RV_FAIL;
	if (got->transport != REEVE_HTTP_DONE || got->status == 429 || got->status >= 500)
		return RV_RETRY;
	return got->status >= 200 && got->status <= 299 ? RV_OK : RV_FAIL;
}

static void on_get(void *arg, const struct rv_http_got *got)
{
	struct call *c = arg;
	const char *url = c->why;
	char why[WHY_MAX + 300];
	enum rv_verdict v = judge(got);

	c->http = NULL;
	if (got->transport != REEVE_HTTP_DONE)
		snprintf(why, sizeof(why), "GET %s: %.200s", url, got->error);
	else
		snprintf(why, sizeof(why), "GET %s answered %d%s", url, got->status,
			v == RV_OK ? "" : ", expected 2xx");
	answer(c, v, why, NULL);
	call_end(c);
}

static bool take_get(struct rv_drive *d, const struct rv_hp_get *m)
{
	struct rv_hp_call as = {.call = m->call, .id = m->id, .timeout = m->timeout};
	struct rv_http_ask ask = {.method = "GET", .url = m->url, .timeout = m->timeout};
	struct call *c = call_create(d, &as);

	if (!c)
		return false;
	rv_text_url(m->url, c->why, sizeof(c->why));
	c->http = rv_web_start(d->web, m->dir, &ask, on_get, c);
	return c->http;
}

static bool take_describe(struct rv_drive *d, const struct rv_hp_describe *m)
{
	for (uint32_t i = 0; m->names && m->names[i]; i++) {
		struct rv_hp_msg out = {.kind = RV_HP_TABLE};
		const struct rv_plugin *p;

		enter(d, i, RV_HP_IN_TABLE);
		p = rv_plugin_load(&d->plugins, m->dir, m->names[i]);
		if (p)
			out.u.table = (struct rv_hp_table){.index = i,
				.name = m->names[i],
				.summary = p->d ? p->d->summary : "",
				.error = p->error,
				.hooks = p->d ? p->hooks : 0,
				.keys = p->keys,
				.key_count = p->d ? p->key_count : 0};
		if (p)
			d->send(d->arg, &out);
		leave(d);
		if (!p)
			return false;
	}
	return true;
}

/* The rehearsal of start: one turn, no I/O. */
static void rehearse(struct rv_drive *d, struct rv_instance *i)
{
	struct rv_hp_msg m = {.kind = RV_HP_RECIPE};
	struct reeve_turn t = turn_of(d, i);
	unsigned what = REEVE_OK;

	m.u.recipe = (struct rv_hp_recipe){.id = i->m.id, .number = i->m.number, .error = ""};
	t.rehearse = true;
	t.left_ns = CPU_MS * RV_MS;
	t.memo = memset(d->memo, 0, sizeof(d->memo));
	t.http.error = t.http.answer = t.http.answer_headers = t.run.error = t.run.output = "";
	enter(d, i->m.id, RV_HOOK_START);
	if (i->plugin->error)
		m.u.recipe.error = i->plugin->error;
	else if (i->plugin->ops.start)
		what = (unsigned)i->plugin->ops.start(i->self, &t);
	if (t.arena_full)
		m.u.recipe.error = "start built more strings in a turn than there is room for";
	else if (what > REEVE_FAIL || !rv_trust_text(t.why) ||
		(what == REEVE_OK && !rv_trust_process(&t.process)))
		m.u.recipe.error = "start returned what is no recipe";
	else if (what == REEVE_FAIL)
		m.u.recipe.error = t.why && *t.why ? t.why : "start refuses this configuration";
	else if (what == REEVE_OK)
		m.u.recipe.process = rv_trust_recipe(&t.process);
	else
		m.u.recipe.fixed = true;
	d->send(d->arg, &m);
	leave(d);
}

static bool take_instance(
	struct rv_drive *d, const struct rv_hp_instance *m, struct rv_arena *arena)
{
	struct rv_instance *i = calloc(1, sizeof(*i));

	if (!i)
		return false;
	i->arena = *arena;
	*arena = (struct rv_arena){0};
	i->m = *m;
	enter(d, m->id, RV_HP_IN_INSTANCE);
	i->plugin = rv_plugin_load(&d->plugins, m->dir, m->plugin);
	leave(d);
	if (!i->plugin || !rv_instance_fill(i)) {
		rv_instance_destroy(i);
		return false;
	}
	if (m->rehearse)
		rehearse(d, i);
	if (m->keep && keep(d, i))
		return true;
	rv_instance_destroy(i);
	return !m->keep;
}

static void take_cancel(struct rv_drive *d, const struct rv_hp_cancel *m)
{
	struct call *c = find_call(d, m->call, m->id);

	if (c)
		call_end(c);
}

bool rv_drive_take(struct rv_drive *d, const struct rv_hp_msg *m, struct rv_arena *arena)
{
	switch (m->kind) {
	case RV_HP_DESCRIBE: return take_describe(d, &m->u.describe);
	case RV_HP_INSTANCE: return take_instance(d, &m->u.instance, arena);
	case RV_HP_CALL: return take_call(d, &m->u.call);
	case RV_HP_RAN: take_ran(d, &m->u.ran); return true;
	case RV_HP_GET: return take_get(d, &m->u.get);
	case RV_HP_CANCEL: take_cancel(d, &m->u.cancel); return true;
	case RV_HP_TABLE:
	case RV_HP_RECIPE:
	case RV_HP_MEMO_IS:
	case RV_HP_RUN:
	case RV_HP_ANSWER:
	case RV_HP_KIND_END: break;
	}
	return false;
}

struct rv_drive *rv_drive_create(struct ev_loop *loop, struct rv_hp_page *page,
	void (*send)(void *arg, const struct rv_hp_msg *m), void *arg)
{
	struct rv_drive *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->loop = loop;
	d->page = page;
	d->send = send;
	d->arg = arg;
	d->web = rv_web_create(loop);
	if (!d->web) {
		free(d);
		return NULL;
	}
	return d;
}

void rv_drive_destroy(struct rv_drive *d)
{
	if (!d)
		return;
	while (d->calls)
		call_end(d->calls);
	for (size_t i = 0; i < d->instance_room; i++)
		rv_instance_destroy(d->instances[i]);
	free(d->instances);
	rv_web_destroy(d->web);
	rv_arena_fini(&d->plugins.arena);
	free(d);
}
