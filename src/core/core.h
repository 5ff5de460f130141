/* The mind: events in, actions out. No clock, no I/O, no allocation, no names.
 *
 * The caller (daemon/engine.c, tests/sim) owns the memory: rv_core_size() bytes, zeroed or not, given
 * to rv_core_init(). It feeds events with rv_core_apply(), as many as the world had, and then calls
 * rv_core_settle() once; performing an action never applies an event. When rv_core_deadline() has
 * come it calls rv_core_settle() again, with no event. Same plan, seed, events and times: same bytes.
 *
 * Desired is not current. `want` is what the operator (or boot) asked: up, down or nothing; `need`
 * is whether the service must run now: wanted up, or pulled in by a dependent that is, and not held
 * down. An operator's stop holds a service down over its dependents' needs (they wait, and come back
 * with it); an operator's start lifts the holds of everything that it needs. `state` is what is.
 *
 *   stopped -> waiting -> queued -> starting -> ready <-> unhealthy
 *      ^                               |           |          |
 *      |    backoff <------------------+-----------+----------+
 *      |       ^                       v           v          v
 *      +-------+---- exited/failed <- stopping -> killing ----+
 *
 * One life: START (generation g, new at each start, never reused) -> SPAWNED -> PROBE...PROVED -> HOOK
 * update -> ready -> [HOOK stop -> SIGNAL step 0, 1, ... -> KILL] -> EXITED, GONE -> HOOK cleanup ->
 * idle. EXITED is the end of the main process, GONE the end of its whole tree; when the main process
 * ends by itself and the tree is not gone in the same turn, what it left behind goes through the
 * same stop steps. A life that is over is followed by what was decided when it ended: backoff,
 * exited, failed, stopped, or (its ground being gone) waiting.
 *
 * A start whose answer is ADOPTED has no process of ours: it is probed as any other, becomes `adopted` instead of
 * ready, is probed from then on, gets neither hook nor signal, and is let go where another would be stopped. When it
 * ends (EXITED) or fails its check, what follows is the restart policy's; reports of loss and restarts do nothing.
 *
 * Bounds: a start ends by ready_timeout (a task's end is its readiness), or by what the life asked for by
 * EXTEND (ten minutes at a time), but never later than boot_timeout after its START; a step of a stop may be lengthened likewise, up
 * to shutdown_timeout after the stop began; a life that has to end while
 * START or the update hook is unanswered waits start_grace for that; confirm may take ready_timeout, a
 * health attempt its period, and no answer is a bad one. A restart's delay counts from the end of the
 * life before. Loss of a dependency costs the dependent none of its restarts.
 *
 * Somebody who has to leave stays what he is until nobody stands on him; then he is `stopping`. While
 * reeve runs, those who stand on him are dependents by NEEDS without on_loss keep; when it closes, all.
 *
 * A report of loss (RECREATE), and for a node with `recreate` a health check that fails, are only suspicion: the hook
 * confirm is asked, and FAIL alone, never RETRY or silence, ends what lives. Reports share what is under way. A life
 * that was lost stays so until another is ready, whatever becomes of the attempts; a report about it counts as long.
 * After a report the new life comes at once; after bad health by the restart policy, limit and delay. An operator's stop or restart,
 * pause and shutdown win: what was starting is ended unseen.
 *
 * Phases inside `starting`: spawned, proven, updated, ready. Dependents wait for ready (until: started
 * for SPAWNED). An answer that carries a generation other than the current one is dropped.
 *
 * A launcher's main process ends with 0 while it is starting, and what it left behind is the service:
 * SPAWNED -> EXITED 0 -> FIND...FOUND -> PROBE or ready. From FOUND on the life has a main process again,
 * and the next EXITED is that one's. GONE before FOUND: it left nobody. The same once more when such a daemon
 * ends with 0: whom it left may be its successor.
 *
 * The sandbox has variables, or it has none: INFORM says which, before BOOT and whenever they change. While it has some, a
 * life is told them (HOOK update) before it is ready. What is ready when they change is told at once and stays ready; TOLD
 * says how that ended, of the last INFORM that reached a life with such a hook. */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include "core/plan.h"

struct rv_core; /* one block of rv_core_size() bytes; no pointers to itself or outside but the plan */

enum rv_event_kind {
	/* the operator and the world around reeve; id RV_NO_ID: all */
	RV_EV_BOOT, /* want all that is enabled; starts the boot clock */
	/* id: want it up; forgets failures and restart counts, lifts holds below it. Nothing happens to what runs,
	   or to a task that has finished well. */
	RV_EV_START,
	RV_EV_STOP, /* id: hold it down */
	RV_EV_RESTART, /* id: end this life (dependents first), then as RV_EV_START */
	RV_EV_RECREATE, /* id, generation: report of loss; of the present life, or of one that is lost. Joined while one is in flight */
	RV_EV_PAUSE, /* id or all: no automatic replacement or restart */
	RV_EV_RESUME,
	RV_EV_SHUTDOWN, /* stop all in reverse, start nothing more, then OVER */
	RV_EV_FORCE, /* KILL everything now, then OVER */
	RV_EV_RETIRE_BEGIN, /* reload phase one: forgets an earlier target */
	RV_EV_RETIRE, /* id: must be gone before the new plan can be adopted */
	RV_EV_RETIRE_END, /* when all retired are gone: RV_ACT_RETIRED */
	RV_EV_DISABLED, /* id: its plugin is disabled (verdict RV_FAIL) or back (RV_OK) */
	/* The variables have changed: there are some (verdict RV_OK), or none (RV_FAIL). time: how long telling them may
	   take; 0: ready_timeout. generation: a number, which the TOLD about them repeats. */
	RV_EV_INFORM,
	RV_EV_RENEW, /* id: if it lives, end this life and start again, for its environment has changed */
	/* answers about one life: id and generation */
	RV_EV_SPAWNED, /* exec succeeded */
	RV_EV_SPAWN_FAILED, /* it did not: exec, user, directory, recipe hook */
	RV_EV_ADOPTED, /* nothing was spawned: one that is not ours runs already. EXITED tells that it is gone */
	RV_EV_FOUND, /* verdict of the FIND in flight; OK: the life has a main process again */
	RV_EV_EXITED, /* the main process ended: exit */
	RV_EV_GONE, /* nothing of the life is left (always after EXITED) */
	/* verdict of the PROBE in flight; OK may also come unasked (passive); of one that is adopted RETRY: it could not be asked */
	RV_EV_PROVED,
	RV_EV_HEALTH, /* verdict of the HEALTH in flight; RETRY: neither good nor bad, it could not be asked */
	RV_EV_HOOK_DONE, /* hook and verdict */
	/* words of the life itself (sd_notify) */
	RV_EV_EXTEND, /* it needs `time` more from now on, for what it is at: its start, or a step of its stop */
	RV_EV_QUITS, /* it is about to end by itself */
};

struct rv_event {
	uint8_t kind; /* enum rv_event_kind */
	uint8_t verdict; /* enum rv_verdict */
	uint8_t hook; /* enum rv_hook */
	rv_id id;
	rv_exit exit;
	uint64_t generation;
	rv_time time; /* EXTEND, INFORM */
};

enum rv_action_kind {
	RV_ACT_START, /* spawn it; the answer is SPAWNED or SPAWN_FAILED */
	RV_ACT_FIND, /* a launcher ended with 0: who is its daemon? One attempt; the answer is FOUND or GONE */
	RV_ACT_PROBE, /* one readiness attempt; bound: `timeout`. The answer is PROVED */
	RV_ACT_HEALTH, /* one health attempt; bound: `timeout`. The answer is HEALTH */
	RV_ACT_HOOK, /* run `hook`; bound: `timeout`. The answer is HOOK_DONE */
	/* What is in flight for this life is not wanted any more: `hook` (PROBE: probe or health). `why` is GRACE when
	   it was waited for until start_grace was over; verdict FAIL when it was a step of the way down and had its time. */
	RV_ACT_DROP,
	/* Send the signal of plan step `step` to `to`. That is the step's own target while the main process
	   lives. When it has gone (a killed Jupyter leaves kernels in sessions of their own), those whom the
	   step did not reach are asked, too, once, so that they need not wait for KILL. */
	RV_ACT_SIGNAL,
	RV_ACT_KILL, /* KILL to the whole tree, and to whatever joins it until GONE */
	RV_ACT_STATE, /* the state changed to `state` for `why` (and `other`); for log, waiters, status */
	RV_ACT_STUCK, /* kill_timeout passed: name what resists. Sent once a life */
	/* It is `paused`, or resumed: told once for each change. What changed back and forth between two settles is told as both. */
	RV_ACT_PAUSED,
	RV_ACT_TOLD, /* whether it has taken the variables of INFORM number `inform` (verdict RV_OK) or not (RV_FAIL) */
	RV_ACT_BOOT, /* the boot is decided: verdict OK (`degraded` may be set) or FAIL (id: first failure) */
	RV_ACT_RETIRED, /* adopt the new plan now */
	RV_ACT_OVER, /* nothing lives, nothing will: leave. `end` says why; id: who caused it, or RV_NO_ID */
};

/* Why reeve ends; the daemon maps it to an exit status. */
enum rv_end {
	RV_END_NONE,
	RV_END_REQUEST, /* 0 */
	RV_END_EXIT_FROM, /* the status of that service: `exit` */
	RV_END_BOOT_FAILED, /* 10 */
	RV_END_GAVE_UP, /* 10 */
	RV_END_HEALTH, /* 11: what gave up did so over its health check */
	RV_END_DEADLINE, /* 12: the shutdown deadline passed, the rest was killed */
	RV_END_FORCED, /* 128 + n */
};

struct rv_action {
	uint8_t kind; /* enum rv_action_kind */
	uint8_t hook; /* enum rv_hook */
	uint8_t state; /* enum rv_state */
	uint8_t why; /* enum rv_why */
	uint8_t verdict; /* enum rv_verdict */
	uint8_t end; /* enum rv_end */
	uint8_t to; /* SIGNAL: enum rv_target */
	bool degraded;
	bool paused; /* PAUSED */
	rv_id id;
	rv_id other; /* STATE: the service that `why` is about (a dependency), or RV_NO_ID */
	uint32_t step;
	uint32_t attempt; /* FIND, PROBE, HEALTH: counts from 1 in a life */
	uint64_t inform; /* TOLD */
	rv_exit exit;
	uint64_t generation;
	rv_time timeout; /* ns from now */
};

/* The caller's array; settle never needs more than rv_core_actions_max() and asserts that. */
struct rv_actions {
	struct rv_action *v;
	size_t n, room;
};
size_t rv_core_actions_max(const struct rv_plan *p);

size_t rv_core_size(const struct rv_plan *p);
void rv_core_init(struct rv_core *c, const struct rv_plan *p, uint64_t seed);
/* Only notes; `out` stays as it is. Several answers about one life may come in one turn. */
void rv_core_apply(
	struct rv_core *c, rv_time now, const struct rv_event *e, struct rv_actions *out);
void rv_core_settle(struct rv_core *c, rv_time now, struct rv_actions *out);
/* `n` is fresh memory of rv_core_size(p); `old` has answered RETIRED, and its plan is still there. Lives
   go on under the new plan; settle comes next (the deadline says so). */
void rv_core_adopt(struct rv_core *n, const struct rv_plan *p, const struct rv_core *old);
/* When to call settle again at the latest; RV_NEVER: only after an event. 0 while something that was
   applied has not been settled. */
rv_time rv_core_deadline(const struct rv_core *c);

enum rv_look_flags {
	RV_LOOK_WANTED = 1,
	RV_LOOK_HELD = 2, /* the operator stopped it */
	RV_LOOK_NEEDED = 4,
	RV_LOOK_PAUSED = 8,
	RV_LOOK_LOST = 16,
	RV_LOOK_DISABLED = 32,
	RV_LOOK_UNPROVEN = 64,
	RV_LOOK_WAS_READY = 128, /* this life has been ready */
	RV_LOOK_UNTOLD = 256, /* the variables have changed, and TOLD is still to come */
	RV_LOOK_RECREATING = 512, /* it is being asked whether it is lost, or is being replaced */
};

struct rv_look {
	enum rv_state state;
	enum rv_why why; /* of the present state; of the last end when idle */
	rv_id other; /* what it waits for, or what `why` is about; RV_NO_ID */
	uint32_t flags;
	uint32_t restarts; /* automatic ones since the operator's last start */
	uint64_t generation; /* of the present or the last life; 0: none yet */
	uint64_t lost; /* the life that was lost and has not been replaced; 0: none */
	rv_exit exit; /* how the last life ended */
	rv_time since; /* when the state was entered */
	rv_time started, ready; /* of the present life: START action, ready; 0: not yet */
	rv_time due; /* BACKOFF: when it starts again; RV_NEVER otherwise */
	/* Of the present or the last life, in microseconds, RV_NOT_YET where it did not come to that: from the
	   decision to the exec, from there to the proof (a task: to its good end), from there to ready. */
	uint32_t spawn_us, proof_us, init_us;
};
#define RV_NOT_YET UINT32_MAX
struct rv_look rv_core_look(const struct rv_core *c, rv_id id);

/* What a service waits for right now, so that a person can be told. Pure, and only asked for by people: it looks
   at the service's own edges and at who starts. */
enum rv_awaited {
	RV_AWAIT_NOTHING, /* it is where it shall be, or only an operator moves it on */
	RV_AWAIT_SERVICE, /* until what it stands on is there: other, kind, until */
	RV_AWAIT_PERMIT, /* other, and `ahead` altogether, start now; max_starts says how many may */
	RV_AWAIT_SPAWN, /* START is not answered */
	RV_AWAIT_CHECK, /* a readiness attempt, or the pause before the next one: attempt */
	RV_AWAIT_EXIT, /* of a task, or a launcher */
	RV_AWAIT_DAEMON, /* a launcher has ended: FIND, or the pause before the next one: attempt */
	RV_AWAIT_UPDATE, /* the update hook */
	RV_AWAIT_DEPENDENTS, /* it has to leave; other stands on it still, `ahead` do altogether */
	RV_AWAIT_STOP_HOOK,
	RV_AWAIT_LEAVE, /* the signal of `step` was sent */
	RV_AWAIT_DEATH, /* KILL was sent */
	RV_AWAIT_CLEANUP, /* the cleanup hook */
	RV_AWAIT_DELAY, /* of a restart */
	RV_AWAIT_RESUME, /* its restart is paused */
	RV_AWAIT_CONFIRM, /* the confirm hook: is it lost? */
};

struct rv_await {
	enum rv_awaited what;
	rv_id other; /* RV_NO_ID: none */
	uint8_t kind, until; /* SERVICE: enum rv_edge_kind, enum rv_until */
	bool stuck; /* DEATH: it has resisted for longer than KILL may take */
	uint32_t ahead, attempt, step;
	rv_time by; /* when the core goes on at the latest; RV_NEVER: when it is there */
};
struct rv_await rv_core_await(const struct rv_core *c, rv_id id);
/* Dependents that have nothing else to wait for: they start as soon as it is there. Writes the first `room`
   of them, returns how many there are. */
size_t rv_core_heirs(const struct rv_core *c, rv_id id, rv_id *to, size_t room);

enum rv_boot { RV_BOOT_NOT_YET, RV_BOOT_UNDER_WAY, RV_BOOT_DONE, RV_BOOT_DEGRADED, RV_BOOT_FAILED };
enum rv_boot rv_core_boot(const struct rv_core *c);
/* True from SHUTDOWN, FORCE, a rollback, exit-from or a give-up that ends reeve, on. */
bool rv_core_closing(const struct rv_core *c);
/* Why it closes, as far as it is known; a second signal or the deadline may still change it. */
enum rv_end rv_core_end(const struct rv_core *c);
/* Whose end or failure made it close; RV_NO_ID: nobody's, as far as is known. */
rv_id rv_core_culprit(const struct rv_core *c);
/* Whether a START that was emitted and not answered is still wanted: nobody has asked the life to end meanwhile. */
bool rv_core_may_start(const struct rv_core *c, rv_id id);

/* What the sandbox has of a service right now: one rule for the log, status, wait and why. */
enum rv_presence {
	RV_THERE, /* ready, adopted, or a task that has finished well; or nobody means it to run */
	RV_MISSED, /* it is not: the sandbox is ready without it, but degraded. Also what an operator stopped */
	RV_LACKED, /* it is not, and the sandbox is not ready without it */
};
enum rv_presence rv_core_presence(const struct rv_core *c, rv_id id);
/* And of all of them. Not ready before the boot is decided and while reeve closes. A boot that failed and was not rolled
   back becomes ready as soon as nothing is lacked any more. */
enum rv_whole { RV_WHOLE_NOT_READY, RV_WHOLE_DEGRADED, RV_WHOLE_READY };
enum rv_whole rv_core_whole(const struct rv_core *c);

#endif
