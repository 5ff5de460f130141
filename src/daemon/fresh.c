/* A recipe that is kept: see fresh.h. */
#include "daemon/fresh.h"

#include <stdlib.h>
#include <string.h>

static const char *const *copy_list(struct rv_arena *a, const char *const *list)
{
	const char **to;
	size_t n = 0;

	if (!list)
		return NULL;
	while (list[n])
		n++;
	to = rv_arena_array(a, n + 1, sizeof(*to));
	for (size_t i = 0; to && i < n; i++)
		to[i] = rv_arena_strdup(a, list[i]);
	return to;
}

static const char *copy(struct rv_arena *a, const char *text)
{
	return text ? rv_arena_strdup(a, text) : NULL;
}

struct rv_fresh *rv_fresh_create(const struct rv_recipe *r)
{
	struct rv_fresh *f = calloc(1, sizeof(*f));
	uint16_t *ports;

	if (!f)
		return NULL;
	ports = rv_arena_array(&f->arena, r->port_count, sizeof(*ports));
	if (ports && r->port_count)
		memcpy(ports, r->ports, r->port_count * sizeof(*ports));
	f->recipe = *r;
	f->recipe.argv = copy_list(&f->arena, r->argv);
	f->recipe.env = copy_list(&f->arena, r->env);
	f->recipe.ports = ports;
	f->recipe.log_file = copy(&f->arena, r->log_file);
	f->recipe.pid_file = copy(&f->arena, r->pid_file);
	f->recipe.error = NULL;
	if (!f->arena.full)
		return f;
	rv_fresh_destroy(f);
	return NULL;
}

void rv_fresh_destroy(struct rv_fresh *f)
{
	if (!f)
		return;
	rv_arena_wipe(&f->arena);
	free(f);
}
