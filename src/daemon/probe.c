/* Readiness and health checks: see probe.h.
 *
 * An attempt asks the kinds of the check one after the other, the cheap ones first; the first that does
 * not say yes ends it. */
#include "daemon/probe.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/text.h"
#include "daemon/closed.h"
#include "daemon/knock.h"
#include "daemon/newfile.h"
#include "daemon/peer.h"
#include "daemon/readyfd.h"
#include "daemon/readyline.h"
#include "daemon/trial.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* The host bounds its own work; this much later we stop believing that it does. */
#define HOST_GRACE (250 * RV_MS)

/* For so long a port may be called closed without a real request: a look does not know what a firewall redirects. */
#define TRUST_LOOK RV_SEC

enum { URL_SHOWN = 600 }; /* bytes of a URL in a sentence */

/* First what the service tells by itself. */
enum kind {
	KIND_FD,
	KIND_NOTIFY,
	KIND_LOG,
	KIND_FILE,
	KIND_UNIX,
	KIND_TCP,
	KIND_HTTP,
	KIND_PLUGIN,
	KIND_EXEC,
	KIND_END
};
enum asked { ASKED_YES, ASKED_WAIT, ASKED_OVER };

struct rv_prober {
	struct rv_prober_env env;
	const struct rv_service *service;
	uint64_t generation;
	const struct rv_check *check;
	const struct rv_spawn *context;

	/* of this whole life */
	struct rv_readyfd ready;
	bool notified; /* READY=1 came */
	struct rv_readyline line;
	struct rv_newfile file;

	/* the attempt */
	bool open; /* asked, not answered yet */
	bool inside; /* of rv_prober_attempt: the answer waits for the loop */
	enum kind kind; /* being asked now */
	rv_time timeout;
	rv_time deadline; /* of the active kinds; 0: none asked yet */
	uint32_t attempts;
	struct ev_timer timer; /* deadline */
	struct ev_timer later; /* the answer, from the loop */
	struct rv_knock knock;
	struct rv_trial trial;
	struct rv_host_http *http;
	bool plugin_asked;
	struct rv_closed closed; /* where the host would be refused */
	char *closed_why; /* how the plugin says that */
	rv_time host_asked; /* when the host was asked last, or the life began */
	enum rv_verdict verdict;
	char why[1000];
};

static void proceed(struct rv_prober *p);
static enum asked ask_host(struct rv_prober *p);

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

/* The attempt is over; p may be gone afterwards unless we are inside rv_prober_attempt. */
static void finish(struct rv_prober *p, enum rv_verdict v)
{
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

static enum asked over(struct rv_prober *p, enum rv_verdict v)
{
	p->verdict = v;
	return ASKED_OVER;
}

/* What is being asked, for a sentence. */
static const char *subject(const struct rv_prober *p, char *to, size_t size)
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
static rv_time time_left(struct rv_prober *p)
{
	rv_time left;

	if (!p->deadline)
		p->deadline = rv_now() + p->timeout;
	left = p->deadline - rv_now();
	return left > 0 ? left : 0;
}

static void start_timer(struct rv_prober *p, rv_time after)
{
	ev_now_update(p->env.loop); /* the loop's idea of now may be as old as this turn */
	ev_timer_set(&p->timer, (double)after / 1e9, 0.);
	ev_timer_start(p->env.loop, &p->timer);
}

/* ---- ready.fd */

static enum asked ask_fd(struct rv_prober *p)
{
	switch (p->ready.told) {
	case RV_TOLD_READY: return ASKED_YES;
	case RV_TOLD_NOTHING:
	case RV_TOLD_CLOSED: return ASKED_WAIT;
	case RV_TOLD_FAILED: break;
	}
	snprintf(p->why, sizeof(p->why), "ready fd %d was closed without a newline", p->check->fd);
	return over(p, RV_FAIL);
}

static void on_told(void *arg)
{
	struct rv_prober *p = arg;

	if (p->open && p->kind == KIND_FD)
		proceed(p);
}

int rv_prober_fd(struct rv_prober *p, struct rv_err *e)
{
	if (!p->check->has_fd)
		return -1;
	if (!rv_readyfd_open(&p->ready)) {
		rv_fail_errno(e, errno, "cannot make a pipe for ready fd %d", p->check->fd);
		return -1;
	}
	return p->ready.child;
}

void rv_prober_spawned(struct rv_prober *p)
{
	rv_fd_close(&p->ready.child);
}

/* ---- ready.notify */

void rv_prober_notified(struct rv_prober *p)
{
	p->notified = true;
	if (p->open && p->kind == KIND_NOTIFY)
		proceed(p);
}

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
	if (!p->open)
		return NULL;
	switch (p->kind) {
	case KIND_TCP: return "no answer to ready.tcp yet";
	case KIND_HTTP: return "no answer to ready.http yet";
	case KIND_PLUGIN: return "no answer to the probe of the plugin yet";
	case KIND_EXEC: return "ready.exec has not ended yet";
	case KIND_FD:
	case KIND_NOTIFY:
	case KIND_LOG:
	case KIND_FILE:
	case KIND_UNIX:
	case KIND_END: break;
	}
	return rv_prober_waits(p);
}

/* ---- log-line */

static void on_line(void *arg)
{
	struct rv_prober *p = arg;

	if (p->open && p->kind == KIND_LOG)
		proceed(p);
}

void rv_prober_listen(struct rv_prober *p, struct rv_capture *capture)
{
	if (p->check->log_regex)
		rv_readyline_watch(&p->line, capture, p->check->log_regex);
}

/* ---- file */

static enum asked ask_file(struct rv_prober *p)
{
	const struct rv_check *k = p->check;
	char why[200];

	if (rv_newfile_look(&p->file, k->file, k->file_anew, why, sizeof(why)))
		return ASKED_YES;
	snprintf(p->why, sizeof(p->why), "file %s: %s", k->file, why);
	return over(p, RV_RETRY);
}

/* ---- unix */

static enum asked ask_unix(struct rv_prober *p)
{
	const struct rv_check *k = p->check;
	char text[200];
	int error = 0;

	if (rv_knock_unix(&p->knock, k->unix_path, &error) != RV_KNOCK_YES)
		snprintf(p->why, sizeof(p->why), "unix %s: %s", k->unix_path,
			error == EAGAIN ? "its queue is full: nobody accepts"
					: rv_text_reason(error, text, sizeof(text)));
	else if (rv_peer_is_own(p->env.reaper, p->service->id, p->knock.peer, text, sizeof(text)))
		return ASKED_YES;
	else
		snprintf(p->why, sizeof(p->why),
			"unix %s: is listened on by %s, not by this service", k->unix_path, text);
	return over(p, RV_RETRY);
}

/* ---- tcp */

static void tcp_refused(struct rv_prober *p, int error)
{
	char text[128];

	snprintf(p->why, sizeof(p->why), "tcp %s: %s", p->check->tcp,
		rv_text_reason(error, text, sizeof(text)));
}

static void on_knocked(void *arg, bool yes, int error)
{
	struct rv_prober *p = arg;

	if (yes) {
		p->kind++;
		proceed(p);
		return;
	}
	tcp_refused(p, error);
	finish(p, RV_RETRY);
}

static enum asked ask_tcp(struct rv_prober *p)
{
	int error = 0;

	switch (rv_knock_start(
		&p->knock, p->check->tcp_ip, p->check->tcp_v6, p->check->tcp_port, &error)) {
	case RV_KNOCK_YES: return ASKED_YES;
	case RV_KNOCK_NO: break;
	case RV_KNOCK_WAIT: start_timer(p, time_left(p)); return ASKED_WAIT;
	}
	tcp_refused(p, error);
	return over(p, RV_RETRY);
}

/* ---- http and plugin, through the host, but only where somebody listens */

static void say_closed(struct rv_prober *p)
{
	char what[URL_SHOWN + 20];

	if (p->kind == KIND_PLUGIN)
		snprintf(p->why, sizeof(p->why), "%s", p->closed_why ? p->closed_why : "");
	else
		snprintf(p->why, sizeof(p->why), "%s: %s", subject(p, what, sizeof(what)),
			strerror(ECONNREFUSED));
}

static enum asked ask_where_open(struct rv_prober *p)
{
	rv_time now = rv_now();

	if (p->kind == KIND_HTTP)
		p->closed = rv_closed_of_url(p->check->http_url);
	if (now - p->host_asked > TRUST_LOOK || !rv_closed_look(&p->closed)) {
		p->host_asked = now;
		return ask_host(p);
	}
	say_closed(p);
	return over(p, RV_RETRY);
}

/* The same answer can be had for less until somebody listens there. */
static void note_closed(struct rv_prober *p, const struct rv_host_answer *a)
{
	p->closed = rv_closed_of_url(a->closed);
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
		proceed(p);
		return;
	}
	snprintf(p->why, sizeof(p->why), "%s", why ? why : "");
	finish(p, v);
}

static void on_http(void *arg, enum rv_verdict v, const char *why)
{
	struct rv_prober *p = arg;

	p->http = NULL;
	answered(p, v, why);
}

static enum asked ask_http(struct rv_prober *p)
{
	rv_time left = time_left(p);
	char what[URL_SHOWN + 20];

	p->http = p->env.host ? rv_hostlink_get(p->env.host, p->check->http, left, on_http, p)
			      : NULL;
	if (!p->http) {
		snprintf(p->why, sizeof(p->why),
			"%s: cannot be asked: the plugin host is not there",
			subject(p, what, sizeof(what)));
		return over(p, RV_RETRY);
	}
	start_timer(p, left + HOST_GRACE);
	return ASKED_WAIT;
}

static enum asked ask_plugin(struct rv_prober *p)
{
	rv_time left = time_left(p);
	const struct rv_host_facts facts = {.id = p->service->id,
		.generation = p->generation,
		.pid = rv_reaper_pid(p->env.reaper, p->service->id),
		.exit = RV_EXIT_UNKNOWN,
		.attempt = p->attempts};

	if (!p->env.host) {
		snprintf(p->why, sizeof(p->why), "the plugin host is not there");
		return over(p, RV_RETRY);
	}
	p->plugin_asked = true;
	rv_hostlink_call(p->env.host, &facts, RV_HOOK_PROBE, left);
	start_timer(p, left + HOST_GRACE);
	return ASKED_WAIT;
}

static enum asked ask_host(struct rv_prober *p)
{
	return p->kind == KIND_HTTP ? ask_http(p) : ask_plugin(p);
}

void rv_prober_answer(struct rv_prober *p, const struct rv_host_answer *a)
{
	if (!p->open || !p->plugin_asked)
		return;
	p->plugin_asked = false;
	note_closed(p, a);
	answered(p, a->verdict, a->why);
}

/* ---- exec */

static void on_ended(void *arg, rv_exit how)
{
	struct rv_prober *p = arg;
	struct rv_buf line = {0};
	char text[64];

	if (how == 0) {
		rv_trial_stop(&p->trial);
		p->kind++;
		proceed(p);
		return;
	}
	rv_trial_last_line(&p->trial, &line);
	snprintf(p->why, sizeof(p->why), "%s %s%s%s", p->check->exec[0],
		rv_exit_text(how, text, sizeof(text)), line.len ? ": " : "", rv_buf_text(&line));
	rv_buf_fini(&line);
	finish(p, RV_RETRY);
}

static enum asked ask_exec(struct rv_prober *p)
{
	struct rv_err e = {0};

	if (rv_trial_start(&p->trial, p->context, p->check->exec, &e)) {
		start_timer(p, time_left(p));
		return ASKED_WAIT;
	}
	snprintf(p->why, sizeof(p->why), "%s", e.text);
	/* A program that is not there will not be there; but a full process table passes. */
	return over(p, e.code == RV_ERR_SYSTEM ? RV_RETRY : RV_FAIL);
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
	case KIND_FD: return ask_fd(p);
	case KIND_NOTIFY: return p->notified ? ASKED_YES : ASKED_WAIT;
	case KIND_LOG: return p->line.found ? ASKED_YES : ASKED_WAIT;
	case KIND_FILE: return ask_file(p);
	case KIND_UNIX: return ask_unix(p);
	case KIND_TCP: return ask_tcp(p);
	case KIND_HTTP:
	case KIND_PLUGIN: return ask_where_open(p);
	case KIND_EXEC: return ask_exec(p);
	case KIND_END: break;
	}
	return ASKED_YES;
}

/* Asks from p->kind on. p may be gone afterwards unless we are inside rv_prober_attempt. */
static void proceed(struct rv_prober *p)
{
	for (; p->kind != KIND_END; p->kind++) {
		if (!asks(p->check, p->kind))
			continue;
		switch (ask(p)) {
		case ASKED_YES: break;
		case ASKED_WAIT: return;
		case ASKED_OVER: finish(p, p->verdict); return;
		}
	}
	p->why[0] = 0;
	finish(p, RV_OK);
}

static void say_late(struct rv_prober *p)
{
	char after[32], what[URL_SHOWN + 20];
	bool runs = p->kind == KIND_EXEC || p->kind == KIND_PLUGIN;
	rv_time bound = (p->timeout + RV_MS - 1) / RV_MS * RV_MS; /* a budget may cut it anywhere */

	snprintf(p->why, sizeof(p->why), runs ? "%s timed out after %s" : "%s: no answer within %s",
		subject(p, what, sizeof(what)), rv_text_dur(bound, after, sizeof(after)));
}

static void on_timeout(struct ev_loop *loop, struct ev_timer *w, int events)
{
	(void)loop;
	(void)events;
	say_late(w->data);
	finish(w->data, RV_RETRY);
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
	rv_readyfd_init(&p->ready, env->loop, on_told, p);
	rv_readyline_init(&p->line, env->loop, on_line, p);
	if (check->file)
		rv_newfile_note(&p->file, check->file);
	rv_knock_init(&p->knock, env->loop, on_knocked, p);
	rv_trial_init(&p->trial, env->loop, env->reaper, on_ended, p);
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
	p->kind = KIND_FD;
	p->inside = true;
	proceed(p);
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
