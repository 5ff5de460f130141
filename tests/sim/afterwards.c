/* The law, second part: what has to hold between two turns, and when the world has come to rest. */
#include "sim.h"

static void law_permits(struct sim *s)
{
	uint32_t starting = 0;

	for (rv_id id = 0; id < s->graph->plan.nodes; id++)
		starting += s->graph->node[id].present && law_look(s, id).state == RV_STARTING;
	if (s->graph->plan.max_starts && starting > s->graph->plan.max_starts)
		convict(s, "%u starts at one time", starting);
	if (s->graph->plan.max_starts && starting < s->graph->plan.max_starts)
		for (rv_id id = 0; id < s->graph->plan.nodes; id++)
			if (s->graph->node[id].present && law_look(s, id).state == RV_QUEUED)
				convict(s, "%u queues for a permit that is free", id);
}

static void law_need(struct sim *s)
{
	bool need[GRAPH_NODES] = {false};

	for (size_t rank = s->graph->plan.present; rank-- > 0;) {
		rv_id id = s->graph->order[rank];
		const struct rv_node *n = &s->graph->node[id];
		uint32_t flags = law_look(s, id).flags;
		need[id] |= (flags & RV_LOOK_WANTED) != 0;
		if (s->fast->closing(s->core) || (flags & RV_LOOK_HELD))
			need[id] = false;
		if (need[id] != ((flags & RV_LOOK_NEEDED) != 0))
			convict(s, "%u is%s needed and does not know it", id,
				need[id] ? "" : " not");
		for (uint32_t e = n->first_edge; need[id] && e < n->first_edge + n->edge_count; e++)
			if (s->graph->edges[e].kind != RV_AFTER)
				need[s->graph->edges[e].on] = true;
	}
}

static bool carries(const struct sim *s, rv_id on)
{
	for (rv_id id = 0; id < s->graph->plan.nodes; id++) {
		const struct rv_node *n = &s->graph->node[id];
		for (uint32_t e = n->first_edge; n->present && e < n->first_edge + n->edge_count;
			e++)
			if (s->graph->edges[e].on == on && s->record[id].alive)
				return true;
	}
	return false;
}

/* What lost its ground has to go, unless it carries others that go first. */
static void law_loss(struct sim *s, rv_id id)
{
	const struct rv_node *n = &s->graph->node[id];
	struct record *r = &s->record[id];
	bool firm = true;

	if ((r->state != RV_READY && r->state != RV_UNHEALTHY) || n->on_loss == RV_LOSS_KEEP)
		return;
	for (uint32_t e = n->first_edge; e < n->first_edge + n->edge_count; e++)
		if (s->graph->edges[e].kind == RV_NEEDS &&
			!law_is_satisfied(s, &s->graph->edges[e]))
			firm = false;
	if (firm)
		r->leaving_seen = false; /* stands; from now on its loss counts */
	else if (!carries(s, id) && !r->leaving_seen)
		convict(s, "%u goes on though it lost its ground", id);
}

static rv_time stop_path(const struct sim *s, const struct rv_node *n)
{
	rv_time sum = n->stop_hook_timeout + n->cleanup_timeout;

	for (uint32_t i = 0; i < n->step_count; i++)
		sum += s->graph->steps[n->first_step + i].timeout;
	return sum;
}

static rv_time later(rv_time a, rv_time b)
{
	return a > b ? a : b;
}

static rv_time sum(rv_time a, rv_time b)
{
	return a < RV_NEVER - b ? a + b : RV_NEVER;
}

/* The latest that can be had by asking for it. */
static rv_time most_stop(const struct sim *s, const struct record *r)
{
	return r->extended ? r->stop_began + s->graph->plan.shutdown_timeout : 0;
}

static void law_bounds(struct sim *s, rv_id id)
{
	const struct rv_node *n = &s->graph->node[id];
	const struct record *r = &s->record[id];

	if (r->state == RV_STARTING && !carries(s, id) &&
		s->now > sum(later(r->since + n->ready_timeout, law_most_start(s, r)),
				 s->graph->plan.start_grace))
		convict(s, "%u starts for ever", id);
	if (r->state == RV_STOPPING &&
		s->now > sum(later(r->since, most_stop(s, r)), stop_path(s, n)))
		convict(s, "%u stops for ever", id);
	if (r->quits && r->alive && !r->exited && r->state == RV_READY)
		convict(s, "%u is ready though it says that it is stopping", id);
	if (r->killed && !r->gone && !r->stuck &&
		s->now > r->kill_at + s->graph->plan.kill_timeout && !law_all_is_killed(s) &&
		!s->over)
		convict(s, "%u resists and nobody says so", id);
}

/* One that is not ours is let go as soon as it is gone, or nobody stands on it and nobody wants it. */
static void law_guest(struct sim *s, rv_id id)
{
	const struct record *r = &s->record[id];

	if (r->state != RV_ADOPTED)
		return;
	if (r->gone)
		convict(s, "%u is adopted and gone", id);
	if (!(law_look(s, id).flags & RV_LOOK_NEEDED) && !carries(s, id))
		convict(s, "%u is adopted though nobody wants it", id);
}

/* Who is ready when the environment changes hears of it at once, unless something else is asked, and within a bound; a
   question whether it is lost comes before, also of one that is being told. One that
   waits for its dependents to leave hears it no more. */
static void law_news(struct sim *s, rv_id id)
{
	struct record *r = &s->record[id];
	bool busy = r->ask == RV_HOOK_CONFIRM || r->exited || carries(s, id);

	if (r->state != RV_READY && r->state != RV_UNHEALTHY) {
		r->uninformed = r->untold = r->renewed = false;
		return;
	}
	if (r->uninformed && !busy)
		convict(s, "%u is not told that its environment has changed", id);
	if (r->untold && !carries(s, id) && r->ask != RV_HOOK_CONFIRM && s->now > r->told_by)
		convict(s, "%u is told of its environment for ever", id);
	if (r->renewed && !carries(s, id) && !r->exited)
		convict(s, "%u goes on with an environment of before", id);
}

/* What the main process left behind is asked to leave before it is killed. */
static void law_strays(struct sim *s, rv_id id)
{
	const struct record *r = &s->record[id];

	if (r->state == RV_STOPPING && r->exited && !r->gone && !r->killed &&
		(r->asked & ~r->rest_asked) > r->rest_asked)
		convict(s, "%u left strays that nobody asks to leave", id);
}

/* Whoever has ended is not ready any more: not even a launcher's daemon, that was found later than it began. */
static void law_death(struct sim *s, rv_id id)
{
	const struct record *r = &s->record[id];
	bool followed = s->graph->node[id].type == RV_LAUNCHER && r->well && !r->gone &&
		s->now < r->exited_at + RV_SEC;

	if ((r->state == RV_READY || r->state == RV_UNHEALTHY) && r->exited && !followed)
		convict(s, "%u has ended, and nobody noticed", id);
}

static void law_limit(struct sim *s, rv_id id)
{
	const struct rv_node *n = &s->graph->node[id];
	struct record *r = &s->record[id];
	uint32_t restarts = law_look(s, id).restarts;

	if (restarts < r->restarts || r->ordered)
		r->in_window = 0;
	if (restarts > r->restarts && r->was_ready_once && !r->uncounted) {
		if (r->in_window && s->now - r->window_began > n->window)
			r->in_window = 0;
		if (!r->in_window++)
			r->window_began = s->now;
		if (n->limit && r->in_window > n->limit)
			convict(s, "%u was restarted more often than it may", id);
	}
	r->restarts = restarts;
}

/* Whoever follows events learns of each pause, however short. */
static void law_pause(struct sim *s, rv_id id)
{
	struct record *r = &s->record[id];

	if (r->told_paused != r->paused || (r->swings && !r->tellings))
		convict(s, "%u was paused or resumed, and nobody said so", id);
	if (r->tellings > r->swings)
		convict(s, "%u is said to be paused or resumed more often than it was", id);
	r->swings = r->tellings = 0;
}

/* All that the boot lacks is put off, and can be done without. */
static bool waits_in_vain(const struct sim *s)
{
	if (s->fast->boot(s->core) != RV_BOOT_UNDER_WAY || s->closing_since || s->reloading)
		return false;
	for (rv_id id = 0; id < s->graph->plan.nodes; id++) {
		const struct rv_node *n = &s->graph->node[id];
		struct rv_look l = law_look(s, id);
		bool put_off = l.state == RV_BACKOFF || l.state == RV_WAITING;

		if (l.state == RV_STOPPING || l.state == RV_KILLING)
			return false; /* what stands below it may have to leave, too */
		if (n->present && (l.flags & RV_LOOK_NEEDED) && l.state != RV_READY &&
			(n->essential || !put_off))
			return false;
	}
	return true;
}

static void law_boot_waits(struct sim *s)
{
	if (!waits_in_vain(s))
		s->in_vain_since = 0;
	else if (!s->in_vain_since)
		s->in_vain_since = s->now; /* a life that an order has replaced waits a moment */
	else if (s->now > s->in_vain_since + RV_SEC)
		convict(s, "the boot waits for what it can do without");
}

void law_settled(struct sim *s)
{
	if (!s->closing_since && s->fast->closing(s->core))
		s->closing_since = s->now;
	law_permits(s);
	if (!s->over)
		law_need(s);
	law_boot_waits(s);
	for (rv_id id = 0; id < s->graph->plan.nodes; id++) {
		if (!s->graph->node[id].present)
			continue;
		if (law_look(s, id).state != s->record[id].state)
			convict(s, "%u is in state %d and did not say so", id,
				law_look(s, id).state);
		s->record[id].freed |= !s->graph->node[id].recreate;
		if (s->over)
			continue;
		law_pause(s, id);
		law_loss(s, id);
		law_bounds(s, id);
		law_limit(s, id);
		law_strays(s, id);
		law_guest(s, id);
		law_death(s, id);
		law_news(s, id);
	}
	if (s->closing_since && !s->over &&
		s->now > s->closing_since + s->graph->plan.shutdown_timeout +
				s->graph->plan.kill_timeout)
		convict(s, "it closes for ever");
}

/* What a new plan adds is not lost. */
void law_adopted(struct sim *s)
{
	for (rv_id id = 0; id < GRAPH_NODES; id++) {
		struct record *r = &s->record[id];
		bool present = id < s->graph->plan.nodes && s->graph->node[id].present;

		if (present && r->alive) {
			r->leaving_seen = true;
			r->exempt = true;
			r->spared |= r->state == RV_STOPPING || r->state == RV_KILLING;
		}
		if (!present && r->alive)
			convict(s, "%u lives and is not in the new plan", id);
		if (!present) {
			r->state = RV_STOPPED;
			r->paused = r->told_paused = false;
		}
		if (r->retired)
			r->spawn_failed_at = r->due = r->was_ready_once = r->replacing =
				0; /* begins anew */
		r->retired = false;
		r->since = s->now;
	}
}

static bool waits_well(const struct sim *s, rv_id id)
{
	const struct rv_node *n = &s->graph->node[id];

	for (uint32_t e = n->first_edge; e < n->first_edge + n->edge_count; e++) {
		const struct rv_edge *edge = &s->graph->edges[e];
		struct rv_look l = law_look(s, edge->on);
		if (edge->kind == RV_NEEDS && !law_is_satisfied(s, edge))
			return true;
		if (edge->part && (l.flags & RV_LOOK_HELD))
			return true;
		/* softly for one that waits itself, for a daemon to exit at last */
		if (edge->kind != RV_NEEDS && (l.flags & RV_LOOK_NEEDED) && l.state == RV_WAITING)
			return true;
	}
	return false;
}

static bool rests(const struct sim *s, rv_id id)
{
	struct rv_look l = law_look(s, id);
	bool needed = l.flags & RV_LOOK_NEEDED;

	switch (l.state) {
	case RV_STOPPED: return !needed || l.why == RV_WHY_DEPENDENCY;
	case RV_WAITING: return needed && waits_well(s, id);
	case RV_READY:
	case RV_ADOPTED: return needed;
	case RV_EXITED:
	case RV_FAILED: return true;
	case RV_QUEUED:
	case RV_STARTING:
	case RV_UNHEALTHY:
	case RV_STOPPING:
	case RV_KILLING:
	case RV_BACKOFF:
	case RV_STATE_COUNT: break;
	}
	return false;
}

bool law_at_rest(struct sim *s, bool complain)
{
	for (rv_id id = 0; id < s->graph->plan.nodes; id++) {
		if (!s->graph->node[id].present || rests(s, id))
			continue;
		if (complain)
			convict(s, "%u never comes to rest from state %d", id,
				law_look(s, id).state);
		return false;
	}
	if (s->reloading && complain)
		convict(s, "the reload never ends");
	return !s->reloading;
}
