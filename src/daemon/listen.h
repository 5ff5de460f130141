/* Listeners: bound before anything starts, kept for reeve's life, handed to one service. */
#ifndef DAEMON_LISTEN_H
#define DAEMON_LISTEN_H

#include <ev.h>

#include "conf/conf.h"

struct rv_listener;

/* Binds (and listens, with a backlog). TIME_WAIT in the way: binds over it, strangers are still
   refused. Taken: e names service, address, and who holds it (pid and command) where that can be
   told. service is for messages. An IPv6 address is IPv6 only ([::] leaves 0.0.0.0 to others), so
   that what is written is what is bound, whatever the machine's default. The descriptor blocks, as a
   service expects. */
struct rv_listener *rv_listener_open(
	const struct rv_listen *l, const char *service, struct rv_err *e);
/* Closes; removes a UNIX socket's path if it is still ours. NULL is fine. */
void rv_listener_close(struct rv_listener *l);
/* The descriptor to pass at the next spawn. */
int rv_listener_fd(const struct rv_listener *l);
/* Gives it a clock, with which it sees when the service listens: until then even a stranger with
   SO_REUSEADDR is refused. Call once after open; without it a life begins with the flag set and a
   guard (portguard.h) beside it. */
void rv_listener_watch(struct rv_listener *l, struct ev_loop *loop);
/* A life that owns it begins: the recipe of SO_REUSEADDR. Call before or right after the spawn. */
void rv_listener_life_begins(struct rv_listener *l);
/* It is over: without backlog, connects are refused again and the next life can listen again; what
   waits in the backlog of the old life is dropped with it. With a backlog it goes on listening. */
bool rv_listener_life_ended(struct rv_listener *l, struct rv_err *e);

/* Who listens on TCP port `port` (any local address, v4 and v6) or on the UNIX path: fills
   "pid 4711 (nginx)" into `to`. False: nobody, or not to be told. */
bool rv_port_holder(uint16_t port, pid_t *pid, char *to, size_t size);
/* True when nothing listens on it on this machine (bind-free look: /proc/net or sock_diag). */
bool rv_port_is_free(uint16_t port);

#endif
