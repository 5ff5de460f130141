/* One TCP connect: see knock.h. */
#include "daemon/knock.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sys/fd.h"

/* A connect to a local port that nobody listens on may be given that very port as its own, and then
   meets itself. */
static bool met_itself(int fd)
{
	struct sockaddr_storage us = {0}, them = {0};
	socklen_t us_len = sizeof(us), them_len = sizeof(them);

	return !getsockname(fd, (struct sockaddr *)&us, &us_len) &&
		!getpeername(fd, (struct sockaddr *)&them, &them_len) && us_len == them_len &&
		!memcmp(&us, &them, us_len);
}

static enum rv_knocked conclude(int fd, int *error)
{
	socklen_t len = sizeof(*error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, error, &len))
		*error = errno;
	if (!*error && met_itself(fd))
		*error = ECONNREFUSED;
	return *error ? RV_KNOCK_NO : RV_KNOCK_YES;
}

static void on_writable(struct ev_loop *loop, struct ev_io *w, int events)
{
	struct rv_knock *k = w->data;
	int error = 0;
	bool yes = conclude(w->fd, &error) == RV_KNOCK_YES;

	(void)loop;
	(void)events;
	rv_knock_stop(k);
	k->answered(k->arg, yes, error);
}

void rv_knock_init(struct rv_knock *k, struct ev_loop *loop,
	void (*answered)(void *arg, bool yes, int error), void *arg)
{
	*k = (struct rv_knock){.loop = loop, .answered = answered, .arg = arg};
	ev_io_init(&k->io, on_writable, -1, EV_WRITE);
	k->io.data = k;
}

static socklen_t fill(struct sockaddr_storage *to, const uint8_t *ip, bool v6, uint16_t port)
{
	struct sockaddr_in *a4 = (struct sockaddr_in *)to;
	struct sockaddr_in6 *a6 = (struct sockaddr_in6 *)to;

	*to = (struct sockaddr_storage){0};
	if (v6) {
		a6->sin6_family = AF_INET6;
		a6->sin6_port = htons(port);
		memcpy(&a6->sin6_addr, ip, 16);
		return sizeof(*a6);
	}
	a4->sin_family = AF_INET;
	a4->sin_port = htons(port);
	memcpy(&a4->sin_addr, ip, 4);
	return sizeof(*a4);
}

enum rv_knocked rv_knock_start(
	struct rv_knock *k, const uint8_t *ip, bool v6, uint16_t port, int *error)
{
	/* Closed in the ordinary way: a reset would be an error in the service that wants to answer. What
	   stays behind on a port of ours is marked as one that may be bound over. */
	const int reuse = 1;
	struct sockaddr_storage to;
	socklen_t len = fill(&to, ip, v6, port);
	rv_auto_fd fd = -1;

	fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse))) {
		*error = errno;
		return RV_KNOCK_NO;
	}
	if (!connect(fd, (const struct sockaddr *)&to, len))
		return conclude(fd, error);
	if (errno != EINPROGRESS) {
		*error = errno;
		return RV_KNOCK_NO;
	}
	ev_io_set(&k->io, rv_fd_steal(&fd), EV_WRITE);
	ev_io_start(k->loop, &k->io);
	return RV_KNOCK_WAIT;
}

static bool connect_unix(int type, const struct sockaddr_un *to, pid_t *peer, int *error)
{
	rv_auto_fd fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred who;
	socklen_t len = sizeof(who);

	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to))) {
		*error = errno;
		return false;
	}
	*peer = 0;
	if (type != SOCK_DGRAM && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
		*peer = who.pid;
	return true;
}

enum rv_knocked rv_knock_unix(struct rv_knock *k, const char *path, int *error)
{
	static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(to.sun_path)) {
		*error = ENAMETOOLONG;
		return RV_KNOCK_NO;
	}
	memcpy(to.sun_path, path, strlen(path) + 1);
	*error = EPROTOTYPE; /* it is a socket of another type */
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && *error == EPROTOTYPE; i++)
		if (connect_unix(types[i], &to, &k->peer, error))
			return RV_KNOCK_YES;
	return RV_KNOCK_NO;
}

void rv_knock_stop(struct rv_knock *k)
{
	int fd = k->io.fd;

	if (fd < 0)
		return;
	ev_io_stop(k->loop, &k->io);
	ev_io_set(&k->io, -1, EV_WRITE);
	close(fd);
}
