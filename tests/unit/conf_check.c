/* Unit tests of src/conf: keys, types, defaults, and the words in which mistakes are told. */
#include "conf_help.h"

#include <signal.h>
#include <sys/resource.h>

/* One key of one service, refused with one line; `at` is the column of the value. */
static void refuse_key(const char *key_and_value, unsigned column, const char *text)
{
	char yaml[500], complaint[600];

	snprintf(yaml, sizeof(yaml), "services:\n  a:\n    command: x\n    %s\n", key_and_value);
	snprintf(complaint, sizeof(complaint), "t.yaml:4:%u: %s\n", column, text);
	refuse(yaml, complaint);
}

static struct got accept_key(const char *key_and_value)
{
	char yaml[500];

	snprintf(yaml, sizeof(yaml), "services:\n  a:\n    command: x\n    %s\n", key_and_value);
	return accept(yaml);
}

static void the_defaults_are_those_of_the_manual(void **state)
{
	struct got g = accept("services: {a: {command: x}}\n");
	const struct rv_service *s = service(&g, "a");
	const struct rv_node *n = node(&g, "a");
	const struct rv_plan *p = g.conf->plan;

	(void)state;
	assert_string_equal(g.conf->runtime_dir, "/run/reeve");
	assert_string_equal(g.conf->log_dir, "/var/log/reeve");
	assert_int_equal(g.conf->control_mode, 0660);
	assert_null(g.conf->control_owner);
	assert_int_equal(p->max_starts, 0);
	assert_int_equal(p->boot_timeout, 25 * RV_SEC);
	assert_int_equal(p->start_grace, 5 * RV_SEC);
	assert_int_equal(p->shutdown_timeout, 20 * RV_SEC);
	assert_int_equal(p->kill_timeout, 5 * RV_SEC);
	assert_true(p->rollback);
	assert_int_equal(p->exit_from, RV_NO_ID);
	assert_string_equal(s->plugin, "exec");
	assert_true(s->enabled && s->essential && n->enabled && n->essential);
	assert_int_equal(s->type, RV_DAEMON);
	assert_null(s->user);
	assert_null(s->groups);
	assert_null(s->working_dir);
	assert_false(s->has_umask || s->has_ready);
	assert_int_equal(s->ready.timeout, 30 * RV_SEC);
	assert_int_equal(s->ready.attempt_timeout, 2 * RV_SEC);
	assert_int_equal(s->log.kind, RV_LOG_FILE);
	assert_string_equal(s->log.path, "/var/log/reeve/a.log");
	assert_int_equal(s->log.max_size, 10 << 20);
	assert_int_equal(s->log.keep, 5);
	assert_true(n->present);
	assert_int_equal(n->restart_on, RV_RESTART_FAILURE);
	assert_int_equal(n->delay, 200 * RV_MS);
	assert_int_equal(n->factor_milli, 2000);
	assert_int_equal(n->max_delay, 30 * RV_SEC);
	assert_int_equal(n->limit, 5);
	assert_int_equal(n->window, 60 * RV_SEC);
	assert_int_equal(n->start_attempts, 1);
	assert_false(n->give_up_ends);
	assert_int_equal(n->on_loss, RV_LOSS_RESTART);
	assert_int_equal(n->proof, RV_PROOF_NONE);
	assert_int_equal(n->step_count, 1);
	assert_int_equal(p->steps[n->first_step].signal, SIGTERM);
	assert_int_equal(p->steps[n->first_step].timeout, 5 * RV_SEC);
	assert_int_equal(p->steps[n->first_step].to, RV_TO_GROUP);
	put_away(&g);
}

static void every_key_of_the_supervisor_arrives(void **state)
{
	struct got g = accept("version: 1\n"
			      "reeve:\n"
			      "  runtime-dir: /tmp/r\n"
			      "  plugin-dir: /tmp/p\n"
			      "  control: {mode: \"0600\", owner: root, group: sandbox}\n"
			      "  max-starts: 4\n"
			      "  boot-timeout: 1m\n"
			      "  platform-window: 2m\n"
			      "  termination-report: /tmp/t\n"
			      "  shutdown-timeout: 2m\n"
			      "  start-grace: 1s\n"
			      "  on-boot-failure: continue\n"
			      "  exit-from: a\n"
			      "  log: {dir: /tmp/l}\n"
			      "services: {a: {command: x}}\n");
	const struct rv_plan *p = g.conf->plan;

	(void)state;
	assert_string_equal(g.conf->runtime_dir, "/tmp/r");
	assert_string_equal(g.conf->termination_report, "/tmp/t");
	assert_int_equal(g.c.warnings, 0);
	assert_string_equal(g.conf->plugin_dir, "/tmp/p");
	assert_int_equal(g.conf->control_mode, 0600);
	assert_string_equal(g.conf->control_owner, "root");
	assert_string_equal(g.conf->control_group, "sandbox");
	assert_int_equal(p->max_starts, 4);
	assert_int_equal(p->boot_timeout, 60 * RV_SEC);
	assert_int_equal(p->shutdown_timeout, 120 * RV_SEC);
	assert_int_equal(p->start_grace, RV_SEC);
	assert_false(p->rollback);
	assert_int_equal(p->exit_from, service(&g, "a")->id);
	assert_string_equal(service(&g, "a")->log.path, "/tmp/l/a.log");
	put_away(&g);
}

static void every_key_of_a_service_arrives(void **state)
{
	struct got g = accept(
		"services:\n"
		"  t: {command: x, type: task, startup: disabled, essential: false}\n"
		"  w: {command: x}\n"
		"  a:\n"
		"    plugin: exec\n"
		"    summary: does things\n"
		"    command: [prog, \"an arg\", '']\n"
		"    needs: [t, {service: w, until: started}]\n"
		"    on-dependency-loss: keep\n"
		"    user: 1000\n"
		"    group: g\n"
		"    groups: [g1, g2]\n"
		"    umask: \"027\"\n"
		"    limits: {nofile: {soft: 100, hard: unlimited}, core: 0, stack: 8MiB}\n"
		"    working-dir: /srv\n"
		"    ports: [80, 0x51]\n"
		"    restart: {on: always, delay: 1s, factor: 1.5, max-delay: 9s, limit: 0, "
		"window: 2m}\n"
		"    start-attempts: 3\n"
		"    on-give-up: shutdown\n"
		"    stop: {signal: INT, timeout: 1s, to: main}\n"
		"    log: {file: /tmp/a.log, max-size: 64KiB, keep: 2}\n");
	const struct rv_service *s = service(&g, "a");
	const struct rv_node *n = node(&g, "a");
	const struct rv_step *step = &g.conf->plan->steps[n->first_step];

	(void)state;
	assert_int_equal(service(&g, "t")->type, RV_TASK);
	assert_int_equal(node(&g, "t")->type, RV_TASK);
	assert_false(node(&g, "t")->enabled || node(&g, "t")->essential);
	assert_string_equal(s->summary, "does things");
	assert_list(s->argv, "prog|an arg||");
	assert_int_equal(s->dep_count, 2);
	assert_int_equal(s->deps[0].until, RV_UNTIL_EXITED);
	assert_int_equal(s->deps[1].until, RV_UNTIL_STARTED);
	assert_int_equal(n->on_loss, RV_LOSS_KEEP);
	assert_string_equal(s->user, "1000");
	assert_string_equal(s->group, "g");
	assert_list(s->groups, "g1|g2|");
	assert_true(s->has_umask && s->umask == 027);
	assert_int_equal(s->limit_count, 3);
	assert_int_equal(s->limits[0].resource, RLIMIT_NOFILE);
	assert_int_equal(s->limits[0].soft, 100);
	assert_true(s->limits[0].hard == UINT64_MAX);
	assert_int_equal(s->limits[1].hard, 0);
	assert_int_equal(s->limits[2].soft, 8 << 20);
	assert_string_equal(s->working_dir, "/srv");
	assert_int_equal(s->port_count, 2);
	assert_int_equal(s->ports[0], 80);
	assert_int_equal(s->ports[1], 81);
	assert_int_equal(n->restart_on, RV_RESTART_ALWAYS);
	assert_int_equal(n->delay, RV_SEC);
	assert_int_equal(n->factor_milli, 1500);
	assert_int_equal(n->max_delay, 9 * RV_SEC);
	assert_int_equal(n->limit, 0);
	assert_int_equal(n->window, 120 * RV_SEC);
	assert_int_equal(n->start_attempts, 3);
	assert_true(n->give_up_ends);
	assert_int_equal(step->signal, SIGINT);
	assert_int_equal(step->timeout, RV_SEC);
	assert_int_equal(step->to, RV_TO_MAIN);
	assert_string_equal(s->log.path, "/tmp/a.log");
	assert_int_equal(s->log.max_size, 65536);
	assert_int_equal(s->log.keep, 2);
	put_away(&g);
}

static void unknown_keys_are_told_with_the_nearest_one(void **state)
{
	(void)state;
	refuse("servces: {}\nservices: {a: {command: x}}\n",
		"t.yaml:1:1: unknown key 'servces' (did you mean 'services'?)\n");
	refuse("reeve: {boot-timout: 1s}\nservices: {a: {command: x}}\n",
		"t.yaml:1:9: unknown key 'boot-timout' in reeve (did you mean 'boot-timeout'?)\n");
	refuse_key("comand: y", 5, "unknown key 'comand' in service 'a' (did you mean 'command'?)");
	refuse_key("restart: {dely: 1s}", 15,
		"unknown key 'dely' in restart of service 'a' (did you mean 'delay'?)");
	refuse_key(
		"env: {A: 1}", 5, "unknown key 'env' in service 'a' (did you mean 'environment'?)");
	refuse_key("Working_Dir: /", 5,
		"unknown key 'Working_Dir' in service 'a' (did you mean 'working-dir'?)");
	refuse_key("xyzzy: 1", 5, "unknown key 'xyzzy' in service 'a'");
}

static void a_launcher_says_where_its_daemon_is_found(void **state)
{
	(void)state;
	refuse_key("type: lancher", 11,
		"type of service 'a' must be daemon, task or launcher, not lancher");
	refuse_key("main-pid: tre", 15,
		"main-pid of service 'a' must be tree, {file: PATH} or {port: NUMBER}, not tre");
	refuse_key("main-pid: {file: x.pid}", 22,
		"main-pid.file of service 'a' must be an absolute path, not x.pid");
	refuse_key("main-pid: {port: 0}", 22,
		"main-pid.port of service 'a' must be a port from 1 to 65535 (without quotes), not "
		"0");
	refuse_key("main-pid: {prot: 1}", 16,
		"unknown key 'prot' in main-pid of service 'a' (did you mean 'port'?)");
	refuse_key("main-pid: {file: /x, port: 1}", 15,
		"main-pid of service 'a' has both a file and a port: one of them is enough");
	refuse_key("main-pid: {}", 15,
		"main-pid of service 'a' must be tree, {file: PATH} or {port: NUMBER}, not a map");
}

static void a_ceiling_has_one_itself(void **state)
{
	(void)state;
	refuse("reeve: {max-timeout: 11m}\nservices: {a: {command: x}}\n",
		"t.yaml:1:22: reeve.max-timeout must be at most 10m, not 11m\n");
}

/* Strings are the text between colon and end of line. */
static void strings_are_exactly_as_written(void **state)
{
	static const struct {
		const char *name, *value;
	} t[] = {{"COUNTRY", "no"}, {"FLAG", "yes"}, {"SW", "off"}, {"VER", "1.10"},
		{"HEX", "0x1F"}, {"OCT", "010"}, {"EXP", "1e3"}, {"US", "1_000"}, {"Z", "08"},
		{"T", "~"}, {"N", "null"}, {"E", ""}, {"D", "2026-11-29"}, {"SX", "22:22"},
		{"INF", ".inf"}, {"NEG", "-0"}};
	static const char *const names[] = {"no", "on", "null", "1"};
	struct rv_buf b = {0};
	struct got g;

	(void)state;
	rv_buf_str(&b, "services:\n");
	for (size_t i = 0; i < COUNT(names); i++) {
		rv_buf_fmt(&b,
			"  %s:\n    command: [x, 1.10, ~, no]\n    user: 007\n    environment:\n",
			names[i]);
		for (size_t k = 0; k < COUNT(t); k++)
			rv_buf_fmt(&b, "      %s: %s\n", t[k].name, t[k].value);
	}
	g = accept(rv_buf_text(&b));
	for (size_t i = 0; i < COUNT(names); i++) {
		const struct rv_service *s = service(&g, names[i]);

		assert_list(s->argv, "x|1.10|~|no|");
		assert_string_equal(s->user, "007");
		for (size_t k = 0; k < COUNT(t); k++)
			assert_variable(s, t[k].name, t[k].value);
	}
	put_away(&g);
	rv_buf_fini(&b);
}

/* Booleans. */
static void booleans_accept_true_and_false_without_quotes(void **state)
{
	static const char *const bad[] = {"yes", "1", "maybe", "\"true\"", "on", "~", "[true]"};
	static const char *const shown[] = {"yes", "1", "maybe", "\"true\"", "on", "~", "a list"};
	struct got g;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		char key[60], text[200];

		snprintf(key, sizeof(key), "essential: %s", bad[i]);
		snprintf(text, sizeof(text),
			"essential of service 'a' must be true or false (without quotes), not %s",
			shown[i]);
		refuse_key(key, 16, text);
	}
	g = accept_key("essential: False");
	assert_false(service(&g, "a")->essential);
	put_away(&g);
	g = accept_key("essential: true");
	assert_true(service(&g, "a")->essential);
	put_away(&g);
}

static void numbers_have_no_quotes_and_a_range(void **state)
{
	struct got g = accept_key("start-attempts: 3");

	(void)state;
	put_away(&g);
	refuse_key("start-attempts: \"3\"", 21,
		"start-attempts of service 'a' must be a number from 1 "
		"to 1000000 (without quotes), not \"3\"");
	refuse_key("start-attempts: 0", 21,
		"start-attempts of service 'a' must be a number from 1 to "
		"1000000 (without quotes), not 0");
	refuse_key("start-attempts: -1", 21,
		"start-attempts of service 'a' must be a number from 1 to "
		"1000000 (without quotes), not -1");
	refuse_key("start-attempts: 3.5", 21,
		"start-attempts of service 'a' must be a number from 1 "
		"to 1000000 (without quotes), not 3.5");
	refuse_key("ports: [80, \"81\"]", 17,
		"ports of service 'a' must be a list of numbers from 1 "
		"to 65535 (without quotes), not \"81\"");
	refuse_key("ports: [0]", 13,
		"ports of service 'a' must be a list of numbers from 1 to 65535 "
		"(without quotes), not 0");
	refuse_key("restart: {factor: 0.5}", 23,
		"restart.factor of service 'a' must be a number from "
		"1 to 100, at most three digits behind the point, "
		"not 0.5");
}

static void durations_sizes_and_modes_say_what_they_expect(void **state)
{
	(void)state;
	refuse_key("restart: {delay: 5}", 22,
		"restart.delay of service 'a' must be a duration with "
		"its unit, such as 250ms, 5s or 2m, not 5");
	refuse_key("ready: {timeout: 0}", 22,
		"ready.timeout of service 'a' must be at least 1ms, "
		"not 0");
	refuse_key("log: {max-size: 10 MB}", 21,
		"log.max-size of service 'a' must be a size such as "
		"64KiB, 10MiB or a number of bytes, not 10 MB");
	refuse_key("umask: 088", 12,
		"umask of service 'a' must be an octal mode such as \"022\", not "
		"088");
	refuse_key("limits: {nofil: 5}", 14,
		"limits of service 'a' has no limit called 'nofil' (did "
		"you mean 'nofile'?)");
	refuse_key("limits: {nofile: {soft: 9, hard: 8}}", 22,
		"limits.nofile of service 'a' has a soft limit above the hard one");
	refuse("reeve: {control: {mode: rw}}\nservices: {a: {command: x}}\n",
		"t.yaml:1:25: reeve.control.mode must be an octal mode such as \"0660\", not rw\n");
}

static void words_are_told_in_full(void **state)
{
	(void)state;
	refuse_key(
		"startup: off", 14, "startup of service 'a' must be disabled or enabled, not off");
	refuse_key("on-dependency-loss: die", 25,
		"on-dependency-loss of service 'a' must be restart, stop or keep, not die");
	refuse_key("stop: {to: all}", 16,
		"stop.to of service 'a' must be group, main or tree, not all");
	refuse_key("stop: {signal: NOPE}", 20,
		"stop.signal of service 'a' must be a signal such as TERM, INT or QUIT, not NOPE");
	refuse("version: 2\nservices: {a: {command: x}}\n",
		"t.yaml:1:10: version must be 1, not 2\n");
}

/* `restart: no` and `restart: "no"` mean the same. */
static void restart_may_be_one_word(void **state)
{
	static const struct {
		const char *text;
		int on;
	} t[] = {{"restart: no", RV_RESTART_NEVER}, {"restart: \"no\"", RV_RESTART_NEVER},
		{"restart: never", RV_RESTART_NEVER}, {"restart: {on: no}", RV_RESTART_NEVER},
		{"restart: always", RV_RESTART_ALWAYS}, {"restart: failure", RV_RESTART_FAILURE},
		{"restart: {limit: 1}", RV_RESTART_FAILURE}};

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		struct got g = accept_key(t[i].text);

		assert_int_equal(node(&g, "a")->restart_on, t[i].on);
		put_away(&g);
	}
	refuse_key("restart: maybe", 14,
		"restart of service 'a' must be never (or no), failure or always, not maybe");
	refuse_key("restart: {delay: 5s, max-delay: 1s}", 14,
		"restart of service 'a' has a max-delay below its delay");
}

static void a_task_is_not_restarted_for_having_ended_well(void **state)
{
	struct got g = accept_key("type: task\n    restart: failure");

	(void)state;
	put_away(&g);
	refuse_key("restart: always\n    type: task", 14,
		"restart of service 'a' cannot be always: a task that has ended with 0 is done; "
		"write failure or never");
	refuse_key("restart: {on: always}\n    type: task", 14,
		"restart of service 'a' cannot be always: a task that has ended with 0 is done; "
		"write failure or never");
}

static void a_command_is_a_list_or_a_string_with_quotes(void **state)
{
	struct got g = accept("services: {a: {command: \"x 'a b' \\\"c d\\\" $HOME *\"}}\n");

	(void)state;
	assert_list(service(&g, "a")->argv, "x|a b|c d|$HOME|*|");
	put_away(&g);
	refuse("services: {a: {command: \"x 'a\"}}\n",
		"t.yaml:1:25: command of service 'a' has a quote without its end\n");
	refuse("services: {a: {command: []}}\n",
		"t.yaml:1:25: command of service 'a' must be a command: a list of arguments, or "
		"one "
		"string, not a list\n");
	refuse("services: {a: {command: [[x]]}}\n",
		"t.yaml:1:26: command of service 'a' must be a list of strings, not a list\n");
	refuse("services: {a: {command: \"\"}}\n",
		"t.yaml:1:25: command of service 'a' must be a command, not \"\"\n");
	refuse("services: {a: {command: ['', x]}}\n",
		"t.yaml:1:26: command of service 'a' begins with an empty word\n");
	refuse("services: {a: {user: u}}\n",
		"t.yaml:1:12: service 'a' needs a command: plugin exec has none of its own\n");
	refuse("services: {a: }\n",
		"t.yaml:1:12: service 'a' is empty\n"
		"t.yaml:1:12: service 'a' needs a command: plugin exec has none "
		"of its own\n");
}

static void names_that_cannot_be_a_file_are_refused(void **state)
{
	(void)state;
	refuse("services: {\"../x\": {command: x}}\n",
		"t.yaml:1:12: '../x' is no name for a service: use letters, digits, '-', '_', '.' "
		"and "
		"'@', at most 100, not '-' or '.' first\n");
	refuse("services: {a: {plugin: ../../lib/x, command: x}}\n",
		"t.yaml:1:24: plugin of service 'a' must be the name of a plugin, not "
		"../../lib/x\n");
}

static void paths_are_absolute(void **state)
{
	(void)state;
	refuse_key("working-dir: src", 18,
		"working-dir of service 'a' must be an absolute path, not src");
	refuse_key(
		"working-dir: ~", 18, "working-dir of service 'a' must be an absolute path, not ~");
	refuse_key("log: a.log", 10,
		"log of service 'a' must be an absolute path, \"-\", or null without quotes, not "
		"a.log");
	refuse_key("log: {file: \"null\"}", 17,
		"log.file of service 'a' must be an absolute path, \"-\", or null without quotes, "
		"not \"null\"");
	refuse("reeve: {plugin-dir: plugins}\nservices: {a: {command: x}}\n",
		"t.yaml:1:21: reeve.plugin-dir must be an absolute path, not plugins\n");
}

static void a_log_goes_to_a_file_to_us_or_nowhere(void **state)
{
	static const struct {
		const char *text;
		int kind;
	} t[] = {{"log: null", RV_LOG_NULL}, {"log:", RV_LOG_NULL},
		{"log: {file: null}", RV_LOG_NULL}, {"log: {file: ~, keep: 3}", RV_LOG_NULL},
		{"log: \"-\"", RV_LOG_INHERIT}, {"log: {file: \"-\"}", RV_LOG_INHERIT},
		{"log: /tmp/x.log", RV_LOG_FILE}, {"log: {max-size: 0}", RV_LOG_FILE}};
	struct got g;

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		g = accept_key(t[i].text);
		assert_int_equal(service(&g, "a")->log.kind, t[i].kind);
		put_away(&g);
	}
	g = accept("reeve: {log: {dir: \"-\"}}\nservices: {a: {command: x}, b: {command: x, log: "
		   "/tmp/b}}\n");
	assert_int_equal(service(&g, "a")->log.kind, RV_LOG_INHERIT);
	assert_int_equal(service(&g, "b")->log.kind, RV_LOG_FILE);
	assert_null(g.conf->log_dir);
	put_away(&g);
}

static void stop_is_one_step_or_a_ladder(void **state)
{
	struct got g = accept_key(
		"stop: {steps: [{signal: INT, timeout: 1s}, {signal: SIGQUIT, to: "
		"tree, timeout: 2s}, {}]}");
	const struct rv_node *n = node(&g, "a");
	const struct rv_step *s = &g.conf->plan->steps[n->first_step];

	(void)state;
	assert_int_equal(n->step_count, 3);
	assert_int_equal(s[0].signal, SIGINT);
	assert_int_equal(s[0].to, RV_TO_GROUP);
	assert_int_equal(s[1].signal, SIGQUIT);
	assert_int_equal(s[1].to, RV_TO_TREE);
	assert_int_equal(s[1].timeout, 2 * RV_SEC);
	assert_int_equal(s[2].signal, SIGTERM);
	assert_int_equal(s[2].timeout, 5 * RV_SEC);
	put_away(&g);
	g = accept_key("stop: {steps: []}");
	assert_int_equal(node(&g, "a")->step_count, 0);
	put_away(&g);
	refuse_key("stop: {steps: [], timeout: 1s}", 11,
		"stop of service 'a' has steps and other "
		"keys: signal, timeout and to belong into "
		"the steps");
	g = accept_key("stop: {steps: [{}, {}], hook-timeout: 7s, cleanup-timeout: 30s}");
	assert_int_equal(node(&g, "a")->step_count, 2);
	assert_int_equal(node(&g, "a")->stop_hook_timeout, 7 * RV_SEC);
	assert_int_equal(node(&g, "a")->cleanup_timeout, 30 * RV_SEC);
	put_away(&g);
	g = accept_key("stop: {signal: INT}");
	assert_int_equal(node(&g, "a")->step_count, 1);
	assert_int_equal(node(&g, "a")->stop_hook_timeout, 5 * RV_SEC);
	assert_int_equal(node(&g, "a")->cleanup_timeout, 10 * RV_SEC);
	put_away(&g);
	refuse_key("stop: {cleanup-timeout: 0}", 29,
		"stop.cleanup-timeout of service 'a' must be at least 1ms, not 0");
	refuse_key("stop: {steps: [{signl: INT}]}", 21,
		"unknown key 'signl' in stop.steps of service 'a' (did you mean 'signal'?)");
}

/* --- listeners and readiness ------------------------------------------------------------------ */

static void listeners_are_numbered_from_3(void **state)
{
	struct got g = accept_key(
		"listen: [{name: http, tcp: \"0.0.0.0:49999\"}, {name: v6, tcp: "
		"\"[::]:80\", backlog: 16}, {name: loc, tcp: localhost:81}, {name: u, "
		"unix: /run/u.sock, mode: \"0660\", owner: o, group: g}]");
	const struct rv_service *s = service(&g, "a");
	static const uint8_t loopback[4] = {127, 0, 0, 1}, zero[16];

	(void)state;
	assert_int_equal(s->listen_count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(s->listen[i].fd, 3 + i);
	assert_string_equal(s->listen[0].name, "http");
	assert_int_equal(s->listen[0].family, RV_TCP4);
	assert_int_equal(s->listen[0].port, 49999);
	assert_int_equal(s->listen[0].backlog, 0);
	assert_string_equal(s->listen[0].address, "0.0.0.0:49999");
	assert_int_equal(s->listen[1].family, RV_TCP6);
	assert_int_equal(s->listen[1].backlog, 16);
	assert_memory_equal(s->listen[1].ip, zero, 16);
	assert_memory_equal(s->listen[2].ip, loopback, 4);
	assert_int_equal(s->listen[3].family, RV_UNIX);
	assert_string_equal(s->listen[3].address, "/run/u.sock");
	assert_int_equal(s->listen[3].mode, 0660);
	assert_string_equal(s->listen[3].owner, "o");
	put_away(&g);
}

static void listeners_must_be_complete_and_numeric(void **state)
{
	static const char *const bad[] = {"example.org:80", "80", "127.0.0.1", "127.0.0.1:0",
		"127.0.0.1:65536", "127.0.0.1:http", "::1:80", "[::1]", "[1.2.3.4]:80", ":80",
		"300.1.1.1:80", "127.0.0.1:+80", "127.0.0.1: 80"};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		char key[100], text[300];

		snprintf(key, sizeof(key), "listen: [{name: n, tcp: \"%s\"}]", bad[i]);
		snprintf(text, sizeof(text),
			"listen.tcp of service 'a' must be a numeric address with "
			"a port from 1 to 65535, such as \"0.0.0.0:8080\" or \"[::]:8080\", not "
			"\"%s\"",
			bad[i]);
		refuse_key(key, 29, text);
	}
	refuse_key("listen: [{tcp: \"127.0.0.1:80\"}]", 14, "listen of service 'a' needs a name");
	refuse_key("listen: [{name: x}]", 14, "listen of service 'a' needs either tcp or unix");
	refuse_key("listen: [{name: x, tcp: \"127.0.0.1:80\", unix: /x}]", 14,
		"listen of service 'a' has both tcp and unix: make two listeners of it");
	refuse_key("listen: [{name: x, tcp: \"127.0.0.1:80\", mode: \"0600\"}]", 14,
		"listen of service 'a' has mode, owner or group, which only a UNIX socket has");
	refuse_key("listen: [{name: x, unix: x.sock}]", 30,
		"listen.unix of service 'a' must be an absolute path, not x.sock");
	refuse_key("listen: [{name: \"a:b\", unix: /x}]", 21,
		"listen.name of service 'a' must be a name "
		"of letters, digits, '-', '_' and '.', not "
		"\"a:b\"");
	refuse_key("listen: [{name: x, unix: /x}, {name: x, unix: /y}]", 35,
		"listen of service 'a' has two listeners called 'x' (first at t.yaml:4:14)");
}

static void readiness_has_several_kinds(void **state)
{
	struct got g = accept_key(
		"ready: {fd: auto, tcp: 8080, http: {url: \"http://127.0.0.1/h\"}, exec: "
		"[test, -f, /x], timeout: 9s, attempt-timeout: 1s}");
	const struct rv_check *k = &service(&g, "a")->ready;

	(void)state;
	assert_true(k->has_fd && k->fd_auto && k->fd == 3);
	assert_string_equal(k->tcp, "127.0.0.1:8080");
	assert_int_equal(k->tcp_port, 8080);
	assert_int_equal(k->tcp_ip[0], 127);
	assert_string_equal(k->http_url, "http://127.0.0.1/h");
	assert_list(k->exec, "test|-f|/x|");
	assert_int_equal(k->timeout, 9 * RV_SEC);
	assert_int_equal(k->attempt_timeout, RV_SEC);
	assert_int_equal(node(&g, "a")->ready_timeout, 9 * RV_SEC);
	assert_int_equal(node(&g, "a")->proof, RV_PROOF_PROBE);
	assert_true(service(&g, "a")->has_ready);
	assert_false(k->plugin);
	put_away(&g);
	g = accept_key("ready: {timeout: 9s}");
	assert_int_equal(node(&g, "a")->proof, RV_PROOF_NONE);
	put_away(&g);
	g = accept_key("ready: {tcp: \"[::1]:80\"}");
	assert_true(service(&g, "a")->ready.tcp_v6);
	put_away(&g);
	refuse_key("ready: {http: {url: ftp://x}}", 25,
		"ready.http.url of service 'a' must be a URL "
		"that begins with http:// (reeve speaks no TLS), not "
		"ftp://x");
	refuse_key("ready: {http: {url: \"https://x/\"}}", 25,
		"ready.http.url of service 'a' must be a URL "
		"that begins with http:// (reeve speaks no TLS), not "
		"\"https://x/\"");
	refuse_key("ready: {http: {}}", 19, "ready.http of service 'a' needs a url");
	refuse_key("ready: {tcp: \"example.org:80\"}", 18,
		"ready.tcp of service 'a' must be a port, or a numeric address such as "
		"\"127.0.0.1:8080\", not \"example.org:80\"");
}

static void the_descriptor_of_readiness_stands_behind_the_listeners(void **state)
{
	struct got g = accept_key("listen: [{name: u, unix: /x}]\n    ready: {fd: 4}");

	(void)state;
	assert_int_equal(service(&g, "a")->ready.fd, 4);
	put_away(&g);
	g = accept_key("ready: {fd: auto}\n    listen: [{name: u, unix: /x}, {name: v, unix: /y}]");
	assert_int_equal(service(&g, "a")->ready.fd, 5);
	put_away(&g);
	refuse_key("ready: {fd: 4}\n    listen: [{name: u, unix: /x}, {name: v, unix: /y}]", 17,
		"ready.fd of service 'a' is 4, but descriptors 3 to 4 are its listeners: use 5 or "
		"more, "
		"or auto");
	refuse_key("ready: {fd: 2}", 17,
		"ready.fd of service 'a' must be auto or a number from 3 to "
		"1023 (without quotes), not 2");
	refuse_key("ready: {fd: \"3\"}", 17,
		"ready.fd of service 'a' must be auto or a number from 3 "
		"to 1023 (without quotes), not \"3\"");
}

static void all_mistakes_are_told_in_one_run(void **state)
{
	(void)state;
	refuse("reeve: {exit-from: wbe, max-starts: many}\n"
	       "services:\n"
	       "  db: {command: x, type: deamon, uesr: u}\n"
	       "  web: {needs: [bd], ports: [80, 80]}\n"
	       "  one: {command: x, needs: [two]}\n"
	       "  two: {command: x, after: [one]}\n",
		"t.yaml:1:37: reeve.max-starts must be a number from 0 to 1000000 (without "
		"quotes), not "
		"many\n"
		"t.yaml:3:34: unknown key 'uesr' in service 'db' (did you mean 'user'?)\n"
		"t.yaml:3:26: type of service 'db' must be daemon, task or launcher, not deamon\n"
		"t.yaml:4:3: service 'web' needs a command: plugin exec has none of its own\n"
		"t.yaml:4:17: needs of service 'web' names 'bd', but there is no such service (did "
		"you "
		"mean 'db'?)\n"
		"t.yaml:5:29: dependency cycle: one -> two -> one ('one' needs 'two' at "
		"t.yaml:5:29, "
		"'two' comes after 'one' at t.yaml:6:29)\n"
		"t.yaml:1:20: reeve.exit-from names 'wbe', but there is no such service (did you "
		"mean "
		"'web'?)\n"
		"t.yaml:4:34: service 'web' has port 80 twice (t.yaml:4:30)\n");
}

static void what_is_shown_of_a_mistake_is_safe_for_a_terminal(void **state)
{
	(void)state;
	refuse("services: {a: {command: x, \"us\\e[31mer\": u}}\n",
		"t.yaml:1:28: unknown key 'us\\x1b[31mer' in service 'a'\n");
}

static void mistakes_without_number_are_counted_not_listed(void **state)
{
	struct rv_buf b = {0};
	struct got g;

	(void)state;
	rv_buf_str(&b, "services:\n  a:\n    command: x\n");
	for (int i = 0; i < 5000; i++)
		rv_buf_fmt(&b, "    zz%d: 1\n", i);
	g = read_given((struct given){.yaml = rv_buf_text(&b)});
	assert_int_equal(g.c.errors, 5000);
	assert_non_null(strstr(rv_buf_text(&g.c.text), "more mistakes are not shown\n"));
	assert_true(g.c.text.len < 200000);
	put_away(&g);
	rv_buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_defaults_are_those_of_the_manual),
		cmocka_unit_test(every_key_of_the_supervisor_arrives),
		cmocka_unit_test(every_key_of_a_service_arrives),
		cmocka_unit_test(unknown_keys_are_told_with_the_nearest_one),
		cmocka_unit_test(a_launcher_says_where_its_daemon_is_found),
		cmocka_unit_test(a_ceiling_has_one_itself),
		cmocka_unit_test(strings_are_exactly_as_written),
		cmocka_unit_test(booleans_accept_true_and_false_without_quotes),
		cmocka_unit_test(numbers_have_no_quotes_and_a_range),
		cmocka_unit_test(durations_sizes_and_modes_say_what_they_expect),
		cmocka_unit_test(words_are_told_in_full),
		cmocka_unit_test(restart_may_be_one_word),
		cmocka_unit_test(a_task_is_not_restarted_for_having_ended_well),
		cmocka_unit_test(a_command_is_a_list_or_a_string_with_quotes),
		cmocka_unit_test(names_that_cannot_be_a_file_are_refused),
		cmocka_unit_test(paths_are_absolute),
		cmocka_unit_test(a_log_goes_to_a_file_to_us_or_nowhere),
		cmocka_unit_test(stop_is_one_step_or_a_ladder),
		cmocka_unit_test(listeners_are_numbered_from_3),
		cmocka_unit_test(listeners_must_be_complete_and_numeric),
		cmocka_unit_test(readiness_has_several_kinds),
		cmocka_unit_test(the_descriptor_of_readiness_stands_behind_the_listeners),
		cmocka_unit_test(all_mistakes_are_told_in_one_run),
		cmocka_unit_test(what_is_shown_of_a_mistake_is_safe_for_a_terminal),
		cmocka_unit_test(mistakes_without_number_are_counted_not_listed),
	};

	return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
