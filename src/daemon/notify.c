/* Datagrams of sd_notify(3): see notify.h. */
#include "daemon/notify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "daemon/notifysock.h"
#include "daemon/proc.h"
#include "daemon/say.h"
#include "sys/clock.h"

#define VARIABLE   "NOTIFY_SOCKET="
#define WINDOW	   (100 * RV_MS)
#define A_TURN	   16
#define PAUSE	   0.1
#define MOST_FDS   16
#define MOST_BYTES 4096

/* What is said once a life, however often it happens. */
enum { TOLD_STRANGER = 1, TOLD_TOO_LONG = 2, TOLD_MAIN_PID = 4, TOLD_FLOOD = 8 };

struct rv_notify {
	const struct rv_notify_env *env;
	const struct rv_service *service;
	uint64_t generation;
	uid_t uid; /* that it was started as */
	pid_t main;
	bool launches; /* main is a launcher: who its daemon will be is not known yet */
	struct ev_io io;
	struct ev_timer pause;
	rv_time window; /* when it began */
	unsigned in_window;
	unsigned told;
	enum rv_says says;
	int number; /* ERRNO= */
	bool extended;
	struct rv_notifysock sock;
	char variable[sizeof(VARIABLE) + sizeof(((struct rv_notifysock *)0)->path)];
	char status[RV_NOTIFY_STATUS + 1];
};

/* One datagram. */
struct letter {
	struct ucred from;
	bool has_sender, cut;
	size_t len;
	char text[MOST_BYTES + 1];
};

static bool is_first(struct rv_notify *n, unsigned what)
{
	bool first = !(n->told & what);

	n->told |= what;
	return first;
}

/* ---- who wrote it */

/* One that is not there any more, or only as what its parent has to collect. */
static bool has_ended(pid_t pid)
{
	struct rv_proc p;

	return !rv_proc_look(pid, &p) || p.state == 'Z' || p.state == 'X';
}

static bool is_of_life(const struct rv_notify *n, const struct ucred *who)
{
	if (who->pid <= 0)
		return false;
	if (who->pid == n->main)
		return true;
	if (n->service->ready.notify == RV_NOTIFY_MAIN && !n->launches)
		return false;
	return rv_reaper_owns(n->env->reaper, n->service->id, who->pid) ||
		(who->uid == n->uid && has_ended(who->pid));
}

static bool counts(struct rv_notify *n, const struct letter *l)
{
	if (l->has_sender && is_of_life(n, &l->from))
		return true;
	if (is_first(n, TOLD_STRANGER))
		rv_say(RV_WARN, n->service->name,
			"a word on NOTIFY_SOCKET from pid %d (user %u) is ignored: that is %s",
			(int)l->from.pid, (unsigned)l->from.uid,
			n->service->ready.notify == RV_NOTIFY_MAIN ? "not its main process"
								   : "no process of it");
	return false;
}

/* ---- what it says */

static bool number_of(const char *text, uint64_t most, uint64_t *to)
{
	int64_t v;

	if (!rv_text_int(text, &v) || v < 0 || *text == '+' || (uint64_t)v > most)
		return false;
	*to = (uint64_t)v;
	return true;
}

static void set_status(struct rv_notify *n, const char *text)
{
	struct rv_buf seen = {0};
	size_t len = strnlen(text, sizeof(n->status) - 1);

	rv_text_visible(&seen, text, len);
	snprintf(n->status, sizeof(n->status), "%s", rv_buf_text(&seen));
	rv_buf_fini(&seen);
}

static void extend(struct rv_notify *n, const char *text)
{
	uint64_t us;

	if (!number_of(text, INT64_MAX / RV_US, &us) || !us)
		return;
	n->extended = true;
	n->env->ops->extend(n->env->ctx, n->service->id, n->generation, (rv_time)us * RV_US);
}

static void main_pid(struct rv_notify *n, const char *text)
{
	uint64_t pid = 0;

	if (number_of(text, INT32_MAX, &pid) && (pid_t)pid == n->main)
		return;
	if (pid > 0 && rv_reaper_owns(n->env->reaper, n->service->id, (pid_t)pid))
		n->env->ops->main_pid(n->env->ctx, n->service->id, n->generation, (pid_t)pid);
	else if (is_first(n, TOLD_MAIN_PID))
		rv_say(RV_WARN, n->service->name,
			"MAINPID= on NOTIFY_SOCKET is ignored: it names no process of the service");
}

/* A word that is not known is for others who read this protocol. */
static void hear(struct rv_notify *n, const char *word)
{
	const struct rv_notify_env *env = n->env;
	uint64_t v;

	if (!strcmp(word, "READY=1")) {
		n->says = n->says == RV_SAYS_STOPPING ? n->says : RV_SAYS_READY;
		env->ops->ready(env->ctx, n->service->id, n->generation);
	} else if (!strcmp(word, "RELOADING=1")) {
		n->says = n->says == RV_SAYS_READY ? RV_SAYS_RELOADING : n->says;
	} else if (!strcmp(word, "STOPPING=1")) {
		n->says = RV_SAYS_STOPPING;
		env->ops->stopping(env->ctx, n->service->id, n->generation);
	} else if (!strncmp(word, "STATUS=", 7)) {
		set_status(n, word + 7);
	} else if (!strncmp(word, "ERRNO=", 6)) {
		if (number_of(word + 6, 4095, &v))
			n->number = (int)v;
	} else if (!strncmp(word, "EXTEND_TIMEOUT_USEC=", 20)) {
		extend(n, word + 20);
	} else if (!strncmp(word, "MAINPID=", 8)) {
		main_pid(n, word + 8);
	}
}

/* A NUL may end the whole; anywhere else it would hide what follows. */
static void read_letter(struct rv_notify *n, struct letter *l)
{
	char *line = l->text, *end;

	if (l->cut) {
		if (is_first(n, TOLD_TOO_LONG))
			rv_say(RV_WARN, n->service->name,
				"a word on NOTIFY_SOCKET is ignored: it has more than %d bytes",
				MOST_BYTES);
		return;
	}
	l->text[l->len] = 0;
	if (strlen(l->text) + 1 < l->len)
		return;
	for (; line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		hear(n, line);
	}
}

/* ---- the socket */

/* We keep no descriptors; whoever sent one as a barrier waits for this. */
static void close_all(const struct cmsghdr *c)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (size_t i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		close(fd);
	}
}

static bool is_kind(const struct cmsghdr *c, int kind)
{
	return c->cmsg_level == SOL_SOCKET && c->cmsg_type == kind;
}

/* False: nothing is there. Its descriptors are closed by `done` once it has been read. */
static bool receive(const struct rv_notify *n, struct letter *l, struct msghdr *m)
{
	ssize_t got;

	do
		got = recvmsg(n->sock.fd, m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return false;
	l->len = (size_t)got;
	l->cut = m->msg_flags & MSG_TRUNC;
	l->has_sender = false;
	l->from = (struct ucred){0};
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (!is_kind(c, SCM_CREDENTIALS))
			continue;
		memcpy(&l->from, CMSG_DATA(c), sizeof(l->from));
		l->has_sender = true;
	}
	return true;
}

static bool take_one(struct rv_notify *n)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(MOST_FDS * sizeof(int))];
	} control;
	struct letter l;
	struct iovec to = {l.text, MOST_BYTES};
	struct msghdr m = {.msg_iov = &to,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};

	if (n->sock.fd < 0 || !receive(n, &l, &m))
		return false;
	if (counts(n, &l))
		read_letter(n, &l);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if (is_kind(c, SCM_RIGHTS))
			close_all(c);
	return true;
}

/* Too many in a short time: let others have the loop. */
static bool is_flood(struct rv_notify *n)
{
	rv_time now = rv_now();

	if (now - n->window > WINDOW) {
		n->window = now;
		n->in_window = 0;
	}
	return ++n->in_window >= RV_NOTIFY_BURST;
}

static void pause_reading(struct rv_notify *n)
{
	if (is_first(n, TOLD_FLOOD))
		rv_say(RV_WARN, n->service->name,
			"more than %d words on NOTIFY_SOCKET in %d ms: it has to wait now and then",
			RV_NOTIFY_BURST, (int)(WINDOW / RV_MS));
	ev_io_stop(n->env->loop, &n->io);
	ev_now_update(n->env->loop);
	ev_timer_set(&n->pause, PAUSE, 0.);
	ev_timer_start(n->env->loop, &n->pause);
}

static void on_readable(struct ev_loop *loop, struct ev_io *w, int events)
{
	struct rv_notify *n = w->data;

	(void)loop, (void)events;
	for (int i = 0; i < A_TURN && take_one(n); i++) {
		if (is_flood(n)) {
			pause_reading(n);
			return;
		}
	}
}

static void on_pause_over(struct ev_loop *loop, struct ev_timer *w, int events)
{
	struct rv_notify *n = w->data;

	(void)events;
	ev_io_start(loop, &n->io);
}

/* ---- its life */

struct rv_notify *rv_notify_open(const struct rv_notify_env *env, const struct rv_service *service,
	uint64_t generation, const struct rv_ident *who, struct rv_err *e)
{
	struct rv_notify *n = calloc(1, sizeof(*n));

	if (!n) {
		rv_fail(e, RV_ERR_SYSTEM, "cannot give it NOTIFY_SOCKET: out of memory");
		return NULL;
	}
	n->env = env;
	n->service = service;
	n->generation = generation;
	n->uid = who->set_uid ? who->uid : geteuid();
	if (!rv_notifysock_open(&n->sock, env->runtime_dir, who, e)) {
		free(n);
		return NULL;
	}
	snprintf(n->variable, sizeof(n->variable), VARIABLE "%s", n->sock.path);
	ev_io_init(&n->io, on_readable, n->sock.fd, EV_READ);
	ev_timer_init(&n->pause, on_pause_over, 0., 0.);
	n->io.data = n->pause.data = n;
	ev_io_start(env->loop, &n->io);
	return n;
}

const char *rv_notify_variable(const struct rv_notify *n)
{
	return n->variable;
}

void rv_notify_spawned(struct rv_notify *n, pid_t pid)
{
	n->launches = n->service->type == RV_LAUNCHER && !n->main;
	n->main = pid;
}

void rv_notify_drain(struct rv_notify *n)
{
	for (int i = 0; i < RV_NOTIFY_BURST && take_one(n); i++)
		;
}

void rv_notify_close(struct rv_notify *n)
{
	if (!n)
		return;
	ev_io_stop(n->env->loop, &n->io);
	ev_timer_stop(n->env->loop, &n->pause);
	rv_notifysock_close(&n->sock);
}

void rv_notify_destroy(struct rv_notify *n)
{
	rv_notify_close(n);
	free(n);
}

void rv_notify_rebind(struct rv_notify *n, const struct rv_service *service)
{
	n->service = service;
}

enum rv_says rv_notify_says(const struct rv_notify *n)
{
	return n->says;
}

const char *rv_notify_status(const struct rv_notify *n)
{
	return n->status;
}

int rv_notify_errno(const struct rv_notify *n)
{
	return n->number;
}

bool rv_notify_extended(const struct rv_notify *n)
{
	return n->extended;
}
