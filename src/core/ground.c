/* What stands on what. Each edge has a footing: how its dependency looks from it. Each slot counts
 * its edges by footing, so that its ground is known without looking at them. */
#include "core/mind.h"

void rv_ground_need(const struct rv_turn *t, struct rv_slot *s)
{
	const struct rv_node *n = rv_node_of(t->c, s);
	bool need = rv_is_needed(t->c, s);

	if (need == s->need)
		return;
	s->need = need;
	rv_mark(t->c, s, RV_SET_GROUND);
	rv_mark(t->c, s, RV_SET_START);
	for (uint32_t e = n->first_edge; e < n->first_edge + n->edge_count; e++) {
		struct rv_slot *on = &rv_slots(t->c)[t->p->edges[e].on];
		if (t->p->edges[e].kind == RV_AFTER)
			continue;
		on->pullers += need ? 1u : UINT32_MAX;
		if (!RV_FAULT(8))
			rv_mark(t->c, on, RV_SET_NEED);
	}
}

/* The worst that a slot's hard edges say while it is down; FIRM: it may start. */
enum rv_footing rv_ground_of(const struct rv_slot *s)
{
	if (s->foot[RV_FOOT_FAILED])
		return RV_FOOT_FAILED;
	if (s->foot[RV_FOOT_HELD] || s->foot[RV_FOOT_PARTED])
		return RV_FOOT_HELD;
	if (s->foot[RV_FOOT_SHAKY])
		return RV_FOOT_SHAKY;
	if (s->foot[RV_FOOT_COMING] || s->foot[RV_FOOT_LEAVING] || s->foot[RV_FOOT_TAKEN] ||
		(s->foot[RV_FOOT_WAIT] && !RV_FAULT(9)))
		return RV_FOOT_COMING;
	return RV_FOOT_FIRM;
}

/* What is down has a future. */
static enum rv_footing prospect(const struct rv_slot *s)
{
	enum rv_footing own;

	if (s->done && s->state != RV_STOPPED)
		return RV_FOOT_FAILED;
	if (s->done || !s->need)
		return RV_FOOT_HELD;
	if (s->retired)
		return RV_FOOT_COMING; /* back when the reload is through */
	if (rv_is_frozen(s) || (s->state == RV_BACKOFF && s->rests && s->ever))
		return RV_FOOT_SHAKY;
	own = rv_ground_of(s);
	return own == RV_FOOT_FIRM ? RV_FOOT_COMING : own;
}

/* One that finishes its task well is as good as started until it is `exited`. */
static bool finishes_well(const struct rv_turn *t, const struct rv_slot *s)
{
	return rv_node_of(t->c, s)->type == RV_TASK && s->exited && s->after == RV_AFTER_EXITED;
}

static uint8_t offer_of(const struct rv_turn *t, const struct rv_slot *s)
{
	bool task = rv_node_of(t->c, s)->type == RV_TASK;
	unsigned bits = 0;
	enum rv_footing foot = RV_FOOT_COMING;

	switch ((enum rv_state)s->state) {
	case RV_STOPPED:
	case RV_WAITING:
	case RV_QUEUED:
	case RV_BACKOFF:
	case RV_FAILED: foot = prospect(s); break;
	case RV_EXITED:
		foot = prospect(s);
		if (s->done)
			bits = RV_OFFER_EXITED | (task ? RV_OFFER_STARTED | RV_OFFER_READY : 0u);
		break;
	case RV_STARTING:
		if (s->answered && !s->guest && (s->phase != RV_PHASE_LAUNCH || RV_FAULT(46)))
			bits = RV_OFFER_STARTED;
		break;
	case RV_READY:
	case RV_UNHEALTHY:
	case RV_ADOPTED: bits = RV_OFFER_STARTED | RV_OFFER_READY; break;
	case RV_STOPPING:
	case RV_KILLING:
		foot = RV_FOOT_LEAVING;
		if (finishes_well(t, s)) {
			foot = RV_FOOT_COMING;
			bits = RV_OFFER_STARTED;
		}
		break;
	case RV_STATE_COUNT: break;
	}
	if (s->leaving && !finishes_well(t, s)) {
		foot = RV_FOOT_LEAVING;
		bits = 0;
	}
	if (!s->need || foot == RV_FOOT_SHAKY || foot == RV_FOOT_HELD || foot == RV_FOOT_FAILED ||
		(bits & (RV_OFFER_READY | RV_OFFER_EXITED)))
		bits |= RV_OFFER_SETTLED;
	if (rv_is_ordered(s))
		bits |= RV_OFFER_ORDERED;
	return (uint8_t)(bits | (unsigned)foot << RV_OFFER_SHIFT);
}

static enum rv_footing footing(const struct rv_edge *e, uint8_t offer)
{
	static const uint8_t until[] = {
		[RV_UNTIL_STARTED] = RV_OFFER_STARTED,
		[RV_UNTIL_READY] = RV_OFFER_READY,
		[RV_UNTIL_EXITED] = RV_OFFER_EXITED,
	};

	enum rv_footing foot = (enum rv_footing)(offer >> RV_OFFER_SHIFT & 7u);

	if (e->part && (offer & RV_OFFER_ORDERED) && !RV_FAULT(48))
		return foot == RV_FOOT_LEAVING ? RV_FOOT_TAKEN : RV_FOOT_PARTED;
	if (e->kind != RV_NEEDS)
		return offer & RV_OFFER_SETTLED ? RV_FOOT_PASS : RV_FOOT_WAIT;
	if (offer & until[RV_FAULT(27) ? RV_UNTIL_STARTED : e->until])
		return RV_FOOT_FIRM;
	return foot;
}

static void tread(const struct rv_core *c, const struct rv_back *b, uint8_t offer)
{
	struct rv_slot *d = &rv_slots(c)[b->from];
	uint8_t *foot = &rv_feet(c)[b->edge];
	enum rv_footing now = footing(&c->plan->edges[b->edge], offer);

	if (now == *foot)
		return;
	d->foot[*foot]--;
	d->foot[now]++;
	*foot = (uint8_t)now;
	if (RV_FAULT(10))
		return;
	rv_mark(c, d, RV_SET_GROUND);
	rv_mark(c, d, RV_SET_START);
}

/* Tells the dependents, if it makes a difference to them. */
static void publish(const struct rv_turn *t, struct rv_slot *s)
{
	const struct rv_node *n = rv_node_of(t->c, s);
	uint8_t offer = offer_of(t, s);

	if (offer == s->offer)
		return;
	s->offer = offer;
	for (uint32_t i = n->first_back; i < n->first_back + n->back_count; i++)
		tread(t->c, &rv_backs(t->c)[i], offer);
}

/* The edge that explains best why it is not up: failed first, then anything hard, then soft. */
uint32_t rv_ground_culprit_edge(const struct rv_core *c, const struct rv_slot *s)
{
	static const uint8_t badness[RV_FOOT_COUNT] = {
		[RV_FOOT_FAILED] = 4,
		[RV_FOOT_HELD] = 3,
		[RV_FOOT_PARTED] = 3,
		[RV_FOOT_TAKEN] = 2,
		[RV_FOOT_SHAKY] = 2,
		[RV_FOOT_LEAVING] = 2,
		[RV_FOOT_COMING] = 2,
		[RV_FOOT_WAIT] = 1,
	};
	const struct rv_node *n = rv_node_of(c, s);
	uint32_t edge = RV_NO_ID;
	uint8_t worst = 0;

	for (uint32_t e = n->first_edge; e < n->first_edge + n->edge_count; e++) {
		uint8_t bad = badness[rv_feet(c)[e]];
		if (bad > worst) {
			worst = bad;
			edge = e;
		}
	}
	return edge;
}

rv_id rv_ground_culprit(const struct rv_core *c, const struct rv_slot *s)
{
	uint32_t edge = rv_ground_culprit_edge(c, s);

	return edge == RV_NO_ID ? RV_NO_ID : c->plan->edges[edge].on;
}

static uint32_t missing(const struct rv_slot *s)
{
	return s->foot[RV_FOOT_COMING] + s->foot[RV_FOOT_LEAVING] + s->foot[RV_FOOT_SHAKY] +
		s->foot[RV_FOOT_HELD] + s->foot[RV_FOOT_FAILED] + s->foot[RV_FOOT_TAKEN] +
		s->foot[RV_FOOT_PARTED];
}

static rv_id lost_one(const struct rv_core *c, const struct rv_slot *s)
{
	const struct rv_node *n = rv_node_of(c, s);
	rv_id any = RV_NO_ID;

	for (uint32_t e = n->first_edge; e < n->first_edge + n->edge_count; e++) {
		enum rv_footing f = (enum rv_footing)rv_feet(c)[e];
		if (f == RV_FOOT_LEAVING || f == RV_FOOT_TAKEN)
			return c->plan->edges[e].on;
		if (any == RV_NO_ID && f != RV_FOOT_FIRM && f < RV_FOOT_PASS)
			any = c->plan->edges[e].on;
	}
	return any;
}

static void lose(const struct rv_turn *t, struct rv_slot *s)
{
	rv_id id = lost_one(t->c, s);
	const struct rv_slot *on = &rv_slots(t->c)[id];
	bool reload = on->leaving && on->end_why == RV_WHY_RELOAD;
	bool stay = rv_node_of(t->c, s)->on_loss == RV_LOSS_STOP && !reload;

	s->other = id;
	s->automatic = !reload;
	s->lost_ground = true;
	rv_machine_leave(t->c, t->now, s, reload ? RV_WHY_RELOAD : RV_WHY_DEPENDENCY,
		stay ? RV_AFTER_DROPPED : RV_AFTER_AGAIN);
}

/* An operator takes down what it is part of: that is no loss, so the order holds for it as well. */
static void follow(const struct rv_turn *t, struct rv_slot *s)
{
	const struct rv_node *n = rv_node_of(t->c, s);
	uint32_t e = n->first_edge;

	while (rv_feet(t->c)[e] != RV_FOOT_TAKEN && rv_feet(t->c)[e] != RV_FOOT_PARTED)
		e++;
	s->other = t->p->edges[e].on;
	s->automatic = false;
	s->lost_ground = true;
	rv_machine_leave(t->c, t->now, s, RV_WHY_DEPENDENCY, RV_AFTER_AGAIN);
}

/* It lives: has it to go? */
static void stand(const struct rv_turn *t, struct rv_slot *s)
{
	if (s->leaving || (s->state >= RV_STOPPING && s->state != RV_ADOPTED))
		return;
	if (!s->need || s->retired) {
		enum rv_why why = rv_machine_why_down(t->c, s, RV_WHY_UNNEEDED);
		s->other = RV_NO_ID;
		rv_machine_leave(t->c, t->now, s, why, RV_AFTER_AGAIN);
		return;
	}
	if (s->foot[RV_FOOT_TAKEN] || s->foot[RV_FOOT_PARTED])
		follow(t, s);
	else if (rv_node_of(t->c, s)->on_loss != RV_LOSS_KEEP &&
		(s->foot[RV_FOOT_LEAVING] || (s->grounded && missing(s))) && !RV_FAULT(11))
		lose(t, s);
	else if (!missing(s))
		s->grounded = true;
}

/* An essential one that stands on failure fails the boot by the name of what failed below it. */
static void blame(const struct rv_turn *t, const struct rv_slot *s)
{
	struct rv_core *c = t->c;
	const struct rv_slot *on = s;

	if (c->boot != RV_BOOT_UNDER_WAY || c->closing || c->first_failure != RV_NO_ID ||
		!rv_node_of(c, s)->essential)
		return;
	while (!on->done)
		on = &rv_slots(c)[rv_ground_culprit(c, on)];
	c->first_failure = rv_slot_id(c, on);
	c->first_why = on->why;
}

/* The boot waits for what is at work, not for the delay of one that it can do without, nor for who waits for that. */
static bool is_put_off(const struct rv_turn *t, const struct rv_slot *s, enum rv_footing ground)
{
	return !rv_node_of(t->c, s)->essential && !RV_FAULT(57) &&
		((s->state == RV_BACKOFF && s->rests) || rv_is_frozen(s) || ground != RV_FOOT_FIRM);
}

static enum rv_tally tally_of(const struct rv_turn *t, const struct rv_slot *s)
{
	enum rv_footing ground;

	if (!s->need)
		return RV_TALLY_FINE;
	if (s->done)
		return s->state == RV_EXITED ? RV_TALLY_FINE : RV_TALLY_BAD;
	if (s->state == RV_READY || s->state == RV_UNHEALTHY || s->state == RV_ADOPTED)
		return s->leaving ? RV_TALLY_PENDING : RV_TALLY_FINE;
	if (rv_is_alive(s))
		return RV_TALLY_PENDING;
	ground = rv_ground_of(s);
	if (ground == RV_FOOT_FAILED)
		blame(t, s);
	return ground == RV_FOOT_FAILED || ground == RV_FOOT_HELD || is_put_off(t, s, ground)
		? RV_TALLY_BAD
		: RV_TALLY_PENDING;
}

static void tally(const struct rv_turn *t, struct rv_slot *s)
{
	uint8_t now = (uint8_t)tally_of(t, s);

	t->c->pending += (now == RV_TALLY_PENDING) - (uint32_t)(s->tally == RV_TALLY_PENDING);
	t->c->bad += (now == RV_TALLY_BAD) - (uint32_t)(s->tally == RV_TALLY_BAD);
	s->tally = now;
}

void rv_ground_visit(const struct rv_turn *t, struct rv_slot *s)
{
	if (rv_is_alive(s))
		stand(t, s);
	else if (!s->need || s->retired)
		s->automatic = s->lost_ground = false; /* its next start is somebody's decision */
	else if (s->disabled && !s->done && !s->rests && !rv_is_frozen(s) &&
		rv_ground_of(s) == RV_FOOT_FIRM && !t->c->closing)
		rv_begin_refuse(t, s);
	tally(t, s);
	publish(t, s);
}

static void recount_edges(struct rv_core *c, const struct rv_slot *s)
{
	const struct rv_node *n = rv_node_of(c, s);
	struct rv_slot *mine = &rv_slots(c)[rv_slot_id(c, s)];

	for (uint32_t e = n->first_edge; e < n->first_edge + n->edge_count; e++) {
		const struct rv_edge *edge = &c->plan->edges[e];
		struct rv_slot *on = &rv_slots(c)[edge->on];

		if (s->need && edge->kind != RV_AFTER)
			on->pullers++;
		if (rv_is_alive(s)) {
			on->living_all++;
			if (rv_is_carried(n, edge))
				on->living++;
			else if (edge->part)
				on->living_parts++;
		}
		rv_feet(c)[e] = (uint8_t)footing(edge, on->offer);
		mine->foot[rv_feet(c)[e]]++;
	}
}

void rv_ground_recount(struct rv_core *c)
{
	c->alive = c->starting = c->pending = c->bad = 0;
	for (size_t id = 0; id < c->plan->nodes; id++) {
		struct rv_slot *s = &rv_slots(c)[id];
		s->pullers = s->living = s->living_parts = s->living_all = 0;
		for (int f = 0; f < RV_FOOT_COUNT; f++)
			s->foot[f] = 0;
	}
	for (size_t r = 0; r < c->plan->present; r++) {
		struct rv_slot *s = &rv_slots(c)[c->plan->order[r]];
		c->alive += rv_is_alive(s);
		c->starting += s->state == RV_STARTING;
		c->pending += s->tally == RV_TALLY_PENDING;
		c->bad += s->tally == RV_TALLY_BAD;
		recount_edges(c, s);
	}
}
