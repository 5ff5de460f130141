/* Who is restarted when the sandbox's variables change: see envchange.h. */
#include "daemon/envforce.h"
#include "daemon/envset.h"
#include "daemon/envstep.h"
#include "daemon/pump.h"

#define RENEW_MORE (30 * RV_SEC) /* to restart again what had been restarted */

bool rv_env_is_alive(enum rv_state s)
{
	return s == RV_STARTING || s == RV_READY || s == RV_UNHEALTHY;
}

/* It runs, nobody tells it, and its own environment is another one now. */
static bool is_behind(const struct rv_engine *g, rv_id id, const struct rv_envset *before)
{
	const struct rv_service *s = g->hands[id].service;

	return s && !rv_env_is_told(s) && rv_env_is_alive(rv_core_look(g->core, id).state) &&
		rv_envset_differs(s, before, g->world.set);
}

void rv_env_kept(struct rv_engine *g, struct rv_buf *to)
{
	const struct rv_envchange *c = g->change;

	for (rv_id id = 0; id < g->slots; id++)
		if (g->hands[id].facts.started < c->began && is_behind(g, id, c->other))
			rv_env_name(to, g, id);
}

/* What has failed with the new ones ran before: it is started again. */
static void renew(struct rv_engine *g, rv_id id)
{
	struct rv_envchange *c = g->change;
	struct rv_look look = rv_core_look(g->core, id);
	bool down = look.state == RV_FAILED || look.state == RV_BACKOFF;

	if (!down && !rv_env_is_alive(look.state))
		return;
	c->renewing[c->count++] = (struct rv_entry){.id = id, .before = look.generation};
	rv_pump_push(g, down ? RV_EV_START : RV_EV_RENEW, id, 0);
}

void rv_env_renew(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;

	c->step = RENEW;
	for (rv_id id = 0; id < g->slots; id++) {
		if (!is_behind(g, id, c->other) || !g->hands[id].service->renews)
			continue;
		rv_env_name(&c->renewed, g, id);
		renew(g, id);
	}
	c->own = c->count;
	if (!c->count)
		rv_env_finish(g);
}

/* Who stands on one that was restarted was restarted, too, and has to be there again. False: nobody but those who are
   waited for already. */
static bool find_dependents(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;
	size_t before = c->count;

	for (rv_id id = 0; id < g->slots; id++) {
		struct rv_look look;
		size_t i = 0;

		if (!g->hands[id].service || !c->ran[id])
			continue;
		look = rv_core_look(g->core, id);
		if ((look.generation == c->ran[id] && rv_env_is_alive(look.state)) ||
			!(look.flags & RV_LOOK_NEEDED) || (look.flags & RV_LOOK_HELD))
			continue;
		while (i < c->count && c->renewing[i].id != id)
			i++;
		if (i < c->count)
			continue;
		c->renewing[c->count++] = (struct rv_entry){.id = id, .before = c->ran[id]};
		if (c->step == RENEW)
			rv_env_name(&c->renewed, g, id);
	}
	return c->count > before;
}

void rv_env_renew_back(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;
	size_t n = c->count;

	c->step = RENEW_BACK;
	c->count = 0;
	for (size_t i = 0; i < n; i++)
		if (i < c->own || !rv_env_is_alive(rv_core_look(g->core, c->renewing[i].id).state))
			renew(g, c->renewing[i].id);
	if (c->count)
		rv_env_timer(g, RENEW_MORE);
	else
		rv_env_finish(g);
}

/* False: one of them failed, and it is gone back. */
static bool judge_each(struct rv_engine *g, bool *all)
{
	struct rv_envchange *c = g->change;

	*all = true;
	for (size_t i = 0; i < c->count; i++) {
		struct rv_entry *e = &c->renewing[i];

		if (e->decided)
			continue;
		e->outcome = rv_ctl_judge(g, RV_AIM_RESTART, e);
		e->decided = e->outcome != RV_DONE_YET;
		*all = *all && e->decided;
		if (!e->decided || e->outcome == RV_DONE_OK)
			continue;
		rv_env_blame(g, e->id, rv_engine_look(g, e->id).detail);
		if (c->step == RENEW) {
			rv_env_go_back(g);
			return false;
		}
	}
	return true;
}

void rv_env_judge_renewing(struct rv_engine *g)
{
	bool all;

	do {
		if (!judge_each(g, &all) || !all)
			return;
	} while (find_dependents(g));
	rv_env_finish(g);
}
