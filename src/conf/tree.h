/* A YAML file as a tree that remembers where everything was written. Immutable once it is closed;
 * aliases share nodes. Scalars keep their text and whether they were quoted: what a scalar means is
 * decided by the key that it belongs to, never by how it looks. */
#ifndef CONF_TREE_H
#define CONF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "conf/conf.h"

enum rv_tree_kind { RV_TREE_SCALAR, RV_TREE_LIST, RV_TREE_MAP };

enum rv_tree_style {
	RV_TREE_PLAIN,
	RV_TREE_QUOTED, /* also block scalars and !!str */
	RV_TREE_EXACT, /* of the command line: a string in which nothing is expanded */
};

struct rv_tree {
	struct rv_place at;
	uint8_t kind; /* enum rv_tree_kind */
	uint8_t style; /* enum rv_tree_style */
	uint8_t depth; /* levels from here down, 1 for a scalar; 0: not closed yet */
	uint32_t count; /* bytes of text, items or pairs */
	uint32_t weight; /* nodes when all aliases are written out */
	union {
		const char *text; /* NUL-terminated, no NUL inside */
		const struct rv_tree *const *items;
		const struct rv_pair *pairs; /* each key once */
	};
};

struct rv_pair {
	const char *key;
	uint32_t hash;
	bool merge; /* a plain <<; none is left once the map is closed */
	struct rv_place at;
	const struct rv_tree *value;
};

enum {
	RV_TREE_DEPTH = 64, /* levels, aliases written out */
	RV_TREE_ALIASED = 500000, /* nodes that aliases may add, written out */
	RV_TREE_FILE_MAX = 16 << 20 /* bytes of one file */
};

uint32_t rv_tree_hash(const char *s);

/* Names -> numbers, for maps of any size. The memory is the arena's. */
struct rv_index {
	struct rv_index_cell {
		const char *name; /* NULL: free */
		uint32_t hash, value;
	} * cells;
	size_t room; /* a power of two, at least twice the names */
};
/* False: no memory. `names` is how many will be added at most. */
bool rv_index_init(struct rv_index *x, struct rv_arena *a, size_t names);
/* The number of `name`; RV_NO_ID: none. */
uint32_t rv_index_find(const struct rv_index *x, const char *name, uint32_t hash);
void rv_index_add(struct rv_index *x, const char *name, uint32_t hash, uint32_t value);

/* Reads one document. file: for messages, kept in the arena by the caller. NULL: nothing usable.
   *broken is set when only a part could be read. An empty document is an empty map. */
const struct rv_tree *rv_tree_read(struct rv_arena *a, const char *file, const char *bytes,
	size_t n, struct rv_complaints *c, bool *broken);

/* Room for finding keys, kept from one map to the next. Zeroed is empty; its owner frees `cells`. */
struct rv_scratch {
	uint32_t *cells; /* position + 1 */
	size_t room;
};
/* Gives `node` the pairs of `list`, as they were written: keys that are written twice are complained
   about, << is resolved. False: no memory. */
bool rv_tree_close_map(struct rv_arena *a, struct rv_complaints *c, struct rv_scratch *scratch,
	struct rv_tree *node, const struct rv_pair *list, size_t n);

/* The value of a key in a map; NULL: not a map, or no such key. */
const struct rv_tree *rv_tree_get(const struct rv_tree *map, const char *key);
const struct rv_pair *rv_tree_pair(const struct rv_tree *map, const char *key);

/* `above` over `below`: maps merge, all else is replaced. NULL: no memory. */
const struct rv_tree *rv_tree_merge(
	struct rv_arena *a, const struct rv_tree *below, const struct rv_tree *above);

struct rv_tree *rv_tree_scalar(
	struct rv_arena *a, const char *text, uint8_t style, struct rv_place at);
/* A map with room for n pairs, which the caller fills. */
struct rv_tree *rv_tree_map(
	struct rv_arena *a, size_t n, struct rv_pair **pairs, struct rv_place at);

/* Plain null, ~ or nothing at all. */
bool rv_tree_is_null(const struct rv_tree *t);

#endif
