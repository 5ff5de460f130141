/* libyaml's events -> the located tree. Nothing here knows a key of ours. */
#include "conf/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "conf/yamlerror.h"

/* A list or map whose end was not seen yet. Its entries lie in `loose` from `base` on. */
struct open {
	struct rv_tree *node;
	size_t base;
	bool has_key; /* the next node is the value of `pending` */
	bool bad_key; /* its key was refused; the value is dropped */
	struct rv_pair pending;
};

struct reader {
	struct rv_arena *arena;
	const char *file;
	const char *bytes; /* the whole file */
	size_t len;
	struct rv_complaints *c;
	yaml_parser_t parser;
	struct open stack[RV_TREE_DEPTH];
	size_t depth;
	struct rv_pair *loose; /* lists use only the value; malloc'ed */
	size_t loose_count, loose_room;
	const struct rv_tree **anchors; /* malloc'ed; the latest of a name counts */
	size_t anchor_count, anchor_room;
	struct rv_index anchor_names; /* name -> position in anchors */
	struct rv_scratch scratch;
	const struct rv_tree *root;
	size_t aliased; /* nodes that aliases added */
	size_t documents;
	bool stop; /* nothing more can be read */
};

static struct rv_place place(const struct reader *r, yaml_mark_t m)
{
	return (struct rv_place){r->file, (uint32_t)m.line + 1, (uint32_t)m.column + 1};
}

/* Says what is wrong and ends the reading of this file. */
static void give_up(struct reader *r, struct rv_place at, const char *text)
{
	rv_complain(r->c, at, "%s", text);
	r->stop = true;
}

static void no_memory(struct reader *r)
{
	if (!r->stop)
		give_up(r, (struct rv_place){r->file, 0, 0}, "cannot read: out of memory");
}

/* Makes room for one more element of `size` in *p. */
static bool grow(void **p, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *q;

	if (count < *room)
		return true;
	q = realloc(*p, more * size);
	if (!q)
		return false;
	*p = q;
	*room = more;
	return true;
}

static bool push_loose(struct reader *r, struct rv_pair p)
{
	void *list = r->loose;

	if (!grow(&list, r->loose_count, &r->loose_room, sizeof(*r->loose))) {
		no_memory(r);
		return false;
	}
	r->loose = list;
	r->loose[r->loose_count++] = p;
	return true;
}

static bool index_anchors(struct reader *r)
{
	struct rv_index x;

	if (!rv_index_init(&x, r->arena, r->anchor_room))
		return false;
	for (size_t i = 0; r->anchor_names.cells && i < r->anchor_names.room; i++) {
		const struct rv_index_cell *c = &r->anchor_names.cells[i];

		if (c->name)
			rv_index_add(&x, c->name, c->hash, c->value);
	}
	r->anchor_names = x;
	return true;
}

static void set_anchor(struct reader *r, const yaml_char_t *name, const struct rv_tree *node)
{
	size_t room = r->anchor_room;
	void *list = r->anchors;
	const char *copy;

	if (!name)
		return;
	copy = rv_arena_strdup(r->arena, (const char *)name);
	if (!copy || !grow(&list, r->anchor_count, &r->anchor_room, sizeof(*r->anchors))) {
		no_memory(r);
		return;
	}
	r->anchors = list;
	if (room != r->anchor_room && !index_anchors(r)) {
		no_memory(r);
		return;
	}
	rv_index_add(&r->anchor_names, copy, rv_tree_hash(copy), (uint32_t)r->anchor_count);
	r->anchors[r->anchor_count++] = node;
}

static void take_key(struct reader *r, struct open *o, const struct rv_tree *node)
{
	o->has_key = true;
	o->bad_key = node->kind != RV_TREE_SCALAR;
	if (o->bad_key) {
		rv_complain(r->c, node->at, "a key must be a word, not a %s",
			node->kind == RV_TREE_LIST ? "list" : "map");
		return;
	}
	o->pending = (struct rv_pair){.key = node->text,
		.hash = rv_tree_hash(node->text),
		.merge = node->style == RV_TREE_PLAIN && !strcmp(node->text, "<<"),
		.at = node->at};
}

/* A node is complete: gives it to the list or map that is open. */
static void add(struct reader *r, const struct rv_tree *node)
{
	struct open *o;

	if (!r->depth) {
		r->root = node;
		return;
	}
	o = &r->stack[r->depth - 1];
	if (o->node->kind == RV_TREE_LIST) {
		push_loose(r, (struct rv_pair){.value = node});
	} else if (!o->has_key) {
		take_key(r, o, node);
	} else {
		o->has_key = false;
		o->pending.value = node;
		if (!o->bad_key)
			push_loose(r, o->pending);
	}
}

static void close_list(struct reader *r, struct rv_tree *node, const struct rv_pair *list, size_t n)
{
	const struct rv_tree **items = rv_arena_array(r->arena, n, sizeof(struct rv_tree *));

	if (!items) {
		no_memory(r);
		return;
	}
	for (size_t i = 0; i < n; i++)
		items[i] = list[i].value;
	node->items = items;
	node->count = (uint32_t)n;
}

/* --- events ----------------------------------------------------------------------------------- */

static void close_node(struct reader *r)
{
	struct open *o = &r->stack[--r->depth];
	const struct rv_pair *list = r->loose ? r->loose + o->base : NULL;
	size_t n = r->loose_count - o->base;
	struct rv_tree *node = o->node;
	unsigned depth = 0;

	assert(list || !n);
	node->weight = 1;
	for (size_t i = 0; i < n; i++) {
		node->weight += list[i].value->weight;
		if (list[i].value->depth > depth)
			depth = list[i].value->depth;
	}
	if (depth > RV_TREE_DEPTH) {
		r->loose_count = o->base;
		give_up(r, node->at, "nested too deeply");
		return;
	}
	if (node->kind == RV_TREE_LIST)
		close_list(r, node, list, n);
	else if (!rv_tree_close_map(r->arena, r->c, &r->scratch, node, list, n))
		no_memory(r);
	node->depth = (uint8_t)(depth + 1);
	r->loose_count = o->base;
	add(r, node);
}

static void open_node(struct reader *r, const yaml_event_t *e, enum rv_tree_kind kind)
{
	struct rv_tree *node = rv_arena_alloc(r->arena, sizeof(*node));
	bool is_map = kind == RV_TREE_MAP;
	const char *tag = (const char *)(is_map ? e->data.mapping_start.tag
						: e->data.sequence_start.tag);

	if (!node) {
		no_memory(r);
		return;
	}
	node->kind = (uint8_t)kind;
	node->at = place(r, e->start_mark);
	if (r->depth == RV_TREE_DEPTH) {
		give_up(r, node->at, "nested too deeply");
		return;
	}
	if (tag && strcmp(tag, is_map ? YAML_MAP_TAG : YAML_SEQ_TAG) != 0)
		rv_complain(r->c, node->at, "the tag %s is not known here", tag);
	set_anchor(r, is_map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor, node);
	r->stack[r->depth++] = (struct open){.node = node, .base = r->loose_count};
}

/* The tags of YAML's core schema; a scalar that is tagged as a string is as good as quoted. */
static uint8_t style_of(struct reader *r, const yaml_event_t *e)
{
	static const char *const plain[] = {
		YAML_NULL_TAG, YAML_BOOL_TAG, YAML_INT_TAG, YAML_FLOAT_TAG};
	const char *tag = (const char *)e->data.scalar.tag;

	if (!tag)
		return e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? RV_TREE_PLAIN
								       : RV_TREE_QUOTED;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(tag, plain[i]))
			return RV_TREE_PLAIN;
	if (strcmp(tag, YAML_STR_TAG) != 0 && strcmp(tag, "!") != 0)
		rv_complain(r->c, place(r, e->start_mark), "the tag %s is not known here", tag);
	return RV_TREE_QUOTED;
}

static void take_scalar(struct reader *r, const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;
	size_t n = e->data.scalar.length;
	struct rv_tree *node = rv_arena_alloc(r->arena, sizeof(*node));
	char *copy = rv_arena_strndup(r->arena, text, n);

	if (!node || !copy) {
		no_memory(r);
		return;
	}
	*node = (struct rv_tree){.at = place(r, e->start_mark),
		.kind = RV_TREE_SCALAR,
		.depth = 1,
		.weight = 1,
		.style = style_of(r, e),
		.count = (uint32_t)n,
		.text = copy};
	if (memchr(text, 0, n)) {
		rv_complain(r->c, node->at, "a NUL byte cannot be part of a value");
		node->count = (uint32_t)strlen(copy);
	}
	set_anchor(r, e->data.scalar.anchor, node);
	add(r, node);
}

static void take_alias(struct reader *r, const yaml_event_t *e)
{
	const char *name = (const char *)e->data.alias.anchor;
	struct rv_place at = place(r, e->start_mark);
	const struct rv_tree *node = NULL;
	uint32_t n = RV_NO_ID;

	if (r->anchor_count)
		n = rv_index_find(&r->anchor_names, name, rv_tree_hash(name));
	if (n != RV_NO_ID)
		node = r->anchors[n];
	if (!node) {
		rv_complain(r->c, at, "unknown anchor: nothing is called &%s above", name);
		node = rv_tree_scalar(r->arena, "", RV_TREE_QUOTED, at);
		if (!node) {
			no_memory(r);
			return;
		}
	} else if (!node->depth) {
		rv_complain(r->c, at, "*%s refers to itself", name);
		r->stop = true;
		return;
	}
	r->aliased += node->weight;
	if (r->aliased > RV_TREE_ALIASED)
		give_up(r, at, "aliases grow too large when they are written out");
	else
		add(r, node);
}

static void take(struct reader *r, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (r->documents++)
			give_up(r, place(r, e->start_mark),
				"a second document begins here; only one is read: remove '---'");
		break;
	case YAML_SCALAR_EVENT: take_scalar(r, e); break;
	case YAML_ALIAS_EVENT: take_alias(r, e); break;
	case YAML_SEQUENCE_START_EVENT: open_node(r, e, RV_TREE_LIST); break;
	case YAML_MAPPING_START_EVENT: open_node(r, e, RV_TREE_MAP); break;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT: close_node(r); break;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT: break;
	}
}

static void syntax_error(struct reader *r)
{
	const struct rv_yaml_text text = {r->file, r->bytes, r->len};

	if (r->parser.error == YAML_MEMORY_ERROR) {
		no_memory(r);
		return;
	}
	rv_yaml_complain(&text, &r->parser, r->c);
	r->stop = true;
}

static void read_events(struct reader *r)
{
	yaml_event_t e;
	bool end = false;

	while (!r->stop && !end) {
		if (!yaml_parser_parse(&r->parser, &e)) {
			syntax_error(r);
			break;
		}
		end = e.type == YAML_STREAM_END_EVENT;
		take(r, &e);
		yaml_event_delete(&e);
	}
}

/* What was read before the mistake is still worth checking. */
static void close_all(struct reader *r)
{
	while (r->depth)
		close_node(r);
}

const struct rv_tree *rv_tree_read(struct rv_arena *a, const char *file, const char *bytes,
	size_t n, struct rv_complaints *c, bool *broken)
{
	struct reader r = {.arena = a, .file = file, .bytes = bytes, .len = n, .c = c};
	struct rv_pair *none;

	if (!yaml_parser_initialize(&r.parser)) {
		no_memory(&r);
		*broken = true;
		return NULL;
	}
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes, n);
	read_events(&r);
	if (r.stop) {
		*broken = true;
		close_all(&r);
	}
	yaml_parser_delete(&r.parser);
	free(r.loose);
	free(r.anchors);
	free(r.scratch.cells);
	if (a->full)
		return NULL;
	if (!r.root || rv_tree_is_null(r.root))
		return rv_tree_map(a, 0, &none, (struct rv_place){file, 1, 1});
	if (r.root->kind != RV_TREE_MAP) {
		rv_complain(c, r.root->at, "a configuration is a map of keys such as 'services'");
		*broken = true;
		return rv_tree_map(a, 0, &none, (struct rv_place){file, 1, 1});
	}
	return r.root;
}
