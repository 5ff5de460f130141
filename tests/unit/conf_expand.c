/* Unit tests of src/conf: expansion, environments, plugin options. */
#include "conf_help.h"

static const char *const environ_of_tests[] = {"HOME=/root", "P=p%20q$HOME", "EMPTY=", "PORT=8080",
	"TRICK=${ready.fd}", "REEVE_SOCKET=/x", "LISTEN_FDS=2", "NOTIFY_SOCKET=/n", NULL};

static struct got accept_with_environ(const char *yaml)
{
	return accept_given((struct given){.yaml = yaml, .environ = environ_of_tests});
}

static void refuse_with_environ(const char *yaml, const char *complaints)
{
	refuse_given((struct given){.yaml = yaml, .environ = environ_of_tests}, complaints);
}

/* Bytes stay as they are unless they are the documented syntax. */
static void percent_and_dollar_are_literal(void **state)
{
	static const struct {
		const char *name, *yaml, *value;
	} t[] = {{"A", "'100%'", "100%"}, {"B", "'%s%d%n%B'", "%s%d%n%B"},
		{"C", "'$$2a$$08$$x'", "$$2a$$08$$x"}, {"C2", "'$2a$08$qFF'", "$2a$08$qFF"},
		{"D", "'a\"b\\\\c'", "a\"b\\\\c"}, {"E", "'back`tick`$(id)'", "back`tick`$(id)"},
		{"F", "'#not a comment'", "#not a comment"},
		{"G", "' lead and trail '", " lead and trail "}, {"H", "'x=y=z'", "x=y=z"},
		{"I", "''", ""}, {"J", "'$${env.HOME}'", "${env.HOME}"}, {"K", "'$$${x}'", "$${x}"},
		{"L", "'$'", "$"}, {"M", "'a$'", "a$"}, {"N", "'{}$}'", "{}$}"}};
	struct rv_buf b = {0};
	struct got g;

	(void)state;
	rv_buf_str(&b,
		"services:\n  s:\n    command: [x, -Xlog:gc_%t_%p.log, -a, '%h:%p %P']\n"
		"    environment:\n");
	for (size_t i = 0; i < COUNT(t); i++)
		rv_buf_fmt(&b, "      %s: %s\n", t[i].name, t[i].yaml);
	g = accept_with_environ(rv_buf_text(&b));
	for (size_t i = 0; i < COUNT(t); i++)
		assert_variable(service(&g, "s"), t[i].name, t[i].value);
	assert_variable(service(&g, "s"), "P", "p%20q$HOME");
	assert_list(service(&g, "s")->argv, "x|-Xlog:gc_%t_%p.log|-a|%h:%p %P|");
	put_away(&g);
	rv_buf_fini(&b);
}

static void references_are_resolved_everywhere(void **state)
{
	struct got g = accept_with_environ(
		"environment: {S: 'x${env.PORT}'}\n"
		"services:\n"
		"  s:\n"
		"    command: [x, '--fd=${listen.http.fd}', "
		"'p${listen.http.port}${listen.b.c.port}', "
		"'${ready.fd}']\n"
		"    environment: {H: '${env.HOME}/a', D: '${env.NONE:-d e f}', E: "
		"'${env.EMPTY:-set}', "
		"N: '${env.NONE:-}', Y: '${env.EMPTY}'}\n"
		"    working-dir: '${env.HOME}/w'\n"
		"    listen: [{name: http, tcp: '127.0.0.1:${env.PORT}'}, {name: b.c, tcp: "
		"'127.0.0.1:81'}]\n"
		"    ready: {fd: auto, http: {url: 'http://127.0.0.1:${listen.http.port}/'}, tcp: "
		"'127.0.0.1:${listen.b.c.port}', exec: [t, '${listen.b.c.fd}']}\n"
		"    log: '${env.HOME}/l'\n");
	const struct rv_service *s = service(&g, "s");

	(void)state;
	assert_list(s->argv, "x|--fd=3|p808081|5|");
	assert_variable(s, "S", "x8080");
	assert_variable(s, "H", "/root/a");
	assert_variable(s, "D", "d e f");
	assert_variable(s, "E", "set");
	assert_variable(s, "N", "");
	assert_variable(s, "Y", "");
	assert_string_equal(s->working_dir, "/root/w");
	assert_int_equal(s->listen[0].port, 8080);
	assert_string_equal(s->ready.http_url, "http://127.0.0.1:8080/");
	assert_string_equal(s->ready.tcp, "127.0.0.1:81");
	assert_list(s->ready.exec, "t|4|");
	assert_string_equal(s->log.path, "/root/l");
	put_away(&g);
}

static void what_a_variable_brings_is_not_expanded_again(void **state)
{
	struct got g = accept_with_environ(
		"services: {s: {command: ['${env.TRICK}', \"${env.P} x\"]}}\n");

	(void)state;
	assert_list(service(&g, "s")->argv, "${ready.fd}|p%20q$HOME x|");
	put_away(&g);
}

static void a_command_of_one_string_is_split_before_it_is_expanded(void **state)
{
	struct got g = accept_with_environ(
		"services: {s: {command: \"x ${env.NONE:-}  a${env.P}b\"}}\n");

	(void)state;
	assert_list(service(&g, "s")->argv, "x||ap%20q$HOMEb|");
	put_away(&g);
}

static void unknown_and_malformed_references_are_refused(void **state)
{
	static const struct {
		const char *text, *complaint;
	} t[] = {
		{"${env.NONE}",
			"uses ${env.NONE}, but reeve's environment has no NONE "
			"(${env.NONE:-default} would do)"},
		{"a ${", "has a ${ without its }; a literal ${ is written $${"},
		{"${env.HOME", "has a ${ without its }; a literal ${ is written $${"},
		{"${}", "uses ${}, which is unknown; a literal ${ is written $${"},
		{"${HOME}", "uses ${HOME}, which is unknown; a literal ${ is written $${"},
		{"${ env.HOME}",
			"uses ${ env.HOME}, which is unknown (did you mean 'env.NAME'?); a "
			"literal ${ is written $${"},
		{"${env.}", "has a malformed ${env...}: write ${env.NAME} or ${env.NAME:-default}"},
		{"${env.A B}",
			"has a malformed ${env...}: write ${env.NAME} or ${env.NAME:-default}"},
		{"${env.A:d}",
			"has a malformed ${env...}: write ${env.NAME} or ${env.NAME:-default}"},
		{"${env.1}",
			"has a malformed ${env...}: write ${env.NAME} or ${env.NAME:-default}"},
		{"${env.A:-${env.B}}",
			"has a ${ with $ or { before its }: neither may stand inside"},
		{"${listen.htp.fd}",
			"uses listener 'htp', which is not declared here (did you mean "
			"'http'?)"},
		{"${listen.http.addr}",
			"has a malformed ${listen...}: write ${listen.NAME.fd} or "
			"${listen.NAME.port}"},
		{"${listen.u.port}", "uses the port of listener 'u', which is a UNIX socket"},
		{"${ready.fd}", "uses ${ready.fd}, but no ready.fd is declared here"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		char yaml[400], complaint[400];

		snprintf(yaml, sizeof(yaml),
			"services:\n  s:\n    listen: [{name: http, tcp: "
			"\"127.0.0.1:80\"}, {name: u, unix: /u}]\n    command: x\n    "
			"environment:\n"
			"      V: '%s'\n",
			t[i].text);
		snprintf(complaint, sizeof(complaint),
			"t.yaml:6:10: environment.V of service 's' %s\n", t[i].complaint);
		refuse_with_environ(yaml, complaint);
	}
}

static void every_bad_reference_of_a_string_is_told(void **state)
{
	(void)state;
	refuse("services: {s: {command: \"x ${a} ${ready.fd ${b} ${c} '${env.}' ${\"}}\n",
		"t.yaml:1:25: command of service 's' uses ${a}, which is unknown; a literal ${ is "
		"written $${\n"
		"t.yaml:1:25: command of service 's' has a ${ without its }; a literal ${ is "
		"written $${\n"
		"t.yaml:1:25: command of service 's' uses ${b}, which is unknown; a literal ${ is "
		"written $${\n"
		"t.yaml:1:25: command of service 's' uses ${c}, which is unknown; a literal ${ is "
		"written $${\n"
		"t.yaml:1:25: command of service 's' has a malformed ${env...}: write ${env.NAME} "
		"or ${env.NAME:-default}\n"
		"t.yaml:1:25: command of service 's' has a ${ without its }; a literal ${ is "
		"written $${\n");
	refuse("services: {s: {command: [x, \"${a}${b${c}${d}\"]}}\n",
		"t.yaml:1:29: command of service 's' uses ${a}, which is unknown; a literal ${ is "
		"written $${\n"
		"t.yaml:1:29: command of service 's' has a ${ with $ or { before its }: neither "
		"may "
		"stand inside\n"
		"t.yaml:1:29: command of service 's' uses ${d}, which is unknown; a literal ${ is "
		"written $${\n");
}

static void the_folder_of_plugins_is_known_before_any_environment(void **state)
{
	(void)state;
	refuse_with_environ("reeve: {plugin-dir: '/x/${env.HOME}'}\nservices: {s: {command: x}}\n",
		"t.yaml:1:21: reeve.plugin-dir cannot use ${...}; --plugin-dir can\n");
}

/* --- environments ----------------------------------------------------------------------------- */

static void what_is_told_to_reeve_is_not_inherited(void **state)
{
	struct got g = accept_with_environ("services: {s: {command: x}}\n");
	const struct rv_service *s = service(&g, "s");

	(void)state;
	assert_variable(s, "HOME", "/root");
	assert_variable(s, "EMPTY", "");
	assert_null(variable(s, "REEVE_SOCKET"));
	assert_null(variable(s, "LISTEN_FDS"));
	assert_null(variable(s, "NOTIFY_SOCKET"));
	put_away(&g);
}

static void inheritance_is_all_none_or_a_list(void **state)
{
	struct got g = accept_with_environ(
		"services:\n"
		"  none: {command: x, inherit-environment: none, environment: {A: a}}\n"
		"  some: {command: x, inherit-environment: [HOME, NOSUCH, REEVE_SOCKET]}\n");

	(void)state;
	assert_list(service(&g, "none")->env, "A=a|");
	assert_list(service(&g, "some")->env, "HOME=/root|");
	put_away(&g);
	refuse_with_environ("services: {s: {command: x, inherit-environment: some}}\n",
		"t.yaml:1:49: inherit-environment of service 's' must be all, none or a list of "
		"names, "
		"not some\n");
}

static void the_environment_has_layers_and_each_name_once(void **state)
{
	static const char *const argv[] = {"x", NULL};
	static const char *const additions[] = {
		"P=recipe", "R=recipe", "F=recipe", "O=recipe", NULL};
	static const struct rv_recipe recipe[] = {
		{.argv = argv, .env = additions, .is_static = true}};
	char pwd[100];
	struct got g;

	(void)state;
	snprintf(pwd, sizeof(pwd), "PWD=%s", scratch);
	write_file("env", "F=file\nO=file\n");
	g = accept_given((struct given){.yaml = "environment: {HOME: /sandbox, R: sandbox}\n"
						"services: {s: {command: x, environment-file: "
						"'${env.PWD}/env', environment: {O: own}}}\n",
		.environ = (const char *const[]){"HOME=/root", "P=inherited", pwd, NULL},
		.recipes = recipe});
	assert_variable(service(&g, "s"), "HOME", "/sandbox");
	assert_variable(service(&g, "s"), "P", "recipe");
	assert_variable(service(&g, "s"), "R", "recipe");
	assert_variable(service(&g, "s"), "F", "file");
	assert_variable(service(&g, "s"), "O", "own");
	put_away(&g);
}

static struct got read_env_file(const char *text)
{
	char yaml[300];

	write_file("env", text);
	snprintf(yaml, sizeof(yaml),
		"services: {s: {command: x, inherit-environment: none, "
		"environment-file: %s/env}}\n",
		scratch);
	return read_given((struct given){.yaml = yaml});
}

static void a_file_of_variables_has_comments_and_quotes(void **state)
{
	struct got g = read_env_file("# comment\n\nA=1\n  B = no\n");

	(void)state;
	assert_null(g.conf);
	put_away(&g);
	g = read_env_file(
		"# comment\n\nA=1  \n  export B=\"x \\\"y\\\" $HOME \\n\"\nC='a b' \nD=\nE=a#b\r\n"
		"F=${env.HOME}\nA=2");
	assert_non_null(g.conf);
	assert_list(service(&g, "s")->env, "B=x \"y\" $HOME \\n|C=a b|D=|E=a#b|F=${env.HOME}|A=2|");
	put_away(&g);
	g = read_env_file("\xef\xbb\xbf"
			  "A=1\n");
	assert_non_null(g.conf);
	assert_list(service(&g, "s")->env, "A=1|");
	put_away(&g);
}

static void an_environment_tells_what_is_inherited_and_what_is_weak(void **state)
{
	const char *ours[] = {"HOME=/root", "A=1", "B=1", NULL};
	struct got g = read_given((struct given){.environ = ours,
		.yaml = "environment: {B: 2, C: 2}\nservices: {s: {command: x, environment: {C: "
			"3}}}\n"});

	(void)state;
	assert_non_null(g.conf);
	assert_list(service(&g, "s")->env, "HOME=/root|A=1|B=2|C=3|");
	assert_int_equal(service(&g, "s")->env_inherited, 2);
	assert_int_equal(service(&g, "s")->env_weak, 3);
	put_away(&g);
}

static void mistakes_in_a_file_of_variables_have_their_line(void **state)
{
	struct got g = read_env_file("A=1\nsecret-without-equals\nB='open\nC=\"x\" y\n=v\n");
	char expected[600];

	(void)state;
	snprintf(expected, sizeof(expected),
		"%s/env:2:1: expected NAME=VALUE\n"
		"%s/env:3:1: a quote has no end, or something stands behind it\n"
		"%s/env:4:1: a quote has no end, or something stands behind it\n"
		"%s/env:5:1: expected NAME=VALUE\n",
		scratch, scratch, scratch, scratch);
	assert_null(g.conf);
	assert_string_equal(rv_buf_text(&g.c.text), expected);
	put_away(&g);
	refuse("services: {s: {command: x, environment-file: /nosuch/env}}\n",
		"t.yaml:1:46: environment-file of service 's' cannot be read: /nosuch/env: No such "
		"file "
		"or directory\n");
}

static void values_of_variables_never_show_in_a_complaint(void **state)
{
	struct got g = read_given((struct given){.yaml = "services: {s: {command: x, environment: "
							 "{TOKEN: [s3cret], \"=\": s3cret, T: "
							 "'s3cret${foo}'}}}\n"});

	(void)state;
	assert_null(g.conf);
	assert_int_equal(g.c.errors, 3);
	assert_null(strstr(rv_buf_text(&g.c.text), "s3cret"));
	put_away(&g);
}

/* --- options ---------------------------------------------------------------------------------- */

static const struct rv_key keys[] = {
	{"bin", RV_KEY_PATH, 0, 0, "/usr/bin/p", "P_BIN", "the program"},
	{"port", RV_KEY_PORT, 0, 0, "49983", "P_PORT", "its port"},
	{"extra-args", RV_KEY_WORDS, 0, 0, NULL, "P_EXTRA", "more arguments"},
	{"token", RV_KEY_SECRET, 0, 0, NULL, "P_TOKEN", "who may ask"},
	{"workers", RV_KEY_INT, 1, 8, "2", NULL, "how many"},
	{"fast", RV_KEY_BOOL, 0, 0, "false", "P_FAST", "hurry"},
	{"keep-alive", RV_KEY_DURATION, RV_SEC, 60 * RV_SEC, "5s", NULL, "how long"},
	{"cache", RV_KEY_SIZE, 0, 1 << 20, NULL, NULL, "how much"},
	{"config", RV_KEY_JSON, 0, 0, NULL, "P_CONFIG", "what it serves"},
	{"title", RV_KEY_STRING, 0, 0, NULL, NULL, "a name"},
};
static const struct rv_plugin_table tables[] = {
	{.name = "p", .keys = keys, .key_count = COUNT(keys)},
	{.name = "broken", .error = "cannot load plugin 'broken': no such file"},
};

static struct given with_options(const char *options, const char *const *variables)
{
	static char yaml[1000];

	snprintf(yaml, sizeof(yaml), "services:\n  s:\n    plugin: p\n    command: x\n    %s\n",
		options);
	return (struct given){
		yaml, .tables = tables, .table_count = COUNT(tables), .environ = variables};
}

static const struct rv_option *option(const struct got *g, const char *name)
{
	const struct rv_service *s = service(g, "s");

	for (size_t i = 0; i < s->option_count; i++)
		if (!strcmp(s->options[i].key->name, name))
			return &s->options[i];
	fail_msg("no option %s", name);
	return NULL;
}

static void assert_option(
	const struct got *g, const char *name, const char *value, size_t len, enum rv_from from)
{
	const struct rv_option *o = option(g, name);

	assert_non_null(o->value);
	if (o->value_len != len || memcmp(o->value, value, len) != 0)
		fail_msg("%s is '%s'", name, o->value);
	assert_int_equal(o->from, from);
}
#define ASSERT_OPTION(g, name, value, from) assert_option(g, name, value, sizeof(value) - 1, from)

static void options_come_from_the_file_a_variable_or_the_table(void **state)
{
	static const char *const env[] = {"P_PORT=81", "P_BIN=/env", "P_EXTRA=", "P_TOKEN=t", NULL};
	struct got g = accept_given(with_options("options: {port: 82}", env));

	(void)state;
	ASSERT_OPTION(&g, "port", "82", RV_FROM_YAML);
	ASSERT_OPTION(&g, "bin", "/env", RV_FROM_ENV);
	ASSERT_OPTION(&g, "workers", "2", RV_FROM_PRESET);
	ASSERT_OPTION(&g, "token", "t", RV_FROM_ENV);
	assert_null(option(&g, "extra-args")->value);
	assert_null(option(&g, "title")->value);
	put_away(&g);
}

static void options_are_brought_into_one_form(void **state)
{
	struct got g = accept_given(
		with_options("options: {port: 0x50, extra-args: \"-a 'b c'\", workers: 8, fast: "
			     "TRUE, keep-alive: "
			     "1000ms, cache: 1KiB, title: 1.10, token: ~, bin: no}",
			NULL));

	(void)state;
	ASSERT_OPTION(&g, "port", "80", RV_FROM_YAML);
	ASSERT_OPTION(&g, "extra-args", "-a\0b c\0", RV_FROM_YAML);
	ASSERT_OPTION(&g, "workers", "8", RV_FROM_YAML);
	ASSERT_OPTION(&g, "fast", "true", RV_FROM_YAML);
	ASSERT_OPTION(&g, "keep-alive", "1s", RV_FROM_YAML);
	ASSERT_OPTION(&g, "cache", "1024", RV_FROM_YAML);
	ASSERT_OPTION(&g, "title", "1.10", RV_FROM_YAML);
	ASSERT_OPTION(&g, "token", "~", RV_FROM_YAML);
	ASSERT_OPTION(&g, "bin", "no", RV_FROM_YAML);
	put_away(&g);
	g = accept_given(with_options("options: {extra-args: [a, 'b c', ''], port: '${env.X}'}",
		(const char *const[]){"X=99", NULL}));
	ASSERT_OPTION(&g, "extra-args", "a\0b c\0\0", RV_FROM_YAML);
	ASSERT_OPTION(&g, "port", "99", RV_FROM_YAML);
	put_away(&g);
	g = accept_given(with_options("options: {extra-args: []}", NULL));
	ASSERT_OPTION(&g, "extra-args", "", RV_FROM_YAML);
	put_away(&g);
}

static void structured_options_become_json(void **state)
{
	struct got g = accept_given(
		with_options("options:\n      config: {mcp: {a: [1, 1.10, -2e3, true, null, no, "
			     "0x1F, 010, \"7\"], \"q\\\"\\n\": "
			     "'${env.X} \\'}, e: {}, l: []}",
			(const char *const[]){"X=\"v\"", NULL}));

	(void)state;
	ASSERT_OPTION(&g, "config",
		"{\"mcp\":{\"a\":[1,1.10,-2e3,true,null,\"no\",\"0x1F\",\"010\",\"7\"],"
		"\"q\\\"\\u000a\":\"\\\"v\\\" \\\\\"},\"e\":{},\"l\":[]}",
		RV_FROM_YAML);
	put_away(&g);
	g = accept_given(with_options("options: {config: '{\"a\": 1}'}", NULL));
	ASSERT_OPTION(&g, "config", "{\"a\": 1}", RV_FROM_YAML);
	put_away(&g);
}

static void options_are_checked_by_the_table(void **state)
{
	static const struct {
		const char *options, *complaint;
	} t[] = {
		{"options: {prot: 1}",
			"t.yaml:5:15: unknown option 'prot' of plugin p in service 's' "
			"(did you mean 'port'?)\n"},
		{"options: {port: 0}",
			"t.yaml:5:21: options.port of service 's' must be a number from 1 "
			"to 65535 (without quotes), not 0\n"},
		{"options: {port: \"80\"}",
			"t.yaml:5:21: options.port of service 's' must be a number "
			"from 1 to 65535 (without quotes), not \"80\"\n"},
		{"options: {workers: 9}",
			"t.yaml:5:24: options.workers of service 's' must be a number "
			"from 1 to 8 (without quotes), not 9\n"},
		{"options: {fast: yes}",
			"t.yaml:5:21: options.fast of service 's' must be true or false "
			"(without quotes), not yes\n"},
		{"options: {keep-alive: 2m}",
			"t.yaml:5:27: options.keep-alive of service 's' must be a "
			"duration from 1s to 1m, not 2m\n"},
		{"options: {cache: 2MiB}",
			"t.yaml:5:22: options.cache of service 's' must be a size from "
			"0 to 1048576 bytes, not 2MiB\n"},
		{"options: {title: [a]}",
			"t.yaml:5:22: options.title of service 's' must not be a "
			"list\n"},
		{"options: {extra-args: {a: b}}",
			"t.yaml:5:27: options.extra-args of service 's' must "
			"not be a map\n"},
		{"options: {extra-args: \"'a\"}",
			"t.yaml:5:27: options.extra-args of service 's' has a "
			"quote without its end\n"},
		{"options: [a]", "t.yaml:5:14: options of service 's' must be a map, not a list\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++)
		refuse_given(with_options(t[i].options, NULL), t[i].complaint);
}

static void a_bad_variable_is_named_without_its_value(void **state)
{
	(void)state;
	refuse_given(with_options("user: u", (const char *const[]){"P_PORT=s3cret", NULL}),
		"t.yaml:2:3: options.port of service 's' must be a number from 1 to 65535 (without "
		"quotes); the environment variable P_PORT is not\n");
}

/* A plugin's own mistake is not passed off as an option that nobody set. */
static void a_default_that_its_own_table_refuses_is_told(void **state)
{
	static const struct rv_key wrong[] = {
		{"wait", RV_KEY_DURATION, 0, 0, "5", "P_WAIT", "how long"},
		{"jobs", RV_KEY_INT, 1, 8, "9", NULL, "how many"}};
	static const struct rv_plugin_table mistaken[] = {
		{.name = "p", .keys = wrong, .key_count = COUNT(wrong)}};

	(void)state;
	refuse_given((struct given){"services: {s: {plugin: p, command: x}}\n", .tables = mistaken,
			     .table_count = 1},
		"t.yaml:1:12: options.wait of service 's' must be a duration such as 250ms, 5s or "
		"2m; the default of the plugin is not\n"
		"t.yaml:1:12: options.jobs of service 's' must be a number from 1 to 8 (without "
		"quotes); the default of the plugin is not\n");
}

static void unknown_and_broken_plugins_are_told_at_their_place(void **state)
{
	(void)state;
	refuse_given((struct given){"services: {s: {plugin: q, command: x}}\n", .tables = tables,
			     .table_count = COUNT(tables)},
		"t.yaml:1:24: service 's' wants plugin 'q', which is not known\n");
	refuse_given((struct given){"services: {s: {plugin: broke, command: x}}\n",
			     .tables = tables, .table_count = COUNT(tables)},
		"t.yaml:1:24: service 's' wants plugin 'broke', which is not known (did you mean "
		"'broken'?)\n");
	refuse_given(
		(struct given){"services: {s: {plugin: broken, command: x, options: {a: 1}}}\n",
			.tables = tables, .table_count = COUNT(tables)},
		"t.yaml:1:24: service 's': cannot load plugin 'broken': no such file\n");
	refuse("services: {s: {command: x, options: {a: 1}}}\n",
		"t.yaml:1:38: unknown option 'a' of plugin exec in service 's'\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percent_and_dollar_are_literal),
		cmocka_unit_test(references_are_resolved_everywhere),
		cmocka_unit_test(what_a_variable_brings_is_not_expanded_again),
		cmocka_unit_test(a_command_of_one_string_is_split_before_it_is_expanded),
		cmocka_unit_test(unknown_and_malformed_references_are_refused),
		cmocka_unit_test(every_bad_reference_of_a_string_is_told),
		cmocka_unit_test(the_folder_of_plugins_is_known_before_any_environment),
		cmocka_unit_test(what_is_told_to_reeve_is_not_inherited),
		cmocka_unit_test(inheritance_is_all_none_or_a_list),
		cmocka_unit_test(the_environment_has_layers_and_each_name_once),
		cmocka_unit_test(a_file_of_variables_has_comments_and_quotes),
		cmocka_unit_test(an_environment_tells_what_is_inherited_and_what_is_weak),
		cmocka_unit_test(mistakes_in_a_file_of_variables_have_their_line),
		cmocka_unit_test(values_of_variables_never_show_in_a_complaint),
		cmocka_unit_test(options_come_from_the_file_a_variable_or_the_table),
		cmocka_unit_test(options_are_brought_into_one_form),
		cmocka_unit_test(structured_options_become_json),
		cmocka_unit_test(options_are_checked_by_the_table),
		cmocka_unit_test(a_bad_variable_is_named_without_its_value),
		cmocka_unit_test(a_default_that_its_own_table_refuses_is_told),
		cmocka_unit_test(unknown_and_broken_plugins_are_told_at_their_place),
	};

	return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
