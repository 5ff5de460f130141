/* A plan with the memory it points to, small enough to be copied. */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "core/plan.h"

#define GRAPH_NODES 8
#define GRAPH_EDGES 24
#define GRAPH_STEPS 16

struct graph {
	struct rv_plan plan; /* points into this graph: set anew by graph_seal() */
	struct rv_node node[GRAPH_NODES];
	rv_id order[GRAPH_NODES];
	struct rv_edge edges[GRAPH_EDGES];
	rv_id backs[GRAPH_EDGES];
	struct rv_step steps[GRAPH_STEPS];
};

/* From node[].first_edge/edge_count, edges, order and plan.nodes/present: ranks, backs, pointers. */
void graph_seal(struct graph *g);
/* A whole random plan: every type, policy, hook, edge. */
void graph_random(struct graph *g, uint64_t seed);
/* Another plan over the same slots: some same, some changed, tuned, gone or new. */
void graph_mutate(struct graph *to, const struct graph *from, uint64_t seed);

#endif
