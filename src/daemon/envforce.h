/* Which variables of the sandbox are in force: what hooks, rehearsals and new processes have. For envchange.c. */
#ifndef DAEMON_ENVFORCE_H
#define DAEMON_ENVFORCE_H

#include "daemon/envset.h"
#include "daemon/engine.h"

/* Its plugin tells it what it runs with. */
bool rv_env_is_told(const struct rv_service *s);
/* *set is in force from now on, and what was before is in its place. False: memory was refused; all services have what they
   had. */
bool rv_env_exchange(struct rv_engine *g, struct rv_envset **set);
/* A set with other variables (taken over), checked against those and against whom it is for; nothing is in force yet. There is
   one to go back to from then on, if only an empty one. NULL: e says why not. */
struct rv_envset *rv_env_next(
	struct rv_engine *g, struct rv_variables *variables, bool replace, struct rv_err *e);

#endif
