/* envd: the daemon in a sandbox through which SDKs reach its processes and files.
 *
 * Its command line is Go's: -x and --x are the same, the last -port wins, the first word without a dash
 * ends the flags. It is ready when GET /health answers 204; a 200 comes from somebody else. On demand GET /envs
 * must answer as well: not by itself, for that would turn a sandbox with one bad feature into one that never boots.
 *
 * It is given the sandbox's variables between its readiness and the service's: see init.h. */
#include <stdlib.h>
#include <string.h>

#include <reeve/plugin.h>

#include "init.h"
#include "loss.h"
#include "variables.h"

static const struct reeve_option options[] = {
	{.name = "bin",
		.type = REEVE_PATH,
		.preset = "/usr/bin/envd",
		.env = "ENVD_BIN",
		.summary = "the program"},
	{.name = "port",
		.type = REEVE_PORT,
		.preset = "49983",
		.env = "ENVD_PORT",
		.summary = "where it listens; a -port in extra-args wins"},
	{.name = "extra-args",
		.type = REEVE_WORDS,
		.env = "ENVD_EXTRA_ARGS",
		.summary = "more arguments, behind -port; the variable is split at blanks, without "
			   "quotes or globbing"},
	{.name = "log-file",
		.type = REEVE_PATH,
		.env = "ENVD_LOG_FILE",
		.summary = "where its output goes; - is reeve's own output; default: the service's "
			   "log"},
	{.name = "token",
		.type = REEVE_SECRET,
		.summary = "what its control endpoints ask for: X-Access-Token, and accessToken in "
			   "the body of /init; /health never does"},
	{.name = "envs-gate",
		.type = REEVE_BOOL,
		.preset = "false",
		.summary = "ready only when GET /envs answers, too: 200 with a flat object of "
			   "strings"},
	{.name = "envs-retry-4xx",
		.type = REEVE_BOOL,
		.preset = "false",
		.summary = "of envs-gate: a 4xx may get better, for an envd that refuses before "
			   "/init"},
	{.name = "init-attempts",
		.type = REEVE_INT,
		.min = 1,
		.max = 1000,
		.preset = "3",
		.summary = "how often POST /init is tried, which gives it the sandbox's variables"},
	{.name = "init-timeout",
		.type = REEVE_DURATION,
		.min = INT64_C(1000000),
		.max = INT64_C(60000000000),
		.preset = "150ms",
		.summary = "how long a request of an attempt may take"},
	{.name = "init-pause",
		.type = REEVE_DURATION,
		.max = INT64_C(60000000000),
		.preset = "25ms",
		.summary = "the time between two attempts"},
	{.name = "init-any-2xx",
		.type = REEVE_BOOL,
		.preset = "false",
		.summary = "any 2xx is a good answer to POST /init; envd's own is 204"},
	{0},
};

/* The flag that a word is, without its dashes; NULL: the word ends the flags. *len: up to a '='. */
static const char *flag_of(const char *word, size_t *len)
{
	if (word[0] != '-' || !word[1])
		return NULL;
	word += word[1] == '-' ? 2 : 1;
	*len = strcspn(word, "=");
	return *word ? word : NULL;
}

static bool is_flag(const char *flag, size_t len, const char *name)
{
	return strlen(name) == len && strncmp(flag, name, len) == 0;
}

static const char *const *argv_of(struct reeve_turn *t)
{
	const struct reeve_value *extra = reeve_option(t, "extra-args");
	struct reeve_list argv = {0};
	bool given = false;
	const char *w;
	size_t at = 0, len;

	if (t->command)
		return t->command;
	reeve_add(t, &argv, reeve_option_text(t, "bin"));
	reeve_add(t, &argv, "-port");
	reeve_add(t, &argv, reeve_option_text(t, "port"));
	while ((w = reeve_word(extra, &at))) {
		const char *flag = flag_of(w, &len);

		given |= flag && is_flag(flag, len, "isnotfc");
		reeve_add(t, &argv, w);
	}
	/* Outside Firecracker it would wait for a metadata service that is not there. */
	if (!given)
		reeve_add(t, &argv, "-isnotfc");
	return argv.v;
}

/* The value of the last -port that Go's flag package would see; NULL: none. */
static const char *port_word(const char *const *argv)
{
	static const char *const valued[] = {"port", "cgroup-root", "cmd"};
	const char *found = NULL;

	for (size_t i = 1; argv && argv[0] && argv[i]; i++) {
		size_t len;
		const char *flag = flag_of(argv[i], &len), *value;
		bool takes = false;

		if (!flag)
			break;
		for (size_t k = 0; k < sizeof(valued) / sizeof(valued[0]); k++)
			takes |= is_flag(flag, len, valued[k]);
		value = flag[len] == '=' ? flag + len + 1 : takes ? argv[i + 1] : NULL;
		if (is_flag(flag, len, "port"))
			found = value ? value : "";
		if (takes && flag[len] != '=' && argv[i + 1])
			i++;
	}
	return found;
}

/* 0: t->why says what is wrong. */
static uint16_t port_of(struct reeve_turn *t, const char *const *argv)
{
	const char *word = port_word(argv);
	long long port = word ? 0 : reeve_option_int(t, "port");
	char *end;

	if (word && *word) {
		port = strtoll(word, &end, 0);
		if (*end)
			port = 0;
	}
	if (port >= 1 && port <= 65535)
		return (uint16_t)port;
	t->why = reeve_fmt(
		t, "-port %s in its arguments is no port (1 to 65535)", word ? word : "");
	return 0;
}

static enum reeve_next start(void *self, struct reeve_turn *t)
{
	const char *const *argv = argv_of(t);
	uint16_t port = port_of(t, argv);

	(void)self;
	if (!port)
		return REEVE_FAIL;
	if (reeve_option_bool(t, "envs-retry-4xx") && !reeve_option_bool(t, "envs-gate")) {
		t->why = "option envs-retry-4xx says how /envs is judged, but envs-gate, which "
			 "asks for "
			 "it, is not true";
		return REEVE_FAIL;
	}
	t->process.argv = argv;
	t->process.log_file = reeve_log_file(t, "ENVD_LOG_FILE", "log-file");
	t->process.is_static = true;
	reeve_port(t, port);
	return REEVE_OK;
}

static enum reeve_next judge_health(struct reeve_turn *t, const char *url, uint16_t port)
{
	enum reeve_next next = reeve_expect(t, "GET", url, 204);

	if (next == REEVE_FAIL && t->http.status >= 200 && t->http.status < 300)
		t->why = reeve_fmt(t, "%s: it is not envd that answers on port %u", t->why, port);
	return next;
}

static enum reeve_next ask_envs(struct reeve_turn *t, const char *url)
{
	const char *token = reeve_option_text(t, "token");
	struct reeve_list headers = {0};

	if (*token)
		reeve_add(t, &headers, reeve_fmt(t, "X-Access-Token: %s", token));
	t->http = (struct reeve_http){.url = url, .headers = headers.v};
	return REEVE_HTTP;
}

static enum reeve_next judge_envs(struct reeve_turn *t, const char *url)
{
	enum reeve_next next = reeve_expect(t, "GET", url, 200);
	cJSON *json;

	if (next == REEVE_FAIL && t->http.status >= 400 && t->http.status < 500 &&
		reeve_option_bool(t, "envs-retry-4xx"))
		return REEVE_RETRY;
	if (next != REEVE_OK)
		return next;
	json = rv_variables_parse(t, url);
	if (!json)
		return REEVE_FAIL;
	cJSON_Delete(json);
	return REEVE_OK;
}

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	uint16_t port = port_of(t, argv_of(t));
	const char *health = reeve_fmt(t, "http://127.0.0.1:%u/health", port);
	const char *envs = reeve_fmt(t, "http://127.0.0.1:%u/envs", port);
	enum reeve_next next;

	(void)self;
	if (!port)
		return REEVE_FAIL;
	if (t->step == 0) {
		t->http.url = health;
		return REEVE_HTTP;
	}
	if (t->step > 1)
		return judge_envs(t, envs);
	next = judge_health(t, health, port);
	return next == REEVE_OK && reeve_option_bool(t, "envs-gate") ? ask_envs(t, envs) : next;
}

static enum reeve_next update(void *self, struct reeve_turn *t)
{
	uint16_t port = port_of(t, argv_of(t));

	return port ? rv_init_update(self, t, port) : REEVE_FAIL;
}

/* Only /health: whether its environment is as it should be says nothing of its life. */
static enum reeve_next confirm(void *self, struct reeve_turn *t)
{
	uint16_t port = port_of(t, argv_of(t));
	const char *health = reeve_fmt(t, "http://127.0.0.1:%u/health", port);

	(void)self;
	if (!port)
		return REEVE_RETRY;
	if (rv_loss_asks(t)) {
		t->http.url = health;
		return REEVE_HTTP;
	}
	return rv_loss_judge(t, "GET", health, judge_health(t, health, port));
}

/* That it runs at all: built for this machine, and with its libraries there. */
static enum reeve_next check(void *self, struct reeve_turn *t)
{
	const char *bin = reeve_option_text(t, "bin");

	(void)self;
	if (t->command) /* what another program would do with -version is not known */
		return REEVE_OK;
	if (t->step)
		return reeve_findings(t, reeve_fmt(t, "%s -version", bin));
	t->run.argv = reeve_argv(t, bin, "-version", (char *)NULL);
	t->run.timeout_ns = INT64_C(20000000000);
	return REEVE_RUN;
}

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops),
	.start = start,
	.probe = probe,
	.update = update,
	.confirm = confirm,
	.check = check};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.state_size = sizeof(struct rv_init),
	.name = "envd",
	.summary = "gives SDKs the processes and files of a sandbox",
	.options = options,
	.ops = &ops,
};
