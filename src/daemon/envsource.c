/* Where create-time variables come from: see envsource.h. */
#include "daemon/envsource.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon/envset.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* Whoever writes it has this long; a stdin that nobody closes would hold up the start for ever, without a word. */
#define WRITE_LIMIT (10 * RV_SEC)

/* Until there is something to read, or its end. A request to end stays pending: who comes after us obeys it. */
static bool await(int fd, int asked, rv_time until, struct rv_err *e)
{
	struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = asked, .events = POLLIN}};
	int n;

	do {
		rv_time left = until - rv_now();

		n = poll(p, 2, left > 0 ? (int)((left + RV_MS - 1) / RV_MS) : 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return rv_fail_errno(e, errno, "cannot wait for it");
	if (p[1].revents)
		return rv_fail(e, RV_ERR_CONFIG, "it had not ended when reeve was asked to end");
	return n ||
		rv_fail(e, RV_ERR_CONFIG,
			"it had no end after %d seconds: whoever writes it has to close it",
			(int)(WRITE_LIMIT / RV_SEC));
}

static bool slurp(int fd, struct rv_buf *to, struct rv_err *e)
{
	rv_time until = rv_now() + WRITE_LIMIT;
	rv_auto_fd asked = -1;
	sigset_t end;
	ssize_t n = 1;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	asked = signalfd(-1, &end, SFD_CLOEXEC); /* only looked at; -1 is not polled */
	to->max = RV_VARIABLES_TEXT + 1;
	while (n) {
		if (!rv_buf_reserve(to, 4096))
			return rv_fail(e, RV_ERR_CONFIG, "it has more than %d bytes",
				RV_VARIABLES_TEXT - 4096);
		if (!await(fd, asked, until, e))
			return false;
		n = read(fd, to->data + to->len, 4096);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return rv_fail_errno(e, errno, "cannot read it");
		to->len += (size_t)n;
	}
	return true;
}

static bool read_all(const char *path, struct rv_buf *to, struct rv_err *e)
{
	rv_auto_fd fd = -1;

	if (!strcmp(path, "-"))
		return slurp(STDIN_FILENO, to, e);
	/* a FIFO is opened before its writer has come */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return rv_fail_errno(e, errno, "cannot open it");
	return slurp(fd, to, e);
}

/* One complaint a line; the place is the source. */
static void complain(struct rv_complaints *c, const char *source, const struct rv_buf *why)
{
	for (const char *line = rv_buf_text(why); *line;) {
		int n = (int)strcspn(line, "\n");

		rv_complain(c, (struct rv_place){.file = source}, "%.*s", n, line);
		line += n + (line[n] == '\n');
	}
}

void rv_envsource_read(const char *path, struct rv_variables *to, struct rv_complaints *c)
{
	const char *text = path ? NULL : getenv(RV_ENVSOURCE_VARIABLE);
	const char *source = !path	 ? RV_ENVSOURCE_VARIABLE
		: strcmp(path, "-") != 0 ? path
					 : "the environment from stdin";
	struct rv_buf bytes = {0}, why = {0};
	struct rv_err e;

	if (!path && (!text || !*text))
		return;
	if (path && !read_all(path, &bytes, &e))
		rv_complain(c, (struct rv_place){.file = source}, "%s", e.text);
	else if (!rv_variables_read(to, path ? rv_buf_text(&bytes) : text,
			 path ? bytes.len : strlen(text), &why)) {
		complain(c, source, &why);
		rv_variables_fini(to);
	}
	if (bytes.data)
		explicit_bzero(bytes.data, bytes.room);
	rv_buf_fini(&bytes);
	rv_buf_fini(&why);
}

void rv_envsource_check(const struct rv_conf *conf, bool boot, struct rv_complaints *c)
{
	struct rv_buf names = {0};
	struct rv_err e;

	if (!conf->variables || rv_envset_is_taken(conf, boot, &e))
		return;
	for (size_t i = 0; conf->variables[i]; i++)
		rv_buf_fmt(&names, "%s%.*s", i ? ", " : "", (int)strcspn(conf->variables[i], "="),
			conf->variables[i]);
	rv_complain(c, (struct rv_place){.file = ""}, "the sandbox is given %s, but: %s",
		rv_buf_text(&names), e.text);
	rv_buf_fini(&names);
}
