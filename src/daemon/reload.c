/* Reload, the request and phase one: see reload.h. What becomes of one service's hands is in replace.c. */
#include "daemon/reloadin.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/say.h"
#include "sys/fd.h"

void rv_reload_destroy(struct rv_reload *r)
{
	if (!r)
		return;
	for (size_t id = 0; r->hands && id < r->slots; id++)
		rv_hands_close(&r->hands[id]);
	rv_arena_fini(&r->world.arena);
	free(r->swept);
	free(r->ran);
	free(r->change);
	free(r->starts);
	free(r->out.v);
	free(r->core);
	free(r->hands);
	rv_conf_destroy(r->conf);
	free(r);
}

static struct rv_replacing told(const struct rv_engine *g, const struct rv_reload *r)
{
	return (struct rv_replacing){.number = r->number,
		.before = g->conf,
		.now = r->conf,
		.change = r->change,
		.swept = r->swept,
		.slots = r->slots};
}

void rv_reload_tell(struct rv_engine *g, const struct rv_reload *r, bool given_up)
{
	struct rv_replacing what = told(g, r);
	struct rv_watcher *w = g->watchers, *next;

	what.given_up = given_up;
	for (; w; w = next) {
		next = w->next;
		if (w->replacing)
			w->replacing(w, &what);
	}
}

void rv_reload_drop(struct rv_engine *g)
{
	struct rv_reload *r = g->reload;

	if (!r)
		return;
	g->reload = NULL;
	rv_reload_tell(g, r, true);
	rv_reload_destroy(r);
}

/* ---- before anything is given up ---- */

static bool is_at(const struct rv_service *s, const struct rv_listen *l)
{
	for (size_t i = 0; l->family != RV_UNIX && i < s->port_count; i++)
		if (s->ports[i] == l->port)
			return true;
	for (size_t i = 0; i < s->listen_count; i++) {
		const struct rv_listen *have = &s->listen[i];

		if (l->family == RV_UNIX
				? have->family == RV_UNIX && !strcmp(have->address, l->address)
				: have->family != RV_UNIX && have->port == l->port)
			return true;
	}
	return false;
}

/* Who has to go first has the address still. */
static bool is_still_taken(
	const struct rv_engine *g, const struct rv_reload *r, const struct rv_listen *l)
{
	for (rv_id id = 0; id < g->slots; id++)
		if (rv_reload_is_leaving(r, id) && g->hands[id].service &&
			is_at(g->hands[id].service, l))
			return true;
	return false;
}

static bool allocate(const struct rv_engine *g, struct rv_reload *r)
{
	const struct rv_plan *plan = r->conf->plan;

	r->slots = r->conf->service_count;
	assert(r->slots >= g->slots);
	r->hands = calloc(r->slots + 1, sizeof(*r->hands));
	r->core = calloc(1, rv_core_size(plan));
	r->out.room = rv_core_actions_max(plan);
	r->out.v = calloc(r->out.room, sizeof(*r->out.v));
	r->start_room = 2 * r->slots + 1;
	r->starts = calloc(r->start_room, sizeof(*r->starts));
	r->change = calloc(r->slots + 1, sizeof(*r->change));
	r->ran = calloc(r->slots + 1, sizeof(*r->ran));
	r->swept = calloc(r->slots + 1, sizeof(*r->swept));
	return r->hands && r->core && r->out.v && r->starts && r->change && r->ran && r->swept &&
		rv_reaper_grow(g->world.reaper, r->slots);
}

/* Who stands on what runs and has to leave: down the edges of the plan in force, dependencies first. */
static void foresee_swept(const struct rv_engine *g, struct rv_reload *r)
{
	const struct rv_plan *p = g->plan;

	for (size_t i = 0; i < p->present; i++) {
		rv_id id = p->order[i];
		const struct rv_node *n = &p->node[id];

		for (uint32_t k = n->first_edge; k < n->first_edge + n->edge_count; k++) {
			const struct rv_edge *e = &p->edges[k];

			if (e->kind == RV_NEEDS && n->on_loss != RV_LOSS_KEEP && r->ran[id] &&
				!rv_reload_is_leaving(r, id) && r->ran[e->on] &&
				(rv_reload_is_leaving(r, e->on) || r->swept[e->on]))
				r->swept[id] = true;
		}
	}
}

static bool prepare_one(struct rv_engine *g, struct rv_reload *r, rv_id id, struct rv_err *e)
{
	const struct rv_service *s = &r->conf->services[id];
	const struct rv_hands *was = NULL;
	rv_auto_free bool *later = calloc(s->listen_count + 1, sizeof(*later));
	bool goes_on = r->change[id] == RV_SAME || r->change[id] == RV_TUNED;

	if (!later)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot prepare %s: out of memory", s->name);
	if (r->change[id] != RV_ADDED)
		was = &g->hands[id];
	for (size_t i = 0; i < s->listen_count; i++)
		later[i] = goes_on || is_still_taken(g, r, &s->listen[i]);
	return rv_hands_prepare(&r->hands[id], &r->world, s, was, later, e);
}

/* False: what is wrong is in `c`. */
static bool prepare(struct rv_engine *g, struct rv_reload *r, struct rv_complaints *c)
{
	bool fine = true;

	r->world = (struct rv_world){.loop = g->world.loop, .conf = r->conf, .set = g->world.set};
	for (rv_id id = 0; id < r->slots; id++) {
		struct rv_err e;

		if (!r->conf->services[id].name || prepare_one(g, r, id, &e))
			continue;
		rv_complain(c, (struct rv_place){.file = ""}, "%s", e.text);
		fine = false;
	}
	return fine;
}

static struct rv_reload *create(
	struct rv_engine *g, const struct rv_load *files, struct rv_complaints *c)
{
	struct rv_reload *r = calloc(1, sizeof(*r));

	if (r)
		r->conf = rv_load_conf(files, g->world.host, g->conf, c);
	rv_hostlink_loaded(g->world.host);
	if (r && r->conf && allocate(g, r)) {
		rv_plan_diff(g->plan, r->conf->plan, r->change);
		for (rv_id id = 0; id < g->slots; id++)
			r->ran[id] = rv_reload_is_up(rv_core_look(g->core, id).state);
		foresee_swept(g, r);
		return r;
	}
	if (!c->errors)
		rv_complain(c, (struct rv_place){.file = ""}, "cannot reload: out of memory");
	rv_reload_destroy(r);
	return NULL;
}

/* Phase one. */
static void retire(struct rv_engine *g, const struct rv_reload *r)
{
	rv_pump_push(g, RV_EV_RETIRE_BEGIN, RV_NO_ID, 0);
	for (rv_id id = 0; id < g->slots; id++)
		if (rv_reload_is_leaving(r, id))
			rv_pump_push(g, RV_EV_RETIRE, id, 0);
	rv_pump_push(g, RV_EV_RETIRE_END, RV_NO_ID, 0);
}

/* The files are good, so what was to come before them is not to come any more. */
static void supersede(struct rv_engine *g)
{
	if (!g->reload)
		return;
	rv_say(RV_INFO, NULL, "another reload takes the place of the one that is under way");
	rv_reload_drop(g);
	rv_pump_push(g, RV_EV_RETIRE_BEGIN, RV_NO_ID, 0);
}

static bool begin(struct rv_engine *g, const struct rv_load *files, struct rv_complaints *c,
	struct rv_replacing *what)
{
	struct rv_reload *r = create(g, files, c);

	if (!r)
		return false;
	supersede(g);
	if (!prepare(g, r, c)) {
		rv_reload_destroy(r);
		return false;
	}
	retire(g, r);
	r->number = ++g->reloads;
	g->reload = r;
	*what = told(g, r);
	return true;
}

/* For who reads the log and did not ask. */
static void say_complaints(const struct rv_complaints *c)
{
	const char *text = rv_buf_text(&c->text);

	for (size_t i = 0; i < c->count; i++) {
		const struct rv_complaint *one = &c->list[i];

		rv_say(one->warning ? RV_WARN : RV_ERROR, NULL, "%.*s",
			(int)(one->end - one->start), text + one->start);
	}
	if (c->errors)
		rv_say(RV_ERROR, NULL,
			"not reloaded: %zu error%s in the configuration; all runs on as it was",
			c->errors, c->errors == 1 ? "" : "s");
}

struct rv_reload *rv_engine_foresee(struct rv_engine *g, const struct rv_load *files,
	struct rv_complaints *c, struct rv_replacing *what)
{
	struct rv_reload *r = create(g, files, c);

	if (r)
		*what = told(g, r);
	return r;
}

const char *rv_engine_reload_is_refused(const struct rv_engine *g)
{
	if (rv_core_closing(g->core))
		return "reeve is shutting down";
	return g->change ? "the sandbox's variables are being changed; try again" : NULL;
}

bool rv_engine_reload(struct rv_engine *g, const struct rv_load *files, struct rv_complaints *c,
	struct rv_replacing *what)
{
	const char *not_now = rv_engine_reload_is_refused(g);
	bool good;

	if (not_now) {
		rv_complain(c, (struct rv_place){.file = ""}, "%s", not_now);
		rv_say(RV_ERROR, NULL, "not reloaded: %s", not_now);
		return false;
	}
	rv_say(RV_INFO, NULL, "reloading the configuration");
	good = begin(g, files, c, what);
	say_complaints(c);
	return good;
}
