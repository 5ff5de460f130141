/* Plugins as shared objects: found, opened once, and their descriptor checked before they may run. */
#ifndef HOST_LOAD_H
#define HOST_LOAD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/keys.h"
#include "reeve/plugin.h"

struct rv_plugin {
	struct rv_plugin *next;
	char *path;
	const struct reeve_plugin *d; /* NULL: refused; `error` says why */
	struct reeve_ops ops; /* a copy: what a shorter table lacks is NULL */
	const char *error;
	struct rv_key *keys; /* the option table */
	uint32_t key_count;
	uint32_t hooks; /* bits by enum rv_hook */
};

struct rv_plugins {
	struct rv_plugin *first;
	struct rv_arena arena;
};

/* Opens DIR/NAME.so, or finds it as opened before. Never NULL but when memory is refused; a plugin that
   cannot be used has `error`. */
const struct rv_plugin *rv_plugin_load(struct rv_plugins *all, const char *dir, const char *name);
/* The function of a hook, or NULL. hook: enum rv_hook. */
reeve_hook rv_plugin_hook(const struct rv_plugin *p, unsigned hook);

#endif
