/* A plugin that takes the sandbox's variables: writes what it is told into a file, and refuses when it shall. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <reeve/plugin.h>

static const struct reeve_option options[] = {
	{.name = "told", .type = REEVE_PATH, .summary = "the file: a line each time"},
	{.name = "orders",
		.type = REEVE_PATH,
		.summary = "a file with the words refuse, retry, hang or cling"},
	{0},
};

static enum reeve_next start(void *self, struct reeve_turn *t)
{
	(void)self;
	t->process.argv = reeve_argv(t, "/bin/sh", "-c",
		"env >\"$TAKER_ENV\" 2>/dev/null; exec sleep 1000", (char *)NULL);
	if (reeve_env(t, "FLAVOUR"))
		t->process.env = reeve_argv(
			t, reeve_fmt(t, "TASTES_OF=%s", reeve_env(t, "FLAVOUR")), (char *)NULL);
	t->process.is_static = true;
	return REEVE_OK;
}

static void write_down(struct reeve_turn *t)
{
	int fd = open(
		reeve_option_text(t, "told"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return;
	dprintf(fd, "%d", (int)t->generation);
	for (size_t i = 0; i < t->variable_count; i++)
		dprintf(fd, " %s", t->variables[i]);
	for (size_t i = 0; i < t->dropped_count; i++)
		dprintf(fd, " -%s", t->dropped[i]);
	dprintf(fd, "\n");
	close(fd);
}

static bool is_ordered(const struct reeve_turn *t, const char *what)
{
	char text[64] = "";
	int fd = open(reeve_option_text(t, "orders"), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strstr(text, what);
}

static enum reeve_next update(void *self, struct reeve_turn *t)
{
	(void)self;
	if (!t->step)
		write_down(t);
	if (is_ordered(t, "hang")) {
		t->wait_ns = 10000000;
		return REEVE_WAIT;
	}
	if (!is_ordered(t, "refuse") && !is_ordered(t, "retry"))
		return REEVE_OK;
	/* as an answer may that repeats what it was asked, now and the time before */
	t->why = reeve_fmt(t, "it does not want %s, and had %s",
		t->variable_count ? t->variables[0] : "none",
		t->memo[0] ? (const char *)t->memo : "none");
	snprintf((char *)t->memo, REEVE_MEMO, "%s", t->variable_count ? t->variables[0] : "");
	return is_ordered(t, "refuse") ? REEVE_FAIL : REEVE_RETRY;
}

static enum reeve_next stop(void *self, struct reeve_turn *t)
{
	(void)self;
	t->why = "it clings";
	return is_ordered(t, "cling") ? REEVE_FAIL : REEVE_OK;
}

static const struct reeve_ops ops = {
	.size = sizeof(struct reeve_ops), .start = start, .update = update, .stop = stop};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "taker",
	.summary = "takes the sandbox's variables",
	.options = options,
	.ops = &ops,
};
