/* Reload, phase two: all that is to go is gone, and the new conf takes the place of the old one. Nothing here can fail but
 * what is said in a line. See reload.h; the hands of one service are in replace.c, the core's memory in core/adopt.c. */
#include "daemon/reloadin.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/given.h"
#include "daemon/notifysock.h"
#include "daemon/say.h"
#include "sys/clock.h"

static struct rv_listener *take_from(struct rv_hands *h, const struct rv_listen *l)
{
	const struct rv_service *s = h->service;

	for (size_t i = 0; s && h->listeners && i < s->listen_count; i++) {
		struct rv_listener *found = h->listeners[i];

		if (!found || !rv_hands_same_socket(&s->listen[i], l))
			continue;
		h->listeners[i] = NULL;
		return found;
	}
	return NULL;
}

static struct rv_listener *take_from_any(
	struct rv_engine *g, const struct rv_reload *r, const struct rv_listen *l)
{
	struct rv_listener *found = NULL;

	for (rv_id id = 0; !found && id < g->slots; id++)
		if (rv_reload_is_leaving(r, id))
			found = take_from(&g->hands[id], l);
	return found;
}

/* A socket that is bound to the same address goes on, whoever had it, with what waits in its queue. */
static void take_listeners(struct rv_engine *g, struct rv_reload *r, rv_id id)
{
	struct rv_hands *h = &r->hands[id], *was = id < g->slots ? &g->hands[id] : NULL;
	const struct rv_service *s = h->service;

	for (size_t i = 0; i < s->listen_count; i++) {
		if (!h->listeners[i] && was)
			h->listeners[i] = take_from(was, &s->listen[i]);
		if (!h->listeners[i])
			h->listeners[i] = take_from_any(g, r, &s->listen[i]);
		if (h->listeners[i])
			rv_listener_rename(h->listeners[i], s->name);
	}
}

/* What each has is moved, first the sockets: then what is closed with the old ones is what nobody wants any more. */
static void move_hands(struct rv_engine *g, struct rv_reload *r)
{
	for (rv_id id = 0; id < r->slots; id++)
		if (r->hands[id].service)
			take_listeners(g, r, id);
	for (rv_id id = 0; id < g->slots; id++) {
		struct rv_hands *was = &g->hands[id];

		if (!was->service)
			continue;
		rv_given_refuse(g, id, "the configuration was replaced meanwhile: ask again");
		if (rv_reload_is_leaving(r, id))
			rv_hostlink_vary(g->world.host, id, NULL);
		if (r->hands[id].service)
			rv_hands_take(&r->hands[id], was, rv_reload_is_leaving(r, id));
		rv_hands_close(was);
	}
}

static void move_starts(struct rv_engine *g, struct rv_reload *r)
{
	memcpy(r->starts, g->starts + g->start_first, g->start_count * sizeof(*r->starts));
	free(g->starts);
	g->starts = r->starts;
	g->start_room = r->start_room;
	g->start_first = 0;
	r->starts = NULL;
}

/* The parts of the engine that belong to a plan; r has the old ones afterwards. */
static void exchange(struct rv_engine *g, struct rv_reload *r)
{
	struct rv_reload old = *r;

	rv_core_adopt(r->core, r->conf->plan, g->core);
	move_starts(g, r);
	r->conf = g->conf;
	r->core = g->core;
	r->hands = g->hands;
	r->slots = g->slots;
	r->out = g->out;
	r->world.arena = g->world.arena;
	g->conf = old.conf;
	g->plan = old.conf->plan;
	g->core = old.core;
	g->hands = old.hands;
	g->slots = old.slots;
	g->out = old.out;
	g->out.n = 0;
	g->world.arena = old.world.arena;
	g->world.conf = g->conf;
	g->world.notify.runtime_dir = g->conf->runtime_dir;
	rv_hostlink_conf(g->world.host, g->conf);
}

/* Names of services that are not there any more stay where something is told of them. */
static void forget_removed(struct rv_engine *g, const struct rv_reload *r)
{
	for (rv_id id = 0; id < g->slots; id++) {
		if (r->change[id] != RV_REMOVED)
			continue;
		rv_history_remove(&g->history, id, g->conf->services[id].name);
		if (g->ending.id == id)
			g->ending.id = RV_NO_ID;
	}
}

static void rebind_all(struct rv_engine *g, const struct rv_reload *r)
{
	bool notifies = false;

	for (rv_id id = 0; id < g->slots; id++) {
		struct rv_hands *h = &g->hands[id];

		if (!h->service)
			continue;
		if (h->given || h->given_next)
			rv_given_go_on(g, id);
		rv_hands_rebind(h, &g->world, r->change[id] == RV_TUNED);
		rv_hands_reopen(h);
		notifies |= h->service->ready.notify != RV_NOTIFY_NONE;
	}
	if (notifies && !g->world.notifies)
		rv_notifysock_sweep(g->conf->runtime_dir);
	g->world.notifies |= notifies;
}

static void find_swept(const struct rv_engine *g, struct rv_reload *r)
{
	for (rv_id id = 0; id < g->slots; id++)
		r->swept[id] = r->ran[id] && !rv_reload_is_leaving(r, id) &&
			!rv_reload_is_up(rv_core_look(g->core, id).state);
}

static void remember(struct rv_engine *g)
{
	struct rv_happening *n = rv_history_add(&g->history);

	if (n)
		*n = (struct rv_happening){.at = rv_now(),
			.id = RV_NO_ID,
			.other = RV_NO_ID,
			.exit = RV_EXIT_UNKNOWN,
			.boot = (uint8_t)rv_core_boot(g->core),
			.word = RV_HAPPENED_RELOADED};
}

/* Before the exchange: `r` is what comes. */
static void say_done(const struct rv_reload *r)
{
	size_t count[RV_TUNED + 1] = {0}, swept = 0;

	for (size_t id = 0; id < r->slots; id++) {
		if (r->swept[id])
			swept++;
		else if (r->conf->services[id].name || r->change[id] == RV_REMOVED)
			count[r->change[id]]++;
	}
	rv_say(RV_INFO, NULL,
		"reloaded: %zu added, %zu removed, %zu changed, %zu restarted with these, %zu "
		"adjusted, %zu as before",
		count[RV_ADDED], count[RV_REMOVED], count[RV_CHANGED], swept, count[RV_TUNED],
		count[RV_SAME]);
}

void rv_reload_adopt(struct rv_engine *g)
{
	struct rv_reload *r = g->reload;

	if (!r)
		return;
	g->reload = NULL;
	find_swept(g, r);
	rv_reload_tell(g, r, false);
	say_done(r);
	forget_removed(g, r);
	move_hands(g, r);
	exchange(g, r);
	rv_pump_keep_ports(g);
	rebind_all(g, r);
	rv_reload_destroy(r);
#ifdef __GLIBC__
	malloc_trim(0); /* there were two of everything */
#endif
	remember(g);
	rv_pump_notify(g, RV_NO_ID);
}
