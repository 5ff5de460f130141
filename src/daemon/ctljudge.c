/* Judging: see ctljudge.h. */
#include "daemon/ctljudge.h"

#include "daemon/suspicion.h"

bool rv_ctl_is_idle(enum rv_state s)
{
	return s == RV_STOPPED || s == RV_EXITED || s == RV_FAILED;
}

/* What it waits for will not come by itself. */
static bool ground_is_lost(struct rv_engine *g, const struct rv_look *look)
{
	struct rv_look below;

	if (look->other == RV_NO_ID)
		return false;
	below = rv_engine_glance(g, look->other);
	return below.state == RV_FAILED ||
		(below.state == RV_STOPPED && (below.flags & RV_LOOK_HELD));
}

static bool is_task(struct rv_engine *g, rv_id id)
{
	return rv_engine_conf(g)->services[id].type == RV_TASK;
}

/* `lost` is the outcome when it cannot get there. */
static enum rv_rpc_outcome judge_up(struct rv_engine *g, enum rv_aim aim, const struct rv_entry *e,
	const struct rv_look *look, enum rv_rpc_outcome lost)
{
	bool fresh = aim != RV_AIM_RESTART || look->generation > e->before;
	enum rv_rpc_outcome not_yet = rv_engine_closing(g) ? lost : RV_DONE_YET;

	switch (look->state) {
	case RV_READY: return fresh ? RV_DONE_OK : not_yet;
	case RV_UNHEALTHY: return fresh && aim != RV_AIM_READY ? RV_DONE_OK : not_yet;
	case RV_ADOPTED: return aim == RV_AIM_RESTART ? lost : RV_DONE_OK;
	case RV_EXITED:
		if (!fresh)
			return not_yet;
		return aim != RV_AIM_READY || is_task(g, e->id) ? RV_DONE_OK : lost;
	case RV_FAILED: return lost;
	case RV_STOPPED:
		if ((look->flags & RV_LOOK_NEEDED) && !(look->flags & RV_LOOK_HELD))
			return not_yet;
		if (aim == RV_AIM_READY && rv_engine_boot(g) == RV_BOOT_NOT_YET)
			return not_yet;
		return lost;
	case RV_WAITING: return ground_is_lost(g, look) ? lost : not_yet;
	case RV_KILLING: return look->why == RV_WHY_STUCK ? lost : not_yet;
	case RV_QUEUED:
	case RV_STARTING:
	case RV_STOPPING: return not_yet;
	case RV_BACKOFF: /* only an operator's resume moves on one that is paused */
		return aim == RV_AIM_READY && (look->flags & RV_LOOK_PAUSED) ? lost : not_yet;
	case RV_STATE_COUNT: break;
	}
	return lost;
}

/* There is another one, or there is an answer, or there will be neither. */
static enum rv_rpc_outcome judge_recreate(
	struct rv_engine *g, const struct rv_entry *e, const struct rv_look *look)
{
	const struct rv_suspicion *d = rv_engine_suspicion(g, e->id);
	bool frozen = look->flags & RV_LOOK_PAUSED;

	if (rv_ctl_is_idle(look->state))
		return look->state == RV_FAILED ? RV_DONE_FAILED : RV_DONE_NOT_READY;
	if (look->state == RV_READY || look->state == RV_UNHEALTHY) {
		if (look->generation > e->before || e->was_coming)
			return RV_DONE_OK;
		if (look->flags & RV_LOOK_RECREATING)
			return RV_DONE_YET;
		return d && d->answers != e->answers && d->verdict == RV_OK ? RV_DONE_OK
									    : RV_DONE_FAILED;
	}
	if (look->state == RV_WAITING && ground_is_lost(g, look))
		return RV_DONE_FAILED;
	if (frozen && (look->state == RV_WAITING || look->state == RV_BACKOFF))
		return RV_DONE_FAILED;
	if (look->state == RV_KILLING && look->why == RV_WHY_STUCK)
		return RV_DONE_FAILED;
	return rv_engine_closing(g) ? RV_DONE_FAILED : RV_DONE_YET;
}

static enum rv_rpc_outcome judge_down(enum rv_aim aim, const struct rv_entry *e,
	const struct rv_look *look, enum rv_rpc_outcome lost)
{
	bool held = look->flags & RV_LOOK_HELD;

	if (aim == RV_AIM_EXITED && rv_ctl_is_idle(look->state))
		return look->state == RV_EXITED ? RV_DONE_OK : lost;
	if (rv_ctl_is_idle(look->state))
		return RV_DONE_OK;
	if (look->state == RV_ADOPTED && !held)
		return lost; /* nobody ends it */
	if (held &&
		(look->state == RV_WAITING || look->state == RV_QUEUED ||
			look->state == RV_BACKOFF))
		return RV_DONE_OK;
	if (look->state == RV_KILLING && look->why == RV_WHY_STUCK)
		return lost;
	if (aim == RV_AIM_STOP && !held && look->generation > e->before)
		return lost; /* somebody started it again */
	return RV_DONE_YET;
}

enum rv_rpc_outcome rv_ctl_judge(struct rv_engine *g, enum rv_aim aim, const struct rv_entry *e)
{
	struct rv_look look = rv_engine_glance(g, e->id);

	switch (aim) {
	case RV_AIM_START:
	case RV_AIM_RESTART: return judge_up(g, aim, e, &look, RV_DONE_FAILED);
	case RV_AIM_RELOAD:
		if (rv_ctl_is_idle(look.state) && !(look.flags & RV_LOOK_NEEDED))
			return RV_DONE_OK;
		return judge_up(g, aim, e, &look, RV_DONE_FAILED);
	case RV_AIM_RECREATE: return judge_recreate(g, e, &look);
	case RV_AIM_READY: return judge_up(g, aim, e, &look, RV_DONE_NOT_READY);
	case RV_AIM_STOP: return judge_down(aim, e, &look, RV_DONE_FAILED);
	case RV_AIM_STOPPED:
	case RV_AIM_EXITED: return judge_down(aim, e, &look, RV_DONE_NOT_READY);
	}
	return RV_DONE_FAILED;
}
