/* The command line of reevectl as a value. */
#ifndef CTL_WORDS_H
#define CTL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lists.h"
#include "wire/rpc.h"

/* Exit statuses of reevectl. */
enum {
	CTL_OK = 0,
	CTL_FAILED = 1,
	CTL_USAGE = 2,
	CTL_NOT_READY = 3,
	CTL_NO_SUCH = 4,
	CTL_DENIED = 5,
	CTL_TIMEOUT = 6,
	CTL_NO_DAEMON = 7,
	CTL_STALE = 8,
};

struct rv_words {
	enum rv_verb verb;
	bool has_verb;
	const char *socket;
	bool json, help, version;
	bool all, no_wait, follow, if_lost, dry_run;
	bool has_timeout, has_generation, has_until, has_lines;
	rv_time timeout; /* ns */
	uint64_t generation;
	uint32_t lines;
	enum rv_rpc_until until;
	int signal;
	struct rv_given *given; /* options of a start; see given.h */
	/* env; see env.h */
	bool show_values, replace;
	const char *source; /* of env set: what --json names; NULL: the words have it */
	struct rv_variables *variables; /* of env set */
	char **names; /* into argv */
	int name_count;
};

/* False: a complaint was printed; leave with CTL_USAGE. argv is reordered: names come first. */
bool rv_words_read(struct rv_words *w, int argc, char **argv);
void rv_words_fini(struct rv_words *w);
/* The request line, with its newline (request.c). */
void rv_words_request(const struct rv_words *w, const char *id, struct rv_buf *to);
/* What the verb does, to stand behind "cannot". */
const char *rv_words_deed(const struct rv_words *w);
/* Of the verb that was named, or of all. */
void rv_words_help(const struct rv_words *w);

#endif
