/* The door to http.so: opens it at the first request, and answers for it when it is not there. */
#ifndef HOST_WEB_H
#define HOST_WEB_H

#include "host/http.h"

struct rv_web;
struct rv_web_try;

struct rv_web *rv_web_create(struct ev_loop *loop);
/* All tries must be over. */
void rv_web_destroy(struct rv_web *w);
/* dir: of plugins; http.so lies beside it. done is called once, from the loop; NULL only when memory is
   refused: then done is never called. */
struct rv_web_try *rv_web_start(struct rv_web *w, const char *dir, const struct rv_http_ask *ask,
	void (*done)(void *arg, const struct rv_http_got *got), void *arg);
/* NULL is fine. */
void rv_web_cancel(struct rv_web *w, struct rv_web_try *t);

#endif
