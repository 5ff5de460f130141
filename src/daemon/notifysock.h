/* The socket of one life for sd_notify(3): a path below the runtime folder that nobody can guess, and that only
 * those can write to whom it may concern. */
#ifndef DAEMON_NOTIFYSOCK_H
#define DAEMON_NOTIFYSOCK_H

#include <stdbool.h>
#include <sys/un.h>

#include "base/err.h"
#include "daemon/spawn.h"

struct rv_notifysock {
	int fd; /* -1: closed */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": there is none any more */
};

/* Makes runtime_dir/notify (0711: to be passed, not to be listed) when it is missing, and the socket in it:
   of `who` alone when it runs as somebody else; else of us, and when we are root everybody may write, since a
   service of root may become anybody. It hands out credentials and does not block. */
bool rv_notifysock_open(struct rv_notifysock *s, const char *runtime_dir,
	const struct rv_ident *who, struct rv_err *e);
/* Closes it and removes its path. Closed twice is fine. */
void rv_notifysock_close(struct rv_notifysock *s);

/* Takes away what a reeve that was killed has left there; whoever calls has claimed the folder. */
void rv_notifysock_sweep(const char *runtime_dir);
/* The folder itself, if it is empty. */
void rv_notifysock_end(const char *runtime_dir);

#endif
