/* The search for a launcher's daemon where nothing names it: see mainpid.h. Real processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/mainpid.h"
#include "daemon/proc.h"

static int exits;

static void exited(void *ctx, rv_id id, uint64_t generation, rv_exit how)
{
	(void)ctx;
	(void)id;
	(void)generation;
	assert_int_equal(how, 0);
	exits++;
}

static void gone(void *ctx, rv_id id, uint64_t generation)
{
	(void)ctx;
	(void)id;
	(void)generation;
}

/* Leaves a process behind at once; that one does the same for each byte that comes, and tells who it is. */
__attribute__((noreturn)) static void launch(int orders, int told)
{
	char byte;

	setsid();
	for (;;) {
		pid_t self, pid = fork();

		if (pid)
			_exit(pid < 0);
		self = getpid();
		if (write(told, &self, sizeof(self)) != sizeof(self) || read(orders, &byte, 1) != 1)
			_exit(0);
	}
}

static pid_t start_launcher(struct rv_reaper *r, int orders[2], int told[2])
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		close(orders[1]);
		launch(orders[0], told[1]);
	}
	rv_reaper_add_life(r, 0, 1, pid, "mark-of-it");
	rv_reaper_expect_heir(r, 0);
	return pid;
}

static pid_t next_process(int told)
{
	pid_t pid = 0;

	assert_int_equal(read(told, &pid, sizeof(pid)), sizeof(pid));
	return pid;
}

/* Turns until only `pid` is left of the life. */
static void settle(struct rv_reaper *r, pid_t pid)
{
	bool alone = false;

	for (int i = 0; i < 2000 && !(alone && exits); i++) {
		struct rv_pids all = {0};

		rv_reaper_turn(r);
		rv_reaper_list(r, 0, &all);
		alone = all.count == 1 && all.at[0] == pid;
		rv_pids_fini(&all);
		poll(NULL, 0, alone && exits ? 0 : 5);
	}
	assert_true(alone && exits);
}

static void one_that_is_seen_once_may_be_on_its_way(void **state)
{
	static const struct rv_reaper_ops ops = {exited, gone};
	struct rv_reaper *r = rv_reaper_create(1, &ops, NULL);
	const struct rv_service s = {.name = "s", .type = RV_LAUNCHER};
	const struct rv_main_pid how = {.by = RV_MAIN_TREE};
	struct rv_seek k = {0};
	pid_t first, second, pid = 0;
	int orders[2], told[2];
	struct rv_err why;

	(void)state;
	assert_non_null(r);
	assert_int_equal(pipe(orders) | pipe(told), 0);
	assert_true(rv_seek_begin(&k, &how, NULL));
	start_launcher(r, orders, told);
	first = next_process(told[0]);
	settle(r, first);
	assert_int_equal(rv_seek_try(&k, &s, r, &pid, &why), RV_SOUGHT_NOT_YET);
	assert_non_null(strstr(why.text, "may not be its last process yet"));
	/* It was not the last one. */
	assert_int_equal(write(orders[1], "x", 1), 1);
	second = next_process(told[0]);
	settle(r, second);
	assert_int_equal(rv_seek_try(&k, &s, r, &pid, &why), RV_SOUGHT_NOT_YET);
	assert_int_equal(rv_seek_try(&k, &s, r, &pid, &why), RV_SOUGHT_FOUND);
	assert_int_equal(pid, second);
	assert_int_equal(rv_reaper_pid(r, 0), second);
	rv_seek_fini(&k);
	for (int i = 0; i < 2; i++) {
		close(orders[i]);
		close(told[i]);
	}
	assert_int_equal(rv_reaper_sweep(r, 5 * RV_SEC), 0);
	rv_reaper_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_is_seen_once_may_be_on_its_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
