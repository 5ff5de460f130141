/* A datagram socket at a path: see notifysock.h. */
#include "daemon/notifysock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define FOLDER "%s/notify"
#define TRIES  4

static unsigned long long any_number(void)
{
	uint64_t n;

	if (getrandom(&n, sizeof(n), GRND_NONBLOCK) != (ssize_t)sizeof(n))
		n = (uint64_t)rv_now() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)getpid();
	return n;
}

static bool is_in(gid_t group, const struct rv_ident *who)
{
	for (size_t i = 0; i < who->group_count; i++)
		if (who->groups[i] == group)
			return true;
	return who->set_gid ? who->gid == group : getegid() == group;
}

static bool may_pass(const struct stat *st, const struct rv_ident *who)
{
	if (st->st_uid == who->uid)
		return st->st_mode & S_IXUSR;
	return st->st_mode & (is_in(st->st_gid, who) ? S_IXGRP : S_IXOTH);
}

/* A service that cannot get there would say what it says to nobody. */
static bool can_reach(const char *file, const struct rv_ident *who, struct rv_err *e)
{
	char folder[PATH_MAX];
	struct stat st;

	if (!who->set_uid || who->uid == 0)
		return true;
	for (const char *slash = strchr(file + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - file), file);
		if (!stat(folder, &st) && !may_pass(&st, who))
			return rv_fail(e, RV_ERR_START,
				"cannot give it NOTIFY_SOCKET: user %u of the service may not pass "
				"the folder %s (mode %04o); give it another mode, or choose "
				"another reeve.runtime-dir",
				(unsigned)who->uid, folder, (unsigned)(st.st_mode & 07777));
	}
	return true;
}

static bool have_folder(const char *runtime_dir, struct rv_err *e)
{
	char folder[PATH_MAX];
	struct stat st;

	snprintf(folder, sizeof(folder), FOLDER, runtime_dir);
	if (mkdir(folder, 0711) && errno != EEXIST)
		return rv_fail_errno(e, errno,
			"cannot make the folder %s for NOTIFY_SOCKET (reeve.runtime-dir chooses "
			"another place)",
			folder);
	if (lstat(folder, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return rv_fail(e, RV_ERR_START,
			"cannot use %s for NOTIFY_SOCKET: it is no folder of ours; remove it",
			folder);
	if ((st.st_mode & 07777) != 0711 && chmod(folder, 0711))
		return rv_fail_errno(e, errno, "cannot set the mode of the folder %s", folder);
	return true;
}

/* Until mode and owner are right nobody but us gets in. */
static bool settle(const char *path, const struct rv_ident *who)
{
	bool another = who->set_uid && who->uid != geteuid();

	if (another && lchown(path, who->uid, (gid_t)-1))
		return false;
	return !chmod(path, !another && geteuid() == 0 ? 0666 : 0600);
}

static bool place(int fd, struct rv_notifysock *s, const char *runtime_dir)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	mode_t before = umask(0177);
	bool ok = false;

	for (int i = 0; i < TRIES && !ok; i++) {
		int n = snprintf(
			s->path, sizeof(s->path), RV_NOTIFY_PATH, runtime_dir, any_number());

		if (n < 0 || (size_t)n >= sizeof(s->path)) {
			errno = ENAMETOOLONG;
			break;
		}
		memcpy(at.sun_path, s->path, sizeof(s->path));
		ok = !bind(fd, (const struct sockaddr *)&at, sizeof(at));
		if (!ok && errno != EADDRINUSE)
			break;
	}
	umask(before);
	return ok;
}

bool rv_notifysock_open(struct rv_notifysock *s, const char *runtime_dir,
	const struct rv_ident *who, struct rv_err *e)
{
	rv_auto_fd fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	*s = (struct rv_notifysock){.fd = -1};
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		return rv_fail_errno(e, errno, "cannot make a socket for NOTIFY_SOCKET");
	if (!have_folder(runtime_dir, e))
		return false;
	if (!place(fd, s, runtime_dir)) {
		rv_fail_errno(e, errno,
			"cannot bind a socket for NOTIFY_SOCKET below %s (reeve.runtime-dir "
			"chooses another place)",
			runtime_dir);
		s->path[0] = 0;
		return false;
	}
	s->fd = rv_fd_lift(rv_fd_steal(&fd));
	if (!settle(s->path, who)) {
		rv_fail_errno(e, errno, "cannot give %s its owner and mode", s->path);
		rv_notifysock_close(s);
		return false;
	}
	if (can_reach(s->path, who, e))
		return true;
	rv_notifysock_close(s);
	return false;
}

void rv_notifysock_close(struct rv_notifysock *s)
{
	if (s->path[0])
		unlink(s->path);
	s->path[0] = 0;
	rv_fd_close(&s->fd);
}

/* Sixteen digits, as we name them. */
static bool is_ours(int folder, const char *name)
{
	struct stat st;

	return strlen(name) == 16 && strspn(name, "0123456789abcdef") == 16 &&
		!fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISSOCK(st.st_mode);
}

void rv_notifysock_sweep(const char *runtime_dir)
{
	char path[PATH_MAX];
	struct dirent *d;
	DIR *folder;

	snprintf(path, sizeof(path), FOLDER, runtime_dir);
	folder = opendir(path);
	while (folder && (d = readdir(folder)))
		if (is_ours(dirfd(folder), d->d_name))
			unlinkat(dirfd(folder), d->d_name, 0);
	if (folder)
		closedir(folder);
}

void rv_notifysock_end(const char *runtime_dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), FOLDER, runtime_dir);
	rmdir(path);
}
