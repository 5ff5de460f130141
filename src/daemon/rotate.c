/* Rotation by size: NAME -> NAME.1 -> ... -> NAME.keep; see logfile.h.
 *
 * The first free number ends the shift, so gaps that somebody made close again by themselves; a number
 * that a folder has taken is stepped over. */
#include "daemon/logfile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/say.h"

enum slot { SLOT_FREE, SLOT_FILE, SLOT_FOLDER };

static bool numbered(const struct rv_logfile *f, uint32_t i, char *to, size_t size)
{
	int n = i ? snprintf(to, size, "%s.%u", f->path, i) : snprintf(to, size, "%s", f->path);

	if (n >= 0 && (size_t)n < size)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

static enum slot look(const struct rv_logfile *f, uint32_t i)
{
	char name[PATH_MAX];
	struct stat st;

	if (!numbered(f, i, name, sizeof(name)) || lstat(name, &st))
		return SLOT_FREE;
	return S_ISDIR(st.st_mode) ? SLOT_FOLDER : SLOT_FILE;
}

static bool move(const struct rv_logfile *f, uint32_t from, uint32_t to)
{
	char a[PATH_MAX], b[PATH_MAX];

	return numbered(f, from, a, sizeof(a)) && numbered(f, to, b, sizeof(b)) && !rename(a, b);
}

static void step_over(struct rv_logfile *f, uint32_t i)
{
	if (!f->stepped)
		rv_say(RV_WARN, f->service,
			"log %s.%u is a folder; rotation steps over it: remove it to have that "
			"number back",
			f->path, i);
	f->stepped = true;
}

/* The number that the shift ends at: the first free one, else the last that is no folder; 0: none. */
static uint32_t shift_end(struct rv_logfile *f)
{
	uint32_t end = 0;
	bool folders = false;

	for (uint32_t i = 1; i <= f->keep; i++) {
		enum slot s = look(f, i);

		if (s == SLOT_FOLDER) {
			step_over(f, i);
			folders = true;
			continue;
		}
		end = i;
		if (s == SLOT_FREE)
			break;
	}
	if (!folders)
		f->stepped = false;
	return end;
}

/* Without a number to move to, the bound on size is kept by starting afresh. */
static bool start_afresh(struct rv_logfile *f, int number)
{
	if (number && !f->stuck)
		rv_say(RV_WARN, f->service, "cannot rotate log %s: %s; it is emptied instead",
			f->path, strerror(number));
	f->stuck = number != 0;
	if (ftruncate(f->fd, 0))
		return false;
	f->size = 0;
	f->broken = false;
	return true;
}

bool rv_logfile_rotate(struct rv_logfile *f)
{
	uint32_t to = shift_end(f);
	ino_t was;

	if (!to)
		return start_afresh(f, 0);
	for (uint32_t i = to; i-- > 0;) {
		if (i && look(f, i) == SLOT_FOLDER)
			continue;
		if (!move(f, i, to) && errno != ENOENT)
			return start_afresh(f, errno);
		to = i;
	}
	f->stuck = false;
	was = f->ino;
	if (!rv_logfile_reopen(f))
		return false;
	if (f->ino != was)
		return true;
	/* The two names were links to one file, and then a rename does nothing. */
	return !unlink(f->path) && rv_logfile_reopen(f);
}
