/* The located tree: see tree.h. */
#include "conf/tree.h"

#include <string.h>

uint32_t rv_tree_hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

bool rv_index_init(struct rv_index *x, struct rv_arena *a, size_t names)
{
	x->room = 8;
	while (x->room < names * 2)
		x->room *= 2;
	x->cells = rv_arena_array(a, x->room, sizeof(x->cells[0]));
	return x->cells != NULL;
}

static struct rv_index_cell *cell(const struct rv_index *x, const char *name, uint32_t hash)
{
	size_t i = (hash * 2654435761u) & (x->room - 1);

	while (x->cells[i].name &&
		(x->cells[i].hash != hash || strcmp(x->cells[i].name, name) != 0))
		i = (i + 1) & (x->room - 1);
	return &x->cells[i];
}

uint32_t rv_index_find(const struct rv_index *x, const char *name, uint32_t hash)
{
	const struct rv_index_cell *c = cell(x, name, hash);

	return c->name ? c->value : RV_NO_ID;
}

void rv_index_add(struct rv_index *x, const char *name, uint32_t hash, uint32_t value)
{
	*cell(x, name, hash) = (struct rv_index_cell){name, hash, value};
}

const struct rv_pair *rv_tree_pair(const struct rv_tree *map, const char *key)
{
	if (!map || map->kind != RV_TREE_MAP)
		return NULL;
	for (uint32_t i = 0; i < map->count; i++)
		if (!strcmp(map->pairs[i].key, key))
			return &map->pairs[i];
	return NULL;
}

const struct rv_tree *rv_tree_get(const struct rv_tree *map, const char *key)
{
	const struct rv_pair *p = rv_tree_pair(map, key);

	return p ? p->value : NULL;
}

struct rv_tree *rv_tree_scalar(
	struct rv_arena *a, const char *text, uint8_t style, struct rv_place at)
{
	struct rv_tree *t = rv_arena_alloc(a, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct rv_tree){.at = at,
		.kind = RV_TREE_SCALAR,
		.style = style,
		.depth = 1,
		.weight = 1,
		.count = (uint32_t)strlen(text),
		.text = text};
	return t;
}

struct rv_tree *rv_tree_map(
	struct rv_arena *a, size_t n, struct rv_pair **pairs, struct rv_place at)
{
	struct rv_tree *t = rv_arena_alloc(a, sizeof(*t));

	*pairs = rv_arena_array(a, n, sizeof(**pairs));
	if (!t || !*pairs)
		return NULL;
	*t = (struct rv_tree){
		.at = at, .kind = RV_TREE_MAP, .depth = 2, .weight = 1, .pairs = *pairs};
	return t;
}

bool rv_tree_is_null(const struct rv_tree *t)
{
	return t->kind == RV_TREE_SCALAR && t->style == RV_TREE_PLAIN &&
		(!*t->text || !strcmp(t->text, "~") || !strcmp(t->text, "null") ||
			!strcmp(t->text, "Null") || !strcmp(t->text, "NULL"));
}

/* Two maps that are to become `to`; the list of those still to do replaces recursion. */
struct job {
	struct job *next;
	const struct rv_tree *below, *above;
	struct rv_tree *to;
};

static bool both_maps(const struct rv_tree *a, const struct rv_tree *b)
{
	return a->kind == RV_TREE_MAP && b->kind == RV_TREE_MAP;
}

static struct rv_tree *add_job(struct rv_arena *a, struct job **jobs, const struct rv_tree *below,
	const struct rv_tree *above)
{
	struct job *j = rv_arena_alloc(a, sizeof(*j));
	struct rv_tree *to = rv_arena_alloc(a, sizeof(*to));

	if (!j || !to)
		return NULL;
	*j = (struct job){*jobs, below, above, to};
	*jobs = j;
	return to;
}

static bool merge_one(struct rv_arena *a, struct job **jobs, const struct job *j)
{
	size_t n = j->below->count;
	struct rv_pair *pairs = rv_arena_array(a, n + j->above->count, sizeof(*pairs));
	struct rv_index x;

	if (!pairs || !rv_index_init(&x, a, n))
		return false;
	if (n)
		memcpy(pairs, j->below->pairs, n * sizeof(*pairs));
	for (uint32_t i = 0; i < n; i++)
		rv_index_add(&x, pairs[i].key, pairs[i].hash, i);
	for (uint32_t i = 0; i < j->above->count; i++) {
		const struct rv_pair *p = &j->above->pairs[i];
		uint32_t at = rv_index_find(&x, p->key, p->hash);

		if (at == RV_NO_ID) {
			pairs[n++] = *p;
			continue;
		}
		if (both_maps(pairs[at].value, p->value)) {
			pairs[at].value = add_job(a, jobs, pairs[at].value, p->value);
			if (!pairs[at].value)
				return false;
		} else {
			pairs[at] = *p;
		}
	}
	*j->to = *j->above;
	j->to->pairs = pairs;
	j->to->count = (uint32_t)n;
	return true;
}

const struct rv_tree *rv_tree_merge(
	struct rv_arena *a, const struct rv_tree *below, const struct rv_tree *above)
{
	struct job *jobs = NULL;
	struct rv_tree *to;

	if (!both_maps(below, above))
		return above;
	to = add_job(a, &jobs, below, above);
	if (!to)
		return NULL;
	while (jobs) {
		const struct job *j = jobs;

		jobs = j->next;
		if (!merge_one(a, &jobs, j))
			return NULL;
	}
	return to;
}
