/* One option as a plain value: what a plugin's table tells, and what configuration is checked by. */
#ifndef BASE_KEYS_H
#define BASE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rv_key_type {
	RV_KEY_STRING,
	RV_KEY_INT,
	RV_KEY_BOOL,
	RV_KEY_DURATION, /* min and max in ns */
	RV_KEY_SIZE, /* bytes */
	RV_KEY_PORT, /* an int, 1..65535 */
	RV_KEY_PATH, /* a string that names a file */
	RV_KEY_WORDS, /* a string split at blanks, or a list of strings */
	RV_KEY_SECRET, /* a string that is printed as *** */
	RV_KEY_JSON, /* any YAML, handed over as JSON text; a string is taken as it is */
	RV_KEY_SECRET_JSON, /* both */
};

static inline bool rv_key_is_secret(enum rv_key_type t)
{
	return t == RV_KEY_SECRET || t == RV_KEY_SECRET_JSON;
}

static inline bool rv_key_is_json(enum rv_key_type t)
{
	return t == RV_KEY_JSON || t == RV_KEY_SECRET_JSON;
}

struct rv_key {
	const char *name; /* kebab-case */
	enum rv_key_type type;
	int64_t min, max; /* numbers; both 0: no range */
	const char *preset; /* default as text; NULL: none */
	const char *env; /* environment variable of the convention; NULL: none */
	const char *summary; /* one sentence, lower case */
};

#endif
