/* The environment of a service's lives and commands: what the file says, what its account and its plugin add, and what
 * reeve tells a life. */
#ifndef DAEMON_LIFEENV_H
#define DAEMON_LIFEENV_H

#include "conf/conf.h"
#include "daemon/ident.h"

#define RV_LISTEN_VARS 3 /* LISTEN_FDS, LISTEN_FDNAMES, LISTEN_PID */

/* The environment of every life and command of s, but for the mark, in the arena. variables: the sandbox's, or NULL. *weak: the
   first so many may be replaced by a recipe's. NULL: memory was refused. */
const char *const *rv_lifeenv_base(const struct rv_service *s, const struct rv_account *who,
	const char *const *variables, struct rv_arena *arena, size_t *weak);
/* LISTEN_FDS and its kind, for lives alone: commands get no listener. All NULL when it has none. The pid is filled in by the
   spawn. */
bool rv_lifeenv_listen(
	const struct rv_service *s, const char *vars[RV_LISTEN_VARS], struct rv_arena *arena);
/* Puts a recipe's additions into env, which has room for them; they lose to what the file sets: all but the first `weak`. */
void rv_lifeenv_add_recipe(size_t weak, const struct rv_recipe *r, const char **env, size_t *n);

/* That of one life, for the time of its spawn. The strings are others'. */
struct rv_lifeenv {
	const char **vars; /* NULL-terminated */
	size_t n;
};
/* base, and on it the listeners and the recipe's additions (NULL: none). False: memory was refused. */
bool rv_lifeenv_begin(struct rv_lifeenv *env, size_t weak, const char *const *base,
	const char *const listen[RV_LISTEN_VARS], const struct rv_recipe *r);
/* One more NAME=VALUE; it replaces the variable, whoever set it. There is room for two. */
void rv_lifeenv_put(struct rv_lifeenv *env, const char *entry);
void rv_lifeenv_fini(struct rv_lifeenv *env);
#define rv_auto_lifeenv __attribute__((cleanup(rv_lifeenv_fini)))

#endif
