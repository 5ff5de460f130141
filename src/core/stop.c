/* The states `stopping` and `killing`: [hook stop] -> signals -> KILL -> gone -> [hook cleanup]. */
#include "core/mind.h"

static enum rv_target step_target(const struct rv_turn *t, const struct rv_slot *s)
{
	return (enum rv_target)t->p->steps[rv_node_of(t->c, s)->first_step + s->step].to;
}

static void ask_to_leave(const struct rv_turn *t, struct rv_slot *s, enum rv_target to)
{
	struct rv_action *a = rv_emit(t, s, RV_ACT_SIGNAL);

	a->step = s->step;
	a->to = (uint8_t)to;
}

static void step(const struct rv_turn *t, struct rv_slot *s, uint32_t which)
{
	const struct rv_node *n = rv_node_of(t->c, s);

	s->step = which;
	if (which >= n->step_count) {
		rv_stop_kill(t, s);
		return;
	}
	s->phase = RV_PHASE_STEP;
	ask_to_leave(t, s, s->exited ? RV_TO_TREE : step_target(t, s));
	rv_machine_due(t, s, t->now + t->p->steps[n->first_step + which].timeout);
}

void rv_stop_begin(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->guest && !RV_FAULT(24)) {
		rv_guest_let_go(t, s);
		return;
	}
	rv_machine_drop(t, s);
	s->leaving = true;
	rv_machine_state(t, s, RV_STOPPING, (enum rv_why)s->end_why, s->other);
	if (s->exited || !rv_machine_has(t, s, RV_HOOK_STOP)) {
		step(t, s, 0);
		return;
	}
	s->phase = RV_PHASE_ASK;
	rv_machine_ask(t, s, RV_HOOK_STOP, rv_node_of(t->c, s)->stop_hook_timeout);
}

void rv_stop_leftovers(const struct rv_turn *t, struct rv_slot *s)
{
	if (!(s->facts & 1u << RV_FACT_GONE))
		rv_stop_begin(t, s);
}

void rv_stop_kill(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->guest) {
		rv_guest_let_go(t, s);
		return;
	}
	rv_machine_drop(t, s);
	s->phase = RV_PHASE_KILL;
	s->leaving = true;
	rv_machine_state(t, s, RV_KILLING, (enum rv_why)s->end_why, s->other);
	rv_emit(t, s, RV_ACT_KILL);
	rv_machine_due(t, s, t->now + t->p->kill_timeout);
}

static void ask_over(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->phase == RV_PHASE_ASK) {
		rv_machine_drop(t, s);
		step(t, s, 0);
	} else if (s->phase == RV_PHASE_CLEANUP) {
		rv_machine_conclude(t, s);
	}
}

/* What survives KILL hangs in the kernel; say so once, then keep at it. */
static void stuck(const struct rv_turn *t, struct rv_slot *s)
{
	if (!s->stuck && !RV_FAULT(17))
		rv_emit(t, s, RV_ACT_STUCK);
	else
		rv_emit(t, s, RV_ACT_KILL);
	s->stuck = true;
	rv_machine_due(t, s, t->now + RV_SEC);
}

static void due(const struct rv_turn *t, struct rv_slot *s)
{
	switch ((enum rv_phase)s->phase) {
	case RV_PHASE_ASK:
	case RV_PHASE_CLEANUP:
		rv_machine_expire(t, s);
		ask_over(t, s);
		break;
	case RV_PHASE_HOLD: rv_machine_conclude(t, s); break; /* a guest */
	case RV_PHASE_STEP: step(t, s, s->step + 1); break;
	case RV_PHASE_KILL: stuck(t, s); break;
	case RV_PHASE_NONE:
	case RV_PHASE_SPAWN:
	case RV_PHASE_LAUNCH:
	case RV_PHASE_FIND:
	case RV_PHASE_PACE:
	case RV_PHASE_PROBE:
	case RV_PHASE_TASK:
	case RV_PHASE_UPDATE:
	case RV_PHASE_UP: break;
	}
}

/* The main process left, and left somebody behind: those that the step has not reached. */
static void ask_the_rest(const struct rv_turn *t, struct rv_slot *s)
{
	switch (step_target(t, s)) {
	case RV_TO_GROUP: ask_to_leave(t, s, RV_FAULT(35) ? RV_TO_GROUP : RV_TO_STRAYS); break;
	case RV_TO_MAIN: ask_to_leave(t, s, RV_TO_TREE); break;
	case RV_TO_TREE:
	case RV_TO_STRAYS: break;
	}
}

static void exited(const struct rv_turn *t, struct rv_slot *s)
{
	s->exited = s->answered = true;
	s->exit = s->heard_exit;
	if (s->facts & 1u << RV_FACT_GONE)
		return;
	if (s->phase == RV_PHASE_ASK)
		ask_over(t, s); /* nobody is left to be asked politely */
	else if (s->phase == RV_PHASE_STEP && !RV_FAULT(34))
		ask_the_rest(t, s);
}

/* No stop may last longer than a whole shutdown, whatever it asks for. */
static void extend(const struct rv_turn *t, struct rv_slot *s)
{
	rv_time until = s->extend_to, most = s->since + t->p->shutdown_timeout, due = t->now;

	if (s->phase != RV_PHASE_STEP || RV_FAULT(39))
		return;
	if (until > most && !RV_FAULT(38))
		until = most;
	if (!(s->facts & 1u << RV_FACT_DUE))
		due = rv_deadline_get(rv_tree(t->c), t->p->nodes, rv_slot_id(t->c, s));
	if (until > due)
		rv_machine_due(t, s, until);
}

static void gone(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->phase != RV_PHASE_CLEANUP)
		rv_machine_life_over(t, s);
}

void rv_stop_hear_stopping(const struct rv_turn *t, struct rv_slot *s, enum rv_fact f)
{
	switch (f) {
	case RV_FACT_HOOK_DONE:
		s->ask = RV_ASK_NONE;
		ask_over(t, s);
		break;
	case RV_FACT_EXTEND: extend(t, s); break;
	case RV_FACT_EXITED: exited(t, s); break;
	case RV_FACT_GONE: gone(t, s); break;
	case RV_FACT_DUE: due(t, s); break;
	case RV_FACT_ADOPTED:
	case RV_FACT_QUITS:
	case RV_FACT_SPAWNED:
	case RV_FACT_SPAWN_FAILED:
	case RV_FACT_FOUND:
	case RV_FACT_PROVED:
	case RV_FACT_HEALTH:
	case RV_FACT_RECREATE:
	case RV_FACT_INFORM: /* its next life will hear of it */
	case RV_FACT_CALM: break;
	}
}

void rv_stop_hear_killing(const struct rv_turn *t, struct rv_slot *s, enum rv_fact f)
{
	switch (f) {
	case RV_FACT_SPAWNED:
		/* a start that hung has come to life after all */
		s->answered = true;
		rv_emit(t, s, RV_ACT_KILL);
		break;
	case RV_FACT_SPAWN_FAILED:
		s->exited = s->answered = s->balked = true;
		gone(t, s);
		break;
	case RV_FACT_ADOPTED:
		s->guest = s->answered = true;
		rv_machine_conclude(t, s);
		break;
	case RV_FACT_HOOK_DONE:
		s->ask = RV_ASK_NONE;
		ask_over(t, s);
		break;
	case RV_FACT_EXITED: exited(t, s); break;
	case RV_FACT_GONE: gone(t, s); break;
	case RV_FACT_DUE: due(t, s); break;
	case RV_FACT_EXTEND:
	case RV_FACT_QUITS:
	case RV_FACT_FOUND:
	case RV_FACT_PROVED:
	case RV_FACT_HEALTH:
	case RV_FACT_RECREATE:
	case RV_FACT_INFORM: /* its next life will hear of it */
	case RV_FACT_CALM: break;
	}
}
