/* A file that was not there before: see newfile.h. */
#include "daemon/newfile.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/text.h"

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

static bool is_the_same(const struct rv_newfile *a, const struct rv_newfile *b)
{
	return a->there && a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
		a->mtime.tv_sec == b->mtime.tv_sec && a->mtime.tv_nsec == b->mtime.tv_nsec;
}

bool rv_newfile_look(
	const struct rv_newfile *f, const char *path, bool anew, char *why, size_t size)
{
	struct rv_newfile now;
	struct stat st;

	if (stat(path, &st)) {
		rv_text_reason(errno, why, size);
		return false;
	}
	now = of(&st);
	if (!anew || !is_the_same(f, &now))
		return true;
	snprintf(why, size, "as it was before the start");
	return false;
}
