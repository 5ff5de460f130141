/* What the files say, merged, before anything is checked. Private to conf. */
#ifndef CONF_DRAFT_H
#define CONF_DRAFT_H

#include "conf/tree.h"

struct rv_draft {
	struct rv_arena arena;
	const struct rv_tree *root; /* a map: all files in one */
	bool failed; /* there were complaints: no conf may come of it */
	bool broken; /* a file could not be read as a whole: what is missing means nothing */
	const char **paths; /* files that were read, NULL-terminated */
	size_t path_count;
	const char *plugin_dir; /* --plugin-dir, or NULL */
	const char *const *command; /* of `reeve -- CMD`, or NULL */
	const char *cwd; /* where CMD runs */
	const char **plugins; /* distinct names, NULL-terminated */
};

struct rv_unread {
	int number; /* errno of a file that could not be opened; else 0 */
	const char *text; /* why it was not read; valid until the next message of the C library */
};
/* bytes.c: the whole of a regular file, at most max bytes; never waits, whatever the path names. */
bool rv_conf_bytes(const char *path, size_t max, struct rv_buf *to, struct rv_unread *why);

/* The name of the service that `reeve -- CMD` becomes. */
#define RV_MAIN "main"

#endif
