/* What a life finds in its environment: see lifeenv.h. */
#include "daemon/lifeenv.h"

#include <stdlib.h>
#include <string.h>

enum { PUT_ROOM = 2 };

static bool has_name(const char *entry, const char *name, size_t len)
{
	return !strncmp(entry, name, len) && entry[len] == '=';
}

/* Where `name` stands in the NULL-terminated env, or its end. */
static size_t env_find(const char *const *env, const char *name, size_t len)
{
	size_t i = 0;

	while (env[i] && !has_name(env[i], name, len))
		i++;
	return i;
}

static size_t env_count(const char *const *env)
{
	size_t n = 0;

	while (env && env[n])
		n++;
	return n;
}

/* The account's own variables replace inherited ones, never those that the file sets. */
static bool env_account(const struct rv_service *s, size_t inherited, const struct rv_account *a,
	const char **env, size_t *n, struct rv_arena *arena)
{
	const char *const names[] = {"HOME", "USER", "LOGNAME", "SHELL"};
	const char *const values[] = {a->home, a->name, a->name, a->shell};

	if (!s->user)
		return true;
	for (size_t i = 0; i < 4; i++) {
		size_t at = env_find(env, names[i], strlen(names[i]));

		if (!values[i] || (at < *n && at >= inherited))
			continue;
		env[at] = rv_arena_fmt(arena, "%s=%s", names[i], values[i]);
		if (!env[at])
			return false;
		if (at == *n)
			env[++*n] = NULL;
	}
	return true;
}

const char *const *rv_lifeenv_base(const struct rv_service *s, const struct rv_account *who,
	const char *const *variables, struct rv_arena *arena, size_t *weak)
{
	struct rv_environ all;
	const char **env;
	size_t n;

	if (!rv_conf_environ(s, variables, arena, &all))
		return NULL;
	*weak = all.recipe;
	if (all.list && !s->user) /* nothing comes to what the file says */
		return all.list;
	n = env_count(all.list);
	env = rv_arena_array(arena, n + 4 + 1, sizeof(*env));
	if (!env)
		return NULL;
	if (all.list)
		memcpy(env, all.list, n * sizeof(*env));
	return env_account(s, all.inherited, who, env, &n, arena) ? env : NULL;
}

bool rv_lifeenv_listen(
	const struct rv_service *s, const char *vars[RV_LISTEN_VARS], struct rv_arena *arena)
{
	struct rv_buf names = {0};

	if (!s->listen_count)
		return true;
	for (size_t i = 0; i < s->listen_count; i++)
		rv_buf_fmt(&names, "%s%s", i ? ":" : "", s->listen[i].name);
	vars[0] = rv_arena_fmt(arena, "LISTEN_FDS=%zu", s->listen_count);
	vars[1] = rv_arena_fmt(arena, "LISTEN_FDNAMES=%s", rv_buf_text(&names));
	vars[2] = "LISTEN_PID=";
	rv_buf_fini(&names);
	return !arena->full;
}

void rv_lifeenv_add_recipe(size_t weak, const struct rv_recipe *r, const char **env, size_t *n)
{
	for (size_t i = 0; r && r->env && r->env[i]; i++) {
		const char *eq = strchr(r->env[i], '=');
		size_t at;

		if (!eq)
			continue;
		at = env_find(env, r->env[i], (size_t)(eq - r->env[i]));
		if (at < *n && at >= weak)
			continue;
		env[at] = r->env[i];
		if (at == *n)
			env[++*n] = NULL;
	}
}

bool rv_lifeenv_begin(struct rv_lifeenv *env, size_t weak, const char *const *base,
	const char *const listen[RV_LISTEN_VARS], const struct rv_recipe *r)
{
	size_t n = env_count(base), more = r ? env_count(r->env) : 0;

	env->vars = calloc(n + RV_LISTEN_VARS + more + PUT_ROOM + 1, sizeof(*env->vars));
	if (!env->vars)
		return false;
	if (n)
		memcpy(env->vars, base, n * sizeof(*env->vars));
	for (size_t i = 0; i < RV_LISTEN_VARS && listen[i]; i++)
		env->vars[n++] = listen[i];
	env->n = n;
	rv_lifeenv_add_recipe(weak, r, env->vars, &env->n);
	return true;
}

void rv_lifeenv_put(struct rv_lifeenv *env, const char *entry)
{
	size_t at = env_find(env->vars, entry, strcspn(entry, "="));

	env->vars[at] = entry;
	env->n += at == env->n;
}

void rv_lifeenv_fini(struct rv_lifeenv *env)
{
	free(env->vars);
	*env = (struct rv_lifeenv){0};
}
