/* Wants one more turn, each time. */
#include <reeve/plugin.h>

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	(void)self;
	t->wait_ns = 0;
	return REEVE_WAIT;
}

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops), .probe = probe};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "endless",
	.summary = "misbehaves",
	.ops = &ops,
};
