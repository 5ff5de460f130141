/* A set of variables, remembered by 64-bit hashes: of their names, or of their names and values. No value is kept. */
#ifndef PLUGINS_MARKS_H
#define PLUGINS_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* {0} is empty. Owns its memory. */
struct rv_marks {
	uint64_t *v; /* sorted when the last one is in */
	size_t count, room;
};

void rv_marks_fini(struct rv_marks *m); /* leaves it empty */

/* False: memory was refused. value NULL: the name alone counts. */
bool rv_marks_add(struct rv_marks *m, const char *name, size_t name_len, const char *value);

/* To be called once after the last rv_marks_add, before the first rv_marks_have. */
void rv_marks_sort(struct rv_marks *m);

bool rv_marks_have(const struct rv_marks *m, const char *name, size_t name_len, const char *value);

/* How many of these are not in `there`. */
size_t rv_marks_missing(const uint64_t *wanted, size_t count, const struct rv_marks *there);

#endif
