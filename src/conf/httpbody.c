/* Which bodies of an answer by HTTP are wanted: the text itself, a regular expression, members of a JSON object. */
#include "conf/whole.h"

#include <stdlib.h>
#include <string.h>

const struct rv_regex *rv_read_regex(struct rv_read *r, const struct rv_tree *v)
{
	const char *s = rv_read_scalar(r, v, "a regular expression");
	const struct rv_regex *x;
	struct rv_err e;

	if (!s)
		return NULL;
	x = rv_regex_compile(r->arena, s, &e);
	if (!x && e.code == RV_ERR_SYSTEM)
		r->arena->full = true;
	else if (!x)
		rv_read_complain(r, v->at, "is no regular expression (POSIX extended): %s", e.text);
	return x;
}

bool rv_read_is_text(struct rv_read *r, const struct rv_tree *v)
{
	if (v->kind == RV_TREE_SCALAR && !rv_tree_is_null(v))
		return true;
	rv_read_refuse(r, v, "a string");
	return false;
}

void rv_read_want_body(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	if (rv_read_is_text(r, v))
		*(const char **)to = rv_read_copy(r, v->text);
}

void rv_read_want_regex(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	if (rv_read_regex(r, v))
		*(const char **)to = rv_read_copy(r, v->text);
}

/* As JSON writes one. */
static bool is_number(const char *s)
{
	char *end;

	if (strspn(s, "0123456789+-.eE") != strlen(s) || (*s != '-' && (*s < '0' || *s > '9')))
		return false;
	strtod(s, &end);
	return !*end && s[strlen(s) - 1] != '.';
}

static enum rv_member_kind kind_of(const struct rv_tree *v)
{
	if (rv_tree_is_null(v))
		return RV_MEMBER_THERE;
	if (v->style != RV_TREE_PLAIN)
		return RV_MEMBER_STRING;
	if (!strcmp(v->text, "true") || !strcmp(v->text, "false"))
		return RV_MEMBER_BOOL;
	return is_number(v->text) ? RV_MEMBER_NUMBER : RV_MEMBER_STRING;
}

/* "/a~1b" of the key a/b. */
static void add_key(struct rv_buf *path, const char *key)
{
	rv_buf_str(path, "/");
	for (; *key; key++) {
		if (*key == '~' || *key == '/')
			rv_buf_str(path, *key == '~' ? "~0" : "~1");
		else
			rv_buf_add(path, key, 1);
	}
}

struct members {
	struct rv_member *at;
	uint32_t count;
};

static void add_member(struct rv_read *r, struct members *m, const struct rv_buf *path,
	const struct rv_tree *v, enum rv_member_kind kind)
{
	if (path->full)
		r->arena->full = true; /* it is not what was written */
	if (m->count == RV_WANT_MEMBERS) {
		rv_read_complain(r, v->at, "has more than %d members", RV_WANT_MEMBERS);
		m->count++;
	}
	if (m->count > RV_WANT_MEMBERS)
		return;
	m->at[m->count++] = (struct rv_member){.path = rv_read_copy(r, rv_buf_text(path)),
		.kind = (uint8_t)kind,
		.value = kind == RV_MEMBER_THERE ? "" : rv_read_copy(r, v->text)};
}

/* {database: {state: up}} -> "/database/state" is "up". */
static void flatten(struct rv_read *r, struct members *m, const struct rv_tree *map)
{
	struct {
		const struct rv_tree *map;
		uint32_t next;
		size_t path;
	} stack[RV_TREE_DEPTH + 1];
	struct rv_buf path = {0};
	size_t depth = 0;

	stack[depth].map = map;
	stack[depth].next = 0;
	stack[depth++].path = 0;
	while (depth) {
		const struct rv_pair *p;

		path.len = stack[depth - 1].path;
		if (stack[depth - 1].next == stack[depth - 1].map->count) {
			depth--;
			continue;
		}
		p = &stack[depth - 1].map->pairs[stack[depth - 1].next++];
		add_key(&path, p->key);
		if (p->value->kind == RV_TREE_MAP && p->value->count && depth <= RV_TREE_DEPTH) {
			stack[depth].map = p->value;
			stack[depth].next = 0;
			stack[depth++].path = path.len;
		} else if (p->value->kind == RV_TREE_SCALAR) {
			add_member(r, m, &path, p->value, kind_of(p->value));
		} else {
			rv_read_refuse(r, p->value,
				"a map of strings, numbers, true, false, null (whatever is there) "
				"and such maps");
		}
	}
	rv_buf_fini(&path);
}

static void list_keys(struct rv_read *r, struct members *m, const struct rv_tree *list)
{
	struct rv_buf path = {0};

	for (uint32_t i = 0; i < list->count; i++) {
		const char *key = rv_read_scalar(r, list->items[i], "a list of keys");

		if (!key)
			continue;
		rv_buf_clear(&path);
		add_key(&path, key);
		add_member(r, m, &path, list->items[i], RV_MEMBER_THERE);
	}
	rv_buf_fini(&path);
}

void rv_read_want_json(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_want *w = to;
	struct members m = {rv_arena_array(r->arena, RV_WANT_MEMBERS, sizeof(*m.at)), 0};

	(void)row;
	if (v->kind == RV_TREE_SCALAR || !v->count) {
		rv_read_refuse(
			r, v, "a map such as {status: ok, version: null}, or a list of keys");
		return;
	}
	if (!m.at)
		return;
	if (v->kind == RV_TREE_MAP)
		flatten(r, &m, v);
	else
		list_keys(r, &m, v);
	w->json = m.at;
	w->json_count = m.count;
}
