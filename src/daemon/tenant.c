/* Who listens on a port: see tenant.h. */
#include "daemon/tenant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/holder.h"
#include "daemon/proc.h"

/* What a service of ours left behind has its mark: who we are, the slot, the generation. */
static rv_id left_by(const struct rv_world *w, pid_t pid)
{
	size_t n = strlen(w->boot_id);
	char mark[RV_MARK_SIZE], *end;
	unsigned long id;

	if (!rv_proc_variable(pid, "REEVE_INVOCATION_ID", mark, sizeof(mark)) ||
		strncmp(mark, w->boot_id, n) != 0 || mark[n] != '-')
		return RV_NO_ID;
	id = strtoul(mark + n + 1, &end, 10);
	return *end == '-' && id < w->conf->service_count && w->conf->services[id].name ? (rv_id)id
											: RV_NO_ID;
}

bool rv_tenant_of(const struct rv_world *w, unsigned long inode, struct rv_tenant *t)
{
	const char *how = "of";
	char who[128];

	*t = (struct rv_tenant){.service = RV_NO_ID};
	if (!rv_inode_holder(inode, &t->pid, who, sizeof(who))) {
		t->pid = 0;
		snprintf(t->text, sizeof(t->text), "a process that we may not see");
		return false;
	}
	t->service = rv_reaper_whose(w->reaper, t->pid);
	if (t->service == RV_NO_ID) {
		t->service = left_by(w, t->pid);
		how = "left behind by";
	}
	if (t->service == RV_NO_ID)
		snprintf(t->text, sizeof(t->text), "%s", who);
	else
		snprintf(t->text, sizeof(t->text), "%s %s service %s", who, how,
			w->conf->services[t->service].name);
	return true;
}

bool rv_tenant_find(const struct rv_world *w, uint16_t port, struct rv_tenant *t)
{
	struct rv_port_use use = {0};
	bool any = rv_port_look(port, true, &use);

	rv_tenant_of(w, any ? use.inode : 0, t);
	return any;
}
