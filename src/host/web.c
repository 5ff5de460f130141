/* The door to http.so: see web.h. */
#include "host/web.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "reeve/plugin.h"

struct rv_web {
	struct ev_loop *loop;
	const struct rv_http_ops *ops; /* NULL: not opened */
	struct rv_http *http;
	bool tried;
	struct rv_err error;
};

struct rv_web_try {
	struct rv_web *web;
	struct rv_http_try *real; /* NULL: only the timer, which brings the error */
	ev_timer timer;
	void (*done)(void *arg, const struct rv_http_got *got);
	void *arg;
};

struct rv_web *rv_web_create(struct ev_loop *loop)
{
	struct rv_web *w = calloc(1, sizeof(*w));

	if (w)
		w->loop = loop;
	return w;
}

void rv_web_destroy(struct rv_web *w)
{
	if (w && w->http)
		w->ops->destroy(w->http);
	free(w);
}

static bool open_at(struct rv_web *w, const char *dir, const char *tail)
{
	char path[PATH_MAX];
	void *so;

	if ((size_t)snprintf(path, sizeof(path), "%s%s", dir, tail) >= sizeof(path))
		return rv_fail(
			&w->error, RV_ERR_SYSTEM, "cannot load the HTTP client: path too long");
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return rv_fail(
			&w->error, RV_ERR_SYSTEM, "cannot load the HTTP client: %s", dlerror());
	w->ops = dlsym(so, "rv_http_v1");
	if (!w->ops || w->ops->version != RV_HTTP_VERSION) {
		w->ops = NULL;
		return rv_fail(&w->error, RV_ERR_SYSTEM,
			"cannot load the HTTP client: %s is not of this version of reeve", path);
	}
	return true;
}

/* Beside the plugins first, so that a build tree and an image that moved everything both work. */
static bool open_once(struct rv_web *w, const char *dir)
{
	if (w->tried)
		return w->http;
	w->tried = true;
	if (!(dir && open_at(w, dir, "/../http.so")) && !open_at(w, RV_LIB_DIR, "/http.so"))
		return false;
	w->http = w->ops->create(w->loop);
	return w->http || rv_fail(&w->error, RV_ERR_SYSTEM, "cannot start the HTTP client");
}

static void finish(struct rv_web_try *t, const struct rv_http_got *got)
{
	void (*done)(void *arg, const struct rv_http_got *got) = t->done;
	void *arg = t->arg;

	free(t);
	done(arg, got);
}

static void on_done(void *arg, const struct rv_http_got *got)
{
	finish(arg, got);
}

static void on_error(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct rv_web_try *t = timer->data;
	struct rv_http_got got = {.transport = REEVE_HTTP_INVALID,
		.error = t->web->error.text,
		.headers = "",
		.body = ""};

	(void)loop;
	(void)events;
	finish(t, &got);
}

struct rv_web_try *rv_web_start(struct rv_web *w, const char *dir, const struct rv_http_ask *ask,
	void (*done)(void *arg, const struct rv_http_got *got), void *arg)
{
	struct rv_web_try *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->web = w;
	t->done = done;
	t->arg = arg;
	if (open_once(w, dir)) {
		t->real = w->ops->start(w->http, ask, on_done, t);
		if (t->real)
			return t;
		rv_fail(&w->error, RV_ERR_SYSTEM, "cannot ask %.200s: out of memory", ask->url);
	}
	ev_timer_init(&t->timer, on_error, 0., 0.);
	t->timer.data = t;
	ev_timer_start(w->loop, &t->timer);
	return t;
}

void rv_web_cancel(struct rv_web *w, struct rv_web_try *t)
{
	if (!t)
		return;
	if (t->real)
		w->ops->cancel(w->http, t->real);
	ev_timer_stop(w->loop, &t->timer);
	free(t);
}
