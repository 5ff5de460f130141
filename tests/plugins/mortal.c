/* Lost when a file says so. Its process is what the configuration runs; `confirm` answers by the first word of the file
   `says`: alive, lost, mute (lost, without a reason), wait (asked again until the file says something else). No file, or any
   other word: it cannot tell. Each question leaves a line in `trace`. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <reeve/plugin.h>

static const struct reeve_option options[] = {
	{.name = "says", .type = REEVE_PATH, .summary = "the file with the verdict"},
	{.name = "trace", .type = REEVE_PATH, .summary = "where each question leaves a line"},
	{.name = "not-ready", .type = REEVE_PATH, .summary = "not ready while this file is there"},
	{.name = "never",
		.type = REEVE_PATH,
		.summary = "ready is out of reach while this file is there"},
	{0},
};

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	(void)self;
	t->why = "the file never is there";
	if (*reeve_option_text(t, "never") && access(reeve_option_text(t, "never"), F_OK) == 0)
		return REEVE_FAIL;
	t->why = "the file not-ready is there";
	if (*reeve_option_text(t, "not-ready") &&
		access(reeve_option_text(t, "not-ready"), F_OK) == 0)
		return REEVE_RETRY;
	t->why = NULL;
	return REEVE_OK;
}

static void leave(const struct reeve_turn *t)
{
	const char *file = reeve_option_text(t, "trace");
	FILE *f = *file ? fopen(file, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "confirm %llu\n", (unsigned long long)t->generation);
	fclose(f);
}

static enum reeve_next confirm(void *self, struct reeve_turn *t)
{
	const char *file = reeve_option_text(t, "says");
	FILE *f = *file ? fopen(file, "r") : NULL;
	char word[40] = "";

	(void)self;
	if (t->step == 0)
		leave(t);
	if (f) {
		if (fscanf(f, "%39s", word) != 1)
			word[0] = 0;
		fclose(f);
	}
	t->wait_ns = 20000000;
	if (strcmp(word, "wait") == 0)
		return REEVE_WAIT;
	if (strcmp(word, "mute") == 0)
		return REEVE_FAIL;
	t->why = reeve_fmt(t, "the file says '%s'", word);
	if (strcmp(word, "alive") == 0)
		return REEVE_OK;
	return strcmp(word, "lost") == 0 ? REEVE_FAIL : REEVE_RETRY;
}

static const struct reeve_ops ops = {
	.size = sizeof(struct reeve_ops), .probe = probe, .confirm = confirm};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "mortal",
	.summary = "is lost when a file says so",
	.options = options,
	.ops = &ops,
};
