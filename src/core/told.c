/* What the operator orders and what the world answers: noted here, digested by the next settle. */
#include "core/mind.h"

#define EXTEND_MOST (600 * RV_SEC) /* of one request; the next may follow */

static void note(const struct rv_core *c, struct rv_slot *s, enum rv_fact f)
{
	s->facts |= 1u << f;
	rv_mark(c, s, RV_SET_HEAR);
}

static void touch(const struct rv_core *c, const struct rv_slot *s)
{
	rv_mark(c, s, RV_SET_NEED);
	rv_mark(c, s, RV_SET_GROUND);
	rv_mark(c, s, RV_SET_START);
}

/* ---- the operator ---- */

/* Whatever was given up is forgotten; what runs well is left alone. */
static void begin_anew(const struct rv_core *c, struct rv_slot *s)
{
	if (rv_is_alive(s) && !s->leaving && (s->state <= RV_UNHEALTHY || s->state == RV_ADOPTED))
		return;
	rv_policy_forget(s);
	s->automatic = false;
	if (rv_is_alive(s)) {
		s->after = RV_AFTER_AGAIN;
	} else {
		if (s->state == RV_BACKOFF) {
			s->rests = false;
			rv_deadline_set(rv_tree(c), c->plan->nodes, rv_slot_id(c, s), RV_NEVER);
		}
		s->done = false;
		s->lost_ground = false;
	}
	touch(c, s);
}

/* It failed, ended, or was dropped: a dependent that the operator starts wants it tried again. */
static bool is_spent(const struct rv_slot *s)
{
	return s->done && !(s->offer & (RV_OFFER_READY | RV_OFFER_EXITED));
}

/* What is held can only be stood on, or what it is part of, when it is not. */
static bool lifts(const struct rv_core *c, const struct rv_edge *e)
{
	return e->kind == RV_NEEDS || (e->part && rv_slots(c)[e->on].held);
}

/* Lifts the holds of all that `top` needs or is part of, and tries again what failed there. Down the ranks. */
static void lift_below(const struct rv_core *c, const struct rv_slot *top)
{
	const struct rv_plan *p = c->plan;
	uint64_t *todo = rv_set(c, RV_SET_LIFT);
	size_t rank = rv_node_of(c, top)->rank;

	rv_bits_add(todo, p->nodes, rank);
	for (size_t r = rank; r != RV_BITS_END; r = rv_bits_down(todo, p->nodes, r)) {
		struct rv_slot *s = &rv_slots(c)[p->order[r]];
		const struct rv_node *n = rv_node_of(c, s);

		rv_bits_remove(todo, p->nodes, r);
		if (s != top) {
			s->held = false;
			touch(c, s);
			rv_mark(c, s, RV_SET_STOP);
			if (is_spent(s) || (s->leaving && s->after != RV_AFTER_EXITED))
				begin_anew(c, s);
		}
		for (uint32_t e = n->first_edge; e < n->first_edge + n->edge_count; e++)
			if (lifts(c, &p->edges[e]))
				rv_bits_add(todo, p->nodes, p->node[p->edges[e].on].rank);
	}
}

static void want_up(const struct rv_core *c, struct rv_slot *s)
{
	s->up = true;
	s->held = false;
	touch(c, s);
	rv_mark(c, s, RV_SET_STOP); /* an order that took it down counted more dependents */
	lift_below(c, s);
}

/* A task that has finished well is what its dependents stand on: it runs again by a restart only. */
static void order_start(const struct rv_core *c, struct rv_slot *s)
{
	bool finished = rv_node_of(c, s)->type == RV_TASK && s->state == RV_EXITED;

	if (c->closing)
		return;
	want_up(c, s);
	if (!finished)
		begin_anew(c, s);
}

static void order_stop(const struct rv_core *c, struct rv_slot *s)
{
	s->held = true;
	if (s->recreating && !s->leaving)
		note(c, s, RV_FACT_CALM);
	s->recreating = false;
	if (s->leaving) {
		s->after = RV_AFTER_AGAIN;
		s->end_why = RV_WHY_OPERATOR;
	}
	touch(c, s);
}

static void order_restart(struct rv_core *c, rv_time now, struct rv_slot *s)
{
	if (c->closing || (s->state == RV_ADOPTED && !s->leaving))
		return;
	want_up(c, s);
	begin_anew(c, s);
	s->recreating = false;
	if (!rv_is_alive(s))
		return;
	rv_policy_forget(s);
	if (s->leaving)
		s->after = RV_AFTER_AGAIN;
	else
		rv_machine_leave(c, now, s, RV_WHY_RESTART, RV_AFTER_AGAIN);
}

/* The life that is there, or one that was lost and that nobody has replaced yet. */
static bool is_meant(const struct rv_slot *s, uint64_t generation)
{
	return generation == s->generation || (s->lost && generation == s->lost_of) || RV_FAULT(1);
}

/* A report of loss. It authorises nothing by itself: what lives is asked first (confirm). */
static void order_recreate(const struct rv_core *c, struct rv_slot *s, uint64_t generation)
{
	if (c->closing || s->guest || s->paused || s->leaving || !s->need || s->held ||
		s->retired || !rv_node_of(c, s)->recreate || !is_meant(s, generation))
		return;
	if (!s->recreating)
		note(c, s, RV_FACT_RECREATE);
	else if (!s->lost)
		s->suspected = false; /* who has joined waits for it, so it need not */
}

static void order_pause(const struct rv_core *c, struct rv_slot *s, bool paused)
{
	bool was = s->paused;

	s->paused = paused;
	if (was != paused) {
		s->swung = true;
		rv_mark(c, s, RV_SET_HEAR);
	}
	if (paused && s->recreating)
		note(c, s, RV_FACT_CALM);
	if (was && !paused && s->rests && !rv_is_alive(s))
		note(c, s, RV_FACT_CALM);
	touch(c, s);
}

/* Only where there is somebody to be told: who is down hears of it in the next life. */
static void order_inform(const struct rv_core *c, struct rv_slot *s)
{
	const struct rv_node *n = rv_node_of(c, s);

	if (!rv_is_alive(s) || s->guest || n->type == RV_TASK ||
		!(n->hooks & RV_HAS(RV_HOOK_UPDATE)))
		return;
	note(c, s, RV_FACT_INFORM);
}

/* As a restart, but nobody has asked for it to run, so no hold is lifted, and what was given up stays so. */
static void order_renew(struct rv_core *c, rv_time now, struct rv_slot *s)
{
	if (c->closing || !rv_is_alive(s) || s->guest || s->leaving || RV_FAULT(53))
		return;
	s->recreating = false;
	s->automatic = false;
	rv_machine_leave(c, now, s, RV_WHY_ENVIRONMENT, RV_AFTER_AGAIN);
	touch(c, s);
}

static void order_retire(const struct rv_core *c, struct rv_slot *s, bool retired)
{
	s->retired = retired;
	touch(c, s);
}

static void disable(const struct rv_core *c, struct rv_slot *s, bool disabled)
{
	s->disabled = disabled;
	if (disabled && s->ask >= RV_ASK_HOOK)
		note(c, s, RV_FACT_DUE); /* nobody is left to answer: its time is up */
	touch(c, s);
}

static void order(struct rv_core *c, rv_time now, const struct rv_event *e, struct rv_slot *s)
{
	switch ((enum rv_event_kind)e->kind) {
	case RV_EV_START: order_start(c, s); break;
	case RV_EV_STOP: order_stop(c, s); break;
	case RV_EV_RESTART: order_restart(c, now, s); break;
	case RV_EV_RECREATE: order_recreate(c, s, e->generation); break;
	case RV_EV_PAUSE: order_pause(c, s, true); break;
	case RV_EV_RESUME: order_pause(c, s, false); break;
	case RV_EV_RETIRE: order_retire(c, s, true); break;
	case RV_EV_RETIRE_BEGIN: order_retire(c, s, false); break;
	case RV_EV_DISABLED: disable(c, s, e->verdict != RV_OK); break;
	case RV_EV_INFORM: order_inform(c, s); break;
	case RV_EV_RENEW: order_renew(c, now, s); break;
	case RV_EV_BOOT:
		s->up |= rv_node_of(c, s)->enabled;
		touch(c, s);
		break;
	case RV_EV_SHUTDOWN:
	case RV_EV_FORCE:
	case RV_EV_RETIRE_END:
	case RV_EV_SPAWNED:
	case RV_EV_SPAWN_FAILED:
	case RV_EV_ADOPTED:
	case RV_EV_FOUND:
	case RV_EV_EXITED:
	case RV_EV_GONE:
	case RV_EV_PROVED:
	case RV_EV_HEALTH:
	case RV_EV_HOOK_DONE:
	case RV_EV_EXTEND:
	case RV_EV_QUITS: break;
	}
}

/* One service, or all of them in the order of the plan. */
static void orders(struct rv_core *c, rv_time now, const struct rv_event *e)
{
	if (e->id == RV_NO_ID) {
		for (size_t r = 0; r < c->plan->present; r++)
			order(c, now, e, &rv_slots(c)[c->plan->order[r]]);
	} else if (e->id < c->plan->nodes && c->plan->node[e->id].present) {
		order(c, now, e, &rv_slots(c)[e->id]);
	}
}

static void boot(struct rv_core *c, rv_time now, const struct rv_event *e)
{
	struct rv_event all = *e;

	if (c->boot != RV_BOOT_NOT_YET || c->closing)
		return;
	c->boot = RV_BOOT_UNDER_WAY;
	if (c->plan->boot_timeout)
		c->boot_by = now + c->plan->boot_timeout;
	all.id = RV_NO_ID;
	orders(c, now, &all);
}

static void retire_begin(struct rv_core *c, rv_time now, const struct rv_event *e)
{
	struct rv_event all = *e;

	c->retiring = false;
	all.id = RV_NO_ID;
	orders(c, now, &all);
}

/* ---- answers about one life ---- */

/* A verdict may be replaced only while it decides nothing. */
static void verdict(
	const struct rv_core *c, struct rv_slot *s, enum rv_fact f, uint8_t *to, uint8_t v)
{
	if ((s->facts & 1u << f) && *to != RV_RETRY)
		return;
	*to = v;
	note(c, s, f);
}

static void life_exited(const struct rv_core *c, struct rv_slot *s, rv_exit exit)
{
	/* A launcher's daemon, found in this very turn. */
	bool another = (s->facts & 1u << RV_FACT_FOUND) && s->found == RV_OK;

	if ((s->exited && !another) || (s->facts & 1u << RV_FACT_EXITED))
		return;
	s->heard_exit = exit;
	note(c, s, RV_FACT_EXITED);
}

/* Several in one turn: the longest counts. */
static void extend(const struct rv_core *c, struct rv_slot *s, rv_time now, rv_time more)
{
	rv_time until = now + (more < EXTEND_MOST ? more : EXTEND_MOST);

	if (more <= 0)
		return;
	if (!(s->facts & 1u << RV_FACT_EXTEND) || until > s->extend_to)
		s->extend_to = until;
	note(c, s, RV_FACT_EXTEND);
}

/* An answer to a question that was not asked, or was asked of an earlier life, is dropped. */
static void answer(struct rv_core *c, rv_time now, const struct rv_event *e)
{
	if (e->id >= c->plan->nodes || !c->plan->node[e->id].present)
		return;
	struct rv_slot *s = &rv_slots(c)[e->id];
	bool spawning = !s->answered &&
		!(s->facts &
			(1u << RV_FACT_SPAWNED | 1u << RV_FACT_SPAWN_FAILED |
				1u << RV_FACT_ADOPTED));

	if (!rv_is_alive(s) || (e->generation != s->generation && !RV_FAULT(2)))
		return;
	switch ((enum rv_event_kind)e->kind) {
	case RV_EV_SPAWNED:
		if (spawning)
			note(c, s, RV_FACT_SPAWNED);
		break;
	case RV_EV_SPAWN_FAILED:
		if (spawning)
			note(c, s, RV_FACT_SPAWN_FAILED);
		break;
	case RV_EV_ADOPTED:
		if (spawning)
			note(c, s, RV_FACT_ADOPTED);
		break;
	case RV_EV_FOUND:
		if (s->ask == RV_ASK_FIND)
			verdict(c, s, RV_FACT_FOUND, &s->found, e->verdict);
		break;
	case RV_EV_EXITED: life_exited(c, s, e->exit); break;
	case RV_EV_GONE:
		life_exited(c, s, RV_EXIT_UNKNOWN);
		note(c, s, RV_FACT_GONE);
		break;
	case RV_EV_PROVED:
		if (s->ask == RV_ASK_PROBE || e->verdict == RV_OK)
			verdict(c, s, RV_FACT_PROVED, &s->proved, e->verdict);
		break;
	case RV_EV_HEALTH:
		if (s->ask == RV_ASK_HEALTH)
			verdict(c, s, RV_FACT_HEALTH, &s->health, e->verdict);
		break;
	case RV_EV_HOOK_DONE:
		if (s->ask == RV_ASK_HOOK + e->hook)
			verdict(c, s, RV_FACT_HOOK_DONE, &s->hook_done, e->verdict);
		break;
	case RV_EV_EXTEND: extend(c, s, now, e->time); break;
	case RV_EV_QUITS: note(c, s, RV_FACT_QUITS); break;
	case RV_EV_BOOT:
	case RV_EV_START:
	case RV_EV_STOP:
	case RV_EV_RESTART:
	case RV_EV_RECREATE:
	case RV_EV_PAUSE:
	case RV_EV_RESUME:
	case RV_EV_SHUTDOWN:
	case RV_EV_FORCE:
	case RV_EV_RETIRE_BEGIN:
	case RV_EV_RETIRE:
	case RV_EV_RETIRE_END:
	case RV_EV_DISABLED:
	case RV_EV_INFORM:
	case RV_EV_RENEW: break;
	}
}

static void inform(struct rv_core *c, rv_time now, const struct rv_event *e)
{
	c->informs = e->verdict == RV_OK;
	c->inform = e->generation;
	c->tell_within = e->time;
	orders(c, now, e);
}

void rv_core_apply(struct rv_core *c, rv_time now, const struct rv_event *e, struct rv_actions *out)
{
	(void)out;
	if (c->over)
		return;
	c->unsettled = true;
	switch ((enum rv_event_kind)e->kind) {
	case RV_EV_BOOT: boot(c, now, e); break;
	case RV_EV_SHUTDOWN: rv_core_close(c, now, RV_END_REQUEST, RV_WHY_SHUTDOWN); break;
	case RV_EV_FORCE:
		rv_core_close(c, now, RV_END_FORCED, RV_WHY_SHUTDOWN);
		c->end = RV_END_FORCED;
		c->forced = true;
		break;
	case RV_EV_RETIRE_BEGIN: retire_begin(c, now, e); break;
	case RV_EV_RETIRE_END: c->retiring = true; break;
	case RV_EV_INFORM: inform(c, now, e); break;
	case RV_EV_RENEW:
	case RV_EV_START:
	case RV_EV_STOP:
	case RV_EV_RESTART:
	case RV_EV_RECREATE:
	case RV_EV_PAUSE:
	case RV_EV_RESUME:
	case RV_EV_RETIRE:
	case RV_EV_DISABLED: orders(c, now, e); break;
	case RV_EV_SPAWNED:
	case RV_EV_SPAWN_FAILED:
	case RV_EV_ADOPTED:
	case RV_EV_FOUND:
	case RV_EV_EXITED:
	case RV_EV_GONE:
	case RV_EV_PROVED:
	case RV_EV_HEALTH:
	case RV_EV_HOOK_DONE:
	case RV_EV_EXTEND:
	case RV_EV_QUITS: answer(c, now, e); break;
	}
}
