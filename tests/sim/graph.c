/* Random plans. */
#include "graph.h"

#include <string.h>

#include "dice.h"

void graph_seal(struct graph *g)
{
	struct rv_plan *p = &g->plan;
	uint32_t at = 0;

	for (uint32_t r = 0; r < p->present; r++)
		g->node[g->order[r]].rank = r;
	for (rv_id on = 0; on < p->nodes; on++) {
		g->node[on].first_back = at;
		for (rv_id id = 0; id < p->nodes; id++)
			for (uint32_t e = 0; g->node[id].present && e < g->node[id].edge_count; e++)
				if (g->edges[g->node[id].first_edge + e].on == on)
					g->backs[at++] = id;
		g->node[on].back_count = at - g->node[on].first_back;
	}
	p->node = g->node;
	p->order = g->order;
	p->edges = g->edges;
	p->backs = g->backs;
	p->steps = g->steps;
}

static rv_time some_time(struct dice *d)
{
	static const rv_time times[] = {RV_MS, 20 * RV_MS, 200 * RV_MS, RV_SEC, 3 * RV_SEC};

	return times[below(d, 5)];
}

static void random_steps(struct graph *g, struct rv_node *n, struct dice *d)
{
	n->first_step = (uint32_t)g->plan.step_count;
	n->step_count = (uint32_t)below(d, 3);
	for (uint32_t i = 0; i < n->step_count; i++)
		g->steps[g->plan.step_count++] = (struct rv_step){
			.signal = i ? 2 : 15,
			.to = (uint8_t)below(d, 3),
			.timeout = some_time(d),
		};
}

static void random_restart(struct rv_node *n, struct dice *d)
{
	n->restart_on = (uint8_t)below(d, 3);
	n->start_attempts = 1 + (uint32_t)below(d, 3);
	n->delay = one_in(d, 3) ? 0 : some_time(d);
	n->factor_milli = 1000 + 500 * (uint32_t)below(d, 4);
	n->max_delay = n->delay + 3 * some_time(d);
	n->limit = (uint32_t)below(d, 4);
	n->window = some_time(d) * 10;
	n->give_up_ends = one_in(d, 12);
}

static void random_node(struct graph *g, struct rv_node *n, struct dice *d)
{
	static const uint8_t hooks[] = {
		RV_HOOK_STOP, RV_HOOK_CLEANUP, RV_HOOK_CONFIRM, RV_HOOK_UPDATE};

	n->digest = roll(d) | 1;
	n->tuning = roll(d);
	n->present = true;
	n->enabled = !one_in(d, 4);
	n->essential = !one_in(d, 3);
	n->recreate = !one_in(d, 3);
	n->type = one_in(d, 4) ? RV_TASK : one_in(d, 8) ? RV_LAUNCHER : RV_DAEMON;
	n->on_loss = one_in(d, 2) ? RV_LOSS_RESTART : (uint8_t)below(d, 3);
	n->proof = one_in(d, 3) ? RV_PROOF_NONE : RV_PROOF_PROBE;
	for (unsigned i = 0; i < sizeof(hooks); i++)
		n->hooks |= one_in(d, 3) ? RV_HAS(hooks[i]) : 0u;
	if (n->recreate && !one_in(d, 4))
		n->hooks |= RV_HAS(RV_HOOK_CONFIRM); /* conf sees to that */
	n->ready_timeout = one_in(d, 8) ? 10 * RV_SEC : some_time(d) + 10 * RV_MS;
	n->health_period = one_in(d, 3) ? some_time(d) + 100 * RV_MS : 0;
	n->health_threshold = 1 + (uint32_t)below(d, 3);
	n->health_restarts = one_in(d, 2);
	n->stop_hook_timeout = some_time(d);
	n->cleanup_timeout = some_time(d);
	random_restart(n, d);
	random_steps(g, n, d);
}

/* Edges to what stands earlier in the order; after all kinds of their own, at most one to each. */
static void random_edges(struct graph *g, uint32_t rank, struct dice *d)
{
	struct rv_node *n = &g->node[g->order[rank]];

	n->first_edge = (uint32_t)g->plan.edge_count;
	n->edge_count = 0;
	for (uint32_t r = 0; r < rank && g->plan.edge_count < GRAPH_EDGES; r++) {
		rv_id on = g->order[r];
		if (!one_in(d, 3))
			continue;
		bool task = g->node[on].type == RV_TASK;
		g->edges[g->plan.edge_count++] = (struct rv_edge){
			.on = on,
			.kind = one_in(d, 2) ? RV_NEEDS : (uint8_t)below(d, 3),
			.until = one_in(d, 5) ? (uint8_t)below(d, 3)
				: task	      ? RV_UNTIL_EXITED
					      : RV_UNTIL_READY,
			.part = one_in(d, 8),
		};
		n->edge_count++;
	}
}

static void random_order(struct graph *g, struct dice *d)
{
	struct rv_plan *p = &g->plan;

	p->present = 0;
	for (rv_id id = 0; id < p->nodes; id++) {
		if (!g->node[id].present)
			continue;
		size_t at = below(d, p->present + 1);
		g->order[p->present++] = g->order[at];
		g->order[at] = id;
	}
	p->edge_count = 0;
	for (uint32_t r = 0; r < p->present; r++)
		random_edges(g, r, d);
	p->exit_from = one_in(d, 8) && p->present ? g->order[below(d, p->present)] : RV_NO_ID;
}

static void random_whole(struct rv_plan *p, struct dice *d)
{
	p->max_starts = one_in(d, 2) ? 0 : 1 + (uint32_t)below(d, 3);
	p->boot_timeout = one_in(d, 3) ? 0 : some_time(d) * 4;
	p->start_grace = some_time(d);
	p->shutdown_timeout = some_time(d) * 5;
	p->kill_timeout = some_time(d);
	p->rollback = one_in(d, 3);
}

void graph_random(struct graph *g, uint64_t seed)
{
	struct dice d = {hash(seed, 1, 0, 0)};

	memset(g, 0, sizeof(*g));
	g->plan.nodes = 1 + below(&d, GRAPH_NODES);
	random_whole(&g->plan, &d);
	for (rv_id id = 0; id < g->plan.nodes; id++)
		if (!one_in(&d, 10))
			random_node(g, &g->node[id], &d);
	random_order(g, &d);
	graph_seal(g);
}

static void keep_steps(struct graph *to, struct rv_node *n, const struct graph *from)
{
	uint32_t first = n->first_step;

	n->first_step = (uint32_t)to->plan.step_count;
	for (uint32_t i = 0; i < n->step_count; i++)
		to->steps[to->plan.step_count++] = from->steps[first + i];
}

void graph_mutate(struct graph *to, const struct graph *from, uint64_t seed)
{
	struct dice d = {hash(seed, 2, 0, 0)};

	memset(to, 0, sizeof(*to));
	to->plan = from->plan;
	to->plan.step_count = 0;
	to->plan.nodes = from->plan.nodes;
	if (to->plan.nodes < GRAPH_NODES && one_in(&d, 3))
		to->plan.nodes++;
	else if (to->plan.nodes > 1 && one_in(&d, 6))
		to->plan.nodes--;
	for (rv_id id = 0; id < to->plan.nodes; id++) {
		struct rv_node *n = &to->node[id];
		bool was = id < from->plan.nodes && from->node[id].present;
		uint64_t fate = below(&d, 8);

		if (was && fate > 2) {
			*n = from->node[id];
			if (fate == 3)
				n->enabled = !n->enabled;
			if (fate == 4)
				n->health_period = one_in(&d, 2) ? 0 : some_time(&d) + 100 * RV_MS;
			if (fate == 5)
				n->recreate = !n->recreate;
			keep_steps(to, n, from);
		} else if (fate > 0) {
			random_node(to, n, &d);
		}
	}
	random_order(to, &d);
	graph_seal(to);
}
