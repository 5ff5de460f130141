/* `ready: {fd: N}`: a service writes a newline to a pipe when it is ready, as under s6. */
#ifndef DAEMON_READYFD_H
#define DAEMON_READYFD_H

#include <ev.h>
#include <stdbool.h>

enum rv_told {
	RV_TOLD_NOTHING,
	RV_TOLD_READY,
	RV_TOLD_CLOSED, /* without a newline, just now: the exit that explains it may follow */
	RV_TOLD_FAILED, /* without a newline, and nothing followed */
};

struct rv_readyfd {
	struct ev_loop *loop;
	struct ev_io io; /* io.fd -1: not open */
	struct ev_timer grace;
	int child; /* the child's end until it has it; else -1 */
	enum rv_told told;
	void (*changed)(void *arg); /* to READY or FAILED */
	void *arg;
};

/* Makes it valid; nothing is open yet. */
void rv_readyfd_init(
	struct rv_readyfd *r, struct ev_loop *loop, void (*changed)(void *arg), void *arg);
/* Makes the pipe. False: errno. */
bool rv_readyfd_open(struct rv_readyfd *r);
void rv_readyfd_close(struct rv_readyfd *r);

#endif
