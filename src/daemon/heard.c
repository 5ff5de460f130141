/* What the world tells, as events for the core: processes that ended, answers of checks and hooks, signals. */
#include "daemon/pump.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "daemon/envchange.h"
#include "daemon/envset.h"
#include "daemon/given.h"
#include "daemon/place.h"
#include "daemon/say.h"
#include "sys/clock.h"
#include "sys/fd.h"

void rv_pump_feed(struct rv_engine *g, rv_time now)
{
	for (size_t i = 0; i < g->queued; i++)
		rv_core_apply(g->core, now, &g->queue[i], &g->out);
	g->queued = 0;
}

/* A full queue goes to the core at once: that only notes it, so no memory is needed and nothing is lost. */
void rv_engine_push(struct rv_engine *g, const struct rv_event *e)
{
	if (g->queued == g->queue_room)
		rv_pump_feed(g, rv_now());
	g->queue[g->queued++] = *e;
}

void rv_pump_push(struct rv_engine *g, enum rv_event_kind kind, rv_id id, uint64_t generation)
{
	rv_engine_push(g,
		&(struct rv_event){.kind = (uint8_t)kind,
			.id = id,
			.generation = generation,
			.exit = RV_EXIT_UNKNOWN});
}

void rv_pump_verdict(struct rv_engine *g, enum rv_event_kind kind, rv_id id, uint64_t generation,
	enum rv_hook hook, enum rv_verdict v)
{
	rv_engine_push(g,
		&(struct rv_event){.kind = (uint8_t)kind,
			.verdict = (uint8_t)v,
			.hook = (uint8_t)hook,
			.id = id,
			.generation = generation,
			.exit = RV_EXIT_UNKNOWN});
}

void rv_pump_note(const struct rv_engine *g, const struct rv_hands *h, char **to, const char *text)
{
	struct rv_buf shown = {0};

	if (g->world.set)
		rv_env_hide(g, text, &shown);
	rv_given_note(h, to, g->world.set ? rv_buf_text(&shown) : text);
	rv_buf_fini(&shown);
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
	rv_pump_push(g, RV_EV_GONE, id, generation);
}

/* Nobody is there any more, so that nothing has to be asked a second time. */
static void on_guest_gone(void *ctx, rv_id id)
{
	struct rv_engine *g = ctx;
	struct rv_hands *h = &g->hands[id];

	if (!h->guest)
		return;
	rv_hands_note(&h->why, "%s had port %u and is gone", rv_guest_text(h->guest),
		rv_guest_port(h->guest));
	rv_pump_push(g, RV_EV_EXITED, id, h->facts.generation);
}

static void guest_refused(const struct rv_engine *g, struct rv_hands *h, const char *why)
{
	rv_auto_free char *said = NULL;

	rv_pump_note(g, h, &said, why);
	rv_hands_note(&h->probe_why, "%s (port %u is listened on by %s)", said ? said : "",
		rv_guest_port(h->guest), rv_guest_text(h->guest));
}

static void guest_probed(
	struct rv_engine *g, struct rv_hands *h, enum rv_verdict v, const char *why)
{
	rv_id id = h->service->id;

	if (rv_core_look(g->core, id).state == RV_ADOPTED && v == RV_RETRY &&
		!(h->prober && rv_prober_unsure(h->prober)))
		v = RV_FAIL;
	if (v == RV_OK)
		rv_hands_note(&h->probe_why, "%s", "");
	else
		guest_refused(g, h, why);
	if (v != RV_OK && !rv_guest_is_there(h->guest))
		on_guest_gone(g, id);
	else
		rv_pump_verdict(g, RV_EV_PROVED, id, h->facts.generation, RV_HOOK_PROBE, v);
	h->facts.pid = rv_guest_pid(h->guest);
}

/* The good answer is the usual one: it costs no memory. */
static void health_probed(
	struct rv_engine *g, struct rv_hands *h, enum rv_verdict v, const char *why)
{
	if (v != RV_OK)
		v = h->prober && rv_prober_unsure(h->prober) ? RV_RETRY : RV_FAIL;
	if (v == RV_FAIL || (v == RV_OK && h->probe_why && *h->probe_why))
		rv_pump_note(g, h, &h->probe_why, v == RV_OK ? "" : why);
	rv_pump_verdict(g, RV_EV_HEALTH, h->service->id, h->facts.generation, RV_HOOK_PROBE, v);
}

static void on_probe(void *ctx, rv_id id, uint64_t generation, enum rv_verdict v, const char *why)
{
	struct rv_engine *g = ctx;
	struct rv_err e;

	if (!is_present(g, id, generation))
		return;
	if (g->hands[id].guest) {
		guest_probed(g, &g->hands[id], v, why);
		return;
	}
	if (g->hands[id].asks_health) {
		health_probed(g, &g->hands[id], v, why);
		return;
	}
	/* Not for ever: a stranger may go, and if the service gives up its exit says more. */
	if (v == RV_OK && !rv_place_is_own(&g->hands[id], &g->world, &e)) {
		v = RV_RETRY;
		why = e.text;
	}
	rv_pump_note(g, &g->hands[id], &g->hands[id].probe_why, why);
	rv_pump_verdict(g, RV_EV_PROVED, id, generation, RV_HOOK_PROBE, v);
}

/* Nobody would tell it the sandbox's variables, and nobody would know. */
static bool may_adopt(const struct rv_engine *g, struct rv_hands *h, uint64_t generation,
	uint16_t port, struct rv_err *e)
{
	if (!rv_envset_list(g->world.set) ||
		!(g->plan->node[h->service->id].hooks & RV_HAS(RV_HOOK_UPDATE)))
		return true;
	h->facts.generation = generation;
	return rv_fail(e, RV_ERR_START,
		"cannot adopt who listens on port %u: reeve tells the sandbox's variables only to "
		"what "
		"it has started",
		port);
}

/* Starts it, or finds that somebody else has its place. SPAWN_FAILED: e says why. */
static enum rv_event_kind begin(struct rv_engine *g, struct rv_hands *h, uint64_t generation,
	const struct rv_recipe *r, struct rv_err *e)
{
	struct rv_tenant tenant;
	uint16_t port;

	if (h->given && !rv_given_recipe(g, h->service->id, r, e))
		return RV_EV_SPAWN_FAILED;
	switch (rv_place_look(h, &g->world, &tenant, &port, e)) {
	case RV_PLACE_FREE:
		if (rv_hands_start(h, &g->world, generation, r, e))
			return RV_EV_SPAWNED;
		break;
	case RV_PLACE_GUEST:
		if (!may_adopt(g, h, generation, port, e))
			break;
		if (rv_place_adopt(h, &g->world, generation, &tenant, port, on_guest_gone, g, e))
			return RV_EV_ADOPTED;
		break;
	case RV_PLACE_TAKEN: h->facts.generation = generation; break;
	}
	return RV_EV_SPAWN_FAILED;
}

void rv_pump_start(struct rv_engine *g, rv_id id, uint64_t generation, const struct rv_recipe *r)
{
	struct rv_hands *h = &g->hands[id];
	struct rv_err e;
	enum rv_event_kind what;

	h->unused = r ? r->unused : h->service->unused;
	what = begin(g, h, generation, r, &e);

	if (what == RV_EV_SPAWN_FAILED) {
		rv_pump_note(g, h, &h->why, e.text);
	} else {
		free(h->why); /* of an earlier try */
		h->why = NULL;
	}
	rv_pump_push(g, what, id, generation);
}

void rv_pump_refuse(struct rv_engine *g, rv_id id, uint64_t generation, const char *why)
{
	g->hands[id].facts.generation = generation;
	rv_pump_note(g, &g->hands[id], &g->hands[id].why, why);
	rv_pump_push(g, RV_EV_SPAWN_FAILED, id, generation);
}

/* Its next start needs not be asked for, unless the variables have changed since it was. */
static void keep_recipe(const struct rv_engine *g, struct rv_hands *h, const struct rv_recipe *r)
{
	bool same = r->is_static || (!r->argv && !r->env);

	if (!h->service->argv_is_static || !h->recipe_is_old || !same ||
		h->asked_of != g->world.set_number)
		return;
	rv_fresh_destroy(h->fresh);
	h->fresh = rv_fresh_create(r);
	h->fresh_of = h->asked_of;
}

static void on_answer(void *ctx, const struct rv_host_answer *a)
{
	struct rv_engine *g = ctx;
	struct rv_hands *h;

	if (a->id >= g->slots || !g->hands[a->id].service)
		return;
	h = &g->hands[a->id];
	if (a->hook == RV_HOOK_START) {
		h->asking = false;
		/* What the hook has done is the cleanup hook's matter; a process would only have to go again. */
		if (!rv_core_may_start(g->core, a->id))
			rv_pump_refuse(g, a->id, a->generation, "not started: it has to stop");
		else if (a->verdict == RV_OK) {
			rv_pump_start(g, a->id, a->generation, &a->recipe);
			keep_recipe(g, h, &a->recipe);
		} else
			rv_pump_refuse(g, a->id, a->generation, a->why);
		return;
	}
	if (!is_present(g, a->id, a->generation))
		return;
	if (a->hook == RV_HOOK_PROBE) {
		if (h->prober)
			rv_prober_answer(h->prober, a);
		return;
	}
	if (a->hook == RV_HOOK_CONFIRM) {
		rv_suspicion_answered(g, h, a);
		return;
	}
	if (a->verdict != RV_OK) {
		rv_pump_note(g, h, &h->probe_why, *a->why ? a->why : "failed without a word");
		rv_say(RV_WARN, h->service->name, "%s hook: %s", rv_hook_name(a->hook),
			h->probe_why ? h->probe_why : "");
		if (a->hook == RV_HOOK_UPDATE)
			rv_env_refused(g, a->id, h->probe_why ? h->probe_why : "");
	}
	if (a->verdict == RV_OK && a->hook == RV_HOOK_UPDATE && *a->why) {
		rv_auto_free char *said = NULL;

		rv_pump_note(g, h, &said, a->why);
		rv_say(RV_WARN, h->service->name, "%s hook: %s", rv_hook_name(a->hook),
			said ? said : "");
	}
	rv_pump_verdict(g, RV_EV_HOOK_DONE, a->id, a->generation, a->hook, a->verdict);
}

static void on_disabled(void *ctx, const char *plugin, bool disabled)
{
	struct rv_engine *g = ctx;

	if (!disabled)
		rv_say(RV_INFO, NULL, "plugin %s is used again", plugin);
	for (rv_id id = 0; id < g->slots; id++) {
		const struct rv_service *s = g->hands[id].service;

		if (!s || strcmp(s->plugin, plugin) != 0)
			continue;
		if (disabled) /* the words of every start that the core refuses from now on */
			rv_hands_note(&g->hands[id].why,
				"plugin %s is disabled until a reload, or the next start of reeve: "
				"it ended the "
				"plugin host three times within a minute",
				plugin);
		rv_pump_verdict(
			g, RV_EV_DISABLED, id, 0, RV_HOOK_START, disabled ? RV_FAIL : RV_OK);
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

static void on_notified(void *ctx, rv_id id, uint64_t generation)
{
	struct rv_engine *g = ctx;

	if (is_present(g, id, generation) && g->hands[id].prober)
		rv_prober_notified(g->hands[id].prober);
}

static void on_quits(void *ctx, rv_id id, uint64_t generation)
{
	rv_pump_push(ctx, RV_EV_QUITS, id, generation);
}

static void on_extend(void *ctx, rv_id id, uint64_t generation, rv_time more)
{
	rv_engine_push(ctx,
		&(struct rv_event){.kind = RV_EV_EXTEND,
			.id = id,
			.generation = generation,
			.exit = RV_EXIT_UNKNOWN,
			.time = more});
}

static void on_main_pid(void *ctx, rv_id id, uint64_t generation, pid_t pid)
{
	struct rv_engine *g = ctx;

	/* The end of a task, and that of a launcher, is what they are run for. */
	if (is_present(g, id, generation) && g->hands[id].service->type == RV_DAEMON &&
		rv_reaper_follow(g->world.reaper, id, pid))
		rv_hands_followed(&g->hands[id], pid);
}

void rv_heard_follow(void *ctx, rv_id id, uint64_t generation, pid_t pid)
{
	struct rv_engine *g = ctx;

	if (is_present(g, id, generation) && g->hands[id].notify)
		rv_hands_followed(&g->hands[id], pid);
}

/* With a command all signals but TERM are its own. An INT that it cannot take, because it does not run
   or because reeve is ending, is meant for us: the first and the second one, like any. */
static bool is_for_command(struct rv_engine *g, int number)
{
	bool ending = g->stop_signals || rv_core_closing(g->core);
	struct rv_err e;

	if (!g->commanded || number == SIGTERM || (number == SIGINT && ending))
		return false;
	/* What a terminal sends goes to a whole foreground group: the shell and what it waits for. */
	if (number == SIGINT || number == SIGQUIT)
		return rv_reaper_signal(g->world.reaper, g->plan->exit_from, number, RV_TO_GROUP) ||
			number != SIGINT;
	rv_engine_signal(g, g->plan->exit_from, number, &e);
	return true;
}

bool rv_engine_signalled(struct rv_engine *g, int number)
{
	if (is_for_command(g, number))
		return false;
	if (number != SIGTERM && number != SIGINT)
		return number == SIGHUP;
	g->last_signal = number;
	if (++g->stop_signals == 1)
		rv_say(RV_INFO, NULL, "SIG%s: stopping; a second one kills everything at once",
			rv_signal_name(number));
	else
		rv_say(RV_WARN, NULL, "SIG%s again: killing everything", rv_signal_name(number));
	rv_pump_push(g, g->stop_signals == 1 ? RV_EV_SHUTDOWN : RV_EV_FORCE, RV_NO_ID, 0);
	return false;
}

void rv_engine_children(struct rv_engine *g)
{
	g->children_ended = true;
}

const struct rv_reaper_ops rv_heard_of_reaper = {on_exited, on_gone};
const struct rv_hostlink_ops rv_heard_of_host = {on_answer, on_disabled, on_context};
const struct rv_prober_ops rv_heard_of_prober = {on_probe};
const struct rv_notify_ops rv_heard_of_notify = {on_notified, on_quits, on_extend, on_main_pid};
