/* A refused allocation, wherever it comes, is an answer: a complaint, no conf, nothing leaked. */
#include "conf_help.h"

#include <errno.h>

/* Counts down to the allocation that fails; negative: none. */
static long left = -1;
static bool and_all_after; /* not only this one */

static bool fails(void)
{
	if (left < 0 || (left && left--))
		return false;
	if (!and_all_after)
		left = -1;
	errno = ENOMEM;
	return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

static struct rv_conf *read_with(long nth, struct rv_complaints *c)
{
	static const char *const paths[] = {"t.yaml", "u.yaml", NULL};
	static const char *const command[] = {"sh", NULL};
	static const char *const environment[] = {"A=a", NULL};
	struct rv_conf *conf = NULL;
	struct rv_draft *d;

	left = nth;
	d = rv_draft_read(paths, "/p", command, c);
	if (d)
		conf = rv_conf_build(d, NULL, 0, environment, NULL, NULL, NULL, c);
	rv_draft_destroy(d);
	if (conf && !rv_conf_plan(conf, NULL, c)) {
		rv_conf_destroy(conf);
		conf = NULL;
	}
	return conf;
}

static void print(const struct rv_conf *conf, struct rv_buf *to)
{
	rv_buf_clear(to);
	rv_conf_print(conf, to);
	assert_false(to->full);
}

/* How many allocations there were. */
static long refuse_each(void)
{
	struct rv_complaints none = {0};
	struct rv_buf whole = {0}, text = {0};
	struct rv_conf *unharmed = read_with(-1, &none);
	bool done = false;
	long n = 0;

	assert_non_null(unharmed);
	print(unharmed, &whole);
	rv_conf_destroy(unharmed);
	for (; !done && n < 5000; n++) {
		struct rv_complaints c = {0};
		struct rv_conf *conf = read_with(n, &c);

		done = left > 0;
		left = -1;
		/* The text may be missing where there was no memory for it, but never the count. */
		if (!conf && !c.errors)
			fail_msg("allocation %ld: refused without a complaint", n);
		if (conf) {
			print(conf, &text);
			if (c.errors || strcmp(rv_buf_text(&text), rv_buf_text(&whole)) != 0)
				fail_msg("allocation %ld: accepted with something missing", n);
		}
		rv_conf_destroy(conf);
		rv_complaints_fini(&c);
	}
	rv_buf_fini(&text);
	rv_buf_fini(&whole);
	assert_true(done);
	return n;
}

static void every_refused_allocation_is_survived(void **state)
{
	struct rv_buf b = {0};

	(void)state;
	rv_buf_str(&b, "services:\n");
	/* Enough for several blocks of the arenas and for every growing list. */
	for (int i = 0; i < 60; i++)
		rv_buf_fmt(&b,
			"  s%d: &a%d {command: \"x '%d ${env.A}'\", environment: {A: 1, B: 2}, "
			"ports: "
			"[%d], needs: [%s], log: {keep: 1}, listen: [{name: u, unix: /u%d}]}\n",
			i, i, i, 1000 + i, i ? "s0" : "", i);
	rv_buf_str(&b,
		"  r:\n    command: x\n    ready:\n      log-line: '^up [0-9]+$'\n      http:\n"
		"        url: http://127.0.0.1/\n        headers: {A: '${env.A}', B: b}\n"
		"        status: [204, 3xx]\n        json: {a: {b: c, d: 1}, e: null}\n"
		"        body: x\n        regex: '^(a|b)+$'\n        send: '${env.A}'\n"
		"  q: {command: x, ready: {http: {url: http://127.0.0.1/, json: [a, b/c]}}}\n");
	write_file("t.yaml", rv_buf_text(&b));
	write_file("u.yaml", "services: {s1: {override: replace, command: y}, z: {command: x}}\n");
	rv_buf_fini(&b);
	for (int i = 0; i < 2; i++) {
		and_all_after = i;
		assert_true(refuse_each() > 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_refused_allocation_is_survived),
	};

	return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
