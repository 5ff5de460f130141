/* The turn driver: instances of plugins, and the runs of their hooks, many at a time. */
#ifndef HOST_DRIVE_H
#define HOST_DRIVE_H

#include <ev.h>

#include "wire/hostproto.h"

struct rv_drive;

/* page: where to tell what plugin code we are in. send: takes a message at once (copies it). */
struct rv_drive *rv_drive_create(struct ev_loop *loop, struct rv_hp_page *page,
	void (*send)(void *arg, const struct rv_hp_msg *m), void *arg);
void rv_drive_destroy(struct rv_drive *d);
/* A message of the daemon. The arena holds what m points to; it is taken over when it must be kept
   (then *arena is empty afterwards). False: no such message may come. */
bool rv_drive_take(struct rv_drive *d, const struct rv_hp_msg *m, struct rv_arena *arena);

#endif
