/* What an answer by HTTP is worth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/answer.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char why[1000];

static enum rv_verdict judge(const struct rv_want *want, struct rv_answer a)
{
	struct rv_want w = *want;

	w.url = w.url ? w.url : "http://127.0.0.1:80/health";
	w.method = w.method ? w.method : "GET";
	a.error = a.error ? a.error : "";
	a.status = a.status ? a.status : 200;
	return rv_answer_judge(&w, &a, why, sizeof(why));
}

static enum rv_verdict judge_status(const struct rv_want *want, int status)
{
	return judge(want, (struct rv_answer){.status = status, .body = ""});
}

static enum rv_verdict judge_body(const struct rv_want *want, const char *body)
{
	return judge(want, (struct rv_answer){.body = body, .body_len = strlen(body)});
}

static void assert_why(const char *text)
{
	char all[1200];

	snprintf(all, sizeof(all), "GET http://127.0.0.1:80/health%s", text);
	assert_string_equal(why, all);
}

static void what_goes_wrong_on_the_way_may_get_better(void **state)
{
	static const struct rv_want want = {0};

	(void)state;
	assert_int_equal(judge(&want, (struct rv_answer){.error = "Connection refused"}), RV_RETRY);
	assert_why(": Connection refused");
	/* also with a good status: the body broke off */
	assert_int_equal(
		judge(&want, (struct rv_answer){.error = "reset", .status = 200}), RV_RETRY);
	assert_int_equal(
		judge(&want, (struct rv_answer){.error = "no such host", .hopeless = true}),
		RV_FAIL);
	assert_why(": no such host");
}

static void by_itself_2xx_is_good_429_and_5xx_pass_and_all_else_is_final(void **state)
{
	static const struct rv_want want = {0};

	(void)state;
	for (int status = 100; status < 600; status++) {
		enum rv_verdict v = judge_status(&want, status);

		if (status / 100 == 2)
			assert_int_equal(v, RV_OK);
		else if (status == 429 || status / 100 == 5)
			assert_int_equal(v, RV_RETRY);
		else
			assert_int_equal(v, RV_FAIL);
	}
	judge_status(&want, 404);
	assert_why(" answered 404, expected 2xx");
}

static void statuses_are_judged_as_the_file_says(void **state)
{
	static const struct rv_statuses good[] = {{204, 204}, {301, 303}, {400, 499}};
	static const struct rv_statuses passing[] = {{200, 200}}, final[] = {{500, 503}};
	static const struct rv_want want = {
		.status = {good, 3}, .retry = {passing, 1}, .fail = {final, 1}};
	static const struct {
		int status;
		enum rv_verdict verdict;
	} cases[] = {{204, RV_OK}, {301, RV_OK}, {303, RV_OK}, {400, RV_OK}, {429, RV_OK},
		{499, RV_OK}, {200, RV_RETRY}, {201, RV_FAIL}, {205, RV_FAIL}, {300, RV_FAIL},
		{304, RV_FAIL}, {500, RV_FAIL}, {503, RV_FAIL}, {504, RV_RETRY}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		if (judge_status(&want, cases[i].status) != cases[i].verdict)
			fail_msg("%d: %s", cases[i].status, why);
	judge_status(&want, 201);
	assert_why(" answered 201, expected 204, 301-303 or 4xx");
}

static void a_body_is_looked_at_only_when_the_status_is_good(void **state)
{
	static const struct rv_want want = {.body = "OK"};

	(void)state;
	assert_int_equal(
		judge(&want, (struct rv_answer){.status = 503, .body = "OK", .body_len = 2}),
		RV_RETRY);
	assert_why(" answered 503, expected 2xx");
	assert_int_equal(
		judge(&want, (struct rv_answer){.status = 404, .body = "OK", .body_len = 2}),
		RV_FAIL);
}

static void a_body_is_exactly_the_wanted_one(void **state)
{
	static const struct rv_want want = {.body = "OK"}, empty = {.body = ""};

	(void)state;
	assert_int_equal(judge_body(&want, "OK"), RV_OK);
	assert_int_equal(judge_body(&want, "OK\n"), RV_FAIL);
	assert_why(" answered 200 with the body \"OK\\n\", expected \"OK\"");
	assert_int_equal(judge_body(&want, "ok"), RV_FAIL);
	assert_int_equal(judge_body(&want, ""), RV_FAIL);
	assert_why(" answered 200 with the body \"\", expected \"OK\"");
	assert_int_equal(judge(&want, (struct rv_answer){.body = "OK\0", .body_len = 3}), RV_FAIL);
	assert_int_equal(judge(&want, (struct rv_answer){.body = "OK", .body_len = 2, .cut = true}),
		RV_FAIL);
	assert_int_equal(judge_body(&empty, ""), RV_OK);
	assert_int_equal(judge_body(&empty, "x"), RV_FAIL);
}

static void a_wrong_body_passes_where_the_file_says_so(void **state)
{
	static const struct rv_want want = {.body = "OK", .patient = true};

	(void)state;
	assert_int_equal(judge_body(&want, "starting"), RV_RETRY);
	assert_int_equal(judge_body(&want, "OK"), RV_OK);
	assert_int_equal(judge_status(&want, 404), RV_FAIL); /* that is no body */
}

static void members_of_a_json_object_are_there_and_equal(void **state)
{
	static const struct rv_member members[] = {{"/s", RV_MEMBER_STRING, "ok"},
		{"/n", RV_MEMBER_NUMBER, "5"}, {"/t", RV_MEMBER_BOOL, "true"},
		{"/f", RV_MEMBER_BOOL, "false"}, {"/a~1b~0c/d", RV_MEMBER_THERE, ""}};
	static const struct rv_want want = {.json = members, .json_count = COUNT(members)};
#define ALL "\"s\":\"ok\",\"n\":5.0,\"t\":true,\"f\":false,\"a/b~c\":{\"d\":null}"
	static const struct {
		const char *body, *why;
	} wrong[] = {{"", " answered 200 with a body that is no JSON object: \"\""},
		{"<html>\n</html>",
			" answered 200 with a body that is no JSON object: \"<html>\\n</html>\""},
		{"[1]", " answered 200 with a body that is no JSON object: \"[1]\""},
		{"{\"s\":\"ok\"",
			" answered 200 with a body that is no JSON object: "
			"\"{\"s\":\"ok\"\""},
		{"{}", " answered 200 without the member /s, expected to be \"ok\""},
		{"{\"S\":\"ok\"}", " answered 200 without the member /s, expected to be \"ok\""},
		{"{\"s\":\"bad\"}", " answered 200 with /s \"bad\", expected \"ok\""},
		{"{\"s\":null}", " answered 200 with /s null, expected \"ok\""},
		{"{\"s\":\"ok\",\"n\":\"5\"}", " answered 200 with /n \"5\", expected 5"},
		{"{\"s\":\"ok\",\"n\":6}", " answered 200 with /n 6, expected 5"},
		{"{\"s\":\"ok\",\"n\":5,\"t\":1}", " answered 200 with /t 1, expected true"},
		{"{\"s\":\"ok\",\"n\":5,\"t\":true,\"f\":true}",
			" answered 200 with /f true, expected false"},
		{"{\"s\":\"ok\",\"n\":5,\"t\":true,\"f\":false}",
			" answered 200 without the member /a~1b~0c/d"},
		{"{\"s\":\"ok\",\"n\":5,\"t\":true,\"f\":false,\"a/b~c\":[1]}",
			" answered 200 without the member /a~1b~0c/d"}};

	(void)state;
	if (judge_body(&want, "{" ALL "}") != RV_OK ||
		judge_body(&want, "{\"more\":[1]," ALL "}") != RV_OK)
		fail_msg("%s", why);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		assert_int_equal(judge_body(&want, wrong[i].body), RV_FAIL);
		assert_why(wrong[i].why);
	}
	assert_int_equal(
		judge(&want,
			(struct rv_answer){
				.body = "{" ALL "}", .body_len = sizeof(ALL) + 1, .cut = true}),
		RV_FAIL);
	assert_why(" answered 200 with a body that is too long to be read as JSON");
}

static void a_body_has_a_match_for_an_expression(void **state)
{
	static const struct rv_want want = {.regex = "^O[a-z]+$"};
	static const char zero[] = "Ok\0k";

	(void)state;
	assert_int_equal(judge_body(&want, "Ok"), RV_OK);
	assert_int_equal(judge_body(&want, "not Ok"), RV_FAIL);
	assert_why(" answered 200 with the body \"not Ok\", which has no match for \"^O[a-z]+$\"");
	assert_int_equal(judge(&want, (struct rv_answer){.body = zero, .body_len = 4}), RV_FAIL);
	/* where it was cut is not its end */
	assert_int_equal(judge(&want, (struct rv_answer){.body = "Ok", .body_len = 2, .cut = true}),
		RV_FAIL);
}

static void all_that_is_wanted_of_a_body_must_hold(void **state)
{
	static const struct rv_member members[] = {{"/a", RV_MEMBER_THERE, ""}};
	static const struct rv_want want = {.json = members, .json_count = 1, .regex = "b"},
				    twice = {.body = "{\"a\":1}",
					    .json = members,
					    .json_count = 1,
					    .regex = "b"};

	(void)state;
	assert_int_equal(judge_body(&want, "{\"a\":\"b\"}"), RV_OK);
	assert_int_equal(judge_body(&want, "{\"a\":1}"), RV_FAIL);
	assert_int_equal(judge_body(&want, "{\"b\":1}"), RV_FAIL);
	assert_int_equal(judge_body(&twice, "{\"a\":1}"), RV_FAIL);
}

static void what_was_sent_is_not_shown_when_it_comes_back(void **state)
{
	static const char *const headers[] = {
		"Authorization: Bearer s3cret-token", "X-Key: t0pkey", "X-Short: ab", NULL};
	static const struct rv_member members[] = {{"/a", RV_MEMBER_STRING, "x"}};
	static const struct rv_want body = {.headers = headers, .send = "the letter", .body = "OK"},
				    json = {.headers = headers, .json = members, .json_count = 1},
				    regex = {.headers = headers, .regex = "OK"};
	static const char text[] = "Bearer s3cret-token, s3cret-token, t0pkeyt0pkey the letter ab";

	(void)state;
	assert_int_equal(judge_body(&body, text), RV_FAIL);
	assert_why(" answered 200 with the body \"***, ***, ****** *** ab\", expected \"OK\"");
	assert_int_equal(judge_body(&regex, text), RV_FAIL);
	assert_null(strstr(why, "s3cret"));
	assert_int_equal(judge_body(&json, "s3cret-token"), RV_FAIL);
	assert_null(strstr(why, "s3cret"));
	assert_int_equal(judge_body(&json, "{\"a\":\"s3cret-token\"}"), RV_FAIL);
	assert_why(" answered 200 with /a \"***\", expected \"x\"");
	assert_int_equal(judge_body(&json, "{\"a\":[\"t0pkey\"]}"), RV_FAIL);
	assert_why(" answered 200 with /a a list, expected \"x\"");
}

/* A piece that is cut in the middle of a secret would show its first half. */
static void a_secret_at_the_end_of_what_is_shown_is_hidden_whole(void **state)
{
	static const char *const headers[] = {"X-Key: 0123456789", NULL};
	static const struct rv_want want = {.headers = headers, .body = "OK"};
	char text[200];

	(void)state;
	for (size_t n = 60; n < 90; n++) {
		memset(text, 'x', n);
		strcpy(text + n, "0123456789 and more");
		assert_int_equal(judge_body(&want, text), RV_FAIL);
		assert_null(strstr(why, "01"));
	}
}

static void a_sentence_is_short_and_safe_to_print(void **state)
{
	static const struct rv_want want = {
		.url = "http://user:s3cret@127.0.0.1/x?key=s3cret", .method = "POST", .body = "OK"};
	char *big = malloc(70000);

	(void)state;
	memset(big, '\033', 69999);
	big[69999] = 0;
	assert_int_equal(judge_body(&want, big), RV_FAIL);
	assert_true(strlen(why) < 600);
	assert_null(strchr(why, '\033'));
	assert_null(strstr(why, "s3cret"));
	assert_non_null(
		strstr(why, "POST http://***@127.0.0.1/x?*** answered 200 with the body \"\\x1b"));
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_wrong_on_the_way_may_get_better),
		cmocka_unit_test(by_itself_2xx_is_good_429_and_5xx_pass_and_all_else_is_final),
		cmocka_unit_test(statuses_are_judged_as_the_file_says),
		cmocka_unit_test(a_body_is_looked_at_only_when_the_status_is_good),
		cmocka_unit_test(a_body_is_exactly_the_wanted_one),
		cmocka_unit_test(a_wrong_body_passes_where_the_file_says_so),
		cmocka_unit_test(members_of_a_json_object_are_there_and_equal),
		cmocka_unit_test(a_body_has_a_match_for_an_expression),
		cmocka_unit_test(all_that_is_wanted_of_a_body_must_hold),
		cmocka_unit_test(what_was_sent_is_not_shown_when_it_comes_back),
		cmocka_unit_test(a_secret_at_the_end_of_what_is_shown_is_hidden_whole),
		cmocka_unit_test(a_sentence_is_short_and_safe_to_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
