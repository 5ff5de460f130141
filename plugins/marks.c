/* Sorted hashes: see marks.h. */
#include "marks.h"

#include <stdlib.h>
#include <string.h>

#include <reeve/plugin.h>

static uint64_t hash(uint64_t h, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * UINT64_C(1099511628211); /* FNV-1a */
	return h;
}

static uint64_t hash_of(const char *name, size_t n, const char *value)
{
	uint64_t h = hash(UINT64_C(14695981039346656037), name, n);

	if (!value)
		return h;
	return hash(hash(h, "=", 1), value, strlen(value));
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool has(const struct rv_marks *m, uint64_t h)
{
	return m->count && bsearch(&h, m->v, m->count, sizeof(h), by_number);
}

void rv_marks_fini(struct rv_marks *m)
{
	free(m->v);
	*m = (struct rv_marks){0};
}

bool rv_marks_add(struct rv_marks *m, const char *name, size_t name_len, const char *value)
{
	if (m->count == m->room) {
		size_t room = m->room ? 2 * m->room : 32;
		uint64_t *v = realloc(m->v, room * sizeof(*v));

		if (!v)
			return false;
		m->v = v;
		m->room = room;
	}
	m->v[m->count++] = hash_of(name, name_len, value);
	return true;
}

void rv_marks_sort(struct rv_marks *m)
{
	if (m->count)
		qsort(m->v, m->count, sizeof(*m->v), by_number);
}

bool rv_marks_have(const struct rv_marks *m, const char *name, size_t name_len, const char *value)
{
	return has(m, hash_of(name, name_len, value));
}

size_t rv_marks_missing(const uint64_t *wanted, size_t count, const struct rv_marks *there)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += !has(there, wanted[i]);
	return n;
}
