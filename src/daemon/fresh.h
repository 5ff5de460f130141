/* The recipe of a service that its plugin has made since the sandbox's variables are others. A static one is kept until they
 * change again, or a reload makes all of them anew. */
#ifndef DAEMON_FRESH_H
#define DAEMON_FRESH_H

#include "conf/conf.h"

struct rv_fresh {
	struct rv_arena arena; /* values may be in it: wiped at the end */
	struct rv_recipe recipe;
};

/* A copy. NULL: memory was refused. */
struct rv_fresh *rv_fresh_create(const struct rv_recipe *r);
void rv_fresh_destroy(struct rv_fresh *f);

#endif
