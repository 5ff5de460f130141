/* Matching: see regex.h.
 *
 * All the places in the code where a match may be are moved on together, byte by byte. */
#include "base/regcode.h"

#include <string.h>

struct places {
	uint16_t n, at[CODE];
};

struct walk {
	const struct rv_regex *x;
	uint32_t step; /* a place is entered once in each */
	uint32_t seen[CODE]; /* the last step in which it was */
	uint16_t stack[CODE + 1];
};

/* Enters a place, with all that can be reached from it without a byte. True: that is a match. */
static bool enter(struct walk *w, struct places *to, size_t from, bool bol, bool eol)
{
	size_t depth = 0;

	w->stack[depth++] = (uint16_t)from;
	while (depth) {
		uint16_t at = w->stack[--depth];
		const struct inst *i = &w->x->code[at];

		if (w->seen[at] == w->step)
			continue;
		w->seen[at] = w->step;
		switch ((enum op)i->op) {
		case MATCH: return true;
		case JUMP: w->stack[depth++] = (uint16_t)(at + i->x); break;
		case SPLIT:
			w->stack[depth++] = (uint16_t)(at + i->x);
			w->stack[depth++] = (uint16_t)(at + i->y);
			break;
		case BOL:
			if (bol)
				w->stack[depth++] = (uint16_t)(at + 1);
			break;
		case EOL:
			if (eol)
				w->stack[depth++] = (uint16_t)(at + 1);
			break;
		case BYTE:
		case ANY:
		case SET: to->at[to->n++] = at; break;
		}
	}
	return false;
}

static bool takes(const struct rv_regex *x, const struct inst *i, unsigned char c)
{
	return i->op == ANY || (i->op == BYTE ? i->arg == c : rv_regex_has(&x->sets[i->arg], c));
}

bool rv_regex_match(const struct rv_regex *x, const char *text, size_t n, unsigned part)
{
	bool not_bol = part & RV_REGEX_NOT_BOL, not_eol = part & RV_REGEX_NOT_EOL;
	struct places lists[2], *now = &lists[0], *next = &lists[1], *spare;
	struct walk w;

	w.x = x;
	memset(w.seen, 0, x->count * sizeof(w.seen[0]));
	now->n = 0;
	for (size_t i = 0;; i++) {
		if (!now->n && x->skips && (i || not_bol))
			while (i < n && !rv_regex_has(&x->first, (unsigned char)text[i]))
				i++;
		w.step = (uint32_t)i + 1; /* as the places were entered that the last byte led to */
		if (enter(&w, now, 0, !i && !not_bol, i == n && !not_eol))
			return true;
		if (i == n)
			return false;
		w.step++;
		next->n = 0;
		for (size_t k = 0; k < now->n; k++)
			if (takes(x, &x->code[now->at[k]], (unsigned char)text[i]) &&
				enter(&w, next, now->at[k] + 1u, false, i + 1 == n && !not_eol))
				return true;
		spare = now;
		now = next;
		next = spare;
	}
}

void rv_regex_find_first(struct rv_regex *x)
{
	struct places begin = {0};
	struct walk w;

	w.x = x;
	memset(w.seen, 0, sizeof(w.seen));
	w.step = 1;
	if (enter(&w, &begin, 0, false, true)) /* it matches nothing at all, or at the end */
		return;
	x->skips = true;
	for (size_t k = 0; k < begin.n; k++)
		for (unsigned c = 0; c < 256; c++)
			if (takes(x, &x->code[begin.at[k]], (unsigned char)c))
				rv_regex_put(&x->first, (unsigned char)c);
}
