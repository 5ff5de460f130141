/* What plugins do with Jupyter's sessions: their hooks, fed turn after turn with what a server would say. */
#include <time.h>

#include "stage.h"

static struct {
	char url[400]; /* method and URL */
	char body[800]; /* of the last one that had one */
} request; /* the last one */

static void use(const char *name)
{
	stage_use(name);
	memset(&request, 0, sizeof(request));
	s.t.generation = 7;
	s.t.pid = 100;
}

static enum reeve_next turn(reeve_hook hook, const struct reeve_http *got)
{
	enum reeve_next next;

	stage_turn();
	s.t.process = (struct reeve_process){0};
	s.t.http = *got;
	next = hook(s.self, &s.t);
	s.t.step++;
	assert_false(s.t.arena_full);
	if (next == REEVE_HTTP) {
		snprintf(request.url, sizeof(request.url), "%s %s",
			s.t.http.method ? s.t.http.method : "GET", s.t.http.url);
		if (s.t.http.body)
			snprintf(request.body, sizeof(request.body), "%s",
				(const char *)s.t.http.body);
	}
	return next;
}

/* The first turn of a hook's run, which has so many seconds. */
static enum reeve_next begin(reeve_hook hook, int seconds)
{
	const struct reeve_http none = {.error = "", .answer = "", .answer_headers = ""};

	s.t.step = 0;
	s.t.left_ns = seconds * INT64_C(1000000000);
	return turn(hook, &none);
}

static enum reeve_next answer(reeve_hook hook, int status, const char *body)
{
	const struct reeve_http got = {.error = "",
		.status = status,
		.answer = body,
		.answer_len = strlen(body),
		.answer_headers = ""};

	return turn(hook, &got);
}

static enum reeve_next no_answer(reeve_hook hook, enum reeve_transport how)
{
	const struct reeve_http got = {
		.transport = how, .error = "nothing came", .answer = "", .answer_headers = ""};

	return turn(hook, &got);
}

static void asks(enum reeve_next next, const char *what)
{
	if (next != REEVE_HTTP)
		fail_msg("%u instead of %s: %s", next, what, s.t.why ? s.t.why : "");
	assert_string_equal(request.url, what);
}

static void says(enum reeve_next next, enum reeve_next wanted, const char *part)
{
	if (next != wanted || !strstr(s.t.why ? s.t.why : "", part))
		fail_msg("%u: %s", next, s.t.why ? s.t.why : "");
}

/* ---- the interpreter: cleanup ---- */

#define LIST   "GET http://127.0.0.1:8888/api/sessions"
#define DELETE "DELETE http://127.0.0.1:8888/api/sessions/"

static const char mixed[] =
	"[{\"id\":\"a-1\",\"path\":\"cells-of-x-1\",\"name\":\"other\"},"
	"{\"id\":\"b-2\",\"path\":\"Untitled.ipynb\",\"name\":\"cells-of-x-2\"},"
	"{\"id\":\"../kernels\",\"path\":\"cells-of-x-3\"},{\"id\":5,\"path\":\"cells-of-x-4\"},"
	"{\"id\":\"c-3\"},{\"id\":\"d-4\",\"path\":\"my-cells-of-x-1\"},7,"
	"{\"id\":\"e-5\",\"path\":\"cells-of-x-2\"}]";

static void an_interpreter(void)
{
	use("interpreter");
	with("session-prefix", "cells-of-x-");
}

static enum reeve_next cleanup(void)
{
	return begin(s.plugin->ops->cleanup, 30);
}

static void without_a_prefix_nothing_is_asked(void **state)
{
	(void)state;
	use("interpreter");
	assert_int_equal(cleanup(), REEVE_OK);
	assert_int_equal(begin(s.plugin->ops->start, 1), REEVE_OK);
	assert_null(s.t.process.env);
	assert_int_equal(s.t.unused, REEVE_UNUSED_UPDATE | REEVE_UNUSED_CLEANUP);
}

static void the_prefix_is_told_to_the_interpreter(void **state)
{
	(void)state;
	an_interpreter();
	assert_int_equal(begin(s.plugin->ops->start, 1), REEVE_OK);
	assert_string_equal(s.t.process.env[0], "CODE_INTERPRETER_SESSION_PREFIX=cells-of-x-");
	assert_null(s.t.process.env[1]);
	assert_int_equal(s.t.unused, REEVE_UNUSED_UPDATE);
	with("session-prefix", "cells");
	says(begin(s.plugin->ops->start, 1), REEVE_FAIL, "session-prefix is too short");
}

static void sessions_with_the_prefix_are_deleted_and_no_others(void **state)
{
	(void)state;
	an_interpreter();
	asks(cleanup(), LIST);
	asks(answer(s.plugin->ops->cleanup, 200, mixed), DELETE "a-1");
	asks(answer(s.plugin->ops->cleanup, 204, ""), DELETE "e-5");
	assert_int_equal(answer(s.plugin->ops->cleanup, 204, ""), REEVE_OK);
}

static void the_server_is_the_one_of_its_environment(void **state)
{
	static const char *const env[] = {
		"JUPYTER_BASE_URL=http://10.0.0.1:99/", "JUPYTER_TOKEN=secret", NULL};

	(void)state;
	an_interpreter();
	s.t.env = env;
	asks(cleanup(), "GET http://10.0.0.1:99/api/sessions");
	assert_string_equal(s.t.http.headers[0], "Authorization: token secret");
	asks(answer(s.plugin->ops->cleanup, 200, mixed),
		"DELETE http://10.0.0.1:99/api/sessions/a-1");
	assert_string_equal(s.t.http.headers[0], "Authorization: token secret");
}

/* */
static void a_session_that_cannot_be_deleted_is_told_once_and_the_next_one_is_tried(void **state)
{
	(void)state;
	an_interpreter();
	asks(cleanup(), LIST);
	asks(answer(s.plugin->ops->cleanup, 200, mixed), DELETE "a-1");
	asks(answer(s.plugin->ops->cleanup, 500, "<html>"), DELETE "e-5");
	says(answer(s.plugin->ops->cleanup, 204, ""), REEVE_RETRY,
		"1 of 2 sessions may be left in Jupyter: "
		"DELETE http://127.0.0.1:8888/api/sessions/a-1 answered 500, expected 204");
	an_interpreter();
	asks(cleanup(), LIST);
	asks(answer(s.plugin->ops->cleanup, 200, mixed), DELETE "a-1");
	asks(no_answer(s.plugin->ops->cleanup, REEVE_HTTP_TIMEOUT), DELETE "e-5");
	says(no_answer(s.plugin->ops->cleanup, REEVE_HTTP_BROKEN), REEVE_RETRY, "2 of 2 sessions");
}

/* */
static void a_session_that_is_gone_already_is_no_trouble(void **state)
{
	(void)state;
	an_interpreter();
	asks(cleanup(), LIST);
	asks(answer(s.plugin->ops->cleanup, 200, mixed), DELETE "a-1");
	asks(answer(s.plugin->ops->cleanup, 404, "<html>"), DELETE "e-5");
	assert_int_equal(answer(s.plugin->ops->cleanup, 404, "<html>"), REEVE_OK);
}

static void a_jupyter_that_has_ended_has_no_sessions(void **state)
{
	(void)state;
	an_interpreter();
	asks(cleanup(), LIST);
	assert_int_equal(no_answer(s.plugin->ops->cleanup, REEVE_HTTP_REFUSED), REEVE_OK);
}

static void a_list_that_is_none_deletes_nothing_and_is_told(void **state)
{
	static const char *const bodies[] = {"", "{}", "[", "<html>", "7", "null"};

	(void)state;
	an_interpreter();
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		cleanup();
		says(answer(s.plugin->ops->cleanup, 200, bodies[i]), REEVE_RETRY,
			"no list of sessions");
	}
	cleanup();
	says(answer(s.plugin->ops->cleanup, 403, "[]"), REEVE_RETRY, "answered 403");
	cleanup();
	says(no_answer(s.plugin->ops->cleanup, REEVE_HTTP_TIMEOUT), REEVE_RETRY, "nothing came");
	cleanup();
	assert_int_equal(answer(s.plugin->ops->cleanup, 200, "[]"), REEVE_OK);
}

/* no step has a library's few seconds, and none has all that there is. */
static void each_step_has_its_share_of_the_time(void **state)
{
	(void)state;
	an_interpreter();
	begin(s.plugin->ops->cleanup, 30);
	assert_true(s.t.http.timeout_ns == INT64_C(15000000000));
	answer(s.plugin->ops->cleanup, 200, mixed);
	assert_true(s.t.http.timeout_ns == INT64_C(10000000000));
	begin(s.plugin->ops->cleanup, 600);
	answer(s.plugin->ops->cleanup, 200, mixed);
	assert_true(s.t.http.timeout_ns == INT64_C(30000000000));
}

static void more_sessions_than_fit_are_told(void **state)
{
	static char list[70 * 60];
	enum reeve_next next;
	size_t n = 0;
	int deleted = 0;

	(void)state;
	an_interpreter();
	for (int i = 0; i < 70; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n,
			"%c{\"id\":\"i%d\",\"path\":\"cells-of-x-%d\"}", i ? ',' : '[', i, i);
	snprintf(list + n, sizeof(list) - n, "]");
	cleanup();
	next = answer(s.plugin->ops->cleanup, 200, list);
	for (; next == REEVE_HTTP; deleted++)
		next = answer(s.plugin->ops->cleanup, 204, "");
	assert_int_equal(deleted, 64);
	says(next, REEVE_RETRY, "6 of 70 sessions may be left in Jupyter: they are too many");
}

/* ---- jupyter: contexts ---- */

#define BASE  "http://127.0.0.1:8888"
#define SPECS "GET " BASE "/api/kernelspecs"
#define POST  "POST " BASE "/api/sessions"

static const char up[] =
	"{\"started\":\"x\",\"last_activity\":\"x\",\"connections\":0,\"kernels\":0}";
static const char specs[] =
	"{\"default\":\"python3\",\"kernelspecs\":{\"python3\":{},\"deno\":{}}}";

static void a_jupyter(const char *contexts)
{
	use("jupyter");
	with("root-dir", "/tmp");
	with("contexts", contexts);
	assert_int_equal(begin(s.plugin->ops->start, 1), REEVE_OK);
}

static enum reeve_next probe(int status, const char *body)
{
	return answer(s.plugin->ops->probe, status, body);
}

/* A new attempt, up to the status that says that the server is up. */
static enum reeve_next attempt(void)
{
	asks(begin(s.plugin->ops->probe, 8), "GET " BASE "/api/status");
	return probe(200, up);
}

/* Up to the POST of the first context. */
static void posted(void)
{
	asks(attempt(), SPECS);
	asks(probe(200, specs), POST);
}

/* The path that was posted. */
static const char *path(void)
{
	static char text[100];
	const char *at = strstr(request.body, "\"path\":\"");

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(at + 8, "\""), at + 8);
	return text;
}

/* A list with so many sessions of the path, among others. */
static const char *list_with(const char *its, int times)
{
	static char text[1000];
	size_t n = (size_t)snprintf(text, sizeof(text), "[{\"id\":\"o\",\"path\":\"%s-not\"}", its);

	for (int i = 0; i < times; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, ",{\"id\":\"f%d\",\"path\":\"%s\"}", i, its);
	snprintf(text + n, sizeof(text) - n, "]");
	return text;
}

static void time_passes(void)
{
	const struct timespec ts = {.tv_nsec = 3000000};

	nanosleep(&ts, NULL);
}

static void without_contexts_a_status_is_all(void **state)
{
	(void)state;
	use("jupyter");
	assert_int_equal(attempt(), REEVE_OK);
	a_jupyter("[]");
	assert_int_equal(attempt(), REEVE_OK);
}

static void each_context_is_created_once_in_a_life(void **state)
{
	char first[100];

	(void)state;
	a_jupyter("[{\"name\":\"a\"},{\"name\":\"b\",\"kernel\":\"deno\"}]");
	posted();
	assert_non_null(strstr(request.body,
		"\"name\":\"a\",\"type\":\"notebook\",\"kernel\":{\"name\":\"python3\"}"));
	snprintf(first, sizeof(first), "%s", path());
	asks(probe(201, "{\"id\":\"one\"}"), POST);
	assert_non_null(strstr(request.body,
		"\"name\":\"b\",\"type\":\"notebook\",\"kernel\":{\"name\":\"deno\"}"));
	assert_string_not_equal(path(), first);
	assert_int_equal(strlen(first), 36);
	assert_int_equal(probe(201, "{\"id\":\"two\"}"), REEVE_OK);
	assert_int_equal(attempt(), REEVE_OK);
	s.t.generation++;
	memset(s.memo, 0, sizeof(s.memo));
	posted();
	assert_string_not_equal(path(), first);
}

static void a_working_dir_is_the_folder_of_the_path(void **state)
{
	(void)state;
	use("jupyter");
	with("root-dir", "/usr/");
	with("contexts", "[{\"name\":\"a\",\"working-dir\":\"/usr/lib/\"}]");
	assert_int_equal(begin(s.plugin->ops->start, 1), REEVE_OK);
	posted();
	assert_memory_equal(path(), "lib/", 4);
	assert_int_equal(strlen(path()), 40);
	with("contexts", "[{\"name\":\"a\",\"working-dir\":\"/usr/no-such-folder\"}]");
	memset(s.memo, 0, sizeof(s.memo));
	asks(attempt(), SPECS);
	says(probe(200, specs), REEVE_FAIL,
		"context a: its working-dir /usr/no-such-folder is no folder");
}

static void contexts_that_cannot_be_are_refused_before_anything_starts(void **state)
{
	static const char *const wrong[][2] = {
		{"{}", "must be a list of at most 16"},
		{"[7]", "entry 1: must be a map"},
		{"[{}]", "entry 1: needs a name"},
		{"[{\"name\":\"a\"},{\"name\":\"a\"}]", "entry 2: name 'a' is taken"},
		{"[{\"name\":\"\"}]", "entry 1: name must be a string"},
		{"[{\"name\":\"a\",\"kernle\":\"x\"}]", "unknown key 'kernle'"},
		{"[{\"name\":\"a\",\"kernel\":3}]", "kernel must be a string"},
		{"[{\"name\":\"a\",\"working-dir\":\"/tmpx\"}]",
			"/tmpx is not inside root-dir /tmp"},
		{"[{\"name\":\"a\",\"working-dir\":\"/tmp/../etc\"}]", "is not inside"},
		{"[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]", "at most 16"},
	};
	static const char *const command[] = {"/bin/server", NULL};

	(void)state;
	a_jupyter("[]");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		with("contexts", wrong[i][0]);
		says(begin(s.plugin->ops->start, 1), REEVE_FAIL, wrong[i][1]);
	}
	with("contexts", "[{\"name\":\"a\",\"working-dir\":\"/tmp\"}]");
	s.t.command = command;
	says(begin(s.plugin->ops->start, 1), REEVE_FAIL, "needs --ServerApp.root_dir");
}

static void a_kernel_that_does_not_exist_is_refused_before_the_request(void **state)
{
	(void)state;
	a_jupyter("[{\"name\":\"a\"},{\"name\":\"b\",\"kernel\":\"julia\"}]");
	asks(attempt(), SPECS);
	says(probe(200, specs), REEVE_FAIL,
		"cannot create context b: there is no kernel julia; there are: python3, deno");
	asks(attempt(), SPECS);
	says(probe(200, "[]"), REEVE_FAIL, "without kernelspecs");
	asks(attempt(), SPECS);
	says(probe(503, ""), REEVE_RETRY, "answered 503");
}

/* a later step fails */
static void what_was_made_is_deleted_when_a_later_one_fails(void **state)
{
	(void)state;
	a_jupyter("[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]");
	posted();
	asks(probe(201, "{\"id\":\"one\"}"), POST);
	asks(probe(201, "{\"id\":\"two\"}"), POST);
	asks(probe(501, "<html>"), DELETE "two");
	assert_true(s.t.http.timeout_ns == INT64_C(7000000000));
	asks(probe(500, ""), DELETE "one");
	says(probe(404, ""), REEVE_FAIL,
		"cannot create context c: POST " BASE
		"/api/sessions answered 501, expected 201; DELETE " BASE
		"/api/sessions/two answered 500");
	says(attempt(), REEVE_FAIL, "cannot create context c");
}

/* */
static void one_whose_answer_never_came_is_found_by_its_path_and_deleted(void **state)
{
	char its[100];

	(void)state;
	a_jupyter("[{\"name\":\"a\"},{\"name\":\"b\"}]");
	with("context-timeout", "2ms");
	posted();
	asks(probe(201, "{\"id\":\"one\"}"), POST);
	snprintf(its, sizeof(its), "%s", path());
	time_passes();
	asks(no_answer(s.plugin->ops->probe, REEVE_HTTP_TIMEOUT), LIST);
	asks(probe(200, list_with(its, 1)), DELETE "f0");
	asks(probe(204, ""), DELETE "one");
	says(probe(204, ""), REEVE_FAIL,
		"cannot create context b: POST " BASE "/api/sessions: nothing came");
}

/* */
static void none_and_more_than_one_are_only_told(void **state)
{
	static const char *const words[] = {
		"a session may yet come, with path ", "", "2 sessions have its path "};

	(void)state;
	for (int n = 0; n <= 2; n += 2) {
		a_jupyter("[{\"name\":\"a\"}]");
		posted();
		asks(no_answer(s.plugin->ops->probe, REEVE_HTTP_BROKEN), LIST);
		says(probe(200, list_with(path(), n)), REEVE_FAIL, words[n]);
		says(REEVE_FAIL, REEVE_FAIL, "cannot create context a: POST ");
	}
	a_jupyter("[{\"name\":\"a\"}]");
	posted();
	asks(no_answer(s.plugin->ops->probe, REEVE_HTTP_BROKEN), LIST);
	says(probe(500, ""), REEVE_FAIL, "a session may be left, with path ");
}

/* The attempt was too short, or the plugin host died: the session is sought, and nothing is sent again. */
static void one_that_was_interrupted_is_taken_when_it_is_there(void **state)
{
	char its[100];

	(void)state;
	a_jupyter("[{\"name\":\"a\"}]");
	posted();
	snprintf(its, sizeof(its), "%s", path());
	says(no_answer(s.plugin->ops->probe, REEVE_HTTP_TIMEOUT), REEVE_RETRY, "nothing came");
	asks(attempt(), LIST);
	says(probe(200, list_with(its, 0)), REEVE_RETRY, "context a is not there yet");
	asks(attempt(), LIST);
	assert_int_equal(probe(200, list_with(its, 1)), REEVE_OK);
	assert_int_equal(attempt(), REEVE_OK);
}

static void one_that_was_interrupted_for_too_long_is_deleted(void **state)
{
	(void)state;
	a_jupyter("[{\"name\":\"a\"}]");
	posted();
	with("context-timeout", "2ms");
	time_passes();
	asks(attempt(), LIST);
	asks(probe(200, list_with(path(), 1)), DELETE "f0");
	says(probe(204, ""), REEVE_FAIL,
		"cannot create context a: it was not created within context-timeout");
}

static void a_request_that_nobody_took_is_made_again(void **state)
{
	(void)state;
	a_jupyter("[{\"name\":\"a\"}]");
	posted();
	says(no_answer(s.plugin->ops->probe, REEVE_HTTP_REFUSED), REEVE_RETRY, "nothing came");
	asks(attempt(), POST);
	assert_int_equal(probe(201, "{\"id\":\"one\"}"), REEVE_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_prefix_nothing_is_asked),
		cmocka_unit_test(the_prefix_is_told_to_the_interpreter),
		cmocka_unit_test(sessions_with_the_prefix_are_deleted_and_no_others),
		cmocka_unit_test(the_server_is_the_one_of_its_environment),
		cmocka_unit_test(
			a_session_that_cannot_be_deleted_is_told_once_and_the_next_one_is_tried),
		cmocka_unit_test(a_session_that_is_gone_already_is_no_trouble),
		cmocka_unit_test(a_jupyter_that_has_ended_has_no_sessions),
		cmocka_unit_test(a_list_that_is_none_deletes_nothing_and_is_told),
		cmocka_unit_test(each_step_has_its_share_of_the_time),
		cmocka_unit_test(more_sessions_than_fit_are_told),
		cmocka_unit_test(without_contexts_a_status_is_all),
		cmocka_unit_test(each_context_is_created_once_in_a_life),
		cmocka_unit_test(a_working_dir_is_the_folder_of_the_path),
		cmocka_unit_test(contexts_that_cannot_be_are_refused_before_anything_starts),
		cmocka_unit_test(a_kernel_that_does_not_exist_is_refused_before_the_request),
		cmocka_unit_test(what_was_made_is_deleted_when_a_later_one_fails),
		cmocka_unit_test(one_whose_answer_never_came_is_found_by_its_path_and_deleted),
		cmocka_unit_test(none_and_more_than_one_are_only_told),
		cmocka_unit_test(one_that_was_interrupted_is_taken_when_it_is_there),
		cmocka_unit_test(one_that_was_interrupted_for_too_long_is_deleted),
		cmocka_unit_test(a_request_that_nobody_took_is_made_again),
	};

	return cmocka_run_group_tests_name("plugins_sessions", tests, NULL, NULL);
}
