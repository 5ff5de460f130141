/* A change of the sandbox's variables: see envchange.h. */
#include "daemon/envchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "daemon/ctljudge.h"
#include "daemon/envforce.h"
#include "daemon/envset.h"
#include "daemon/pump.h"
#include "daemon/say.h"
#include "sys/clock.h"

#define BACK_LIMIT (10 * RV_SEC) /* to tell what was before, whatever bound the asker has */
#define RENEW_MORE (30 * RV_SEC) /* and to restart what had been restarted */

enum step { TELL, RENEW, TELL_BACK, RENEW_BACK };

struct rv_envchange {
	enum step step;
	struct rv_envset
		*other; /* TELL, RENEW: that of before; later: the one that was not taken */
	bool failed, late;
	bool heard; /* TELL_BACK: the core has begun with it */
	rv_id spoke; /* whose reason is the last in `why` */
	struct rv_buf why, undone; /* reasons: "envd: ..."; those of the way back */
	struct rv_buf told, renewed;
	rv_time began;
	struct rv_entry *
		renewing; /* of the present step: first those who are restarted, then those who go with them */
	size_t count, own; /* own: of the first kind */
	uint64_t *ran; /* by id: the life that ran when it began; 0: none */
	rv_time until; /* TELL, RENEW: the asker's time */
	ev_timer timer;
	rv_env_done *done; /* NULL: nobody waits any more */
	void *arg;
};

static bool goes_back(const struct rv_envchange *c)
{
	return c->step >= TELL_BACK;
}

/* ---- what is said ---- */

static void name(struct rv_buf *to, const struct rv_engine *g, rv_id id)
{
	rv_buf_fmt(to, "%s%s", to->len ? ", " : "", rv_pump_name(g, id));
}

static void blame(struct rv_engine *g, rv_id id, const char *why)
{
	struct rv_envchange *c = g->change;
	struct rv_buf *to = goes_back(c) ? &c->undone : &c->why;

	c->spoke = id;
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

void rv_env_refused(struct rv_engine *g, rv_id id, const char *why)
{
	if (g->change)
		blame(g, id, why);
}

void rv_env_told(struct rv_engine *g, const struct rv_action *a)
{
	struct rv_envchange *c = g->change;

	if (!c)
		return;
	if (a->verdict == RV_OK) {
		if (!goes_back(c))
			name(&c->told, g, a->id);
		return;
	}
	c->failed = true;
	if (c->spoke != a->id)
		blame(g, a->id, "it ended, or its plugin was disabled, before it had taken them");
	c->spoke = RV_NO_ID;
}

/* ---- the steps ---- */

static void push_inform(struct rv_engine *g, rv_time within)
{
	rv_engine_push(g,
		&(struct rv_event){.kind = RV_EV_INFORM,
			.verdict = rv_envset_list(g->world.set) ? RV_OK : RV_FAIL,
			.id = RV_NO_ID,
			.exit = RV_EXIT_UNKNOWN,
			.time = within});
}

static bool is_alive(enum rv_state s)
{
	return s == RV_STARTING || s == RV_READY || s == RV_UNHEALTHY;
}

/* It runs, nobody tells it, and its own environment is another one now. */
static bool is_behind(const struct rv_engine *g, rv_id id, const struct rv_envset *before)
{
	const struct rv_service *s = g->hands[id].service;

	return s && !rv_env_is_told(s) && is_alive(rv_core_look(g->core, id).state) &&
		rv_envset_differs(s, before, g->world.set);
}

/* Those who were not started since: they, and all that they start, have what was before. */
static void name_the_kept(struct rv_engine *g, struct rv_buf *to)
{
	const struct rv_envchange *c = g->change;

	for (rv_id id = 0; id < g->slots; id++)
		if (g->hands[id].facts.started < c->began && is_behind(g, id, c->other))
			name(to, g, id);
}

static void destroy(struct rv_envchange *c)
{
	if (!c)
		return;
	rv_envset_destroy(c->other);
	rv_buf_fini(&c->why);
	rv_buf_fini(&c->undone);
	rv_buf_fini(&c->told);
	rv_buf_fini(&c->renewed);
	free(c->renewing);
	free(c->ran);
	free(c);
}

static void finish(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;
	bool done = !goes_back(c);
	struct rv_buf kept = {0};
	struct rv_envdone how = {.done = done, .late = c->late, .set = g->world.set};

	ev_timer_stop(g->world.loop, &c->timer);
	if (!done && c->undone.len)
		rv_buf_fmt(&c->why, "; could not be undone: %s", rv_buf_text(&c->undone));
	else if (!done && !rv_core_closing(g->core))
		rv_buf_str(&c->why, "; all have the former variables again");
	how.why = rv_buf_text(&c->why);
	how.told = rv_buf_text(&c->told);
	how.renewed = rv_buf_text(&c->renewed);
	if (done)
		name_the_kept(g, &kept);
	how.kept = rv_buf_text(&kept);
	g->change = NULL; /* the next one may begin from inside */
	if (!done)
		rv_say(RV_ERROR, NULL, "the environment was not changed: %s", how.why);
	if (c->done)
		c->done(c->arg, &how);
	rv_buf_fini(&kept);
	destroy(c);
}

static void set_timer(struct rv_engine *g, rv_time within)
{
	ev_timer *t = &g->change->timer;

	ev_timer_stop(g->world.loop, t);
	ev_now_update(g->world.loop);
	ev_timer_set(t, (double)within / 1e9, 0.);
	ev_timer_start(g->world.loop, t);
}

/* A hook that was told of the new ones is told the old ones, also the one that refused: nobody knows what it has done. */
static void go_back(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;

	c->late |= rv_now() >= c->until;
	c->step = TELL_BACK;
	c->failed = false;
	c->spoke = RV_NO_ID;
	if (c->other)
		rv_envset_drop(c->other, g->world.set);
	if (!c->other || !rv_env_exchange(g, &c->other)) {
		rv_buf_str(&c->undone, "out of memory");
		finish(g);
		return;
	}
	push_inform(g, BACK_LIMIT);
	set_timer(g, BACK_LIMIT + RV_SEC);
}

/* What has failed with the new ones ran before: it is started again. */
static void renew(struct rv_engine *g, rv_id id)
{
	struct rv_envchange *c = g->change;
	struct rv_look look = rv_core_look(g->core, id);
	bool down = look.state == RV_FAILED || look.state == RV_BACKOFF;

	if (!down && !is_alive(look.state))
		return;
	c->renewing[c->count++] = (struct rv_entry){.id = id, .before = look.generation};
	rv_pump_push(g, down ? RV_EV_START : RV_EV_RENEW, id, 0);
}

static void begin_renewing(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;

	c->step = RENEW;
	for (rv_id id = 0; id < g->slots; id++) {
		if (!is_behind(g, id, c->other) || !g->hands[id].service->renews)
			continue;
		name(&c->renewed, g, id);
		renew(g, id);
	}
	c->own = c->count;
	if (!c->count)
		finish(g);
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
		if ((look.generation == c->ran[id] && is_alive(look.state)) ||
			!(look.flags & RV_LOOK_NEEDED) || (look.flags & RV_LOOK_HELD))
			continue;
		while (i < c->count && c->renewing[i].id != id)
			i++;
		if (i < c->count)
			continue;
		c->renewing[c->count++] = (struct rv_entry){.id = id, .before = c->ran[id]};
		if (c->step == RENEW)
			name(&c->renewed, g, id);
	}
	return c->count > before;
}

static void renew_back(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;
	size_t n = c->count;

	c->step = RENEW_BACK;
	c->count = 0;
	for (size_t i = 0; i < n; i++)
		if (i < c->own || !is_alive(rv_core_look(g->core, c->renewing[i].id).state))
			renew(g, c->renewing[i].id);
	if (c->count)
		set_timer(g, RENEW_MORE);
	else
		finish(g);
}

static bool is_untold(const struct rv_engine *g, rv_id id)
{
	return g->hands[id].service && (rv_core_look(g->core, id).flags & RV_LOOK_UNTOLD);
}

static void judge_telling(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;

	if (c->step == TELL_BACK && !c->heard) {
		c->heard = true;
		rv_buf_clear(
			&c->undone); /* what was answered until now is about what was told before */
	}
	/* one that refuses decides; on the way back all are waited for */
	if (c->failed && c->step == TELL) {
		go_back(g);
		return;
	}
	for (rv_id id = 0; id < g->slots; id++)
		if (is_untold(g, id))
			return;
	if (c->step == TELL)
		begin_renewing(g);
	else
		renew_back(g);
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
		blame(g, e->id, rv_engine_look(g, e->id).detail);
		if (c->step == RENEW) {
			go_back(g);
			return false;
		}
	}
	return true;
}

static void judge_renewing(struct rv_engine *g)
{
	bool all;

	do {
		if (!judge_each(g, &all) || !all)
			return;
	} while (find_dependents(g));
	finish(g);
}

void rv_env_turn(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;

	if (rv_core_closing(g->core) && !goes_back(c)) {
		rv_buf_str(&c->why, "reeve is shutting down");
		c->step = RENEW_BACK;
		finish(g);
	} else if (c->step == TELL || c->step == TELL_BACK) {
		judge_telling(g);
	} else {
		judge_renewing(g);
	}
}

static void name_the_late(struct rv_engine *g)
{
	struct rv_envchange *c = g->change;

	if (c->step == TELL || c->step == TELL_BACK) {
		for (rv_id id = 0; id < g->slots; id++)
			if (is_untold(g, id))
				blame(g, id, "it has not answered in time");
	} else {
		for (size_t i = 0; i < c->count; i++)
			if (!c->renewing[i].decided)
				blame(g, c->renewing[i].id,
					"it was restarted, and is not ready in time");
	}
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct rv_engine *g = w->data;

	(void)loop;
	(void)events;
	name_the_late(g);
	if (goes_back(g->change)) {
		finish(g);
		return;
	}
	go_back(g);
}

/* ---- requests ---- */

static struct rv_envchange *create(struct rv_engine *g)
{
	struct rv_envchange *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->spoke = RV_NO_ID;
	c->began = rv_now();
	ev_init(&c->timer, on_timer);
	c->timer.data = g;
	c->renewing = calloc(g->slots + 1, sizeof(*c->renewing));
	c->ran = calloc(g->slots + 1, sizeof(*c->ran));
	if (!c->renewing || !c->ran) {
		destroy(c);
		return NULL;
	}
	for (rv_id id = 0; id < g->slots; id++) {
		struct rv_look look = rv_core_look(g->core, id);

		c->ran[id] = is_alive(look.state) ? look.generation : 0;
	}
	return c;
}

bool rv_env_change(struct rv_engine *g, struct rv_variables *variables, bool replace,
	rv_time within, rv_env_done *done, void *arg, struct rv_err *e)
{
	struct rv_envset *next = rv_env_next(g, variables, replace, e);

	if (!next)
		return false;
	g->change = create(g);
	if (!g->change || !rv_env_exchange(g, &next)) {
		destroy(g->change);
		g->change = NULL;
		rv_envset_destroy(next);
		return rv_fail(e, RV_ERR_SYSTEM, "out of memory");
	}
	g->change->other = next; /* that of before, now */
	g->change->done = done;
	g->change->arg = arg;
	g->change->until = rv_now() + within;
	push_inform(g, within);
	/* hooks have the same bound, and a reason of their own */
	set_timer(g, within + 50 * RV_MS);
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
		finish(g);
	}
	rv_envset_destroy(g->world.set);
	g->world.set = NULL;
}
