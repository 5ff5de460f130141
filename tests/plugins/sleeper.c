/* Never comes back, and sleeps. */
#include <unistd.h>

#include <reeve/plugin.h>

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	volatile bool more = true;

	(void)self;
	(void)t;
	while (more)
		pause();
	return REEVE_OK;
}

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops), .probe = probe};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "sleeper",
	.summary = "misbehaves",
	.ops = &ops,
};
