/* Hands out a pointer to nowhere. */
#include <signal.h>

#include <reeve/plugin.h>

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	(void)self;
	signal(SIGSEGV, SIG_DFL);
	t->why = (const char *)(uintptr_t)64;
	return REEVE_FAIL;
}

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops), .probe = probe};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "wildpointer",
	.summary = "misbehaves",
	.ops = &ops,
};
