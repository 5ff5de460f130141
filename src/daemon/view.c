/* What can be seen of the engine from outside: see engine.h. */
#include "daemon/pump.h"

#include <signal.h>

#include "base/names.h"
#include "base/text.h"
#include "daemon/tell.h"

const char *rv_pump_name(const struct rv_engine *g, rv_id id)
{
	return id < g->slots && g->hands[id].service ? g->hands[id].service->name : NULL;
}

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
	v.other = rv_pump_name(g, v.look.other);
	if (h->notify && *rv_notify_status(h->notify))
		v.status_text = rv_notify_status(h->notify);
	if (h->service) {
		rv_tell_why(h, &v.look, v.other, &why);
		rv_text_cut(rv_buf_text(&why), g->look_why, sizeof(g->look_why));
		v.detail = g->look_why;
		rv_buf_fini(&why);
	}
	return v;
}

struct rv_look rv_engine_glance(const struct rv_engine *g, rv_id id)
{
	return rv_core_look(g->core, id);
}

const char *rv_engine_name(const struct rv_engine *g, rv_id id)
{
	return g->conf->services[id].name;
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

enum rv_presence rv_engine_presence(const struct rv_engine *g, rv_id id)
{
	return rv_core_presence(g->core, id);
}

enum rv_whole rv_engine_whole(const struct rv_engine *g)
{
	return rv_core_whole(g->core);
}

bool rv_engine_is_settled(const struct rv_engine *g)
{
	return !g->queued && rv_core_deadline(g->core) > 0;
}

const struct rv_envset *rv_engine_env(const struct rv_engine *g)
{
	return g->world.set;
}

const struct rv_account *rv_engine_account(const struct rv_engine *g, rv_id id)
{
	return &g->hands[id].account;
}

rv_time rv_engine_started(const struct rv_engine *g)
{
	return g->began;
}

const struct rv_history *rv_engine_history(const struct rv_engine *g)
{
	return &g->history;
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

const struct rv_suspicion *rv_engine_suspicion(const struct rv_engine *g, rv_id id)
{
	return g->hands[id].suspicion;
}

void rv_engine_reported(struct rv_engine *g, rv_id id, uid_t uid)
{
	rv_suspicion_reported(&g->hands[id], uid);
}

void rv_engine_stopped_by(struct rv_engine *g, rv_id id, uid_t uid)
{
	g->hands[id].stopped_by = uid;
}

uid_t rv_engine_stopper(const struct rv_engine *g, rv_id id)
{
	return g->hands[id].stopped_by;
}

bool rv_engine_waits_for_resume(const struct rv_engine *g, rv_id id)
{
	return (rv_core_look(g->core, id).flags & RV_LOOK_PAUSED) &&
		rv_core_await(g->core, id).what == RV_AWAIT_RESUME;
}

void rv_engine_pause(struct rv_engine *g, rv_id id, bool paused, uid_t uid)
{
	g->hands[id].paused_by[paused] = uid;
	rv_pump_push(g, paused ? RV_EV_PAUSE : RV_EV_RESUME, id, 0);
}

bool rv_engine_signal(struct rv_engine *g, rv_id id, int number, struct rv_err *e)
{
	const struct rv_service *s = id < g->slots ? g->hands[id].service : NULL;

	if (!s)
		return rv_fail(e, RV_ERR_NO_SUCH, "there is no such service");
	if (rv_core_look(g->core, id).state == RV_ADOPTED)
		return rv_fail(e, RV_ERR_REFUSED, "reeve did not start it, and leaves it alone");
	if (!rv_reaper_signal(g->world.reaper, id, number, RV_TO_MAIN))
		return rv_fail(e, RV_ERR_REFUSED, "it does not run");
	return true;
}

struct rv_capture *rv_engine_capture(struct rv_engine *g, rv_id id)
{
	return id < g->slots ? g->hands[id].capture : NULL;
}

/* With a command its status is ours, also when we had to end it. One that never ran has not succeeded: then
   it is the signal's, as if it had come a little later. */
static int status_of_command(const struct rv_engine *g)
{
	rv_exit how = g->hands[g->plan->exit_from].facts.exit;

	if (how != RV_EXIT_UNKNOWN)
		return rv_exit_status(how);
	return 128 + (g->last_signal ? g->last_signal : SIGTERM);
}

int rv_engine_status(const struct rv_engine *g)
{
	switch (g->end) {
	case RV_END_REQUEST: return g->commanded ? status_of_command(g) : 0;
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
