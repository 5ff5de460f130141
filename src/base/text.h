/* Values as users write them: durations, sizes, modes, booleans; and text made safe to print. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/lists.h"

/* "250ms" "5s" "2m" "1h" "1d" "500us", "1.5s", "0"; a unit is needed unless it is 0.
   False: not a duration. */
bool rv_text_duration(const char *s, rv_time *ns);
/* "64KiB" "10MiB" "1GiB" "100kB" "16000000" "512B". False: not a size, or too large. */
bool rv_text_size(const char *s, uint64_t *bytes);
/* "0660": octal digits only, at most 07777. */
bool rv_text_mode(const char *s, unsigned *mode);
/* Decimal integer with optional sign, nothing around it. */
bool rv_text_int(const char *s, int64_t *v);
/* "true" or "false" only (YAML 1.2 core: also True TRUE False FALSE). */
bool rv_text_bool(const char *s, bool *v);

/* Writes a duration the way a user would: "1m 4s", "250ms", "3h 12m", "5d 2h". Returns `to`. */
const char *rv_text_ago(rv_time ns, char *to, size_t size);
/* Writes a duration exactly, as rv_text_duration reads it: "30s", "250ms". Returns `to`. */
const char *rv_text_dur(rv_time ns, char *to, size_t size);

/* Appends bytes with control characters made visible (\n stays, \t stays, others as \x1b), bad
   UTF-8 as \xNN. For everything that a service wrote and a person reads. */
void rv_text_visible(struct rv_buf *to, const char *bytes, size_t n);

/* Copies a text; of one that does not fit, whole characters, with "…" for the rest. Returns `to`. */
const char *rv_text_cut(const char *text, char *to, size_t size);
/* The same for what snprintf has written into `to`; n: what it has returned. */
void rv_text_mark_cut(char *to, size_t size, int n);

/* What errno says, as it reads within a sentence: "connection refused". Returns `to`. */
const char *rv_text_reason(int number, char *to, size_t size);

/* A URL as it may be shown: user and password, and what stands behind '?', are "***". Returns `to`. */
const char *rv_text_url(const char *url, char *to, size_t size);

/* Of `n` names, the one nearest to `word`, or NULL when none is near enough to be meant. */
const char *rv_text_nearest(const char *word, const char *const *names, size_t n);

/* Splits by blanks with '' and "" quotes and \ escapes, as a shell would, without any expansion.
   Each word is followed by a NUL in `to`; *count tells how many. False: an unfinished quote or
   escape. */
bool rv_text_split(const char *s, struct rv_buf *to, size_t *count);

#endif
