/* The termination report: always JSON, never more than it may be, and the end of what was written rather than its start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <cjson/cJSON.h>

#include "daemon/endreport.h"
#include "wire/json.h"

static cJSON *reread(const struct rv_report *r, size_t *size)
{
	struct rv_buf b = {0};
	cJSON *tree;

	rv_report_put(r, &b);
	assert_true(b.len < RV_REPORT_MAX);
	assert_true(rv_json_is_text(b.data, b.len));
	assert_null(memchr(b.data, '\n', b.len));
	*size = b.len;
	tree = cJSON_ParseWithLength(b.data, b.len);
	if (!tree)
		fail_msg("no JSON: %s", b.data);
	rv_buf_fini(&b);
	return tree;
}

static struct rv_report blank(void)
{
	return (struct rv_report){.what = "boot-failed",
		.status = 10,
		.complete = true,
		.exit = RV_EXIT_UNKNOWN,
		.lines = "",
		.beside = "",
		.boot = -1,
		.run = 5 * RV_MS,
		.stop = -1};
}

static const char *text(const cJSON *tree, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(tree, key));
}

static void what_is_not_known_is_null_or_empty(void **state)
{
	struct rv_report r = blank();
	size_t size;
	cJSON *tree = reread(&r, &size);

	(void)state;
	assert_string_equal(text(tree, "what"), "boot-failed");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(tree, "service")));
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(tree, "why")));
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(tree, "exit")));
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(tree, "boot_ms")));
	assert_int_equal(cJSON_GetObjectItem(tree, "run_ms")->valueint, 5);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "last_lines")), 0);
	assert_null(cJSON_GetObjectItem(tree, "secondary_left_out"));
	assert_null(cJSON_GetObjectItem(tree, "services_left_out"));
	assert_string_equal(text(tree, "started_at"), "1970-01-01T00:00:00Z");
	cJSON_Delete(tree);
}

static void lines_are_split_and_the_last_ones_stay(void **state)
{
	static const struct {
		const char *lines;
		int count;
		const char *first, *last;
	} t[] = {
		{"a", 1, "a", "a"},
		{"a\n", 1, "a", "a"},
		{"a\n\nb\n\n\n", 3, "a", "b"},
		{"\na", 2, "", "a"},
		{"\n\n", 0, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct rv_report r = blank();
		size_t size;
		cJSON *tree, *list;

		r.lines = t[i].lines;
		r.lines_len = strlen(t[i].lines);
		tree = reread(&r, &size);
		list = cJSON_GetObjectItem(tree, "last_lines");
		assert_int_equal(cJSON_GetArraySize(list), t[i].count);
		if (t[i].count) {
			assert_string_equal(cJSON_GetArrayItem(list, 0)->valuestring, t[i].first);
			assert_string_equal(
				cJSON_GetArrayItem(list, t[i].count - 1)->valuestring, t[i].last);
		}
		cJSON_Delete(tree);
	}
}

static void what_is_too_long_is_cut_between_characters_and_says_so(void **state)
{
	struct rv_report r = blank();
	char why[3001];
	size_t size, n;
	cJSON *tree;

	(void)state;
	for (int shift = 0; shift < 4; shift++) {
		memset(why, 'x', (size_t)shift);
		for (size_t i = (size_t)shift; i + 3 < sizeof(why); i += 3)
			memcpy(why + i, "\xe2\x82\xac", 4); /* a euro sign and the end */
		r.why = why;
		tree = reread(&r, &size);
		n = strlen(text(tree, "why"));
		assert_true(n > 500 && n <= 600);
		assert_string_equal(text(tree, "why") + n - 3, "...");
		assert_int_equal((n - 3 - (size_t)shift) % 3, 0);
		cJSON_Delete(tree);
	}
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Bytes of any kind, more often than not of those that grow when they are written. */
static void fill(char *to, size_t n, uint32_t *seed)
{
	static const char nasty[] = "\"\\\n\t\x01\x1b\x7f\xff\xc3\xa9 a";

	for (size_t i = 0; i < n; i++)
		to[i] = (char)(next(seed) % 4 ? nasty[next(seed) % (sizeof(nasty) - 1)]
					      : (char)next(seed));
}

static void whatever_comes_together_it_is_json_and_fits(void **state)
{
	static char lines[5000], beside[4000], why[900], other[900], names[80][101];
	struct rv_report_service list[80];
	uint32_t seed = 7;
	size_t size, most = 0;

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct rv_report r = blank();
		cJSON *tree, *left_out;
		int shown;

		fill(lines, sizeof(lines), &seed);
		fill(beside, sizeof(beside), &seed);
		fill(why, sizeof(why), &seed);
		fill(other, sizeof(other), &seed);
		beside[sizeof(beside) - 1] = why[next(&seed) % sizeof(why)] = 0;
		why[sizeof(why) - 1] = other[sizeof(other) - 1] = 0;
		r.why = why;
		r.service_count = next(&seed) % 80;
		for (size_t i = 0; i < r.service_count; i++) {
			size_t len = 1 + next(&seed) % 100;

			memset(names[i], 'n', len);
			names[i][len] = 0;
			list[i] = (struct rv_report_service){names[i], RV_FAILED, RV_EXIT_SIGNAL(9),
				next(&seed) % 2 ? other : "", {-1, 12345678, 1}};
		}
		r.services = list;
		r.service = names[0];
		r.lines = lines;
		r.lines_len = next(&seed) % sizeof(lines);
		r.beside = beside;
		r.beside_len = next(&seed) % 2 ? sizeof(beside) : 0;
		tree = reread(&r, &size);
		most = size > most ? size : most;
		shown = cJSON_GetArraySize(cJSON_GetObjectItem(tree, "services"));
		left_out = cJSON_GetObjectItem(tree, "services_left_out");
		assert_int_equal(shown + (left_out ? left_out->valueint : 0), (int)r.service_count);
		cJSON_Delete(tree);
	}
	assert_true(most > RV_REPORT_MAX - 700); /* what there is room for is used */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_known_is_null_or_empty),
		cmocka_unit_test(lines_are_split_and_the_last_ones_stay),
		cmocka_unit_test(what_is_too_long_is_cut_between_characters_and_says_so),
		cmocka_unit_test(whatever_comes_together_it_is_json_and_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
