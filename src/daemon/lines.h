/* Blocks of bytes into whole lines: what has no newline yet is held until it comes. Zeroed with `pass` and
 * `arg` set is valid. */
#ifndef DAEMON_LINES_H
#define DAEMON_LINES_H

#include "base/buf.h"

#define RV_LINES_MAX \
	65536 /* bytes that are held; a longer line is passed on in pieces of this size */

struct rv_lines {
	struct rv_buf held;
	void (*pass)(void *arg, const char *bytes, size_t n); /* whole lines, or a piece of one */
	void *arg;
};

/* n bytes, of which the first `before` are what was held: all of it or nothing. To put what is held in
   front of the next block makes one block of both, and costs little while it is short. */
void rv_lines_take(struct rv_lines *l, const char *bytes, size_t n, size_t before);
/* Passes on what is held, as it is. False: nothing was. */
bool rv_lines_flush(struct rv_lines *l);

#endif
