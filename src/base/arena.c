/* Arena: see arena.h. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rv_arena_block {
	struct rv_arena_block *before;
	size_t len, room;
	alignas(max_align_t) char bytes[];
};

enum { BLOCK = 16384 };

/* Under the address sanitizer a gap that must not be touched follows what was given out, or it could
   not see a write past the end. */
#ifdef __SANITIZE_ADDRESS__
#define RV_ARENA_GUARDED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RV_ARENA_GUARDED 1
#endif
#endif
#ifdef RV_ARENA_GUARDED
#include <sanitizer/asan_interface.h>
enum { GAP = 32 };
#define GUARD(from, n)	 ASAN_POISON_MEMORY_REGION(from, n)
#define UNGUARD(from, n) ASAN_UNPOISON_MEMORY_REGION(from, n)
#else
enum { GAP = 0 };
#define GUARD(from, n)	 ((void)(from), (void)(n))
#define UNGUARD(from, n) ((void)(from), (void)(n))
#endif

void rv_arena_fini(struct rv_arena *a)
{
	struct rv_arena_block *b = a->last, *before;

	for (; b; b = before) {
		before = b->before;
		UNGUARD(b->bytes, b->room);
		free(b);
	}
	*a = (struct rv_arena){.max = a->max};
}

void rv_arena_wipe(struct rv_arena *a)
{
	for (struct rv_arena_block *b = a->last; b; b = b->before) {
		UNGUARD(b->bytes, b->room);
		explicit_bzero(b->bytes, b->room);
	}
	rv_arena_fini(a);
}

void *rv_arena_alloc(struct rv_arena *a, size_t n)
{
	size_t max = a->max ? a->max : (size_t)256 << 20;
	size_t need = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	struct rv_arena_block *b = a->last;
	void *p;

	if (need < n || need > max || a->used > max - need) {
		a->full = true;
		return NULL;
	}
	if (!b || b->room - b->len < need + GAP) {
		size_t room = need > BLOCK ? need + GAP : BLOCK + GAP;

		b = calloc(1, sizeof(*b) + room);
		if (!b) {
			a->full = true;
			return NULL;
		}
		b->room = room;
		b->before = a->last;
		a->last = b;
	}
	p = b->bytes + b->len;
	GUARD(b->bytes + b->len + n, need - n + GAP);
	b->len += need + GAP;
	a->used += need;
	return p;
}

void *rv_arena_array(struct rv_arena *a, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size) {
		a->full = true;
		return NULL;
	}
	return rv_arena_alloc(a, n * size);
}

char *rv_arena_strndup(struct rv_arena *a, const char *s, size_t n)
{
	char *p = rv_arena_alloc(a, n + 1);

	if (p)
		memcpy(p, s, n);
	return p;
}

char *rv_arena_strdup(struct rv_arena *a, const char *s)
{
	return rv_arena_strndup(a, s, strlen(s));
}

char *rv_arena_fmt(struct rv_arena *a, const char *format, ...)
{
	va_list ap, again;
	char *p = NULL;
	int n;

	va_start(ap, format);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n >= 0)
		p = rv_arena_alloc(a, (size_t)n + 1);
	if (p)
		vsnprintf(p, (size_t)n + 1, format, again);
	va_end(again);
	return p;
}
