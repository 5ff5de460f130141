/* See loss.h. A run goes: ask, judge, [pause, ask, judge]: even turns ask, odd ones judge. */
#include "loss.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <reeve/plugin.h>

enum { TRIES = 3 };

static const int64_t pause_ns = INT64_C(400000000);

bool rv_loss_asks(const struct reeve_turn *t)
{
	return t->step % 2 == 0;
}

/* No such process, or one that has ended and was not collected yet. */
static bool is_gone(int32_t pid)
{
	char path[40], text[512], *end;
	ssize_t n;
	int fd;

	if (pid <= 0)
		return false; /* which process it is, is not known */
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return access("/proc/self/stat", R_OK) == 0;
	text[n] = 0;
	end = strrchr(text, ')');
	return end && end[1] == ' ' && (end[2] == 'Z' || end[2] == 'X');
}

static enum reeve_next refused(struct reeve_turn *t, const char *method, const char *url)
{
	if (is_gone(t->pid)) {
		t->why = reeve_fmt(t, "%s %s: connection refused, and process %d has ended", method,
			url, t->pid);
		return REEVE_FAIL;
	}
	if (t->step / 2 + 1 < TRIES) {
		t->wait_ns = pause_ns;
		return REEVE_WAIT;
	}
	t->why = reeve_fmt(t,
		"%s %s: connection refused %d times in a row: nobody listens there any more, "
		"though process "
		"%d lives",
		method, url, TRIES, t->pid);
	return REEVE_FAIL;
}

enum reeve_next rv_loss_judge(
	struct reeve_turn *t, const char *method, const char *url, enum reeve_next next)
{
	url = reeve_str(t, url, strcspn(url, "?"));
	if (t->http.transport == REEVE_HTTP_REFUSED)
		return refused(t, method, url);
	if (next != REEVE_OK)
		return REEVE_RETRY;
	t->why = reeve_fmt(t, "%s %s answered %d", method, url, t->http.status);
	return REEVE_OK;
}
