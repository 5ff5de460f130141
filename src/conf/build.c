/* A draft -> a conf: every check that needs no plugin's recipe. */
#include "conf/whole.h"

#include <stdlib.h>
#include <string.h>

static void no_memory(struct rv_complaints *c)
{
	rv_complain(
		c, (struct rv_place){"", 0, 0}, "cannot check the configuration: out of memory");
}

/* --- plugins ---------------------------------------------------------------------------------- */

static const char *copy_or_null(struct rv_arena *a, const char *s)
{
	return s ? rv_arena_strdup(a, s) : NULL;
}

static struct rv_plugin_table *copy_tables(
	struct rv_arena *a, const struct rv_plugin_table *tables, size_t n)
{
	struct rv_plugin_table *to = rv_arena_array(a, n, sizeof(*to));

	for (size_t i = 0; to && i < n; i++) {
		struct rv_key *keys = rv_arena_array(a, tables[i].key_count, sizeof(*keys));

		if (!keys)
			return NULL;
		for (size_t k = 0; k < tables[i].key_count; k++) {
			keys[k] = tables[i].keys[k];
			keys[k].name = copy_or_null(a, keys[k].name);
			keys[k].preset = copy_or_null(a, keys[k].preset);
			keys[k].env = copy_or_null(a, keys[k].env);
			keys[k].summary = copy_or_null(a, keys[k].summary);
		}
		to[i] = tables[i];
		to[i].keys = keys;
		to[i].name = copy_or_null(a, tables[i].name);
		to[i].summary = copy_or_null(a, tables[i].summary);
		to[i].error = copy_or_null(a, tables[i].error);
	}
	return to;
}

/* exec needs no file: it is the generic way to run a command. */
static const struct rv_plugin_table exec_table = {.name = "exec", .summary = "runs a command"};

static void unknown_plugin(struct rv_read *r, const struct rv_detail *d,
	const struct rv_plugin_table *tables, size_t n)
{
	const char **names = calloc(n + 1, sizeof(*names));
	char hint[200] = "";

	for (size_t i = 0; names && i < n; i++)
		names[i] = tables[i].name;
	if (names)
		rv_read_hint(d->s.plugin, names, n, hint, sizeof(hint));
	rv_complain(r->c, d->plugin_at, "service '%s' wants plugin '%s', which is not known%s",
		d->s.name, d->s.plugin, hint);
	free(names);
}

static void choose_plugin(
	struct rv_read *r, struct rv_detail *d, const struct rv_plugin_table *tables, size_t n)
{
	for (size_t i = 0; i < n && !d->s.table; i++)
		if (!strcmp(tables[i].name, d->s.plugin))
			d->s.table = &tables[i];
	if (!d->s.table && !strcmp(d->s.plugin, "exec"))
		d->s.table = &exec_table;
	if (!d->s.table)
		unknown_plugin(r, d, tables, n);
	else if (d->s.table->error)
		rv_complain(r->c, d->plugin_at, "service '%s': %s", d->s.name, d->s.table->error);
	else
		d->node.hooks = d->s.table->hooks;
}

/* --- slots ------------------------------------------------------------------------------------ */

/* A service keeps the slot of the conf in force; a new one gets a slot that was vacant in it, so that
 * no slot changes hands between one conf and the next. */
static bool give_slots(struct rv_whole *w, const struct rv_conf *before)
{
	const struct rv_whole *old = (const struct rv_whole *)before;
	struct rv_arena *a = &w->conf.arena;
	size_t n = w->detail_count, most = n + (before ? before->service_count : 0), vacant = 0;

	w->conf.service_count = before ? before->service_count : 0;
	w->detail_of = rv_arena_array(a, most, sizeof(*w->detail_of));
	if (!w->detail_of || !rv_index_init(&w->names, a, n))
		return false;
	memset(w->detail_of, 0xff, most * sizeof(*w->detail_of));
	for (size_t i = 0; i < n; i++) {
		struct rv_detail *d = &w->details[i];

		d->s.id = RV_NO_ID;
		if (before)
			d->s.id = rv_index_find(&old->names, d->s.name, rv_tree_hash(d->s.name));
		if (d->s.id != RV_NO_ID)
			w->detail_of[d->s.id] = (uint32_t)i;
	}
	for (size_t i = 0; i < n; i++) {
		struct rv_detail *d = &w->details[i];

		if (d->s.id == RV_NO_ID) {
			while (before && vacant < before->service_count &&
				before->services[vacant].name)
				vacant++;
			if (before && vacant < before->service_count)
				d->s.id = (uint32_t)vacant++;
			else
				d->s.id = (uint32_t)w->conf.service_count++;
			w->detail_of[d->s.id] = (uint32_t)i;
		}
		rv_index_add(&w->names, d->s.name, rv_tree_hash(d->s.name), d->s.id);
	}
	return true;
}

static void find_exit_from(struct rv_read *r, struct rv_whole *w)
{
	const char **names;
	char hint[200] = "";

	w->exit_from = RV_NO_ID;
	if (!w->top.exit_from)
		return;
	w->exit_from = rv_index_find(&w->names, w->top.exit_from, rv_tree_hash(w->top.exit_from));
	if (w->exit_from != RV_NO_ID || w->broken)
		return;
	names = calloc(w->detail_count + 1, sizeof(*names));
	for (size_t i = 0; names && i < w->detail_count; i++)
		names[i] = w->details[i].s.name;
	if (names)
		rv_read_hint(w->top.exit_from, names, w->detail_count, hint, sizeof(hint));
	rv_complain(r->c, w->top.exit_from_at,
		"reeve.exit-from names '%s', but there is no such "
		"service%s",
		w->top.exit_from, hint);
	free(names);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void publish_top(struct rv_whole *w, const struct rv_draft *d)
{
	struct rv_conf *conf = &w->conf;
	const char *dir;

	rv_draft_plugins(d, &dir);
	conf->runtime_dir = rv_arena_strdup(&conf->arena, w->top.runtime_dir);
	conf->plugin_dir = rv_arena_strdup(&conf->arena, dir);
	conf->control_mode = w->top.control_mode;
	conf->control_owner = w->top.control_owner;
	conf->control_group = w->top.control_group;
	conf->control_at = w->top.control_at;
	conf->runtime_dir_at = w->top.runtime_dir_at;
	conf->report_at = w->top.report_at;
	conf->log_dir = w->top.log_dir;
	conf->termination_report = w->top.termination_report;
	conf->max_timeout = w->top.max_timeout;
	conf->environment = rv_environ_join(&conf->arena, w->top.file_env, w->top.environment);
}

static void publish_paths(struct rv_whole *w, const struct rv_draft *d)
{
	const char **paths = rv_arena_array(&w->conf.arena, d->path_count + 1, sizeof(*paths));

	for (size_t i = 0; paths && i < d->path_count; i++)
		paths[i] = rv_arena_strdup(&w->conf.arena, d->paths[i]);
	w->conf.paths = paths;
}

/* Places name files: they must outlive the draft. */
static const char *keep_file(const struct rv_draft *d, const struct rv_conf *conf, const char *file)
{
	for (size_t i = 0; file && i < d->path_count; i++)
		if (d->paths[i] == file)
			return conf->paths[i];
	return "";
}

static void keep_places(const struct rv_draft *draft, struct rv_whole *w)
{
	const struct rv_conf *conf = &w->conf;
	const char *known = NULL, *kept = "";
#define KEEP(place)                                           \
	do {                                                  \
		if ((place).file != known) {                  \
			known = (place).file;                 \
			kept = keep_file(draft, conf, known); \
		}                                             \
		(place).file = kept;                          \
	} while (0)

	KEEP(w->conf.control_at);
	KEEP(w->conf.runtime_dir_at);
	KEEP(w->conf.report_at);
	KEEP(w->top.plugin_dir_at);
	KEEP(w->top.boot_timeout_at);
	KEEP(w->top.platform_window_at);
	for (size_t i = 0; i < w->detail_count; i++) {
		struct rv_detail *d = &w->details[i];

		KEEP(d->s.at);
		KEEP(d->s.user_at);
		KEEP(d->s.group_at);
		KEEP(d->s.groups_at);
		KEEP(d->s.ready.at);
		if (d->health)
			KEEP(d->health->at);
		KEEP(d->command_at);
		KEEP(d->plugin_at);
		KEEP(d->if_running_at);
		KEEP(d->main_pid_at);
		for (size_t k = 0; k < d->claim_count; k++)
			KEEP(d->claims[k].at);
		for (size_t k = 0; k < d->s.listen_count; k++)
			KEEP(((struct rv_listen *)(uintptr_t)d->s.listen)[k].at);
		for (size_t k = 0; k < d->s.dep_count; k++)
			KEEP(((struct rv_dependency *)(uintptr_t)d->s.deps)[k].at);
	}
#undef KEEP
}

/* A key at the top that is none of ours: its complaint tells where the services went. */
static bool has_stranger(const struct rv_tree *root)
{
	for (uint32_t i = 0; i < root->count; i++) {
		size_t k = 0;

		while (k < rv_top_table.count &&
			strcmp(rv_top_table.rows[k].name, root->pairs[i].key) != 0)
			k++;
		if (k == rv_top_table.count)
			return true;
	}
	return false;
}

static bool read_services(struct rv_read *r, struct rv_whole *w,
	const struct rv_plugin_table *tables, size_t table_count)
{
	const struct rv_tree *given = rv_tree_get(r->draft->root, "services");
	const struct rv_tree *all = w->top.services;

	w->detail_count = all ? all->count : 0;
	w->details = rv_arena_array(r->arena, w->detail_count, sizeof(*w->details));
	for (size_t i = 0; w->details && i < w->detail_count; i++) {
		struct rv_detail *d = &w->details[i];
		size_t errors = r->c->errors;

		rv_detail_read(r, d, &all->pairs[i]);
		choose_plugin(r, d, tables, table_count);
		rv_options_read(r, d);
		rv_detail_settle(r, w, d);
		d->s.flawed = r->c->errors != errors;
	}
	r->service = NULL;
	r->depth = 0;
	if (!w->detail_count && !w->broken && !has_stranger(r->draft->root) &&
		(!given || given->kind == RV_TREE_MAP || rv_tree_is_null(given)))
		rv_complain(r->c, r->draft->root->at, "no services: there is nothing to do");
	return w->details != NULL;
}

static bool publish_services(struct rv_whole *w)
{
	struct rv_service *list = rv_arena_array(
		&w->conf.arena, w->conf.service_count, sizeof(*list));

	if (!list)
		return false;
	for (size_t i = 0; i < w->conf.service_count; i++)
		list[i].id = (uint32_t)i;
	for (size_t i = 0; i < w->detail_count; i++)
		list[w->details[i].s.id] = w->details[i].s;
	w->conf.services = list;
	return true;
}

/* Reads all of it into w; false: memory was refused, and what is there means nothing. */
static bool read_all(struct rv_read *r, struct rv_whole *w, const struct rv_plugin_table *tables,
	size_t table_count, const struct rv_conf *before)
{
	struct rv_plugin_table *own = copy_tables(r->arena, tables, table_count);

	rv_top_read(r, &w->top);
	publish_top(w, r->draft);
	publish_paths(w, r->draft);
	w->inherited = rv_environ_inheritable(r->arena, r->environ);
	if (!own || !read_services(r, w, own, table_count) || !give_slots(w, before) ||
		!rv_graph_read(r, w) || r->arena->full)
		return false;
	find_exit_from(r, w);
	rv_ports_check(w, false, r->c);
	keep_places(r->draft, w);
	if (before)
		rv_fixed_check(w, before, r->c);
	w->secrets = r->secrets;
	return publish_services(w) && !r->arena->full;
}

static void show_to_witness(
	struct rv_whole *w, rv_conf_witness *seen, void *arg, struct rv_complaints *c)
{
	for (size_t i = 0; i < w->detail_count; i++)
		rv_environ_effective(w, &w->details[i], NULL);
	if (publish_services(w) && !w->conf.arena.full)
		seen(&w->conf, c, arg);
}

struct rv_conf *rv_conf_build(const struct rv_draft *d, const struct rv_plugin_table *tables,
	size_t table_count, const char *const *environ, const struct rv_conf *before,
	rv_conf_witness *seen, void *arg, struct rv_complaints *c)
{
	struct rv_whole *w = calloc(1, sizeof(*w));
	size_t errors = c->errors;
	struct rv_read r;
	bool good;

	if (!w) {
		no_memory(c);
		return NULL;
	}
	r = (struct rv_read){
		.arena = &w->conf.arena, .c = c, .draft = d, .environ = environ, .ready_fd = -1};
	w->broken = d->broken;
	w->conf.commanded = d->command != NULL;
	good = read_all(&r, w, tables, table_count, before);
	if (!good)
		no_memory(c);
	if (good && c->errors == errors && !d->failed)
		return &w->conf;
	if (good && seen)
		show_to_witness(w, seen, arg, c);
	rv_conf_destroy(&w->conf);
	return NULL;
}

void rv_conf_destroy(struct rv_conf *conf)
{
	if (!conf)
		return;
	rv_mask_destroy(conf->mask);
	rv_arena_fini(&conf->arena);
	free((struct rv_whole *)conf);
}

const struct rv_service *rv_conf_find(const struct rv_conf *conf, const char *name)
{
	const struct rv_whole *w = (const struct rv_whole *)conf;
	uint32_t id = rv_index_find(&w->names, name, rv_tree_hash(name));

	return id == RV_NO_ID ? NULL : &conf->services[id];
}
