/* Guards of ports: see portguard.h. */
#include "daemon/portguard.h"

#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#include "sys/fd.h"

#define NOBODYS ((uid_t)-3) /* -1 means "leave it", -2 is taken for nobody here and there */

static bool set(int fd, int option, int on)
{
	return !setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on));
}

bool rv_port_bind(int fd, const struct sockaddr *at, socklen_t size)
{
	bool ok;

	if (!bind(fd, at, size))
		return true;
	if (errno != EADDRINUSE)
		return false;
	ok = set(fd, SO_REUSEADDR, 1) && !bind(fd, at, size);
	return set(fd, SO_REUSEADDR, 0) && ok;
}

static int same_kind(int ours, sa_family_t family)
{
	int guard = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (guard < 0)
		return -1;
	if (family == AF_INET6)
		setsockopt(guard, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	/* SO_REUSEPORT is for sockets of one user: both or none */
	if (!fchown(guard, NOBODYS, (gid_t)-1) && fchown(ours, NOBODYS, (gid_t)-1))
		rv_fd_close(&guard);
	return guard;
}

static bool share(int ours, int guard, const struct sockaddr *at, socklen_t size)
{
	return set(guard, SO_REUSEPORT, 1) && set(ours, SO_REUSEPORT, 1) &&
		set(ours, SO_REUSEADDR, 1) && !bind(ours, at, size);
}

/* The guard first, and alone: with SO_REUSEPORT it would join whoever of our user has set that, too. */
bool rv_portguard_bind(int ours, const struct sockaddr *at, socklen_t size, int *guard)
{
	*guard = same_kind(ours, at->sa_family);
	if (*guard < 0)
		return false;
	if (!rv_port_bind(*guard, at, size)) {
		rv_fd_close(guard);
		return false;
	}
	if (share(ours, *guard, at, size))
		return true;
	/* A kernel that lets no two sockets share a port once they are bound: without a guard. */
	rv_fd_close(guard);
	set(ours, SO_REUSEADDR, 0);
	set(ours, SO_REUSEPORT, 0);
	return rv_port_bind(ours, at, size) && set(ours, SO_REUSEADDR, 1);
}
