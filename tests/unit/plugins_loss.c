/* What the plugins' confirm hooks make of each answer: only what is certain is a loss. */
#include <sys/wait.h>
#include <unistd.h>

#include "stage.h"

#define STATUS "{\"started\":1,\"last_activity\":1,\"connections\":0,\"kernels\":0}"
#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"

static const struct kind {
	const char *plugin;
	int status; /* of one that is ready */
	const char *body;
} kinds[] = {
	{"envd", 204, ""},
	{"jupyter", 200, STATUS},
	{"interpreter", 200, "\"OK\""},
	{"mcp-gateway", 200, RESULT},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void use(const char *name)
{
	stage_use(name);
	assert_non_null(s.plugin->ops->confirm);
	s.t.generation = 1;
	s.t.pid = getpid();
	s.t.left_ns = INT64_C(30000000000);
}

static enum reeve_next turn(
	uint32_t step, enum reeve_transport transport, int status, const char *body)
{
	stage_turn();
	s.t.step = step;
	s.t.http = (struct reeve_http){.transport = transport,
		.status = status,
		.error = transport == REEVE_HTTP_REFUSED ? "connection refused"
			: transport			 ? "no answer"
							 : "",
		.answer = body,
		.answer_len = strlen(body),
		.answer_headers = ""};
	return s.plugin->ops->confirm(s.self, &s.t);
}

/* Asks, and answers so. */
static enum reeve_next answered(enum reeve_transport transport, int status, const char *body)
{
	assert_int_equal(turn(0, REEVE_HTTP_DONE, 0, ""), REEVE_HTTP);
	assert_non_null(s.t.http.url);
	return turn(1, transport, status, body);
}

static void one_that_answers_as_it_should_is_alive(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		use(kinds[i].plugin);
		assert_int_equal(
			answered(REEVE_HTTP_DONE, kinds[i].status, kinds[i].body), REEVE_OK);
		assert_non_null(strstr(s.t.why, "answered 20"));
	}
}

/* whoever answers like this may be in the middle of somebody's work. */
static void no_other_answer_and_no_silence_is_a_loss(void **state)
{
	static const int statuses[] = {
		100, 201, 302, 400, 401, 403, 404, 408, 410, 429, 500, 502, 503, 504, 599};
	static const enum reeve_transport broken[] = {
		REEVE_HTTP_TIMEOUT, REEVE_HTTP_BROKEN, REEVE_HTTP_INVALID};

	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		use(kinds[i].plugin);
		for (size_t k = 0; k < sizeof(statuses) / sizeof(statuses[0]); k++) {
			char status[8];

			assert_int_equal(answered(REEVE_HTTP_DONE, statuses[k], "no"), REEVE_RETRY);
			snprintf(status, sizeof(status), "%d", statuses[k]);
			assert_non_null(strstr(s.t.why, status)); /* */
		}
		for (size_t k = 0; k < sizeof(broken) / sizeof(broken[0]); k++)
			assert_int_equal(answered(broken[k], 0, ""), REEVE_RETRY);
		if (kinds[i].status == 200)
			assert_int_equal(answered(REEVE_HTTP_DONE, 200, "\"K.O.\""), REEVE_RETRY);
	}
}

/* refused, and nobody is left who could answer later. */
static void a_refusal_without_a_process_is_a_loss_at_once(void **state)
{
	pid_t pid = fork();
	siginfo_t info;

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(
		waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0); /* it is a zombie now */
	for (size_t i = 0; i < KINDS; i++) {
		use(kinds[i].plugin);
		s.t.pid = pid;
		assert_int_equal(answered(REEVE_HTTP_REFUSED, 0, ""), REEVE_FAIL);
		assert_non_null(strstr(s.t.why, "has ended"));
		assert_int_equal(answered(REEVE_HTTP_DONE, 503, ""), REEVE_RETRY);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	use("envd");
	s.t.pid = pid;
	assert_int_equal(answered(REEVE_HTTP_REFUSED, 0, ""), REEVE_FAIL); /* collected */
	s.t.pid = 0;
	assert_int_equal(answered(REEVE_HTTP_REFUSED, 0, ""), REEVE_WAIT);
}

static void a_refusal_by_one_that_lives_has_to_stay(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		use(kinds[i].plugin);
		assert_int_equal(answered(REEVE_HTTP_REFUSED, 0, ""), REEVE_WAIT);
		assert_true(s.t.wait_ns >= INT64_C(200000000));
		assert_int_equal(turn(2, REEVE_HTTP_DONE, 0, ""), REEVE_HTTP);
		assert_int_equal(turn(3, REEVE_HTTP_REFUSED, 0, ""), REEVE_WAIT);
		assert_int_equal(turn(4, REEVE_HTTP_DONE, 0, ""), REEVE_HTTP);
		assert_int_equal(turn(5, REEVE_HTTP_REFUSED, 0, ""), REEVE_FAIL);
		assert_non_null(strstr(s.t.why, "refused 3 times"));
	}
}

static void one_that_comes_back_meanwhile_is_not_lost(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		use(kinds[i].plugin);
		assert_int_equal(answered(REEVE_HTTP_REFUSED, 0, ""), REEVE_WAIT);
		assert_int_equal(turn(2, REEVE_HTTP_DONE, 0, ""), REEVE_HTTP);
		assert_int_equal(
			turn(3, REEVE_HTTP_DONE, kinds[i].status, kinds[i].body), REEVE_OK);
		assert_int_equal(answered(REEVE_HTTP_REFUSED, 0, ""), REEVE_WAIT);
		assert_int_equal(turn(2, REEVE_HTTP_DONE, 0, ""), REEVE_HTTP);
		assert_int_equal(turn(3, REEVE_HTTP_TIMEOUT, 0, ""), REEVE_RETRY);
	}
}

static void a_session_that_the_question_opened_is_closed(void **state)
{
	(void)state;
	use("mcp-gateway");
	assert_int_equal(turn(0, REEVE_HTTP_DONE, 0, ""), REEVE_HTTP);
	s.t.step = 1;
	s.t.arena_used = 0;
	s.t.http = (struct reeve_http){.status = 200,
		.error = "",
		.answer = RESULT,
		.answer_len = strlen(RESULT),
		.answer_headers = "Mcp-Session-Id: 42\n"};
	assert_int_equal(s.plugin->ops->confirm(s.self, &s.t), REEVE_HTTP);
	assert_string_equal(s.t.http.method, "DELETE");
	assert_int_equal(turn(2, REEVE_HTTP_TIMEOUT, 0, ""), REEVE_OK);
	/* and the next question begins anew */
	assert_int_equal(answered(REEVE_HTTP_DONE, 503, ""), REEVE_RETRY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_answers_as_it_should_is_alive),
		cmocka_unit_test(no_other_answer_and_no_silence_is_a_loss),
		cmocka_unit_test(a_refusal_without_a_process_is_a_loss_at_once),
		cmocka_unit_test(a_refusal_by_one_that_lives_has_to_stay),
		cmocka_unit_test(one_that_comes_back_meanwhile_is_not_lost),
		cmocka_unit_test(a_session_that_the_question_opened_is_closed),
	};

	return cmocka_run_group_tests_name("plugins_loss", tests, NULL, NULL);
}
