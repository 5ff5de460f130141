/* Dies while it is loaded. */
#include <stdlib.h>

#include <reeve/plugin.h>

static void __attribute__((constructor)) die(void)
{
	_Exit(3);
}

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops)};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "diesloading",
	.summary = "misbehaves",
	.ops = &ops,
};
