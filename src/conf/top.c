/* The keys at the top of the file, and those of `reeve`. */
#include "conf/whole.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define AT(member) offsetof(struct rv_top, member)
#define LONG_TIME  (366 * 86400 * RV_SEC)

static rv_words failure_words = {"continue", "rollback", NULL};

static void read_version(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	int64_t n;

	(void)row;
	(void)to;
	if (!rv_read_integer(v, &n) || n != 1)
		rv_read_refuse(r, v, "1");
}

/* The folder is needed before there is an environment to look into. */
static void read_plugin_dir(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_top *t = to;

	(void)row;
	t->plugin_dir_at = v->at;
	if (v->kind != RV_TREE_SCALAR || *v->text != '/')
		rv_read_refuse(r, v, "an absolute path");
	else if (strstr(v->text, "${"))
		rv_read_complain(r, v->at, "cannot use ${...}; --plugin-dir can");
	else
		t->plugin_dir = rv_read_copy(r, v->text);
}

static void read_mode(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	unsigned mode;

	(void)row;
	if (v->kind == RV_TREE_SCALAR && rv_text_mode(v->text, &mode) && mode <= 0777)
		*(unsigned *)to = mode;
	else
		rv_read_refuse(r, v, "an octal mode such as \"0660\"");
}

static const struct rv_row control_rows[] = {
	{"mode", read_mode, AT(control_mode), NULL, 0, 0, NULL, false},
	{"owner", rv_read_string, AT(control_owner), NULL, 0, 0, NULL, false},
	{"group", rv_read_string, AT(control_group), NULL, 0, 0, NULL, false},
};
static const struct rv_table control_table = RV_TABLE(control_rows);

static void read_control(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	((struct rv_top *)to)->control_at = v->at;
	rv_read_table(r, &control_table, v, to);
}

static void read_exit_from(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_top *t = to;

	t->exit_from_at = v->at;
	rv_read_string(r, row, v, &t->exit_from);
}

/* Whether they can be had is found out later. */
static void read_runtime_dir(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_top *t = to;

	t->runtime_dir_at = v->at;
	rv_read_path(r, row, v, &t->runtime_dir);
}

static void read_report(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_top *t = to;

	t->report_at = v->at;
	rv_read_path(r, row, v, &t->termination_report);
}

/* The place is for the advice about time. */
static void read_boot_timeout(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_top *t = to;

	t->boot_timeout_at = v->at;
	rv_read_duration(r, row, v, &t->boot_timeout);
}

static void read_platform_window(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_top *t = to;

	t->platform_window_at = v->at;
	rv_read_duration(r, row, v, &t->platform_window);
}

static void read_log_dir(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "-"))
		*(const char **)to = NULL;
	else
		rv_read_path(r, row, v, to);
}

static const struct rv_row log_rows[] = {
	{"dir", read_log_dir, AT(log_dir), NULL, 0, 0, NULL, false},
};
static const struct rv_table log_table = RV_TABLE(log_rows);

static const struct rv_row reeve_rows[] = {
	{"runtime-dir", read_runtime_dir, 0, NULL, 0, 0, NULL, false},
	{"plugin-dir", read_plugin_dir, 0, NULL, 0, 0, NULL, false},
	{"control", read_control, 0, NULL, 0, 0, &control_table, false},
	{"max-starts", rv_read_uint, AT(max_starts), NULL, 0, 1000000, NULL, false},
	{"boot-timeout", read_boot_timeout, 0, NULL, 0, LONG_TIME, NULL, false},
	{"platform-window", read_platform_window, 0, NULL, 0, LONG_TIME, NULL, false},
	{"shutdown-timeout", rv_read_duration, AT(shutdown_timeout), NULL, 0, LONG_TIME, NULL,
		false},
	{"max-timeout", rv_read_duration, AT(max_timeout), NULL, 0, 600 * RV_SEC, NULL, false},
	{"start-grace", rv_read_duration, AT(start_grace), NULL, 0, LONG_TIME, NULL, false},
	{"on-boot-failure", rv_read_word, AT(on_boot_failure), failure_words, 0, 0, NULL, false},
	{"exit-from", read_exit_from, 0, NULL, 0, 0, NULL, false},
	{"termination-report", read_report, 0, NULL, 0, 0, NULL, false},
	{"log", rv_read_map, 0, NULL, 0, 0, &log_table, false},
};
static const struct rv_table reeve_table = RV_TABLE(reeve_rows);

static void read_environment(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	*(const char *const **)to = rv_environ_read_map(r, v);
}

static void read_services(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	if (v->kind == RV_TREE_MAP)
		*(const struct rv_tree **)to = v;
	else if (!rv_tree_is_null(v))
		rv_read_refuse(r, v, "a map of services");
}

static const struct rv_row top_rows[] = {
	{"version", read_version, 0, NULL, 0, 0, NULL, false},
	{"reeve", rv_read_map, 0, NULL, 0, 0, &reeve_table, false},
	{"environment", read_environment, AT(environment), NULL, 0, 0, NULL, false},
	{"environment-file", rv_environ_file, AT(file_env), NULL, 0, 0, NULL, false},
	{"services", read_services, AT(services), NULL, 0, 0, &rv_service_table, false},
};
const struct rv_table rv_top_table = RV_TABLE(top_rows);

void rv_top_read(struct rv_read *r, struct rv_top *t)
{
	*t = (struct rv_top){.runtime_dir = "/run/reeve",
		.plugin_dir = NULL,
		.log_dir = "/var/log/reeve",
		.control_mode = 0660,
		.boot_timeout = 25 * RV_SEC,
		.platform_window = 30 * RV_SEC,
		.shutdown_timeout = 20 * RV_SEC,
		.start_grace = 5 * RV_SEC,
		.on_boot_failure = 1};
	r->service = NULL;
	r->depth = 0;
	rv_read_table(r, &rv_top_table, r->draft->root, t);
}
