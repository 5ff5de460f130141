/* interpreter: the code interpreter, an ASGI application on uvicorn. Ready when GET /health is "OK".
 *
 * With a listener (`listen:`) it gets the socket that reeve has bound, so that nobody can take its port
 * while it imports; uvicorn itself calls listen when its start-up is over.
 *
 * Its kernels are Jupyter's, and outlive it. With option session-prefix they are removed when it has ended, for
 * whatever reason: it is told the prefix, begins the paths of its sessions with it, and cleanup deletes what
 * has such a path. No process of the service is left then, so none of these is in use by it.
 *
 * Kernels that run do not see a variable that the sandbox gets later. With option envs-path the server is told all of the
 * sandbox's variables, by their values: it could read envd's itself, but nobody says when they are there. */
#include <string.h>

#include <reeve/plugin.h>

#include "interpreter-check.h"
#include "loss.h"
#include "sessions.h"
#include "telling.h"

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
	{.name = "session-prefix",
		.type = REEVE_STRING,
		.summary = "how the paths of its sessions in Jupyter begin, and no others: those "
			   "that are left when it has ended are deleted"},
	{.name = "envs-path",
		.type = REEVE_STRING,
		.summary = "where it takes the sandbox's variables: POST {\"envVars\": {...}} is "
			   "sent there before it is ready and when they change"},
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

enum {
	PREFIX_LEAST = 8
}; /* bytes: a short one is sooner or later the beginning of somebody else's */

/* NULL: they are what they should be. */
static const char *wrong_with_options(struct reeve_turn *t)
{
	const char *prefix = reeve_option_text(t, "session-prefix");
	const char *path = reeve_option_text(t, "envs-path");

	if (*prefix && strlen(prefix) < PREFIX_LEAST)
		return reeve_fmt(t,
			"option session-prefix is too short: everything in Jupyter that begins "
			"with "
			"'%s' would be deleted; take at least %d letters that nobody else begins "
			"with",
			prefix, PREFIX_LEAST);
	if (*path && *path != '/')
		return "option envs-path is the path of a URL, and has to begin with /";
	return NULL;
}

static enum reeve_next start(void *self, struct reeve_turn *t)
{
	const char *const *argv = argv_of(t), *prefix = reeve_option_text(t, "session-prefix");
	struct reeve_list env = {0};

	(void)self;
	t->why = wrong_with_options(t);
	if (t->why)
		return REEVE_FAIL;
	if (!listener_of(t)) {
		uint16_t port = own_port(t, argv);

		if (!port)
			return REEVE_FAIL;
		reeve_port(t, port);
	}
	if (*prefix) {
		reeve_add(t, &env, reeve_fmt(t, "CODE_INTERPRETER_SESSION_PREFIX=%s", prefix));
		t->process.env = env.v;
	}
	t->process.argv = argv;
	t->process.is_static = true;
	t->unused = (*prefix ? 0 : REEVE_UNUSED_CLEANUP) |
		(*reeve_option_text(t, "envs-path") ? 0 : REEVE_UNUSED_UPDATE);
	return REEVE_OK;
}

/* Where it can be reached from here; NULL: t->why says what is wrong. */
static const char *url_of(struct reeve_turn *t, const char *path)
{
	const struct reeve_listener *l = listener_of(t);
	uint16_t port;

	if (!l) {
		port = own_port(t, argv_of(t));
		return port ? reeve_fmt(t, "http://127.0.0.1:%u%s", port, path) : NULL;
	}
	if (strncmp(l->address, "0.0.0.0:", 8) == 0)
		return reeve_fmt(t, "http://127.0.0.1:%u%s", l->port, path);
	if (strncmp(l->address, "[::]:", 5) == 0)
		return reeve_fmt(t, "http://[::1]:%u%s", l->port, path);
	return reeve_fmt(t, "http://%s%s", l->address, path);
}

static bool is_ok(const struct reeve_http *h)
{
	const char *s = h->answer + strspn(h->answer, " \t\r\n");

	return strncmp(s, "\"OK\"", 4) == 0 && !s[4 + strspn(s + 4, " \t\r\n")];
}

static enum reeve_next judge(struct reeve_turn *t, const char *url)
{
	enum reeve_next next = reeve_expect(t, "GET", url, 200);

	if (next != REEVE_OK || (!t->http.truncated && is_ok(&t->http)))
		return next;
	t->why = reeve_fmt(t,
		"GET %s answered 200 with another body than \"OK\": it is not the interpreter that "
		"answers",
		url);
	return REEVE_FAIL;
}

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	const char *url = url_of(t, "/health");

	(void)self;
	if (!url)
		return REEVE_FAIL;
	if (t->step == 0) {
		t->http.url = url;
		return REEVE_HTTP;
	}
	return judge(t, url);
}

/* With a listener the port is open for as long as reeve has it, so that only the process can tell of a loss. */
static enum reeve_next confirm(void *self, struct reeve_turn *t)
{
	const char *url = url_of(t, "/health");

	(void)self;
	if (!url)
		return REEVE_RETRY;
	if (rv_loss_asks(t)) {
		t->http.url = url;
		return REEVE_HTTP;
	}
	return rv_loss_judge(t, "GET", url, judge(t, url));
}

static enum reeve_next update(void *self, struct reeve_turn *t)
{
	const char *path = reeve_option_text(t, "envs-path"), *url;

	(void)self;
	if (!*path)
		return REEVE_OK; /* it cannot be told: its new kernels ask envd, if they do */
	url = url_of(t, path);
	return url ? rv_telling_update(t, url) : REEVE_FAIL;
}

/* --- cleanup: the sessions that it leaves in Jupyter ------------------------------------------- */

enum { SESSIONS_MAX = 64 }; /* in one run; what is more is told, and goes with the next end */

static const int64_t step_most = INT64_C(30000000000); /* suited to a slow machine */

/* Of one run. */
struct cleaning {
	int found, at; /* the sessions, and the one that is being deleted */
	char ids[SESSIONS_MAX][RV_SESSION_ID];
	char trouble[300]; /* what went wrong first; "": nothing */
	int troubles;
};

static struct rv_session_server jupyter_of(struct reeve_turn *t)
{
	const char *base = reeve_env(t, "JUPYTER_BASE_URL"), *end;

	if (!base || !*base)
		base = "http://127.0.0.1:8888";
	for (end = base + strlen(base); end > base && end[-1] == '/';)
		end--;
	return (struct rv_session_server){.base = reeve_str(t, base, (size_t)(end - base)),
		.token = reeve_env(t, "JUPYTER_TOKEN")};
}

/* Each of the steps that are left has its share of the time, so that one that hangs does not take it all. */
static int64_t share(const struct reeve_turn *t, int steps)
{
	int64_t ns = t->left_ns / (steps + 1);

	return ns < step_most ? ns : step_most;
}

static void note(struct cleaning *c, const char *why)
{
	size_t n = strlen(why);

	if (c->troubles++)
		return;
	if (n >= sizeof(c->trouble))
		n = sizeof(c->trouble) - 1;
	memcpy(c->trouble, why, n);
	c->trouble[n] = 0;
}

static enum reeve_next cleaned(struct reeve_turn *t, const struct cleaning *c)
{
	if (c->troubles == 0)
		return REEVE_OK;
	t->why = reeve_fmt(t, "%d of %d sessions may be left in Jupyter: %s", c->troubles, c->found,
		c->trouble);
	return REEVE_RETRY;
}

/* The next one, whatever became of the one before. */
static enum reeve_next clean_on(
	struct reeve_turn *t, struct cleaning *c, const struct rv_session_server *at)
{
	int known = c->found < SESSIONS_MAX ? c->found : SESSIONS_MAX;

	if (c->at < known)
		return rv_session_delete(t, at, c->ids[c->at], share(t, known - c->at));
	for (int i = SESSIONS_MAX; i < c->found; i++)
		note(c, "they are too many for one time");
	return cleaned(t, c);
}

/* The list has come, or has not. */
static enum reeve_next clean_these(
	struct reeve_turn *t, struct cleaning *c, const struct rv_session_server *at)
{
	const char *url = reeve_fmt(t, "%s/api/sessions", at->base);

	if (t->http.transport == REEVE_HTTP_REFUSED)
		return REEVE_OK; /* Jupyter has ended, and its kernels with it */
	if (reeve_expect(t, "GET", url, 200) != REEVE_OK) {
		t->why = reeve_fmt(t, "its sessions may be left in Jupyter: %s", t->why);
		return REEVE_RETRY;
	}
	c->found = rv_session_find(
		&t->http, reeve_option_text(t, "session-prefix"), true, c->ids, SESSIONS_MAX);
	if (c->found >= 0)
		return clean_on(t, c, at);
	t->why = reeve_fmt(t,
		"its sessions may be left in Jupyter: GET %s answered 200 with what is no list of "
		"sessions, or with too long a one",
		url);
	return REEVE_RETRY;
}

static enum reeve_next cleanup(void *self, struct reeve_turn *t)
{
	struct rv_session_server at = jupyter_of(t);
	struct cleaning *c = self;

	if (!*reeve_option_text(t, "session-prefix"))
		return REEVE_OK;
	if (t->step == 0) {
		*c = (struct cleaning){0};
		return rv_session_ask(t, &at, "GET", "/api/sessions", NULL, share(t, 1));
	}
	if (t->step == 1)
		return clean_these(t, c, &at);
	if (!rv_session_is_gone(t, &at, c->ids[c->at]))
		note(c, t->why);
	c->at++;
	return clean_on(t, c, &at);
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

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops),
	.start = start,
	.probe = probe,
	.update = update,
	.cleanup = cleanup,
	.confirm = confirm,
	.check = check};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.state_size = sizeof(struct cleaning),
	.name = "interpreter",
	.summary = "runs code cells for SDKs: an ASGI application on uvicorn",
	.options = options,
	.ops = &ops,
};
