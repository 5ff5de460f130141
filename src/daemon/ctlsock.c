/* The socket file: see ctlsock.h. */
#include "daemon/ctlsock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sys/fd.h"
#include "sys/sockfile.h"

#define BACKLOG	    64
#define LOCK_PAUSES 100 /* of 10 ms */

static void fill_address(struct sockaddr_un *a, const char *path)
{
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(a->sun_path, sizeof(a->sun_path), "%s", path);
}

/* Says who answers on the path; REFUSED, and nothing else here is. */
static bool refuse_live(int fd, const char *path, struct rv_err *e)
{
	struct ucred who = {0};
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) || who.pid <= 0)
		return rv_fail(e, RV_ERR_REFUSED,
			"cannot open the control socket %s: another reeve answers on it", path);
	return rv_fail(e, RV_ERR_REFUSED,
		"cannot open the control socket %s: another reeve (pid %d) answers on it", path,
		(int)who.pid);
}

/* True: the path is free, or holds a socket that nobody listens on (`stale`). */
static bool look_at_path(const char *path, bool *stale, struct rv_err *e)
{
	struct sockaddr_un a;
	struct stat st;
	rv_auto_fd fd = -1;

	*stale = false;
	if (lstat(path, &st))
		return errno == ENOENT ||
			rv_fail_errno(e, errno,
				"cannot open the control socket %s (reeve.runtime-dir chooses "
				"another folder)",
				path);
	if (!S_ISSOCK(st.st_mode))
		return rv_fail(e, RV_ERR_SYSTEM,
			"cannot open the control socket %s: a %s is in the way; it is left alone, "
			"remove it "
			"or choose another reeve.runtime-dir",
			path,
			S_ISDIR(st.st_mode)	      ? "folder"
				: S_ISLNK(st.st_mode) ? "symbolic link"
				: S_ISREG(st.st_mode) ? "file"
						      : "thing that is no socket");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return rv_fail_errno(e, errno, "cannot open the control socket %s", path);
	fill_address(&a, path);
	if (!connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return refuse_live(fd, path, e);
	if (errno == EAGAIN) /* somebody listens, and is busy */
		return refuse_live(-1, path, e);
	if (errno != ECONNREFUSED && errno != ENOENT)
		return rv_fail_errno(e, errno,
			"cannot open the control socket %s: cannot tell whether somebody answers "
			"on the one "
			"that is there",
			path);
	*stale = errno == ECONNREFUSED;
	return true;
}

/* Two that start at one time must not both find the same stale socket. Bounded: the folder may be open to
   others, and a lock of theirs must not keep us from starting. */
static int lock_folder(const char *dir, int pauses)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && i < pauses; i++)
		nanosleep(&pause, NULL);
	return fd;
}

/* Binds under a name of our own, unreachable for others until mode and owner are right. */
static bool bind_private(
	int fd, const char *temp, const struct rv_ctlsock_perm *perm, struct rv_err *e)
{
	struct sockaddr_un a;
	struct stat st;
	int number;

	if (!lstat(temp, &st) && S_ISSOCK(st.st_mode))
		unlink(temp); /* of an earlier life with our pid */
	fill_address(&a, temp);
	if (rv_sockfile_bind(fd, &a, perm->mode & 0777, perm->uid, perm->gid) &&
		!listen(fd, BACKLOG))
		return true;
	number = errno;
	if (number != EADDRINUSE)
		unlink(temp);
	return rv_fail_errno(e, number,
		"cannot create a socket there with the mode, owner and group of reeve.control");
}

/* Moves the finished socket to its place in one step; only a stale socket is ever replaced. */
static bool put_in_place(const char *temp, const char *path, bool stale, struct rv_err *e)
{
	int number;

	if (stale) {
		if (!rename(temp, path))
			return true;
	} else {
		if (!renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE))
			return true;
		if ((errno == EINVAL || errno == ENOSYS) && !link(temp, path)) {
			unlink(temp);
			return true;
		}
	}
	number = errno;
	unlink(temp);
	return rv_fail_errno(e, number, "cannot put it in its place");
}

static bool open_at(struct rv_ctlsock *s, const char *dir, const struct rv_ctlsock_perm *perm,
	bool hasty, struct rv_err *e)
{
	rv_auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rv_auto_fd lock = lock_folder(dir, hasty ? 0 : LOCK_PAUSES);
	char temp[sizeof(s->path)];
	struct stat st;
	bool stale;

	(void)lock; /* held until we return */
	if (!look_at_path(s->path, &stale, e))
		return false;
	if (fd < 0)
		return rv_fail_errno(e, errno, "cannot open the control socket %s", s->path);
	/* not longer than the final name, so that it fits as well */
	snprintf(temp, sizeof(temp), "%s/.r%d", dir, (int)getpid());
	if (!bind_private(fd, temp, perm, e) || !put_in_place(temp, s->path, stale, e))
		return rv_fail_in(e,
			"cannot open the control socket %s (reeve.runtime-dir chooses another "
			"folder)",
			s->path);
	if (lstat(s->path, &st))
		return rv_fail_errno(e, errno, "cannot open the control socket %s", s->path);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->fd = rv_fd_steal(&fd);
	return true;
}

bool rv_ctlsock_open(struct rv_ctlsock *s, const char *dir, const struct rv_ctlsock_perm *perm,
	bool hasty, struct rv_err *e)
{
	int n = snprintf(s->path, sizeof(s->path), "%s/control.sock", dir);

	s->fd = -1;
	if (n < 0 || (size_t)n >= sizeof(s->path))
		return rv_fail(e, RV_ERR_SYSTEM,
			"cannot open the control socket %s/control.sock: the path is longer than "
			"%zu bytes; "
			"choose a shorter reeve.runtime-dir",
			dir, sizeof(s->path) - 1);
	if (!rv_mkdirs(dir, e))
		return rv_fail_in(e,
			"cannot open the control socket %s (reeve.runtime-dir chooses another "
			"folder)",
			s->path);
	return open_at(s, dir, perm, hasty, e);
}

bool rv_ctlsock_is_ours(const struct rv_ctlsock *s)
{
	struct stat st;

	return s->fd >= 0 && !lstat(s->path, &st) && st.st_dev == s->dev && st.st_ino == s->ino;
}

void rv_ctlsock_close(struct rv_ctlsock *s)
{
	if (rv_ctlsock_is_ours(s))
		unlink(s->path);
	rv_fd_close(&s->fd);
}
