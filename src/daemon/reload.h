/* Reload: another configuration takes the place of the one in force, while what is the same in both runs on.
 *
 *   the files -> every check of a start -> what can be prepared beside the old        an error: nothing has happened
 *   phase one: under the old plan what is removed or changed, and who stands on it, is stopped, until it is gone
 *   phase two: the new plan is adopted; what goes on keeps its life and its sockets; what is down and wanted starts
 *
 * A reload during phase one replaces its target; at the end of reeve phase two never comes. */
#ifndef DAEMON_RELOAD_H
#define DAEMON_RELOAD_H

#include "daemon/load.h"

/* One reload. Valid during the call that it is given to. */
struct rv_replacing {
	uint64_t number; /* counts those that were begun */
	bool given_up; /* a later one takes its place; nothing of what follows comes */
	const struct rv_conf *before, *now;
	const uint8_t *change; /* enum rv_change, by slot */
	/* By slot: it is stopped only because it stands on what is changed or removed. Foreseen; in phase two as it was. */
	const bool *swept;
	size_t slots;
};

/* Why it is not the time for a reload, whatever the files say; NULL: it is. */
const char *rv_engine_reload_is_refused(const struct rv_engine *g);
/* Reads the files again. What is wrong with them is logged, too. True: phase one has begun, and *r is filled until the
   engine runs again; watchers are told (rv_watcher.replacing) just before phase two, while both confs are there. False:
   `c` has an error, and nothing has changed, but that one under way is given up for good files. It takes as long as plugins need
   to be asked: some seconds, and some more for each that hangs. */
bool rv_engine_reload(struct rv_engine *g, const struct rv_load *files, struct rv_complaints *c,
	struct rv_replacing *r);
/* The same files, and what would come of them; nothing is bound, opened or changed. NULL: `c` has an error. *r holds until it is
   destroyed, which is before the engine runs again. */
struct rv_reload *rv_engine_foresee(struct rv_engine *g, const struct rv_load *files,
	struct rv_complaints *c, struct rv_replacing *r);
void rv_reload_destroy(struct rv_reload *r); /* NULL is fine */

#endif
