/* Tells whoever supervises reeve how it is, when NOTIFY_SOCKET in reeve's own environment asks for it (sd_notify(3)):
 * READY=1 once the boot is over and did not fail, STOPPING=1 once nothing is started any more, and a STATUS with each.
 * A supervisor that does not read never makes the loop wait: it is told again later. */
#ifndef DAEMON_HERALD_H
#define DAEMON_HERALD_H

#include <ev.h>

#include "daemon/engine.h"

struct rv_herald;

/* path: NULL or empty: nobody wants to know, and NULL is returned. NULL as well, and a line in the log, when it
   is no path that can be written to. The engine must outlive it. */
struct rv_herald *rv_herald_create(
	struct ev_loop *loop, struct rv_engine *engine, const char *path);
/* With one more attempt to tell what has not been heard. NULL is fine. */
void rv_herald_destroy(struct rv_herald *h);

#endif
