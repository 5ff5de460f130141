/* A life whose main process becomes another one: see reap.h.
 *
 * From then on session and group of the life are those of the new main process. While it lives their numbers are its
 * own, so they tell who belongs to it as those of the first one did. */
#include <stdio.h>
#include <unistd.h>

#include "daemon/kin.h"

void rv_reaper_expect_heir(struct rv_reaper *r, rv_id id)
{
	struct rv_life *l = rv_kin_life(r, id);
	struct rv_proc p;

	if (!l)
		return;
	l->expects = true;
	l->born = rv_proc_look(l->pid, &p) ? p.start : UINT64_MAX;
}

void rv_reaper_no_heir(struct rv_reaper *r, rv_id id)
{
	struct rv_life *l = rv_kin_life(r, id);

	if (!l)
		return;
	l->heir = 0;
	if (!l->expects)
		return;
	l->expects = false;
	if (l->active)
		r->wait = RV_MS;
}

/* Nobody is waited for any more: it is judged again when its new main process ends. */
static void rest(struct rv_reaper *r, rv_id id)
{
	size_t i = 0;

	if (!r->lives[id].active || r->lives[id].killing)
		return;
	while (r->active[i] != id)
		i++;
	r->active[i] = r->active[--r->active_count];
	r->lives[id].active = false;
}

/* 0 is a number of another namespace's, and ours is our own: who is in there is not one of the life for that. */
static void take_numbers(struct rv_life *l, const struct rv_proc *p)
{
	l->group_empty = p->group <= 1 || p->group == getpgrp();
	l->group = l->group_empty ? l->pid : p->group;
	l->session = p->session <= 1 || p->session == getsid(0) ? l->pid : p->session;
}

void rv_kin_renew(struct rv_life *l)
{
	struct rv_proc p;

	if (l->reaped || (l->group == l->pid && l->session == l->pid && !l->group_empty))
		return;
	if (rv_proc_look(l->pid, &p))
		take_numbers(l, &p);
}

bool rv_reaper_hand_over(struct rv_reaper *r, rv_id id, pid_t pid)
{
	struct rv_life *l = rv_kin_life(r, id);
	struct rv_kinsman *k = rv_pidmap_find(&r->known, pid), *before;
	struct rv_proc p;

	if (!l || !k || k->id != id || k->generation != l->generation)
		return false;
	if (k->kin == RV_KIN_MAIN)
		return true;
	if (k->kin != RV_KIN_ORPHAN || !rv_proc_look(pid, &p))
		return false;
	before = l->reaped ? NULL : rv_pidmap_find(&r->known, l->pid);
	if (before)
		before->kin = RV_KIN_ORPHAN;
	else
		l->orphans--;
	k->kin = RV_KIN_MAIN;
	l->pid = pid;
	l->how = RV_EXIT_UNKNOWN;
	l->reaped = l->recycled = l->expects = false;
	take_numbers(l, &p);
	r->heirs = true;
	rest(r, id);
	return true;
}

bool rv_reaper_follow(struct rv_reaper *r, rv_id id, pid_t pid)
{
	struct rv_life *l = rv_kin_life(r, id);
	struct rv_proc p;

	if (!l || l->expects || l->reaped || l->killing || !rv_proc_look(pid, &p))
		return false;
	l->heir = 0;
	rv_kin_meet(r);
	if (rv_reaper_hand_over(r, id, pid))
		return true;
	l->heir = pid;
	l->heir_start = p.start;
	return false;
}

void rv_reaper_on_follow(
	struct rv_reaper *r, void (*followed)(void *ctx, rv_id id, uint64_t generation, pid_t pid))
{
	r->followed = followed;
}

bool rv_kin_inherit(struct rv_reaper *r, rv_id id)
{
	struct rv_life *l = &r->lives[id];
	pid_t heir = l->heir;
	struct rv_proc p;

	l->heir = 0;
	if (l->killing || !rv_proc_look(heir, &p) || p.start != l->heir_start)
		return false;
	rv_kin_meet(r);
	return rv_reaper_hand_over(r, id, heir);
}

bool rv_reaper_claim(struct rv_reaper *r, rv_id id, pid_t pid)
{
	struct rv_life *l = rv_kin_life(r, id);
	struct rv_kinsman *k = rv_pidmap_find(&r->known, pid);
	struct rv_proc p;

	if (!l || !k || k->kin != RV_KIN_ORPHAN || k->id != RV_NO_ID || !rv_proc_look(pid, &p) ||
		p.start < l->born)
		return false;
	k->id = id;
	k->generation = l->generation;
	l->orphans++;
	return true;
}

void rv_reaper_unclaimed(struct rv_reaper *r, rv_id id, struct rv_pids *to)
{
	const struct rv_life *l = rv_kin_life(r, id);
	struct rv_proc p;

	if (!l)
		return;
	rv_kin_meet(r);
	for (size_t i = 0; i < r->known.room; i++) {
		const struct rv_kinsman *k = &r->known.at[i];

		if (k->pid && k->kin == RV_KIN_ORPHAN && k->id == RV_NO_ID &&
			rv_proc_look(k->pid, &p) && p.state != 'Z' && p.start >= l->born)
			rv_pids_add(to, k->pid);
	}
}
