/* A second socket on the port of a TCP listener, for as long as the listener lives, that never listens.
 *
 * The listener carries SO_REUSEADDR before anybody listens on it, so that every connection that is ever accepted
 * inherits the flag, and what they leave behind hinders neither the next listen nor the next boot. (Set any later, it
 * misses the connection that is accepted first.) But with the flag on one side and on the other the kernel lets any
 * stranger bind to a port that nobody listens on, and nearly every server sets it. The guard has no such flag and refuses
 * them: in every phase, without a moment between and without a clock.
 *
 * What Linux 6.18 answers to a stranger, with R for SO_REUSEADDR and P for SO_REUSEPORT, bound at the same address or at
 * the wildcard; ours has R and P, the guard has P. Phases: before the first life, started but not listening, listening,
 * with connections, with TIME_WAIT of either side's making, between lives, with net.ipv4.tcp_migrate_req too.
 *
 *   stranger       its user          every phase
 *   - or R         any               EADDRINUSE, at bind
 *   P or RP        another           EADDRINUSE, at bind
 *   P or RP        the sockets' own  bound, in every phase
 *   any, port 0    any               some other port
 *
 *   ours           listens again     what its connections leave lets the next boot bind
 *   R and P        always            yes
 *   P only         always            no, for 60 s: the guard's first bind cannot have P, see portguard.c
 *   R or nothing   never, the guard  (R) yes
 *                  is in the way
 *
 * As root both sockets are given to a user that nobody is, so that the third row is empty. Else it is a process of
 * our own user that sets P on purpose; such a one could kill us as well. */
#ifndef DAEMON_PORTGUARD_H
#define DAEMON_PORTGUARD_H

#include <stdbool.h>
#include <sys/socket.h>

/* Binds a TCP socket where nobody is: neither a listener nor a socket that is merely bound without SO_REUSEADDR, whoever
   has it. Connections of earlier times do not matter, if they had that flag. Leaves it off. False: errno. */
bool rv_port_bind(int fd, const struct sockaddr *at, socklen_t size);
/* The same, with a guard: `ours` has all that it needs to listen again and again. *guard is to be closed after `ours`; it
   is -1 where the kernel lets no two sockets share a port (Linux does), and on failure. */
bool rv_portguard_bind(int ours, const struct sockaddr *at, socklen_t size, int *guard);

#endif
