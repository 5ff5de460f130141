/* One that runs already where a service was to be started, and is not ours: found by a port of the service that it listens
 * on. It is asked what a service is asked, and watched for its end; nobody here can signal it, for the reaper does not
 * know it. */
#ifndef DAEMON_GUEST_H
#define DAEMON_GUEST_H

#include <ev.h>

#include "conf/conf.h"

struct rv_guest;

/* gone: nobody listens on the port any more; called from the loop, once. pid 0: not to be told, then only the checks tell
   of its end. What the service's check points to must outlive it. NULL: memory was refused. */
struct rv_guest *rv_guest_create(struct ev_loop *loop, const struct rv_service *service,
	uint16_t port, pid_t pid, void (*gone)(void *arg, rv_id id), void *arg);
void rv_guest_destroy(struct rv_guest *g); /* NULL is fine */
/* Reload: the same service at another place. */
void rv_guest_rebind(struct rv_guest *g, const struct rv_service *service);
/* Somebody listens on its port still: it, or one of its own that took over. */
bool rv_guest_is_there(struct rv_guest *g);
pid_t rv_guest_pid(const struct rv_guest *g); /* 0: not known */
uint16_t rv_guest_port(const struct rv_guest *g);
/* "pid 4711 (nginx)"; until the next call. */
const char *rv_guest_text(struct rv_guest *g);
/* The service's check without what only a child of ours can answer. */
const struct rv_check *rv_guest_check(const struct rv_guest *g);

#endif
