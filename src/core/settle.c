/* One turn: the passes of mind.h over the dirty ranks. */
#include "core/mind.h"

typedef void visit(const struct rv_turn *t, struct rv_slot *s);

static void sweep(const struct rv_core *c, enum rv_set which)
{
#ifdef RV_SWEEP
	rv_mark_all(c, which);
#else
	(void)c;
	(void)which;
#endif
}

static struct rv_slot *at_rank(const struct rv_turn *t, size_t rank)
{
	return &rv_slots(t->c)[t->p->order[rank]];
}

static void up(const struct rv_turn *t, enum rv_set which, visit *v)
{
	uint64_t *set = rv_set(t->c, which);
	size_t n = t->p->nodes;

	if (which != RV_SET_FRESH)
		sweep(t->c, which);
	for (size_t r = rv_bits_up(set, n, 0); r != RV_BITS_END; r = rv_bits_up(set, n, r)) {
		rv_bits_remove(set, n, r);
		v(t, at_rank(t, r));
	}
}

static void down(const struct rv_turn *t, enum rv_set which, visit *v)
{
	uint64_t *set = rv_set(t->c, which);
	size_t n = t->p->nodes;

	sweep(t->c, which);
	for (size_t r = rv_bits_down(set, n, n); r != RV_BITS_END; r = rv_bits_down(set, n, r)) {
		rv_bits_remove(set, n, r);
		v(t, at_rank(t, r));
	}
}

/* Whose deadline has passed gets to hear it. */
static void ring(const struct rv_turn *t)
{
	rv_time *tree = rv_tree(t->c);

	while (rv_deadline_first(tree) <= t->now) {
		size_t id = rv_deadline_place(tree, t->p->nodes);
		struct rv_slot *s = &rv_slots(t->c)[id];

		rv_deadline_set(tree, t->p->nodes, id, RV_NEVER);
		s->facts |= 1u << RV_FACT_DUE;
		rv_mark(t->c, s, RV_SET_HEAR);
	}
}

/* It has to leave: nothing happens to it while somebody stands on it. */
static void stop(const struct rv_turn *t, struct rv_slot *s)
{
	uint32_t living = rv_living(t->c, s);

	if (!s->leaving || (s->state >= RV_STOPPING && s->state != RV_ADOPTED) ||
		(living && !RV_FAULT(12)))
		return;
	if (s->phase == RV_PHASE_SPAWN || s->phase == RV_PHASE_UPDATE)
		return;
	rv_stop_begin(t, s);
}

static enum rv_why why_waiting(const struct rv_slot *s, enum rv_footing ground)
{
	if (ground == RV_FOOT_FAILED)
		return RV_WHY_DEPENDENCY_FAILED;
	return s->lost_ground ? RV_WHY_DEPENDENCY : RV_WHY_NONE;
}

static void wait(const struct rv_turn *t, struct rv_slot *s, enum rv_footing ground)
{
	enum rv_why why = why_waiting(s, ground);

	if (s->state != RV_WAITING || s->why != why)
		rv_machine_state(t, s, RV_WAITING, why, rv_ground_culprit(t->c, s));
}

/* Nobody needs it any more: what it waited for does not matter. */
static void unwanted(const struct rv_turn *t, struct rv_slot *s)
{
	s->rests = false;
	if (s->done || s->state == RV_STOPPED)
		return;
	rv_machine_due(t, s, RV_NEVER);
	rv_machine_state(t, s, RV_STOPPED, rv_machine_why_down(t->c, s, RV_WHY_UNNEEDED), RV_NO_ID);
}

/* Down: where does it belong? Whoever could start is put into the queue. */
static void place(const struct rv_turn *t, struct rv_slot *s)
{
	uint64_t *queue = rv_set(t->c, RV_SET_QUEUE);
	enum rv_footing ground = rv_ground_of(s);

	rv_bits_remove(queue, t->p->nodes, rv_node_of(t->c, s)->rank);
	if (rv_is_alive(s))
		return;
	if (!s->need || s->retired) {
		unwanted(t, s);
		return;
	}
	/* needed again in the very turn that ended it; one that is frozen becomes due when it is resumed */
	if (s->rests && s->state == RV_STOPPED && !rv_is_frozen(s))
		rv_machine_due(t, s, t->now);
	if (s->done || s->rests)
		return;
	if (ground != RV_FOOT_FIRM) {
		wait(t, s, ground);
	} else if (rv_is_frozen(s)) {
		/* frozen: its restart waits for the operator, however long ago it was due */
		if (s->state == RV_QUEUED)
			rv_machine_state(t, s, RV_BACKOFF, (enum rv_why)s->end_why, RV_NO_ID);
	} else {
		rv_mark(t->c, s, RV_SET_QUEUE);
		rv_mark(t->c, s, RV_SET_FRESH);
	}
}

static void admit(const struct rv_turn *t)
{
	uint64_t *queue = rv_set(t->c, RV_SET_QUEUE);
	size_t n = t->p->nodes;

	for (size_t r = 0; (r = rv_bits_up(queue, n, r)) != RV_BITS_END;) {
		if (t->p->max_starts &&
			t->c->starting >= t->p->max_starts + (RV_FAULT(13) ? 1u : 0u))
			break;
		rv_bits_remove(queue, n, r);
		rv_begin_start(t, at_rank(t, r));
	}
}

static void queued(const struct rv_turn *t, struct rv_slot *s)
{
	if (rv_bits_has(rv_set(t->c, RV_SET_QUEUE), rv_node_of(t->c, s)->rank) &&
		s->state != RV_QUEUED)
		rv_machine_state(t, s, RV_QUEUED, RV_WHY_NONE, RV_NO_ID);
}

void rv_core_settle(struct rv_core *c, rv_time now, struct rv_actions *out)
{
	const struct rv_turn t = {.c = c, .p = c->plan, .now = now, .out = out};

	if (c->over)
		return;
#ifdef RV_SWEEP
	rv_ground_recount(c);
#endif
	c->unsettled = false;
	ring(&t);
	up(&t, RV_SET_HEAR, rv_machine_hear);
	do {
		down(&t, RV_SET_NEED, rv_ground_need);
		up(&t, RV_SET_GROUND, rv_ground_visit);
	} while (rv_judge(&t));
	rv_judge_patience(&t);
	down(&t, RV_SET_STOP, stop);
	up(&t, RV_SET_START, place);
	admit(&t);
	up(&t, RV_SET_FRESH, queued);
	rv_judge_end(&t);
}
