/* The hands of one service at a reload: see hands.h.
 *
 *   prepare   beside the old ones: users, environment, new listeners and logs; may fail, and then nothing has happened
 *   take      what goes on is moved: nothing can fail
 *   rebind    whatever looks at the configuration looks at the new one */
#include "daemon/hands.h"

#include <string.h>

#include "daemon/given.h"
#include "daemon/portkeep.h"
#include "daemon/say.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool rv_hands_same_socket(const struct rv_listen *a, const struct rv_listen *b)
{
	if (a->family != b->family || a->backlog != b->backlog)
		return false;
	if (a->family != RV_UNIX)
		return a->port == b->port && !memcmp(a->ip, b->ip, sizeof(a->ip));
	return !strcmp(a->address, b->address) && a->has_mode == b->has_mode &&
		a->mode == b->mode && same_text(a->owner, b->owner) &&
		same_text(a->group, b->group);
}

/* ---- prepare ---- */

/* Rotation is no matter: it changes under an open log. */
static bool same_log(const struct rv_log_conf *a, const struct rv_log_conf *b)
{
	return a->kind == b->kind && same_text(a->path, b->path);
}

static bool prepare_listeners(
	struct rv_hands *h, struct rv_world *w, const bool *later, struct rv_err *e)
{
	const struct rv_service *s = h->service;

	if (!s->listen_count)
		return true;
	h->listeners = rv_arena_array(&w->arena, s->listen_count, sizeof(struct rv_listener *));
	if (!h->listeners)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot prepare %s: out of memory", s->name);
	for (size_t i = 0; i < s->listen_count; i++) {
		if (later[i])
			continue;
		h->listeners[i] = rv_listener_open(&s->listen[i], s->name, e);
		if (!h->listeners[i])
			return false;
	}
	return true;
}

bool rv_hands_prepare(struct rv_hands *h, struct rv_world *w, const struct rv_service *s,
	const struct rv_hands *was, const bool *later, struct rv_err *e)
{
	*h = (struct rv_hands){.service = s, .facts.exit = RV_EXIT_UNKNOWN};
	if (!rv_hands_context(h, w, e) || !prepare_listeners(h, w, later, e))
		return false;
	if (was && same_log(&was->service->log, &s->log))
		return true;
	h->capture = rv_capture_open(w->loop, &s->log, s->name, e);
	if (!h->capture)
		return rv_fail_in(e,
			"service %s: log (keys log.file of the service, log.dir of reeve)",
			s->name);
	return true;
}

/* ---- take ---- */

/* The capture stays the same one, for there are followers. */
static void take_capture(struct rv_hands *h, struct rv_hands *was)
{
	struct rv_capture *fresh = h->capture;

	h->capture = was->capture;
	was->capture = NULL;
	if (fresh)
		rv_capture_redirect(h->capture, fresh);
	else
		rv_capture_rebind(h->capture, &h->service->log, h->service->name);
	rv_capture_close(fresh);
}

/* All that it has, with what is the new conf's in place of what was the old one's. */
static void go_on(struct rv_hands *h, struct rv_hands *was)
{
	const struct rv_hands next = *h;

	*h = *was;
	*was = (struct rv_hands){.service = was->service, .listeners = was->listeners};
	h->service = next.service;
	h->capture = next.capture;
	h->listeners = next.listeners;
	h->account = next.account;
	h->context = next.context;
	h->own_env = next.own_env;
	h->own_recipe = next.own_recipe;
	h->env_recipe = next.env_recipe;
	h->recipe_is_old = false; /* it was made anew, for the variables of now */
	rv_fresh_destroy(h->fresh);
	h->fresh = NULL;
	memcpy(h->listen_env, next.listen_env, sizeof(h->listen_env));
}

/* It is gone, and what is known of its lives is no matter of the next one. */
static void begin_anew(struct rv_hands *h, const struct rv_hands *was)
{
	h->facts = was->facts;
	h->facts.attempt = 0;
	h->stopped_by = was->stopped_by;
	memcpy(h->paused_by, was->paused_by, sizeof(h->paused_by));
	h->lived = was->lived;
}

void rv_hands_take(struct rv_hands *h, struct rv_hands *was, bool changed)
{
	take_capture(h, was);
	if (changed) {
		begin_anew(h, was);
		return;
	}
	if (was->given) { /* what its commands have is in memory of its own */
		h->context.env = was->context.env;
		h->env_recipe = was->env_recipe;
	}
	go_on(h, was);
}

/* ---- rebind ---- */

static void rebind_prober(struct rv_hands *h)
{
	const struct rv_check *check = h->asks_health ? h->service->health : &h->service->ready;

	if (h->guest)
		check = rv_guest_check(h->guest);
	if (check)
		rv_prober_rebind(h->prober, h->service, check, &h->context);
	else
		rv_hands_proven(h);
}

/* What is asked now may not be what is to be asked any more. */
static void ask_anew(struct rv_hands *h, struct rv_world *w)
{
	bool open = rv_prober_is_open(h->prober);

	rv_hands_proven(h);
	h->asks_health = false;
	if (open && h->service->health &&
		!rv_hands_health(h, w, h->service->health->attempt_timeout + RV_SEC))
		rv_say(RV_WARN, h->service->name, "cannot ask for its health: out of memory");
}

void rv_hands_rebind(struct rv_hands *h, struct rv_world *w, bool tuned)
{
	const struct rv_service *s = h->service, *own = &w->conf->services[s->id];

	rv_capture_owner(h->capture, h->context.who.set_uid ? h->context.who.uid : (uid_t)-1);
	rv_portkeep_rebind(h->keep, own->ports); /* those of a start with options go with it */
	rv_seek_rebind(&h->seek, &s->main_pid);
	if (h->notify)
		rv_notify_rebind(h->notify, s);
	if (h->guest)
		rv_guest_rebind(h->guest, s);
	if (h->prober && h->asks_health && tuned && !h->guest)
		ask_anew(h, w);
	if (h->prober)
		rebind_prober(h);
	if (!h->keep && w->holds && own->port_count) {
		h->keep = rv_portkeep_create(own->ports, own->port_count);
		if (h->lived)
			rv_portkeep_release(h->keep);
	}
}

void rv_hands_reopen(struct rv_hands *h)
{
	const struct rv_service *s = h->service;

	for (size_t i = 0; i < s->listen_count; i++) {
		struct rv_err e;

		if (h->listeners[i])
			continue;
		h->listeners[i] = rv_listener_open(&s->listen[i], s->name, &e);
		if (!h->listeners[i])
			rv_say(RV_ERROR, s->name, "%s; it is tried again when it starts", e.text);
	}
}
