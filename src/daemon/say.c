/* reeve's own log: see say.h. */
#include "daemon/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "daemon/outlet.h"

static enum rv_level lowest = RV_INFO;
static struct rv_outlet *outlet;
static void (*listener)(void *ctx, const char *service, const char *text);
static void *listener_ctx;

void rv_say_level(enum rv_level level)
{
	lowest = level;
}

void rv_say_tap(void (*tap)(void *ctx, const char *service, const char *text), void *ctx)
{
	listener = tap;
	listener_ctx = ctx;
}

void rv_say_through(struct rv_outlet *stderr_outlet)
{
	outlet = stderr_outlet;
}

void rv_say(enum rv_level level, const char *service, const char *format, ...)
{
	static const char *const marks[] = {"debug: ", "", "warning: ", "error: "};
	struct rv_buf line = {.max = 65536};
	char text[8192];
	int saved = errno;
	va_list ap;
	ssize_t ignored = 0;

	if (level < lowest)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (listener && level >= RV_WARN)
		listener(listener_ctx, service, text);
	rv_buf_fmt(
		&line, "reeve: %s%s%s", marks[level], service ? service : "", service ? ": " : "");
	rv_text_visible(&line, text, strlen(text));
	rv_buf_str(&line, "\n");
	if (outlet)
		rv_outlet_write(outlet, rv_buf_text(&line), line.len);
	else
		ignored = write(STDERR_FILENO, rv_buf_text(&line), line.len);
	(void)ignored; /* a log that cannot be written must not stop the work */
	rv_buf_fini(&line);
	errno = saved;
}
