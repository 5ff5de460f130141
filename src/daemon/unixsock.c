/* UNIX sockets at a path: see unixsock.h. */
#include "daemon/unixsock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/holder.h"
#include "daemon/ident.h"
#include "sys/fd.h"
#include "sys/sockfile.h"

static bool address_of(const char *path, struct sockaddr_un *to)
{
	size_t n = strlen(path) + 1;

	*to = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (n > sizeof(to->sun_path))
		return false;
	memcpy(to->sun_path, path, n);
	return true;
}

/* True when somebody answers there; who is filled when that can be told. */
static bool is_alive(const struct sockaddr_un *at, char *who, size_t size)
{
	rv_auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer;
	socklen_t n = sizeof(peer);

	*who = 0;
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)))
		return errno == EAGAIN || errno == EPROTOTYPE || errno == EACCES;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) && peer.pid > 0)
		rv_pid_text(peer.pid, who, size);
	return true;
}

static bool may_replace(const struct rv_unixsock *u, const char *service, struct rv_err *e)
{
	struct sockaddr_un at;
	struct stat st;
	char who[128];

	if (!address_of(u->path, &at))
		return rv_fail_errno(
			e, ENAMETOOLONG, "cannot bind %s for service %s", u->path, service);
	if (lstat(u->path, &st))
		return errno == ENOENT ||
			rv_fail_errno(e, errno, "cannot bind %s for service %s", u->path, service);
	if (!S_ISSOCK(st.st_mode))
		return rv_fail(e, RV_ERR_SYSTEM,
			"cannot bind %s for service %s: the file there is not a socket; remove it",
			u->path, service);
	if (is_alive(&at, who, sizeof(who)))
		return rv_fail_errno(e, EADDRINUSE,
			"cannot bind %s for service %s (listened on by %s)", u->path, service,
			*who ? who : "another process");
	return true;
}

/* A name beside the path, short enough for an address. */
static bool temporary_name(const struct rv_unixsock *u, char *to, size_t size)
{
	const char *slash = strrchr(u->path, '/');
	int dir = slash ? (int)(slash - u->path) + 1 : 0;
	int n = snprintf(to, size, "%.*s.rv%x", dir, u->path, (unsigned)getpid());

	return n > 0 && (size_t)n < size;
}

/* A socket under a temporary name, which is given its mode and owner and then its place. */
static bool place(struct rv_unixsock *u, const char *service, int *made, struct rv_err *e)
{
	rv_auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct stat st;

	if (!temporary_name(u, at.sun_path, sizeof(at.sun_path)))
		return rv_fail_errno(
			e, ENAMETOOLONG, "cannot bind %s for service %s", u->path, service);
	unlink(at.sun_path); /* left by a process of the same pid that was killed right here */
	if (fd < 0)
		return rv_fail_errno(e, errno, "cannot bind %s for service %s", u->path, service);
	if (!rv_sockfile_bind(fd, &at, u->mode, u->uid, u->gid) || lstat(at.sun_path, &st) ||
		rename(at.sun_path, u->path)) {
		int number = errno;

		unlink(at.sun_path);
		return rv_fail_errno(
			e, number, "cannot put the socket of service %s at %s", service, u->path);
	}
	u->dev = st.st_dev;
	u->ino = st.st_ino;
	u->placed = true;
	*made = rv_fd_steal(&fd);
	return true;
}

bool rv_unixsock_open(struct rv_unixsock *u, const struct rv_listen *c, const char *service,
	int *fd, struct rv_err *e)
{
	mode_t mask = umask(0);

	umask(mask);
	*u = (struct rv_unixsock){.path = strdup(c->address)};
	if (!u->path)
		return rv_fail_errno(
			e, ENOMEM, "cannot bind %s for service %s", c->address, service);
	u->mode = c->has_mode ? (mode_t)c->mode : 0777 & ~mask;
	return rv_ident_owner(c->owner, c->group, &u->uid, &u->gid, e) &&
		rv_mkdirs_for(u->path, e) && may_replace(u, service, e) && place(u, service, fd, e);
}

static bool is_anothers(const struct rv_unixsock *u)
{
	struct stat st;

	return !lstat(u->path, &st) && (st.st_dev != u->dev || st.st_ino != u->ino);
}

bool rv_unixsock_again(struct rv_unixsock *u, const char *service, int fd, struct rv_err *e)
{
	rv_auto_fd next = -1;

	/* Of a service that put its own socket there a stale one may be left. */
	if (is_anothers(u) && !may_replace(u, service, e))
		return false;
	if (!place(u, service, &next, e))
		return false;
	if (dup3(next, fd, O_CLOEXEC) >= 0)
		return true;
	return rv_fail_errno(
		e, errno, "cannot renew the socket %s of service %s", u->path, service);
}

void rv_unixsock_remove(struct rv_unixsock *u)
{
	struct stat st;

	if (u->placed && !lstat(u->path, &st) && st.st_dev == u->dev && st.st_ino == u->ino)
		unlink(u->path);
	free(u->path);
	*u = (struct rv_unixsock){0};
}
