/* The host protocol: one description of each frame, walked by the writer and by the reader. */
#include "wire/hostproto.h"

#include <string.h>

#include "wire/codec.h"

static void key(struct rv_codec *c, struct rv_key *k)
{
	uint8_t type = (uint8_t)k->type, set = (k->preset ? 1 : 0) | (k->env ? 2 : 0);

	rv_codec_str(c, &k->name);
	rv_codec_small(c, &type, RV_KEY_SECRET_JSON + 1);
	k->type = (enum rv_key_type)type;
	rv_codec_i64(c, &k->min);
	rv_codec_i64(c, &k->max);
	rv_codec_small(c, &set, 4);
	rv_codec_str(c, &k->preset);
	rv_codec_str(c, &k->env);
	rv_codec_str(c, &k->summary);
	if (!(set & 1))
		k->preset = NULL;
	if (!(set & 2))
		k->env = NULL;
}

static void option(struct rv_codec *c, struct rv_hp_option *o)
{
	uint8_t type = (uint8_t)o->key.type;

	rv_codec_str(c, &o->key.name);
	rv_codec_small(c, &type, RV_KEY_SECRET_JSON + 1);
	o->key.type = (enum rv_key_type)type;
	rv_codec_small(c, &o->from, 3);
	rv_codec_flag(c, &o->set);
	rv_codec_bytes(c, &o->value, RV_HP_MAX);
}

static void listener(struct rv_codec *c, struct rv_hp_listener *l)
{
	rv_codec_str(c, &l->name);
	rv_codec_str(c, &l->address);
	rv_codec_u16(c, &l->port);
	rv_codec_i32(c, &l->fd);
	rv_codec_flag(c, &l->listening);
}

static void peer(struct rv_codec *c, struct rv_hp_peer *p)
{
	rv_codec_str(c, &p->service);
	rv_codec_str(c, &p->plugin);
	rv_codec_words(c, &p->argv);
}

static void table(struct rv_codec *c, struct rv_hp_table *t)
{
	rv_codec_u32(c, &t->index);
	rv_codec_str(c, &t->name);
	rv_codec_str(c, &t->summary);
	rv_codec_str(c, &t->error);
	rv_codec_u32(c, &t->hooks);
	if (t->hooks >> RV_HOOK_COUNT)
		c->bad = true;
	RV_CODEC_ARRAY(c, t->keys, t->key_count, struct rv_key, key, 34);
}

static void instance(struct rv_codec *c, struct rv_hp_instance *i)
{
	rv_codec_u32(c, &i->id);
	rv_codec_u32(c, &i->number);
	rv_codec_flag(c, &i->rehearse);
	rv_codec_flag(c, &i->keep);
	rv_codec_str(c, &i->dir);
	rv_codec_str(c, &i->plugin);
	rv_codec_str(c, &i->service);
	rv_codec_words(c, &i->command);
	rv_codec_words(c, &i->env);
	RV_CODEC_ARRAY(c, i->options, i->option_count, struct rv_hp_option, option, 11);
	RV_CODEC_ARRAY(c, i->listeners, i->listener_count, struct rv_hp_listener, listener, 15);
	rv_codec_ports(c, &i->ports, &i->port_count);
	RV_CODEC_ARRAY(c, i->peers, i->peer_count, struct rv_hp_peer, peer, 9);
}

static void process(struct rv_codec *c, struct rv_hp_process *p)
{
	rv_codec_words(c, &p->argv);
	rv_codec_words(c, &p->env);
	rv_codec_ports(c, &p->ports, &p->port_count);
	rv_codec_small(c, &p->type, 4);
	rv_codec_i32(c, &p->main_pid);
	rv_codec_str(c, &p->pid_file);
	rv_codec_u16(c, &p->main_port);
	rv_codec_str(c, &p->log_file);
	rv_codec_flag(c, &p->is_static);
	rv_codec_small(c, &p->unused, RV_HP_UNUSED);
}

static void recipe(struct rv_codec *c, struct rv_hp_recipe *r)
{
	rv_codec_u32(c, &r->id);
	rv_codec_u32(c, &r->number);
	rv_codec_flag(c, &r->fixed);
	rv_codec_str(c, &r->error);
	process(c, &r->process);
}

static void call(struct rv_codec *c, struct rv_hp_call *m)
{
	rv_codec_u32(c, &m->call);
	rv_codec_u32(c, &m->id);
	rv_codec_small(c, &m->hook, RV_HOOK_COUNT);
	rv_codec_flag(c, &m->again);
	rv_codec_u64(c, &m->generation);
	rv_codec_i32(c, &m->pid);
	rv_codec_i32(c, &m->exit);
	rv_codec_u32(c, &m->attempt);
	rv_codec_i64(c, &m->timeout);
	rv_codec_bytes(c, &m->memo, RV_HP_MEMO);
	rv_codec_words(c, &m->variables);
	rv_codec_words(c, &m->dropped);
}

static void run(struct rv_codec *c, struct rv_hp_run *r)
{
	rv_codec_u32(c, &r->call);
	rv_codec_u32(c, &r->id);
	rv_codec_words(c, &r->argv);
	rv_codec_bytes(c, &r->input, RV_HP_BYTES);
	rv_codec_i64(c, &r->timeout);
}

static void ran(struct rv_codec *c, struct rv_hp_ran *r)
{
	rv_codec_u32(c, &r->call);
	rv_codec_u32(c, &r->id);
	rv_codec_str(c, &r->error);
	rv_codec_i32(c, &r->exit);
	rv_codec_flag(c, &r->truncated);
	rv_codec_bytes(c, &r->output, RV_HP_BYTES);
}

static void answer(struct rv_codec *c, struct rv_hp_answer *a)
{
	rv_codec_u32(c, &a->call);
	rv_codec_u32(c, &a->id);
	rv_codec_small(c, &a->verdict, RV_FAIL + 1);
	rv_codec_str(c, &a->why);
	rv_codec_str(c, &a->closed);
	rv_codec_i32(c, &a->status);
	process(c, &a->process);
}

static void statuses(struct rv_codec *c, struct rv_statuses *s)
{
	rv_codec_u16(c, &s->from);
	rv_codec_u16(c, &s->to);
}

static void member(struct rv_codec *c, struct rv_member *m)
{
	rv_codec_str(c, &m->path);
	rv_codec_small(c, &m->kind, RV_MEMBER_KINDS);
	rv_codec_str(c, &m->value);
}

static void want(struct rv_codec *c, struct rv_want *w)
{
	rv_codec_str(c, &w->url);
	rv_codec_str(c, &w->method);
	rv_codec_words(c, &w->headers);
	rv_codec_maybe(c, &w->send);
	rv_codec_i64(c, &w->timeout);
	RV_CODEC_ARRAY(c, w->status.at, w->status.count, struct rv_statuses, statuses, 4);
	RV_CODEC_ARRAY(c, w->retry.at, w->retry.count, struct rv_statuses, statuses, 4);
	RV_CODEC_ARRAY(c, w->fail.at, w->fail.count, struct rv_statuses, statuses, 4);
	rv_codec_maybe(c, &w->body);
	RV_CODEC_ARRAY(c, w->json, w->json_count, struct rv_member, member, 9);
	rv_codec_maybe(c, &w->regex);
	rv_codec_flag(c, &w->patient);
}

static void walk(struct rv_codec *c, struct rv_hp_msg *m)
{
	switch (m->kind) {
	case RV_HP_DESCRIBE:
		rv_codec_str(c, &m->u.describe.dir);
		rv_codec_words(c, &m->u.describe.names);
		break;
	case RV_HP_TABLE: table(c, &m->u.table); break;
	case RV_HP_INSTANCE: instance(c, &m->u.instance); break;
	case RV_HP_RECIPE: recipe(c, &m->u.recipe); break;
	case RV_HP_CALL: call(c, &m->u.call); break;
	case RV_HP_MEMO_IS:
		rv_codec_u32(c, &m->u.memo.call);
		rv_codec_u32(c, &m->u.memo.id);
		rv_codec_bytes(c, &m->u.memo.memo, RV_HP_MEMO);
		break;
	case RV_HP_RUN: run(c, &m->u.run); break;
	case RV_HP_RAN: ran(c, &m->u.ran); break;
	case RV_HP_ANSWER: answer(c, &m->u.answer); break;
	case RV_HP_GET:
		rv_codec_u32(c, &m->u.get.call);
		rv_codec_u32(c, &m->u.get.id);
		rv_codec_str(c, &m->u.get.dir);
		want(c, &m->u.get.want);
		rv_codec_i64(c, &m->u.get.timeout);
		break;
	case RV_HP_CANCEL:
		rv_codec_u32(c, &m->u.cancel.call);
		rv_codec_u32(c, &m->u.cancel.id);
		break;
	case RV_HP_KIND_END: c->bad = true; break;
	}
}

bool rv_hp_encode(const struct rv_hp_msg *m, struct rv_buf *to)
{
	struct rv_codec c = {.out = to};
	struct rv_hp_msg copy = *m;
	size_t start = to->len;
	uint8_t kind = (uint8_t)m->kind;
	uint32_t len = 0;

	rv_codec_raw(&c, &len, sizeof(len));
	rv_codec_raw(&c, &kind, 1);
	walk(&c, &copy);
	if (c.bad || to->len - start - sizeof(len) > RV_HP_MAX) {
		to->len = start;
		return false;
	}
	len = (uint32_t)(to->len - start - sizeof(len));
	memcpy(to->data + start, &len, sizeof(len));
	return true;
}

enum rv_hp_got rv_hp_decode(
	const void *from, size_t n, struct rv_arena *a, struct rv_hp_msg *m, size_t *used)
{
	struct rv_codec c = {.p = from, .left = n, .arena = a};
	uint32_t len = 0;
	uint8_t kind = 0;

	*used = 0;
	memset(m, 0, sizeof(*m));
	if (n < sizeof(len))
		return RV_HP_MORE;
	rv_codec_u32(&c, &len);
	if (len < 1 || len > RV_HP_MAX)
		return RV_HP_BAD;
	if (c.left < len)
		return RV_HP_MORE;
	c.left = len;
	rv_codec_small(&c, &kind, RV_HP_KIND_END);
	if (c.bad || !kind)
		return RV_HP_BAD;
	m->kind = (enum rv_hp_kind)kind;
	walk(&c, m);
	if (c.bad || c.left)
		return RV_HP_BAD;
	*used = sizeof(len) + len;
	return RV_HP_OK;
}
