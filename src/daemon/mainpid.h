/* Which process is the daemon that a launcher left behind.
 *
 * Only processes of this very life count, whatever a pid file says: one of an earlier life or an earlier boot names a
 * stranger, or nobody. Of these it is always a child of ours that is taken, since only its end is told to us: the
 * process that was named, or its ancestor that lost its own parent. */
#ifndef DAEMON_MAINPID_H
#define DAEMON_MAINPID_H

#include "conf/conf.h"
#include "daemon/reap.h"

/* Of one launch. Zeroed is fine. */
struct rv_seek {
	struct rv_main_pid how;
	char *file; /* ours: how.file, when the plugin named it for this start */
	uint64_t stamp; /* of the pid file when the launcher was started; 0: there was none */
	pid_t before; /* who it seemed to be in the attempt before */
};

/* Before the launcher is started. recipe: of this very start, or NULL. False: memory was refused. */
bool rv_seek_begin(
	struct rv_seek *k, const struct rv_main_pid *how, const struct rv_recipe *recipe);
/* Reload: the configuration is at another place, and may name another file, which counts for this launch, too. */
void rv_seek_rebind(struct rv_seek *k, const struct rv_main_pid *how);
void rv_seek_fini(struct rv_seek *k);

enum rv_sought {
	RV_SOUGHT_FOUND, /* *pid; the reaper knows it as the main process now */
	RV_SOUGHT_NOT_YET,
	RV_SOUGHT_NEVER,
	RV_SOUGHT_NOBODY, /* nobody is left that it could be */
};
/* One attempt, once the launcher has ended with 0. why: the reason, but for FOUND; it may be empty. */
enum rv_sought rv_seek_try(struct rv_seek *k, const struct rv_service *s, struct rv_reaper *r,
	pid_t *pid, struct rv_err *why);

#endif
