/* `ready: {file: PATH}`: a file that appears, or is written anew, in this life.
 *
 * What an earlier life left behind proves nothing, so what is there before the start is remembered, and only
 * something else counts: another file (by device and inode), another size, another time of modification.
 * Times are compared with each other, never with a clock. A new owner or mode is no new file. */
#ifndef DAEMON_NEWFILE_H
#define DAEMON_NEWFILE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct rv_newfile {
	bool there; /* something was */
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
};

/* What is there now. Follows symbolic links. */
void rv_newfile_note(struct rv_newfile *f, const char *path);
/* Is there now what counts? anew: not what was noted. False: why, as "no such file or directory". */
bool rv_newfile_look(
	const struct rv_newfile *f, const char *path, bool anew, char *why, size_t size);

#endif
