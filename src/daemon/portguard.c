/* Guards of ports: see portguard.h.
 *
 * The guard and our socket share the port by SO_REUSEPORT, which the kernel grants to sockets of one user only. As root
 * we give both to a user that nobody is, so that a stranger cannot join by that flag either; otherwise one of our own
 * user that sets it on purpose still could. */
#include "daemon/portguard.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/fd.h"

#define NOBODYS ((uid_t)-3) /* -1 means "leave it", -2 is taken for nobody here and there */

static bool set(int fd, int option, int on)
{
	return !setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on));
}

static bool share(int ours, int guard)
{
	struct sockaddr_storage at = {0};
	socklen_t n = sizeof(at);
	int on = 1;

	if (getsockname(ours, (struct sockaddr *)&at, &n))
		return false;
	if (at.ss_family == AF_INET6 &&
		setsockopt(guard, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)))
		return false;
	if (!fchown(ours, NOBODYS, (gid_t)-1) && fchown(guard, NOBODYS, (gid_t)-1))
		return false;
	/* with the flag only as long as it takes to get past old connections */
	return set(ours, SO_REUSEPORT, 1) && set(guard, SO_REUSEPORT, 1) &&
		set(guard, SO_REUSEADDR, 1) && !bind(guard, (struct sockaddr *)&at, n) &&
		set(guard, SO_REUSEADDR, 0);
}

int rv_portguard_open(int ours)
{
	int family = 0, guard;
	socklen_t n = sizeof(family);

	if (getsockopt(ours, SOL_SOCKET, SO_DOMAIN, &family, &n))
		return -1;
	guard = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (guard >= 0 && share(ours, guard))
		return guard;
	rv_portguard_release(&guard, ours);
	return -1;
}

void rv_portguard_release(int *guard, int ours)
{
	set(ours, SO_REUSEPORT, 0);
	rv_fd_close(guard);
}
