/* Time: what the bounds of a file add up to, against what there is for a boot. Warnings only. */
#include "conf/whole.h"

#include "base/text.h"

enum { NAMED = 6 }; /* of a path; the rest is counted */

/* One service on the way to ready, when everything takes as long as it may. */
struct leg {
	rv_time begin, own; /* after the start of the boot; of this service alone */
	rv_id via; /* the one before it on the longest way that takes time; RV_NO_ID: none */
	bool runs; /* at boot: enabled, or pulled in */
};

static rv_time add(rv_time a, rv_time b)
{
	return a > RV_NEVER - b ? RV_NEVER : a + b;
}

/* As the core lets it grow, without its jitter. */
static rv_time grown(rv_time delay, const struct rv_node *n)
{
	if (delay > INT64_MAX / (n->factor_milli + INT64_C(1)))
		return n->max_delay;
	delay = delay * n->factor_milli / 1000;
	return delay < n->max_delay ? delay : n->max_delay;
}

/* Attempts and the delays between them. A default timeout does not count: it is a bound for one service,
   not a wish. */
static rv_time own_time(const struct rv_detail *d)
{
	const struct rv_node *n = &d->node;
	rv_time delay = n->delay < n->max_delay ? n->delay : n->max_delay, sum = 0;

	for (uint32_t i = 0; i < n->start_attempts && sum < RV_NEVER; i++) {
		if (d->timeout_given)
			sum = add(sum, d->s.ready.timeout);
		if (i + 1 == n->start_attempts)
			break;
		sum = add(sum, delay);
		delay = grown(delay, n);
	}
	return sum;
}

/* What the boot starts: needs and wants pull in, after does not. */
static void mark_running(const struct rv_plan *p, struct leg *legs)
{
	for (size_t i = p->present; i-- > 0;) {
		const struct rv_node *n = &p->node[p->order[i]];
		struct leg *l = &legs[p->order[i]];

		l->runs |= n->enabled;
		for (uint32_t k = 0; l->runs && k < n->edge_count; k++) {
			const struct rv_edge *e = &p->edges[n->first_edge + k];

			legs[e->on].runs |= e->kind != RV_AFTER;
		}
	}
}

/* When `on` lets its dependent go on, and which service took the last of that time. */
static rv_time let_go(const struct leg *legs, const struct rv_edge *e, rv_id *by)
{
	const struct leg *on = &legs[e->on];
	bool spawned = e->kind == RV_NEEDS && e->until == RV_UNTIL_STARTED;

	*by = spawned || !on->own ? on->via : e->on;
	return spawned ? on->begin : add(on->begin, on->own);
}

static void lay(const struct rv_whole *w, struct leg *legs, rv_id id)
{
	const struct rv_plan *p = w->conf.plan;
	const struct rv_node *n = &p->node[id];
	struct leg *l = &legs[id];

	l->via = RV_NO_ID;
	l->own = own_time(&w->details[w->detail_of[id]]);
	for (uint32_t k = 0; k < n->edge_count; k++) {
		const struct rv_edge *e = &p->edges[n->first_edge + k];
		rv_id by;
		rv_time at = let_go(legs, e, &by);

		if (legs[e->on].runs && at > l->begin) {
			l->begin = at;
			l->via = by;
		}
	}
}

/* "a 20s + b 1m (3 starts)", from the first to `last`. */
static void name_path(
	const struct rv_whole *w, const struct leg *legs, rv_id last, struct rv_buf *to)
{
	rv_id path[NAMED];
	size_t n = 0, more = 0;
	char time[40];

	for (rv_id id = last; id != RV_NO_ID; id = legs[id].via) {
		if (n < NAMED)
			path[n++] = id;
		else
			more++;
	}
	if (more)
		rv_buf_fmt(to, "%zu more + ", more);
	while (n--) {
		const struct rv_detail *d = &w->details[w->detail_of[path[n]]];

		rv_buf_fmt(
			to, "%s %s", d->s.name, rv_text_dur(legs[path[n]].own, time, sizeof(time)));
		if (d->node.start_attempts > 1)
			rv_buf_fmt(to, " (%u starts)", d->node.start_attempts);
		rv_buf_str(to, n ? " + " : "");
	}
}

static void judge_path(const struct rv_whole *w, const struct leg *legs, rv_id last, rv_time sum,
	struct rv_complaints *c)
{
	rv_time boot = w->conf.plan->boot_timeout, window = w->top.platform_window;
	const struct rv_service *s = &w->details[w->detail_of[last]].s;
	bool over_window = window && sum > window, over_boot = boot && sum > boot;
	char total[40], bound[40], end[40];
	struct rv_buf path = {.max = 4096};

	if (!over_window && !over_boot)
		return;
	name_path(w, legs, last, &path);
	rv_text_dur(window, bound, sizeof(bound));
	rv_text_dur(boot, end, sizeof(end));
	rv_complain_softly(c, s->at, "what may pass until '%s' is ready adds up to %s (%s)%s%s%s%s",
		s->name, rv_text_dur(sum, total, sizeof(total)), rv_buf_text(&path),
		over_window ? ", more than reeve.platform-window, " : "", over_window ? bound : "",
		over_boot ? ", but reeve.boot-timeout ends the boot after " : "",
		over_boot ? end : "");
	rv_buf_fini(&path);
}

static void judge_boot(const struct rv_whole *w, struct rv_complaints *c)
{
	rv_time boot = w->conf.plan->boot_timeout, window = w->top.platform_window;
	struct rv_place at = w->top.boot_timeout_at.line ? w->top.boot_timeout_at
							 : w->top.platform_window_at;
	char time[40], bound[40];

	if (!window || (boot && boot <= window))
		return;
	rv_text_dur(window, bound, sizeof(bound));
	if (boot)
		rv_complain_softly(c, at,
			"reeve.boot-timeout, %s, is longer than reeve.platform-window, %s: the "
			"platform gives up before reeve can say why",
			rv_text_dur(boot, time, sizeof(time)), bound);
	else
		rv_complain_softly(c, at,
			"reeve.boot-timeout sets no limit, but reeve.platform-window is %s: the "
			"platform gives up before reeve can say why",
			bound);
}

void rv_budget_advise(struct rv_whole *w, struct rv_complaints *c)
{
	const struct rv_plan *p = w->conf.plan;
	struct leg *legs = rv_arena_array(&w->conf.arena, p->nodes, sizeof(*legs));
	rv_time longest = 0;
	rv_id last = RV_NO_ID;

	judge_boot(w, c);
	if (!legs)
		return;
	mark_running(p, legs);
	for (size_t i = 0; i < p->present; i++) {
		rv_id id = p->order[i];

		lay(w, legs, id);
		if (legs[id].runs && legs[id].own && add(legs[id].begin, legs[id].own) > longest) {
			longest = add(legs[id].begin, legs[id].own);
			last = id;
		}
	}
	if (last != RV_NO_ID)
		judge_path(w, legs, last, longest, c);
}
