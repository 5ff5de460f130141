/* The connection: see call.h. */
#include "ctl/call.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "ctl/words.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define ANSWER_MAX ((size_t)256 << 20)
#define CHUNK	   65536

static int refuse(struct rv_fault *f, const char *path, const char *why)
{
	return rv_fault_set(
		f, CTL_NO_DAEMON, "unreachable", "cannot reach reeve at %s: %s", path, why);
}

static int refuse_errno(struct rv_fault *f, const char *path, int number)
{
	switch (number) {
	case ENOENT:
		return refuse(f, path,
			"not running (no such socket); if reeve was started with another "
			"runtime-dir, use -s SOCKET or REEVE_SOCKET");
	case ECONNREFUSED:
	case EPROTOTYPE: return refuse(f, path, "not running (nobody listens there)");
	case ENOTSOCK: return refuse(f, path, "it is not a socket");
	case EAGAIN:
	case ETIMEDOUT:
		return refuse(f, path, "not running, or stuck (nobody accepts on the socket)");
	case EACCES:
	case EPERM:
		return rv_fault_set(f, CTL_DENIED, "denied",
			"cannot reach reeve at %s: not permitted; mode, owner and group of the "
			"socket (reeve.control) say who may use it",
			path);
	default: return refuse(f, path, strerror(number));
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

/* One attempt; 0 or an errno. For the kernel every file that is no socket only refuses. */
static int try_connect(struct rv_call *c, const struct sockaddr_un *a)
{
	struct stat st;
	int number;

	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return errno;
	if (!connect(c->fd, (const struct sockaddr *)a, sizeof(*a)))
		return 0;
	number = errno;
	rv_fd_close(&c->fd);
	if (number == ECONNREFUSED && !stat(a->sun_path, &st) && !S_ISSOCK(st.st_mode))
		return ENOTSOCK;
	return number;
}

/* What another attempt may change: a full backlog answers EAGAIN at once, and poll does not tell when there is
   room; a reeve that is about to start has no socket yet. */
static bool may_pass(int number, bool patient)
{
	if (number == EAGAIN || number == EINTR)
		return true;
	return patient && (number == ENOENT || number == ECONNREFUSED);
}

int rv_call_open(
	struct rv_call *c, const char *path, rv_time until, bool patient, struct rv_fault *f)
{
	const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int number;

	*c = (struct rv_call){.fd = -1, .path = path, .in = {.max = ANSWER_MAX}};
	if (strlen(path) >= sizeof(a.sun_path))
		return refuse_errno(f, path, ENAMETOOLONG);
	memcpy(a.sun_path, path, strlen(path) + 1);
	while ((number = try_connect(c, &a)) && may_pass(number, patient) && rv_now() < until)
		nanosleep(&pause, NULL);
	return number ? refuse_errno(f, path, number) : CTL_OK;
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

int rv_call_send(struct rv_call *c, const struct rv_buf *request, struct rv_fault *f)
{
	int number = send_bounded(c->fd, request, rv_now() + RV_CALL_BOUND);

	return number ? refuse_errno(f, c->path, number) : CTL_OK;
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

int rv_call_unanswered(const struct rv_call *c, enum rv_got got, struct rv_fault *f)
{
	return refuse(f, c->path,
		got == RV_GOT_TIMEOUT ? "not running, or stuck (no answer within 5s)"
				      : "it closed the connection without an answer");
}
