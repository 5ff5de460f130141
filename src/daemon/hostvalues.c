/* Configuration as the plugin host sees it, and what it answers as configuration sees it. */
#include "daemon/hostparts.h"

#include <string.h>

bool rv_host_peers(const struct rv_conf *conf, const struct rv_service *s, struct rv_arena *a,
	struct rv_hp_instance *to)
{
	struct rv_hp_peer *p = rv_arena_array(a, s->dep_count, sizeof(*p));

	if (!p)
		return false;
	to->peers = p;
	to->peer_count = 0;
	for (size_t i = 0; i < s->dep_count; i++) {
		const struct rv_service *on = &conf->services[s->deps[i].on];

		if (s->deps[i].on < conf->service_count && on->name && on->plugin)
			p[to->peer_count++] = (struct rv_hp_peer){
				.service = on->name, .plugin = on->plugin, .argv = on->argv};
	}
	return true;
}

/* For a plugin a user's word is a user's word, wherever it was said. */
static enum rv_from from_of(const struct rv_option *o)
{
	return o->from == RV_FROM_START ? RV_FROM_YAML : o->from;
}

bool rv_host_instance(const struct rv_conf *conf, const struct rv_service *s,
	const char *const *variables, struct rv_arena *a, struct rv_hp_instance *to)
{
	struct rv_hp_option *o = rv_arena_array(a, s->option_count, sizeof(*o));
	struct rv_hp_listener *l = rv_arena_array(a, s->listen_count, sizeof(*l));
	struct rv_environ env;

	if (!o || !l || !rv_conf_environ(s, variables, a, &env))
		return false;
	for (size_t i = 0; i < s->option_count; i++)
		o[i] = (struct rv_hp_option){
			.key = {.name = s->options[i].key->name, .type = s->options[i].key->type},
			.from = (uint8_t)from_of(&s->options[i]),
			.set = s->options[i].value,
			.value = {.p = s->options[i].value,
				.n = s->options[i].value ? s->options[i].value_len : 0}};
	for (size_t i = 0; i < s->listen_count; i++)
		l[i] = (struct rv_hp_listener){.name = s->listen[i].name,
			.address = s->listen[i].address,
			.port = s->listen[i].family == RV_UNIX ? 0 : s->listen[i].port,
			.fd = s->listen[i].fd,
			.listening = s->listen[i].backlog > 0};
	*to = (struct rv_hp_instance){.id = s->id,
		.dir = conf->plugin_dir,
		.plugin = s->plugin,
		.service = s->name,
		.command = s->command,
		.env = env.list,
		.options = o,
		.option_count = (uint32_t)s->option_count,
		.listeners = l,
		.listener_count = (uint32_t)s->listen_count,
		.ports = s->ports,
		.port_count = (uint32_t)s->port_count};
	return true;
}

/* NULL stays NULL; *fine is cleared when memory is refused. */
static const char *copy(struct rv_arena *a, const char *s, bool *fine)
{
	char *p = s ? rv_arena_strdup(a, s) : NULL;

	if (s && !p)
		*fine = false;
	return p;
}

static const char *const *copy_list(struct rv_arena *a, const char *const *v, bool *fine)
{
	const char **to;
	size_t n = 0;

	if (!v)
		return NULL;
	while (v[n])
		n++;
	to = rv_arena_array(a, n + 1, sizeof(*to));
	for (size_t i = 0; to && i < n; i++)
		to[i] = copy(a, v[i], fine);
	if (!to)
		*fine = false;
	return to;
}

bool rv_host_table(const struct rv_hp_table *t, struct rv_arena *a, struct rv_plugin_table *to)
{
	struct rv_key *keys = rv_arena_array(a, t->key_count, sizeof(*keys));
	bool fine = keys;

	for (uint32_t i = 0; keys && i < t->key_count; i++) {
		keys[i] = t->keys[i];
		keys[i].name = copy(a, t->keys[i].name, &fine);
		keys[i].preset = copy(a, t->keys[i].preset, &fine);
		keys[i].env = copy(a, t->keys[i].env, &fine);
		keys[i].summary = copy(a, t->keys[i].summary, &fine);
	}
	*to = (struct rv_plugin_table){.name = copy(a, t->name, &fine),
		.summary = copy(a, t->summary, &fine),
		.keys = keys,
		.key_count = t->key_count,
		.hooks = t->hooks,
		.error = *t->error ? copy(a, t->error, &fine) : NULL};
	return fine;
}

static uint32_t unused_hooks(uint8_t unused)
{
	return (unused & 1 ? RV_HAS(RV_HOOK_UPDATE) : 0) | (unused & 2 ? RV_HAS(RV_HOOK_STOP) : 0) |
		(unused & 4 ? RV_HAS(RV_HOOK_CLEANUP) : 0);
}

bool rv_host_recipe(const struct rv_hp_process *p, struct rv_arena *a, struct rv_recipe *to)
{
	uint16_t *ports = rv_arena_array(a, p->port_count, sizeof(*ports));
	bool fine = ports;

	if (ports && p->port_count)
		memcpy(ports, p->ports, p->port_count * sizeof(*ports));
	*to = (struct rv_recipe){
		.argv = p->argv && p->argv[0] ? copy_list(a, p->argv, &fine) : NULL,
		.env = copy_list(a, p->env, &fine),
		.ports = ports,
		.port_count = p->port_count,
		.is_static = p->is_static,
		.unused = unused_hooks(p->unused),
		.type = p->type,
		.pid_file = p->pid_file && *p->pid_file ? copy(a, p->pid_file, &fine) : NULL,
		.main_port = p->main_port,
		.log_file = p->log_file && *p->log_file ? copy(a, p->log_file, &fine) : NULL};
	return fine;
}

bool rv_host_needed(const struct rv_service *s, bool tells)
{
	uint32_t hooks = s->name && s->table ? s->table->hooks & ~s->unused : 0;

	if (!s->name)
		return false;
	if (s->health && (s->health->http_url || s->health->plugin))
		return true;
	return s->ready.http_url || (s->ready.plugin && (hooks & RV_HAS(RV_HOOK_PROBE))) ||
		(hooks & (RV_HAS(RV_HOOK_STOP) | RV_HAS(RV_HOOK_CLEANUP))) ||
		(tells && (hooks & RV_HAS(RV_HOOK_UPDATE))) ||
		((hooks & RV_HAS(RV_HOOK_START)) && !s->argv_is_static);
}
