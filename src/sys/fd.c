/* Descriptors and files: see fd.h. */
#include "sys/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

void rv_fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

int rv_fd_lift(int fd)
{
	int up = fd >= 0 && fd < RV_FD_LOW ? fcntl(fd, F_DUPFD_CLOEXEC, RV_FD_LOW) : -1;

	if (up < 0)
		return fd;
	close(fd);
	return up;
}

static bool mkdirs_until(const char *path, size_t len, struct rv_err *e)
{
	char dir[PATH_MAX];

	if (len >= sizeof(dir))
		return rv_fail_errno(e, ENAMETOOLONG, "cannot create folder %.64s...", path);
	for (size_t i = 1; i <= len; i++) {
		if (i < len && path[i] != '/')
			continue;
		memcpy(dir, path, i);
		dir[i] = 0;
		if (mkdir(dir, 0755) && errno != EEXIST && errno != EISDIR) {
			struct stat st;
			int number = errno;

			if (stat(dir, &st) || !S_ISDIR(st.st_mode))
				return rv_fail_errno(e, number, "cannot create folder %s", dir);
		}
	}
	return true;
}

bool rv_mkdirs(const char *dir, struct rv_err *e)
{
	return mkdirs_until(dir, strlen(dir), e);
}

bool rv_mkdirs_for(const char *file, struct rv_err *e)
{
	const char *slash = strrchr(file, '/');

	return !slash || slash == file || mkdirs_until(file, (size_t)(slash - file), e);
}

bool rv_write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t r = write(fd, p, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return false;
		p += r;
		n -= (size_t)r;
	}
	return true;
}

bool rv_fd_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && !fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}
