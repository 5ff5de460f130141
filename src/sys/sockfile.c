/* The file of a UNIX socket: see sockfile.h. */
#include "sys/sockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/fd.h"

/* The name may stand for another file at any time; a descriptor does not. A socket with one name has been made in
   this folder: by us, or by somebody who gains nothing when it gets our mode and owner. */
static int hold(const char *path)
{
	rv_auto_fd fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISSOCK(st.st_mode) && st.st_nlink <= 1)
		return rv_fd_steal(&fd);
	errno = EEXIST;
	return -1;
}

/* By the descriptor, for which there is a name as long as /proc is there. */
static bool set_mode(int file, const char *path, mode_t mode)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	return !chmod(name, mode) || (errno == ENOENT && !chmod(path, mode));
}

bool rv_sockfile_bind(int fd, const struct sockaddr_un *at, mode_t mode, uid_t owner, gid_t group)
{
	mode_t before = umask(0177);
	bool bound = !bind(fd, (const struct sockaddr *)at, sizeof(*at));
	rv_auto_fd file = -1;

	umask(before);
	if (!bound)
		return false;
	file = hold(at->sun_path);
	if (file < 0)
		return false;
	if ((owner != (uid_t)-1 || group != (gid_t)-1) &&
		fchownat(file, "", owner, group, AT_EMPTY_PATH))
		return false;
	return set_mode(file, at->sun_path, mode);
}
