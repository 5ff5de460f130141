/* Reading by tables: see schema.h. */
#include "conf/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

bool rv_conf_is_name(const char *s)
{
	size_t n = strlen(s);

	return n && n <= 100 && *s != '-' && *s != '.' &&
		strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@-") ==
		n;
}

/* --- messages --------------------------------------------------------------------------------- */

void rv_read_enter(struct rv_read *r, const char *key)
{
	if (r->depth < sizeof(r->path) / sizeof(r->path[0]))
		r->path[r->depth] = key;
	r->depth++;
}

void rv_read_leave(struct rv_read *r)
{
	r->depth--;
}

/* "restart.delay of service 'x'", "reeve.max-starts". */
static const char *subject(const struct rv_read *r, char *to, size_t size)
{
	size_t used = 0;

	*to = 0;
	for (unsigned i = 0; i < r->depth && i < sizeof(r->path) / sizeof(r->path[0]); i++) {
		snprintf(to + used, size - used, "%s%s", i ? "." : "", r->path[i]);
		used = strlen(to);
	}
	if (r->service)
		snprintf(to + used, size - used, "%sservice '%s'", used ? " of " : "", r->service);
	return to;
}

static const char *describe(const struct rv_tree *v, char *to, size_t size)
{
	if (v->kind == RV_TREE_LIST)
		return "a list";
	if (v->kind == RV_TREE_MAP)
		return "a map";
	if (v->style == RV_TREE_PLAIN && !*v->text)
		return "nothing";
	snprintf(to, size, v->style == RV_TREE_PLAIN ? "%.60s" : "\"%.60s\"", v->text);
	return to;
}

void rv_read_refuse(struct rv_read *r, const struct rv_tree *v, const char *expected)
{
	char who[300], what[80];

	rv_complain(r->c, v->at, "%s must be %s, not %s", subject(r, who, sizeof(who)), expected,
		describe(v, what, sizeof(what)));
}

void rv_read_complain(struct rv_read *r, struct rv_place at, const char *format, ...)
{
	char who[300], text[600];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	rv_complain(r->c, at, "%s %s", subject(r, who, sizeof(who)), text);
}

const char *rv_read_hint(
	const char *word, const char *const *names, size_t n, char *to, size_t size)
{
	const char *near = rv_text_nearest(word, names, n);

	*to = 0;
	if (near && strcmp(near, word) != 0)
		snprintf(to, size, " (did you mean '%s'?)", near);
	return to;
}

const char *rv_read_copy(struct rv_read *r, const char *s)
{
	const char *p = rv_arena_strdup(r->arena, s);

	return p ? p : "";
}

/* --- maps ------------------------------------------------------------------------------------- */

enum { ROWS = 64 };

static void unknown_key(struct rv_read *r, const struct rv_table *table, const struct rv_pair *p)
{
	const char *names[ROWS];
	char hint[200], who[300];
	const struct rv_tree *services;

	for (size_t i = 0; i < table->count; i++)
		names[i] = table->rows[i].name;
	subject(r, who, sizeof(who));
	rv_read_hint(p->key, names, table->count, hint, sizeof(hint));
	services = rv_tree_get(r->draft->root, "services");
	/* Blanks are easily lost: then a service stands beside `services`, which has nothing in it. */
	if (table == &rv_top_table && !*hint && p->value->kind == RV_TREE_MAP &&
		(!services || rv_tree_is_null(services)))
		snprintf(hint, sizeof(hint),
			" (if this is a service, indent it: it belongs below 'services:')");
	rv_complain(r->c, p->at, "unknown key '%s'%s%s%s", p->key, *who ? " in " : "", who, hint);
}

static size_t find_row(const struct rv_table *table, const char *key)
{
	size_t i = 0;

	while (i < table->count &&
		(table->rows[i].name[0] != key[0] || strcmp(table->rows[i].name, key) != 0))
		i++;
	return i;
}

static void read_row(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	rv_read_enter(r, row->name);
	row->read(r, row, v, (char *)to + row->at);
	rv_read_leave(r);
}

bool rv_read_table(
	struct rv_read *r, const struct rv_table *table, const struct rv_tree *map, void *to)
{
	const struct rv_tree *late_values[ROWS];
	const struct rv_row *late[ROWS];
	size_t n = 0;

	if (map->kind != RV_TREE_MAP) {
		rv_read_refuse(r, map, "a map");
		return false;
	}
	for (uint32_t i = 0; i < map->count; i++) {
		const struct rv_pair *p = &map->pairs[i];
		size_t at = find_row(table, p->key);

		if (at == table->count) {
			unknown_key(r, table, p);
		} else if (table->rows[at].early) {
			read_row(r, &table->rows[at], p->value, to);
		} else {
			late[n] = &table->rows[at];
			late_values[n++] = p->value;
		}
	}
	for (size_t i = 0; i < n; i++)
		read_row(r, late[i], late_values[i], to);
	return true;
}

/* Tables are ours: they nest a few levels, whatever a user writes. */
static void list_table(const struct rv_table *table, const char *above, struct rv_buf *to)
{
	char path[200];

	for (size_t i = 0; i < table->count; i++) {
		const struct rv_row *row = &table->rows[i];

		snprintf(path, sizeof(path), "%s%s", above, row->name);
		rv_buf_fmt(to, "%s\n", path);
		if (!row->sub)
			continue;
		/* Keys of a service stand alone: its name is the user's. */
		snprintf(path, sizeof(path), "%s%s.", above, row->name);
		list_table(row->sub, row->sub == &rv_service_table ? "" : path, to);
	}
}

void rv_schema_list(struct rv_buf *to)
{
	list_table(&rv_top_table, "", to);
}

/* --- readers ---------------------------------------------------------------------------------- */

void rv_read_map(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	rv_read_table(r, row->sub, v, to);
}

void rv_read_tree(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)r;
	(void)row;
	*(const struct rv_tree **)to = v;
}

const char *rv_read_scalar(struct rv_read *r, const struct rv_tree *v, const char *expected)
{
	if (v->kind == RV_TREE_SCALAR)
		return v->text;
	rv_read_refuse(r, v, expected);
	return NULL;
}

void rv_read_word(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	const char *const *words = row->more;
	char all[200] = "";
	size_t n = 0, used = 0;

	for (; words[n]; n++) {
		if (v->kind == RV_TREE_SCALAR && !strcmp(words[n], v->text)) {
			*(uint8_t *)to = (uint8_t)n;
			return;
		}
	}
	for (size_t i = 0; i < n; i++) {
		snprintf(all + used, sizeof(all) - used, "%s%s",
			!i		     ? ""
				: i + 1 == n ? " or "
					     : ", ",
			words[i]);
		used = strlen(all);
	}
	rv_read_refuse(r, v, all);
}

void rv_read_bool(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	if (v->kind != RV_TREE_SCALAR || v->style != RV_TREE_PLAIN || !rv_text_bool(v->text, to))
		rv_read_refuse(r, v, "true or false (without quotes)");
}

bool rv_read_integer(const struct rv_tree *v, int64_t *n)
{
	const char *s = v->text;
	unsigned base = 0;
	size_t len;

	if (v->kind != RV_TREE_SCALAR || v->style != RV_TREE_PLAIN)
		return false;
	if (s[0] != '0' || (s[1] != 'x' && s[1] != 'o'))
		return rv_text_int(s, n);
	base = s[1] == 'x' ? 16 : 8;
	s += 2;
	len = strlen(s);
	if (!len || len > 15 ||
		strspn(s, base == 16 ? "0123456789abcdefABCDEF" : "01234567") != len)
		return false;
	for (*n = 0; *s; s++)
		*n = *n * base + (*s <= '9' ? *s - '0' : (*s | 32) - 'a' + 10);
	return true;
}

void rv_read_uint(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	char expected[100];
	int64_t n;

	if (rv_read_integer(v, &n) && n >= row->min && n <= row->max) {
		*(uint32_t *)to = (uint32_t)n;
		return;
	}
	snprintf(expected, sizeof(expected), "a number from %lld to %lld (without quotes)",
		(long long)row->min, (long long)row->max);
	rv_read_refuse(r, v, expected);
}

/* Digits with up to three behind a point. */
static bool thousandths(const char *s, int64_t *v)
{
	int64_t part = 0, unit = 100;
	size_t n = strspn(s, "0123456789");

	if (!n || n > 9)
		return false;
	for (*v = 0; n--; s++)
		*v = *v * 10 + (*s - '0');
	if (*s == '.') {
		if (!*++s)
			return false;
		for (; *s >= '0' && *s <= '9'; s++, unit /= 10) {
			if (!unit && *s != '0')
				return false;
			part += unit * (*s - '0');
		}
	}
	*v = *v * 1000 + part;
	return !*s;
}

void rv_read_factor(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	char expected[100];
	int64_t n;

	if (v->kind == RV_TREE_SCALAR && v->style == RV_TREE_PLAIN && thousandths(v->text, &n) &&
		n >= row->min && n <= row->max) {
		*(uint32_t *)to = (uint32_t)n;
		return;
	}
	snprintf(expected, sizeof(expected),
		"a number from %lld to %lld, at most three digits "
		"behind the point",
		(long long)row->min / 1000, (long long)row->max / 1000);
	rv_read_refuse(r, v, expected);
}

void rv_read_duration(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	char expected[100], bound[40];
	rv_time t;

	if (v->kind != RV_TREE_SCALAR || !rv_text_duration(v->text, &t)) {
		rv_read_refuse(r, v, "a duration with its unit, such as 250ms, 5s or 2m");
		return;
	}
	if (t >= row->min && (!row->max || t <= row->max)) {
		*(rv_time *)to = t;
		return;
	}
	snprintf(expected, sizeof(expected), "%s %s", t < row->min ? "at least" : "at most",
		rv_text_dur(t < row->min ? row->min : row->max, bound, sizeof(bound)));
	rv_read_refuse(r, v, expected);
}

void rv_read_size(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	if (v->kind != RV_TREE_SCALAR || !rv_text_size(v->text, to))
		rv_read_refuse(r, v, "a size such as 64KiB, 10MiB or a number of bytes");
}

void rv_read_string(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	if (v->kind == RV_TREE_SCALAR && *v->text)
		*(const char **)to = rv_read_copy(r, v->text);
	else
		rv_read_refuse(r, v, "a word");
}

void rv_read_path(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	const char *s;

	(void)row;
	if (v->kind != RV_TREE_SCALAR) {
		rv_read_refuse(r, v, "a path");
		return;
	}
	s = rv_read_expand(r, v, v->text);
	if (!s)
		return;
	if (*s == '/')
		*(const char **)to = s;
	else
		rv_read_refuse(r, v, "an absolute path");
}

void rv_read_names(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	const char **list;

	(void)row;
	if (v->kind != RV_TREE_LIST) {
		rv_read_refuse(r, v, "a list of names");
		return;
	}
	list = rv_arena_array(r->arena, (size_t)v->count + 1, sizeof(*list));
	if (!list)
		return;
	for (uint32_t i = 0; i < v->count; i++) {
		list[i] = "";
		rv_read_string(r, row, v->items[i], &list[i]);
	}
	*(const char *const **)to = list;
}

static const char *const *split_argv(struct rv_read *r, const struct rv_tree *v)
{
	struct rv_buf words = {0};
	const char **argv = NULL, *p;
	bool good = true;
	size_t n = 0;

	if (!rv_text_split(v->text, &words, &n)) {
		rv_read_complain(r, v->at, "has a quote without its end");
	} else if (!n) {
		rv_read_refuse(r, v, "a command");
	} else if (words.full) {
		r->arena->full = true;
	} else {
		argv = rv_arena_array(r->arena, n + 1, sizeof(*argv));
		p = rv_buf_text(&words);
		for (size_t i = 0; argv && i < n; i++, p += strlen(p) + 1) {
			argv[i] = rv_read_expand(r, v, p);
			good = good && argv[i];
		}
	}
	rv_buf_fini(&words);
	return good ? argv : NULL;
}

const char *const *rv_read_argv(struct rv_read *r, const struct rv_tree *v)
{
	const char **argv;
	bool good = true;

	if (v->kind == RV_TREE_SCALAR)
		return split_argv(r, v);
	if (v->kind != RV_TREE_LIST || !v->count) {
		rv_read_refuse(r, v, "a command: a list of arguments, or one string");
		return NULL;
	}
	argv = rv_arena_array(r->arena, (size_t)v->count + 1, sizeof(*argv));
	for (uint32_t i = 0; argv && i < v->count; i++) {
		const char *s = rv_read_scalar(r, v->items[i], "a list of strings");

		argv[i] = s ? rv_read_expand(r, v->items[i], s) : NULL;
		good = good && argv[i];
	}
	if (argv && good && !*argv[0])
		rv_read_complain(r, v->items[0]->at, "begins with an empty word");
	return good ? argv : NULL;
}
