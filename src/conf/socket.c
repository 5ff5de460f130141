/* What a service binds, and how it is seen to be ready. */
#include "conf/whole.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define LONG_TIME (366 * 86400 * RV_SEC)

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
	if (!raw.tcp == !raw.unix_path)
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

/* --- ready ------------------------------------------------------------------------------------ */

static void read_ready_fd(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_check *k = to;
	int64_t n;

	(void)row;
	k->has_fd = true;
	if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "auto")) {
		k->fd_auto = true;
	} else if (rv_read_integer(v, &n) && n >= 3 && n <= 1023) {
		k->fd = (int)n;
	} else {
		k->has_fd = false;
		rv_read_refuse(r, v, "auto or a number from 3 to 1023 (without quotes)");
	}
}

/* true is what most mean by it: any process of the service, so that a wrapper or a script may say it, too. */
static void read_ready_notify(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_check *k = to;
	bool on;

	(void)row;
	if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "main"))
		k->notify = RV_NOTIFY_MAIN;
	else if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "tree"))
		k->notify = RV_NOTIFY_TREE;
	else if (v->kind == RV_TREE_SCALAR && v->style == RV_TREE_PLAIN &&
		rv_text_bool(v->text, &on))
		k->notify = on ? RV_NOTIFY_TREE : RV_NOTIFY_NONE;
	else
		rv_read_refuse(r, v, "true, false, main or tree");
}

static void read_ready_tcp(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_check *k = to;
	const char *s = rv_read_scalar(r, v, "an address");

	(void)row;
	s = s ? rv_read_expand(r, v, s) : NULL;
	if (s && rv_net_address(s, true, k->tcp_ip, &k->tcp_port, &k->tcp_v6))
		k->tcp = strchr(s, ':') ? s : rv_arena_fmt(r->arena, "127.0.0.1:%s", s);
	else if (s)
		rv_read_refuse(r, v, "a port, or a numeric address such as \"127.0.0.1:8080\"");
}

static void read_url(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_check *k = to;
	const char *s = rv_read_scalar(r, v, "a URL");

	(void)row;
	s = s ? rv_read_expand(r, v, s) : NULL;
	if (!s)
		return;
	if (strncmp(s, "http://", 7) != 0 || !s[7])
		rv_read_refuse(r, v, "a URL that begins with http:// (reeve speaks no TLS)");
	else
		k->http_url = s;
}

static const struct rv_row http_rows[] = {
	{"url", read_url, 0, NULL, 0, 0, NULL, false},
};
static const struct rv_table http_table = RV_TABLE(http_rows);

static void read_http(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	if (rv_read_table(r, &http_table, v, to) && !rv_tree_get(v, "url"))
		rv_read_complain(r, v->at, "needs a url");
}

static void read_exec(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	*(const char *const **)to = rv_read_argv(r, v);
}

#define CHECK_AT(member) offsetof(struct rv_check, member)
static const struct rv_row ready_rows[] = {
	{"fd", read_ready_fd, 0, NULL, 0, 0, NULL, true},
	{"notify", read_ready_notify, 0, NULL, 0, 0, NULL, false},
	{"tcp", read_ready_tcp, 0, NULL, 0, 0, NULL, false},
	{"http", read_http, 0, NULL, 0, 0, &http_table, false},
	{"exec", read_exec, CHECK_AT(exec), NULL, 0, 0, NULL, false},
	{"timeout", rv_read_duration, CHECK_AT(timeout), NULL, RV_MS, LONG_TIME, NULL, false},
	{"attempt-timeout", rv_read_duration, CHECK_AT(attempt_timeout), NULL, RV_MS, LONG_TIME,
		NULL, false},
};
const struct rv_table rv_ready_table = RV_TABLE(ready_rows);

void rv_service_number_fd(struct rv_read *r, const struct rv_tree *service)
{
	const struct rv_tree *v = rv_tree_get(rv_tree_get(service, "ready"), "fd");
	const struct rv_tree *listen = rv_tree_get(service, "listen");
	int first = 3 + (listen && listen->kind == RV_TREE_LIST ? (int)listen->count : 0);
	int64_t n;

	if (!v || v->kind != RV_TREE_SCALAR)
		return;
	if (!strcmp(v->text, "auto")) {
		r->ready_fd = first;
		return;
	}
	if (!rv_read_integer(v, &n) || n < 3 || n > 1023)
		return;
	r->ready_fd = (int)n;
	if (n < first)
		rv_complain(r->c, v->at,
			"ready.fd of service '%s' is %d, but descriptors 3 to %d are "
			"its listeners: use %d or more, or auto",
			r->service, (int)n, first - 1, first);
}

void rv_service_ready(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	(void)row;
	d->s.ready.at = v->at;
	d->timeout_given = rv_tree_get(v, "timeout") != NULL;
	rv_read_table(r, &rv_ready_table, v, &d->s.ready);
	if (d->s.ready.fd_auto)
		d->s.ready.fd = r->ready_fd;
}
