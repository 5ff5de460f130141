/* Whether an exec would work: looked at, not tried. */
#ifndef DAEMON_PROGRAM_H
#define DAEMON_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

struct rv_program {
	char path
		[PATH_MAX]; /* what would be executed, relative to the folder; "" when nothing was found */
	char why[400]; /* why it would not work */
};

/* name: as in argv[0]; without a slash it is sought in `search`, a value of PATH. dir: the folder that relative paths
   begin in, a descriptor. Who may execute it is judged by the file-system identity (guise.h). */
bool rv_program_look(struct rv_program *p, int dir, const char *name, const char *search);

#endif
