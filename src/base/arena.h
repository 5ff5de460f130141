/* Memory that is given back all at once: what configuration lives in. Zeroed is empty and valid. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct rv_arena_block;

struct rv_arena {
	struct rv_arena_block *last;
	size_t used; /* bytes given out, all blocks */
	size_t max; /* bound on `used`; 0: 256 MiB */
	bool full; /* an allocation was refused; sticky */
};

void rv_arena_fini(struct rv_arena *a);
/* The same, and nothing of what it held is left in memory. */
void rv_arena_wipe(struct rv_arena *a);
/* Zeroed, aligned for any type; NULL (and `full`) when refused. n = 0 gives a valid pointer. */
void *rv_arena_alloc(struct rv_arena *a, size_t n);
/* n elements of `size`; checks the product. */
void *rv_arena_array(struct rv_arena *a, size_t n, size_t size);
char *rv_arena_strndup(struct rv_arena *a, const char *s, size_t n);
char *rv_arena_strdup(struct rv_arena *a, const char *s);
char *rv_arena_fmt(struct rv_arena *a, const char *format, ...) RV_PRINTF(2, 3);

#endif
