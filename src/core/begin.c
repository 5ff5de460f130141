/* The state `starting`: spawned, proven, updated, ready.
 *
 *   SPAWN --SPAWNED--> PROBE <-> PACE --OK--> UPDATE --OK--> ready
 *     |       (task)--> TASK --exit 0--> exited
 *     |   (launcher)--> LAUNCH --exit 0--> FIND <-> PACE --OK--> PROBE, or on to UPDATE
 *     +-- has to leave: HOLD, until the dependents are gone                                     */
#include "core/mind.h"

#define PACE_LEAST (5 * RV_MS)
#define PACE_MOST  (250 * RV_MS)

void rv_begin_start(const struct rv_turn *t, struct rv_slot *s)
{
	s->generation += RV_FAULT(19) ? 0 : 1;
	s->exit = RV_EXIT_UNKNOWN;
	s->phase = RV_PHASE_SPAWN;
	s->ask = RV_ASK_NONE;
	s->after = RV_AFTER_AGAIN;
	s->end_why = RV_WHY_NONE;
	s->exited = s->answered = s->balked = s->unproven = s->was_ready = s->stuck = s->sick =
		s->quits = false;
	s->automatic = s->lost_ground = s->rests = s->guest = false;
	s->grounded = true;
	s->seeking = rv_node_of(t->c, s)->type == RV_LAUNCHER;
	s->step = s->attempt = s->bad_health = 0;
	s->facts = 0;
	s->extend_to = 0;
	s->started = t->now;
	s->ready = 0;
	s->spawn_us = s->proof_us = s->init_us = RV_NOT_YET;
	s->ready_by = t->now + rv_node_of(t->c, s)->ready_timeout;
	rv_machine_count(t, s, true);
	rv_machine_due(t, s, s->ready_by);
	rv_machine_state(t, s, RV_STARTING, RV_WHY_NONE, RV_NO_ID);
	rv_emit(t, s, RV_ACT_START);
}

static void fail(const struct rv_turn *t, struct rv_slot *s, enum rv_why why)
{
	rv_policy_start_failed(t, s, why);
	rv_machine_leave(t->c, t->now, s, (enum rv_why)s->end_why, (enum rv_after)s->after);
}

void rv_begin_refuse(const struct rv_turn *t, struct rv_slot *s)
{
	rv_policy_start_failed(t, s, RV_WHY_SPAWN);
	if (s->after == RV_AFTER_FAILED) {
		s->done = true;
		s->recreating = false;
		rv_machine_state(t, s, RV_FAILED, (enum rv_why)s->end_why, RV_NO_ID);
	} else {
		s->rests = true;
		s->again_at = t->now + s->pause;
		rv_machine_due(t, s, s->again_at);
		rv_machine_state(t, s, RV_BACKOFF, (enum rv_why)s->end_why, RV_NO_ID);
	}
}

static void probe(const struct rv_turn *t, struct rv_slot *s)
{
	struct rv_action *a = rv_emit(t, s, RV_ACT_PROBE);

	a->attempt = ++s->attempt;
	a->timeout = s->ready_by - t->now;
	s->asked = t->now;
	s->phase = RV_PHASE_PROBE;
	s->ask = RV_ASK_PROBE;
	rv_machine_due(t, s, RV_FAULT(18) ? RV_NEVER : s->ready_by);
}

/* Its main process ended with 0 and left somebody: the service goes on without it. */
static void seek(const struct rv_turn *t, struct rv_slot *s)
{
	s->phase = RV_PHASE_FIND;
	if (RV_FAULT(44))
		rv_run_enter(t, s);
	else
		rv_heir_begin(t, s);
}

static void look_again(const struct rv_turn *t, struct rv_slot *s)
{
	s->phase = RV_PHASE_FIND;
	rv_heir_ask(t, s);
}

/* Soon and often at first; later it makes no difference. Each question takes time from those who start, so one that
   takes long to answer is asked less often. */
static void pace(const struct rv_turn *t, struct rv_slot *s)
{
	rv_time wait = (t->now - s->started) / 64;

	if (wait < 4 * (t->now - s->asked))
		wait = 4 * (t->now - s->asked);
	if (wait < PACE_LEAST)
		wait = PACE_LEAST;
	if (wait > PACE_MOST)
		wait = PACE_MOST;
	if (wait > s->ready_by - t->now)
		wait = s->ready_by - t->now;
	s->phase = RV_PHASE_PACE;
	s->ask = RV_ASK_NONE;
	rv_machine_due(t, s, t->now + wait);
}

/* An end may be heard before the exec was. */
static void clock_proof(const struct rv_turn *t, struct rv_slot *s)
{
	uint32_t now = rv_elapsed_us(s, t->now);

	if (s->spawn_us == RV_NOT_YET)
		s->spawn_us = now;
	s->proof_us = now - s->spawn_us;
}

static void update(const struct rv_turn *t, struct rv_slot *s)
{
	s->phase = RV_PHASE_UPDATE;
	rv_machine_ask(t, s, RV_HOOK_UPDATE, s->ready_by - t->now);
}

static void proven(const struct rv_turn *t, struct rv_slot *s)
{
	s->ask = RV_ASK_NONE;
	clock_proof(t, s);
	if (s->guest) {
		rv_guest_enter(t, s);
		return;
	}
	if (!rv_machine_has(t, s, RV_HOOK_UPDATE))
		rv_machine_told(t, s, RV_FAIL); /* its plugin was disabled meanwhile */
	else if (t->c->informs && !RV_FAULT(30)) {
		update(t, s);
		return;
	}
	rv_run_enter(t, s);
}

/* What is asked already was about the variables of before. */
static void inform(const struct rv_turn *t, struct rv_slot *s)
{
	rv_machine_untold(t, s);
	if (s->phase == RV_PHASE_UPDATE && !s->leaving && rv_machine_has(t, s, RV_HOOK_UPDATE))
		update(t, s);
}

/* There is a main process to be asked. */
static void in_place(const struct rv_turn *t, struct rv_slot *s)
{
	bool proof = rv_node_of(t->c, s)->proof != RV_PROOF_NONE && !(s->guest && RV_FAULT(41));
	bool launcher = rv_node_of(t->c, s)->type == RV_LAUNCHER && !s->guest;

	if (s->facts &
		(proof ? 1u << RV_FACT_PROVED | 1u << RV_FACT_EXITED
		       : (launcher ? 1u << RV_FACT_EXITED : 0u))) {
		s->phase = RV_PHASE_PACE; /* no need to ask: it follows in this turn */
	} else if (proof) {
		probe(t, s);
	} else {
		s->unproven = !launcher; /* the exit of a launcher is a proof */
		proven(t, s);
	}
}

/* Exec succeeded, or was not needed: dependents that wait for `started` may go on, unless it is a guest or a launcher. */
static void spawned(const struct rv_turn *t, struct rv_slot *s)
{
	const struct rv_node *n = rv_node_of(t->c, s);

	s->answered = true;
	s->spawn_us = rv_elapsed_us(s, t->now);
	rv_mark(t->c, s, RV_SET_GROUND);
	if (s->leaving) {
		s->phase = RV_PHASE_HOLD;
		rv_machine_due(t, s, RV_NEVER);
		rv_mark(t->c, s, RV_SET_STOP);
	} else if (n->type != RV_DAEMON && !s->guest) {
		s->phase = n->type == RV_TASK ? RV_PHASE_TASK : RV_PHASE_LAUNCH;
		rv_machine_due(
			t, s, RV_FAULT(47) && n->type == RV_LAUNCHER ? RV_NEVER : s->ready_by);
	} else {
		in_place(t, s);
	}
}

/* A launcher's daemon: from now on it is the main process of this life. */
static void found(const struct rv_turn *t, struct rv_slot *s)
{
	s->ask = RV_ASK_NONE;
	switch ((enum rv_verdict)s->found) {
	case RV_OK:
		rv_heir_end(s);
		if (s->phase == RV_PHASE_FIND)
			in_place(t, s);
		break;
	case RV_RETRY:
		if (s->phase != RV_PHASE_FIND)
			break;
		s->phase = RV_PHASE_PACE;
		rv_heir_pause(t, s);
		break;
	case RV_FAIL:
		if (s->phase == RV_PHASE_FIND)
			fail(t, s, RV_WHY_NO_DAEMON);
		break;
	}
}

static void proved(const struct rv_turn *t, struct rv_slot *s)
{
	bool asked = s->phase == RV_PHASE_PROBE;

	if (s->leaving || s->seeking || (!asked && s->phase != RV_PHASE_PACE))
		return;
	switch (RV_FAULT(16) ? RV_OK : (enum rv_verdict)s->proved) {
	case RV_OK: proven(t, s); break;
	case RV_RETRY:
		if (asked)
			pace(t, s);
		break;
	case RV_FAIL:
		if (asked) {
			s->ask = RV_ASK_NONE;
			fail(t, s, RV_WHY_PROBE_FAILED);
		}
		break;
	}
}

/* Waited long enough, or answered: now the life can be ended. */
static void hold(const struct rv_turn *t, struct rv_slot *s)
{
	rv_machine_drop(t, s);
	s->phase = RV_PHASE_HOLD;
	rv_machine_due(t, s, RV_NEVER);
	rv_mark(t->c, s, RV_SET_STOP);
}

static void not_updated(const struct rv_turn *t, struct rv_slot *s)
{
	hold(t, s);
	fail(t, s, RV_WHY_UPDATE);
}

static void updated(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->phase != RV_PHASE_UPDATE)
		return;
	s->ask = RV_ASK_NONE;
	if (s->leaving)
		hold(t, s);
	else if (s->hook_done == RV_OK)
		rv_run_enter(t, s);
	else
		not_updated(t, s);
}

static void exited(const struct rv_turn *t, struct rv_slot *s)
{
	enum rv_type type = (enum rv_type)rv_node_of(t->c, s)->type;
	bool gone = s->facts & 1u << RV_FACT_GONE, seeking = s->seeking;

	if (s->guest) {
		rv_guest_left(t, s);
		return;
	}
	s->exited = s->answered = true;
	s->exit = s->heard_exit;
	if (!s->leaving) {
		if (type == RV_LAUNCHER && (s->exit == 0 || RV_FAULT(45)) && !gone) {
			seek(t, s);
			return;
		}
		if (type == RV_TASK && s->exit == 0) {
			clock_proof(t, s);
			rv_policy_final(t, s, RV_AFTER_EXITED, RV_WHY_NONE);
		} else if (type == RV_LAUNCHER && s->exit == 0 && seeking) {
			rv_policy_start_failed(t, s, RV_WHY_NO_DAEMON);
		} else {
			rv_policy_start_failed(
				t, s, type == RV_TASK ? RV_WHY_EXIT : RV_WHY_EXIT_EARLY);
		}
	}
	rv_stop_leftovers(t, s);
}

/* No start may last longer than a whole boot, whatever it asks for. */
static void extend(const struct rv_turn *t, struct rv_slot *s)
{
	rv_time until = s->extend_to, most = s->started + t->p->boot_timeout;

	if (s->leaving || !s->answered || RV_FAULT(37))
		return;
	if (t->p->boot_timeout && until > most && !RV_FAULT(38))
		until = most;
	if (until <= s->ready_by)
		return;
	s->ready_by = until;
	if (s->phase == RV_PHASE_PROBE || s->phase == RV_PHASE_TASK ||
		s->phase == RV_PHASE_LAUNCH || s->phase == RV_PHASE_FIND)
		rv_machine_due(t, s, until);
}

static void gone(const struct rv_turn *t, struct rv_slot *s)
{
	if (!s->leaving && s->seeking && s->phase != RV_PHASE_LAUNCH)
		rv_policy_start_failed(t, s, RV_WHY_NO_DAEMON);
	rv_machine_life_over(t, s);
}

static void due(const struct rv_turn *t, struct rv_slot *s)
{
	switch ((enum rv_phase)s->phase) {
	case RV_PHASE_SPAWN:
		if (s->leaving)
			rv_stop_kill(t, s); /* whatever it is that hangs there */
		else
			fail(t, s, RV_WHY_READY_TIMEOUT);
		break;
	case RV_PHASE_PACE:
		if (t->now >= s->ready_by)
			fail(t, s, RV_WHY_READY_TIMEOUT);
		else if (s->seeking)
			look_again(t, s);
		else
			probe(t, s);
		break;
	case RV_PHASE_LAUNCH:
	case RV_PHASE_FIND:
	case RV_PHASE_PROBE:
	case RV_PHASE_TASK: fail(t, s, RV_WHY_READY_TIMEOUT); break;
	case RV_PHASE_UPDATE:
		if (s->leaving) {
			rv_machine_give_up(t, s);
			hold(t, s);
		} else
			not_updated(t, s);
		break;
	case RV_PHASE_NONE:
	case RV_PHASE_HOLD:
	case RV_PHASE_UP:
	case RV_PHASE_ASK:
	case RV_PHASE_STEP:
	case RV_PHASE_KILL:
	case RV_PHASE_CLEANUP: break;
	}
}

void rv_begin_hear(const struct rv_turn *t, struct rv_slot *s, enum rv_fact f)
{
	switch (f) {
	case RV_FACT_ADOPTED:
		rv_machine_told(t, s, RV_FAIL);
		s->guest = true;
		s->seeking = false;
		spawned(t, s);
		break;
	case RV_FACT_SPAWNED: spawned(t, s); break;
	case RV_FACT_SPAWN_FAILED:
		s->exited = s->answered = s->balked = true;
		if (!s->leaving)
			rv_policy_start_failed(t, s, RV_WHY_SPAWN);
		rv_machine_life_over(t, s);
		break;
	case RV_FACT_FOUND: found(t, s); break;
	case RV_FACT_PROVED: proved(t, s); break;
	case RV_FACT_HOOK_DONE: updated(t, s); break;
	case RV_FACT_EXTEND: extend(t, s); break;
	case RV_FACT_INFORM: inform(t, s); break;
	case RV_FACT_CALM:
		/* a replacement that nobody is to see */
		if (!s->leaving && s->paused && !RV_FAULT(55)) {
			s->automatic = true;
			rv_machine_leave(t->c, t->now, s, RV_WHY_RECREATE, RV_AFTER_AGAIN);
		}
		break;
	case RV_FACT_EXITED: exited(t, s); break;
	case RV_FACT_GONE: gone(t, s); break;
	case RV_FACT_DUE: due(t, s); break;
	case RV_FACT_HEALTH:
	case RV_FACT_QUITS: /* its exit will tell */
	case RV_FACT_RECREATE: break;
	}
}
