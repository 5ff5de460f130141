/* The small parts of the mind: sets, deadlines, the diff of two plans, the shape of a block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/bits.h"
#include "core/core.h"
#include "core/deadline.h"

#define MANY 5000

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *seed >> 33;
}

static void a_set_is_walked_up_and_down_in_order(void **state)
{
	uint64_t *b = calloc(rv_bits_words(MANY), sizeof(*b)), seed = 1;
	bool *in = calloc(MANY, sizeof(*in));
	size_t found = 0, count = 0;

	(void)state;
	assert_int_equal(rv_bits_up(b, MANY, 0), RV_BITS_END);
	assert_int_equal(rv_bits_down(b, MANY, MANY), RV_BITS_END);
	for (int i = 0; i < 300; i++) {
		size_t x = next(&seed) % MANY;
		in[x] = i % 3 != 0;
		if (in[x])
			rv_bits_add(b, MANY, x);
		else
			rv_bits_remove(b, MANY, x);
	}
	for (size_t i = 0; i < MANY; i++)
		count += in[i];
	for (size_t r = rv_bits_up(b, MANY, 0); r != RV_BITS_END; r = rv_bits_up(b, MANY, r + 1))
		found += in[r];
	assert_int_equal(found, count);
	for (size_t r = rv_bits_down(b, MANY, MANY); r != RV_BITS_END; r = rv_bits_down(b, MANY, r))
		found -= in[r];
	assert_int_equal(found, 0);
	free(b);
	free(in);
}

static void the_edges_of_a_set_are_members_too(void **state)
{
	static const size_t sizes[] = {1, 63, 64, 65, 4096, 4097};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n = sizes[i];
		uint64_t *b = calloc(rv_bits_words(n), sizeof(*b));
		rv_bits_add(b, n, n - 1);
		assert_true(rv_bits_has(b, n - 1));
		assert_int_equal(rv_bits_up(b, n, 0), n - 1);
		assert_int_equal(rv_bits_down(b, n, n), n - 1);
		assert_int_equal(rv_bits_down(b, n, n - 1), RV_BITS_END);
		rv_bits_remove(b, n, n - 1);
		assert_int_equal(rv_bits_up(b, n, 0), RV_BITS_END);
		free(b);
	}
}

static void the_first_deadline_is_the_earliest_of_all(void **state)
{
	rv_time *tree = calloc(rv_deadline_room(MANY), sizeof(*tree)),
		*plain = calloc(MANY, sizeof(*plain));
	uint64_t seed = 2;

	(void)state;
	rv_deadline_init(tree, MANY);
	for (size_t i = 0; i < MANY; i++)
		plain[i] = RV_NEVER;
	assert_true(rv_deadline_first(tree) == RV_NEVER);
	for (int i = 0; i < 500; i++) {
		size_t at = next(&seed) % MANY, best = 0;
		plain[at] = i % 4 ? (rv_time)next(&seed) : RV_NEVER;
		rv_deadline_set(tree, MANY, at, plain[at]);
		for (size_t k = 1; k < MANY; k++)
			if (plain[k] < plain[best])
				best = k;
		assert_true(rv_deadline_first(tree) == plain[best]);
		if (plain[best] != RV_NEVER)
			assert_int_equal(rv_deadline_place(tree, MANY), best);
	}
	free(tree);
	free(plain);
}

static void a_diff_tells_what_a_reload_would_do_to_each_slot(void **state)
{
	const struct rv_edge one = {.on = 0, .kind = RV_NEEDS, .until = RV_UNTIL_READY};
	const struct rv_edge other = {.on = 0, .kind = RV_WANTS, .until = RV_UNTIL_READY};
	struct rv_node a[6] = {{0}}, b[7] = {{0}};
	struct rv_plan old = {.nodes = 6, .node = a, .edges = &one},
		       new = {.nodes = 7, .node = b, .edges = &other};
	uint8_t change[7];

	(void)state;
	for (int i = 0; i < 6; i++)
		a[i] = b[i] = (struct rv_node){.present = true, .digest = 7, .tuning = 3};
	b[1].digest = 8;
	b[2].tuning = 4;
	b[3].present = false;
	a[4].present = false;
	a[5].edge_count = b[5].edge_count = 1;
	b[6].present = true;
	rv_plan_diff(&old, &new, change);
	assert_int_equal(change[0], RV_SAME);
	assert_int_equal(change[1], RV_CHANGED);
	assert_int_equal(change[2], RV_TUNED);
	assert_int_equal(change[3], RV_REMOVED);
	assert_int_equal(change[4], RV_ADDED);
	assert_int_equal(change[5], RV_TUNED);
	assert_int_equal(change[6], RV_ADDED);
}

static void an_empty_plan_boots_and_is_over_at_once(void **state)
{
	struct rv_plan p = {.exit_from = RV_NO_ID};
	struct rv_core *c = malloc(rv_core_size(&p));
	struct rv_action v[8];
	struct rv_actions out = {v, 0, 8};
	struct rv_event e = {.kind = RV_EV_BOOT, .id = RV_NO_ID};

	(void)state;
	memset(c, 0xa5, rv_core_size(&p)); /* its memory need not be zeroed */
	rv_core_init(c, &p, 1);
	assert_true(rv_core_deadline(c) == RV_NEVER);
	rv_core_apply(c, 0, &e, &out);
	rv_core_settle(c, 0, &out);
	assert_int_equal(out.n, 1);
	assert_int_equal(v[0].kind, RV_ACT_BOOT);
	assert_int_equal(rv_core_boot(c), RV_BOOT_DONE);
	e.kind = RV_EV_SHUTDOWN;
	rv_core_apply(c, 0, &e, &out);
	rv_core_settle(c, 0, &out);
	assert_int_equal(v[1].kind, RV_ACT_OVER);
	assert_int_equal(v[1].end, RV_END_REQUEST);
	free(c);
}

/* One service with an update hook, from START to ready, and its end. */
static void the_parts_of_a_start_are_told_while_and_after_it_lives(void **state)
{
	const struct rv_node n = {.present = true,
		.enabled = true,
		.essential = true,
		.proof = RV_PROOF_PROBE,
		.hooks = RV_HAS(RV_HOOK_UPDATE),
		.ready_timeout = 30 * RV_SEC,
		.start_attempts = 1};
	const rv_id order[] = {0};
	const struct rv_plan p = {
		.nodes = 1, .node = &n, .present = 1, .order = order, .exit_from = RV_NO_ID};
	static const struct {
		rv_time at;
		struct rv_event e;
		uint32_t spawn_us, proof_us, init_us; /* afterwards */
	} steps[] = {
		{RV_SEC, {.kind = RV_EV_INFORM, .id = RV_NO_ID}, RV_NOT_YET, RV_NOT_YET,
			RV_NOT_YET},
		{RV_SEC, {.kind = RV_EV_BOOT, .id = RV_NO_ID}, RV_NOT_YET, RV_NOT_YET, RV_NOT_YET},
		{RV_SEC + 2 * RV_MS, {.kind = RV_EV_SPAWNED, .generation = 1}, 2000, RV_NOT_YET,
			RV_NOT_YET},
		{RV_SEC + 5 * RV_MS, {.kind = RV_EV_PROVED, .generation = 1}, 2000, 3000,
			RV_NOT_YET},
		{RV_SEC + 12 * RV_MS,
			{.kind = RV_EV_HOOK_DONE, .hook = RV_HOOK_UPDATE, .generation = 1}, 2000,
			3000, 7000},
		{2 * RV_SEC, {.kind = RV_EV_EXITED, .generation = 1}, 2000, 3000, 7000},
		{2 * RV_SEC, {.kind = RV_EV_GONE, .generation = 1}, 2000, 3000, 7000},
	};
	struct rv_core *c = malloc(rv_core_size(&p));
	struct rv_action v[32];

	(void)state;
	rv_core_init(c, &p, 1);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct rv_actions out = {v, 0, 32};
		struct rv_look l;

		rv_core_apply(c, steps[i].at, &steps[i].e, &out);
		rv_core_settle(c, steps[i].at, &out);
		l = rv_core_look(c, 0);
		assert_int_equal(l.spawn_us, steps[i].spawn_us);
		assert_int_equal(l.proof_us, steps[i].proof_us);
		assert_int_equal(l.init_us, steps[i].init_us);
	}
	assert_int_equal(rv_core_look(c, 0).state, RV_EXITED);
	free(c);
}

/* One that is being told, hears of other variables, and has its plugin disabled, all in one turn. */
static void an_answer_says_which_variables_it_is_about(void **state)
{
	const struct rv_node n = {.present = true,
		.enabled = true,
		.proof = RV_PROOF_PROBE,
		.hooks = RV_HAS(RV_HOOK_UPDATE),
		.ready_timeout = 30 * RV_SEC,
		.start_attempts = 1};
	const rv_id order[] = {0};
	const struct rv_plan p = {
		.nodes = 1, .node = &n, .present = 1, .order = order, .exit_from = RV_NO_ID};
	const struct rv_event before[] = {{.kind = RV_EV_BOOT, .id = RV_NO_ID},
		{.kind = RV_EV_SPAWNED, .generation = 1}, {.kind = RV_EV_PROVED, .generation = 1},
		{.kind = RV_EV_INFORM, .id = RV_NO_ID, .generation = 1}};
	const struct rv_event at_once[] = {
		{.kind = RV_EV_HOOK_DONE, .hook = RV_HOOK_UPDATE, .generation = 1},
		{.kind = RV_EV_INFORM, .id = RV_NO_ID, .generation = 2},
		{.kind = RV_EV_DISABLED, .verdict = RV_FAIL}};
	struct rv_core *c = malloc(rv_core_size(&p));
	struct rv_action v[32];
	struct rv_actions out = {v, 0, 32};

	(void)state;
	rv_core_init(c, &p, 1);
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
		out.n = 0;
		rv_core_apply(c, RV_SEC, &before[i], &out);
		rv_core_settle(c, RV_SEC, &out);
	}
	assert_true(rv_core_look(c, 0).flags & RV_LOOK_UNTOLD);
	out.n = 0;
	for (size_t i = 0; i < sizeof(at_once) / sizeof(*at_once); i++)
		rv_core_apply(c, RV_SEC, &at_once[i], &out);
	rv_core_settle(c, RV_SEC, &out);
	assert_int_equal(out.n, 2);
	assert_int_equal(v[0].kind, RV_ACT_TOLD);
	assert_int_equal(v[0].inform, 1);
	assert_int_equal(v[0].verdict, RV_OK);
	assert_int_equal(v[1].kind, RV_ACT_TOLD);
	assert_int_equal(v[1].inform, 2);
	assert_int_equal(v[1].verdict, RV_FAIL);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_is_walked_up_and_down_in_order),
		cmocka_unit_test(the_edges_of_a_set_are_members_too),
		cmocka_unit_test(the_first_deadline_is_the_earliest_of_all),
		cmocka_unit_test(a_diff_tells_what_a_reload_would_do_to_each_slot),
		cmocka_unit_test(an_empty_plan_boots_and_is_over_at_once),
		cmocka_unit_test(the_parts_of_a_start_are_told_while_and_after_it_lives),
		cmocka_unit_test(an_answer_says_which_variables_it_is_about),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
