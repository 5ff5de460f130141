/* The pieces of a frame: see codec.h. */
#include "wire/codec.h"

#include <string.h>

void rv_codec_raw(struct rv_codec *c, void *v, size_t n)
{
	if (c->out) {
		c->bad |= !rv_buf_add(c->out, v, n);
		return;
	}
	if (c->bad || n > c->left) {
		c->bad = true;
		memset(v, 0, n);
		return;
	}
	memcpy(v, c->p, n);
	c->p += n;
	c->left -= n;
}

void rv_codec_u32(struct rv_codec *c, uint32_t *v)
{
	rv_codec_raw(c, v, sizeof(*v));
}

void rv_codec_i32(struct rv_codec *c, int32_t *v)
{
	rv_codec_raw(c, v, sizeof(*v));
}

void rv_codec_u64(struct rv_codec *c, uint64_t *v)
{
	rv_codec_raw(c, v, sizeof(*v));
}

void rv_codec_i64(struct rv_codec *c, int64_t *v)
{
	rv_codec_raw(c, v, sizeof(*v));
}

void rv_codec_u16(struct rv_codec *c, uint16_t *v)
{
	rv_codec_raw(c, v, sizeof(*v));
}

void rv_codec_small(struct rv_codec *c, uint8_t *v, unsigned end)
{
	rv_codec_raw(c, v, 1);
	if (*v >= end) {
		c->bad = true;
		*v = 0;
	}
}

void rv_codec_flag(struct rv_codec *c, bool *v)
{
	uint8_t b = *v;

	rv_codec_small(c, &b, 2);
	*v = b;
}

bool rv_codec_count(struct rv_codec *c, uint32_t *n, size_t each)
{
	rv_codec_u32(c, n);
	if (!c->out && !c->bad && *n > c->left / each)
		c->bad = true;
	if (c->bad)
		*n = 0;
	return !c->bad;
}

void *rv_codec_room(struct rv_codec *c, size_t n, size_t size)
{
	void *p = rv_arena_array(c->arena, n, size);

	c->bad |= !p;
	return p;
}

void rv_codec_bytes(struct rv_codec *c, struct rv_hp_bytes *b, size_t max)
{
	uint32_t n = (uint32_t)b->n;
	char *copy;

	if (c->out) {
		if (b->n > max) {
			c->bad = true;
			return;
		}
		rv_codec_u32(c, &n);
		c->bad |= !rv_buf_add(c->out, b->p, b->n);
		return;
	}
	*b = (struct rv_hp_bytes){.p = ""};
	if (!rv_codec_count(c, &n, 1))
		return;
	copy = n > max ? NULL : rv_codec_room(c, (size_t)n + 1, 1);
	if (!copy) {
		c->bad = true;
		return;
	}
	rv_codec_raw(c, copy, n);
	*b = (struct rv_hp_bytes){.p = copy, .n = n};
}

void rv_codec_str(struct rv_codec *c, const char **s)
{
	struct rv_hp_bytes b = {0};

	if (c->out && *s)
		b = (struct rv_hp_bytes){.p = *s, .n = strlen(*s)};
	rv_codec_bytes(c, &b, RV_HP_MAX);
	if (c->out)
		return;
	*s = b.p;
	if (b.n && memchr(b.p, 0, b.n))
		c->bad = true;
}

void rv_codec_words(struct rv_codec *c, const char *const **list)
{
	const char *const *from = c->out ? *list : NULL;
	const char **to = NULL;
	bool there = from;
	uint32_t n = 0;

	if (!c->out)
		*list = NULL;
	rv_codec_flag(c, &there);
	if (!there)
		return;
	for (; from && from[n]; n++)
		;
	if (!rv_codec_count(c, &n, 4))
		return;
	if (!c->out) {
		to = rv_codec_room(c, (size_t)n + 1, sizeof(*to));
		if (!to)
			return;
		*list = to;
	}
	for (uint32_t i = 0; i < n && !c->bad; i++) {
		const char *s = from ? from[i] : NULL;

		rv_codec_str(c, &s);
		if (to)
			to[i] = s;
	}
	if (c->bad && to)
		*list = NULL;
}

void rv_codec_ports(struct rv_codec *c, const uint16_t **list, uint32_t *n)
{
	uint16_t *to;

	if (!rv_codec_count(c, n, 2))
		return;
	if (c->out) {
		c->bad |= *n && !rv_buf_add(c->out, *list, *n * sizeof(**list));
		return;
	}
	to = rv_codec_room(c, *n, sizeof(*to));
	*list = to;
	if (to)
		rv_codec_raw(c, to, *n * sizeof(*to));
	else
		*n = 0;
}

void rv_codec_maybe(struct rv_codec *c, const char **s)
{
	bool there = *s;

	rv_codec_flag(c, &there);
	if (there)
		rv_codec_str(c, s);
}
