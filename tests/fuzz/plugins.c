/* Any bytes as the HTTP answer that the plugins' probes judge; the first byte chooses plugin and status. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reeve/plugin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"envd", "jupyter", "interpreter", "mcp-gateway"};
static const int statuses[] = {200, 204, 403, 503};

/* Beside this program: tests/fuzz/plugins -> plugins/NAME.so. */
static const struct reeve_plugin *load(unsigned n)
{
	static const struct reeve_plugin *loaded[4];
	char self[3000], path[4096];
	ssize_t len;
	void *so;

	if (loaded[n])
		return loaded[n];
	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len <= 0)
		abort();
	self[len] = 0;
	*strrchr(self, '/') = 0;
	snprintf(path, sizeof(path), "%s/../../plugins/%s.so", self, names[n]);
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so) {
		fprintf(stderr, "%s\n", dlerror());
		abort();
	}
	loaded[n] = dlsym(so, "reeve_plugin_v1");
	return loaded[n];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char arena[REEVE_ARENA] __attribute__((aligned(16)));
	static unsigned char memo[REEVE_MEMO];
	struct reeve_value values[16] = {0};
	struct reeve_turn t = {.size = sizeof(t),
		.step = 1,
		.options = values,
		.left_ns = 1000000000,
		.memo = memo,
		.arena = arena,
		.arena_room = sizeof(arena)};
	const struct reeve_plugin *p;
	char self[64] __attribute__((aligned(16))) = {0}, *body;

	if (!size || size > REEVE_BODY)
		return 0;
	p = load(data[0] & 3);
	for (const struct reeve_option *o = p->options; o->name; o++)
		values[t.option_count++] = (struct reeve_value){.name = o->name,
			.type = o->type,
			.text = o->preset,
			.len = o->preset ? strlen(o->preset) : 0,
			.number = o->preset ? atoi(o->preset) : 0};
	body = malloc(size);
	memcpy(body, data + 1, size - 1);
	body[size - 1] = 0;
	t.http = (struct reeve_http){.transport = (enum reeve_transport)((data[0] >> 4) % 5),
		.error = "",
		.status = statuses[data[0] >> 2 & 3],
		.answer_headers = body,
		.answer = body,
		.answer_len = size - 1};
	if ((unsigned)p->ops->probe(self, &t) > REEVE_FAIL || t.arena_full)
		abort();
	free(body);
	return 0;
}
