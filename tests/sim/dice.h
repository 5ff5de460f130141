/* Randomness as a function of what it is for: dropping one event of a schedule leaves the rest alone. */
#ifndef SIM_DICE_H
#define SIM_DICE_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t mix(uint64_t z)
{
	z += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint64_t hash(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
	return mix(mix(mix(mix(seed) ^ a) ^ b) ^ c);
}

struct dice {
	uint64_t state;
};

static inline uint64_t roll(struct dice *d)
{
	return mix(d->state++);
}

/* 0 .. n-1 */
static inline uint64_t below(struct dice *d, uint64_t n)
{
	return roll(d) % n;
}

static inline bool one_in(struct dice *d, uint64_t n)
{
	return below(d, n) == 0;
}

#endif
