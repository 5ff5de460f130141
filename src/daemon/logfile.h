/* A log file with rotation by size, which outlives whatever happens to it.
 *
 * Lines go in whole and are never split over two files. A file that was removed, moved, truncated or
 * replaced is noticed within 2 ms of writing, and made anew. Where writing fails the bytes are
 * counted as lost, one warning is given, and writing is tried again: the log itself then says how much
 * is missing. Nothing here waits for anything but the disk. */
#ifndef DAEMON_LOGFILE_H
#define DAEMON_LOGFILE_H

#include <sys/types.h>

#include "conf/conf.h"

struct rv_logfile {
	char *path; /* owned; NULL: not open */
	const char *service; /* for warnings; borrowed */
	int fd; /* -1: not there at the moment */
	bool regular; /* neither rotation nor inspection for anything else */
	bool broken; /* the last byte in it is not a newline */
	bool stepped; /* said already: a folder where a numbered file belongs */
	bool announced; /* said already: writing fails; that it works again is said too */
	bool stuck; /* said already: rotation is impossible */
	uint32_t keep;
	uint64_t max, size;
	dev_t dev;
	ino_t ino;
	rv_time checked; /* last look at the path */
	int error; /* why writing fails now; 0: it works */
	rv_time retry, pause, resumed, said;
	uint64_t gap; /* bytes lost since the last note in the file */
	uint64_t unsaid; /* bytes lost since the last warning with a count */
	uint64_t lost; /* all */
};

/* conf->kind is RV_LOG_FILE. Creates the file and its folders. service must outlive it. */
bool rv_logfile_open(struct rv_logfile *f, const struct rv_log_conf *conf, const char *service,
	struct rv_err *e);
/* Closes; says what was lost and not said yet. Fine on a zeroed or closed one. */
void rv_logfile_close(struct rv_logfile *f);
/* The same path, with another rotation, and another copy of the name. */
void rv_logfile_rebind(struct rv_logfile *f, const struct rv_log_conf *conf, const char *service);
/* Whole lines (or a piece of a line that is too long to be held). */
void rv_logfile_write(struct rv_logfile *f, const char *bytes, size_t n);
/* Appends the end of the newest two files: at most `lines` lines (0: any) and `max` bytes. */
bool rv_logfile_read_back(const struct rv_logfile *f, size_t lines, size_t max, struct rv_buf *to);

/* Of rotate.c: moves the file to NAME.1, the others up by one, the last one out. False: errno holds
   why there is no file to write to. */
bool rv_logfile_rotate(struct rv_logfile *f);
/* Opens what is at the path now, or makes it. False: errno. */
bool rv_logfile_reopen(struct rv_logfile *f);

#endif
