/* What a service waits for: see core.h. Nothing here changes anything. */
#include "core/mind.h"

static rv_time due_of(const struct rv_core *c, const struct rv_slot *s)
{
	return rv_deadline_get(rv_tree(c), c->plan->nodes, rv_slot_id(c, s));
}

static void on_service(const struct rv_core *c, const struct rv_slot *s, struct rv_await *a)
{
	uint32_t edge = rv_ground_culprit_edge(c, s);

	a->what = RV_AWAIT_SERVICE;
	if (edge == RV_NO_ID)
		return;
	a->other = c->plan->edges[edge].on;
	a->kind = c->plan->edges[edge].kind;
	a->until = c->plan->edges[edge].until;
	if (rv_feet(c)[edge] == RV_FOOT_TAKEN || rv_feet(c)[edge] == RV_FOOT_PARTED) {
		a->kind = RV_NEEDS; /* down by order, it is waited for as if it was needed */
		a->until = RV_UNTIL_READY;
	}
}

static void on_permit(const struct rv_core *c, struct rv_await *a)
{
	a->what = RV_AWAIT_PERMIT;
	a->ahead = c->starting;
	for (size_t r = 0; r < c->plan->present && a->other == RV_NO_ID; r++)
		if (rv_slots(c)[c->plan->order[r]].state == RV_STARTING)
			a->other = c->plan->order[r];
}

/* It is asked to end and has not heard of it yet, for somebody stands on it. */
static void on_dependents(const struct rv_core *c, const struct rv_slot *s, struct rv_await *a)
{
	const struct rv_node *n = rv_node_of(c, s);

	a->what = RV_AWAIT_DEPENDENTS;
	a->ahead = rv_living(c, s);
	for (uint32_t i = n->first_back; a->ahead && i < n->first_back + n->back_count; i++) {
		const struct rv_back *b = &rv_backs(c)[i];
		const struct rv_edge *e = &c->plan->edges[b->edge];
		bool counts = c->closing || rv_is_carried(&c->plan->node[b->from], e) ||
			(e->part && rv_is_ordered(s));

		if (counts && rv_is_alive(&rv_slots(c)[b->from])) {
			a->other = b->from;
			return;
		}
	}
}

static void while_starting(const struct rv_slot *s, struct rv_await *a)
{
	static const uint8_t of_phase[] = {
		[RV_PHASE_SPAWN] = RV_AWAIT_SPAWN,
		[RV_PHASE_LAUNCH] = RV_AWAIT_EXIT,
		[RV_PHASE_FIND] = RV_AWAIT_DAEMON,
		[RV_PHASE_PACE] = RV_AWAIT_CHECK,
		[RV_PHASE_PROBE] = RV_AWAIT_CHECK,
		[RV_PHASE_TASK] = RV_AWAIT_EXIT,
		[RV_PHASE_UPDATE] = RV_AWAIT_UPDATE,
	};

	if (s->phase < sizeof(of_phase))
		a->what = (enum rv_awaited)of_phase[s->phase];
	if (s->seeking && s->phase == RV_PHASE_PACE)
		a->what = RV_AWAIT_DAEMON;
	a->attempt = s->attempt;
	a->by = s->ready_by;
}

static void while_ending(const struct rv_core *c, const struct rv_slot *s, struct rv_await *a)
{
	a->what = s->phase == RV_PHASE_ASK     ? RV_AWAIT_STOP_HOOK
		: s->phase == RV_PHASE_CLEANUP ? RV_AWAIT_CLEANUP
		: s->phase == RV_PHASE_KILL    ? RV_AWAIT_DEATH
					       : RV_AWAIT_LEAVE;
	a->step = s->step;
	a->stuck = s->stuck;
	a->by = due_of(c, s);
}

struct rv_await rv_core_await(const struct rv_core *c, rv_id id)
{
	const struct rv_slot *s = &rv_slots(c)[id];
	struct rv_await a = {.other = RV_NO_ID, .by = RV_NEVER};

	switch ((enum rv_state)s->state) {
	case RV_WAITING:
		if (rv_is_frozen(s) && rv_ground_culprit_edge(c, s) == RV_NO_ID)
			a.what = RV_AWAIT_RESUME;
		else
			on_service(c, s, &a);
		break;
	case RV_QUEUED: on_permit(c, &a); break;
	case RV_STARTING:
	case RV_READY:
	case RV_UNHEALTHY:
	case RV_ADOPTED:
		if (s->leaving && s->phase != RV_PHASE_SPAWN && s->phase != RV_PHASE_UPDATE)
			on_dependents(c, s, &a);
		else if (s->state == RV_STARTING)
			while_starting(s, &a);
		else if (s->ask == RV_ASK_HOOK + RV_HOOK_CONFIRM)
			a = (struct rv_await){
				.what = RV_AWAIT_CONFIRM, .other = RV_NO_ID, .by = due_of(c, s)};
		break;
	case RV_STOPPING:
	case RV_KILLING: while_ending(c, s, &a); break;
	case RV_BACKOFF:
		a.what = rv_is_frozen(s) ? RV_AWAIT_RESUME : RV_AWAIT_DELAY;
		a.by = rv_is_frozen(s) ? RV_NEVER : s->again_at;
		break;
	case RV_STOPPED:
	case RV_EXITED:
	case RV_FAILED:
	case RV_STATE_COUNT: break;
	}
	return a;
}

/* Edges of `s` that are not there, and those of them that lead to `on`. */
static uint32_t missing(const struct rv_core *c, const struct rv_slot *s, rv_id on, uint32_t *to_it)
{
	const struct rv_node *n = rv_node_of(c, s);
	uint32_t all = 0;

	*to_it = 0;
	for (uint32_t e = n->first_edge; e < n->first_edge + n->edge_count; e++) {
		uint8_t foot = rv_feet(c)[e];

		if (foot == RV_FOOT_FIRM || foot == RV_FOOT_PASS)
			continue;
		all++;
		*to_it += c->plan->edges[e].on == on;
	}
	return all;
}

size_t rv_core_heirs(const struct rv_core *c, rv_id id, rv_id *to, size_t room)
{
	const struct rv_node *n = &c->plan->node[id];
	rv_id last = RV_NO_ID;
	size_t count = 0;

	for (uint32_t i = n->first_back; i < n->first_back + n->back_count; i++) {
		rv_id from = rv_backs(c)[i].from;
		const struct rv_slot *s = &rv_slots(c)[from];
		uint32_t to_it;

		if (from == last || s->state != RV_WAITING || !s->need)
			continue;
		last = from; /* edges of one dependent stand together */
		if (!missing(c, s, id, &to_it) || missing(c, s, id, &to_it) != to_it)
			continue;
		if (count < room)
			to[count] = from;
		count++;
	}
	return count;
}
