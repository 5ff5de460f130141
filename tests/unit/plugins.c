/* The plugins as what they are: functions over values. Each test feeds turns and reads what comes out. */
#include "stage.h"

#define WITH_WORDS(name, words) stage_option(name, words, sizeof(words) - 1)

static void fresh_turn(void)
{
	stage_turn();
	s.t.process = (struct reeve_process){0};
	s.t.http = (struct reeve_http){.error = "", .answer = "", .answer_headers = ""};
}

static void use(const char *name)
{
	stage_use(name);
	fresh_turn();
}

static void with_listener(const char *name, const char *address, uint16_t port)
{
	static struct reeve_listener listener;

	listener = (struct reeve_listener){.name = name, .address = address, .port = port, .fd = 3};
	s.t.listeners = &listener;
	s.t.listener_count = 1;
}

static enum reeve_next start(void)
{
	fresh_turn();
	s.t.rehearse = true;
	return s.plugin->ops->start(s.self, &s.t);
}

/* The argv as one line, words in brackets: so that an empty word can be seen. */
static const char *argv_line(void)
{
	static char line[4096];
	size_t n = 0;

	line[0] = 0;
	for (size_t i = 0; s.t.process.argv && s.t.process.argv[i]; i++)
		n += (size_t)snprintf(
			line + n, sizeof(line) - n, "%s[%s]", i ? " " : "", s.t.process.argv[i]);
	return line;
}

/* The first turn of probe: where it asks. Valid until the next turn. */
static const char *asks(void)
{
	fresh_turn();
	s.t.step = 0;
	assert_int_equal(s.plugin->ops->probe(s.self, &s.t), REEVE_HTTP);
	return s.t.http.url;
}

static bool header_is(const char *line)
{
	for (size_t i = 0; s.t.http.headers && s.t.http.headers[i]; i++)
		if (strcmp(s.t.http.headers[i], line) == 0)
			return true;
	return false;
}

static enum reeve_next answered(uint32_t step, enum reeve_transport transport, int status,
	const char *headers, const char *body)
{
	asks();
	fresh_turn();
	s.t.step = step;
	s.t.http.transport = transport;
	s.t.http.error = transport == REEVE_HTTP_DONE ? "" : "something on the way";
	s.t.http.status = status;
	s.t.http.answer = body;
	s.t.http.answer_len = strlen(body);
	s.t.http.answer_headers = headers;
	return s.plugin->ops->probe(s.self, &s.t);
}

struct answer {
	int status;
	const char *body;
	enum reeve_next verdict;
	const char *why; /* part of it */
};

static void judge_all(const struct answer *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum reeve_next got = answered(1, REEVE_HTTP_DONE, a[i].status, "", a[i].body);

		if (got != a[i].verdict || !strstr(s.t.why ? s.t.why : "", a[i].why))
			fail_msg("%d %.60s: %u, %s", a[i].status, a[i].body, got, s.t.why);
		assert_false(s.t.arena_full);
	}
}
#define JUDGE_ALL(table) judge_all(table, sizeof(table) / sizeof(table[0]))

/* What all of them make of the way there, and of statuses that mean the same everywhere. */
static void judge_common(int good)
{
	static const enum reeve_transport soft[] = {
		REEVE_HTTP_REFUSED, REEVE_HTTP_TIMEOUT, REEVE_HTTP_BROKEN};
	static const int retried[] = {429, 500, 502, 503, 504, 599};
	static const int final[] = {201, 206, 301, 302, 307, 400, 401, 403, 404, 405, 418};

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(answered(1, soft[i], 0, "", ""), REEVE_RETRY);
		assert_non_null(strstr(s.t.why, "something on the way"));
		assert_non_null(strstr(s.t.why, "http://127.0.0.1:"));
	}
	/* A status whose body broke off is no answer. */
	assert_int_equal(answered(1, REEVE_HTTP_BROKEN, good, "", ""), REEVE_RETRY);
	assert_int_equal(answered(1, REEVE_HTTP_INVALID, 0, "", ""), REEVE_FAIL);
	for (size_t i = 0; i < sizeof(retried) / sizeof(retried[0]); i++)
		assert_int_equal(answered(1, REEVE_HTTP_DONE, retried[i], "", "x"), REEVE_RETRY);
	for (size_t i = 0; i < sizeof(final) / sizeof(final[0]); i++) {
		char text[40];

		assert_int_equal(answered(1, REEVE_HTTP_DONE, final[i], "", "x"), REEVE_FAIL);
		snprintf(text, sizeof(text), "answered %d, expected %d", final[i], good);
		if (!strstr(s.t.why, text))
			fail_msg("%s", s.t.why);
	}
}

/* ---- all of them ---- */

static void every_plugin_is_described_as_the_header_says(void **state)
{
	static const char *const names[] = {
		"exec", "envd", "jupyter", "interpreter", "mcp-gateway"};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		const struct reeve_plugin *p = stage_load(names[i]);

		assert_int_equal(p->abi, REEVE_ABI);
		assert_int_equal(p->size, sizeof(*p));
		assert_string_equal(p->name, names[i]);
		assert_true(*p->summary >= 'a' || strstr(p->summary, "MCP") ||
			strstr(p->summary, "SDK"));
		assert_null(strchr(p->summary, '\n'));
		assert_int_equal(p->ops->size, sizeof(*p->ops));
		for (const struct reeve_option *o = p->options; o && o->name; o++)
			assert_true(o->summary && *o->summary);
	}
}

static void exec_has_no_options_and_no_hooks(void **state)
{
	(void)state;
	use("exec");
	assert_null(s.plugin->options);
	assert_null(s.plugin->ops->start);
	assert_null(s.plugin->ops->probe);
}

/* ---- envd ---- */

static void envd_starts_as_its_images_start_it(void **state)
{
	(void)state;
	use("envd");
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(argv_line(), "[/usr/bin/envd] [-port] [49983] [-isnotfc]");
	assert_int_equal(s.t.process.ports[0], 49983);
	assert_true(s.t.process.is_static);
	assert_null(s.t.process.log_file);
}

static void envd_gets_isnotfc_once_and_a_choice_of_the_user_stands(void **state)
{
	static const struct {
		const char *words;
		size_t len;
		const char *argv;
	} cases[] = {
		{"-verbose", 8, "[-verbose] [-isnotfc]"},
		{"-isnotfc", 8, "[-isnotfc]"},
		{"--isnotfc", 9, "[--isnotfc]"},
		{"-isnotfc=false", 14, "[-isnotfc=false]"},
		{"--isnotfc=true\0-verbose", 23, "[--isnotfc=true] [-verbose]"},
		{"-isnotfcx", 9, "[-isnotfcx] [-isnotfc]"},
		{"a*\0?", 4, "[a*] [?] [-isnotfc]"},
	};

	(void)state;
	use("envd");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stage_option("extra-args", cases[i].words, cases[i].len);
		assert_int_equal(start(), REEVE_OK);
		assert_string_equal(
			argv_line() + strlen("[/usr/bin/envd] [-port] [49983] "), cases[i].argv);
	}
}

static void the_last_port_of_envds_arguments_is_the_one_that_is_probed(void **state)
{
	static const struct {
		const char *words;
		size_t len;
		int port;
	} cases[] = {
		{"-port\0"
		 "45001",
			11, 45001},
		{"--port=45002", 12, 45002},
		{"-port=45001\0-port\0"
		 "45003",
			23, 45003},
		{"-isnotfc\0-port\0"
		 "45004",
			20, 45004},
		{"-cgroup-root\0-port\0-port=45005", 30, 45005}, /* the first is a value */
		{"stop\0-port=45006", 16, 49983}, /* behind a positional */
		{"--\0-port=45007", 14, 49983},
		{"-port=0xC34F", 12, 49999}, /* Go reads bases */
		{"-ports=45008", 12, 49983},
	};

	(void)state;
	use("envd");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char url[100];

		stage_option("extra-args", cases[i].words, cases[i].len);
		assert_int_equal(start(), REEVE_OK);
		assert_int_equal(s.t.process.ports[0], cases[i].port);
		snprintf(url, sizeof(url), "http://127.0.0.1:%d/health", cases[i].port);
		assert_string_equal(asks(), url);
	}
}

static void a_port_of_envd_that_is_none_is_refused(void **state)
{
	static const char *const bad[] = {
		"-port=0", "-port=65536", "-port=-1", "-port=abc", "-port=", "-port=80x", "-port"};

	(void)state;
	use("envd");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		with("extra-args", bad[i]);
		/* the last one takes -isnotfc for its value, as Go would */
		assert_int_equal(start(), REEVE_FAIL);
		assert_non_null(strstr(s.t.why, "is no port"));
	}
}

static void envds_options_and_log_variable_are_honoured(void **state)
{
	static const char *const env[] = {"ENVD_LOG_FILE=/var/log/envd.log", NULL};
	static const char *const empty[] = {"ENVD_LOG_FILE=", NULL};

	(void)state;
	use("envd");
	with("bin", "/opt/envd");
	with("port", "1234");
	with("log-file", "-");
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(argv_line(), "[/opt/envd] [-port] [1234] [-isnotfc]");
	assert_string_equal(s.t.process.log_file, "-");
	s.t.env = env;
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(s.t.process.log_file, "/var/log/envd.log");
	s.t.env = empty; /* as if it were not set */
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(s.t.process.log_file, "-");
}

static void a_command_replaces_envds_argv_and_its_port_is_followed(void **state)
{
	static const char *const command[] = {"/bin/standin", "-port", "7", NULL};
	static const char *const silent[] = {"/bin/standin", NULL};

	(void)state;
	use("envd");
	s.t.command = command;
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(argv_line(), "[/bin/standin] [-port] [7]");
	assert_string_equal(asks(), "http://127.0.0.1:7/health");
	s.t.command = silent;
	assert_string_equal(asks(), "http://127.0.0.1:49983/health");
}

static void envd_is_ready_by_204_and_nothing_else(void **state)
{
	static const struct answer cases[] = {
		{204, "", REEVE_OK, ""},
		{200, "OK", REEVE_FAIL,
			"answered 200, expected 204: it is not envd that answers on port 49983"},
		{404, "", REEVE_FAIL,
			"GET http://127.0.0.1:49983/health answered 404, expected 204"},
	};

	(void)state;
	use("envd");
	JUDGE_ALL(cases);
	judge_common(204);
}

static void envds_health_is_asked_without_a_token(void **state)
{
	(void)state;
	use("envd");
	with("token", "secret");
	asks();
	assert_null(s.t.http.headers);
	assert_null(s.t.http.body);
}

static void envds_variables_are_asked_for_only_on_demand(void **state)
{
	(void)state;
	use("envd");
	with("token", "secret");
	assert_int_equal(answered(1, REEVE_HTTP_DONE, 204, "", ""), REEVE_OK);
	with("envs-gate", "true");
	assert_int_equal(answered(1, REEVE_HTTP_DONE, 503, "", ""), REEVE_RETRY);
	assert_int_equal(answered(1, REEVE_HTTP_DONE, 204, "", ""), REEVE_HTTP);
	assert_string_equal(s.t.http.url, "http://127.0.0.1:49983/envs");
	assert_true(header_is("X-Access-Token: secret"));
	assert_null(s.t.http.headers[1]);
	with("token", "");
	assert_int_equal(answered(1, REEVE_HTTP_DONE, 204, "", ""), REEVE_HTTP);
	assert_null(s.t.http.headers);
}

/* Step 2 of the gate. */
static void judge_envs(const struct answer *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum reeve_next got = answered(2, REEVE_HTTP_DONE, a[i].status, "", a[i].body);

		if (got != a[i].verdict || !strstr(s.t.why ? s.t.why : "", a[i].why))
			fail_msg("%d %s: %u, %s", a[i].status, a[i].body, got, s.t.why);
		if (s.t.why && strstr(s.t.why, "hush"))
			fail_msg("a value is shown: %s", s.t.why);
	}
}

static void envds_variables_are_a_flat_object_of_strings(void **state)
{
	static const struct answer cases[] = {
		{200, "{\"E2B_SANDBOX\":\"false\"}", REEVE_OK, ""},
		{200, "{}", REEVE_OK, ""},
		{200, "[\"hush\"]", REEVE_FAIL, "it is no object"},
		{200, "null", REEVE_FAIL, "it is no object"},
		{200, "\"hush\"", REEVE_FAIL, "it is no object"},
		{200, "", REEVE_FAIL, "it is no JSON"},
		{200, "<html>hush", REEVE_FAIL, "it is no JSON"},
		{200, "{\"a\":\"x\"", REEVE_FAIL, "it is no JSON"},
		{200, "{\"a\":\"x\",\"b\":7}", REEVE_FAIL, "no string: that of b"},
		{200, "{\"a\":{\"hush\":\"hush\"}}", REEVE_FAIL, "no string: that of a"},
		{200, "{\"a\":null}", REEVE_FAIL, "no string: that of a"},
		{204, "", REEVE_FAIL, "/envs answered 204, expected 200"},
		{302, "", REEVE_FAIL, "/envs answered 302, expected 200"},
		{401, "", REEVE_FAIL, "/envs answered 401, expected 200"},
		{404, "", REEVE_FAIL, "/envs answered 404, expected 200"},
		{429, "", REEVE_RETRY, "/envs answered 429, expected 200"},
		{503, "", REEVE_RETRY, "/envs answered 503, expected 200"},
	};

	(void)state;
	use("envd");
	with("envs-gate", "true");
	judge_envs(cases, sizeof(cases) / sizeof(cases[0]));
	assert_int_equal(answered(2, REEVE_HTTP_TIMEOUT, 0, "", ""), REEVE_RETRY);
	assert_int_equal(answered(2, REEVE_HTTP_BROKEN, 200, "", "{}"), REEVE_RETRY);
	fresh_turn();
	s.t.step = 2;
	s.t.http = (struct reeve_http){
		.status = 200, .answer = "{}", .answer_len = 2, .error = "", .truncated = true};
	assert_int_equal(s.plugin->ops->probe(s.self, &s.t), REEVE_FAIL);
	assert_non_null(strstr(s.t.why, "it is too long"));
}

static void a_4xx_of_envds_variables_may_be_waited_out(void **state)
{
	static const struct answer cases[] = {
		{401, "", REEVE_RETRY, "/envs answered 401, expected 200"},
		{404, "", REEVE_RETRY, "/envs answered 404, expected 200"},
		{302, "", REEVE_FAIL, "/envs answered 302, expected 200"},
		{204, "", REEVE_FAIL, "/envs answered 204, expected 200"},
		{200, "[]", REEVE_FAIL, "it is no object"},
	};

	(void)state;
	use("envd");
	with("envs-retry-4xx", "true");
	assert_int_equal(start(), REEVE_FAIL);
	assert_non_null(strstr(s.t.why, "envs-gate"));
	with("envs-gate", "true");
	assert_int_equal(start(), REEVE_OK);
	judge_envs(cases, sizeof(cases) / sizeof(cases[0]));
	assert_int_equal(answered(1, REEVE_HTTP_DONE, 404, "", ""), REEVE_FAIL); /* of /health */
}

/* ---- jupyter ---- */

static void jupyter_starts_without_a_token_in_both_spellings(void **state)
{
	(void)state;
	use("jupyter");
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(argv_line(),
		"[/usr/bin/jupyter] [server] [--ip=127.0.0.1] [--port=8888] "
		"[--ServerApp.port_retries=0] "
		"[--IdentityProvider.token=] [--ServerApp.token=] [--ServerApp.password=] "
		"[--ServerApp.disable_check_xsrf=True] [--ServerApp.root_dir=/home/user] "
		"[--ServerApp.allow_root=True] [--ServerApp.open_browser=False]");
	assert_null(s.t.process.env);
	assert_int_equal(s.t.process.ports[0], 8888);
}

static void a_token_of_jupyter_is_in_its_environment_and_not_in_its_argv(void **state)
{
	(void)state;
	use("jupyter");
	with("token", "s3cret");
	assert_int_equal(start(), REEVE_OK);
	assert_null(strstr(argv_line(), "s3cret"));
	assert_null(strstr(argv_line(), "token="));
	assert_string_equal(s.t.process.env[0], "JUPYTER_TOKEN=s3cret");
	assert_null(s.t.process.env[1]);
	asks();
	assert_true(header_is("Authorization: token s3cret"));
}

static void a_root_of_jupyter_that_is_the_root_is_refused(void **state)
{
	static const char *const bad[] = {"/", "//", "/.", "/./", "/.."};

	(void)state;
	use("jupyter");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		with("root-dir", bad[i]);
		assert_int_equal(start(), REEVE_FAIL);
		assert_non_null(strstr(s.t.why, "root-dir must not be /"));
	}
	with("root-dir", "/.x");
	assert_int_equal(start(), REEVE_OK);
}

static void the_last_port_of_jupyters_arguments_is_the_one_that_is_probed(void **state)
{
	(void)state;
	use("jupyter");
	with("port", "9000");
	assert_string_equal(asks(), "http://127.0.0.1:9000/api/status");
	WITH_WORDS("extra-args",
		"--port\0"
		"9001");
	assert_string_equal(asks(), "http://127.0.0.1:9001/api/status");
	WITH_WORDS("extra-args", "--ServerApp.port=9002");
	assert_string_equal(asks(), "http://127.0.0.1:9002/api/status");
	assert_int_equal(start(), REEVE_OK);
	assert_int_equal(s.t.process.ports[0], 9002);
	WITH_WORDS("extra-args", "--port=many");
	assert_int_equal(start(), REEVE_FAIL);
	assert_non_null(strstr(s.t.why, "port many in its arguments is no port"));
}

#define STATUS "{\"connections\":0,\"kernels\":0,\"last_activity\":\"Z\",\"started\":\"Z\"}"

static void jupyter_is_ready_by_its_status_object(void **state)
{
	static const struct answer cases[] = {
		{200, STATUS, REEVE_OK, ""},
		{200, "{\"connections\":0,\"kernels\":0,\"last_activity\":\"Z\"}", REEVE_FAIL,
			"it is not Jupyter that answers on port 8888"},
		{200, "{\"version\":\"1.23.3\"}", REEVE_FAIL, "answered 200 without started"},
		{200, "[" STATUS "]", REEVE_FAIL, "not Jupyter"},
		{200, "OK", REEVE_FAIL, "not Jupyter"},
		{200, "", REEVE_FAIL, "not Jupyter"},
		{403, "{\"message\":\"Forbidden\"}", REEVE_FAIL,
			"answered 403, expected 200: the server wants another token"},
		{401, "", REEVE_FAIL, "another token"},
		{404, "<html>", REEVE_FAIL, "answered 404, expected 200"},
	};

	(void)state;
	use("jupyter");
	JUDGE_ALL(cases);
	judge_common(200);
}

/* ---- interpreter ---- */

static void the_interpreter_binds_itself_without_a_listener(void **state)
{
	(void)state;
	use("interpreter");
	with("app-dir", "/srv/app");
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(argv_line(),
		"[/usr/bin/python3] [-m] [uvicorn] [main:app] [--app-dir] [/srv/app] [--host] "
		"[0.0.0.0] "
		"[--port] [49999] [--workers] [1] [--no-access-log] [--no-use-colors] "
		"[--timeout-keep-alive] [640]");
	assert_int_equal(s.t.process.port_count, 1);
	assert_string_equal(asks(), "http://127.0.0.1:49999/health");
}

static void the_interpreter_inherits_a_listener_and_binds_nothing(void **state)
{
	(void)state;
	use("interpreter");
	with_listener("http", "0.0.0.0:4000", 4000);
	with("keep-alive", "5s");
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(argv_line(),
		"[/usr/bin/python3] [-m] [uvicorn] [main:app] [--fd] [3] [--workers] [1] "
		"[--no-access-log] [--no-use-colors] [--timeout-keep-alive] [5]");
	assert_int_equal(s.t.process.port_count, 0);
	assert_string_equal(asks(), "http://127.0.0.1:4000/health");
	with_listener("web", "[::]:4001", 4001);
	assert_string_equal(asks(), "http://[::1]:4001/health");
	with_listener("web", "127.0.0.7:4002", 4002);
	assert_string_equal(asks(), "http://127.0.0.7:4002/health");
	with_listener("web", "/run/x.sock", 0);
	assert_string_equal(asks(), "http://127.0.0.1:49999/health");
}

static void a_command_of_the_interpreter_is_probed_where_it_listens(void **state)
{
	static const char *const command[] = {"uvicorn", "server:app", "--port=4005", NULL};
	static const char *const bad[] = {"uvicorn", "server:app", "--port", "0", NULL};

	(void)state;
	use("interpreter");
	s.t.command = command;
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(argv_line(), "[uvicorn] [server:app] [--port=4005]");
	assert_string_equal(asks(), "http://127.0.0.1:4005/health");
	s.t.command = bad;
	assert_int_equal(start(), REEVE_FAIL);
}

static void the_interpreter_is_ready_by_the_json_string_ok(void **state)
{
	static const struct answer cases[] = {
		{200, "\"OK\"", REEVE_OK, ""},
		{200, " \"OK\"\n", REEVE_OK, ""},
		{200, "OK", REEVE_FAIL, "another body than \"OK\""},
		{200, "\"ok\"", REEVE_FAIL, "not the interpreter"},
		{200, "\"OK\" and more", REEVE_FAIL, "not the interpreter"},
		{200, "{\"status\":\"OK\"}", REEVE_FAIL, "not the interpreter"},
		{200, "", REEVE_FAIL, "not the interpreter"},
		{204, "", REEVE_FAIL, "answered 204, expected 200"},
	};

	(void)state;
	use("interpreter");
	JUDGE_ALL(cases);
	judge_common(200);
}

/* ---- mcp-gateway ---- */

static const char *const gateway[] = {"mcp-proxy", "--port", "5001", NULL};

static void a_gateway_needs_a_command(void **state)
{
	(void)state;
	use("mcp-gateway");
	assert_int_equal(start(), REEVE_FAIL);
	assert_non_null(strstr(s.t.why, "needs `command`"));
	s.t.command = gateway;
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(argv_line(), "[mcp-proxy] [--port] [5001]");
	with("path", "mcp");
	assert_int_equal(start(), REEVE_FAIL);
}

static void a_gateway_gets_token_and_configuration_by_its_environment(void **state)
{
	(void)state;
	use("mcp-gateway");
	s.t.command = gateway;
	with("token", "t0ken");
	with("config", "{\"nobody-knows-this-server\":{}}"); /* accepted as it is */
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(s.t.process.env[0], "GATEWAY_ACCESS_TOKEN=t0ken");
	assert_string_equal(s.t.process.env[1], "MCP_GATEWAY_AUTH_TOKEN=t0ken");
	assert_string_equal(
		s.t.process.env[2], "MCP_GATEWAY_CONFIG={\"nobody-knows-this-server\":{}}");
	assert_null(s.t.process.env[3]);
	assert_null(strstr(argv_line(), "t0ken"));
}

static void a_launched_gateway_is_the_command_of_e2bs_images(void **state)
{
	(void)state;
	use("mcp-gateway");
	with("kind", "launcher");
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(argv_line(), "[mcp-gateway] [--config] [{}]");
	assert_int_equal(s.t.process.type, REEVE_LAUNCHER);
	assert_int_equal(s.t.main_port, 50005);
	assert_int_equal(s.t.process.ports[0], 50005);
	with("bin", "/opt/gw");
	with("port", "5002");
	with("token", "t0ken");
	with("config", "{\"nobody-knows-this-server\":{}}"); /* accepted as it is */
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(
		argv_line(), "[/opt/gw] [--config] [{\"nobody-knows-this-server\":{}}]");
	assert_int_equal(s.t.main_port, 5002);
	assert_string_equal(s.t.process.env[0], "GATEWAY_ACCESS_TOKEN=t0ken");
	for (size_t i = 0; s.t.process.env[i]; i++)
		assert_null(strstr(s.t.process.env[i], "MCP_GATEWAY_CONFIG"));
	s.t.command = gateway;
	assert_int_equal(start(), REEVE_OK);
	assert_string_equal(argv_line(), "[mcp-proxy] [--port] [5001]");
	with("kind", "other");
	assert_int_equal(start(), REEVE_FAIL);
	assert_non_null(strstr(s.t.why, "resident or launcher"));
}

static void a_gateway_is_asked_to_initialize_at_its_port_and_path(void **state)
{
	(void)state;
	use("mcp-gateway");
	assert_string_equal(asks(), "http://127.0.0.1:50005/mcp");
	assert_string_equal(s.t.http.method, "POST");
	assert_true(header_is("Content-Type: application/json"));
	assert_true(header_is("Accept: application/json, text/event-stream"));
	assert_int_equal(s.t.http.body_len, strlen(s.t.http.body));
	assert_non_null(strstr(s.t.http.body, "\"method\":\"initialize\""));
	s.t.command = gateway;
	assert_string_equal(asks(), "http://127.0.0.1:5001/mcp");
	with("port", "5002"); /* what the user says wins over what the command says */
	with("path", "/x");
	with("token", "t");
	assert_string_equal(asks(), "http://127.0.0.1:5002/x");
	assert_true(header_is("Authorization: Bearer t"));
}

static void a_gateway_is_ready_by_a_result(void **state)
{
	static const struct answer cases[] = {
		{200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", REEVE_OK, ""},
		{200,
			"event: message\r\ndata: "
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\r\n",
			REEVE_OK, ""},
		{200, ": ping\n\ndata: {\"method\":\"x\"}\n\ndata:{\"result\":{}}\n\n", REEVE_OK,
			""},
		{200, "{\"error\":{\"code\":-1,\"message\":\"no server yet\"}}", REEVE_RETRY,
			"answered with an error: no server yet"},
		{200, "{}", REEVE_FAIL, "no MCP gateway"},
		{200, "", REEVE_FAIL, "no MCP gateway"},
		{200, "<html>", REEVE_FAIL, "no MCP gateway"},
		{401, "", REEVE_FAIL, "another token"},
		{406, "", REEVE_FAIL, "answered 406, expected 200"},
	};

	(void)state;
	use("mcp-gateway");
	JUDGE_ALL(cases);
	judge_common(200);
	/* A stream that stays open brings its result, too. */
	assert_int_equal(
		answered(1, REEVE_HTTP_TIMEOUT, 200, "", "data: {\"result\":{}}\n\n"), REEVE_OK);
}

static void a_key_in_the_path_of_a_gateway_is_in_no_reason(void **state)
{
	static const char *const bodies[] = {"{}", "{\"error\":{}}"};

	(void)state;
	use("mcp-gateway");
	with("path", "/mcp?key=s3cret");
	assert_string_equal(asks(), "http://127.0.0.1:50005/mcp?key=s3cret");
	for (size_t i = 0; i < 2; i++) {
		answered(1, REEVE_HTTP_DONE, 200, "", bodies[i]);
		assert_non_null(strstr(s.t.why, "http://127.0.0.1:50005/mcp"));
		assert_null(strstr(s.t.why, "s3cret"));
		answered(1, REEVE_HTTP_REFUSED, 0, "", "");
		assert_null(strstr(s.t.why, "s3cret"));
		answered(1, REEVE_HTTP_DONE, i ? 401 : 500, "", "");
		assert_null(strstr(s.t.why, "s3cret"));
	}
}

static void the_session_that_the_probe_opened_is_closed(void **state)
{
	(void)state;
	use("mcp-gateway");
	with("token", "t");
	assert_int_equal(answered(1, REEVE_HTTP_DONE, 200, "Date: x\nmcp-session-ID: abc\nX: y\n",
				 "{\"result\":{}}"),
		REEVE_HTTP);
	assert_string_equal(s.t.http.method, "DELETE");
	assert_string_equal(s.t.http.url, "http://127.0.0.1:50005/mcp");
	assert_true(header_is("Mcp-Session-Id: abc"));
	assert_true(header_is("Authorization: Bearer t"));
	/* However that ends. */
	assert_int_equal(answered(2, REEVE_HTTP_DONE, 405, "", ""), REEVE_OK);
	assert_int_equal(answered(2, REEVE_HTTP_REFUSED, 0, "", ""), REEVE_OK);
}

/* ---- whatever comes ---- */

/* No answer, however strange, may lead out of bounds or to an answer that is none. */
static void strange_answers_do_no_harm(void **state)
{
	static const char *const names[] = {"envd", "jupyter", "interpreter", "mcp-gateway"};
	static const char alphabet[] = "{}[]\":,\\\r\n datresulOK0123\x01\xff";
	unsigned seed = 3;
	char body[200];

	(void)state;
	for (size_t k = 0; k < 4; k++) {
		use(names[k]);
		for (int round = 0; round < 3000; round++) {
			size_t n = (size_t)rand_r(&seed) % sizeof(body);
			enum reeve_next got;

			for (size_t i = 0; i < n; i++)
				body[i] = alphabet[(size_t)rand_r(&seed) % (sizeof(alphabet) - 1)];
			body[n ? n - 1 : 0] = 0;
			got = answered(1, (enum reeve_transport)(round % 2 ? 0 : rand_r(&seed) % 5),
				round % 2 ? 200 : rand_r(&seed) % 700, body, body);
			assert_true((unsigned)got <= REEVE_FAIL);
			assert_false(s.t.arena_full);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_plugin_is_described_as_the_header_says),
		cmocka_unit_test(exec_has_no_options_and_no_hooks),
		cmocka_unit_test(envd_starts_as_its_images_start_it),
		cmocka_unit_test(envd_gets_isnotfc_once_and_a_choice_of_the_user_stands),
		cmocka_unit_test(the_last_port_of_envds_arguments_is_the_one_that_is_probed),
		cmocka_unit_test(a_port_of_envd_that_is_none_is_refused),
		cmocka_unit_test(envds_options_and_log_variable_are_honoured),
		cmocka_unit_test(a_command_replaces_envds_argv_and_its_port_is_followed),
		cmocka_unit_test(envd_is_ready_by_204_and_nothing_else),
		cmocka_unit_test(envds_health_is_asked_without_a_token),
		cmocka_unit_test(envds_variables_are_asked_for_only_on_demand),
		cmocka_unit_test(envds_variables_are_a_flat_object_of_strings),
		cmocka_unit_test(a_4xx_of_envds_variables_may_be_waited_out),
		cmocka_unit_test(jupyter_starts_without_a_token_in_both_spellings),
		cmocka_unit_test(a_token_of_jupyter_is_in_its_environment_and_not_in_its_argv),
		cmocka_unit_test(a_root_of_jupyter_that_is_the_root_is_refused),
		cmocka_unit_test(the_last_port_of_jupyters_arguments_is_the_one_that_is_probed),
		cmocka_unit_test(jupyter_is_ready_by_its_status_object),
		cmocka_unit_test(the_interpreter_binds_itself_without_a_listener),
		cmocka_unit_test(the_interpreter_inherits_a_listener_and_binds_nothing),
		cmocka_unit_test(a_command_of_the_interpreter_is_probed_where_it_listens),
		cmocka_unit_test(the_interpreter_is_ready_by_the_json_string_ok),
		cmocka_unit_test(a_gateway_needs_a_command),
		cmocka_unit_test(a_gateway_gets_token_and_configuration_by_its_environment),
		cmocka_unit_test(a_launched_gateway_is_the_command_of_e2bs_images),
		cmocka_unit_test(a_gateway_is_asked_to_initialize_at_its_port_and_path),
		cmocka_unit_test(a_gateway_is_ready_by_a_result),
		cmocka_unit_test(a_key_in_the_path_of_a_gateway_is_in_no_reason),
		cmocka_unit_test(the_session_that_the_probe_opened_is_closed),
		cmocka_unit_test(strange_answers_do_no_harm),
	};

	return cmocka_run_group_tests_name("plugins", tests, NULL, NULL);
}
