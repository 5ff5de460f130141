/* Listeners: see listen.h.
 *
 *   before a life   closed: connects are refused
 *   in a life       the service listens when it likes to
 *   after a life    shutdown(SHUT_RD): closed again, the port is kept
 *   with backlog    we listen from the start and for ever, and again if a service has shut it down
 *
 * The flags are set once, at open, and never change: portguard.h says which, and why strangers are refused in all these
 * phases. With a backlog no guard is needed, a listening socket refuses strangers itself. */
#include "daemon/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/holder.h"
#include "daemon/portguard.h"
#include "daemon/unixsock.h"
#include "sys/fd.h"

struct rv_listener {
	int fd;
	int guard; /* -1: none */
	enum rv_family family;
	int backlog;
	char *address; /* for messages; of a UNIX socket its path */
	char *service;
	struct rv_unixsock place; /* of a UNIX socket */
};

int rv_listener_fd(const struct rv_listener *l)
{
	return l->fd;
}

void rv_listener_rename(struct rv_listener *l, const char *service)
{
	char *name = strcmp(l->service, service) ? strdup(service) : NULL;

	if (!name)
		return; /* it has that name, or messages go on with the old one */
	free(l->service);
	l->service = name;
}

static bool is_listening(int fd)
{
	int on = 0;
	socklen_t n = sizeof(on);

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &n) && on;
}

/* ---- TCP ---- */

static bool bind_at(struct rv_listener *l, const void *at, socklen_t size)
{
	if (l->backlog)
		return rv_port_bind(l->fd, at, size);
	return rv_portguard_bind(l->fd, at, size, &l->guard);
}

static bool bind_ip(struct rv_listener *l, const struct rv_listen *c)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(c->port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(c->port)};

	memcpy(&v4.sin_addr, c->ip, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, c->ip, sizeof(v6.sin6_addr));
	return c->family == RV_TCP4 ? bind_at(l, &v4, sizeof(v4)) : bind_at(l, &v6, sizeof(v6));
}

static bool taken(const struct rv_listener *l, const struct rv_listen *c, struct rv_err *e)
{
	struct rv_port_use use;
	char who[128];
	pid_t pid;

	if (!rv_port_look(c->port, true, &use) && !rv_port_look(c->port, false, &use))
		return rv_fail_errno(e, EADDRINUSE,
			"cannot bind %s for service %s (somebody has bound it without listening)",
			l->address, l->service);
	if (use.closing)
		return rv_fail_errno(e, EADDRINUSE,
			"cannot bind %s for service %s (a connection from this port ended just "
			"now; "
			"the kernel frees it within 60 s)",
			l->address, l->service);
	if (!rv_inode_holder(use.inode, &pid, who, sizeof(who)))
		return rv_fail_errno(e, EADDRINUSE,
			"cannot bind %s for service %s (%s by a process that we may not see)",
			l->address, l->service,
			use.listening ? "listened on" : "used for a connection");
	return rv_fail_errno(e, EADDRINUSE, "cannot bind %s for service %s (%s by %s)", l->address,
		l->service, use.listening ? "listened on" : "used for a connection", who);
}

/* A bind over old connections succeeds also over a stranger's socket that is bound with SO_REUSEADDR
   and does not listen yet; when it does, the service finds out, at its listen. */
static bool open_ip(struct rv_listener *l, const struct rv_listen *c, struct rv_err *e)
{
	int on = 1;

	l->fd = socket(c->family == RV_TCP4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l->fd < 0)
		return rv_fail_errno(e, errno, "cannot make a socket for %s of service %s",
			l->address, l->service);
	if (c->family == RV_TCP6)
		setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind_ip(l, c))
		return true;
	if (errno == EADDRINUSE)
		return taken(l, c, e);
	return rv_fail_errno(e, errno, "cannot bind %s for service %s%s", l->address, l->service,
		errno == EACCES && c->port < 1024
			? " (ports below 1024 are for root and CAP_NET_BIND_SERVICE)"
			: "");
}

/* What shuts a socket down that does not listen fails, and is remembered all the same: each connection of the next life
   would be at its end when it begins. To connect to nothing makes it forget. */
static void forget_shutdown(int fd)
{
	struct sockaddr nothing = {.sa_family = AF_UNSPEC};

	(void)connect(fd, &nothing, sizeof(nothing));
}

static bool reset_ip(struct rv_listener *l, struct rv_err *e)
{
	if (is_listening(l->fd))
		shutdown(l->fd, SHUT_RD);
	else
		forget_shutdown(l->fd); /* by the service */
	if (!is_listening(l->fd))
		return true;
	return rv_fail(e, RV_ERR_SYSTEM, "cannot close %s of service %s between two lives",
		l->address, l->service);
}

/* ---- both ---- */

static bool start_listening(const struct rv_listener *l, struct rv_err *e)
{
	int on = 1;

	if (l->family != RV_UNIX)
		setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!listen(l->fd, l->backlog))
		return true;
	return rv_fail_errno(
		e, errno, "cannot listen on %s for service %s", l->address, l->service);
}

/* A service may have shut down what it shares with us. */
static bool listen_again(const struct rv_listener *l, struct rv_err *e)
{
	if (l->family != RV_UNIX)
		forget_shutdown(l->fd);
	return start_listening(l, e);
}

struct rv_listener *rv_listener_open(
	const struct rv_listen *c, const char *service, struct rv_err *e)
{
	struct rv_listener *l = calloc(1, sizeof(*l));

	if (!l) {
		rv_fail_errno(e, ENOMEM, "cannot keep a listener of service %s", service);
		return NULL;
	}
	l->fd = l->guard = -1;
	l->family = c->family;
	l->backlog = c->backlog;
	l->address = strdup(c->address);
	l->service = strdup(service);
	if (!l->address || !l->service)
		rv_fail_errno(e, ENOMEM, "cannot keep a listener of service %s", service);
	else if ((c->family == RV_UNIX ? rv_unixsock_open(&l->place, c, service, &l->fd, e)
				       : open_ip(l, c, e)) &&
		(!l->backlog || start_listening(l, e)))
		return l;
	rv_listener_close(l);
	return NULL;
}

void rv_listener_close(struct rv_listener *l)
{
	if (!l)
		return;
	if (l->family == RV_UNIX)
		rv_unixsock_remove(&l->place);
	rv_fd_close(&l->fd);
	rv_fd_close(&l->guard);
	free(l->address);
	free(l->service);
	free(l);
}

/* Whether it blocks is a matter of the socket, not of the descriptor: the next life would have it as the last one left it. */
static void let_block(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

bool rv_listener_life_ended(struct rv_listener *l, struct rv_err *e)
{
	let_block(l->fd);
	if (l->backlog)
		return is_listening(l->fd) || listen_again(l, e);
	if (l->family != RV_UNIX)
		return reset_ip(l, e);
	return !is_listening(l->fd) || rv_unixsock_again(&l->place, l->service, l->fd, e);
}
