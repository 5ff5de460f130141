/* Where a service stands on the way to what a request asked of it. Pure: looks at the engine, changes nothing. */
#ifndef DAEMON_CTLJUDGE_H
#define DAEMON_CTLJUDGE_H

#include "daemon/engine.h"
#include "wire/rpc.h"

/* What a request wants; the first five change something, the others only wait. */
enum rv_aim {
	RV_AIM_START,
	RV_AIM_STOP,
	RV_AIM_RESTART,
	RV_AIM_RECREATE,
	RV_AIM_RELOAD, /* up, or not needed */
	RV_AIM_READY,
	RV_AIM_STOPPED,
	RV_AIM_EXITED
};

struct rv_entry {
	rv_id id;
	uint64_t
		before; /* the generation when the request came; recreate: the one that was lost, if any was */
	bool was_there; /* it already was what was asked for */
	bool was_adopted;
	bool was_coming; /* it was down or starting, by itself: ready is then all there is to say */
	unsigned answers; /* recreate: of its plugin, so far */
	bool decided;
	char *gone; /* the name that it had, once a reload has removed it */
	char *said; /* decided and not good: why, as it was then; NULL: it is as it is now */
	enum rv_state state; /* these three: as they were then */
	uint64_t generation;
	pid_t pid;
	enum rv_rpc_outcome outcome;
};

/* Nothing of it runs, and nothing is under way. */
bool rv_ctl_is_idle(enum rv_state s);
/* RV_DONE_YET while it may still get there. Only to be asked when the core has seen the request. */
enum rv_rpc_outcome rv_ctl_judge(struct rv_engine *g, enum rv_aim aim, const struct rv_entry *e);

#endif
