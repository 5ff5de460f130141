/* Fuzzing of conf: any bytes as one or two files, with plugins that have every kind of option. Whatever
 * they say, the answer is a sound plan or a complaint. Two files are separated by a line "%%%". */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/mman.h>

#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rv_key keys[] = {
	{"port", RV_KEY_PORT, 0, 0, "80", "HOME", "a port"},
	{"words", RV_KEY_WORDS, 0, 0, NULL, NULL, "words"},
	{"json", RV_KEY_JSON, 0, 0, NULL, NULL, "anything"},
	{"size", RV_KEY_SIZE, 1, 1000, NULL, NULL, "a size"},
	{"wait", RV_KEY_DURATION, 0, 0, "5s", NULL, "a time"},
	{"on", RV_KEY_BOOL, 0, 0, NULL, NULL, "a switch"},
	{"token", RV_KEY_SECRET, 0, 0, NULL, "TOKEN", "a secret"},
};
static const struct rv_plugin_table tables[] = {
	{.name = "exec"},
	{.name = "p", .keys = keys, .key_count = sizeof(keys) / sizeof(keys[0]), .hooks = 0x7f},
	{.name = "bad", .error = "cannot be loaded"},
};
static const char *const environment[] = {"A=a", "TOKEN=t0ken", "EMPTY=", "REEVE_X=1", NULL};

/* A file in memory, under a path that can be opened. */
static int put(const uint8_t *data, size_t size, char path[64])
{
	int fd = memfd_create("conf", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void check(const struct rv_conf *conf)
{
	const struct rv_plan *p = conf->plan;
	size_t present = 0;

	for (rv_id i = 0; i < p->nodes; i++) {
		const struct rv_node *n = &p->node[i];

		present += n->present;
		if (n->present && p->order[n->rank] != i)
			abort();
		for (uint32_t k = 0; k < n->edge_count; k++)
			if (p->node[p->edges[n->first_edge + k].on].rank >= n->rank)
				abort();
	}
	if (present != p->present)
		abort();
}

static struct rv_conf *read_conf(
	const char *const *paths, const struct rv_conf *before, struct rv_complaints *c)
{
	static const char *const command[] = {"sh", NULL};
	struct rv_draft *d = rv_draft_read(paths, NULL, before ? command : NULL, c);
	struct rv_conf *conf = NULL;

	if (d)
		conf = rv_conf_build(d, tables, sizeof(tables) / sizeof(tables[0]), environment,
			before, NULL, NULL, c);
	rv_draft_destroy(d);
	if (conf && rv_conf_plan(conf, NULL, c))
		check(conf);
	return conf;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = size ? memmem(data, size, "%%%\n", 4) : NULL;
	size_t first = cut ? (size_t)(cut - data) : size;
	char a[64], b[64];
	int fd_a = put(data, first, a), fd_b = cut ? put(cut + 4, size - first - 4, b) : -1;
	const char *const paths[] = {a, cut ? b : NULL, NULL};
	struct rv_complaints c = {0};
	struct rv_buf text = {0};
	struct rv_conf *conf = read_conf(paths, NULL, &c);

	if (conf && conf->plan) {
		struct rv_conf *again;

		rv_conf_print(conf, &text);
		lseek(fd_a, 0, SEEK_SET);
		again = read_conf(paths, conf, &c);
		rv_conf_destroy(again);
	}
	rv_conf_destroy(conf);
	rv_buf_fini(&text);
	rv_complaints_fini(&c);
	close(fd_a);
	if (fd_b >= 0)
		close(fd_b);
	return 0;
}
