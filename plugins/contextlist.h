/* Option `contexts` of the jupyter plugin: which kernels a server is to have when it is ready. */
#ifndef PLUGINS_CONTEXTLIST_H
#define PLUGINS_CONTEXTLIST_H

#include <reeve/plugin.h>

enum { RV_CONTEXTS_MAX = 16 };

/* One row of the option; the strings are in the arena. */
struct rv_context {
	const char *name, *kernel;
	const char *dir; /* relative to the root; "" is the root */
	const char *folder; /* the same as it was written; NULL: not given */
};

struct rv_context_list {
	struct rv_context v[RV_CONTEXTS_MAX];
	uint32_t n;
};

/* Reads the option. root: the server's folder; NULL: not known. False: t->why says which entry is wrong. */
bool rv_context_list_read(struct reeve_turn *t, const char *root, struct rv_context_list *c);

#endif
