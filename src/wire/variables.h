/* The variables that a sandbox is given when it is created, or later: read from JSON, checked, written. Values are in no
 * complaint. */
#ifndef WIRE_VARIABLES_H
#define WIRE_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum {
	RV_VARIABLE_NAME = 256, /* bytes of a name */
	RV_VARIABLE_VALUE = 4096, /* of a value */
	RV_VARIABLES_SUM = 16384, /* of all of them as one JSON object */
	RV_VARIABLES_TEXT = 1 << 20, /* of a create request that they are in */
};

/* Zeroed is empty and valid. */
struct rv_variables {
	char **list; /* NAME=VALUE, each name once; NULL-terminated; NULL: none */
	size_t count, room;
};
void rv_variables_fini(struct rv_variables *v);

/* Reads a create request: an object with `envVars` or `envs`, an object of strings; what else it has is ignored. With
   neither it has no variables. Adds to *v. False: `why` has a line for each mistake, and *v is of no use. */
bool rv_variables_read(struct rv_variables *v, const char *text, size_t n, struct rv_buf *why);
/* The object of strings itself. */
struct cJSON;
bool rv_variables_read_map(struct rv_variables *v, const struct cJSON *map, struct rv_buf *why);
/* One more; its name has n bytes. A name that is there already is a mistake. */
bool rv_variables_add(
	struct rv_variables *v, const char *name, size_t n, const char *value, struct rv_buf *why);
/* Those of `over` as well, where names meet in place of the ones that are there. False: memory was refused. */
bool rv_variables_lay(struct rv_variables *v, const struct rv_variables *over);
/* What only all of them together can be wrong with. */
bool rv_variables_fit(const struct rv_variables *v, struct rv_buf *why);

/* NULL: no such one. */
const char *rv_variables_find(const struct rv_variables *v, const char *name, size_t n);
/* {"NAME":"VALUE",...} */
void rv_variables_put(const struct rv_variables *v, struct rv_buf *to);
/* "A, B, C" */
void rv_variables_name(const struct rv_variables *v, struct rv_buf *to);

#endif
