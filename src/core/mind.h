/* What the files of this room know of each other; nobody else includes it.
 *
 * apply() only notes: facts about a life as bits of its slot, the operator's words as flags. settle()
 * does the rest, in passes over sets of dirty ranks:
 *
 *   hear    up    facts and due deadlines, through the state functions (begin.c, run.c, stop.c)
 *   need    down  who must run: wanted, or pulled in by one who must
 *   ground  up    what each may stand on: waits, losses, who has to leave; boot is tallied here
 *   judge         is the boot decided, has something ended reeve? Then need and ground once more
 *   stop    down  who has to leave and has no living dependents any more gets its first signal
 *   start   up    who is down, needed and grounded gets a permit, or queues for one
 *
 * A change marks its own slot; the passes mark the neighbours, and only if what a slot offers to its
 * dependents (or asks of its dependencies) has really changed. All that a visit needs is counted
 * incrementally, so a visit costs no more than the slot's own changes. The simulator builds all this a second time
 * with RV_SWEEP, where each pass visits everything and everything is counted anew, and demands the
 * same bytes. RV_FAULT(n) plants mistake n there; in the product it is the constant 0. */
#ifndef CORE_MIND_H
#define CORE_MIND_H

#include <assert.h>

#include "core/bits.h"
#include "core/core.h"
#include "core/deadline.h"

#ifndef RV_FAULT
#define RV_FAULT(n) 0
#endif

/* What has been heard and is not digested, in the order in which it is digested. */
enum rv_fact {
	RV_FACT_CALM, /* pause or stop: a replacement under way is not wanted any more, whatever has been answered */
	RV_FACT_ADOPTED,
	RV_FACT_SPAWNED,
	RV_FACT_SPAWN_FAILED,
	RV_FACT_FOUND,
	RV_FACT_PROVED,
	RV_FACT_HEALTH,
	RV_FACT_HOOK_DONE,
	RV_FACT_EXTEND, /* it asked for more time */
	RV_FACT_QUITS, /* it said that it is stopping */
	RV_FACT_RECREATE, /* a permitted report of loss */
	RV_FACT_INFORM, /* the variables have changed */
	RV_FACT_EXITED,
	RV_FACT_GONE,
	RV_FACT_DUE,
};

/* Where a life is, inside its state. */
enum rv_phase {
	RV_PHASE_NONE, /* no life */
	RV_PHASE_SPAWN, /* START was sent */
	RV_PHASE_LAUNCH, /* a launcher runs */
	RV_PHASE_FIND, /* FIND is in flight */
	RV_PHASE_PACE, /* between two probes, or two FINDs */
	RV_PHASE_PROBE, /* PROBE is in flight */
	RV_PHASE_TASK, /* a task runs */
	RV_PHASE_UPDATE, /* the update hook is in flight */
	RV_PHASE_HOLD, /* was starting, has to leave, waits until its dependents are gone */
	RV_PHASE_UP, /* ready or unhealthy */
	RV_PHASE_ASK, /* the stop hook is in flight */
	RV_PHASE_STEP, /* a signal was sent */
	RV_PHASE_KILL, /* KILL was sent */
	RV_PHASE_CLEANUP, /* the cleanup hook is in flight */
};

/* What is in flight for a life: at most one thing. Hooks are RV_ASK_HOOK + enum rv_hook. */
enum { RV_ASK_NONE, RV_ASK_FIND, RV_ASK_PROBE, RV_ASK_HEALTH, RV_ASK_HOOK };

/* What follows a life. */
enum rv_after {
	RV_AFTER_AGAIN, /* start again if needed, else stopped */
	RV_AFTER_BACKOFF, /* the same, after a delay */
	RV_AFTER_EXITED,
	RV_AFTER_FAILED,
	RV_AFTER_DROPPED, /* stopped, and stays so */
};

/* How a dependency looks to one edge. NEEDS uses the first six, WANTS and AFTER the last two; part-of those between
   as well. */
enum rv_footing {
	RV_FOOT_FIRM,
	RV_FOOT_COMING, /* not there, on its way */
	RV_FOOT_LEAVING, /* has to go, or is going */
	RV_FOOT_SHAKY, /* waits out a restart delay, or is paused: nobody waits softly for it */
	RV_FOOT_HELD, /* down until the operator says otherwise */
	RV_FOOT_FAILED, /* down for good */
	RV_FOOT_TAKEN, /* part-of: an operator's order takes it down */
	RV_FOOT_PARTED, /* part-of: an operator holds it down */
	RV_FOOT_PASS,
	RV_FOOT_WAIT,
	RV_FOOT_COUNT,
};

enum rv_tally { RV_TALLY_FINE, RV_TALLY_PENDING, RV_TALLY_BAD };

struct rv_slot {
	/* the operator */
	bool up, held, paused, disabled;
	bool retired; /* reload: must be gone */
	bool swung,
		told_paused; /* `paused` has changed since it was told last; what was told then */
	/* the graph */
	bool need;
	bool grounded; /* this life has stood on firm ground: its loss counts */
	bool lost_ground; /* ended by the loss of a dependency, not started since */
	uint8_t offer; /* RV_OFFER_..., as the dependents' counts know it */
	uint8_t tally; /* enum rv_tally, as core->pending and core->bad know it */
	uint32_t pullers; /* needed dependents by NEEDS or WANTS */
	uint32_t living; /* dependents that live and must be gone before us */
	uint32_t living_parts; /* those that must be gone, too, when an operator takes us down */
	uint32_t living_all; /* the same at the end, when every edge counts */
	uint32_t foot[RV_FOOT_COUNT]; /* our edges, by footing */
	/* the machine */
	uint8_t state, why, phase, ask;
	uint8_t after; /* enum rv_after */
	uint8_t end_why; /* why this life ended, or has to */
	bool leaving; /* has to end; waits for its dependents, or is being stopped */
	bool done; /* idle, and only the operator starts it again */
	bool rests; /* idle, and may not start before its deadline */
	bool automatic; /* the next start is not the operator's */
	bool exited, answered; /* main process is gone; spawn was answered */
	bool seeking; /* a launcher whose daemon has not been found yet */
	bool balked; /* it could not even be spawned */
	bool guest; /* nothing was spawned: somebody who is not ours runs already */
	bool quits; /* it said that it is ending: no health check brings it back */
	bool unproven, was_ready, ever; /* ever: some life since the operator's start was ready */
	bool lost, recreating, sick, stuck; /* sick: given up over its health */
	bool untold; /* the variables have changed, and it does not know them yet ... */
	bool suspected; /* recreating, and nobody but its health check has asked for that */
	uint64_t untold_of; /* ... by that INFORM */
	rv_id other;
	uint32_t step, attempt, bad_health;
	uint32_t attempts; /* starts that failed before one was ready */
	uint32_t restarts, in_window;
	rv_exit exit;
	uint64_t generation, lost_of; /* lost_of: which life was lost */
	rv_time since, started, ready;
	uint32_t spawn_us, proof_us, init_us; /* as in struct rv_look */
	rv_time asked; /* when the last probe began */
	rv_time ready_by; /* this start fails then */
	rv_time pause; /* how long the backoff that follows this life lasts */
	rv_time again_at; /* BACKOFF: not before */
	rv_time window_began, delay;
	/* what was heard */
	uint32_t facts; /* 1 << enum rv_fact */
	uint8_t found, proved, health, hook_done;
	rv_exit heard_exit;
	rv_time extend_to; /* the latest that was asked for */
};

/* What a slot offers to its dependents: bits, and a footing for those who need more. */
#define RV_OFFER_STARTED 1u
#define RV_OFFER_READY	 2u
#define RV_OFFER_EXITED	 4u
#define RV_OFFER_SETTLED 8u /* nobody waits softly */
#define RV_OFFER_SHIFT	 4u /* enum rv_footing above: three bits */
#define RV_OFFER_ORDERED 128u /* an operator's order takes it down, or holds it */

/* One edge seen from its dependency. */
struct rv_back {
	rv_id from;
	uint32_t edge;
};

enum rv_set {
	RV_SET_HEAR,
	RV_SET_NEED,
	RV_SET_GROUND,
	RV_SET_STOP,
	RV_SET_START,
	RV_SET_QUEUE,
	RV_SET_FRESH,
	RV_SET_LIFT,
	RV_SETS
};

struct rv_core {
	const struct rv_plan *plan;
	size_t size;
	size_t slots_at, tree_at, sets_at, backs_at, feet_at; /* offsets of what follows */
	uint64_t random;
	uint64_t floor; /* generations of slots that are not there any more were below */
	bool unsettled;
	bool retiring, closing, forced, killed, over;
	bool informs; /* the sandbox has variables */
	uint64_t inform; /* number of the last INFORM */
	rv_time tell_within; /* of the last INFORM; 0: no bound of its own */
	uint8_t boot; /* enum rv_boot */
	uint8_t end; /* enum rv_end */
	uint8_t close_why;
	uint8_t cause; /* enum rv_end that a slot has caused, not acted on yet */
	rv_id cause_id;
	rv_exit end_exit;
	rv_id first_failure; /* of the boot: essential, or what an essential one stands on */
	uint8_t first_why;
	rv_time boot_by, close_by, leave_by;
	uint32_t alive, starting;
	uint32_t pending, bad; /* of the boot */
};

struct rv_turn {
	struct rv_core *c;
	const struct rv_plan *p;
	rv_time now;
	struct rv_actions *out;
};

static inline struct rv_slot *rv_slots(const struct rv_core *c)
{
	return (struct rv_slot *)((uintptr_t)c + c->slots_at);
}

static inline rv_time *rv_tree(const struct rv_core *c)
{
	return (rv_time *)((uintptr_t)c + c->tree_at);
}

static inline struct rv_back *rv_backs(const struct rv_core *c)
{
	return (struct rv_back *)((uintptr_t)c + c->backs_at);
}

/* One footing for each edge of the plan. */
static inline uint8_t *rv_feet(const struct rv_core *c)
{
	return (uint8_t *)((uintptr_t)c + c->feet_at);
}

static inline uint64_t *rv_set(const struct rv_core *c, enum rv_set which)
{
	return (uint64_t *)((uintptr_t)c + c->sets_at) + which * rv_bits_words(c->plan->nodes);
}

static inline rv_id rv_slot_id(const struct rv_core *c, const struct rv_slot *s)
{
	return (rv_id)(s - rv_slots(c));
}

static inline const struct rv_node *rv_node_of(const struct rv_core *c, const struct rv_slot *s)
{
	return &c->plan->node[rv_slot_id(c, s)];
}

static inline bool rv_is_alive(const struct rv_slot *s)
{
	return s->phase != RV_PHASE_NONE;
}

/* Since the start of this life, as its parts are kept: below RV_NOT_YET. */
static inline uint32_t rv_elapsed_us(const struct rv_slot *s, rv_time now)
{
	rv_time us = (now - s->started) / RV_US;

	return us < RV_NOT_YET ? (uint32_t)us : RV_NOT_YET - 1;
}

/* Its next start would be automatic, and the operator wants none. */
static inline bool rv_is_frozen(const struct rv_slot *s)
{
	return s->paused && (s->automatic || s->recreating) && !RV_FAULT(5);
}

/* An operator's order takes it down, or holds it there: what is part of it follows. */
static inline bool rv_is_ordered(const struct rv_slot *s)
{
	return s->held ||
		(s->leaving && (s->end_why == RV_WHY_OPERATOR || s->end_why == RV_WHY_RESTART));
}

/* Who has to be gone before this one gets its first signal. */
static inline uint32_t rv_living(const struct rv_core *c, const struct rv_slot *s)
{
	if (c->closing && !RV_FAULT(33))
		return s->living_all;
	return s->living + (rv_is_ordered(s) && !RV_FAULT(49) ? s->living_parts : 0);
}

/* A dependent that goes first for other reasons than that it is part of it. */
static inline bool rv_is_carried(const struct rv_node *n, const struct rv_edge *e)
{
	return e->kind == RV_NEEDS && n->on_loss != RV_LOSS_KEEP;
}

/* core.c */
void rv_mark(const struct rv_core *c, const struct rv_slot *s, enum rv_set which);
void rv_mark_all(const struct rv_core *c, enum rv_set which);
/* Whether it has to run now, as far as this turn knows. */
bool rv_is_needed(const struct rv_core *c, const struct rv_slot *s);
void rv_core_close(struct rv_core *c, rv_time now, enum rv_end end, enum rv_why why);
/* Lays out the block and clears it; the indexes of the graph are built. */
void rv_core_lay_out(struct rv_core *c, const struct rv_plan *p);
struct rv_action *rv_emit(
	const struct rv_turn *t, const struct rv_slot *s, enum rv_action_kind kind);

/* After a spawn that failed the next try waits at least this long. */
#define RV_SPAWN_PAUSE (100 * RV_MS)
/* A launcher's daemon that was ready and ends with 0 has so long to be followed by another. */
#define RV_HEIR_TIME RV_SEC

/* machine.c: dispatch, and what all states share */
void rv_machine_hear(const struct rv_turn *t, struct rv_slot *s);
void rv_machine_state(const struct rv_turn *t, struct rv_slot *s, enum rv_state state,
	enum rv_why why, rv_id other);
void rv_machine_due(const struct rv_turn *t, struct rv_slot *s, rv_time due);
bool rv_machine_has(const struct rv_turn *t, const struct rv_slot *s, enum rv_hook hook);
void rv_machine_ask(const struct rv_turn *t, struct rv_slot *s, enum rv_hook hook, rv_time timeout);
void rv_machine_drop(const struct rv_turn *t, struct rv_slot *s);
/* The same, when it has had the time that it may have. */
void rv_machine_give_up(const struct rv_turn *t, struct rv_slot *s);
/* The same, of a step of the way down. */
void rv_machine_expire(const struct rv_turn *t, struct rv_slot *s);
/* This life has to end: at once when nobody stands on it. May be called outside a settle. */
void rv_machine_leave(
	struct rv_core *c, rv_time now, struct rv_slot *s, enum rv_why why, enum rv_after after);
/* GONE: what is left is the cleanup hook, then idle. */
void rv_machine_life_over(const struct rv_turn *t, struct rv_slot *s);
/* It does not know the variables of the last INFORM. */
void rv_machine_untold(const struct rv_turn *t, struct rv_slot *s);
/* It knows the variables now, or never will: in this life. Nothing happens when it knew them. */
void rv_machine_told(const struct rv_turn *t, struct rv_slot *s, enum rv_verdict v);
void rv_machine_conclude(const struct rv_turn *t, struct rv_slot *s);
/* Why a service that is not to run is down. */
enum rv_why rv_machine_why_down(
	const struct rv_core *c, const struct rv_slot *s, enum rv_why otherwise);
/* Counts a life in (+1) or out (-1) with all that it stands on. */
void rv_machine_count(const struct rv_turn *t, const struct rv_slot *s, bool in);

/* begin.c: a life up to ready */
void rv_begin_start(const struct rv_turn *t, struct rv_slot *s);
void rv_begin_hear(const struct rv_turn *t, struct rv_slot *s, enum rv_fact f);
/* The plugin is disabled: the start is refused without a life. */
void rv_begin_refuse(const struct rv_turn *t, struct rv_slot *s);

/* heir.c: a launcher's daemon. ready_by bounds the search; the caller sets the phase. */
void rv_heir_begin(const struct rv_turn *t, struct rv_slot *s);
void rv_heir_ask(const struct rv_turn *t, struct rv_slot *s);
/* Not found yet: ask again a little later. */
void rv_heir_pause(const struct rv_turn *t, struct rv_slot *s);
/* Found: there is a main process again. */
void rv_heir_end(struct rv_slot *s);

/* run.c: ready and unhealthy */
void rv_run_enter(const struct rv_turn *t, struct rv_slot *s);
void rv_run_hear(const struct rv_turn *t, struct rv_slot *s, enum rv_fact f);

/* guest.c: what runs already and is not ours */
void rv_guest_enter(const struct rv_turn *t, struct rv_slot *s);
void rv_guest_hear(const struct rv_turn *t, struct rv_slot *s, enum rv_fact f);
/* Instead of stopping it: `stopping` for a turn, then down. */
void rv_guest_let_go(const struct rv_turn *t, struct rv_slot *s);
/* It ended, or holds the place no longer. */
void rv_guest_left(const struct rv_turn *t, struct rv_slot *s);

/* stop.c: from the first signal to nothing */
void rv_stop_begin(const struct rv_turn *t, struct rv_slot *s);
void rv_stop_kill(const struct rv_turn *t, struct rv_slot *s);
/* The main process ended by itself: what it left behind goes through the steps. */
void rv_stop_leftovers(const struct rv_turn *t, struct rv_slot *s);
void rv_stop_hear_stopping(const struct rv_turn *t, struct rv_slot *s, enum rv_fact f);
void rv_stop_hear_killing(const struct rv_turn *t, struct rv_slot *s, enum rv_fact f);

/* policy.c: what follows a failure */
void rv_policy_start_failed(const struct rv_turn *t, struct rv_slot *s, enum rv_why why);
void rv_policy_ended(const struct rv_turn *t, struct rv_slot *s);
void rv_policy_unhealthy(const struct rv_turn *t, struct rv_slot *s);
void rv_policy_guest_lost(const struct rv_turn *t, struct rv_slot *s, enum rv_why why);
/* It ended by itself and stays so; may end reeve. */
void rv_policy_final(
	const struct rv_turn *t, struct rv_slot *s, enum rv_after after, enum rv_why why);
void rv_policy_forget(struct rv_slot *s);

/* ground.c: what stands on what */
void rv_ground_need(const struct rv_turn *t, struct rv_slot *s);
void rv_ground_visit(const struct rv_turn *t, struct rv_slot *s);
enum rv_footing rv_ground_of(const struct rv_slot *s);
/* The dependency that it waits for or stands badly on; RV_NO_ID: none. */
rv_id rv_ground_culprit(const struct rv_core *c, const struct rv_slot *s);
/* That edge, as a place in plan->edges; RV_NO_ID: none. */
uint32_t rv_ground_culprit_edge(const struct rv_core *c, const struct rv_slot *s);
/* Everything that is counted incrementally, from scratch. */
void rv_ground_recount(struct rv_core *c);

/* judge.c: the boot, the end */
bool rv_judge(const struct rv_turn *t);
/* KILL to all, when the operator or the deadline says so. */
void rv_judge_patience(const struct rv_turn *t);
void rv_judge_end(const struct rv_turn *t);

#endif
