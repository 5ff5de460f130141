/* The law: what no core may do, judged from its actions, its looks and what the world really did. */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ASK_NONE = -1, ASK_PROBE = 100, ASK_HEALTH = 101, ASK_FIND = 102 };

void convict(struct sim *s, const char *format, ...)
{
	va_list args;

	if (s->failed)
		return;
	s->failed = true;
	int n = snprintf(s->why, sizeof(s->why), "at %.6f s: ", (double)s->now / 1e9);
	va_start(args, format);
	vsnprintf(s->why + n, sizeof(s->why) - (size_t)n, format, args);
	va_end(args);
}

struct rv_look law_look(const struct sim *s, rv_id id)
{
	return s->fast->look(s->core, id);
}

static bool is_idle(enum rv_state s)
{
	return s == RV_STOPPED || s == RV_WAITING || s == RV_QUEUED || s == RV_BACKOFF ||
		s == RV_EXITED || s == RV_FAILED;
}

bool law_all_is_killed(const struct sim *s)
{
	return s->closing_since &&
		(s->end_of_turns || s->now >= s->closing_since + s->graph->plan.shutdown_timeout);
}

/* The latest that can be had by asking for it; 0: nobody has asked. */
rv_time law_most_start(const struct sim *s, const struct record *r)
{
	rv_time whole = s->graph->plan.boot_timeout;

	if (!r->extended)
		return 0;
	return whole ? r->started + whole : RV_NEVER;
}

/* ---- events ---- */

/* Who was ready then has to be told. */
static void law_inform(const struct sim *s, struct record *r, const struct rv_event *e)
{
	const struct rv_node *n = &s->graph->node[r - s->record];

	(void)e;
	r->uninformed |= (r->state == RV_READY || r->state == RV_UNHEALTHY) &&
		(n->hooks & RV_HAS(RV_HOOK_UPDATE));
}

static void law_order(struct sim *s, struct record *r, const struct rv_event *e)
{
	switch ((enum rv_event_kind)e->kind) {
	case RV_EV_START:
	case RV_EV_RESTART: r->ordered = true; break;
	case RV_EV_RECREATE:
		if (e->generation > r->recreate_of)
			r->recreate_of = e->generation;
		r->uncounted = true; /* attempts of a replacement are not restarts */
		break;
	case RV_EV_PAUSE:
	case RV_EV_RESUME:
		r->swings += r->paused != (e->kind == RV_EV_PAUSE);
		r->replacing &= e->kind ==
			RV_EV_PAUSE; /* what is resumed is a restart like any other */
		r->paused = e->kind == RV_EV_PAUSE;
		break;
	case RV_EV_RETIRE:
		r->retired = true;
		r->replacing = false;
		break;
	case RV_EV_INFORM: law_inform(s, r, e); break;
	case RV_EV_RENEW: r->renewed |= r->state == RV_READY && !s->closing_since; break;
	case RV_EV_RETIRE_BEGIN: r->retired = false; break;
	case RV_EV_DISABLED: r->exempt = true; break;
	case RV_EV_BOOT:
	case RV_EV_STOP:
	case RV_EV_SHUTDOWN:
	case RV_EV_FORCE:
	case RV_EV_RETIRE_END:
	case RV_EV_SPAWNED:
	case RV_EV_SPAWN_FAILED:
	case RV_EV_ADOPTED:
	case RV_EV_FOUND:
	case RV_EV_EXITED:
	case RV_EV_GONE:
	case RV_EV_PROVED:
	case RV_EV_HEALTH:
	case RV_EV_HOOK_DONE:
	case RV_EV_EXTEND:
	case RV_EV_QUITS: break;
	}
	(void)s;
}

static rv_time sooner(rv_time a, rv_time b)
{
	return a < b ? a : b;
}

/* Whoever asks in time has it, within the bound of the whole. */
static void law_extend(const struct sim *s, struct record *r, const struct rv_event *e)
{
	const struct rv_plan *p = &s->graph->plan;
	rv_time until = s->now + e->time;

	r->extended = true;
	if (r->state == RV_STARTING && r->answered && !r->exited) {
		if (s->now >= r->started + s->graph->node[e->id].ready_timeout &&
			s->now >= r->start_until)
			return; /* too late: it may have been given up, and still carry others */
		if (p->boot_timeout)
			until = sooner(until, r->started + p->boot_timeout);
		if (until > r->start_until)
			r->start_until = until;
	} else if (r->state == RV_STOPPING && r->asked && !r->gone && !r->killed) {
		until = sooner(until, r->stop_began + p->shutdown_timeout);
		if (until > r->step_until)
			r->step_until = until;
	}
}

static void law_answer(struct sim *s, struct record *r, const struct rv_event *e)
{
	if (e->generation != r->generation || !r->alive)
		return;
	if (e->kind == RV_EV_SPAWNED && !s->truth[e->id].spawning)
		r->answered = true;
	if (e->kind == RV_EV_ADOPTED && !s->truth[e->id].spawning && !r->answered)
		r->answered = r->guest = true;
	if (e->kind == RV_EV_SPAWN_FAILED && !r->answered) {
		r->gone = r->exited = true;
		r->ended_turn = s->turn;
		r->spawn_failed_at = s->now;
	}
	if (e->kind == RV_EV_FOUND && r->ask == ASK_FIND) {
		r->ask = ASK_NONE;
		r->found |= e->verdict == RV_OK;
		r->exited &= e->verdict != RV_OK;
		r->quits &= e->verdict != RV_OK;
	}
	if (e->kind == RV_EV_EXITED || e->kind == RV_EV_GONE) {
		if (e->kind == RV_EV_EXITED && !r->exited) {
			r->well = e->exit == 0;
			r->launched |= r->well;
			r->exited_at = s->now;
		}
		if (!r->exited || e->kind == RV_EV_GONE)
			r->ended_turn = s->turn;
		r->exited = true;
		r->gone |= e->kind == RV_EV_GONE || r->guest;
	}
	if (e->kind == RV_EV_PROVED) {
		r->proved |= e->verdict == RV_OK;
		if (r->ask == ASK_PROBE)
			r->ask = ASK_NONE;
	}
	if (e->kind == RV_EV_HEALTH && (r->ask == ASK_HEALTH || r->unsure_turn == s->turn)) {
		r->ask = ASK_NONE;
		r->unsure_turn = e->verdict == RV_RETRY ? s->turn : 0;
		r->sick = e->verdict == RV_OK ? 0 : r->sick + (e->verdict == RV_FAIL);
	}
	if (e->kind == RV_EV_HOOK_DONE && r->ask == e->hook) {
		r->ask = ASK_NONE;
		r->updated |= e->hook == RV_HOOK_UPDATE && e->verdict == RV_OK;
		if (e->hook == RV_HOOK_CONFIRM && e->verdict == RV_FAIL &&
			s->graph->node[e->id].recreate) {
			r->confirmed_lost = r->generation;
			r->anew = false;
		}
	}
	if (e->kind == RV_EV_EXTEND)
		law_extend(s, r, e);
	r->quits |= e->kind == RV_EV_QUITS && r->state == RV_READY;
}

/* An order to start reaches all that is below: what it asks for is no replacement. */
static void law_anew(struct sim *s, rv_id top)
{
	bool reached[GRAPH_NODES] = {false};

	for (size_t rank = s->graph->plan.present; rank-- > 0;) {
		rv_id id = s->graph->order[rank];
		const struct rv_node *n = &s->graph->node[id];

		reached[id] |= id == top || top == RV_NO_ID;
		if (!reached[id])
			continue;
		s->record[id].replacing = false;
		s->record[id].anew = true;
		for (uint32_t e = n->first_edge; e < n->first_edge + n->edge_count; e++)
			reached[s->graph->edges[e].on] = true;
	}
}

void law_event(struct sim *s, const struct rv_event *e)
{
	if (e->kind == RV_EV_INFORM)
		s->informs = e->verdict == RV_OK;
	if (e->kind == RV_EV_START || e->kind == RV_EV_RESTART || e->kind == RV_EV_RENEW)
		law_anew(s, e->id);
	if (e->kind == RV_EV_FORCE)
		s->end_of_turns = 1;
	if ((e->kind == RV_EV_FORCE || e->kind == RV_EV_SHUTDOWN) && !s->closing_since)
		s->closing_since = s->now;
	if (e->kind == RV_EV_START || e->kind == RV_EV_RESTART)
		/* may give those below another try, whose counts begin anew: count them no more */
		for (rv_id id = 0; id < GRAPH_NODES; id++) {
			s->record[id].spawn_failed_at = 0;
			s->record[id].uncounted = true;
		}
	if (e->kind >= RV_EV_SPAWNED) {
		law_answer(s, &s->record[e->id], e);
		return;
	}
	for (rv_id id = 0; id < s->graph->plan.nodes; id++)
		if ((e->id == id || e->id == RV_NO_ID || e->kind == RV_EV_RETIRE_BEGIN) &&
			s->graph->node[id].present)
			law_order(s, &s->record[id], e);
}

/* ---- actions ---- */

/* One that was started: what is not ours was not launched. */
static bool is_launcher(const struct sim *s, rv_id id)
{
	return s->graph->node[id].type == RV_LAUNCHER && !s->record[id].guest;
}

bool law_is_satisfied(const struct sim *s, const struct rv_edge *e)
{
	struct rv_look l = law_look(s, e->on);
	bool task = s->graph->node[e->on].type == RV_TASK;
	bool ready = l.state == RV_READY || l.state == RV_UNHEALTHY || l.state == RV_ADOPTED;
	bool done = l.state == RV_EXITED;

	switch ((enum rv_until)e->until) {
	case RV_UNTIL_STARTED:
		return ready || (task && done) ||
			(task && s->record[e->on].exited && l.exit == 0 &&
				(l.state == RV_STOPPING || l.state == RV_KILLING)) ||
			(l.state == RV_STARTING && s->record[e->on].answered &&
				!s->record[e->on].guest &&

				(!is_launcher(s, e->on) || s->record[e->on].launched));
	case RV_UNTIL_READY: return ready || (task && done);
	case RV_UNTIL_EXITED: return done;
	}
	return false;
}

/* A soft dependency that is on its way right now. */
static bool is_coming(const struct sim *s, rv_id on)
{
	struct rv_look l = law_look(s, on);

	return (l.flags & RV_LOOK_NEEDED) &&
		(l.state == RV_STARTING || l.state == RV_QUEUED || l.state == RV_STOPPING ||
			l.state == RV_KILLING);
}

static void law_start(struct sim *s, const struct rv_action *a, struct record *r)
{
	const struct rv_node *n = &s->graph->node[a->id];
	struct rv_look l = law_look(s, a->id);

	if (r->alive)
		convict(s, "%u was started twice", a->id);
	if (a->generation <= r->generation)
		convict(s, "%u got generation %llu again", a->id,
			(unsigned long long)a->generation);
	if (s->closing_since || s->fast->closing(s->core))
		convict(s, "%u was started while closing", a->id);
	if (r->ended_turn == s->turn)
		convict(s, "%u was started in the turn that ended it", a->id);
	if ((l.flags & RV_LOOK_HELD) || !(l.flags & RV_LOOK_NEEDED) || r->retired)
		convict(s, "%u was started though nobody wants it", a->id);
	if (r->due > s->now && !r->ordered)
		convict(s, "%u was started before its backoff was over", a->id);
	if ((l.flags & RV_LOOK_PAUSED) && r->due && !r->ordered)
		convict(s, "%u was restarted though paused", a->id);
	if (r->spawn_failed_at && s->now < r->spawn_failed_at + 100 * RV_MS && !r->ordered)
		convict(s, "%u was started at once after a failed spawn", a->id);
	if (l.flags & RV_LOOK_DISABLED)
		convict(s, "%u was started though its plugin is disabled", a->id);
	for (uint32_t e = n->first_edge; e < n->first_edge + n->edge_count; e++) {
		const struct rv_edge *edge = &s->graph->edges[e];
		if (edge->kind == RV_NEEDS && !law_is_satisfied(s, edge))
			convict(s, "%u was started before %u was there", a->id, edge->on);
		if (edge->part && (law_look(s, edge->on).flags & RV_LOOK_HELD))
			convict(s, "%u was started though %u is stopped, which it is part of",
				a->id, edge->on);
		if (edge->kind != RV_NEEDS && is_coming(s, edge->on))
			convict(s, "%u did not wait for %u", a->id, edge->on);
	}
	bool retired = r->retired;
	enum rv_state state = r->state;
	uint32_t restarts = r->restarts, in_window = r->in_window;
	rv_time began = r->window_began;
	uint64_t recreate = r->recreate_of;
	bool paused = r->paused, told_paused = r->told_paused;
	unsigned swings = r->swings, tellings = r->tellings;
	bool once = r->was_ready_once, uncounted = r->uncounted, replacing = r->replacing;
	*r = (struct record){.alive = true,
		.generation = a->generation,
		.ask = ASK_NONE,
		.retired = retired,
		.state = state,
		.restarts = restarts,
		.in_window = in_window,
		.window_began = began,
		.recreate_of = recreate,
		.was_ready_once = once,
		.uncounted = uncounted,
		.paused = paused,
		.told_paused = told_paused,
		.swings = swings,
		.tellings = tellings,
		.replacing = replacing,
		.since = s->now,
		.started = s->now};
}

/* Nothing may be done to what still carries somebody. */
static void law_order_of_stop(struct sim *s, const struct rv_action *a, const struct record *r)
{
	bool whole = s->fast->closing(s->core) && !r->narrow;

	if (r->exited || r->spared || law_all_is_killed(s) ||
		(a->kind == RV_ACT_KILL && (!r->answered || r->killed)))
		return;
	for (rv_id id = 0; id < s->graph->plan.nodes; id++) {
		const struct rv_node *n = &s->graph->node[id];
		for (uint32_t e = n->first_edge; n->present && e < n->first_edge + n->edge_count;
			e++) {
			const struct rv_edge *edge = &s->graph->edges[e];
			if (edge->on == a->id && s->record[id].alive &&
				(whole || (edge->kind == RV_NEEDS && n->on_loss != RV_LOSS_KEEP)))
				convict(s, "%u was stopped while %u stood on it", a->id, id);
		}
	}
}

/* A step reaches its target once, and its strays once: when the main process has gone and left some. */
static void law_signal(struct sim *s, const struct rv_action *a, struct record *r)
{
	const struct rv_node *n = &s->graph->node[a->id];
	enum rv_target own = (enum rv_target)s->graph->steps[n->first_step + a->step % 32].to;
	uint32_t bit = 1u << a->step % 32;

	if (!(r->asked & bit) && r->asked && s->now < r->step_until && !r->gone)
		convict(s, "%u gets step %u before the time is over that it asked for", a->id,
			a->step);
	if (a->step >= n->step_count)
		convict(s, "%u has no step %u", a->id, a->step);
	if (r->asked & bit && (r->gone || a->to != (own == RV_TO_MAIN ? RV_TO_TREE : RV_TO_STRAYS)))
		convict(s, "%u: the rest of step %u goes to %u", a->id, a->step, a->to);
	if (a->to != own && !(r->exited && (a->to == RV_TO_TREE || r->asked & bit)))
		convict(s, "%u: step %u goes to %u", a->id, a->step, a->to);
	if ((r->asked & bit ? r->rest_asked : r->asked) & bit)
		convict(s, "%u gets the signal of step %u twice", a->id, a->step);
	if (r->asked & bit || a->to == RV_TO_TREE)
		r->rest_asked |= bit;
	r->asked |= bit;
}

/* Its health check has failed, and nothing happens for that before it is known to be lost. */
static bool is_suspect(const struct rv_node *n, const struct record *r)
{
	return n->recreate && n->health_restarts && r->state == RV_UNHEALTHY;
}

static void law_ask(struct sim *s, const struct rv_action *a, struct record *r, int ask)
{
	const struct rv_node *n = &s->graph->node[a->id];

	if (r->ask != ASK_NONE)
		convict(s, "%u has two questions in flight", a->id);
	r->ask = ask;
	if (a->timeout < 0)
		convict(s, "%u is asked with a bound that has passed", a->id);
	if (ask == ASK_PROBE && r->state != RV_ADOPTED && a->timeout > n->ready_timeout &&
		a->timeout > law_most_start(s, r) - s->now)
		convict(s, "%u is probed for longer than it may take", a->id);
	if (ask == ASK_PROBE && r->exited)
		convict(s, "%u is asked whether it is ready and has no main process", a->id);
	if (ask == ASK_PROBE && is_launcher(s, a->id) && !r->found)
		convict(s, "%u is asked whether it is ready before its daemon is known", a->id);
	if (ask == ASK_FIND && !(is_launcher(s, a->id) && r->well && r->exited && !r->gone))
		convict(s, "%u: a daemon is looked for that is no launcher's", a->id);
	if (ask < ASK_PROBE && !(n->hooks & RV_HAS(ask)))
		convict(s, "%u has no hook %d", a->id, ask);
	if (ask < ASK_PROBE && (law_look(s, a->id).flags & RV_LOOK_DISABLED))
		convict(s, "%u is asked though its plugin is disabled", a->id);
	if (ask == RV_HOOK_CONFIRM && r->recreate_of != r->generation && !is_suspect(n, r))
		convict(s, "%u is confirmed for a report about an earlier life", a->id);
	if (ask == RV_HOOK_STOP)
		law_order_of_stop(s, a, r);
	if (ask == RV_HOOK_UPDATE) {
		r->uninformed = r->updated = false;
		r->untold = r->state != RV_STARTING;
		r->told_by = s->now + a->timeout;
	}
	if (ask == RV_HOOK_CLEANUP) {
		r->cleaned = true;
		if (!r->gone)
			convict(s, "%u is cleaned up while it lives", a->id);
	}
}

static void law_concluded(struct sim *s, const struct rv_action *a, struct record *r)
{
	const struct truth *t = &s->truth[a->id];

	if (!r->guest && (t->tree || t->spawning || !r->gone))
		convict(s, "%u is said to be down while it lives", a->id);
	if ((s->graph->node[a->id].hooks & RV_HAS(RV_HOOK_CLEANUP)) && !r->cleaned && !r->exempt &&
		!r->guest && !law_all_is_killed(s))
		convict(s, "%u was not cleaned up", a->id);
	if (r->ask != ASK_NONE)
		convict(s, "%u is down with a question in flight", a->id);
	r->alive = false;
	r->ended_turn = s->turn;
	r->ordered = false;
	r->killed = r->stuck = false;
}

/* Spawn, proof and init make up the whole start, unless more has happened since. */
static bool law_is_clocked(const struct sim *s, const struct rv_action *a)
{
	struct rv_look l = law_look(s, a->id);
	rv_time sum = (rv_time)l.spawn_us + l.proof_us + l.init_us;

	return l.state != RV_READY || l.generation != a->generation ||
		sum == (l.ready - l.started) / RV_US;
}

/* Whoever asked it to stop meant those, too, that are part of it; and they go first. */
static void law_parts(struct sim *s, const struct rv_action *a, const struct record *r)
{
	if ((a->why != RV_WHY_OPERATOR && a->why != RV_WHY_RESTART) || r->exited || r->guest ||
		r->spared || s->fast->closing(s->core) || law_all_is_killed(s))
		return;
	for (rv_id id = 0; id < s->graph->plan.nodes; id++) {
		const struct rv_node *n = &s->graph->node[id];
		for (uint32_t e = n->first_edge; n->present && e < n->first_edge + n->edge_count;
			e++)
			if (s->graph->edges[e].on == a->id && s->graph->edges[e].part &&
				s->record[id].alive)
				convict(s, "%u was stopped before %u, which is part of it", a->id,
					id);
	}
}

/* Nothing is replaced that may be well, and nobody is to see a replacement that was called off. */
static void law_replacement(struct sim *s, const struct rv_action *a, struct record *r)
{
	const struct rv_node *n = &s->graph->node[a->id];
	bool ill = r->state == RV_UNHEALTHY && (a->why == RV_WHY_HEALTH || a->why == RV_WHY_LIMIT);

	if (a->state == RV_STOPPING && !r->exited && r->confirmed_lost != r->generation &&
		((a->why == RV_WHY_RECREATE && r->state != RV_STARTING) ||
			(ill && n->recreate && !r->freed)))
		convict(s, "%u was replaced though nobody knew it lost", a->id);
	if (a->state == RV_STOPPING && r->confirmed_lost == r->generation && !r->anew &&
		(a->why == RV_WHY_RECREATE || ill))
		r->replacing = true;
	if (a->state != RV_READY || r->state != RV_STARTING)
		return;
	if (r->replacing && (law_look(s, a->id).flags & RV_LOOK_PAUSED))
		convict(s, "%u was replaced though paused", a->id);
	r->replacing = false;
}

static void law_state(struct sim *s, const struct rv_action *a, struct record *r)
{
	const struct rv_node *n = &s->graph->node[a->id];
	enum rv_state state = (enum rv_state)a->state;

	if (r->alive && is_idle(state))
		law_concluded(s, a, r);
	if (state == RV_STOPPED || state == RV_FAILED || state == RV_EXITED || state == RV_ADOPTED)
		r->due = r->spawn_failed_at = 0; /* what comes next is somebody's decision */
	if (state == RV_BACKOFF) {
		rv_time least = n->delay < n->max_delay ? n->delay : n->max_delay;
		if (r->state != RV_QUEUED && law_look(s, a->id).due < s->now + least)
			convict(s, "%u backs off for less than its delay", a->id);
		r->due = law_look(s, a->id).due;
		r->ordered = false;
	}
	if (state == RV_ADOPTED && !r->guest)
		convict(s, "%u is adopted and was spawned", a->id);
	if (state == RV_ADOPTED && n->proof == RV_PROOF_PROBE && !r->proved)
		convict(s, "%u is adopted without proof", a->id);
	if (state == RV_READY && r->state == RV_STARTING) {
		if (r->guest)
			convict(s, "%u is ready and is not ours", a->id);
		if (n->proof == RV_PROOF_PROBE && !r->proved)
			convict(s, "%u is ready without proof", a->id);
		if ((n->hooks & RV_HAS(RV_HOOK_UPDATE)) && s->informs && !r->updated && !r->exempt)
			convict(s, "%u is ready without its environment", a->id);
		if (!law_is_clocked(s, a))
			convict(s, "%u has parts of its start that are not the whole", a->id);
		if (is_launcher(s, a->id) && !r->found)
			convict(s, "%u is ready and left no daemon that is known", a->id);
		r->was_ready_once = true;
	}
	if (state == RV_ADOPTED) {
		r->was_ready_once = true; /* its loss is counted as that of one of ours */
		r->replacing = false; /* and it is what was to come */
	}
	if (state == RV_STOPPING && r->state == RV_STARTING && a->why == RV_WHY_READY_TIMEOUT &&
		s->now < r->start_until)
		convict(s, "%u is given up before the time is over that it asked for", a->id);
	if (state == RV_UNHEALTHY && a->why == RV_WHY_HEALTH && r->sick < n->health_threshold)
		convict(s, "%u is unhealthy after %u bad answers", a->id, r->sick);
	if (r->state == RV_UNHEALTHY && state == RV_READY && r->quits)
		convict(s, "%u is ready though it says that it is stopping", a->id);
	if (state == RV_STOPPING && r->state != RV_STOPPING)
		law_parts(s, a, r);
	if (state == RV_STOPPING)
		r->stop_began = s->now;
	law_replacement(s, a, r);
	if (state == RV_STOPPING || state == RV_KILLING)
		r->narrow |= !s->fast->closing(s->core); /* begun when fewer edges counted */
	if (state != r->state)
		r->since = s->now;
	if (state == r->state && state != RV_WAITING &&
		!(law_look(s, a->id).flags & RV_LOOK_DISABLED))
		convict(s, "%u is said twice to be in state %d", a->id, state);
	r->state = state;
	r->why = (enum rv_why)a->why;
}

static void law_told(struct sim *s, const struct rv_action *a, struct record *r)
{
	if (a->verdict == RV_OK && r->untold && !r->updated)
		convict(s, "%u is said to know its environment and does not", a->id);
	r->uninformed = r->untold = false;
}

static void law_over(struct sim *s, const struct rv_action *a)
{
	if (s->over)
		convict(s, "it is over twice");
	s->over = true;
	if (a->end == RV_END_NONE)
		convict(s, "it ends without a reason");
	if (s->end_of_turns && a->end != RV_END_FORCED)
		convict(s, "it was forced and says otherwise");
	for (rv_id id = 0; id < s->graph->plan.nodes; id++)
		if (s->record[id].alive &&
			!(law_all_is_killed(s) &&
				s->now >= s->record[id].kill_at + s->graph->plan.kill_timeout))
			convict(s, "it is over while %u lives", id);
}

static void law_boot(struct sim *s, const struct rv_action *a)
{
	if (s->boots++)
		convict(s, "the boot was decided twice");
	if (a->why == RV_WHY_BOOT_TIMEOUT && s->now < RV_SEC + s->graph->plan.boot_timeout)
		convict(s, "the boot has timed out before its time");
	for (rv_id id = 0; id < s->graph->plan.nodes; id++) {
		const struct rv_node *n = &s->graph->node[id];
		struct rv_look l;
		if (!n->present)
			continue;
		l = law_look(s, id);
		if (a->verdict == RV_OK && !a->degraded && (l.flags & RV_LOOK_NEEDED) &&
			!(l.state == RV_READY || l.state == RV_UNHEALTHY || l.state == RV_EXITED ||
				l.state == RV_ADOPTED || s->record[id].retired))
			convict(s, "the boot is done without %u", id);
		if (a->verdict == RV_OK && n->essential && (l.flags & RV_LOOK_NEEDED) &&
			l.state == RV_FAILED && (l.flags & RV_LOOK_WANTED) && !s->reloading)
			convict(s, "the boot is fine though %u failed", id);
	}
	if (a->verdict == RV_FAIL &&
		(a->id >= s->graph->plan.nodes || !s->graph->node[a->id].present))
		convict(s, "the boot fails by the name of %u, which is not there", a->id);
	if (a->verdict == RV_FAIL && s->graph->plan.rollback && !s->fast->closing(s->core))
		convict(s, "a failed boot is not rolled back");
}

void law_action(struct sim *s, const struct rv_action *a)
{
	static struct record nobody;
	struct record *r = a->id < GRAPH_NODES ? &s->record[a->id] : &nobody;
	enum rv_action_kind kind = (enum rv_action_kind)a->kind;

	if (s->over)
		convict(s, "action %d after the end", kind);
	if (a->id < GRAPH_NODES && kind < RV_ACT_PAUSED && kind != RV_ACT_START &&
		kind != RV_ACT_STATE) {
		if (!r->alive || a->generation != r->generation)
			convict(s, "action %d for a life that is not", kind);
		if (r->guest && kind != RV_ACT_PROBE && kind != RV_ACT_DROP && kind != RV_ACT_TOLD)
			convict(s, "action %d for %u, which is not ours", kind, a->id);
	}
	switch (kind) {
	case RV_ACT_START: law_start(s, a, r); break;
	case RV_ACT_FIND: law_ask(s, a, r, ASK_FIND); break;
	case RV_ACT_PROBE: law_ask(s, a, r, ASK_PROBE); break;
	case RV_ACT_HEALTH: law_ask(s, a, r, ASK_HEALTH); break;
	case RV_ACT_HOOK: law_ask(s, a, r, a->hook); break;
	case RV_ACT_DROP:
		r->sick += r->ask == ASK_HEALTH; /* no answer is a bad one */
		if (r->ask == RV_HOOK_UPDATE) {
			r->uninformed |= r->untold; /* gave way: it comes again */
			r->untold = false;
		}
		r->ask = ASK_NONE;
		break;
	case RV_ACT_SIGNAL:
		law_order_of_stop(s, a, r);
		if (r->killed)
			convict(s, "%u gets a signal after KILL", a->id);
		law_signal(s, a, r);
		break;
	case RV_ACT_KILL:
		law_order_of_stop(s, a, r);
		if (!r->killed && r->asked && s->now < r->step_until && !law_all_is_killed(s))
			convict(s, "%u is killed before the time is over that it asked for", a->id);
		if (!r->killed)
			r->kill_at = s->now;
		r->killed = true;
		break;
	case RV_ACT_STATE: law_state(s, a, r); break;
	case RV_ACT_STUCK:
		if (r->stuck)
			convict(s, "%u is said twice to be stuck", a->id);
		r->stuck = true;
		break;
	case RV_ACT_PAUSED:
		if (a->paused == r->told_paused)
			convict(s, "%u is said twice to be paused, or resumed", a->id);
		r->told_paused = a->paused;
		r->tellings++;
		break;
	case RV_ACT_TOLD: law_told(s, a, r); break;
	case RV_ACT_BOOT: law_boot(s, a); break;
	case RV_ACT_RETIRED:
		if (!s->reloading)
			convict(s, "a reload is answered that nobody asked for");
		break;
	case RV_ACT_OVER: law_over(s, a); break;
	}
}
