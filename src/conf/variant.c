/* A service with options of its own for one request to start it: see conf.h. */
#include "conf/whole.h"

#include <string.h>

static void unknown(
	struct rv_read *r, const struct rv_plugin_table *t, const char *plugin, const char *key)
{
	const char **names = rv_arena_array(r->arena, t->key_count, sizeof(*names));
	char hint[200];

	for (size_t i = 0; names && i < t->key_count; i++)
		names[i] = t->keys[i].name;
	rv_complain(r->c, (struct rv_place){.file = ""}, "plugin %s has no option '%s'%s", plugin,
		key, rv_read_hint(key, names, names ? t->key_count : 0, hint, sizeof(hint)));
}

/* The log is open for all lives, so its option is the one that cannot differ in one of them. */
static void give(struct rv_read *r, struct rv_option *options, size_t n, const struct rv_service *s,
	const struct rv_word *word)
{
	size_t i = 0;

	while (i < n && strcmp(options[i].key->name, word->key) != 0)
		i++;
	if (i == n)
		unknown(r, s->table, s->plugin, word->key);
	else if (!strcmp(word->key, "log-file"))
		rv_complain(r->c, (struct rv_place){.file = ""},
			"option log-file cannot be given to one start: the log stays open over all "
			"of "
			"them");
	else if (options[i].from == RV_FROM_START)
		rv_complain(
			r->c, (struct rv_place){.file = ""}, "option %s is given twice", word->key);
	else
		rv_options_given(r, &options[i], word->value);
}

/* Without what the recipe of the configuration added. */
static void take_back_recipe(
	struct rv_variant *v, const struct rv_whole *w, const struct rv_detail *d)
{
	uint16_t *ports = rv_arena_array(&v->arena, d->claim_count, sizeof(*ports));

	for (size_t i = 0; ports && i < d->claim_count; i++)
		if (!d->claims[i].recipe)
			ports[v->port_count++] = d->claims[i].port;
	v->typed = d->type_given;
	v->ports = v->s.ports = ports;
	v->s.port_count = v->port_count;
	v->s.argv = d->s.command;
	v->s.argv_is_static = false;
	rv_environ_lay(w, d, NULL, &v->arena, &v->s);
	v->env = v->s.env;
}

static void keep_names(struct rv_variant *v, const struct rv_word *words, size_t count)
{
	const char **names = rv_arena_array(&v->arena, count, sizeof(*names));

	for (size_t i = 0; names && i < count; i++)
		names[i] = rv_arena_strdup(&v->arena, words[i].key);
	v->given = names;
	v->given_count = count;
}

bool rv_variant_init(struct rv_variant *v, const struct rv_conf *conf, rv_id id,
	const struct rv_word *words, size_t count, struct rv_complaints *c)
{
	const struct rv_whole *w = (const struct rv_whole *)conf;
	const struct rv_service *s = &conf->services[id];
	struct rv_read r = {.arena = &v->arena,
		.c = c,
		.service = s->name,
		.path = {"options"},
		.depth = 1,
		.ready_fd = -1};
	size_t errors = c->errors;
	struct rv_option *options;

	*v = (struct rv_variant){.s = *s};
	options = rv_arena_array(&v->arena, s->option_count, sizeof(*options));
	if (options && s->option_count)
		memcpy(options, s->options, s->option_count * sizeof(*options));
	for (size_t i = 0; options && i < count; i++)
		give(&r, options, s->option_count, s, &words[i]);
	v->s.options = options;
	take_back_recipe(v, w, &w->details[w->detail_of[id]]);
	keep_names(v, words, count);
	if (v->arena.full)
		rv_complain(c, (struct rv_place){.file = ""}, "out of memory");
	if (c->errors == errors)
		return true;
	rv_variant_fini(v);
	return false;
}

/* A value is copied as it was read: the text of a list has NULs in it. */
static bool take_again(struct rv_variant *to, struct rv_option *options, const struct rv_option *o)
{
	for (size_t i = 0; i < to->s.option_count; i++) {
		if (strcmp(options[i].key->name, o->key->name) != 0 ||
			options[i].key->type != o->key->type)
			continue;
		options[i].value = rv_arena_strndup(&to->arena, o->value, o->value_len);
		options[i].value_len = o->value_len;
		options[i].from = RV_FROM_START;
		return true;
	}
	return false;
}

bool rv_variant_again(
	struct rv_variant *to, const struct rv_variant *from, const struct rv_conf *conf)
{
	const struct rv_whole *w = (const struct rv_whole *)conf;
	const struct rv_service *s = &conf->services[from->s.id];
	struct rv_option *options;
	bool fine = true;
	const char **names;

	*to = (struct rv_variant){.s = *s};
	options = rv_arena_array(&to->arena, s->option_count, sizeof(*options));
	names = rv_arena_array(&to->arena, from->given_count, sizeof(*names));
	if (options && s->option_count)
		memcpy(options, s->options, s->option_count * sizeof(*options));
	for (size_t i = 0; options && i < from->s.option_count; i++)
		if (from->s.options[i].from == RV_FROM_START)
			fine = take_again(to, options, &from->s.options[i]) && fine;
	for (size_t i = 0; names && i < from->given_count; i++)
		names[i] = rv_arena_strdup(&to->arena, from->given[i]);
	to->given = names;
	to->given_count = from->given_count;
	to->s.options = options;
	take_back_recipe(to, w, &w->details[w->detail_of[s->id]]);
	if (fine && !to->arena.full)
		return true;
	rv_variant_fini(to);
	return false;
}

void rv_variant_fini(struct rv_variant *v)
{
	rv_arena_wipe(&v->arena);
	*v = (struct rv_variant){0};
}
