/* The reaper: see reap.h for what a life is, kin.c for who belongs to one. */
#include "daemon/reap.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/kin.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define ROUNDS	     8
#define LEAST_SWEEPS 20 /* on a machine that stands still a limit says nothing about who resists */
#define SOONEST	     RV_MS
#define LATEST	     (50 * RV_MS)

static rv_exit exit_of(int status)
{
	return WIFSIGNALED(status) ? RV_EXIT_SIGNAL(WTERMSIG(status)) : WEXITSTATUS(status);
}

/* ---- birth ---- */

bool rv_reaper_grow(struct rv_reaper *r, size_t slots)
{
	struct rv_life *lives;
	rv_id *active;

	if (slots <= r->slots)
		return true;
	lives = realloc(r->lives, slots * sizeof(*lives));
	if (!lives)
		return false;
	r->lives = lives;
	active = realloc(r->active, slots * sizeof(*active));
	if (!active)
		return false;
	r->active = active;
	memset(lives + r->slots, 0, (slots - r->slots) * sizeof(*lives));
	r->slots = slots;
	return rv_pidmap_reserve(&r->known, 2 * slots);
}

/* Asked before something can happen that must be told: an end that nobody hears of is never made good. */
static bool can_tell(struct rv_reaper *r)
{
	size_t room = r->tiding_room ? 2 * r->tiding_room : 64;
	struct rv_tiding *more;

	if (r->tiding_count < r->tiding_room)
		return true;
	more = realloc(r->tidings, room * sizeof(*more));
	if (!more)
		return false;
	r->tidings = more;
	r->tiding_room = room;
	return true;
}

/* What was there before us (a shell's background job, then exec) is not ours to signal. */
static void respect_foreign(struct rv_reaper *r)
{
	rv_proc_own_children(r->children_fd, &r->list);
	for (size_t i = 0; i < r->list.count; i++)
		rv_pidmap_put(&r->known,
			&(struct rv_kinsman){
				.pid = r->list.at[i], .kin = RV_KIN_FOREIGN, .id = RV_NO_ID});
}

struct rv_reaper *rv_reaper_create(size_t slots, const struct rv_reaper_ops *ops, void *ctx)
{
	struct rv_reaper *r = calloc(1, sizeof(*r));
	struct sigaction now;

	if (!r)
		return NULL;
	r->ops = ops;
	r->ctx = ctx;
	r->wait = RV_NEVER;
	r->children_fd = -1;
	if (!rv_reaper_grow(r, slots ? slots : 1) || !can_tell(r)) {
		rv_reaper_destroy(r);
		return NULL;
	}
	if (getpid() != 1)
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	/* Inherited as ignored, the kernel would throw every status away. */
	if (!sigaction(SIGCHLD, NULL, &now) && now.sa_handler == SIG_IGN)
		signal(SIGCHLD, SIG_DFL);
	r->children_fd = rv_proc_open_children();
	respect_foreign(r);
	return r;
}

void rv_reaper_destroy(struct rv_reaper *r)
{
	if (!r)
		return;
	rv_fd_close(&r->children_fd);
	rv_pidmap_fini(&r->known);
	rv_pidmap_fini(&r->seen);
	rv_pids_fini(&r->list);
	free(r->tidings);
	free(r->active);
	free(r->lives);
	free(r);
}

/* The kernel gave the number to a new child, so no group or session of an ended life has it. */
static void number_is_anothers(struct rv_reaper *r, pid_t pid)
{
	for (size_t i = 0; i < r->active_count; i++) {
		struct rv_life *l = &r->lives[r->active[i]];

		if (!l->reaped || (l->pid != pid && l->group != pid && l->session != pid))
			continue;
		l->group_empty = l->group_empty || l->group == pid;
		l->recycled = true;
	}
}

void rv_reaper_add_life(
	struct rv_reaper *r, rv_id id, uint64_t generation, pid_t pid, const char *mark)
{
	struct rv_life *l = &r->lives[id];

	assert(id < r->slots && !l->pid && pid > 0);
	r->childless = false;
	number_is_anothers(r, pid);
	*l = (struct rv_life){.generation = generation,
		.pid = pid,
		.group = pid,
		.session = pid,
		.how = RV_EXIT_UNKNOWN};
	snprintf(l->mark, sizeof(l->mark), "%s", mark);
	l->mark_hash = rv_kin_hash(l->mark);
	if (!rv_pidmap_put(&r->known,
		    &(struct rv_kinsman){
			    .pid = pid, .kin = RV_KIN_MAIN, .id = id, .generation = generation}))
		kill(pid, SIGKILL);
}

void rv_reaper_add_helper(
	struct rv_reaper *r, pid_t pid, void (*done)(void *arg, pid_t pid, rv_exit how), void *arg)
{
	r->childless = false;
	number_is_anothers(r, pid);
	if (!rv_pidmap_put(&r->known,
		    &(struct rv_kinsman){.pid = pid,
			    .kin = RV_KIN_HELPER,
			    .id = RV_NO_ID,
			    .done = done,
			    .arg = arg}))
		kill(pid, SIGKILL);
}

void rv_reaper_drop_helper(struct rv_reaper *r, pid_t pid, bool now)
{
	struct rv_kinsman *k = rv_pidmap_find(&r->known, pid);

	for (size_t i = 0; i < r->tiding_count; i++)
		if (r->tidings[i].kind == RV_TOLD_HELPER && r->tidings[i].pid == pid)
			r->tidings[i].kind = RV_TOLD_NOTHING;
	if (!k || k->kin != RV_KIN_HELPER)
		return;
	k->done = NULL;
	if (now && kill(-pid, SIGKILL))
		kill(pid, SIGKILL);
}

/* ---- one turn ---- */

static void note(struct rv_reaper *r, const struct rv_tiding *t)
{
	assert(r->tiding_count < r->tiding_room);
	r->tidings[r->tiding_count++] = *t;
}

static bool group_is_empty(pid_t group)
{
	return kill(-group, 0) && errno == ESRCH;
}

static void main_ended(struct rv_reaper *r, rv_id id, rv_exit how)
{
	struct rv_life *l = &r->lives[id];

	l->reaped = true;
	l->how = how;
	/* Now or never: the number stays ours only as long as somebody is in the group. */
	l->group_empty = group_is_empty(l->group);
	rv_kin_activate(r, id);
	if (l->heir && rv_kin_inherit(r, id)) {
		note(r,
			&(struct rv_tiding){.kind = RV_TOLD_HEIR,
				.id = id,
				.generation = l->generation,
				.pid = l->pid});
		return;
	}
	note(r,
		&(struct rv_tiding){.kind = RV_TOLD_EXITED,
			.id = id,
			.generation = l->generation,
			.pid = l->pid,
			.how = how});
}

static void child_ended(struct rv_reaper *r, pid_t pid, rv_exit how)
{
	const struct rv_kinsman *found = rv_pidmap_find(&r->known, pid);
	struct rv_kinsman k;

	if (!found)
		return;
	k = *found;
	rv_pidmap_drop(&r->known, pid);
	switch ((enum rv_kin)k.kin) {
	case RV_KIN_MAIN: main_ended(r, k.id, how); break;
	case RV_KIN_HELPER:
		kill(-pid, SIGKILL);
		if (k.done)
			note(r,
				&(struct rv_tiding){.kind = RV_TOLD_HELPER,
					.pid = pid,
					.how = how,
					.done = k.done,
					.arg = k.arg});
		break;
	case RV_KIN_ORPHAN:
		if (k.id != RV_NO_ID && r->lives[k.id].pid &&
			r->lives[k.id].generation == k.generation)
			r->lives[k.id].orphans--;
		break;
	case RV_KIN_FOREIGN:
	case RV_KIN_SEEN: break;
	}
}

/* At most `most` of those that ended; returns how many. */
static size_t collect(struct rv_reaper *r, size_t most)
{
	size_t n = 0;
	int status;
	pid_t pid = 0;

	while (n < most) {
		if (!can_tell(r))
			return n + 1; /* they wait: the next turn comes soon */
		pid = waitpid(-1, &status, WNOHANG | __WALL);
		if (!pid)
			break;
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			break;
		child_ended(r, pid, exit_of(status));
		n++;
	}
	r->childless = pid < 0;
	return n;
}

/* True when nothing is left of it. */
static bool judge(struct rv_reaper *r, rv_id id)
{
	struct rv_life *l = &r->lives[id];

	/* Before the group is signalled again: an empty one is nobody's, soon somebody else's. */
	l->group_empty = l->group_empty || (l->reaped && group_is_empty(l->group));
	if (l->killing)
		rv_kin_kill(r, id);
	if (!l->reaped || (l->expects && !l->how && !l->killing))
		return false;
	l->group_empty = l->group_empty || group_is_empty(l->group);
	if (!l->group_empty && !l->orphans)
		rv_kin_meet_deeply(r, id);
	return l->group_empty && !l->orphans;
}

static void bury(struct rv_reaper *r, rv_id id)
{
	note(r,
		&(struct rv_tiding){
			.kind = RV_TOLD_GONE, .id = id, .generation = r->lives[id].generation});
	r->lives[id] = (struct rv_life){0};
	if (r->seen.count)
		rv_kin_forget(r, id);
}

/* Ending lives that are over are taken off the list. */
static void judge_all(struct rv_reaper *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->active_count; i++) {
		rv_id id = r->active[i];

		if (can_tell(r) && judge(r, id))
			bury(r, id);
		else
			r->active[kept++] = id;
	}
	r->active_count = kept;
}

/* A life that only live children of ours hold open needs no clock: their end is a SIGCHLD. */
static bool needs_clock(const struct rv_reaper *r)
{
	for (size_t i = 0; i < r->active_count; i++) {
		const struct rv_life *l = &r->lives[r->active[i]];

		if (l->killing || !l->orphans)
			return true;
	}
	return false;
}

static void tell(struct rv_reaper *r)
{
	for (size_t i = 0; i < r->tiding_count; i++) {
		struct rv_tiding t = r->tidings[i]; /* the list may move while it is told */

		switch (t.kind) {
		case RV_TOLD_EXITED: r->ops->exited(r->ctx, t.id, t.generation, t.how); break;
		case RV_TOLD_GONE: r->ops->gone(r->ctx, t.id, t.generation); break;
		case RV_TOLD_HELPER: t.done(t.arg, t.pid, t.how); break;
		case RV_TOLD_HEIR:
			if (r->followed)
				r->followed(r->ctx, t.id, t.generation, t.pid);
			break;
		case RV_TOLD_NOTHING: break;
		}
	}
	r->tiding_count = 0;
}

/* The first round takes at most `first`, each later one all. Returns whether that was reached. */
static bool turn(struct rv_reaper *r, size_t first)
{
	bool safe = false, any = false, reached = false;

	assert(!r->turning);
	r->turning = true;
	r->met = false;
	for (int i = 0; i < ROUNDS && !safe; i++) {
		size_t n = collect(r, i ? SIZE_MAX : first);

		any = any || n;
		reached = !i && n == first;
		safe = !r->active_count || rv_kin_meet(r);
	}
	if (safe)
		judge_all(r);
	if (!safe || any)
		r->wait = SOONEST;
	else if (r->wait != RV_NEVER)
		r->wait = r->wait * 2 < LATEST ? r->wait * 2 : LATEST;
	tell(r);
	if (safe && !needs_clock(r))
		r->wait = RV_NEVER;
	else if (r->wait == RV_NEVER)
		r->wait = SOONEST;
	r->turning = false;
	return reached;
}

void rv_reaper_turn(struct rv_reaper *r)
{
	turn(r, SIZE_MAX);
}

bool rv_reaper_first(struct rv_reaper *r)
{
	return turn(r, 1);
}

rv_time rv_reaper_wait(const struct rv_reaper *r)
{
	return r->wait;
}

/* ---- the end ---- */

static size_t kill_children(struct rv_reaper *r)
{
	size_t left = 0;

	if (getpid() == 1)
		kill(-1, SIGKILL);
	r->list.count = 0;
	rv_proc_own_children(r->children_fd, &r->list);
	for (size_t i = 0; i < r->list.count; i++) {
		const struct rv_kinsman *k = rv_pidmap_find(&r->known, r->list.at[i]);
		bool foreign = k && k->kin == RV_KIN_FOREIGN && getpid() != 1;

		if (foreign)
			r->list.at[i--] = r->list.at[--r->list.count];
		else
			left++;
	}
	rv_proc_descend(&r->list, 0);
	for (size_t i = 0; i < r->list.count; i++)
		kill(r->list.at[i], SIGKILL);
	return left;
}

size_t rv_reaper_sweep(struct rv_reaper *r, rv_time limit)
{
	rv_time end = rv_now() + limit;
	struct timespec pause = {.tv_nsec = RV_MS / 4};
	size_t left, round = 0;
	bool late;

	for (;;) {
		late = ++round > LEAST_SWEEPS && rv_now() >= end;
		while (collect(r, SIZE_MAX))
			r->tiding_count = 0; /* nobody is told any more */
		left = r->childless ? 0 : kill_children(r);
		if (!left || late)
			break;
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec * 2 < LATEST / 10 ? pause.tv_nsec * 2 : LATEST / 10;
	}
	r->tiding_count = 0;
	return left;
}
