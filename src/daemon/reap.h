/* Every process that is our child: whose it is, how it ended, and when the whole life is gone.
 *
 * A life is one start of one service: (id, generation), a main process which is leader of its own
 * session and group, and a mark, the value of REEVE_INVOCATION_ID in its environment. We are PID 1
 * or a subreaper, so each orphan becomes our child. A life is gone when its main process is reaped,
 * its group is empty, and no unknown direct child of ours belongs to it (mark, session, or seen
 * among its descendants before).
 *
 * All callbacks come from within rv_reaper_turn() and rv_reaper_first(), never from another call. */
#ifndef DAEMON_REAP_H
#define DAEMON_REAP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "core/plan.h"

#define RV_MARK_SIZE 64 /* bytes of a mark, with its NUL */

struct rv_reaper;

struct rv_reaper_ops {
	/* The main process ended. `gone` follows, in the same turn if nothing else is left. */
	void (*exited)(void *ctx, rv_id id, uint64_t generation, rv_exit how);
	void (*gone)(void *ctx, rv_id id, uint64_t generation);
};

/* Becomes subreaper unless we are PID 1. slots: number of ids. Children that we have already (a job of
   the shell that exec'ed us) are reaped but never signalled, unless they are added as helpers. */
struct rv_reaper *rv_reaper_create(size_t slots, const struct rv_reaper_ops *ops, void *ctx);
void rv_reaper_destroy(struct rv_reaper *r);
/* After a reload that has more slots. */
bool rv_reaper_grow(struct rv_reaper *r, size_t slots);

/* A life was spawned. mark is copied. One life a slot at a time. */
void rv_reaper_add_life(
	struct rv_reaper *r, rv_id id, uint64_t generation, pid_t pid, const char *mark);
/* Its main process is a launcher: when that ends with 0 the life goes on, even if nobody seems to be left, until the
   next main process is named, or given up, or the life is asked to leave. Right after add_life. */
void rv_reaper_expect_heir(struct rv_reaper *r, rv_id id);
/* Nobody takes over any more, neither whom it left behind nor whom it has named. */
void rv_reaper_no_heir(struct rv_reaper *r, rv_id id);
/* From now on `pid` is the main process of this life: its end is what `exited` tells, its session and group are
   the life's. It must be a child of ours that belongs to the life: an orphan, or what was claimed. The main process
   of before, when it still lives, is one of the tree from now on, and its end is told to nobody. False: pid
   is none of these; nothing has changed. */
bool rv_reaper_hand_over(struct rv_reaper *r, rv_id id, pid_t pid);
/* The life says that `pid`, one of its processes, is its main process from now on: it is at once when it is a child
   of ours, else from the moment on when the present main process ends and leaves it to us, which then is not the end
   of the life. True: at once. For the other case `followed` is called, from within a turn. */
bool rv_reaper_follow(struct rv_reaper *r, rv_id id, pid_t pid);
void rv_reaper_on_follow(
	struct rv_reaper *r, void (*followed)(void *ctx, rv_id id, uint64_t generation, pid_t pid));
/* A child of ours that nothing ties to any life, and that was started since this launcher was, is one of this life
   because something else says so: a pid file, a port. False: it is not such a one. */
bool rv_reaper_claim(struct rv_reaper *r, rv_id id, pid_t pid);
/* Appends all those that could be claimed. */
struct rv_pids;
void rv_reaper_unclaimed(struct rv_reaper *r, rv_id id, struct rv_pids *to);
/* What the life was given as stdout. When it is a pipe that no other life has, an orphan that writes
   into it belongs to this one. To be called before our copy is closed. */
void rv_reaper_note_output(struct rv_reaper *r, rv_id id, int fd);
/* Another child of ours (probe command, plugin host): done is called once with how it ended. A helper
   is the leader of its own session; what it leaves behind is killed when it ends. */
void rv_reaper_add_helper(
	struct rv_reaper *r, pid_t pid, void (*done)(void *arg, pid_t pid, rv_exit how), void *arg);
/* Forget the callback (the helper is still reaped, and killed now when `kill`). */
void rv_reaper_drop_helper(struct rv_reaper *r, pid_t pid, bool kill);

/* Collects all that ended, attributes unknown children, tells which lives are gone. Call once a loop
   turn when SIGCHLD came, or when rv_reaper_wait() is over. */
void rv_reaper_turn(struct rv_reaper *r);
/* The same for the first one that ended: what follows from it need not wait for the rest, which costs a look at
   every child. True: there may be more, call rv_reaper_turn soon. */
bool rv_reaper_first(struct rv_reaper *r);
/* Delay until a turn is needed without SIGCHLD (a group that is emptying, a kill in progress); grows
   from 1 ms to 50 ms; RV_NEVER when no life is ending. */
rv_time rv_reaper_wait(const struct rv_reaper *r);

/* Signals the life: its main process, its group, all of its tree, or the tree without the group. A group gets a
   signal once, not each member. False: nobody was there. */
bool rv_reaper_signal(struct rv_reaper *r, rv_id id, int number, enum rv_target to);
/* The same, and wakes whom somebody has stopped (SIGSTOP, a terminal): only then can they obey. */
bool rv_reaper_ask(struct rv_reaper *r, rv_id id, int number, enum rv_target to);
/* KILL to the whole tree now, and to whatever is found of it in later turns until it is gone. */
void rv_reaper_kill(struct rv_reaper *r, rv_id id);
/* At the very end: kill and reap every child that is left, known or not (as PID 1: everything in the
   namespace but us; else not what we had before we began), bounded by `limit` ns. Returns how many
   resisted. */
size_t rv_reaper_sweep(struct rv_reaper *r, rv_time limit);

/* pids and commands of what is left of a life, "4711 (python3), 4712 (sh)"; for messages. */
void rv_reaper_name(struct rv_reaper *r, rv_id id, struct rv_buf *to);
/* Appends the processes of a life as far as they are known now, roots first. */
void rv_reaper_list(struct rv_reaper *r, rv_id id, struct rv_pids *to);
/* The main pid, 0: none. */
pid_t rv_reaper_pid(const struct rv_reaper *r, rv_id id);
/* Whose life it is a process of, RV_NO_ID: nobody's. */
rv_id rv_reaper_whose(struct rv_reaper *r, pid_t pid);
/* True if pid is the life's main process or a descendant of it (walks /proc upwards). */
bool rv_reaper_owns(struct rv_reaper *r, rv_id id, pid_t pid);

#endif
