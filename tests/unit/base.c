/* Unit tests of src/base: values and bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <errno.h>
#include <cmocka.h>

#include "base/address.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/names.h"
#include "base/text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void a_duration_needs_a_unit_unless_it_is_zero(void **state)
{
	static const struct {
		const char *text;
		rv_time ns;
	} good[] = {{"0", 0}, {"0s", 0}, {"250ms", 250 * RV_MS}, {"5s", 5 * RV_SEC},
		{"2m", 120 * RV_SEC}, {"1h", 3600 * RV_SEC}, {"1d", 86400 * RV_SEC},
		{"500us", 500 * RV_US}, {"7ns", 7}, {"1.5s", 1500 * RV_MS}, {"0.2s", 200 * RV_MS},
		{"0.25m", 15 * RV_SEC}, {"1.000s", RV_SEC}};
	static const char *const bad[] = {"", "5", "s", "5 s", " 5s", "5s ", "-5s", "+5s", "5S",
		"5sec", "1.s", ".5s", "1.2.3s", "1e3s", "0x5s", "0.5ns", "1m30s",
		"9223372036854775807ns", "99999999999999999999s", "300000000000s", "107000d"};
	rv_time ns;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		ns = -1;
		if (!rv_text_duration(good[i].text, &ns) || ns != good[i].ns)
			fail_msg("%s was read as %lld", good[i].text, (long long)ns);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		if (rv_text_duration(bad[i], &ns))
			fail_msg("'%s' was taken for a duration", bad[i]);
}

static void a_size_has_a_unit_of_two_or_ten(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {{"0", 0}, {"512B", 512}, {"64KiB", 65536}, {"10MiB", 10485760},
		{"1GiB", 1 << 30}, {"100kB", 100000}, {"16000000", 16000000}, {"2MB", 2000000},
		{"1TiB", UINT64_C(1) << 40}};
	static const char *const bad[] = {"", "MiB", "10 MiB", "10M", "10mib", "-1", "1.5MiB",
		"9223372036854775808", "99999999TiB", "0x10"};
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		v = 77;
		if (!rv_text_size(good[i].text, &v) || v != good[i].bytes)
			fail_msg("%s was read as %llu", good[i].text, (unsigned long long)v);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		if (rv_text_size(bad[i], &v))
			fail_msg("'%s' was taken for a size", bad[i]);
}

static void modes_integers_and_booleans_are_exactly_as_documented(void **state)
{
	unsigned m;
	int64_t v;
	bool b;

	(void)state;
	assert_true(rv_text_mode("0660", &m) && m == 0660);
	assert_true(rv_text_mode("7777", &m) && m == 07777);
	assert_false(rv_text_mode("10000", &m));
	assert_false(rv_text_mode("0o660", &m));
	assert_false(rv_text_mode("", &m));
	assert_false(rv_text_mode("68", &m));
	assert_true(rv_text_int("-9223372036854775808", &v) && v == INT64_MIN);
	assert_true(rv_text_int("+7", &v) && v == 7);
	assert_true(rv_text_int("9223372036854775807", &v) && v == INT64_MAX);
	assert_false(rv_text_int("9223372036854775808", &v));
	assert_false(rv_text_int("-9223372036854775809", &v));
	assert_false(rv_text_int("", &v));
	assert_false(rv_text_int("-", &v));
	assert_false(rv_text_int("3 ", &v));
	assert_false(rv_text_int("0x3", &v));
	assert_true(rv_text_bool("True", &b) && b);
	assert_true(rv_text_bool("FALSE", &b) && !b);
	assert_false(rv_text_bool("yes", &b));
	assert_false(rv_text_bool("1", &b));
	assert_false(rv_text_bool("tRUE", &b));
}

static void an_age_has_at_most_two_units(void **state)
{
	static const struct {
		rv_time ns;
		const char *text;
	} t[] = {{0, "0s"}, {-5, "0s"}, {250 * RV_MS, "250ms"}, {4 * RV_SEC, "4s"},
		{64 * RV_SEC, "1m 4s"}, {60 * RV_SEC, "1m"}, {11520 * RV_SEC, "3h 12m"},
		{(5 * 86400 + 2 * 3600 + 59) * RV_SEC, "5d 2h"}, {RV_NEVER, "106751d 23h"}};
	char to[32];

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++)
		assert_string_equal(rv_text_ago(t[i].ns, to, sizeof(to)), t[i].text);
}

static void a_duration_is_written_as_it_is_read(void **state)
{
	static const rv_time t[] = {0, 1, 999, RV_US, 250 * RV_MS, 1500 * RV_MS, 30 * RV_SEC,
		90 * RV_SEC, 120 * RV_SEC, 3600 * RV_SEC, 86400 * RV_SEC, RV_NEVER - 1};
	char to[32];
	rv_time back;

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		assert_true(rv_text_duration(rv_text_dur(t[i], to, sizeof(to)), &back));
		assert_int_equal(back, t[i]);
	}
	assert_string_equal(rv_text_dur(30 * RV_SEC, to, sizeof(to)), "30s");
	assert_string_equal(rv_text_dur(250 * RV_MS, to, sizeof(to)), "250ms");
	assert_string_equal(rv_text_dur(90 * RV_SEC, to, sizeof(to)), "90s");
}

static void assert_visible(const char *in, size_t n, const char *out)
{
	struct rv_buf b = {0};

	rv_text_visible(&b, in, n);
	assert_string_equal(rv_buf_text(&b), out);
	rv_buf_fini(&b);
}
#define ASSERT_VISIBLE(in, out) assert_visible(in, sizeof(in) - 1, out)

static void control_characters_and_bad_utf8_become_visible(void **state)
{
	(void)state;
	ASSERT_VISIBLE("", "");
	ASSERT_VISIBLE("plain\ttext\n", "plain\ttext\n");
	ASSERT_VISIBLE("\x1b[31mred\r\0end\x7f", "\\x1b[31mred\\x0d\\x00end\\x7f");
	ASSERT_VISIBLE("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
		"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
	ASSERT_VISIBLE("\xc2\x9b", "\\xc2\\x9b"); /* C1: a terminal would obey it */
	ASSERT_VISIBLE("\xc0\xaf", "\\xc0\\xaf"); /* overlong */
	ASSERT_VISIBLE("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* surrogate */
	ASSERT_VISIBLE("\xe0\x80\xaf", "\\xe0\\x80\\xaf"); /* overlong */
	ASSERT_VISIBLE("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	ASSERT_VISIBLE("\xff\xfe", "\\xff\\xfe");
	ASSERT_VISIBLE("cut \xe2\x82", "cut \\xe2\\x82");
}

static void what_is_cut_is_marked_and_keeps_whole_characters(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		const char *shown;
	} cuts[] = {{"", 8, ""}, {"1234567", 8, "1234567"}, {"12345678", 8, "1234…"},
		{"123ä567", 8, "123…"}, {"12ä4567", 8, "12ä…"}, {"ääää", 9, "ääää"},
		{"äääää", 9, "ää…"}, {"12345", 4, "123"}};
	char to[16], long_name[3000];
	struct rv_err e;

	(void)state;
	for (size_t i = 0; i < COUNT(cuts); i++) {
		memset(to, 'x', sizeof(to));
		assert_string_equal(rv_text_cut(cuts[i].text, to, cuts[i].size), cuts[i].shown);
		assert_int_equal(to[cuts[i].size], 'x');
	}
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = 0;
	rv_fail(&e, RV_ERR_START, "%s", long_name);
	assert_string_equal(e.text + strlen(e.text) - 5, "nn…");
	rv_fail(&e, RV_ERR_START, "short");
	rv_fail_in(&e, "%s", long_name);
	assert_string_equal(e.text + strlen(e.text) - 5, "nn…");
	rv_fail_errno(&e, ENOENT, "%.990s", long_name);
	assert_string_equal(e.text + strlen(e.text) - 3, "…");
}

static void the_nearest_name_is_one_that_can_be_meant(void **state)
{
	static const char *const names[] = {"command", "environment", "environment-file", "needs",
		"working-dir", "stop", "type", "user", "a"};
	static const struct {
		const char *word, *meant;
	} t[] = {{"comand", "command"}, {"commnad", "command"}, {"enviroment", "environment"},
		{"env", "environment"}, {"Working_Dir", "working-dir"}, {"need", "needs"},
		{"tyep", "type"}, {"stop-timeout", "stop"}, {"b", NULL}, {"", NULL},
		{"xyzzy", NULL}, {"launcher", NULL}, {"tseps", NULL}, {"pneeds", "needs"}};

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		const char *got = rv_text_nearest(t[i].word, names, COUNT(names));

		if (!t[i].meant ? got != NULL : !got || strcmp(got, t[i].meant) != 0)
			fail_msg("%s: got %s", t[i].word, got ? got : "nothing");
	}
	assert_null(rv_text_nearest("x", NULL, 0));
}

static void nearest_bears_words_of_any_length(void **state)
{
	char word[300], name[300];
	const char *names[] = {name};

	(void)state;
	memset(word, 'x', sizeof(word) - 1);
	memset(name, 'x', sizeof(name) - 1);
	word[sizeof(word) - 1] = name[sizeof(name) - 1] = 0;
	word[5] = 'y';
	assert_ptr_equal(rv_text_nearest(word, names, 1), name);
}

static void assert_split(const char *in, size_t count, const char *joined)
{
	struct rv_buf b = {0};
	size_t n = 77;

	assert_true(rv_text_split(in, &b, &n));
	assert_int_equal(n, count);
	for (size_t i = 0; i < b.len; i++)
		if (!b.data[i])
			b.data[i] = '|';
	assert_string_equal(rv_buf_text(&b), joined);
	rv_buf_fini(&b);
}

static void splitting_follows_the_quotes_of_a_shell_and_expands_nothing(void **state)
{
	struct rv_buf b = {0};
	size_t n;

	(void)state;
	assert_split("", 0, "");
	assert_split(" \t\n", 0, "");
	assert_split("a  bc\td", 3, "a|bc|d|");
	assert_split("'a b' \"c d\"e f", 3, "a b|c de|f|");
	assert_split("'' \"\"", 2, "||");
	assert_split("a\\ b \\\"", 2, "a b|\"|");
	assert_split("\"a\\\"b\\n\" '\\'", 2, "a\"b\\n|\\|");
	assert_split("$HOME * ~ `id` $(id) %h", 6, "$HOME|*|~|`id`|$(id)|%h|");
	assert_split("a\\\nb", 1, "ab|");
	assert_false(rv_text_split("'open", &b, &n));
	assert_false(rv_text_split("\"open", &b, &n));
	assert_false(rv_text_split("end\\", &b, &n));
	rv_buf_fini(&b);
}

static void a_buffer_stops_at_its_bound_and_says_so(void **state)
{
	struct rv_buf b = {.max = 10};

	(void)state;
	assert_true(rv_buf_str(&b, "12345"));
	assert_false(rv_buf_str(&b, "678901"));
	assert_true(b.full);
	assert_string_equal(rv_buf_text(&b), "12345");
	assert_true(rv_buf_fmt(&b, "%d", 67890));
	rv_buf_drop(&b, 8);
	assert_string_equal(rv_buf_text(&b), "90");
	rv_buf_clear(&b);
	assert_false(b.full);
	assert_string_equal(rv_buf_text(&b), "");
	rv_buf_fini(&b);
	assert_string_equal(rv_buf_text(&b), "");
}

static void an_arena_gives_zeroed_memory_up_to_its_bound(void **state)
{
	struct rv_arena a = {.max = 100000};
	char *big, *s;

	(void)state;
	assert_non_null(rv_arena_alloc(&a, 0));
	big = rv_arena_alloc(&a, 50000);
	assert_non_null(big);
	assert_int_equal(big[0] | big[49999], 0);
	s = rv_arena_fmt(&a, "%s-%d", "x", 7);
	assert_string_equal(s, "x-7");
	assert_string_equal(rv_arena_strndup(&a, "abcdef", 3), "abc");
	assert_false(a.full);
	assert_null(rv_arena_alloc(&a, 60000));
	assert_null(rv_arena_array(&a, SIZE_MAX / 2, 3));
	assert_true(a.full);
	rv_arena_fini(&a);
	assert_false(a.full);
}

static void an_error_is_a_sentence_that_grows_at_the_front(void **state)
{
	struct rv_err e = {0};

	(void)state;
	assert_false(rv_fail(&e, RV_ERR_CONFIG, "cannot read %s", "x"));
	assert_false(rv_fail_in(&e, "service %s", "a"));
	assert_string_equal(e.text, "service a: cannot read x");
	assert_int_equal(e.code, RV_ERR_CONFIG);
	assert_false(rv_fail_errno(&e, ENOENT, "cannot open y"));
	assert_string_equal(e.text, "cannot open y: No such file or directory");
	assert_false(rv_fail(NULL, RV_ERR_CONFIG, "nobody listens"));
}

/* */
static void a_context_in_front_of_an_error_leaves_its_class_alone(void **state)
{
	char longest[1200];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	for (int code = RV_ERR_NONE; code <= RV_ERR_INTERNAL; code++) {
		struct rv_err e = {0};

		assert_false(rv_fail(&e, (enum rv_code)code, "cannot do it"));
		assert_false(rv_fail_in(&e, "file:1:2"));
		assert_false(rv_fail_in(&e, "%s", "service a"));
		assert_string_equal(e.text, "service a: file:1:2: cannot do it");
		assert_false(rv_fail_in(&e, "%s", longest));
		assert_int_equal(e.code, code);
	}
}

static void names_and_numbers_of_signals_are_inverse(void **state)
{
	char to[64];

	(void)state;
	assert_int_equal(rv_signal_from_name("TERM"), SIGTERM);
	assert_int_equal(rv_signal_from_name("sigkill"), SIGKILL);
	assert_int_equal(rv_signal_from_name("15"), SIGTERM);
	assert_int_equal(rv_signal_from_name("RTMIN+2"), SIGRTMIN + 2);
	assert_int_equal(rv_signal_from_name("SIGRTMIN"), SIGRTMIN);
	assert_int_equal(rv_signal_from_name("RTMIN+9223372036854775807"), 0);
	assert_int_equal(rv_signal_from_name("RTMIN+ 1"), 0);
	assert_int_equal(rv_signal_from_name("RTMIN+"), 0);
	assert_int_equal(rv_signal_from_name("99999999999999999999"), 0);
	assert_int_equal(rv_signal_from_name("NOPE"), 0);
	assert_int_equal(rv_signal_from_name("0"), 0);
	assert_int_equal(rv_signal_from_name("15x"), 0);
	assert_string_equal(rv_signal_name(SIGTERM), "TERM");
	assert_string_equal(rv_signal_name(SIGRTMIN + 2), "RTMIN+2");
	for (int i = 1; i <= SIGRTMAX; i++)
		if (rv_signal_name(i))
			assert_int_equal(rv_signal_from_name(rv_signal_name(i)), i);
	assert_null(rv_signal_name(0));
	assert_string_equal(rv_exit_text(3, to, sizeof(to)), "exited with 3");
	assert_string_equal(
		rv_exit_text(RV_EXIT_SIGNAL(SIGSEGV), to, sizeof(to)), "killed by SIGSEGV");
	assert_string_equal(rv_exit_text(RV_EXIT_UNKNOWN, to, sizeof(to)), "ended");
	assert_int_equal(rv_exit_status(RV_EXIT_SIGNAL(9)), 137);
	assert_int_equal(rv_exit_status(42), 42);
	assert_int_equal(rv_exit_status(RV_EXIT_UNKNOWN), 1);
}

static void every_state_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < RV_STATE_COUNT; i++)
		for (int j = 0; j < i; j++)
			assert_string_not_equal(
				rv_state_name((enum rv_state)i), rv_state_name((enum rv_state)j));
	assert_string_equal(rv_state_name(RV_STOPPED), "stopped");
	assert_string_equal(rv_state_name(RV_ADOPTED), "adopted");
	assert_string_equal(rv_state_name(RV_STATE_COUNT), "?");
}

static void a_url_is_shown_without_what_may_be_secret(void **state)
{
	static const struct {
		const char *url, *shown;
	} cases[] = {
		{"http://127.0.0.1:80/a/b", "http://127.0.0.1:80/a/b"},
		{"http://h/a?key=s3cret&b=c", "http://h/a?***"},
		{"http://h?s3cret", "http://h?***"},
		{"http://user:s3cret@h:80/p@q", "http://***@h:80/p@q"},
		{"http://u:s3@cret@h/?s3cret@x", "http://***@h/?***"},
		{"not a url", "not a url"},
		{"", ""},
	};
	char to[100], small[8];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(rv_text_url(cases[i].url, to, sizeof(to)), cases[i].shown);
	assert_string_equal(rv_text_url("http://127.0.0.1/", small, sizeof(small)), "http://");
}

static void a_url_names_an_address_of_this_machine_only_when_that_is_certain(void **state)
{
	static const struct {
		const char *url, *text;
	} good[] = {{"http://127.0.0.1:8888/api?x=:1", "127.0.0.1:8888"},
		{"HTTP://127.9.9.9", "127.9.9.9:80"}, {"http://[::1]:50005", "[::1]:50005"},
		{"http://[::1]/mcp", "[::1]:80"}, {"http://0.0.0.0:7/", "127.0.0.1:7"},
		{"http://[::]:7#x", "[::1]:7"}, {"http://127.0.0.1:65535?a", "127.0.0.1:65535"},
		{"http://localhost:80/", "127.0.0.1:80"}};
	static const char *const bad[] = {"", "127.0.0.1:80", "https://127.0.0.1/",
		"http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:131073/",
		"http://127.0.0.1:8x/", "http://127.0.0.1:+8/", "http://127.0.0.1: 8/",
		"http://127.0.0.1:/", "http://127.0.0.1:000080/", "http://10.0.0.1/",
		"http://127.1:80/", "http://[::1/", "http://[::1]8/",
		"http://[::1]:", "http://::1/", "http://me@127.0.0.1:80/",
		"http://127.0.0.1:80@10.0.0.1/", "http://localhost.:80/", "http://name/",
		"http://"};
	struct rv_address a;
	char text[80];

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_true(rv_address_of_url(good[i].url, &a));
		assert_string_equal(rv_address_text(&a, text, sizeof(text)), good[i].text);
		assert_int_equal(a.either, strstr(good[i].url, "localhost") != NULL);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		if (rv_address_of_url(bad[i], &a))
			fail_msg("%s", bad[i]);
		assert_int_equal(a.port, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_duration_needs_a_unit_unless_it_is_zero),
		cmocka_unit_test(a_size_has_a_unit_of_two_or_ten),
		cmocka_unit_test(modes_integers_and_booleans_are_exactly_as_documented),
		cmocka_unit_test(a_url_is_shown_without_what_may_be_secret),
		cmocka_unit_test(a_url_names_an_address_of_this_machine_only_when_that_is_certain),
		cmocka_unit_test(an_age_has_at_most_two_units),
		cmocka_unit_test(a_duration_is_written_as_it_is_read),
		cmocka_unit_test(control_characters_and_bad_utf8_become_visible),
		cmocka_unit_test(what_is_cut_is_marked_and_keeps_whole_characters),
		cmocka_unit_test(the_nearest_name_is_one_that_can_be_meant),
		cmocka_unit_test(nearest_bears_words_of_any_length),
		cmocka_unit_test(splitting_follows_the_quotes_of_a_shell_and_expands_nothing),
		cmocka_unit_test(a_buffer_stops_at_its_bound_and_says_so),
		cmocka_unit_test(an_arena_gives_zeroed_memory_up_to_its_bound),
		cmocka_unit_test(an_error_is_a_sentence_that_grows_at_the_front),
		cmocka_unit_test(a_context_in_front_of_an_error_leaves_its_class_alone),
		cmocka_unit_test(names_and_numbers_of_signals_are_inverse),
		cmocka_unit_test(every_state_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
