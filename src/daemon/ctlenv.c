/* The method `env`: which variables the sandbox, or one service, has and from where; and other ones. Changes come one after the
 * other, for each may have to be undone. See ctl.h. */
#include <stdlib.h>
#include <string.h>

#include "daemon/ctl.h"
#include "daemon/envchange.h"
#include "daemon/envset.h"
#include "daemon/lifeenv.h"
#include "daemon/say.h"
#include "sys/clock.h"
#include "wire/json.h"

#define PRESET_TIMEOUT (60 * RV_SEC)

struct rv_envask {
	struct rv_envask *next;
	struct rv_control *control;
	struct rv_conn *conn; /* NULL: it has left */
	uid_t uid;
	struct rv_request request; /* id, quiet, replace; the rest is not kept */
	struct rv_variables variables;
	rv_time until; /* its time runs from when it came, also while others are worked off */
	ev_timer turn; /* then its turn has to have come */
};

/* --- a change --------------------------------------------------------------------------------- */

static void put_names(struct rv_buf *out, const char *key, const char *names)
{
	RV_JSON_LIT(out, ",\"");
	rv_buf_str(out, key);
	RV_JSON_LIT(out, "\":[");
	for (bool first = true; *names; first = false) {
		size_t n = strcspn(names, ",");

		if (!first)
			RV_JSON_LIT(out, ",");
		rv_json_strn(out, names, n);
		names += n + strspn(names + n, ", ");
	}
	RV_JSON_LIT(out, "]");
}

static void put_done(struct rv_conn *c, const struct rv_request *r, const struct rv_envdone *how)
{
	struct rv_buf *out = &c->output, names = {0};

	if (how->set)
		rv_variables_name(&how->set->variables, &names);
	rv_rpc_begin(out, r->id);
	RV_JSON_LIT(out, "{\"ok\":true");
	put_names(out, "variables", rv_buf_text(&names));
	put_names(out, "told", how->told);
	put_names(out, "restarted", how->renewed);
	put_names(out, "kept", how->kept);
	RV_JSON_LIT(out, "}");
	rv_rpc_end(out);
	rv_buf_fini(&names);
}

static void forget(struct rv_envask *a)
{
	ev_timer_stop(a->control->loop, &a->turn);
	if (a->conn)
		a->conn->waits--;
	rv_variables_fini(&a->variables);
	free(a);
}

static void answered(struct rv_conn *c, size_t before, bool quiet)
{
	if (quiet)
		c->output.len = before;
	rv_conn_flush(c);
	if (c->ended || c->refused)
		ev_feed_event(c->control->loop, &c->out, EV_WRITE);
}

static void begin(struct rv_control *k);

static void on_done(void *arg, const struct rv_envdone *how)
{
	struct rv_control *k = arg;
	struct rv_envask *a = k->env_asks;
	struct rv_conn *c = a->conn;
	size_t before = c ? c->output.len : 0;
	bool quiet = a->request.quiet;

	k->env_asks = a->next;
	if (c && how->done)
		put_done(c, &a->request, how);
	else if (c)
		rv_verb_error(
			c, &a->request, how->late ? RV_RPC_TIMEOUT : RV_RPC_FAILED, "%s", how->why);
	forget(a);
	if (c)
		answered(c, before, quiet);
	begin(k);
}

static void say_begun(const struct rv_envask *a)
{
	struct rv_buf names = {.max = 4096};

	rv_variables_name(&a->variables, &names);
	rv_say(RV_INFO, NULL, "user %u %s the environment%s%s", (unsigned)a->uid,
		a->request.replace ? "replaces" : "changes", names.len ? ": " : "",
		rv_buf_text(&names));
	rv_buf_fini(&names);
}

static enum rv_rpc_code code_of(const struct rv_err *e)
{
	if (e->code == RV_ERR_USAGE)
		return RV_RPC_PARAMS;
	return e->code == RV_ERR_REFUSED ? RV_RPC_REFUSED : RV_RPC_INTERNAL;
}

/* The first that waits, unless one is under way; those that are refused at once make room for the next. */
static void begin(struct rv_control *k)
{
	while (k->env_asks && !rv_env_changes(k->engine)) {
		struct rv_envask *a = k->env_asks;
		struct rv_conn *c = a->conn;
		size_t before = c ? c->output.len : 0;
		bool quiet = a->request.quiet;
		rv_time left = a->until - rv_now();
		struct rv_err e;

		ev_timer_stop(k->loop, &a->turn);
		say_begun(a);
		if (rv_env_change(k->engine, &a->variables, a->request.replace,
			    left > RV_MS ? left : RV_MS, on_done, k, &e))
			return;
		k->env_asks = a->next;
		if (c)
			rv_verb_error(c, &a->request, code_of(&e), "%s", e.text);
		forget(a);
		if (c)
			answered(c, before, quiet);
	}
}

static void on_late(struct ev_loop *loop, ev_timer *w, int events)
{
	struct rv_envask *a = w->data, **at = &a->control->env_asks;
	struct rv_conn *c = a->conn;
	size_t before = c->output.len;
	bool quiet = a->request.quiet;

	(void)loop;
	(void)events;
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	rv_verb_error(c, &a->request, RV_RPC_TIMEOUT,
		"another change is still under way: the turn of this one has not come, and it has "
		"done nothing");
	forget(a);
	answered(c, before, quiet);
}

static void change(struct rv_conn *c, struct rv_request *r)
{
	struct rv_control *k = c->control;
	struct rv_envask *a = c->waits < RV_CONN_WAITS_MAX ? calloc(1, sizeof(*a)) : NULL;
	struct rv_envask **at = &k->env_asks;
	rv_time most = rv_wait_ceiling(k), within = r->has_timeout ? r->timeout : PRESET_TIMEOUT;

	within = within < most ? within : most;

	if (!a) {
		rv_verb_error(c, r, RV_RPC_REFUSED, "too many requests wait on this connection");
		return;
	}
	*a = (struct rv_envask){.control = k,
		.conn = c,
		.uid = c->uid,
		.until = rv_now() + within,
		.variables = *r->variables};
	*r->variables = (struct rv_variables){0};
	memcpy(a->request.id, r->id, sizeof(r->id));
	a->request.quiet = r->quiet;
	a->request.replace = r->replace;
	c->waits++;
	while (*at)
		at = &(*at)->next;
	*at = a;
	ev_now_update(k->loop);
	ev_timer_init(&a->turn, on_late, (double)within / 1e9, 0.);
	a->turn.data = a;
	ev_timer_start(k->loop, &a->turn);
	begin(k);
}

/* One that is under way goes on; one that has not begun will not. */
void rv_env_drop(struct rv_conn *c)
{
	struct rv_control *k = c->control;
	struct rv_envask **at = &k->env_asks;

	if (*at && rv_env_changes(k->engine)) {
		if ((*at)->conn == c) {
			(*at)->conn = NULL;
			c->waits--;
		}
		at = &(*at)->next;
	}
	while (*at) {
		struct rv_envask *a = *at;

		if (a->conn != c) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		forget(a);
	}
}

void rv_env_refuse_all(struct rv_control *k)
{
	if (rv_env_changes(k->engine))
		rv_env_disown(k->engine);
	while (k->env_asks) {
		struct rv_envask *a = k->env_asks;

		k->env_asks = a->next;
		if (a->conn && !a->request.quiet)
			rv_verb_error(
				a->conn, &a->request, RV_RPC_REFUSED, "reeve is shutting down");
		forget(a);
	}
}

/* --- a look ----------------------------------------------------------------------------------- */

struct list {
	struct rv_buf *out;
	bool first, values;
};

static void put(struct list *l, const char *entry, const char *source)
{
	size_t n = strcspn(entry, "=");

	if (!l->first)
		RV_JSON_LIT(l->out, ",");
	l->first = false;
	RV_JSON_LIT(l->out, "{\"name\":");
	rv_json_strn(l->out, entry, n);
	RV_JSON_STR(l->out, "source", source);
	if (l->values)
		RV_JSON_STR(l->out, "value", entry[n] ? entry + n + 1 : "");
	RV_JSON_LIT(l->out, "}");
}

/* A name that the sandbox was given stands for itself, whatever the files say of it. */
static void put_sandbox(const struct rv_engine *g, struct list *l)
{
	const struct rv_envset *set = rv_engine_env(g);
	const char *const *files = rv_engine_conf(g)->environment;

	for (size_t i = 0; files && files[i]; i++)
		if (!set || !rv_variables_find(&set->variables, files[i], strcspn(files[i], "=")))
			put(l, files[i], "configuration");
	for (size_t i = 0; set && i < set->variables.count; i++)
		put(l, set->variables.list[i], set->later[i] ? "set" : "create");
}

static const char *source_of(const struct rv_envset *set, const struct rv_conf *conf,
	const struct rv_environ *all, size_t i)
{
	const char *const *given = rv_envset_list(set), *const *files = conf->environment;

	if (i < all->inherited)
		return "inherited";
	for (size_t k = 0; given && given[k]; k++)
		if (given[k] == all->list[i])
			return set->later[k] ? "set" : "create";
	for (; files && *files; files++)
		if (*files == all->list[i])
			return "configuration";
	return i < all->recipe ? "plugin" : "service";
}

/* What its next start has, but for LISTEN_* and the mark. */
static void put_service(const struct rv_engine *g, rv_id id, struct list *l)
{
	const struct rv_conf *conf = rv_engine_conf(g);
	const struct rv_service *s = &conf->services[id];
	const struct rv_envset *set = rv_engine_env(g);
	struct rv_arena arena = {0};
	struct rv_environ all = {0};
	const char *const *list = NULL;
	size_t weak, n = 0;

	if (rv_conf_environ(s, rv_envset_list(set), &arena, &all))
		list = rv_lifeenv_base(
			s, rv_engine_account(g, id), rv_envset_list(set), &arena, &weak);
	while (all.list && all.list[n])
		n++;
	for (size_t i = 0; list && list[i]; i++)
		put(l, list[i],
			i < n && list[i] == all.list[i] ? source_of(set, conf, &all, i)
							: "account");
	rv_arena_fini(&arena);
}

/* What the hook update tells somebody, another may have told it, too; and that is not known here. */
static bool has_told(const struct rv_conf *conf)
{
	for (size_t i = 0; i < conf->service_count; i++)
		if (conf->services[i].name && conf->services[i].table &&
			(conf->services[i].table->hooks & RV_HAS(RV_HOOK_UPDATE)))
			return true;
	return false;
}

static void look(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_engine *g = c->control->engine;
	struct list l = {&c->output, true, r->show_values};
	rv_id *ids = NULL;
	size_t n;

	if (r->name_count && !rv_verb_resolve(c, r, &ids, &n))
		return;
	rv_rpc_begin(&c->output, r->id);
	RV_JSON_LIT(&c->output, "{\"variables\":[");
	if (ids)
		put_service(g, ids[0], &l);
	else
		put_sandbox(g, &l);
	RV_JSON_LIT(&c->output, "],\"note\":");
	rv_json_str(&c->output,
		!ids && has_told(rv_engine_conf(g))
			? "what the platform itself has told a service (envd, by /init) is not "
			  "known here, and is lost when that service is restarted"
			: NULL);
	RV_JSON_LIT(&c->output, "}");
	rv_rpc_end(&c->output);
	free(ids);
}

void rv_verb_env(struct rv_conn *c, struct rv_request *r)
{
	if (r->variables)
		change(c, r);
	else
		look(c, r);
}
