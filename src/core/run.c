/* The states `ready` and `unhealthy`. */
#include "core/mind.h"

static void schedule(const struct rv_turn *t, struct rv_slot *s)
{
	rv_time period = rv_node_of(t->c, s)->health_period;

	s->ask = RV_ASK_NONE;
	rv_machine_due(t, s, period && !s->leaving && !s->quits ? t->now + period : RV_NEVER);
}

void rv_run_enter(const struct rv_turn *t, struct rv_slot *s)
{
	s->phase = RV_PHASE_UP;
	s->ready = t->now;
	s->init_us = rv_elapsed_us(s, t->now) - s->proof_us - s->spawn_us;
	s->was_ready = s->ever = true;
	s->lost = s->recreating = s->suspected = false;
	s->attempt = 0;
	schedule(t, s);
	rv_machine_state(t, s, RV_READY, RV_WHY_NONE, RV_NO_ID);
	rv_machine_told(t, s, RV_OK);
}

static void ask_health(const struct rv_turn *t, struct rv_slot *s)
{
	const struct rv_node *n = rv_node_of(t->c, s);
	struct rv_action *a = rv_emit(t, s, RV_ACT_HEALTH);

	a->attempt = ++s->attempt;
	a->timeout = n->health_period;
	s->ask = RV_ASK_HEALTH;
	rv_machine_due(t, s, t->now + n->health_period);
}

/* Whatever is in flight goes on. */
static void be_well(const struct rv_turn *t, struct rv_slot *s)
{
	s->bad_health = 0;
	if (s->state == RV_UNHEALTHY)
		rv_machine_state(t, s, RV_READY, RV_WHY_NONE, RV_NO_ID);
}

static void healthy(const struct rv_turn *t, struct rv_slot *s)
{
	be_well(t, s);
	schedule(t, s);
}

static void ask_confirm(const struct rv_turn *t, struct rv_slot *s, bool suspected)
{
	if (s->leaving || s->seeking || s->recreating || s->paused || s->held ||
		!rv_machine_has(t, s, RV_HOOK_CONFIRM))
		return;
	s->recreating = true;
	s->suspected = suspected;
	rv_machine_ask(t, s, RV_HOOK_CONFIRM, rv_node_of(t->c, s)->ready_timeout);
}

static void leave_unhealthy(const struct rv_turn *t, struct rv_slot *s)
{
	rv_policy_unhealthy(t, s);
	rv_machine_leave(t->c, t->now, s, (enum rv_why)s->end_why, (enum rv_after)s->after);
}

/* With `recreate` bad health is no more than a suspicion. */
static void unhealthy(const struct rv_turn *t, struct rv_slot *s)
{
	const struct rv_node *n = rv_node_of(t->c, s);

	schedule(t, s);
	if (s->bad_health < UINT32_MAX)
		s->bad_health++;
	if (s->bad_health < n->health_threshold)
		return;
	if (s->state == RV_READY)
		rv_machine_state(t, s, RV_UNHEALTHY, RV_WHY_HEALTH, RV_NO_ID);
	if (!n->health_restarts || s->paused)
		return;
	if (n->recreate && !RV_FAULT(54))
		ask_confirm(t, s, true);
	else
		leave_unhealthy(t, s);
}

/* A health attempt in flight gives way. While it is being confirmed, or its daemon looked for, this waits; what has to leave,
   or cannot be asked, does not hear of it any more. */
static void tell(const struct rv_turn *t, struct rv_slot *s)
{
	rv_time within = rv_node_of(t->c, s)->ready_timeout;

	if (!s->untold)
		return;
	if (s->leaving || !rv_machine_has(t, s, RV_HOOK_UPDATE)) {
		rv_machine_told(t, s, RV_FAIL);
		return;
	}
	if (s->seeking || s->ask == RV_ASK_HOOK + RV_HOOK_CONFIRM)
		return;
	if (t->c->tell_within && t->c->tell_within < within)
		within = t->c->tell_within;
	rv_machine_ask(t, s, RV_HOOK_UPDATE, within);
}

/* It goes on being ready, whatever it answered: what is to be done about it is not decided here. */
static void told(const struct rv_turn *t, struct rv_slot *s, bool well)
{
	schedule(t, s);
	rv_machine_told(t, s, well || RV_FAULT(52) ? RV_OK : RV_FAIL);
}

static void lose(const struct rv_turn *t, struct rv_slot *s)
{
	s->lost = s->automatic = true;
	s->lost_of = s->generation;
	s->attempts = 0;
	if (s->suspected)
		leave_unhealthy(t, s);
	else
		rv_machine_leave(t->c, t->now, s, RV_WHY_RECREATE, RV_AFTER_AGAIN);
}

/* Only the plugin's word "lost" replaces what still lives, and only where that is permitted still. */
static void confirmed(const struct rv_turn *t, struct rv_slot *s)
{
	bool lost = s->hook_done == RV_FAIL || RV_FAULT(6);

	schedule(t, s);
	if (s->leaving)
		return;
	if (lost && (rv_node_of(t->c, s)->recreate || RV_FAULT(56)))
		lose(t, s);
	else
		s->recreating = false;
	tell(t, s);
}

/* A replacement is called off, or a reload has changed the health check. */
static void calm(const struct rv_turn *t, struct rv_slot *s)
{
	bool unchecked = rv_node_of(t->c, s)->health_period == 0;

	if (!s->leaving)
		s->recreating = false; /* what is known to be lost stays to be replaced, if later */
	if (s->ask == RV_ASK_HOOK + RV_HOOK_CONFIRM || (s->ask == RV_ASK_HEALTH && unchecked))
		rv_machine_drop(t, s);
	if (s->ask == RV_ASK_NONE && !s->seeking) {
		schedule(t, s);
		tell(t, s);
	}
	if (unchecked && s->state == RV_UNHEALTHY && !s->quits && !s->seeking)
		be_well(t, s); /* nothing says otherwise any more */
}

/* It is not ready any more, though it still lives; nothing is sent to it, since it is at it. */
static void quits(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->quits || RV_FAULT(40))
		return;
	s->quits = true;
	if (s->ask == RV_ASK_HEALTH)
		rv_machine_drop(t, s);
	if (s->ask == RV_ASK_NONE && !s->seeking)
		schedule(t, s);
	if (s->state == RV_READY)
		rv_machine_state(t, s, RV_UNHEALTHY, RV_WHY_QUITS, RV_NO_ID);
}

static void ended(const struct rv_turn *t, struct rv_slot *s)
{
	rv_machine_drop(t, s);
	s->seeking = false;
	if (!s->leaving)
		rv_policy_ended(t, s);
	rv_stop_leftovers(t, s);
}

/* A daemon that forks once more, or hands over to its successor, leaves well and leaves somebody. */
static void exited(const struct rv_turn *t, struct rv_slot *s)
{
	bool heir = rv_node_of(t->c, s)->type == RV_LAUNCHER && s->heard_exit == 0 &&
		!(s->facts & 1u << RV_FACT_GONE);

	s->exited = true;
	s->exit = s->heard_exit;
	if (heir && !s->leaving) {
		s->ready_by = t->now + RV_HEIR_TIME;
		s->recreating = false;
		rv_heir_begin(t, s);
	} else {
		ended(t, s);
	}
}

static void found(const struct rv_turn *t, struct rv_slot *s)
{
	s->ask = RV_ASK_NONE;
	switch ((enum rv_verdict)s->found) {
	case RV_OK:
		rv_heir_end(s);
		s->quits = false; /* that was said by the one before */
		/* nobody asks for its health when a reload has taken the check away meanwhile */
		if (s->state == RV_UNHEALTHY &&
			(s->why == RV_WHY_QUITS || !rv_node_of(t->c, s)->health_period))
			healthy(t, s);
		else
			schedule(t, s);
		tell(t, s);
		break;
	case RV_RETRY:
		if (s->leaving)
			ended(t, s);
		else
			rv_heir_pause(t, s);
		break;
	case RV_FAIL: ended(t, s); break;
	}
}

static void gone(const struct rv_turn *t, struct rv_slot *s)
{
	bool ended = s->seeking && !s->leaving;

	s->seeking = false;
	if (ended)
		rv_policy_ended(t, s);
	rv_machine_life_over(t, s);
}

static void due(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->seeking && t->now >= s->ready_by) {
		ended(t, s);
	} else if (s->seeking) {
		rv_heir_ask(t, s);
	} else if (s->ask == RV_ASK_NONE) {
		if (rv_node_of(t->c, s)->health_period && !s->leaving && !s->quits)
			ask_health(t, s);
	} else if (s->ask == RV_ASK_HEALTH) {
		rv_machine_drop(t, s);
		unhealthy(t, s);
	} else if (s->ask == RV_ASK_HOOK + RV_HOOK_UPDATE) {
		rv_machine_expire(t, s);
		told(t, s, false);
	} else {
		rv_machine_expire(t, s); /* no answer tells nothing */
		calm(t, s);
	}
}

void rv_run_hear(const struct rv_turn *t, struct rv_slot *s, enum rv_fact f)
{
	switch (f) {
	case RV_FACT_HEALTH:
		s->ask = RV_ASK_NONE;
		if (s->leaving)
			break;
		if (s->health == RV_OK)
			healthy(t, s);
		else if (s->health == RV_FAIL)
			unhealthy(t, s);
		else
			schedule(t, s); /* it could not be asked: that says nothing of it */
		break;
	case RV_FACT_HOOK_DONE:
		if (s->ask == RV_ASK_HOOK + RV_HOOK_UPDATE)
			told(t, s, s->hook_done == RV_OK);
		else
			confirmed(t, s);
		break;
	case RV_FACT_INFORM:
		rv_machine_untold(t, s);
		if (!RV_FAULT(51))
			tell(t, s);
		break;
	case RV_FACT_RECREATE: ask_confirm(t, s, false); break;
	case RV_FACT_QUITS: quits(t, s); break;
	case RV_FACT_CALM: calm(t, s); break;
	case RV_FACT_EXITED: exited(t, s); break;
	case RV_FACT_FOUND: found(t, s); break;
	case RV_FACT_GONE: gone(t, s); break;
	case RV_FACT_DUE: due(t, s); break;
	case RV_FACT_ADOPTED:
	case RV_FACT_SPAWNED:
	case RV_FACT_SPAWN_FAILED:
	case RV_FACT_EXTEND: /* nothing has a bound now */
	case RV_FACT_PROVED: break;
	}
}
