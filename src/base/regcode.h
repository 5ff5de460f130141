/* What an expression is compiled to. Private to regex.c and regcode.c.
 *
 * Jumps are relative, so that a piece of code can be moved and copied: that is how * and {n,m} are made. */
#ifndef BASE_REGCODE_H
#define BASE_REGCODE_H

#include <stdint.h>

#include "base/regex.h"

enum {
	CODE = 1024, /* instructions */
	SETS = 64, /* [...] of one expression */
};

enum op { BYTE, ANY, SET, SPLIT, JUMP, BOL, EOL, MATCH };

struct inst {
	uint8_t op;
	uint8_t arg; /* BYTE: it; SET: which */
	int16_t x, y; /* JUMP: x; SPLIT: both; from here */
};

struct set {
	uint8_t bits[32];
};

struct rv_regex {
	const struct inst *code;
	const struct set *sets;
	uint16_t count;
	bool skips; /* a match can only begin at one of `first`, but at the start of the text */
	struct set first;
};

static inline bool rv_regex_has(const struct set *s, unsigned char c)
{
	return s->bits[c / 8] >> c % 8 & 1;
}

static inline void rv_regex_put(struct set *s, unsigned char c)
{
	s->bits[c / 8] |= (uint8_t)(1 << c % 8);
}

/* Fills skips and first of one that is complete otherwise. */
void rv_regex_find_first(struct rv_regex *x);

#endif
