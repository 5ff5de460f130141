/* The place of a service: the ports that it binds by itself. Is it free before a start; who is there instead; and is it the
 * service, when it answers. */
#ifndef DAEMON_PLACE_H
#define DAEMON_PLACE_H

#include "daemon/tenant.h"

enum rv_place_is {
	RV_PLACE_FREE,
	RV_PLACE_TAKEN, /* e has the port, and who has it */
	RV_PLACE_GUEST, /* taken by a stranger, and the service adopts: `t` and `port` */
};

/* Before a start. */
enum rv_place_is rv_place_look(struct rv_hands *h, struct rv_world *w, struct rv_tenant *t,
	uint16_t *port, struct rv_err *e);
/* Instead of a start: life `generation` is the stranger's. gone is told with ctx when nobody is there any more. */
bool rv_place_adopt(struct rv_hands *h, struct rv_world *w, uint64_t generation,
	const struct rv_tenant *t, uint16_t port, void (*gone)(void *ctx, rv_id id), void *ctx,
	struct rv_err *e);
/* The guest is forgotten; there may be none. */
void rv_place_part(struct rv_hands *h);
/* A check said yes: was it the service that answered? Where that cannot be told, whether it still lives. False: e says who
   it was, or that it does not live. */
bool rv_place_is_own(struct rv_hands *h, struct rv_world *w, struct rv_err *e);

#endif
