/* The sandbox's variables on their way to a server: a flat JSON object of strings. */
#ifndef PLUGINS_VARIABLES_H
#define PLUGINS_VARIABLES_H

#include <cJSON.h>

#include <reeve/plugin.h>

/* The body of the answer in t->http, which had status 200. NULL: it is no flat object of strings; t->why names the URL
   and what is wrong, never a value, which may be a secret. The caller deletes it. */
cJSON *rv_variables_parse(struct reeve_turn *t, const char *url);

/* Adds NAME=VALUE, which names something that the object does not have. False: memory was refused. */
bool rv_variables_add(cJSON *object, const char *variable);

/* The object as text in the turn's arena; NULL: it needs more than `most` bytes. */
const char *rv_variables_print(struct reeve_turn *t, cJSON *object, size_t most);

#endif
