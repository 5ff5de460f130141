/* The termination report: see endreport.h. */
#include "daemon/endreport.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/names.h"
#include "base/text.h"
#include "sys/fd.h"
#include "wire/json.h"

/* Shares of the whole, in bytes of JSON; the services have what is left. */
enum { WHY_MAX = 600, LINES_MAX = 1500, LINE_MAX = 500, BESIDE_MAX = 700, ONE_MAX = 200 };
enum { LINES_SHOWN = 40, TAIL_ROOM = 48 };

/* --- pieces ------------------------------------------------------------------------------------ */

/* A text that people wrote or may read, with its quotes; cut when it would take more than `max`. */
static void put_cut(struct rv_buf *to, const char *s, size_t n, size_t max)
{
	struct rv_buf clean = {0}, json = {0};
	bool cut = false;

	rv_text_visible(&clean, s, n);
	s = rv_buf_text(&clean);
	n = clean.len;
	rv_json_strn(&json, s, n);
	while (json.len > max && n) {
		if (!cut)
			max -= 3;
		cut = true;
		n = n * max / json.len;
		while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
			n--;
		rv_buf_clear(&json);
		rv_json_strn(&json, s, n);
	}
	rv_buf_add(to, rv_buf_text(&json), json.len - (cut ? 1 : 0));
	rv_buf_str(to, cut ? "...\"" : "");
	rv_buf_fini(&clean);
	rv_buf_fini(&json);
}

static void put_time(struct rv_buf *to, const char *key, int64_t seconds)
{
	time_t t = (time_t)seconds;
	char text[40] = "";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	rv_json_key(to, key);
	rv_json_str(to, text);
}

static void put_ms(struct rv_buf *to, const char *key, rv_time t)
{
	rv_json_key(to, key);
	rv_json_ms(to, t);
}

/* --- the parts --------------------------------------------------------------------------------- */

/* Where the lines start that are shown: as many of the last ones as the share allows. */
static size_t lines_from(const char *text, size_t n, size_t *count)
{
	size_t used = 0, from = n, at = n;

	for (*count = 0; at && *count < LINES_SHOWN; (*count)++) {
		const char *before = memrchr(text, '\n', at - 1);
		size_t start = before ? (size_t)(before - text) + 1 : 0;
		struct rv_buf one = {0};

		put_cut(&one, text + start, at - start, LINE_MAX);
		used += one.len + 1;
		rv_buf_fini(&one);
		if (used > LINES_MAX)
			break;
		from = at = start;
	}
	return from;
}

static void put_lines(struct rv_buf *to, const char *text, size_t n)
{
	size_t count, from;

	while (n && text[n - 1] == '\n')
		n--;
	rv_json_key(to, "last_lines");
	RV_JSON_LIT(to, "[");
	for (from = lines_from(text, n, &count); from < n; from++) {
		const char *end = memchr(text + from, '\n', n - from);
		size_t len = end ? (size_t)(end - text) - from : n - from;

		put_cut(to, text + from, len, LINE_MAX);
		from += len;
		if (from < n)
			RV_JSON_LIT(to, ",");
	}
	RV_JSON_LIT(to, "]");
}

static void put_beside(const struct rv_report *r, struct rv_buf *to)
{
	size_t start, i = 0;
	unsigned lost = r->beside_lost;

	rv_json_key(to, "secondary");
	RV_JSON_LIT(to, "[");
	start = to->len;
	for (; i < r->beside_len; i += strlen(r->beside + i) + 1) {
		if (to->len - start + ONE_MAX > BESIDE_MAX) {
			lost++;
			continue;
		}
		if (i)
			RV_JSON_LIT(to, ",");
		put_cut(to, r->beside + i, strlen(r->beside + i), ONE_MAX - 1);
	}
	RV_JSON_LIT(to, "]");
	if (lost) {
		RV_JSON_INT(to, "secondary_left_out", lost);
	}
}

static void put_service(const struct rv_report_service *s, struct rv_buf *to)
{
	RV_JSON_LIT(to, "{\"name\":");
	rv_json_str(to, s->name);
	RV_JSON_STR(to, "state", rv_state_name(s->state));
	rv_json_key(to, "exit");
	rv_rpc_put_exit(to, s->exit);
	if (*s->why) {
		rv_json_key(to, "why");
		put_cut(to, s->why, strlen(s->why), ONE_MAX);
	}
	rv_json_key(to, "durations");
	rv_rpc_put_durations(to, &s->took);
	RV_JSON_LIT(to, "}");
}

static void put_services(const struct rv_report *r, struct rv_buf *to, size_t start)
{
	struct rv_buf one = {0};
	size_t i = 0;

	rv_json_key(to, "services");
	RV_JSON_LIT(to, "[");
	for (; i < r->service_count; i++) {
		rv_buf_clear(&one);
		put_service(&r->services[i], &one);
		if (to->len - start + one.len + TAIL_ROOM > RV_REPORT_MAX)
			break;
		if (i)
			RV_JSON_LIT(to, ",");
		rv_buf_add(to, one.data, one.len);
	}
	rv_buf_fini(&one);
	RV_JSON_LIT(to, "]");
	if (i < r->service_count) {
		RV_JSON_INT(to, "services_left_out", (int64_t)(r->service_count - i));
	}
}

void rv_report_put(const struct rv_report *r, struct rv_buf *to)
{
	size_t start = to->len;

	RV_JSON_LIT(to, "{\"what\":");
	rv_json_str(to, r->what);
	RV_JSON_INT(to, "status", r->status);
	RV_JSON_STR(to, "service", r->service);
	rv_json_key(to, "why");
	if (r->why)
		put_cut(to, r->why, strlen(r->why), WHY_MAX);
	else
		RV_JSON_LIT(to, "null");
	rv_json_key(to, "exit");
	rv_rpc_put_exit(to, r->exit);
	put_lines(to, r->lines, r->lines_len);
	put_beside(r, to);
	RV_JSON_BOOL(to, "complete", r->complete);
	put_time(to, "started_at", r->began);
	put_time(to, "ended_at", r->ended);
	put_ms(to, "boot_ms", r->boot);
	put_ms(to, "run_ms", r->run);
	put_ms(to, "stop_ms", r->stop);
	put_services(r, to, start);
	RV_JSON_LIT(to, "}");
}

/* --- the file ---------------------------------------------------------------------------------- */

static int open_file(const char *path, struct rv_err *e)
{
	const int flags = O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = open(path, flags, 0640);

	if (fd < 0 && errno == ENOENT && rv_mkdirs_for(path, e))
		fd = open(path, flags, 0640);
	return fd;
}

/* In this order, so that a full disk takes the old text only when there is a new one. */
static bool overwrite(int fd, const char *text, size_t n)
{
	ssize_t done = pwrite(fd, text, n, 0);

	if (done >= 0 && (size_t)done < n)
		errno = ENOSPC;
	return done == (ssize_t)n && !ftruncate(fd, (off_t)n);
}

bool rv_report_write(const char *path, const char *text, size_t n, struct rv_err *e)
{
	rv_auto_fd fd = open_file(path, e);
	struct stat st;
	ssize_t done;

	if (fd < 0 || fstat(fd, &st))
		return rv_fail_errno(e, errno, "cannot write the termination report %s%s", path,
			errno == ENXIO ? " (nobody reads it)" : "");
	if (S_ISREG(st.st_mode))
		done = overwrite(fd, text, n) ? (ssize_t)n : -1;
	else
		done = write(fd, text, n);
	if (done == (ssize_t)n)
		return true;
	return rv_fail_errno(
		e, done < 0 ? errno : EAGAIN, "cannot write the termination report %s", path);
}

bool rv_report_clear(const char *path, struct rv_err *e)
{
	rv_auto_fd fd = -1;
	struct stat st;

	if (stat(path, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return true; /* also when it cannot be looked at: writing it will tell */
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || (st.st_size && ftruncate(fd, 0)))
		return rv_fail_errno(e, errno, "cannot write the termination report %s", path);
	return true;
}
