/* The verb `env`: what is set, as the command line gives it, and what is shown. */
#ifndef CTL_ENV_H
#define CTL_ENV_H

#include <cjson/cJSON.h>

#include "ctl/fault.h"
#include "ctl/words.h"

/* Whether the words of `env` so far are those of `env set`. */
bool rv_env_is_set(const struct rv_words *w);
/* The names behind `env`, when all words are known: `set NAME=VALUE...` becomes w->variables. Values are wiped from the
   words, which ps shows. False: *f says why. */
bool rv_env_read(struct rv_words *w, struct rv_fault *f);
/* Prints to stdout, and returns the exit status. */
int rv_env_show(const struct rv_words *w, const cJSON *result);

#endif
