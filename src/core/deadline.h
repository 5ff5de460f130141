/* Who is due first: a winner tree over fixed places. Changing one costs log2(n), asking costs nothing. */
#ifndef CORE_DEADLINE_H
#define CORE_DEADLINE_H

#include <stddef.h>

#include "base/lists.h"

/* Entries of memory for n places. */
size_t rv_deadline_room(size_t n);
/* All places: RV_NEVER. */
void rv_deadline_init(rv_time *tree, size_t n);
void rv_deadline_set(rv_time *tree, size_t n, size_t place, rv_time due);
rv_time rv_deadline_get(const rv_time *tree, size_t n, size_t place);
/* The earliest of all; RV_NEVER when there is none. */
rv_time rv_deadline_first(const rv_time *tree);
/* Whose that is (the lowest place among equals). */
size_t rv_deadline_place(const rv_time *tree, size_t n);

#endif
