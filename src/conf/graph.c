/* Who depends on whom: names -> slots, cycles, a deterministic order. Nothing here recurses: a chain may
 * be as long as the file. */
#include "conf/whole.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- reading needs, wants, after -------------------------------------------------------------- */

struct needing {
	const struct rv_tree *service, *until;
};

static const struct rv_row needs_rows[] = {
	{"service", rv_read_tree, offsetof(struct needing, service), NULL, 0, 0, NULL, false},
	{"until", rv_read_tree, offsetof(struct needing, until), NULL, 0, 0, NULL, false},
};
const struct rv_table rv_needs_table = RV_TABLE(needs_rows);

static rv_words until_words = {"started", "ready", "exited", NULL};

static void unknown_service(struct rv_read *r, struct rv_whole *w, const struct rv_tree *v)
{
	const char **names = calloc(w->detail_count, sizeof(*names));
	char hint[200] = "";

	/* Beyond the first mistakes the search for near names is not worth its time. */
	if (names && r->c->errors < 200) {
		for (size_t i = 0; i < w->detail_count; i++)
			names[i] = w->details[i].s.name;
		rv_read_hint(v->text, names, w->detail_count, hint, sizeof(hint));
	}
	rv_read_complain(r, v->at, "names '%s', but there is no such service%s", v->text, hint);
	free(names);
}

/* The slot of the service that v names, or RV_NO_ID with a complaint. */
static uint32_t find(
	struct rv_read *r, struct rv_whole *w, const struct rv_detail *d, const struct rv_tree *v)
{
	uint32_t slot;

	if (v->kind != RV_TREE_SCALAR) {
		rv_read_refuse(r, v, "the name of a service");
		return RV_NO_ID;
	}
	slot = rv_index_find(&w->names, v->text, rv_tree_hash(v->text));
	if (slot == RV_NO_ID) {
		if (!w->broken)
			unknown_service(r, w, v);
	} else if (slot == d->s.id) {
		rv_read_complain(r, v->at, "names the service itself");
		slot = RV_NO_ID;
	}
	return slot;
}

static uint8_t usual_until(const struct rv_whole *w, uint32_t slot)
{
	return w->details[w->detail_of[slot]].type == RV_TASK ? RV_UNTIL_EXITED : RV_UNTIL_READY;
}

/* "name", or {service: name, until: word}. */
static bool read_one(struct rv_read *r, struct rv_whole *w, const struct rv_detail *d,
	const struct rv_tree *v, enum rv_edge_kind kind, struct rv_dependency *to)
{
	static const struct rv_row until_row = {"until", NULL, 0, until_words, 0, 0, NULL, false};
	struct needing n = {.service = v};

	if (v->kind == RV_TREE_MAP && kind == RV_NEEDS) {
		n.service = NULL;
		rv_read_table(r, &rv_needs_table, v, &n);
		if (!n.service) {
			rv_read_complain(r, v->at, "has an entry without 'service'");
			return false;
		}
	}
	*to = (struct rv_dependency){.kind = (uint8_t)kind, .at = n.service->at};
	to->on = find(r, w, d, n.service);
	if (to->on != RV_NO_ID)
		to->until = usual_until(w, to->on);
	if (!n.until)
		return to->on != RV_NO_ID;
	rv_read_enter(r, "until");
	rv_read_word(r, &until_row, n.until, &to->until);
	rv_read_leave(r);
	if (to->on == RV_NO_ID)
		return false;
	if (to->until == RV_UNTIL_EXITED && usual_until(w, to->on) != RV_UNTIL_EXITED)
		rv_read_complain(r, n.until->at, "waits until '%s' has exited, which is no task",
			n.service->text);
	return true;
}

struct reading {
	struct rv_dependency *list;
	size_t count;
	bool parts; /* part-of is read: that adds to what is there */
	uint32_t *seen; /* by slot: 1 + place in list of this service's dependency, or less */
	uint32_t *seen_turn; /* by slot: the service that wrote `seen` */
	uint32_t turn;
};

static void add_dependency(
	struct rv_read *r, struct reading *g, struct rv_dependency dep, const char *name)
{
	struct rv_dependency *before;

	dep.part = g->parts;
	if (g->seen_turn[dep.on] != g->turn) {
		g->seen_turn[dep.on] = g->turn;
		g->seen[dep.on] = (uint32_t)g->count;
		g->list[g->count++] = dep;
		return;
	}
	/* In two lists the strongest counts: they are read from strong to weak. */
	before = &g->list[g->seen[dep.on]];
	if (g->parts ? before->part : before->kind == dep.kind)
		rv_read_complain(r, dep.at, "names '%s' twice", name);
	before->part = g->parts;
}

static void read_list(struct rv_read *r, struct rv_whole *w, struct rv_detail *d, const char *key,
	const struct rv_tree *v, enum rv_edge_kind kind, struct reading *g)
{
	struct rv_dependency dep;

	if (!v)
		return;
	rv_read_enter(r, key);
	if (v->kind != RV_TREE_LIST) {
		rv_read_refuse(r, v, "a list of services");
	} else {
		for (uint32_t i = 0; i < v->count; i++)
			if (read_one(r, w, d, v->items[i], kind, &dep))
				add_dependency(r, g, dep, w->details[w->detail_of[dep.on]].s.name);
	}
	rv_read_leave(r);
}

static size_t length(const struct rv_tree *v)
{
	return v && v->kind == RV_TREE_LIST ? v->count : 0;
}

/* `reeve -- CMD`: everything that boots comes first. */
static void needs_all(struct rv_whole *w, struct rv_detail *d, struct reading *g)
{
	for (size_t i = 0; i < w->detail_count; i++) {
		const struct rv_service *s = &w->details[i].s;

		if (s->id != d->s.id && s->enabled)
			g->list[g->count++] = (struct rv_dependency){.on = s->id,
				.kind = RV_NEEDS,
				.until = usual_until(w, s->id),
				.at = d->s.at};
	}
}

static void read_service(
	struct rv_read *r, struct rv_whole *w, struct rv_detail *d, struct reading *g)
{
	bool is_command = r->draft->command && !strcmp(d->s.name, RV_MAIN);
	size_t most = length(d->needs) + length(d->wants) + length(d->after) + length(d->part_of);

	if (is_command)
		most += w->detail_count;
	g->list = rv_arena_array(r->arena, most, sizeof(*g->list));
	if (!g->list)
		return;
	g->count = 0;
	g->turn++;
	r->service = d->s.name;
	r->depth = 0;
	read_list(r, w, d, "needs", d->needs, RV_NEEDS, g);
	read_list(r, w, d, "wants", d->wants, RV_WANTS, g);
	read_list(r, w, d, "after", d->after, RV_AFTER, g);
	g->parts = true;
	read_list(r, w, d, "part-of", d->part_of, RV_AFTER, g);
	g->parts = false;
	if (is_command)
		needs_all(w, d, g);
	d->s.is_command = is_command;
	d->s.deps = g->list;
	d->s.dep_count = g->count;
}

/* --- order ------------------------------------------------------------------------------------ */

/* All in file order: i is details[i]. Malloc'ed, for the time of sorting. */
struct sorting {
	size_t n, done;
	uint32_t *left; /* dependencies that have no rank yet */
	uint32_t *first; /* into back: who depends on i; n + 1 entries */
	uint32_t *back;
	uint32_t *heap; /* those that may come next; the earliest in the file first */
	size_t heap_count;
	uint32_t *order;
};

static uint32_t on(const struct rv_whole *w, const struct rv_detail *d, size_t k)
{
	return w->detail_of[d->s.deps[k].on];
}

static void push(struct sorting *s, uint32_t x)
{
	size_t i = s->heap_count++;

	for (; i && s->heap[(i - 1) / 2] > x; i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = x;
}

static uint32_t pop(struct sorting *s)
{
	uint32_t top = s->heap[0], x = s->heap[--s->heap_count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < s->heap_count) {
		if (child + 1 < s->heap_count && s->heap[child + 1] < s->heap[child])
			child++;
		if (s->heap[child] >= x)
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = x;
	return top;
}

static bool sorting_init(struct sorting *s, const struct rv_whole *w)
{
	size_t n = w->detail_count, edges = 0;
	uint32_t *fill;

	for (size_t i = 0; i < n; i++)
		edges += w->details[i].s.dep_count;
	*s = (struct sorting){.n = n};
	s->left = calloc(n * 5 + edges + 2, sizeof(uint32_t));
	if (!s->left)
		return false;
	s->first = s->left + n;
	s->heap = s->first + n + 1;
	s->order = s->heap + n;
	fill = s->order + n;
	s->back = fill + n;
	for (size_t i = 0; i < n; i++) {
		const struct rv_detail *d = &w->details[i];

		s->left[i] = (uint32_t)d->s.dep_count;
		for (size_t k = 0; k < d->s.dep_count; k++)
			s->first[on(w, d, k) + 1]++;
	}
	for (size_t i = 0; i < n; i++) {
		s->first[i + 1] += s->first[i];
		fill[i] = s->first[i];
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < w->details[i].s.dep_count; k++)
			s->back[fill[on(w, &w->details[i], k)]++] = (uint32_t)i;
	return true;
}

static void sort(struct sorting *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->left[i])
			push(s, (uint32_t)i);
	while (s->heap_count) {
		uint32_t x = pop(s);

		s->order[s->done++] = x;
		for (uint32_t k = s->first[x]; k < s->first[x + 1]; k++)
			if (!--s->left[s->back[k]])
				push(s, s->back[k]);
	}
}

/* --- cycles ----------------------------------------------------------------------------------- */

enum { NAMED = 40 }; /* members of a cycle that a message names */

static const char *const kinds[] = {"needs", "wants", "comes after"};

/* A dependency of x that has no rank either: it exists while x has none. */
static const struct rv_dependency *stuck_on(
	const struct rv_whole *w, const struct sorting *s, uint32_t x)
{
	const struct rv_detail *d = &w->details[x];

	for (size_t k = 0; k < d->s.dep_count; k++)
		if (s->left[on(w, d, k)])
			return &d->s.deps[k];
	return NULL;
}

static void name_cycle(
	const struct rv_whole *w, const struct sorting *s, uint32_t start, struct rv_complaints *c)
{
	struct rv_buf names = {0}, places = {0};
	uint32_t x = start;
	size_t n = 0;

	do {
		const struct rv_dependency *d = stuck_on(w, s, x);
		uint32_t next = w->detail_of[d->on];

		if (n < NAMED) {
			rv_buf_fmt(&names, "%s -> ", w->details[x].s.name);
			rv_buf_fmt(&places, "%s'%s' %s '%s'", n ? ", " : "", w->details[x].s.name,
				d->part && d->kind == RV_AFTER ? "is part of" : kinds[d->kind],
				w->details[next].s.name);
			if (*d->at.file)
				rv_buf_fmt(&places, " at %s:%u:%u", d->at.file, d->at.line,
					d->at.column);
		}
		n++;
		x = next;
	} while (x != start);
	if (n > NAMED)
		rv_buf_fmt(&names, "(%zu more) -> ", n - NAMED);
	rv_complain(c, stuck_on(w, s, start)->at, "dependency cycle: %s%s (%s)",
		rv_buf_text(&names), w->details[start].s.name, rv_buf_text(&places));
	rv_buf_fini(&names);
	rv_buf_fini(&places);
}

/* From each that has no rank walk along dependencies until a place that was seen: if in this same walk,
 * a new cycle is found. */
static void name_cycles(const struct rv_whole *w, struct sorting *s, struct rv_complaints *c)
{
	uint32_t *walk = s->heap; /* free by now */

	memset(walk, 0, s->n * sizeof(*walk));
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t x = i;

		while (s->left[x] && !walk[x]) {
			walk[x] = i + 1;
			x = w->detail_of[stuck_on(w, s, x)->on];
		}
		if (s->left[x] && walk[x] == i + 1)
			name_cycle(w, s, x, c);
	}
}

bool rv_graph_read(struct rv_read *r, struct rv_whole *w)
{
	struct reading g = {0};
	size_t slots = w->conf.service_count;
	struct sorting s;

	g.seen = calloc(slots * 2 + 1, sizeof(uint32_t));
	if (!g.seen)
		return false;
	g.seen_turn = g.seen + slots;
	for (size_t i = 0; i < w->detail_count; i++)
		read_service(r, w, &w->details[i], &g);
	free(g.seen);
	if (r->arena->full || !sorting_init(&s, w))
		return false;
	sort(&s);
	if (s.done < s.n)
		name_cycles(w, &s, r->c);
	free(s.left);
	return true;
}

/* --- the plan's arrays ------------------------------------------------------------------------ */

bool rv_graph_build(struct rv_whole *w, struct rv_plan *plan)
{
	struct rv_arena *a = &w->conf.arena;
	struct rv_node *nodes = rv_arena_array(a, plan->nodes, sizeof(*nodes));
	rv_id *order = rv_arena_array(a, w->detail_count, sizeof(*order));
	struct rv_edge *edges;
	struct sorting s;
	rv_id *backs;
	uint32_t e = 0;

	for (size_t i = 0; i < w->detail_count; i++)
		plan->edge_count += w->details[i].s.dep_count;
	edges = rv_arena_array(a, plan->edge_count, sizeof(*edges));
	backs = rv_arena_array(a, plan->edge_count, sizeof(*backs));
	if (!nodes || !order || !edges || !backs || !sorting_init(&s, w))
		return false;
	for (size_t i = 0; i < w->detail_count; i++) {
		struct rv_detail *d = &w->details[i];

		d->node.first_edge = e;
		d->node.edge_count = (uint32_t)d->s.dep_count;
		for (size_t k = 0; k < d->s.dep_count; k++, e++)
			edges[e] = (struct rv_edge){d->s.deps[k].on, d->s.deps[k].kind,
				d->s.deps[k].until, d->s.deps[k].part};
		d->node.first_back = s.first[i];
		d->node.back_count = s.first[i + 1] - s.first[i];
	}
	for (size_t k = 0; k < plan->edge_count; k++)
		backs[k] = w->details[s.back[k]].s.id;
	sort(&s);
	for (size_t i = 0; i < s.done; i++) {
		struct rv_detail *d = &w->details[s.order[i]];

		d->node.rank = (uint32_t)i;
		order[i] = d->s.id;
	}
	free(s.left);
	for (size_t i = 0; i < w->detail_count; i++)
		nodes[w->details[i].s.id] = w->details[i].node;
	plan->node = nodes;
	plan->order = order;
	plan->present = s.done;
	plan->edges = edges;
	plan->backs = backs;
	return s.done == s.n;
}
