/* Options that a request gave to the start of one service: inside the engine, and for hands.c.
 *
 *   request -> given_asked -> (its plugin agrees) given_next, given_changes -> (its next START) rv_given_turn -> given
 *
 * While they are in force, hands->service and what its plugin sees are a variant of the configured service. */
#ifndef DAEMON_GIVEN_H
#define DAEMON_GIVEN_H

#include "daemon/engine.h"

struct rv_given;
struct rv_hands;

/* NULL is fine. */
void rv_given_destroy(struct rv_given *g);
/* A START has come, and what was asked for takes effect. */
void rv_given_turn(struct rv_engine *g, rv_id id);
/* It is down for good, and nothing was given to the next start: what was given to the last one is forgotten. */
void rv_given_settle(struct rv_engine *g, rv_id id, enum rv_state state);
/* The recipe that its plugin made of them (NULL: its plugin makes none): ports and environment. False: e says whose
   port it is, or that memory was refused. */
bool rv_given_recipe(
	struct rv_engine *g, rv_id id, const struct rv_recipe *recipe, struct rv_err *e);
/* Reload: what was given goes on with the service, under the conf that is coming; that it does not take any more is
   forgotten. Sets `h->service`; hands and hostlink have moved to that conf already. */
void rv_given_go_on(struct rv_engine *g, rv_id id);
/* Who asks for options is told that they are not taken, and why. Fine when nobody asks. */
void rv_given_refuse(struct rv_engine *g, rv_id id, const char *why);
/* Appends text with *** for what is secret: by the configuration, or because it was given as such. */
void rv_given_mask(const struct rv_hands *h, const char *text, struct rv_buf *to);
/* rv_hands_note with the same. */
void rv_given_note(const struct rv_hands *h, char **to, const char *text);

#endif
