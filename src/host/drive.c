/* The driver: messages, and the instances that they are about. See drive.h and inside.h. */
#include "host/drive.h"

#include <stdlib.h>
#include <string.h>

#include "host/inside.h"
#include "host/trust.h"

enum { IDS_MAX = 1 << 20 };

/* ---- instances ---- */

struct rv_instance *rv_drive_find(const struct rv_drive *d, uint32_t id)
{
	return id < d->instance_room ? d->instances[id] : NULL;
}

/* Calls of it have been cancelled or answered by now; one that is left would have nobody to talk to. */
static void forget_instance(struct rv_drive *d, struct rv_instance *i)
{
	struct rv_hostcall *after;

	for (struct rv_hostcall *c = d->calls; c; c = after) {
		after = c->next;
		if (i && c->instance == i)
			rv_hostcall_end(c);
	}
	rv_instance_destroy(i);
}

static bool keep(struct rv_drive *d, struct rv_instance *i)
{
	size_t room = d->instance_room ? d->instance_room : 16;
	struct rv_instance **v;

	if (i->m.id >= IDS_MAX)
		return false;
	while (room <= i->m.id)
		room *= 2;
	if (room > d->instance_room) {
		v = realloc(d->instances, room * sizeof(struct rv_instance *));
		if (!v)
			return false;
		memset(v + d->instance_room, 0, (room - d->instance_room) * sizeof(*v));
		d->instances = v;
		d->instance_room = room;
	}
	forget_instance(d, d->instances[i->m.id]);
	d->instances[i->m.id] = i;
	return true;
}

/* ---- messages ---- */

static bool take_describe(struct rv_drive *d, const struct rv_hp_describe *m)
{
	for (uint32_t i = 0; m->names && m->names[i]; i++) {
		struct rv_hp_msg out = {.kind = RV_HP_TABLE};
		const struct rv_plugin *p;

		rv_turn_enter(d, i, RV_HP_IN_TABLE);
		p = rv_plugin_load(&d->plugins, m->dir, m->names[i]);
		if (p)
			out.u.table = (struct rv_hp_table){.index = i,
				.name = m->names[i],
				.summary = p->d ? p->d->summary : "",
				.error = p->error,
				.hooks = p->d ? p->hooks : 0,
				.keys = p->keys,
				.key_count = p->d ? p->key_count : 0};
		if (p)
			d->send(d->arg, &out);
		rv_turn_leave(d);
		if (!p)
			return false;
	}
	return true;
}

/* The rehearsal of start: one turn, no I/O. */
static void rehearse(struct rv_drive *d, struct rv_instance *i)
{
	struct rv_hp_msg m = {.kind = RV_HP_RECIPE};
	struct reeve_turn t = rv_turn_of(d, i);
	unsigned what = REEVE_OK;

	m.u.recipe = (struct rv_hp_recipe){.id = i->m.id, .number = i->m.number, .error = ""};
	t.rehearse = true;
	t.left_ns = RV_TURN_CPU_MS * RV_MS;
	t.memo = memset(d->memo, 0, sizeof(d->memo));
	t.http.error = t.http.answer = t.http.answer_headers = t.run.error = t.run.output = "";
	rv_turn_enter(d, i->m.id, RV_HOOK_START);
	if (i->plugin->error)
		m.u.recipe.error = i->plugin->error;
	else if (i->plugin->ops.start)
		what = (unsigned)i->plugin->ops.start(i->self, &t);
	if (t.arena_full)
		m.u.recipe.error = "start built more strings in a turn than there is room for";
	else if (what > REEVE_FAIL || !rv_trust_text(t.why) ||
		(what == REEVE_OK && !rv_trust_process(&t)))
		m.u.recipe.error = "start returned what is no recipe";
	else if (what == REEVE_FAIL)
		m.u.recipe.error = t.why && *t.why ? t.why : "start refuses this configuration";
	else if (what == REEVE_OK)
		m.u.recipe.process = rv_trust_recipe(&t);
	else
		m.u.recipe.fixed = true;
	d->send(d->arg, &m);
	rv_turn_leave(d);
}

static bool take_instance(
	struct rv_drive *d, const struct rv_hp_instance *m, struct rv_arena *arena)
{
	struct rv_instance *i = calloc(1, sizeof(*i));

	if (!i)
		return false;
	i->arena = *arena;
	*arena = (struct rv_arena){0};
	i->m = *m;
	rv_turn_enter(d, m->id, RV_HP_IN_INSTANCE);
	i->plugin = rv_plugin_load(&d->plugins, m->dir, m->plugin);
	rv_turn_leave(d);
	if (!i->plugin || !rv_instance_fill(i)) {
		rv_instance_destroy(i);
		return false;
	}
	if (m->rehearse)
		rehearse(d, i);
	if (m->keep && keep(d, i))
		return true;
	rv_instance_destroy(i);
	return !m->keep;
}

bool rv_drive_take(struct rv_drive *d, const struct rv_hp_msg *m, struct rv_arena *arena)
{
	switch (m->kind) {
	case RV_HP_DESCRIBE: return take_describe(d, &m->u.describe);
	case RV_HP_INSTANCE: return take_instance(d, &m->u.instance, arena);
	case RV_HP_CALL: return rv_hostcall_take(d, &m->u.call, arena);
	case RV_HP_RAN: rv_hostcall_ran(d, &m->u.ran); return true;
	case RV_HP_GET: return rv_hostget_take(d, &m->u.get, arena);
	case RV_HP_CANCEL: rv_hostcall_cancel(d, &m->u.cancel); return true;
	case RV_HP_TABLE:
	case RV_HP_RECIPE:
	case RV_HP_MEMO_IS:
	case RV_HP_RUN:
	case RV_HP_ANSWER:
	case RV_HP_KIND_END: break;
	}
	return false;
}

struct rv_drive *rv_drive_create(struct ev_loop *loop, struct rv_hp_page *page,
	void (*send)(void *arg, const struct rv_hp_msg *m), void *arg)
{
	struct rv_drive *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->loop = loop;
	d->page = page;
	d->send = send;
	d->arg = arg;
	d->web = rv_web_create(loop);
	if (!d->web) {
		free(d);
		return NULL;
	}
	return d;
}

void rv_drive_destroy(struct rv_drive *d)
{
	if (!d)
		return;
	while (d->calls)
		rv_hostcall_end(d->calls);
	for (size_t i = 0; i < d->instance_room; i++)
		rv_instance_destroy(d->instances[i]);
	free(d->instances);
	rv_web_destroy(d->web);
	rv_arena_fini(&d->plugins.arena);
	free(d);
}
