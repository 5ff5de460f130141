/* From the command line to a planned configuration: reads, asks the host, checks, resolves. */
#ifndef DAEMON_LOAD_H
#define DAEMON_LOAD_H

#include "conf/conf.h"
#include "daemon/engine.h"
#include "daemon/hostlink.h"
#include "wire/variables.h"

struct rv_load {
	const char *const *paths; /* -c, NULL-terminated; NULL: the default places */
	const char *plugin_dir; /* --plugin-dir, or NULL */
	const char *const *command; /* of `reeve -- CMD`, or NULL */
	bool verify; /* `reeve check`: also what rv_load_verify tells */
	bool ask; /* ... and what plugins verify (checkup.h) */
	rv_time limit; /* for the latter; 0: as it is by itself */
	const char *
		init; /* a program that must be executable, too: what the image starts as PID 1; or NULL */
	const struct rv_variables *
		variables; /* that the sandbox is created with; NULL: none. A reload goes by those of now */
	int *ended; /* set to the signal that ended the check early */
};

/* Every mistake goes to `c`; NULL when there were errors. Nothing is bound, opened or started. before: the conf in force,
   at a reload: services keep their slots; or NULL. */
struct rv_conf *rv_load_conf(const struct rv_load *l, struct rv_hostlink *host,
	const struct rv_conf *before, struct rv_complaints *c);

/* Users and groups that this machine does not have, or that we may not become (accounts.c). softly: the latter is
   only a warning, for who checks is often not who will run it. */
void rv_load_accounts(const struct rv_conf *conf, bool softly, struct rv_complaints *c);
/* Programs, working folders, logs and addresses, as far as they can be looked at without making or starting
   anything (verify.c). A conf without plan will do. broken: by slot, set where the program cannot be executed. */
void rv_load_verify(
	const struct rv_conf *conf, const char *init, bool *broken, struct rv_complaints *c);
/* The complaints as JSON: an object for `reeve check --json` and `reevectl --json check` (report.c). */
void rv_load_report(const struct rv_complaints *c, struct rv_buf *to);
/* Of that object the members "errors", "warnings" and "complaints". */
void rv_load_put_complaints(const struct rv_complaints *c, struct rv_buf *to);
/* The complaints as text, and how many are errors, to stderr. */
void rv_load_print(const struct rv_complaints *c);
/* Ends `reeve check`: the complaints as text to stderr and the sum to stdout, or all as JSON to stdout. services: how many
   there are. ended: the signal that ended it early, or 0. Returns the exit status. */
int rv_load_verdict(const struct rv_complaints *c, size_t services, bool json, int ended);

/* The files once more, as `reeve check` does, while reeve runs: changes nothing and asks no plugin (options are
   checked by the tables that are loaded; a plugin that is not is pointed out). */
void rv_load_check(const struct rv_load *l, const struct rv_conf *running, struct rv_complaints *c);

#endif
