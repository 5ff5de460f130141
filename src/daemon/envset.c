/* The variables that the sandbox has: see envset.h. */
#include "daemon/envset.h"

#include <stdlib.h>
#include <string.h>

#include "sys/fd.h"

static struct rv_envset *make(struct rv_variables *variables)
{
	struct rv_envset *s = calloc(1, sizeof(*s));

	if (!s) {
		rv_variables_fini(variables);
		return NULL;
	}
	s->variables = *variables;
	*variables = (struct rv_variables){0};
	s->later = calloc(s->variables.count + 1, sizeof(*s->later));
	if (s->later)
		return s;
	rv_envset_destroy(s);
	return NULL;
}

/* Without memory for it, nothing of what others say is shown. */
static struct rv_envset *mask(struct rv_envset *s)
{
	static const char *const none[] = {NULL};
	const char *const *list = rv_envset_list(s);

	if (s)
		s->mask = rv_mask_values(list ? list : none);
	return s;
}

struct rv_envset *rv_envset_create(struct rv_variables *variables)
{
	return mask(make(variables));
}

static size_t place(const struct rv_variables *v, const char *entry)
{
	size_t n = strcspn(entry, "=") + 1, i = 0;

	while (i < v->count && strncmp(v->list[i], entry, n) != 0)
		i++;
	return i;
}

struct rv_envset *rv_envset_change(
	const struct rv_envset *old, struct rv_variables *more, bool replace, struct rv_buf *why)
{
	struct rv_variables all = {0};
	struct rv_envset *s = NULL;
	bool fine = (replace || !old || rv_variables_lay(&all, &old->variables)) &&
		rv_variables_lay(&all, more);

	if (fine && rv_variables_fit(&all, why))
		s = make(&all);
	for (size_t i = 0; s && !replace && old && i < old->variables.count; i++)
		s->later[i] = old->later[i];
	for (size_t i = 0; s && i < more->count; i++)
		s->later[place(&s->variables, more->list[i])] = true;
	rv_variables_fini(&all);
	rv_variables_fini(more);
	return mask(s);
}

void rv_envset_destroy(struct rv_envset *s)
{
	if (!s)
		return;
	rv_mask_destroy(s->mask);
	rv_variables_fini(&s->variables);
	free(s->later);
	rv_arena_fini(&s->arena);
	free(s);
}

const char *const *rv_envset_list(const struct rv_envset *s)
{
	return s && s->variables.count ? (const char *const *)s->variables.list : NULL;
}

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

bool rv_envset_drop(struct rv_envset *s, const struct rv_envset *before)
{
	size_t n = 0, most = before ? before->variables.count + count(before->dropped) : 0;
	const char **names;

	s->dropped = NULL;
	if (!most)
		return true;
	names = rv_arena_array(&s->arena, most + 1, sizeof(*names));
	for (size_t i = 0; names && i < before->variables.count; i++) {
		const char *entry = before->variables.list[i];

		if (place(&s->variables, entry) == s->variables.count)
			names[n++] = rv_arena_strndup(&s->arena, entry, strcspn(entry, "="));
	}
	for (size_t i = 0; names && n < RV_ENVSET_DROPPED && before->dropped && before->dropped[i];
		i++)
		if (!rv_variables_find(
			    &s->variables, before->dropped[i], strlen(before->dropped[i])))
			names[n++] = rv_arena_strdup(&s->arena, before->dropped[i]);
	s->dropped = names;
	return !s->arena.full;
}

bool rv_envset_recall(struct rv_envset *s, const struct rv_envset *before)
{
	rv_arena_fini(&s->arena);
	return rv_envset_drop(s, before);
}

/* The service, or its plugin, says what that variable is, whatever the sandbox says. */
static bool is_settled(const struct rv_service *s, const char *entry)
{
	size_t n = strcspn(entry, "=") + 1;

	for (size_t i = s->env_weak; s->env && s->env[i]; i++)
		if (!strncmp(s->env[i], entry, n))
			return true;
	return false;
}

static bool has_more(
	const struct rv_service *s, const struct rv_envset *a, const struct rv_envset *b)
{
	for (size_t i = 0; a && i < a->variables.count; i++) {
		const char *entry = a->variables.list[i];
		size_t at = b ? place(&b->variables, entry) : 0;

		if ((!b || at == b->variables.count || strcmp(b->variables.list[at], entry) != 0) &&
			!is_settled(s, entry))
			return true;
	}
	return false;
}

bool rv_envset_differs(
	const struct rv_service *s, const struct rv_envset *a, const struct rv_envset *b)
{
	return has_more(s, a, b) || has_more(s, b, a);
}

static bool takes(const struct rv_service *s)
{
	return s->name &&
		(s->renews ||
			(s->table && s->type != RV_TASK &&
				(s->table->hooks & ~s->unused & RV_HAS(RV_HOOK_UPDATE))));
}

/* From the dependents down: what is enabled, and what that pulls in. */
static void mark_needed(const struct rv_plan *p, bool *needed)
{
	for (size_t r = p->present; r-- > 0;) {
		const struct rv_node *n = &p->node[p->order[r]];

		needed[p->order[r]] |= n->enabled;
		for (uint32_t e = n->first_edge; e < n->first_edge + n->edge_count; e++)
			if (needed[p->order[r]] && p->edges[e].kind != RV_AFTER)
				needed[p->edges[e].on] = true;
	}
}

bool rv_envset_is_taken(const struct rv_conf *conf, bool boot, struct rv_err *e)
{
	rv_auto_free bool *needed = calloc(conf->service_count + 1, sizeof(*needed));

	if (!needed)
		return rv_fail(e, RV_ERR_SYSTEM, "out of memory");
	if (boot)
		mark_needed(conf->plan, needed);
	for (size_t i = 0; i < conf->service_count; i++)
		if ((!boot || needed[i]) && takes(&conf->services[i]))
			return true;
	return rv_fail(e, RV_ERR_REFUSED,
		"no service%s can take variables: none has a plugin that tells them (as envd has) "
		"or says on-environment-change: restart",
		boot ? " that is started at boot" : "");
}
