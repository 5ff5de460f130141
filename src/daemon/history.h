/* What has happened lately: a ring of fixed size. The newest replaces the oldest, whoever has not read it. */
#ifndef DAEMON_HISTORY_H
#define DAEMON_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/lists.h"
#include "core/plan.h"

/* The id of a service that is not there any more. */
#define RV_GONE_ID (RV_NO_ID - 1)

enum rv_happened {
	RV_HAPPENED_STATE,
	RV_HAPPENED_PAUSED,
	RV_HAPPENED_RESUMED,
	RV_HAPPENED_RELOADED,
	/* the sandbox's variables are others; a change of them was taken back */
	RV_HAPPENED_ENVIRONMENT,
	RV_HAPPENED_ENVIRONMENT_FAILED,
	/* whether it is lost, as its plugin says */
	RV_HAPPENED_ALIVE,
	RV_HAPPENED_UNCLEAR,
	RV_HAPPENED_LOST,
};

struct rv_happening {
	rv_time at;
	uint64_t generation;
	rv_id id,
		other; /* id RV_NO_ID: the boot was decided, or `word`; other: whom `why` is about */
	rv_exit exit; /* how the life ended; RV_EXIT_UNKNOWN: it did not */
	pid_t pid; /* 0: none */
	uint8_t state, why; /* of a service */
	uint8_t boot; /* enum rv_boot */
	uint8_t word; /* enum rv_happened */
	const char *name,
		*other_name; /* of one that a reload has removed since; NULL: it is what its id says */
	char detail[200]; /* the sentence, cut by rv_text_cut; what a service wrote may be in it */
};

struct rv_history {
	struct rv_happening *ring; /* NULL: memory was refused, nothing is kept */
	size_t room;
	uint64_t count; /* of all that ever happened: the number of the next one */
	struct rv_gone *gone; /* names that the ring still tells of */
};

/* Memory that is touched only as it fills. */
void rv_history_init(struct rv_history *h, size_t room);
void rv_history_fini(struct rv_history *h);
/* The place of the next one, to be filled in; NULL: nothing is kept. */
struct rv_happening *rv_history_add(struct rv_history *h);
/* The service is removed, and another one may get its id: what has happened to it keeps its name. */
void rv_history_remove(struct rv_history *h, rv_id id, const char *name);
/* The number of the oldest that is kept. */
uint64_t rv_history_first(const struct rv_history *h);
/* number: from rv_history_first() to below `count`. */
const struct rv_happening *rv_history_get(const struct rv_history *h, uint64_t number);

#endif
