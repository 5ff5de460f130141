/* Is built for an ABI of before. */
#include <reeve/plugin.h>

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops)};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = 0,
	.size = sizeof(struct reeve_plugin),
	.name = "oldabi",
	.summary = "misbehaves",
	.ops = &ops,
};
