/* Which socket uses a port, and whose it is: of listening ones the kernel is asked by netlink, where it answers so. */
#ifndef DAEMON_HOLDER_H
#define DAEMON_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/address.h"

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

#define RV_SOCKETS_MAX 64 /* on one port: one an address, or more that share it */

struct rv_sockets {
	unsigned long inodes[RV_SOCKETS_MAX];
	size_t count;
};

/* Those who may get a connection to it: the sockets that listen on that very address, else those on all addresses; several
   when they share the port. */
void rv_port_listeners(const struct rv_address *to, struct rv_sockets *s);

enum rv_held { RV_HELD_NO, RV_HELD_YES, RV_HELD_UNKNOWN };
/* Takes out of `s` what one of the processes has. UNKNOWN: not all that they have could be read, and something is left. */
enum rv_held rv_sockets_take(struct rv_sockets *s, const pid_t *pids, size_t n);
/* Whether one of these processes listens on the TCP port, at any address. UNKNOWN: nobody does here (it may be in another
   network), or what they have is not to be read. */
enum rv_held rv_port_held_by(uint16_t port, const pid_t *pids, size_t n);

#endif
