/* The kinds of readiness as they are written, and what is said about wrong ones. */
#include "conf_help.h"

/* `key` is what stands below `services: {a: {command: x, ready:`, as flow YAML. */
static struct got accept_ready(const char *ready)
{
	char yaml[4000];

	snprintf(yaml, sizeof(yaml), "services:\n  a:\n    command: x\n    ready: {%s}\n", ready);
	return accept(yaml);
}

/* column: of the mistake; 12 is the brace. */
static void refuse_ready(const char *ready, unsigned column, const char *complaint)
{
	char yaml[4000], all[2000];

	snprintf(yaml, sizeof(yaml), "services:\n  a:\n    command: x\n    ready: {%s}\n", ready);
	snprintf(all, sizeof(all), "t.yaml:4:%u: %s\n", column, complaint);
	refuse(yaml, all);
}

static void each_kind_alone_proves(void **state)
{
	static const char *const kinds[] = {"fd: auto", "log-line: up", "file: /run/x",
		"unix: /run/s", "tcp: 80", "http: \"http://127.0.0.1/\"", "exec: x"};

	(void)state;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		struct got g = accept_ready(kinds[i]);

		if (!service(&g, "a")->has_ready)
			fail_msg("%s proves nothing", kinds[i]);
		assert_int_equal(node(&g, "a")->proof, RV_PROOF_PROBE);
		put_away(&g);
	}
}

static void paths_and_lines_are_kept(void **state)
{
	struct got g = accept_ready("log-line: '^up( now)?$', file: /run/x, unix: /run/s");
	const struct rv_check *k = &service(&g, "a")->ready;

	(void)state;
	assert_string_equal(k->log_line, "^up( now)?$");
	assert_true(rv_regex_match(k->log_regex, "up now", 6, 0));
	assert_string_equal(k->file, "/run/x");
	assert_true(k->file_anew);
	assert_string_equal(k->unix_path, "/run/s");
	put_away(&g);
	refuse_ready(
		"file: run/x", 19, "ready.file of service 'a' must be an absolute path, not run/x");
	refuse_ready(
		"unix: run/s", 19, "ready.unix of service 'a' must be an absolute path, not run/s");
	refuse_ready("unix: /1234567890/1234567890/1234567890/1234567890/1234567890/1234567890/"
		     "1234567890/1234567890/1234567890/12345678",
		19, "ready.unix of service 'a' is too long for a socket: at most 107 bytes");
	refuse_ready("log-line: [up]", 23,
		"ready.log-line of service 'a' must be a regular expression, not a list");
	refuse_ready("log-line: 'up ('", 23,
		"ready.log-line of service 'a' is no regular expression (POSIX extended): "
		"unmatched "
		"( at byte 4; write \\( for the character");
	refuse_ready("log-line: ''", 23,
		"ready.log-line of service 'a' is no regular expression (POSIX extended): empty");
	refuse_ready("logline: up", 13,
		"unknown key 'logline' in ready of service 'a' (did you mean 'log-line'?)");
}

static void a_url_alone_asks_for_2xx(void **state)
{
	struct got g = accept_ready("http: \"http://127.0.0.1:8080/health\"");
	const struct rv_want *w = service(&g, "a")->ready.http;

	(void)state;
	assert_string_equal(w->url, "http://127.0.0.1:8080/health");
	assert_string_equal(w->method, "GET");
	assert_null(w->headers);
	assert_null(w->send);
	assert_null(w->body);
	assert_int_equal(w->status.count + w->retry.count + w->fail.count + w->json_count, 0);
	assert_false(w->patient);
	put_away(&g);
	refuse_ready("http: x", 19,
		"ready.http of service 'a' must be a URL that begins with http:// (reeve speaks no "
		"TLS), not x");
	refuse_ready("http: [x]", 19, "ready.http of service 'a' must be a map, not a list");
}

#define URL "url: \"http://127.0.0.1/\""

static void what_is_asked_by_http_is_kept(void **state)
{
	static const char *const environ[] = {"API_TOKEN=s3cret", NULL};
	struct got g = accept_given((struct given){
		.yaml = "services:\n  a:\n    command: x\n    ready:\n      http:\n        " URL
			"\n"
			"        headers: {Authorization: 'Bearer ${env.API_TOKEN}', X-A: b}\n"
			"        send: '{\"key\": \"${env.API_TOKEN}\"}'\n        timeout: 300ms\n",
		.environ = environ});
	const struct rv_want *w = service(&g, "a")->ready.http;
	struct rv_buf plan = {0};

	(void)state;
	assert_string_equal(w->method, "POST");
	assert_list(w->headers, "Authorization: Bearer s3cret|X-A: b|");
	assert_string_equal(w->send, "{\"key\": \"s3cret\"}");
	assert_int_equal(w->timeout, 300 * RV_MS);
	rv_conf_print(g.conf, &plan);
	assert_non_null(
		strstr(rv_buf_text(&plan), "POST http://127.0.0.1/ with Authorization X-A"));
	assert_null(strstr(rv_buf_text(&plan), "s3cret"));
	rv_buf_fini(&plan);
	put_away(&g);
}

static void methods_that_bring_something_bring_at_least_nothing(void **state)
{
	static const struct {
		const char *keys, *method, *send;
	} cases[] = {{"method: GET", "GET", NULL}, {"method: DELETE", "DELETE", NULL},
		{"method: POST", "POST", ""}, {"method: PUT", "PUT", ""},
		{"method: PATCH, send: x", "PATCH", "x"}, {"send: x", "POST", "x"}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char ready[200];
		struct got g;
		const struct rv_want *w;

		snprintf(ready, sizeof(ready), "http: {" URL ", %s}", cases[i].keys);
		g = accept_ready(ready);
		w = service(&g, "a")->ready.http;
		assert_string_equal(w->method, cases[i].method);
		if (cases[i].send)
			assert_string_equal(w->send, cases[i].send);
		else
			assert_null(w->send);
		put_away(&g);
	}
}

static void what_cannot_be_asked_is_refused(void **state)
{
	struct got g;

	(void)state;
	refuse_ready("http: \"http://127.0.0.1:99999/\"", 19,
		"ready.http of service 'a' must be a URL whose port is a number from 1 to 65535, "
		"not \"http://127.0.0.1:99999/\"");
	refuse_ready("http: \"http://127.0.0.1:x1/\"", 19,
		"ready.http of service 'a' must be a URL whose port is a number from 1 to 65535, "
		"not \"http://127.0.0.1:x1/\"");
	refuse_ready("http: \"http://127.0.0.1:80/a b\"", 19,
		"ready.http of service 'a' must be a URL without blanks and control characters "
		"(a blank is written %20), not \"http://127.0.0.1:80/a b\"");
	refuse_ready("http: \"http://:80/\"", 19,
		"ready.http of service 'a' must be a URL that names a host, such as "
		"\"http://127.0.0.1:8080/health\", not \"http://:80/\"");
	refuse_ready("http: \"http://[::1/\"", 19,
		"ready.http of service 'a' must be a URL that names a host, such as "
		"\"http://127.0.0.1:8080/health\", not \"http://[::1/\"");
	g = accept_ready("http: \"http://[::1]:80/?a:b@c\"");
	put_away(&g);
	g = accept_ready("http: \"http://user:pw@localhost?x\"");
	put_away(&g);
	refuse_ready("http: {}", 19, "ready.http of service 'a' needs a url");
	refuse_ready("http: {" URL ", method: get}", 54,
		"ready.http.method of service 'a' must be GET, HEAD, POST, PUT, PATCH, DELETE or "
		"OPTIONS, not get");
	refuse_ready("http: {" URL ", methode: GET}", 46,
		"unknown key 'methode' in ready.http of service 'a' (did you mean 'method'?)");
	refuse_ready("http: {" URL ", send: x, method: GET}", 19,
		"ready.http of service 'a' sends a body with GET: write method: POST");
	refuse_ready("http: {" URL ", method: HEAD, regex: x}", 19,
		"ready.http of service 'a' wants a body, but answers to HEAD have none");
	refuse_ready("http: {" URL ", headers: [A]}", 55,
		"ready.http.headers of service 'a' must be a map of at most 64 headers such as "
		"{Accept: text/plain}, not a list");
	refuse_ready("http: {" URL ", headers: {'a b': c}}", 56,
		"ready.http.headers of service 'a' has a header 'a b', which is no name of one");
	refuse_ready("http: {" URL ", headers: {content-length: 3}}", 56,
		"ready.http.headers of service 'a' has the header content-length, which reeve "
		"itself sets");
	refuse_ready("http: {" URL ", headers: {A: b, a: c}}", 62,
		"ready.http.headers of service 'a' has a twice");
	refuse_ready("http: {" URL ", timeout: 0}", 55,
		"ready.http.timeout of service 'a' must be at least 1ms, not 0");
}

static void the_value_of_a_header_is_in_no_message(void **state)
{
	(void)state;
	refuse_ready("http: {" URL ", headers: {A: \"s3cret\\nB: c\"}}", 59,
		"ready.http.headers of service 'a' has a control character in the value for the "
		"header A");
	refuse_ready("http: {" URL ", headers: {A: ''}}", 59,
		"ready.http.headers of service 'a' has an empty value for the header A");
	refuse_ready("http: {" URL ", headers: {A: [s3cret]}}", 59,
		"ready.http.headers of service 'a' needs a string as the value of A");
}

static void statuses_are_numbers_classes_and_ranges(void **state)
{
	struct got g = accept_ready(
		"http: {" URL ", status: [204, 3xx, 400-402], retry-status: 404, "
		"fail-status: [503]}");
	const struct rv_want *w = service(&g, "a")->ready.http;

	(void)state;
	assert_int_equal(w->status.count, 3);
	assert_int_equal(w->status.at[0].from, 204);
	assert_int_equal(w->status.at[0].to, 204);
	assert_int_equal(w->status.at[1].from, 300);
	assert_int_equal(w->status.at[1].to, 399);
	assert_int_equal(w->status.at[2].from, 400);
	assert_int_equal(w->status.at[2].to, 402);
	assert_int_equal(w->retry.at[0].from, 404);
	assert_int_equal(w->fail.at[0].to, 503);
	put_away(&g);
}

static void a_wrong_status_is_refused(void **state)
{
	static const char *const wrong[] = {"99", "600", "2x", "2xxx", "6xx", "20", "2000", "200-",
		"200-199", "200-2999", "\"200 OK\"", "ok"};

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		char ready[200], complaint[200];

		snprintf(ready, sizeof(ready), "http: {" URL ", status: [204, %s]}", wrong[i]);
		snprintf(complaint, sizeof(complaint),
			"ready.http.status of service 'a' must be a status such as 204, 2xx or "
			"200-299, not %s",
			wrong[i]);
		refuse_ready(ready, 60, complaint);
	}
	refuse_ready("http: {" URL ", status: []}", 54,
		"ready.http.status of service 'a' needs 1 to 64 statuses");
	refuse_ready("http: {" URL ", status: {204: x}}", 54,
		"ready.http.status of service 'a' must be a status such as 204, 2xx or 200-299, "
		"not a map");
	refuse_ready("http: {" URL ", retry-status: [204]}", 19,
		"ready.http of service 'a' has 204 in both status and retry-status");
	refuse_ready("http: {" URL ", status: 200, fail-status: 2xx}", 19,
		"ready.http of service 'a' has 200 in both status and fail-status");
	refuse_ready("http: {" URL ", retry-status: 4xx, fail-status: [404, 500]}", 19,
		"ready.http of service 'a' has 404 in both retry-status and fail-status");
}

static void a_body_is_wanted_exactly_by_members_or_by_a_match(void **state)
{
	struct got g = accept_ready(
		"http: {" URL
		", body: '${x}', regex: '^O.$', on-mismatch: retry, json: {status: ok, "
		"version: null, code: '5', n: -1.5e3, up: true, word: 5a, 'a/b~c': {d: {e: "
		"false}}}}");
	const struct rv_want *w = service(&g, "a")->ready.http;
	static const struct rv_member members[] = {{"/status", RV_MEMBER_STRING, "ok"},
		{"/version", RV_MEMBER_THERE, ""}, {"/code", RV_MEMBER_STRING, "5"},
		{"/n", RV_MEMBER_NUMBER, "-1.5e3"}, {"/up", RV_MEMBER_BOOL, "true"},
		{"/word", RV_MEMBER_STRING, "5a"}, {"/a~1b~0c/d/e", RV_MEMBER_BOOL, "false"}};

	(void)state;
	assert_string_equal(w->body, "${x}");
	assert_string_equal(w->regex, "^O.$");
	assert_true(w->patient);
	assert_int_equal(w->json_count, COUNT(members));
	for (size_t i = 0; i < COUNT(members); i++) {
		assert_string_equal(w->json[i].path, members[i].path);
		assert_int_equal(w->json[i].kind, members[i].kind);
		assert_string_equal(w->json[i].value, members[i].value);
	}
	put_away(&g);
	g = accept_ready("http: {" URL ", body: '', json: [status, a/b]}");
	w = service(&g, "a")->ready.http;
	assert_string_equal(w->body, "");
	assert_int_equal(w->json_count, 2);
	assert_string_equal(w->json[1].path, "/a~1b");
	assert_int_equal(w->json[1].kind, RV_MEMBER_THERE);
	put_away(&g);
}

static void a_wrong_body_is_refused(void **state)
{
	(void)state;
	refuse_ready("http: {" URL ", body: }", 52,
		"ready.http.body of service 'a' must be a string, not nothing");
	refuse_ready("http: {" URL ", json: ok}", 52,
		"ready.http.json of service 'a' must be a map such as {status: ok, version: null}, "
		"or a list of keys, not ok");
	refuse_ready("http: {" URL ", json: {}}", 52,
		"ready.http.json of service 'a' must be a map such as {status: ok, version: null}, "
		"or a list of keys, not a map");
	refuse_ready("http: {" URL ", json: {a: [1]}}", 56,
		"ready.http.json of service 'a' must be a map of strings, numbers, true, false, "
		"null "
		"(whatever is there) and such maps, not a list");
	refuse_ready("http: {" URL ", json: [[a]]}", 53,
		"ready.http.json of service 'a' must be a list of keys, not a list");
	refuse_ready("http: {" URL ", regex: '['}", 53,
		"ready.http.regex of service 'a' is no regular expression (POSIX extended): "
		"unmatched [ at byte 1");
	refuse_ready("http: {" URL ", body: x, on-mismatch: again}", 68,
		"ready.http.on-mismatch of service 'a' must be fail or retry, not again");
	refuse_ready("http: {" URL ", on-mismatch: retry}", 19,
		"ready.http of service 'a' has on-mismatch, but no body, json or regex that could "
		"be "
		"wrong");
}

static void a_changed_check_needs_a_new_life(void **state)
{
	static const char *const kinds[] = {"log-line: a", "log-line: b", "file: /a", "file: /b",
		"unix: /a", "unix: /b", "http: \"http://127.0.0.1/\"",
		"http: {" URL ", headers: {A: a}}", "http: {" URL ", headers: {A: b}}",
		"http: {" URL ", status: 200}", "http: {" URL ", fail-status: 404}",
		"http: {" URL ", retry-status: 404}", "http: {" URL ", body: a}",
		"http: {" URL ", regex: a}", "http: {" URL ", json: {a: 1}}",
		"http: {" URL ", json: {a: \"1\"}}", "http: {" URL ", send: a}",
		"http: {" URL ", timeout: 1s}", "http: {" URL ", method: PUT}",
		"http: {" URL ", body: a, on-mismatch: retry}"};
	uint64_t digest[COUNT(kinds)];

	(void)state;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		struct got g = accept_ready(kinds[i]);

		digest[i] = node(&g, "a")->digest;
		put_away(&g);
		for (size_t k = 0; k < i; k++)
			if (digest[k] == digest[i])
				fail_msg("%s is the same as %s", kinds[i], kinds[k]);
	}
}

static void health_is_asked_again_and_again(void **state)
{
	struct got g = accept(
		"services:\n"
		"  a: {command: x, health: {tcp: 80}}\n"
		"  b: {command: x, health: {exec: [y], file: /f, period: 1s, threshold: 1,\n"
		"      on-failure: none, attempt-timeout: 500ms}}\n"
		"  c: {command: x}\n");
	const struct rv_node *n = g.conf->plan->node;
	const struct rv_service *s = g.conf->services;

	(void)state;
	assert_int_equal(n[0].health_period, 10 * RV_SEC);
	assert_int_equal(n[0].health_threshold, 3);
	assert_true(n[0].health_restarts);
	assert_string_equal(s[0].health->tcp, "127.0.0.1:80");
	assert_int_equal(s[0].health->attempt_timeout, 2 * RV_SEC);
	assert_false(s[0].has_ready);
	assert_int_equal(n[1].health_period, RV_SEC);
	assert_int_equal(n[1].health_threshold, 1);
	assert_false(n[1].health_restarts);
	assert_string_equal(s[1].health->exec[0], "y");
	assert_string_equal(s[1].health->file, "/f");
	assert_false(s[1].health->file_anew);
	assert_int_equal(s[1].health->attempt_timeout, 500 * RV_MS);
	assert_null(s[2].health);
	assert_int_equal(n[2].health_period, 0);
	put_away(&g);
}

static void health_refuses_what_cannot_be_asked_again(void **state)
{
	(void)state;
	refuse("services:\n  a: {command: x, health: {notify: true}}\n",
		"t.yaml:2:36: health of service 'a' cannot be asked by 'notify': that is told once "
		"and says nothing later; it belongs to ready\n");
	refuse("services:\n  a: {command: x, health: {fd: 3, log-line: x}}\n",
		"t.yaml:2:32: health of service 'a' cannot be asked by 'fd': that is told once and "
		"says nothing later; it belongs to ready\n"
		"t.yaml:2:45: health of service 'a' cannot be asked by 'log-line': that is told "
		"once and says nothing later; it belongs to ready\n");
	refuse("services:\n  a: {command: x, health: {period: 5s}}\n",
		"t.yaml:2:27: health of service 'a' has nothing to ask: give it http, tcp, unix, "
		"file or exec, for its plugin has no probe\n");
	refuse("services:\n  a: {command: x, type: task, health: {tcp: 1}}\n",
		"t.yaml:2:39: health of service 'a' is for what runs on: a task is there when it "
		"has "
		"ended\n");
	refuse("services:\n  a: {command: x, health: {tcp: 1, period: 1s, attempt-timeout: 2s}}\n",
		"t.yaml:2:27: health of service 'a' has an attempt-timeout above its period\n");
	refuse("services:\n  a: {command: x, health: {tcp: 1, threshold: 0}}\n",
		"t.yaml:2:47: health.threshold of service 'a' must be a number from 1 to 1000000 "
		"(without quotes), not 0\n");
	refuse("services:\n  a: {command: x, health: {tcp: 1, on-failure: stop}}\n",
		"t.yaml:2:48: health.on-failure of service 'a' must be none or restart, not "
		"stop\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(health_is_asked_again_and_again),
		cmocka_unit_test(health_refuses_what_cannot_be_asked_again),
		cmocka_unit_test(each_kind_alone_proves),
		cmocka_unit_test(paths_and_lines_are_kept),
		cmocka_unit_test(a_url_alone_asks_for_2xx),
		cmocka_unit_test(what_is_asked_by_http_is_kept),
		cmocka_unit_test(methods_that_bring_something_bring_at_least_nothing),
		cmocka_unit_test(what_cannot_be_asked_is_refused),
		cmocka_unit_test(the_value_of_a_header_is_in_no_message),
		cmocka_unit_test(statuses_are_numbers_classes_and_ranges),
		cmocka_unit_test(a_wrong_status_is_refused),
		cmocka_unit_test(a_body_is_wanted_exactly_by_members_or_by_a_match),
		cmocka_unit_test(a_wrong_body_is_refused),
		cmocka_unit_test(a_changed_check_needs_a_new_life),
	};

	return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
