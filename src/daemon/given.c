/* Options of one request: see given.h. */
#include "daemon/given.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "daemon/envset.h"
#include "daemon/pump.h"
#include "daemon/say.h"
#include "wire/json.h"

struct rv_given {
	struct rv_variant variant;
	struct rv_mask *mask; /* NULL: memory was refused, then nothing is shown */
	struct rv_arena life; /* ports and environment of the present life */
	/* while the plugin is asked */
	struct rv_engine *engine;
	struct rv_host_http *ask;
	bool restart;
	bool (*given)(void *arg, const char *why);
	void *arg;
};

#define TRY_TIMEOUT (5 * RV_SEC)

void rv_given_destroy(struct rv_given *v)
{
	if (!v)
		return;
	rv_mask_destroy(v->mask);
	rv_arena_wipe(&v->life);
	rv_variant_fini(&v->variant);
	free(v);
}

/* ---- taking effect ---- */

static void take_own_env(struct rv_hands *h)
{
	h->context.env = h->own_env;
	h->env_recipe = h->own_recipe;
}

/* Nothing of its life is left, so nobody looks at the service that goes. */
static void put_in_force(struct rv_engine *g, rv_id id, struct rv_given *v)
{
	struct rv_hands *h = &g->hands[id];
	struct rv_given *old = h->given;

	rv_prober_destroy(h->prober);
	rv_notify_destroy(h->notify);
	h->prober = NULL;
	h->notify = NULL;
	h->given = v;
	h->service = v ? &v->variant.s : &g->conf->services[id];
	if (!v && old)
		take_own_env(h);
	rv_hostlink_vary(g->world.host, id, v ? h->service : NULL);
	rv_given_destroy(old);
}

void rv_given_turn(struct rv_engine *g, rv_id id)
{
	struct rv_hands *h = &g->hands[id];
	struct rv_given *next = h->given_next;

	h->given_changes = false;
	h->given_next = NULL;
	if (next || h->given)
		put_in_force(g, id, next);
}

void rv_given_settle(struct rv_engine *g, rv_id id, enum rv_state state)
{
	bool idle = state == RV_STOPPED || state == RV_EXITED || state == RV_FAILED;

	if (idle && !g->hands[id].given_next)
		rv_given_turn(g, id);
}

/* ---- the recipe ---- */

static const char *owner_of(const struct rv_engine *g, rv_id but, uint16_t port)
{
	for (rv_id id = 0; id < g->slots; id++) {
		const struct rv_service *s = g->hands[id].service;

		if (!s || id == but)
			continue;
		for (size_t i = 0; i < s->port_count; i++)
			if (s->ports[i] == port)
				return s->name;
		for (size_t i = 0; i < s->listen_count; i++)
			if (s->listen[i].family != RV_UNIX && s->listen[i].port == port)
				return s->name;
	}
	return NULL;
}

static bool has_port(const struct rv_variant *v, size_t n, uint16_t port)
{
	for (size_t i = 0; i < n; i++)
		if (v->s.ports[i] == port)
			return true;
	return false;
}

static bool take_ports(
	struct rv_engine *g, struct rv_given *v, const struct rv_recipe *r, struct rv_err *e)
{
	size_t n = v->variant.port_count, more = r ? r->port_count : 0;
	uint16_t *ports = rv_arena_array(&v->life, n + more, sizeof(*ports));

	if (!ports)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot start: out of memory");
	if (n)
		memcpy(ports, v->variant.ports, n * sizeof(*ports));
	v->variant.s.ports = ports;
	for (size_t i = 0; i < more; i++) {
		const char *owner = owner_of(g, v->variant.s.id, r->ports[i]);

		if (owner)
			return rv_fail(
				e, RV_ERR_START, "port %u is that of %s", r->ports[i], owner);
		if (!has_port(&v->variant, n, r->ports[i]))
			ports[n++] = r->ports[i];
	}
	v->variant.s.port_count = n;
	return true;
}

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* The sandbox's variables may change while this life goes on. */
static const char *const *copy(struct rv_arena *a, const char *const *list)
{
	const char **to = list ? rv_arena_array(a, count(list) + 1, sizeof(*to)) : NULL;

	for (size_t i = 0; to && list[i]; i++)
		to[i] = rv_arena_strdup(a, list[i]);
	return to;
}

/* Commands of the service have them, too, as they have those of a configuration. */
static bool take_env(struct rv_hands *h, struct rv_given *v, const char *const *variables,
	const struct rv_recipe *r, struct rv_err *e)
{
	size_t weak = 0, n, more = r ? count(r->env) : 0;
	const char *const *base = rv_lifeenv_base(
		&v->variant.s, &h->account, copy(&v->life, variables), &v->life, &weak);
	const char **env;
	const char **own = rv_arena_array(&v->life, more + 1, sizeof(*own));
	struct rv_recipe mine = {.env = own};

	n = count(base);
	env = rv_arena_array(&v->life, n + more + 1, sizeof(*env));
	if (base && env && own) {
		/* copied: they go on with the life when a reload replaces the conf */
		for (size_t i = 0; i < n; i++)
			env[i] = rv_arena_strdup(&v->life, base[i]);
		for (size_t i = 0; i < more; i++)
			own[i] = rv_arena_strdup(&v->life, r->env[i]);
		if (!v->life.full)
			rv_lifeenv_add_recipe(weak, &mine, env, &n);
	}
	if (v->life.full)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot start: out of memory");
	h->context.env = env;
	h->env_recipe = weak;
	return true;
}

bool rv_given_recipe(struct rv_engine *g, rv_id id, const struct rv_recipe *r, struct rv_err *e)
{
	struct rv_hands *h = &g->hands[id];
	struct rv_given *v = h->given;

	h->context.env = v->variant.env;
	rv_arena_wipe(&v->life);
	return take_ports(g, v, r, e) && take_env(h, v, rv_envset_list(g->world.set), r, e);
}

/* Ports and environment of the life are in memory of its own. False: they cannot go on. */
static bool go_on(struct rv_given *v, const struct rv_conf *conf)
{
	const uint16_t *ports = v->variant.s.ports;
	bool own = ports != v->variant.ports;
	size_t count = v->variant.s.port_count;
	struct rv_variant fresh;

	if (!rv_variant_again(&fresh, &v->variant, conf))
		return false;
	rv_mask_destroy(v->mask);
	rv_variant_fini(&v->variant);
	v->variant = fresh;
	v->mask = rv_variant_mask(&v->variant);
	if (own) {
		v->variant.s.ports = ports;
		v->variant.s.port_count = count;
	}
	return true;
}

void rv_given_go_on(struct rv_engine *g, rv_id id)
{
	struct rv_hands *h = &g->hands[id];
	bool has_no_life = h->given && h->context.env == h->given->variant.env;

	if (h->given_next && !go_on(h->given_next, g->conf)) {
		rv_given_destroy(h->given_next);
		h->given_next = NULL;
	}
	if (!h->given)
		return;
	if (go_on(h->given, g->conf)) {
		h->service = &h->given->variant.s;
		if (has_no_life) /* its start was refused before it had an environment */
			h->context.env = h->given->variant.env;
		rv_hostlink_vary(g->world.host, id, h->service);
		return;
	}
	rv_say(RV_WARN, h->service->name,
		"the options that its start was given are forgotten: the new configuration does "
		"not "
		"take them");
	rv_hostlink_vary(g->world.host, id, NULL);
	take_own_env(h);
	if (h->prober) /* it may yet have to take back a question */
		rv_prober_rebind(h->prober, h->service, NULL, &h->context);
	rv_given_destroy(h->given);
	h->given = NULL;
}

void rv_given_refuse(struct rv_engine *g, rv_id id, const char *why)
{
	struct rv_given *v = g->hands[id].given_asked;

	if (!v)
		return;
	rv_hostlink_get_drop(g->world.host, v->ask);
	g->hands[id].given_asked = NULL;
	v->given(v->arg, why);
	rv_given_destroy(v);
}

void rv_given_mask(const struct rv_hands *h, const char *text, struct rv_buf *to)
{
	struct rv_buf shown = {0};

	if (h->service->mask)
		rv_mask_add(h->service->mask, text, &shown);
	else
		rv_buf_str(&shown, text);
	if (!h->given)
		rv_buf_add(to, rv_buf_text(&shown), shown.len);
	else if (h->given->mask)
		rv_mask_add(h->given->mask, rv_buf_text(&shown), to);
	rv_buf_fini(&shown);
}

void rv_given_note(const struct rv_hands *h, char **to, const char *text)
{
	struct rv_buf shown = {0};

	if (!h->given && !h->service->mask) {
		rv_hands_note(to, "%s", text);
		return;
	}
	rv_given_mask(h, text, &shown);
	rv_hands_note(to, "%s", rv_buf_text(&shown));
	rv_buf_fini(&shown);
}

/* ---- requests ---- */

static bool is_up(enum rv_state s)
{
	return s == RV_STARTING || s == RV_READY || s == RV_UNHEALTHY || s == RV_STOPPING ||
		s == RV_KILLING;
}

static bool may_start(
	const struct rv_engine *g, rv_id id, bool restart, const char *name, struct rv_buf *why)
{
	enum rv_state state = rv_core_look(g->core, id).state;

	if (state == RV_ADOPTED)
		rv_buf_str(why, "reeve did not start it, so it cannot give it options");
	else if (is_up(state) && !restart)
		rv_buf_fmt(why,
			"it is %s, and options are for a start: stop it first, or use `reevectl "
			"restart %s --option ...`",
			rv_state_name(state), name);
	return !why->len;
}

/* One sentence of all lines. */
static void join(const struct rv_complaints *c, struct rv_buf *why)
{
	for (const char *line = rv_buf_text(&c->text); *line;) {
		int n = (int)strcspn(line, "\n");

		rv_buf_fmt(why, "%s%.*s", why->len ? "; " : "", n, line);
		line += n + (line[n] == '\n');
	}
}

static void check_json(const struct rv_variant *v, struct rv_buf *why)
{
	for (size_t i = 0; i < v->s.option_count; i++) {
		const struct rv_option *o = &v->s.options[i];

		if (o->from == RV_FROM_START && rv_key_is_json(o->key->type) &&
			!rv_json_is_value(o->value))
			rv_buf_fmt(why, "%soption %s must be JSON", why->len ? "; " : "",
				o->key->name);
	}
}

static void give(struct rv_hands *h, struct rv_given *next)
{
	rv_given_destroy(h->given_next);
	h->given_next = next;
	h->given_changes = true;
}

/* What the core does with a life hangs on its type, which one start cannot change. */
static bool keeps_type(const struct rv_variant *v, const struct rv_recipe *r, struct rv_buf *why)
{
	static const char *const names[] = {"daemon", "task", "launcher"};
	unsigned type = r->type ? r->type - 1u : RV_DAEMON;

	if (v->typed || !r->argv || type == (unsigned)v->s.type)
		return true;
	rv_buf_fmt(why,
		"with these options it would be a %s, and it is a %s: write them into the "
		"configuration",
		names[type], names[v->s.type]);
	return false;
}

/* The plugin has its word last: it knows what a value means. */
static void on_tried(void *arg, enum rv_verdict v, const char *refusal, const struct rv_recipe *r)
{
	struct rv_given *one = arg;
	struct rv_engine *g = one->engine;
	rv_id id = one->variant.s.id;
	struct rv_buf why = {0};
	struct rv_err e;

	one->ask = NULL;
	g->hands[id].given_asked = NULL;
	if (v != RV_OK && one->mask)
		rv_mask_add(one->mask, refusal, &why);
	else if (v == RV_OK && may_start(g, id, one->restart, one->variant.s.name, &why) &&
		keeps_type(&one->variant, r, &why) && !take_ports(g, one, r, &e))
		rv_buf_str(&why, e.text);
	if (v != RV_OK && !why.len)
		rv_buf_str(&why, "its plugin refuses these options");
	if (why.len) {
		one->given(one->arg, rv_buf_text(&why));
		rv_given_destroy(one);
	} else if (one->given(one->arg, NULL)) {
		give(&g->hands[id], one);
	} else {
		rv_given_destroy(one);
	}
	rv_buf_fini(&why);
}

static bool ask_plugin(struct rv_engine *g, rv_id id, struct rv_given *v, struct rv_buf *why)
{
	if (rv_hostlink_is_disabled(g->world.host, v->variant.s.plugin)) {
		rv_buf_fmt(why, "plugin %s is disabled", v->variant.s.plugin);
		return false;
	}
	g->hands[id].given_asked = v;
	v->ask = rv_hostlink_try(g->world.host, &v->variant.s, TRY_TIMEOUT, on_tried, v);
	if (v->ask)
		return true;
	g->hands[id].given_asked = NULL;
	rv_buf_str(why, "out of memory");
	return false;
}

bool rv_engine_give(struct rv_engine *g, rv_id id, const struct rv_word *words, size_t n,
	bool restart, bool (*given)(void *arg, const char *why), void *arg, struct rv_buf *why)
{
	struct rv_hands *h = &g->hands[id];
	struct rv_complaints c = {0};
	struct rv_given *v;

	if (h->given_asked)
		rv_buf_str(why, "options of another request are being checked");
	else
		may_start(g, id, restart, h->service->name, why);
	v = why->len ? NULL : calloc(1, sizeof(*v));
	if (!v) {
		if (!why->len)
			rv_buf_str(why, "out of memory");
		return false;
	}
	*v = (struct rv_given){.engine = g, .restart = restart, .given = given, .arg = arg};
	if (rv_variant_init(&v->variant, g->conf, id, words, n, &c))
		check_json(&v->variant, why);
	else
		join(&c, why);
	rv_complaints_fini(&c);
	v->mask = why->len ? NULL : rv_variant_mask(&v->variant);
	if (!why->len && ask_plugin(g, id, v, why))
		return true;
	rv_given_destroy(v);
	return false;
}

void rv_engine_give_drop(struct rv_engine *g, rv_id id)
{
	struct rv_given *v = g->hands[id].given_asked;

	if (!v)
		return;
	rv_hostlink_get_drop(g->world.host, v->ask);
	g->hands[id].given_asked = NULL;
	rv_given_destroy(v);
}

void rv_engine_give_none(struct rv_engine *g, rv_id id, enum rv_event_kind request)
{
	struct rv_hands *h = &g->hands[id];
	bool up = is_up(rv_core_look(g->core, id).state);

	if (!h->given && !h->given_next)
		return;
	if (request == RV_EV_STOP || (request == RV_EV_START && !up))
		give(h, NULL);
}

size_t rv_engine_given(const struct rv_engine *g, rv_id id, const char *const **names)
{
	const struct rv_hands *h = &g->hands[id];
	const struct rv_given *v = h->given_changes ? h->given_next : h->given;

	*names = v ? v->variant.given : NULL;
	return v ? v->variant.given_count : 0;
}
