/* Errors: see err.h. */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

bool rv_fail(struct rv_err *e, enum rv_code code, const char *format, ...)
{
	va_list ap;

	if (!e)
		return false;
	e->code = code;
	va_start(ap, format);
	vsnprintf(e->text, sizeof(e->text), format, ap);
	va_end(ap);
	return false;
}

bool rv_fail_errno(struct rv_err *e, int number, const char *format, ...)
{
	va_list ap;
	size_t used;

	if (!e)
		return false;
	e->code = RV_ERR_SYSTEM;
	va_start(ap, format);
	vsnprintf(e->text, sizeof(e->text), format, ap);
	va_end(ap);
	used = strlen(e->text);
	snprintf(e->text + used, sizeof(e->text) - used, ": %s", strerror(number));
	return false;
}

bool rv_fail_in(struct rv_err *e, const char *format, ...)
{
	char old[sizeof(e->text)];
	va_list ap;
	size_t used;

	if (!e)
		return false;
	memcpy(old, e->text, sizeof(old));
	va_start(ap, format);
	vsnprintf(e->text, sizeof(e->text), format, ap);
	va_end(ap);
	used = strlen(e->text);
	snprintf(e->text + used, sizeof(e->text) - used, ": %s", old);
	return false;
}
