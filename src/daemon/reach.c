/* What may be done to a life, and asked about it: see reap.h. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "daemon/kin.h"

/* Those of the tree that are not in the group of the main process, one by one. */
static bool signal_strays(struct rv_reaper *r, rv_id id, const struct rv_pids *list, int number)
{
	const struct rv_life *l = &r->lives[id];
	struct rv_proc p;
	bool any = false;

	for (size_t i = 0; i < list->count; i++)
		if (rv_proc_look(list->at[i], &p) && (l->group_empty || p.group != l->group))
			any = rv_kin_signal(r, p.pid, number) || any;
	return any;
}

static bool signal_group(const struct rv_life *l, int number)
{
	return !l->group_empty && !kill(-l->group, number);
}

static bool deliver(
	struct rv_reaper *r, rv_id id, const struct rv_pids *list, int number, enum rv_target to)
{
	const struct rv_life *l = &r->lives[id];
	bool any = false;

	switch (to) {
	case RV_TO_MAIN: any = !l->reaped && !kill(l->pid, number); break;
	case RV_TO_GROUP:
		any = l->group_empty && !l->reaped ? !kill(l->pid, number)
						   : signal_group(l, number);
		break;
	case RV_TO_TREE: any = signal_group(l, number); __attribute__((fallthrough));
	case RV_TO_STRAYS: any = signal_strays(r, id, list, number) || any; break;
	}
	return any;
}

static bool reach(struct rv_reaper *r, rv_id id, int number, enum rv_target to, bool wake)
{
	struct rv_life *l = rv_kin_life(r, id);
	struct rv_pids list = {0};
	bool any;

	if (!l)
		return false;
	rv_kin_renew(l);
	if (wake)
		rv_reaper_no_heir(r, id);
	/* Whoever leaves at this signal leaves orphans: look who they are while they can be told. */
	if ((to == RV_TO_TREE || to == RV_TO_STRAYS) && l->reaped)
		rv_kin_meet(r);
	rv_kin_list(r, id, &list);
	any = deliver(r, id, &list, number, to);
	if (any && wake)
		deliver(r, id, &list, SIGCONT, to);
	rv_pids_fini(&list);
	return any;
}

bool rv_reaper_signal(struct rv_reaper *r, rv_id id, int number, enum rv_target to)
{
	return reach(r, id, number, to, false);
}

bool rv_reaper_ask(struct rv_reaper *r, rv_id id, int number, enum rv_target to)
{
	return reach(r, id, number, to, number != SIGSTOP && number != SIGTSTP);
}

void rv_reaper_kill(struct rv_reaper *r, rv_id id)
{
	struct rv_life *l = rv_kin_life(r, id);

	if (!l)
		return;
	l->expects = false;
	l->killing = true;
	rv_kin_activate(r, id);
	/* Once for many: a turn follows, and meets and kills again. */
	if (!r->met)
		rv_kin_meet(r);
	r->met = true;
	rv_kin_kill(r, id);
	r->wait = RV_MS;
}

/* ---- questions ---- */

void rv_reaper_list(struct rv_reaper *r, rv_id id, struct rv_pids *to)
{
	if (!rv_kin_life(r, id))
		return;
	rv_kin_meet(r);
	rv_kin_list(r, id, to);
}

void rv_reaper_name(struct rv_reaper *r, rv_id id, struct rv_buf *to)
{
	struct rv_pids list = {0};
	struct rv_proc p;
	bool first = true;

	rv_reaper_list(r, id, &list);
	for (size_t i = 0; i < list.count; i++) {
		if (!rv_proc_look(list.at[i], &p))
			continue;
		rv_buf_fmt(to, "%s%d (", first ? "" : ", ", (int)p.pid);
		rv_text_visible(to, p.command, strlen(p.command));
		rv_buf_str(to,
			kill(p.pid, 0) && errno == EPERM
				? "; reeve may not signal it, for want of CAP_KILL)"
				: ")");
		first = false;
	}
	rv_pids_fini(&list);
}

pid_t rv_reaper_pid(const struct rv_reaper *r, rv_id id)
{
	const struct rv_life *l = rv_kin_life(r, id);

	return l && !l->reaped ? l->pid : 0;
}

rv_id rv_reaper_whose(struct rv_reaper *r, pid_t pid)
{
	pid_t self = getpid();
	struct rv_proc p;

	rv_kin_meet(r);
	for (int i = 0; i < 4096 && pid > 1 && pid != self; i++) {
		const struct rv_kinsman *k = rv_pidmap_find(&r->known, pid);
		const struct rv_life *l = k ? rv_kin_life(r, k->id) : NULL;

		if (k)
			return l && (k->kin == RV_KIN_MAIN || k->kin == RV_KIN_ORPHAN) &&
					k->generation == l->generation
				? k->id
				: RV_NO_ID;
		if (!rv_proc_look(pid, &p))
			break;
		pid = p.parent;
	}
	return RV_NO_ID;
}

bool rv_reaper_owns(struct rv_reaper *r, rv_id id, pid_t pid)
{
	return rv_kin_life(r, id) && rv_reaper_whose(r, pid) == id;
}
