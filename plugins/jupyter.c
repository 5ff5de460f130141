/* jupyter: a Jupyter Server, private to this machine. Ready when GET /api/status is its status object.
 *
 * Written for jupyter_server 1.x and 2.x alike: 1.x ignores --IdentityProvider.token, newer ones prefer it,
 * so the absence of a token is said in both spellings. A token that is set goes through JUPYTER_TOKEN,
 * which both read and no list of processes shows. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cJSON.h>

#include <reeve/plugin.h>

#include "contextlist.h"
#include "contexts.h"
#include "jupyter-check.h"
#include "loss.h"

static const struct reeve_option options[] = {
	{.name = "bin",
		.type = REEVE_PATH,
		.preset = "/usr/bin/jupyter",
		.summary = "the jupyter command; its own first line says which python it uses"},
	{.name = "port",
		.type = REEVE_PORT,
		.preset = "8888",
		.summary = "where it listens, on 127.0.0.1"},
	{.name = "token",
		.type = REEVE_SECRET,
		.env = "JUPYTER_TOKEN",
		.summary =
			"what clients must show; without one the server asks nobody, on purpose"},
	{.name = "root-dir",
		.type = REEVE_PATH,
		.preset = "/home/user",
		.summary = "the folder of its files; never /, newer servers refuse every session "
			   "then"},
	{.name = "extra-args", .type = REEVE_WORDS, .summary = "more arguments, behind the others"},
	{.name = "log-file",
		.type = REEVE_PATH,
		.env = "JUPYTER_LOG_FILE",
		.summary = "where its output goes; - is reeve's own output; default: the service's "
			   "log"},
	{.name = "contexts",
		.type = REEVE_JSON,
		.summary = "kernels that it has when it is ready: a list of maps with name, kernel "
			   "(python3) and working-dir (root-dir)"},
	{.name = "context-timeout",
		.type = REEVE_DURATION,
		.min = INT64_C(1000000),
		.max = INT64_C(3600000000000),
		.preset = "20s",
		.summary = "how long the creation of a context may take"},
	{0},
};

static const char *const *argv_of(struct reeve_turn *t)
{
	const struct reeve_value *extra = reeve_option(t, "extra-args");
	struct reeve_list argv = {0};
	const char *w;
	size_t at = 0;

	if (t->command)
		return t->command;
	reeve_add(t, &argv, reeve_option_text(t, "bin"));
	reeve_add(t, &argv, "server");
	reeve_add(t, &argv, "--ip=127.0.0.1");
	reeve_add(t, &argv, reeve_fmt(t, "--port=%s", reeve_option_text(t, "port")));
	/* A taken port is an error, not a reason to move silently to the next one. */
	reeve_add(t, &argv, "--ServerApp.port_retries=0");
	if (!*reeve_option_text(t, "token")) {
		reeve_add(t, &argv, "--IdentityProvider.token=");
		reeve_add(t, &argv, "--ServerApp.token=");
	}
	reeve_add(t, &argv, "--ServerApp.password=");
	reeve_add(t, &argv, "--ServerApp.disable_check_xsrf=True");
	reeve_add(t, &argv,
		reeve_fmt(t, "--ServerApp.root_dir=%s", reeve_option_text(t, "root-dir")));
	reeve_add(t, &argv, "--ServerApp.allow_root=True");
	reeve_add(t, &argv, "--ServerApp.open_browser=False");
	while ((w = reeve_word(extra, &at)))
		reeve_add(t, &argv, w);
	return argv.v;
}

/* Arguments can move the port; the probe follows. 0: t->why says what is wrong. */
static uint16_t port_of(struct reeve_turn *t, const char *const *argv)
{
	const char *a = reeve_flag(argv, "--port"), *b = reeve_flag(argv, "--ServerApp.port");
	const char *word = b ? b : a ? a : reeve_option_text(t, "port");
	uint16_t port = reeve_port_of(word);

	if (!port)
		t->why = reeve_fmt(t, "port %s in its arguments is no port (1 to 65535)", word);
	return port;
}

static bool is_root(const char *dir)
{
	return *dir == '/' && dir[strspn(dir, "/.")] == 0 && !strstr(dir, "...");
}

/* The folder of its files; NULL: only its own configuration knows. */
static const char *root_of(struct reeve_turn *t)
{
	return t->command ? reeve_flag(t->command, "--ServerApp.root_dir")
			  : reeve_option_text(t, "root-dir");
}

static enum reeve_next start(void *self, struct reeve_turn *t)
{
	const char *const *argv = argv_of(t), *token = reeve_option_text(t, "token");
	struct reeve_list env = {0};
	uint16_t port = port_of(t, argv);

	(void)self;
	if (!port)
		return REEVE_FAIL;
	if (is_root(reeve_option_text(t, "root-dir"))) {
		t->why = "option root-dir must not be /: newer servers refuse every session then; "
			 "name the "
			 "folder that the sandbox works in";
		return REEVE_FAIL;
	}
	if (!rv_contexts_check(t, root_of(t)))
		return REEVE_FAIL;
	if (*token) {
		reeve_add(t, &env, reeve_fmt(t, "JUPYTER_TOKEN=%s", token));
		t->process.env = env.v;
	}
	t->process.argv = argv;
	t->process.log_file = reeve_log_file(t, "JUPYTER_LOG_FILE", "log-file");
	t->process.is_static = true;
	reeve_port(t, port);
	return REEVE_OK;
}

static bool is_status(const struct reeve_http *h)
{
	static const char *const keys[] = {"started", "last_activity", "connections", "kernels"};
	cJSON *json = cJSON_ParseWithLength(h->answer, h->answer_len);
	bool fine = cJSON_IsObject(json);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		fine = fine && cJSON_GetObjectItemCaseSensitive(json, keys[i]);
	cJSON_Delete(json);
	return fine;
}

static enum reeve_next judge(struct reeve_turn *t, const char *url, uint16_t port)
{
	enum reeve_next next = reeve_expect(t, "GET", url, 200);

	if (next == REEVE_FAIL && (t->http.status == 401 || t->http.status == 403))
		t->why = reeve_fmt(
			t, "%s: the server wants another token than option token", t->why);
	if (next != REEVE_OK || (!t->http.truncated && is_status(&t->http)))
		return next;
	t->why = reeve_fmt(t,
		"GET %s answered 200 without started, last_activity, connections and kernels: it "
		"is not "
		"Jupyter that answers on port %u",
		url, port);
	return REEVE_FAIL;
}

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	struct rv_session_server at = {.token = reeve_option_text(t, "token")};
	struct rv_contexts_run *run = self;
	uint16_t port = port_of(t, argv_of(t));
	enum reeve_next next;

	if (!port)
		return REEVE_FAIL;
	at.base = reeve_fmt(t, "http://127.0.0.1:%u", port);
	if (t->step == 0) {
		*run = (struct rv_contexts_run){0};
		return rv_session_ask(t, &at, "GET", "/api/status", NULL, 0);
	}
	if (run->asked != RV_ASKED_STATUS)
		return rv_contexts_go_on(t, run, &at, root_of(t));
	next = judge(t, reeve_fmt(t, "%s/api/status", at.base), port);
	return next == REEVE_OK ? rv_contexts_begin(t, run, &at, root_of(t)) : next;
}

static enum reeve_next confirm(void *self, struct reeve_turn *t)
{
	struct rv_session_server at = {.token = reeve_option_text(t, "token")};
	uint16_t port = port_of(t, argv_of(t));
	const char *url;

	(void)self;
	if (!port)
		return REEVE_RETRY;
	at.base = reeve_fmt(t, "http://127.0.0.1:%u", port);
	if (rv_loss_asks(t))
		return rv_session_ask(t, &at, "GET", "/api/status", NULL, 0);
	url = reeve_fmt(t, "%s/api/status", at.base);
	return rv_loss_judge(t, "GET", url, judge(t, url, port));
}

/* --- check: which python runs it, and what that one says -------------------------------------- */

enum { LINE = 512 };

/* The two first lines of a script; false: it cannot be read, or is none. */
static bool read_head(const char *path, char *line, char *second)
{
	char head[2 * LINE] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
	size_t first = strcspn(head, "\n");

	if (fd >= 0)
		close(fd);
	if (n < 3 || strncmp(head, "#!", 2) != 0 || first >= LINE || !head[first])
		return false;
	snprintf(line, LINE, "%.*s", (int)first - 2, head + 2);
	snprintf(second, LINE, "%.*s", (int)strcspn(head + first + 1, "\n"), head + first + 1);
	return true;
}

static const char *next_word(char **at)
{
	char *word = *at + strspn(*at, " \t");

	*at = word + strcspn(word, " \t\r");
	if (**at)
		*(*at)++ = 0;
	return word;
}

static bool is_python(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, "python", 6) == 0;
}

/* The python that a script runs under; NULL: its head names none. *sought: PATH chooses it. */
static const char *python_of_script(struct reeve_turn *t, const char *path, bool *sought)
{
	static const char quoted[] = "'''exec' ";
	char line[LINE], second[LINE], *rest = line;
	const char *word;

	if (!read_head(path, line, second))
		return NULL;
	word = next_word(&rest);
	if (strcmp(word, "/usr/bin/env") == 0 || strcmp(word, "/bin/env") == 0) {
		word = next_word(&rest);
		*sought = true;
	} else if (strncmp(second, quoted, sizeof(quoted) - 1) == 0) {
		/* What installers write when the path is too long for a first line, or has blanks. */
		word = rest = second + sizeof(quoted) - 1;
		if (*rest == '"')
			word = ++rest;
		rest[strcspn(rest, word[-1] == '"' ? "\"" : " ")] = 0;
	}
	return is_python(word) ? reeve_str(t, word, strlen(word)) : NULL;
}

/* Where PATH finds a program; NULL: nowhere. */
static const char *find(struct reeve_turn *t, const char *name)
{
	const char *s = reeve_env(t, "PATH"), *end;

	if (strchr(name, '/'))
		return name;
	for (; s; s = *end ? end + 1 : NULL) {
		const char *path;

		end = s + strcspn(s, ":");
		path = reeve_fmt(t, "%.*s/%s", (int)(end - s), s, name);
		if (access(path, X_OK) == 0)
			return path;
	}
	return NULL;
}

static const char *python_of(struct reeve_turn *t, const char *program, bool *sought)
{
	const char *path;

	*sought = false;
	if (is_python(program)) {
		*sought = !strchr(program, '/');
		return program;
	}
	path = find(t, program);
	return path ? python_of_script(t, path, sought) : NULL;
}

/* Its head does not say which python, so all that can be done is to ask itself. */
static enum reeve_next ask_itself(struct reeve_turn *t, const char *program)
{
	if (t->step == 0) {
		t->run.argv = reeve_argv(t, program, "server", "--version", (char *)NULL);
		t->run.timeout_ns = t->left_ns;
		return REEVE_RUN;
	}
	if (reeve_findings(t, reeve_fmt(t, "%s server --version", program)) == REEVE_FAIL)
		return REEVE_FAIL;
	t->why = reeve_fmt(t,
		"its kernelspecs were not looked at: the first line of %s names no python",
		program);
	return REEVE_RETRY;
}

/* The script and what it is told. */
static const char *const *check_argv(
	struct reeve_turn *t, const char *python, const char *program, bool sought)
{
	const char *root = root_of(t);
	struct rv_context_list contexts;
	struct reeve_list argv = {0};

	reeve_add(t, &argv, python);
	reeve_add(t, &argv, "-B"); /* nothing is made, no compiled module either */
	reeve_add(t, &argv, "-c");
	reeve_add(t, &argv, check_script);
	reeve_add(t, &argv, program);
	reeve_add(t, &argv, root ? root : "");
	reeve_add(t, &argv, sought ? "1" : "");
	if (rv_context_list_read(t, root, &contexts))
		for (uint32_t i = 0; i < contexts.n; i++)
			reeve_add(t, &argv, contexts.v[i].kernel);
	return argv.v;
}

static enum reeve_next check(void *self, struct reeve_turn *t)
{
	const char *program = argv_of(t)[0], *python;
	bool sought;

	(void)self;
	python = python_of(t, program, &sought);
	if (!python && !t->command)
		return ask_itself(t, program);
	if (!python) {
		t->why =
			"neither its server nor its kernelspecs were looked at: `command` names no "
			"python";
		return REEVE_RETRY;
	}
	if (t->step)
		return reeve_findings(
			t, reeve_fmt(t, "looking for kernels of %s under %s", program, python));
	t->run.argv = check_argv(t, python, program, sought);
	t->run.timeout_ns = t->left_ns;
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
	.state_size = sizeof(struct rv_contexts_run),
	.name = "jupyter",
	.summary = "runs a private Jupyter Server",
	.options = options,
	.ops = &ops,
};
