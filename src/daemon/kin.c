/* Which process belongs to which life: see kin.h.
 *
 * Descendants that are not our children hang, over their parents, on a child of ours. So only our own
 * children must be told apart, and those which we did not spawn came to us as orphans. Evidence, in
 * this order: seen among a life's descendants before; in the session or group of a life or of
 * something seen; the mark in its environment; writing into the pipe that only this life was given;
 * at last, descendants for which one of these holds. */
#include "daemon/kin.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/fd.h"

#define ROUNDS 4
/* Who has no environment for so long hangs in his end, and holds up nobody else's. */
#define DOUBT RV_SEC

uint64_t rv_kin_hash(const char *s)
{
	uint64_t h = UINT64_C(14695981039346656037);

	while (*s)
		h = (h ^ (uint8_t)*s++) * UINT64_C(1099511628211);
	return h;
}

void rv_kin_activate(struct rv_reaper *r, rv_id id)
{
	if (!r->lives[id].active)
		r->active[r->active_count++] = id;
	r->lives[id].active = true;
}

struct rv_life *rv_kin_life(const struct rv_reaper *r, rv_id id)
{
	return id < r->slots && r->lives[id].pid ? &r->lives[id] : NULL;
}

static bool is_life(const struct rv_reaper *r, rv_id id, uint64_t generation)
{
	return id < r->slots && r->lives[id].pid && r->lives[id].generation == generation;
}

/* A life with another main process than its first has session and group of that one. */
static rv_id heir_of_number(const struct rv_reaper *r, pid_t number)
{
	for (rv_id id = 0; id < r->slots; id++) {
		const struct rv_life *l = &r->lives[id];

		if (l->pid && !l->reaped && (l->group == number || l->session == number))
			return id;
	}
	return RV_NO_ID;
}

/* The life that owns a session or group number, or RV_NO_ID. */
static rv_id owner_of_number(const struct rv_reaper *r, pid_t number)
{
	const struct rv_kinsman *k = rv_pidmap_find(&r->known, number);

	if (k && k->kin == RV_KIN_MAIN)
		return k->id;
	for (size_t i = 0; i < r->active_count; i++) {
		const struct rv_life *l = &r->lives[r->active[i]];

		if ((l->pid == number || l->group == number || l->session == number) &&
			!l->recycled)
			return r->active[i];
	}
	if (r->heirs) {
		rv_id id = heir_of_number(r, number);

		if (id != RV_NO_ID)
			return id;
	}
	k = rv_pidmap_find(&r->seen, number);
	return k && is_life(r, k->id, k->generation) ? k->id : RV_NO_ID;
}

static rv_id owner_of_mark(const struct rv_reaper *r, const char *mark)
{
	uint64_t hash = rv_kin_hash(mark);

	for (rv_id id = 0; id < r->slots; id++)
		if (r->lives[id].pid && r->lives[id].mark_hash == hash &&
			!strcmp(r->lives[id].mark, mark))
			return id;
	return RV_NO_ID;
}

void rv_reaper_note_output(struct rv_reaper *r, rv_id id, int fd)
{
	struct rv_life *l = rv_kin_life(r, id);
	struct stat st;

	if (!l || fstat(fd, &st) || !S_ISFIFO(st.st_mode))
		return;
	l->out_dev = st.st_dev;
	l->out_ino = st.st_ino;
}

static bool output_of(pid_t pid, int fd, struct stat *st)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	return !stat(path, st) && S_ISFIFO(st->st_mode);
}

static bool is_ours(const struct stat *st)
{
	struct stat own;

	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (!fstat(fd, &own) && own.st_ino == st->st_ino && own.st_dev == st->st_dev)
			return true;
	return false;
}

/* Our own stdout, which services may inherit, says nothing; nor does a pipe that several lives have. */
static rv_id owner_of_output(const struct rv_reaper *r, pid_t pid)
{
	rv_id owner = RV_NO_ID;
	struct stat st;

	if (!output_of(pid, STDOUT_FILENO, &st) && !output_of(pid, STDERR_FILENO, &st))
		return RV_NO_ID;
	if (is_ours(&st))
		return RV_NO_ID;
	for (rv_id id = 0; id < r->slots; id++) {
		const struct rv_life *l = &r->lives[id];

		if (!l->pid || l->out_ino != st.st_ino || l->out_dev != st.st_dev)
			continue;
		if (owner != RV_NO_ID)
			return RV_NO_ID;
		owner = id;
	}
	return owner;
}

static rv_id owner_of(const struct rv_reaper *r, const struct rv_proc *p)
{
	const struct rv_kinsman *k = rv_pidmap_find(&r->seen, p->pid);
	char mark[RV_MARK_SIZE];
	rv_id id;

	if (k && k->start == p->start && is_life(r, k->id, k->generation))
		return k->id;
	id = owner_of_number(r, p->session);
	if (id == RV_NO_ID)
		id = owner_of_number(r, p->group);
	if (id == RV_NO_ID && rv_proc_variable(p->pid, "REEVE_INVOCATION_ID", mark, sizeof(mark)))
		id = owner_of_mark(r, mark);
	return id == RV_NO_ID ? owner_of_output(r, p->pid) : id;
}

static void adopt(struct rv_reaper *r, pid_t pid, rv_id owner)
{
	struct rv_kinsman k = {.pid = pid, .kin = RV_KIN_ORPHAN, .id = owner};

	if (owner != RV_NO_ID)
		k.generation = r->lives[owner].generation;
	if (rv_pidmap_put(&r->known, &k) && owner != RV_NO_ID)
		r->lives[owner].orphans++;
}

static rv_id owner_of_child(const struct rv_reaper *r, pid_t pid)
{
	struct rv_proc p;

	return rv_proc_look(pid, &p) ? owner_of(r, &p) : RV_NO_ID;
}

/* False: whose it is cannot be told now, for it may have had no environment when it was asked. */
static bool is_told(const struct rv_reaper *r, pid_t pid, rv_id *owner)
{
	*owner = owner_of_child(r, pid);
	if (*owner != RV_NO_ID)
		return true;
	if (!rv_proc_has_program(pid))
		return false;
	*owner = owner_of_child(r, pid); /* it may have been between two programs */
	return true;
}

static bool is_doubted_for_long(const struct rv_reaper *r, pid_t pid)
{
	return pid == r->doubted && rv_now() - r->doubted_since >= DOUBT;
}

static void doubt(struct rv_reaper *r, pid_t pid)
{
	if (pid && pid != r->doubted)
		r->doubted_since = rv_now();
	r->doubted = pid;
}

bool rv_kin_meet(struct rv_reaper *r)
{
	pid_t doubted = 0; /* the one of before, as long as it is there: each has its second */

	r->list.count = 0;
	if (!r->childless)
		rv_proc_own_children(r->children_fd, &r->list);
	for (size_t i = 0; i < r->list.count; i++) {
		pid_t pid = r->list.at[i];
		rv_id owner;

		if (rv_pidmap_find(&r->known, pid))
			continue;
		if (is_told(r, pid, &owner) || is_doubted_for_long(r, pid))
			adopt(r, pid, owner);
		else if (!doubted || pid == r->doubted)
			doubted = pid;
	}
	doubt(r, doubted);
	return !doubted;
}

/* The kinsmen of one life, or those of nobody, into a list: the table may change while it is used. */
static void orphans_of(const struct rv_reaper *r, rv_id id, struct rv_pids *to)
{
	for (size_t i = 0; i < r->known.room; i++) {
		const struct rv_kinsman *k = &r->known.at[i];

		if (k->pid && k->kin == RV_KIN_ORPHAN && k->id == id &&
			(id == RV_NO_ID || k->generation == r->lives[id].generation))
			rv_pids_add(to, k->pid);
	}
}

static bool has_kin_below(struct rv_reaper *r, pid_t root, rv_id id)
{
	struct rv_pids below = {0};
	struct rv_proc p;
	bool found = false;

	rv_proc_children(root, &below);
	rv_proc_descend(&below, 0);
	for (size_t i = 0; i < below.count && !found; i++)
		found = rv_proc_look(below.at[i], &p) && owner_of(r, &p) == id;
	rv_pids_fini(&below);
	return found;
}

void rv_kin_meet_deeply(struct rv_reaper *r, rv_id id)
{
	struct rv_pids roots = {0};

	orphans_of(r, RV_NO_ID, &roots);
	for (size_t i = 0; i < roots.count; i++)
		if (has_kin_below(r, roots.at[i], id))
			adopt(r, roots.at[i], id);
	rv_pids_fini(&roots);
}

static void remember(struct rv_reaper *r, rv_id id, pid_t pid)
{
	struct rv_proc p;

	if (rv_pidmap_find(&r->known, pid) || !rv_proc_look(pid, &p))
		return;
	rv_pidmap_put(&r->seen,
		&(struct rv_kinsman){.pid = pid,
			.kin = RV_KIN_SEEN,
			.id = id,
			.generation = r->lives[id].generation,
			.start = p.start});
}

void rv_kin_list(struct rv_reaper *r, rv_id id, struct rv_pids *to)
{
	if (!r->lives[id].reaped)
		rv_pids_add(to, r->lives[id].pid);
	if (r->lives[id].orphans)
		orphans_of(r, id, to);
	rv_proc_descend(to, 0);
	for (size_t i = 0; i < to->count; i++)
		remember(r, id, to->at[i]);
}

void rv_kin_forget(struct rv_reaper *r, rv_id id)
{
	size_t i = 0;

	/* A removal may move another entry into its place: look there again. One that wraps around the
	   end is looked at twice or stays until later; both do no harm. */
	while (r->seen.count && i < r->seen.room) {
		const struct rv_kinsman *k = &r->seen.at[i];

		if (k->pid && (k->id == id || !is_life(r, k->id, k->generation)))
			rv_pidmap_drop(&r->seen, k->pid);
		else
			i++;
	}
}

/* A child of ours keeps its number until we reap it. Any other may have ended and its number may be
   another's: hold it by a pidfd, then compare when it was started. */
bool rv_kin_signal(struct rv_reaper *r, pid_t pid, int number)
{
	const struct rv_kinsman *k = rv_pidmap_find(&r->known, pid);
	rv_auto_fd fd = -1;
	struct rv_proc p;
	uint64_t start;

	if (k)
		return k->kin != RV_KIN_FOREIGN && !kill(pid, number);
	k = rv_pidmap_find(&r->seen, pid);
	if (!k)
		return false;
	start = k->start;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0 && errno == ESRCH)
		return false;
	if (!rv_proc_look(pid, &p) || p.start != start)
		return false;
	return fd < 0 ? !kill(pid, number) : !syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
}

void rv_kin_kill(struct rv_reaper *r, rv_id id)
{
	struct rv_life *l = &r->lives[id];
	struct rv_pids list = {0};
	size_t before;

	rv_kin_renew(l);
	for (int i = 0; i < ROUNDS; i++) {
		before = list.count;
		list.count = 0;
		rv_kin_list(r, id, &list);
		if (!l->group_empty)
			kill(-l->group, SIGKILL);
		for (size_t n = 0; n < list.count; n++)
			rv_kin_signal(r, list.at[n], SIGKILL);
		if (i && list.count <= before)
			break;
	}
	rv_pids_fini(&list);
}
