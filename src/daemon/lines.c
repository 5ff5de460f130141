/* Blocks of bytes into whole lines: see lines.h. */
#include "daemon/lines.h"

#include <string.h>

static void drop_held(struct rv_lines *l)
{
	if (l->held.room > 1024)
		rv_buf_fini(&l->held);
	else
		rv_buf_clear(&l->held);
}

/* Bytes that have no newline: held, as long as a line may be. */
static void hold(struct rv_lines *l, const char *bytes, size_t n)
{
	size_t part;

	while (n) {
		part = RV_LINES_MAX - l->held.len;
		if (part > n)
			part = n;
		if (!rv_buf_add(&l->held, bytes, part)) {
			/* No memory: better in pieces than not at all. */
			if (l->held.len)
				l->pass(l->arg, l->held.data, l->held.len);
			l->pass(l->arg, bytes, part);
			l->held.full = false;
			drop_held(l);
		} else if (l->held.len == RV_LINES_MAX) {
			l->pass(l->arg, l->held.data, l->held.len);
			drop_held(l);
		}
		bytes += part;
		n -= part;
	}
}

/* A long held line gets its end, if that is in the block. Returns how much of the block is used up. */
static size_t finish_held(struct rv_lines *l, const char *bytes, size_t n)
{
	const char *end = memchr(bytes, '\n', n);
	size_t part = end ? (size_t)(end - bytes) + 1 : n;

	hold(l, bytes, part);
	if (end && l->held.len) {
		l->pass(l->arg, l->held.data, l->held.len);
		drop_held(l);
	}
	return part;
}

void rv_lines_take(struct rv_lines *l, const char *bytes, size_t n, size_t before)
{
	const char *end;
	size_t lines;

	if (before)
		l->held.len = 0;
	else if (l->held.len) {
		size_t used = finish_held(l, bytes, n);

		bytes += used;
		n -= used;
	}
	end = n ? memrchr(bytes, '\n', n) : NULL;
	lines = end ? (size_t)(end - bytes) + 1 : 0;
	if (lines)
		l->pass(l->arg, bytes, lines);
	if (n > lines)
		hold(l, bytes + lines, n - lines);
	else if (before)
		drop_held(l);
}

bool rv_lines_flush(struct rv_lines *l)
{
	if (!l->held.len)
		return false;
	l->pass(l->arg, l->held.data, l->held.len);
	drop_held(l);
	return true;
}
