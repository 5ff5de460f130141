/* The blocking questions of a load: tables of plugins, recipes of services. See hostlink.h. */
#include "daemon/hostinside.h"

#include <poll.h>
#include <string.h>

#include "sys/clock.h"

#define LIMIT (5 * RV_SEC)

/* Turns until `*missing` is 0 or the host is over. on: takes a message; what it refuses is kept for the
   loop. False: the host died, or the time is over. */
static bool pump(struct rv_hostlink *h, const size_t *missing,
	bool (*on)(void *arg, const struct rv_hp_msg *m), void *arg, rv_time until)
{
	struct rv_buf later = {.max = h->channel.in.max};
	struct rv_hp_msg m;

	while (*missing && !h->channel.ended && rv_now() < until) {
		struct pollfd p = {.fd = h->channel.fd,
			.events = (short)(POLLIN | (h->channel.out.len ? POLLOUT : 0))};

		poll(&p, 1, (int)((until - rv_now()) / RV_MS) + 1);
		if (p.revents & POLLOUT)
			rv_channel_flush(&h->channel);
		if (p.revents & (POLLIN | POLLHUP | POLLERR))
			rv_channel_fill(&h->channel);
		for (bool more = true; more;) {
			struct rv_arena arena = {0};

			more = rv_channel_next(&h->channel, &arena, &m) == RV_HP_OK;
			if (more && !on(arg, &m))
				rv_hp_encode(&m, &later);
			rv_arena_fini(&arena);
		}
	}
	if (later.len && !rv_channel_put_back(&h->channel, &later))
		h->channel.ended = true; /* answers are lost: all is asked again */
	if (later.len && h->loop)
		ev_feed_event(h->loop, &h->in, EV_READ);
	rv_buf_fini(&later);
	return !*missing;
}

/* A host that can be asked; calls that its predecessor had are asked again. */
static bool revive(struct rv_hostlink *h, struct rv_err *e)
{
	if (h->dying)
		rv_link_end(h);
	if (h->channel.pid)
		return true;
	if (!rv_link_start(h, e))
		return false;
	rv_link_ask_again(h);
	return true;
}

/* After pump failed: replaces the host. text: what happened; *id, *what: where (what 0xffff: unknown). */
static bool replace(
	struct rv_hostlink *h, const char *plugin, char *text, size_t size, struct rv_err *e)
{
	uint32_t what = h->channel.page->what;
	rv_exit how;

	h->hung = !h->channel.ended;
	how = rv_link_end(h);
	if (h->hung && plugin)
		snprintf(text, size, "plugin %s did not %s within 5s", plugin,
			what == RV_HOOK_START ? "answer" : "load");
	else if (h->hung)
		snprintf(text, size, "plugin host did not answer within 5s");
	else
		rv_link_death_text(h, plugin, what, how, text, size);
	h->channel.page->since = 0;
	return revive(h, e);
}

struct describing {
	struct rv_hostlink *h;
	struct rv_plugin_table *tables;
	size_t *index; /* of those that were asked for now */
	size_t asked, missing;
	bool fine;
};

static bool on_table(void *arg, const struct rv_hp_msg *m)
{
	struct describing *d = arg;
	struct rv_plugin_table *t;

	if (m->kind != RV_HP_TABLE)
		return false;
	if (m->u.table.index >= d->asked)
		return true;
	t = &d->tables[d->index[m->u.table.index]];
	if (!t->name)
		d->missing--;
	d->fine &= rv_host_table(&m->u.table, &d->h->tables, t);
	return true;
}

static void ask_tables(struct rv_hostlink *h, struct describing *d, const char *dir,
	const char *const *plugins, const char **names)
{
	struct rv_hp_msg m = {.kind = RV_HP_DESCRIBE};

	d->asked = 0;
	for (size_t i = 0; plugins[i]; i++)
		if (!d->tables[i].name) {
			d->index[d->asked] = i;
			names[d->asked++] = plugins[i];
		}
	names[d->asked] = NULL;
	d->missing = d->asked;
	m.u.describe = (struct rv_hp_describe){.dir = dir, .names = names};
	rv_link_post(h, &m);
}

static bool describe(struct rv_hostlink *h, const char *dir, const char *const *plugins,
	struct describing *d, const char **names, struct rv_err *e)
{
	rv_time until = rv_now() + LIMIT;
	char text[200];

	for (;;) {
		const struct rv_hp_page *page = h->channel.page;
		struct rv_plugin_table *t = NULL;

		ask_tables(h, d, dir, plugins, names);
		if (pump(h, &d->missing, on_table, d, until))
			return d->fine || rv_fail(e, RV_ERR_SYSTEM, "out of memory");
		if (page->since && page->what == RV_HP_IN_TABLE && page->id < d->asked)
			t = &d->tables[d->index[page->id]];
		if (!replace(h, t ? names[page->id] : NULL, text, sizeof(text), e))
			return false;
		if (!t || t->name)
			return rv_fail(e, RV_ERR_SYSTEM, "cannot load plugins: %s", text);
		t->name = rv_arena_strdup(&h->tables, plugins[t - d->tables]);
		t->summary = "";
		t->error = rv_arena_fmt(&h->tables, "cannot load plugin %s: %s", t->name, text);
		until = rv_now() + LIMIT;
	}
}

bool rv_hostlink_describe(struct rv_hostlink *h, const char *plugin_dir, const char *const *plugins,
	const struct rv_plugin_table **tables, size_t *count, struct rv_err *e)
{
	struct describing d = {.h = h, .fine = true};
	const char **names;
	size_t n = 0;

	while (plugins[n])
		n++;
	rv_arena_fini(&h->tables);
	d.tables = rv_arena_array(&h->tables, n, sizeof(*d.tables));
	d.index = rv_arena_array(&h->tables, n, sizeof(*d.index));
	names = rv_arena_array(&h->tables, n + 1, sizeof(*names));
	if (!d.tables || !d.index || !names)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot load plugins: out of memory");
	if (n && !revive(h, e))
		return false;
	if (n && !describe(h, plugin_dir, plugins, &d, names, e))
		return false;
	*tables = d.tables;
	*count = n;
	return true;
}

struct rehearsing {
	struct rv_hostlink *h;
	struct rv_recipe *recipes;
	bool *have;
	size_t count, missing;
	uint32_t number;
	bool fine;
};

static bool on_recipe(void *arg, const struct rv_hp_msg *m)
{
	struct rehearsing *r = arg;
	const struct rv_hp_recipe *from = &m->u.recipe;
	struct rv_recipe *to;

	if (m->kind != RV_HP_RECIPE || (from->id & RV_HP_GET_BIT))
		return false;
	if (from->number != r->number || from->id >= r->count || r->have[from->id])
		return true;
	to = &r->recipes[from->id];
	r->fine &= rv_host_recipe(&from->process, &r->h->recipes, to);
	to->fixed = from->fixed;
	if (*from->error)
		to->error = rv_arena_strdup(&r->h->recipes, from->error);
	r->have[from->id] = true;
	r->missing--;
	return true;
}

static bool has_start(const struct rv_service *s)
{
	return s->name && s->table && !s->table->error && (s->table->hooks & RV_HAS(RV_HOOK_START));
}

/* One that no frame can hold is told as the mistake of its service: the others are asked all the same. */
static void ask_recipes(struct rv_hostlink *h, const struct rv_conf *conf, struct rehearsing *r)
{
	r->number = ++h->number;
	r->missing = 0;
	for (size_t i = 0; i < r->count; i++) {
		if (r->have[i] || !has_start(&conf->services[i]))
			continue;
		r->have[i] = !rv_link_post_instance(h, conf, (rv_id)i, r->number, true, false);
		if (r->have[i])
			r->recipes[i].error =
				"command, options and environment together are more "
				"than a plugin can be given (4 MiB), or memory is short";
		else
			r->missing++;
	}
}

static bool rehearse(
	struct rv_hostlink *h, const struct rv_conf *conf, struct rehearsing *r, struct rv_err *e)
{
	rv_time until = rv_now() + LIMIT;
	char text[200];

	for (;;) {
		const struct rv_hp_page *page = h->channel.page;
		uint32_t id;
		bool known;

		ask_recipes(h, conf, r);
		if (pump(h, &r->missing, on_recipe, r, until))
			return r->fine || rv_fail(e, RV_ERR_SYSTEM, "out of memory");
		id = page->id;
		known = page->since && id < r->count && has_start(&conf->services[id]) &&
			!r->have[id];
		if (!replace(h, known ? conf->services[id].plugin : NULL, text, sizeof(text), e))
			return false;
		if (!known)
			return rv_fail(
				e, RV_ERR_SYSTEM, "cannot ask plugins for recipes: %s", text);
		r->have[id] = true;
		r->recipes[id].error = rv_arena_strdup(&h->recipes, text);
		until = rv_now() + LIMIT;
	}
}

bool rv_hostlink_rehearse(struct rv_hostlink *h, const struct rv_conf *conf,
	const struct rv_recipe **recipes, struct rv_err *e)
{
	struct rehearsing r = {.h = h, .count = conf->service_count, .fine = true};
	bool any = false;

	rv_arena_fini(&h->recipes);
	r.recipes = rv_arena_array(&h->recipes, r.count, sizeof(*r.recipes));
	r.have = rv_arena_array(&h->recipes, r.count, sizeof(*r.have));
	if (!r.recipes || !r.have)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot ask plugins for recipes: out of memory");
	for (size_t i = 0; i < r.count; i++)
		any |= has_start(&conf->services[i]);
	if (any && !revive(h, e))
		return false;
	if (any && !rehearse(h, conf, &r, e))
		return false;
	*recipes = r.recipes;
	return true;
}
