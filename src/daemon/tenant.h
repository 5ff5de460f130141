/* Who listens on a port, by all that reeve knows: pid, command, and whether it is one of ours. */
#ifndef DAEMON_TENANT_H
#define DAEMON_TENANT_H

#include "daemon/hands.h"

struct rv_tenant {
	pid_t pid; /* 0: not to be told */
	rv_id service; /* of ours, living or left behind; RV_NO_ID: a stranger, or not to be told */
	char text[300]; /* "pid 4711 (nginx)", "pid 4711 (python3) of service web", ... */
};

/* Who has the socket with that inode. False: not to be told. */
bool rv_tenant_of(const struct rv_world *w, unsigned long inode, struct rv_tenant *t);
/* False: nobody listens there, and the text is about a process that we may not see. */
bool rv_tenant_find(const struct rv_world *w, uint16_t port, struct rv_tenant *t);

#endif
