/* The connection: see call.h. */
#include "ctl/call.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ctl/words.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define ANSWER_MAX ((size_t)256 << 20)
#define CHUNK	   65536

static int refuse(const char *path, const char *why, int status)
{
	fprintf(stderr, "reevectl: cannot reach reeve at %s: %s\n", path, why);
	return status;
}

static int refuse_errno(const char *path, int number)
{
	char why[256];

	switch (number) {
	case ENOENT:
		return refuse(path,
			"not running (no such socket); if reeve was started with another "
			"runtime-dir, use "
			"-s SOCKET or REEVE_SOCKET",
			CTL_NO_DAEMON);
	case ECONNREFUSED:
	case ENOTSOCK:
	case EPROTOTYPE: return refuse(path, "not running (nobody listens there)", CTL_NO_DAEMON);
	case EAGAIN:
	case ETIMEDOUT:
		return refuse(path, "not running, or stuck (nobody accepts on the socket)",
			CTL_NO_DAEMON);
	case EACCES:
	case EPERM:
		return refuse(path,
			"not permitted; mode, owner and group of the socket (reeve.control) say "
			"who may use it",
			CTL_DENIED);
	default:
		snprintf(why, sizeof(why), "%s", strerror(number));
		return refuse(path, why, CTL_NO_DAEMON);
	}
}

/* Milliseconds for poll(); never less than what is left. */
static int left_ms(rv_time until)
{
	rv_time left = until == RV_NEVER ? RV_NEVER : until - rv_now();

	if (left == RV_NEVER)
		return -1;
	if (left <= 0)
		return 0;
	return left / RV_MS >= 1000000000 ? 1000000000 : (int)((left + RV_MS - 1) / RV_MS);
}

static bool wait_for(int fd, short events, rv_time until)
{
	struct pollfd p = {.fd = fd, .events = events};
	int n;

	do
		n = poll(&p, 1, left_ms(until));
	while (n < 0 && errno == EINTR);
	return n > 0;
}

/* A full backlog answers EAGAIN at once, and poll does not tell when there is room. */
static int connect_bounded(int fd, const char *path, rv_time until)
{
	const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(a.sun_path))
		return ENAMETOOLONG;
	memcpy(a.sun_path, path, strlen(path) + 1);
	while (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		if (errno != EAGAIN && errno != EINTR)
			return errno;
		if (rv_now() >= until)
			return ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int send_bounded(int fd, const struct rv_buf *request, rv_time until)
{
	size_t sent = 0;

	while (sent < request->len) {
		ssize_t n = send(fd, request->data + sent, request->len - sent, MSG_NOSIGNAL);

		if (n > 0)
			sent += (size_t)n;
		else if (errno == EAGAIN && !wait_for(fd, POLLOUT, until))
			return ETIMEDOUT;
		else if (errno != EAGAIN && errno != EINTR)
			return errno;
	}
	return 0;
}

int rv_call_open(struct rv_call *c, const char *path, const struct rv_buf *request)
{
	rv_time until = rv_now() + RV_CALL_BOUND;
	int number;

	*c = (struct rv_call){.path = path, .in = {.max = ANSWER_MAX}};
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return refuse_errno(path, errno);
	number = connect_bounded(c->fd, path, until);
	if (!number)
		number = send_bounded(c->fd, request, until);
	if (!number)
		return CTL_OK;
	rv_call_close(c);
	return refuse_errno(path, number);
}

void rv_call_close(struct rv_call *c)
{
	rv_fd_close(&c->fd);
	rv_buf_fini(&c->in);
}

enum rv_got rv_call_line(struct rv_call *c, rv_time until, const char **line)
{
	size_t seen = 0;

	rv_buf_drop(&c->in, c->line);
	c->line = 0;
	for (;;) {
		char *end = c->in.len > seen ? memchr(c->in.data + seen, '\n', c->in.len - seen)
					     : NULL;
		ssize_t n;

		if (end) {
			*end = 0;
			*line = c->in.data;
			c->line = (size_t)(end - c->in.data) + 1;
			return RV_GOT_LINE;
		}
		seen = c->in.len;
		if (!rv_buf_reserve(&c->in, CHUNK))
			return RV_GOT_END;
		if (!wait_for(c->fd, POLLIN, until))
			return RV_GOT_TIMEOUT;
		n = recv(c->fd, c->in.data + c->in.len, CHUNK, 0);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return RV_GOT_END;
		if (n > 0)
			c->in.len += (size_t)n;
	}
}

int rv_call_unanswered(const struct rv_call *c, enum rv_got got)
{
	if (got == RV_GOT_TIMEOUT)
		return refuse(
			c->path, "not running, or stuck (no answer within 5s)", CTL_NO_DAEMON);
	return refuse(c->path, "it closed the connection without an answer", CTL_NO_DAEMON);
}
