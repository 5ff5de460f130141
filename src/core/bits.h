/* A set of small numbers with a summary, so that walking it costs what is in it, not its size. */
#ifndef CORE_BITS_H
#define CORE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RV_BITS_END SIZE_MAX

/* Words of memory for the numbers 0 .. n-1; zeroed is the empty set. */
size_t rv_bits_words(size_t n);
void rv_bits_add(uint64_t *b, size_t n, size_t i);
void rv_bits_remove(uint64_t *b, size_t n, size_t i);
bool rv_bits_has(const uint64_t *b, size_t i);
/* The first member at or above `from`, or RV_BITS_END. */
size_t rv_bits_up(const uint64_t *b, size_t n, size_t from);
/* The last member below `below`, or RV_BITS_END. */
size_t rv_bits_down(const uint64_t *b, size_t n, size_t below);

#endif
