/* Has no table of hooks. */
#include <reeve/plugin.h>

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "nullops",
	.summary = "misbehaves",
	.ops = NULL,
};
