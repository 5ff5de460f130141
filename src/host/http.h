/* The HTTP client: a shared object, http.so, opened at the first request, because libcurl costs
 * milliseconds and megabytes that a host without requests need not pay. */
#ifndef HOST_HTTP_H
#define HOST_HTTP_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/lists.h"

struct rv_http_ask {
	const char *method;
	const char *url;
	const char *const *headers; /* NULL-terminated; may be NULL */
	const void *body;
	size_t body_len;
	rv_time timeout;
};

/* Valid during the callback. */
struct rv_http_got {
	int transport; /* enum reeve_transport */
	const char *error; /* of the transport; or "" */
	int status; /* 0: no answer */
	const char *headers; /* "Name: value\n" lines */
	const char *body; /* NUL behind it */
	size_t body_len;
	bool truncated;
};

struct rv_http; /* one client, on one loop */
struct rv_http_try; /* one request in flight */

struct rv_http_ops {
	unsigned version; /* RV_HTTP_VERSION */
	struct rv_http *(*create)(struct ev_loop *loop);
	void (*destroy)(struct rv_http *h);
	/* Everything in `ask` is copied. done is called once, from the loop, never from inside start;
	   NULL: memory was refused. */
	struct rv_http_try *(*start)(struct rv_http *h, const struct rv_http_ask *ask,
		void (*done)(void *arg, const struct rv_http_got *got), void *arg);
	void (*cancel)(struct rv_http *h, struct rv_http_try *t);
};
#define RV_HTTP_VERSION 1
/* The one symbol of http.so. */
extern const struct rv_http_ops rv_http_v1;

#endif
