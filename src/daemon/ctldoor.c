/* Who comes in: accepting connections of the control socket. See ctl.h. */
#include "daemon/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/ctl.h"
#include "daemon/say.h"

#define ACCEPT_PAUSE   0.25 /* seconds without a free descriptor, before the next try */
#define ACCEPTS_A_TURN 16

/* Who cannot be told is nobody: no admin. */
static uid_t peer_of(int fd)
{
	struct ucred who = {0};
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) || len != sizeof(who))
		return (uid_t)-1;
	return who.uid;
}

static bool let_in(struct rv_control *k, int fd)
{
	uid_t uid = peer_of(fd);
	bool admin = uid == 0 || uid == geteuid();

	if (!admin && k->others >= RV_CONNS_OTHERS_MAX)
		return false;
	return rv_conn_open(k, fd, uid, admin);
}

static void pause_accept(struct rv_control *k, int number)
{
	ev_io_stop(k->loop, &k->accept);
	ev_timer_set(&k->pause, ACCEPT_PAUSE, 0.);
	ev_timer_start(k->loop, &k->pause);
	if (!k->complained)
		rv_say(RV_WARN, NULL, "cannot accept a control connection: %s", strerror(number));
	k->complained = true;
}

static void on_accept(struct ev_loop *loop, ev_io *w, int events)
{
	struct rv_control *k = w->data;

	(void)events;
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd;

		if (k->count == RV_CONNS_MAX) { /* the next one waits until one closes */
			ev_io_stop(loop, &k->accept);
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
	if (k->count < RV_CONNS_MAX)
		ev_io_start(loop, &k->accept);
}

void rv_door_open(struct rv_control *k)
{
	ev_io_init(&k->accept, on_accept, k->sock.fd, EV_READ);
	ev_timer_init(&k->pause, on_pause_over, 0., 0.);
	k->accept.data = k->pause.data = k;
	if (k->count < RV_CONNS_MAX)
		ev_io_start(k->loop, &k->accept);
}

void rv_door_close(struct rv_control *k)
{
	ev_io_stop(k->loop, &k->accept);
	ev_timer_stop(k->loop, &k->pause);
}

void rv_door_left(struct rv_control *k)
{
	if (!ev_is_active(&k->pause) && k->sock.fd >= 0)
		ev_io_start(k->loop, &k->accept);
}
