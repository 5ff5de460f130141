/* The control protocol as values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "wire/json.h"
#include "wire/rpc.h"

static bool read_line(const char *line, struct rv_request *r, struct rv_rpc_error *e)
{
	return rv_request_read(line, strlen(line), r, e);
}

static void expect_error(const char *line, enum rv_rpc_code code, const char *id, const char *part)
{
	struct rv_rpc_error e = {0};
	struct rv_request r;

	assert_false(read_line(line, &r, &e));
	assert_int_equal(e.code, code);
	assert_string_equal(r.id, id);
	if (!strstr(e.text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, e.text);
	rv_request_fini(&r);
}

static void a_request_becomes_a_value(void **state)
{
	struct rv_rpc_error e;
	struct rv_request r;

	(void)state;
	assert_true(read_line(
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"restart\",\"params\":{\"names\":"
		"[\"web\"],\"timeout_ms\":1500,\"generation\":12,\"no_wait\":true}}",
		&r, &e));
	assert_int_equal(r.verb, RV_VERB_RESTART);
	assert_string_equal(r.id, "7");
	assert_int_equal(r.name_count, 1);
	assert_string_equal(r.names[0], "web");
	assert_true(r.has_timeout && r.timeout == 1500 * RV_MS);
	assert_true(r.has_generation && r.generation == 12);
	assert_true(r.no_wait && !r.quiet);
	rv_request_fini(&r);
}

static void many_names_and_every_kind_of_id_are_taken(void **state)
{
	struct rv_rpc_error e;
	struct rv_request r;
	struct rv_buf line = {0};

	(void)state;
	rv_buf_str(&line,
		"{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"method\":\"status\",\"params\":{"
		"\"names\":[");
	for (int i = 0; i < 1000; i++)
		rv_buf_fmt(&line, "%s\"n%d\"", i ? "," : "", i);
	rv_buf_str(&line, "]}} \r");
	assert_true(rv_request_read(line.data, line.len, &r, &e));
	assert_int_equal(r.name_count, 1000);
	assert_string_equal(r.names[999], "n999");
	assert_string_equal(r.id, "\"a\\\"b\"");
	rv_request_fini(&r);
	rv_buf_fini(&line);
	assert_true(read_line(
		"{\"jsonrpc\":\"2.0\",\"id\":-9007199254740992,\"method\":\"status\"}", &r, &e));
	assert_string_equal(r.id, "-9007199254740992");
	rv_request_fini(&r);
	assert_true(read_line("{\"jsonrpc\":\"2.0\",\"method\":\"status\"}", &r, &e));
	assert_true(r.quiet);
	rv_request_fini(&r);
	assert_true(read_line("{\"jsonrpc\":\"2.0\",\"method\":\"signal\",\"id\":null,\"params\":{"
			      "\"names\":[\"a\"],"
			      "\"signal\":\"sighup\"}}",
		&r, &e));
	assert_int_equal(r.signal, 1);
	assert_false(r.quiet);
	rv_request_fini(&r);
}

static void what_is_no_request_is_refused_by_its_kind(void **state)
{
	(void)state;
	expect_error("{", RV_RPC_PARSE, "null", "not JSON");
	expect_error("{} {}", RV_RPC_PARSE, "null", "not JSON");
	expect_error("{\"a\":\"x\\u0000y\"}", RV_RPC_PARSE, "null", "not JSON");
	expect_error("[]", RV_RPC_INVALID, "null", "object");
	expect_error("{\"id\":1,\"method\":\"status\"}", RV_RPC_INVALID, "1", "jsonrpc");
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"status\"}", RV_RPC_INVALID,
		"null", "id");
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1e999,\"method\":\"status\"}", RV_RPC_INVALID,
		"null", "id");
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"status\"}", RV_RPC_INVALID,
		"null", "id");
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1}", RV_RPC_INVALID, "1", "method");
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\",\"method\":\"stop\"}",
		RV_RPC_INVALID, "1", "\"method\" is given twice");
	expect_error(
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"params\":{},\"method\":\"status\",\"params\":{}}",
		RV_RPC_INVALID, "1", "\"params\" is given twice");
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\",\"id\":2}",
		RV_RPC_INVALID, "null", "\"id\" is given twice");
	expect_error("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"status\",\"jsonrpc\":\"2.0\"}",
		RV_RPC_INVALID, "1", "\"jsonrpc\" is given twice");
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"statu\"}", RV_RPC_NO_METHOD, "1",
		"did you mean \"status\"");
}

static void parameters_are_strict(void **state)
{
#define CALL(verb, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" verb "\",\"params\":" params "}"
	(void)state;
	expect_error(CALL("status", "[]"), RV_RPC_PARAMS, "1", "object");
	expect_error(
		CALL("status", "{\"name\":[\"a\"]}"), RV_RPC_PARAMS, "1", "did you mean \"names\"");
	expect_error(CALL("status", "{\"names\":\"a\"}"), RV_RPC_PARAMS, "1", "list");
	expect_error(CALL("status", "{\"names\":[1]}"), RV_RPC_PARAMS, "1", "list");
	expect_error(CALL("status", "{\"names\":[],\"names\":[]}"), RV_RPC_PARAMS, "1", "twice");
	expect_error(CALL("status", "{\"timeout_ms\":1}"), RV_RPC_PARAMS, "1", "no parameter");
	expect_error(CALL("start", "{}"), RV_RPC_PARAMS, "1", "needs names");
	expect_error(
		CALL("start", "{\"all\":true,\"names\":[\"a\"]}"), RV_RPC_PARAMS, "1", "combined");
	expect_error(CALL("start", "{\"names\":[\"a\"],\"timeout_ms\":-1}"), RV_RPC_PARAMS, "1",
		"timeout_ms");
	expect_error(CALL("start", "{\"names\":[\"a\"],\"timeout_ms\":\"1\"}"), RV_RPC_PARAMS, "1",
		"timeout_ms");
	expect_error(CALL("start", "{\"names\":[\"a\",\"b\"],\"generation\":1}"), RV_RPC_PARAMS,
		"1", "exactly one");
	expect_error(CALL("start", "{\"names\":[\"a\"],\"no_wait\":1}"), RV_RPC_PARAMS, "1",
		"true or false");
	expect_error(CALL("recreate", "{\"if_lost\":true}"), RV_RPC_PARAMS, "1", "needs names");
	expect_error(CALL("recreate", "{\"names\":[\"a\"]}"), RV_RPC_PARAMS, "1", "if_lost");
	expect_error(CALL("restart", "{\"names\":[\"a\"],\"if_lost\":true}"), RV_RPC_PARAMS, "1",
		"no parameter");
	expect_error(CALL("signal", "{\"names\":[\"a\"],\"signal\":\"NONE\"}"), RV_RPC_PARAMS, "1",
		"signal");
	expect_error(
		CALL("signal", "{\"names\":[\"a\"],\"signal\":0}"), RV_RPC_PARAMS, "1", "signal");
	expect_error(CALL("signal", "{\"signal\":1}"), RV_RPC_PARAMS, "1", "needs");
	expect_error(CALL("wait", "{\"until\":\"gone\"}"), RV_RPC_PARAMS, "1", "until");
	expect_error(CALL("logs", "{\"lines\":0.5}"), RV_RPC_PARAMS, "1", "lines");
}

static void deep_nesting_is_refused_and_harmless(void **state)
{
	struct rv_buf line = {0};
	struct rv_rpc_error e;
	struct rv_request r;

	(void)state;
	for (int i = 0; i < 30000; i++)
		rv_buf_str(&line, "[");
	assert_false(rv_request_read(line.data, line.len, &r, &e));
	assert_int_equal(e.code, RV_RPC_PARSE);
	rv_request_fini(&r);
	rv_buf_fini(&line);
}

/* Answers are written by hand; cJSON must read from them what went in. */
static cJSON *reread(struct rv_buf *b)
{
	cJSON *tree = cJSON_Parse(rv_buf_text(b));

	if (!tree)
		fail_msg("not JSON: %s", rv_buf_text(b));
	rv_buf_fini(b);
	return tree;
}

static void strings_survive_the_way_through_json(void **state)
{
	static const char *const texts[] = {"", "plain", "q\"b\\s/n\nt\tr\r e\x1b d\x7f",
		"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct rv_buf b = {0};
		cJSON *tree;

		rv_json_str(&b, texts[i]);
		tree = reread(&b);
		assert_string_equal(tree->valuestring, texts[i]);
		cJSON_Delete(tree);
	}
}

static void bytes_that_are_not_utf8_never_reach_the_wire_as_text(void **state)
{
	static const char *const bad[] = {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80",
		"\xf4\x90\x80\x80", "\xe0\x80\x80", "a\x80"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rv_buf b = {0};

		assert_false(rv_json_is_text(bad[i], strlen(bad[i])));
		rv_json_str(&b, bad[i]);
		assert_true(rv_json_is_text(b.data, b.len));
		rv_buf_fini(&b);
	}
	assert_false(rv_json_is_text("a\0b", 3));
}

static void raw_bytes_come_back_exactly(void **state)
{
	char bytes[256];

	(void)state;
	for (int i = 0; i < 256; i++)
		bytes[i] = (char)i;
	for (size_t n = 0; n <= 256; n++) {
		struct rv_buf b = {0}, back = {0};
		cJSON *tree, *v;

		rv_buf_str(&b, "{");
		rv_json_bytes(&b, bytes, n);
		rv_buf_str(&b, "}");
		tree = reread(&b);
		v = cJSON_GetObjectItem(tree, "base64");
		if (v)
			assert_true(rv_json_base64_read(&back, v->valuestring));
		else
			rv_buf_str(&back, cJSON_GetObjectItem(tree, "text")->valuestring);
		assert_int_equal(back.len, n);
		assert_memory_equal(rv_buf_text(&back), bytes, n);
		rv_buf_fini(&back);
		cJSON_Delete(tree);
	}
}

static void broken_base64_is_refused(void **state)
{
	static const char *const bad[] = {
		"A", "AB", "ABC", "A===", "====", "AB=C", "AA==AA==", "AB*="};
	struct rv_buf b = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(rv_json_base64_read(&b, bad[i]));
	rv_buf_fini(&b);
}

static void a_service_is_shown_with_all_that_is_known(void **state)
{
	struct rv_rpc_service s = {.name = "web\"",
		.plugin = "exec",
		.state = RV_BACKOFF,
		.why = "exited",
		.detail = "exited with 3\nTraceback \xff",
		.other = "db",
		.essential = true,
		.unproven = true,
		.generation = UINT32_MAX,
		.restarts = 4,
		.exit = RV_EXIT_SIGNAL(9),
		.since = 1500 * RV_MS,
		.due = 0,
		.took = {1002, 61003456, -1}};
	struct rv_buf b = {0};
	cJSON *tree, *took;

	(void)state;
	rv_rpc_put_service(&b, &s);
	tree = reread(&b);
	assert_string_equal(cJSON_GetObjectItem(tree, "name")->valuestring, "web\"");
	assert_string_equal(cJSON_GetObjectItem(tree, "state")->valuestring, "backoff");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(tree, "pid")));
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(tree, "uptime_ms")));
	assert_int_equal(cJSON_GetObjectItem(tree, "since_ms")->valueint, 1500);
	assert_int_equal(cJSON_GetObjectItem(tree, "due_ms")->valueint, 0);
	assert_string_equal(
		cJSON_GetObjectItem(cJSON_GetObjectItem(tree, "exit"), "signal")->valuestring,
		"KILL");
	assert_true(cJSON_IsTrue(cJSON_GetObjectItem(tree, "unproven")));
	assert_true(cJSON_IsFalse(cJSON_GetObjectItem(tree, "held")));
	assert_null(cJSON_GetObjectItem(tree, "lost"));
	took = cJSON_GetObjectItem(tree, "durations");
	assert_true(cJSON_GetObjectItem(took, "spawn_ms")->valuedouble == 1.002);
	assert_true(cJSON_GetObjectItem(took, "ready_ms")->valuedouble == 61003.456);
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(took, "init_ms")));
	cJSON_Delete(tree);
}

static void an_error_names_its_class_and_its_names(void **state)
{
	static const char *const names[] = {"a", "b"};
	struct rv_rpc_error e;
	struct rv_buf b = {0};
	cJSON *tree, *error, *data;

	(void)state;
	rv_rpc_fail(&e, RV_RPC_NO_SUCH, "no service \"%s\"", "a");
	rv_rpc_put_error(&b, "5", &e, names, 2);
	assert_int_equal(b.data[b.len - 1], '\n');
	tree = reread(&b);
	error = cJSON_GetObjectItem(tree, "error");
	data = cJSON_GetObjectItem(error, "data");
	assert_int_equal(cJSON_GetObjectItem(error, "code")->valueint, -32001);
	assert_string_equal(cJSON_GetObjectItem(data, "class")->valuestring, "no-such-service");
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(data, "names")), 2);
	cJSON_Delete(tree);
}

/* the three marks against the predicate. */
static void only_what_is_stale_and_nothing_else_is_safe_to_retry(void **state)
{
	static const struct {
		unsigned marks;
		bool safe;
	} t[] = {{0, false}, {RV_MARK_STALE, true}, {RV_MARK_UNSAFE, false},
		{RV_MARK_PARTIAL, false}, {RV_MARK_STALE | RV_MARK_UNSAFE, false},
		{RV_MARK_STALE | RV_MARK_PARTIAL, false}, {RV_MARK_UNSAFE | RV_MARK_PARTIAL, false},
		{RV_MARK_STALE | RV_MARK_UNSAFE | RV_MARK_PARTIAL, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(rv_retry_is_safe(t[i].marks), t[i].safe);
}

static bool error_is_safe(struct rv_rpc_error e)
{
	struct rv_buf b = {0};
	cJSON *tree, *safe;
	bool is;

	rv_rpc_put_error(&b, "5", &e, NULL, 0);
	tree = reread(&b);
	safe = cJSON_GetObjectItem(
		cJSON_GetObjectItem(cJSON_GetObjectItem(tree, "error"), "data"), "retrySafe");
	assert_true(cJSON_IsBool(safe));
	is = cJSON_IsTrue(safe);
	cJSON_Delete(tree);
	return is;
}

/* what it was marked with on its way counts, whatever it is called. */
static void every_error_says_whether_it_is_safe_to_retry(void **state)
{
	static const enum rv_rpc_code codes[] = {RV_RPC_PARSE, RV_RPC_INVALID, RV_RPC_NO_METHOD,
		RV_RPC_PARAMS, RV_RPC_INTERNAL, RV_RPC_FAILED, RV_RPC_NO_SUCH, RV_RPC_DENIED,
		RV_RPC_TIMEOUT, RV_RPC_STALE, RV_RPC_REFUSED, RV_RPC_NOT_READY};
	struct rv_rpc_error e;

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		memset(&e, 0xff, sizeof(e)); /* nothing of an earlier one is left */
		rv_rpc_fail(&e, codes[i], "no");
		assert_int_equal(error_is_safe(e), codes[i] == RV_RPC_STALE);
		e.marks = RV_MARK_UNSAFE;
		assert_false(error_is_safe(e));
		e.marks = RV_MARK_STALE;
		assert_true(error_is_safe(e));
	}
}

static void what_is_not_done_says_it_as_well(void **state)
{
	static const char *const expected[] = {NULL, NULL, "false", "true", "false"};
	struct rv_rpc_result r = {.name = "a", .why = "", .generation = 2};

	(void)state;
	for (int o = RV_DONE_YET; o <= RV_DONE_TIMEOUT; o++) {
		struct rv_buf b = {0};
		char want[40] = "retrySafe";

		r.outcome = (enum rv_rpc_outcome)o;
		r.marks = o == RV_DONE_FAILED	 ? RV_MARK_STALE | RV_MARK_UNSAFE
			: o == RV_DONE_NOT_READY ? RV_MARK_STALE
						 : 0u;
		rv_rpc_put_result(&b, &r);
		if (expected[o])
			snprintf(want, sizeof(want), "\"retrySafe\":%s", expected[o]);
		assert_int_equal(!!strstr(rv_buf_text(&b), want), !!expected[o]);
		rv_buf_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_becomes_a_value),
		cmocka_unit_test(many_names_and_every_kind_of_id_are_taken),
		cmocka_unit_test(what_is_no_request_is_refused_by_its_kind),
		cmocka_unit_test(parameters_are_strict),
		cmocka_unit_test(deep_nesting_is_refused_and_harmless),
		cmocka_unit_test(strings_survive_the_way_through_json),
		cmocka_unit_test(bytes_that_are_not_utf8_never_reach_the_wire_as_text),
		cmocka_unit_test(raw_bytes_come_back_exactly),
		cmocka_unit_test(broken_base64_is_refused),
		cmocka_unit_test(a_service_is_shown_with_all_that_is_known),
		cmocka_unit_test(an_error_names_its_class_and_its_names),
		cmocka_unit_test(only_what_is_stale_and_nothing_else_is_safe_to_retry),
		cmocka_unit_test(every_error_says_whether_it_is_safe_to_retry),
		cmocka_unit_test(what_is_not_done_says_it_as_well),
	};

	return cmocka_run_group_tests_name("wire_rpc", tests, NULL, NULL);
}
