/* Wants more state than there is. */
#include <reeve/plugin.h>

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops)};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.state_size = SIZE_MAX / 2,
	.name = "hugestate",
	.summary = "misbehaves",
	.ops = &ops,
};
