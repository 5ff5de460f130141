/* Why a child could not be started, as a sentence. Private to spawn. */
#ifndef DAEMON_WHYNOT_H
#define DAEMON_WHYNOT_H

#include "daemon/child.h"

/* Fills e from the step that failed; looks at the file again where errno alone would mislead.
   Returns false. */
bool rv_whynot(const struct rv_child *c, struct rv_err *e);

#endif
