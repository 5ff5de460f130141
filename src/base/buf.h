/* A growing byte buffer with a bound. Zeroed is empty and valid; fini frees. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct rv_buf {
	char *data; /* owned; NUL-terminated whenever it is not NULL */
	size_t len; /* bytes in use, without the NUL */
	size_t room; /* bytes allocated */
	size_t max; /* never grows past this many bytes; 0: 64 MiB */
	bool full; /* something did not fit, or memory was refused; sticky */
};

void rv_buf_fini(struct rv_buf *b);
/* Empties it and keeps the memory. */
void rv_buf_clear(struct rv_buf *b);
/* Each returns false (and sets `full`, adding nothing) when the bound or the memory does not allow. */
bool rv_buf_reserve(struct rv_buf *b, size_t more);
bool rv_buf_add(struct rv_buf *b, const void *bytes, size_t n);
bool rv_buf_str(struct rv_buf *b, const char *s);
bool rv_buf_fmt(struct rv_buf *b, const char *format, ...) RV_PRINTF(2, 3);
/* Removes n bytes from the front. */
void rv_buf_drop(struct rv_buf *b, size_t n);
/* The text as a C string ("" when empty); owned by the buffer, valid until it changes. */
const char *rv_buf_text(const struct rv_buf *b);

#endif
