/* jupyter: a Jupyter Server, private to this machine. Ready when GET /api/status is its status object.
 *
 * Written for jupyter_server 1.x and 2.x alike: 1.x ignores --IdentityProvider.token, newer ones prefer it,
 * so the absence of a token is said in both spellings. A token that is set goes through JUPYTER_TOKEN,
 * which both read and no list of processes shows. */
#include <string.h>

#include <cJSON.h>

#include <reeve/plugin.h>

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
	uint16_t port = port_of(t, argv_of(t));
	const char *url = reeve_fmt(t, "http://127.0.0.1:%u/api/status", port);
	const char *token = reeve_option_text(t, "token");
	struct reeve_list headers = {0};

	(void)self;
	if (!port)
		return REEVE_FAIL;
	if (t->step)
		return judge(t, url, port);
	if (*token)
		reeve_add(t, &headers, reeve_fmt(t, "Authorization: token %s", token));
	t->http.url = url;
	t->http.headers = headers.v;
	return REEVE_HTTP;
}

static const struct reeve_ops ops = {
	.size = sizeof(struct reeve_ops), .start = start, .probe = probe};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "jupyter",
	.summary = "runs a private Jupyter Server",
	.options = options,
	.ops = &ops,
};
