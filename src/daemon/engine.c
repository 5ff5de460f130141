/* The pump: see engine.h. */
#include "daemon/pump.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "daemon/envchange.h"
#include "daemon/envset.h"
#include "daemon/given.h"
#include "daemon/notifysock.h"
#include "daemon/pipes.h"
#include "daemon/proc.h"
#include "daemon/reserved.h"
#include "daemon/say.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define START_SLICE (5 * RV_MS) /* spawn no longer than this before the loop looks at the world */
#define LATE	    (20 * RV_MS) /* who wakes so long after a deadline has stood still */

enum { HISTORY = 256, LOOKS = 2 };

/* --- one turn --------------------------------------------------------------------------------- */

/* It is known how to start it, without its plugin. *recipe: NULL: as the configuration has it. */
static bool is_known(
	const struct rv_engine *g, const struct rv_hands *h, const struct rv_recipe **recipe)
{
	const struct rv_service *s = h->service;
	bool kept = h->recipe_is_old && h->fresh && h->fresh_of == g->world.set_number;

	*recipe = kept ? &h->fresh->recipe : NULL;
	return (s->argv_is_static && (kept || !h->recipe_is_old)) ||
		!(s->table->hooks & RV_HAS(RV_HOOK_START));
}

static void start_one(struct rv_engine *g, const struct rv_start *s)
{
	const struct rv_recipe *recipe;

	if (g->hands[s->id].given_changes)
		rv_given_turn(g, s->id);
	if (!rv_core_may_start(g->core, s->id)) {
		rv_pump_refuse(g, s->id, s->generation, "not started: it has to stop");
	} else if (is_known(g, &g->hands[s->id], &recipe)) {
		rv_pump_start(g, s->id, s->generation, recipe);
	} else {
		struct rv_host_facts f = {.id = s->id,
			.generation = s->generation,
			.exit = RV_EXIT_UNKNOWN,
			.attempt = g->hands[s->id].facts.attempt + 1};

		g->hands[s->id].facts.generation = s->generation;
		g->hands[s->id].asking = true;
		g->hands[s->id].asked_of = g->world.set_number;
		g->hands[s->id].unused = 0; /* as long as it has not answered */
		rv_hostlink_call(g->world.host, &f, RV_HOOK_START, 10 * RV_SEC);
	}
}

/* Spawns what waits, for one slice; TERM is never behind thousands of spawns. */
static void run_starts(struct rv_engine *g)
{
	rv_time until = rv_now() + START_SLICE;

	while (g->start_count) {
		struct rv_start s = g->starts[g->start_first];

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
	rv_pump_feed(g, now);
	rv_core_settle(g->core, now, &g->out);
	for (size_t i = 0; i < g->out.n; i++)
		rv_pump_perform(g, &g->out.v[i]);
	if (g->retired) {
		g->retired = false;
		rv_reload_adopt(g);
	}
	rv_ending_turn(g);
	if (g->change)
		rv_env_turn(g);
}

/* True when the core has something to do at once, a restart most often. */
static bool arm(struct rv_engine *g)
{
	rv_time deadline = rv_core_deadline(g->core);
	rv_time wait = rv_reaper_wait(g->world.reaper);
	bool at_once = false;

	ev_timer_stop(g->world.loop, &g->deadline);
	if (deadline != RV_NEVER) {
		rv_time left = deadline - rv_now();

		at_once = left <= 0;
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
	return at_once;
}

/* The first that ended is dealt with at once; whoever is waited for ends alone. When somebody's time is over, all of them
   are heard of before that is judged. */
static void reap(struct rv_engine *g)
{
	if (!g->children_ended)
		return;
	g->children_ended = false;
	if (!g->more_ended && rv_core_deadline(g->core) > rv_now()) {
		g->more_ended = rv_reaper_first(g->world.reaper);
		return;
	}
	g->more_ended = false;
	rv_reaper_turn(g->world.reaper);
}

/* The others, unless something is to be started first: that is but one turn away. */
static void reap_rest(struct rv_engine *g)
{
	if (g->over || !g->more_ended || rv_core_deadline(g->core) <= rv_now())
		return;
	g->more_ended = false;
	rv_reaper_turn(g->world.reaper);
}

/* The machine stood still, or we did (SIGSTOP, no turn on the processor): what was waited for may have come in time, and
   the wait that a signal cut short has brought nothing of it. The world is looked at before anybody's time is over; and
   once more, since some of what is read is told a turn later. */
static bool must_look_first(struct rv_engine *g)
{
	rv_time deadline = rv_core_deadline(g->core);
	bool late = deadline > 0 && deadline != RV_NEVER && rv_now() - deadline > LATE;

	g->looks = late && g->looks < LOOKS ? g->looks + 1 : 0;
	if (g->looks) {
		ev_timer_stop(g->world.loop, &g->deadline);
		ev_timer_set(&g->deadline, 0., 0.);
		ev_timer_start(g->world.loop, &g->deadline);
	}
	return g->looks;
}

/* Before the loop sleeps: everything that the world told is applied, and what follows is done. It does not sleep while
   starts wait for their slice: what has been queued by then is applied when it has looked at the world. */
static void turn(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct rv_engine *g = w->data;

	(void)loop;
	(void)revents;
	if (g->over || must_look_first(g))
		return;
	reap(g);
	do {
		settle(g);
		if (!g->over)
			run_starts(g);
		reap_rest(g);
	} while (!g->over && g->queued && !g->start_count);
	if (!g->over && !arm(g))
		rv_say_flush();
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

/* --- life of the engine ----------------------------------------------------------------------- */

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
		rv_conf_destroy(conf);
		rv_hostlink_destroy(host);
		rv_fail(e, RV_ERR_SYSTEM, "cannot begin: out of memory");
		return NULL;
	}
	g->world.loop = loop;
	g->world.host = host;
	g->world.conf = conf;
	g->conf = conf;
	g->plan = conf->plan;
	g->slots = conf->service_count;
	g->began = rv_now();
	g->commanded = conf->commanded;
	g->world.reaper = rv_reaper_create(g->slots, &rv_heard_of_reaper, g);
	if (!g->world.reaper || !allocate(g)) {
		rv_fail(e, RV_ERR_SYSTEM, "cannot begin: out of memory");
		rv_engine_destroy(g);
		return NULL;
	}
	rv_history_init(&g->history, HISTORY);
	rv_core_init(g->core, g->plan, make_seed(g));
	rv_hostlink_attach(host, loop, g->world.reaper, conf, &rv_heard_of_host, g);
	g->world.prober = (struct rv_prober_env){
		loop, g->world.reaper, host, &rv_heard_of_prober, g};
	rv_reaper_on_follow(g->world.reaper, rv_heard_follow);
	g->world.notify = (struct rv_notify_env){
		loop, g->world.reaper, conf->runtime_dir, &rv_heard_of_notify, g};
	watch_loop(g);
	return g;
}

bool rv_engine_variables(struct rv_engine *g, struct rv_variables *variables, struct rv_err *e)
{
	if (!variables->count)
		return true;
	g->world.set = rv_envset_create(variables);
	return g->world.set || rv_fail(e, RV_ERR_SYSTEM, "cannot begin: out of memory");
}

/* All ports of all services that bind them by themselves; where the kernel does not keep them, sockets do. */
void rv_pump_keep_ports(struct rv_engine *g)
{
	rv_auto_free uint16_t *ports = NULL;
	struct rv_err e;
	size_t n = 0;

	for (rv_id id = 0; id < g->slots; id++)
		n += g->conf->services[id].port_count;
	if (!n && !g->world.reserved)
		return;
	ports = calloc(n + 1, sizeof(*ports));
	n = 0;
	for (rv_id id = 0; ports && id < g->slots; id++)
		for (size_t i = 0; i < g->conf->services[id].port_count; i++)
			ports[n++] = g->conf->services[id].ports[i];
	g->world.holds = !ports || !rv_reserved_change(&g->world.reserved, ports, n, &e);
	if (ports && g->world.holds)
		rv_say(RV_DEBUG, NULL, "%s: they are held by sockets until a start", e.text);
}

bool rv_engine_begin(struct rv_engine *g, struct rv_err *e)
{
	rv_ending_begin(g);
	rv_pump_keep_ports(g);
	for (rv_id id = 0; id < g->slots; id++)
		if (g->conf->services[id].name &&
			!rv_hands_open(&g->hands[id], &g->world, &g->conf->services[id], e))
			return false;
	for (rv_id id = 0; id < g->slots; id++)
		g->world.notifies |= g->conf->services[id].ready.notify != RV_NOTIFY_NONE;
	if (g->world.notifies)
		rv_notifysock_sweep(g->conf->runtime_dir);
	if (!rv_proc_is_there())
		rv_say(RV_WARN, NULL,
			"/proc is not mounted, or is that of another process namespace: a process "
			"that leaves the group of its service is not found and may be left behind; "
			"mount it: mount -t proc proc /proc");
	rv_env_begin(g);
	rv_pump_push(g, RV_EV_BOOT, RV_NO_ID, 0);
	return true;
}

void rv_engine_destroy(struct rv_engine *g)
{
	if (!g)
		return;
	if (g->hands)
		for (size_t i = 0; i < g->slots; i++)
			rv_hands_close(&g->hands[i]);
	rv_reload_drop(g);
	rv_ending_fini(g);
	rv_env_end(g);
	rv_reserved_remove(g->world.reserved);
	if (g->world.notifies)
		rv_notifysock_end(g->conf->runtime_dir);
	rv_pipe_empty();
	ev_prepare_stop(g->world.loop, &g->prepare);
	ev_timer_stop(g->world.loop, &g->deadline);
	ev_timer_stop(g->world.loop, &g->reap_again);
	ev_idle_stop(g->world.loop, &g->more);
	rv_hostlink_destroy(g->world.host);
	rv_reaper_destroy(g->world.reaper);
	rv_history_fini(&g->history);
	rv_arena_fini(&g->world.arena);
	free(g->starts);
	free(g->queue);
	free(g->out.v);
	free(g->hands);
	free(g->core);
	rv_conf_destroy(g->conf);
	free(g);
}
