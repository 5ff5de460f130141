/* A plugin that has the hook check only: it does what its option `do` says. */
#include <string.h>

#include <reeve/plugin.h>

static const struct reeve_option options[] = {
	{.name = "do", .type = REEVE_STRING, .preset = "ok", .summary = "what to do"},
	{.name = "say", .type = REEVE_STRING, .preset = "", .summary = "why"},
	{.name = "argv", .type = REEVE_WORDS, .summary = "what to run"},
	{0},
};

static enum reeve_next peers(struct reeve_turn *t)
{
	for (size_t i = 0; i < t->peer_count; i++)
		reeve_note(t,
			reeve_fmt(t, "%s %s %s", t->peers[i].service, t->peers[i].plugin,
				t->peers[i].argv ? t->peers[i].argv[0] : "-"));
	return REEVE_RETRY;
}

static enum reeve_next run(struct reeve_turn *t)
{
	const struct reeve_value *words = reeve_option(t, "argv");
	struct reeve_list argv = {0};
	const char *w;
	size_t at = 0;

	if (t->step)
		return reeve_findings(t, "the command");
	while ((w = reeve_word(words, &at)))
		reeve_add(t, &argv, w);
	t->run.argv = argv.v;
	t->run.timeout_ns = t->left_ns;
	return REEVE_RUN;
}

static enum reeve_next check(void *self, struct reeve_turn *t)
{
	const char *what = reeve_option_text(t, "do");

	(void)self;
	t->why = reeve_option_text(t, "say");
	if (strcmp(what, "fail") == 0)
		return REEVE_FAIL;
	if (strcmp(what, "retry") == 0)
		return REEVE_RETRY;
	if (strcmp(what, "crash") == 0)
		__builtin_trap();
	if (strcmp(what, "peers") == 0)
		return peers(t);
	if (strcmp(what, "run") == 0)
		return run(t);
	while (strcmp(what, "spin") == 0)
		__asm__ volatile("");
	t->wait_ns = INT64_C(3600000000000);
	return strcmp(what, "wait") == 0 ? REEVE_WAIT : REEVE_OK;
}

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops), .check = check};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "inspector",
	.summary = "checks only",
	.options = options,
	.ops = &ops,
};
