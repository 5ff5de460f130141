/* A table from pid to what we know of that process. Open addressing; zeroed is empty and valid. */
#ifndef DAEMON_PIDMAP_H
#define DAEMON_PIDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/plan.h"

enum rv_kin {
	RV_KIN_MAIN, /* main process of life id/generation */
	RV_KIN_HELPER, /* has a callback */
	RV_KIN_ORPHAN, /* became our child; owner id/generation, or RV_NO_ID when nobody's */
	RV_KIN_FOREIGN, /* was our child before we began: never signalled */
	RV_KIN_SEEN, /* was seen among the descendants of id/generation */
};

struct rv_kinsman {
	pid_t pid; /* 0: free place */
	uint8_t kin;
	rv_id id;
	uint64_t generation;
	uint64_t start; /* of RV_KIN_SEEN */
	void (*done)(void *arg, pid_t pid, rv_exit how);
	void *arg;
};

struct rv_pidmap {
	struct rv_kinsman *at;
	size_t count, room; /* room: 0 or a power of two */
};

void rv_pidmap_fini(struct rv_pidmap *m);
/* Makes room for `more` beyond the present ones. */
bool rv_pidmap_reserve(struct rv_pidmap *m, size_t more);
/* NULL: not there. Valid until the table changes. */
struct rv_kinsman *rv_pidmap_find(const struct rv_pidmap *m, pid_t pid);
/* Replaces what was there under the same pid. False: no memory. */
bool rv_pidmap_put(struct rv_pidmap *m, const struct rv_kinsman *k);
void rv_pidmap_drop(struct rv_pidmap *m, pid_t pid);

#endif
