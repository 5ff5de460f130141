/* Pid table: see pidmap.h. Linear probing; a removal closes the gap, so there are no tombstones. */
#include "daemon/pidmap.h"

#include <stdlib.h>

void rv_pidmap_fini(struct rv_pidmap *m)
{
	free(m->at);
	*m = (struct rv_pidmap){0};
}

static size_t home_of(const struct rv_pidmap *m, pid_t pid)
{
	return ((uint32_t)pid * UINT32_C(2654435769) >> 7) & (m->room - 1);
}

/* The place of pid, or the free place where it would go. The table is never full. */
static size_t place_of(const struct rv_pidmap *m, pid_t pid)
{
	size_t i = home_of(m, pid);

	while (m->at[i].pid && m->at[i].pid != pid)
		i = (i + 1) & (m->room - 1);
	return i;
}

bool rv_pidmap_reserve(struct rv_pidmap *m, size_t more)
{
	struct rv_pidmap next = {.count = m->count, .room = m->room ? m->room : 64};

	while ((m->count + more) * 2 > next.room)
		next.room *= 2;
	if (next.room == m->room)
		return true;
	next.at = calloc(next.room, sizeof(*next.at));
	if (!next.at)
		return false;
	for (size_t i = 0; i < m->room; i++)
		if (m->at[i].pid)
			next.at[place_of(&next, m->at[i].pid)] = m->at[i];
	free(m->at);
	*m = next;
	return true;
}

struct rv_kinsman *rv_pidmap_find(const struct rv_pidmap *m, pid_t pid)
{
	struct rv_kinsman *k;

	if (!m->room || pid <= 0)
		return NULL;
	k = &m->at[place_of(m, pid)];
	return k->pid ? k : NULL;
}

bool rv_pidmap_put(struct rv_pidmap *m, const struct rv_kinsman *k)
{
	size_t i;

	/* A refused enlargement is no trouble while one place stays free. */
	if (!rv_pidmap_reserve(m, 1) && m->count + 2 > m->room)
		return false;
	i = place_of(m, k->pid);
	m->count += !m->at[i].pid;
	m->at[i] = *k;
	return true;
}

void rv_pidmap_drop(struct rv_pidmap *m, pid_t pid)
{
	size_t mask = m->room - 1, gap, i;

	if (!m->room)
		return;
	gap = place_of(m, pid);
	if (!m->at[gap].pid)
		return;
	m->count--;
	for (i = (gap + 1) & mask; m->at[i].pid; i = (i + 1) & mask) {
		/* It may move into the gap unless its home lies behind the gap. */
		if (((i - home_of(m, m->at[i].pid)) & mask) < ((i - gap) & mask))
			continue;
		m->at[gap] = m->at[i];
		gap = i;
	}
	m->at[gap] = (struct rv_kinsman){0};
}
