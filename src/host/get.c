/* A URL that the daemon wants to be asked: see inside.h. */
#include <string.h>

#include "host/inside.h"
#include "wire/answer.h"

static void on_get(void *arg, const struct rv_http_got *got)
{
	struct rv_hostcall *c = arg;
	const struct rv_answer answer = {.error = got->transport == REEVE_HTTP_DONE ? ""
			: *got->error						    ? got->error
										    : "no answer",
		.hopeless = got->transport == REEVE_HTTP_INVALID,
		.status = got->status,
		.body = got->body,
		.body_len = got->body_len,
		.cut = got->truncated};
	char why[RV_WHY_MAX + 300];
	enum rv_verdict v;

	c->http = NULL;
	v = rv_answer_judge(&c->want, &answer, why, sizeof(why));
	rv_hostcall_answer(c, v, why, NULL);
	rv_hostcall_end(c);
}

bool rv_hostget_take(struct rv_drive *d, const struct rv_hp_get *m, struct rv_arena *arena)
{
	struct rv_hp_call as = {.call = m->call, .id = m->id, .timeout = m->timeout};
	struct rv_http_ask ask = {.method = m->want.method,
		.url = m->want.url,
		.headers = m->want.headers,
		.body = m->want.send,
		.body_len = m->want.send ? strlen(m->want.send) : 0,
		.timeout = m->timeout};
	struct rv_hostcall *c = rv_hostcall_create(d, &as);

	if (!c)
		return false;
	if (m->want.timeout > 0 && m->want.timeout < ask.timeout)
		ask.timeout = m->want.timeout;
	c->got = *arena;
	*arena = (struct rv_arena){0};
	c->want = m->want;
	c->http = rv_web_start(d->web, m->dir, &ask, on_get, c);
	return c->http;
}
