/* The HTTP client of the host against a real server: what comes through, and what must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "host/web.h"
#include "reeve/plugin.h"
#include "server.h"
#include "sys/clock.h"

static struct server server;
static char plugins[4096];

struct seen {
	int count;
	int transport, status;
	char error[300], headers[1000], body[REEVE_BODY + 1];
	size_t body_len;
	bool truncated;
};

static void on_done(void *arg, const struct rv_http_got *got)
{
	struct seen *s = arg;

	s->count++;
	s->transport = got->transport;
	s->status = got->status;
	snprintf(s->error, sizeof(s->error), "%s", got->error);
	snprintf(s->headers, sizeof(s->headers), "%s", got->headers);
	memcpy(s->body, got->body, got->body_len + 1);
	s->body_len = got->body_len;
	s->truncated = got->truncated;
}

static struct seen seen;

static void wait_for_it(struct ev_loop *loop, int count)
{
	rv_time until = rv_now() + 10 * RV_SEC;

	while (seen.count < count && rv_now() < until)
		ev_run(loop, EVRUN_ONCE);
	assert_int_equal(seen.count, count);
}

static const struct seen *ask_all(const struct rv_http_ask *ask)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct rv_web *w = rv_web_create(loop);

	memset(&seen, 0, sizeof(seen));
	assert_non_null(rv_web_start(w, plugins, ask, on_done, &seen));
	assert_int_equal(seen.count, 0);
	wait_for_it(loop, 1);
	rv_web_destroy(w);
	ev_loop_destroy(loop);
	return &seen;
}

static const struct seen *get(const char *path)
{
	char url[300];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", server.port, path);
	return ask_all(&(struct rv_http_ask){.method = "GET", .url = url, .timeout = 5 * RV_SEC});
}

static void an_answer_comes_whole(void **state)
{
	const struct seen *s = get("/echo");

	(void)state;
	assert_int_equal(s->transport, REEVE_HTTP_DONE);
	assert_int_equal(s->status, 200);
	assert_string_equal(s->error, "");
	assert_non_null(strstr(s->body, "GET /echo HTTP/1.1\r\n"));
	assert_int_equal(s->body_len, strlen(s->body));
	assert_false(s->truncated);
}

static void an_answer_without_body_has_its_status_and_headers(void **state)
{
	const struct seen *s = get("/204");

	(void)state;
	assert_int_equal(s->status, 204);
	assert_string_equal(s->headers, "X-Mark: yes\n");
	assert_int_equal(s->body_len, 0);
}

static void an_interim_answer_is_not_the_answer(void **state)
{
	const struct seen *s = get("/interim");

	(void)state;
	assert_int_equal(s->status, 200);
	assert_string_equal(s->headers, "Content-Length: 4\n");
	assert_string_equal(s->body, "late");
}

static void a_redirect_is_an_answer_and_is_not_followed(void **state)
{
	const struct seen *s = get("/302");

	(void)state;
	assert_int_equal(s->transport, REEVE_HTTP_DONE);
	assert_int_equal(s->status, 302);
}

static void an_endless_body_is_cut_and_its_status_kept(void **state)
{
	const struct seen *s = get("/endless");

	(void)state;
	assert_int_equal(s->transport, REEVE_HTTP_DONE);
	assert_int_equal(s->status, 200);
	assert_true(s->truncated);
	assert_int_equal(s->body_len, REEVE_BODY);
}

static void a_body_that_breaks_off_is_a_broken_answer(void **state)
{
	const struct seen *s = get("/cut");

	(void)state;
	assert_int_equal(s->transport, REEVE_HTTP_BROKEN);
	assert_int_equal(s->status, 200);
	assert_true(s->truncated);
	assert_string_not_equal(s->error, "");
}

static void no_answer_at_all_is_a_broken_one(void **state)
{
	const struct seen *s = get("/silent");

	(void)state;
	assert_int_equal(s->transport, REEVE_HTTP_BROKEN);
	assert_int_equal(s->status, 0);
	assert_string_not_equal(s->error, "");
}

static void another_protocol_is_a_broken_answer(void **state)
{
	const struct seen *s = get("/nothttp");

	(void)state;
	assert_int_equal(s->transport, REEVE_HTTP_BROKEN);
	assert_string_not_equal(s->error, "");
}

static void a_port_that_nobody_listens_on_refuses(void **state)
{
	const struct seen *s = ask_all(&(struct rv_http_ask){
		.method = "GET", .url = "http://127.0.0.1:1/", .timeout = 5 * RV_SEC});

	(void)state;
	assert_int_equal(s->transport, REEVE_HTTP_REFUSED);
	assert_string_equal(s->error, "Connection refused");
	assert_int_equal(s->status, 0);
}

static void a_server_that_hangs_is_left_after_the_bound(void **state)
{
	char url[300];
	rv_time began = rv_now();
	const struct seen *s;

	(void)state;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/hang", server.port);
	s = ask_all(&(struct rv_http_ask){.method = "GET", .url = url, .timeout = 200 * RV_MS});
	assert_int_equal(s->transport, REEVE_HTTP_TIMEOUT);
	assert_string_equal(s->error, "no answer within 200ms");
	assert_true(rv_now() - began < 3 * RV_SEC);
}

static void other_protocols_are_not_spoken(void **state)
{
	static const char *const urls[] = {
		"file:///etc/passwd", "https://127.0.0.1:1/", "ftp://127.0.0.1:1/", "no url", ""};

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		const struct seen *s = ask_all(
			&(struct rv_http_ask){.method = "GET", .url = urls[i], .timeout = RV_SEC});

		assert_int_not_equal(s->transport, REEVE_HTTP_DONE);
		assert_int_equal(s->status, 0);
		assert_int_equal(s->body_len, 0);
		assert_string_not_equal(s->error, "");
	}
}

static void proxies_are_never_asked(void **state)
{
	const struct seen *s;

	(void)state;
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	s = get("/204");
	assert_int_equal(s->status, 204);
	unsetenv("http_proxy");
	unsetenv("ALL_PROXY");
}

static void a_request_carries_its_method_headers_and_body(void **state)
{
	static const char *const headers[] = {
		"Content-Type: application/json", "Authorization: Bearer x", NULL};
	char url[300];
	const struct seen *s;

	(void)state;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/echo", server.port);
	s = ask_all(&(struct rv_http_ask){.method = "POST",
		.url = url,
		.headers = headers,
		.body = "{\"a\":1}",
		.body_len = 7,
		.timeout = 5 * RV_SEC});
	assert_non_null(strstr(s->body, "POST /echo HTTP/1.1\r\n"));
	assert_non_null(strstr(s->body, "Content-Type: application/json\r\n"));
	assert_non_null(strstr(s->body, "Authorization: Bearer x\r\n"));
	assert_non_null(strstr(s->body, "Content-Length: 7\r\n"));
	assert_non_null(strstr(s->body, "\r\n\r\n{\"a\":1}"));
	assert_null(strstr(s->body, "Expect"));
	s = ask_all(&(struct rv_http_ask){.method = "DELETE", .url = url, .timeout = 5 * RV_SEC});
	assert_non_null(strstr(s->body, "DELETE /echo HTTP/1.1\r\n"));
}

static void a_request_that_is_cancelled_is_never_answered(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct rv_web *w = rv_web_create(loop);
	char url[300], hang[300];
	struct rv_web_try *t;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	snprintf(hang, sizeof(hang), "http://127.0.0.1:%d/hang", server.port);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/204", server.port);
	t = rv_web_start(w, plugins,
		&(struct rv_http_ask){.method = "GET", .url = hang, .timeout = 5 * RV_SEC}, on_done,
		&seen);
	assert_non_null(t);
	ev_run(loop, EVRUN_ONCE);
	rv_web_cancel(w, t);
	for (int i = 1; i <= 3; i++) {
		assert_non_null(rv_web_start(w, plugins,
			&(struct rv_http_ask){.method = "GET", .url = url, .timeout = 5 * RV_SEC},
			on_done, &seen));
		wait_for_it(loop, i);
		assert_int_equal(seen.status, 204);
	}
	rv_web_destroy(w);
	ev_loop_destroy(loop);
}

static void without_http_so_each_request_says_so(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct rv_web *w = rv_web_create(loop);

	(void)state;
	memset(&seen, 0, sizeof(seen));
	for (int i = 1; i <= 2; i++) {
		assert_non_null(rv_web_start(w, "/nonexistent/plugins",
			&(struct rv_http_ask){
				.method = "GET", .url = "http://127.0.0.1:1/", .timeout = RV_SEC},
			on_done, &seen));
		assert_int_equal(seen.count, i - 1);
		wait_for_it(loop, i);
	}
	/* An installed one would be found, too. */
	if (seen.transport == REEVE_HTTP_INVALID)
		assert_non_null(strstr(seen.error, "cannot load the HTTP client: "));
	else
		assert_int_equal(seen.transport, REEVE_HTTP_REFUSED);
	rv_web_destroy(w);
	ev_loop_destroy(loop);
}

static int start_server(void **state)
{
	(void)state;
	server = server_start();
	return 0;
}

static int stop_server(void **state)
{
	(void)state;
	server_stop(&server);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_comes_whole),
		cmocka_unit_test(an_answer_without_body_has_its_status_and_headers),
		cmocka_unit_test(an_interim_answer_is_not_the_answer),
		cmocka_unit_test(a_redirect_is_an_answer_and_is_not_followed),
		cmocka_unit_test(an_endless_body_is_cut_and_its_status_kept),
		cmocka_unit_test(a_body_that_breaks_off_is_a_broken_answer),
		cmocka_unit_test(no_answer_at_all_is_a_broken_one),
		cmocka_unit_test(another_protocol_is_a_broken_answer),
		cmocka_unit_test(a_port_that_nobody_listens_on_refuses),
		cmocka_unit_test(a_server_that_hangs_is_left_after_the_bound),
		cmocka_unit_test(other_protocols_are_not_spoken),
		cmocka_unit_test(proxies_are_never_asked),
		cmocka_unit_test(a_request_carries_its_method_headers_and_body),
		cmocka_unit_test(a_request_that_is_cancelled_is_never_answered),
		cmocka_unit_test(without_http_so_each_request_says_so),
	};
	const char *build = getenv("RV_BUILD");

	snprintf(plugins, sizeof(plugins), "%s/plugins", build ? build : ".");
	return cmocka_run_group_tests_name("host_http", tests, start_server, stop_server);
}
