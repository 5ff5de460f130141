/* One service as its plugin sees it. */
#ifndef HOST_INSTANCE_H
#define HOST_INSTANCE_H

#include "host/load.h"
#include "wire/hostproto.h"

struct rv_instance {
	struct rv_arena arena; /* owns all that the message points to */
	struct rv_hp_instance m;
	const struct rv_plugin *plugin;
	void *self;
	struct reeve_value *values;
	struct reeve_listener *listeners;
	struct reeve_peer *peers;
};

/* Fills what is derived from m and plugin. False: memory was refused, or a value is not of its type. */
bool rv_instance_fill(struct rv_instance *i);
/* NULL is fine. */
void rv_instance_destroy(struct rv_instance *i);

#endif
