/* The bytes of a file, without waiting for them: at a reload it is the loop of the daemon that reads. */
#include "conf/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Only what can be read again says the same at `reeve check`, at the start and at a reload; a FIFO or a
   terminal may also keep its reader waiting. NULL: good. */
static const char *refuse_kind(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return strerror(errno);
	if (S_ISDIR(st.st_mode))
		return strerror(EISDIR);
	return S_ISREG(st.st_mode) ? NULL : "not a regular file";
}

static const char *read_all(int fd, struct rv_buf *to)
{
	char part[8192];

	for (;;) {
		ssize_t n = read(fd, part, sizeof(part));

		if (!n)
			return NULL;
		if (n > 0 && !rv_buf_add(to, part, (size_t)n))
			return strerror(EFBIG);
		if (n < 0 && errno != EINTR)
			return strerror(errno);
	}
}

bool rv_conf_bytes(const char *path, size_t max, struct rv_buf *to, struct rv_unread *why)
{
	/* Not to wait for whoever writes into a FIFO. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	*why = (struct rv_unread){.number = fd < 0 ? errno : 0};
	if (fd < 0) {
		why->text = strerror(why->number);
		return false;
	}
	to->max = max;
	why->text = refuse_kind(fd);
	if (!why->text)
		why->text = read_all(fd, to);
	close(fd);
	return !why->text;
}
