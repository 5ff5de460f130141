/* Bit sets in two levels: words, and behind them one bit for each word that is not zero. */
#include "core/bits.h"

static size_t words(size_t n)
{
	return (n + 63) / 64;
}

size_t rv_bits_words(size_t n)
{
	return words(n) + words(words(n));
}

bool rv_bits_has(const uint64_t *b, size_t i)
{
	return b[i / 64] >> (i % 64) & 1;
}

void rv_bits_add(uint64_t *b, size_t n, size_t i)
{
	uint64_t *summary = b + words(n);

	b[i / 64] |= UINT64_C(1) << (i % 64);
	summary[i / 4096] |= UINT64_C(1) << (i / 64 % 64);
}

void rv_bits_remove(uint64_t *b, size_t n, size_t i)
{
	uint64_t *summary = b + words(n);

	b[i / 64] &= ~(UINT64_C(1) << (i % 64));
	if (!b[i / 64])
		summary[i / 4096] &= ~(UINT64_C(1) << (i / 64 % 64));
}

/* The first word at or above `from` that is not zero. */
static size_t word_up(const uint64_t *b, size_t count, size_t from)
{
	const uint64_t *summary = b + count;
	size_t i = from / 64;

	if (from >= count)
		return RV_BITS_END;
	uint64_t s = summary[i] & (UINT64_MAX << (from % 64));
	while (!s) {
		if (++i >= words(count))
			return RV_BITS_END;
		s = summary[i];
	}
	return i * 64 + (size_t)__builtin_ctzll(s);
}

size_t rv_bits_up(const uint64_t *b, size_t n, size_t from)
{
	if (from >= n)
		return RV_BITS_END;
	uint64_t w = b[from / 64] & (UINT64_MAX << (from % 64));
	if (w)
		return from / 64 * 64 + (size_t)__builtin_ctzll(w);
	size_t i = word_up(b, words(n), from / 64 + 1);
	return i == RV_BITS_END ? i : i * 64 + (size_t)__builtin_ctzll(b[i]);
}

/* The last word below `below` that is not zero. */
static size_t word_down(const uint64_t *b, size_t count, size_t below)
{
	const uint64_t *summary = b + count;

	if (below == 0)
		return RV_BITS_END;
	size_t i = (below - 1) / 64;
	uint64_t s = summary[i] & (UINT64_MAX >> (63 - (below - 1) % 64));
	while (!s) {
		if (i-- == 0)
			return RV_BITS_END;
		s = summary[i];
	}
	return i * 64 + 63 - (size_t)__builtin_clzll(s);
}

size_t rv_bits_down(const uint64_t *b, size_t n, size_t below)
{
	if (below > n)
		below = n;
	if (below == 0)
		return RV_BITS_END;
	size_t i = (below - 1) / 64;
	uint64_t w = b[i] & (UINT64_MAX >> (63 - (below - 1) % 64));
	if (!w) {
		i = word_down(b, words(n), i);
		if (i == RV_BITS_END)
			return i;
		w = b[i];
	}
	return i * 64 + 63 - (size_t)__builtin_clzll(w);
}
