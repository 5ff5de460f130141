/* What plugins themselves verify while an image is built: their hook check, of each service, without starting
 * any. The commands that hooks ask for run as they would beside the service: with its user, its folder and
 * its environment. For a process that does nothing else: it has its own loop and reaper, and kills at its end
 * whatever is left below it. */
#ifndef DAEMON_CHECKUP_H
#define DAEMON_CHECKUP_H

#include "conf/conf.h"
#include "daemon/hostlink.h"

#define RV_CHECKUP_ONE (60 * RV_SEC) /* the most that one service's check may take, and ... */
#define RV_CHECKUP_ALL \
	(5 * 60 * RV_SEC) /* ... all of them together, unless somebody says otherwise */

/* recipes: those of the rehearsal. broken: by slot, true for what need not be asked, because more than a
   check would fail. One that is flawed is not asked either. limit: for all together and for each; 0: nobody has said. Complaints come in the order of the slots. TERM, INT and CHLD must be blocked. Returns
   the signal that ended it early; 0: none. */
int rv_checkup(const struct rv_conf *conf, struct rv_hostlink *host,
	const struct rv_recipe *recipes, const bool *broken, rv_time limit,
	struct rv_complaints *c);

#endif
