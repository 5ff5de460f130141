/* Which socket uses a port, and whose it is. */
#ifndef DAEMON_HOLDER_H
#define DAEMON_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rv_port_use {
	unsigned long inode; /* 0: nobody's any more */
	bool listening;
	bool closing; /* TIME_WAIT: only the memory of a connection */
};

/* The first socket with that local port, IPv4 or IPv6; only listening ones if asked. Bound sockets that
   neither listen nor are connected are in no table. */
bool rv_port_look(uint16_t port, bool listening, struct rv_port_use *use);
/* "pid 4711 (nginx)". False: nobody has it, or not to be told. */
bool rv_inode_holder(unsigned long inode, pid_t *pid, char *to, size_t size);
bool rv_pid_text(pid_t pid, char *to, size_t size);
/* Who listens on a TCP port, at any local address of this network: *pid, and "pid 4711 (nginx)" in `to`. False: nobody,
   or not to be told. */
bool rv_port_holder(uint16_t port, pid_t *pid, char *to, size_t size);
/* True when nobody listens on it. */
bool rv_port_is_free(uint16_t port);

enum rv_held { RV_HELD_NO, RV_HELD_YES, RV_HELD_UNKNOWN };
/* Whether one of these processes listens on the TCP port. RV_HELD_UNKNOWN: nobody does here (it may be in another
   network), or what they have is not to be read. */
enum rv_held rv_port_held_by(uint16_t port, const pid_t *pids, size_t n);

#endif
