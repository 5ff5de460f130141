/* The hands of one service: see hands.h. */
#include "daemon/hands.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/envset.h"
#include "daemon/given.h"
#include "daemon/pipes.h"
#include "daemon/portkeep.h"
#include "daemon/proc.h"
#include "daemon/say.h"
#include "sys/clock.h"
#include "sys/fd.h"

void rv_hands_note(char **to, const char *format, ...)
{
	va_list ap;
	char *text = NULL;
	int n;

	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	free(*to);
	*to = text;
}

bool rv_hands_renew(struct rv_hands *h, struct rv_world *w)
{
	size_t recipe;
	const char *const *env = rv_lifeenv_base(&w->conf->services[h->service->id], &h->account,
		rv_envset_list(w->set), w->set ? &w->set->arena : &w->arena, &recipe);

	if (!env)
		return false;
	if (!h->given) { /* one with options of its own has it from its next start on */
		h->context.env = env;
		h->env_recipe = recipe;
	}
	h->own_env = env;
	h->own_recipe = recipe;
	h->recipe_is_old = true;
	return true;
}

bool rv_hands_context(struct rv_hands *h, struct rv_world *w, struct rv_err *e)
{
	const struct rv_service *s = h->service;
	struct rv_spawn_limit *limits = NULL;

	if (!rv_ident_resolve(s->user, s->group, s->groups, &w->arena, &h->account, e))
		return rv_fail_in(e, "%s:%u: service %s", s->at.file, s->at.line, s->name);
	if (s->limit_count) {
		limits = rv_arena_array(&w->arena, s->limit_count, sizeof(*limits));
		if (!limits)
			return rv_fail(
				e, RV_ERR_SYSTEM, "cannot prepare %s: out of memory", s->name);
	}
	for (size_t i = 0; i < s->limit_count; i++)
		limits[i] = (struct rv_spawn_limit){
			s->limits[i].resource, s->limits[i].soft, s->limits[i].hard};
	h->context = (struct rv_spawn){.dir = s->working_dir,
		.who = h->account.who,
		.umask = s->has_umask ? (int)s->umask : -1,
		.limits = limits,
		.limit_count = s->limit_count};
	if (!rv_lifeenv_listen(s, h->listen_env, &w->arena))
		return rv_fail(e, RV_ERR_SYSTEM, "cannot prepare %s: out of memory", s->name);
	/* not in memory of the set, which outlives many a conf */
	h->context.env = rv_lifeenv_base(
		s, &h->account, w->conf ? w->conf->variables : NULL, &w->arena, &h->env_recipe);
	h->own_env = h->context.env;
	h->own_recipe = h->env_recipe;
	return h->context.env ||
		rv_fail(e, RV_ERR_SYSTEM, "cannot prepare %s: out of memory", s->name);
}

static bool open_listeners(struct rv_hands *h, struct rv_world *w, struct rv_err *e)
{
	const struct rv_service *s = h->service;

	if (!s->listen_count)
		return true;
	h->listeners = rv_arena_array(&w->arena, s->listen_count, sizeof(struct rv_listener *));
	if (!h->listeners)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot prepare %s: out of memory", s->name);
	for (size_t i = 0; i < s->listen_count; i++) {
		h->listeners[i] = rv_listener_open(&s->listen[i], s->name, e);
		if (!h->listeners[i])
			return false;
	}
	return true;
}

bool rv_hands_open(
	struct rv_hands *h, struct rv_world *w, const struct rv_service *s, struct rv_err *e)
{
	*h = (struct rv_hands){.service = s, .facts.exit = RV_EXIT_UNKNOWN};
	if (!rv_hands_context(h, w, e) || !open_listeners(h, w, e))
		return false;
	if (!rv_ident_can_signal(&h->context.who))
		rv_say(RV_WARN, s->name, RV_CANNOT_SIGNAL, s->user);
	if (w->holds && s->port_count)
		h->keep = rv_portkeep_create(s->ports, s->port_count);
	h->capture = rv_capture_open(w->loop, &s->log, s->name, e);
	if (!h->capture)
		return rv_fail_in(e,
			"service %s: log (keys log.file of the service, log.dir of reeve)",
			s->name);
	if (h->context.who.set_uid)
		rv_capture_owner(h->capture, h->context.who.uid);
	return true;
}

void rv_hands_close(struct rv_hands *h)
{
	if (!h->service)
		return;
	rv_prober_destroy(h->prober);
	rv_guest_destroy(h->guest);
	rv_portkeep_destroy(h->keep);
	rv_notify_destroy(h->notify);
	rv_capture_close(h->capture);
	for (size_t i = 0; h->listeners && i < h->service->listen_count; i++)
		rv_listener_close(h->listeners[i]);
	rv_suspicion_free(h->suspicion);
	free(h->why);
	free(h->probe_why);
	free(h->stranger);
	rv_fresh_destroy(h->fresh);
	rv_given_destroy(h->given);
	rv_given_destroy(h->given_next);
	assert(!h->given_asked); /* who asked has gone before, or was told */
	rv_seek_fini(&h->seek);
	*h = (struct rv_hands){0};
}

/* All are, unless a reload could not open one. */
static bool have_listeners(struct rv_hands *h, struct rv_err *e)
{
	const struct rv_service *s = h->service;

	for (size_t i = 0; i < s->listen_count; i++) {
		if (!h->listeners[i])
			h->listeners[i] = rv_listener_open(&s->listen[i], s->name, e);
		if (!h->listeners[i])
			return false;
	}
	return true;
}

static size_t collect_fds(struct rv_hands *h, int ready_fd, struct rv_spawn_fd *fds)
{
	const struct rv_service *s = h->service;
	size_t n = 0;

	for (; n < s->listen_count; n++)
		fds[n] = (struct rv_spawn_fd){rv_listener_fd(h->listeners[n]), s->listen[n].fd};
	if (ready_fd >= 0)
		fds[n++] = (struct rv_spawn_fd){ready_fd, s->ready.fd};
	return n;
}

/* What must exist before the exec and be settled after it, whether it worked or not. */
static bool spawn(struct rv_hands *h, struct rv_world *w, struct rv_spawn *sp, uint64_t generation,
	const char *mark, struct rv_err *e)
{
	struct rv_spawned out;
	bool ok;

	rv_portkeep_release(h->keep);
	ok = rv_spawn(sp, &out, e);
	if (!ok)
		rv_portkeep_hold(h->keep);
	if (ok) {
		rv_reaper_add_life(w->reaper, h->service->id, generation, out.pid, mark);
		if (h->service->type == RV_LAUNCHER)
			rv_reaper_expect_heir(w->reaper, h->service->id);
		rv_reaper_note_output(w->reaper, h->service->id, sp->out);
		h->facts.pid = out.pid;
		h->lived = true;
	}
	rv_capture_spawned(h->capture);
	if (h->prober)
		rv_prober_spawned(h->prober);
	if (h->notify && ok)
		rv_notify_spawned(h->notify, out.pid);
	rv_pipe_stock();
	for (size_t i = 0; !ok && i < h->service->listen_count; i++)
		if (!rv_listener_life_ended(h->listeners[i], NULL))
			rv_say(RV_WARN, h->service->name, "a listener is still open");
	return ok;
}

static void forget_proof(struct rv_hands *h)
{
	rv_prober_destroy(h->prober);
	h->prober = NULL;
	h->asks_health = false;
	free(h->stranger);
	h->stranger = NULL;
	free(h->probe_why);
	h->probe_why = NULL;
	h->waits = NULL;
}

bool rv_hands_prove(
	struct rv_hands *h, struct rv_world *w, const struct rv_check *check, struct rv_err *e)
{
	forget_proof(h);
	h->prober = rv_prober_create(
		&w->prober, h->service, h->facts.generation, check, &h->context);
	if (!h->prober)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot start: out of memory");
	return true;
}

/* What proves this life, and its descriptor for the child: -1 when it has none. */
static bool make_prober(struct rv_hands *h, struct rv_world *w, int *ready_fd, struct rv_err *e)
{
	const struct rv_service *s = h->service;

	*ready_fd = -1;
	forget_proof(h);
	if (!s->has_ready)
		return true;
	if (!rv_hands_prove(h, w, &s->ready, e))
		return false;
	if (s->ready.log_regex)
		rv_prober_listen(h->prober, h->capture);
	if (s->ready.has_fd)
		*ready_fd = rv_prober_fd(h->prober, e);
	return !s->ready.has_fd || *ready_fd >= 0;
}

/* Where this life may speak of itself; replaces the variable, whoever set it. */
static bool make_notify(
	struct rv_hands *h, struct rv_world *w, struct rv_lifeenv *env, struct rv_err *e)
{
	const struct rv_service *s = h->service;

	if (!s->ready.notify)
		return true;
	rv_notify_destroy(h->notify);
	h->notify = rv_notify_open(&w->notify, s, h->facts.generation, &h->context.who, e);
	if (!h->notify)
		return rv_fail_in(e, "cannot start");
	rv_lifeenv_put(env, rv_notify_variable(h->notify));
	return true;
}

/* The command of `reeve -- CMD` has our own, which may be a terminal; all others are captured. */
static bool give_output(struct rv_hands *h, struct rv_spawn *sp, struct rv_err *e)
{
	if (!h->service->is_command)
		return rv_capture_begin(h->capture, &sp->out, &sp->err, e);
	sp->our_stdin = true;
	sp->out = STDOUT_FILENO;
	sp->err = STDERR_FILENO;
	return true;
}

bool rv_hands_start(struct rv_hands *h, struct rv_world *w, uint64_t generation,
	const struct rv_recipe *recipe, struct rv_err *e)
{
	const struct rv_service *s = h->service;
	struct rv_spawn sp = h->context;
	rv_auto_lifeenv struct rv_lifeenv env = {0};
	rv_auto_free struct rv_spawn_fd *fds = calloc(s->listen_count + 1, sizeof(*fds));
	char mark[sizeof("REEVE_INVOCATION_ID=") + RV_MARK_SIZE];
	int ready_fd;

	if (!rv_lifeenv_begin(&env, h->env_recipe, sp.env, h->listen_env, recipe) || !fds)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot start: out of memory");
	if (s->type == RV_LAUNCHER && !rv_seek_begin(&h->seek, &s->main_pid, recipe))
		return rv_fail(e, RV_ERR_SYSTEM, "cannot start: out of memory");
	h->facts = (struct rv_facts){.generation = generation,
		.started = rv_now(),
		.attempt = h->facts.attempt + 1,
		.exit = RV_EXIT_UNKNOWN};
	if (!have_listeners(h, e) || !make_prober(h, w, &ready_fd, e))
		return false;
	if (!make_notify(h, w, &env, e))
		return false;
	snprintf(mark, sizeof(mark), "REEVE_INVOCATION_ID=%s-%u-%" PRIu64, w->boot_id, s->id,
		generation);
	env.vars[env.n] = mark;
	sp.env = env.vars;
	sp.argv = s->command || !recipe || !recipe->argv ? s->argv : recipe->argv;
	sp.fds = fds;
	sp.fd_count = collect_fds(h, ready_fd, fds);
	if (!sp.argv)
		rv_fail(e, RV_ERR_START, "cannot start: the plugin %s gave no command", s->plugin);
	if (sp.argv && give_output(h, &sp, e) &&
		spawn(h, w, &sp, generation, strchr(mark, '=') + 1, e))
		return true;
	rv_notify_close(h->notify);
	return false;
}

enum rv_sought rv_hands_seek(struct rv_hands *h, struct rv_world *w)
{
	struct rv_err why;
	pid_t pid = 0;
	enum rv_sought got = rv_seek_try(&h->seek, h->service, w->reaper, &pid, &why);

	if (got != RV_SOUGHT_FOUND) {
		rv_given_note(h, &h->probe_why, why.text);
		return got;
	}
	free(h->probe_why);
	h->probe_why = NULL;
	h->facts.pid = h->facts.daemon = pid;
	if (h->notify)
		rv_notify_spawned(h->notify, pid);
	h->facts.exit = RV_EXIT_UNKNOWN;
	rv_say(RV_DEBUG, h->service->name, "its daemon is pid %d", (int)pid);
	return got;
}

void rv_hands_exited(struct rv_hands *h, rv_exit how)
{
	if (h->service->type == RV_LAUNCHER && how == 0 && !h->facts.daemon)
		h->facts.launched = true;
	h->facts.exit = how;
	h->facts.pid = 0;
	if (h->notify)
		rv_notify_drain(h->notify);
	rv_capture_drain(h->capture);
}

void rv_hands_followed(struct rv_hands *h, pid_t pid)
{
	h->facts.pid = pid;
	rv_notify_spawned(h->notify, pid);
	rv_say(RV_INFO, h->service->name, "its main process is pid %d from now on, as it says",
		(int)pid);
}

void rv_hands_gone(struct rv_hands *h)
{
	rv_prober_destroy(h->prober);
	h->prober = NULL;
	rv_notify_close(h->notify);
	rv_portkeep_hold(h->keep);
	for (size_t i = 0; i < h->service->listen_count; i++) {
		struct rv_err e;

		if (h->listeners[i] && !rv_listener_life_ended(h->listeners[i], &e))
			rv_say(RV_WARN, h->service->name, "%s", e.text);
	}
}

void rv_hands_learn(struct rv_hands *h)
{
	const char *late = h->prober ? rv_prober_late(h->prober) : NULL;

	if (late) /* newer than what the last answer was */
		rv_given_note(h, &h->probe_why, late);
}

void rv_hands_unanswered(struct rv_hands *h)
{
	if (!h->prober)
		return;
	h->waits = rv_prober_asks(h->prober);
	rv_hands_learn(h);
	rv_prober_cancel(h->prober);
}

void rv_hands_proven(struct rv_hands *h)
{
	rv_prober_destroy(h->prober);
	h->prober = NULL;
}

/* The core takes no answer within the period for a bad one: what cannot be asked has to be told a little before. */
static rv_time health_bound(rv_time wanted, rv_time period)
{
	rv_time spare = period / 10;

	spare = spare > 100 * RV_MS ? 100 * RV_MS : spare < 5 * RV_MS ? 5 * RV_MS : spare;
	if (period <= 20 * RV_MS)
		spare = 0;
	return wanted < period - spare ? wanted : period - spare;
}

bool rv_hands_health(struct rv_hands *h, struct rv_world *w, rv_time bound)
{
	const struct rv_check *check = h->service->health;
	rv_time attempt;

	if (!h->asks_health)
		rv_hands_proven(h);
	if (!h->prober)
		h->prober = rv_prober_create(
			&w->prober, h->service, h->facts.generation, check, &h->context);
	if (!h->prober)
		return false;
	h->asks_health = true;
	h->waits = NULL;
	attempt = health_bound(check->attempt_timeout, bound);
	rv_prober_patience(h->prober, bound - attempt - 2 * RV_MS);
	rv_prober_attempt(h->prober, attempt);
	return true;
}
