/* How the daemon that a launcher leaves behind is told from whatever else it leaves. */
#include "conf/whole.h"

#include <string.h>

static void read_port(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_main_pid *m = to;
	int64_t n;

	(void)row;
	m->by = RV_MAIN_PORT;
	if (rv_read_integer(v, &n) && n >= 1 && n <= 65535)
		m->port = (uint16_t)n;
	else
		rv_read_refuse(r, v, "a port from 1 to 65535 (without quotes)");
}

static void read_file(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_main_pid *m = to;

	m->by = RV_MAIN_FILE;
	rv_read_path(r, row, v, &m->file);
}

static const struct rv_row main_pid_rows[] = {
	{"file", read_file, 0, NULL, 0, 0, NULL, false},
	{"port", read_port, 0, NULL, 0, 0, NULL, false},
};
const struct rv_table rv_main_pid_table = RV_TABLE(main_pid_rows);

void rv_service_main_pid(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	(void)row;
	d->main_pid_at = v->at;
	d->s.main_pid = (struct rv_main_pid){.by = RV_MAIN_TREE, .given = true};
	if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "tree"))
		return;
	if (v->kind == RV_TREE_MAP && v->count > 1 && rv_tree_get(v, "file") &&
		rv_tree_get(v, "port"))
		rv_read_complain(r, v->at, "has both a file and a port: one of them is enough");
	else if (v->kind == RV_TREE_MAP && v->count)
		rv_read_table(r, &rv_main_pid_table, v, &d->s.main_pid);
	else
		rv_read_refuse(r, v, "tree, {file: PATH} or {port: NUMBER}");
}

/* The file's word is the last, about both. */
static void take_finder(struct rv_whole *w, struct rv_detail *d, const struct rv_recipe *recipe,
	struct rv_complaints *c)
{
	if (recipe->pid_file && *recipe->pid_file != '/') {
		rv_complain(c, d->s.at,
			"service '%s': the pid file that plugin %s names must be an absolute path",
			d->s.name, d->s.plugin);
	} else if (recipe->pid_file) {
		d->s.main_pid.by = RV_MAIN_FILE;
		d->s.main_pid.file = rv_arena_strdup(&w->conf.arena, recipe->pid_file);
	} else if (recipe->main_port) {
		d->s.main_pid.by = RV_MAIN_PORT;
		d->s.main_pid.port = recipe->main_port;
	}
}

void rv_main_pid_settle(struct rv_whole *w, struct rv_detail *d, const struct rv_recipe *recipe,
	struct rv_complaints *c)
{
	if (recipe && recipe->type && !d->type_given)
		d->node.type = d->type = (uint8_t)(recipe->type - 1);
	d->s.type = (enum rv_type)d->type;
	if (d->type == RV_LAUNCHER && recipe && !d->s.main_pid.given)
		take_finder(w, d, recipe, c);
	if (d->s.ready.exit && d->type == RV_DAEMON)
		rv_complain(c, d->s.ready.at,
			"ready.exit of service '%s' is for tasks and launchers: a daemon that ends "
			"before it is ready has failed",
			d->s.name);
	if (d->s.main_pid.given && d->type != RV_LAUNCHER)
		rv_complain(c, d->main_pid_at,
			"main-pid of service '%s' says where a launcher's daemon is found, but its "
			"type is %s: write type: launcher, or leave main-pid out",
			d->s.name, d->type == RV_TASK ? "task" : "daemon");
}
