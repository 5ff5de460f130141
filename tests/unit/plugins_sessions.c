/* What plugins do with Jupyter's sessions: their hooks, fed turn after turn with what a server would say. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "reeve/plugin.h"

/* ---- one service of a plugin ---- */

struct service {
	const struct reeve_plugin *plugin;
	struct reeve_value values[16];
	struct reeve_turn t;
	void *self;
	unsigned char memo[REEVE_MEMO];
	char arena[REEVE_ARENA] __attribute__((aligned(16)));
	char url[400]; /* of the last request, and its body */
	char body[800];
};

static struct service s; /* of the test that runs */

static void use(const char *name)
{
	const char *build = getenv("RV_BUILD");
	char path[4096];
	size_t n = 0;
	void *so;

	free(s.self);
	memset(&s, 0, sizeof(s));
	snprintf(path, sizeof(path), "%s/plugins/%s.so", build ? build : ".", name);
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		fail_msg("%s", dlerror());
	s.plugin = dlsym(so, "reeve_plugin_v1");
	assert_non_null(s.plugin);
	s.self = calloc(1, s.plugin->state_size + 1);
	assert_non_null(s.self);
	for (const struct reeve_option *o = s.plugin->options; o->name; o++, n++) {
		s.values[n] = (struct reeve_value){.name = o->name,
			.type = o->type,
			.text = o->preset,
			.len = o->preset ? strlen(o->preset) : 0};
		if (o->preset && o->type == REEVE_DURATION)
			assert_true(rv_text_duration(o->preset, &s.values[n].number));
	}
	s.t = (struct reeve_turn){.size = sizeof(s.t),
		.service = "x",
		.options = s.values,
		.option_count = n,
		.generation = 7,
		.pid = 100,
		.memo = s.memo,
		.arena = s.arena,
		.arena_room = sizeof(s.arena)};
}

static void with(const char *name, const char *text)
{
	for (size_t i = 0; i < s.t.option_count; i++) {
		struct reeve_value *v = &s.values[i];

		if (strcmp(v->name, name) != 0)
			continue;
		v->text = text;
		v->len = strlen(text);
		v->from = REEVE_FROM_CONFIG;
		if (v->type == REEVE_DURATION)
			assert_true(rv_text_duration(text, &v->number));
		return;
	}
	fail_msg("no option %s", name);
}

static enum reeve_next turn(reeve_hook hook, const struct reeve_http *got)
{
	enum reeve_next next;

	s.t.arena_used = 0;
	s.t.why = NULL;
	s.t.process = (struct reeve_process){0};
	s.t.http = *got;
	next = hook(s.self, &s.t);
	s.t.step++;
	assert_false(s.t.arena_full);
	if (next == REEVE_HTTP) {
		snprintf(s.url, sizeof(s.url), "%s %s", s.t.http.method ? s.t.http.method : "GET",
			s.t.http.url);
		snprintf(s.body, sizeof(s.body), "%.*s", (int)s.t.http.body_len,
			s.t.http.body ? (const char *)s.t.http.body : "");
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
	assert_string_equal(s.url, what);
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
}

static void the_prefix_is_told_to_the_interpreter(void **state)
{
	(void)state;
	an_interpreter();
	assert_int_equal(begin(s.plugin->ops->start, 1), REEVE_OK);
	assert_string_equal(s.t.process.env[0], "CODE_INTERPRETER_SESSION_PREFIX=cells-of-x-");
	assert_null(s.t.process.env[1]);
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
	};

	return cmocka_run_group_tests_name("plugins_sessions", tests, NULL, NULL);
}
