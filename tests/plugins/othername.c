/* Calls itself something else than its file. */
#include <reeve/plugin.h>

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops)};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "another",
	.summary = "misbehaves",
	.ops = &ops,
};
