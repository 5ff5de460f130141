/* A URL that the daemon wants to be asked: see inside.h. */
#include <stdio.h>

#include "base/text.h"
#include "host/inside.h"

/* 2xx is an answer; a busy or broken server may get better, any other status will not. */
static enum rv_verdict judge(const struct rv_http_got *got)
{
	if (got->transport == REEVE_HTTP_INVALID)
		return RV_FAIL;
	if (got->transport != REEVE_HTTP_DONE || got->status == 429 || got->status >= 500)
		return RV_RETRY;
	return got->status >= 200 && got->status <= 299 ? RV_OK : RV_FAIL;
}

static void on_get(void *arg, const struct rv_http_got *got)
{
	struct rv_hostcall *c = arg;
	const char *url = c->why;
	char why[RV_WHY_MAX + 300];
	enum rv_verdict v = judge(got);

	c->http = NULL;
	if (got->transport != REEVE_HTTP_DONE)
		snprintf(why, sizeof(why), "GET %s: %.200s", url, got->error);
	else
		snprintf(why, sizeof(why), "GET %s answered %d%s", url, got->status,
			v == RV_OK ? "" : ", expected 2xx");
	rv_hostcall_answer(c, v, why, NULL);
	rv_hostcall_end(c);
}

bool rv_hostget_take(struct rv_drive *d, const struct rv_hp_get *m)
{
	struct rv_hp_call as = {.call = m->call, .id = m->id, .timeout = m->timeout};
	struct rv_http_ask ask = {.method = "GET", .url = m->url, .timeout = m->timeout};
	struct rv_hostcall *c = rv_hostcall_create(d, &as);

	if (!c)
		return false;
	rv_text_url(m->url, c->why, sizeof(c->why));
	c->http = rv_web_start(d->web, m->dir, &ask, on_get, c);
	return c->http;
}
