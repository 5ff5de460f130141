/* How a service is seen to be ready: the kinds of checks. */
#include "conf/whole.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define LONG_TIME (366 * 86400 * RV_SEC)

static void read_fd(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
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
static void read_notify(
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

static void read_log_line(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_check *k = to;

	(void)row;
	k->log_regex = rv_read_regex(r, v);
	k->log_line = k->log_regex ? rv_read_copy(r, v->text) : NULL;
}

static void read_tcp(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
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

static void read_unix(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_check *k = to;

	rv_read_path(r, row, v, &k->unix_path);
	/* What fits into sun_path with its NUL. */
	if (k->unix_path && strlen(k->unix_path) > 107)
		rv_read_complain(r, v->at, "is too long for a socket: at most 107 bytes");
}

static void read_exec(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	*(const char *const **)to = rv_read_argv(r, v);
}

#define CHECK_AT(member) offsetof(struct rv_check, member)

/* Asked anew in each attempt. What the service tells once (fd, notify, log-line) only readiness can wait for. */
#define ASKED_ROWS(http_keys)                                                                \
	{"tcp", read_tcp, 0, NULL, 0, 0, NULL, false},                                       \
		{"unix", read_unix, 0, NULL, 0, 0, NULL, false},                             \
		{"http", rv_read_http, 0, NULL, 0, 0, http_keys, false},                     \
		{"file", rv_read_path, CHECK_AT(file), NULL, 0, 0, NULL, false},             \
		{"exec", read_exec, CHECK_AT(exec), NULL, 0, 0, NULL, false},                \
	{                                                                                    \
		"attempt-timeout", rv_read_duration, CHECK_AT(attempt_timeout), NULL, RV_MS, \
			LONG_TIME, NULL, false                                               \
	}

static const struct rv_row ready_rows[] = {
	{"fd", read_fd, 0, NULL, 0, 0, NULL, true},
	{"notify", read_notify, 0, NULL, 0, 0, NULL, false},
	{"log-line", read_log_line, 0, NULL, 0, 0, NULL, false},
	{"exit", rv_read_bool, CHECK_AT(exit), NULL, 0, 0, NULL, false},
	{"timeout", rv_read_duration, CHECK_AT(timeout), NULL, RV_MS, LONG_TIME, NULL, false},
	ASKED_ROWS(&rv_http_table),
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
	d->s.ready.file_anew = true;
	d->timeout_given = rv_tree_get(v, "timeout") != NULL;
	rv_read_table(r, &rv_ready_table, v, &d->s.ready);
	if (d->s.ready.fd_auto)
		d->s.ready.fd = r->ready_fd;
}

/* --- health ------------------------------------------------------------------------------------ */

struct health {
	struct rv_check check; /* first: readers of checks fill it */
	rv_time period;
	uint32_t threshold;
	uint8_t on_failure;
};

static rv_words on_failure_words = {"none", "restart", NULL};

#define HEALTH_AT(member) offsetof(struct health, member)
static const struct rv_row health_rows[] = {
	ASKED_ROWS(NULL), /* the keys of http are listed with those of ready */
	{"period", rv_read_duration, HEALTH_AT(period), NULL, 10 * RV_MS, LONG_TIME, NULL, false},
	{"threshold", rv_read_uint, HEALTH_AT(threshold), NULL, 1, 1000000, NULL, false},
	{"on-failure", rv_read_word, HEALTH_AT(on_failure), on_failure_words, 0, 0, NULL, false},
};
const struct rv_table rv_health_table = RV_TABLE(health_rows);

/* True: complained about. */
static bool is_told_once(struct rv_read *r, const struct rv_tree *v)
{
	static const char *const once[] = {"fd", "notify", "log-line"};
	bool any = false;

	for (size_t i = 0; i < 3; i++) {
		const struct rv_tree *k = rv_tree_get(v, once[i]);

		if (k)
			rv_read_complain(r, k->at,
				"cannot be asked by '%s': that is told once and says nothing "
				"later; it "
				"belongs to ready",
				once[i]);
		any |= k != NULL;
	}
	return any;
}

void rv_service_health(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct health h = {.period = 10 * RV_SEC, .threshold = 3, .on_failure = 1};
	struct rv_detail *d = to;
	struct rv_check *k;

	(void)row;
	if (v->kind == RV_TREE_MAP && is_told_once(r, v))
		return;
	h.check.at = v->at;
	if (!rv_read_table(r, &rv_health_table, v, &h))
		return;
	if (h.check.attempt_timeout > h.period)
		rv_read_complain(r, v->at, "has an attempt-timeout above its period");
	if (!h.check.attempt_timeout)
		h.check.attempt_timeout = h.period < 2 * RV_SEC ? h.period : 2 * RV_SEC;
	h.check.timeout = h.period;
	k = rv_arena_alloc(r->arena, sizeof(*k));
	if (!k)
		return;
	*k = h.check;
	d->health = k;
	d->node.health_period = h.period;
	d->node.health_threshold = h.threshold;
	d->node.health_restarts = h.on_failure;
}
