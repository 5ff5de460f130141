/* Complaints: all mistakes of one run, with their places. See conf.h. */
#include "conf/conf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { SHOWN = 1000 }; /* lines; the rest is only counted */

void rv_complaints_fini(struct rv_complaints *c)
{
	rv_buf_fini(&c->text);
	free(c->list);
	*c = (struct rv_complaints){0};
}

/* Without memory it is in the text only. */
static void list(struct rv_complaints *c, const struct rv_complaint *one)
{
	if (c->count == c->room) {
		size_t room = c->room ? c->room * 2 : 16;
		struct rv_complaint *more = reallocarray(c->list, room, sizeof(*more));

		if (!more)
			return;
		c->list = more;
		c->room = room;
	}
	c->list[c->count++] = *one;
}

/* A value that is shown may hold a newline, and a complaint is a line. */
static void on_one_line(struct rv_buf *to, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(text + i, "\n");

		len = len < n - i ? len : n - i;
		rv_text_visible(to, text + i, len);
		i += len;
		if (i < n)
			rv_buf_str(to, "\\n");
	}
}

RV_PRINTF(4, 0)
static void add(
	struct rv_complaints *c, struct rv_place at, bool warning, const char *format, va_list ap)
{
	struct rv_complaint one = {.start = c->text.len, .warning = warning};
	char text[6000];
	int n = vsnprintf(text, sizeof(text), format, ap);

	if (c->errors + c->warnings > SHOWN) {
		if (c->errors + c->warnings == SHOWN + 1)
			rv_buf_str(&c->text, "more mistakes are not shown\n");
		return;
	}
	if (n < 0)
		n = 0;
	if ((size_t)n >= sizeof(text))
		n = sizeof(text) - 1;
	if (at.file && *at.file) {
		on_one_line(&c->text, at.file, strlen(at.file));
		one.file_len = c->text.len - one.start;
		one.line = at.line;
		one.column = at.line ? at.column : 0;
		if (at.line)
			rv_buf_fmt(&c->text, ":%u:%u", at.line, at.column);
		rv_buf_str(&c->text, ": ");
	}
	rv_buf_str(&c->text, warning ? "warning: " : "");
	one.text = c->text.len;
	on_one_line(&c->text, text, (size_t)n);
	one.end = c->text.len;
	rv_buf_str(&c->text, "\n");
	list(c, &one);
}

void rv_complain(struct rv_complaints *c, struct rv_place at, const char *format, ...)
{
	va_list ap;

	c->errors++;
	va_start(ap, format);
	add(c, at, false, format, ap);
	va_end(ap);
}

void rv_complain_softly(struct rv_complaints *c, struct rv_place at, const char *format, ...)
{
	va_list ap;

	c->warnings++;
	va_start(ap, format);
	add(c, at, true, format, ap);
	va_end(ap);
}
