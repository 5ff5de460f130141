/* Kernels that a Jupyter Server has when it counts as ready: option `contexts` of the jupyter plugin.
 *
 * Each is a session, created once in a life of the server. Its path was never used before, so that one whose
 * answer did not come can be found in the list, and nobody else's is ever taken for it. */
#ifndef PLUGINS_CONTEXTS_H
#define PLUGINS_CONTEXTS_H

#include <reeve/plugin.h>

#include "sessions.h"

/* Of one run of probe: what was asked in the turn before. Zero at the start of each run. */
struct rv_contexts_run {
	enum {
		RV_ASKED_STATUS,
		RV_ASKED_KERNELS,
		RV_ASKED_SESSION,
		RV_ASKED_LIST,
		RV_ASKED_END
	} asked;
};

/* Whether the option is what it should be. root: the server's folder; NULL: not known. False: t->why. */
bool rv_contexts_check(struct reeve_turn *t, const char *root);

/* The server has answered that it is up: what has to be asked first, or REEVE_OK when all are there. */
enum reeve_next rv_contexts_begin(struct reeve_turn *t, struct rv_contexts_run *run,
	const struct rv_session_server *at, const char *root);

/* The answer to that has come. */
enum reeve_next rv_contexts_go_on(struct reeve_turn *t, struct rv_contexts_run *run,
	const struct rv_session_server *at, const char *root);

#endif
