/* The last lines of a service, in memory: see tail.h.
 *
 *   ring: [mark][bytes][mark][bytes]...   from head, wrapping; the oldest block loses its front as
 *                                         the newest one grows
 *
 * Blocks of both rings have one sequence, which is how they are merged. */
#include "daemon/tail.h"

#include <stdlib.h>
#include <string.h>

struct mark {
	uint64_t seq;
	uint32_t len;
	uint32_t cut; /* its front is gone: it may start inside a line */
};

static void ring_put(struct rv_tail_ring *r, uint32_t at, const void *from, size_t n)
{
	size_t right;

	at %= RV_TAIL_RING;
	right = RV_TAIL_RING - at;
	if (right > n)
		right = n;
	memcpy(r->bytes + at, from, right);
	memcpy(r->bytes, (const char *)from + right, n - right);
}

static void ring_get(const struct rv_tail_ring *r, uint32_t at, void *to, size_t n)
{
	size_t right;

	at %= RV_TAIL_RING;
	right = RV_TAIL_RING - at;
	if (right > n)
		right = n;
	memcpy(to, r->bytes + at, right);
	memcpy((char *)to + right, r->bytes, n - right);
}

/* Drops from the oldest block (all of it when it must be) until `need` bytes are free. */
static void ring_evict(struct rv_tail_ring *r, size_t need)
{
	while (RV_TAIL_RING - r->used < need) {
		uint32_t lack = (uint32_t)(need - (RV_TAIL_RING - r->used));
		uint32_t was = r->head;
		struct mark m;

		ring_get(r, r->head, &m, sizeof(m));
		if (m.len <= lack) {
			r->head = (r->head + (uint32_t)sizeof(m) + m.len) % RV_TAIL_RING;
			r->used -= (uint32_t)sizeof(m) + m.len;
			continue;
		}
		/* The mark moves forward, over bytes that are given up. */
		m.len -= lack;
		m.cut = 1;
		r->head = (r->head + lack) % RV_TAIL_RING;
		r->used -= lack;
		ring_put(r, r->head, &m, sizeof(m));
		if (r->last == was)
			r->last = r->head;
	}
}

static bool ring_grow(struct rv_tail_ring *r, const char *bytes, size_t n)
{
	struct mark m;

	ring_evict(r, n);
	if (!r->used)
		return false; /* the block was the oldest as well, and has gone */
	ring_get(r, r->last, &m, sizeof(m));
	ring_put(r, r->last + (uint32_t)sizeof(m) + m.len, bytes, n);
	m.len += (uint32_t)n;
	ring_put(r, r->last, &m, sizeof(m));
	r->used += (uint32_t)n;
	return true;
}

static void ring_append(struct rv_tail_ring *r, uint64_t seq, const char *bytes, size_t n, bool cut)
{
	struct mark m = {.seq = seq, .len = (uint32_t)n, .cut = cut};

	ring_evict(r, sizeof(m) + n);
	r->last = (r->head + r->used) % RV_TAIL_RING;
	ring_put(r, r->last, &m, sizeof(m));
	ring_put(r, r->last + (uint32_t)sizeof(m), bytes, n);
	r->used += (uint32_t)(sizeof(m) + n);
}

void rv_tail_fini(struct rv_tail *t)
{
	free(t->ring[0].bytes);
	free(t->ring[1].bytes);
	*t = (struct rv_tail){0};
}

void rv_tail_add(struct rv_tail *t, unsigned ring, const char *bytes, size_t n)
{
	const size_t most = RV_TAIL_RING - sizeof(struct mark);
	struct rv_tail_ring *r = &t->ring[ring];
	bool cut = n > most;

	if (!n || (!r->bytes && !(r->bytes = malloc(RV_TAIL_RING))))
		return;
	if (cut) {
		bytes += n - most;
		n = most;
	}
	if (t->open && t->newest == ring && r->used && ring_grow(r, bytes, n))
		return;
	ring_append(r, ++t->seq, bytes, n, cut);
	t->open = true;
	t->newest = (uint8_t)ring;
}

void rv_tail_life(struct rv_tail *t)
{
	t->life = t->seq + 1;
	t->open = false;
}

/* Appends the block at `at`, from its first whole line on. */
static void block_read(
	const struct rv_tail_ring *r, uint32_t at, const struct mark *m, struct rv_buf *to)
{
	size_t from = to->len;
	const char *line;

	if (!rv_buf_reserve(to, m->len))
		return;
	ring_get(r, at + (uint32_t)sizeof(*m), to->data + from, m->len);
	to->len += m->len;
	to->data[to->len] = 0;
	line = m->cut ? memchr(to->data + from, '\n', m->len) : NULL;
	/* A rest of a line is worth showing only when it is all there is. */
	if (line && ((size_t)(line + 1 - to->data) < to->len || at % RV_TAIL_RING != r->last)) {
		size_t gone = (size_t)(line + 1 - (to->data + from));

		memmove(to->data + from, line + 1, m->len - gone + 1);
		to->len -= gone;
	}
}

void rv_tail_read(const struct rv_tail *t, bool err_only, struct rv_buf *to)
{
	uint32_t at[2] = {t->ring[0].head, t->ring[1].head};
	uint32_t left[2] = {err_only ? 0 : t->ring[0].used, t->ring[1].used};

	while (left[0] || left[1]) {
		struct mark m[2] = {{.seq = UINT64_MAX}, {.seq = UINT64_MAX}};
		unsigned i;

		for (i = 0; i < 2; i++)
			if (left[i])
				ring_get(&t->ring[i], at[i], &m[i], sizeof(m[i]));
		i = m[1].seq < m[0].seq;
		if (!err_only || m[i].seq >= t->life)
			block_read(&t->ring[i], at[i], &m[i], to);
		at[i] += (uint32_t)sizeof(m[i]) + m[i].len;
		left[i] -= (uint32_t)sizeof(m[i]) + m[i].len;
	}
}

size_t rv_tail_cut(const char *text, size_t n, size_t lines, size_t max)
{
	size_t end = n, start = 0;

	if (max && n > max) {
		const char *line = memchr(text + n - max, '\n', max);

		start = n - max;
		if (text[start - 1] != '\n' && line && (size_t)(line + 1 - text) < n)
			start = (size_t)(line + 1 - text);
	}
	if (end && text[end - 1] == '\n')
		end--;
	while (lines) {
		const char *line = end > start ? memrchr(text + start, '\n', end - start) : NULL;

		if (!line)
			return start;
		end = (size_t)(line - text);
		if (!--lines)
			return end + 1;
	}
	return start;
}
