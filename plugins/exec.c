/* exec: runs the configured command, exactly as it is written. Options and hooks: none; so a graph of
 * exec services never needs the plugin host after the load. */
#include <reeve/plugin.h>

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops)};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "exec",
	.summary = "runs a command as it is configured",
	.ops = &ops,
};
