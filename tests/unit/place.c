/* Whose answer it is, where that cannot be told: see place.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/place.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* ---- of the hands, which this is not about */

bool rv_hands_prove(
	struct rv_hands *h, struct rv_world *w, const struct rv_check *check, struct rv_err *e)
{
	(void)h;
	(void)w;
	(void)check;
	(void)e;
	return true;
}

void rv_hands_proven(struct rv_hands *h)
{
	(void)h;
}

static void exited(void *ctx, rv_id id, uint64_t generation, rv_exit how)
{
	(void)ctx;
	(void)id;
	(void)generation;
	(void)how;
}

static void gone(void *ctx, rv_id id, uint64_t generation)
{
	exited(ctx, id, generation, 0);
}

/* ---- */

/* One that is bound, and on which nobody listens: whose answer it would be cannot be told. */
static uint16_t silent_port(int *fd)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(at);

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(*fd >= 0);
	assert_int_equal(bind(*fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(*fd, (struct sockaddr *)&at, &n), 0);
	return ntohs(at.sin_port);
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

/* Its end waits to be collected. */
static void end_child(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void where_the_owner_cannot_be_told_the_service_has_to_live(void **state)
{
	static const struct rv_reaper_ops ops = {exited, gone};
	rv_auto_fd fd = -1;
	struct rv_service s = {.name = "s", .ready = {.tcp = "there"}};
	struct rv_world w = {.reaper = rv_reaper_create(1, &ops, NULL)};
	struct rv_hands h = {.service = &s};
	struct rv_err e;

	(void)state;
	assert_non_null(w.reaper);
	s.ready.tcp_port = silent_port(&fd);
	memcpy(s.ready.tcp_ip, (uint8_t[]){127, 0, 0, 1}, 4);
	h.facts.pid = start_child();
	assert_true(rv_place_is_own(&h, &w, &e));
	assert_true(h.doubted);
	end_child(h.facts.pid);
	assert_false(rv_place_is_own(&h, &w, &e));
	assert_non_null(strstr(e.text, "answers, but the service has ended: it was somebody else"));
	assert_int_equal(waitpid(h.facts.pid, NULL, 0), h.facts.pid);
	assert_false(rv_place_is_own(&h, &w, &e));
	h.facts.pid = 0;
	assert_false(rv_place_is_own(&h, &w, &e));
	rv_reaper_destroy(w.reaper);
}

static void assert_named(struct rv_hands *h, struct rv_world *w, const char *name)
{
	struct rv_err e;

	assert_false(rv_place_is_own(h, w, &e));
	if (!strstr(e.text, name))
		fail_msg("no %s in: %s", name, e.text);
}

/* We are the stranger. A check may ask hundreds of times, and to look for him is expensive. */
static void a_stranger_who_answers_again_is_looked_for_once_a_second(void **state)
{
	static const struct rv_reaper_ops ops = {exited, gone};
	struct rv_service s = {.name = "s", .ready = {.tcp = "there"}};
	struct rv_world w = {.reaper = rv_reaper_create(1, &ops, NULL), .boot_id = "none"};
	struct rv_hands h = {.service = &s, .facts.pid = start_child()};
	rv_time began, end;
	struct rv_err e;
	rv_auto_fd fd = -1;

	(void)state;
	assert_non_null(w.reaper);
	rv_reaper_add_life(w.reaper, 0, 1, h.facts.pid, "none-0-1");
	s.ready.tcp_port = silent_port(&fd);
	memcpy(s.ready.tcp_ip, (uint8_t[]){127, 0, 0, 1}, 4);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(prctl(PR_SET_NAME, "before"), 0);
	began = rv_now();
	assert_named(&h, &w, "(before)");
	assert_int_equal(prctl(PR_SET_NAME, "after"), 0);
	assert_false(rv_place_is_own(&h, &w, &e));
	if (rv_now() - began < RV_SEC) /* nobody held us up */
		assert_non_null(strstr(e.text, "(before)"));
	for (end = rv_now() + 30 * RV_SEC; strstr(e.text, "(before)") && rv_now() < end;
		usleep(20000))
		assert_false(rv_place_is_own(&h, &w, &e));
	assert_named(&h, &w, "(after)");
	free(h.stranger);
	kill(h.facts.pid, SIGKILL);
	rv_reaper_destroy(w.reaper);
	assert_int_equal(waitpid(h.facts.pid, NULL, 0), h.facts.pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_the_owner_cannot_be_told_the_service_has_to_live),
		cmocka_unit_test(a_stranger_who_answers_again_is_looked_for_once_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
