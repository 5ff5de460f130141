/* Claims a descriptor of four gigabytes. */
#include <reeve/plugin.h>

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops)};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = UINT32_MAX,
	.name = "hugesize",
	.summary = "misbehaves",
	.ops = &ops,
};
