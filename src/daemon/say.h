/* reeve's own log: one line a fact, to stderr. Never fails loudly, and with an outlet never waits for whoever
 * reads it. */
#ifndef DAEMON_SAY_H
#define DAEMON_SAY_H

#include "base/err.h"

struct rv_outlet;

enum rv_level { RV_DEBUG, RV_INFO, RV_WARN, RV_ERROR };

/* "reeve: text" or, with a service, "reeve: NAME: text". Values of environment variables never
   belong here. Control characters are made visible. */
void rv_say(enum rv_level level, const char *service, const char *format, ...) RV_PRINTF(3, 4);
/* Lines below this level are not written; default RV_INFO. */
void rv_say_level(enum rv_level level);
/* Is told of each warning and error, with its raw text; NULL: nobody is. */
void rv_say_tap(void (*tap)(void *ctx, const char *service, const char *text), void *ctx);
/* While the loop runs: write through the outlet of stderr, which the caller keeps. Lines then wait for
   rv_say_flush, so that writing them never delays what they tell about. NULL: write what waits, from now on
   directly. */
void rv_say_through(struct rv_outlet *stderr_outlet);
/* Writes the lines that wait. Call it before the loop sleeps. */
void rv_say_flush(void);

#endif
