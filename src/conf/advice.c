/* What is no mistake, but hardly meant: warnings about a planned configuration. */
#include "conf/whole.h"

#include "base/text.h"

static rv_time add(rv_time a, rv_time b)
{
	return a > RV_NEVER - b ? RV_NEVER : a + b;
}

/* The longest chain of timeouts that a file asks for, against the time for all of it. Defaults do not
 * count: they are bounds for one service, not a wish. */
static void check_budget(struct rv_whole *w, struct rv_complaints *c)
{
	const struct rv_plan *p = w->conf.plan;
	rv_time *until = rv_arena_array(&w->conf.arena, p->nodes, sizeof(*until)), longest = 0;
	const struct rv_detail *last = NULL;
	char sum[40], bound[40];

	for (size_t i = 0; until && i < p->present; i++) {
		const struct rv_detail *d = &w->details[w->detail_of[p->order[i]]];
		rv_time before = 0;

		for (uint32_t k = 0; k < d->node.edge_count; k++) {
			const struct rv_edge *e = &p->edges[d->node.first_edge + k];

			if (until[e->on] > before)
				before = until[e->on];
		}
		until[d->s.id] = add(before, d->timeout_given ? d->s.ready.timeout : 0);
		if (until[d->s.id] > longest && d->s.enabled) {
			longest = until[d->s.id];
			last = d;
		}
	}
	if (last && p->boot_timeout && longest > p->boot_timeout)
		rv_complain_softly(c, last->s.at,
			"the ready.timeouts up to service '%s' add up to %s, "
			"but reeve.boot-timeout ends the boot after %s",
			last->s.name, rv_text_dur(longest, sum, sizeof(sum)),
			rv_text_dur(p->boot_timeout, bound, sizeof(bound)));
}

/* "Not essential" does not help a service that an essential one cannot run without. */
static void check_essential(const struct rv_whole *w, struct rv_complaints *c)
{
	for (size_t i = 0; i < w->detail_count; i++) {
		const struct rv_service *s = &w->details[i].s;

		for (size_t k = 0; k < s->dep_count && s->essential && s->enabled; k++) {
			const struct rv_dependency *d = &s->deps[k];
			const struct rv_service *on = &w->conf.services[d->on];

			if (d->kind == RV_NEEDS && !on->essential && !s->is_command)
				rv_complain_softly(c, d->at,
					"service '%s' is essential and needs '%s', which is not: "
					"the boot fails without it all the same (wants does not)",
					s->name, on->name);
		}
	}
}

void rv_advice_give(struct rv_whole *w, struct rv_complaints *c)
{
	check_budget(w, c);
	check_essential(w, c);
}
