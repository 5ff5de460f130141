/* Configuration is loaded here: see load.h. */
#include "daemon/load.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/ident.h"
#include "daemon/spawn.h"
#include "sys/fd.h"

extern char **environ;

static const char *const *our_environment(void)
{
	return (const char *const *)environ;
}

/* Names that the group and user databases do not have are mistakes of the file, with their place. */
static void check_accounts(const struct rv_conf *conf, struct rv_complaints *c)
{
	struct rv_arena arena = {0};

	for (size_t i = 0; i < conf->service_count; i++) {
		const struct rv_service *s = &conf->services[i];
		struct rv_account account;
		struct rv_err e;

		if (!s->name || (!s->user && !s->group && !s->groups))
			continue;
		if (!rv_ident_resolve(s->user, s->group, s->groups, &arena, &account, &e))
			rv_complain(c, s->user_at.line ? s->user_at : s->at, "service %s: %s",
				s->name, e.text);
	}
	rv_arena_fini(&arena);
}

static struct rv_conf *plan(struct rv_conf *conf, struct rv_hostlink *host, struct rv_complaints *c)
{
	const struct rv_recipe *recipes = NULL;
	struct rv_err e;

	if (!rv_hostlink_rehearse(host, conf, &recipes, &e)) {
		rv_complain(c, (struct rv_place){.file = ""}, "%s", e.text);
	} else if (rv_conf_plan(conf, recipes, c)) {
		check_accounts(conf, c);
		if (!c->errors)
			return conf;
	}
	rv_conf_destroy(conf);
	return NULL;
}

struct rv_conf *rv_load_conf(
	const struct rv_load *l, struct rv_hostlink *host, struct rv_complaints *c)
{
	const struct rv_plugin_table *tables = NULL;
	struct rv_conf *conf = NULL;
	const char *const *plugins;
	const char *plugin_dir;
	struct rv_draft *draft;
	size_t count = 0;
	struct rv_err e;

	draft = rv_draft_read(l->paths, l->plugin_dir, l->command, c);
	if (!draft)
		return NULL;
	plugins = rv_draft_plugins(draft, &plugin_dir);
	if (!rv_hostlink_describe(host, plugin_dir, plugins, &tables, &count, &e))
		rv_complain(c, (struct rv_place){.file = ""}, "%s", e.text);
	else
		conf = rv_conf_build(draft, tables, count, our_environment(), NULL, c);
	rv_draft_destroy(draft);
	return conf ? plan(conf, host, c) : NULL;
}

static const char *path_of(const struct rv_service *s)
{
	for (size_t i = 0; s->env && s->env[i]; i++)
		if (!strncmp(s->env[i], "PATH=", 5))
			return s->env[i] + 5;
	return RV_SPAWN_PATH;
}

static bool is_program(int dir, const char *path, int *why)
{
	struct stat st;

	if (fstatat(dir, path, &st, 0))
		*why = errno;
	else if (!S_ISREG(st.st_mode))
		*why = EACCES;
	else if (!faccessat(dir, path, X_OK, 0))
		return true;
	else
		*why = errno;
	return false;
}

/* As a spawn will: a relative path, and an empty element of PATH, begin in the service's own working folder. */
static bool find_program(const struct rv_service *s, int *why)
{
	const char *name = s->argv[0], *p = path_of(s), *end;
	rv_auto_fd dir = open(
		s->working_dir ? s->working_dir : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char path[PATH_MAX];

	*why = ENOENT;
	if (strchr(name, '/'))
		return is_program(dir, name, why);
	for (;; p = end + 1) {
		end = strchrnul(p, ':');
		if ((size_t)snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - p), p,
			    end > p ? "/" : "", name) < sizeof(path) &&
			is_program(dir, path, why))
			return true;
		if (!*end)
			return false;
	}
}

void rv_load_verify(const struct rv_conf *conf, struct rv_complaints *c)
{
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct rv_service *s = &conf->services[i];
		struct stat st;
		int why;

		if (!s->name)
			continue;
		if (s->argv && !find_program(s, &why))
			rv_complain(c, s->at, "service %s: cannot execute %s: %s", s->name,
				s->argv[0], strerror(why));
		if (s->working_dir && (stat(s->working_dir, &st) || !S_ISDIR(st.st_mode)))
			rv_complain(c, s->at, "service %s: working-dir %s is no folder", s->name,
				s->working_dir);
	}
}

static const struct rv_plugin_table *table_of(const struct rv_conf *running, const char *plugin)
{
	for (size_t i = 0; i < running->service_count; i++) {
		const struct rv_service *s = &running->services[i];

		if (s->name && s->table && !strcmp(s->table->name, plugin))
			return s->table;
	}
	return NULL;
}

/* Recipes would need the plugins: they are said to be known at start only. */
static void check_plan(struct rv_conf *conf, struct rv_complaints *c)
{
	struct rv_recipe *recipes = calloc(conf->service_count + 1, sizeof(*recipes));

	for (size_t i = 0; recipes && i < conf->service_count; i++)
		recipes[i].fixed = true;
	if (!recipes) {
		rv_complain(c, (struct rv_place){.file = ""}, "out of memory");
	} else if (rv_conf_plan(conf, recipes, c)) {
		check_accounts(conf, c);
		rv_load_verify(conf, c);
	}
	free(recipes);
}

void rv_load_check(const struct rv_load *l, const struct rv_conf *running, struct rv_complaints *c)
{
	struct rv_draft *draft = rv_draft_read(l->paths, l->plugin_dir, l->command, c);
	struct rv_plugin_table *tables = NULL;
	struct rv_conf *conf = NULL;
	const char *const *plugins;
	const char *plugin_dir;
	size_t n = 0, known = 0;

	if (!draft)
		return;
	plugins = rv_draft_plugins(draft, &plugin_dir);
	while (plugins[n])
		n++;
	tables = calloc(n + 1, sizeof(*tables));
	for (size_t i = 0; tables && i < n; i++) {
		const struct rv_plugin_table *t = table_of(running, plugins[i]);

		if (t)
			tables[known++] = *t;
		else
			tables[known++] = (struct rv_plugin_table){.name = plugins[i],
				.error = "not loaded in the running reeve; `reeve check` can tell "
					 "more"};
	}
	if (tables)
		conf = rv_conf_build(draft, tables, known, our_environment(), NULL, c);
	rv_draft_destroy(draft);
	free(tables);
	if (conf) {
		check_plan(conf, c);
		rv_conf_destroy(conf);
	}
}
