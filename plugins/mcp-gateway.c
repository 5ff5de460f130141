/* mcp-gateway: MCP servers behind one address.
 *
 * A resident one stays in the foreground; how it is started is the configuration's `command`. A launcher, as
 * `mcp-gateway --config JSON` of E2B's images is, ends with 0 and leaves the gateway behind. Either is ready when an MCP `initialize` request is
 * answered with a result: a gateway whose server is missing may listen, and answer all else. */
#include <string.h>

#include <cJSON.h>

#include <reeve/plugin.h>

#include "loss.h"
#include "mcp-gateway-check.h"

static const struct reeve_option options[] = {
	{.name = "port",
		.type = REEVE_PORT,
		.preset = "50005",
		.summary = "where it listens; unless given, a --port of the command is followed"},
	{.name = "path",
		.type = REEVE_STRING,
		.preset = "/mcp",
		.summary = "the path of its MCP endpoint"},
	{.name = "token",
		.type = REEVE_SECRET,
		.env = "GATEWAY_ACCESS_TOKEN",
		.summary = "bearer token; the gateway gets it as GATEWAY_ACCESS_TOKEN and "
			   "MCP_GATEWAY_AUTH_TOKEN"},
	{.name = "config",
		.type = REEVE_SECRET_JSON,
		.summary =
			"servers and their settings, with their keys; a resident gateway gets it "
			"as JSON in MCP_GATEWAY_CONFIG, a launcher as its --config"},
	{.name = "kind",
		.type = REEVE_STRING,
		.preset = "resident",
		.summary =
			"resident: the command stays in the foreground; launcher: it ends with 0 "
			"and leaves the gateway behind"},
	{.name = "bin",
		.type = REEVE_STRING,
		.preset = "mcp-gateway",
		.summary =
			"the launcher; unless there is a command, it is run as BIN --config JSON"},
	{0},
};

static uint16_t port_of(const struct reeve_turn *t)
{
	uint16_t port = reeve_port_of(reeve_flag(t->command, "--port"));

	return port && !reeve_option_given(t, "port") ? port
						      : (uint16_t)reeve_option_int(t, "port");
}

/* What E2B's contract says; whether a server's name is known is the gateway's matter, not ours. */
static void launch(struct reeve_turn *t)
{
	const char *config = reeve_option_text(t, "config");

	t->process.type = REEVE_LAUNCHER;
	t->main_port = port_of(t);
	t->process.argv = t->command ? t->command
				     : reeve_argv(t, reeve_option_text(t, "bin"), "--config",
					       *config ? config : "{}", NULL);
}

static bool is_fine(struct reeve_turn *t, bool launcher)
{
	if (!launcher && strcmp(reeve_option_text(t, "kind"), "resident") != 0)
		t->why = "option kind must be resident or launcher";
	else if (!launcher && !t->command)
		t->why = "needs `command`: how the gateway is started and stays in the foreground, "
			 "e.g. [mcp-proxy, --port, \"50005\", --, my-mcp-server]; or option kind: "
			 "launcher";
	else if (*reeve_option_text(t, "path") != '/')
		t->why = "option path must begin with /";
	else
		return true;
	return false;
}

static enum reeve_next start(void *self, struct reeve_turn *t)
{
	const char *token = reeve_option_text(t, "token"), *config = reeve_option_text(t, "config");
	bool launcher = strcmp(reeve_option_text(t, "kind"), "launcher") == 0;
	struct reeve_list env = {0};

	(void)self;
	if (!is_fine(t, launcher))
		return REEVE_FAIL;
	if (*token) {
		reeve_add(t, &env, reeve_fmt(t, "GATEWAY_ACCESS_TOKEN=%s", token));
		reeve_add(t, &env, reeve_fmt(t, "MCP_GATEWAY_AUTH_TOKEN=%s", token));
	}
	if (launcher) {
		launch(t);
	} else {
		t->process.argv = t->command;
		if (*config)
			reeve_add(t, &env, reeve_fmt(t, "MCP_GATEWAY_CONFIG=%s", config));
	}
	t->process.env = env.v;
	t->process.is_static = true;
	reeve_port(t, port_of(t));
	return REEVE_OK;
}

static void ask(struct reeve_turn *t, const char *url)
{
	static const char body[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
		"\"protocolVersion\":\"2025-03-26\",\"capabilities\":{},"
		"\"clientInfo\":{\"name\":\"reeve\",\"version\":\"1\"}}}";
	const char *token = reeve_option_text(t, "token");
	struct reeve_list headers = {0};

	reeve_add(t, &headers, "Content-Type: application/json");
	reeve_add(t, &headers, "Accept: application/json, text/event-stream");
	if (*token)
		reeve_add(t, &headers, reeve_fmt(t, "Authorization: Bearer %s", token));
	t->http.method = "POST";
	t->http.url = url;
	t->http.headers = headers.v;
	t->http.body = body;
	t->http.body_len = sizeof(body) - 1;
}

/* A reply of JSON-RPC: 1 a result, 0 an error (its message in *error), -1 neither. */
static int judge_json(struct reeve_turn *t, const char *text, size_t n, const char **error)
{
	cJSON *json = cJSON_ParseWithLength(text, n);
	const cJSON *e = cJSON_GetObjectItemCaseSensitive(json, "error");
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(e, "message");
	int verdict = -1;

	if (cJSON_GetObjectItemCaseSensitive(json, "result"))
		verdict = 1;
	else if (cJSON_IsObject(e))
		verdict = 0;
	if (verdict == 0)
		*error = reeve_fmt(t, "%.200s", cJSON_IsString(m) ? m->valuestring : "no message");
	cJSON_Delete(json);
	return verdict;
}

/* The answer is one JSON object, or a stream of events, each line "data: {...}". A stream that was left
   open counts for what has come. */
static int judge_body(struct reeve_turn *t, const char **error)
{
	const char *s = t->http.answer, *end = s + t->http.answer_len;
	int verdict = judge_json(t, s, t->http.answer_len, error);

	while (verdict < 0 && s < end) {
		size_t n = strcspn(s, "\r\n");

		if (strncmp(s, "data:", 5) == 0)
			verdict = judge_json(t, s + 5, n - 5, error);
		s += n + 1;
	}
	return verdict;
}

static enum reeve_next judge(struct reeve_turn *t, const char *url)
{
	const char *error = "";
	enum reeve_next next;
	int verdict = t->http.status == 200 ? judge_body(t, &error) : -1;

	if (verdict == 1)
		return REEVE_OK;
	url = reeve_str(t, url, strcspn(url, "?")); /* there may be a key behind it */
	next = reeve_expect(t, "POST", url, 200);
	if (next == REEVE_FAIL && (t->http.status == 401 || t->http.status == 403))
		t->why = reeve_fmt(
			t, "%s: the gateway wants another token than option token", t->why);
	if (next != REEVE_OK)
		return next;
	if (verdict == 0) { /* it may still be bringing its servers up */
		t->why = reeve_fmt(
			t, "POST %s: initialize was answered with an error: %s", url, error);
		return REEVE_RETRY;
	}
	t->why = reeve_fmt(t,
		"POST %s answered 200 without an MCP result: it is no MCP gateway that answers on "
		"port %u",
		url, port_of(t));
	return REEVE_FAIL;
}

/* The session that our question opened; NULL: it keeps none. */
static const char *session_of(struct reeve_turn *t)
{
	static const char name[] = "mcp-session-id:";
	const char *s = t->http.answer_headers;

	for (; *s; s += strcspn(s, "\n"), s += *s == '\n') {
		size_t i = 0;

		while (name[i] && (s[i] | 0x20) == (name[i] | 0x20))
			i++;
		if (!name[i])
			return reeve_fmt(
				t, "Mcp-Session-Id:%.*s", (int)strcspn(s + i, "\n"), s + i);
	}
	return NULL;
}

/* What we opened we close, so that a gateway is not left with a session nobody uses. */
static enum reeve_next leave(struct reeve_turn *t, const char *url)
{
	const char *session = session_of(t), *token = reeve_option_text(t, "token");
	struct reeve_list headers = {0};

	if (!session)
		return REEVE_OK;
	reeve_add(t, &headers, session);
	if (*token)
		reeve_add(t, &headers, reeve_fmt(t, "Authorization: Bearer %s", token));
	t->http = (struct reeve_http){.method = "DELETE",
		.url = url,
		.headers = headers.v,
		.timeout_ns = INT64_C(500000000)};
	return REEVE_HTTP;
}

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	const char *url = reeve_fmt(
		t, "http://127.0.0.1:%u%s", port_of(t), reeve_option_text(t, "path"));
	enum reeve_next next;

	(void)self;
	if (t->step == 0) {
		ask(t, url);
		return REEVE_HTTP;
	}
	if (t->step >
		1) /* the session is closed, or the gateway keeps it: it is ready either way */
		return REEVE_OK;
	next = judge(t, url);
	return next == REEVE_OK ? leave(t, url) : next;
}

/* Of one run. */
struct confirming {
	bool leaves; /* it is alive, and the session that was opened for the question is being closed */
};

static enum reeve_next confirm(void *self, struct reeve_turn *t)
{
	const char *url = reeve_fmt(
		t, "http://127.0.0.1:%u%s", port_of(t), reeve_option_text(t, "path"));
	struct confirming *c = self;
	enum reeve_next next;

	if (t->step == 0)
		c->leaves = false;
	if (c->leaves)
		return REEVE_OK;
	if (rv_loss_asks(t)) {
		ask(t, url);
		return REEVE_HTTP;
	}
	next = rv_loss_judge(t, "POST", url, judge(t, url));
	if (next != REEVE_OK)
		return next;
	c->leaves = true;
	return leave(t, url);
}

static bool is_program_file(const char *word)
{
	static const char *const endings[] = {".js", ".mjs", ".cjs", ".py", ".jar"};
	size_t n = strlen(word);

	for (size_t i = 0; *word == '/' && i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t k = strlen(endings[i]);

		if (n > k && strcmp(word + n - k, endings[i]) == 0)
			return true;
	}
	return false;
}

/* The script and what it is told: the server behind --, and files that the command names. */
static const char *const *check_argv(struct reeve_turn *t)
{
	struct reeve_list argv = {0};
	const char *server = "";

	for (size_t i = 0; t->command && t->command[i]; i++)
		if (strcmp(t->command[i], "--") == 0 && t->command[i + 1])
			server = t->command[i + 1];
	reeve_add(t, &argv, "/bin/sh");
	reeve_add(t, &argv, "-c");
	reeve_add(t, &argv, check_script);
	reeve_add(t, &argv, "sh");
	reeve_add(t, &argv, server);
	for (size_t i = 0; t->command && t->command[i]; i++)
		if (is_program_file(t->command[i]))
			reeve_add(t, &argv, t->command[i]);
	return argv.v;
}

/* A gateway whose server is missing listens all the same, so its command is read as far as it can be. */
static enum reeve_next check(void *self, struct reeve_turn *t)
{
	(void)self;
	if (t->step && *t->run.error) {
		t->why = reeve_fmt(t, "what its command names was not looked at: %s", t->run.error);
		return REEVE_RETRY;
	}
	if (t->step)
		return reeve_findings(t, "looking at its command");
	t->run.argv = check_argv(t);
	return REEVE_RUN;
}

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops),
	.start = start,
	.probe = probe,
	.confirm = confirm,
	.check = check};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.state_size = sizeof(struct confirming),
	.name = "mcp-gateway",
	.summary = "puts MCP servers behind one address",
	.options = options,
	.ops = &ops,
};
