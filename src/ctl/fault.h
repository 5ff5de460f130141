/* What went wrong, for a reader and, with --json, for a program as well. */
#ifndef CTL_FAULT_H
#define CTL_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct rv_fault {
	int status; /* CTL_..., to leave with */
	const char *class; /* as in data.class of the protocol, or "unreachable" */
	bool retry_safe; /* by the predicate of wire/retry.h; in text, it is said when it is */
	int64_t generation; /* stale: the present one; 0: not told */
	char text[1200];
};

/* Sets *f, which is not safe to do again before somebody says so, and returns its status. */
int rv_fault_set(struct rv_fault *f, int status, const char *class, const char *format, ...)
	RV_PRINTF(4, 5);
/* The sentence to stderr; with json also {"error":{"class":...,"message":...,
   "retrySafe":...}} to stdout, and "generation" where it is told. Returns the status. */
int rv_fault_tell(const struct rv_fault *f, bool json);

#endif
