/* What a sandbox was given, in the environment of a service: see rv_conf_environ. */
#include <string.h>

#include "conf/conf.h"

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static bool has(const char *const *list, size_t n, const char *entry)
{
	size_t name = strcspn(entry, "=");

	for (size_t i = 0; i < n; i++)
		if (!strncmp(list[i], entry, name + 1))
			return true;
	return false;
}

bool rv_conf_environ(const struct rv_service *s, const char *const *variables, struct rv_arena *a,
	struct rv_environ *to)
{
	size_t n = count(s->env), more = count(variables), kept = 0;
	const char **list;

	*to = (struct rv_environ){s->env, s->env_inherited, s->env_weak, s->env_recipe};
	if (!more)
		return true;
	list = rv_arena_array(a, n + more + 1, sizeof(*list));
	if (!list)
		return false;
	for (size_t i = 0; i < s->env_weak; i++) {
		if (!has(variables, more, s->env[i]))
			list[kept++] = s->env[i];
		else
			to->inherited -= i < s->env_inherited;
	}
	for (size_t i = 0; i < more; i++)
		if (!has(s->env + s->env_weak, n - s->env_weak, variables[i]))
			list[kept++] = variables[i];
	to->list = list;
	to->weak = kept;
	to->recipe = kept + s->env_recipe - s->env_weak;
	for (size_t i = s->env_weak; i < n; i++)
		list[kept++] = s->env[i];
	return true;
}
