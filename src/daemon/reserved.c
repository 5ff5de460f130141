/* Reserved ports: see reserved.h. */
#include "daemon/reserved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/lists.h"
#include "sys/fd.h"

#define LIST "/proc/sys/net/ipv4/ip_local_reserved_ports"

enum {
	PORTS = 65536,
	TEXT_MAX = 400 * 1024, /* every second port, in words */
	WRITE_MAX = 3000, /* the kernel takes less than a page at a time */
};

struct rv_reserved {
	size_t count;
	uint16_t ports[];
};

struct set {
	uint64_t bits[PORTS / 64];
};

static bool has(const struct set *s, unsigned port)
{
	return s->bits[port / 64] >> port % 64 & 1;
}

static void put(struct set *s, unsigned port, bool in)
{
	uint64_t bit = UINT64_C(1) << port % 64;

	s->bits[port / 64] = in ? s->bits[port / 64] | bit : s->bits[port / 64] & ~bit;
}

/* "80,8000-8010\n" */
static bool read_text(const char *text, struct set *to)
{
	char *end;

	memset(to, 0, sizeof(*to));
	while (*text && *text != '\n') {
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end == text)
			return false;
		text = end;
		if (*text == '-') {
			last = strtoul(text + 1, &end, 10);
			text = end;
		}
		if (last >= PORTS || first > last)
			return false;
		for (; first <= last; first++)
			put(to, (unsigned)first, true);
		if (*text == ',')
			text++;
	}
	return true;
}

/* All in one read: the kernel has no more for a second one. */
static bool read_list(int fd, struct set *to)
{
	char *text = malloc(TEXT_MAX);
	ssize_t n = text ? pread(fd, text, TEXT_MAX - 1, 0) : -1;
	bool ok = n >= 0 && n < TEXT_MAX - 1;

	if (ok) {
		text[n] = 0;
		ok = read_text(text, to);
	}
	free(text);
	return ok;
}

/* A write at the beginning replaces the list, one further behind joins it. */
static bool write_piece(int fd, const struct rv_buf *text, bool join)
{
	return pwrite(fd, rv_buf_text(text), text->len, join) == (ssize_t)text->len;
}

static bool write_list(int fd, const struct set *s, bool join)
{
	struct rv_buf text = {0};
	bool ok = true;

	for (unsigned first = 0, last; ok && first < PORTS; first = last + 1) {
		last = first;
		if (!has(s, first))
			continue;
		while (last + 1 < PORTS && has(s, last + 1))
			last++;
		rv_buf_fmt(
			&text, last > first ? "%s%u-%u" : "%s%u", text.len ? "," : "", first, last);
		if (text.len > WRITE_MAX) {
			ok = write_piece(fd, &text, join);
			join = true;
			text.len = 0;
		}
	}
	if (!text.len && !join)
		rv_buf_str(&text, "\n");
	ok = ok && !text.full && (!text.len || write_piece(fd, &text, join));
	rv_buf_fini(&text);
	return ok;
}

static bool join(int fd, struct set *list, struct rv_reserved *r, const uint16_t *ports, size_t n)
{
	struct set ours = {{0}};
	bool all = true;

	if (!read_list(fd, list))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!has(list, ports[i]) && !has(&ours, ports[i])) {
			put(&ours, ports[i], true);
			r->ports[r->count++] = ports[i];
		}
	if (!r->count)
		return true;
	if (!write_list(fd, &ours, true) || !read_list(fd, list))
		return false;
	for (size_t i = 0; i < n; i++)
		all = all && has(list, ports[i]);
	return all;
}

/* Several reeves wait for each other. But anybody who can read the file can lock it, so none waits for long. */
static int open_locked(void)
{
	const struct timespec pause = {.tv_nsec = RV_MS};
	int fd = open(LIST, O_RDWR | O_CLOEXEC);

	for (int i = 0; fd >= 0 && i < 50 && flock(fd, LOCK_EX | LOCK_NB); i++)
		nanosleep(&pause, NULL);
	return fd;
}

/* Takes out of the list those of `r` that are not in `but`. */
static bool leave(int fd, const struct rv_reserved *r, const struct set *but)
{
	struct set *list = calloc(1, sizeof(*list));
	bool ok = list && read_list(fd, list), any = false;

	for (size_t i = 0; ok && i < r->count; i++) {
		if (has(but, r->ports[i]))
			continue;
		put(list, r->ports[i], false);
		any = true;
	}
	ok = ok && (!any || write_list(fd, list, false));
	free(list);
	return ok;
}

/* Of `from` what is in `want`. */
static void inherit(struct rv_reserved *to, const struct rv_reserved *from, const struct set *want)
{
	for (size_t i = 0; i < from->count; i++)
		if (has(want, from->ports[i]))
			to->ports[to->count++] = from->ports[i];
}

bool rv_reserved_change(struct rv_reserved **r, const uint16_t *ports, size_t n, struct rv_err *e)
{
	size_t room = n + (*r ? (*r)->count : 0);
	rv_auto_fd fd = open_locked();
	struct rv_reserved *now = calloc(1, sizeof(*now) + room * sizeof(now->ports[0]));
	struct set *list = calloc(1, sizeof(*list)), *want = calloc(1, sizeof(*want));
	bool ok = fd >= 0 && now && list && want && join(fd, list, now, ports, n);

	for (size_t i = 0; ok && i < n; i++)
		put(want, ports[i], true);
	if (ok && *r) {
		inherit(now, *r, want);
		leave(fd, *r,
			want); /* what cannot be taken out hinders nobody who asks for it by number */
	}
	if (ok) {
		free(*r);
		*r = now;
	} else {
		rv_fail_errno(e, errno, "cannot reserve ports in " LIST);
		free(now);
	}
	free(list);
	free(want);
	return ok;
}

void rv_reserved_remove(struct rv_reserved *r)
{
	static const struct set none;
	rv_auto_fd fd = -1;

	if (r && r->count)
		fd = open_locked();
	if (fd >= 0)
		leave(fd, r, &none);
	free(r);
}
