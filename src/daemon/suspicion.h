/* Whether a service is lost: what its plugin said when it was asked, and who is told of it.
 *
 * Somebody suspects it (a client's report, a health check that fails) -> the core asks the hook confirm -> the answer
 * is noted here, told as a line and an event, and handed to the core, which alone decides what follows. */
#ifndef DAEMON_SUSPICION_H
#define DAEMON_SUSPICION_H

#include <sys/types.h>

#include "base/lists.h"

struct rv_engine;
struct rv_hands;
struct rv_host_answer;

struct rv_suspicion {
	uint64_t generation; /* the life that was asked about */
	unsigned answers; /* how many came so far, of all lives */
	enum rv_verdict verdict; /* the last one. OK: alive, RETRY: cannot tell, FAIL: lost */
	int status; /* the HTTP status that it was about; 0: none */
	char *why; /* "": nothing was said */
};

static inline const char *rv_suspicion_word(enum rv_verdict v)
{
	return v == RV_OK ? "alive" : v == RV_FAIL ? "lost" : "unclear";
}
/* The answer of confirm. */
void rv_suspicion_answered(struct rv_engine *g, struct rv_hands *h, const struct rv_host_answer *a);
/* It did not come in time, or nobody is left to give it. */
void rv_suspicion_unanswered(struct rv_engine *g, struct rv_hands *h);
/* A client has reported it; told before the core hears of it. */
void rv_suspicion_reported(struct rv_hands *h, uid_t uid);
void rv_suspicion_free(struct rv_suspicion *d);

#endif
