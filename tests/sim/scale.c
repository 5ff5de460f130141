/* scale: what one event costs must not grow with the number of services. Chains, stars both ways. */
#include "core/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum shape { CHAIN, FAN_OUT, FAN_IN };

struct big {
	struct rv_plan plan;
	struct rv_node *node;
	rv_id *order, *backs;
	struct rv_edge *edges;
	struct rv_step step;
	struct rv_core *core;
	struct rv_actions out;
	rv_time now;
	size_t events;
	double spent; /* seconds in apply and settle */
};

static void *get(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

static void node(struct big *b, rv_id id)
{
	b->order[id] = id;
	b->node[id] = (struct rv_node){
		.digest = 1,
		.rank = id,
		.present = true,
		.enabled = true,
		.essential = true,
		.proof = RV_PROOF_PROBE,
		.restart_on = RV_RESTART_FAILURE,
		.start_attempts = 1,
		.ready_timeout = 3600 * RV_SEC,
		.factor_milli = 1000,
		.step_count = 1,
	};
}

static void edge(struct big *b, rv_id from, rv_id on)
{
	b->backs[b->plan.edge_count] = from; /* in order of `on`, for each of the shapes */
	b->edges[b->plan.edge_count++] = (struct rv_edge){
		.on = on, .kind = RV_NEEDS, .until = RV_UNTIL_READY};
	b->node[from].edge_count++;
	b->node[on].back_count++;
}

static void build(struct big *b, enum shape shape, rv_id n)
{
	*b = (struct big){.now = RV_SEC, .step = {.signal = 15, .timeout = 5 * RV_SEC}};
	b->node = get(n, sizeof(*b->node));
	b->order = get(n, sizeof(*b->order));
	b->edges = get(n, sizeof(*b->edges));
	b->backs = get(n, sizeof(*b->backs));
	for (rv_id id = 0; id < n; id++)
		node(b, id);
	for (rv_id id = 1; id < n; id++) {
		if (shape == CHAIN)
			edge(b, id, id - 1);
		else if (shape == FAN_OUT)
			edge(b, id, 0);
		else
			edge(b, n - 1, id - 1);
	}
	for (rv_id id = 0, first = 0, back = 0; id < n; id++) {
		b->node[id].first_edge = first;
		b->node[id].first_back = back;
		first += b->node[id].edge_count;
		back += b->node[id].back_count;
	}
	b->plan = (struct rv_plan){.nodes = n,
		.present = n,
		.node = b->node,
		.order = b->order,
		.edges = b->edges,
		.backs = b->backs,
		.edge_count = b->plan.edge_count,
		.steps = &b->step,
		.step_count = 1,
		.shutdown_timeout = 3600 * RV_SEC,
		.kill_timeout = RV_SEC,
		.exit_from = RV_NO_ID};
	b->core = get(1, rv_core_size(&b->plan));
	b->out.room = rv_core_actions_max(&b->plan);
	b->out.v = get(b->out.room, sizeof(*b->out.v));
	rv_core_init(b->core, &b->plan, 1);
}

static void drop(struct big *b)
{
	free(b->node);
	free(b->order);
	free(b->edges);
	free(b->backs);
	free(b->core);
	free(b->out.v);
}

static double clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One event, one turn: the worst way to feed it. */
static void turn(struct big *b, struct rv_event e)
{
	double before = clock_now();

	b->now += RV_US;
	b->out.n = 0;
	rv_core_apply(b->core, b->now, &e, &b->out);
	rv_core_settle(b->core, b->now, &b->out);
	b->spent += clock_now() - before;
	b->events++;
}

static struct rv_event about(rv_id id, enum rv_event_kind kind)
{
	return (struct rv_event){.kind = (uint8_t)kind, .id = id, .generation = 1};
}

/* Boot and stop all, one event a turn. Nanoseconds an event. */
static double cost(enum shape shape, rv_id n)
{
	struct big b;
	double each;

	build(&b, shape, n);
	turn(&b, about(RV_NO_ID, RV_EV_BOOT));
	for (rv_id id = 0; id < n; id++) {
		turn(&b, about(id, RV_EV_SPAWNED));
		turn(&b, about(id, RV_EV_PROVED));
	}
	if (rv_core_boot(b.core) != RV_BOOT_DONE)
		abort();
	turn(&b, about(RV_NO_ID, RV_EV_SHUTDOWN));
	for (rv_id id = n; id-- > 0;) {
		turn(&b, about(id, RV_EV_EXITED));
		turn(&b, about(id, RV_EV_GONE));
	}
	if (!rv_core_closing(b.core) || rv_core_look(b.core, 0).state != RV_STOPPED)
		abort();
	each = b.spent * 1e9 / (double)b.events;
	drop(&b);
	return each;
}

int main(void)
{
	static const char *const names[] = {
		"a chain", "a star with one at the bottom", "a star with one on top"};
	bool all = true;

	printf("1..3\n");
	for (enum shape s = CHAIN; s <= FAN_IN; s++) {
		double few = cost(s, 50), many = cost(s, 5000);
		/* caches and log2(n) are in the ratio; a sweep of all services would show as 100 */
		bool flat = many < 12 * few;
		printf("# %.0f ns an event with 50 services, %.0f ns with 5000\n", few, many);
		printf("%sok %d - the cost of an event stays flat in %s\n", flat ? "" : "not ",
			(int)s + 1, names[s]);
		all &= flat;
	}
	return all ? 0 : 1;
}
