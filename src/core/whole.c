/* The sandbox as a whole: see core.h. Nothing here changes anything. */
#include "core/mind.h"

enum rv_presence rv_core_presence(const struct rv_core *c, rv_id id)
{
	const struct rv_slot *s = &rv_slots(c)[id];
	const struct rv_node *n = &c->plan->node[id];

	if (!n->present || s->state == RV_READY || s->state == RV_ADOPTED ||
		(s->state == RV_EXITED && n->type == RV_TASK))
		return RV_THERE;
	if (n->enabled && n->essential && !s->held)
		return RV_LACKED;
	return n->enabled || s->need ? RV_MISSED : RV_THERE;
}

enum rv_whole rv_core_whole(const struct rv_core *c)
{
	enum rv_whole whole = RV_WHOLE_READY;

	if (c->closing || c->boot == RV_BOOT_NOT_YET || c->boot == RV_BOOT_UNDER_WAY)
		return RV_WHOLE_NOT_READY;
	for (size_t r = 0; r < c->plan->present; r++) {
		switch (rv_core_presence(c, c->plan->order[r])) {
		case RV_THERE: break;
		case RV_MISSED: whole = RV_WHOLE_DEGRADED; break;
		case RV_LACKED: return RV_WHOLE_NOT_READY;
		}
	}
	return whole;
}
