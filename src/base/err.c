/* Errors: see err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

bool rv_fail(struct rv_err *e, enum rv_code code, const char *format, ...)
{
	va_list ap;

	if (!e)
		return false;
	e->code = code;
	va_start(ap, format);
	rv_text_mark_cut(e->text, sizeof(e->text), vsnprintf(e->text, sizeof(e->text), format, ap));
	va_end(ap);
	return false;
}

bool rv_fail_errno(struct rv_err *e, int number, const char *format, ...)
{
	va_list ap;
	size_t used;
	int n;

	if (!e)
		return false;
	e->code = RV_ERR_SYSTEM;
	va_start(ap, format);
	vsnprintf(e->text, sizeof(e->text), format, ap);
	va_end(ap);
	used = strlen(e->text);
	/* The one refusal that is about reeve and not about what was asked for. */
	n = snprintf(e->text + used, sizeof(e->text) - used, ": %s%s", strerror(number),
		number == EMFILE ? " (raise the limit of descriptors that reeve is started with: "
				   "ulimit -n)"
				 : "");
	rv_text_mark_cut(e->text, sizeof(e->text), (int)used + n);
	return false;
}

bool rv_fail_in(struct rv_err *e, const char *format, ...)
{
	char old[sizeof(e->text)];
	va_list ap;
	size_t used;
	int n;

	if (!e)
		return false;
	memcpy(old, e->text, sizeof(old));
	va_start(ap, format);
	vsnprintf(e->text, sizeof(e->text), format, ap);
	va_end(ap);
	used = strlen(e->text);
	n = snprintf(e->text + used, sizeof(e->text) - used, ": %s", old);
	rv_text_mark_cut(e->text, sizeof(e->text), (int)used + n);
	return false;
}
