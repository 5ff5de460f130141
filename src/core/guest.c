/* A life that is not ours: where a service was to be started, somebody runs already, and was proven to be what is
 * wanted. It holds the place of a life in the graph, and is let go where a life would be stopped: no signal, no hook.
 *
 *   START --ADOPTED--> PROBE <-> PACE (begin.c) --OK--> adopted, asked again now and then --> let go            */
#include "core/mind.h"

#define GUEST_PERIOD	(10 * RV_SEC) /* where no health check says how often */
#define GUEST_THRESHOLD 3

static void schedule(const struct rv_turn *t, struct rv_slot *s)
{
	rv_time period = rv_node_of(t->c, s)->health_period;

	s->ask = RV_ASK_NONE;
	rv_machine_due(t, s, s->leaving ? RV_NEVER : t->now + (period ? period : GUEST_PERIOD));
}

void rv_guest_enter(const struct rv_turn *t, struct rv_slot *s)
{
	s->phase = RV_PHASE_UP;
	s->ready = t->now;
	s->was_ready = s->ever = true;
	s->lost = s->recreating = s->suspected = false;
	s->attempt = 0;
	schedule(t, s);
	rv_machine_state(t, s, RV_ADOPTED, RV_WHY_NONE, RV_NO_ID);
}

/* Its dependents hear of it in the next turn, which is now. */
void rv_guest_let_go(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->state == RV_STOPPING)
		return;
	rv_machine_drop(t, s);
	s->phase = RV_PHASE_HOLD;
	s->leaving = true;
	rv_machine_state(t, s, RV_STOPPING, (enum rv_why)s->end_why, s->other);
	rv_machine_due(t, s, t->now);
}

/* Before it was proven nothing is lost: the next START finds the place free, or somebody else. */
void rv_guest_left(const struct rv_turn *t, struct rv_slot *s)
{
	if (!s->leaving && s->state == RV_ADOPTED) {
		rv_policy_guest_lost(t, s, RV_WHY_GONE);
	} else if (!s->leaving) {
		s->after = RV_AFTER_AGAIN;
		s->end_why = RV_WHY_GONE;
	}
	rv_machine_conclude(t, s);
}

static void ask(const struct rv_turn *t, struct rv_slot *s)
{
	const struct rv_node *n = rv_node_of(t->c, s);
	struct rv_action *a = rv_emit(t, s, RV_ACT_PROBE);

	a->attempt = ++s->attempt;
	a->timeout = n->health_period ? n->health_period : GUEST_PERIOD;
	s->ask = RV_ASK_PROBE;
	rv_machine_due(t, s, t->now + a->timeout);
}

/* One that does not do its work any more is no better than one that is gone. */
static void bad(const struct rv_turn *t, struct rv_slot *s)
{
	const struct rv_node *n = rv_node_of(t->c, s);
	uint32_t most = n->health_period && n->health_threshold ? n->health_threshold
								: GUEST_THRESHOLD;

	schedule(t, s);
	if (s->leaving || ++s->bad_health < most)
		return;
	rv_policy_guest_lost(t, s, RV_WHY_HEALTH);
	rv_machine_leave(t->c, t->now, s, (enum rv_why)s->end_why, (enum rv_after)s->after);
}

static void proved(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->ask != RV_ASK_PROBE)
		return;
	if (s->proved == RV_FAIL) {
		bad(t, s);
		return;
	}
	if (s->proved == RV_OK)
		s->bad_health = 0; /* RETRY: it could not be asked, which says nothing of it */
	schedule(t, s);
}

static void due(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->leaving)
		return;
	if (s->ask == RV_ASK_NONE) {
		ask(t, s);
	} else {
		rv_machine_drop(t, s);
		bad(t, s);
	}
}

void rv_guest_hear(const struct rv_turn *t, struct rv_slot *s, enum rv_fact f)
{
	switch (f) {
	case RV_FACT_PROVED: proved(t, s); break;
	case RV_FACT_CALM: /* a reload has changed how often it is asked */
		if (s->ask == RV_ASK_NONE)
			schedule(t, s);
		break;
	case RV_FACT_EXITED:
		if (!RV_FAULT(42))
			rv_guest_left(t, s);
		break;
	case RV_FACT_DUE: due(t, s); break;
	case RV_FACT_ADOPTED:
	case RV_FACT_SPAWNED:
	case RV_FACT_SPAWN_FAILED:
	case RV_FACT_FOUND:
	case RV_FACT_HEALTH:
	case RV_FACT_HOOK_DONE:
	case RV_FACT_EXTEND:
	case RV_FACT_QUITS:
	case RV_FACT_RECREATE:
	case RV_FACT_INFORM: /* it gets no hook */
	case RV_FACT_GONE: break;
	}
}
