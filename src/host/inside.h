/* What the files of the driver know of each other; nobody else includes it.
 *
 *   drive.c   messages, and the instances that they are about
 *   call.c    the run of one hook: turns, and what is asked between them
 *   turn.c    the way into a plugin and out of it
 *   get.c     a URL that the daemon wants to be asked */
#ifndef HOST_INSIDE_H
#define HOST_INSIDE_H

#include "host/drive.h"
#include "host/instance.h"
#include "host/web.h"

enum {
	RV_WHY_MAX = 500, /* bytes of a reason */
	RV_URL_KEPT = 256,
	RV_TURN_CPU_MS = 100,
};

struct rv_hostcall {
	struct rv_hostcall *next, **at;
	struct rv_drive *d;
	struct rv_instance *instance; /* NULL: a get */
	struct rv_hp_call m; /* without memo */
	struct rv_arena kept; /* what m points to */
	unsigned char memo[REEVE_MEMO], told[REEVE_MEMO];
	uint32_t step;
	rv_time deadline;
	ev_timer timer; /* WAIT */
	struct rv_web_try *http; /* in flight */
	bool running; /* a command is: RAN will come */
	struct reeve_http http_got; /* strings in `got` */
	struct reeve_run run_got;
	struct rv_arena got; /* of a get: also what m.want points to */
	struct rv_want want; /* of a get */
	char method[16], url[RV_URL_KEPT]; /* of the last request; "": too long */
	bool refused; /* which nobody listened to, and nothing else was asked since */
	int status; /* of the last HTTP answer; 0: none came */
	char why[RV_WHY_MAX]; /* the last reason, for a deadline that passes */
};

struct rv_drive {
	struct ev_loop *loop;
	struct rv_hp_page *page;
	void (*send)(void *arg, const struct rv_hp_msg *m);
	void *arg;
	struct rv_plugins plugins;
	struct rv_web *web;
	struct rv_instance **instances; /* by id */
	size_t instance_room;
	struct rv_hostcall *calls;
	unsigned char memo[REEVE_MEMO]; /* of rehearsals */
	char arena[REEVE_ARENA] __attribute__((aligned(16)));
};

/* drive.c. NULL: the host does not know it. */
struct rv_instance *rv_drive_find(const struct rv_drive *d, uint32_t id);

/* turn.c. A turn is one call into a plugin. From enter to leave the page tells of it and the CPU clock runs:
   what the plugin handed out is read in between, so that a wild pointer in it is told as the death of that
   hook, too. what: enum rv_hook, or RV_HP_IN_... */
void rv_turn_enter(struct rv_drive *d, uint32_t id, uint32_t what);
void rv_turn_leave(struct rv_drive *d);
/* All that is the same in each turn of a service. */
struct reeve_turn rv_turn_of(struct rv_drive *d, const struct rv_instance *i);

/* call.c. NULL: memory was refused. End forgets it, with what is in flight for it. */
struct rv_hostcall *rv_hostcall_create(struct rv_drive *d, const struct rv_hp_call *m);
void rv_hostcall_end(struct rv_hostcall *c);
/* p: of a start that went well, or NULL. The call is still there afterwards. */
void rv_hostcall_answer(
	struct rv_hostcall *c, enum rv_verdict v, const char *why, const struct reeve_turn *start);
/* Messages. False: memory was refused. The arena holds what m points to; it may be taken over. */
bool rv_hostcall_take(struct rv_drive *d, const struct rv_hp_call *m, struct rv_arena *arena);
void rv_hostcall_ran(struct rv_drive *d, const struct rv_hp_ran *m);
void rv_hostcall_cancel(struct rv_drive *d, const struct rv_hp_cancel *m);

/* get.c. False: memory was refused. */
/* The arena, which holds what m points to, is taken over. */
bool rv_hostget_take(struct rv_drive *d, const struct rv_hp_get *m, struct rv_arena *arena);

#endif
