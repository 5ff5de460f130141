/* Listeners: see listen.h.
 *
 *                  SO_REUSEADDR   state
 *   bound          off            closed: connects are refused, strangers cannot bind
 *   a life began   off            the same; but on, if old connections would hinder its listen, and
 *                                 a guard (portguard.h) refuses the strangers until it listens
 *   it listens     on             its connections inherit the flag, so that what they leave in TIME_WAIT
 *                                 hinders neither the next life nor the next boot
 *   the life ended off            shutdown(SHUT_RD): closed again, the port is kept
 *   with backlog   on             we listen from the start and for ever: a listening socket refuses
 *                                 strangers whatever flags they set */
#include "daemon/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/holder.h"
#include "daemon/portguard.h"
#include "daemon/unixsock.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define SOONEST	 (5 * RV_MS)
#define LATEST	 (250 * RV_MS)
#define PATIENCE (60 * RV_SEC) /* then the flag is set anyway, and nobody wakes up any more */

struct rv_listener {
	int fd;
	int guard; /* -1: none */
	enum rv_family family;
	int backlog;
	uint16_t port;
	bool hindered; /* old connections may be on our port: bound over some, or a life was */
	struct ev_loop *loop; /* NULL: no clock */
	ev_timer look; /* until the service listens */
	rv_time began;
	char *address; /* for messages; of a UNIX socket its path */
	char *service;
	struct rv_unixsock place; /* of a UNIX socket */
};

int rv_listener_fd(const struct rv_listener *l)
{
	return l->fd;
}

static bool set_reuse(const struct rv_listener *l, int on)
{
	return l->family == RV_UNIX ||
		!setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
}

static bool is_listening(int fd)
{
	int on = 0;
	socklen_t n = sizeof(on);

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &n) && on;
}

/* ---- TCP ---- */

static bool bind_ip(const struct rv_listener *l, const struct rv_listen *c)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(c->port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(c->port)};

	memcpy(&v4.sin_addr, c->ip, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, c->ip, sizeof(v6.sin6_addr));
	if (c->family == RV_TCP4)
		return !bind(l->fd, (const struct sockaddr *)&v4, sizeof(v4));
	return !bind(l->fd, (const struct sockaddr *)&v6, sizeof(v6));
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

/* With the flag a bind succeeds over closing connections, but also over a stranger's socket that is
   bound with the flag and does not listen yet; such a one is found by the service, at listen. */
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
	if (errno == EADDRINUSE) {
		set_reuse(l, 1);
		l->hindered = bind_ip(l, c);
		if (l->hindered) {
			set_reuse(l, 0);
			return true;
		}
	}
	if (errno == EADDRINUSE)
		return taken(l, c, e);
	return rv_fail_errno(e, errno, "cannot bind %s for service %s", l->address, l->service);
}

static bool reset_ip(struct rv_listener *l, struct rv_err *e)
{
	set_reuse(l, 0);
	rv_portguard_release(&l->guard, l->fd);
	shutdown(l->fd, SHUT_RD); /* ENOTCONN: it never listened */
	if (!is_listening(l->fd))
		return true;
	return rv_fail(e, RV_ERR_SYSTEM, "cannot close %s of service %s between two lives",
		l->address, l->service);
}

/* ---- watching for the service to listen ---- */

static void rest(struct rv_listener *l)
{
	if (l->loop)
		ev_timer_stop(l->loop, &l->look);
}

static void look_again(struct rv_listener *l)
{
	rv_time delay = (rv_now() - l->began) / 16;

	delay = delay < SOONEST ? SOONEST : delay > LATEST ? LATEST : delay;
	ev_now_update(l->loop);
	ev_timer_set(&l->look, (double)delay / 1e9, 0.);
	ev_timer_start(l->loop, &l->look);
}

/* A listen works from now on, whatever old connections there are. */
static void make_way(struct rv_listener *l)
{
	l->guard = rv_portguard_open(l->fd);
	set_reuse(l, 1);
}

static void on_look(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct rv_listener *l = w->data;

	(void)loop;
	(void)revents;
	if (is_listening(l->fd)) {
		set_reuse(l, 1);
		rv_portguard_release(&l->guard, l->fd);
	} else if (rv_now() - l->began <= PATIENCE) {
		look_again(l);
	} else if (l->guard < 0) {
		make_way(l);
	}
}

void rv_listener_watch(struct rv_listener *l, struct ev_loop *loop)
{
	l->loop = loop;
	ev_timer_init(&l->look, on_look, 0., 0.);
	l->look.data = l;
}

/* Without the flag a listen fails while connections of an earlier life or boot are around. */
static bool is_hindered(const struct rv_listener *l)
{
	struct rv_port_use use;

	return l->hindered && rv_port_look(l->port, false, &use);
}

/* ---- both ---- */

static bool start_listening(const struct rv_listener *l, struct rv_err *e)
{
	set_reuse(l, 1);
	if (!listen(l->fd, l->backlog))
		return true;
	return rv_fail_errno(
		e, errno, "cannot listen on %s for service %s", l->address, l->service);
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
	l->port = c->port;
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
	rest(l);
	if (l->family == RV_UNIX)
		rv_unixsock_remove(&l->place);
	rv_fd_close(&l->guard);
	rv_fd_close(&l->fd);
	free(l->address);
	free(l->service);
	free(l);
}

void rv_listener_life_begins(struct rv_listener *l)
{
	if (l->backlog || l->family == RV_UNIX)
		return; /* it has the flag, or needs none */
	l->began = rv_now();
	if (!l->loop || is_hindered(l))
		make_way(l);
	if (l->loop)
		look_again(l);
	l->hindered = true;
}

bool rv_listener_life_ended(struct rv_listener *l, struct rv_err *e)
{
	rest(l);
	/* A service may have shut down what it shares with us. */
	if (l->backlog)
		return is_listening(l->fd) || start_listening(l, e);
	if (l->family != RV_UNIX)
		return reset_ip(l, e);
	return !is_listening(l->fd) || rv_unixsock_again(&l->place, l->service, l->fd, e);
}
