/* Actions out: what the core has decided is done. Performing one never applies an event: what is learned at once is
 * queued. */
#include "daemon/pump.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "daemon/envchange.h"
#include "daemon/given.h"
#include "daemon/place.h"
#include "daemon/say.h"
#include "daemon/tell.h"
#include "sys/clock.h"

#define SWEEP_LIMIT (2 * RV_SEC)

void rv_pump_notify(struct rv_engine *g, rv_id id)
{
	struct rv_watcher *w = g->watchers, *next;

	for (; w; w = next) {
		next = w->next;
		w->changed(w, id);
	}
}

/* NULL: there is no room for it. */
static struct rv_happening *remember(
	struct rv_engine *g, const struct rv_action *a, const char *why)
{
	struct rv_happening *n = rv_history_add(&g->history);

	if (!n)
		return NULL;
	*n = (struct rv_happening){.at = rv_now(),
		.generation = a->generation,
		.id = a->id,
		.other = a->other,
		.exit = a->exit,
		.pid = a->id < g->slots ? g->hands[a->id].facts.pid : 0,
		.state = a->state,
		.why = a->why,
		.boot = (uint8_t)rv_core_boot(g->core)};
	rv_text_cut(why, n->detail, sizeof(n->detail));
	return n;
}

static void do_start(struct rv_engine *g, const struct rv_action *a)
{
	if (g->start_first + g->start_count == g->start_room) {
		memmove(g->starts, g->starts + g->start_first, g->start_count * sizeof(*g->starts));
		g->start_first = 0;
	}
	assert(g->start_count < g->start_room); /* one life a slot, so one START a slot */
	g->starts[g->start_first + g->start_count++] = (struct rv_start){a->id, a->generation};
}

static void do_hook(struct rv_engine *g, const struct rv_action *a)
{
	const struct rv_hands *h = &g->hands[a->id];
	enum rv_hook hook = (enum rv_hook)a->hook;
	struct rv_host_facts f = {.id = a->id,
		.generation = a->generation,
		.pid = h->facts.pid,
		.exit = h->facts.exit,
		.attempt = h->facts.attempt};

	if (h->unused & RV_HAS(hook))
		rv_pump_verdict(g, RV_EV_HOOK_DONE, a->id, a->generation, hook, RV_OK);
	else
		rv_hostlink_call(g->world.host, &f, hook, a->timeout);
}

/* Its main process ended well by itself, and what it left is asked to leave: it may have meant to go on there. */
static void hint_at_launcher(struct rv_engine *g, const struct rv_action *a)
{
	const struct rv_hands *h = &g->hands[a->id];
	enum rv_why why = rv_core_look(g->core, a->id).why;
	struct rv_buf who = {0};

	if (a->step || h->facts.exit != 0 || h->service->type != RV_DAEMON ||
		h->service->is_command || (why != RV_WHY_EXIT && why != RV_WHY_EXIT_EARLY))
		return;
	rv_reaper_name(g->world.reaper, a->id, &who);
	if (who.len)
		rv_say(RV_WARN, h->service->name,
			"it ended with 0 and left %s behind, which is stopped now: if it goes into "
			"the background by itself, keep it in the foreground, or write `type: "
			"launcher`",
			rv_buf_text(&who));
	rv_buf_fini(&who);
}

static void do_signal(struct rv_engine *g, const struct rv_action *a)
{
	const struct rv_node *n = &g->plan->node[a->id];
	const struct rv_step *s = &g->plan->steps[n->first_step + a->step];

	hint_at_launcher(g, a);
	rv_say(RV_DEBUG, g->hands[a->id].service->name, "stop step %u: SIG%s", a->step + 1,
		rv_signal_name(s->signal));
	rv_reaper_ask(g->world.reaper, a->id, s->signal, (enum rv_target)a->to);
}

static void do_state(struct rv_engine *g, const struct rv_action *a)
{
	struct rv_hands *h = &g->hands[a->id];
	struct rv_look look = rv_core_look(g->core, a->id);
	struct rv_buf why = {0};

	look.state = (enum rv_state)a->state; /* several changes may be in one turn */
	look.why = (enum rv_why)a->why;
	look.other = a->other;
	rv_tell_why(h, &look, rv_pump_name(g, a->other), &why);
	if (look.state == RV_KILLING && g->stop_signals > 1)
		rv_say(RV_WARN, h->service->name, "killed");
	else if (look.state == RV_KILLING && !g->plan->node[a->id].step_count && !h->asking)
		rv_say(RV_INFO, h->service->name, "killed: its stop has no steps");
	else if (look.state != RV_KILLING || !h->asking) /* it was given up, which is told there */
		rv_tell_state(h, &look, rv_buf_text(&why));
	if (look.state == RV_READY && rv_tell_is_back(&look))
		rv_buf_str(&why, "ready again");
	else if (look.state == RV_READY && !why.len)
		rv_tell_took(&look, &why);
	remember(g, a, rv_buf_text(&why));
	if (look.state != RV_STARTING && look.state != RV_ADOPTED)
		rv_place_part(h);
	if (look.state == RV_STOPPED)
		rv_ending_stopped(g, a->id);
	if (look.state == RV_STOPPED || look.state == RV_FAILED || look.state == RV_EXITED)
		h->lived = false;
	if (h->given_changes)
		rv_given_settle(g, a->id, look.state);
	if (look.state == RV_READY)
		rv_hands_proven(h);
	rv_buf_fini(&why);
	rv_pump_notify(g, a->id);
}

static void say_given_up(const struct rv_hands *h, enum rv_hook hook)
{
	rv_say(RV_WARN, h->service->name,
		"its %s hook did not end within reeve.start-grace: given up", rv_hook_name(hook));
}

/* A start whose hook is in flight has no process: nobody waits for its answer any more. */
static void do_kill(struct rv_engine *g, const struct rv_action *a)
{
	struct rv_hands *h = &g->hands[a->id];

	if (!h->asking) {
		rv_reaper_kill(g->world.reaper, a->id);
		return;
	}
	if (g->stop_signals < 2)
		say_given_up(h, RV_HOOK_START);
	h->asking = false;
	rv_hostlink_drop(g->world.host, a->id);
	rv_pump_refuse(g, a->id, a->generation, "not started: it has to stop");
}

/* It is an event as good as a change of state, and its life goes on as it is. */
static void do_paused(struct rv_engine *g, const struct rv_action *a)
{
	struct rv_hands *h = &g->hands[a->id];
	struct rv_action as_state = *a;
	struct rv_happening *n;
	char who[40];

	rv_say(RV_INFO, h->service->name,
		a->paused ? "paused on request of user %u: it is not restarted automatically"
			  : "resumed on request of user %u",
		(unsigned)h->paused_by[a->paused]);
	snprintf(who, sizeof(who), "on request of user %u", (unsigned)h->paused_by[a->paused]);
	as_state.why = RV_WHY_NONE; /* its state is as it was */
	as_state.exit = RV_EXIT_UNKNOWN;
	n = remember(g, &as_state, who);
	if (n)
		n->word = a->paused ? RV_HAPPENED_PAUSED : RV_HAPPENED_RESUMED;
	rv_pump_notify(g, a->id);
}

static void do_stuck(struct rv_engine *g, const struct rv_action *a)
{
	struct rv_buf who = {0};

	rv_reaper_name(g->world.reaper, a->id, &who);
	rv_say(RV_ERROR, g->hands[a->id].service->name, "survived KILL: %s", rv_buf_text(&who));
	rv_buf_fini(&who);
}

static void do_health(struct rv_engine *g, const struct rv_action *a)
{
	struct rv_hands *h = &g->hands[a->id];

	/* That a plugin cannot be asked any more says nothing of the service. */
	if (h->service->health->plugin && (rv_core_look(g->core, a->id).flags & RV_LOOK_DISABLED))
		rv_pump_verdict(g, RV_EV_HEALTH, a->id, a->generation, RV_HOOK_PROBE, RV_OK);
	else if (!rv_hands_health(h, &g->world, a->timeout))
		rv_say(RV_WARN, h->service->name, "cannot ask for its health: out of memory");
}

/* When nobody is left, the reaper may say so in this very turn. */
static void do_find(struct rv_engine *g, const struct rv_action *a)
{
	enum rv_verdict v = RV_RETRY;

	switch (rv_hands_seek(&g->hands[a->id], &g->world)) {
	case RV_SOUGHT_FOUND: v = RV_OK; break;
	case RV_SOUGHT_NOT_YET: break;
	case RV_SOUGHT_NEVER: v = RV_FAIL; break;
	case RV_SOUGHT_NOBODY:
		rv_reaper_no_heir(g->world.reaper, a->id);
		g->children_ended = true;
		break;
	}
	rv_pump_verdict(g, RV_EV_FOUND, a->id, a->generation, RV_HOOK_START, v);
}

static void do_over(struct rv_engine *g, const struct rv_action *a)
{
	size_t left = rv_reaper_sweep(g->world.reaper, SWEEP_LIMIT);

	if (left)
		rv_say(RV_ERROR, NULL, "%zu processes survived KILL", left);
	g->over = true;
	g->end = (enum rv_end)a->end;
	g->end_exit = a->exit;
	rv_ending_over(g, a->id);
	rv_pump_notify(g, RV_NO_ID);
	ev_break(g->world.loop, EVBREAK_ALL);
}

/* The core gives all that is left of the budget. What ends a little before that tells the last
   cause; but when there is too little left to learn anything, the budget cuts it short, and what
   was learned before stands. */
static rv_time attempt_bound(const struct rv_hands *h, rv_time left)
{
	const struct rv_check *k = &h->service->ready;
	rv_time most = k->attempt_timeout;
	/* What the plugin host has learned has a way to go. */
	rv_time way = k->plugin || k->http_url ? 50 * RV_MS : 5 * RV_MS;

	if (most < left)
		return most;
	if (h->probe_why && left < most / 2 && left < 250 * RV_MS)
		return left + RV_SEC;
	return left > 20 * RV_MS ? left - (way < left / 8 ? way : left / 8) : left;
}

void rv_pump_perform(struct rv_engine *g, const struct rv_action *a)
{
	struct rv_hands *h = a->id < g->slots ? &g->hands[a->id] : NULL;

	switch ((enum rv_action_kind)a->kind) {
	case RV_ACT_START: do_start(g, a); break;
	case RV_ACT_FIND: do_find(g, a); break;
	case RV_ACT_PROBE:
		if (h && h->prober)
			rv_prober_attempt(h->prober, attempt_bound(h, a->timeout));
		break;
	case RV_ACT_HOOK: do_hook(g, a); break;
	case RV_ACT_DROP:
		if (h && a->verdict == RV_FAIL && a->hook == RV_HOOK_CONFIRM)
			rv_suspicion_unanswered(g, h);
		else if (h && a->verdict == RV_FAIL)
			rv_say(RV_WARN, h->service->name, "%s hook: its time was over",
				rv_hook_name((enum rv_hook)a->hook));
		if (h && a->verdict == RV_FAIL && a->hook == RV_HOOK_UPDATE)
			rv_env_refused(g, a->id, "it has not answered in time");
		if (h)
			rv_hands_unanswered(h);
		if (h && a->why == RV_WHY_GRACE)
			say_given_up(h, (enum rv_hook)a->hook);
		rv_hostlink_drop(g->world.host, a->id);
		break;
	case RV_ACT_SIGNAL: do_signal(g, a); break;
	case RV_ACT_KILL: do_kill(g, a); break;
	case RV_ACT_STATE: do_state(g, a); break;
	case RV_ACT_STUCK: do_stuck(g, a); break;
	case RV_ACT_PAUSED: do_paused(g, a); break;
	case RV_ACT_TOLD: rv_env_told(g, a); break;
	case RV_ACT_BOOT:
		rv_booted(g, a);
		remember(g, &(struct rv_action){.id = RV_NO_ID, .other = RV_NO_ID}, "");
		rv_pump_notify(g, RV_NO_ID);
		break;
	case RV_ACT_OVER: do_over(g, a); break;
	case RV_ACT_HEALTH: do_health(g, a); break;
	case RV_ACT_RETIRED: g->retired = true; break;
	}
}
