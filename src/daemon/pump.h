/* The inside of the engine, for its files: heard.c (events in), deeds.c (actions out), engine.c (the turn), booted.c and ending.c
 * (verdicts), view.c and because.c (looks), given.c (options of one request), envchange.c (other variables). Nobody else includes it. */
#ifndef DAEMON_PUMP_H
#define DAEMON_PUMP_H

#include "daemon/engine.h"
#include "daemon/hands.h"

struct rv_start { /* one START that waits for its slice */
	rv_id id;
	uint64_t generation;
};

/* What is known of the end of reeve (ending.c). */
struct rv_ending {
	rv_id id; /* whom the first error is about; RV_NO_ID: nobody */
	char *why; /* the first error, one sentence; NULL: none */
	rv_exit exit; /* how that service had ended then */
	rv_time booted, closing; /* when the boot was decided, when it began to close; 0: not yet */
	enum rv_end first; /* why it began to close */
	struct rv_buf beside; /* errors since then, each with a NUL behind it */
	unsigned beside_lost; /* that did not fit */
};

struct rv_engine {
	struct rv_world world;
	struct rv_conf *conf;
	const struct rv_plan *plan;
	struct rv_core *core;
	struct rv_hands *hands; /* by slot */
	size_t slots;
	struct rv_actions out;
	struct rv_event *queue;
	size_t queued, queue_room;
	struct rv_start *starts; /* taken from the front; moved down when the end is reached */
	size_t start_first, start_count, start_room;
	struct rv_watcher *watchers;
	struct rv_history history;
	ev_prepare prepare;
	ev_timer deadline, reap_again;
	ev_idle more; /* keeps the loop turning while starts wait */
	bool children_ended;
	bool more_ended; /* the first of them was dealt with, the rest not yet */
	unsigned looks; /* late: how often the world was looked at before the deadlines are */
	bool over;
	bool commanded; /* `reeve -- CMD` */
	int stop_signals, last_signal;
	enum rv_end end;
	rv_exit end_exit;
	rv_time began;
	struct rv_ending ending;
	struct rv_reload *reload; /* under way: what is to go is being stopped; NULL: none */
	uint64_t reloads; /* that were begun */
	bool retired; /* all of that is gone */
	struct rv_envchange *change; /* of the sandbox's variables, under way; NULL: none */
	uint64_t informs; /* how often they have changed: the number of the last INFORM */
	char look_why[1024];
};

/* Gives the core what is queued; it notes that, and goes on with it when it settles. */
void rv_pump_feed(struct rv_engine *g, rv_time now);
/* Queue an event about one life, or about nobody (RV_NO_ID, 0). */
void rv_pump_push(struct rv_engine *g, enum rv_event_kind kind, rv_id id, uint64_t generation);
void rv_pump_verdict(struct rv_engine *g, enum rv_event_kind kind, rv_id id, uint64_t generation,
	enum rv_hook hook, enum rv_verdict v);
/* Spawns now, by the recipe or the configuration, and queues how it went. */
void rv_pump_start(
	struct rv_engine *g, rv_id id, uint64_t generation, const struct rv_recipe *recipe);
/* Queues that it could not be started, and why. */
void rv_pump_refuse(struct rv_engine *g, rv_id id, uint64_t generation, const char *why);
/* rv_given_note, with *** also for the values that the sandbox was given. */
void rv_pump_note(const struct rv_engine *g, const struct rv_hands *h, char **to, const char *text);
/* NULL: no such service. */
const char *rv_pump_name(const struct rv_engine *g, rv_id id);

/* deeds.c. Carries out one action; and tells all watchers, RV_NO_ID: of the boot or the end. */
void rv_pump_perform(struct rv_engine *g, const struct rv_action *a);
void rv_pump_notify(struct rv_engine *g, rv_id id);

/* engine.c: the ports of the conf that is in force are kept. */
void rv_pump_keep_ports(struct rv_engine *g);

/* reload.c: the new conf takes the place of the present one; or is given up. Fine when there is none. */
void rv_reload_adopt(struct rv_engine *g);
void rv_reload_drop(struct rv_engine *g);

/* booted.c: says the verdict, and what is missing. */
void rv_booted(struct rv_engine *g, const struct rv_action *a);

/* ending.c. The first error of a boot that failed is noted before the line that tells it is written. */
void rv_ending_begin(struct rv_engine *g);
void rv_ending_boot_failed(struct rv_engine *g, rv_id id, rv_exit exit, const char *why);
/* The actions of a settle are done: has it begun to close? From now on warnings are kept as errors beside the first. */
void rv_ending_turn(struct rv_engine *g);
/* It is stopped: did it leave in an odd way? */
void rv_ending_stopped(struct rv_engine *g, rv_id id);
/* OVER, by the core's word because of `id` (or RV_NO_ID). */
void rv_ending_over(struct rv_engine *g, rv_id id);
void rv_ending_fini(struct rv_engine *g);

extern const struct rv_reaper_ops rv_heard_of_reaper;
extern const struct rv_hostlink_ops rv_heard_of_host;
extern const struct rv_prober_ops rv_heard_of_prober;
void rv_heard_follow(void *ctx, rv_id id, uint64_t generation, pid_t pid);
extern const struct rv_notify_ops rv_heard_of_notify;

#endif
