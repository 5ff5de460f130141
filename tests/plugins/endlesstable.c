/* Has an option table without an end. */
#include <reeve/plugin.h>

static const struct reeve_option options[1000] = {
	[0 ... 999] = {.name = "again", .type = REEVE_STRING, .summary = "once more"},
};
static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops)};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "endlesstable",
	.summary = "misbehaves",
	.options = options,
	.ops = &ops,
};
