/* The clock of this machine; core never sees it. */
#ifndef SYS_CLOCK_H
#define SYS_CLOCK_H

#include <time.h>

#include "base/lists.h"

/* Monotonic ns. */
static inline rv_time rv_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (rv_time)t.tv_sec * RV_SEC + t.tv_nsec;
}

/* ns since 1970, UTC: for printing only. */
static inline int64_t rv_wall(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * RV_SEC + t.tv_nsec;
}

#endif
