/* What must not be shown, wherever in the effective configuration it turns up. See conf.h. */
#include "conf/whole.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VALUE_LEAST = 4 }; /* bytes */

struct hidden {
	const char *text; /* never empty */
	size_t len;
};

/* By first byte, and of one first byte the longer before the shorter: so the first that fits is the longest. */
struct rv_mask {
	struct rv_arena arena; /* of what is not the conf's */
	size_t count;
	size_t first[257]; /* of a first byte: where its secrets begin in the list */
	struct hidden list[];
};

void rv_secret_note(struct rv_read *r, const char *name, size_t n, const char *value)
{
	static const char *const words[] = {"TOKEN", "SECRET", "PASS", "KEY", "CREDENTIAL", "AUTH"};
	struct rv_secret *s;
	bool speaks = false;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (size_t at = 0; at + strlen(words[i]) <= n; at++)
			speaks |= !strncasecmp(name + at, words[i], strlen(words[i]));
	if (!speaks || !*value)
		return;
	s = rv_arena_alloc(r->arena, sizeof(*s));
	if (!s)
		return;
	*s = (struct rv_secret){.next = r->secrets, .text = rv_read_copy(r, value)};
	r->secrets = s;
}

static int by_first_and_length(const void *a, const void *b)
{
	const struct hidden *x = a, *y = b;
	unsigned char x0 = (unsigned char)*x->text, y0 = (unsigned char)*y->text;

	if (x0 != y0)
		return x0 < y0 ? -1 : 1;
	if (x->len != y->len)
		return x->len > y->len ? -1 : 1;
	return memcmp(x->text, y->text, x->len);
}

/* As it stands inside an option of type JSON, without the quotes around it. */
static struct hidden in_json(struct rv_arena *a, const char *text)
{
	struct rv_buf b = {0};
	struct hidden h = {NULL, 0};

	rv_options_json(&b, text);
	if (!b.full && b.len > 2)
		h = (struct hidden){rv_arena_strndup(a, b.data + 1, b.len - 2), b.len - 2};
	rv_buf_fini(&b);
	return h;
}

/* "{}" and its like hide nothing, and turn up everywhere. */
static bool is_hidden(const struct rv_option *o)
{
	size_t least = o->key->type == RV_KEY_SECRET_JSON ? 3 : 1;

	return rv_key_is_secret(o->key->type) && o->value && o->value_len >= least;
}

/* NULL to: only counts. */
static size_t collect(const struct rv_whole *w, struct hidden *to)
{
	size_t n = 0;

	for (size_t i = 0; i < w->conf.service_count; i++) {
		const struct rv_service *s = &w->conf.services[i];

		for (size_t k = 0; k < s->option_count; k++) {
			const struct rv_option *o = &s->options[k];

			if (!is_hidden(o))
				continue;
			if (to)
				to[n] = (struct hidden){o->value, o->value_len};
			n++;
		}
	}
	for (const struct rv_secret *s = w->secrets; s; s = s->next, n++)
		if (to)
			to[n] = (struct hidden){s->text, strlen(s->text)};
	return n;
}

/* The first n are collected; the rest of the list has room for as many. False: memory was refused. */
static bool complete(struct rv_mask *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		m->list[n + i] = in_json(&m->arena, m->list[i].text);
		if (!m->list[n + i].text)
			return false;
	}
	n *= 2;
	if (n)
		qsort(m->list, n, sizeof(m->list[0]), by_first_and_length);
	for (size_t i = 0; i < n; i++)
		if (!i || by_first_and_length(&m->list[i], &m->list[m->count - 1]) != 0)
			m->list[m->count++] = m->list[i];
	for (size_t c = 0, i = 0; c < 257; c++) {
		while (i < m->count && (unsigned char)*m->list[i].text < c)
			i++;
		m->first[c] = i;
	}
	return true;
}

static struct rv_mask *make(size_t room)
{
	return calloc(1, sizeof(struct rv_mask) + 2 * room * sizeof(struct hidden));
}

static struct rv_mask *finish(struct rv_mask *m, size_t n)
{
	if (complete(m, n))
		return m;
	rv_mask_destroy(m);
	return NULL;
}

struct rv_mask *rv_mask_create(const struct rv_conf *conf)
{
	const struct rv_whole *w = (const struct rv_whole *)conf;
	size_t n = collect(w, NULL);
	struct rv_mask *m = make(n);

	if (!m)
		return NULL;
	collect(w, m->list);
	return finish(m, n);
}

bool rv_mask_settle(struct rv_whole *w)
{
	rv_mask_destroy(w->conf.mask);
	w->conf.mask = collect(w, NULL) ? rv_mask_create(&w->conf) : NULL;
	return w->conf.mask || !collect(w, NULL);
}

struct rv_mask *rv_variant_mask(const struct rv_variant *v)
{
	struct rv_mask *m = make(v->s.option_count);
	size_t n = 0;

	for (size_t i = 0; m && i < v->s.option_count; i++) {
		const struct rv_option *o = &v->s.options[i];

		if (is_hidden(o))
			m->list[n++] = (struct hidden){o->value, o->value_len};
	}
	return m ? finish(m, n) : NULL;
}

struct rv_mask *rv_mask_values(const char *const *list)
{
	struct rv_mask *m;
	size_t n = 0;

	while (list[n])
		n++;
	m = make(n);
	n = 0;
	for (; m && *list; list++) {
		const char *value = strchr(*list, '=');

		if (value && strlen(value + 1) >= VALUE_LEAST)
			m->list[n++] = (struct hidden){value + 1, strlen(value + 1)};
	}
	return m ? finish(m, n) : NULL;
}

void rv_mask_destroy(struct rv_mask *m)
{
	if (m)
		rv_arena_wipe(&m->arena);
	free(m);
}

/* Bytes of the secret that text begins with; 0: none. */
static size_t secret_at(const struct rv_mask *m, const char *text)
{
	unsigned char c = (unsigned char)*text;

	for (size_t i = m->first[c]; i < m->first[c + 1]; i++)
		if (!strncmp(text, m->list[i].text, m->list[i].len))
			return m->list[i].len;
	return 0;
}

void rv_mask_add(const struct rv_mask *m, const char *text, struct rv_buf *to)
{
	while (*text) {
		size_t hidden = secret_at(m, text);

		rv_buf_add(to, hidden ? "***" : text, hidden ? 3 : 1);
		text += hidden ? hidden : 1;
	}
}
