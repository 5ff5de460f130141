/* See retry.h. */
#include "wire/retry.h"

bool rv_retry_is_safe(unsigned marks)
{
	return marks == RV_MARK_STALE;
}
