/* Listeners with real sockets: kept over lives, closed to strangers always, to clients between lives. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/holder.h"
#include "daemon/listen.h"
#include "sys/fd.h"

static char folder[64];

/* ---- addresses ---- */

struct tcp {
	char text[64];
	struct rv_listen conf;
};

static uint16_t port_of(int fd)
{
	struct sockaddr_in at;
	socklen_t n = sizeof(at);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	return ntohs(at.sin_port);
}

/* A port that nobody uses now, and that the kernel gives to nobody by itself: it is below what connecting takes from, and
 * below what the end-to-end tests use, which run beside us. */
static uint16_t free_port(void)
{
	static unsigned next;
	struct sockaddr_in at = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int tries = 0; tries < 1000; tries++) {
		at.sin_port = htons((uint16_t)(5000 + (getpid() * 17u + next++) % 5000));
		if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
			break;
	}
	close(fd);
	return ntohs(at.sin_port);
}

static void fill(struct tcp *t, uint16_t port, int backlog)
{
	snprintf(t->text, sizeof(t->text), "127.0.0.1:%u", port);
	t->conf = (struct rv_listen){.name = "http",
		.family = RV_TCP4,
		.address = t->text,
		.port = port,
		.backlog = backlog,
		.ip = {127, 0, 0, 1}};
}

static struct rv_listener *must_open(const struct rv_listen *conf)
{
	struct rv_err e = {0};
	struct rv_listener *l = rv_listener_open(conf, "web", &e);

	if (!l)
		fail_msg("%s", e.text);
	return l;
}

/* The two in one: what most cases begin with. */
static struct rv_listener *open_tcp(struct tcp *t, uint16_t port, int backlog)
{
	fill(t, port, backlog);
	return must_open(&t->conf);
}

static int dial(uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!connect(fd, (struct sockaddr *)&at, sizeof(at)))
		return fd;
	rv_fd_close(&fd);
	return -1;
}

static void assert_refused(uint16_t port)
{
	assert_int_equal(dial(port), -1);
	assert_int_equal(errno, ECONNREFUSED);
}

/* What a stranger achieves with its flags: 0: it listens; else errno of bind or listen. */
static int as_stranger(uint16_t port, int addr, int share, uint32_t ip)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	rv_auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(ip);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &addr, sizeof(addr));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &share, sizeof(share));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1))
		return errno;
	return 0;
}

/* known-gap: same-user-reuseport */
/* With SO_REUSEPORT a process of our own user gets in (portguard.h); as root nobody does. */
static void assert_closed_to_strangers(uint16_t port)
{
	for (int share = 0; share < (geteuid() ? 1 : 2); share++) {
		for (int addr = 0; addr < 2; addr++) {
			assert_int_equal(
				as_stranger(port, addr, share, INADDR_LOOPBACK), EADDRINUSE);
			assert_int_equal(as_stranger(port, addr, share, INADDR_ANY), EADDRINUSE);
		}
	}
}

/* ---- a service: a process that listens, serves n clients, closing first, and ends ---- */

static void serve(int fd, int n)
{
	for (int i = 0; i < n; i++) {
		int c = accept(fd, NULL, NULL);

		if (c < 0 || write(c, "hi", 2) != 2)
			_exit(1);
		close(c); /* we close first: TIME_WAIT stays on our port */
	}
}

static pid_t start_life(struct rv_listener *l, int n, bool listens)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		close(ready[0]);
		if (listens && listen(rv_listener_fd(l), 16))
			_exit(errno);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		close(ready[1]);
		serve(rv_listener_fd(l), n);
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1) {
		int status;

		waitpid(pid, &status, 0);
		fail_msg("the service could not listen: %s", strerror(WEXITSTATUS(status)));
	}
	close(ready[0]);
	return pid;
}

static void end_life(struct rv_listener *l, pid_t pid)
{
	struct rv_err e = {0};
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	if (!rv_listener_life_ended(l, &e))
		fail_msg("%s", e.text);
}

static void visit(int fd)
{
	char text[8] = {0};

	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, 2), 2);
	assert_string_equal(text, "hi");
	assert_int_equal(read(fd, text, 1), 0);
	close(fd);
}

/* ---- TCP ---- */

static void clients_are_refused_before_between_and_after_lives(void **state)
{
	uint16_t port = free_port();
	struct rv_listener *l;
	struct tcp t;
	pid_t pid;
	int fd;

	(void)state;
	l = open_tcp(&t, port, 0);
	fd = rv_listener_fd(l);
	assert_refused(port);
	for (int life = 0; life < 3; life++) {
		pid = start_life(l, 2, true);
		visit(dial(port));
		visit(dial(port));
		end_life(l, pid);
		assert_refused(port);
		assert_int_equal(rv_listener_fd(l), fd);
	}
	rv_listener_close(l);
	assert_refused(port);
}

static void strangers_are_refused_before_during_and_between_lives(void **state)
{
	uint16_t port = free_port();
	struct rv_listener *l;
	struct tcp t;
	pid_t pid;

	(void)state;
	l = open_tcp(&t, port, 0);
	assert_closed_to_strangers(port);
	for (int life = 0; life < 2; life++) {
		pid = start_life(l, 1, true);
		assert_closed_to_strangers(port);
		visit(dial(port));
		end_life(l, pid);
		assert_closed_to_strangers(port);
	}
	rv_listener_close(l);
}

/* The hole of the plain recipe: a service that is starting owns a socket that does not listen yet. */
static void strangers_are_refused_while_a_service_does_not_listen_yet(void **state)
{
	uint16_t port = free_port();
	struct rv_listener *l;
	struct tcp t;

	(void)state;
	fill(&t, port, 0);
	for (int boot = 0; boot < 2; boot++) {
		l = must_open(&t.conf);
		for (int life = 0; life < 3; life++) { /* the later ones right after traffic */
			int fd;

			assert_closed_to_strangers(port);
			assert_refused(port);
			assert_int_equal(listen(rv_listener_fd(l), 4), 0);
			fd = dial(port);
			assert_closed_to_strangers(port);
			close(accept(rv_listener_fd(l), NULL, NULL));
			close(fd);
			assert_closed_to_strangers(port);
			assert_true(rv_listener_life_ended(l, NULL));
		}
		rv_listener_close(l);
	}
}

/* One connection at the very moment the service listens, ended by the server or the client first. */
static void live_and_let_go(struct rv_listener *l, uint16_t port, bool server_first)
{
	int fd, c, on = 0;
	socklen_t n = sizeof(on);

	if (listen(rv_listener_fd(l), 4))
		fail_msg("cannot listen again: %s", strerror(errno));
	fd = dial(port);
	c = accept(rv_listener_fd(l), NULL, NULL);
	assert_int_equal(getsockopt(c, SOL_SOCKET, SO_REUSEADDR, &on, &n), 0);
	assert_int_equal(on, 1);
	close(server_first ? c : fd);
	assert_int_equal(read(server_first ? fd : c, &on, 1), 0);
	close(server_first ? fd : c);
	assert_true(rv_listener_life_ended(l, NULL));
}

static void the_next_life_and_the_next_boot_work_right_after_the_first_connection(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		uint16_t port = free_port();
		struct tcp t;

		fill(&t, port, 0);
		for (int boot = 0; boot < 2; boot++) {
			struct rv_listener *l = must_open(&t.conf);

			for (int life = 0; life < 2; life++)
				live_and_let_go(l, port, i % 2);
			rv_listener_close(l);
		}
	}
}

/* What the port had before: connections of a server that is no more, one of them still open. */
static void a_port_with_connections_of_a_program_that_ended_can_be_had(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int on = 1, old = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fds[4];
	struct rv_listener *l;
	uint16_t port;
	struct tcp t;

	(void)state;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(old, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(old, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(old, 4), 0);
	port = port_of(old);
	for (int i = 0; i < 4; i += 2) {
		fds[i] = dial(port);
		fds[i + 1] = accept(old, NULL, NULL);
	}
	close(fds[1]);
	close(fds[0]);
	close(old);
	l = open_tcp(&t, port, 0);
	assert_closed_to_strangers(port);
	live_and_let_go(l, port, true);
	assert_closed_to_strangers(port);
	rv_listener_close(l);
	close(fds[2]);
	close(fds[3]);
}

/* The guard and ours share the port; nobody else's listener is joined by that, not even one that shares. */
static void a_port_that_is_listened_on_or_kept_with_all_flags_is_not_joined(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct rv_err e = {0};
	struct rv_listener *l;
	struct tcp t;

	(void)state;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 4), 0);
	fill(&t, port_of(fd), 0);
	assert_null(rv_listener_open(&t.conf, "web", &e));
	close(fd);
	l = must_open(&t.conf);
	assert_null(rv_listener_open(&t.conf, "web", &e));
	rv_listener_close(l);
}

/* What waits in the backlog of a life that ended is not served by the next one. */
static void a_client_in_the_backlog_of_an_old_life_is_dropped_with_it(void **state)
{
	uint16_t port = free_port();
	struct rv_listener *l;
	struct tcp t;
	pid_t pid;
	char c;
	int fd;

	(void)state;
	l = open_tcp(&t, port, 0);
	pid = start_life(l, 0, true);
	fd = dial(port);
	assert_true(fd >= 0);
	end_life(l, pid);
	assert_int_equal(read(fd, &c, 1), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
	rv_listener_close(l);
}

/* Traffic leaves TIME_WAIT on our port; a new boot binds at once, and strangers stay out. */
static void a_boot_right_after_traffic_binds(void **state)
{
	uint16_t port = free_port();
	struct rv_listener *l;
	struct rv_port_use use;
	struct tcp t;
	pid_t pid;

	(void)state;
	fill(&t, port, 0);
	for (int boot = 0; boot < 3; boot++) {
		l = must_open(&t.conf);
		assert_closed_to_strangers(port);
		assert_refused(port);
		pid = start_life(l, 1, true);
		assert_closed_to_strangers(port);
		visit(dial(port));
		end_life(l, pid);
		assert_closed_to_strangers(port);
		rv_listener_close(l);
		assert_true(rv_port_look(port, false, &use) && use.closing);
	}
}

static void with_a_backlog_clients_wait_for_the_next_life(void **state)
{
	uint16_t port = free_port();
	struct rv_listener *l;
	int waiting[3];
	struct tcp t;
	pid_t pid;

	(void)state;
	l = open_tcp(&t, port, 16);
	assert_closed_to_strangers(port);
	waiting[0] = dial(port);
	pid = start_life(l, 1, false);
	assert_closed_to_strangers(port);
	visit(waiting[0]);
	end_life(l, pid);
	assert_closed_to_strangers(port);
	for (int i = 0; i < 3; i++)
		waiting[i] = dial(port);
	pid = start_life(l, 3, false);
	for (int i = 0; i < 3; i++)
		visit(waiting[i]);
	end_life(l, pid);
	rv_listener_close(l);
	l = must_open(&t.conf);
	rv_listener_close(l);
}

static void a_listener_that_a_service_shut_down_listens_again(void **state)
{
	uint16_t port = free_port();
	struct rv_listener *l;
	struct tcp t;
	struct rv_err e;
	int fd;

	(void)state;
	l = open_tcp(&t, port, 16);
	shutdown(rv_listener_fd(l), SHUT_RD);
	assert_refused(port);
	assert_true(rv_listener_life_ended(l, &e));
	fd = dial(port);
	assert_true(fd >= 0);
	close(fd);
	rv_listener_close(l);
}

/* Waits for a connection at a socket that listens, and sees that the server is not told its end at once. */
static void assert_connections_stay_open(int fd, uint16_t port)
{
	rv_auto_fd client = dial(port), server = accept(fd, NULL, NULL);
	char c;

	assert_true(client >= 0 && server >= 0);
	assert_int_equal(recv(server, &c, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(write(client, "x", 1), 1);
	assert_int_equal(read(server, &c, 1), 1);
}

static void a_life_that_never_listened_spoils_no_connection_of_the_next(void **state)
{
	uint16_t port = free_port();
	struct rv_listener *l;
	struct tcp t;
	struct rv_err e;

	(void)state;
	l = open_tcp(&t, port, 0);
	for (int life = 0; life < 3; life++) {
		assert_true(rv_listener_life_ended(l, &e));
		assert_closed_to_strangers(port);
		assert_true(rv_listener_life_ended(l, &e));
		assert_int_equal(listen(rv_listener_fd(l), 4), 0);
		assert_connections_stay_open(rv_listener_fd(l), port);
	}
	rv_listener_close(l);
}

static void a_service_that_shuts_it_down_twice_spoils_no_connection_of_the_next(void **state)
{
	(void)state;
	for (int backlog = 0; backlog <= 4; backlog += 4) {
		uint16_t port = free_port();
		struct rv_listener *l;
		struct tcp t;
		struct rv_err e;

		l = open_tcp(&t, port, backlog);
		for (int i = 0; i < 2; i++)
			shutdown(rv_listener_fd(l), SHUT_RDWR);
		assert_true(rv_listener_life_ended(l, &e));
		assert_closed_to_strangers(port);
		assert_int_equal(listen(rv_listener_fd(l), 4), 0);
		assert_connections_stay_open(rv_listener_fd(l), port);
		rv_listener_close(l);
	}
}

static void the_next_life_has_one_that_blocks_whatever_the_last_one_made_of_it(void **state)
{
	(void)state;
	for (int backlog = 0; backlog <= 4; backlog += 4) {
		struct rv_listener *l;
		struct tcp t;
		int fd;

		l = open_tcp(&t, free_port(), backlog);
		fd = rv_listener_fd(l);
		assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
		assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
		assert_true(rv_listener_life_ended(l, NULL));
		assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
		rv_listener_close(l);
	}
}

static void a_taken_port_is_refused_with_address_service_and_holder(void **state)
{
	struct tcp t;
	struct rv_err e = {0};
	char want[400];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = {.sin_family = AF_INET};
	pid_t pid;
	char who[128];

	(void)state;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	fill(&t, port_of(fd), 0);
	assert_null(rv_listener_open(&t.conf, "web", &e));
	snprintf(want, sizeof(want),
		"cannot bind %s for service web (somebody has bound it without listening): Address "
		"already "
		"in use",
		t.text);
	assert_string_equal(e.text, want);
	assert_true(rv_port_is_free(t.conf.port));
	assert_int_equal(listen(fd, 1), 0);
	assert_false(rv_port_is_free(t.conf.port));
	assert_true(rv_port_holder(t.conf.port, &pid, who, sizeof(who)));
	assert_int_equal(pid, getpid());
	snprintf(want, sizeof(want), "pid %d (", (int)getpid());
	assert_int_equal(strncmp(who, want, strlen(want)), 0);
	assert_null(rv_listener_open(&t.conf, "web", &e));
	snprintf(want, sizeof(want),
		"cannot bind %s for service web (listened on by %s): Address already in use",
		t.text, who);
	assert_string_equal(e.text, want);
	close(fd);
	assert_true(rv_port_is_free(t.conf.port));
	assert_false(rv_port_holder(t.conf.port, &pid, who, sizeof(who)));
}

/* nothing stays bound on a failure path. */
static void a_closed_listener_can_be_opened_again_at_once(void **state)
{
	struct rv_listener *l;
	struct tcp t;

	(void)state;
	fill(&t, free_port(), 0);
	for (int i = 0; i < 3; i++) {
		l = must_open(&t.conf);
		rv_listener_close(l);
	}
}

static void an_address_that_is_not_ours_is_named(void **state)
{
	struct rv_err e = {0};
	struct tcp t;

	(void)state;
	fill(&t, 7777, 0);
	memcpy(t.conf.ip, (uint8_t[]){192, 0, 2, 1}, 4);
	t.conf.address = "192.0.2.1:7777";
	assert_null(rv_listener_open(&t.conf, "web", &e));
	assert_string_equal(e.text,
		"cannot bind 192.0.2.1:7777 for service web: Cannot assign requested address");
}

static void version_six_leaves_version_four_alone(void **state)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6};
	struct rv_err e = {0};
	int on = 1;

	(void)state;
	for (int backlog = 0; backlog < 8; backlog += 4) {
		rv_auto_fd stranger = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
		uint16_t port = free_port();
		struct rv_listener *six, *four;
		struct tcp t, u;

		fill(&t, port, backlog);
		fill(&u, port, backlog);
		u.conf.family = RV_TCP6;
		u.conf.address = "[::]";
		memset(u.conf.ip, 0, sizeof(u.conf.ip));
		six = rv_listener_open(&u.conf, "web", &e);
		if (!six) { /* a machine without IPv6 */
			assert_non_null(strstr(e.text, "[::]"));
			skip();
		}
		memset(t.conf.ip, 0, 4);
		four = must_open(&t.conf);
		assert_int_equal(listen(rv_listener_fd(six), 4), 0);
		assert_int_equal(listen(rv_listener_fd(four), 4), 0);
		assert_true(rv_listener_life_ended(six, &e));
		at.sin6_port = htons(port);
		setsockopt(stranger, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
		setsockopt(stranger, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		assert_int_equal(bind(stranger, (struct sockaddr *)&at, sizeof(at)), -1);
		assert_int_equal(listen(rv_listener_fd(six), 4), 0);
		rv_listener_close(six);
		rv_listener_close(four);
	}
}

static void the_descriptor_is_closed_on_exec(void **state)
{
	struct rv_listener *l;
	struct tcp t;

	(void)state;
	l = open_tcp(&t, free_port(), 0);
	assert_int_equal(fcntl(rv_listener_fd(l), F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(rv_listener_fd(l), F_GETFL) & O_NONBLOCK, 0);
	rv_listener_close(l);
}

/* ---- UNIX ---- */

struct local {
	char path[108];
	struct rv_listen conf;
};

static void fill_local(struct local *u, const char *name, int backlog)
{
	snprintf(u->path, sizeof(u->path), "%s/%s", folder, name);
	u->conf = (struct rv_listen){.name = "ctl",
		.family = RV_UNIX,
		.address = u->path,
		.backlog = backlog,
		.has_mode = true,
		.mode = 0660};
}

static int dial_local(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(at.sun_path, path);
	if (!connect(fd, (struct sockaddr *)&at, sizeof(at)))
		return fd;
	rv_fd_close(&fd);
	return -1;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? 0 : st.st_mode;
}

static void a_unix_socket_has_its_mode_and_is_refused_between_lives(void **state)
{
	struct rv_listener *l;
	struct local u;
	pid_t pid;
	int fd;

	(void)state;
	fill_local(&u, "deep/er/s.sock", 0);
	umask(0);
	l = must_open(&u.conf);
	umask(077);
	fd = rv_listener_fd(l);
	for (int life = 0; life < 3; life++) {
		assert_int_equal(mode_of(u.path), S_IFSOCK | 0660);
		assert_int_equal(dial_local(u.path), -1);
		assert_int_equal(errno, ECONNREFUSED);
		pid = start_life(l, 1, true);
		visit(dial_local(u.path));
		end_life(l, pid);
		assert_int_equal(rv_listener_fd(l), fd);
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	}
	umask(022);
	rv_listener_close(l);
	assert_int_equal(mode_of(u.path), 0);
}

/* Stands for the C library's: where a thief has the folder, what has just been bound is another file at once. */
static int (*thief)(const char *path);

int bind(int fd, const struct sockaddr *at, socklen_t n)
{
	int got = (int)syscall(SYS_bind, fd, at, n);

	if (!got && thief && at->sa_family == AF_UNIX)
		got = thief(((const struct sockaddr_un *)at)->sun_path);
	return got;
}

static char victim[128];

static int puts_a_link(const char *path)
{
	return unlink(path) || symlink(victim, path);
}

static int puts_a_second_name(const char *path)
{
	return unlink(path) || link(victim, path);
}

static void who_puts_another_file_in_place_of_a_unix_socket_does_not_get_its_mode(void **state)
{
	int (*const thieves[])(const char *path) = {puts_a_link, puts_a_second_name};
	struct rv_err e = {0};
	struct local u;
	int fd;

	(void)state;
	fill_local(&u, "t.sock", 0);
	snprintf(victim, sizeof(victim), "%s/secret", folder);
	for (int i = 0; i < 2; i++) {
		fd = open(victim, O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		close(fd);
		thief = thieves[i];
		assert_null(rv_listener_open(&u.conf, "web", &e));
		thief = NULL;
		assert_int_equal(mode_of(victim), S_IFREG | 0600);
		assert_non_null(strstr(e.text, "cannot put the socket of service web at "));
		unlink(victim);
	}
}

static void with_a_backlog_clients_of_a_unix_socket_wait(void **state)
{
	struct rv_listener *l;
	struct local u;
	pid_t pid;
	int fd;

	(void)state;
	fill_local(&u, "b.sock", 4);
	l = must_open(&u.conf);
	fd = dial_local(u.path);
	pid = start_life(l, 1, false);
	visit(fd);
	end_life(l, pid);
	fd = dial_local(u.path);
	pid = start_life(l, 1, false);
	visit(fd);
	end_life(l, pid);
	rv_listener_close(l);
}

static void a_stale_socket_is_replaced_and_a_live_one_is_not(void **state)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct rv_err e = {0};
	struct rv_listener *l;
	struct local u;
	char want[300];
	int fd;

	(void)state;
	fill_local(&u, "stale.sock", 0);
	strcpy(at.sun_path, u.path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_null(rv_listener_open(&u.conf, "web", &e));
	snprintf(want, sizeof(want), "cannot bind %s for service web (listened on by pid %d (",
		u.path, (int)getpid());
	assert_int_equal(strncmp(e.text, want, strlen(want)), 0);
	close(dial_local(u.path));
	close(fd);
	l = must_open(&u.conf);
	rv_listener_close(l);
	assert_int_equal(mode_of(u.path), 0);
}

static void what_is_not_a_socket_is_left_alone(void **state)
{
	struct rv_err e = {0};
	struct local u;
	char command[400];

	(void)state;
	fill_local(&u, "file.sock", 0);
	snprintf(command, sizeof(command), "echo keep > %s", u.path);
	assert_int_equal(system(command), 0);
	assert_null(rv_listener_open(&u.conf, "web", &e));
	assert_non_null(strstr(e.text, "is not a socket"));
	snprintf(command, sizeof(command), "test \"$(cat %s)\" = keep", u.path);
	assert_int_equal(system(command), 0);
	fill_local(&u, "link.sock", 0);
	assert_int_equal(symlink("/no/such", u.path), 0);
	assert_null(rv_listener_open(&u.conf, "web", &e));
	assert_int_equal(mode_of(u.path) & S_IFMT, S_IFLNK);
}

static void a_socket_that_somebody_put_there_later_is_not_removed(void **state)
{
	struct rv_listener *l, *other;
	struct local u;

	(void)state;
	fill_local(&u, "later.sock", 0);
	l = must_open(&u.conf);
	assert_int_equal(unlink(u.path), 0);
	other = must_open(&u.conf);
	rv_listener_close(l);
	assert_int_equal(mode_of(u.path), S_IFSOCK | 0660);
	rv_listener_close(other);
}

static void what_somebody_put_there_during_a_life_is_left_alone(void **state)
{
	struct rv_err e = {0};
	struct rv_listener *l;
	struct local u;
	int fd;

	(void)state;
	fill_local(&u, "during.sock", 0);
	l = must_open(&u.conf);
	assert_int_equal(listen(rv_listener_fd(l), 4), 0);
	assert_int_equal(unlink(u.path), 0);
	fd = open(u.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_false(rv_listener_life_ended(l, &e));
	assert_non_null(strstr(e.text, u.path));
	assert_int_equal(mode_of(u.path), S_IFREG | 0600);
	assert_int_equal(unlink(u.path), 0); /* what is missing is made again */
	assert_true(rv_listener_life_ended(l, &e));
	assert_int_equal(mode_of(u.path) & S_IFMT, S_IFSOCK);
	rv_listener_close(l);
	assert_int_equal(mode_of(u.path), 0);
}

static void owner_and_group_are_given_by_number_or_name(void **state)
{
	struct rv_listener *l;
	struct rv_err e = {0};
	struct stat st;
	struct local u;

	(void)state;
	fill_local(&u, "own.sock", 0);
	u.conf.owner = "no-such-user";
	assert_null(rv_listener_open(&u.conf, "web", &e));
	assert_non_null(strstr(e.text, "no-such-user"));
	if (geteuid())
		skip();
	u.conf.owner = "nobody";
	u.conf.group = "4711";
	l = must_open(&u.conf);
	assert_int_equal(lstat(u.path, &st), 0);
	assert_int_equal(st.st_uid, 65534);
	assert_int_equal(st.st_gid, 4711);
	rv_listener_close(l);
}

/* A network of our own, in which nobody takes a port that we let go and bind again; for root only. Others share the
   machine's: there, see free_port. */
static void leave_the_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	rv_auto_fd before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	rv_auto_fd fd = -1;

	if (before < 0 || unshare(CLONE_NEWNET))
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
		assert_int_equal(setns(before, CLONE_NEWNET), 0);
}

static int make_folder(void **state)
{
	(void)state;
	leave_the_network();
	strcpy(folder, "/tmp/rv-listen-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_are_refused_before_between_and_after_lives),
		cmocka_unit_test(strangers_are_refused_before_during_and_between_lives),
		cmocka_unit_test(strangers_are_refused_while_a_service_does_not_listen_yet),
		cmocka_unit_test(
			the_next_life_and_the_next_boot_work_right_after_the_first_connection),
		cmocka_unit_test(a_port_with_connections_of_a_program_that_ended_can_be_had),
		cmocka_unit_test(a_port_that_is_listened_on_or_kept_with_all_flags_is_not_joined),
		cmocka_unit_test(a_client_in_the_backlog_of_an_old_life_is_dropped_with_it),
		cmocka_unit_test(a_boot_right_after_traffic_binds),
		cmocka_unit_test(with_a_backlog_clients_wait_for_the_next_life),
		cmocka_unit_test(a_listener_that_a_service_shut_down_listens_again),
		cmocka_unit_test(a_life_that_never_listened_spoils_no_connection_of_the_next),
		cmocka_unit_test(
			a_service_that_shuts_it_down_twice_spoils_no_connection_of_the_next),
		cmocka_unit_test(
			the_next_life_has_one_that_blocks_whatever_the_last_one_made_of_it),
		cmocka_unit_test(a_taken_port_is_refused_with_address_service_and_holder),
		cmocka_unit_test(a_closed_listener_can_be_opened_again_at_once),
		cmocka_unit_test(an_address_that_is_not_ours_is_named),
		cmocka_unit_test(version_six_leaves_version_four_alone),
		cmocka_unit_test(the_descriptor_is_closed_on_exec),
		cmocka_unit_test(a_unix_socket_has_its_mode_and_is_refused_between_lives),
		cmocka_unit_test(
			who_puts_another_file_in_place_of_a_unix_socket_does_not_get_its_mode),
		cmocka_unit_test(with_a_backlog_clients_of_a_unix_socket_wait),
		cmocka_unit_test(a_stale_socket_is_replaced_and_a_live_one_is_not),
		cmocka_unit_test(what_is_not_a_socket_is_left_alone),
		cmocka_unit_test(a_socket_that_somebody_put_there_later_is_not_removed),
		cmocka_unit_test(what_somebody_put_there_during_a_life_is_left_alone),
		cmocka_unit_test(owner_and_group_are_given_by_number_or_name),
	};

	return cmocka_run_group_tests_name("listen", tests, make_folder, drop_folder);
}
