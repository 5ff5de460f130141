/* Byte buffer: see buf.h. */
#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rv_buf_fini(struct rv_buf *b)
{
	size_t max = b->max;

	free(b->data);
	*b = (struct rv_buf){.max = max};
}

void rv_buf_clear(struct rv_buf *b)
{
	b->len = 0;
	b->full = false;
	if (b->data)
		b->data[0] = 0;
}

bool rv_buf_reserve(struct rv_buf *b, size_t more)
{
	size_t max = b->max ? b->max : (size_t)64 << 20;
	size_t want, room;
	char *p;

	if (more > max || b->len > max - more) {
		b->full = true;
		return false;
	}
	want = b->len + more + 1;
	if (want <= b->room)
		return true;
	room = b->room ? b->room : 64;
	while (room < want)
		room *= 2;
	p = realloc(b->data, room);
	if (!p) {
		b->full = true;
		return false;
	}
	b->data = p;
	b->room = room;
	b->data[b->len] = 0;
	return true;
}

bool rv_buf_add(struct rv_buf *b, const void *bytes, size_t n)
{
	if (!rv_buf_reserve(b, n))
		return false;
	if (n)
		memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = 0;
	return true;
}

bool rv_buf_str(struct rv_buf *b, const char *s)
{
	return rv_buf_add(b, s, strlen(s));
}

bool rv_buf_fmt(struct rv_buf *b, const char *format, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, format);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n >= 0 && rv_buf_reserve(b, (size_t)n)) {
		vsnprintf(b->data + b->len, (size_t)n + 1, format, again);
		b->len += (size_t)n;
	} else {
		n = -1;
	}
	va_end(again);
	return n >= 0;
}

void rv_buf_drop(struct rv_buf *b, size_t n)
{
	assert(n <= b->len);
	if (!n)
		return;
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
	b->data[b->len] = 0;
}

const char *rv_buf_text(const struct rv_buf *b)
{
	return b->data ? b->data : "";
}
