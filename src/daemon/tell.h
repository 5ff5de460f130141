/* Sentences about what happened to a service: for the log, for status, for the first error. */
#ifndef DAEMON_TELL_H
#define DAEMON_TELL_H

#include "core/core.h"
#include "daemon/hands.h"

/* The one sentence of why a service is where it is: from the core's reason, how the process ended, what the
   last check said. `other`: name of the service that the reason is about, or NULL. */
void rv_tell_why(
	const struct rv_hands *h, const struct rv_look *look, const char *other, struct rv_buf *to);
/* What it says of itself by sd_notify, behind `before`; nothing when it has said nothing. */
void rv_tell_words(const struct rv_hands *h, const char *before, struct rv_buf *to);
/* It was unhealthy before, not starting. */
bool rv_tell_is_back(const struct rv_look *look);
/* How long it took to be ready, and where that time went: "after 1.2s; spawn 3ms, checks 1.1s". */
void rv_tell_took(const struct rv_look *look, struct rv_buf *to);
/* Logs a change of state as a line, with the last lines that a failed service wrote. */
void rv_tell_state(const struct rv_hands *h, const struct rv_look *look, const char *why);
/* The last lines of a service's stderr in this life, else of all that it wrote, as they were written. */
void rv_tell_raw_tail(const struct rv_hands *h, size_t lines, size_t bytes, struct rv_buf *to);

#endif
