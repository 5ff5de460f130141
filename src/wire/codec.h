/* The pieces that frames of the host protocol are made of. Each is described once: the writer and the reader call the same
 * function. Inside wire. */
#ifndef WIRE_CODEC_H
#define WIRE_CODEC_H

#include "wire/hostproto.h"

/* Either side. Writing: `out`. Reading: the bytes that are left, and where to put what they hold. `bad` is sticky; after it,
   reading yields zeroes. */
struct rv_codec {
	struct rv_buf *out; /* NULL: reading */
	const unsigned char *p;
	size_t left;
	struct rv_arena *arena;
	bool bad;
};

void rv_codec_raw(struct rv_codec *c, void *v, size_t n);
void rv_codec_u16(struct rv_codec *c, uint16_t *v);
void rv_codec_u32(struct rv_codec *c, uint32_t *v);
void rv_codec_i32(struct rv_codec *c, int32_t *v);
void rv_codec_u64(struct rv_codec *c, uint64_t *v);
void rv_codec_i64(struct rv_codec *c, int64_t *v);
void rv_codec_flag(struct rv_codec *c, bool *v);
/* A small enum: anything from `end` on is refused. */
void rv_codec_small(struct rv_codec *c, uint8_t *v, unsigned end);
/* A count of things that take at least `each` bytes: so it is bounded by what is there. False: bad. */
bool rv_codec_count(struct rv_codec *c, uint32_t *n, size_t each);
/* Memory for what is read. NULL: bad. */
void *rv_codec_room(struct rv_codec *c, size_t n, size_t size);
void rv_codec_bytes(struct rv_codec *c, struct rv_hp_bytes *b, size_t max);
/* A C string; NULL is written as "". */
void rv_codec_str(struct rv_codec *c, const char **s);
/* A string that may be missing. */
void rv_codec_maybe(struct rv_codec *c, const char **s);
/* A NULL-terminated list of strings; NULL stays NULL. */
void rv_codec_words(struct rv_codec *c, const char *const **list);
void rv_codec_ports(struct rv_codec *c, const uint16_t **list, uint32_t *n);

/* Walks an array of structures with `one`; the least bytes of an element bound its count. */
#define RV_CODEC_ARRAY(c, array, n, type, one, least)                \
	do {                                                         \
		const bool writes_ = (c)->out;                       \
		type *to_ = NULL;                                    \
		if (!rv_codec_count(c, &(n), least))                 \
			break;                                       \
		if (!writes_)                                        \
			to_ = rv_codec_room(c, n, sizeof(type));     \
		for (uint32_t i_ = 0; i_ < (n) && !(c)->bad; i_++) { \
			type v_ = {0};                               \
			if (writes_)                                 \
				v_ = (array)[i_];                    \
			one(c, &v_);                                 \
			if (to_)                                     \
				to_[i_] = v_;                        \
		}                                                    \
		if (!writes_)                                        \
			(array) = to_;                               \
	} while (0)

#endif
