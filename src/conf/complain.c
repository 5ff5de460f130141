/* Complaints: all mistakes of one run, with their places. See conf.h. */
#include "conf/conf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { SHOWN = 1000 }; /* lines; the rest is only counted */

void rv_complaints_fini(struct rv_complaints *c)
{
	rv_buf_fini(&c->text);
	c->errors = c->warnings = 0;
}

RV_PRINTF(4, 0)
static void add(struct rv_complaints *c, struct rv_place at, const char *kind, const char *format,
	va_list ap)
{
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
		rv_text_visible(&c->text, at.file, strlen(at.file));
		if (at.line)
			rv_buf_fmt(&c->text, ":%u:%u", at.line, at.column);
		rv_buf_str(&c->text, ": ");
	}
	rv_buf_str(&c->text, kind);
	rv_text_visible(&c->text, text, (size_t)n);
	rv_buf_str(&c->text, "\n");
}

void rv_complain(struct rv_complaints *c, struct rv_place at, const char *format, ...)
{
	va_list ap;

	c->errors++;
	va_start(ap, format);
	add(c, at, "", format, ap);
	va_end(ap);
}

void rv_complain_softly(struct rv_complaints *c, struct rv_place at, const char *format, ...)
{
	va_list ap;

	c->warnings++;
	va_start(ap, format);
	add(c, at, "warning: ", format, ap);
	va_end(ap);
}
