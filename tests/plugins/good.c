/* A plugin that behaves: does what its option `do` says, and tells what it saw in `why`. */
#include <string.h>

#include <reeve/plugin.h>

static const struct reeve_option options[] = {
	{.name = "do", .type = REEVE_STRING, .preset = "ok", .summary = "what to do"},
	{.name = "url", .type = REEVE_STRING, .summary = "what to ask"},
	{.name = "argv", .type = REEVE_WORDS, .summary = "what to run"},
	{.name = "for", .type = REEVE_DURATION, .preset = "20ms", .summary = "how long to wait"},
	{.name = "limit", .type = REEVE_DURATION, .preset = "10s", .summary = "bound of a request"},
	{0},
};

static enum reeve_next start(void *self, struct reeve_turn *t)
{
	static const char *const env[] = {"GREETING=hello", NULL};
	const char *what = reeve_option_text(t, "do");

	(void)self;
	if (strcmp(what, "refuse") == 0) {
		t->why = "option do: cannot be refuse";
		return REEVE_FAIL;
	}
	if (strcmp(what, "later") == 0 && t->rehearse)
		return REEVE_RETRY;
	t->process.argv = reeve_argv(t, "/bin/sleep", what, NULL);
	t->process.env = env;
	t->process.is_static = strcmp(what, "later") != 0;
	t->process.log_file = "/tmp/good.log";
	t->unused = REEVE_UNUSED_UPDATE | REEVE_UNUSED_CLEANUP |
		128; /* and one that is not known */
	reeve_port(t, 4242);
	return REEVE_OK;
}

static enum reeve_next ask(struct reeve_turn *t)
{
	if (t->step == 0) {
		t->http.url = reeve_option_text(t, "url");
		t->http.timeout_ns = reeve_option_int(t, "limit");
		return REEVE_HTTP;
	}
	t->why = reeve_fmt(t, "%d|%d|%s|%d|%.40s", t->http.transport, t->http.status, t->http.error,
		t->http.truncated, t->http.answer);
	return REEVE_OK;
}

static enum reeve_next post(struct reeve_turn *t)
{
	static const char *const headers[] = {"Content-Type: application/json", NULL};

	if (t->step)
		return ask(t);
	t->http.url = reeve_option_text(t, "url");
	t->http.headers = headers;
	t->http.body = "{}";
	t->http.body_len = 2;
	return REEVE_HTTP;
}

static enum reeve_next run(struct reeve_turn *t)
{
	const struct reeve_value *words = reeve_option(t, "argv");
	struct reeve_list argv = {0};
	const char *w;
	size_t at = 0;

	if (t->step) {
		t->why = reeve_fmt(t, "%d|%s|%d|%zu|%.60s", t->run.status, t->run.error,
			t->run.truncated, t->run.output_len, t->run.output);
		return REEVE_OK;
	}
	while ((w = reeve_word(words, &at)))
		reeve_add(t, &argv, w);
	t->run.argv = argv.v;
	t->run.input = reeve_option_text(t, "url");
	t->run.input_len = strlen(reeve_option_text(t, "url"));
	t->run.timeout_ns = reeve_option_int(t, "limit");
	return REEVE_RUN;
}

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	const char *what = reeve_option_text(t, "do");

	if (strcmp(what, "http") == 0)
		return ask(t);
	if (strcmp(what, "post") == 0)
		return post(t);
	if (strcmp(what, "run") == 0)
		return run(t);
	if (strcmp(what, "wait") == 0 && !t->again && t->step < 3) {
		t->why = "still waiting";
		t->wait_ns = reeve_option_int(t, "for");
		return REEVE_WAIT;
	}
	if (strcmp(what, "retry") == 0) {
		t->why = "not yet";
		return REEVE_RETRY;
	}
	if (strcmp(what, "memo") == 0)
		t->memo[REEVE_MEMO - 1]++;
	++*(int *)self;
	t->why = reeve_fmt(t, "%s gen %llu pid %d self %d memo %d again %d env %s", t->service,
		(unsigned long long)t->generation, t->pid, *(int *)self, t->memo[REEVE_MEMO - 1],
		t->again, reeve_env(t, "LANG") ? reeve_env(t, "LANG") : "-");
	return REEVE_OK;
}

static const struct reeve_ops ops = {
	.size = sizeof(struct reeve_ops), .start = start, .probe = probe};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.state_size = sizeof(int),
	.name = "good",
	.summary = "behaves",
	.options = options,
	.ops = &ops,
};
