/* Errors that reevectl finds itself: see fault.h. */
#include "ctl/fault.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/text.h"
#include "wire/json.h"
#include "wire/retry.h"

int rv_fault_set(struct rv_fault *f, int status, const char *class, const char *format, ...)
{
	va_list ap;

	f->status = status;
	f->class = class;
	f->retry_safe = rv_retry_is_safe(0);
	f->generation = 0;
	va_start(ap, format);
	rv_text_mark_cut(f->text, sizeof(f->text), vsnprintf(f->text, sizeof(f->text), format, ap));
	va_end(ap);
	return status;
}

int rv_fault_tell(const struct rv_fault *f, bool json)
{
	struct rv_buf line = {0};

	fprintf(stderr, "reevectl: %s", f->text);
	if (f->retry_safe && f->generation)
		fprintf(stderr, " (safe to retry, with --generation %lld)",
			(long long)f->generation);
	else if (f->retry_safe)
		fputs(" (safe to retry)", stderr);
	fputc('\n', stderr);
	if (!json)
		return f->status;
	RV_JSON_LIT(&line, "{\"error\":{\"class\":");
	rv_json_str(&line, f->class);
	RV_JSON_LIT(&line, ",\"message\":");
	rv_json_str(&line, f->text);
	RV_JSON_BOOL(&line, "retrySafe", f->retry_safe);
	if (f->generation)
		RV_JSON_INT(&line, "generation", f->generation);
	RV_JSON_LIT(&line, "}}");
	puts(rv_buf_text(&line));
	rv_buf_fini(&line);
	return f->status;
}
