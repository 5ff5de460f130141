/* A file that was not there before: see newfile.h. */
#include "daemon/newfile.h"

#include <errno.h>
#include <sys/stat.h>

static struct rv_newfile of(const struct stat *st)
{
	return (struct rv_newfile){.there = true,
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.mtime = st->st_mtim};
}

void rv_newfile_note(struct rv_newfile *f, const char *path)
{
	struct stat st;

	*f = (struct rv_newfile){0};
	if (!stat(path, &st))
		*f = of(&st);
}

enum rv_newfile_is rv_newfile_look(const struct rv_newfile *f, const char *path, int *error)
{
	struct rv_newfile now;
	struct stat st;

	if (stat(path, &st)) {
		*error = errno;
		return RV_FILE_MISSING;
	}
	now = of(&st);
	return f->there && now.dev == f->dev && now.ino == f->ino && now.size == f->size &&
			now.mtime.tv_sec == f->mtime.tv_sec && now.mtime.tv_nsec == f->mtime.tv_nsec
		? RV_FILE_OLD
		: RV_FILE_NEW;
}
