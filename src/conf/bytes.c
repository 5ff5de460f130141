/* The bytes of a file, without waiting long for them: at a reload it is the loop of the daemon that reads. */
#include "conf/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 1000 }; /* for all of what comes out of a FIFO or a terminal */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* More may come of what has no bytes now. False: it is over, *good says whether with an end or without. */
static bool wait_for_more(int fd, int64_t until, bool *good)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t left = until - now_ms();
	int n = left > 0 ? poll(&p, 1, (int)left) : 0;

	if (n < 0)
		return errno == EINTR;
	if (!n)
		errno = ETIMEDOUT;
	*good = n && !(p.revents & POLLIN); /* hung up: whoever wrote is gone */
	return n && !*good;
}

static bool read_all(int fd, struct rv_buf *to)
{
	int64_t until = now_ms() + PATIENCE_MS;
	bool fifo, good = false;
	struct stat st;
	char part[8192];

	fifo = !fstat(fd, &st) && S_ISFIFO(st.st_mode);
	for (;;) {
		ssize_t n = read(fd, part, sizeof(part));

		if (n > 0) {
			if (rv_buf_add(to, part, (size_t)n))
				continue;
			errno = EFBIG;
			return false;
		}
		/* A FIFO that nobody has opened for writing yet seems to be at its end. */
		if (n == 0 && (to->len || !fifo))
			return true;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return false;
		if (!wait_for_more(fd, until, &good))
			return good;
	}
}

bool rv_conf_bytes(const char *path, size_t max, struct rv_buf *to)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), number;
	bool good;

	if (fd < 0)
		return false;
	to->max = max;
	good = read_all(fd, to);
	number = errno;
	close(fd);
	errno = number;
	return good;
}
