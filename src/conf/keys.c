/* The end of a map: each key once, and what << brings. */
#include "conf/tree.h"

#include <stdlib.h>
#include <string.h>

struct closing {
	struct rv_arena *arena;
	struct rv_complaints *c;
	struct rv_scratch *scratch;
};

static bool clear_cells(struct closing *r, size_t names)
{
	size_t want = 16;

	while (want < names * 2)
		want *= 2;
	if (want > r->scratch->room) {
		uint32_t *p = realloc(r->scratch->cells, want * sizeof(*p));

		if (!p)
			return false;
		r->scratch->cells = p;
		r->scratch->room = want;
	}
	/* Only as much as is used: most maps are small. */
	memset(r->scratch->cells, 0, want * sizeof(*r->scratch->cells));
	return true;
}

/* Where `p` is in list, or the free cell where it belongs. */
static uint32_t *find_cell(
	struct closing *r, size_t room, const struct rv_pair *list, const struct rv_pair *p)
{
	size_t i = (p->hash * 2654435761u) & (room - 1);

	for (; r->scratch->cells[i]; i = (i + 1) & (room - 1)) {
		const struct rv_pair *q = &list[r->scratch->cells[i] - 1];

		if (q->hash == p->hash && q->merge == p->merge && !strcmp(q->key, p->key))
			break;
	}
	return &r->scratch->cells[i];
}

/* How many pairs << may bring. What is no map brings none, and is complained about. */
static size_t count_merged(struct closing *r, const struct rv_tree *v)
{
	bool good = v->kind != RV_TREE_SCALAR;
	size_t n = 0;

	if (v->kind == RV_TREE_MAP)
		return v->count;
	for (uint32_t i = 0; v->kind == RV_TREE_LIST && i < v->count; i++) {
		if (v->items[i]->kind == RV_TREE_MAP)
			n += v->items[i]->count;
		else
			good = false;
	}
	if (!good)
		rv_complain(r->c, v->at, "<< must name a map or a list of maps");
	return n;
}

struct merging {
	struct rv_pair *to;
	size_t count, room; /* room: of the cells */
};

static void merge_map(struct closing *r, struct merging *m, const struct rv_tree *from)
{
	for (uint32_t i = 0; i < from->count; i++) {
		uint32_t *cell = find_cell(r, m->room, m->to, &from->pairs[i]);

		if (*cell)
			continue; /* own keys and earlier maps win */
		m->to[m->count] = from->pairs[i];
		*cell = (uint32_t)++m->count;
	}
}

static void merge_value(struct closing *r, struct merging *m, const struct rv_tree *v)
{
	if (v->kind == RV_TREE_MAP) {
		merge_map(r, m, v);
		return;
	}
	if (v->kind != RV_TREE_LIST)
		return;
	for (uint32_t i = 0; i < v->count; i++)
		if (v->items[i]->kind == RV_TREE_MAP)
			merge_map(r, m, v->items[i]);
}

static void own_pair(struct closing *r, struct merging *m, const struct rv_pair *p)
{
	uint32_t *cell = find_cell(r, m->room, m->to, p);

	if (*cell) {
		struct rv_place first = m->to[*cell - 1].at;

		rv_complain(r->c, p->at, "key '%s' is written twice (first at %s:%u:%u)", p->key,
			first.file, first.line, first.column);
		return;
	}
	m->to[m->count] = *p;
	*cell = (uint32_t)++m->count;
}

/* Small maps without << are the rule: compare each with each before paying for a table. */
static bool is_simple(const struct rv_pair *list, size_t n)
{
	if (n > 12)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (list[i].merge)
			return false;
		for (size_t j = 0; j < i; j++)
			if (list[i].hash == list[j].hash)
				return false;
	}
	return true;
}

/* The << itself has done its work: it is taken out, and what is left is numbered again. */
static bool drop_merge_key(struct closing *r, struct merging *m, size_t most)
{
	size_t own = 0;

	for (size_t i = 0; i < m->count; i++)
		if (!m->to[i].merge)
			m->to[own++] = m->to[i];
	m->count = own;
	if (!clear_cells(r, most))
		return false;
	for (size_t i = 0; i < own; i++)
		*find_cell(r, m->room, m->to, &m->to[i]) = (uint32_t)i + 1;
	return true;
}

bool rv_tree_close_map(struct rv_arena *a, struct rv_complaints *c, struct rv_scratch *scratch,
	struct rv_tree *node, const struct rv_pair *list, size_t n)
{
	struct closing r = {a, c, scratch};
	struct merging m = {.room = 16};
	const struct rv_tree *merge = NULL;
	size_t most = n;

	for (size_t i = 0; i < n; i++)
		if (list[i].merge && !merge)
			most += count_merged(&r, (merge = list[i].value));
	m.to = rv_arena_array(a, most, sizeof(*m.to));
	if (!m.to)
		return false;
	node->pairs = m.to;
	if (is_simple(list, n)) {
		if (n)
			memcpy(m.to, list, n * sizeof(*list));
		node->count = (uint32_t)n;
		return true;
	}
	if (!clear_cells(&r, most))
		return false;
	while (m.room < most * 2)
		m.room *= 2;
	for (size_t i = 0; i < n; i++)
		own_pair(&r, &m, &list[i]);
	if (merge) {
		if (!drop_merge_key(&r, &m, most))
			return false;
		merge_value(&r, &m, merge);
	}
	node->count = (uint32_t)m.count;
	return true;
}
