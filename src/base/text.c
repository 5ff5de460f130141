/* Values as users write them: see text.h. */
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static const struct unit *find_unit(const struct unit *units, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(units[i].name, name))
			return &units[i];
	return NULL;
}

/* Reads digits, moves *s behind them. False: no digit, or more than 64 bits. */
static bool read_digits(const char **s, uint64_t *v)
{
	const char *p = *s;

	for (*v = 0; is_digit(*p); p++)
		if (__builtin_mul_overflow(*v, 10, v) ||
			__builtin_add_overflow(*v, (uint64_t)(*p - '0'), v))
			return false;
	if (p == *s)
		return false;
	*s = p;
	return true;
}

/* Reads ".digits" as parts of `whole`; exact, or false. */
static bool read_fraction(const char **s, uint64_t whole, uint64_t *part)
{
	const char *p = *s;

	*part = 0;
	if (*p != '.')
		return true;
	p++;
	if (!is_digit(*p))
		return false;
	for (; is_digit(*p); p++) {
		if (whole % 10 && *p != '0')
			return false;
		whole /= 10;
		*part += whole * (uint64_t)(*p - '0');
	}
	*s = p;
	return true;
}

bool rv_text_duration(const char *s, rv_time *ns)
{
	static const struct unit units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000},
		{"s", 1000000000}, {"m", UINT64_C(60000000000)}, {"h", UINT64_C(3600000000000)},
		{"d", UINT64_C(86400000000000)}};
	const struct unit *u;
	const char *behind;
	uint64_t v, part;

	if (!strcmp(s, "0")) {
		*ns = 0;
		return true;
	}
	if (!read_digits(&s, &v))
		return false;
	behind = s + strspn(s, ".0123456789");
	u = find_unit(units, sizeof(units) / sizeof(units[0]), behind);
	if (!u || !read_fraction(&s, u->factor, &part) || s != behind)
		return false;
	if (__builtin_mul_overflow(v, u->factor, &v) || __builtin_add_overflow(v, part, &v) ||
		v >= INT64_MAX)
		return false;
	*ns = (rv_time)v;
	return true;
}

bool rv_text_size(const char *s, uint64_t *bytes)
{
	static const struct unit units[] = {{"", 1}, {"B", 1}, {"kB", 1000}, {"MB", 1000000},
		{"GB", 1000000000}, {"TB", UINT64_C(1000000000000)}, {"KiB", 1024},
		{"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", UINT64_C(1) << 40}};
	const struct unit *u;
	uint64_t v;

	if (!read_digits(&s, &v))
		return false;
	u = find_unit(units, sizeof(units) / sizeof(units[0]), s);
	if (!u || __builtin_mul_overflow(v, u->factor, &v) || v > INT64_MAX)
		return false;
	*bytes = v;
	return true;
}

bool rv_text_mode(const char *s, unsigned *mode)
{
	unsigned v = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '7')
			return false;
		v = v * 8 + (unsigned)(*s - '0');
		if (v > 07777)
			return false;
	}
	*mode = v;
	return true;
}

bool rv_text_int(const char *s, int64_t *v)
{
	bool minus = *s == '-';
	uint64_t n;

	if (*s == '-' || *s == '+')
		s++;
	if (!read_digits(&s, &n) || *s || n > (uint64_t)INT64_MAX + minus)
		return false;
	*v = minus ? (int64_t)(0 - n) : (int64_t)n;
	return true;
}

bool rv_text_bool(const char *s, bool *v)
{
	static const char *const words[] = {"false", "False", "FALSE", "true", "True", "TRUE"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(words[i], s)) {
			*v = i >= 3;
			return true;
		}
	}
	return false;
}

const char *rv_text_ago(rv_time ns, char *to, size_t size)
{
	static const struct {
		rv_time big, small;
		char big_name, small_name;
	} pairs[] = {{86400 * RV_SEC, 3600 * RV_SEC, 'd', 'h'},
		{3600 * RV_SEC, 60 * RV_SEC, 'h', 'm'}, {60 * RV_SEC, RV_SEC, 'm', 's'}};

	if (ns < 0)
		ns = 0;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		int64_t big = ns / pairs[i].big, small = ns % pairs[i].big / pairs[i].small;

		if (!big)
			continue;
		if (small)
			snprintf(to, size, "%" PRId64 "%c %" PRId64 "%c", big, pairs[i].big_name,
				small, pairs[i].small_name);
		else
			snprintf(to, size, "%" PRId64 "%c", big, pairs[i].big_name);
		return to;
	}
	if (ns >= RV_SEC || !ns)
		snprintf(to, size, "%" PRId64 "s", ns / RV_SEC);
	else
		snprintf(to, size, "%" PRId64 "ms", ns / RV_MS);
	return to;
}

const char *rv_text_dur(rv_time ns, char *to, size_t size)
{
	static const struct {
		rv_time factor;
		const char *name;
	} units[] = {{86400 * RV_SEC, "d"}, {3600 * RV_SEC, "h"}, {60 * RV_SEC, "m"}, {RV_SEC, "s"},
		{RV_MS, "ms"}, {RV_US, "us"}, {1, "ns"}};

	if (ns <= 0) {
		snprintf(to, size, "0");
		return to;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (ns % units[i].factor)
			continue;
		snprintf(to, size, "%" PRId64 "%s", ns / units[i].factor, units[i].name);
		break;
	}
	return to;
}

/* Length of the well-formed UTF-8 sequence at the start of s, its code point in *c; 0: none. */
static size_t utf8(const unsigned char *s, size_t n, uint32_t *c)
{
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (!len || len > n || s[0] > 0xf4)
		return 0;
	*c = len == 1 ? s[0] : s[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (s[i] & 0x3f);
	}
	if ((len == 3 && *c < 0x800) || (len == 4 && *c < 0x10000) || *c > 0x10ffff ||
		(*c >= 0xd800 && *c < 0xe000))
		return 0;
	return len;
}

static bool is_plain(uint32_t c)
{
	return c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7f) || c >= 0xa0;
}

static void add_hex(struct rv_buf *to, const unsigned char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rv_buf_fmt(to, "\\x%02x", s[i]);
}

void rv_text_visible(struct rv_buf *to, const char *bytes, size_t n)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t from = 0, i = 0;

	while (i < n) {
		uint32_t c = 0;
		size_t len = utf8(s + i, n - i, &c);

		if (len && is_plain(c)) {
			i += len;
			continue;
		}
		rv_buf_add(to, bytes + from, i - from);
		add_hex(to, s + i, len ? len : 1);
		i += len ? len : 1;
		from = i;
	}
	rv_buf_add(to, bytes + from, n - from);
}

void rv_text_mark_cut(char *to, size_t size, int n)
{
	static const char mark[] = "…";
	size_t at;

	if (n < 0 || (size_t)n < size || size <= sizeof(mark))
		return;
	at = size - sizeof(mark);
	while (at && ((unsigned char)to[at] & 0xc0) == 0x80)
		at--;
	memcpy(to + at, mark, sizeof(mark));
}

const char *rv_text_cut(const char *text, char *to, size_t size)
{
	rv_text_mark_cut(to, size, snprintf(to, size, "%s", text));
	return to;
}

const char *rv_text_reason(int number, char *to, size_t size)
{
	snprintf(to, size, "%s", strerror(number));
	if (to[0] && (to[1] < 'A' || to[1] > 'Z')) /* not of an abbreviation */
		to[0] = lower(to[0]);
	return to;
}

const char *rv_text_url(const char *url, char *to, size_t size)
{
	const char *host = strstr(url, "://");
	size_t authority, shown, userinfo = 0;

	host = host ? host + 3 : url;
	authority = strcspn(host, "/?#");
	for (size_t i = 0; i < authority; i++)
		if (host[i] == '@')
			userinfo = i;
	shown = userinfo + strcspn(host + userinfo, "?");
	snprintf(to, size, "%.*s%s%.*s%s", (int)(host - url), url, userinfo ? "***" : "",
		(int)(shown - userinfo), host + userinfo, host[shown] ? "?***" : "");
	return to;
}

enum { NEAR_MAX = 63 }; /* longer words are compared by their beginning only */

static char plain(char c)
{
	return c == '_' ? '-' : lower(c);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edits (insert, delete, change, swap of neighbours) from a to b; more than `limit` is limit + 1. */
static size_t distance(const char *a, size_t n, const char *b, size_t m, size_t limit)
{
	size_t row[3][NEAR_MAX + 2];
	size_t *old = row[0], *cur = row[1], *new = row[2], *t;

	if ((n > m ? n - m : m - n) > limit)
		return limit + 1;
	for (size_t j = 0; j <= m; j++)
		old[j] = cur[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t best = i;

		new[0] = i;
		for (size_t j = 1; j <= m; j++) {
			bool same = plain(a[i - 1]) == plain(b[j - 1]);

			new[j] = least(cur[j - 1] + !same, least(cur[j], new[j - 1]) + 1);
			if (i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) &&
				plain(a[i - 2]) == plain(b[j - 1]))
				new[j] = least(new[j], old[j - 2] + 1);
			best = least(best, new[j]);
		}
		if (best > limit)
			return limit + 1;
		t = old;
		old = cur;
		cur = new;
		new = t;
	}
	return least(cur[m], limit + 1);
}

/* "env" for "environment", "stop-timeout" for "stop": people shorten and lengthen. */
static bool is_start_of(const char *a, size_t n, const char *b, size_t m)
{
	size_t shorter = least(n, m);

	if (shorter < 3)
		return false;
	for (size_t i = 0; i < shorter; i++)
		if (plain(a[i]) != plain(b[i]))
			return false;
	return true;
}

const char *rv_text_nearest(const char *word, const char *const *names, size_t n)
{
	size_t len = strnlen(word, NEAR_MAX);
	size_t limit = len < 2 ? 0 : len == 2 ? 1 : (len + 1) / 3;
	size_t best = limit + 1;
	const char *found = NULL, *start = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t m = strnlen(names[i], NEAR_MAX);
		size_t d = distance(word, len, names[i], m, limit);

		/* people rarely miss the first letter, and in a short word nothing else as well */
		if (d > 1 && len < 8 && plain(word[0]) != plain(names[i][0]))
			continue;
		if (d < best && d < m) {
			best = d;
			found = names[i];
		}
		if (!start && is_start_of(word, len, names[i], m))
			start = names[i];
	}
	return found ? found : start;
}

/* One word from *s on, without its ending NUL. False: an unfinished quote or escape. */
static bool split_word(const char **s, struct rv_buf *to)
{
	const char *p = *s;
	char quote = 0;

	for (; *p && (quote || !strchr(" \t\n\r", *p)); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"') {
			quote = quote ? 0 : *p;
			continue;
		}
		/* Inside "" a backslash is special only before what it can protect there. */
		if (*p == '\\' && (!quote || (quote == '"' && p[1] && strchr("\"\\$`\n", p[1])))) {
			if (!*++p)
				return false;
			if (*p == '\n')
				continue;
		}
		rv_buf_add(to, p, 1);
	}
	*s = p;
	return !quote;
}

bool rv_text_split(const char *s, struct rv_buf *to, size_t *count)
{
	for (*count = 0;; ++*count) {
		s += strspn(s, " \t\n\r");
		if (!*s)
			return true;
		if (!split_word(&s, to))
			return false;
		rv_buf_add(to, "", 1);
	}
}
