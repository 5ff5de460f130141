/* A change of the sandbox's variables while reeve runs: all who have to be told take it, or nothing is changed.
 *
 *   TELL    the hook update of all that run and have one          -- one refuses, or the time is over --> TELL_BACK
 *   RENEW   who says so and has another environment now restarts  -- one does not come back          --> TELL_BACK
 *   TELL_BACK, RENEW_BACK   the same with the variables of before; what cannot be undone is said */
#ifndef DAEMON_ENVCHANGE_H
#define DAEMON_ENVCHANGE_H

#include "daemon/engine.h"

struct rv_envchange;

/* How it went; valid during the call. */
struct rv_envdone {
	bool done; /* else all is as it was, but for what `why` says */
	bool late; /* for the time was over */
	const char *why; /* one sentence; "" */
	const char *told, *renewed; /* names of services: "a, b"; "" */
	const char *
		kept; /* those that run with an environment of before, for nobody has told or restarted them */
	const struct rv_envset *set; /* that is in force now; NULL: none */
};
typedef void rv_env_done(void *arg, const struct rv_envdone *how);

/* variables: taken over. replace: those that are there now and not in them are dropped. within: how long it may take, without
   what it takes to undo it. `done` is called once, from the loop. False: it will not be; e says what they are wrong with,
   who cannot be told, or that reeve closes. Not while another one is under way. */
bool rv_env_change(struct rv_engine *g, struct rv_variables *variables, bool replace,
	rv_time within, rv_env_done *done, void *arg, struct rv_err *e);
bool rv_env_changes(const struct rv_engine *g);
/* Whoever asked is not there any more: it goes on, and `done` is not called. */
void rv_env_disown(struct rv_engine *g);

/* For the pump. The variables of the boot; the core is told before BOOT. */
void rv_env_begin(struct rv_engine *g);
/* After each settle while one is under way. */
void rv_env_turn(struct rv_engine *g);
/* TOLD has come. */
void rv_env_told(struct rv_engine *g, const struct rv_action *a);
/* Appends text with *** for the values of the set in force and, while it is being changed, of the other one. There is a set. */
void rv_env_hide(const struct rv_engine *g, const char *text, struct rv_buf *to);
/* Why the hook update of a service did not end well. */
void rv_env_refused(struct rv_engine *g, rv_id id, const char *why);
void rv_env_end(struct rv_engine *g);

#endif
