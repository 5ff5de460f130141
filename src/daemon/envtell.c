/* Who is told when the sandbox's variables change, and what was before when it is gone back: see envchange.h. */
#include <stdlib.h>

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
			.generation = ++g->informs,
			.time = within});
}

void rv_env_forget_refusals(struct rv_engine *g)
{
	struct rv_refusal *all = g->change->refusals;

	for (rv_id id = 0; all && id < g->slots; id++) {
		free(all[id].why);
		all[id] = (struct rv_refusal){0};
	}
}

/* Until the core has seen that it is gone back, answers are about what was told before. */
void rv_env_refused(struct rv_engine *g, rv_id id, const char *why)
{
	struct rv_envchange *c = g->change;

	if (c && (!rv_env_goes_back(c) || c->heard))
		rv_hands_note(&c->refusals[id].why, "%s", why);
}

static const char *why_untaken(const struct rv_engine *g, rv_id id)
{
	if (g->change->refusals[id].why)
		return g->change->refusals[id].why;
	return rv_core_look(g->core, id).flags & RV_LOOK_DISABLED
		? "its plugin was disabled before it had taken them"
		: "it ended before it had taken them";
}

void rv_env_told(struct rv_engine *g, const struct rv_action *a)
{
	struct rv_envchange *c = g->change;

	if (!c || a->inform != g->informs)
		return; /* of an earlier one, also of what is being taken back */
	if (rv_env_goes_back(c)) {
		c->refusals[a->id].life = a->verdict == RV_OK ? 0 : a->generation;
		return;
	}
	if (a->verdict == RV_OK) {
		rv_env_name(&c->told, g, a->id);
		return;
	}
	c->failed = true;
	rv_env_blame(g, a->id, why_untaken(g, a->id));
}

/* The next life is given what is in force then, whatever this one has not taken. */
static bool has_to_end(const struct rv_engine *g, rv_id id, uint64_t life)
{
	struct rv_look look = rv_core_look(g->core, id);

	return look.generation != life || !rv_env_is_alive(look.state) ||
		rv_core_await(g->core, id).what == RV_AWAIT_DEPENDENTS;
}

void rv_env_blame_unwilling(struct rv_engine *g)
{
	const struct rv_refusal *all = g->change->refusals;

	for (rv_id id = 0; id < g->slots; id++)
		if (all[id].life && g->hands[id].service && !has_to_end(g, id, all[id].life))
			rv_env_blame(g, id, why_untaken(g, id));
}

static bool is_untold(const struct rv_engine *g, rv_id id)
{
	return g->hands[id].service && (rv_core_look(g->core, id).flags & RV_LOOK_UNTOLD);
}

void rv_env_judge_telling(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;

	c->heard |= c->step == TELL_BACK;
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
