/* The ring of what happened: see history.h. */
#include "daemon/history.h"

#include <assert.h>
#include <stdlib.h>

void rv_history_init(struct rv_history *h, size_t room)
{
	/* not calloc: clearing would touch pages that a quiet sandbox never needs */
	*h = (struct rv_history){.ring = malloc(room * sizeof(*h->ring)), .room = room};
}

void rv_history_fini(struct rv_history *h)
{
	free(h->ring);
	*h = (struct rv_history){0};
}

struct rv_happening *rv_history_add(struct rv_history *h)
{
	return h->ring ? &h->ring[h->count++ % h->room] : NULL;
}

uint64_t rv_history_first(const struct rv_history *h)
{
	return h->count > h->room ? h->count - h->room : 0;
}

const struct rv_happening *rv_history_get(const struct rv_history *h, uint64_t number)
{
	assert(number >= rv_history_first(h) && number < h->count);
	return &h->ring[number % h->room];
}
