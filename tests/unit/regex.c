/* Regular expressions: held against libc's, and what libc does not promise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/regex.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool matches(const char *pattern, const char *text, size_t n, unsigned part)
{
	struct rv_arena a = {0};
	struct rv_err e;
	const struct rv_regex *x = rv_regex_compile(&a, pattern, &e);
	bool found;

	if (!x)
		fail_msg("%s: %s", pattern, e.text);
	found = rv_regex_match(x, text, n, part);
	rv_arena_fini(&a);
	return found;
}

/* ---- held against libc */

struct dice {
	uint32_t seed;
};

static unsigned roll(struct dice *d, unsigned sides)
{
	d->seed = d->seed * 1664525u + 1013904223u;
	return (d->seed >> 8) % sides;
}

struct maker {
	struct dice *dice;
	char text[400];
	size_t n;
	bool anchors, braces;
};

static void put(struct maker *m, const char *s)
{
	size_t n = strlen(s);

	memcpy(m->text + m->n, s, n + 1);
	m->n += n;
}

static void make(struct maker *m, unsigned depth);

static void make_group(struct maker *m, unsigned depth, const char *end)
{
	put(m, "(");
	make(m, depth);
	put(m, ")");
	put(m, end);
}

static void make(struct maker *m, unsigned depth)
{
	static const char *const atoms[] = {"a", "b", "c", ".", "[a-b]", "[^a-b]", "\\.", "[]c]"};
	static const char *const repeats[] = {"*", "+", "?", "{2}", "{0,2}", "{1,}", "{2,3}"};

	switch (depth > 4 || m->n > 100 ? 0 : roll(m->dice, 9)) {
	case 0:
	case 1:
	case 2: put(m, atoms[roll(m->dice, COUNT(atoms))]); break;
	case 3:
		make(m, depth + 1);
		make(m, depth + 1);
		break;
	case 4:
		make_group(m, depth + 1, "");
		put(m, "|");
		make(m, depth + 1);
		break;
	case 5:
		m->braces = true;
		make_group(m, depth + 1, repeats[roll(m->dice, COUNT(repeats))]);
		break;
	case 6: make_group(m, depth + 1, ""); break;
	case 7:
		m->anchors = true;
		put(m, "^");
		make(m, depth + 1);
		break;
	case 8:
		m->anchors = true;
		make(m, depth + 1);
		put(m, "$");
		break;
	}
}

static void as_libc_does(void **state)
{
	struct dice dice = {1};
	unsigned matched = 0, asked = 0;

	(void)state;
	for (int i = 0; i < 4000; i++) {
		struct maker m = {.dice = &dice};
		regex_t libc;

		make(&m, 0);
		/* glibc takes an anchor within a repeated group for one that always holds. */
		if (m.anchors && m.braces)
			continue;
		if (regcomp(&libc, m.text, REG_EXTENDED | REG_NOSUB))
			fail_msg("libc refuses %s", m.text);
		for (int k = 0; k < 10; k++) {
			char text[12] = "";
			unsigned n = roll(&dice, 10), part = roll(&dice, 4);
			bool theirs;

			for (unsigned c = 0; c < n; c++)
				text[c] = "abc.]d"[roll(&dice, 6)];
			theirs = !regexec(&libc, text, 0, NULL,
				(part & RV_REGEX_NOT_BOL ? REG_NOTBOL : 0) |
					(part & RV_REGEX_NOT_EOL ? REG_NOTEOL : 0));
			if (matches(m.text, text, n, part) != theirs)
				fail_msg("%s on '%s' (%u): libc says %d", m.text, text, part,
					theirs);
			matched += theirs;
			asked++;
		}
		regfree(&libc);
	}
	assert_in_range(matched, asked / 4, asked - asked / 10); /* the dice roll both */
}

/* ---- what libc does not promise */

static void anchors_within_repeats_hold(void **state)
{
	(void)state;
	assert_true(matches("(^a|b){2}", "xbb", 3, 0));
	assert_false(matches("(a$){2}", "aa", 2, 0));
	assert_true(matches("(a$|^b)+", "bac", 3, 0));
}

static void bytes_of_any_value_are_text(void **state)
{
	(void)state;
	assert_true(matches("a.b", "xa\0b", 4, 0));
	assert_true(matches("^[^x]{3}$", "\0\xff\n", 3, 0));
	assert_true(matches("caf\xc3\xa9", "ein caf\xc3\xa9!", 10, 0));
	assert_true(matches("[[:space:]][[:digit:]]+$", "port\t49999", 10, 0));
	assert_false(matches("[[:alpha:]]", "\xc3\xa9 1", 4, 0));
}

/* The alarm is the bound: these would take a backtracking matcher longer than the sun will last, and a
   lazy one all memory. */
static void no_expression_and_no_text_takes_long(void **state)
{
	static const char *const hard[] = {"(a*)*b", "(a|aa)*(a|aa)*(a|aa)*b", "a.*a.*a.*a.*b",
		"(.*a){20}b", "(a{0,20}){20}b", "x.{200}y|a.{200}b"};
	enum { SIZE = 65536 };
	char *text = malloc(SIZE);

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		text[i] = "aaax"[i * 2654435761u >> 7 & 3];
	for (size_t i = 0; i < COUNT(hard); i++)
		assert_false(matches(hard[i], text, SIZE, 0));
	free(text);
}

static void a_wrong_expression_is_told_with_its_place(void **state)
{
	static const char *const wrong[][2] = {{"", "empty"},
		{"a||b", "nothing stands before | at byte 3"},
		{"a|", "nothing stands before the end at byte 3"},
		{"()", "nothing stands before ) at byte 2"},
		{"a(b", "unmatched ( at byte 2; write \\( for the character"},
		{"a)", "unmatched ) at byte 2; write \\) for the character"},
		{"a[b", "unmatched [ at byte 2"}, {"a[]", "unmatched [ at byte 2"},
		{"*a", "* at byte 1 has nothing to repeat; write \\* for the character"},
		{"(+a)", "+ at byte 2 has nothing to repeat; write \\+ for the character"},
		{"^*", "* at byte 2 has nothing to repeat; write \\* for the character"},
		{"{\"a\"", "{ at byte 1 has nothing to repeat; write \\{ for the character"},
		{"a{b}", "{ at byte 2 begins no {n}, {n,} or {n,m}; write \\{ for the character"},
		{"a{2", "{ at byte 2 begins no {n}, {n,} or {n,m}; write \\{ for the character"},
		{"a{3,2}", "{ at byte 2 begins no {n}, {n,} or {n,m}; write \\{ for the character"},
		{"a{,2}", "{ at byte 2 begins no {n}, {n,} or {n,m}; write \\{ for the character"},
		{"a{256}", "more than 255 repeats at byte 2"},
		{"a{1,99999999999}", "more than 255 repeats at byte 2"},
		{"(((a{200}){200}){200})",
			"too large: it may have 1023 steps, repeats written out"},
		{"a\\d",
			"\\ at byte 2 stands before a letter, digit or blank: it only makes "
			"punctuation literal (digits are [0-9], blanks [[:space:]])"},
		{"(a)\\1",
			"\\ at byte 4 stands before a letter, digit or blank: it only makes "
			"punctuation literal (digits are [0-9], blanks [[:space:]])"},
		{"a\\",
			"\\ at byte 2 stands before the end: it only makes punctuation literal "
			"(digits are [0-9], blanks [[:space:]])"},
		{"[[:foo:]]", "[: at byte 2 begins no class such as [:alpha:] or [:digit:]"},
		{"[z-a]", "a range from z down to a at byte 2"},
		{"[[.a.]]", "[. within brackets at byte 2 is not supported"},
		{"[\xc3\xa9]",
			"a character that is not ASCII within brackets at byte 2: use ( | )"},
		{"((((((((((((((((((((((((((((((((a", "more than 31 levels of ("}};

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct rv_arena a = {0};
		struct rv_err e = {0};

		if (rv_regex_compile(&a, wrong[i][0], &e))
			fail_msg("accepted: %s", wrong[i][0]);
		assert_string_equal(e.text, wrong[i][1]);
		rv_arena_fini(&a);
	}
}

static void memory_that_is_refused_is_told(void **state)
{
	struct rv_arena a = {.max = 100};
	struct rv_err e = {0};

	(void)state;
	assert_null(rv_regex_compile(&a, "[a-z]+[0-9]+[a-z]+[0-9]+", &e));
	assert_string_equal(e.text, "out of memory");
	rv_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_libc_does),
		cmocka_unit_test(anchors_within_repeats_hold),
		cmocka_unit_test(bytes_of_any_value_are_text),
		cmocka_unit_test(no_expression_and_no_text_takes_long),
		cmocka_unit_test(a_wrong_expression_is_told_with_its_place),
		cmocka_unit_test(memory_that_is_refused_is_told),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
