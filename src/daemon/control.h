/* The control socket: JSON-RPC 2.0, one object a line, on a UNIX stream socket. */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H

#include <ev.h>

#include "daemon/engine.h"
#include "daemon/load.h"

struct rv_control;

/* Binds RUNTIME-DIR/control.sock (folder made when missing) with the configured mode and owner from the
   first moment on. A live reeve on the path: refused. A stale socket: replaced. Anything else at the
   path: refused, untouched. The engine must outlive it. */
struct rv_control *rv_control_create(
	struct ev_loop *loop, struct rv_engine *engine, struct rv_err *e);
/* What `check` shall read again; must outlive it. */
void rv_control_files(struct rv_control *c, const struct rv_load *files);
/* Brings the socket back when it was removed or replaced while reeve runs; connections stay. Nothing happens
   while it is in its place. For HUP. */
bool rv_control_restore(struct rv_control *c, struct rv_err *e);
/* Answers what waits with an error, closes, removes the socket if it is still ours. NULL is fine. */
void rv_control_destroy(struct rv_control *c);

#endif
