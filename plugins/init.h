/* How envd is given the sandbox's variables: the update hook of the plugin envd.
 *
 *	attempt: GET /envs -> POST /init (the union) -> GET /envs (is it there?)
 *	            |             |                        |
 *	            +-------------+------------------------+--> pause --> the next attempt
 *
 * envd replaces its whole set by what POST /init brings, and the platform posts there, too: so each attempt reads first
 * and sends all that is there with ours over it, under a time stamp of its own. A 204 does not prove that it was applied
 * (a stale time stamp is answered so, too), therefore it is read again and compared.
 *
 * Transport errors, 502, 503 and 504 are tried again, and what was answered well and is not there; anything else is final
 * at once. Of what is there, what reeve has set before and has dropped since is taken out. */
#ifndef PLUGINS_INIT_H
#define PLUGINS_INIT_H

#include <reeve/plugin.h>

enum rv_init_doing { RV_INIT_READ, RV_INIT_SEND, RV_INIT_COMPARE, RV_INIT_PAUSE };

enum { RV_INIT_MOST = 4096 }; /* variables that envd may have in the end */

/* Of one run; begun by step 0. Nothing in it is owned, since a run may be broken off at any turn. */
struct rv_init {
	enum rv_init_doing doing;
	uint32_t attempt; /* from 1 */
	bool is_envd; /* an answer had X-Envd-Version, by which envd shows that it can be given variables */
	bool has_answered; /* anything, in full */
	char cause[400]; /* why the last attempt failed; "": none has */
	size_t sent_count;
	uint64_t sent[RV_INIT_MOST]; /* the marks of the variables that were sent */
};

/* A turn of the hook. `port`: where envd listens. */
enum reeve_next rv_init_update(struct rv_init *i, struct reeve_turn *t, uint16_t port);

#endif
