/* The world of liars: processes that die, hang, ignore TERM; answers that come late, twice, or never. */
#include "sim.h"

#include <string.h>

static struct dice fate(const struct sim *s, const struct rv_action *a)
{
	uint64_t what = a->kind | (uint64_t)a->hook << 8 | (uint64_t)a->step << 16 |
		(uint64_t)a->attempt << 32;

	return (struct dice){hash(s->seed, a->id, a->generation, what)};
}

void world_push(struct sim *s, rv_time at, const struct rv_event *e, bool lie)
{
	if (s->pending_count < SIM_PENDING)
		s->pending[s->pending_count++] = (struct pending){at, lie, *e};
}

static rv_time lag(const struct sim *s, struct dice *d)
{
	static const rv_time lags[] = {0, 0, 0, RV_US, RV_MS, 7 * RV_MS, 90 * RV_MS, 800 * RV_MS};

	return s->honest ? (rv_time)below(d, 3) * RV_MS : lags[below(d, 8)];
}

/* Sends an answer, sometimes twice, sometimes never. */
static void answer(struct sim *s, const struct rv_action *a, struct dice *d,
	enum rv_event_kind kind, enum rv_verdict v)
{
	struct rv_event e = {
		.kind = (uint8_t)kind,
		.verdict = (uint8_t)v,
		.hook = a->hook,
		.id = a->id,
		.generation = a->generation,
		.exit = RV_EXIT_UNKNOWN,
	};
	rv_time at = s->now + lag(s, d);

	if (!s->honest && one_in(d, 14))
		return;
	world_push(s, at, &e, false);
	if (!s->honest && one_in(d, 10))
		world_push(s, at + lag(s, d), &e, true);
}

static struct rv_event about(const struct rv_action *a, enum rv_event_kind kind)
{
	return (struct rv_event){.kind = (uint8_t)kind, .id = a->id, .generation = a->generation};
}

static void push_end(struct sim *s, const struct rv_action *a, struct dice *d, rv_time at,
	rv_exit exit, bool whole)
{
	struct rv_event e = about(a, RV_EV_EXITED);

	e.exit = exit;
	world_push(s, at, &e, false);
	if (!whole)
		return;
	e = about(a, RV_EV_GONE);
	world_push(s, at + (one_in(d, 2) ? 0 : lag(s, d)), &e, false);
}

/* It asks for more time now and then, or says that it ends, and does so. Dice of its own: fate stays as it was. */
static void speak(struct sim *s, const struct rv_action *a)
{
	static const rv_time times[] = {
		RV_MS, 30 * RV_MS, 300 * RV_MS, RV_SEC, 5 * RV_SEC, 60 * RV_SEC, 200 * RV_SEC};
	struct dice d = {hash(s->seed, a->id, a->generation, 4711 + a->kind + a->step)};
	struct rv_event e = about(a, RV_EV_EXTEND);
	rv_time at = s->now;

	if (s->honest || one_in(&d, 2))
		return;
	for (uint64_t n = below(&d, 4); n; n--) {
		at += times[below(&d, 4)];
		e.time = times[below(&d, 7)];
		world_push(s, at, &e, false);
	}
	if (a->kind != RV_ACT_START || !one_in(&d, 3))
		return;
	e = about(a, RV_EV_QUITS);
	at += times[below(&d, 5)];
	world_push(s, at, &e, false);
	push_end(s, a, &d, at + times[below(&d, 5)], 0, true);
}

/* A launcher ends, most of them well; most of those leave somebody. */
static void launch(struct sim *s, const struct rv_action *a, struct dice *d, rv_time spawned)
{
	rv_time at = spawned + lag(s, d) + lag(s, d);

	if (s->honest)
		push_end(s, a, d, at, 0, false);
	else if (!one_in(d, 12))
		push_end(s, a, d, at, one_in(d, 6) ? 3 : 0, one_in(d, 8));
}

/* Whoever is found may end soon, or hand over to another and end well. */
static void find(struct sim *s, const struct rv_action *a, struct dice *d)
{
	enum rv_verdict v = a->attempt <= below(d, 3) ? RV_RETRY : RV_OK;
	struct rv_event e = about(a, RV_EV_FOUND);
	rv_time at = s->now + lag(s, d);

	if (!s->honest && one_in(d, 16))
		v = RV_FAIL;
	e.verdict = (uint8_t)v;
	if (!s->honest && one_in(d, 14))
		return;
	if (!s->honest && one_in(d, 12)) {
		e = about(a, RV_EV_GONE); /* nobody was left */
		e.exit = RV_EXIT_UNKNOWN;
	}
	world_push(s, at, &e, false);
	if (e.kind == RV_EV_FOUND && v == RV_OK && !s->honest && one_in(d, 4))
		push_end(s, a, d, at + lag(s, d), one_in(d, 2) ? 0 : 1, !one_in(d, 4));
}

static void start(struct sim *s, const struct rv_action *a, struct dice *d)
{
	struct rv_event e = about(a, RV_EV_SPAWNED);
	rv_time at = s->now + lag(s, d);
	bool task = s->graph->node[a->id].type == RV_TASK;
	static const rv_exit exits[] = {0, 0, 1, 3, RV_EXIT_SIGNAL(11)};

	s->truth[a->id] = (struct truth){.generation = a->generation, .spawning = true};
	if (!s->honest && one_in(d, 40))
		return; /* hangs */
	if (!s->honest && one_in(d, 9))
		e.kind = RV_EV_SPAWN_FAILED;
	else if (one_in(d, 12))
		e.kind = RV_EV_ADOPTED;
	world_push(s, at, &e, false);
	if (!s->honest && one_in(d, 10))
		world_push(s, at + lag(s, d), &e, true);
	if (e.kind == RV_EV_ADOPTED)
		return;
	if (s->graph->node[a->id].type == RV_LAUNCHER)
		launch(s, a, d, at);
	else if (s->honest)
		exits[0] == 0 && task ? push_end(s, a, d, at + 3 * RV_MS, 0, true) : (void)0;
	else if (task ? !one_in(d, 10) : one_in(d, 3))
		push_end(s, a, d, at + lag(s, d) + lag(s, d),
			exits[task && !one_in(d, 4) ? 0 : below(d, 5)], !one_in(d, 4));
}

static void probe(struct sim *s, const struct rv_action *a, struct dice *d)
{
	enum rv_verdict v = a->attempt <= below(d, 4) ? RV_RETRY : RV_OK;

	if (!s->honest && one_in(d, 16))
		v = RV_FAIL;
	if (!s->honest && hash(s->seed, a->id, a->generation, 999) % 20 == 0)
		v = RV_RETRY; /* this life never gets there */
	answer(s, a, d, RV_EV_PROVED, s->honest && a->attempt > 2 ? RV_OK : v);
}

static void hook(struct sim *s, const struct rv_action *a, struct dice *d)
{
	enum rv_verdict v = one_in(d, 4) ? RV_FAIL : one_in(d, 6) ? RV_RETRY : RV_OK;

	if (a->hook == RV_HOOK_CONFIRM && one_in(d, 2))
		v = RV_FAIL;
	answer(s, a, d, RV_EV_HOOK_DONE, s->honest ? RV_OK : v);
}

static void hit(struct sim *s, const struct rv_action *a, struct dice *d, bool mortal)
{
	rv_time at = s->now + lag(s, d);

	if (s->truth[a->id].spawning) {
		struct rv_event e = about(a, one_in(d, 3) ? RV_EV_SPAWNED : RV_EV_SPAWN_FAILED);
		if (mortal)
			world_push(s, at, &e, false);
		return;
	}
	if (mortal && !s->honest && one_in(d, 30))
		at += 5 * RV_SEC; /* hangs in the kernel for a while */
	if (mortal || s->honest || one_in(d, 2)) {
		if (!mortal && !s->honest && one_in(d, 3))
			push_end(s, a, d, at, 0, false);
		else
			push_end(s, a, d, at, mortal ? RV_EXIT_SIGNAL(9) : 143, true);
	}
}

void world_act(struct sim *s, const struct rv_action *a)
{
	struct dice d = fate(s, a);

	switch ((enum rv_action_kind)a->kind) {
	case RV_ACT_START:
		start(s, a, &d);
		speak(s, a);
		break;
	case RV_ACT_FIND: find(s, a, &d); break;
	case RV_ACT_PROBE: probe(s, a, &d); break;
	case RV_ACT_HEALTH:
		answer(s, a, &d, RV_EV_HEALTH,
			s->honest || !one_in(&d, 3) ? RV_OK
				: one_in(&d, 4)	    ? RV_RETRY
						    : RV_FAIL);
		break;
	case RV_ACT_HOOK: hook(s, a, &d); break;
	case RV_ACT_SIGNAL:
		hit(s, a, &d, false);
		speak(s, a);
		break;
	case RV_ACT_KILL: hit(s, a, &d, true); break;
	case RV_ACT_DROP:
	case RV_ACT_STATE:
	case RV_ACT_STUCK:
	case RV_ACT_PAUSED:
	case RV_ACT_TOLD:
	case RV_ACT_BOOT:
	case RV_ACT_RETIRED:
	case RV_ACT_OVER: break;
	}
}

void world_die(struct sim *s, rv_id id, rv_exit exit)
{
	struct rv_action a = {.kind = RV_ACT_KILL, .id = id, .generation = s->truth[id].generation};
	struct dice d = fate(s, &a);

	if (s->truth[id].main)
		push_end(s, &a, &d, s->now, exit, !one_in(&d, 3));
}

/* Any answer, about a life that is over. */
void world_lie(struct sim *s, uint64_t salt)
{
	static const uint8_t kinds[] = {RV_EV_SPAWNED, RV_EV_SPAWN_FAILED, RV_EV_FOUND,
		RV_EV_EXITED, RV_EV_GONE, RV_EV_PROVED, RV_EV_HEALTH, RV_EV_HOOK_DONE};
	static const uint8_t hooks[] = {
		RV_HOOK_STOP, RV_HOOK_CLEANUP, RV_HOOK_CONFIRM, RV_HOOK_UPDATE};
	struct dice d = {salt};
	rv_id id = (rv_id)below(&d, s->graph->plan.nodes);
	struct rv_event e = {
		.kind = kinds[below(&d, sizeof(kinds))],
		.id = id,
		.verdict = (uint8_t)below(&d, 3),
		.hook = hooks[below(&d, sizeof(hooks))],
		.exit = (rv_exit)below(&d, 3),
	};

	if (s->truth[id].generation < 2)
		return;
	e.generation = s->truth[id].generation - 1 - below(&d, s->truth[id].generation - 1);
	world_push(s, s->now, &e, true);
}

bool world_happens(struct sim *s, const struct pending *p)
{
	const struct rv_event *e = &p->event;
	struct truth *t = &s->truth[e->id];

	if (p->lie)
		return true;
	if (e->generation != t->generation)
		return true; /* its life is over; the core has to drop it */
	switch ((enum rv_event_kind)e->kind) {
	case RV_EV_SPAWNED:
		if (!t->spawning)
			return false;
		t->spawning = false;
		t->tree = t->main = true;
		return true;
	case RV_EV_SPAWN_FAILED:
	case RV_EV_ADOPTED:
		if (!t->spawning)
			return false;
		t->spawning = false;
		return true;
	case RV_EV_FOUND:
		if (e->verdict == RV_OK && (!t->tree || t->main))
			return false;
		t->main |= e->verdict == RV_OK;
		return true;
	case RV_EV_EXITED:
		if (!t->main)
			return false;
		t->main = false;
		return true;
	case RV_EV_GONE:
		if (!t->tree || t->main)
			return false;
		t->tree = false;
		return true;
	case RV_EV_EXTEND:
	case RV_EV_QUITS: return t->main;
	case RV_EV_PROVED:
	case RV_EV_HEALTH:
	case RV_EV_HOOK_DONE:
	case RV_EV_BOOT:
	case RV_EV_START:
	case RV_EV_STOP:
	case RV_EV_RESTART:
	case RV_EV_RECREATE:
	case RV_EV_PAUSE:
	case RV_EV_RESUME:
	case RV_EV_SHUTDOWN:
	case RV_EV_FORCE:
	case RV_EV_RETIRE_BEGIN:
	case RV_EV_RETIRE:
	case RV_EV_RETIRE_END:
	case RV_EV_DISABLED:
	case RV_EV_INFORM:
	case RV_EV_RENEW: break;
	}
	return true;
}
