/* The inside of the engine, for its files: heard.c (events in), engine.c (the turn, actions out), view.c and because.c
 * (looks). Nobody else includes it. */
#ifndef DAEMON_PUMP_H
#define DAEMON_PUMP_H

#include "daemon/engine.h"
#include "daemon/hands.h"

struct rv_start { /* one START that waits for its slice */
	rv_id id;
	uint64_t generation;
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
	bool over;
	bool commanded; /* `reeve -- CMD` */
	int stop_signals, last_signal;
	enum rv_end end;
	rv_exit end_exit;
	rv_time began;
	char look_why[1024];
};

/* Queue an event about one life, or about nobody (RV_NO_ID, 0). */
void rv_pump_push(struct rv_engine *g, enum rv_event_kind kind, rv_id id, uint64_t generation);
void rv_pump_verdict(struct rv_engine *g, enum rv_event_kind kind, rv_id id, uint64_t generation,
	enum rv_hook hook, enum rv_verdict v);
/* Spawns now, by the recipe or the configuration, and queues how it went. */
void rv_pump_start(
	struct rv_engine *g, rv_id id, uint64_t generation, const struct rv_recipe *recipe);
/* Queues that it could not be started, and why. */
void rv_pump_refuse(struct rv_engine *g, rv_id id, uint64_t generation, const char *why);
/* NULL: no such service. */
const char *rv_pump_name(const struct rv_engine *g, rv_id id);

extern const struct rv_reaper_ops rv_heard_of_reaper;
extern const struct rv_hostlink_ops rv_heard_of_host;
extern const struct rv_prober_ops rv_heard_of_prober;
extern const struct rv_notify_ops rv_heard_of_notify;

#endif
