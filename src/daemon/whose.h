/* Whose answer is it: a check that says yes proves a service only if the service itself gave the answer.
 *
 * Looked at once, when a check says yes: the kernel tells the sockets that may have answered, the
 * descriptors of the service's processes say which of them are its own. A socket that it shares with somebody
 * (SO_REUSEPORT) is not its own. Listeners that it inherited are, and a command says nothing about sockets but for the
 * ports that are declared. A UNIX socket tells by itself who listens on it (probe.c). */
#ifndef DAEMON_WHOSE_H
#define DAEMON_WHOSE_H

#include "conf/conf.h"
#include "daemon/holder.h"
#include "daemon/reap.h"

enum rv_whose {
	RV_WHOSE_OWN,
	RV_WHOSE_OTHERS,
	RV_WHOSE_UNKNOWN, /* not to be told: another network, or processes that may not be looked into */
};

/* What decided, when it was not the service's own. */
struct rv_doubt {
	struct rv_address at;
	unsigned long inode; /* a socket that it does not have; 0: none was found */
};

/* Looks at all that the check has asked. */
enum rv_whose rv_whose_judge(const struct rv_service *s, const struct rv_check *k,
	struct rv_reaper *r, struct rv_doubt *doubt);

#endif
