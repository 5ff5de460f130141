/* The ports that a service binds by itself: nobody else gets them by chance before it does, and who has one all the same
 * is named.
 *
 * Where the kernel keeps them for us (reserved.h) nothing else is needed. Where not, a socket holds each of them, bound
 * and not listening, from the boot to just before the exec, and from the end of a life to the next. In the moment
 * between, and until the service has bound it, the kernel may still give it away; then the service fails, or its
 * readiness is refused (whose.h), and whoever has it is named.
 *
 * Whether somebody has a port is asked of the kernel by binding it; who it is is looked up only when it says
 * no. */
#ifndef DAEMON_PORTKEEP_H
#define DAEMON_PORTKEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <stddef.h>

struct rv_portkeep; /* the sockets of one service */

/* Holds what is free. NULL: memory is refused. ports must outlive it. */
struct rv_portkeep *rv_portkeep_create(const uint16_t *ports, size_t n);
/* k may be NULL in all of these: nothing has to be held. */
void rv_portkeep_destroy(struct rv_portkeep *k);
/* The same ports, at another place. */
void rv_portkeep_rebind(struct rv_portkeep *k, const uint16_t *ports);
void rv_portkeep_hold(struct rv_portkeep *k);
void rv_portkeep_release(struct rv_portkeep *k);
/* The first of these ports that somebody listens on, 0: none. */
uint16_t rv_portkeep_taken(struct rv_portkeep *k, const uint16_t *ports, size_t n);

#endif
