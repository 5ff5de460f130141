/* Whether somebody listens: see closed.h. The kernel is asked for the one socket that a connect would reach. */
#include "daemon/closed.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "daemon/sockdiag.h"
#include "sys/fd.h"

static int look(const struct rv_address *a)
{
	return rv_sockdiag_reached(a->v6, a->ip, a->port);
}

/* A kernel without this part says -ENOENT, too. So it has to find one that is there. */
static bool can_look(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct rv_address c = {.ip = {127, 0, 0, 1}};
	socklen_t len = sizeof(a);
	rv_auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) || listen(fd, 1) ||
		getsockname(fd, (struct sockaddr *)&a, &len))
		return false;
	c.port = ntohs(a.sin_port);
	return !look(&c);
}

bool rv_closed_look(const struct rv_address *a)
{
	static enum { UNTRIED, WORKS, USELESS } kernel; /* learned once; there is one thread */

	if (!a->port || a->either || kernel == USELESS)
		return false;
	if (kernel == UNTRIED)
		kernel = can_look() ? WORKS : USELESS;
	return kernel == WORKS && look(a) == -ENOENT;
}
