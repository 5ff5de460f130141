/* Words for the vocabularies of lists.h, and for how processes end. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stddef.h>

#include "base/lists.h"

const char *rv_state_name(enum rv_state s);
const char *rv_why_text(enum rv_why w);
const char *rv_hook_name(enum rv_hook h);

/* "exited with 3", "killed by SIGSEGV", "ended"; writes into `to` and returns it. */
const char *rv_exit_text(rv_exit e, char *to, size_t size);
/* What a shell would see: the code, or 128 + signal; unknown: 1. */
int rv_exit_status(rv_exit e);
/* "TERM" for 15, "RTMIN+2" for those; NULL when it is no signal number. Static storage. */
const char *rv_signal_name(int number);
/* Accepts TERM, SIGTERM, 15, any case; 0 when it is no signal. */
int rv_signal_from_name(const char *name);

#endif
