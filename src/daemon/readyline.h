/* `ready: {log-line: REGEX}`: a line of what a service writes says that it is ready. */
#ifndef DAEMON_READYLINE_H
#define DAEMON_READYLINE_H

#include <ev.h>

#include "base/regex.h"
#include "daemon/capture.h"

struct rv_readyline {
	const struct rv_regex *regex;
	struct rv_capture *capture; /* NULL: nothing is listened to */
	struct ev_loop *loop;
	struct ev_timer soon; /* tells from the loop, for the line may come from anywhere */
	bool within[2]; /* stdout, stderr: the line is only begun */
	bool found;
	void (*changed)(void *arg); /* to found, from the loop */
	void *arg;
};

/* Makes it valid; nothing is listened to yet. */
void rv_readyline_init(
	struct rv_readyline *r, struct ev_loop *loop, void (*changed)(void *arg), void *arg);
/* Before the life begins. Both must outlive it, or rv_readyline_stop. */
void rv_readyline_watch(
	struct rv_readyline *r, struct rv_capture *capture, const struct rv_regex *regex);
void rv_readyline_stop(struct rv_readyline *r);

#endif
