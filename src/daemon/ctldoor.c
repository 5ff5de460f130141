/* Who comes in: accepting connections of the control socket. See ctl.h. */
#include "daemon/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/ctl.h"
#include "daemon/say.h"

#define ACCEPT_PAUSE   0.25 /* seconds without a free descriptor or place, before the next try */
#define ACCEPTS_A_TURN 16
#define IDLE_LEAST     1. /* seconds without a request, before somebody else may have its place */

/* Who cannot be told is nobody: no admin. */
static uid_t peer_of(int fd)
{
	struct ucred who = {0};
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) || len != sizeof(who))
		return (uid_t)-1;
	return who.uid;
}

/* It has all its answers, and nothing more is to come. */
static bool is_idle(const struct rv_conn *c)
{
	return !c->waits && !c->follows && !c->follows_all && !c->onlooker && !rv_conn_pending(c) &&
		ev_now(c->control->loop) - c->last >= IDLE_LEAST;
}

/* The one that has been idle for longest; NULL: none. */
static struct rv_conn *idlest(const struct rv_control *k, bool of_others)
{
	struct rv_conn *found = NULL;

	for (size_t i = 0; i < k->count; i++) {
		struct rv_conn *c = k->conns[i];

		if (is_idle(c) && !(of_others && c->admin) && (!found || c->last < found->last))
			found = c;
	}
	return found;
}

/* Whoever keeps a connection for later does not keep others out: it can connect again. */
static bool let_in(struct rv_control *k, int fd)
{
	uid_t uid = peer_of(fd);
	bool admin = uid == 0 || uid == geteuid();
	bool share_is_full = !admin && k->others >= RV_CONNS_OTHERS_MAX;
	struct rv_conn *idle;

	if (share_is_full || k->count == RV_CONNS_MAX) {
		idle = idlest(k, share_is_full);
		if (!idle)
			return false;
		rv_conn_close(idle);
	}
	return rv_conn_open(k, fd, uid, admin);
}

static void try_later(struct rv_control *k)
{
	ev_io_stop(k->loop, &k->accept);
	ev_timer_set(&k->pause, ACCEPT_PAUSE, 0.);
	ev_timer_start(k->loop, &k->pause);
}

static void pause_accept(struct rv_control *k, int number)
{
	try_later(k);
	if (!k->complained)
		rv_say(RV_WARN, NULL, "cannot accept a control connection: %s", strerror(number));
	k->complained = true;
}

static void on_accept(struct ev_loop *loop, ev_io *w, int events)
{
	struct rv_control *k = w->data;

	(void)loop, (void)events;
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd;

		/* The next one waits until one closes, or is idle. */
		if (k->count == RV_CONNS_MAX && !idlest(k, false)) {
			try_later(k);
			return;
		}
		fd = accept4(k->sock.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 &&
			(errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
			pause_accept(k, errno);
		if (fd < 0)
			return;
		k->complained = false;
		if (!let_in(k, fd))
			close(fd);
	}
}

static void on_pause_over(struct ev_loop *loop, ev_timer *w, int events)
{
	struct rv_control *k = w->data;

	(void)events;
	ev_io_start(loop, &k->accept);
}

void rv_door_open(struct rv_control *k)
{
	ev_io_init(&k->accept, on_accept, k->sock.fd, EV_READ);
	ev_timer_init(&k->pause, on_pause_over, 0., 0.);
	k->accept.data = k->pause.data = k;
	ev_io_start(k->loop, &k->accept);
}

void rv_door_close(struct rv_control *k)
{
	ev_io_stop(k->loop, &k->accept);
	ev_timer_stop(k->loop, &k->pause);
}

void rv_door_left(struct rv_control *k)
{
	ev_timer_stop(k->loop, &k->pause);
	if (k->sock.fd >= 0)
		ev_io_start(k->loop, &k->accept);
}
