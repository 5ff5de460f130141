/* The place of a UNIX socket in the file system. Private to the listeners. */
#ifndef DAEMON_UNIXSOCK_H
#define DAEMON_UNIXSOCK_H

#include <sys/types.h>

#include "conf/conf.h"

struct rv_unixsock {
	char *path;
	mode_t mode;
	uid_t uid; /* -1: ours */
	gid_t gid;
	dev_t dev; /* what we put there */
	ino_t ino;
	bool placed;
};

/* Makes folders, replaces a stale socket, refuses a live one and anything else. Mode and owner hold
   from the first moment: it is bound under another name and renamed. */
bool rv_unixsock_open(struct rv_unixsock *u, const struct rv_listen *c, const char *service,
	int *fd, struct rv_err *e);
/* A new socket, not listening, at the same place and under the same descriptor number. What somebody else has put
   there is treated as at the first time. */
bool rv_unixsock_again(struct rv_unixsock *u, const char *service, int fd, struct rv_err *e);
/* Removes the path if it is still ours, and frees. */
void rv_unixsock_remove(struct rv_unixsock *u);

#endif
