/* One service's machine: which state function hears a fact, and what the states share. */
#include "core/mind.h"

void rv_machine_state(const struct rv_turn *t, struct rv_slot *s, enum rv_state state,
	enum rv_why why, rv_id other)
{
	struct rv_action *a;

	if (s->state == RV_STARTING && state != RV_STARTING && !RV_FAULT(25))
		t->c->starting--;
	if (s->state != RV_STARTING && state == RV_STARTING)
		t->c->starting++;
	if (s->state != state)
		s->since = t->now;
	s->state = (uint8_t)state;
	s->why = (uint8_t)why;
	s->other = other;
	rv_mark(t->c, s, RV_SET_GROUND);
	rv_mark(t->c, s, RV_SET_START);
	a = rv_emit(t, s, RV_ACT_STATE);
	a->why = (uint8_t)why;
	a->other = other;
}

/* The one deadline of a slot; setting it forgets one that has just passed. */
void rv_machine_due(const struct rv_turn *t, struct rv_slot *s, rv_time due)
{
	s->facts &= ~(1u << RV_FACT_DUE);
	rv_deadline_set(rv_tree(t->c), t->p->nodes, rv_slot_id(t->c, s), due);
}

bool rv_machine_has(const struct rv_turn *t, const struct rv_slot *s, enum rv_hook hook)
{
	return (rv_node_of(t->c, s)->hooks & RV_HAS(hook)) && (!s->disabled || RV_FAULT(29));
}

void rv_machine_ask(const struct rv_turn *t, struct rv_slot *s, enum rv_hook hook, rv_time timeout)
{
	struct rv_action *a;

	rv_machine_drop(t, s);
	a = rv_emit(t, s, RV_ACT_HOOK);
	a->hook = (uint8_t)hook;
	a->timeout = timeout;
	s->ask = (uint8_t)(RV_ASK_HOOK + hook);
	rv_machine_due(t, s, t->now + timeout);
}

static void drop(const struct rv_turn *t, struct rv_slot *s, enum rv_why why)
{
	if (s->ask == RV_ASK_NONE || RV_FAULT(20))
		return;
	struct rv_action *a = rv_emit(t, s, RV_ACT_DROP);
	a->hook = (uint8_t)(s->ask >= RV_ASK_HOOK ? s->ask - RV_ASK_HOOK : RV_HOOK_PROBE);
	a->why = (uint8_t)why;
	s->ask = RV_ASK_NONE;
	s->facts &= ~(1u << RV_FACT_FOUND | 1u << RV_FACT_PROVED | 1u << RV_FACT_HEALTH |
		1u << RV_FACT_HOOK_DONE);
}

void rv_machine_drop(const struct rv_turn *t, struct rv_slot *s)
{
	drop(t, s, RV_WHY_NONE);
}

void rv_machine_give_up(const struct rv_turn *t, struct rv_slot *s)
{
	drop(t, s, RV_WHY_GRACE);
}

void rv_machine_expire(const struct rv_turn *t, struct rv_slot *s)
{
	size_t before = t->out->n;

	rv_machine_drop(t, s);
	if (t->out->n > before)
		t->out->v[before].verdict = RV_FAIL;
}

void rv_machine_leave(
	struct rv_core *c, rv_time now, struct rv_slot *s, enum rv_why why, enum rv_after after)
{
	rv_time due = RV_NEVER;

	s->leaving = true;
	s->end_why = (uint8_t)why;
	s->after = (uint8_t)after;
	if (s->phase == RV_PHASE_SPAWN || s->phase == RV_PHASE_UPDATE)
		due = now + c->plan->start_grace;
	else if (s->phase != RV_PHASE_UP)
		s->phase = RV_PHASE_HOLD;
	else if (s->seeking)
		due = s->ready_by; /* its main process has ended: this does not wait long */
	s->facts &= ~(1u << RV_FACT_DUE);
	rv_deadline_set(rv_tree(c), c->plan->nodes, rv_slot_id(c, s), due);
	rv_mark(c, s, RV_SET_GROUND);
	rv_mark(c, s, RV_SET_STOP);
}

void rv_machine_count(const struct rv_turn *t, const struct rv_slot *s, bool in)
{
	const struct rv_node *n = rv_node_of(t->c, s);
	uint32_t step = in ? 1u : UINT32_MAX;

	t->c->alive += step;
	for (uint32_t e = n->first_edge; e < n->first_edge + n->edge_count; e++) {
		struct rv_slot *on = &rv_slots(t->c)[t->p->edges[e].on];
		on->living_all += step;
		if (rv_is_carried(n, &t->p->edges[e]))
			on->living += step;
		else if (t->p->edges[e].part)
			on->living_parts += step;
		if (!in && on->leaving && !RV_FAULT(3))
			rv_mark(t->c, on, RV_SET_STOP);
	}
}

void rv_machine_life_over(const struct rv_turn *t, struct rv_slot *s)
{
	const struct rv_node *n = rv_node_of(t->c, s);

	rv_machine_drop(t, s);
	if (s->guest || !rv_machine_has(t, s, RV_HOOK_CLEANUP) || t->c->killed || t->c->forced ||
		RV_FAULT(15)) {
		rv_machine_conclude(t, s);
		return;
	}
	s->leaving = true;
	s->phase = RV_PHASE_CLEANUP;
	if (s->state < RV_STOPPING)
		rv_machine_state(t, s, RV_STOPPING, (enum rv_why)s->end_why, s->other);
	rv_machine_ask(t, s, RV_HOOK_CLEANUP, n->cleanup_timeout);
}

enum rv_why rv_machine_why_down(
	const struct rv_core *c, const struct rv_slot *s, enum rv_why otherwise)
{
	if (c->closing)
		return (enum rv_why)c->close_why;
	if (s->retired)
		return RV_WHY_RELOAD;
	return s->held ? RV_WHY_OPERATOR : otherwise;
}

/* Down, and to be started again: after a rest, since a restart never starts in the turn that ended
   the life before. */
static void rest(const struct rv_turn *t, struct rv_slot *s, enum rv_state state, rv_time pause)
{
	enum rv_why why = (enum rv_why)s->end_why;

	s->rests = !RV_FAULT(4);
	s->again_at = t->now;
	if (!rv_is_needed(t->c, s) || s->retired) {
		rv_machine_state(t, s, RV_STOPPED, rv_machine_why_down(t->c, s, why), RV_NO_ID);
		return;
	}
	if (s->balked && pause < RV_SPAWN_PAUSE && !RV_FAULT(28))
		pause = RV_SPAWN_PAUSE;
	s->again_at += RV_FAULT(21) ? 0 : pause;
	rv_machine_due(t, s, s->again_at);
	rv_machine_state(t, s, state, why, s->other);
}

void rv_machine_untold(const struct rv_turn *t, struct rv_slot *s)
{
	s->untold = true;
	s->untold_of = t->c->inform;
}

void rv_machine_told(const struct rv_turn *t, struct rv_slot *s, enum rv_verdict v)
{
	struct rv_action *a;

	if (!s->untold)
		return;
	s->untold = false;
	a = rv_emit(t, s, RV_ACT_TOLD);
	a->verdict = (uint8_t)v;
	a->inform = s->untold_of;
}

void rv_machine_conclude(const struct rv_turn *t, struct rv_slot *s)
{
	rv_machine_drop(t, s);
	rv_machine_told(t, s, RV_FAIL); /* its next life is told before it is ready */
	rv_machine_due(t, s, RV_NEVER);
	s->phase = RV_PHASE_NONE;
	s->leaving = s->grounded = false;
	s->started = s->ready = 0;
	s->unproven = s->guest = false;
	s->facts = 0;
	rv_machine_count(t, s, false);
	switch ((enum rv_after)s->after) {
	case RV_AFTER_AGAIN: rest(t, s, RV_WAITING, 0); break;
	case RV_AFTER_BACKOFF: rest(t, s, RV_BACKOFF, s->pause); break;
	case RV_AFTER_EXITED:
		s->done = true;
		rv_machine_state(t, s, RV_EXITED, (enum rv_why)s->end_why, RV_NO_ID);
		break;
	case RV_AFTER_FAILED:
		s->done = true;
		s->recreating = false;
		rv_machine_state(t, s, RV_FAILED, (enum rv_why)s->end_why, s->other);
		break;
	case RV_AFTER_DROPPED:
		s->done = true;
		s->up = false;
		rv_mark(t->c, s, RV_SET_NEED);
		rv_machine_state(t, s, RV_STOPPED, (enum rv_why)s->end_why, s->other);
		break;
	}
}

/* Down: stopped, waiting, queued, backing off, exited, failed. */
static void idle(const struct rv_turn *t, struct rv_slot *s, enum rv_fact f)
{
	switch (f) {
	case RV_FACT_RECREATE:
		/* the replacement of a lost one has failed before: try again */
		if (s->state != RV_FAILED || !s->lost)
			break;
		rv_policy_forget(s);
		s->done = s->suspected = false;
		s->recreating = s->automatic = true;
		rv_mark(t->c, s, RV_SET_GROUND);
		rv_mark(t->c, s, RV_SET_START);
		break;
	case RV_FACT_DUE:
		if (!s->rests || rv_is_frozen(s))
			break;
		s->rests = false;
		rv_mark(t->c, s, RV_SET_GROUND);
		rv_mark(t->c, s, RV_SET_START);
		break;
	case RV_FACT_CALM:
		/* resumed: what came due meanwhile is due now */
		if (s->rests && !s->paused)
			rv_machine_due(t, s, s->again_at > t->now ? s->again_at : t->now);
		break;
	case RV_FACT_ADOPTED:
	case RV_FACT_SPAWNED:
	case RV_FACT_SPAWN_FAILED:
	case RV_FACT_FOUND:
	case RV_FACT_PROVED:
	case RV_FACT_HEALTH:
	case RV_FACT_HOOK_DONE:
	case RV_FACT_EXTEND:
	case RV_FACT_QUITS:
	case RV_FACT_INFORM:
	case RV_FACT_EXITED:
	case RV_FACT_GONE: break;
	}
}

static void dispatch(const struct rv_turn *t, struct rv_slot *s, enum rv_fact f)
{
	switch ((enum rv_state)s->state) {
	case RV_STOPPED:
	case RV_WAITING:
	case RV_QUEUED:
	case RV_BACKOFF:
	case RV_EXITED:
	case RV_FAILED: idle(t, s, f); break;
	case RV_STARTING: rv_begin_hear(t, s, f); break;
	case RV_READY:
	case RV_UNHEALTHY: rv_run_hear(t, s, f); break;
	case RV_STOPPING: rv_stop_hear_stopping(t, s, f); break;
	case RV_KILLING: rv_stop_hear_killing(t, s, f); break;
	case RV_ADOPTED: rv_guest_hear(t, s, f); break;
	case RV_STATE_COUNT: break;
	}
}

static void tell_paused(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->paused == s->told_paused && !RV_FAULT(50))
		rv_emit(t, s, RV_ACT_PAUSED)->paused = !s->paused;
	if (s->paused != s->told_paused || !RV_FAULT(50))
		rv_emit(t, s, RV_ACT_PAUSED)->paused = s->paused;
	s->told_paused = s->paused;
	s->swung = false;
}

/* Each fact once, in the order of the enum; a state function may take back those behind it. */
void rv_machine_hear(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->swung)
		tell_paused(t, s);
	for (unsigned f = 0; f <= RV_FACT_DUE; f++) {
		if (!(s->facts & 1u << f))
			continue;
		s->facts &= ~(1u << f);
		dispatch(t, s, (enum rv_fact)f);
	}
}
