/* The connection to the daemon: every step has a bound. */
#ifndef CTL_CALL_H
#define CTL_CALL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/lists.h"
#include "ctl/fault.h"

struct rv_call {
	int fd;
	const char *path;
	struct rv_buf in;
	size_t line; /* bytes of `in` that the last line took */
};

enum rv_got { RV_GOT_LINE, RV_GOT_END, RV_GOT_TIMEOUT };

/* Connects; goes on until `until` (monotonic) while nobody accepts, and, if patient, while there is no reeve yet.
   CTL_OK, or the exit status, with *f set. close is needed in both cases. */
int rv_call_open(
	struct rv_call *c, const char *path, rv_time until, bool patient, struct rv_fault *f);
/* Takes a few seconds at most. */
int rv_call_send(struct rv_call *c, const struct rv_buf *request, struct rv_fault *f);
void rv_call_close(struct rv_call *c);
/* The next line, NUL-terminated, valid until the next call. until: monotonic; RV_NEVER: no bound. */
enum rv_got rv_call_line(struct rv_call *c, rv_time until, const char **line);
/* Sets *f to say that reeve does not answer; returns the exit status. */
int rv_call_unanswered(const struct rv_call *c, enum rv_got got, struct rv_fault *f);

/* How long reeve may take for an answer that needs no waiting. */
#define RV_CALL_BOUND (5 * RV_SEC)

#endif
