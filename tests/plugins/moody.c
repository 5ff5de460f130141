/* Misbehaves as its options say: `in` names the hook, `do` the way. Other hooks behave, so that
   services of one plugin can be well and ill side by side. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <reeve/plugin.h>

enum { CHANNEL = 3 };

static const struct reeve_option options[] = {
	{.name = "in", .type = REEVE_STRING, .preset = "", .summary = "the hook that misbehaves"},
	{.name = "do", .type = REEVE_STRING, .preset = "crash", .summary = "how it does"},
	{.name = "flag", .type = REEVE_PATH, .summary = "ready only when this file is there"},
	{.name = "calm", .type = REEVE_PATH, .summary = "all is well while this file is there"},
	{.name = "trace",
		.type = REEVE_PATH,
		.summary = "where each hook but probe leaves its name"},
	{0},
};

/* Talks over the host's head to the daemon, in words that are no frames. */
static void flood(struct reeve_turn *t, int first)
{
	size_t n = 4096;
	char *noise = reeve_alloc(t, n);

	if (!noise)
		return;
	memset(noise, first, n);
	for (int i = 0; i < 100; i++)
		send(CHANNEL, noise, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* As many wishes as a run may have, each as large as it may be. */
static enum reeve_next greedy(struct reeve_turn *t)
{
	static const char *const argv[] = {"/bin/cat", NULL};
	size_t n = 60000;
	char *much = reeve_alloc(t, n);

	memset(t->memo, (int)t->step, REEVE_MEMO);
	t->run.argv = argv;
	t->run.input = much;
	t->run.input_len = much ? n : 0;
	return REEVE_RUN;
}

static void linger(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sleep", "sleep", "5", (char *)NULL);
		_exit(1);
	}
}

static void leave(const struct reeve_turn *t, const char *word)
{
	const char *file = reeve_option_text(t, "trace");
	FILE *f = *file ? fopen(file, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%s\n", word);
	fclose(f);
}

static enum reeve_next misbehave(struct reeve_turn *t, const char *how)
{
	volatile bool more = true;

	if (strcmp(how, "crash") == 0) {
		signal(SIGSEGV, SIG_DFL); /* of a sanitizer, too */
		raise(SIGSEGV);
	}
	if (strcmp(how, "abort-once") == 0) /* and is calm from then on */
		mkdir(reeve_option_text(t, "calm"), 0700);
	if (strncmp(how, "abort", strlen("abort")) == 0)
		raise(SIGKILL);
	if (strcmp(how, "exit") == 0)
		_Exit(0);
	if (strcmp(how, "sleep") == 0)
		for (;;)
			pause();
	while (strcmp(how, "spin") == 0 && more)
		;
	if (strcmp(how, "zeros") == 0)
		flood(t, 0);
	if (strcmp(how, "ones") == 0)
		flood(t, 0xff);
	if (strcmp(how, "close") == 0)
		close(CHANNEL);
	if (strcmp(how, "linger") == 0)
		linger();
	if (strcmp(how, "greedy") == 0)
		return greedy(t);
	if (strcmp(how, "patient") == 0)
		t->wait_ns = 100000000;
	if (strcmp(how, "endless") == 0 || strcmp(how, "patient") == 0)
		return REEVE_WAIT;
	if (strcmp(how, "slow") == 0) { /* and then well */
		t->wait_ns = 300000000;
		return t->step ? REEVE_OK : REEVE_WAIT;
	}
	if (strcmp(how, "long") == 0) { /* the same, and says so in the trace */
		t->wait_ns = 2000000000;
		if (t->step)
			leave(t, "done");
		return t->step ? REEVE_OK : REEVE_WAIT;
	}
	if (strcmp(how, "nonsense") == 0)
		return (enum reeve_next)77;
	if (strcmp(how, "retry") == 0)
		return REEVE_RETRY;
	return REEVE_FAIL;
}

static bool is_calm(const struct reeve_turn *t)
{
	const char *file = reeve_option_text(t, "calm");

	return *file && access(file, F_OK) == 0;
}

static enum reeve_next hook(struct reeve_turn *t, const char *name)
{
	if (t->step == 0 && strcmp(name, "probe") != 0)
		leave(t, name);
	if (strcmp(reeve_option_text(t, "in"), name) != 0 || is_calm(t))
		return REEVE_OK;
	return misbehave(t, reeve_option_text(t, "do"));
}

static enum reeve_next start(void *self, struct reeve_turn *t)
{
	(void)self;
	if (!t->command)
		t->process.argv = reeve_argv(t, "/bin/sleep", "1000", NULL);
	if (t->rehearse)
		return hook(t, "rehearse");
	return hook(t, "start");
}

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	const char *flag = reeve_option_text(t, "flag");

	(void)self;
	if (*flag && access(flag, F_OK)) {
		t->why = "the flag is not there";
		return REEVE_RETRY;
	}
	return hook(t, "probe");
}

static enum reeve_next update(void *self, struct reeve_turn *t)
{
	(void)self;
	return hook(t, "update");
}

static enum reeve_next confirm(void *self, struct reeve_turn *t)
{
	(void)self;
	t->why = "it is moody";
	return hook(t, "confirm");
}

static enum reeve_next stop(void *self, struct reeve_turn *t)
{
	(void)self;
	return hook(t, "stop");
}

static enum reeve_next cleanup(void *self, struct reeve_turn *t)
{
	(void)self;
	return hook(t, "cleanup");
}

static const struct reeve_ops ops = {
	.size = sizeof(struct reeve_ops),
	.start = start,
	.probe = probe,
	.update = update,
	.stop = stop,
	.cleanup = cleanup,
	.confirm = confirm,
};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "moody",
	.summary = "misbehaves as it is told",
	.options = options,
	.ops = &ops,
};
