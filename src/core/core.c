/* The mind's memory, how it looks from outside, and the few things that all its files share. */
#include "core/mind.h"

#include <string.h>

static size_t aligned(size_t n)
{
	return (n + 15) / 16 * 16;
}

/* Most actions of one slot in one settle; the simulator watches that it is generous. */
#define ACTIONS_PER_SLOT 12

size_t rv_core_actions_max(const struct rv_plan *p)
{
	return p->nodes * ACTIONS_PER_SLOT + 4;
}

static struct rv_core offsets(const struct rv_plan *p)
{
	struct rv_core c = {.plan = p};

	c.slots_at = aligned(sizeof(c));
	c.tree_at = c.slots_at + aligned(p->nodes * sizeof(struct rv_slot));
	c.sets_at = c.tree_at + aligned(rv_deadline_room(p->nodes) * sizeof(rv_time));
	c.backs_at = c.sets_at + aligned(RV_SETS * rv_bits_words(p->nodes) * sizeof(uint64_t));
	c.feet_at = c.backs_at + aligned(p->edge_count * sizeof(struct rv_back));
	c.size = c.feet_at + aligned(p->edge_count);
	return c;
}

size_t rv_core_size(const struct rv_plan *p)
{
	return offsets(p).size;
}

/* Which edges lead to each slot: grouped as plan->backs is, with the edge beside the dependent. */
static void index_edges(struct rv_core *c)
{
	const struct rv_plan *p = c->plan;
	struct rv_slot *slots = rv_slots(c);

	for (size_t id = 0; id < p->nodes; id++) {
		const struct rv_node *n = &p->node[id];
		for (uint32_t e = n->first_edge; n->present && e < n->first_edge + n->edge_count;
			e++) {
			rv_id on = p->edges[e].on;
			/* step counts how many are filled in; it is cleared below */
			uint32_t at = p->node[on].first_back + slots[on].step++;
			assert(slots[on].step <= p->node[on].back_count);
			rv_backs(c)[at] = (struct rv_back){.from = (rv_id)id, .edge = e};
		}
	}
	for (size_t id = 0; id < p->nodes; id++)
		slots[id].step = 0;
}

void rv_core_lay_out(struct rv_core *c, const struct rv_plan *p)
{
	struct rv_core head = offsets(p);

	memset(c, 0, head.size);
	c->plan = p;
	c->size = head.size;
	c->slots_at = head.slots_at;
	c->tree_at = head.tree_at;
	c->sets_at = head.sets_at;
	c->backs_at = head.backs_at;
	c->feet_at = head.feet_at;
	c->boot_by = c->close_by = c->leave_by = RV_NEVER;
	c->first_failure = c->cause_id = RV_NO_ID;
	c->end_exit = RV_EXIT_UNKNOWN;
	for (size_t id = 0; id < p->nodes; id++) {
		struct rv_slot *s = &rv_slots(c)[id];
		s->exit = RV_EXIT_UNKNOWN;
		s->offer = RV_FOOT_COMING << RV_OFFER_SHIFT;
		s->other = RV_NO_ID;
		s->spawn_us = s->proof_us = s->init_us = RV_NOT_YET;
	}
	rv_deadline_init(rv_tree(c), p->nodes);
	index_edges(c);
}

void rv_core_init(struct rv_core *c, const struct rv_plan *p, uint64_t seed)
{
	rv_core_lay_out(c, p);
	c->random = seed;
	rv_ground_recount(c);
	rv_mark_all(c, RV_SET_GROUND);
}

void rv_mark(const struct rv_core *c, const struct rv_slot *s, enum rv_set which)
{
	rv_bits_add(rv_set(c, which), c->plan->nodes, rv_node_of(c, s)->rank);
}

void rv_mark_all(const struct rv_core *c, enum rv_set which)
{
	for (size_t r = 0; r < c->plan->present; r++)
		rv_bits_add(rv_set(c, which), c->plan->nodes, r);
}

bool rv_is_needed(const struct rv_core *c, const struct rv_slot *s)
{
	return (!c->closing || RV_FAULT(14)) && !s->held && (s->up || s->pullers > 0);
}

struct rv_action *rv_emit(
	const struct rv_turn *t, const struct rv_slot *s, enum rv_action_kind kind)
{
	assert(t->out->n < t->out->room);
	struct rv_action *a = &t->out->v[t->out->n++];

	memset(a, 0, sizeof(*a));
	a->kind = (uint8_t)kind;
	a->id = s ? rv_slot_id(t->c, s) : RV_NO_ID;
	a->other = RV_NO_ID;
	a->generation = s ? s->generation : 0;
	a->exit = s ? s->exit : RV_EXIT_UNKNOWN;
	a->state = s ? s->state : 0;
	return a;
}

/* Nothing starts from now on. The first cause stays, but for the operator's force. */
void rv_core_close(struct rv_core *c, rv_time now, enum rv_end end, enum rv_why why)
{
	if (c->closing)
		return;
	c->closing = true;
	c->end = (uint8_t)end;
	c->close_why = (uint8_t)why;
	c->close_by = now + c->plan->shutdown_timeout;
	rv_mark_all(c, RV_SET_NEED);
	rv_mark_all(c, RV_SET_GROUND);
	rv_mark_all(c, RV_SET_STOP);
	rv_mark_all(c, RV_SET_START);
}

rv_time rv_core_deadline(const struct rv_core *c)
{
	rv_time own = RV_NEVER, first = rv_deadline_first(rv_tree(c));

	if (c->over)
		return RV_NEVER;
	if (c->unsettled)
		return 0;
	if (c->closing)
		own = c->killed ? c->leave_by : c->close_by;
	else if (c->boot == RV_BOOT_UNDER_WAY)
		own = c->boot_by;
	return own < first ? own : first;
}

enum rv_boot rv_core_boot(const struct rv_core *c)
{
	return (enum rv_boot)c->boot;
}

bool rv_core_closing(const struct rv_core *c)
{
	return c->closing;
}

enum rv_end rv_core_end(const struct rv_core *c)
{
	return (enum rv_end)c->end;
}

rv_id rv_core_culprit(const struct rv_core *c)
{
	return c->cause_id != RV_NO_ID ? c->cause_id : c->first_failure;
}

bool rv_core_may_start(const struct rv_core *c, rv_id id)
{
	return !c->closing && !rv_slots(c)[id].leaving;
}

static uint32_t look_flags(const struct rv_slot *s)
{
	bool unproven = s->unproven || (s->disabled && s->phase == RV_PHASE_UP);

	return (s->up ? RV_LOOK_WANTED : 0u) | (s->held ? RV_LOOK_HELD : 0u) |
		(s->need ? RV_LOOK_NEEDED : 0u) | (s->paused ? RV_LOOK_PAUSED : 0u) |
		(s->lost ? RV_LOOK_LOST : 0u) | (s->disabled ? RV_LOOK_DISABLED : 0u) |
		(unproven ? RV_LOOK_UNPROVEN : 0u) | (s->was_ready ? RV_LOOK_WAS_READY : 0u) |
		(s->untold ? RV_LOOK_UNTOLD : 0u) | (s->recreating ? RV_LOOK_RECREATING : 0u);
}

/* While it waits, what it waits for; else whom its `why` is about, also when that is back. */
static rv_id other_of(const struct rv_core *c, const struct rv_slot *s)
{
	rv_id culprit = s->state == RV_WAITING ? rv_ground_culprit(c, s) : s->other;

	return culprit == RV_NO_ID && s->why == RV_WHY_DEPENDENCY ? s->other : culprit;
}

struct rv_look rv_core_look(const struct rv_core *c, rv_id id)
{
	const struct rv_slot *s = &rv_slots(c)[id];

	return (struct rv_look){
		.state = (enum rv_state)s->state,
		.why = (enum rv_why)s->why,
		.other = other_of(c, s),
		.flags = look_flags(s),
		.restarts = s->restarts,
		.generation = s->generation,
		.lost = s->lost ? s->lost_of : 0,
		.exit = s->exit,
		.since = s->since,
		.started = s->started,
		.ready = s->ready,
		.due = s->state == RV_BACKOFF ? s->again_at : RV_NEVER,
		.spawn_us = s->spawn_us,
		.proof_us = s->proof_us,
		.init_us = s->init_us,
	};
}
