/* Reload, phase two: the lives go on under a new plan. */
#include "core/mind.h"

#include <string.h>

static bool is_present(const struct rv_plan *p, size_t id)
{
	return id < p->nodes && p->node[id].present;
}

/* A service that is new to its slot. The slot's generation goes on, so that none is used twice. */
static void settle_in(struct rv_core *n, struct rv_slot *s, uint64_t generation)
{
	s->generation = RV_FAULT(26) ? 0 : generation;
	s->up = n->boot != RV_BOOT_NOT_YET && rv_node_of(n, s)->enabled;
}

/* A service that goes on: changed ones were retired, so they are down and begin anew. */
static void go_on(struct rv_core *n, const struct rv_core *old, size_t id)
{
	struct rv_slot *s = &rv_slots(n)[id];
	const struct rv_node *is = &n->plan->node[id], *was = &old->plan->node[id];

	*s = rv_slots(old)[id];
	s->need = false;
	s->grounded = false; /* what the new plan adds has not been lost */
	s->tally = RV_TALLY_FINE;
	if (is->enabled && !was->enabled && n->boot != RV_BOOT_NOT_YET)
		s->up = true;
	if (is->delay != was->delay || is->max_delay != was->max_delay)
		s->delay = 0; /* the level that it had reached was of other delays */
	if (s->retired && !rv_is_alive(s)) {
		rv_policy_forget(s);
		s->done = false;
		s->automatic = s->lost = s->lost_ground = false;
	}
	s->retired = false;
	rv_deadline_set(rv_tree(n), n->plan->nodes, id,
		rv_deadline_get(rv_tree(old), old->plan->nodes, id));
	if (s->phase == RV_PHASE_UP && is->health_period != was->health_period) {
		s->facts |= 1u << RV_FACT_CALM; /* its health is scheduled anew */
		rv_mark(n, s, RV_SET_HEAR);
	}
	if (s->facts || s->swung)
		rv_mark(n, s, RV_SET_HEAR);
}

static void carry_over(struct rv_core *n, const struct rv_core *old)
{
	n->random = old->random;
	n->floor = old->floor;
	n->closing = old->closing;
	n->forced = old->forced;
	n->killed = old->killed;
	n->over = old->over;
	n->informs = old->informs;
	n->inform = old->inform;
	n->tell_within = old->tell_within;
	n->boot = old->boot;
	n->end = old->end;
	n->close_why = old->close_why;
	n->cause = old->cause;
	n->cause_id = old->cause_id;
	n->end_exit = old->end_exit;
	n->first_failure = old->first_failure;
	n->first_why = old->first_why;
	n->boot_by = old->boot_by;
	n->close_by = old->close_by;
	n->leave_by = old->leave_by;
	n->unsettled = true;
}

/* It has failed, or is still being ended for it. */
static bool is_failure(const struct rv_slot *s)
{
	return rv_is_alive(s) ? s->after == RV_AFTER_FAILED : s->done && s->state == RV_FAILED;
}

/* What the boot has failed by is not there any more, or begins anew: the next one that failed counts. */
static void blame_anew(struct rv_core *n, const struct rv_core *old)
{
	rv_id id = n->first_failure;

	if (n->boot != RV_BOOT_UNDER_WAY || id == RV_NO_ID || RV_FAULT(36) ||
		(is_present(n->plan, id) && !rv_slots(old)[id].retired))
		return;
	n->first_failure = RV_NO_ID;
	for (size_t r = 0; r < n->plan->present; r++) {
		id = n->plan->order[r];
		const struct rv_slot *s = &rv_slots(n)[id];
		if (!is_failure(s) || !n->plan->node[id].essential ||
			(n->first_failure != RV_NO_ID &&
				s->since >= rv_slots(n)[n->first_failure].since))
			continue;
		n->first_failure = id;
		n->first_why = s->end_why;
	}
}

void rv_core_adopt(struct rv_core *n, const struct rv_plan *p, const struct rv_core *old)
{
	rv_core_lay_out(n, p);
	carry_over(n, old);
	for (size_t id = 0; id < old->plan->nodes; id++) {
		assert(is_present(p, id) || !rv_is_alive(&rv_slots(old)[id]));
		if (id >= p->nodes && rv_slots(old)[id].generation > n->floor)
			n->floor = rv_slots(old)[id].generation;
	}
	for (size_t id = 0; id < p->nodes; id++) {
		struct rv_slot *s = &rv_slots(n)[id];
		uint64_t generation = id < old->plan->nodes ? rv_slots(old)[id].generation
							    : n->floor;
		if (is_present(p, id) && is_present(old->plan, id))
			go_on(n, old, id);
		else if (is_present(p, id))
			settle_in(n, s, generation);
		else
			s->generation = generation;
	}
	blame_anew(n, old);
	rv_ground_recount(n);
	for (size_t r = 0; r < p->present; r++) {
		struct rv_slot *s = &rv_slots(n)[p->order[r]];
		rv_mark(n, s, RV_SET_NEED);
		rv_mark(n, s, RV_SET_GROUND);
		rv_mark(n, s, RV_SET_STOP);
		rv_mark(n, s, RV_SET_START);
	}
}
