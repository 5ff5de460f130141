/* What follows a failure: another try after a delay, or the end; and what that end means for reeve. */
#include "core/mind.h"

static uint64_t draw(struct rv_core *c)
{
	uint64_t z = c->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void rv_policy_forget(struct rv_slot *s)
{
	s->restarts = s->in_window = s->attempts = 0;
	s->delay = 0;
	s->ever = s->sick = false;
}

/* The delay of this level, and the next level's for the next time. */
static rv_time next_delay(struct rv_slot *s, const struct rv_node *n)
{
	rv_time now = s->delay ? s->delay : n->delay, grown;

	if (now > n->max_delay)
		now = n->max_delay;
	grown = now > INT64_MAX / 1000 / (n->factor_milli + INT64_C(1))
		? n->max_delay
		: now / 1000 * n->factor_milli + now % 1000 * n->factor_milli / 1000;
	s->delay = grown < n->max_delay ? grown : n->max_delay;
	return now;
}

/* Another try, later. The jitter only lengthens, so that a delay is never undercut. */
static void back_off(const struct rv_turn *t, struct rv_slot *s, enum rv_why why)
{
	rv_time delay = next_delay(s, rv_node_of(t->c, s));

	if (delay > 0)
		delay += (rv_time)(draw(t->c) % ((uint64_t)delay / 10 + 1));
	if (why == RV_WHY_SPAWN && delay < RV_SPAWN_PAUSE && !RV_FAULT(28))
		delay = RV_SPAWN_PAUSE;
	s->pause = delay; /* counts from the end of this life */
	s->after = RV_AFTER_BACKOFF;
	s->end_why = (uint8_t)why;
	s->automatic = true;
	s->restarts++;
}

static void cause(const struct rv_turn *t, const struct rv_slot *s, enum rv_end end)
{
	struct rv_core *c = t->c;

	if (c->cause || c->closing)
		return;
	c->cause = (uint8_t)end;
	c->cause_id = rv_slot_id(c, s);
	c->end_exit = s->exit;
}

void rv_policy_final(
	const struct rv_turn *t, struct rv_slot *s, enum rv_after after, enum rv_why why)
{
	struct rv_core *c = t->c;
	const struct rv_node *n = rv_node_of(c, s);
	bool booting = c->boot == RV_BOOT_UNDER_WAY && !c->closing;
	bool started = s->was_ready || n->type == RV_TASK;
	bool in_vain = s->seeking && s->exit == 0; /* a launcher's 0 is no success of the service */

	s->after = (uint8_t)after;
	s->end_why = (uint8_t)why;
	if (after == RV_AFTER_FAILED && booting && n->essential && c->first_failure == RV_NO_ID) {
		c->first_failure = rv_slot_id(c, s);
		c->first_why = (uint8_t)why;
	}
	if (rv_slot_id(c, s) == c->plan->exit_from) {
		if (s->answered && s->exited && !in_vain && (started || !booting))
			cause(t, s, RV_END_EXIT_FROM);
		else if (!booting || !n->essential)
			cause(t, s, s->sick ? RV_END_HEALTH : RV_END_GAVE_UP);
		else if (!c->plan->rollback)
			cause(t, s, RV_END_BOOT_FAILED);
	}
	if (after == RV_AFTER_FAILED && n->give_up_ends &&
		!(booting && n->essential && c->plan->rollback))
		cause(t, s, s->sick ? RV_END_HEALTH : RV_END_GAVE_UP);
}

/* Counts a restart in its window, and refuses what is over the limit. */
static void restart(const struct rv_turn *t, struct rv_slot *s, enum rv_why why)
{
	const struct rv_node *n = rv_node_of(t->c, s);

	if (s->in_window && n->window && t->now - s->window_began > n->window) {
		s->in_window = 0;
		s->delay = 0;
	}
	if (n->limit && s->in_window >= n->limit + (RV_FAULT(7) ? 1u : 0u)) {
		s->sick = why == RV_WHY_HEALTH;
		rv_policy_final(t, s, RV_AFTER_FAILED, RV_WHY_LIMIT);
		return;
	}
	if (!s->in_window++)
		s->window_began = t->now;
	back_off(t, s, why);
}

static void by_policy(const struct rv_turn *t, struct rv_slot *s, enum rv_why why, bool well)
{
	switch ((enum rv_restart_on)rv_node_of(t->c, s)->restart_on) {
	case RV_RESTART_NEVER:
		rv_policy_final(t, s, well ? RV_AFTER_EXITED : RV_AFTER_FAILED, why);
		break;
	case RV_RESTART_FAILURE:
		if (well)
			rv_policy_final(t, s, RV_AFTER_EXITED, why);
		else
			restart(t, s, why);
		break;
	case RV_RESTART_ALWAYS: restart(t, s, why); break;
	}
}

/* Before it was first ready the attempts are counted; after that a start is just one more restart. */
void rv_policy_start_failed(const struct rv_turn *t, struct rv_slot *s, enum rv_why why)
{
	if (s->ever && (!s->recreating || s->suspected))
		by_policy(t, s, why, false);
	else if (++s->attempts < rv_node_of(t->c, s)->start_attempts)
		back_off(t, s, why);
	else
		rv_policy_final(t, s, RV_AFTER_FAILED, why);
}

void rv_policy_ended(const struct rv_turn *t, struct rv_slot *s)
{
	s->recreating = false;
	by_policy(t, s, RV_WHY_EXIT, s->exit == 0);
}

/* on-failure: restart asks for it by itself, so restart.on has no say. */
void rv_policy_unhealthy(const struct rv_turn *t, struct rv_slot *s)
{
	s->recreating = s->lost;
	restart(t, s, RV_WHY_HEALTH);
}

/* How it ended is not known, so it did not end well. */
void rv_policy_guest_lost(const struct rv_turn *t, struct rv_slot *s, enum rv_why why)
{
	s->recreating = false;
	by_policy(t, s, why, false);
}
