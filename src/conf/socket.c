/* What a service binds. */
#include "conf/whole.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

/* --- ports and listeners ---------------------------------------------------------------------- */

void rv_service_ports(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;
	int64_t n;

	(void)row;
	if (v->kind != RV_TREE_LIST) {
		rv_read_refuse(r, v, "a list of port numbers");
		return;
	}
	d->claims = rv_arena_array(r->arena, v->count, sizeof(*d->claims));
	for (uint32_t i = 0; d->claims && i < v->count; i++) {
		if (!rv_read_integer(v->items[i], &n) || n < 1 || n > 65535) {
			rv_read_refuse(r, v->items[i],
				"a list of numbers from 1 to 65535 (without quotes)");
			continue;
		}
		d->claims[d->claim_count++] = (struct rv_claim){
			.at = v->items[i]->at, .port = (uint16_t)n};
	}
}

struct raw_listen {
	struct rv_listen l;
	const struct rv_tree *tcp, *unix_path;
	uint32_t backlog;
	struct rv_place mode_at;
};

static void read_listen_name(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	if (v->kind != RV_TREE_SCALAR || !rv_conf_is_name(v->text))
		rv_read_refuse(r, v, "a name of letters, digits, '-', '_' and '.'");
	else
		*(const char **)to = rv_read_copy(r, v->text);
}

static void read_listen_mode(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct raw_listen *raw = to;

	(void)row;
	raw->mode_at = v->at;
	raw->l.has_mode = v->kind == RV_TREE_SCALAR && rv_text_mode(v->text, &raw->l.mode) &&
		raw->l.mode <= 0777;
	if (!raw->l.has_mode)
		rv_read_refuse(r, v, "an octal mode such as \"0660\"");
}

#define LISTEN_AT(member) offsetof(struct raw_listen, member)
static const struct rv_row listen_rows[] = {
	{"name", read_listen_name, LISTEN_AT(l.name), NULL, 0, 0, NULL, false},
	{"tcp", rv_read_tree, LISTEN_AT(tcp), NULL, 0, 0, NULL, false},
	{"unix", rv_read_tree, LISTEN_AT(unix_path), NULL, 0, 0, NULL, false},
	{"mode", read_listen_mode, 0, NULL, 0, 0, NULL, false},
	{"owner", rv_read_string, LISTEN_AT(l.owner), NULL, 0, 0, NULL, false},
	{"group", rv_read_string, LISTEN_AT(l.group), NULL, 0, 0, NULL, false},
	{"backlog", rv_read_uint, LISTEN_AT(backlog), NULL, 0, 65535, NULL, false},
};
const struct rv_table rv_listen_table = RV_TABLE(listen_rows);

static void read_listen_tcp(struct rv_read *r, const struct rv_tree *v, struct rv_listen *l)
{
	const char *s = rv_read_scalar(r, v, "an address such as \"127.0.0.1:8080\"");
	bool v6;

	s = s ? rv_read_expand(r, v, s) : NULL;
	if (!s)
		return;
	if (!rv_net_address(s, false, l->ip, &l->port, &v6)) {
		rv_read_refuse(r, v,
			"a numeric address with a port from 1 to 65535, such as "
			"\"0.0.0.0:8080\" or \"[::]:8080\"");
		return;
	}
	l->family = v6 ? RV_TCP6 : RV_TCP4;
	l->address = s;
}

static void read_listen_unix(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, struct rv_listen *l)
{
	rv_read_path(r, row, v, &l->address);
	l->family = RV_UNIX;
	/* What fits into sun_path with its NUL. */
	if (l->address && strlen(l->address) > 107)
		rv_read_complain(r, v->at, "is too long for a socket: at most 107 bytes");
}

static void read_one_listener(struct rv_read *r, const struct rv_tree *v, struct rv_listen *l)
{
	struct raw_listen raw = {.l = {.at = v->at}};

	if (!rv_read_table(r, &rv_listen_table, v, &raw))
		return;
	if (!raw.l.name && !rv_tree_get(v, "name"))
		rv_read_complain(r, v->at, "needs a name");
	if (raw.tcp && raw.unix_path)
		rv_read_complain(r, v->at, "has both tcp and unix: make two listeners of it");
	else if (!raw.tcp && !raw.unix_path)
		rv_read_complain(r, v->at, "needs either tcp or unix");
	rv_read_enter(r, raw.tcp ? "tcp" : "unix");
	if (raw.tcp)
		read_listen_tcp(r, raw.tcp, &raw.l);
	else if (raw.unix_path)
		read_listen_unix(r, NULL, raw.unix_path, &raw.l);
	rv_read_leave(r);
	if (raw.tcp && (raw.l.has_mode || raw.l.owner || raw.l.group))
		rv_read_complain(
			r, v->at, "has mode, owner or group, which only a UNIX socket has");
	raw.l.backlog = (int)raw.backlog;
	*l = raw.l;
}

void rv_service_listen(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;
	struct rv_listen *list;

	(void)row;
	if (v->kind != RV_TREE_LIST) {
		rv_read_refuse(r, v, "a list of listeners");
		return;
	}
	list = rv_arena_array(r->arena, v->count, sizeof(*list));
	if (!list)
		return;
	for (uint32_t i = 0; i < v->count; i++) {
		read_one_listener(r, v->items[i], &list[i]);
		list[i].fd = 3 + (int)i;
		if (!list[i].name)
			list[i].name = "";
		for (uint32_t k = 0; *list[i].name && k < i; k++)
			if (!strcmp(list[k].name, list[i].name))
				rv_read_complain(r, v->items[i]->at,
					"has two listeners called '%s' "
					"(first at %s:%u:%u)",
					list[i].name, list[k].at.file, list[k].at.line,
					list[k].at.column);
	}
	d->s.listen = r->listen = list;
	d->s.listen_count = r->listen_count = v->count;
}
