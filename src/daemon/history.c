/* The ring of what happened: see history.h. */
#include "daemon/history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct rv_gone {
	struct rv_gone *next;
	bool told; /* some happening is about it */
	char name[];
};

void rv_history_init(struct rv_history *h, size_t room)
{
	/* not calloc: clearing would touch pages that a quiet sandbox never needs */
	*h = (struct rv_history){.ring = malloc(room * sizeof(*h->ring)), .room = room};
}

void rv_history_fini(struct rv_history *h)
{
	while (h->gone) {
		struct rv_gone *g = h->gone;

		h->gone = g->next;
		free(g);
	}
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

static struct rv_gone *gone_of(const char *name)
{
	return (struct rv_gone *)((uintptr_t)name - offsetof(struct rv_gone, name));
}

/* Names that the ring has lost by now. */
static void forget_names(struct rv_history *h)
{
	struct rv_gone **at = &h->gone, *g;

	for (g = h->gone; g; g = g->next)
		g->told = false;
	for (uint64_t i = rv_history_first(h); i < h->count; i++) {
		const struct rv_happening *n = rv_history_get(h, i);

		if (n->name)
			gone_of(n->name)->told = true;
		if (n->other_name)
			gone_of(n->other_name)->told = true;
	}
	while ((g = *at)) {
		if (g->told) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		free(g);
	}
}

void rv_history_remove(struct rv_history *h, rv_id id, const char *name)
{
	size_t len = strlen(name) + 1;
	struct rv_gone *g = h->ring ? malloc(sizeof(*g) + len) : NULL;

	if (!h->ring)
		return;
	forget_names(h);
	if (g) {
		memcpy(g->name, name, len);
		g->next = h->gone;
		h->gone = g;
	}
	for (uint64_t i = rv_history_first(h); i < h->count; i++) {
		struct rv_happening *n = &h->ring[i % h->room];

		if (n->id == id && !n->name) {
			n->name = g ? g->name : NULL;
			n->id = RV_GONE_ID;
		}
		if (n->other == id && !n->other_name) {
			n->other_name = g ? g->name : NULL;
			n->other = RV_GONE_ID;
		}
	}
}
