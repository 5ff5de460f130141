/* Create-time variables as values: which are taken, which are refused, and what is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/variables.h"

#define MARKER "v4lue"

/* What is said when the one variable is refused; "": it was taken. */
static const char *say_of(const char *name, const char *value)
{
	static char said[1000];
	struct rv_variables v = {0};
	struct rv_buf why = {0};
	bool good = rv_variables_add(&v, name, strlen(name), value, &why);

	snprintf(said, sizeof(said), "%s", rv_buf_text(&why));
	assert_int_equal(good, !*said);
	assert_int_equal(v.count, good);
	rv_buf_fini(&why);
	rv_variables_fini(&v);
	return said;
}

static char *long_text(size_t n)
{
	char *s = malloc(n + 1);

	memset(s, 'x', n);
	s[n] = 0;
	return s;
}

static void names_are_letters_digits_and_underscores(void **state)
{
	static const char *const good[] = {"A", "_", "a1", "_1", "PATHS", "MY_PATH", "PYTHONPATH2",
		"ENVS", "LD_PRELOADED", "REEVE", "LISTEN", "NOTIFY_SOCKETS", "__"};
	static const char *const bad[] = {
		"", "1", "1A", "A-B", "A B", " A", "A ", "A.B", "A=B", "\xc3\x84", "A\n", "$A"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_string_equal(say_of(good[i], ""), "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_non_null(strstr(say_of(bad[i], ""), "is no name for a variable"));
	/* each complaint is a line */
	assert_string_equal(say_of("A\nB", ""),
		"A\\nB is no name for a variable: letters, digits and _, not a digit first");
}

static void what_changes_which_code_is_run_is_refused_in_any_case(void **state)
{
	static const char *const bad[] = {"BASH_ENV", "ENV", "LD_PRELOAD", "LD_AUDIT",
		"LD_LIBRARY_PATH", "LD_ORIGIN_PATH", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH",
		"GCONV_PATH", "PATH", "PYTHONPATH", "NODE_PATH", "JAVA_TOOL_OPTIONS",
		"_JAVA_OPTIONS", "GEM_PATH", "RUBYOPT", "RUBYLIB", "PERL5LIB", "PERLLIB",
		"CLASSPATH", "IFS", "path", "Ld_Preload", "iFS", "_java_options"};
	static const char *const ours[] = {"REEVE_X", "LISTEN_FDS", "NOTIFY_SOCKET"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_non_null(strstr(say_of(bad[i], "x"), "changes which code is run"));
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		assert_non_null(strstr(say_of(ours[i], "x"), "reeve uses it itself"));
}

static void values_are_text_without_line_ends(void **state)
{
	static const char *const good[] = {"", " ", "a\tb", "'\"\\$`", "=", "\xc3\xa4\xe2\x82\xac"};
	static const char *const bad[] = {"a\nb", "a\rb", "\x01", "\x1b[0m", "\x7f", "\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_string_equal(say_of("A", good[i]), "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_non_null(strstr(say_of("A", bad[i]), "control character"));
	assert_non_null(strstr(say_of("A", "\xff"), "not UTF-8"));
	assert_null(strstr(say_of("A", MARKER "\n"), MARKER));
}

static void the_bounds_of_one_are_exact(void **state)
{
	char *name = long_text(257), *value = long_text(4097);

	(void)state;
	assert_non_null(strstr(say_of(name, ""), "257 bytes, at most 256"));
	assert_non_null(strstr(say_of("A", value), "4097 bytes, at most 4096"));
	name[256] = value[4096] = 0;
	assert_string_equal(say_of(name, value), "");
	free(name);
	free(value);
}

/* As an object their JSON has exactly so many bytes. */
static void make_sum(struct rv_variables *v, size_t bytes)
{
	struct rv_buf why = {0}, json = {0};
	char *value = long_text(4096);

	for (char c[] = "A"; c[0] < 'D'; c[0]++)
		assert_true(rv_variables_add(v, c, 1, value, &why));
	assert_true(rv_variables_add(v, "D", 1, "", &why));
	rv_variables_put(v, &json);
	value[bytes - json.len] = 0;
	free(v->list[3]);
	v->list[3] = malloc(strlen(value) + 3);
	snprintf(v->list[3], strlen(value) + 3, "D=%s", value);
	free(value);
	rv_buf_fini(&json);
}

static void the_bound_of_all_is_exact(void **state)
{
	struct rv_variables v = {0}, w = {0};
	struct rv_buf why = {0};

	(void)state;
	make_sum(&v, 16384);
	assert_true(rv_variables_fit(&v, &why));
	make_sum(&w, 16385);
	assert_false(rv_variables_fit(&w, &why));
	assert_non_null(strstr(rv_buf_text(&why), "16385 bytes as a JSON object, at most 16384"));
	rv_buf_fini(&why);
	rv_variables_fini(&v);
	rv_variables_fini(&w);
}

static void a_request_has_them_under_one_of_two_names(void **state)
{
	static const struct {
		const char *text, *names; /* NULL: refused */
	} rows[] = {
		{"{\"envVars\":{\"A\":\"1\",\"B\":\"\"}}", "A, B"},
		{" {\"x\":[1,{\"envVars\":{\"N\":\"\"}}],\"envs\":{\"A\":\"1\"},\"y\":null}\n",
			"A"},
		{"{\"envVars\":null}", ""},
		{"{}", ""},
		{"{\"timeout\":3,\"templateID\":\"x\"}", ""},
		{"{\"envVars\":{},\"envs\":{}}", NULL},
		{"{\"envVars\":{},\"envVars\":{}}", NULL},
		{"{\"envs\":null,\"envVars\":{\"A\":\"1\"}}", NULL},
		{"{\"A\":\"1\"}", NULL},
		{"{\"envVars\":\"A=1\"}", NULL},
		{"{\"envVars\":[\"A\"]}", NULL},
		{"{\"envVars\":{\"A\":1}}", NULL},
		{"{\"envVars\":{\"A\":null}}", NULL},
		{"{\"envVars\":{\"A\":\"1\",\"A\":\"1\"}}", NULL},
		{"{\"envVars\":{\"A\":\"x\\u0000y\"}}", NULL},
		{"[]", NULL},
		{"", NULL},
		{"null", NULL},
		{"{\"envVars\":{}} {}", NULL},
		{"{\"envVars\":{\"A\":\"1\"}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rv_buf why = {0}, names = {0};
		struct rv_variables v = {0};
		bool good = rv_variables_read(&v, rows[i].text, strlen(rows[i].text), &why);

		if (good != !!rows[i].names || good == !!why.len)
			fail_msg("%s: %s", rows[i].text, rv_buf_text(&why));
		rv_variables_name(&v, &names);
		if (rows[i].names)
			assert_string_equal(rv_buf_text(&names), rows[i].names);
		rv_buf_fini(&why);
		rv_buf_fini(&names);
		rv_variables_fini(&v);
	}
}

static void all_mistakes_are_told_and_no_value(void **state)
{
	static const char text[] = "{\"envs\":{\"GOOD\":\"" MARKER "\",\"1\":\"" MARKER
				   "\",\"PATH\":\"" MARKER "\",\"LINE\":\"" MARKER
				   "\\n\",\"N\":3}}";
	struct rv_variables v = {0};
	struct rv_buf why = {0};
	size_t lines = 1;

	(void)state;
	assert_false(rv_variables_read(&v, text, strlen(text), &why));
	for (size_t i = 0; i < why.len; i++)
		lines += why.data[i] == '\n';
	assert_int_equal(lines, 4);
	assert_null(strstr(why.data, MARKER));
	assert_null(strstr(why.data, "GOOD"));
	rv_buf_fini(&why);
	rv_variables_fini(&v);
}

static void later_ones_are_laid_over_those_of_before(void **state)
{
	struct rv_variables a = {0}, b = {0};
	struct rv_buf why = {0}, json = {0};

	(void)state;
	assert_true(rv_variables_add(&a, "A", 1, "1", &why));
	assert_true(rv_variables_add(&a, "AB", 2, "2", &why));
	assert_true(rv_variables_add(&b, "AB", 2, "\"", &why));
	assert_true(rv_variables_add(&b, "C", 1, "3", &why));
	assert_true(rv_variables_lay(&a, &b));
	rv_variables_put(&a, &json);
	assert_string_equal(rv_buf_text(&json), "{\"A\":\"1\",\"AB\":\"\\\"\",\"C\":\"3\"}");
	assert_string_equal(rv_variables_find(&a, "ABC", 2), "\"");
	assert_null(rv_variables_find(&a, "B", 1));
	rv_buf_fini(&json);
	rv_variables_fini(&a);
	rv_variables_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_letters_digits_and_underscores),
		cmocka_unit_test(what_changes_which_code_is_run_is_refused_in_any_case),
		cmocka_unit_test(values_are_text_without_line_ends),
		cmocka_unit_test(the_bounds_of_one_are_exact),
		cmocka_unit_test(the_bound_of_all_is_exact),
		cmocka_unit_test(a_request_has_them_under_one_of_two_names),
		cmocka_unit_test(all_mistakes_are_told_and_no_value),
		cmocka_unit_test(later_ones_are_laid_over_those_of_before),
	};

	return cmocka_run_group_tests_name("wire_variables", tests, NULL, NULL);
}
