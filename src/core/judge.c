/* The whole: is the boot decided, is reeve to end, is it over. */
#include "core/mind.h"

static void verdict(const struct rv_turn *t, enum rv_boot boot, rv_id id, enum rv_why why)
{
	struct rv_action *a = rv_emit(t, NULL, RV_ACT_BOOT);

	t->c->boot = (uint8_t)boot;
	a->id = id;
	a->why = (uint8_t)why;
	a->degraded = boot == RV_BOOT_DEGRADED;
	a->verdict = boot == RV_BOOT_FAILED ? RV_FAIL : RV_OK;
	if (id != RV_NO_ID) {
		const struct rv_slot *s = &rv_slots(t->c)[id];
		a->exit = s->exit;
		a->generation = s->generation;
		a->state = s->state;
		a->other = s->state == RV_WAITING ? rv_ground_culprit(t->c, s) : s->other;
	}
}

/* The first in order that the boot could not do without. */
static rv_id late_one(const struct rv_core *c)
{
	for (size_t r = 0; r < c->plan->present; r++) {
		rv_id id = c->plan->order[r];
		if (rv_slots(c)[id].tally == RV_TALLY_PENDING && c->plan->node[id].essential)
			return id;
	}
	return RV_NO_ID;
}

static bool boot_failed(const struct rv_turn *t, rv_id id, enum rv_why why)
{
	verdict(t, RV_BOOT_FAILED, id, why);
	if (!t->p->rollback || RV_FAULT(31))
		return false;
	rv_core_close(t->c, t->now, RV_END_BOOT_FAILED, RV_WHY_ROLLBACK);
	return true;
}

static bool judge_boot(const struct rv_turn *t)
{
	struct rv_core *c = t->c;
	bool failed = c->first_failure != RV_NO_ID, late = t->now >= c->boot_by;

	if (c->boot != RV_BOOT_UNDER_WAY)
		return false;
	if (failed && (t->p->rollback || late || !c->pending))
		return boot_failed(t, c->first_failure, (enum rv_why)c->first_why);
	if (!c->pending || late || RV_FAULT(32)) {
		rv_id id = c->pending ? late_one(c) : RV_NO_ID;
		if (id != RV_NO_ID)
			return boot_failed(t, id, RV_WHY_BOOT_TIMEOUT);
		verdict(t, c->bad || c->pending ? RV_BOOT_DEGRADED : RV_BOOT_DONE, RV_NO_ID,
			RV_WHY_NONE);
	}
	return false;
}

/* True when reeve has just begun to close, so that everything has to be looked at again. */
bool rv_judge(const struct rv_turn *t)
{
	struct rv_core *c = t->c;

	if (c->closing)
		return false;
	if (c->cause) {
		enum rv_end end = (enum rv_end)c->cause;
		if (end == RV_END_BOOT_FAILED && c->boot == RV_BOOT_UNDER_WAY)
			verdict(t, RV_BOOT_FAILED, c->cause_id, (enum rv_why)c->first_why);
		rv_core_close(c, t->now, end, RV_WHY_SHUTDOWN);
		return true;
	}
	return judge_boot(t);
}

/* No more patience: KILL to all that lives, and no hooks. */
static void kill_all(const struct rv_turn *t)
{
	struct rv_core *c = t->c;

	c->killed = true;
	c->leave_by = t->now + t->p->kill_timeout;
	if (c->end == RV_END_REQUEST)
		c->end = RV_END_DEADLINE;
	for (size_t r = t->p->present; r-- > 0;) {
		struct rv_slot *s = &rv_slots(c)[t->p->order[r]];
		if (s->phase == RV_PHASE_CLEANUP)
			rv_machine_conclude(t, s);
		else if (rv_is_alive(s) && s->phase != RV_PHASE_KILL)
			rv_stop_kill(t, s);
	}
}

void rv_judge_patience(const struct rv_turn *t)
{
	const struct rv_core *c = t->c;

	if (c->closing && !c->killed && c->alive &&
		(c->forced || (t->now >= c->close_by && !RV_FAULT(22))))
		kill_all(t);
}

static void over(const struct rv_turn *t)
{
	struct rv_action *a = rv_emit(t, NULL, RV_ACT_OVER);

	t->c->over = true;
	a->end = t->c->end;
	a->exit = t->c->end_exit;
	a->id = rv_core_culprit(t->c);
}

static bool retired_are_gone(const struct rv_core *c)
{
	for (size_t r = 0; r < c->plan->present; r++) {
		const struct rv_slot *s = &rv_slots(c)[c->plan->order[r]];
		if (s->retired && rv_is_alive(s))
			return false;
	}
	return true;
}

/* Last in a settle. */
void rv_judge_end(const struct rv_turn *t)
{
	struct rv_core *c = t->c;

	if (!c->closing) {
		if (c->retiring && retired_are_gone(c)) {
			c->retiring = false;
			rv_emit(t, NULL, RV_ACT_RETIRED);
		}
		return;
	}
	if (!c->alive || RV_FAULT(23) || (c->killed && t->now >= c->leave_by))
		over(t);
}
