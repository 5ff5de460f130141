/* Why a service is where it is, and what it waits for: one sentence, and its parts. */
#ifndef DAEMON_BECAUSE_H
#define DAEMON_BECAUSE_H

#include "base/buf.h"
#include "daemon/engine.h"

#define RV_HEIRS_SHOWN 8

struct rv_because {
	rv_id id;
	struct rv_look look;
	struct rv_await await;
	pid_t pid; /* 0: none */
	/* What stands at the bottom of what it waits for, or has to leave before it can; itself: nobody. */
	rv_id root;
	const char *
		answer; /* what its readiness check said last; NULL: nothing yet, or not for this reader */
	rv_id heirs[RV_HEIRS_SHOWN]; /* who starts as soon as it is there */
	size_t heir_count; /* may be more than are listed */
};

/* The sentence is appended. open: for everybody, so without what a service wrote. */
void rv_because_tell(
	struct rv_engine *g, rv_id id, bool open, struct rv_because *b, struct rv_buf *sentence);

#endif
