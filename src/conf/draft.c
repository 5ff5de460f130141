/* Files -> layers -> one merged tree. */
#include "conf/draft.h"
#include "conf/schema.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef RV_PLUGIN_DIR
#define RV_PLUGIN_DIR "/usr/lib/reeve/plugins"
#endif

static struct rv_place whole(const char *file)
{
	return (struct rv_place){file, 0, 0};
}

static void no_memory(struct rv_draft *d, struct rv_complaints *c)
{
	d->broken = true;
	rv_complain(c, whole(""), "cannot read the configuration: out of memory");
}

/* --- layers ----------------------------------------------------------------------------------- */

static bool starts_afresh(const struct rv_tree *service)
{
	const struct rv_tree *o = rv_tree_get(service, "override");

	return o && o->kind == RV_TREE_SCALAR && !strcmp(o->text, "replace");
}

/* Takes from `below` the services that `above` replaces as a whole. */
static const struct rv_tree *without_replaced(
	struct rv_arena *a, const struct rv_tree *below, const struct rv_tree *above)
{
	struct rv_pair *pairs;
	struct rv_tree *t;
	struct rv_index x;
	bool any = false;

	if (below->kind != RV_TREE_MAP || above->kind != RV_TREE_MAP)
		return below;
	for (uint32_t i = 0; i < above->count && !any; i++)
		any = starts_afresh(above->pairs[i].value);
	if (!any)
		return below;
	t = rv_tree_map(a, below->count, &pairs, below->at);
	if (!t || !rv_index_init(&x, a, above->count))
		return NULL;
	for (uint32_t i = 0; i < above->count; i++)
		if (starts_afresh(above->pairs[i].value))
			rv_index_add(&x, above->pairs[i].key, above->pairs[i].hash, i);
	for (uint32_t i = 0; i < below->count; i++) {
		struct rv_pair *p = &pairs[i];
		uint32_t by;

		*p = below->pairs[i];
		by = rv_index_find(&x, p->key, p->hash);
		/* It keeps its turn in the file order; merged with itself it stays as it is. */
		if (by != RV_NO_ID)
			p->value = above->pairs[by].value;
	}
	t->count = below->count;
	return t;
}

static const struct rv_tree *replace_value(
	struct rv_arena *a, const struct rv_tree *map, const char *key, const struct rv_tree *value)
{
	struct rv_pair *pairs;
	struct rv_tree *t = rv_tree_map(a, map->count, &pairs, map->at);

	if (!t)
		return NULL;
	for (uint32_t i = 0; i < map->count; i++) {
		pairs[i] = map->pairs[i];
		if (!strcmp(pairs[i].key, key))
			pairs[i].value = value;
	}
	t->count = map->count;
	return t;
}

static void add_layer(struct rv_draft *d, const struct rv_tree *above, struct rv_complaints *c)
{
	const struct rv_tree *old, *new, *left;

	if (!d->root) {
		d->root = above;
		return;
	}
	old = rv_tree_get(d->root, "services");
	new = rv_tree_get(above, "services");
	if (old && new) {
		left = without_replaced(&d->arena, old, new);
		if (left && left != old)
			d->root = replace_value(&d->arena, d->root, "services", left);
		if (!left || !d->root) {
			no_memory(d, c);
			return;
		}
	}
	d->root = rv_tree_merge(&d->arena, d->root, above);
	if (!d->root)
		no_memory(d, c);
}

/* --- files ------------------------------------------------------------------------------------ */

static void remember_path(struct rv_draft *d, const char *path)
{
	const char **more = rv_arena_array(&d->arena, d->path_count + 2, sizeof(*more));

	if (!more)
		return;
	if (d->path_count)
		memcpy(more, d->paths, d->path_count * sizeof(*more));
	more[d->path_count++] = path;
	d->paths = more;
}

/* optional: a file that does not exist is none. */
static void read_file(struct rv_draft *d, const char *path, bool optional, struct rv_complaints *c)
{
	const char *name = rv_arena_strdup(&d->arena, path);
	const struct rv_tree *t = NULL;
	struct rv_buf bytes = {0};
	struct rv_unread why;

	if (!name) {
		no_memory(d, c);
	} else if (!rv_conf_bytes(path, RV_TREE_FILE_MAX, &bytes, &why)) {
		if (why.number == ENOENT && optional)
			return;
		rv_complain(c, whole(""), "cannot read %s: %s", path, why.text);
		d->broken = true;
	} else {
		t = rv_tree_read(&d->arena, name, rv_buf_text(&bytes), bytes.len, c, &d->broken);
		remember_path(d, name);
	}
	rv_buf_fini(&bytes);
	if (t)
		add_layer(d, t, c);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

/* With those that look like ours but are not read. */
static int is_yaml(const struct dirent *e)
{
	return e->d_name[0] != '.' &&
		(ends_with(e->d_name, ".yaml") || ends_with(e->d_name, ".yml"));
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_folder(
	struct rv_draft *d, const char *path, bool optional, struct rv_complaints *c)
{
	struct dirent **list = NULL;
	int n = scandir(path, &list, is_yaml, by_bytes), number = errno;
	bool any = false;

	if (n < 0 && number == ENOENT && optional)
		return;
	for (int i = 0; i < n; i++) {
		const char *file = rv_arena_fmt(&d->arena, "%s/%s", path, list[i]->d_name);

		if (ends_with(list[i]->d_name, ".yml")) {
			rv_complain_softly(c, (struct rv_place){file ? file : path, 1, 1},
				"not read: of a folder only *.yaml files are; rename it");
		} else {
			any = true;
			if (file)
				read_file(d, file, false, c);
		}
		free(list[i]);
	}
	free(list);
	if (n < 0 || (!any && !optional)) {
		rv_complain(c, whole(""), "cannot read %s: %s", path,
			n < 0 ? strerror(number) : "no *.yaml file in it");
		d->broken = true;
	}
}

static void read_path(struct rv_draft *d, const char *path, struct rv_complaints *c)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		read_folder(d, path, false, c);
	else
		read_file(d, path, false, c);
}

/* --- `reeve -- CMD` --------------------------------------------------------------------------- */

static struct rv_pair pair(const char *key, const struct rv_tree *value)
{
	return (struct rv_pair){
		.key = key, .hash = rv_tree_hash(key), .value = value, .at = {"", 0, 0}};
}

static const struct rv_tree *word(struct rv_draft *d, const char *text)
{
	return rv_tree_scalar(&d->arena, text, RV_TREE_EXACT, whole(""));
}

static const struct rv_tree *argv_list(struct rv_draft *d)
{
	struct rv_tree *list = rv_arena_alloc(&d->arena, sizeof(*list));
	const struct rv_tree **items;
	size_t n = 0;

	while (d->command[n])
		n++;
	items = rv_arena_array(&d->arena, n, sizeof(struct rv_tree *));
	if (!list || !items)
		return NULL;
	for (size_t i = 0; i < n; i++)
		items[i] = word(d, d->command[i]);
	*list = (struct rv_tree){.at = whole(""),
		.kind = RV_TREE_LIST,
		.depth = 2,
		.count = (uint32_t)n,
		.items = items};
	return list;
}

/* The layer that the command line adds: one service, and whose exit status is ours. */
static void add_main(struct rv_draft *d, struct rv_complaints *c)
{
	struct rv_pair *top, *sup, *services, *service;
	struct rv_tree *root = rv_tree_map(&d->arena, 2, &top, whole(""));
	struct rv_tree *reeve = rv_tree_map(&d->arena, 1, &sup, whole(""));
	struct rv_tree *all = rv_tree_map(&d->arena, 1, &services, whole(""));
	struct rv_tree *own = rv_tree_map(&d->arena, 6, &service, whole(""));
	const struct rv_tree *others = rv_tree_get(d->root, "services");
	const struct rv_pair *taken = rv_tree_pair(others, RV_MAIN);
	char *cwd = getcwd(NULL, 0);

	d->cwd = cwd ? rv_arena_strdup(&d->arena, cwd) : "/";
	free(cwd);
	if (taken) {
		rv_complain(c, taken->at,
			"service '" RV_MAIN "' has the name that the command "
			"after -- takes: rename it, or start reeve without a command");
		return;
	}
	if (others && others->kind != RV_TREE_MAP && !rv_tree_is_null(others))
		return; /* a mistake that a layer above would hide; build tells it */
	if (!root || !reeve || !all || !own || !d->cwd) {
		no_memory(d, c);
		return;
	}
	service[own->count++] = pair("command", argv_list(d));
	service[own->count++] = pair(
		"essential", rv_tree_scalar(&d->arena, "true", RV_TREE_PLAIN, whole("")));
	service[own->count++] = pair("restart", word(d, "never"));
	service[own->count++] = pair("log", word(d, "-"));
	/* It belongs to whoever started us: a lost dependency is no reason to take it away. */
	service[own->count++] = pair("on-dependency-loss", word(d, "keep"));
	service[own->count++] = pair("working-dir", word(d, d->cwd));
	services[all->count++] = pair(RV_MAIN, own);
	sup[reeve->count++] = pair("exit-from", word(d, RV_MAIN));
	top[root->count++] = pair("reeve", reeve);
	top[root->count++] = pair("services", all);
	if (d->arena.full)
		no_memory(d, c);
	else
		add_layer(d, root, c);
}

/* The names by which plugins are looked for; what cannot be one is complained about by build. */
static bool list_plugins(struct rv_draft *d)
{
	const struct rv_tree *all = rv_tree_get(d->root, "services");
	size_t most = all && all->kind == RV_TREE_MAP ? all->count : 0, n = 0;
	const char **list = rv_arena_array(&d->arena, most + 1, sizeof(*list));
	struct rv_index x;

	if (!list || !rv_index_init(&x, &d->arena, most))
		return false;
	for (size_t i = 0; i < most; i++) {
		const struct rv_tree *p = rv_tree_get(all->pairs[i].value, "plugin");
		const char *name = p && p->kind == RV_TREE_SCALAR ? p->text : "exec";
		uint32_t hash = rv_tree_hash(name);

		if (!rv_conf_is_name(name) || rv_index_find(&x, name, hash) != RV_NO_ID)
			continue;
		rv_index_add(&x, name, hash, 0);
		list[n++] = name;
	}
	d->plugins = list;
	return true;
}

/* --- the whole -------------------------------------------------------------------------------- */

struct rv_draft *rv_draft_read(const char *const *paths, const char *plugin_dir,
	const char *const *command, struct rv_complaints *c)
{
	struct rv_draft *d = calloc(1, sizeof(*d));
	size_t errors = c->errors;
	struct rv_pair *none;

	if (!d) {
		rv_complain(c, whole(""), "cannot read the configuration: out of memory");
		return NULL;
	}
	d->plugin_dir = plugin_dir ? rv_arena_strdup(&d->arena, plugin_dir) : NULL;
	if (paths) {
		for (; *paths; paths++)
			read_path(d, *paths, c);
	} else {
		read_file(d, RV_CONFIG_DIR "/reeve.yaml", true, c);
		read_folder(d, RV_CONFIG_DIR "/reeve.d", true, c);
		if (!d->root && !command && c->errors == errors)
			rv_complain(c, whole(""),
				"cannot read " RV_CONFIG_DIR "/reeve.yaml: %s; name "
				"a file with -c",
				strerror(ENOENT));
	}
	if (!d->root && (!command || c->errors != errors)) {
		rv_draft_destroy(d);
		return NULL;
	}
	if (!d->root)
		d->root = rv_tree_map(&d->arena, 0, &none, whole(""));
	d->command = command;
	if (command && d->root)
		add_main(d, c);
	d->failed = c->errors != errors;
	if (!d->root || d->arena.full || !list_plugins(d)) {
		rv_draft_destroy(d);
		return NULL;
	}
	return d;
}

const char *const *rv_draft_plugins(const struct rv_draft *d, const char **plugin_dir)
{
	const struct rv_tree *t = rv_tree_get(rv_tree_get(d->root, "reeve"), "plugin-dir");

	*plugin_dir = RV_PLUGIN_DIR;
	if (t && t->kind == RV_TREE_SCALAR && *t->text)
		*plugin_dir = t->text;
	if (d->plugin_dir)
		*plugin_dir = d->plugin_dir;
	return d->plugins;
}

void rv_draft_destroy(struct rv_draft *d)
{
	if (!d)
		return;
	rv_arena_fini(&d->arena);
	free(d);
}
