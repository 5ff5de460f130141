/* The ways to ask that lead through the plugin host: HTTP, and the plugin's own probe. See probe.h. */
#include "daemon/probein.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sys/clock.h"

/* The host bounds its own work; this much later we stop believing that it does. */
#define HOST_GRACE (250 * RV_MS)

/* For so long a port may be called closed without a real request: a look does not know what a firewall redirects. */
#define TRUST_LOOK RV_SEC

/* ---- http and plugin, through the host, but only where somebody listens */

static void say_closed(struct rv_prober *p)
{
	char what[URL_SHOWN + 20];

	if (p->kind == KIND_PLUGIN)
		snprintf(p->why, sizeof(p->why), "%s", p->closed_why ? p->closed_why : "");
	else
		snprintf(p->why, sizeof(p->why), "%s: %s", rv_probe_subject(p, what, sizeof(what)),
			strerror(ECONNREFUSED));
}

/* The same answer can be had for less until somebody listens there. */
static void note_closed(struct rv_prober *p, const struct rv_host_answer *a)
{
	rv_address_of_url(a->closed, &p->closed);
	free(p->closed_why);
	p->closed_why = p->closed.port ? strdup(a->why) : NULL;
	if (!p->closed_why)
		p->closed.port = 0;
}

static void answered(struct rv_prober *p, enum rv_verdict v, const char *why)
{
	if (v == RV_OK) {
		ev_timer_stop(p->env.loop, &p->timer);
		p->kind++;
		rv_probe_proceed(p);
		return;
	}
	rv_text_cut(why ? why : "", p->why, sizeof(p->why));
	rv_probe_finish(p, v);
}

static void on_http(void *arg, enum rv_verdict v, const char *why)
{
	struct rv_prober *p = arg;

	p->http = NULL;
	answered(p, v, why);
}

static enum asked ask_http(struct rv_prober *p)
{
	rv_time left = rv_probe_left(p);
	char what[URL_SHOWN + 20];

	p->http = p->env.host ? rv_hostlink_get(p->env.host, p->check->http, left, on_http, p)
			      : NULL;
	if (!p->http) {
		snprintf(p->why, sizeof(p->why),
			"%s: cannot be asked: the plugin host is not there",
			rv_probe_subject(p, what, sizeof(what)));
		return rv_probe_over(p, RV_RETRY);
	}
	rv_probe_timer(p, left + (p->grace ? p->grace : HOST_GRACE));
	return ASKED_WAIT;
}

static enum asked ask_plugin(struct rv_prober *p)
{
	rv_time left = rv_probe_left(p);
	const struct rv_host_facts facts = {.id = p->service->id,
		.generation = p->generation,
		.pid = rv_reaper_pid(p->env.reaper, p->service->id),
		.exit = RV_EXIT_UNKNOWN,
		.attempt = p->attempts};

	if (!p->env.host) {
		snprintf(p->why, sizeof(p->why), "the plugin host is not there");
		return rv_probe_over(p, RV_RETRY);
	}
	p->plugin_asked = true;
	rv_hostlink_call(p->env.host, &facts, RV_HOOK_PROBE, left);
	rv_probe_timer(p, left + (p->grace ? p->grace : HOST_GRACE));
	return ASKED_WAIT;
}

static enum asked ask_now(struct rv_prober *p)
{
	return p->kind == KIND_HTTP ? ask_http(p) : ask_plugin(p);
}

enum asked rv_probe_ask_host(struct rv_prober *p)
{
	rv_time now = rv_now();

	if (now - p->host_asked > TRUST_LOOK ||
		!rv_closed_look(p->kind == KIND_HTTP ? &p->check->http_at : &p->closed)) {
		p->host_asked = now;
		p->asked_host = true;
		return ask_now(p);
	}
	say_closed(p);
	return rv_probe_over(p, RV_RETRY);
}

void rv_prober_patience(struct rv_prober *p, rv_time grace)
{
	p->grace = grace > 0 && grace < HOST_GRACE ? grace : HOST_GRACE;
}

void rv_prober_answer(struct rv_prober *p, const struct rv_host_answer *a)
{
	if (!p->open || !p->plugin_asked)
		return;
	p->plugin_asked = false;
	note_closed(p, a);
	answered(p, a->verdict, a->why);
}
