/* POSIX extended regular expressions over bytes: does a text have a match anywhere in it?
 *
 * Ours, because texts come from services: a match takes time in proportion to text times expression and
 * no memory at all, whatever either of them is. What POSIX leaves undefined is refused, back-references
 * are none of its extended expressions, and letters are ASCII.
 *
 * . [..] [^..] [[:alpha:]] * + ? {n} {n,} {n,m} ( ) | ^ $ \ before a punctuation character */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include "base/arena.h"

struct rv_regex;

/* What is asked, by a caller that has only a part of the text. */
enum {
	RV_REGEX_NOT_BOL = 1, /* something stands before it: ^ does not match at its start */
	RV_REGEX_NOT_EOL = 2, /* something follows: $ does not match at its end */
};

/* Lives in the arena, and is not changed by use. NULL: `e` says what is wrong with it and where
   ("unmatched ( at byte 3"), or that memory was refused. */
const struct rv_regex *rv_regex_compile(struct rv_arena *a, const char *text, struct rv_err *e);
bool rv_regex_match(const struct rv_regex *x, const char *text, size_t n, unsigned part);

#endif
