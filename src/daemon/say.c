/* reeve's own log: see say.h. */
#include "daemon/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "daemon/outlet.h"

#define WAITING_MAX 4096 /* bytes */

static enum rv_level lowest = RV_INFO;
static struct rv_outlet *outlet;
static void (*listener)(void *ctx, const char *service, const char *text);
static void *listener_ctx;
static struct rv_buf waiting; /* lines for the outlet */

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
	rv_say_flush();
	rv_buf_fini(&waiting);
	outlet = stderr_outlet;
}

void rv_say_flush(void)
{
	if (!waiting.len)
		return;
	rv_outlet_write(outlet, rv_buf_text(&waiting), waiting.len);
	waiting.len = 0;
}

static void put(const struct rv_buf *line)
{
	ssize_t ignored;

	if (!outlet) {
		ignored = write(STDERR_FILENO, rv_buf_text(line), line->len);
		(void)ignored; /* a log that cannot be written must not stop the work */
		return;
	}
	if (waiting.len + line->len > WAITING_MAX)
		rv_say_flush();
	if (!rv_buf_add(&waiting, rv_buf_text(line), line->len)) {
		waiting.full = false;
		rv_say_flush();
		rv_outlet_write(outlet, rv_buf_text(line), line->len);
	}
}

void rv_say(enum rv_level level, const char *service, const char *format, ...)
{
	static const char *const marks[] = {"debug: ", "", "warning: ", "error: "};
	struct rv_buf line = {.max = 65536};
	char text[8192];
	int saved = errno;
	va_list ap;

	if (level < lowest)
		return;
	va_start(ap, format);
	rv_text_mark_cut(text, sizeof(text), vsnprintf(text, sizeof(text), format, ap));
	va_end(ap);
	if (listener && level >= RV_WARN)
		listener(listener_ctx, service, text);
	rv_buf_fmt(
		&line, "reeve: %s%s%s", marks[level], service ? service : "", service ? ": " : "");
	rv_text_visible(&line, text, strlen(text));
	rv_buf_str(&line, "\n");
	put(&line);
	rv_buf_fini(&line);
	errno = saved;
}
