/* The search for a launcher's daemon: see mainpid.h. */
#include "daemon/mainpid.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/holder.h"
#include "daemon/proc.h"
#include "daemon/say.h"
#include "sys/fd.h"

enum { PID_FILE_MAX = 64 }; /* bytes that are looked at */

struct search {
	const struct rv_service *s;
	struct rv_reaper *r;
	struct rv_pids life; /* roots first */
	struct rv_pids others; /* children of ours that could be claimed */
	struct rv_err *why;
};

/* ---- processes ------------------------------------------------------------------------------- */

static bool is_alive(const struct rv_proc *p)
{
	return p->state != 'Z' && p->state != 'X';
}

/* The child of ours above it, or itself. 0: it is not below us. */
static pid_t root_of(pid_t pid)
{
	pid_t self = getpid();
	struct rv_proc p;

	for (int i = 0; i < 4096 && rv_proc_look(pid, &p); i++) {
		if (p.parent == self)
			return is_alive(&p) ? pid : 0;
		pid = p.parent;
	}
	return 0;
}

static bool is_in(const struct rv_pids *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->at[i] == pid)
			return true;
	return false;
}

/* Takes the process, or its ancestor that is a child of ours. */
static bool take(const struct search *x, pid_t named, pid_t *pid)
{
	pid_t root = root_of(named);

	if (!root || (!is_in(&x->life, root) && !rv_reaper_claim(x->r, x->s->id, root)))
		return false;
	*pid = root;
	return rv_reaper_hand_over(x->r, x->s->id, root);
}

static enum rv_sought nobody_or(const struct search *x, enum rv_sought otherwise)
{
	return x->life.count || x->others.count ? otherwise : RV_SOUGHT_NOBODY;
}

/* ---- a pid file ------------------------------------------------------------------------------ */

static uint64_t stamp_of(const struct stat *st)
{
	const uint64_t parts[] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino, (uint64_t)st->st_size,
		(uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec};
	uint64_t h = 1;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		h = (h ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return h | 1;
}

void rv_seek_fini(struct rv_seek *k)
{
	free(k->file);
	*k = (struct rv_seek){0};
}

bool rv_seek_begin(struct rv_seek *k, const struct rv_main_pid *how, const struct rv_recipe *recipe)
{
	struct stat st;

	rv_seek_fini(k);
	k->how = *how;
	if (recipe && recipe->pid_file && !how->given) {
		k->file = strdup(recipe->pid_file);
		k->how = (struct rv_main_pid){.by = RV_MAIN_FILE, .file = k->file};
		if (!k->file)
			return false;
	} else if (recipe && recipe->main_port && !how->given) {
		k->how = (struct rv_main_pid){.by = RV_MAIN_PORT, .port = recipe->main_port};
	}
	if (k->how.by == RV_MAIN_FILE && !stat(k->how.file, &st))
		k->stamp = stamp_of(&st);
	return true;
}

void rv_seek_rebind(struct rv_seek *k, const struct rv_main_pid *how)
{
	if (k->how.by == RV_MAIN_FILE && !k->file)
		k->how = *how;
}

/* A number, and nothing but blanks around it; 0: there is none. */
static pid_t parse(const char *text)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || n < 2 || n > INT32_MAX)
		return 0;
	return end[strspn(end, " \t\r\n")] ? 0 : (pid_t)n;
}

/* 0: no pid there, and `why` says so. *never: it will not change. */
static pid_t read_file(const struct rv_seek *k, const char *path, struct rv_err *why, bool *never)
{
	rv_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char text[PID_FILE_MAX + 1];
	struct stat st;
	ssize_t n;
	pid_t pid;

	if (fd < 0) {
		rv_fail(why, RV_ERR_START, "cannot open pid file %s: %s", path, strerror(errno));
		return 0;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		*never = true;
		rv_fail(why, RV_ERR_START, "%s is no regular file, so no pid file", path);
		return 0;
	}
	n = read(fd, text, PID_FILE_MAX);
	text[n < 0 ? 0 : n] = 0;
	pid = parse(text);
	if (stamp_of(&st) == k->stamp) {
		rv_fail(why, RV_ERR_START, "pid file %s has not been written since this start",
			path);
		return 0;
	}
	if (!pid)
		rv_fail(why, RV_ERR_START, "there is no pid in pid file %s", path);
	return pid;
}

static enum rv_sought by_file(const struct rv_seek *k, const struct search *x, pid_t *pid)
{
	const char *path = k->how.file;
	bool never = false;
	pid_t named = read_file(k, path, x->why, &never);
	char who[128];

	if (never)
		return RV_SOUGHT_NEVER;
	if (named && take(x, named, pid))
		return RV_SOUGHT_FOUND;
	if (named && rv_pid_text(named, who, sizeof(who)))
		rv_fail(x->why, RV_ERR_START,
			"pid file %s names %s, which is no process of this service", path, who);
	else if (named)
		rv_fail(x->why, RV_ERR_START, "pid file %s names pid %d, which does not exist",
			path, (int)named);
	return nobody_or(x, RV_SOUGHT_NOT_YET);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Whether a is the better guess: the leader of a session, then the older one. */
static bool is_better(const struct rv_proc *a, const struct rv_proc *b)
{
	bool leads = a->session == a->pid, other = b->session == b->pid;

	if (leads != other)
		return leads;
	return a->start != b->start ? a->start < b->start : a->pid < b->pid;
}

/* How many children of ours are in the life, and which of them it seems to be. */
static size_t choose(const struct search *x, struct rv_proc *best)
{
	pid_t self = getpid();
	struct rv_proc p;
	size_t n = 0;

	for (size_t i = 0; i < x->life.count; i++) {
		if (!rv_proc_look(x->life.at[i], &p) || p.parent != self || !is_alive(&p))
			continue;
		if (!n++ || is_better(&p, best))
			*best = p;
	}
	return n;
}

static void name_all(const struct rv_pids *list, struct rv_buf *to)
{
	char who[128];

	for (size_t i = 0; i < list->count && i < 8; i++)
		if (rv_pid_text(list->at[i], who, sizeof(who)))
			rv_buf_fmt(to, "%s%s", to->len ? ", " : "", who);
}

static void tell_guess(const struct search *x, const struct rv_proc *best)
{
	struct rv_buf all = {.max = 2048};
	char who[128];

	name_all(&x->life, &all);
	if (rv_pid_text(best->pid, who, sizeof(who)))
		rv_say(RV_WARN, x->s->name,
			"its launcher left %s: %s is taken for the daemon; main-pid: {file: ...} "
			"or {port: ...} would tell",
			rv_buf_text(&all), who);
	rv_buf_fini(&all);
}

/* Nothing ties them to this launcher, so nothing is done to them. */
static void tell_others(const struct search *x)
{
	struct rv_buf all = {.max = 512};

	name_all(&x->others, &all);
	rv_fail(x->why, RV_ERR_START,
		"%s came up meanwhile, and nothing says whose it is: if it is the daemon, name it "
		"by main-pid: {file: ...} or {port: ...}",
		rv_buf_text(&all));
	rv_buf_fini(&all);
}

/* ---- a port ---------------------------------------------------------------------------------- */

/* *hidden: some of them do not let us see what they have. */
static pid_t listener_among(const struct rv_pids *list, uint16_t port, bool *hidden)
{
	for (size_t i = 0; i < list->count; i++) {
		enum rv_held held = rv_port_held_by(port, &list->at[i], 1);

		if (held == RV_HELD_YES)
			return list->at[i];
		*hidden = *hidden || held == RV_HELD_UNKNOWN;
	}
	return 0;
}

static enum rv_sought by_port(const struct rv_seek *k, const struct search *x, pid_t *pid)
{
	uint16_t port = k->how.port;
	bool hidden = false, taken = !rv_port_is_free(port);
	pid_t it = listener_among(&x->life, port, &hidden);
	struct rv_proc only;
	char who[128];

	if (!it)
		it = listener_among(&x->others, port, &hidden);
	/* Of one there can be no doubt. */
	if (!it && hidden && taken && choose(x, &only) == 1)
		it = only.pid;
	if (it && take(x, it, pid))
		return RV_SOUGHT_FOUND;
	if (rv_port_holder(port, &it, who, sizeof(who)))
		rv_fail(x->why, RV_ERR_START,
			"port %u is listened on by %s, which is no process of this service", port,
			who);
	else
		rv_fail(x->why, RV_ERR_START,
			taken ? "who listens on port %u is not to be seen"
			      : "nobody listens on port %u",
			port);
	return nobody_or(x, RV_SOUGHT_NOT_YET);
}

static enum rv_sought by_tree(struct rv_seek *k, const struct search *x, pid_t *pid)
{
	struct rv_proc best = {0};
	size_t n = choose(x, &best);
	bool same = n && k->before == best.pid;

	if (!n) {
		if (x->others.count)
			tell_others(x);
		return RV_SOUGHT_NOBODY;
	}
	k->before = best.pid;
	/* One that forks twice is on its way for a moment: who is still there when we look again has arrived. */
	if (!same) {
		rv_fail(x->why, RV_ERR_START, "pid %d (%s) may not be its last process yet",
			(int)best.pid, best.command);
		return RV_SOUGHT_NOT_YET;
	}
	if (!take(x, best.pid, pid))
		return RV_SOUGHT_NOT_YET;
	if (n > 1)
		tell_guess(x, &best);
	return RV_SOUGHT_FOUND;
}

enum rv_sought rv_seek_try(struct rv_seek *k, const struct rv_service *s, struct rv_reaper *r,
	pid_t *pid, struct rv_err *why)
{
	struct search x = {.s = s, .r = r, .why = why};
	enum rv_sought got = RV_SOUGHT_NOT_YET;

	why->text[0] = 0;
	rv_reaper_list(r, s->id, &x.life);
	rv_reaper_unclaimed(r, s->id, &x.others);
	switch (k->how.by) {
	case RV_MAIN_TREE: got = by_tree(k, &x, pid); break;
	case RV_MAIN_FILE: got = by_file(k, &x, pid); break;
	case RV_MAIN_PORT: got = by_port(k, &x, pid); break;
	}
	rv_pids_fini(&x.life);
	rv_pids_fini(&x.others);
	return got;
}
