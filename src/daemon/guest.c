/* Guests: see guest.h. */
#include "daemon/guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/holder.h"
#include "sys/fd.h"

struct rv_guest {
	struct ev_loop *loop;
	rv_id id;
	struct rv_check check;
	uint16_t port;
	pid_t pid;
	ev_io ended; /* a pidfd; -1: none */
	void (*gone)(void *arg, rv_id id);
	void *arg;
	char text[128];
};

static void watch(struct rv_guest *g, pid_t pid)
{
	int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	g->pid = pid;
	if (pid <= 0 || !rv_pid_text(pid, g->text, sizeof(g->text)))
		snprintf(g->text, sizeof(g->text), "a process that we may not see");
	if (fd < 0)
		return;
	ev_io_set(&g->ended, fd, EV_READ);
	ev_io_start(g->loop, &g->ended);
}

static void unwatch(struct rv_guest *g)
{
	int fd = g->ended.fd;

	ev_io_stop(g->loop, &g->ended);
	ev_io_set(&g->ended, -1, EV_READ);
	rv_fd_close(&fd);
}

/* A server of several processes may go on without the one that we knew. */
static void on_ended(struct ev_loop *loop, ev_io *w, int revents)
{
	struct rv_guest *g = w->data;

	(void)loop;
	(void)revents;
	unwatch(g);
	if (!rv_guest_is_there(g))
		g->gone(g->arg, g->id);
}

void rv_guest_rebind(struct rv_guest *g, const struct rv_service *service)
{
	g->check = service->ready;
	g->check.has_fd = false;
	g->check.notify = RV_NOTIFY_NONE;
	g->check.log_line = NULL;
	g->check.log_regex = NULL;
	if (g->check.file_anew)
		g->check.file = NULL;
}

struct rv_guest *rv_guest_create(struct ev_loop *loop, const struct rv_service *service,
	uint16_t port, pid_t pid, void (*gone)(void *arg, rv_id id), void *arg)
{
	struct rv_guest *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->loop = loop;
	g->id = service->id;
	g->port = port;
	g->gone = gone;
	g->arg = arg;
	rv_guest_rebind(g, service);
	ev_io_init(&g->ended, on_ended, -1, EV_READ);
	g->ended.data = g;
	watch(g, pid);
	return g;
}

void rv_guest_destroy(struct rv_guest *g)
{
	if (!g)
		return;
	unwatch(g);
	free(g);
}

bool rv_guest_is_there(struct rv_guest *g)
{
	char who[128];
	pid_t pid;

	if (g->ended.fd >= 0 || !g->pid)
		return !rv_port_is_free(g->port);
	if (rv_port_holder(g->port, &pid, who, sizeof(who))) {
		watch(g, pid);
		return true;
	}
	return !rv_port_is_free(g->port);
}

pid_t rv_guest_pid(const struct rv_guest *g)
{
	return g->pid;
}

uint16_t rv_guest_port(const struct rv_guest *g)
{
	return g->port;
}

const char *rv_guest_text(struct rv_guest *g)
{
	return g->text;
}

const struct rv_check *rv_guest_check(const struct rv_guest *g)
{
	return &g->check;
}
