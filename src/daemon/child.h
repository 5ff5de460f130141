/* The child between clone and exec. It shares our memory and runs on an own stack while we are
 * suspended: no malloc, no stdio, no locks, nothing that a sanitizer instruments. Private to spawn. */
#ifndef DAEMON_CHILD_H
#define DAEMON_CHILD_H

#include <stdint.h>
#include <sys/resource.h>

#include "daemon/spawn.h"

enum rv_child_step {
	RV_STEP_SESSION,
	RV_STEP_FD,
	RV_STEP_LIMIT,
	RV_STEP_GROUPS,
	RV_STEP_GID,
	RV_STEP_UID,
	RV_STEP_DIR,
	RV_STEP_EXEC,
	RV_STEP_DONE, /* the last thing that was tried is the exec itself */
};

/* Everything is prepared by the parent; the child writes `step`, `number`, `which` and scratch. */
struct rv_child {
	const struct rv_spawn *s;
	char *const *argv; /* those of s, as exec wants them; it does not write */
	char **env; /* the array to exec with */
	char *listen_pid; /* "LISTEN_PID=" with room for digits, or NULL */
	const char *search; /* value of PATH when argv[0] has no slash, else NULL */
	char *path; /* candidate of the search; path_room bytes */
	size_t path_room;
	int *source; /* fd_count + 3 descriptors: where each target comes from */
	int *target;
	size_t fd_count;
	int highest; /* of target[] */
	int highest_source; /* of source[], before they are moved */
	uint64_t odd_signals; /* bit n - 1: what signal n does here is not its default */
	bool shares_fds; /* the table is the parent's until place_fds parts them */
	struct rlimit nofile; /* what services get for RLIMIT_NOFILE ... */
	bool set_nofile; /* ... when ours differs */

	volatile enum rv_child_step step;
	volatile int number; /* errno of the step that failed */
	volatile size_t which; /* index of the limit or descriptor */
};

/* The entry point for clone; never returns when all is well. */
int rv_child_main(void *child);

#endif
