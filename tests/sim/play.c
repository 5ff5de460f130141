/* Runs one plot: virtual time from event to deadline, one settle a turn, two cores side by side. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORE_ROOM  8192
#define MOST_TURNS 6000
/* Peace may last until the longest time that a service asked for is over, with health checks all the while. */
#define MOST_TURNS_OF_PEACE 60000

void sim_create(struct sim *s)
{
	memset(s, 0, sizeof(*s));
	s->out.room = s->twin_out.room = 512;
	s->out.v = calloc(s->out.room, sizeof(struct rv_action));
	s->twin_out.v = calloc(s->twin_out.room, sizeof(struct rv_action));
	s->core = calloc(1, CORE_ROOM);
	s->twin = calloc(1, CORE_ROOM);
	s->spare = calloc(1, CORE_ROOM);
	s->spare_twin = calloc(1, CORE_ROOM);
	s->copy = calloc(1, CORE_ROOM);
	if (!s->out.v || !s->twin_out.v || !s->core || !s->twin || !s->spare || !s->spare_twin ||
		!s->copy)
		abort();
}

void sim_destroy(struct sim *s)
{
	free(s->out.v);
	free(s->twin_out.v);
	free(s->core);
	free(s->twin);
	free(s->spare);
	free(s->spare_twin);
	free(s->copy);
}

static void print_action(const struct sim *s, const struct rv_action *a)
{
	printf("#   %.6f  %s id %d generation %llu state %u why %u hook %u step %u timeout %lld\n",
		(double)s->now / 1e9, action_name((enum rv_action_kind)a->kind), (int)a->id,
		(unsigned long long)a->generation, a->state, a->why, a->hook, a->step,
		(long long)a->timeout);
}

static void apply(struct sim *s, const struct rv_event *e)
{
	if (s->trace)
		printf("# %.6f  > %s id %d generation %llu verdict %u hook %u\n",
			(double)s->now / 1e9, event_name((enum rv_event_kind)e->kind), (int)e->id,
			(unsigned long long)e->generation, e->verdict, e->hook);
	law_event(s, e);
	s->out.n = s->twin_out.n = 0;
	s->fast->apply(s->core, s->now, e, &s->out);
	if (s->oracle)
		s->oracle->apply(s->twin, s->now, e, &s->twin_out);
	if (s->out.n)
		convict(s, "applying an event acts");
}

static void compare(struct sim *s)
{
	size_t size = s->fast->size(&s->graph->plan);

	if (!s->oracle)
		return;
	if (s->out.n != s->twin_out.n ||
		memcmp(s->out.v, s->twin_out.v, s->out.n * sizeof(struct rv_action)) != 0)
		convict(s, "the sweeping oracle acts otherwise");
	else if (memcmp(s->core, s->twin, size) != 0)
		convict(s, "the sweeping oracle remembers otherwise");
}

/* The new plan was built when the reload began; both cores move over. */
static void adopt(struct sim *s)
{
	struct graph *old = s->graph;
	struct rv_core *core = s->core, *twin = s->twin;

	s->fast->adopt(s->spare, &s->next->plan, s->core);
	if (s->oracle)
		s->oracle->adopt(s->spare_twin, &s->next->plan, s->twin);
	s->graph = s->next;
	s->next = old;
	s->core = s->spare;
	s->spare = core;
	s->twin = s->spare_twin;
	s->spare_twin = twin;
	s->reloading = false;
	law_adopted(s);
}

/* Perform never applies: what the world answers comes later, even if at the same time. */
static void settle(struct sim *s)
{
	bool retired = false;
	unsigned each[GRAPH_NODES] = {0};

	s->out.n = s->twin_out.n = 0;
	s->fast->settle(s->core, s->now, &s->out);
	if (s->oracle)
		s->oracle->settle(s->twin, s->now, &s->twin_out);
	compare(s);
	if (s->out.n > s->most_actions)
		s->most_actions = s->out.n;
	if (s->out.n > s->fast->actions_max(&s->graph->plan))
		convict(s, "%zu actions are more than ever possible", s->out.n);
	for (size_t i = 0; i < s->out.n && !s->failed; i++) {
		const struct rv_action *a = &s->out.v[i];
		if (a->id < GRAPH_NODES && ++each[a->id] > s->most_of_one)
			s->most_of_one = each[a->id];
		if (s->trace)
			print_action(s, a);
		law_action(s, a);
		world_act(s, a);
		retired |= a->kind == RV_ACT_RETIRED;
	}
	if (!s->failed)
		law_settled(s);
	s->turn++;
	if (retired && !s->failed)
		adopt(s);
}

/* A settle that nobody needs does nothing. */
static void idle_settle(struct sim *s)
{
	memcpy(s->copy, s->core, s->fast->size(&s->graph->plan));
	s->out.n = 0;
	s->fast->settle(s->copy, s->now, &s->out);
	for (size_t i = 0; i < s->out.n && s->trace; i++)
		print_action(s, &s->out.v[i]);
	if (s->out.n)
		convict(s, "it acts before its deadline, and without an event");
}

static void reload(struct sim *s, uint64_t salt)
{
	struct rv_event e = {.kind = RV_EV_RETIRE_BEGIN, .id = RV_NO_ID};
	uint8_t change[GRAPH_NODES];

	graph_mutate(s->next, s->graph, salt);
	rv_plan_diff(&s->graph->plan, &s->next->plan, change);
	apply(s, &e);
	e.kind = RV_EV_RETIRE;
	for (e.id = 0; e.id < s->graph->plan.nodes; e.id++)
		if (change[e.id] == RV_REMOVED || change[e.id] == RV_CHANGED)
			apply(s, &e);
	e = (struct rv_event){.kind = RV_EV_RETIRE_END, .id = RV_NO_ID};
	apply(s, &e);
	s->reloading = true;
}

static void do_deed(struct sim *s, const struct deed_at *d)
{
	struct rv_event e = d->event;

	if (e.id != RV_NO_ID)
		e.id %= (rv_id)s->graph->plan.nodes;
	switch (d->deed) {
	case DEED_EVENT:
		if (e.kind == RV_EV_RECREATE) {
			uint64_t g = s->truth[e.id].generation;
			e.generation = g > e.generation ? g - e.generation : g;
		}
		apply(s, &e);
		break;
	case DEED_DIE:
		world_die(s, e.id, e.exit);
		if (law_look(s, e.id).state == RV_ADOPTED) {
			e.kind = RV_EV_EXITED; /* not ours, but its end is seen */
			e.generation = law_look(s, e.id).generation;
			apply(s, &e);
		}
		break;
	case DEED_RELOAD: reload(s, d->salt); break;
	case DEED_LIE: world_lie(s, d->salt); break;
	}
}

static rv_time next_pending(const struct sim *s)
{
	rv_time first = RV_NEVER;

	for (size_t i = 0; i < s->pending_count; i++)
		if (s->pending[i].at < first)
			first = s->pending[i].at;
	return first;
}

/* Whatever is due by now, in the order in which it was sent; one of three stays for the next turn. */
static bool deliver(struct sim *s)
{
	bool some = false;
	size_t kept = 0;
	bool one = hash(s->seed, s->turn, 77, 0) % 3 == 0;

	for (size_t i = 0; i < s->pending_count; i++) {
		struct pending p = s->pending[i];
		if (p.at > s->now || (one && some)) {
			s->pending[kept++] = p;
			continue;
		}
		if (!world_happens(s, &p))
			continue;
		apply(s, &p.event);
		some = true;
	}
	s->pending_count = kept;
	return some;
}

static void advance(struct sim *s, const struct plot *p, size_t *next)
{
	rv_time at = next_pending(s), due = s->fast->deadline(s->core);

	if (due < at)
		at = due;
	if (*next < p->n && p->deeds[*next].at < at)
		at = p->deeds[*next].at;
	if (at > s->now && at != RV_NEVER) {
		if (hash(s->seed, s->turn, 78, 0) % 8 == 0)
			idle_settle(s);
		s->now = at;
	}
	while (*next < p->n && p->deeds[*next].at <= s->now)
		do_deed(s, &p->deeds[(*next)++]);
	deliver(s);
}

static bool has_more(const struct sim *s, const struct plot *p, size_t next)
{
	return next < p->n || s->pending_count || s->fast->deadline(s->core) != RV_NEVER;
}

/* The operator lifts what he froze, and the world behaves from now on. */
static void make_peace(struct sim *s)
{
	struct rv_event e = {.kind = RV_EV_RESUME, .id = RV_NO_ID};

	s->honest = true;
	apply(s, &e);
	e.kind = RV_EV_DISABLED;
	e.verdict = RV_OK;
	apply(s, &e);
	settle(s);
	s->honest_since = s->now;
}

static void come_to_rest(struct sim *s, const struct plot *p)
{
	size_t next = p->n;

	make_peace(s);
	for (int turns = 0; turns < MOST_TURNS_OF_PEACE && !s->failed && !s->over; turns++) {
		if (s->now > s->honest_since + 30 * RV_SEC && law_at_rest(s, false))
			return;
		if (!has_more(s, p, next) || s->now > s->honest_since + 600 * RV_SEC)
			break;
		advance(s, p, &next);
		settle(s);
	}
	if (!s->failed && !s->over && !s->fast->closing(s->core))
		law_at_rest(s, true);
}

static void close(struct sim *s, const struct plot *p)
{
	struct rv_event e = {.kind = RV_EV_SHUTDOWN, .id = RV_NO_ID};
	size_t next = p->n;

	if (!s->failed && !s->over)
		apply(s, &e);
	if (!s->failed && !s->over)
		settle(s);
	for (int turns = 0; turns < MOST_TURNS && !s->failed && !s->over; turns++) {
		advance(s, p, &next);
		settle(s);
	}
	if (!s->failed && !s->over)
		convict(s, "it is never over");
	for (int i = 0; i < 3 && !s->failed && s->pending_count; i++) {
		advance(s, p, &next);
		settle(s);
	}
}

static void reset(struct sim *s, const struct plot *plot)
{
	s->graph = &s->graphs[0];
	s->next = &s->graphs[1];
	s->now = RV_SEC;
	s->seed = plot->seed;
	s->turn = 1;
	s->honest = s->reloading = s->over = s->failed = s->informs = false;
	s->end_of_turns = 0;
	s->closing_since = s->honest_since = s->in_vain_since = 0;
	s->boots = 0;
	s->pending_count = 0;
	memset(s->truth, 0, sizeof(s->truth));
	memset(s->record, 0, sizeof(s->record));
	for (rv_id id = 0; id < GRAPH_NODES; id++)
		s->record[id].ask = -1;
	graph_random(s->graph, plot->seed);
}

bool sim_run(struct sim *s, const struct plot *plot, const struct brain *fast,
	const struct brain *oracle)
{
	struct rv_event boot = {.kind = RV_EV_BOOT, .id = RV_NO_ID};
	size_t next = 0;

	reset(s, plot);
	s->fast = fast;
	s->oracle = oracle;
	if (fast->size(&s->graph->plan) > CORE_ROOM / 2)
		abort();
	fast->init(s->core, &s->graph->plan, plot->seed);
	if (oracle)
		oracle->init(s->twin, &s->graph->plan, plot->seed);
	apply(s, &boot);
	settle(s);
	for (int turns = 0; turns < MOST_TURNS && next < plot->n && !s->failed && !s->over;
		turns++) {
		advance(s, plot, &next);
		settle(s);
	}
	if (plot->honest && !s->failed && !s->over)
		come_to_rest(s, plot);
	close(s, plot);
	return !s->failed;
}
