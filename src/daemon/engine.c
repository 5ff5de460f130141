/* The pump: see engine.h. */
#include "daemon/engine.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/names.h"
#include "base/text.h"
#include "daemon/hands.h"
#include "daemon/proc.h"
#include "daemon/say.h"
#include "daemon/tell.h"
#include "sys/clock.h"

#define START_SLICE (5 * RV_MS) /* spawn no longer than this before the loop looks at the world */
#define SWEEP_LIMIT (2 * RV_SEC)

struct start { /* one START that waits for its slice */
	rv_id id;
	uint64_t generation;
};

struct rv_engine {
	struct rv_world world;
	struct rv_conf *conf;
	const struct rv_plan *plan;
	struct rv_core *core;
	struct rv_hands *hands; /* by slot */
	size_t slots;
	struct rv_actions out;
	struct rv_event *queue;
	size_t queued, queue_room;
	struct start *starts; /* taken from the front; moved down when the end is reached */
	size_t start_first, start_count, start_room;
	struct rv_watcher *watchers;
	ev_prepare prepare;
	ev_timer deadline, reap_again;
	ev_idle more; /* keeps the loop turning while starts wait */
	bool children_ended;
	bool over;
	bool commanded; /* `reeve -- CMD` */
	int stop_signals, last_signal;
	enum rv_end end;
	rv_exit end_exit;
	rv_time began;
	char look_why[1024];
};

/* --- events in --------------------------------------------------------------------------------- */

void rv_engine_push(struct rv_engine *g, const struct rv_event *e)
{
	if (g->queued == g->queue_room) {
		size_t room = g->queue_room * 2;
		struct rv_event *q = realloc(g->queue, room * sizeof(*q));

		if (!q) {
			rv_say(RV_ERROR, NULL, "cannot take an event: out of memory");
			return;
		}
		g->queue = q;
		g->queue_room = room;
	}
	g->queue[g->queued++] = *e;
}

static void push(struct rv_engine *g, enum rv_event_kind kind, rv_id id, uint64_t generation)
{
	rv_engine_push(g,
		&(struct rv_event){.kind = (uint8_t)kind,
			.id = id,
			.generation = generation,
			.exit = RV_EXIT_UNKNOWN});
}

static void push_verdict(struct rv_engine *g, enum rv_event_kind kind, rv_id id,
	uint64_t generation, enum rv_hook hook, enum rv_verdict v)
{
	rv_engine_push(g,
		&(struct rv_event){.kind = (uint8_t)kind,
			.verdict = (uint8_t)v,
			.hook = (uint8_t)hook,
			.id = id,
			.generation = generation,
			.exit = RV_EXIT_UNKNOWN});
}

static bool is_present(const struct rv_engine *g, rv_id id, uint64_t generation)
{
	return id < g->slots && g->hands[id].service && g->hands[id].facts.generation == generation;
}

static void on_exited(void *ctx, rv_id id, uint64_t generation, rv_exit how)
{
	struct rv_engine *g = ctx;

	if (!is_present(g, id, generation))
		return;
	rv_hands_exited(&g->hands[id], how);
	rv_engine_push(g,
		&(struct rv_event){
			.kind = RV_EV_EXITED, .id = id, .generation = generation, .exit = how});
}

static void on_gone(void *ctx, rv_id id, uint64_t generation)
{
	struct rv_engine *g = ctx;

	if (!is_present(g, id, generation))
		return;
	rv_hands_gone(&g->hands[id]);
	push(g, RV_EV_GONE, id, generation);
}

static void on_probe(void *ctx, rv_id id, uint64_t generation, enum rv_verdict v, const char *why)
{
	struct rv_engine *g = ctx;

	if (!is_present(g, id, generation))
		return;
	rv_hands_note(&g->hands[id].probe_why, "%s", why);
	push_verdict(g, RV_EV_PROVED, id, generation, RV_HOOK_PROBE, v);
}

static void start_now(struct rv_engine *g, rv_id id, uint64_t generation, const struct rv_recipe *r)
{
	struct rv_hands *h = &g->hands[id];
	struct rv_err e;

	if (rv_hands_start(h, &g->world, generation, r, &e)) {
		free(h->why); /* of an earlier try */
		h->why = NULL;
		push(g, RV_EV_SPAWNED, id, generation);
		return;
	}
	rv_hands_note(&h->why, "%s", e.text);
	push(g, RV_EV_SPAWN_FAILED, id, generation);
}

static void refuse_start(struct rv_engine *g, rv_id id, uint64_t generation, const char *why)
{
	g->hands[id].facts.generation = generation;
	rv_hands_note(&g->hands[id].why, "%s", why);
	push(g, RV_EV_SPAWN_FAILED, id, generation);
}

static void on_answer(void *ctx, const struct rv_host_answer *a)
{
	struct rv_engine *g = ctx;
	struct rv_hands *h;

	if (a->id >= g->slots || !g->hands[a->id].service)
		return;
	h = &g->hands[a->id];
	if (a->hook == RV_HOOK_START) {
		if (a->verdict == RV_OK)
			start_now(g, a->id, a->generation, &a->recipe);
		else
			refuse_start(g, a->id, a->generation, a->why);
		return;
	}
	if (!is_present(g, a->id, a->generation))
		return;
	if (a->hook == RV_HOOK_PROBE) {
		if (h->prober)
			rv_prober_answer(h->prober, a->verdict, a->why);
		return;
	}
	if (*a->why && a->verdict != RV_OK) {
		rv_hands_note(&h->probe_why, "%s", a->why);
		rv_say(RV_WARN, h->service->name, "%s hook: %s", rv_hook_name(a->hook), a->why);
	}
	push_verdict(g, RV_EV_HOOK_DONE, a->id, a->generation, a->hook, a->verdict);
}

static void on_disabled(void *ctx, const char *plugin, bool disabled)
{
	struct rv_engine *g = ctx;

	if (!disabled)
		rv_say(RV_INFO, NULL, "plugin %s is used again", plugin);
	for (rv_id id = 0; id < g->slots; id++) {
		const struct rv_service *s = g->hands[id].service;

		if (!s || strcmp(s->plugin, plugin))
			continue;
		if (disabled) /* the words of every start that the core refuses from now on */
			rv_hands_note(&g->hands[id].why,
				"plugin %s is disabled until reeve is started again: it ended the "
				"plugin host three times within a minute",
				plugin);
		push_verdict(g, RV_EV_DISABLED, id, 0, RV_HOOK_START, disabled ? RV_FAIL : RV_OK);
	}
}

static bool on_context(void *ctx, rv_id id, struct rv_spawn *to)
{
	struct rv_engine *g = ctx;

	if (id >= g->slots || !g->hands[id].service)
		return false;
	*to = g->hands[id].context;
	return true;
}

/* With a command all signals but TERM are its own. An INT that it cannot take, because it does not run
   or because reeve is ending, is meant for us: the first and the second one, like any. */
static bool is_for_command(struct rv_engine *g, int number)
{
	bool ending = g->stop_signals || rv_core_closing(g->core);
	struct rv_err e;

	if (!g->commanded || number == SIGTERM || (number == SIGINT && ending))
		return false;
	return rv_engine_signal(g, g->conf->plan->exit_from, number, &e) || number != SIGINT;
}

void rv_engine_signalled(struct rv_engine *g, int number)
{
	if (is_for_command(g, number))
		return;
	if (number != SIGTERM && number != SIGINT) {
		if (number == SIGHUP)
			rv_say(RV_INFO, NULL, "SIGHUP: ignored, this version does not reload");
		return;
	}
	g->last_signal = number;
	if (++g->stop_signals == 1)
		rv_say(RV_INFO, NULL, "SIG%s: stopping; a second one kills everything at once",
			rv_signal_name(number));
	else
		rv_say(RV_WARN, NULL, "SIG%s again: killing everything", rv_signal_name(number));
	push(g, g->stop_signals == 1 ? RV_EV_SHUTDOWN : RV_EV_FORCE, RV_NO_ID, 0);
}

void rv_engine_children(struct rv_engine *g)
{
	g->children_ended = true;
}

/* --- actions out ------------------------------------------------------------------------------- */

static void notify(struct rv_engine *g, rv_id id)
{
	struct rv_watcher *w = g->watchers, *next;

	for (; w; w = next) {
		next = w->next;
		w->changed(w, id);
	}
}

static void do_start(struct rv_engine *g, const struct rv_action *a)
{
	if (g->start_first + g->start_count == g->start_room) {
		memmove(g->starts, g->starts + g->start_first, g->start_count * sizeof(*g->starts));
		g->start_first = 0;
	}
	assert(g->start_count < g->start_room); /* one life a slot, so one START a slot */
	g->starts[g->start_first + g->start_count++] = (struct start){a->id, a->generation};
}

static void do_hook(struct rv_engine *g, const struct rv_action *a)
{
	const struct rv_hands *h = &g->hands[a->id];
	struct rv_host_facts f = {.id = a->id,
		.generation = a->generation,
		.pid = h->facts.pid,
		.exit = h->facts.exit,
		.attempt = h->facts.attempt};

	rv_hostlink_call(g->world.host, &f, (enum rv_hook)a->hook, a->timeout);
}

static void do_signal(struct rv_engine *g, const struct rv_action *a)
{
	const struct rv_node *n = &g->plan->node[a->id];
	const struct rv_step *s = &g->plan->steps[n->first_step + a->step];

	rv_say(RV_DEBUG, g->hands[a->id].service->name, "stop step %u: SIG%s", a->step + 1,
		rv_signal_name(s->signal));
	rv_reaper_ask(g->world.reaper, a->id, s->signal, (enum rv_target)a->to);
}

static const char *name_of(const struct rv_engine *g, rv_id id)
{
	return id < g->slots && g->hands[id].service ? g->hands[id].service->name : NULL;
}

static void do_state(struct rv_engine *g, const struct rv_action *a)
{
	struct rv_hands *h = &g->hands[a->id];
	struct rv_look look = rv_core_look(g->core, a->id);
	struct rv_buf why = {0};

	look.state = (enum rv_state)a->state; /* several changes may be in one turn */
	look.why = (enum rv_why)a->why;
	look.other = a->other;
	rv_tell_why(h, &look, name_of(g, a->other), &why);
	rv_tell_state(h, &look, rv_buf_text(&why));
	if (look.state == RV_READY)
		rv_hands_proven(h);
	rv_buf_fini(&why);
	notify(g, a->id);
}

static void do_stuck(struct rv_engine *g, const struct rv_action *a)
{
	struct rv_buf who = {0};

	rv_reaper_name(g->world.reaper, a->id, &who);
	rv_say(RV_ERROR, g->hands[a->id].service->name, "survived KILL: %s", rv_buf_text(&who));
	rv_buf_fini(&who);
}

static void do_boot(struct rv_engine *g, const struct rv_action *a)
{
	char time[32];
	const char *first = name_of(g, a->id);

	rv_text_dur((rv_now() - g->began) / RV_MS * RV_MS, time, sizeof(time));
	if (a->verdict == RV_OK)
		rv_say(RV_INFO, NULL, "all ready after %s%s", time,
			a->degraded ? ", degraded: an optional service is missing" : "");
	else
		rv_say(RV_ERROR, NULL, "boot failed after %s: %s%s%s", time, first ? first : "",
			first ? ": " : "", rv_why_text((enum rv_why)a->why));
	notify(g, RV_NO_ID);
}

static void do_over(struct rv_engine *g, const struct rv_action *a)
{
	size_t left = rv_reaper_sweep(g->world.reaper, SWEEP_LIMIT);

	if (left)
		rv_say(RV_ERROR, NULL, "%zu processes survived KILL", left);
	g->over = true;
	g->end = (enum rv_end)a->end;
	g->end_exit = a->exit;
	notify(g, RV_NO_ID);
	ev_break(g->world.loop, EVBREAK_ALL);
}

static void perform(struct rv_engine *g, const struct rv_action *a)
{
	struct rv_hands *h = a->id < g->slots ? &g->hands[a->id] : NULL;

	switch ((enum rv_action_kind)a->kind) {
	case RV_ACT_START: do_start(g, a); break;
	case RV_ACT_PROBE:
		if (h->prober)
			rv_prober_attempt(h->prober, a->timeout);
		break;
	case RV_ACT_HOOK: do_hook(g, a); break;
	case RV_ACT_DROP:
		if (h->prober)
			rv_prober_cancel(h->prober);
		rv_hostlink_drop(g->world.host, a->id);
		break;
	case RV_ACT_SIGNAL: do_signal(g, a); break;
	case RV_ACT_KILL: rv_reaper_kill(g->world.reaper, a->id); break;
	case RV_ACT_STATE: do_state(g, a); break;
	case RV_ACT_STUCK: do_stuck(g, a); break;
	case RV_ACT_BOOT: do_boot(g, a); break;
	case RV_ACT_OVER: do_over(g, a); break;
	case RV_ACT_HEALTH: /* the keys that ask for these */
	case RV_ACT_RETIRED: /* do not exist yet */ break;
	}
}

/* --- one turn ---------------------------------------------------------------------------------- */

static void start_one(struct rv_engine *g, const struct start *s)
{
	const struct rv_service *svc = g->hands[s->id].service;

	if (rv_core_closing(g->core)) {
		refuse_start(g, s->id, s->generation, "not started: reeve is shutting down");
	} else if (svc->argv_is_static || !(svc->table->hooks & RV_HAS(RV_HOOK_START))) {
		start_now(g, s->id, s->generation, NULL);
	} else {
		struct rv_host_facts f = {.id = s->id,
			.generation = s->generation,
			.exit = RV_EXIT_UNKNOWN,
			.attempt = g->hands[s->id].facts.attempt + 1};

		g->hands[s->id].facts.generation = s->generation;
		rv_hostlink_call(g->world.host, &f, RV_HOOK_START, 10 * RV_SEC);
	}
}

/* Spawns what waits, for one slice; TERM is never behind thousands of spawns. */
static void run_starts(struct rv_engine *g)
{
	rv_time until = rv_now() + START_SLICE;

	while (g->start_count) {
		struct start s = g->starts[g->start_first];

		g->start_first++;
		g->start_count--;
		start_one(g, &s);
		if (rv_now() >= until)
			break;
	}
	if (!g->start_count) {
		g->start_first = 0;
		ev_idle_stop(g->world.loop, &g->more);
	} else {
		ev_idle_start(g->world.loop, &g->more);
	}
}

static void settle(struct rv_engine *g)
{
	rv_time now = rv_now();

	g->out.n = 0;
	for (size_t i = 0; i < g->queued; i++)
		rv_core_apply(g->core, now, &g->queue[i], &g->out);
	g->queued = 0;
	rv_core_settle(g->core, now, &g->out);
	for (size_t i = 0; i < g->out.n; i++)
		perform(g, &g->out.v[i]);
}

static void arm(struct rv_engine *g)
{
	rv_time deadline = rv_core_deadline(g->core);
	rv_time wait = rv_reaper_wait(g->world.reaper);

	ev_timer_stop(g->world.loop, &g->deadline);
	if (deadline != RV_NEVER) {
		rv_time left = deadline - rv_now();

		ev_now_update(g->world.loop);
		ev_timer_set(&g->deadline, left > 0 ? (double)left / 1e9 : 0., 0.);
		ev_timer_start(g->world.loop, &g->deadline);
	}
	if (wait == RV_NEVER) {
		ev_timer_stop(g->world.loop, &g->reap_again);
	} else if (!ev_is_active(&g->reap_again)) {
		ev_now_update(g->world.loop);
		ev_timer_set(&g->reap_again, (double)wait / 1e9, 0.);
		ev_timer_start(g->world.loop, &g->reap_again);
	}
}

/* Before the loop sleeps: everything that the world told is applied, and what follows is done. */
static void turn(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct rv_engine *g = w->data;

	(void)loop;
	(void)revents;
	if (g->over)
		return;
	do {
		if (g->children_ended) {
			g->children_ended = false;
			rv_reaper_turn(g->world.reaper);
		}
		settle(g);
		if (!g->over)
			run_starts(g);
	} while (!g->over && g->queued);
	if (!g->over)
		arm(g);
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)w; /* waking up is all that is needed: the turn follows */
	(void)revents;
}

static void on_reap_again(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct rv_engine *g = w->data;

	(void)loop;
	(void)revents;
	g->children_ended = true;
}

static void on_idle(struct ev_loop *loop, ev_idle *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents;
}

/* --- life of the engine ------------------------------------------------------------------------ */

static const struct rv_reaper_ops reaper_ops = {on_exited, on_gone};
static const struct rv_hostlink_ops host_ops = {on_answer, on_disabled, on_context};
static const struct rv_prober_ops prober_ops = {on_probe};

static bool allocate(struct rv_engine *g)
{
	g->core = calloc(1, rv_core_size(g->plan));
	g->hands = calloc(g->slots ? g->slots : 1, sizeof(*g->hands));
	g->out.room = rv_core_actions_max(g->plan);
	g->out.v = calloc(g->out.room, sizeof(*g->out.v));
	g->queue_room = 64 + 4 * g->slots;
	g->queue = calloc(g->queue_room, sizeof(*g->queue));
	g->start_room = 2 * g->slots + 1;
	g->starts = calloc(g->start_room, sizeof(*g->starts));
	return g->core && g->hands && g->out.v && g->queue && g->starts;
}

static uint64_t make_seed(struct rv_engine *g)
{
	uint64_t r[2] = {0, 0};

	if (getrandom(r, sizeof(r), GRND_NONBLOCK) != (ssize_t)sizeof(r))
		r[0] = r[1] = (uint64_t)rv_now();
	snprintf(g->world.boot_id, sizeof(g->world.boot_id), "%016" PRIx64, r[0]);
	return r[1];
}

static void watch_loop(struct rv_engine *g)
{
	ev_prepare_init(&g->prepare, turn);
	g->prepare.data = g;
	ev_prepare_start(g->world.loop, &g->prepare);
	ev_init(&g->deadline, on_timer);
	ev_init(&g->reap_again, on_reap_again);
	g->reap_again.data = g;
	ev_idle_init(&g->more, on_idle);
}

struct rv_engine *rv_engine_create(
	struct ev_loop *loop, struct rv_conf *conf, struct rv_hostlink *host, struct rv_err *e)
{
	struct rv_engine *g = calloc(1, sizeof(*g));

	if (!g) {
		rv_fail(e, RV_ERR_SYSTEM, "cannot begin: out of memory");
		return NULL;
	}
	g->world.loop = loop;
	g->world.host = host;
	g->conf = conf;
	g->plan = conf->plan;
	g->slots = conf->service_count;
	g->began = rv_now();
	g->commanded = conf->commanded;
	g->world.reaper = rv_reaper_create(g->slots, &reaper_ops, g);
	if (!g->world.reaper || !allocate(g)) {
		rv_fail(e, RV_ERR_SYSTEM, "cannot begin: out of memory");
		rv_engine_destroy(g);
		return NULL;
	}
	rv_core_init(g->core, g->plan, make_seed(g));
	rv_hostlink_attach(host, loop, g->world.reaper, conf, &host_ops, g);
	g->world.prober = (struct rv_prober_env){loop, g->world.reaper, host, &prober_ops, g};
	watch_loop(g);
	return g;
}

bool rv_engine_begin(struct rv_engine *g, struct rv_err *e)
{
	for (rv_id id = 0; id < g->slots; id++)
		if (g->conf->services[id].name &&
			!rv_hands_open(&g->hands[id], &g->world, &g->conf->services[id], e))
			return false;
	if (!rv_proc_is_there())
		rv_say(RV_WARN, NULL,
			"/proc is not mounted: a process that leaves the group of its service is "
			"not found until reeve ends; mount it: mount -t proc proc /proc");
	push(g, RV_EV_BOOT, RV_NO_ID, 0);
	return true;
}

void rv_engine_destroy(struct rv_engine *g)
{
	if (!g)
		return;
	if (g->hands)
		for (size_t i = 0; i < g->slots; i++)
			rv_hands_close(&g->hands[i]);
	ev_prepare_stop(g->world.loop, &g->prepare);
	ev_timer_stop(g->world.loop, &g->deadline);
	ev_timer_stop(g->world.loop, &g->reap_again);
	ev_idle_stop(g->world.loop, &g->more);
	rv_hostlink_destroy(g->world.host);
	rv_reaper_destroy(g->world.reaper);
	rv_arena_fini(&g->world.arena);
	free(g->starts);
	free(g->queue);
	free(g->out.v);
	free(g->hands);
	free(g->core);
	rv_conf_destroy(g->conf);
	free(g);
}

/* --- looks -------------------------------------------------------------------------------------- */

const struct rv_conf *rv_engine_conf(const struct rv_engine *g)
{
	return g->conf;
}

struct rv_hostlink *rv_engine_host(const struct rv_engine *g)
{
	return g->world.host;
}

size_t rv_engine_slots(const struct rv_engine *g)
{
	return g->slots;
}

struct rv_view rv_engine_look(struct rv_engine *g, rv_id id)
{
	const struct rv_hands *h = &g->hands[id];
	const struct rv_service *s = &g->conf->services[id];
	struct rv_view v = {.id = id, .name = s->name, .detail = ""};
	struct rv_buf why = {0};

	if (!s->name)
		return v;
	v.summary = s->summary;
	v.plugin = s->plugin;
	v.essential = s->essential;
	v.enabled = s->enabled;
	v.look = rv_core_look(g->core, id);
	v.pid = h->facts.pid;
	v.other = name_of(g, v.look.other);
	if (h->service) {
		rv_tell_why(h, &v.look, v.other, &why);
		snprintf(g->look_why, sizeof(g->look_why), "%s", rv_buf_text(&why));
		v.detail = g->look_why;
		rv_buf_fini(&why);
	}
	return v;
}

rv_id rv_engine_find(const struct rv_engine *g, const char *name)
{
	const struct rv_service *s = rv_conf_find(g->conf, name);

	return s ? s->id : RV_NO_ID;
}

enum rv_boot rv_engine_boot(const struct rv_engine *g)
{
	return rv_core_boot(g->core);
}

bool rv_engine_closing(const struct rv_engine *g)
{
	return rv_core_closing(g->core);
}

rv_time rv_engine_started(const struct rv_engine *g)
{
	return g->began;
}

void rv_engine_watch(struct rv_engine *g, struct rv_watcher *w)
{
	w->next = g->watchers;
	g->watchers = w;
}

void rv_engine_unwatch(struct rv_engine *g, struct rv_watcher *w)
{
	struct rv_watcher **p = &g->watchers;

	while (*p && *p != w)
		p = &(*p)->next;
	if (*p)
		*p = w->next;
}

bool rv_engine_signal(struct rv_engine *g, rv_id id, int number, struct rv_err *e)
{
	const struct rv_service *s = id < g->slots ? g->hands[id].service : NULL;

	if (!s)
		return rv_fail(e, RV_ERR_NO_SUCH, "cannot signal: no such service");
	if (rv_core_look(g->core, id).state == RV_ADOPTED)
		return rv_fail(
			e, RV_ERR_REFUSED, "cannot signal %s: it is adopted, not ours", s->name);
	if (!rv_reaper_signal(g->world.reaper, id, number, RV_TO_MAIN))
		return rv_fail(e, RV_ERR_REFUSED, "cannot signal %s: it does not run", s->name);
	return true;
}

struct rv_capture *rv_engine_capture(struct rv_engine *g, rv_id id)
{
	return id < g->slots ? g->hands[id].capture : NULL;
}

int rv_engine_status(const struct rv_engine *g)
{
	switch (g->end) {
	case RV_END_REQUEST:
		/* with a command, its status is ours, also when we had to end it */
		return g->commanded ? rv_exit_status(g->hands[g->plan->exit_from].facts.exit) : 0;
	case RV_END_EXIT_FROM: return rv_exit_status(g->end_exit);
	case RV_END_BOOT_FAILED:
	case RV_END_GAVE_UP: return 10;
	case RV_END_HEALTH: return 11;
	case RV_END_DEADLINE: return 12;
	case RV_END_FORCED: return 128 + (g->last_signal ? g->last_signal : SIGTERM);
	case RV_END_NONE: break;
	}
	return 70;
}
