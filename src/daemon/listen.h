/* Listeners: bound before anything starts, kept for reeve's life, handed to one service. */
#ifndef DAEMON_LISTEN_H
#define DAEMON_LISTEN_H

#include "conf/conf.h"

struct rv_listener;

/* Binds (and listens, with a backlog), over what earlier connections left in TIME_WAIT. From then on
   until close strangers are refused, whether a service listens or not (portguard.h). Taken: e names
   service, address, and who holds it (pid and command) where that can be told. service is for
   messages. An IPv6 address is IPv6 only ([::] leaves 0.0.0.0 to others), so that what is written is
   what is bound, whatever the machine's default. The descriptor blocks, as a service expects. */
struct rv_listener *rv_listener_open(
	const struct rv_listen *l, const char *service, struct rv_err *e);
/* Closes; removes a UNIX socket's path if it is still ours. NULL is fine. */
void rv_listener_close(struct rv_listener *l);
/* It is kept for another service from now on. */
void rv_listener_rename(struct rv_listener *l, const char *service);
/* The descriptor to pass at the next spawn. */
int rv_listener_fd(const struct rv_listener *l);
/* A life that owned it is over: without backlog, connects are refused again and the next life can
   listen again; what waits in the backlog of the old life is dropped with it. With a backlog it goes
   on listening. It blocks again, whatever the life made of it. */
bool rv_listener_life_ended(struct rv_listener *l, struct rv_err *e);

#endif
