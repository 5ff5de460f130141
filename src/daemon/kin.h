/* The inside of the reaper: lives, and which processes belong to them. Private to reap.c, reach.c,
 * heir.c, kin.c. */
#ifndef DAEMON_KIN_H
#define DAEMON_KIN_H

#include "daemon/pidmap.h"
#include "daemon/proc.h"
#include "daemon/reap.h"

struct rv_life {
	uint64_t generation;
	uint64_t mark_hash; /* so that marks are compared as numbers first */
	pid_t pid; /* of the main process, also after its end; 0: no life here */
	pid_t group, session; /* the main process's */
	uint64_t born; /* of one that expects: when it was started, as rv_proc.start */
	rv_exit how;
	dev_t out_dev; /* of the pipe that is its stdout; out_ino 0: no such evidence */
	ino_t out_ino;
	uint32_t orphans; /* children of ours that belong to it, without the main process */
	bool reaped; /* the main process is */
	bool group_empty; /* for ever: the number of the group may belong to others now. While the main process lives: it is
			     in a group that is not the life's */
	bool recycled; /* our number is another child's now: no session of ours has it */
	pid_t heir; /* said to be the main process once the present one has ended; 0: nobody */
	uint64_t heir_start; /* when that one was started: its number may be another's by then */
	bool expects; /* a launcher: who follows it is not known yet */
	bool killing;
	bool active; /* reaped or killing: listed in reaper.active */
	char mark[RV_MARK_SIZE];
};

/* What a turn found, told when it is over. */
struct rv_tiding {
	enum { RV_TOLD_EXITED, RV_TOLD_GONE, RV_TOLD_HELPER, RV_TOLD_HEIR, RV_TOLD_NOTHING } kind;
	rv_id id;
	uint64_t generation;
	pid_t pid;
	rv_exit how;
	void (*done)(void *arg, pid_t pid, rv_exit how);
	void *arg;
};

struct rv_reaper {
	const struct rv_reaper_ops *ops;
	void (*followed)(void *ctx, rv_id id, uint64_t generation, pid_t pid); /* or NULL */
	void *ctx;
	size_t slots;
	struct rv_life *lives;
	rv_id *active; /* room for all slots */
	size_t active_count;
	struct rv_pidmap known; /* our children */
	struct rv_pidmap seen; /* descendants that were not our children when we looked */
	struct rv_pids list; /* scratch */
	struct rv_tiding *tidings;
	size_t tiding_count, tiding_room;
	int children_fd;
	bool met; /* our children were looked at since the last turn: enough for what is tried again */
	bool heirs; /* some life has, or had, a main process that is not the first one */
	bool childless; /* the last wait said so, and none was added since */
	pid_t doubted; /* a child of ours that has no environment now, 0: none; and since when */
	rv_time doubted_since;
	rv_time wait; /* RV_NEVER, or when a turn is due */
	bool turning;
};

/* The main process has just been reaped: whether the one takes over that it named. */
bool rv_kin_inherit(struct rv_reaper *r, rv_id id);
/* A main process that is not the first one is no leader of a session when it is found, and may become one later: its
   group and session as they are now. */
void rv_kin_renew(struct rv_life *l);
/* NULL: no life there. */
struct rv_life *rv_kin_life(const struct rv_reaper *r, rv_id id);
/* Every turn judges it from now on. */
void rv_kin_activate(struct rv_reaper *r, rv_id id);
uint64_t rv_kin_hash(const char *mark);
/* Finds unknown children of ours and to which life they belong. False: one could not be asked, because it ends or is
   between two programs, so that it, or its own children, may have escaped the look: reap, and look again. One that
   stays so for a second is nobody's. */
bool rv_kin_meet(struct rv_reaper *r);
/* Attributes what is nobody's by its descendants; for a group that does not empty. */
void rv_kin_meet_deeply(struct rv_reaper *r, rv_id id);
/* All processes of the life, roots first, into `to`; remembers them as seen. */
void rv_kin_list(struct rv_reaper *r, rv_id id, struct rv_pids *to);
/* Sends to one process of the life's tree, if it still is who it was. */
bool rv_kin_signal(struct rv_reaper *r, pid_t pid, int number);
/* KILL to group and tree until nothing new turns up, at most a few rounds. */
void rv_kin_kill(struct rv_reaper *r, rv_id id);
/* Forgets what was seen of the life. */
void rv_kin_forget(struct rv_reaper *r, rv_id id);

#endif
