/* The sockets that listen on a TCP port, asked of the kernel by netlink (sock_diag). The tables of /proc/net tell the same,
 * but to read one costs milliseconds where the kernel has room for many connections: it looks for some in all of it. */
#ifndef DAEMON_SOCKDIAG_H
#define DAEMON_SOCKDIAG_H

#include <stdbool.h>
#include <stdint.h>

/* `each` gets the local address (4 or 16 bytes) and the inode. False: the kernel does not tell it this way, or not all. */
bool rv_sockdiag_listeners(bool v6, uint16_t port,
	void (*each)(void *arg, bool v6, const uint8_t *ip, unsigned long inode), void *arg);
/* 0: some socket listens that a connect to this address would reach. -ENOENT: none does, or the kernel has not this
   part. Others: it cannot be told. */
int rv_sockdiag_reached(bool v6, const uint8_t *ip, uint16_t port);

#endif
