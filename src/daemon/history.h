/* What has happened lately: a ring of fixed size. The newest replaces the oldest, whoever has not read it. */
#ifndef DAEMON_HISTORY_H
#define DAEMON_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/lists.h"
#include "core/plan.h"

enum rv_happened { RV_HAPPENED_STATE, RV_HAPPENED_PAUSED, RV_HAPPENED_RESUMED };

struct rv_happening {
	rv_time at;
	uint64_t generation;
	rv_id id, other; /* id RV_NO_ID: the boot was decided; other: whom `why` is about */
	rv_exit exit; /* how the life ended; RV_EXIT_UNKNOWN: it did not */
	pid_t pid; /* 0: none */
	uint8_t state, why; /* of a service */
	uint8_t boot; /* enum rv_boot */
	uint8_t word; /* enum rv_happened */
	char detail
		[200]; /* the sentence, cut when it is longer; what a service wrote may be in it */
};

struct rv_history {
	struct rv_happening *ring; /* NULL: memory was refused, nothing is kept */
	size_t room;
	uint64_t count; /* of all that ever happened: the number of the next one */
};

/* Memory that is touched only as it fills. */
void rv_history_init(struct rv_history *h, size_t room);
void rv_history_fini(struct rv_history *h);
/* The place of the next one, to be filled in; NULL: nothing is kept. */
struct rv_happening *rv_history_add(struct rv_history *h);
/* The number of the oldest that is kept. */
uint64_t rv_history_first(const struct rv_history *h);
/* number: from rv_history_first() to below `count`. */
const struct rv_happening *rv_history_get(const struct rv_history *h, uint64_t number);

#endif
