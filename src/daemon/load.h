/* From the command line to a planned configuration: reads, asks the host, checks, resolves. */
#ifndef DAEMON_LOAD_H
#define DAEMON_LOAD_H

#include "conf/conf.h"
#include "daemon/engine.h"
#include "daemon/hostlink.h"

struct rv_load {
	const char *const *paths; /* -c, NULL-terminated; NULL: the default places */
	const char *plugin_dir; /* --plugin-dir, or NULL */
	const char *const *command; /* of `reeve -- CMD`, or NULL */
	bool verify; /* `reeve check`: also what rv_load_verify tells */
};

/* Every mistake goes to `c`; NULL when there were errors. Nothing is bound, opened or started. */
struct rv_conf *rv_load_conf(
	const struct rv_load *l, struct rv_hostlink *host, struct rv_complaints *c);

/* Users and groups that this machine does not have, or that we may not become (verify.c). */
void rv_load_accounts(const struct rv_conf *conf, struct rv_complaints *c);
/* Programs, working folders and logs, as far as they can be looked at without making or starting
   anything (verify.c). A conf without plan will do. */
void rv_load_verify(const struct rv_conf *conf, struct rv_complaints *c);

/* The files once more, as `reeve check` does, while reeve runs: changes nothing and asks no plugin (options are
   checked by the tables that are loaded; a plugin that is not is pointed out). */
void rv_load_check(const struct rv_load *l, const struct rv_conf *running, struct rv_complaints *c);

#endif
