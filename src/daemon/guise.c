/* The file-system identity of this thread, exchanged for a while: see guise.h. */
#include "daemon/guise.h"

#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Straight to the kernel: libc's own would do it for all threads and look for them first. */
static bool set_groups(size_t n, const gid_t *groups)
{
	return !syscall(SYS_setgroups, n, groups);
}

static bool keep_groups(struct rv_guise *g)
{
	g->group_count = getgroups(0, NULL);
	if (g->group_count < 0)
		return false;
	g->groups = calloc((size_t)g->group_count + 1, sizeof(*g->groups));
	return g->groups && getgroups(g->group_count, g->groups) == g->group_count;
}

bool rv_guise_begin(struct rv_guise *g, const struct rv_ident *who)
{
	*g = (struct rv_guise){.dumpable = prctl(PR_GET_DUMPABLE)};
	if (!who->set_uid && !who->set_gid && !who->set_groups)
		return true;
	if (!keep_groups(g) || (who->set_groups && !set_groups(who->group_count, who->groups))) {
		free(g->groups);
		return false;
	}
	g->worn = true;
	/* As a user that is not root our capabilities over files rest. */
	if (who->set_gid)
		setfsgid(who->gid);
	if (who->set_uid)
		setfsuid(who->uid);
	if ((!who->set_gid || setfsgid((gid_t)-1) == (int)who->gid) &&
		(!who->set_uid || setfsuid((uid_t)-1) == (int)who->uid))
		return true;
	rv_guise_end(g);
	return false;
}

void rv_guise_end(struct rv_guise *g)
{
	if (!g->worn)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	set_groups((size_t)g->group_count, g->groups);
	free(g->groups);
	/* The kernel takes a process that looked as somebody else for one with secrets. */
	if (g->dumpable == 1)
		prctl(PR_SET_DUMPABLE, 1);
	*g = (struct rv_guise){0};
}
