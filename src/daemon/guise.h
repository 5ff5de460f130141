/* Looking at files as somebody else: what a service could open, execute or enter, asked with its user and
 * groups, without a process. */
#ifndef DAEMON_GUISE_H
#define DAEMON_GUISE_H

#include "daemon/spawn.h"

struct rv_guise {
	bool worn;
	int dumpable;
	gid_t *groups; /* ours, owned */
	int group_count;
};

/* From here to the end the kernel judges access to files (with AT_EACCESS) as for `who`; nothing else of this process
   changes. False: not permitted here; nothing has changed, and there is nothing to end. */
bool rv_guise_begin(struct rv_guise *g, const struct rv_ident *who);
void rv_guise_end(struct rv_guise *g);

#endif
