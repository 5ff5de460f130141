/* interpreter: the code interpreter, an ASGI application on uvicorn. Ready when GET /health is "OK".
 *
 * With a listener (`listen:`) it gets the socket that reeve has bound, so that nobody can take its port
 * while it imports; uvicorn itself calls listen when its start-up is over. */
#include <string.h>

#include <reeve/plugin.h>

#include "interpreter-check.h"

static const struct reeve_option options[] = {
	{.name = "python",
		.type = REEVE_PATH,
		.preset = "/usr/bin/python3",
		.summary = "the python that has uvicorn; by its path, for PATH may name another "
			   "first"},
	{.name = "app",
		.type = REEVE_STRING,
		.preset = "main:app",
		.summary = "MODULE:VARIABLE of the application"},
	{.name = "app-dir",
		.type = REEVE_PATH,
		.summary = "the folder that MODULE is in; default: the service's working-dir"},
	{.name = "port",
		.type = REEVE_PORT,
		.preset = "49999",
		.env = "CODE_INTERPRETER_PORT",
		.summary = "where it listens when no listener is configured"},
	{.name = "keep-alive",
		.type = REEVE_DURATION,
		.min = INT64_C(1000000000),
		.max = INT64_C(86400000000000),
		.preset = "640s",
		.summary = "how long an idle connection is kept open"},
	{0},
};

/* The listener that it serves: the one named http, else the first on TCP. NULL: it binds by itself. */
static const struct reeve_listener *listener_of(const struct reeve_turn *t)
{
	const struct reeve_listener *first = NULL;

	for (size_t i = 0; i < t->listener_count; i++) {
		const struct reeve_listener *l = &t->listeners[i];

		if (l->port && strcmp(l->name, "http") == 0)
			return l;
		if (l->port && !first)
			first = l;
	}
	return first;
}

static const char *host_of(const struct reeve_turn *t)
{
	const char *host = reeve_env(t, "CODE_INTERPRETER_HOST");

	return host && *host ? host : "0.0.0.0";
}

static const char *const *argv_of(struct reeve_turn *t)
{
	const struct reeve_listener *l = listener_of(t);
	struct reeve_list argv = {0};

	if (t->command)
		return t->command;
	reeve_add(t, &argv, reeve_option_text(t, "python"));
	reeve_add(t, &argv, "-m");
	reeve_add(t, &argv, "uvicorn");
	reeve_add(t, &argv, reeve_option_text(t, "app"));
	if (*reeve_option_text(t, "app-dir")) {
		reeve_add(t, &argv, "--app-dir");
		reeve_add(t, &argv, reeve_option_text(t, "app-dir"));
	}
	if (l) {
		reeve_add(t, &argv, "--fd");
		reeve_add(t, &argv, reeve_fmt(t, "%d", l->fd));
	} else {
		reeve_add(t, &argv, "--host");
		reeve_add(t, &argv, host_of(t));
		reeve_add(t, &argv, "--port");
		reeve_add(t, &argv, reeve_option_text(t, "port"));
	}
	reeve_add(t, &argv, "--workers");
	reeve_add(t, &argv, "1");
	reeve_add(t, &argv, "--no-access-log");
	reeve_add(t, &argv, "--no-use-colors");
	reeve_add(t, &argv, "--timeout-keep-alive");
	reeve_add(t, &argv,
		reeve_fmt(t, "%lld", (long long)(reeve_option_int(t, "keep-alive") / 1000000000)));
	return argv.v;
}

/* 0: t->why says what is wrong. Only asked without a listener. */
static uint16_t own_port(struct reeve_turn *t, const char *const *argv)
{
	const char *word = reeve_flag(argv, "--port");
	uint16_t port = reeve_port_of(word ? word : reeve_option_text(t, "port"));

	if (!port)
		t->why = reeve_fmt(t, "--port %s in its arguments is no port (1 to 65535)", word);
	return port;
}

static enum reeve_next start(void *self, struct reeve_turn *t)
{
	const char *const *argv = argv_of(t);

	(void)self;
	if (!listener_of(t)) {
		uint16_t port = own_port(t, argv);

		if (!port)
			return REEVE_FAIL;
		reeve_port(t, port);
	}
	t->process.argv = argv;
	t->process.is_static = true;
	return REEVE_OK;
}

/* Where it can be reached from here; NULL: t->why says what is wrong. */
static const char *url_of(struct reeve_turn *t)
{
	const struct reeve_listener *l = listener_of(t);
	uint16_t port;

	if (!l) {
		port = own_port(t, argv_of(t));
		return port ? reeve_fmt(t, "http://127.0.0.1:%u/health", port) : NULL;
	}
	if (strncmp(l->address, "0.0.0.0:", 8) == 0)
		return reeve_fmt(t, "http://127.0.0.1:%u/health", l->port);
	if (strncmp(l->address, "[::]:", 5) == 0)
		return reeve_fmt(t, "http://[::1]:%u/health", l->port);
	return reeve_fmt(t, "http://%s/health", l->address);
}

static bool is_ok(const struct reeve_http *h)
{
	const char *s = h->answer + strspn(h->answer, " \t\r\n");

	return strncmp(s, "\"OK\"", 4) == 0 && !s[4 + strspn(s + 4, " \t\r\n")];
}

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	const char *url = url_of(t);
	enum reeve_next next;

	(void)self;
	if (!url)
		return REEVE_FAIL;
	if (t->step == 0) {
		t->http.url = url;
		return REEVE_HTTP;
	}
	next = reeve_expect(t, "GET", url, 200);
	if (next != REEVE_OK || (!t->http.truncated && is_ok(&t->http)))
		return next;
	t->why = reeve_fmt(t,
		"GET %s answered 200 with another body than \"OK\": it is not the interpreter that "
		"answers",
		url);
	return REEVE_FAIL;
}

/* What a configured command serves: [PYTHON, -m, uvicorn, MODULE:VARIABLE, ...]; NULL: it cannot be told. */
static const char *served_by(const char *const *command)
{
	const char *slash = strrchr(command[0], '/');
	size_t i = 1;

	if (strncmp(slash ? slash + 1 : command[0], "python", 6) != 0)
		return NULL;
	while (command[i] && strcmp(command[i], "uvicorn") != 0)
		i++;
	for (; command[i]; i++)
		if (command[i][0] != '-' && strchr(command[i], ':') && !strchr(command[i], '/'))
			return command[i];
	return NULL;
}

/* The script and what it is told. */
static const char *const *check_argv(struct reeve_turn *t, const char *python, const char *app)
{
	const char *dir = t->command ? reeve_flag(t->command, "--app-dir")
				     : reeve_option_text(t, "app-dir");
	struct reeve_list argv = {0};

	reeve_add(t, &argv, python);
	reeve_add(t, &argv, "-B"); /* nothing is made, no compiled module either */
	reeve_add(t, &argv, "-c");
	reeve_add(t, &argv, check_script);
	reeve_add(t, &argv, app);
	reeve_add(t, &argv, dir ? dir : "");
	reeve_add(t, &argv, strchr(python, '/') ? "" : "1");
	for (size_t i = 0; i < t->peer_count; i++)
		if (strcmp(t->peers[i].plugin, "jupyter") == 0 && t->peers[i].argv) {
			reeve_add(t, &argv, t->peers[i].service);
			reeve_add(t, &argv, t->peers[i].argv[0]);
		}
	return argv.v;
}

/* The module that will be served is imported under the python that will run it, not only its framework. */
static enum reeve_next check(void *self, struct reeve_turn *t)
{
	const char *python = t->command ? t->command[0] : reeve_option_text(t, "python");
	const char *app = t->command ? served_by(t->command) : reeve_option_text(t, "app");

	(void)self;
	if (!app) {
		t->why = "its application was not imported: `command` is not [PYTHON, -m, uvicorn, "
			 "MODULE:VARIABLE, ...]";
		return REEVE_RETRY;
	}
	if (t->step)
		return reeve_findings(t, reeve_fmt(t, "importing %s under %s", app, python));
	t->run.argv = check_argv(t, python, app);
	t->run.timeout_ns = t->left_ns;
	return REEVE_RUN;
}

static const struct reeve_ops ops = {
	.size = sizeof(struct reeve_ops), .start = start, .probe = probe, .check = check};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "interpreter",
	.summary = "runs code cells for SDKs: an ASGI application on uvicorn",
	.options = options,
	.ops = &ops,
};
