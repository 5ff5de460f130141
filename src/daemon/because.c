/* Sentences about what a service waits for: see because.h.
 *
 *   interpreter waits until jupyter is ready; jupyter has been starting for 3s: GET http://127.0.0.1:8888/api/status:
 *   connection refused (attempt 12, 6s left); then interpreter starts */
#include "daemon/because.h"

#include "base/names.h"
#include "base/text.h"
#include "daemon/given.h"
#include "daemon/pump.h"
#include "daemon/tell.h"
#include "sys/clock.h"

enum { CHAIN_SHOWN = 4, URL_SHOWN = 300 };

/* One sentence in the making. */
struct telling {
	struct rv_engine *g;
	struct rv_buf *to;
	rv_time now;
	bool open;
};

static const char *ago(const struct telling *t, rv_time since, char *to, size_t size)
{
	return rv_text_ago(t->now > since ? t->now - since : 0, to, size);
}

static const char *left(const struct telling *t, rv_time by, char *to, size_t size)
{
	return rv_text_ago(by > t->now ? by - t->now : 0, to, size);
}

/* What is asked, for a reader who may not see the answer, or while there is none. */
static void name_check(const struct rv_hands *h, struct rv_buf *to)
{
	const struct rv_service *s = h->service;
	struct rv_buf text = {0};
	char url[URL_SHOWN];

	if (s->ready.http)
		rv_buf_fmt(&text, "%s %s", s->ready.http->method,
			rv_text_url(s->ready.http_url, url, sizeof(url)));
	else if (s->ready.file)
		rv_buf_fmt(&text, "file %s", s->ready.file);
	else if (s->ready.unix_path)
		rv_buf_fmt(&text, "unix %s", s->ready.unix_path);
	else if (s->ready.tcp)
		rv_buf_fmt(&text, "tcp %s", s->ready.tcp);
	else if (s->ready.plugin)
		rv_buf_fmt(&text, "the probe of plugin %s", s->plugin);
	else if (s->ready.exec)
		rv_buf_fmt(&text, "its command %s", s->ready.exec[0]);
	else
		rv_buf_str(&text, "its readiness check");
	rv_given_mask(h, rv_buf_text(&text), to);
	rv_buf_fini(&text);
}

/* Why it ended, or has to. For everybody only the words that we have for it. */
static void tell_cause(const struct telling *t, rv_id id, const struct rv_look *look)
{
	const char *other = rv_pump_name(t->g, look->other);

	if (!t->open) {
		rv_tell_why(&t->g->hands[id], look, other, t->to);
		return;
	}
	rv_buf_str(t->to, rv_why_text(look->why));
	if (other)
		rv_buf_fmt(t->to, ": %s", other);
}

/* ---- one part for each kind of waiting ---- */

static void starting(const struct telling *t, rv_id id, const struct rv_because *b)
{
	const struct rv_hands *h = &t->g->hands[id];
	const char *waits;
	char since[32], rest[32];

	rv_buf_fmt(
		t->to, "has been starting for %s: ", ago(t, b->look.started, since, sizeof(since)));
	waits = h->prober ? rv_prober_waits(h->prober) : NULL;
	if (b->await.what == RV_AWAIT_CHECK) {
		if (b->answer) {
			rv_buf_str(t->to, b->answer);
		} else if (waits) {
			rv_buf_str(t->to, waits);
			if (!t->open)
				rv_tell_words(h, "; it says: ", t->to);
		} else {
			name_check(h, t->to);
			rv_buf_str(t->to,
				t->open && h->probe_why ? " does not hold yet"
							: " has not been answered yet");
		}
		rv_buf_fmt(t->to, " (attempt %u", b->await.attempt);
	} else if (b->await.what == RV_AWAIT_EXIT) {
		rv_buf_str(t->to,
			h->service->type == RV_TASK
				? "it is a task, and there when it has finished well (it runs"
				: "its launcher has not ended yet (it runs");
	} else if (b->await.what == RV_AWAIT_DAEMON) {
		rv_buf_str(t->to, "its launcher has ended with 0, and its daemon is looked for");
		if (!t->open && h->probe_why && *h->probe_why)
			rv_buf_fmt(t->to, ": %s", h->probe_why);
		rv_buf_fmt(t->to, " (attempt %u", b->await.attempt);
	} else if (b->await.what == RV_AWAIT_UPDATE) {
		rv_buf_fmt(t->to, "its environment is being told to it (plugin %s",
			h->service->plugin);
	} else {
		rv_buf_fmt(t->to, "how to start it is not known yet (plugin %s is asked",
			h->service->plugin);
	}
	rv_buf_fmt(t->to, ", %s left)", left(t, b->await.by, rest, sizeof(rest)));
}

static void queued(const struct telling *t, const struct rv_because *b)
{
	const char *first = rv_pump_name(t->g, b->await.other);

	rv_buf_fmt(t->to, "could start, and waits for a permit: max-starts is %u, and %s%s",
		t->g->plan->max_starts, first ? first : "others",
		b->await.ahead > 1 ? "" : " starts now");
	if (b->await.ahead > 1)
		rv_buf_fmt(t->to, " and %u more start now", b->await.ahead - 1);
}

static void leaving(const struct telling *t, const struct rv_because *b)
{
	const char *other = rv_pump_name(t->g, b->await.other);

	rv_buf_str(t->to, "has to stop, and waits until ");
	if (b->await.ahead > 1)
		rv_buf_fmt(t->to, "%s and %u more that depend on it are gone", other ? other : "?",
			b->await.ahead - 1);
	else
		rv_buf_fmt(t->to, "%s, which depends on it, is gone", other ? other : "?");
}

static void stopping(const struct telling *t, rv_id id, const struct rv_because *b)
{
	const struct rv_node *n = &t->g->plan->node[id];
	char since[32], rest[32];

	rv_buf_fmt(t->to, "has been stopping for %s", ago(t, b->look.since, since, sizeof(since)));
	if (b->look.why != RV_WHY_NONE) {
		rv_buf_str(t->to, " (");
		tell_cause(t, id, &b->look);
		rv_buf_str(t->to, ")");
	}
	left(t, b->await.by, rest, sizeof(rest));
	if (b->await.what == RV_AWAIT_CLEANUP || b->await.what == RV_AWAIT_STOP_HOOK)
		rv_buf_fmt(t->to, ": plugin %s %s (%s left)", t->g->hands[id].service->plugin,
			b->await.what == RV_AWAIT_CLEANUP ? "cleans up behind it"
							  : "tells it to get ready for that",
			rest);
	else if (b->await.step < n->step_count)
		rv_buf_fmt(t->to, ": it got SIG%s, and %s%s follows in %s",
			rv_signal_name(t->g->plan->steps[n->first_step + b->await.step].signal),
			b->await.step + 1 < n->step_count ? "SIG" : "",
			b->await.step + 1 < n->step_count
				? rv_signal_name(
					  t->g->plan->steps[n->first_step + b->await.step + 1]
						  .signal)
				: "SIGKILL",
			rest);
}

static void killing(const struct telling *t, rv_id id, const struct rv_because *b)
{
	struct rv_buf who = {0};
	char since[32];

	rv_buf_fmt(t->to, "was killed %s ago and is not gone yet",
		ago(t, b->look.since, since, sizeof(since)));
	if (b->await.stuck && !t->open)
		rv_reaper_name(t->g->world.reaper, id, &who);
	if (who.len)
		rv_buf_fmt(t->to, ": what is left: %s", rv_buf_text(&who));
	rv_buf_fini(&who);
}

static void resting(const struct telling *t, rv_id id, const struct rv_because *b)
{
	char rest[32];

	if (b->await.what == RV_AWAIT_RESUME)
		rv_buf_fmt(t->to, "is paused and is not started again before `reevectl resume %s`",
			t->g->hands[id].service->name);
	else
		rv_buf_fmt(t->to, "starts again in %s", left(t, b->await.by, rest, sizeof(rest)));
	if (b->look.restarts) /* a start that is tried again before it was ever ready is none */
		rv_buf_fmt(t->to, " (restart %u)", b->look.restarts);
	rv_buf_str(t->to, ": ");
	tell_cause(t, id, &b->look);
}

/* Names only: values may be secrets. */
static void tell_given(const struct telling *t, rv_id id)
{
	const char *const *names;
	size_t n = rv_engine_given(t->g, id, &names);

	for (size_t i = 0; i < n; i++)
		rv_buf_fmt(t->to, "%s%s", i ? ", " : ", started with ", names[i]);
}

static void confirming(const struct telling *t, rv_id id, const struct rv_because *b)
{
	char rest[32];

	if (b->await.what == RV_AWAIT_CONFIRM)
		rv_buf_fmt(t->to, "; plugin %s is being asked whether it is lost (%s left)",
			t->g->hands[id].service->plugin, left(t, b->await.by, rest, sizeof(rest)));
}

static void up(const struct telling *t, rv_id id, const struct rv_because *b)
{
	char since[32];

	ago(t, b->look.state == RV_READY ? b->look.ready : b->look.since, since, sizeof(since));
	if (b->look.state == RV_UNHEALTHY) {
		rv_buf_fmt(t->to, "has been unhealthy for %s: ", since);
		tell_cause(t, id, &b->look);
		confirming(t, id, b);
		return;
	}
	rv_buf_fmt(t->to, "has been ready for %s (pid %d, generation %llu)", since, (int)b->pid,
		(unsigned long long)b->look.generation);
	tell_given(t, id);
	if (b->look.flags & RV_LOOK_DISABLED)
		rv_buf_fmt(t->to, ", unproven: plugin %s is disabled",
			t->g->hands[id].service->plugin);
	else if (b->look.flags & RV_LOOK_UNPROVEN)
		rv_buf_str(t->to, ", unproven: nothing checks it, for it has no `ready`");
	confirming(t, id, b);
}

static void stopped(const struct telling *t, rv_id id, const struct rv_because *b)
{
	const struct rv_service *s = t->g->hands[id].service;
	char since[32];

	ago(t, b->look.since, since, sizeof(since));
	if (rv_core_boot(t->g->core) == RV_BOOT_NOT_YET)
		rv_buf_str(t->to, "is stopped: the boot has not begun");
	else if (b->look.flags & RV_LOOK_HELD)
		rv_buf_fmt(t->to,
			"was stopped on request of user %u %s ago, and stays so until `reevectl "
			"start %s`",
			(unsigned)t->g->hands[id].stopped_by, since, s->name);
	else if (b->look.why == RV_WHY_NONE && !b->look.generation)
		rv_buf_fmt(t->to, "was never started: %snothing needs it",
			s->enabled ? "" : "it is not enabled, and ");
	else {
		rv_buf_fmt(t->to, "was stopped %s ago: ", since);
		tell_cause(t, id, &b->look);
	}
}

static void over(const struct telling *t, rv_id id, const struct rv_because *b)
{
	const char *name = t->g->hands[id].service->name;
	char since[32];

	ago(t, b->look.since, since, sizeof(since));
	if (b->look.state == RV_EXITED) {
		if (t->g->hands[id].service->type == RV_TASK)
			rv_buf_fmt(t->to, "finished well %s ago", since);
		else
			rv_buf_fmt(t->to,
				"ended by itself with 0 %s ago, after which its restart does not "
				"start it again; `reevectl start %s` does",
				since, name);
		return;
	}
	rv_buf_fmt(t->to, "failed %s ago: ", since);
	tell_cause(t, id, &b->look);
	if (b->look.lost)
		rv_buf_fmt(t->to, "; generation %llu of it is lost, and was not replaced",
			(unsigned long long)b->look.lost);
	if (!rv_core_closing(t->g->core))
		rv_buf_fmt(t->to, "; `reevectl start %s` tries again", name);
	rv_buf_fmt(t->to, ", `reevectl logs %s` shows its last lines", name);
}

/* ---- the whole ---- */

static void waits_until(const struct telling *t, const struct rv_await *a, const char *verb)
{
	static const char *const until[] = {
		[RV_UNTIL_STARTED] = "has started",
		[RV_UNTIL_READY] = "is ready",
		[RV_UNTIL_EXITED] = "has finished",
	};
	const char *other = rv_pump_name(t->g, a->other);

	rv_buf_fmt(t->to, "%s %s %s", verb, other ? other : "its ground",
		a->kind == RV_NEEDS ? until[a->until] : "is ready, has finished or has failed");
}

/* What it says of itself, behind its name. */
static void tell_one(const struct telling *t, rv_id id, const struct rv_because *b)
{
	switch (b->look.state) {
	case RV_WAITING:
		if (b->await.what == RV_AWAIT_RESUME)
			resting(t, id, b);
		else
			waits_until(t, &b->await, "waits until");
		break;
	case RV_QUEUED: queued(t, b); break;
	case RV_STARTING:
	case RV_READY:
	case RV_UNHEALTHY:
		if (b->await.what == RV_AWAIT_DEPENDENTS)
			leaving(t, b);
		else if (b->look.state == RV_STARTING)
			starting(t, id, b);
		else
			up(t, id, b);
		break;
	case RV_STOPPING: stopping(t, id, b); break;
	case RV_KILLING: killing(t, id, b); break;
	case RV_BACKOFF: resting(t, id, b); break;
	case RV_STOPPED: stopped(t, id, b); break;
	case RV_EXITED:
	case RV_FAILED: over(t, id, b); break;
	case RV_ADOPTED:
		rv_buf_fmt(t->to,
			"is %s, which reeve did not start: it is watched, and never signalled",
			t->g->hands[id].guest ? rv_guest_text(t->g->hands[id].guest)
					      : "there already");
		break;
	case RV_STATE_COUNT: break;
	}
}

static void look_at(const struct telling *t, rv_id id, struct rv_because *b)
{
	const struct rv_hands *h = &t->g->hands[id];

	*b = (struct rv_because){.id = id,
		.look = rv_core_look(t->g->core, id),
		.await = rv_core_await(t->g->core, id),
		.pid = h->facts.pid,
		.root = id};
	if (!t->open && b->look.state == RV_STARTING && h->probe_why && *h->probe_why)
		b->answer = h->probe_why;
	b->heir_count = rv_core_heirs(t->g->core, id, b->heirs, RV_HEIRS_SHOWN);
}

/* Down to what stands at the bottom; each link in words, up to a few. */
static void tell_chain(const struct telling *t, struct rv_because *b)
{
	struct rv_await a = b->await;
	unsigned links = 0;

	for (size_t i = 0; a.what == RV_AWAIT_SERVICE && a.other != RV_NO_ID && i < t->g->slots;
		i++) {
		if (i && links++ < CHAIN_SHOWN) {
			rv_buf_fmt(t->to, ", %s", rv_pump_name(t->g, b->root));
			waits_until(t, &a, " until");
		}
		b->root = a.other;
		a = rv_core_await(t->g->core, b->root);
	}
	if (links > CHAIN_SHOWN)
		rv_buf_fmt(t->to, ", and so on");
}

static void tell_heirs(const struct telling *t, const struct rv_because *b)
{
	size_t shown = b->heir_count < 3 ? b->heir_count : 2;

	/* What is idle for good brings nobody along. */
	if (!b->heir_count || b->look.state == RV_STOPPED || b->look.state == RV_FAILED)
		return;
	rv_buf_str(t->to, "; then ");
	for (size_t i = 0; i < shown; i++)
		rv_buf_fmt(t->to, "%s%s",
			!i				 ? ""
				: i + 1 == b->heir_count ? " and "
							 : ", ",
			rv_pump_name(t->g, b->heirs[i]));
	if (shown < b->heir_count)
		rv_buf_fmt(t->to, " and %zu more", b->heir_count - shown);
	rv_buf_str(t->to, b->heir_count > 1 ? " start" : " starts");
}

void rv_because_tell(
	struct rv_engine *g, rv_id id, bool open, struct rv_because *b, struct rv_buf *sentence)
{
	struct telling t = {.g = g, .to = sentence, .now = rv_now(), .open = open};
	struct rv_because below;

	look_at(&t, id, b);
	rv_buf_fmt(sentence, "%s ", g->hands[id].service->name);
	tell_one(&t, id, b);
	tell_chain(&t, b);
	if ((b->look.flags & RV_LOOK_PAUSED) && b->await.what != RV_AWAIT_RESUME)
		rv_buf_fmt(sentence,
			"; it is paused: not restarted automatically before `reevectl resume %s`",
			g->hands[id].service->name);
	if (b->root != id) {
		look_at(&t, b->root, &below);
		rv_buf_fmt(sentence, "; %s ", rv_pump_name(g, b->root));
		tell_one(&t, b->root, &below);
		tell_heirs(&t, &below);
	} else {
		tell_heirs(&t, b);
	}
}
