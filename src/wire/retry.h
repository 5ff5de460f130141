/* Whether it is safe to do again what has failed: one predicate, for every error that is told.
 *
 *	stale	unsafe	partial	safe
 *	yes	no	no	yes: nothing was done, for it was meant for another life
 *	yes	yes	any	no
 *	yes	any	yes	no
 *	no	any	any	no: nothing says that it would have had no effect
 *
 * Whoever decides by an error asks this, never whether it is stale. A mark that was set stays, whatever
 * the error becomes on its way. */
#ifndef WIRE_RETRY_H
#define WIRE_RETRY_H

#include <stdbool.h>

enum rv_mark {
	RV_MARK_STALE = 1, /* it was about a life that is not the present one */
	RV_MARK_UNSAFE =
		2, /* it may have had an effect: a change was handed to the core, a request was sent */
	RV_MARK_PARTIAL = 4, /* a part of the answer was given already */
};

/* marks: enum rv_mark, or-ed. */
bool rv_retry_is_safe(unsigned marks);

#endif
