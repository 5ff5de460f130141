/* The plugin's own keys: checked by its table. YAML beats the environment variable of the key, which
 * beats the default. */
#include "conf/whole.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* A value to be checked: its text, and where it comes from. */
struct value {
	const struct rv_key *key;
	const struct rv_tree *tree; /* NULL: not from a file */
	const char *text;
	struct rv_place at;
	enum rv_from from;
};

/* Says what is expected; the value itself is shown only if it is no secret and stands in a file. */
static void refuse(struct rv_read *r, const struct value *v, const char *expected)
{
	if (v->tree && !rv_key_is_secret(v->key->type))
		rv_read_refuse(r, v->tree, expected);
	else if (v->tree || v->from == RV_FROM_START)
		rv_read_complain(r, v->at, "must be %s", expected);
	else if (v->from == RV_FROM_PRESET)
		rv_read_complain(
			r, v->at, "must be %s; the default of the plugin is not", expected);
	else
		rv_read_complain(r, v->at, "must be %s; the environment variable %s is not",
			expected, v->key->env);
}

static bool in_range(const struct rv_key *k, int64_t n)
{
	return (!k->min && !k->max) || (n >= k->min && n <= k->max);
}

/* Quotes are a matter of files. */
static const char *unquoted(const struct value *v)
{
	return v->from == RV_FROM_START ? "" : " (without quotes)";
}

static const char *read_number(struct rv_read *r, const struct value *v)
{
	int64_t min = v->key->min, max = v->key->max, n;
	char expected[120];
	bool good;

	if (v->key->type == RV_KEY_PORT && !min && !max) {
		min = 1;
		max = 65535;
	}
	/* In a file a number is written without quotes; a variable or an expansion has none. */
	good = v->tree && v->text == v->tree->text ? rv_read_integer(v->tree, &n)
						   : rv_text_int(v->text, &n);
	if (good && ((!min && !max) || (n >= min && n <= max)))
		return rv_arena_fmt(r->arena, "%lld", (long long)n);
	if (min || max)
		snprintf(expected, sizeof(expected), "a number from %lld to %lld%s", (long long)min,
			(long long)max, unquoted(v));
	else
		snprintf(expected, sizeof(expected), "a number%s", unquoted(v));
	refuse(r, v, expected);
	return NULL;
}

static const char *read_bool(struct rv_read *r, const struct value *v)
{
	bool quoted = v->tree && v->tree->style == RV_TREE_QUOTED && v->text == v->tree->text;
	bool b;

	if (!quoted && rv_text_bool(v->text, &b))
		return b ? "true" : "false";
	refuse(r, v, v->from == RV_FROM_START ? "true or false" : "true or false (without quotes)");
	return NULL;
}

static const char *read_duration(struct rv_read *r, const struct value *v)
{
	char text[40], min[40], max[40], expected[160];
	rv_time t;

	if (rv_text_duration(v->text, &t) && in_range(v->key, t))
		return rv_read_copy(r, rv_text_dur(t, text, sizeof(text)));
	if (v->key->min || v->key->max)
		snprintf(expected, sizeof(expected), "a duration from %s to %s",
			rv_text_dur(v->key->min, min, sizeof(min)),
			rv_text_dur(v->key->max, max, sizeof(max)));
	else
		snprintf(expected, sizeof(expected), "a duration such as 250ms, 5s or 2m");
	refuse(r, v, expected);
	return NULL;
}

static const char *read_size(struct rv_read *r, const struct value *v)
{
	char expected[160];
	uint64_t n;

	if (rv_text_size(v->text, &n) && in_range(v->key, (int64_t)n))
		return rv_arena_fmt(r->arena, "%llu", (unsigned long long)n);
	if (v->key->min || v->key->max)
		snprintf(expected, sizeof(expected), "a size from %lld to %lld bytes",
			(long long)v->key->min, (long long)v->key->max);
	else
		snprintf(expected, sizeof(expected), "a size such as 64KiB or 10MiB");
	refuse(r, v, expected);
	return NULL;
}

/* Gives the words of `b` to the option. */
static void keep_words(struct rv_read *r, struct rv_option *o, struct rv_buf *b)
{
	if (b->full)
		r->arena->full = true;
	o->value = rv_arena_strndup(r->arena, rv_buf_text(b), b->len);
	o->value_len = b->len;
	rv_buf_fini(b);
}

/* Variables of old conventions were split by a shell that did not look at quotes, and still are. */
static void split_at_blanks(const char *s, struct rv_buf *to)
{
	while (*(s += strspn(s, " \t\n"))) {
		size_t n = strcspn(s, " \t\n");

		rv_buf_add(to, s, n);
		rv_buf_add(to, "", 1);
		s += n;
	}
}

static void read_words(struct rv_read *r, struct rv_option *o, const struct value *v)
{
	struct rv_buf b = {0};
	size_t n;

	if (v->tree && v->tree->kind == RV_TREE_LIST) {
		for (uint32_t i = 0; i < v->tree->count; i++) {
			const struct rv_tree *item = v->tree->items[i];
			const char *s = rv_read_scalar(r, item, "a list of strings");

			s = s ? rv_read_expand(r, item, s) : NULL;
			if (s)
				rv_buf_add(&b, s, strlen(s) + 1);
		}
	} else if (o->from == RV_FROM_ENV) {
		assert(v->text);
		split_at_blanks(v->text, &b);
	} else if (!rv_text_split(v->text, &b, &n)) {
		rv_read_complain(r, v->at, "has a quote without its end");
	}
	keep_words(r, o, &b);
}

/* --- JSON ------------------------------------------------------------------------------------- */

void rv_options_json(struct rv_buf *to, const char *s)
{
	rv_buf_str(to, "\"");
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			rv_buf_fmt(to, "\\%c", c);
		else if (c < 0x20)
			rv_buf_fmt(to, "\\u%04x", c);
		else
			rv_buf_add(to, s, 1);
	}
	rv_buf_str(to, "\"");
}

/* A number as JSON writes it: kept byte for byte. All other words are strings. */
static bool is_json_number(const char *s)
{
	size_t n;

	s += *s == '-';
	n = strspn(s, "0123456789");
	if (!n || (n > 1 && *s == '0'))
		return false;
	s += n;
	if (*s == '.') {
		n = strspn(++s, "0123456789");
		if (!n)
			return false;
		s += n;
	}
	if (*s == 'e' || *s == 'E') {
		s++;
		s += *s == '+' || *s == '-';
		n = strspn(s, "0123456789");
		if (!n)
			return false;
		s += n;
	}
	return !*s;
}

static void add_json_scalar(struct rv_read *r, const struct rv_tree *v, struct rv_buf *to)
{
	const char *s = v->text;
	bool b;

	if (v->style == RV_TREE_PLAIN) {
		if (rv_tree_is_null(v)) {
			rv_buf_str(to, "null");
			return;
		}
		if (rv_text_bool(s, &b)) {
			rv_buf_str(to, b ? "true" : "false");
			return;
		}
		if (is_json_number(s)) {
			rv_buf_str(to, s);
			return;
		}
	}
	s = rv_read_expand(r, v, s);
	if (s)
		rv_options_json(to, s);
}

struct json_frame {
	const struct rv_tree *t;
	uint32_t next;
};

/* Lists and maps with a stack of their own: their depth is the user's, but at most RV_TREE_DEPTH. */
static void add_json(struct rv_read *r, const struct rv_tree *root, struct rv_buf *to)
{
	struct json_frame stack[RV_TREE_DEPTH] = {{root, 0}};
	size_t depth = 1;

	while (depth) {
		struct json_frame *f = &stack[depth - 1];
		const struct rv_tree *v;

		if (!f->next)
			rv_buf_str(to, f->t->kind == RV_TREE_MAP ? "{" : "[");
		if (f->next == f->t->count) {
			rv_buf_str(to, f->t->kind == RV_TREE_MAP ? "}" : "]");
			depth--;
			continue;
		}
		if (f->next)
			rv_buf_str(to, ",");
		v = f->t->kind == RV_TREE_MAP ? f->t->pairs[f->next].value : f->t->items[f->next];
		if (f->t->kind == RV_TREE_MAP) {
			rv_options_json(to, f->t->pairs[f->next].key);
			rv_buf_str(to, ":");
		}
		f->next++;
		if (v->kind == RV_TREE_SCALAR)
			add_json_scalar(r, v, to);
		else if (depth < RV_TREE_DEPTH)
			stack[depth++] = (struct json_frame){v, 0};
	}
}

static void read_json(struct rv_read *r, struct rv_option *o, const struct value *v)
{
	struct rv_buf b = {.max = 16 << 20};

	if (v->tree && v->tree->kind != RV_TREE_SCALAR)
		add_json(r, v->tree, &b);
	else
		rv_buf_str(&b, v->text);
	if (b.full)
		rv_read_complain(r, v->at, "is too large");
	o->value = rv_arena_strndup(r->arena, rv_buf_text(&b), b.len);
	o->value_len = b.len;
	rv_buf_fini(&b);
}

/* --- one option ------------------------------------------------------------------------------- */

static const char *read_simple(struct rv_read *r, const struct value *v)
{
	switch (v->key->type) {
	case RV_KEY_INT:
	case RV_KEY_PORT: return read_number(r, v);
	case RV_KEY_BOOL: return read_bool(r, v);
	case RV_KEY_DURATION: return read_duration(r, v);
	case RV_KEY_SIZE: return read_size(r, v);
	case RV_KEY_STRING:
	case RV_KEY_PATH:
	case RV_KEY_SECRET:
	case RV_KEY_WORDS:
	case RV_KEY_JSON:
	case RV_KEY_SECRET_JSON: break;
	}
	return rv_read_copy(r, v->text);
}

static void set(struct rv_read *r, struct rv_option *o, struct value v)
{
	bool structured = v.key->type == RV_KEY_WORDS || rv_key_is_json(v.key->type);

	if (v.tree && v.tree->kind != RV_TREE_SCALAR) {
		if (v.tree->kind == RV_TREE_MAP ? !rv_key_is_json(v.key->type) : !structured) {
			rv_read_complain(r, v.at, "must not be a %s",
				v.tree->kind == RV_TREE_MAP ? "map" : "list");
			return;
		}
	} else if (v.tree) {
		/* Without a reference the very text of the tree is kept: its style tells the type. */
		v.text = v.tree->text;
		if (strstr(v.text, "${"))
			v.text = rv_read_expand(r, v.tree, v.text);
		if (!v.text)
			return;
	}
	if (v.key->type == RV_KEY_WORDS) {
		read_words(r, o, &v);
	} else if (rv_key_is_json(v.key->type)) {
		read_json(r, o, &v);
	} else {
		o->value = read_simple(r, &v);
		o->value_len = o->value ? strlen(o->value) : 0;
	}
}

static const char *variable(const struct rv_read *r, const char *name)
{
	size_t n = strlen(name);

	for (const char *const *e = r->environ; e && *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=' && (*e)[n + 1])
			return *e + n + 1;
	return NULL;
}

static void read_option(struct rv_read *r, struct rv_option *o, const struct rv_detail *d)
{
	struct value v = {.key = o->key, .at = d->s.at};
	const char *from_env = o->key->env ? variable(r, o->key->env) : NULL;

	v.tree = rv_tree_get(d->options, o->key->name);
	if (v.tree) {
		v.at = v.tree->at;
		o->from = RV_FROM_YAML;
	} else if (from_env) {
		v.text = from_env;
		o->from = RV_FROM_ENV;
	} else {
		v.text = o->key->preset;
		o->from = RV_FROM_PRESET;
		if (!v.text)
			return;
	}
	v.from = o->from;
	rv_read_enter(r, o->key->name);
	set(r, o, v);
	rv_read_leave(r);
}

void rv_options_given(struct rv_read *r, struct rv_option *o, const char *text)
{
	struct value v = {.key = o->key, .text = text, .at = {.file = ""}, .from = RV_FROM_START};
	struct rv_option given = {.key = o->key, .from = RV_FROM_START};
	size_t errors = r->c->errors;

	rv_read_enter(r, o->key->name);
	set(r, &given, v);
	rv_read_leave(r);
	if (r->c->errors == errors)
		*o = given;
}

static void check_names(struct rv_read *r, const struct rv_detail *d)
{
	const struct rv_plugin_table *t = d->s.table;
	size_t count = t ? t->key_count : 0;
	const char **names = rv_arena_array(r->arena, count, sizeof(*names));
	char hint[200];

	for (size_t k = 0; names && k < count; k++)
		names[k] = t->keys[k].name;
	for (uint32_t i = 0; names && i < d->options->count; i++) {
		const struct rv_pair *p = &d->options->pairs[i];
		size_t k = 0;

		while (k < count && strcmp(names[k], p->key) != 0)
			k++;
		if (k == count)
			rv_complain(r->c, p->at,
				"unknown option '%s' of plugin %s in service '%s'%s", p->key,
				d->s.plugin, d->s.name,
				rv_read_hint(p->key, names, count, hint, sizeof(hint)));
	}
}

void rv_options_read(struct rv_read *r, struct rv_detail *d)
{
	const struct rv_plugin_table *t = d->s.table;
	struct rv_option *list;

	r->path[0] = "options";
	r->depth = 1;
	if (d->options && d->options->kind != RV_TREE_MAP) {
		rv_read_refuse(r, d->options, "a map");
		return;
	}
	if (!t || t->error)
		return;
	if (d->options)
		check_names(r, d);
	if (!t->key_count)
		return;
	list = rv_arena_array(r->arena, t->key_count, sizeof(*list));
	if (!list)
		return;
	for (size_t i = 0; i < t->key_count; i++) {
		list[i].key = &t->keys[i];
		read_option(r, &list[i], d);
	}
	d->s.options = list;
	d->s.option_count = t->key_count;
}
