/* What a reload cannot change: it was settled when reeve began, and clients and services rely on it. */
#include "conf/whole.h"

#include <string.h>

struct reading {
	struct rv_complaints *c;
	const struct rv_whole *w;
};

static void compare(const struct reading *r, struct rv_place at, const char *key, const char *was,
	const char *is)
{
	const char *a = was ? was : "ours", *b = is ? is : "ours";

	if (strcmp(a, b) != 0)
		rv_complain(r->c, at,
			"reeve.%s cannot be changed by a reload, only by a restart of reeve: it is "
			"%s now, and would be %s",
			key, a, b);
}

static void compare_mode(const struct reading *r, unsigned was, unsigned is)
{
	if (was != is)
		rv_complain(r->c, r->w->conf.control_at,
			"reeve.control.mode cannot be changed by a reload, only by a restart of "
			"reeve: it is %04o now, and would be %04o",
			was, is);
}

void rv_fixed_check(const struct rv_whole *w, const struct rv_conf *before, struct rv_complaints *c)
{
	const struct reading r = {c, w};
	const struct rv_conf *now = &w->conf;

	compare(&r, now->runtime_dir_at, "runtime-dir", before->runtime_dir, now->runtime_dir);
	compare(&r, w->top.plugin_dir_at, "plugin-dir", before->plugin_dir, now->plugin_dir);
	compare_mode(&r, before->control_mode, now->control_mode);
	compare(&r, now->control_at, "control.owner", before->control_owner, now->control_owner);
	compare(&r, now->control_at, "control.group", before->control_group, now->control_group);
}
