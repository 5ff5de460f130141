/* Readiness and health checks: see probe.h.
 *
 * An attempt asks the kinds of the check one after the other, the cheap ones first; the first that does
 * not say yes ends it. */
#include "daemon/probein.h"

#include <assert.h>
#include <stdlib.h>

#include "base/text.h"
#include "sys/clock.h"

static void stop_asking(struct rv_prober *p)
{
	ev_timer_stop(p->env.loop, &p->timer);
	rv_knock_stop(&p->knock);
	rv_trial_stop(&p->trial);
	if (p->http)
		rv_hostlink_get_drop(p->env.host, p->http);
	if (p->plugin_asked)
		rv_hostlink_drop(p->env.host, p->service->id);
	p->http = NULL;
	p->plugin_asked = false;
}

/* p may be gone afterwards. */
static void deliver(struct rv_prober *p)
{
	p->open = false;
	p->env.ops->done(p->env.ctx, p->service->id, p->generation, p->verdict, p->why);
}

static void on_later(struct ev_loop *loop, struct ev_timer *w, int events)
{
	(void)loop;
	(void)events;
	deliver(w->data);
}

/* The attempt is rv_probe_over; p may be gone afterwards unless we are inside rv_prober_attempt. */
void rv_probe_finish(struct rv_prober *p, enum rv_verdict v)
{
	p->unsure = v != RV_OK && (p->kind == KIND_HTTP || p->kind == KIND_PLUGIN) &&
		p->asked_host &&
		(!p->env.host || !rv_hostlink_was_well(p->env.host, p->host_asked));
	p->verdict = v;
	p->kind = KIND_END;
	stop_asking(p);
	if (!p->inside) {
		deliver(p);
		return;
	}
	ev_timer_set(&p->later, 0., 0.);
	ev_timer_start(p->env.loop, &p->later);
}

enum asked rv_probe_over(struct rv_prober *p, enum rv_verdict v)
{
	p->verdict = v;
	return ASKED_OVER;
}

/* What is being asked, for a sentence. */
const char *rv_probe_subject(const struct rv_prober *p, char *to, size_t size)
{
	char url[URL_SHOWN];

	if (p->kind == KIND_TCP)
		snprintf(to, size, "tcp %s", p->check->tcp);
	else if (p->kind == KIND_HTTP)
		snprintf(to, size, "%s %s", p->check->http->method,
			rv_text_url(p->check->http_url, url, sizeof(url)));
	else
		snprintf(to, size, "%s",
			p->kind == KIND_EXEC ? p->check->exec[0] : "the probe hook");
	return to;
}

/* Time left for the active kinds; the first of them starts the clock. */
rv_time rv_probe_left(struct rv_prober *p)
{
	rv_time left;

	if (!p->deadline)
		p->deadline = rv_now() + p->timeout;
	left = p->deadline - rv_now();
	return left > 0 ? left : 0;
}

void rv_probe_timer(struct rv_prober *p, rv_time after)
{
	ev_now_update(p->env.loop); /* the loop's idea of now may be as old as this turn */
	ev_timer_set(&p->timer, (double)after / 1e9, 0.);
	ev_timer_start(p->env.loop, &p->timer);
}

/* ---- what it waits for */

const char *rv_prober_waits(const struct rv_prober *p)
{
	if (!p->open)
		return NULL;
	if (p->kind == KIND_NOTIFY)
		return "READY=1 has not come on NOTIFY_SOCKET";
	if (p->kind == KIND_LOG)
		return "no line of its output has a match for ready.log-line";
	return p->kind == KIND_FD ? "no line has come on the ready descriptor" : NULL;
}

const char *rv_prober_asks(const struct rv_prober *p)
{
	bool health = p->check == p->service->health;

	if (!p->open)
		return NULL;
	switch (p->kind) {
	case KIND_TCP: return health ? "no answer to health.tcp" : "no answer to ready.tcp yet";
	case KIND_HTTP: return health ? "no answer to health.http" : "no answer to ready.http yet";
	case KIND_PLUGIN: return "no answer to the probe of the plugin yet";
	case KIND_EXEC:
		return health ? "health.exec has not ended" : "ready.exec has not ended yet";
	case KIND_FD:
	case KIND_NOTIFY:
	case KIND_LOG:
	case KIND_FILE:
	case KIND_UNIX:
	case KIND_END: break;
	}
	return rv_prober_waits(p);
}

/* ---- the attempt */

static bool asks(const struct rv_check *c, enum kind k)
{
	switch (k) {
	case KIND_FD: return c->has_fd;
	case KIND_NOTIFY: return c->notify;
	case KIND_LOG: return c->log_regex;
	case KIND_FILE: return c->file;
	case KIND_UNIX: return c->unix_path;
	case KIND_TCP: return c->tcp;
	case KIND_HTTP: return c->http_url;
	case KIND_PLUGIN: return c->plugin;
	case KIND_EXEC: return c->exec;
	case KIND_END: break;
	}
	return false;
}

static enum asked ask(struct rv_prober *p)
{
	ev_timer_stop(p->env.loop, &p->timer);
	switch (p->kind) {
	case KIND_FD: return rv_probe_ask_fd(p);
	case KIND_NOTIFY: return p->notified ? ASKED_YES : ASKED_WAIT;
	case KIND_LOG: return p->line.found ? ASKED_YES : ASKED_WAIT;
	case KIND_FILE: return rv_probe_ask_file(p);
	case KIND_UNIX: return rv_probe_ask_unix(p);
	case KIND_TCP: return rv_probe_ask_tcp(p);
	case KIND_HTTP:
	case KIND_PLUGIN: return rv_probe_ask_host(p);
	case KIND_EXEC: return rv_probe_ask_exec(p);
	case KIND_END: break;
	}
	return ASKED_YES;
}

/* Asks from p->kind on. p may be gone afterwards unless we are inside rv_prober_attempt. */
void rv_probe_proceed(struct rv_prober *p)
{
	for (; p->kind != KIND_END; p->kind++) {
		if (!asks(p->check, p->kind))
			continue;
		switch (ask(p)) {
		case ASKED_YES: break;
		case ASKED_WAIT: return;
		case ASKED_OVER: rv_probe_finish(p, p->verdict); return;
		}
	}
	p->why[0] = 0;
	rv_probe_finish(p, RV_OK);
}

static void say_late(struct rv_prober *p)
{
	char after[32], what[URL_SHOWN + 20];
	bool runs = p->kind == KIND_EXEC || p->kind == KIND_PLUGIN;
	rv_time bound = (p->timeout + RV_MS - 1) / RV_MS * RV_MS; /* a budget may cut it anywhere */

	snprintf(p->why, sizeof(p->why), runs ? "%s timed out after %s" : "%s: no answer within %s",
		rv_probe_subject(p, what, sizeof(what)), rv_text_dur(bound, after, sizeof(after)));
}

static void on_timeout(struct ev_loop *loop, struct ev_timer *w, int events)
{
	(void)loop;
	(void)events;
	say_late(w->data);
	rv_probe_finish(w->data, RV_RETRY);
}

bool rv_prober_unsure(const struct rv_prober *p)
{
	return p->unsure;
}

const char *rv_prober_late(struct rv_prober *p)
{
	if (!p->open || p->kind < KIND_TCP || p->kind == KIND_END || !p->deadline ||
		rv_now() < p->deadline)
		return NULL;
	say_late(p);
	return p->why;
}

struct rv_prober *rv_prober_create(const struct rv_prober_env *env,
	const struct rv_service *service, uint64_t generation, const struct rv_check *check,
	const struct rv_spawn *context)
{
	struct rv_prober *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->env = *env;
	p->service = service;
	p->generation = generation;
	p->check = check;
	p->context = context;
	p->host_asked = rv_now();
	ev_timer_init(&p->timer, on_timeout, 0., 0.);
	ev_timer_init(&p->later, on_later, 0., 0.);
	p->timer.data = p->later.data = p;
	rv_readyfd_init(&p->ready, env->loop, rv_probe_on_told, p);
	rv_readyline_init(&p->line, env->loop, rv_probe_on_line, p);
	if (check->file)
		rv_newfile_note(&p->file, check->file);
	rv_knock_init(&p->knock, env->loop, rv_probe_on_knocked, p);
	rv_trial_init(&p->trial, env->loop, env->reaper, rv_probe_on_ended, p);
	return p;
}

void rv_prober_destroy(struct rv_prober *p)
{
	if (!p)
		return;
	rv_prober_cancel(p);
	rv_readyfd_close(&p->ready);
	rv_readyline_stop(&p->line);
	free(p->closed_why);
	free(p);
}

void rv_prober_attempt(struct rv_prober *p, rv_time timeout)
{
	assert(!p->open);
	p->open = true;
	p->attempts++;
	p->timeout = timeout;
	p->deadline = 0;
	p->asked_host = p->unsure = false;
	p->kind = KIND_FD;
	p->inside = true;
	rv_probe_proceed(p);
	p->inside = false;
}

void rv_prober_cancel(struct rv_prober *p)
{
	if (!p->open)
		return;
	stop_asking(p);
	ev_timer_stop(p->env.loop, &p->later);
	p->kind = KIND_END;
	p->open = false;
}

bool rv_prober_is_open(const struct rv_prober *p)
{
	return p->open;
}

void rv_prober_rebind(struct rv_prober *p, const struct rv_service *service,
	const struct rv_check *check, const struct rv_spawn *context)
{
	p->service = service;
	p->context = context;
	if (!check)
		return;
	p->check = check;
	p->line.regex = check->log_regex;
	if (p->http)
		rv_hostlink_get_rebind(p->http, check->http);
}
