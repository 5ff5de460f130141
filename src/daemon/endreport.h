/* The termination report: how reeve ended, as one line of JSON. Values in, text out; and the file that takes it.
 *
 * It never has more than RV_REPORT_MAX bytes: platforms keep no more (Kubernetes: 4096), and half an object
 * is none. What does not fit is left out from its end, and counted. */
#ifndef DAEMON_ENDREPORT_H
#define DAEMON_ENDREPORT_H

#include "base/buf.h"
#include "base/lists.h"
#include "wire/rpc.h"

#define RV_REPORT_MAX \
	(4096 - 32) /* with its newline; the line of the log has a head, and a pipe takes 4096 at once */

struct rv_report_service {
	const char *name;
	enum rv_state state;
	rv_exit exit;
	const char *why; /* "" when there is nothing to say */
	struct rv_rpc_durations took;
};

struct rv_report {
	const char *what; /* one word of the manual: "boot-failed" */
	int status; /* exit status of reeve */
	bool complete; /* false: told before the end, which may never come */
	const char *service; /* that `why` is about; NULL: none */
	const char *why; /* the first error; NULL: none */
	rv_exit exit; /* how that service had ended */
	const char *lines; /* the last ones that it wrote, raw */
	size_t lines_len;
	const char *beside; /* errors after the first, each with a NUL behind it */
	size_t beside_len;
	unsigned beside_lost; /* that were not kept */
	int64_t began, ended; /* seconds since 1970 */
	rv_time boot, run, stop; /* how long; negative: it did not come to that */
	const struct rv_report_service *services; /* those that matter most first */
	size_t service_count;
};

/* Appends the object, without a newline. */
void rv_report_put(const struct rv_report *r, struct rv_buf *to);

/* Makes text all that `path` has: a regular file is overwritten in place (a mounted one cannot be replaced) and made,
   with its folders, where there is none; a pipe or device takes it if it does so at once. Never waits. */
bool rv_report_write(const char *path, const char *text, size_t n, struct rv_err *e);
/* What an earlier run has left in a regular file is taken away; what is not there is not made. False also when it is
   empty and could not be written. */
bool rv_report_clear(const char *path, struct rv_err *e);

#endif
