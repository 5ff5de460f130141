/* The keys of one service. */
#include "conf/whole.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include "base/names.h"
#include "base/text.h"

#define AT(member)   offsetof(struct rv_detail, member)
#define LONG_TIME    (366 * 86400 * RV_SEC)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static rv_words startup_words = {"disabled", "enabled", NULL};
static rv_words type_words = {"daemon", "task", NULL};
static rv_words loss_words = {"restart", "stop", "keep", NULL};
static rv_words give_up_words = {"ignore", "shutdown", NULL};
static rv_words override_words = {"replace", NULL};
static rv_words to_words = {"group", "main", "tree", NULL};

/* --- identity and process --------------------------------------------------------------------- */

static void read_plugin(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	(void)row;
	d->plugin_at = v->at;
	if (v->kind != RV_TREE_SCALAR || !rv_conf_is_name(v->text))
		rv_read_refuse(r, v, "the name of a plugin");
	else
		d->s.plugin = rv_read_copy(r, v->text);
}

static void read_command(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	(void)row;
	d->has_command = true;
	d->command_at = v->at;
	d->s.command = rv_read_argv(r, v);
}

static void read_user(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	d->s.user_at = v->at;
	rv_read_string(r, row, v, &d->s.user);
}

static void read_group(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	d->s.group_at = v->at;
	rv_read_string(r, row, v, &d->s.group);
}

static void read_groups(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	d->s.groups_at = v->at;
	rv_read_names(r, row, v, &d->s.groups);
}

static void read_umask(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;
	unsigned mode;

	(void)row;
	if (v->kind == RV_TREE_SCALAR && rv_text_mode(v->text, &mode) && mode <= 0777) {
		d->s.has_umask = true;
		d->s.umask = mode;
	} else {
		rv_read_refuse(r, v, "an octal mode such as \"022\"");
	}
}

static const struct {
	const char *name;
	int resource;
} resources[] = {{"as", RLIMIT_AS}, {"core", RLIMIT_CORE}, {"cpu", RLIMIT_CPU},
	{"data", RLIMIT_DATA}, {"fsize", RLIMIT_FSIZE}, {"locks", RLIMIT_LOCKS},
	{"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
	{"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"rss", RLIMIT_RSS},
	{"rtprio", RLIMIT_RTPRIO}, {"rttime", RLIMIT_RTTIME}, {"sigpending", RLIMIT_SIGPENDING},
	{"stack", RLIMIT_STACK}};

const char *rv_limit_name(int resource)
{
	for (size_t i = 0; i < COUNT(resources); i++)
		if (resources[i].resource == resource)
			return resources[i].name;
	return "?";
}

static void read_amount(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "unlimited"))
		*(uint64_t *)to = UINT64_MAX;
	else if (v->kind != RV_TREE_SCALAR || !rv_text_size(v->text, to))
		rv_read_refuse(r, v, "a number, a size such as 64MiB, or unlimited");
}

static const struct rv_row limit_rows[] = {
	{"soft", read_amount, offsetof(struct rv_limit, soft), NULL, 0, 0, NULL, false},
	{"hard", read_amount, offsetof(struct rv_limit, hard), NULL, 0, 0, NULL, false},
};
static const struct rv_table limit_table = RV_TABLE(limit_rows);

static void read_limit(struct rv_read *r, const struct rv_tree *v, struct rv_limit *l)
{
	if (v->kind == RV_TREE_MAP) {
		if (!rv_tree_get(v, "soft") || !rv_tree_get(v, "hard"))
			rv_read_complain(r, v->at, "needs both soft and hard");
		rv_read_table(r, &limit_table, v, l);
	} else {
		read_amount(r, NULL, v, &l->soft);
		l->hard = l->soft;
	}
	if (l->soft > l->hard)
		rv_read_complain(r, v->at, "has a soft limit above the hard one");
}

static void read_limits(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;
	const char *names[COUNT(resources)];
	struct rv_limit *list;
	char hint[100];

	(void)row;
	if (v->kind != RV_TREE_MAP) {
		rv_read_refuse(r, v, "a map such as {nofile: 1024}");
		return;
	}
	for (size_t i = 0; i < COUNT(resources); i++)
		names[i] = resources[i].name;
	list = rv_arena_array(r->arena, v->count, sizeof(*list));
	for (uint32_t i = 0; list && i < v->count; i++) {
		const struct rv_pair *p = &v->pairs[i];
		size_t k = 0;

		while (k < COUNT(resources) && strcmp(resources[k].name, p->key) != 0)
			k++;
		if (k == COUNT(resources)) {
			rv_read_complain(r, p->at, "has no limit called '%s'%s", p->key,
				rv_read_hint(p->key, names, COUNT(names), hint, sizeof(hint)));
			continue;
		}
		rv_read_enter(r, p->key);
		list[d->s.limit_count].resource = resources[k].resource;
		read_limit(r, p->value, &list[d->s.limit_count++]);
		rv_read_leave(r);
	}
	d->s.limits = list;
}

/* --- environment ------------------------------------------------------------------------------ */

static void read_environment(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	*(const char *const **)to = rv_environ_read_map(r, v);
}

static void read_environment_file(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	const char *path = NULL;

	rv_read_path(r, row, v, &path);
	if (path)
		*(const char *const **)to = rv_environ_read_file(r, path, v->at);
}

static void read_inherit(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "all")) {
		d->inherit = RV_INHERIT_ALL;
	} else if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "none")) {
		d->inherit = RV_INHERIT_NONE;
	} else if (v->kind == RV_TREE_LIST) {
		rv_read_names(r, row, v, &d->inherit_names);
		d->inherit = d->inherit_names ? RV_INHERIT_NAMES : RV_INHERIT_NONE;
	} else {
		rv_read_refuse(r, v, "all, none or a list of names");
	}
}

/* --- ports and listeners ---------------------------------------------------------------------- */

static void read_ports(
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

static void keep_tree(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)r;
	(void)row;
	*(const struct rv_tree **)to = v;
}

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
	{"tcp", keep_tree, LISTEN_AT(tcp), NULL, 0, 0, NULL, false},
	{"unix", keep_tree, LISTEN_AT(unix_path), NULL, 0, 0, NULL, false},
	{"mode", read_listen_mode, 0, NULL, 0, 0, NULL, false},
	{"owner", rv_read_string, LISTEN_AT(l.owner), NULL, 0, 0, NULL, false},
	{"group", rv_read_string, LISTEN_AT(l.group), NULL, 0, 0, NULL, false},
	{"backlog", rv_read_uint, LISTEN_AT(backlog), NULL, 0, 65535, NULL, false},
};
static const struct rv_table listen_table = RV_TABLE(listen_rows);

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

	if (!rv_read_table(r, &listen_table, v, &raw))
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

static void read_listen(
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
	if ((strncmp(s, "http://", 7) != 0 || !s[7]) && (strncmp(s, "https://", 8) != 0 || !s[8]))
		rv_read_refuse(r, v, "a URL that begins with http:// or https://");
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
	{"tcp", read_ready_tcp, 0, NULL, 0, 0, NULL, false},
	{"http", read_http, 0, NULL, 0, 0, &http_table, false},
	{"exec", read_exec, CHECK_AT(exec), NULL, 0, 0, NULL, false},
	{"timeout", rv_read_duration, CHECK_AT(timeout), NULL, RV_MS, LONG_TIME, NULL, false},
	{"attempt-timeout", rv_read_duration, CHECK_AT(attempt_timeout), NULL, RV_MS, LONG_TIME,
		NULL, false},
};
static const struct rv_table ready_table = RV_TABLE(ready_rows);

/* Only what gives the descriptor its number: done first, since others may refer to it. */
static void number_ready_fd(struct rv_read *r, const struct rv_tree *service)
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

static void read_ready(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	(void)row;
	d->s.ready.at = v->at;
	d->timeout_given = rv_tree_get(v, "timeout") != NULL;
	rv_read_table(r, &ready_table, v, &d->s.ready);
	if (d->s.ready.fd_auto)
		d->s.ready.fd = r->ready_fd;
}

/* --- restart, stop, log ----------------------------------------------------------------------- */

static bool restart_word(const char *s, uint8_t *on)
{
	static const char *const words[] = {"never", "failure", "always"};

	for (uint8_t i = 0; i < COUNT(words); i++) {
		if (!strcmp(s, words[i])) {
			*on = i;
			return true;
		}
	}
	*on = RV_RESTART_NEVER;
	return !strcmp(s, "no");
}

static void read_restart_on(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;
	uint8_t on;

	(void)row;
	d->restart_given = true;
	if (v->kind == RV_TREE_SCALAR && restart_word(v->text, &on))
		d->node.restart_on = on;
	else
		rv_read_refuse(r, v, "never (or no), failure or always");
}

static const struct rv_row restart_rows[] = {
	{"on", read_restart_on, 0, NULL, 0, 0, NULL, false},
	{"delay", rv_read_duration, AT(node.delay), NULL, 0, LONG_TIME, NULL, false},
	{"factor", rv_read_factor, AT(node.factor_milli), NULL, 1000, 100000, NULL, false},
	{"max-delay", rv_read_duration, AT(node.max_delay), NULL, 0, LONG_TIME, NULL, false},
	{"limit", rv_read_uint, AT(node.limit), NULL, 0, 1000000, NULL, false},
	{"window", rv_read_duration, AT(node.window), NULL, RV_MS, LONG_TIME, NULL, false},
};
static const struct rv_table restart_table = RV_TABLE(restart_rows);

static void read_restart(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	if (v->kind == RV_TREE_SCALAR) {
		read_restart_on(r, row, v, to);
		return;
	}
	rv_read_table(r, &restart_table, v, to);
	if (d->node.max_delay < d->node.delay) {
		if (rv_tree_get(v, "max-delay"))
			rv_read_complain(r, v->at, "has a max-delay below its delay");
		else
			d->node.max_delay = d->node.delay;
	}
}

static void read_signal(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	int n = v->kind == RV_TREE_SCALAR ? rv_signal_from_name(v->text) : 0;

	(void)row;
	if (n)
		*(int32_t *)to = n;
	else
		rv_read_refuse(r, v, "a signal such as TERM, INT or QUIT");
}

#define STEP_AT(member) offsetof(struct rv_step, member)
static const struct rv_row step_rows[] = {
	{"signal", read_signal, STEP_AT(signal), NULL, 0, 0, NULL, false},
	{"timeout", rv_read_duration, STEP_AT(timeout), NULL, 0, LONG_TIME, NULL, false},
	{"to", rv_read_word, STEP_AT(to), to_words, 0, 0, NULL, false},
};
static const struct rv_table step_table = RV_TABLE(step_rows);

static void read_steps(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;
	struct rv_step *steps;

	(void)row;
	if (v->kind != RV_TREE_LIST || v->count > 100) {
		rv_read_refuse(r, v, "a list of at most 100 steps");
		return;
	}
	steps = rv_arena_array(r->arena, v->count, sizeof(*steps));
	if (!steps)
		return;
	for (uint32_t i = 0; i < v->count; i++) {
		steps[i] = (struct rv_step){SIGTERM, RV_TO_GROUP, 5 * RV_SEC};
		rv_read_table(r, &step_table, v->items[i], &steps[i]);
	}
	d->steps = steps;
	d->node.step_count = v->count;
}

/* Either the keys of one step, or `steps`. */
static const struct rv_row stop_rows[] = {
	{"signal", read_signal, STEP_AT(signal), NULL, 0, 0, NULL, false},
	{"timeout", rv_read_duration, STEP_AT(timeout), NULL, 0, LONG_TIME, NULL, false},
	{"to", rv_read_word, STEP_AT(to), to_words, 0, 0, NULL, false},
	{"steps", NULL, 0, NULL, 0, 0, &step_table, false},
};
static const struct rv_table stop_table = RV_TABLE(stop_rows);
static const struct rv_row steps_rows[] = {
	{"steps", read_steps, 0, NULL, 0, 0, &step_table, false},
};
static const struct rv_table steps_table = RV_TABLE(steps_rows);

static void read_stop(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;
	const struct rv_tree *steps = rv_tree_get(v, "steps");

	(void)row;
	if (!steps) {
		struct rv_step *one = rv_arena_alloc(r->arena, sizeof(*one));

		if (!one)
			return;
		*one = (struct rv_step){SIGTERM, RV_TO_GROUP, 5 * RV_SEC};
		rv_read_table(r, &stop_table, v, one);
		d->steps = one;
		d->node.step_count = 1;
	} else if (v->count > 1) {
		rv_read_complain(r, v->at,
			"has steps and other keys: signal, timeout and to belong "
			"into the steps");
	} else {
		rv_read_table(r, &steps_table, v, d);
	}
}

static void read_log_file(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	d->log_given = true;
	if (rv_tree_is_null(v)) {
		d->s.log.kind = RV_LOG_NULL;
	} else if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "-")) {
		d->s.log.kind = RV_LOG_INHERIT;
	} else {
		d->s.log.kind = RV_LOG_FILE;
		rv_read_path(r, row, v, &d->s.log.path);
	}
}

static const struct rv_row log_rows[] = {
	{"file", read_log_file, 0, NULL, 0, 0, NULL, false},
	{"max-size", rv_read_size, AT(s.log.max_size), NULL, 0, 0, NULL, false},
	{"keep", rv_read_uint, AT(s.log.keep), NULL, 0, 10000, NULL, false},
};
static const struct rv_table log_table = RV_TABLE(log_rows);

static void read_log(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	if (v->kind == RV_TREE_SCALAR)
		read_log_file(r, row, v, to);
	else
		rv_read_table(r, &log_table, v, to);
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct rv_row service_rows[] = {
	{"plugin", read_plugin, 0, NULL, 0, 0, NULL, false},
	{"summary", rv_read_string, AT(s.summary), NULL, 0, 0, NULL, false},
	{"startup", rv_read_word, AT(startup), startup_words, 0, 0, NULL, false},
	{"type", rv_read_word, AT(type), type_words, 0, 0, NULL, false},
	{"essential", rv_read_bool, AT(s.essential), NULL, 0, 0, NULL, false},
	{"command", read_command, 0, NULL, 0, 0, NULL, false},
	{"needs", keep_tree, AT(needs), NULL, 0, 0, &rv_needs_table, false},
	{"wants", keep_tree, AT(wants), NULL, 0, 0, NULL, false},
	{"after", keep_tree, AT(after), NULL, 0, 0, NULL, false},
	{"on-dependency-loss", rv_read_word, AT(node.on_loss), loss_words, 0, 0, NULL, false},
	{"user", read_user, 0, NULL, 0, 0, NULL, false},
	{"group", read_group, 0, NULL, 0, 0, NULL, false},
	{"groups", read_groups, 0, NULL, 0, 0, NULL, false},
	{"umask", read_umask, 0, NULL, 0, 0, NULL, false},
	{"limits", read_limits, 0, NULL, 0, 0, NULL, false},
	{"working-dir", rv_read_path, AT(s.working_dir), NULL, 0, 0, NULL, false},
	{"environment", read_environment, AT(own_env), NULL, 0, 0, NULL, false},
	{"environment-file", read_environment_file, AT(file_env), NULL, 0, 0, NULL, false},
	{"inherit-environment", read_inherit, 0, NULL, 0, 0, NULL, false},
	{"ports", read_ports, 0, NULL, 0, 0, NULL, false},
	{"listen", read_listen, 0, NULL, 0, 0, &listen_table, true},
	{"ready", read_ready, 0, NULL, 0, 0, &ready_table, false},
	{"restart", read_restart, 0, NULL, 0, 0, &restart_table, false},
	{"start-attempts", rv_read_uint, AT(node.start_attempts), NULL, 1, 1000000, NULL, false},
	{"on-give-up", rv_read_word, AT(node.give_up_ends), give_up_words, 0, 0, NULL, false},
	{"stop", read_stop, 0, NULL, 0, 0, &stop_table, false},
	{"log", read_log, 0, NULL, 0, 0, &log_table, false},
	{"options", keep_tree, AT(options), NULL, 0, 0, NULL, false},
	{"override", rv_read_word, AT(override_word), override_words, 0, 0, NULL, false},
};
const struct rv_table rv_service_table = RV_TABLE(service_rows);

void rv_detail_init(struct rv_detail *d)
{
	static const struct rv_step term = {SIGTERM, RV_TO_GROUP, 5 * RV_SEC};

	*d = (struct rv_detail){.startup = 1};
	d->s.plugin = "exec";
	d->s.essential = true;
	d->s.ready.timeout = 30 * RV_SEC;
	d->s.ready.attempt_timeout = 2 * RV_SEC;
	d->s.log = (struct rv_log_conf){.kind = RV_LOG_FILE, .max_size = 10 << 20, .keep = 5};
	d->node = (struct rv_node){.present = true,
		.restart_on = RV_RESTART_FAILURE,
		.start_attempts = 1,
		.delay = 200 * RV_MS,
		.factor_milli = 2000,
		.max_delay = 30 * RV_SEC,
		.limit = 5,
		.window = 60 * RV_SEC,
		.stop_hook_timeout = 5 * RV_SEC,
		.cleanup_timeout = 10 * RV_SEC,
		.step_count = 1};
	d->steps = &term;
}

void rv_detail_read(struct rv_read *r, struct rv_detail *d, const struct rv_pair *p)
{
	rv_detail_init(d);
	d->s.name = rv_read_copy(r, p->key);
	d->s.at = p->at;
	d->plugin_at = p->at;
	r->service = d->s.name;
	r->depth = 0;
	r->listen = NULL;
	r->listen_count = 0;
	r->ready_fd = -1;
	if (!rv_conf_is_name(p->key))
		rv_complain(r->c, p->at,
			"'%s' is no name for a service: use letters, digits, '-', "
			"'_', '.' and '@', at most 100, not '-' or '.' first",
			p->key);
	if (rv_tree_is_null(p->value)) {
		rv_complain(r->c, p->at, "service '%s' is empty", p->key);
	} else {
		number_ready_fd(r, p->value);
		rv_read_table(r, &rv_service_table, p->value, d);
	}
	d->s.enabled = d->node.enabled = d->startup;
	d->node.essential = d->s.essential;
	d->s.type = (enum rv_type)d->type;
	d->node.type = d->type;
	d->node.ready_timeout = d->s.ready.timeout;
}
