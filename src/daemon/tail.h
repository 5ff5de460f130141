/* The last lines of a service, in memory: one ring for stdout and one for stderr, so that a flood on one
 * does not wash away the other, and the order between them. Zeroed is empty and costs nothing. */
#ifndef DAEMON_TAIL_H
#define DAEMON_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define RV_TAIL_RING 8192 /* bytes of each ring, with 16 of book-keeping a block */

struct rv_tail_ring {
	char *bytes; /* owned; NULL until something comes */
	uint32_t head; /* where the oldest block starts */
	uint32_t used;
	uint32_t last; /* where the newest block starts; valid when used */
};

struct rv_tail {
	struct rv_tail_ring ring[2]; /* [0] stdout, [1] stderr */
	uint64_t seq; /* of the newest block */
	uint64_t life; /* first block of this life */
	bool open; /* the newest block may grow... */
	uint8_t newest; /* ...and this ring has it */
};

void rv_tail_fini(struct rv_tail *t);
/* Keeps the end of a block of lines. Without memory it keeps nothing, silently. */
void rv_tail_add(struct rv_tail *t, unsigned ring, const char *bytes, size_t n);
/* A new life begins: what came before is no longer found by err_only. */
void rv_tail_life(struct rv_tail *t);
/* Appends all that is kept, in the order it came. err_only: stderr of this life. */
void rv_tail_read(const struct rv_tail *t, bool err_only, struct rv_buf *to);

/* The start of the last `lines` lines (0: any number) and at most `max` bytes (0: any) of a text: whole
   lines, unless the last one alone is longer than `max`. */
size_t rv_tail_cut(const char *text, size_t n, size_t lines, size_t max);

#endif
