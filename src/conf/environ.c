/* Environments: maps, files, and what is inherited. Values are never shown in a message. */
#include "conf/whole.h"

#include <string.h>

static const char *assign(struct rv_read *r, const char *name, const char *value)
{
	const char *p = rv_arena_fmt(r->arena, "%s=%s", name, value);

	return p ? p : "";
}

static bool is_variable_name(const char *s)
{
	return *s && !strchr(s, '=');
}

const char *const *rv_environ_read_map(struct rv_read *r, const struct rv_tree *v)
{
	const char **list;
	size_t n = 0;

	if (v->kind != RV_TREE_MAP) {
		rv_read_complain(r, v->at, "must be a map of names and values");
		return NULL;
	}
	list = rv_arena_array(r->arena, (size_t)v->count + 1, sizeof(*list));
	for (uint32_t i = 0; list && i < v->count; i++) {
		const struct rv_pair *p = &v->pairs[i];
		const char *value;

		rv_read_enter(r, p->key);
		if (!is_variable_name(p->key)) {
			rv_read_complain(r, p->at, "is no name for a variable");
		} else if (p->value->kind != RV_TREE_SCALAR) {
			rv_read_complain(r, p->value->at, "must be a string, not a %s",
				p->value->kind == RV_TREE_LIST ? "list" : "map");
		} else {
			value = rv_read_expand(r, p->value, p->value->text);
			if (value)
				list[n++] = assign(r, p->key, value);
		}
		rv_read_leave(r);
	}
	return list;
}

/* --- environment-file ------------------------------------------------------------------------- */

enum { FILE_MAX = 1 << 20 };

/* The value in place: quotes taken off, blanks at both ends removed. False: a quote is open. */
static bool unquote(char *s)
{
	char quote = *s == '"' || *s == '\'' ? *s : 0, *to = s;
	size_t n;

	if (!quote) {
		n = strlen(s);
		while (n && strchr(" \t\r", s[n - 1]))
			n--;
		s[n] = 0;
		return true;
	}
	for (s++; *s && *s != quote; s++) {
		if (quote == '"' && *s == '\\' && s[1] && strchr("\"\\$`", s[1]))
			s++;
		*to++ = *s;
	}
	if (*s != quote || s[1 + strspn(s + 1, " \t\r")])
		return false;
	*to = 0;
	return true;
}

/* One line -> one entry; NULL: nothing in it, or refused with *text. */
static const char *read_line(struct rv_read *r, char *line, const char **text)
{
	char *equals;
	size_t n;

	line += strspn(line, " \t\r");
	if (!*line || *line == '#')
		return NULL;
	if (!strncmp(line, "export ", 7))
		line += 7 + strspn(line + 7, " \t");
	equals = strchr(line, '=');
	n = equals ? (size_t)(equals - line) : 0;
	if (!n || strcspn(line, " \t\"'") < n) {
		*text = "expected NAME=VALUE";
		return NULL;
	}
	*equals = 0;
	equals += 1 + strspn(equals + 1, " \t");
	if (!unquote(equals)) {
		*text = "a quote has no end, or something stands behind it";
		return NULL;
	}
	return assign(r, line, equals);
}

static const char *const *read_file(struct rv_read *r, const char *path, struct rv_place at)
{
	struct rv_buf bytes = {0};
	const char **list = NULL;
	size_t lines = 1, n = 0;
	struct rv_unread why;
	char *line, *end;

	if (!rv_conf_bytes(path, FILE_MAX, &bytes, &why)) {
		rv_read_complain(r, at, "cannot be read: %s: %s", path, why.text);
		goto out;
	}
	for (size_t i = 0; i < bytes.len; i++)
		lines += bytes.data[i] == '\n';
	if (memchr(rv_buf_text(&bytes), 0, bytes.len)) {
		rv_read_complain(r, at, "cannot be read: %s has a NUL byte", path);
		goto out;
	}
	list = rv_arena_array(r->arena, lines + 1, sizeof(*list));
	/* editors of other systems put a byte order mark in front: it is part of no name */
	line = bytes.len >= 3 && !memcmp(bytes.data, "\xef\xbb\xbf", 3) ? bytes.data + 3
									: bytes.data;
	for (uint32_t number = 1; list && line; number++, line = end) {
		const char *text = NULL, *entry;

		end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		entry = read_line(r, line, &text);
		if (entry)
			list[n++] = entry;
		if (text)
			rv_complain(r->c, (struct rv_place){path, number, 1}, "%s", text);
	}
out:
	rv_buf_fini(&bytes);
	return list;
}

void rv_environ_file(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	const char *path = NULL;

	rv_read_path(r, row, v, &path);
	if (path)
		*(const char *const **)to = read_file(r, path, v->at);
}

/* --- what a service gets ---------------------------------------------------------------------- */

/* What is told to reeve itself is not passed on. */
static bool is_private(const char *entry)
{
	return !strncmp(entry, "REEVE_", 6) || !strncmp(entry, "LISTEN_", 7) ||
		!strncmp(entry, "NOTIFY_SOCKET=", 14);
}

const char *const *rv_environ_inheritable(struct rv_arena *a, const char *const *ours)
{
	const char **list;
	size_t n = 0, kept = 0;

	while (ours && ours[n])
		n++;
	list = rv_arena_array(a, n + 1, sizeof(*list));
	for (size_t i = 0; list && i < n; i++)
		if (!is_private(ours[i]) && strchr(ours[i], '='))
			list[kept++] = rv_arena_strdup(a, ours[i]);
	return list;
}

/* By strength: what is replaced goes, and what replaces it stands at the end. */
struct layers {
	const char **list;
	size_t count;
	size_t inherited, weak, recipe; /* ends of the parts that rv_service tells apart */
};

static size_t name_length(const char *entry)
{
	return strcspn(entry, "=");
}

static void take_out(struct layers *l, const char *entry)
{
	size_t n = name_length(entry), i = 0;

	while (i < l->count &&
		(l->list[i][0] != entry[0] || strncmp(l->list[i], entry, n + 1) != 0))
		i++;
	if (i == l->count)
		return;
	memmove(l->list + i, l->list + i + 1, (l->count - i - 1) * sizeof(*l->list));
	l->count--;
	l->inherited -= i < l->inherited;
	l->weak -= i < l->weak;
	l->recipe -= i < l->recipe;
}

/* Adds what is stronger; twice in one layer (a file may do that): the later counts. */
static void lay(struct layers *l, const char *const *more)
{
	for (; more && *more; more++) {
		take_out(l, *more);
		l->list[l->count++] = *more;
	}
}

static bool is_listed(const char *entry, const char *const *names)
{
	size_t n = name_length(entry);

	for (; *names; names++)
		if (strlen(*names) == n && !memcmp(*names, entry, n))
			return true;
	return false;
}

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

const char *const *rv_environ_join(
	struct rv_arena *a, const char *const *weak, const char *const *strong)
{
	struct layers l = {0};

	if (!weak || !strong)
		return weak ? weak : strong;
	l.list = rv_arena_array(a, count(weak) + count(strong) + 1, sizeof(*l.list));
	if (!l.list)
		return strong;
	lay(&l, weak);
	lay(&l, strong);
	return l.list;
}

void rv_environ_lay(const struct rv_whole *w, const struct rv_detail *d, const char *const *recipe,
	struct rv_arena *a, struct rv_service *to)
{
	const char *const *sandbox = w->conf.environment;
	size_t inherited = count(w->inherited),
	       most = inherited + count(sandbox) + count(recipe) + count(d->file_env) +
		count(d->own_env);
	struct layers l = {.list = rv_arena_array(a, most + 1, sizeof(*l.list))};

	if (!l.list)
		return;
	if (d->inherit == RV_INHERIT_ALL && inherited) {
		memcpy(l.list, w->inherited, inherited * sizeof(*l.list));
		l.count = inherited;
	}
	for (size_t i = 0; d->inherit == RV_INHERIT_NAMES && i < inherited; i++)
		if (is_listed(w->inherited[i], d->inherit_names))
			l.list[l.count++] = w->inherited[i];
	l.inherited = l.weak = l.count;
	lay(&l, sandbox);
	l.weak = l.count;
	lay(&l, recipe);
	l.recipe = l.count;
	lay(&l, d->file_env);
	lay(&l, d->own_env);
	to->env = l.list;
	to->env_inherited = l.inherited;
	to->env_weak = l.weak;
	to->env_recipe = l.recipe;
}

void rv_environ_effective(struct rv_whole *w, struct rv_detail *d, const char *const *recipe)
{
	rv_environ_lay(w, d, recipe, &w->conf.arena, &d->s);
}
