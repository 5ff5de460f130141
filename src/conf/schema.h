/* Tables of keys, and reading by them. Private to conf.
 *
 * One static table describes one map of the file: which keys it may have, how each value is read, and
 * where it goes. Whatever is not in the table is refused. Readers complain and go on; what they could
 * not read keeps its default. */
#ifndef CONF_SCHEMA_H
#define CONF_SCHEMA_H

#include "conf/draft.h"
#include "conf/tree.h"

struct rv_read;
struct rv_row;

typedef void rv_row_reader(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to);

struct rv_row {
	const char *name;
	rv_row_reader *read;
	size_t at; /* of the destination in the structure that the table fills */
	const void *more; /* rv_read_word: its words */
	int64_t min, max; /* numbers and durations */
	const struct rv_table *sub; /* the keys of a map below this one */
	bool early; /* read before the others: they may refer to it */
};

struct rv_table {
	const struct rv_row *rows;
	size_t count;
};
#define RV_TABLE(rows)                                 \
	{                                              \
		rows, sizeof(rows) / sizeof((rows)[0]) \
	}

/* Words a key accepts; the position is the value. Ends with NULL. */
typedef const char *const rv_words[];

/* The value of a variable that is not to be shown. */
struct rv_secret {
	const struct rv_secret *next;
	const char *text; /* never empty */
};

/* The state of one reading. */
struct rv_read {
	struct rv_arena *arena; /* the conf's */
	struct rv_complaints *c;
	const struct rv_draft *draft;
	const char *const *environ;
	const char *service; /* whose key is read; NULL: none */
	const char *path[8]; /* keys from the service (or the top) down to the one being read */
	unsigned depth;
	const struct rv_listen *listen; /* what ${listen...} may name */
	size_t listen_count;
	struct rv_secret *secrets; /* that ${env.NAME} brought; grows while reading */
	int ready_fd; /* what ${ready.fd} is; -1: not declared */
};

extern const struct rv_table rv_top_table, rv_service_table;

/* Letters, digits, and _ . @ - inside: names of services, plugins, listeners. */
bool rv_conf_is_name(const char *s);

/* Every key that is accepted, a line each: "reeve.control.mode"; those of a service without what
   stands above them: "restart.delay". Maps come before what is in them. */
void rv_schema_list(struct rv_buf *to);

/* Reads a map by its table. Unknown keys are complained about. False: not a map. */
bool rv_read_table(
	struct rv_read *r, const struct rv_table *table, const struct rv_tree *map, void *to);
void rv_read_enter(struct rv_read *r, const char *key);
void rv_read_leave(struct rv_read *r);

/* "restart.delay of service 'x' must be <expected>, not <what v is>" */
void rv_read_refuse(struct rv_read *r, const struct rv_tree *v, const char *expected);
/* "restart.delay of service 'x' <text>" */
void rv_read_complain(struct rv_read *r, struct rv_place at, const char *format, ...)
	RV_PRINTF(3, 4);
/* Appends " (did you mean 'x'?)" to nothing: the text, or "" when nothing is near. Static lifetime of
   `to`. */
const char *rv_read_hint(
	const char *word, const char *const *names, size_t n, char *to, size_t size);

/* Copies of text into the conf; never NULL (when memory is out: "", and the arena is marked full). */
const char *rv_read_copy(struct rv_read *r, const char *s);

/* Readers for rows. */
rv_row_reader rv_read_map; /* `sub` into the same structure, offsets from its start */
rv_row_reader rv_read_word; /* uint8_t: position in `more` */
rv_row_reader rv_read_bool; /* bool */
rv_row_reader rv_read_uint; /* uint32_t, min..max */
rv_row_reader rv_read_factor; /* uint32_t, thousandths; min..max in thousandths */
rv_row_reader rv_read_duration; /* rv_time, min..max; max 0: no bound */
rv_row_reader rv_read_size; /* uint64_t */
rv_row_reader rv_read_string; /* const char *: as written, not empty */
rv_row_reader rv_read_path; /* const char *: expanded, absolute */
rv_row_reader rv_read_tree; /* const struct rv_tree *: looked at later */
rv_row_reader rv_read_names; /* const char *const *: a list of strings as written */

/* A scalar of any look as the string that was written; NULL (and a complaint) for lists and maps. */
const char *rv_read_scalar(struct rv_read *r, const struct rv_tree *v, const char *expected);
/* A plain decimal, octal or hexadecimal integer of YAML's core schema. */
bool rv_read_integer(const struct rv_tree *v, int64_t *n);
/* argv from a list, or from one string split by quotes; NULL: refused. */
const char *const *rv_read_argv(struct rv_read *r, const struct rv_tree *v);

/* Text with ${...} resolved (expand.c); NULL: complained about at v. The conf owns the result. */
const char *rv_read_expand(struct rv_read *r, const struct rv_tree *v, const char *text);
/* mask.c: a variable (its name has n bytes) was used; its value is kept when the name speaks of a secret. */
void rv_secret_note(struct rv_read *r, const char *name, size_t n, const char *value);

#endif
