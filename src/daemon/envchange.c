/* A change of the sandbox's variables: see envchange.h. */
#include "daemon/envchange.h"

#include <stdlib.h>

#include "daemon/envforce.h"
#include "daemon/envset.h"
#include "daemon/envstep.h"
#include "daemon/pump.h"
#include "base/text.h"
#include "daemon/say.h"
#include "sys/clock.h"

#define BACK_LIMIT (10 * RV_SEC) /* to tell what was before, whatever bound the asker has */

/* ---- what is said ---- */

void rv_env_name(struct rv_buf *to, const struct rv_engine *g, rv_id id)
{
	rv_buf_fmt(to, "%s%s", to->len ? ", " : "", rv_pump_name(g, id));
}

void rv_env_blame(struct rv_engine *g, rv_id id, const char *why)
{
	struct rv_envchange *c = g->change;
	struct rv_buf *to = rv_env_goes_back(c) ? &c->undone : &c->why;

	rv_buf_fmt(to, "%s%s: %s", to->len ? "; " : "", rv_pump_name(g, id), why);
}

void rv_env_hide(const struct rv_engine *g, const char *text, struct rv_buf *to)
{
	const struct rv_envset *other = g->change ? g->change->other : NULL;
	struct rv_buf half = {0};

	if (g->world.set->mask)
		rv_mask_add(g->world.set->mask, text, other ? &half : to);
	if (other && other->mask)
		rv_mask_add(other->mask, rv_buf_text(&half), to);
	rv_buf_fini(&half);
}

/* ---- the steps ---- */

static void destroy(struct rv_envchange *c)
{
	if (!c)
		return;
	rv_envset_destroy(c->other);
	rv_buf_fini(&c->why);
	rv_buf_fini(&c->undone);
	rv_buf_fini(&c->told);
	rv_buf_fini(&c->renewed);
	rv_buf_fini(&c->wanted);
	free(c->renewing);
	free(c->ran);
	free(c->refusals);
	free(c);
}

/* Names, and what became of it; never a value. Cut when it is long, so what there is most of comes last. */
static void remember(
	struct rv_engine *g, const struct rv_envchange *c, const struct rv_envdone *how)
{
	struct rv_happening *n = rv_history_add(&g->history);
	struct rv_buf detail = {0};

	if (!n)
		return;
	if (how->done) {
		if (*how->told)
			rv_buf_fmt(&detail, "told: %s; ", how->told);
		if (*how->renewed)
			rv_buf_fmt(&detail, "restarted: %s; ", how->renewed);
		rv_buf_str(&detail, c->replace ? "all there is: " : "set: ");
	}
	rv_buf_fmt(&detail, "%s%s%s", c->wanted.len ? rv_buf_text(&c->wanted) : "none",
		how->done ? "" : ": ", how->why);
	*n = (struct rv_happening){.at = rv_now(),
		.id = RV_NO_ID,
		.other = RV_NO_ID,
		.exit = RV_EXIT_UNKNOWN,
		.boot = (uint8_t)rv_core_boot(g->core),
		.word = how->done ? RV_HAPPENED_ENVIRONMENT : RV_HAPPENED_ENVIRONMENT_FAILED};
	rv_text_cut(rv_buf_text(&detail), n->detail, sizeof(n->detail));
	rv_buf_fini(&detail);
	rv_pump_notify(g, RV_NO_ID);
}

void rv_env_finish(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;
	bool done = !rv_env_goes_back(c);
	struct rv_buf kept = {0};
	struct rv_envdone how = {.done = done, .late = c->late, .set = g->world.set};

	ev_timer_stop(g->world.loop, &c->timer);
	if (!done)
		rv_env_blame_unwilling(g);
	rv_env_forget_refusals(g);
	if (!done && c->undone.len)
		rv_buf_fmt(&c->why, "; could not be undone: %s", rv_buf_text(&c->undone));
	else if (!done && !rv_core_closing(g->core))
		rv_buf_str(&c->why, "; all have the former variables again");
	how.why = rv_buf_text(&c->why);
	how.told = rv_buf_text(&c->told);
	how.renewed = rv_buf_text(&c->renewed);
	if (done)
		rv_env_kept(g, &kept);
	how.kept = rv_buf_text(&kept);
	g->change = NULL; /* the next one may begin from inside */
	if (!done)
		rv_say(RV_ERROR, NULL, "the environment was not changed: %s", how.why);
	remember(g, c, &how);
	if (c->done)
		c->done(c->arg, &how);
	rv_buf_fini(&kept);
	destroy(c);
}

void rv_env_timer(struct rv_engine *g, rv_time within)
{
	ev_timer *t = &g->change->timer;

	ev_timer_stop(g->world.loop, t);
	ev_now_update(g->world.loop);
	ev_timer_set(t, (double)within / 1e9, 0.);
	ev_timer_start(g->world.loop, t);
}

/* A hook that was told of the new ones is told the old ones, also the one that refused: nobody knows what it has done. */
void rv_env_go_back(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;

	c->late |= rv_now() >= c->until;
	c->step = TELL_BACK;
	c->failed = false;
	rv_env_forget_refusals(g);
	if (c->other)
		rv_envset_recall(c->other, g->world.set);
	if (!c->other || !rv_env_exchange(g, &c->other)) {
		rv_buf_str(&c->undone, "out of memory");
		rv_env_finish(g);
		return;
	}
	rv_env_tell(g, BACK_LIMIT);
	rv_env_timer(g, BACK_LIMIT + RV_SEC);
}

void rv_env_turn(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;

	if (rv_core_closing(g->core) && !rv_env_goes_back(c)) {
		rv_buf_str(&c->why, "reeve is shutting down");
		c->step = RENEW_BACK;
		rv_env_finish(g);
	} else if (c->step == TELL || c->step == TELL_BACK) {
		rv_env_judge_telling(g);
	} else {
		rv_env_judge_renewing(g);
	}
}

static void name_the_late(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;

	if (c->step == TELL || c->step == TELL_BACK) {
		rv_env_blame_untold(g);
	} else {
		for (size_t i = 0; i < c->count; i++)
			if (!c->renewing[i].decided)
				rv_env_blame(g, c->renewing[i].id,
					"it was restarted, and is not ready in time");
	}
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct rv_engine *g = w->data;

	(void)loop;
	(void)events;
	name_the_late(g);
	switch (g->change->step) {
	case TELL:
	case RENEW: rv_env_go_back(g); break;
	/* one that does not answer keeps nobody from what he was started with before */
	case TELL_BACK: rv_env_renew_back(g); break;
	case RENEW_BACK: rv_env_finish(g); break;
	}
}

/* ---- requests ---- */

static struct rv_envchange *create(struct rv_engine *g)
{
	struct rv_envchange *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->began = rv_now();
	ev_init(&c->timer, on_timer);
	c->timer.data = g;
	c->renewing = calloc(g->slots + 1, sizeof(*c->renewing));
	c->ran = calloc(g->slots + 1, sizeof(*c->ran));
	c->refusals = calloc(g->slots + 1, sizeof(*c->refusals));
	if (!c->renewing || !c->ran || !c->refusals) {
		destroy(c);
		return NULL;
	}
	for (rv_id id = 0; id < g->slots; id++) {
		struct rv_look look = rv_core_look(g->core, id);

		c->ran[id] = rv_env_is_alive(look.state) ? look.generation : 0;
	}
	return c;
}

bool rv_env_change(struct rv_engine *g, struct rv_variables *variables, bool replace,
	rv_time within, rv_env_done *done, void *arg, struct rv_err *e)
{
	struct rv_envchange *c = create(g);
	struct rv_envset *next;

	if (c)
		rv_variables_name(variables, &c->wanted);
	next = rv_env_next(g, variables, replace, e);
	if (!next) {
		destroy(c);
		return false;
	}
	if (!c || !rv_env_exchange(g, &next)) {
		destroy(c);
		rv_envset_destroy(next);
		return rv_fail(e, RV_ERR_SYSTEM, "out of memory");
	}
	g->change = c;
	c->replace = replace;
	c->other = next; /* that of before, now */
	c->done = done;
	c->arg = arg;
	c->until = rv_now() + within;
	rv_env_tell(g, within);
	/* hooks have the same bound, and a reason of their own */
	rv_env_timer(g, within + 50 * RV_MS);
	return true;
}

bool rv_env_changes(const struct rv_engine *g)
{
	return g->change;
}

void rv_env_disown(struct rv_engine *g)
{
	if (g->change)
		g->change->done = NULL;
}

void rv_env_end(struct rv_engine *g)
{
	if (g->change) {
		rv_env_disown(g);
		g->change->step = RENEW_BACK;
		rv_env_finish(g);
	}
	rv_envset_destroy(g->world.set);
	g->world.set = NULL;
}
