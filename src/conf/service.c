/* The keys of one service. */
#include "conf/whole.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define AT(member)   offsetof(struct rv_detail, member)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static rv_words startup_words = {"disabled", "enabled", NULL};
static rv_words type_words = {"daemon", "task", "launcher", NULL};
static rv_words loss_words = {"restart", "stop", "keep", NULL};
static rv_words give_up_words = {"ignore", "shutdown", NULL};
static rv_words change_words = {"ignore", "restart", NULL};
static rv_words if_running_words = {"fail", "adopt", NULL};
static rv_words override_words = {"replace", NULL};

/* --- identity and process --------------------------------------------------------------------- */

static void read_plugin(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	(void)row;
	d->plugin_at = v->at;
	if (v->kind != RV_TREE_SCALAR || !rv_conf_is_name(v->text))
		rv_read_refuse(r, v, "the name of a plugin");
	else
		d->s.plugin = rv_read_copy(r, v->text);
}

static void read_type(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	d->type_given = true;
	rv_read_word(r, row, v, &d->type);
}

static void read_command(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	(void)row;
	d->has_command = true;
	d->command_at = v->at;
	d->s.command = rv_read_argv(r, v);
}

static void read_user(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	d->s.user_at = v->at;
	rv_read_string(r, row, v, &d->s.user);
}

static void read_group(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	d->s.group_at = v->at;
	rv_read_string(r, row, v, &d->s.group);
}

static void read_groups(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	d->s.groups_at = v->at;
	rv_read_names(r, row, v, &d->s.groups);
}

static void read_if_running(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	d->if_running_at = v->at;
	rv_read_word(r, row, v, &d->if_running);
	d->s.adopts = d->if_running;
}

static void read_recreate(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	d->recreate_at = v->at;
	rv_read_bool(r, row, v, &d->node.recreate);
}

static void read_umask(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;
	unsigned mode;

	(void)row;
	if (v->kind == RV_TREE_SCALAR && rv_text_mode(v->text, &mode) && mode <= 0777) {
		d->s.has_umask = true;
		d->s.umask = mode;
	} else {
		rv_read_refuse(r, v, "an octal mode such as \"022\"");
	}
}

/* --- environment ------------------------------------------------------------------------------ */

static void read_environment(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	*(const char *const **)to = rv_environ_read_map(r, v);
}

static void read_change(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	uint8_t word = 0;

	rv_read_word(r, row, v, &word);
	((struct rv_detail *)to)->s.renews = word;
}

static void read_inherit(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "all")) {
		d->inherit = RV_INHERIT_ALL;
	} else if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "none")) {
		d->inherit = RV_INHERIT_NONE;
	} else if (v->kind == RV_TREE_LIST) {
		rv_read_names(r, row, v, &d->inherit_names);
		d->inherit = d->inherit_names ? RV_INHERIT_NAMES : RV_INHERIT_NONE;
	} else {
		rv_read_refuse(r, v, "all, none or a list of names");
	}
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct rv_row service_rows[] = {
	{"plugin", read_plugin, 0, NULL, 0, 0, NULL, false},
	{"summary", rv_read_string, AT(s.summary), NULL, 0, 0, NULL, false},
	{"startup", rv_read_word, AT(startup), startup_words, 0, 0, NULL, false},
	{"type", read_type, 0, type_words, 0, 0, NULL, false},
	{"main-pid", rv_service_main_pid, 0, NULL, 0, 0, &rv_main_pid_table, false},
	{"essential", rv_read_bool, AT(s.essential), NULL, 0, 0, NULL, false},
	{"command", read_command, 0, NULL, 0, 0, NULL, false},
	{"needs", rv_read_tree, AT(needs), NULL, 0, 0, &rv_needs_table, false},
	{"wants", rv_read_tree, AT(wants), NULL, 0, 0, NULL, false},
	{"after", rv_read_tree, AT(after), NULL, 0, 0, NULL, false},
	{"part-of", rv_read_tree, AT(part_of), NULL, 0, 0, NULL, false},
	{"on-dependency-loss", rv_read_word, AT(node.on_loss), loss_words, 0, 0, NULL, false},
	{"user", read_user, 0, NULL, 0, 0, NULL, false},
	{"group", read_group, 0, NULL, 0, 0, NULL, false},
	{"groups", read_groups, 0, NULL, 0, 0, NULL, false},
	{"umask", read_umask, 0, NULL, 0, 0, NULL, false},
	{"limits", rv_service_limits, 0, NULL, 0, 0, NULL, false},
	{"working-dir", rv_read_path, AT(s.working_dir), NULL, 0, 0, NULL, false},
	{"environment", read_environment, AT(own_env), NULL, 0, 0, NULL, false},
	{"environment-file", rv_environ_file, AT(file_env), NULL, 0, 0, NULL, false},
	{"inherit-environment", read_inherit, 0, NULL, 0, 0, NULL, false},
	{"on-environment-change", read_change, 0, change_words, 0, 0, NULL, false},
	{"ports", rv_service_ports, 0, NULL, 0, 0, NULL, false},
	{"if-running", read_if_running, 0, if_running_words, 0, 0, NULL, false},
	{"listen", rv_service_listen, 0, NULL, 0, 0, &rv_listen_table, true},
	{"ready", rv_service_ready, 0, NULL, 0, 0, &rv_ready_table, false},
	{"health", rv_service_health, 0, NULL, 0, 0, &rv_health_table, false},
	{"restart", rv_service_restart, 0, NULL, 0, 0, &rv_restart_table, false},
	{"recreate", read_recreate, 0, NULL, 0, 0, NULL, false},
	{"start-attempts", rv_read_uint, AT(node.start_attempts), NULL, 1, 1000000, NULL, false},
	{"on-give-up", rv_read_word, AT(node.give_up_ends), give_up_words, 0, 0, NULL, false},
	{"stop", rv_service_stop, 0, NULL, 0, 0, &rv_stop_table, false},
	{"log", rv_service_log, 0, NULL, 0, 0, &rv_log_table, false},
	{"options", rv_read_tree, AT(options), NULL, 0, 0, NULL, false},
	{"override", rv_read_word, AT(override_word), override_words, 0, 0, NULL, false},
};
const struct rv_table rv_service_table = RV_TABLE(service_rows);

static void init_detail(struct rv_detail *d)
{
	static const struct rv_step term = {SIGTERM, RV_TO_GROUP, 5 * RV_SEC};

	*d = (struct rv_detail){.startup = 1};
	d->s.plugin = "exec";
	d->s.essential = true;
	d->s.ready.timeout = 30 * RV_SEC;
	d->s.ready.attempt_timeout = 2 * RV_SEC;
	d->s.log = (struct rv_log_conf){.kind = RV_LOG_FILE, .max_size = 10 << 20, .keep = 5};
	d->node = (struct rv_node){.present = true,
		.restart_on = RV_RESTART_FAILURE,
		.start_attempts = 1,
		.delay = 200 * RV_MS,
		.factor_milli = 2000,
		.max_delay = 30 * RV_SEC,
		.limit = 5,
		.window = 60 * RV_SEC,
		.stop_hook_timeout = 5 * RV_SEC,
		.cleanup_timeout = 10 * RV_SEC,
		.step_count = 1};
	d->steps = &term;
}

void rv_detail_read(struct rv_read *r, struct rv_detail *d, const struct rv_pair *p)
{
	init_detail(d);
	d->s.name = rv_read_copy(r, p->key);
	d->s.at = p->at;
	d->plugin_at = p->at;
	r->service = d->s.name;
	r->depth = 0;
	r->listen = NULL;
	r->listen_count = 0;
	r->ready_fd = -1;
	if (!rv_conf_is_name(p->key))
		rv_complain(r->c, p->at,
			"'%s' is no name for a service: use letters, digits, '-', "
			"'_', '.' and '@', at most 100, not '-' or '.' first",
			p->key);
	if (rv_tree_is_null(p->value)) {
		rv_complain(r->c, p->at, "service '%s' is empty", p->key);
	} else {
		rv_service_number_fd(r, p->value);
		rv_read_table(r, &rv_service_table, p->value, d);
	}
	d->s.enabled = d->node.enabled = d->startup;
	d->node.essential = d->s.essential;
	d->s.type = (enum rv_type)d->type;
	if (d->type == RV_TASK && d->node.restart_on == RV_RESTART_ALWAYS)
		rv_complain(r->c, rv_tree_get(p->value, "restart")->at,
			"restart of service '%s' cannot be always: a task that has ended with 0 is "
			"done; "
			"write failure or never",
			d->s.name);
	d->node.type = d->type;
	d->node.ready_timeout = d->s.ready.timeout;
}
