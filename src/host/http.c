/* http.so: HTTP requests by libcurl's multi interface, on the loop of the host. See http.h.
 *
 * Deaf to everything around it: no proxies, no redirects, no netrc, no cookies, plain http only, a new
 * connection for each request, so that an answer tells of the server as it is now. */
#include "host/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reeve/plugin.h"

enum { HEADERS_MAX = 16384, HEADERS_READ = 262144 };

struct rv_http {
	struct ev_loop *loop;
	CURLM *multi;
	ev_timer timer;
};

struct socket { /* one that libcurl watches */
	struct rv_http *http;
	curl_socket_t fd;
	ev_io io;
};

struct rv_http_try {
	struct rv_http *http;
	CURL *easy;
	struct curl_slist *headers;
	long timeout_ms;
	void (*done)(void *arg, const struct rv_http_got *got);
	void *arg;
	bool truncated;
	size_t got_headers_len, got_len, headers_read;
	bool headers_end; /* the empty line behind them was seen */
	char why[CURL_ERROR_SIZE];
	char got_headers[HEADERS_MAX + 1];
	char got[REEVE_BODY + 1];
};

static void try_destroy(struct rv_http_try *t)
{
	if (!t)
		return;
	if (t->easy) {
		curl_multi_remove_handle(t->http->multi, t->easy);
		curl_easy_cleanup(t->easy);
	}
	curl_slist_free_all(t->headers);
	free(t);
}

/* ---- what comes in ---- */

static size_t on_body(char *bytes, size_t size, size_t n, void *arg)
{
	struct rv_http_try *t = arg;
	size_t room = REEVE_BODY - t->got_len, take = size * n < room ? size * n : room;

	memcpy(t->got + t->got_len, bytes, take);
	t->got_len += take;
	t->truncated |= take < size * n;
	return take; /* less than there was ends the transfer: nobody reads an endless body */
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
	struct rv_http_try *t = arg;
	size_t len = size * n;

	t->headers_read += len;
	if (t->headers_read > HEADERS_READ)
		return 0; /* libcurl keeps them all: nobody reads endless ones */
	if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		t->got_headers_len = 0; /* what stood before was an interim answer */
		t->headers_end = false;
		return len;
	}
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	t->headers_end = !len;
	if (len && len + 1 <= HEADERS_MAX - t->got_headers_len) {
		memcpy(t->got_headers + t->got_headers_len, line, len);
		t->got_headers_len += len;
		t->got_headers[t->got_headers_len++] = '\n';
	}
	return size * n;
}

/* ---- how it ended ---- */

static int transport_of(struct rv_http_try *t, CURLcode code, const char **error)
{
	long number = 0, connects = 0;

	curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &number);
	curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &connects);
	*error = t->why;
	if (code == CURLE_OK && !t->headers_end) {
		/* libcurl takes the end of the connection for the end of the headers. */
		snprintf(
			t->why, sizeof(t->why), "the connection ended within the answer's headers");
		return REEVE_HTTP_BROKEN;
	}
	if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && t->truncated)) {
		*error = "";
		return REEVE_HTTP_DONE;
	}
	if (code == CURLE_OPERATION_TIMEDOUT) {
		snprintf(t->why, sizeof(t->why), "no answer within %ldms", t->timeout_ms);
		return REEVE_HTTP_TIMEOUT;
	}
	if (code == CURLE_COULDNT_CONNECT) {
		if (number)
			snprintf(t->why, sizeof(t->why), "%s", strerror((int)number));
		return number == ECONNREFUSED ? REEVE_HTTP_REFUSED : REEVE_HTTP_BROKEN;
	}
	if (t->headers_read > HEADERS_READ)
		snprintf(t->why, sizeof(t->why), "the answer's headers have no end");
	else if (code == CURLE_OUT_OF_MEMORY && connects) /* so it calls a line above 100 KiB */
		snprintf(t->why, sizeof(t->why),
			"a line of the answer's headers is too long, or memory is short");
	else if (!*t->why)
		snprintf(t->why, sizeof(t->why), "%s", curl_easy_strerror(code));
	if (code == CURLE_URL_MALFORMAT || (code == CURLE_UNSUPPORTED_PROTOCOL && !connects))
		return REEVE_HTTP_INVALID;
	return REEVE_HTTP_BROKEN;
}

static void finish(struct rv_http_try *t, CURLcode code)
{
	struct rv_http_got got = {
		.headers = t->got_headers, .body = t->got, .body_len = t->got_len};
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	got.transport = transport_of(t, code, &got.error);
	got.status = (int)status;
	got.truncated = t->truncated || code == CURLE_PARTIAL_FILE;
	t->got[t->got_len] = 0;
	t->got_headers[t->got_headers_len] = 0;
	/* libcurl is done with it before the asker, who may start or cancel others, is called. */
	curl_multi_remove_handle(t->http->multi, t->easy);
	curl_easy_cleanup(t->easy);
	t->easy = NULL;
	t->done(t->arg, &got);
	try_destroy(t);
}

static void collect(struct rv_http *h)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(h->multi, &left))) {
		char *t = NULL;
		CURLcode code = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
		finish((struct rv_http_try *)(void *)t, code);
	}
}

/* ---- libcurl on the loop ---- */

static void on_io(struct ev_loop *loop, ev_io *w, int events)
{
	struct socket *s = w->data;
	struct rv_http *h = s->http;
	int running, what = 0;

	(void)loop;
	if (events & EV_READ)
		what |= CURL_CSELECT_IN;
	if (events & EV_WRITE)
		what |= CURL_CSELECT_OUT;
	curl_multi_socket_action(h->multi, s->fd, what, &running); /* may free s */
	collect(h);
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct rv_http *h = w->data;
	int running;

	(void)loop;
	(void)events;
	curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	collect(h);
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct rv_http *h = arg;
	struct socket *s = known;
	int events = (what & CURL_POLL_IN ? EV_READ : 0) | (what & CURL_POLL_OUT ? EV_WRITE : 0);

	(void)easy;
	if (s)
		ev_io_stop(h->loop, &s->io);
	if (what == CURL_POLL_REMOVE) {
		free(s);
		return 0;
	}
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return -1;
		s->http = h;
		s->fd = fd;
		curl_multi_assign(h->multi, fd, s);
	}
	ev_io_init(&s->io, on_io, fd, events);
	s->io.data = s;
	ev_io_start(h->loop, &s->io);
	return 0;
}

static int set_timer(CURLM *multi, long ms, void *arg)
{
	struct rv_http *h = arg;

	(void)multi;
	ev_timer_stop(h->loop, &h->timer);
	if (ms < 0)
		return 0;
	ev_now_update(h->loop);
	ev_timer_set(&h->timer, (double)ms / 1000., 0.);
	ev_timer_start(h->loop, &h->timer);
	return 0;
}

/* ---- asking ---- */

static bool set_headers(struct rv_http_try *t, const struct rv_http_ask *ask)
{
	struct curl_slist *more;

	for (size_t i = 0; ask->headers && ask->headers[i]; i++) {
		more = curl_slist_append(t->headers, ask->headers[i]);
		if (!more)
			return false;
		t->headers = more;
	}
	more = curl_slist_append(t->headers, "Expect:"); /* never wait for 100 */
	if (more)
		t->headers = more;
	return more;
}

#define SET(option, value) fine &= curl_easy_setopt(t->easy, option, value) == CURLE_OK

static bool set_up(struct rv_http_try *t, const struct rv_http_ask *ask)
{
	bool fine = set_headers(t, ask);

	SET(CURLOPT_URL, ask->url);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOPROXY, "*");
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_FRESH_CONNECT, 1L);
	SET(CURLOPT_FORBID_REUSE, 1L);
	SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(CURLOPT_USERAGENT, "reeve");
	SET(CURLOPT_TIMEOUT_MS, t->timeout_ms);
	SET(CURLOPT_HTTPHEADER, t->headers);
	SET(CURLOPT_ERRORBUFFER, t->why);
	SET(CURLOPT_PRIVATE, (void *)t);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, (void *)t);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, (void *)t);
#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "http");
#else
	SET(CURLOPT_PROTOCOLS, (long)CURLPROTO_HTTP);
#endif
	if (ask->body) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->body_len);
		SET(CURLOPT_COPYPOSTFIELDS, ask->body);
	}
	if (strcmp(ask->method, "HEAD") == 0)
		SET(CURLOPT_NOBODY, 1L);
	else if (strcmp(ask->method, ask->body ? "POST" : "GET") != 0)
		SET(CURLOPT_CUSTOMREQUEST, ask->method);
	return fine;
}

static struct rv_http_try *http_start(struct rv_http *h, const struct rv_http_ask *ask,
	void (*done)(void *arg, const struct rv_http_got *got), void *arg)
{
	struct rv_http_try *t = malloc(sizeof(*t)); /* not zeroed: most of it is never touched */

	if (!t)
		return NULL;
	memset(t, 0, offsetof(struct rv_http_try, got_headers));
	t->http = h;
	t->done = done;
	t->arg = arg;
	t->timeout_ms = (long)(ask->timeout / RV_MS);
	if (t->timeout_ms < 1)
		t->timeout_ms = 1;
	t->easy = curl_easy_init();
	if (t->easy && set_up(t, ask) && curl_multi_add_handle(h->multi, t->easy) == CURLM_OK)
		return t;
	try_destroy(t);
	return NULL;
}

static void http_cancel(struct rv_http *h, struct rv_http_try *t)
{
	(void)h;
	try_destroy(t);
}

static void http_destroy(struct rv_http *h)
{
	if (!h)
		return;
	if (h->multi)
		curl_multi_cleanup(h->multi);
	ev_timer_stop(h->loop, &h->timer);
	free(h);
}

static struct rv_http *http_create(struct ev_loop *loop)
{
	struct rv_http *h = calloc(1, sizeof(*h));

	/* No TLS to set up: plain http is all that is spoken. */
	if (!h || curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK) {
		free(h);
		return NULL;
	}
	h->loop = loop;
	ev_timer_init(&h->timer, on_timer, 0., 0.);
	h->timer.data = h;
	h->multi = curl_multi_init();
	if (!h->multi) {
		http_destroy(h);
		return NULL;
	}
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
	return h;
}

__attribute__((visibility("default"))) const struct rv_http_ops rv_http_v1 = {
	.version = RV_HTTP_VERSION,
	.create = http_create,
	.destroy = http_destroy,
	.start = http_start,
	.cancel = http_cancel,
};
