/* The inside of a reload, for its files: reload.c (the request, phase one) and succeed.c (phase two). */
#ifndef DAEMON_RELOADIN_H
#define DAEMON_RELOADIN_H

#include "daemon/pump.h"
#include "daemon/reload.h"

/* All that phase two needs is there before phase one begins, so that it cannot fail. */
struct rv_reload {
	uint64_t number;
	struct rv_conf *conf;
	struct rv_world world; /* the memory of what is to come */
	struct rv_hands *hands;
	size_t slots;
	struct rv_core *core;
	struct rv_actions out;
	struct rv_start *starts;
	size_t start_room;
	uint8_t *change;
	bool *ran; /* by slot: it was up when this was asked for */
	bool *swept;
};

/* It has to be gone before phase two. */
static inline bool rv_reload_is_leaving(const struct rv_reload *r, rv_id id)
{
	return r->change[id] == RV_REMOVED || r->change[id] == RV_CHANGED;
}

/* It runs, as far as a reload would end it. */
static inline bool rv_reload_is_up(enum rv_state s)
{
	return s == RV_STARTING || s == RV_READY || s == RV_UNHEALTHY || s == RV_ADOPTED;
}

/* reload.c. Tells all watchers. */
void rv_reload_tell(struct rv_engine *g, const struct rv_reload *r, bool given_up);

#endif
