/* How plugins hand on the sandbox's variables: their update hooks, fed turn after turn with what a server would say. */
#include "stage.h"

static struct {
	char asked[400]; /* method and URL */
	char body[REEVE_ARENA]; /* of the last one that had one */
	char token[100]; /* X-Access-Token; "": none */
	int64_t timeout;
} request; /* the last one */

#define GET  "GET http://127.0.0.1:49983/envs"
#define POST "POST http://127.0.0.1:49983/init"

static void give(const char *const *variables, const char *const *dropped)
{
	s.t.variables = variables;
	s.t.dropped = dropped;
	s.t.variable_count = s.t.dropped_count = 0;
	while (variables && variables[s.t.variable_count])
		s.t.variable_count++;
	while (dropped && dropped[s.t.dropped_count])
		s.t.dropped_count++;
}

static void use(const char *name)
{
	static const char *const variables[] = {"A=ours", "B=with \"quotes\" \\", "EMPTY=", NULL};

	stage_use(name);
	memset(&request, 0, sizeof(request));
	give(variables, NULL);
}

/* ---- turns ---- */

static void note_request(void)
{
	static const char token[] = "X-Access-Token: ";

	snprintf(request.asked, sizeof(request.asked), "%s %s",
		s.t.http.method ? s.t.http.method : "GET", s.t.http.url);
	request.body[0] = request.token[0] = 0;
	request.timeout = s.t.http.timeout_ns;
	if (s.t.http.body)
		snprintf(request.body, sizeof(request.body), "%.*s", (int)s.t.http.body_len,
			(const char *)s.t.http.body);
	for (size_t i = 0; s.t.http.headers && s.t.http.headers[i]; i++)
		if (strncmp(s.t.http.headers[i], token, sizeof(token) - 1) == 0)
			snprintf(request.token, sizeof(request.token), "%s",
				s.t.http.headers[i] + sizeof(token) - 1);
}

static enum reeve_next turn(const struct reeve_http *got)
{
	enum reeve_next next;

	stage_turn();
	s.t.http = *got;
	next = s.plugin->ops->update(s.self, &s.t);
	s.t.step++;
	assert_false(s.t.arena_full);
	if (next == REEVE_HTTP)
		note_request();
	return next;
}

static enum reeve_next begin(void)
{
	const struct reeve_http none = {.error = "", .answer = "", .answer_headers = ""};

	s.t.step = 0;
	return turn(&none);
}

static enum reeve_next answer(int status, const char *headers, const char *body)
{
	const struct reeve_http got = {.error = "",
		.status = status,
		.answer = body,
		.answer_len = strlen(body),
		.answer_headers = headers};

	return turn(&got);
}

static enum reeve_next no_answer(enum reeve_transport how, int status)
{
	const struct reeve_http got = {.transport = how,
		.status = status,
		.error = "nothing came",
		.answer = "",
		.answer_headers = ""};

	return turn(&got);
}

static enum reeve_next paused(void)
{
	const struct reeve_http none = {.error = "", .answer = "", .answer_headers = ""};

	return turn(&none);
}

static void asks(enum reeve_next next, const char *what)
{
	if (next != REEVE_HTTP)
		fail_msg("%u instead of %s: %s", next, what, s.t.why ? s.t.why : "");
	assert_string_equal(request.asked, what);
}

static void says(enum reeve_next next, enum reeve_next wanted, const char *part)
{
	if (next != wanted || !strstr(s.t.why ? s.t.why : "", part))
		fail_msg("%u: %s", next, s.t.why ? s.t.why : "");
}

static const char version[] = "Content-Type: text/plain\nX-Envd-Version: 0.6.13\n";

/* The body that was sent, without its time stamp, which is checked for its form. */
static const char *sent(void)
{
	static char text[REEVE_ARENA];
	static const char key[] = ",\"timestamp\":\"";
	char *at;
	int n = 0;

	snprintf(text, sizeof(text), "%s", request.body);
	at = strstr(text, key);
	assert_non_null(at);
	sscanf(at + sizeof(key) - 1, "%*4d-%*2d-%*2dT%*2d:%*2d:%*2d.%*9dZ%n", &n);
	assert_int_equal(n, 30);
	assert_int_equal(at[sizeof(key) - 1 + 30], '"');
	memmove(at, at + sizeof(key) + 30, strlen(at + sizeof(key) + 30) + 1);
	return text;
}

/* ---- envd: what it is given ---- */

static const char all[] = "{\"A\":\"ours\",\"B\":\"with \\\"quotes\\\" \\\\\",\"EMPTY\":\"\"}";
static const char all_and_own[] =
	"{\"A\":\"ours\",\"B\":\"with \\\"quotes\\\" \\\\\",\"EMPTY\":\"\","
	"\"E2B_SANDBOX\":\"false\"}";

static void without_variables_envd_is_not_asked(void **state)
{
	static const char *const none[] = {NULL};

	(void)state;
	use("envd");
	give(NULL, NULL);
	assert_int_equal(begin(), REEVE_OK);
	give(none, none);
	assert_int_equal(begin(), REEVE_OK);
	assert_null(s.t.why);
}

static void envd_is_read_given_and_read_again(void **state)
{
	(void)state;
	use("envd");
	asks(begin(), GET);
	assert_int_equal(request.timeout, 150000000);
	asks(answer(200, "", "{\"E2B_SANDBOX\":\"false\"}"), POST);
	assert_int_equal(request.timeout, 150000000);
	assert_string_equal(sent(),
		"{\"envVars\":{\"A\":\"ours\",\"B\":\"with \\\"quotes\\\" \\\\\",\"EMPTY\":\"\"}}");
	asks(answer(204, version, ""), GET);
	assert_int_equal(answer(200, "", all_and_own), REEVE_OK);
	assert_null(s.t.why);
}

static void what_is_there_stays_and_ours_win(void **state)
{
	(void)state;
	use("envd");
	asks(begin(), GET);
	asks(answer(200, "",
		     "{\"A\":\"theirs\",\"a\":\"other\",\"KEEP\":\"1\",\"E2B_SANDBOX_ID\":\"x\"}"),
		POST);
	assert_string_equal(sent(),
		"{\"envVars\":{\"a\":\"other\",\"KEEP\":\"1\",\"A\":\"ours\","
		"\"B\":\"with \\\"quotes\\\" \\\\\",\"EMPTY\":\"\"}}");
}

static void what_is_not_ours_any_more_is_taken_out(void **state)
{
	static const char *const now[] = {"A=1", NULL}, *const before[] = {"OLD", "B", NULL};

	(void)state;
	use("envd");
	give(now, before);
	asks(begin(), GET);
	asks(answer(200, "", "{\"OLD\":\"x\",\"B\":\"x\",\"KEEP\":\"1\"}"), POST);
	assert_string_equal(sent(), "{\"envVars\":{\"KEEP\":\"1\",\"A\":\"1\"}}");
	give(NULL, before);
	asks(begin(), GET);
	asks(answer(200, "", "{\"OLD\":\"x\"}"), POST);
	assert_string_equal(sent(), "{\"envVars\":{}}");
	asks(answer(204, version, ""), GET);
	assert_int_equal(answer(200, "", "{}"), REEVE_OK);
}

static void what_envd_sets_by_itself_is_skipped_and_told(void **state)
{
	static const char *const now[] = {"E2B_SANDBOX=mine", "A=1", NULL};

	(void)state;
	use("envd");
	give(now, NULL);
	asks(begin(), GET);
	asks(answer(200, "", "{\"E2B_SANDBOX\":\"false\"}"), POST);
	assert_string_equal(sent(), "{\"envVars\":{\"A\":\"1\"}}");
	asks(answer(204, version, ""), GET);
	says(answer(200, "", "{\"E2B_SANDBOX\":\"false\",\"A\":\"1\"}"), REEVE_OK,
		"envd sets E2B_SANDBOX by itself");
	assert_null(strstr(s.t.why, "mine"));
}

static void the_token_is_in_the_body_of_init_and_in_the_header_elsewhere(void **state)
{
	(void)state;
	use("envd");
	with("token", "s3\"cret");
	asks(begin(), GET);
	assert_string_equal(request.token, "s3\"cret");
	asks(answer(200, "", "{}"), POST);
	assert_string_equal(request.token, "");
	assert_non_null(strstr(request.body, ",\"accessToken\":\"s3\\\"cret\"}"));
	asks(answer(204, version, ""), GET);
	assert_string_equal(request.token, "s3\"cret");
	assert_int_equal(answer(200, "", all), REEVE_OK);
}

static void a_port_in_the_arguments_is_the_one_that_is_given_them(void **state)
{
	(void)state;
	use("envd");
	with("port", "1234");
	asks(begin(), "GET http://127.0.0.1:1234/envs");
	asks(answer(200, "", "{}"), "POST http://127.0.0.1:1234/init");
}

static void each_attempt_has_a_later_time_stamp(void **state)
{
	char first[REEVE_ARENA], *at;

	(void)state;
	use("envd");
	asks(begin(), GET);
	asks(answer(200, "", "{}"), POST);
	memcpy(first, request.body, sizeof(first));
	assert_int_equal(answer(503, version, ""), REEVE_WAIT);
	asks(paused(), GET);
	asks(answer(200, "", "{}"), POST);
	at = strstr(first, "timestamp");
	assert_non_null(at);
	assert_true(strcmp(at, strstr(request.body, "timestamp")) < 0);
}

/* ---- envd: what is tried again ---- */

struct end {
	enum reeve_transport transport;
	int status;
	bool again;
};

static const struct end ends[] = {
	{REEVE_HTTP_REFUSED, 0, true},
	{REEVE_HTTP_TIMEOUT, 0, true},
	{REEVE_HTTP_BROKEN, 0, true},
	{REEVE_HTTP_BROKEN, 204, false},
	{REEVE_HTTP_INVALID, 0, false},
	{REEVE_HTTP_DONE, 502, true},
	{REEVE_HTTP_DONE, 503, true},
	{REEVE_HTTP_DONE, 504, true},
	{REEVE_HTTP_DONE, 500, false},
	{REEVE_HTTP_DONE, 501, false},
	{REEVE_HTTP_DONE, 505, false},
	{REEVE_HTTP_DONE, 400, false},
	{REEVE_HTTP_DONE, 401, false},
	{REEVE_HTTP_DONE, 404, false},
	{REEVE_HTTP_DONE, 429, false},
	{REEVE_HTTP_DONE, 301, false},
	{REEVE_HTTP_DONE, 307, false},
	{REEVE_HTTP_DONE, 200, false},
};

static enum reeve_next ended(const struct end *e)
{
	return e->transport == REEVE_HTTP_DONE ? answer(e->status, version, "")
					       : no_answer(e->transport, e->status);
}

/* Each end of POST /init, for ever: how often it was sent. */
static void three_attempts_for_what_may_pass_and_one_for_the_rest(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		enum reeve_next next;
		int posts = 0;

		use("envd");
		asks(begin(), GET);
		for (;;) {
			asks(answer(200, version, "{}"), POST);
			posts++;
			next = ended(&ends[i]);
			if (next != REEVE_WAIT)
				break;
			assert_int_equal(s.t.wait_ns, 25000000);
			asks(paused(), GET);
		}
		assert_int_equal(next, REEVE_FAIL);
		assert_int_equal(posts, ends[i].again ? 3 : 1);
		says(next, REEVE_FAIL, "POST http://127.0.0.1:49983/init");
		assert_true(!strstr(s.t.why, "(tried 3 times)") == !ends[i].again);
		assert_null(strstr(s.t.why, "X-Envd-Version"));
		assert_null(strstr(s.t.why, "ours"));
	}
}

/* The same for the first request of an attempt, but for the status that is right there. */
static void what_cannot_be_read_is_not_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		enum reeve_next next;
		int gets = 0;

		use("envd");
		next = begin();
		do {
			asks(next, GET);
			gets++;
			next = ends[i].status == 200 ? answer(200, version, "[]") : ended(&ends[i]);
		} while (next == REEVE_WAIT && (next = paused()) == REEVE_HTTP);
		assert_int_equal(next, REEVE_FAIL);
		assert_int_equal(gets, ends[i].again ? 3 : 1);
	}
}

static void two_bad_attempts_and_a_good_one_are_good(void **state)
{
	(void)state;
	for (int refused = 0; refused < 2; refused++) {
		use("envd");
		asks(begin(), GET);
		for (int i = 0; i < 2; i++) {
			if (refused) {
				assert_int_equal(no_answer(REEVE_HTTP_REFUSED, 0), REEVE_WAIT);
			} else {
				asks(answer(200, "", "{}"), POST);
				assert_int_equal(answer(503, version, ""), REEVE_WAIT);
			}
			asks(paused(), GET);
			assert_non_null(s.t.why); /* what would be told when no time is left */
		}
		asks(answer(200, "", "{}"), POST);
		asks(answer(204, version, ""), GET);
		assert_int_equal(answer(200, "", all), REEVE_OK);
	}
}

static void the_numbers_are_options(void **state)
{
	(void)state;
	use("envd");
	with("init-attempts", "2");
	with("init-timeout", "400ms");
	with("init-pause", "1ms");
	asks(begin(), GET);
	assert_int_equal(request.timeout, 400000000);
	assert_int_equal(no_answer(REEVE_HTTP_TIMEOUT, 0), REEVE_WAIT);
	assert_int_equal(s.t.wait_ns, 1000000);
	asks(paused(), GET);
	says(no_answer(REEVE_HTTP_TIMEOUT, 0), REEVE_FAIL, "nothing came (tried 2 times)");
}

static void any_2xx_is_taken_on_demand(void **state)
{
	(void)state;
	use("envd");
	asks(begin(), GET);
	asks(answer(200, "", "{}"), POST);
	says(answer(200, version, ""), REEVE_FAIL,
		"answered 200, expected 204 (option init-any-2xx takes it)");
	with("init-any-2xx", "true");
	asks(begin(), GET);
	asks(answer(200, "", "{}"), POST);
	asks(answer(200, version, ""), GET);
	assert_int_equal(answer(200, "", all), REEVE_OK);
}

static void no_pause_is_begun_that_would_outlive_the_run(void **state)
{
	(void)state;
	use("envd");
	asks(begin(), GET);
	s.t.left_ns = 20000000;
	says(no_answer(REEVE_HTTP_TIMEOUT, 0), REEVE_FAIL,
		"GET http://127.0.0.1:49983/envs: nothing came");
}

/* ---- envd: 204 proves nothing ---- */

static void what_was_answered_well_and_is_not_there_is_sent_again(void **state)
{
	static const char theirs[] = "{\"A\":\"theirs\",\"EMPTY\":\"\",\"B\":\"hush\"}";

	(void)state;
	use("envd");
	asks(begin(), GET);
	for (int i = 0; i < 3; i++) {
		enum reeve_next next;

		asks(answer(200, "", "{}"), POST);
		asks(answer(204, version, ""), GET);
		next = answer(200, "", theirs);
		if (i < 2) {
			assert_int_equal(next, REEVE_WAIT);
			asks(paused(), GET);
		} else {
			says(next, REEVE_FAIL,
				"2 of 3 variables are not as they were sent, such as A");
			says(next, REEVE_FAIL, "later time stamp");
			assert_null(strstr(s.t.why, "hush"));
		}
	}
}

static void one_of_theirs_that_got_lost_is_missed_too(void **state)
{
	(void)state;
	use("envd");
	asks(begin(), GET);
	asks(answer(200, "", "{\"KEEP\":\"1\"}"), POST);
	asks(answer(204, version, ""), GET);
	says(answer(200, "", all), REEVE_WAIT, "1 of 4 variables are not as they were sent: ");
	asks(paused(), GET);
	/* they have been taken away meanwhile: then they are not wanted any more */
	asks(answer(200, "", all), POST);
	asks(answer(204, version, ""), GET);
	assert_int_equal(answer(200, "", all), REEVE_OK);
}

/* ---- envd: who it is not ---- */

static void without_the_mark_of_envd_a_failure_says_so(void **state)
{
	(void)state;
	use("envd");
	asks(begin(), GET);
	says(answer(404, "Server: other\n", "nothing"), REEVE_FAIL, "no answer had X-Envd-Version");
	says(REEVE_FAIL, REEVE_FAIL, "/envs answered 404, expected 200");
	asks(begin(), GET);
	asks(answer(200, "", "{}"), POST);
	says(answer(500, "x-envd-version: 1\n", ""), REEVE_FAIL, "/init answered 500");
	assert_null(strstr(s.t.why, "X-Envd-Version"));
	/* whoever has answered is there, and one that hangs then may be of any age */
	asks(begin(), GET);
	for (int i = 0; i < 3; i++) {
		enum reeve_next next;

		asks(answer(200, "", "{}"), POST);
		next = no_answer(REEVE_HTTP_TIMEOUT, 0);
		says(next, i < 2 ? REEVE_WAIT : REEVE_FAIL, "nothing came");
		if (i < 2)
			asks(paused(), GET);
	}
	assert_null(strstr(s.t.why, "X-Envd-Version"));
	/* and is no reason not to try, or to refuse what works */
	asks(begin(), GET);
	asks(answer(200, "", "{}"), POST);
	asks(answer(204, "", ""), GET);
	assert_int_equal(answer(200, "", all), REEVE_OK);
}

/* ---- envd: sizes ---- */

static const char *many(int count, const char *value)
{
	static char text[60000];
	size_t n = 0;

	n += (size_t)snprintf(text, sizeof(text), "{");
	for (int i = 0; i < count; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "%s\"%d\":\"%s\"", i ? "," : "", i, value);
	assert_true(n < sizeof(text) - 2);
	snprintf(text + n, sizeof(text) - n, "}");
	return text;
}

static void too_much_for_one_request_is_refused_before_it_is_sent(void **state)
{
	static const char hundred[] = "0123456789012345678901234567890123456789012345678901234567"
				      "890123456789012345678901234567890123456789";

	(void)state;
	use("envd");
	asks(begin(), GET);
	says(answer(200, "", many(500, hundred)), REEVE_FAIL, "more than 48 KiB");
	asks(begin(), GET);
	asks(answer(200, "", many(4093, "")), POST);
	asks(begin(), GET);
	says(answer(200, "", many(4094, "")), REEVE_FAIL, "are more than 4096");
}

/* ---- the interpreter ---- */

static void an_interpreter_without_a_path_is_not_told(void **state)
{
	(void)state;
	use("interpreter");
	assert_int_equal(begin(), REEVE_OK);
	assert_int_equal(s.plugin->ops->start(s.self, &s.t), REEVE_OK);
	assert_true(s.t.unused & REEVE_UNUSED_UPDATE);
	with("envs-path", "/envs");
	assert_int_equal(s.plugin->ops->start(s.self, &s.t), REEVE_OK);
	assert_false(s.t.unused & REEVE_UNUSED_UPDATE);
}

static void an_interpreter_is_told_the_whole_set(void **state)
{
	static const char told[] =
		"{\"envVars\":{\"A\":\"ours\",\"B\":\"with \\\"quotes\\\" \\\\\",\"EMPTY\":\"\"}}";

	(void)state;
	use("interpreter");
	with("envs-path", "/envs");
	asks(begin(), "POST http://127.0.0.1:49999/envs");
	assert_string_equal(request.body, told);
	assert_int_equal(answer(204, "", ""), REEVE_OK);
	asks(begin(), "POST http://127.0.0.1:49999/envs");
	assert_int_equal(answer(200, "", "null"), REEVE_OK);
	give(NULL, NULL);
	asks(begin(), "POST http://127.0.0.1:49999/envs");
	assert_string_equal(request.body, "{\"envVars\":{}}");
}

static void an_interpreter_that_does_not_take_them_is_named(void **state)
{
	(void)state;
	use("interpreter");
	with("envs-path", "/envs");
	asks(begin(), "POST http://127.0.0.1:49999/envs");
	says(answer(404, "", ""), REEVE_FAIL,
		"POST http://127.0.0.1:49999/envs answered "
		"404");
	asks(begin(), "POST http://127.0.0.1:49999/envs");
	says(no_answer(REEVE_HTTP_TIMEOUT, 0), REEVE_FAIL, "nothing came");
}

static void a_path_that_is_none_is_refused(void **state)
{
	(void)state;
	use("interpreter");
	with("envs-path", "envs");
	assert_int_equal(s.plugin->ops->start(s.self, &s.t), REEVE_FAIL);
	assert_non_null(strstr(s.t.why, "envs-path"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_variables_envd_is_not_asked),
		cmocka_unit_test(envd_is_read_given_and_read_again),
		cmocka_unit_test(what_is_there_stays_and_ours_win),
		cmocka_unit_test(what_is_not_ours_any_more_is_taken_out),
		cmocka_unit_test(what_envd_sets_by_itself_is_skipped_and_told),
		cmocka_unit_test(the_token_is_in_the_body_of_init_and_in_the_header_elsewhere),
		cmocka_unit_test(a_port_in_the_arguments_is_the_one_that_is_given_them),
		cmocka_unit_test(each_attempt_has_a_later_time_stamp),
		cmocka_unit_test(three_attempts_for_what_may_pass_and_one_for_the_rest),
		cmocka_unit_test(what_cannot_be_read_is_not_written),
		cmocka_unit_test(two_bad_attempts_and_a_good_one_are_good),
		cmocka_unit_test(the_numbers_are_options),
		cmocka_unit_test(any_2xx_is_taken_on_demand),
		cmocka_unit_test(no_pause_is_begun_that_would_outlive_the_run),
		cmocka_unit_test(what_was_answered_well_and_is_not_there_is_sent_again),
		cmocka_unit_test(one_of_theirs_that_got_lost_is_missed_too),
		cmocka_unit_test(without_the_mark_of_envd_a_failure_says_so),
		cmocka_unit_test(too_much_for_one_request_is_refused_before_it_is_sent),
		cmocka_unit_test(an_interpreter_without_a_path_is_not_told),
		cmocka_unit_test(an_interpreter_is_told_the_whole_set),
		cmocka_unit_test(an_interpreter_that_does_not_take_them_is_named),
		cmocka_unit_test(a_path_that_is_none_is_refused),
	};

	return cmocka_run_group_tests_name("plugins_init", tests, NULL, NULL);
}
