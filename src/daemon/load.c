/* Configuration is loaded here: see load.h. */
#include "daemon/load.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "daemon/checkup.h"
#include "daemon/envsource.h"
#include "sys/fd.h"

extern char **environ;

static const char *const *our_environment(void)
{
	return (const char *const *)environ;
}

/* What this machine says of it and, with a host, what the plugins say. */
static void inspect(const struct rv_load *l, const struct rv_conf *conf, struct rv_hostlink *host,
	const struct rv_recipe *recipes, struct rv_complaints *c)
{
	rv_auto_free bool *broken = NULL; /* by slot: its program cannot be executed */

	rv_load_accounts(conf, l->verify, c);
	if (!l->verify)
		return;
	broken = calloc(conf->service_count + 1, sizeof(*broken));
	if (!broken) {
		rv_complain(c, (struct rv_place){.file = ""}, "out of memory");
		return;
	}
	rv_load_verify(conf, l->init, broken, c);
	if (l->ask && recipes)
		*l->ended = rv_checkup(conf, host, recipes, broken, l->limit, c);
	if (l->ask && *l->ended)
		rv_complain(c, (struct rv_place){.file = ""},
			"SIG%s ended the check before all was looked at",
			rv_signal_name(*l->ended));
}

struct wrong { /* for on_wrong */
	const struct rv_load *l;
	struct rv_hostlink *host; /* NULL: plugins are not asked */
};

/* What the plan would tell of it; of a service that has mistakes itself its plugin would only repeat them. */
static void tell_refused(
	const struct rv_conf *conf, const struct rv_recipe *recipes, struct rv_complaints *c)
{
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct rv_service *s = &conf->services[i];

		if (s->name && !s->flawed && recipes[i].error)
			rv_complain(c, s->at, "service '%s': plugin %s refuses this: %s", s->name,
				s->plugin, recipes[i].error);
	}
}

/* The files are wrong already: one run tells the rest as well. */
static void on_wrong(const struct rv_conf *conf, struct rv_complaints *c, void *arg)
{
	const struct wrong *w = arg;
	const struct rv_recipe *recipes = NULL;
	struct rv_err e;

	if (w->l->ask && w->host && !rv_hostlink_rehearse(w->host, conf, &recipes, &e))
		rv_complain(c, (struct rv_place){.file = ""}, "%s", e.text);
	if (recipes)
		tell_refused(conf, recipes, c);
	inspect(w->l, conf, w->host, recipes, c);
}

static struct rv_conf *plan(const struct rv_load *l, struct rv_conf *conf, struct rv_hostlink *host,
	const struct rv_conf *before, struct rv_complaints *c)
{
	const struct rv_recipe *recipes = NULL;
	struct rv_err e;
	bool good = false;

	if (!rv_hostlink_rehearse(host, conf, &recipes, &e))
		rv_complain(c, (struct rv_place){.file = ""}, "%s", e.text);
	else
		good = rv_conf_plan(conf, recipes, c);
	if (good)
		rv_envsource_check(conf, !before, c);
	inspect(l, conf, host, recipes, c);
	if (good && !c->errors)
		return conf;
	rv_conf_destroy(conf);
	return NULL;
}

static const char *const *given(const struct rv_load *l)
{
	bool any = l->variables && l->variables->count;

	return any ? (const char *const *)l->variables->list : NULL;
}

struct rv_conf *rv_load_conf(const struct rv_load *l, struct rv_hostlink *host,
	const struct rv_conf *before, struct rv_complaints *c)
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
		conf = rv_conf_build(draft, tables, count, our_environment(), before, on_wrong,
			&(struct wrong){l, host}, c);
	rv_draft_destroy(draft);
	if (conf)
		conf->variables = before ? before->variables : given(l);
	if (!before)
		rv_hostlink_variables(host, given(l), NULL);
	return conf ? plan(l, conf, host, before, c) : NULL;
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
static void check_plan(const struct rv_load *l, struct rv_conf *conf, struct rv_complaints *c)
{
	struct rv_recipe *recipes = calloc(conf->service_count + 1, sizeof(*recipes));

	for (size_t i = 0; recipes && i < conf->service_count; i++)
		recipes[i].fixed = true;
	if (!recipes) {
		rv_complain(c, (struct rv_place){.file = ""}, "out of memory");
	} else {
		if (rv_conf_plan(conf, recipes, c))
			rv_envsource_check(conf, false, c);
		inspect(l, conf, NULL, NULL, c);
	}
	free(recipes);
}

void rv_load_check(const struct rv_load *l, const struct rv_conf *running, struct rv_complaints *c)
{
	struct rv_draft *draft = rv_draft_read(l->paths, l->plugin_dir, l->command, c);
	struct rv_plugin_table *tables = NULL;
	struct rv_load all = *l;
	struct rv_conf *conf = NULL;
	const char *const *plugins;
	const char *plugin_dir;
	size_t n = 0, known = 0;

	if (!draft)
		return;
	all.verify = true;
	all.ask = false;
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
		conf = rv_conf_build(draft, tables, known, our_environment(), NULL, on_wrong,
			&(struct wrong){&all, NULL}, c);
	rv_draft_destroy(draft);
	free(tables);
	if (conf) {
		conf->variables = running->variables;
		check_plan(&all, conf, c);
		rv_conf_destroy(conf);
	}
}
