/* What a reload would do to each slot. */
#include "core/plan.h"

static const struct rv_node *node_of(const struct rv_plan *p, size_t id)
{
	return id < p->nodes && p->node[id].present ? &p->node[id] : NULL;
}

static bool same_edges(const struct rv_plan *a, const struct rv_node *x, const struct rv_plan *b,
	const struct rv_node *y)
{
	if (x->edge_count != y->edge_count)
		return false;
	for (uint32_t i = 0; i < x->edge_count; i++) {
		const struct rv_edge *e = &a->edges[x->first_edge + i];
		const struct rv_edge *f = &b->edges[y->first_edge + i];
		if (e->on != f->on || e->kind != f->kind || e->until != f->until ||
			e->part != f->part)
			return false;
	}
	return true;
}

static enum rv_change compare(const struct rv_plan *old, const struct rv_plan *new, size_t id)
{
	const struct rv_node *was = node_of(old, id), *is = node_of(new, id);

	if (!was)
		return is ? RV_ADDED : RV_SAME;
	if (!is)
		return RV_REMOVED;
	if (was->digest != is->digest)
		return RV_CHANGED;
	if (was->tuning != is->tuning || !same_edges(old, was, new, is))
		return RV_TUNED;
	return RV_SAME;
}

void rv_plan_diff(const struct rv_plan *old, const struct rv_plan *new, uint8_t *change)
{
	size_t n = old->nodes > new->nodes ? old->nodes : new->nodes;

	for (size_t id = 0; id < n; id++)
		change[id] = (uint8_t)compare(old, new, id);
}
