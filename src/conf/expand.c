/* ${listen.NAME.fd} ${listen.NAME.port} ${ready.fd} ${env.NAME} ${env.NAME:-default}
 *
 * Done once, while reading. "$${" is a literal "${"; every other $ and % is literal. What an
 * environment variable brings is data: it is not looked at again. */
#include "conf/schema.h"

#include <string.h>

struct part {
	const char *s; /* what stands between ${ and } */
	size_t n;
};

static bool is_word(struct part p)
{
	const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	if (!p.n || (*p.s >= '0' && *p.s <= '9'))
		return false;
	for (size_t i = 0; i < p.n; i++)
		if (!strchr(letters, p.s[i]))
			return false;
	return true;
}

static bool begins(struct part *p, const char *with)
{
	size_t n = strlen(with);

	if (p->n < n || memcmp(p->s, with, n) != 0)
		return false;
	p->s += n;
	p->n -= n;
	return true;
}

static bool ends(struct part *p, const char *with)
{
	size_t n = strlen(with);

	if (p->n < n || memcmp(p->s + p->n - n, with, n) != 0)
		return false;
	p->n -= n;
	return true;
}

static const char *variable(const struct rv_read *r, struct part name)
{
	for (const char *const *e = r->environ; e && *e; e++)
		if (!strncmp(*e, name.s, name.n) && (*e)[name.n] == '=')
			return *e + name.n + 1;
	return NULL;
}

static bool add_variable(
	struct rv_read *r, const struct rv_tree *v, struct part p, struct rv_buf *to)
{
	const char *colon = memchr(p.s, ':', p.n), *value;
	struct part name = p, preset = {0};

	if (colon) {
		name.n = (size_t)(colon - p.s);
		preset = (struct part){colon, p.n - name.n};
	}
	if (!is_word(name) || (colon && !begins(&preset, ":-"))) {
		rv_read_complain(r, v->at,
			"has a malformed ${env...}: write ${env.NAME} or "
			"${env.NAME:-default}");
		return false;
	}
	value = variable(r, name);
	if (colon && (!value || !*value))
		return rv_buf_add(to, preset.s, preset.n);
	if (value) {
		rv_secret_note(r, name.s, name.n, value);
		return rv_buf_str(to, value);
	}
	rv_read_complain(r, v->at,
		"uses ${env.%.*s}, but reeve's environment has no %.*s "
		"(${env.%.*s:-default} would do)",
		(int)name.n, name.s, (int)name.n, name.s, (int)name.n, name.s);
	return false;
}

static bool add_listen(struct rv_read *r, const struct rv_tree *v, struct part p, struct rv_buf *to)
{
	bool fd = ends(&p, ".fd");
	const struct rv_listen *l = r->listen;
	const char *names[32];
	char hint[200], name[101];
	size_t n = 0;

	if (!fd && !ends(&p, ".port")) {
		rv_read_complain(r, v->at,
			"has a malformed ${listen...}: write ${listen.NAME.fd} or "
			"${listen.NAME.port}");
		return false;
	}
	for (; l && l < r->listen + r->listen_count; l++) {
		if (strlen(l->name) == p.n && !memcmp(l->name, p.s, p.n)) {
			if (!fd && l->family == RV_UNIX)
				break;
			return rv_buf_fmt(to, "%d", fd ? l->fd : (int)l->port);
		}
		if (n < sizeof(names) / sizeof(names[0]))
			names[n++] = l->name;
	}
	if (l && l < r->listen + r->listen_count) {
		rv_read_complain(r, v->at, "uses the port of listener '%s', which is a UNIX socket",
			l->name);
		return false;
	}
	if (p.n >= sizeof(name))
		p.n = sizeof(name) - 1;
	memcpy(name, p.s, p.n);
	name[p.n] = 0;
	rv_read_complain(r, v->at, "uses listener '%s', which is not declared here%s", name,
		rv_read_hint(name, names, n, hint, sizeof(hint)));
	return false;
}

static bool add_reference(
	struct rv_read *r, const struct rv_tree *v, struct part p, struct rv_buf *to)
{
	static const char *const known[] = {
		"env.NAME", "listen.NAME.fd", "listen.NAME.port", "ready.fd"};
	char hint[200], name[41];
	struct part whole = p;

	if (begins(&p, "env."))
		return add_variable(r, v, p, to);
	if (begins(&p, "listen."))
		return add_listen(r, v, p, to);
	if (p.n == 8 && begins(&p, "ready.fd")) {
		if (r->ready_fd >= 0)
			return rv_buf_fmt(to, "%d", r->ready_fd);
		rv_read_complain(r, v->at, "uses ${ready.fd}, but no ready.fd is declared here");
		return false;
	}
	if (whole.n >= sizeof(name))
		whole.n = sizeof(name) - 1;
	memcpy(name, whole.s, whole.n);
	name[whole.n] = 0;
	rv_read_complain(r, v->at, "uses ${%s}, which is unknown%s; a literal ${ is written $${",
		name,
		rv_read_hint(name + strspn(name, " "), known, sizeof(known) / sizeof(known[0]),
			hint, sizeof(hint)));
	return false;
}

static bool expand(struct rv_read *r, const struct rv_tree *v, const char *s, struct rv_buf *to)
{
	bool good = true;

	while (*s) {
		size_t plain = strcspn(s, "$");
		const char *end;

		rv_buf_add(to, s, plain);
		s += plain;
		if (!strncmp(s, "$${", 3)) {
			rv_buf_str(to, "${");
			s += 3;
			continue;
		}
		if (strncmp(s, "${", 2) != 0) {
			rv_buf_add(to, s, *s ? 1 : 0);
			s += *s ? 1 : 0;
			continue;
		}
		s += 2;
		end = s + strcspn(s, "}${");
		if (*end != '}') {
			rv_read_complain(r, v->at,
				strchr(s, '}')
					? "has a ${ with $ or { before its }: neither may stand "
					  "inside"
					: "has a ${ without its }; a literal ${ is written $${");
			good = false;
			/* What follows may be good or bad for itself, but not what this one swallowed. */
			s = strchr(s, '}');
			if (!s)
				break;
			s++;
			continue;
		}
		good = add_reference(r, v, (struct part){s, (size_t)(end - s)}, to) && good;
		s = end + 1;
	}
	return good;
}

const char *rv_read_expand(struct rv_read *r, const struct rv_tree *v, const char *text)
{
	struct rv_buf to = {0};
	const char *result = NULL;

	if (v->style == RV_TREE_EXACT || !strstr(text, "${"))
		return rv_read_copy(r, text);
	if (expand(r, v, text, &to)) {
		if (to.full)
			r->arena->full = true;
		result = rv_read_copy(r, rv_buf_text(&to));
	}
	rv_buf_fini(&to);
	return result;
}
