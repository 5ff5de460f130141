/* A log file that outlives whatever happens to it: see logfile.h. Rotation is in rotate.c. */
#include "daemon/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/say.h"
#include "daemon/tail.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define CHECK_EVERY (2 * RV_MS)
#define PAUSE_MIN   (100 * RV_MS)
#define PAUSE_MAX   RV_SEC
#define SAY_EVERY   (10 * RV_SEC)

static int open_once(const char *path)
{
	/* Non-blocking for what is no file: a FIFO without a reader must not hold us. */
	const int flags = O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd = open(path, O_WRONLY | flags, 0640);

	if (fd < 0 && errno == ENXIO)
		fd = open(path, O_RDWR | flags, 0640);
	return rv_fd_lift(fd);
}

/* Returns how much was written; less than n: errno holds why. */
static size_t put(struct rv_logfile *f, const char *bytes, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t w = write(f->fd, bytes + done, n - done);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			break;
		if (!w) {
			errno = EIO;
			break;
		}
		done += (size_t)w;
		f->size += (uint64_t)w;
		f->broken = bytes[done - 1] != '\n';
	}
	return done;
}

/* Whether a file with something in it ends inside a line (of an earlier reeve that was killed). */
static bool ends_broken(const char *path, off_t size)
{
	char last = '\n';
	rv_auto_fd fd = size ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	return fd >= 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

static bool open_path(struct rv_logfile *f, struct rv_err *e)
{
	struct stat st;

	f->fd = open_once(f->path);
	if (f->fd < 0 && errno == ENOENT) {
		if (!rv_mkdirs_for(f->path, e))
			return rv_fail_in(e, "cannot open log %s", f->path);
		f->fd = open_once(f->path);
	}
	if (f->fd < 0)
		return rv_fail_errno(e, errno, "cannot open log %s", f->path);
	if (fstat(f->fd, &st)) {
		int number = errno;

		rv_fd_close(&f->fd);
		return rv_fail_errno(e, number, "cannot inspect log %s", f->path);
	}
	f->regular = S_ISREG(st.st_mode);
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->size = f->regular ? (uint64_t)st.st_size : 0;
	f->broken = f->regular && ends_broken(f->path, st.st_size);
	if (f->broken)
		put(f, "\n", 1);
	return true;
}

bool rv_logfile_reopen(struct rv_logfile *f)
{
	rv_fd_close(&f->fd);
	errno = 0;
	if (open_path(f, NULL))
		return true;
	if (!errno)
		errno = EIO;
	return false;
}

bool rv_logfile_open(
	struct rv_logfile *f, const struct rv_log_conf *conf, const char *service, struct rv_err *e)
{
	*f = (struct rv_logfile){.fd = -1,
		.service = service,
		.max = conf->max_size,
		.keep = conf->keep,
		.resumed = -PAUSE_MAX * 10,
		.said = -SAY_EVERY};
	f->path = strdup(conf->path);
	if (!f->path)
		return rv_fail_errno(e, ENOMEM, "cannot open log %s", conf->path);
	if (open_path(f, e)) {
		f->checked = rv_now();
		return true;
	}
	free(f->path);
	f->path = NULL;
	return false;
}

static void say_lost(struct rv_logfile *f)
{
	if (f->unsaid)
		rv_say(RV_WARN, f->service, "%" PRIu64 " bytes were lost for log %s: %s", f->unsaid,
			f->path, strerror(f->error));
	f->unsaid = 0;
}

void rv_logfile_close(struct rv_logfile *f)
{
	if (!f->path)
		return;
	say_lost(f);
	rv_fd_close(&f->fd);
	free(f->path);
	f->path = NULL;
}

void rv_logfile_rebind(struct rv_logfile *f, const struct rv_log_conf *conf, const char *service)
{
	f->service = service;
	f->max = conf->max_size;
	f->keep = conf->keep;
}

static void lose(struct rv_logfile *f, size_t n)
{
	f->gap += n;
	f->unsaid += n;
	f->lost += n;
}

/* Writing began to fail, or failed again. */
static void stall(struct rv_logfile *f, int number, rv_time now)
{
	bool again = f->error || now - f->resumed < 5 * RV_SEC;

	f->error = number;
	f->pause = again && f->pause ? f->pause * 2 : PAUSE_MIN;
	if (f->pause > PAUSE_MAX)
		f->pause = PAUSE_MAX;
	f->retry = now + f->pause;
	if (again || now - f->said < SAY_EVERY)
		return;
	f->said = now;
	f->announced = true;
	rv_say(RV_WARN, f->service,
		"cannot write log %s: %s; what the service writes is counted as lost until it "
		"works again",
		f->path, strerror(number));
}

/* What of n bytes may go into this file: whole lines up to the bound; 0: rotate first. */
static size_t fitting(const struct rv_logfile *f, const char *bytes, size_t n)
{
	const char *end;
	size_t room;

	if (!f->max || !f->regular || n <= f->max - (f->size < f->max ? f->size : f->max))
		return n;
	room = (size_t)(f->size < f->max ? f->max - f->size : 0);
	end = room ? memrchr(bytes, '\n', room) : NULL;
	if (end)
		return (size_t)(end - bytes) + 1;
	if (f->size)
		return 0;
	end = memchr(bytes, '\n', n); /* one line that is longer than the bound */
	return end ? (size_t)(end - bytes) + 1 : n;
}

/* Returns how much was written, rotating where it must; less than n: errno holds why. */
static size_t append(struct rv_logfile *f, const char *bytes, size_t n)
{
	size_t done = 0;
	bool rotated = false;

	while (done < n) {
		size_t part = fitting(f, bytes + done, n - done), w;

		if (!part && !rotated) {
			if (!rv_logfile_rotate(f))
				return done;
			rotated = true;
			continue;
		}
		/* Somebody else fills the new file: rather too large than round and round. */
		if (!part)
			part = n - done;
		rotated = false;
		w = put(f, bytes + done, part);
		done += w;
		if (w < part)
			return done;
	}
	return done;
}

/* Has somebody taken the file away? Then there is a new one. */
static bool check(struct rv_logfile *f, rv_time now)
{
	struct stat st;

	f->checked = now;
	if (!stat(f->path, &st) && st.st_dev == f->dev && st.st_ino == f->ino) {
		f->size = (uint64_t)st.st_size;
		return true;
	}
	return rv_logfile_reopen(f);
}

/* Tries whether writing works again; the log then says what is missing from it. */
static bool resume(struct rv_logfile *f, rv_time now)
{
	char note[200];
	int n;

	f->checked = now;
	if (f->fd < 0 ? !rv_logfile_reopen(f) : f->regular && !check(f, now))
		return false;
	n = snprintf(note, sizeof(note), "%sreeve: %" PRIu64 " bytes were lost here: %s\n",
		f->broken ? "\n" : "", f->gap, strerror(f->error));
	if (append(f, note, (size_t)n) < (size_t)n)
		return false;
	f->gap = 0;
	if (f->announced)
		say_lost(f);
	f->announced = false;
	f->error = 0;
	f->resumed = now;
	return true;
}

void rv_logfile_write(struct rv_logfile *f, const char *bytes, size_t n)
{
	rv_time now = rv_now();
	size_t done = 0;

	if (f->error) {
		if (now < f->retry) {
			lose(f, n);
			return;
		}
		if (!resume(f, now)) {
			stall(f, errno, now);
			lose(f, n);
			return;
		}
	}
	if (!f->regular || now - f->checked < CHECK_EVERY || check(f, now))
		done = append(f, bytes, n);
	if (done < n) {
		stall(f, errno, now);
		lose(f, n - done);
	}
}

/* Appends the last `max` bytes of one file. */
static bool read_end(const char *path, size_t max, struct rv_buf *to)
{
	rv_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	size_t want, got = 0;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	want = (uint64_t)st.st_size > max ? max : (size_t)st.st_size;
	if (!rv_buf_reserve(to, want))
		return false;
	while (got < want) {
		ssize_t n = pread(
			fd, to->data + to->len, want - got, st.st_size - (off_t)want + (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		to->len += (size_t)n;
		got += (size_t)n;
	}
	to->data[to->len] = 0;
	return true;
}

static size_t count_lines(const char *bytes, size_t n)
{
	const char *end = bytes + n, *line;
	size_t count = 0;

	while (bytes < end && (line = memchr(bytes, '\n', (size_t)(end - bytes)))) {
		count++;
		bytes = line + 1;
	}
	return count;
}

bool rv_logfile_read_back(const struct rv_logfile *f, size_t lines, size_t max, struct rv_buf *to)
{
	struct rv_buf newest = {.max = max}, all = {.max = max};
	char older[PATH_MAX];
	size_t from;
	bool ok;

	ok = f->path && f->regular && read_end(f->path, max, &newest);
	if (ok && newest.len < max && (!lines || count_lines(newest.data, newest.len) < lines) &&
		(size_t)snprintf(older, sizeof(older), "%s.1", f->path) < sizeof(older))
		read_end(older, max - newest.len, &all);
	ok = ok && rv_buf_add(&all, newest.data, newest.len);
	if (ok) {
		from = rv_tail_cut(all.data, all.len, lines, 0);
		ok = rv_buf_add(to, all.data + from, all.len - from);
	}
	rv_buf_fini(&newest);
	rv_buf_fini(&all);
	return ok;
}
