/* The text of an expression -> its code: see regcode.h. */
#include "base/regcode.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEPTH = 32, /* of ( */
	REPEATS = 255, /* in {n,m}: what POSIX asks for */
};

struct level { /* the expression as a whole, and each ( that is open */
	uint16_t start, branch; /* where its code begins, and that of the present alternative */
	uint16_t pending; /* 1 + the last jump to its end, which names the one before; 0: none */
	size_t opened; /* byte of the ( */
	bool any; /* the present alternative has something in it */
};

struct build {
	const char *text, *p;
	struct rv_err *e;
	struct inst code[CODE];
	struct set sets[SETS];
	struct level levels[DEPTH];
	uint16_t n, set_count, depth;
	int atom; /* where that begins which a * would repeat; -1: nothing */
};

static size_t byte_of(const struct build *b, const char *p)
{
	return (size_t)(p - b->text) + 1;
}

static bool fits(struct build *b, size_t more)
{
	if (b->n + more <= CODE - 1) /* MATCH comes last */
		return true;
	return rv_fail(b->e, RV_ERR_CONFIG, "too large: it may have %d steps, repeats written out",
		CODE - 1);
}

/* An atom begins: the last one cannot be repeated any more. */
static bool emit(struct build *b, enum op op, uint8_t arg)
{
	if (!fits(b, 1))
		return false;
	b->atom = op == BOL || op == EOL ? -1 : b->n;
	b->levels[b->depth].any = true;
	b->code[b->n++] = (struct inst){.op = (uint8_t)op, .arg = arg};
	return true;
}

/* Room was checked. */
static void insert(struct build *b, size_t at, struct inst i)
{
	memmove(b->code + at + 1, b->code + at, (b->n - at) * sizeof(i));
	b->code[at] = i;
	b->n++;
}

/* The last atom becomes lo to hi of it; hi -1: any number. */
static bool repeat(struct build *b, int lo, int hi)
{
	size_t at = (size_t)b->atom, len = b->n - at, first = at;
	int more = hi > lo ? hi - lo : 0; /* that may be left out */

	if (!fits(b, (size_t)lo * len + (size_t)more * (len + 1) + 2))
		return false;
	if (hi == 0) {
		b->n = (uint16_t)at;
		return true;
	}
	if (lo == 0) {
		insert(b, at,
			(struct inst){.op = SPLIT,
				.x = 1,
				.y = (int16_t)(hi < 0 ? len + 2 : (size_t)more * (len + 1))});
		first++;
		more--;
	}
	for (int i = 1; i < lo; i++, b->n += (uint16_t)len)
		memcpy(b->code + b->n, b->code + first, len * sizeof(b->code[0]));
	if (hi < 0 && lo == 0)
		b->code[b->n++] = (struct inst){.op = JUMP, .x = (int16_t) - (int)(len + 1)};
	else if (hi < 0)
		b->code[b->n++] = (struct inst){.op = SPLIT, .x = (int16_t) - (int)len, .y = 1};
	for (; hi > 0 && more > 0; more--) {
		b->code[b->n++] = (struct inst){
			.op = SPLIT, .x = 1, .y = (int16_t)((size_t)more * (len + 1))};
		memcpy(b->code + b->n, b->code + first, len * sizeof(b->code[0]));
		b->n += (uint16_t)len;
	}
	return true;
}

/* Digits, at most 255; -1: none, or more. */
static int number(struct build *b)
{
	int v = -1;

	for (; isdigit((unsigned char)*b->p); b->p++)
		if (v <= REPEATS)
			v = (v < 0 ? 0 : v) * 10 + (*b->p - '0');
	return v;
}

static bool braces(struct build *b)
{
	const char *from = b->p++;
	int lo = number(b), hi = lo;

	if (*b->p == ',') {
		b->p++;
		hi = *b->p == '}' ? -1 : number(b);
		if (*b->p == '}' && b->p[-1] != ',' && hi < lo)
			lo = -1;
	}
	if (lo < 0 || *b->p != '}')
		return rv_fail(b->e, RV_ERR_CONFIG,
			"{ at byte %zu begins no {n}, {n,} or {n,m}; write \\{ for the character",
			byte_of(b, from));
	if (lo > REPEATS || hi > REPEATS)
		return rv_fail(b->e, RV_ERR_CONFIG, "more than %d repeats at byte %zu", REPEATS,
			byte_of(b, from));
	b->p++;
	return repeat(b, lo, hi);
}

static bool quantifier(struct build *b)
{
	if (b->atom < 0)
		return rv_fail(b->e, RV_ERR_CONFIG,
			"%c at byte %zu has nothing to repeat; write \\%c for the character", *b->p,
			byte_of(b, b->p), *b->p);
	if (*b->p == '{')
		return braces(b);
	b->p++;
	return b->p[-1] == '*'	  ? repeat(b, 0, -1)
		: b->p[-1] == '+' ? repeat(b, 1, -1)
				  : repeat(b, 0, 1);
}

static bool class_has(const char *name, size_t n, int c, bool *known)
{
	static const struct {
		const char *name;
		int (*is)(int c);
	} classes[] = {{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank},
		{"cntrl", iscntrl}, {"digit", isdigit}, {"graph", isgraph}, {"lower", islower},
		{"print", isprint}, {"punct", ispunct}, {"space", isspace}, {"upper", isupper},
		{"xdigit", isxdigit}};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strlen(classes[i].name) == n && !memcmp(classes[i].name, name, n)) {
			*known = true;
			return classes[i].is(c);
		}
	return false;
}

/* [:alpha:] within brackets. */
static bool add_class(struct build *b, struct set *s)
{
	const char *name = b->p + 2, *end = strstr(name, ":]");
	bool known = false;

	for (int c = 0; end && c < 128; c++)
		if (class_has(name, (size_t)(end - name), c, &known))
			rv_regex_put(s, (unsigned char)c);
	if (!known)
		return rv_fail(b->e, RV_ERR_CONFIG,
			"[: at byte %zu begins no class such as [:alpha:] or [:digit:]",
			byte_of(b, b->p));
	b->p = end + 2;
	return true;
}

/* One character within brackets, or a range of them. */
static bool add_range(struct build *b, struct set *s)
{
	const char *from = b->p;
	unsigned char lo = (unsigned char)*b->p++, hi = lo;

	if (*b->p == '-' && b->p[1] && b->p[1] != ']') {
		hi = (unsigned char)b->p[1];
		b->p += 2;
	}
	if (lo > 127 || hi > 127)
		return rv_fail(b->e, RV_ERR_CONFIG,
			"a character that is not ASCII within brackets at byte %zu: use ( | )",
			byte_of(b, from));
	if (hi < lo)
		return rv_fail(b->e, RV_ERR_CONFIG, "a range from %c down to %c at byte %zu", lo,
			hi, byte_of(b, from));
	for (unsigned c = lo; c <= hi; c++)
		rv_regex_put(s, (unsigned char)c);
	return true;
}

static bool bracket(struct build *b)
{
	struct set *s = &b->sets[b->set_count];
	const char *from = b->p++, *first;
	bool negated = *b->p == '^';

	if (b->set_count == SETS)
		return rv_fail(b->e, RV_ERR_CONFIG, "more than %d brackets", SETS);
	*s = (struct set){{0}};
	b->p += negated;
	for (first = b->p; *b->p && (*b->p != ']' || b->p == first);) {
		bool special = *b->p == '[' && b->p[1] && strchr(".=", b->p[1]);

		if (special)
			return rv_fail(b->e, RV_ERR_CONFIG,
				"[%c within brackets at byte %zu is not supported", b->p[1],
				byte_of(b, b->p));
		if (*b->p == '[' && b->p[1] == ':' ? !add_class(b, s) : !add_range(b, s))
			return false;
	}
	if (!*b->p)
		return rv_fail(b->e, RV_ERR_CONFIG, "unmatched [ at byte %zu", byte_of(b, from));
	b->p++;
	for (size_t i = 0; negated && i < sizeof(s->bits); i++)
		s->bits[i] = (uint8_t)~s->bits[i];
	return emit(b, SET, (uint8_t)b->set_count++);
}

/* An alternative ends; what may stand there is another one, or nothing more. */
static bool end_branch(struct build *b)
{
	const struct level *l = &b->levels[b->depth];

	if (l->any)
		return true;
	if (b->p == b->text && !*b->p)
		return rv_fail(b->e, RV_ERR_CONFIG, "empty");
	return rv_fail(b->e, RV_ERR_CONFIG, "nothing stands before %s at byte %zu",
		*b->p == '|'	? "|"
			: *b->p ? ")"
				: "the end",
		byte_of(b, b->p));
}

static bool alternative(struct build *b)
{
	struct level *l = &b->levels[b->depth];
	size_t len = b->n - l->branch;

	if (!end_branch(b) || !fits(b, 2))
		return false;
	insert(b, l->branch, (struct inst){.op = SPLIT, .x = 1, .y = (int16_t)(len + 2)});
	b->code[b->n] = (struct inst){.op = JUMP, .x = (int16_t)l->pending};
	l->pending = ++b->n;
	l->branch = b->n;
	l->any = false;
	b->atom = -1;
	b->p++;
	return true;
}

static void end_level(struct build *b)
{
	const struct level *l = &b->levels[b->depth];

	for (uint16_t at = l->pending; at;) {
		struct inst *i = &b->code[at - 1];
		uint16_t before = (uint16_t)i->x;

		i->x = (int16_t)(b->n - (at - 1));
		at = before;
	}
}

static bool open_group(struct build *b)
{
	if (b->depth + 1 == DEPTH)
		return rv_fail(b->e, RV_ERR_CONFIG, "more than %d levels of (", DEPTH - 1);
	b->levels[++b->depth] = (struct level){
		.start = b->n, .branch = b->n, .opened = byte_of(b, b->p++)};
	b->atom = -1;
	return true;
}

static bool close_group(struct build *b)
{
	if (!b->depth)
		return rv_fail(b->e, RV_ERR_CONFIG,
			"unmatched ) at byte %zu; write \\) for the character", byte_of(b, b->p));
	if (!end_branch(b))
		return false;
	end_level(b);
	b->atom = b->levels[b->depth--].start;
	b->levels[b->depth].any = true;
	b->p++;
	return true;
}

static bool escape(struct build *b)
{
	unsigned char c = (unsigned char)b->p[1];

	if (!ispunct(c))
		return rv_fail(b->e, RV_ERR_CONFIG,
			"\\ at byte %zu stands before %s: it only makes punctuation literal "
			"(digits are [0-9], blanks [[:space:]])",
			byte_of(b, b->p), c ? "a letter, digit or blank" : "the end");
	b->p += 2;
	return emit(b, BYTE, c);
}

static bool one(struct build *b)
{
	switch (*b->p) {
	case '\\': return escape(b);
	case '[': return bracket(b);
	case '(': return open_group(b);
	case ')': return close_group(b);
	case '|': return alternative(b);
	case '*':
	case '+':
	case '?':
	case '{': return quantifier(b);
	case '.': b->p++; return emit(b, ANY, 0);
	case '^': b->p++; return emit(b, BOL, 0);
	case '$': b->p++; return emit(b, EOL, 0);
	default: return emit(b, BYTE, (uint8_t)*b->p++);
	}
}

static bool build(struct build *b)
{
	b->levels[0] = (struct level){0};
	while (*b->p)
		if (!one(b))
			return false;
	if (b->depth)
		return rv_fail(b->e, RV_ERR_CONFIG,
			"unmatched ( at byte %zu; write \\( for the character",
			b->levels[b->depth].opened);
	if (!end_branch(b))
		return false;
	end_level(b);
	b->code[b->n++] = (struct inst){.op = MATCH};
	return true;
}

/* What was built, at its size. */
static const struct rv_regex *keep(const struct build *b, struct rv_arena *a)
{
	struct rv_regex *x = rv_arena_alloc(a, sizeof(*x));
	struct inst *code = rv_arena_array(a, b->n, sizeof(*code));
	struct set *sets = rv_arena_array(a, b->set_count, sizeof(*sets));

	if (!x || !code || !sets) {
		rv_fail(b->e, RV_ERR_SYSTEM, "out of memory");
		return NULL;
	}
	memcpy(code, b->code, b->n * sizeof(*code));
	memcpy(sets, b->sets, b->set_count * sizeof(*sets));
	*x = (struct rv_regex){.code = code, .sets = sets, .count = b->n};
	rv_regex_find_first(x);
	return x;
}

const struct rv_regex *rv_regex_compile(struct rv_arena *a, const char *text, struct rv_err *e)
{
	struct build *b = malloc(sizeof(*b)); /* too large for the stack */
	const struct rv_regex *x;

	if (!b) {
		rv_fail(e, RV_ERR_SYSTEM, "out of memory");
		return NULL;
	}
	b->text = b->p = text;
	b->e = e;
	b->n = b->set_count = b->depth = 0;
	b->atom = -1;
	x = build(b) ? keep(b, a) : NULL;
	free(b);
	return x;
}
