/* errno of an exec is often about another file than the one that was named: an interpreter, a loader,
 * a folder. This file looks again and says which. */
#include "daemon/whynot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "conf/conf.h"
#include "sys/fd.h"

static bool limit_refused(const struct rv_child *c, struct rv_err *e)
{
	const struct rv_spawn_limit *l = &c->s->limits[c->which];
	struct rlimit now;
	char hint[80] = "";

	if (c->number == EPERM && !getrlimit((__rlimit_resource_t)l->resource, &now) &&
		now.rlim_max != RLIM_INFINITY)
		snprintf(hint, sizeof(hint), " (the hard limit of reeve is %llu)",
			(unsigned long long)now.rlim_max);
	rv_fail(e, RV_ERR_START, "cannot set limit %s to %lld: %s%s", rv_limit_name(l->resource),
		l->soft == UINT64_MAX ? -1LL : (long long)l->soft, strerror(c->number), hint);
	return false;
}

/* Opens what was executed as the child saw it: relative to its working directory. */
static int open_program(const struct rv_child *c, const char *path)
{
	rv_auto_fd dir = open(c->s->dir ? c->s->dir : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -1 : openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* The file is there and exec says that it is not: then what it names on its first line is missing. */
static bool interpreter_missing(const char *path, int fd, struct rv_err *e)
{
	char head[256], *line = head + 2;
	struct rv_buf seen = {.max = 1024};
	ssize_t n = pread(fd, head, sizeof(head) - 1, 0);
	bool crlf;

	head[n < 0 ? 0 : n] = 0;
	if (n < 2 || memcmp(head, "#!", 2) != 0)
		return rv_fail(e, RV_ERR_START,
			"cannot execute %s: it is there, but the loader it names is not "
			"(built for another system or C library)",
			path);
	line += strspn(line, " \t");
	line[strcspn(line, " \t\n")] = 0;
	crlf = strchr(line, '\r');
	rv_text_visible(&seen, line, strlen(line));
	rv_fail(e, RV_ERR_START, "cannot execute %s: its interpreter %s does not exist%s", path,
		rv_buf_text(&seen), crlf ? " (the file has DOS line ends)" : "");
	rv_buf_fini(&seen);
	return false;
}

static bool exec_refused(const struct rv_child *c, struct rv_err *e)
{
	const char *name = c->s->argv[0];
	const char *path = c->search && c->which ? c->path : name;
	rv_auto_fd fd = open_program(c, path);
	const char *in = *path == '/' ? "" : c->s->dir ? c->s->dir : "/";
	struct stat st;
	bool there = fd >= 0 && !fstat(fd, &st);

	if (c->search && !c->which)
		return rv_fail(e, RV_ERR_START, "cannot execute %s: %s in the folders of PATH",
			name, c->number == EACCES ? "no permission for what is" : "not found");
	if (c->number == ENOENT && there)
		return interpreter_missing(path, fd, e);
	if (c->number == ENOEXEC)
		return rv_fail(e, RV_ERR_START,
			"cannot execute %s: not a program: neither a known binary format nor a #! "
			"line",
			path);
	if (c->number == EACCES && there && S_ISDIR(st.st_mode))
		return rv_fail(e, RV_ERR_START, "cannot execute %s: it is a directory", path);
	if (c->number == EACCES && there && !(st.st_mode & 0111))
		return rv_fail(e, RV_ERR_START, "cannot execute %s: Permission denied (mode %04o)",
			path, (unsigned)st.st_mode & 07777);
	rv_fail(e, RV_ERR_START, "cannot execute %s%s%s: %s", path, *in ? " from " : "", in,
		strerror(c->number));
	return false;
}

static bool ident_refused(const struct rv_child *c, const char *what, unsigned id, struct rv_err *e)
{
	rv_fail(e, RV_ERR_START, "cannot become %s %u: %s%s", what, id, strerror(c->number),
		c->number == EPERM && geteuid() ? " (reeve does not run as root)" : "");
	return false;
}

/* Root without the right to set groups: in a user namespace, or a container that took it away. */
static const char *groups_hint(const struct rv_child *c)
{
	if (geteuid())
		return " (reeve does not run as root)";
	return c->number == EPERM && c->s->who.group_count && !getgroups(0, NULL)
		? " (`groups: []` in the configuration asks for none)"
		: "";
}

bool rv_whynot(const struct rv_child *c, struct rv_err *e)
{
	const struct rv_spawn *s = c->s;

	switch (c->step) {
	case RV_STEP_SESSION:
		return rv_fail(e, RV_ERR_START, "cannot make a session for %s: %s", s->argv[0],
			strerror(c->number));
	case RV_STEP_FD:
		return rv_fail(e, RV_ERR_START, "cannot pass descriptor %d to %s: %s",
			c->target[c->which], s->argv[0], strerror(c->number));
	case RV_STEP_LIMIT: return limit_refused(c, e);
	case RV_STEP_GROUPS:
		return rv_fail(e, RV_ERR_START, "cannot set the groups of %s: %s%s", s->argv[0],
			strerror(c->number), groups_hint(c));
	case RV_STEP_GID: return ident_refused(c, "group", s->who.gid, e);
	case RV_STEP_UID: return ident_refused(c, "user", s->who.uid, e);
	case RV_STEP_DIR:
		return rv_fail(e, RV_ERR_START, "cannot enter working directory %s: %s",
			s->dir ? s->dir : "/", strerror(c->number));
	case RV_STEP_EXEC:
	case RV_STEP_DONE: break;
	}
	return exec_refused(c, e);
}
