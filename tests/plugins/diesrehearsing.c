/* Dies when it is asked for its recipe. */
#include <stdlib.h>

#include <reeve/plugin.h>

static enum reeve_next start(void *self, struct reeve_turn *t)
{
	(void)self;
	(void)t;
	_Exit(4);
}

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops), .start = start};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "diesrehearsing",
	.summary = "misbehaves",
	.ops = &ops,
};
