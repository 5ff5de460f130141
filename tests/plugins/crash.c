/* Crashes in its probe. */
#include <signal.h>
#include <stdlib.h>

#include <reeve/plugin.h>

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	(void)self;
	(void)t;
	signal(SIGSEGV, SIG_DFL); /* of a sanitizer, too */
	raise(SIGSEGV);
	return REEVE_OK;
}

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops), .probe = probe};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "crash",
	.summary = "misbehaves",
	.ops = &ops,
};
