/* Readiness checks: real pipes, sockets and processes; a plugin host of our own making. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/closed.h"
#include "daemon/probe.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define PATIENCE (20 * RV_SEC) /* with what comes at once, unless somebody holds us up */

/* ---- the clock of what is tested, which can stand still: the linker puts it before the real one (libev has its own) */

static rv_time still; /* 0: it runs */

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	if (!still || id != CLOCK_MONOTONIC)
		return __real_clock_gettime(id, t);
	t->tv_sec = still / RV_SEC;
	t->tv_nsec = still % RV_SEC;
	return 0;
}

/* ---- the fake host: remembers what it was asked */

struct rv_hostlink {
	void (*done)(void *arg, enum rv_verdict v, const char *why);
	void *arg;
	char url[128];
	int gets, get_drops, calls, drops;
	struct rv_host_facts facts;
	rv_time timeout;
};

struct rv_host_http *rv_hostlink_get(struct rv_hostlink *h, const struct rv_want *want,
	rv_time timeout, void (*done)(void *arg, enum rv_verdict v, const char *why), void *arg)
{
	snprintf(h->url, sizeof(h->url), "%s", want->url);
	h->timeout = timeout;
	h->done = done;
	h->arg = arg;
	h->gets++;
	return (struct rv_host_http *)h;
}

void rv_hostlink_get_rebind(struct rv_host_http *g, const struct rv_want *want)
{
	(void)g;
	(void)want;
}

bool rv_hostlink_was_well(const struct rv_hostlink *h, rv_time since)
{
	(void)h;
	(void)since;
	return true;
}

void rv_hostlink_get_drop(struct rv_hostlink *h, struct rv_host_http *g)
{
	assert_ptr_equal(g, h);
	h->get_drops++;
}

void rv_hostlink_call(struct rv_hostlink *h, const struct rv_host_facts *facts, enum rv_hook hook,
	rv_time timeout)
{
	assert_int_equal(hook, RV_HOOK_PROBE);
	h->facts = *facts;
	h->timeout = timeout;
	h->calls++;
}

void rv_hostlink_drop(struct rv_hostlink *h, rv_id id)
{
	assert_int_equal(id, h->facts.id);
	h->drops++;
}

/* ---- the world */

struct world {
	struct ev_loop *loop;
	struct rv_reaper *reaper;
	struct rv_hostlink host;
	struct rv_service service;
	struct rv_check check;
	struct rv_want want;
	struct rv_capture *capture;
	struct rv_arena arena;
	char dir[40];
	struct rv_spawn context;
	struct rv_prober_env env;
	struct rv_prober *p;
	struct ev_signal chld;
	struct ev_timer bound;
	int answers;
	enum rv_verdict verdict;
	char why[1000];
	bool inside;
};

static void done(void *ctx, rv_id id, uint64_t generation, enum rv_verdict v, const char *why)
{
	struct world *w = ctx;

	assert_false(w->inside);
	assert_int_equal(id, 7);
	assert_int_equal(generation, 42);
	w->answers++;
	w->verdict = v;
	snprintf(w->why, sizeof(w->why), "%s", why);
	ev_break(w->loop, EVBREAK_ONE);
}

static const struct rv_prober_ops ops = {done};

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

static const struct rv_reaper_ops reaper_ops = {exited, gone};

static void on_chld(struct ev_loop *loop, struct ev_signal *s, int events)
{
	struct world *w = s->data;

	(void)loop;
	(void)events;
	rv_reaper_turn(w->reaper);
}

static void on_bound(struct ev_loop *loop, struct ev_timer *t, int events)
{
	(void)t;
	(void)events;
	ev_break(loop, EVBREAK_ONE);
}

static const char *const child_env[] = {"PATH=/usr/bin:/bin", "MARK=here", NULL};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	still = 0;
	w->loop = ev_loop_new(0);
	w->reaper = rv_reaper_create(8, &reaper_ops, w);
	ev_signal_init(&w->chld, on_chld, SIGCHLD);
	w->chld.data = w;
	ev_signal_start(w->loop, &w->chld);
	ev_timer_init(&w->bound, on_bound, 0., 0.);
	w->service = (struct rv_service){.id = 7, .name = "t"};
	w->context = (struct rv_spawn){.env = child_env, .umask = -1};
	strcpy(w->dir, "/tmp/rv-probe-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	w->env = (struct rv_prober_env){w->loop, w->reaper, &w->host, &ops, w};
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	char command[60];

	rv_prober_destroy(w->p);
	rv_capture_close(w->capture);
	rv_arena_fini(&w->arena);
	snprintf(command, sizeof(command), "rm -r %s", w->dir);
	assert_int_equal(system(command), 0);
	rv_reaper_sweep(w->reaper, RV_SEC);
	rv_reaper_destroy(w->reaper);
	ev_signal_stop(w->loop, &w->chld);
	ev_loop_destroy(w->loop);
	free(w);
	return 0;
}

static void create(struct world *w)
{
	w->p = rv_prober_create(&w->env, &w->service, 42, &w->check, &w->context);
	assert_non_null(w->p);
}

static void attempt(struct world *w, rv_time timeout)
{
	w->inside = true;
	rv_prober_attempt(w->p, timeout);
	w->inside = false;
}

/* Runs until an answer comes, at most this long. True: it came. */
static bool wait_for(struct world *w, double seconds)
{
	int before = w->answers;

	ev_now_update(w->loop);
	ev_timer_set(&w->bound, seconds, 0.);
	ev_timer_start(w->loop, &w->bound);
	ev_run(w->loop, 0);
	ev_timer_stop(w->loop, &w->bound);
	return w->answers == before + 1;
}

static void assert_answer(struct world *w, enum rv_verdict v, const char *why)
{
	if (!wait_for(w, (double)PATIENCE / 1e9))
		fail_msg("no answer");
	assert_string_equal(w->why, why);
	assert_int_equal(w->verdict, v);
	assert_false(wait_for(w, 0.01)); /* once only */
}

static void want_url(struct world *w, const char *url)
{
	w->want = (struct rv_want){.url = url, .method = "GET"};
	w->check.http = &w->want;
	w->check.http_url = url;
	rv_address_of_url(url, &w->check.http_at);
}

/* ---- fd */

static int give_fd(struct world *w)
{
	struct rv_err e;
	int fd;

	w->check.has_fd = true;
	w->check.fd = 5;
	create(w);
	fd = rv_prober_fd(w->p, &e);
	assert_true(fd >= 0);
	fd = dup(fd);
	rv_prober_spawned(w->p);
	return fd;
}

static void a_newline_on_the_fd_is_ready_however_late(void **state)
{
	struct world *w = *state;
	int fd = give_fd(w);

	attempt(w, RV_MS);
	assert_false(wait_for(w, 0.05)); /* a passive kind knows no timeout of an attempt */
	assert_true(rv_write_all(fd, "nearly", 6));
	assert_false(wait_for(w, 0.01));
	assert_true(rv_write_all(fd, "\n", 1));
	assert_answer(w, RV_OK, "");
	close(fd);
	attempt(w, RV_MS); /* it stays ready, closed or not */
	assert_answer(w, RV_OK, "");
}

static void an_fd_that_spoke_before_it_was_asked_is_ready(void **state)
{
	struct world *w = *state;
	int fd = give_fd(w);

	assert_true(rv_write_all(fd, "\n", 1));
	close(fd);
	assert_false(wait_for(w, 0.01));
	attempt(w, RV_SEC);
	assert_answer(w, RV_OK, "");
}

static void an_fd_closed_without_a_newline_fails_for_good(void **state)
{
	struct world *w = *state;
	int fd = give_fd(w);

	attempt(w, RV_SEC);
	close(fd);
	assert_false(wait_for(w, 0.)); /* not in that turn: the exit, which may come, says more */
	assert_answer(w, RV_FAIL, "ready fd 5 was closed without a newline");
	attempt(w, RV_SEC);
	assert_answer(w, RV_FAIL, "ready fd 5 was closed without a newline");
}

static void a_cancelled_attempt_says_nothing(void **state)
{
	struct world *w = *state;
	int fd = give_fd(w);

	attempt(w, RV_SEC);
	rv_prober_cancel(w->p);
	assert_true(rv_write_all(fd, "\n", 1));
	assert_false(wait_for(w, 0.02));
	attempt(w, RV_SEC);
	rv_prober_cancel(w->p); /* decided, but not delivered */
	assert_false(wait_for(w, 0.02));
	attempt(w, RV_SEC);
	assert_answer(w, RV_OK, "");
	close(fd);
}

/* ---- tcp */

static int bound_socket(struct world *w, bool listening)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	static char text[64];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	if (listening)
		assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	memcpy(w->check.tcp_ip, &a.sin_addr, 4);
	w->check.tcp_port = ntohs(a.sin_port);
	snprintf(text, sizeof(text), "127.0.0.1:%u", w->check.tcp_port);
	w->check.tcp = text;
	return fd;
}

static void a_tcp_port_that_is_refused_is_asked_again(void **state)
{
	struct world *w = *state;
	int fd = bound_socket(w, false);
	char why[100];

	create(w);
	attempt(w, RV_SEC);
	snprintf(why, sizeof(why), "tcp %s: connection refused", w->check.tcp);
	assert_answer(w, RV_RETRY, why);
	listen(fd, 5);
	attempt(w, RV_SEC);
	assert_answer(w, RV_OK, "");
	close(fd);
}

static void a_tcp_port_that_does_not_answer_times_out(void **state)
{
	struct world *w = *state;
	int fd = bound_socket(w, true), full[4];
	char why[100];
	struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(w->check.tcp_port)};
	rv_time start = rv_now();

	for (int i = 0; i < 4; i++) { /* fill the backlog of 0 */
		full[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		connect(full[i], (struct sockaddr *)&a, sizeof(a));
	}
	create(w);
	attempt(w, 50 * RV_MS);
	snprintf(why, sizeof(why), "tcp %s: no answer within 50ms", w->check.tcp);
	assert_answer(w, RV_RETRY, why);
	assert_true(rv_now() - start < 2 * RV_SEC);
	for (int i = 0; i < 4; i++)
		close(full[i]);
	close(fd);
}

/* Where the kernel may choose one port only, a connect to that port can only meet itself. */
static void a_connect_that_meets_itself_is_not_an_answer(void **state)
{
	struct world *w = *state;
	char why[100], range[64];
	int fd, length;

	if (unshare(CLONE_NEWNET) || system("ip link set lo up 2>/dev/null") != 0)
		skip();
	fd = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC);
	length = snprintf(range, sizeof(range), "%d %d", 45001, 45001);
	if (fd < 0 || write(fd, range, (size_t)length) != length)
		skip();
	close(fd);
	w->check.tcp = "127.0.0.1:45001";
	w->check.tcp_port = 45001;
	memcpy(w->check.tcp_ip, "\177\0\0\1", 4);
	create(w);
	attempt(w, RV_SEC);
	snprintf(why, sizeof(why), "tcp %s: connection refused", w->check.tcp);
	assert_answer(w, RV_RETRY, why);
}

/* ---- unix */

static int unix_socket(struct world *w, int type)
{
	static struct sockaddr_un a;
	static int number;
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	a = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/sock%d", w->dir, number++);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	w->check.unix_path = a.sun_path;
	return fd;
}

static void a_unix_socket_is_ready_when_somebody_listens(void **state)
{
	static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};
	/* The listener is this process, as reeve is of one that it holds for the service. */
	static const struct rv_listen held = {.family = RV_UNIX, .backlog = 1};
	struct world *w = *state;
	char why[200];

	w->service.listen = &held;
	w->service.listen_count = 1;
	for (size_t i = 0; i < 2; i++) {
		int fd = unix_socket(w, types[i]);

		create(w);
		attempt(w, RV_SEC);
		snprintf(why, sizeof(why), "unix %s: connection refused", w->check.unix_path);
		assert_answer(w, RV_RETRY, why);
		listen(fd, 0);
		attempt(w, RV_SEC);
		assert_answer(w, RV_OK, "");
		attempt(w, RV_SEC); /* the last one was not accepted */
		snprintf(why, sizeof(why), "unix %s: its queue is full: nobody accepts",
			w->check.unix_path);
		assert_answer(w, RV_RETRY, why);
		rv_prober_destroy(w->p);
		w->p = NULL;
		close(fd);
	}
}

static void a_datagram_socket_is_ready_when_it_is_bound(void **state)
{
	struct world *w = *state;
	int fd = unix_socket(w, SOCK_DGRAM);
	char why[200];

	create(w);
	attempt(w, RV_SEC);
	assert_answer(w, RV_OK, "");
	close(fd);
	attempt(w, RV_SEC);
	snprintf(why, sizeof(why), "unix %s: connection refused", w->check.unix_path);
	assert_answer(w, RV_RETRY, why);
	unlink(w->check.unix_path);
	attempt(w, RV_SEC);
	snprintf(why, sizeof(why), "unix %s: no such file or directory", w->check.unix_path);
	assert_answer(w, RV_RETRY, why);
}

/* ---- file */

static void ask_file(struct world *w, enum rv_verdict v, const char *text)
{
	char why[200];

	attempt(w, RV_SEC);
	snprintf(why, sizeof(why), "file %s: %s", w->check.file, text);
	assert_answer(w, v, v == RV_OK ? "" : why);
}

static void touch(const char *path, long second)
{
	const struct timespec times[2] = {{.tv_sec = second}, {.tv_sec = second}};

	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void a_file_counts_once_it_is_there_or_another(void **state)
{
	struct world *w = *state;
	char path[100], other[110];

	snprintf(path, sizeof(path), "%s/made", w->dir);
	snprintf(other, sizeof(other), "%s.new", path);
	w->check.file = path;
	w->check.file_anew = true;
	create(w);
	ask_file(w, RV_RETRY, "no such file or directory");
	touch(path, 1000);
	ask_file(w, RV_OK, "");
	rv_prober_destroy(w->p);
	create(w); /* the next life */
	ask_file(w, RV_RETRY, "as it was before the start");
	assert_int_equal(chmod(path, 0644), 0);
	ask_file(w, RV_RETRY, "as it was before the start");
	touch(path, 999); /* written, though with an older time */
	ask_file(w, RV_OK, "");
	touch(path, 1000);
	ask_file(w, RV_RETRY, "as it was before the start");
	assert_int_equal(truncate(path, 1), 0);
	touch(path, 1000);
	ask_file(w, RV_OK, "");
	assert_int_equal(truncate(path, 0), 0);
	touch(path, 1000);
	ask_file(w, RV_RETRY, "as it was before the start");
	touch(other, 1000);
	assert_int_equal(rename(other, path), 0);
	ask_file(w, RV_OK, "");
	w->check.file_anew = false; /* as a check of health wants it */
	rv_prober_destroy(w->p);
	create(w);
	ask_file(w, RV_OK, "");
	unlink(path);
	ask_file(w, RV_RETRY, "no such file or directory");
}

/* ---- log-line */

static void listen_to(struct world *w, const char *pattern, int *out, int *err)
{
	static const struct rv_log_conf nowhere = {.kind = RV_LOG_NULL};
	struct rv_err e;

	w->capture = rv_capture_open(w->loop, &nowhere, "t", &e);
	assert_non_null(w->capture);
	w->check.log_line = pattern;
	w->check.log_regex = rv_regex_compile(&w->arena, pattern, &e);
	assert_non_null(w->check.log_regex);
	create(w);
	rv_prober_listen(w->p, w->capture);
	assert_true(rv_capture_begin(w->capture, out, err, &e));
	*out = dup(*out);
	*err = dup(*err);
	rv_capture_spawned(w->capture);
}

static void put(int fd, const char *text)
{
	assert_true(rv_write_all(fd, text, strlen(text)));
}

static void a_line_of_either_stream_is_ready(void **state)
{
	struct world *w = *state;
	int out, err;

	listen_to(w, "^ready$", &out, &err);
	attempt(w, RV_MS);
	put(out, "not ready\nready not\nrea");
	put(err, "ready or not\n");
	assert_false(wait_for(w, 0.05)); /* a passive kind knows no timeout of an attempt */
	assert_non_null(strstr(rv_prober_waits(w->p), "log-line"));
	put(err, "dy\n"); /* of the other stream: no end of that line */
	assert_false(wait_for(w, 0.02));
	put(out, "dy\r\n");
	assert_answer(w, RV_OK, "");
	attempt(w, RV_MS); /* it stays so */
	assert_answer(w, RV_OK, "");
	close(out);
	close(err);
}

static void a_line_that_came_before_it_was_asked_is_ready(void **state)
{
	struct world *w = *state;
	int out, err;

	listen_to(w, "ready", &out, &err);
	put(err, "it is ready now\n");
	assert_false(wait_for(w, 0.02));
	attempt(w, RV_SEC);
	assert_answer(w, RV_OK, "");
	close(out);
	close(err);
}

static void a_line_of_an_earlier_life_is_not_ready(void **state)
{
	struct world *w = *state;
	int out, err, out2, err2;
	struct rv_err e;

	listen_to(w, "ready", &out, &err);
	rv_prober_destroy(w->p);
	create(w);
	rv_prober_listen(w->p, w->capture);
	put(out, "ready\n"); /* still in the pipe when the next life begins */
	assert_true(rv_capture_begin(w->capture, &out2, &err2, &e));
	attempt(w, RV_SEC);
	put(err, "ready\n"); /* of what is left of the earlier one */
	assert_false(wait_for(w, 0.05));
	put(err2, "ready\n");
	assert_answer(w, RV_OK, "");
	close(out);
	close(err);
}

/* Longer than what is passed on at once: only its own ends are ends of it. */
static void pieces_of_a_long_line_are_one_line(void **state)
{
	struct world *w = *state;
	char *big = malloc(RV_CAPTURE_LINE);
	int out, err;

	listen_to(w, "^ready|ready$", &out, &err);
	attempt(w, RV_SEC);
	memset(big, 'x', RV_CAPTURE_LINE);
	memcpy(big + RV_CAPTURE_LINE - 5, "ready", 5);
	assert_true(fcntl(out, F_SETPIPE_SZ, 4 * RV_CAPTURE_LINE) >= 4 * RV_CAPTURE_LINE);
	assert_true(rv_write_all(
		out, big, RV_CAPTURE_LINE)); /* $ would match at the end of this piece */
	put(out, "ready ... \n"); /* and ^ at the beginning of this one */
	assert_false(wait_for(w, 0.05));
	assert_true(rv_write_all(out, big, RV_CAPTURE_LINE));
	memcpy(big, "\nready", 6);
	assert_true(rv_write_all(out, big, 6));
	assert_false(wait_for(w, 0.05));
	put(out, "\n");
	assert_answer(w, RV_OK, "");
	free(big);
	close(out);
	close(err);
}

/* ---- http and plugin */

/* A socket, and check.http_url for it. */
static int http_socket(struct world *w, bool listening)
{
	int fd = bound_socket(w, listening);
	static char url[64];

	snprintf(url, sizeof(url), "http://%s/health?key=s3cret", w->check.tcp);
	w->check.tcp = NULL;
	want_url(w, url);
	return fd;
}

/* Runs until the host was asked that often in all. */
static void assert_asked(struct world *w, int times)
{
	for (int i = 0; i < 10000 && w->host.gets + w->host.calls < times; i++)
		wait_for(w, 0.002);
	assert_int_equal(w->host.gets + w->host.calls, times);
}

static void http_is_asked_of_the_host_and_its_answer_passed_on(void **state)
{
	struct world *w = *state;
	char why[100];
	int fd = http_socket(w, true);

	still = rv_now();
	create(w);
	attempt(w, RV_SEC);
	assert_asked(w, 1);
	assert_string_equal(w->host.url, w->check.http_url);
	assert_int_equal(w->host.timeout, RV_SEC);
	still = 0;
	w->host.done(
		w->host.arg, RV_RETRY, "GET http://127.0.0.1:1/health: 503 Service Unavailable");
	assert_int_equal(w->answers, 1);
	assert_int_equal(w->verdict, RV_RETRY);
	assert_string_equal(w->why, "GET http://127.0.0.1:1/health: 503 Service Unavailable");
	attempt(w, RV_SEC);
	w->host.done(w->host.arg, RV_OK, "");
	assert_int_equal(w->answers, 2);
	assert_int_equal(w->verdict, RV_OK);
	attempt(w, RV_SEC);
	rv_prober_cancel(w->p);
	assert_int_equal(w->host.get_drops, 1);
	attempt(w, 20 * RV_MS);
	snprintf(why, sizeof(why), "GET http://127.0.0.1:%u/health?***: no answer within 20ms",
		w->check.tcp_port);
	assert_answer(w, RV_RETRY, why);
	assert_int_equal(w->host.get_drops, 2);
	close(fd);
}

static void the_host_is_not_asked_for_a_url_where_nobody_listens(void **state)
{
	struct world *w = *state;
	char why[100];
	int fd = http_socket(w, false);

	still = rv_now(); /* not for a second: see below */
	create(w);
	attempt(w, RV_SEC);
	snprintf(why, sizeof(why), "GET http://127.0.0.1:%u/health?***: Connection refused",
		w->check.tcp_port);
	assert_answer(w, RV_RETRY, why);
	assert_int_equal(w->host.gets, 0);
	listen(fd, 5);
	attempt(w, RV_SEC);
	assert_asked(w, 1);
	w->host.done(w->host.arg, RV_RETRY, "not yet");
	assert_true(rv_fd_nonblock(fd, true));
	assert_true(accept(fd, NULL, NULL) < 0); /* it saw nothing of it */
	close(fd);
}

/* A look does not know everything: after a second of refusals a real request is made all the same. */
static void the_host_is_asked_once_a_second_even_where_nobody_seems_to_listen(void **state)
{
	struct world *w = *state;
	int fd = http_socket(w, false);

	still = rv_now();
	create(w);
	for (int i = 0; i < 2; i++) {
		attempt(w, RV_SEC);
		assert_true(wait_for(w, (double)PATIENCE / 1e9));
		assert_int_equal(w->host.gets, 0);
		still += RV_SEC / 2 + i;
	}
	attempt(w, RV_SEC);
	assert_int_equal(w->host.gets, 1);
	close(fd);
}

static void answer_of_plugin(
	struct world *w, enum rv_verdict v, const char *why, const char *closed)
{
	rv_prober_answer(
		w->p, &(struct rv_host_answer){.verdict = v, .why = why, .closed = closed});
}

static void a_plugin_that_was_refused_is_asked_again_when_somebody_listens(void **state)
{
	struct world *w = *state;
	int fd = http_socket(w, false);
	const char *url = w->check.http_url;

	w->check.http_url = NULL;
	w->check.plugin = true;
	still = rv_now(); /* not for a second: see above */
	create(w);
	attempt(w, RV_SEC);
	assert_asked(w, 1);
	answer_of_plugin(w, RV_RETRY, "GET /x: Connection refused", url);
	attempt(w, RV_SEC);
	assert_answer(w, RV_RETRY, "GET /x: Connection refused");
	assert_int_equal(w->host.calls, 1);
	listen(fd, 5);
	attempt(w, RV_SEC);
	assert_asked(w, 2);
	answer_of_plugin(w, RV_RETRY, "503", "");
	attempt(w, RV_SEC);
	assert_asked(w, 3);
	answer_of_plugin(w, RV_OK, "", "");
	assert_int_equal(w->verdict, RV_OK);
	close(fd);
}

/* Where nobody listens at 127.0.0.1, somebody may at ::1. */
static void of_localhost_it_cannot_be_told_that_nobody_listens(void **state)
{
	struct world *w = *state;
	struct rv_address at;
	int fd = http_socket(w, false);

	assert_true(rv_address_of_url(w->check.http_url, &at));
	if (!rv_closed_look(&at))
		skip(); /* this kernel does not tell */
	at.either = true;
	assert_false(rv_closed_look(&at));
	close(fd);
}

/* The host is late with its own timeout, and somebody else's is over. */
static void what_an_attempt_would_say_now_is_known_when_it_is_cancelled(void **state)
{
	struct world *w = *state;
	int fd = http_socket(w, true);
	char why[200];

	create(w);
	assert_null(rv_prober_late(w->p)); /* nothing is asked */
	attempt(w, 30 * RV_SEC);
	assert_null(rv_prober_late(w->p)); /* not due */
	assert_string_equal(rv_prober_asks(w->p), "no answer to ready.http yet");
	rv_prober_cancel(w->p);
	assert_null(rv_prober_late(w->p));
	assert_null(rv_prober_asks(w->p));
	attempt(w, 20 * RV_MS);
	usleep(30000);
	snprintf(why, sizeof(why), "GET http://127.0.0.1:%u/health?***: no answer within 20ms",
		w->check.tcp_port);
	assert_string_equal(rv_prober_late(w->p), why);
	assert_int_equal(w->answers, 0);
	close(fd);
}

static void the_plugin_answers_through_the_engine(void **state)
{
	struct world *w = *state;

	w->check.plugin = true;
	create(w);
	attempt(w, RV_SEC);
	assert_int_equal(w->host.calls, 1);
	assert_int_equal(w->host.facts.id, 7);
	assert_int_equal(w->host.facts.generation, 42);
	answer_of_plugin(w, RV_FAIL, "GET /envs: 404", "");
	assert_int_equal(w->verdict, RV_FAIL);
	assert_string_equal(w->why, "GET /envs: 404");
	answer_of_plugin(w, RV_OK, "", ""); /* nobody asked */
	assert_int_equal(w->answers, 1);
	attempt(w, RV_SEC);
	rv_prober_cancel(w->p);
	assert_int_equal(w->host.drops, 1);
	answer_of_plugin(w, RV_OK, "", "");
	assert_int_equal(w->answers, 1);
}

/* ---- exec */

static void run(struct world *w, const char *const *argv, rv_time timeout)
{
	w->check.exec = argv;
	rv_prober_destroy(w->p);
	create(w);
	attempt(w, timeout);
}

static void exec_tells_by_its_exit_status_and_last_line(void **state)
{
	struct world *w = *state;
	static const char *const yes[] = {"true", NULL};
	static const char *const no[] = {
		"sh", "-c", "echo first; echo; echo 'the last \033 one' >&2; echo; exit 3", NULL};
	static const char *const mute[] = {"sh", "-c", "kill -9 $$", NULL};
	static const char *const loud[] = {
		"sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' '\\n'; echo end; exit 1", NULL};
	static const char *const env[] = {"sh", "-c", "echo $MARK; exit 1", NULL};

	run(w, yes, PATIENCE);
	assert_answer(w, RV_OK, "");
	run(w, no, PATIENCE);
	assert_answer(w, RV_RETRY, "sh exited with 3: the last \\x1b one");
	run(w, mute, PATIENCE);
	assert_answer(w, RV_RETRY, "sh killed by SIGKILL");
	run(w, loud, PATIENCE);
	assert_answer(w, RV_RETRY, "sh exited with 1: end");
	run(w, env, PATIENCE);
	assert_answer(w, RV_RETRY, "sh exited with 1: here");
}

static void exec_of_a_missing_program_fails_for_good(void **state)
{
	struct world *w = *state;
	static const char *const argv[] = {"/no/such/check", NULL};

	run(w, argv, RV_SEC);
	assert_true(wait_for(w, (double)PATIENCE / 1e9));
	assert_int_equal(w->verdict, RV_FAIL);
	assert_non_null(strstr(w->why, "/no/such/check"));
}

/* The pid that a probe left in a file; waits until it is there. */
static pid_t read_pid(struct world *w, const char *path)
{
	rv_time until = rv_now() + PATIENCE;
	char text[32] = "";

	while (!strchr(text, '\n')) {
		rv_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

		text[n > 0 ? n : 0] = 0;
		assert_true(rv_now() < until);
		wait_for(w, 0.005);
	}
	return atoi(text);
}

static void assert_dies(struct world *w, pid_t pid)
{
	rv_time until = rv_now() + PATIENCE;

	while (!kill(pid, 0)) {
		assert_true(rv_now() < until);
		wait_for(w, 0.005);
	}
	assert_int_equal(errno, ESRCH);
}

static void exec_that_takes_too_long_is_killed(void **state)
{
	struct world *w = *state;
	static const char *const mute[] = {"sleep", "60", NULL};
	char path[64] = "/tmp/rv-probe-XXXXXX", script[128];
	const char *const argv[] = {"sh", "-c", script, NULL};
	rv_time start = rv_now();
	pid_t pid;

	close(mkstemp(path));
	snprintf(script, sizeof(script), "echo $$ > %s; exec sleep 60", path);
	run(w, mute, 50 * RV_MS);
	assert_answer(w, RV_RETRY, "sleep timed out after 50ms");
	assert_true(rv_now() - start < 3 * RV_SEC);
	run(w, argv, PATIENCE);
	pid = read_pid(w, path);
	rv_prober_destroy(w->p); /* what is in flight goes with it */
	w->p = NULL;
	assert_dies(w, pid);
	assert_int_equal(w->answers, 1);
	unlink(path);
}

/* ---- several kinds */

static void all_kinds_must_hold_and_the_first_no_is_the_answer(void **state)
{
	struct world *w = *state;
	int http = http_socket(w, true), sock = bound_socket(w, false), fd;
	char why[100];

	fd = give_fd(w);
	attempt(w, RV_SEC);
	assert_false(wait_for(w, 0.01)); /* the fd has not spoken */
	assert_true(rv_write_all(fd, "\n", 1));
	snprintf(why, sizeof(why), "tcp %s: connection refused", w->check.tcp);
	assert_answer(w, RV_RETRY, why);
	assert_int_equal(w->host.gets, 0);
	listen(sock, 5);
	attempt(w, RV_SEC);
	assert_asked(w, 1);
	w->host.done(w->host.arg, RV_OK, "");
	assert_int_equal(w->answers, 2);
	assert_int_equal(w->verdict, RV_OK);
	close(http);
	close(sock);
	close(fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_newline_on_the_fd_is_ready_however_late),
		CASE(an_fd_that_spoke_before_it_was_asked_is_ready),
		CASE(an_fd_closed_without_a_newline_fails_for_good),
		CASE(a_cancelled_attempt_says_nothing),
		CASE(a_tcp_port_that_is_refused_is_asked_again),
		CASE(a_tcp_port_that_does_not_answer_times_out),
		CASE(a_unix_socket_is_ready_when_somebody_listens),
		CASE(a_datagram_socket_is_ready_when_it_is_bound),
		CASE(a_file_counts_once_it_is_there_or_another),
		CASE(a_line_of_either_stream_is_ready),
		CASE(a_line_that_came_before_it_was_asked_is_ready),
		CASE(a_line_of_an_earlier_life_is_not_ready),
		CASE(pieces_of_a_long_line_are_one_line),
		CASE(http_is_asked_of_the_host_and_its_answer_passed_on),
		CASE(the_host_is_not_asked_for_a_url_where_nobody_listens),
		CASE(the_host_is_asked_once_a_second_even_where_nobody_seems_to_listen),
		CASE(what_an_attempt_would_say_now_is_known_when_it_is_cancelled),
		CASE(the_plugin_answers_through_the_engine),
		CASE(a_plugin_that_was_refused_is_asked_again_when_somebody_listens),
		CASE(of_localhost_it_cannot_be_told_that_nobody_listens),
		CASE(exec_tells_by_its_exit_status_and_last_line),
		CASE(exec_of_a_missing_program_fails_for_good),
		CASE(exec_that_takes_too_long_is_killed),
		CASE(all_kinds_must_hold_and_the_first_no_is_the_answer),
		CASE(a_connect_that_meets_itself_is_not_an_answer), /* last: a network of its own */
	};

	rv_spawn_prepare();
	alarm(600); /* whatever blocks is a fault */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
