/* The variables that the sandbox has now, and what is made of them. One exists from the first ones on. */
#ifndef DAEMON_ENVSET_H
#define DAEMON_ENVSET_H

#include "conf/conf.h"
#include "wire/variables.h"

struct rv_hands;
struct rv_world;

/* Hooks are told all of them, in one frame; changes without end must not make it too large. */
enum { RV_ENVSET_DROPPED = 1024 };

struct rv_envset {
	struct rv_variables variables;
	bool *later; /* of each: it was set while reeve ran */
	const char *const
		*dropped; /* names that were among them once: the last RV_ENVSET_DROPPED */
	struct rv_mask *mask; /* of their values; NULL: memory was refused, then nothing is shown */
	struct rv_arena arena; /* environments of services, and `dropped` */
};

/* variables: taken over, also when memory is refused (NULL). */
struct rv_envset *rv_envset_create(struct rv_variables *variables);
/* Those of `old` (may be NULL) with `more` (taken over) in place of, and beside them; replace: without the former. why: what
   they are wrong with together. NULL: so it is, or memory was refused. */
struct rv_envset *rv_envset_change(
	const struct rv_envset *old, struct rv_variables *more, bool replace, struct rv_buf *why);
void rv_envset_destroy(struct rv_envset *s);

/* NAME=VALUE, NULL-terminated; NULL: none. `s` may be NULL. */
const char *const *rv_envset_list(const struct rv_envset *s);
/* What `before` had, or had dropped, and `s` has not, is dropped from now on. False: memory was refused. */
bool rv_envset_drop(struct rv_envset *s, const struct rv_envset *before);
/* The same for one that nobody has any more and that is to be in force again: its environments are made anew, so the memory
   of the old ones goes. */
bool rv_envset_recall(struct rv_envset *s, const struct rv_envset *before);
/* Whether a service would have another environment with b than with a; either may be NULL. */
bool rv_envset_differs(
	const struct rv_service *s, const struct rv_envset *a, const struct rv_envset *b);

/* Whether there is a service to whom variables can be given: whose plugin tells them to what runs, or who is restarted for
   them; boot: of those that a boot starts. False: e says that there is none. */
bool rv_envset_is_taken(const struct rv_conf *conf, bool boot, struct rv_err *e);

#endif
