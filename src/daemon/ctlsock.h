/* The control socket as a file: its mode and owner are right from the first moment that it can be seen, what
 * is at the path and not ours is never touched, and it is removed only while it is still ours. */
#ifndef DAEMON_CTLSOCK_H
#define DAEMON_CTLSOCK_H

#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"

struct rv_ctlsock {
	int fd; /* listening, non-blocking; -1: none */
	dev_t dev;
	ino_t ino;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

struct rv_ctlsock_perm {
	unsigned mode;
	uid_t uid; /* -1: ours */
	gid_t gid;
};

/* Makes DIR when it is missing and listens on DIR/control.sock. A socket that nobody listens on is
   replaced in one step; a live one, or anything that is no socket, is refused and left alone. Another that starts there
   at this moment is waited for, at most a second; not when `hasty`, as in the loop. */
bool rv_ctlsock_open(struct rv_ctlsock *s, const char *dir, const struct rv_ctlsock_perm *perm,
	bool hasty, struct rv_err *e);
/* True while our socket is what the path leads to. */
bool rv_ctlsock_is_ours(const struct rv_ctlsock *s);
/* Closes, and removes the path if it is still ours. */
void rv_ctlsock_close(struct rv_ctlsock *s);

#endif
