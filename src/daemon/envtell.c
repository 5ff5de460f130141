/* Who is told when the sandbox's variables change, and what was before when it is gone back: see envchange.h. */
#include <string.h>

#include "daemon/envset.h"
#include "daemon/envstep.h"
#include "daemon/pump.h"

void rv_env_tell(struct rv_engine *g, rv_time within)
{
	rv_engine_push(g,
		&(struct rv_event){.kind = RV_EV_INFORM,
			.verdict = rv_envset_list(g->world.set) ? RV_OK : RV_FAIL,
			.id = RV_NO_ID,
			.exit = RV_EXIT_UNKNOWN,
			.time = within});
}

void rv_env_refused(struct rv_engine *g, rv_id id, const char *why)
{
	if (g->change)
		rv_env_blame(g, id, why);
}

void rv_env_told(struct rv_engine *g, const struct rv_action *a)
{
	struct rv_envchange *c = g->change;

	if (!c)
		return;
	if (a->verdict == RV_OK) {
		if (!rv_env_goes_back(c))
			rv_env_name(&c->told, g, a->id);
		return;
	}
	c->failed = true;
	if (!c->spoke[a->id])
		rv_env_blame(
			g, a->id, "it ended, or its plugin was disabled, before it had taken them");
	c->spoke[a->id] = false;
}

static bool is_untold(const struct rv_engine *g, rv_id id)
{
	return g->hands[id].service && (rv_core_look(g->core, id).flags & RV_LOOK_UNTOLD);
}

void rv_env_judge_telling(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;

	if (c->step == TELL_BACK && !c->heard) {
		c->heard = true;
		/* what was answered until now is about what was told before */
		rv_buf_clear(&c->undone);
		memset(c->spoke, 0, g->slots);
	}
	/* one that refuses decides; on the way back all are waited for */
	if (c->failed && c->step == TELL) {
		rv_env_go_back(g);
		return;
	}
	for (rv_id id = 0; id < g->slots; id++)
		if (is_untold(g, id))
			return;
	if (c->step == TELL)
		rv_env_renew(g);
	else
		rv_env_renew_back(g);
}

void rv_env_blame_untold(struct rv_engine *g)
{
	for (rv_id id = 0; id < g->slots; id++)
		if (is_untold(g, id))
			rv_env_blame(g, id, "it has not answered in time");
}
