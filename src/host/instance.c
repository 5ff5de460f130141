/* Values of a service, in the types that a plugin reads: see instance.h. */
#include "host/instance.h"

#include <stdlib.h>

#include "base/lists.h"
#include "base/text.h"

static bool take_value(struct reeve_value *v, const struct rv_hp_option *o)
{
	rv_time ns = 0;
	uint64_t size = 0;
	int64_t n = 0;
	bool yes = false, fine = true;

	*v = (struct reeve_value){.name = o->key.name,
		.type = (enum reeve_type)o->key.type,
		.from = (enum reeve_from)o->from};
	if (!o->set)
		return true;
	v->text = o->value.p;
	v->len = o->value.n;
	switch (o->key.type) {
	case RV_KEY_INT:
	case RV_KEY_PORT:
		fine = rv_text_int(v->text, &n);
		v->number = n;
		break;
	case RV_KEY_BOOL:
		fine = rv_text_bool(v->text, &yes);
		v->number = yes;
		break;
	case RV_KEY_DURATION:
		fine = rv_text_duration(v->text, &ns);
		v->number = ns;
		break;
	case RV_KEY_SIZE:
		fine = rv_text_size(v->text, &size) && size <= INT64_MAX;
		v->number = (int64_t)size;
		break;
	case RV_KEY_STRING:
	case RV_KEY_PATH:
	case RV_KEY_WORDS:
	case RV_KEY_SECRET:
	case RV_KEY_JSON:
	case RV_KEY_SECRET_JSON: break;
	}
	return fine;
}

bool rv_instance_fill(struct rv_instance *i)
{
	i->values = rv_arena_array(&i->arena, i->m.option_count, sizeof(*i->values));
	i->listeners = rv_arena_array(&i->arena, i->m.listener_count, sizeof(*i->listeners));
	i->peers = rv_arena_array(&i->arena, i->m.peer_count, sizeof(*i->peers));
	if (!i->values || !i->listeners || !i->peers)
		return false;
	for (uint32_t k = 0; k < i->m.option_count; k++)
		if (!take_value(&i->values[k], &i->m.options[k]))
			return false;
	for (uint32_t k = 0; k < i->m.listener_count; k++) {
		const struct rv_hp_listener *l = &i->m.listeners[k];

		i->listeners[k] = (struct reeve_listener){.name = l->name,
			.address = l->address,
			.port = l->port,
			.fd = l->fd,
			.listening = l->listening};
	}
	for (uint32_t k = 0; k < i->m.peer_count; k++)
		i->peers[k] = (struct reeve_peer){.service = i->m.peers[k].service,
			.plugin = i->m.peers[k].plugin,
			.argv = i->m.peers[k].argv};
	if (!i->plugin->d)
		return true;
	i->self = rv_arena_alloc(&i->arena, i->plugin->d->state_size);
	return i->self;
}

void rv_instance_destroy(struct rv_instance *i)
{
	struct rv_arena arena;

	if (!i)
		return;
	arena = i->arena;
	free(i);
	rv_arena_fini(&arena);
}
