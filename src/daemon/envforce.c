/* Which variables of the sandbox are in force: see envforce.h. */
#include "daemon/envforce.h"

#include <stdlib.h>

#include "daemon/envchange.h"
#include "daemon/envset.h"
#include "daemon/pump.h"
#include "sys/fd.h"

bool rv_env_is_told(const struct rv_service *s)
{
	return s->table && (s->table->hooks & ~s->unused & RV_HAS(RV_HOOK_UPDATE)) &&
		s->type != RV_TASK;
}

static void put_in_force(struct rv_engine *g)
{
	g->world.set_number++;
	rv_hostlink_variables(g->world.host, rv_envset_list(g->world.set),
		g->world.set ? g->world.set->dropped : NULL);
	g->conf->variables = rv_envset_list(g->world.set);
}

/* What rv_hands_renew replaces. */
struct before {
	const char *const *env, *const *own_env;
	size_t env_recipe, own_recipe;
	bool recipe_is_old;
};

static void remember(const struct rv_engine *g, struct before *all)
{
	for (rv_id id = 0; id < g->slots; id++) {
		const struct rv_hands *h = &g->hands[id];

		all[id] = (struct before){
			h->context.env, h->own_env, h->env_recipe, h->own_recipe, h->recipe_is_old};
	}
}

/* Without memory, of which there is none. */
static void restore(struct rv_engine *g, const struct before *all)
{
	for (rv_id id = 0; id < g->slots; id++) {
		struct rv_hands *h = &g->hands[id];

		h->context.env = all[id].env;
		h->own_env = all[id].own_env;
		h->env_recipe = all[id].env_recipe;
		h->own_recipe = all[id].own_recipe;
		h->recipe_is_old = all[id].recipe_is_old;
	}
}

bool rv_env_exchange(struct rv_engine *g, struct rv_envset **set)
{
	rv_auto_free struct before *all = calloc(g->slots + 1, sizeof(*all));
	struct rv_envset *was = g->world.set;
	bool fine = true;

	if (!all)
		return false;
	remember(g, all);
	g->world.set = *set;
	for (rv_id id = 0; fine && id < g->slots; id++)
		fine = !g->hands[id].service || rv_hands_renew(&g->hands[id], &g->world);
	if (!fine) {
		g->world.set = was;
		restore(g, all);
		return false;
	}
	*set = was;
	put_in_force(g);
	return true;
}

void rv_env_begin(struct rv_engine *g)
{
	if (!rv_envset_list(g->world.set))
		return;
	put_in_force(g);
	rv_pump_verdict(g, RV_EV_INFORM, RV_NO_ID, 0, RV_HOOK_UPDATE, RV_OK);
}

/* ---- those that are to come ---- */

/* Somebody who was there before us is not ours to be told or restarted. */
static bool has_stranger(const struct rv_engine *g, const struct rv_envset *next, struct rv_err *e)
{
	for (rv_id id = 0; id < g->slots; id++) {
		const struct rv_service *s = g->hands[id].service;

		if (!s || rv_core_look(g->core, id).state != RV_ADOPTED ||
			(!rv_env_is_told(s) &&
				!(s->renews && rv_envset_differs(s, g->world.set, next))))
			continue;
		rv_fail(e, RV_ERR_REFUSED,
			"%s was adopted, and reeve tells its environment only to what it has "
			"started",
			s->name);
		return true;
	}
	return false;
}

static struct rv_envset *make_next(
	struct rv_engine *g, struct rv_variables *variables, bool replace, struct rv_err *e)
{
	struct rv_buf why = {0};
	struct rv_envset *next = rv_envset_change(g->world.set, variables, replace, &why);

	if (!next || !rv_envset_drop(next, g->world.set)) {
		rv_fail(e, why.len ? RV_ERR_USAGE : RV_ERR_SYSTEM, "%s",
			why.len ? rv_buf_text(&why) : "out of memory");
		rv_envset_destroy(next);
		next = NULL;
	}
	rv_buf_fini(&why);
	return next;
}

/* What is before the first change is a set, too: an empty one, to which it is gone back. */
static bool have_set(struct rv_engine *g)
{
	struct rv_variables none = {0};

	if (!g->world.set)
		g->world.set = rv_envset_create(&none);
	return g->world.set;
}

static bool may_change(const struct rv_engine *g, const struct rv_envset *next, struct rv_err *e)
{
	if (rv_core_closing(g->core))
		return rv_fail(e, RV_ERR_REFUSED, "reeve is shutting down");
	if (g->reload)
		return rv_fail(e, RV_ERR_REFUSED, "a reload is under way; try again");
	if (next->variables.count && !rv_envset_is_taken(g->conf, false, e))
		return false;
	return !has_stranger(g, next, e);
}

struct rv_envset *rv_env_next(
	struct rv_engine *g, struct rv_variables *variables, bool replace, struct rv_err *e)
{
	struct rv_envset *next = make_next(g, variables, replace, e);

	if (!next || !may_change(g, next, e)) {
		rv_envset_destroy(next);
		return NULL;
	}
	if (have_set(g))
		return next;
	rv_envset_destroy(next);
	rv_fail(e, RV_ERR_SYSTEM, "out of memory");
	return NULL;
}
