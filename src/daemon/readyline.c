/* A line of output that says ready: see readyline.h. */
#include "daemon/readyline.h"

#include <string.h>

/* n bytes, with the newline if it has come. */
static bool is_it(struct rv_readyline *r, unsigned which, const char *line, size_t n)
{
	bool whole = line[n - 1] == '\n';
	unsigned part = (r->within[which] ? RV_REGEX_NOT_BOL : 0) | (whole ? 0 : RV_REGEX_NOT_EOL);

	r->within[which] = !whole;
	n -= whole;
	if (whole && n && line[n - 1] == '\r')
		n--;
	return rv_regex_match(r->regex, line, n, part);
}

static void on_output(void *arg, unsigned which, const char *bytes, size_t n)
{
	struct rv_readyline *r = arg;

	while (n) {
		const char *end = memchr(bytes, '\n', n);
		size_t line = end ? (size_t)(end - bytes) + 1 : n;

		if (is_it(r, which, bytes, line)) {
			r->found = true;
			rv_capture_watch(r->capture, NULL, NULL);
			r->capture = NULL;
			ev_timer_start(r->loop, &r->soon);
			return;
		}
		bytes += line;
		n -= line;
	}
}

static void on_soon(struct ev_loop *loop, struct ev_timer *w, int events)
{
	struct rv_readyline *r = w->data;

	(void)loop;
	(void)events;
	r->changed(r->arg);
}

void rv_readyline_init(
	struct rv_readyline *r, struct ev_loop *loop, void (*changed)(void *arg), void *arg)
{
	*r = (struct rv_readyline){.loop = loop, .changed = changed, .arg = arg};
	ev_timer_init(&r->soon, on_soon, 0., 0.);
	r->soon.data = r;
}

void rv_readyline_watch(
	struct rv_readyline *r, struct rv_capture *capture, const struct rv_regex *regex)
{
	r->regex = regex;
	r->capture = capture;
	rv_capture_watch(capture, on_output, r);
}

void rv_readyline_stop(struct rv_readyline *r)
{
	if (r->capture)
		rv_capture_watch(r->capture, NULL, NULL);
	r->capture = NULL;
	ev_timer_stop(r->loop, &r->soon);
}
