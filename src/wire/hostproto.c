/* The host protocol: one description of each frame, walked by the writer and by the reader. */
#include "wire/hostproto.h"

#include <string.h>

/* Either side of the codec. Writing: `out`. Reading: the bytes that are left, and where to put what
   they hold. `bad` is sticky; after it, reading yields zeroes. */
struct codec {
	struct rv_buf *out; /* NULL: reading */
	const unsigned char *p;
	size_t left;
	struct rv_arena *arena;
	bool bad;
};

static void raw(struct codec *c, void *v, size_t n)
{
	if (c->out) {
		c->bad |= !rv_buf_add(c->out, v, n);
		return;
	}
	if (c->bad || n > c->left) {
		c->bad = true;
		memset(v, 0, n);
		return;
	}
	memcpy(v, c->p, n);
	c->p += n;
	c->left -= n;
}

static void u32(struct codec *c, uint32_t *v)
{
	raw(c, v, sizeof(*v));
}

static void i32(struct codec *c, int32_t *v)
{
	raw(c, v, sizeof(*v));
}

static void u64(struct codec *c, uint64_t *v)
{
	raw(c, v, sizeof(*v));
}

static void i64(struct codec *c, int64_t *v)
{
	raw(c, v, sizeof(*v));
}

static void u16(struct codec *c, uint16_t *v)
{
	raw(c, v, sizeof(*v));
}

/* A small enum: anything from `end` on is refused. */
static void small(struct codec *c, uint8_t *v, unsigned end)
{
	raw(c, v, 1);
	if (*v >= end) {
		c->bad = true;
		*v = 0;
	}
}

static void flag(struct codec *c, bool *v)
{
	uint8_t b = *v;

	small(c, &b, 2);
	*v = b;
}

/* A count of things that take at least `each` bytes: so it is bounded by what is there. */
static bool count(struct codec *c, uint32_t *n, size_t each)
{
	u32(c, n);
	if (!c->out && !c->bad && *n > c->left / each)
		c->bad = true;
	if (c->bad)
		*n = 0;
	return !c->bad;
}

static void *room(struct codec *c, size_t n, size_t size)
{
	void *p = rv_arena_array(c->arena, n, size);

	c->bad |= !p;
	return p;
}

static void bytes(struct codec *c, struct rv_hp_bytes *b, size_t max)
{
	uint32_t n = (uint32_t)b->n;
	char *copy;

	if (c->out) {
		if (b->n > max) {
			c->bad = true;
			return;
		}
		u32(c, &n);
		c->bad |= !rv_buf_add(c->out, b->p, b->n);
		return;
	}
	*b = (struct rv_hp_bytes){.p = ""};
	if (!count(c, &n, 1))
		return;
	copy = n > max ? NULL : room(c, (size_t)n + 1, 1);
	if (!copy) {
		c->bad = true;
		return;
	}
	raw(c, copy, n);
	*b = (struct rv_hp_bytes){.p = copy, .n = n};
}

/* A C string; NULL is written as "". */
static void str(struct codec *c, const char **s)
{
	struct rv_hp_bytes b = {0};

	if (c->out && *s)
		b = (struct rv_hp_bytes){.p = *s, .n = strlen(*s)};
	bytes(c, &b, RV_HP_MAX);
	if (c->out)
		return;
	*s = b.p;
	if (b.n && memchr(b.p, 0, b.n))
		c->bad = true;
}

/* A NULL-terminated list of strings; NULL stays NULL. */
static void words(struct codec *c, const char *const **list)
{
	const char *const *from = c->out ? *list : NULL;
	const char **to = NULL;
	bool there = from;
	uint32_t n = 0;

	if (!c->out)
		*list = NULL;
	flag(c, &there);
	if (!there)
		return;
	for (; from && from[n]; n++)
		;
	if (!count(c, &n, 4))
		return;
	if (!c->out) {
		to = room(c, (size_t)n + 1, sizeof(*to));
		if (!to)
			return;
		*list = to;
	}
	for (uint32_t i = 0; i < n && !c->bad; i++) {
		const char *s = from ? from[i] : NULL;

		str(c, &s);
		if (to)
			to[i] = s;
	}
	if (c->bad && to)
		*list = NULL;
}

static void ports(struct codec *c, const uint16_t **list, uint32_t *n)
{
	uint16_t *to;

	if (!count(c, n, 2))
		return;
	if (c->out) {
		c->bad |= *n && !rv_buf_add(c->out, *list, *n * sizeof(**list));
		return;
	}
	to = room(c, *n, sizeof(*to));
	*list = to;
	if (to)
		raw(c, to, *n * sizeof(*to));
	else
		*n = 0;
}

static void key(struct codec *c, struct rv_key *k)
{
	uint8_t type = (uint8_t)k->type, set = (k->preset ? 1 : 0) | (k->env ? 2 : 0);

	str(c, &k->name);
	small(c, &type, RV_KEY_SECRET_JSON + 1);
	k->type = (enum rv_key_type)type;
	i64(c, &k->min);
	i64(c, &k->max);
	small(c, &set, 4);
	str(c, &k->preset);
	str(c, &k->env);
	str(c, &k->summary);
	if (!(set & 1))
		k->preset = NULL;
	if (!(set & 2))
		k->env = NULL;
}

static void option(struct codec *c, struct rv_hp_option *o)
{
	uint8_t type = (uint8_t)o->key.type;

	str(c, &o->key.name);
	small(c, &type, RV_KEY_SECRET_JSON + 1);
	o->key.type = (enum rv_key_type)type;
	small(c, &o->from, 3);
	flag(c, &o->set);
	bytes(c, &o->value, RV_HP_MAX);
}

static void listener(struct codec *c, struct rv_hp_listener *l)
{
	str(c, &l->name);
	str(c, &l->address);
	u16(c, &l->port);
	i32(c, &l->fd);
	flag(c, &l->listening);
}

static void peer(struct codec *c, struct rv_hp_peer *p)
{
	str(c, &p->service);
	str(c, &p->plugin);
	words(c, &p->argv);
}

/* Walks an array of structures with `one`; the least bytes of an element bound its count. */
#define ARRAY(c, array, n, type, one, least)                         \
	do {                                                         \
		type *to_ = NULL;                                    \
		if (!count(c, &(n), least))                          \
			break;                                       \
		if (!(c)->out)                                       \
			(array) = to_ = room(c, n, sizeof(type));    \
		for (uint32_t i_ = 0; i_ < (n) && !(c)->bad; i_++) { \
			type v_ = {0};                               \
			if ((c)->out)                                \
				v_ = (array)[i_];                    \
			one(c, &v_);                                 \
			if (to_)                                     \
				to_[i_] = v_;                        \
		}                                                    \
	} while (0)

static void table(struct codec *c, struct rv_hp_table *t)
{
	u32(c, &t->index);
	str(c, &t->name);
	str(c, &t->summary);
	str(c, &t->error);
	u32(c, &t->hooks);
	if (t->hooks >> RV_HOOK_COUNT)
		c->bad = true;
	ARRAY(c, t->keys, t->key_count, struct rv_key, key, 34);
}

static void instance(struct codec *c, struct rv_hp_instance *i)
{
	u32(c, &i->id);
	u32(c, &i->number);
	flag(c, &i->rehearse);
	flag(c, &i->keep);
	str(c, &i->dir);
	str(c, &i->plugin);
	str(c, &i->service);
	words(c, &i->command);
	words(c, &i->env);
	ARRAY(c, i->options, i->option_count, struct rv_hp_option, option, 11);
	ARRAY(c, i->listeners, i->listener_count, struct rv_hp_listener, listener, 15);
	ports(c, &i->ports, &i->port_count);
	ARRAY(c, i->peers, i->peer_count, struct rv_hp_peer, peer, 9);
}

static void process(struct codec *c, struct rv_hp_process *p)
{
	words(c, &p->argv);
	words(c, &p->env);
	ports(c, &p->ports, &p->port_count);
	small(c, &p->type, 4);
	i32(c, &p->main_pid);
	str(c, &p->pid_file);
	u16(c, &p->main_port);
	str(c, &p->log_file);
	flag(c, &p->is_static);
	small(c, &p->unused, RV_HP_UNUSED);
}

static void recipe(struct codec *c, struct rv_hp_recipe *r)
{
	u32(c, &r->id);
	u32(c, &r->number);
	flag(c, &r->fixed);
	str(c, &r->error);
	process(c, &r->process);
}

static void call(struct codec *c, struct rv_hp_call *m)
{
	u32(c, &m->call);
	u32(c, &m->id);
	small(c, &m->hook, RV_HOOK_COUNT);
	flag(c, &m->again);
	u64(c, &m->generation);
	i32(c, &m->pid);
	i32(c, &m->exit);
	u32(c, &m->attempt);
	i64(c, &m->timeout);
	bytes(c, &m->memo, RV_HP_MEMO);
	words(c, &m->variables);
	words(c, &m->dropped);
}

static void run(struct codec *c, struct rv_hp_run *r)
{
	u32(c, &r->call);
	u32(c, &r->id);
	words(c, &r->argv);
	bytes(c, &r->input, RV_HP_BYTES);
	i64(c, &r->timeout);
}

static void ran(struct codec *c, struct rv_hp_ran *r)
{
	u32(c, &r->call);
	u32(c, &r->id);
	str(c, &r->error);
	i32(c, &r->exit);
	flag(c, &r->truncated);
	bytes(c, &r->output, RV_HP_BYTES);
}

static void answer(struct codec *c, struct rv_hp_answer *a)
{
	u32(c, &a->call);
	u32(c, &a->id);
	small(c, &a->verdict, RV_FAIL + 1);
	str(c, &a->why);
	str(c, &a->closed);
	i32(c, &a->status);
	process(c, &a->process);
}

/* A string that may be missing. */
static void maybe(struct codec *c, const char **s)
{
	bool there = *s;

	flag(c, &there);
	if (there)
		str(c, s);
}

static void statuses(struct codec *c, struct rv_statuses *s)
{
	u16(c, &s->from);
	u16(c, &s->to);
}

static void member(struct codec *c, struct rv_member *m)
{
	str(c, &m->path);
	small(c, &m->kind, RV_MEMBER_KINDS);
	str(c, &m->value);
}

static void want(struct codec *c, struct rv_want *w)
{
	str(c, &w->url);
	str(c, &w->method);
	words(c, &w->headers);
	maybe(c, &w->send);
	i64(c, &w->timeout);
	ARRAY(c, w->status.at, w->status.count, struct rv_statuses, statuses, 4);
	ARRAY(c, w->retry.at, w->retry.count, struct rv_statuses, statuses, 4);
	ARRAY(c, w->fail.at, w->fail.count, struct rv_statuses, statuses, 4);
	maybe(c, &w->body);
	ARRAY(c, w->json, w->json_count, struct rv_member, member, 9);
	maybe(c, &w->regex);
	flag(c, &w->patient);
}

static void walk(struct codec *c, struct rv_hp_msg *m)
{
	switch (m->kind) {
	case RV_HP_DESCRIBE:
		str(c, &m->u.describe.dir);
		words(c, &m->u.describe.names);
		break;
	case RV_HP_TABLE: table(c, &m->u.table); break;
	case RV_HP_INSTANCE: instance(c, &m->u.instance); break;
	case RV_HP_RECIPE: recipe(c, &m->u.recipe); break;
	case RV_HP_CALL: call(c, &m->u.call); break;
	case RV_HP_MEMO_IS:
		u32(c, &m->u.memo.call);
		u32(c, &m->u.memo.id);
		bytes(c, &m->u.memo.memo, RV_HP_MEMO);
		break;
	case RV_HP_RUN: run(c, &m->u.run); break;
	case RV_HP_RAN: ran(c, &m->u.ran); break;
	case RV_HP_ANSWER: answer(c, &m->u.answer); break;
	case RV_HP_GET:
		u32(c, &m->u.get.call);
		u32(c, &m->u.get.id);
		str(c, &m->u.get.dir);
		want(c, &m->u.get.want);
		i64(c, &m->u.get.timeout);
		break;
	case RV_HP_CANCEL:
		u32(c, &m->u.cancel.call);
		u32(c, &m->u.cancel.id);
		break;
	case RV_HP_KIND_END: c->bad = true; break;
	}
}

bool rv_hp_encode(const struct rv_hp_msg *m, struct rv_buf *to)
{
	struct codec c = {.out = to};
	struct rv_hp_msg copy = *m;
	size_t start = to->len;
	uint8_t kind = (uint8_t)m->kind;
	uint32_t len = 0;

	raw(&c, &len, sizeof(len));
	raw(&c, &kind, 1);
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
	struct codec c = {.p = from, .left = n, .arena = a};
	uint32_t len = 0;
	uint8_t kind = 0;

	*used = 0;
	memset(m, 0, sizeof(*m));
	if (n < sizeof(len))
		return RV_HP_MORE;
	u32(&c, &len);
	if (len < 1 || len > RV_HP_MAX)
		return RV_HP_BAD;
	if (c.left < len)
		return RV_HP_MORE;
	c.left = len;
	small(&c, &kind, RV_HP_KIND_END);
	if (c.bad || !kind)
		return RV_HP_BAD;
	m->kind = (enum rv_hp_kind)kind;
	walk(&c, m);
	if (c.bad || c.left)
		return RV_HP_BAD;
	*used = sizeof(len) + len;
	return RV_HP_OK;
}
