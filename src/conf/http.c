/* A check by HTTP: what is asked, and which answers are wanted. */
#include "conf/whole.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define LONG_TIME (366 * 86400 * RV_SEC)

/* --- what is asked ---------------------------------------------------------------------------- */

/* NULL: an HTTP client can ask it. What it would refuse is a mistake of the file, and not of the service. */
static const char *url_flaw(const char *s)
{
	size_t len = strcspn(s + 7, "/?#"), host;
	const char *at = memrchr(s + 7, '@', len), *from = at ? at + 1 : s + 7, *end = s + 7 + len;
	unsigned long port = 0;

	for (const char *c = s; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return "a URL without blanks and control characters (a blank is written "
			       "%20)";
	host = *from == '[' ? strcspn(from, "]/?#") + 1 : strcspn(from, ":/?#");
	if (!host || (*from == '[' && (from + host > end || from[host - 1] != ']')))
		return "a URL that names a host, such as \"http://127.0.0.1:8080/health\"";
	from += host;
	if (from == end)
		return NULL;
	if (*from++ == ':')
		while (from < end && *from >= '0' && *from <= '9' && port <= 65535)
			port = port * 10 + (unsigned long)(*from++ - '0');
	if (from != end || port < 1 || port > 65535)
		return "a URL whose port is a number from 1 to 65535";
	return NULL;
}

static void read_url(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_want *w = to;
	const char *s = rv_read_scalar(r, v, "a URL");

	(void)row;
	s = s ? rv_read_expand(r, v, s) : NULL;
	if (!s)
		return;
	if (strncmp(s, "http://", 7) != 0 || !s[7])
		rv_read_refuse(r, v, "a URL that begins with http:// (reeve speaks no TLS)");
	else if (url_flaw(s))
		rv_read_refuse(r, v, url_flaw(s));
	else
		w->url = s;
}

static const char *const methods[] = {
	"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", NULL};

static void read_method(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	for (size_t i = 0; v->kind == RV_TREE_SCALAR && methods[i]; i++)
		if (!strcmp(methods[i], v->text)) {
			*(const char **)to = methods[i];
			return;
		}
	rv_read_refuse(r, v, "GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS");
}

static bool is_token(const char *s)
{
	size_t n = strspn(
		s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~");

	return n && !s[n];
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if (((unsigned char)*s < ' ' && *s != '\t') || *s == 127)
			return true;
	return false;
}

/* Its value may be a secret: no message shows it. NULL: refused. */
static const char *read_header(struct rv_read *r, const struct rv_pair *p)
{
	const struct rv_tree *v = p->value;
	const char *s;

	if (!is_token(p->key)) {
		rv_read_complain(r, p->at, "has a header '%s', which is no name of one", p->key);
		return NULL;
	}
	if (!strcasecmp(p->key, "Content-Length") || !strcasecmp(p->key, "Transfer-Encoding")) {
		rv_read_complain(r, p->at, "has the header %s, which reeve itself sets", p->key);
		return NULL;
	}
	if (v->kind != RV_TREE_SCALAR) {
		rv_read_complain(r, v->at, "needs a string as the value of %s", p->key);
		return NULL;
	}
	s = rv_read_expand(r, v, v->text);
	if (s && (!*s || has_control(s))) {
		rv_read_complain(r, v->at, "has %s for the header %s",
			*s ? "a control character in the value" : "an empty value", p->key);
		return NULL;
	}
	return s ? rv_arena_fmt(r->arena, "%s: %s", p->key, s) : NULL;
}

static void read_headers(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	const char **list;
	size_t n = 0;

	(void)row;
	if (v->kind != RV_TREE_MAP || v->count > RV_WANT_HEADERS) {
		rv_read_refuse(r, v, "a map of at most 64 headers such as {Accept: text/plain}");
		return;
	}
	list = rv_arena_array(r->arena, (size_t)v->count + 1, sizeof(*list));
	for (uint32_t i = 0; list && i < v->count; i++) {
		for (uint32_t k = 0; k < i; k++)
			if (!strcasecmp(v->pairs[k].key, v->pairs[i].key))
				rv_read_complain(
					r, v->pairs[i].at, "has %s twice", v->pairs[i].key);
		list[n] = read_header(r, &v->pairs[i]);
		n += list[n] != NULL;
	}
	*(const char *const **)to = list;
}

static void read_send(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	const char *s = rv_read_is_text(r, v) ? rv_read_expand(r, v, v->text) : NULL;

	(void)row;
	if (s && strlen(s) > RV_WANT_SEND)
		rv_read_complain(r, v->at, "is too long: at most 64KiB");
	*(const char **)to = s;
}

/* --- which statuses --------------------------------------------------------------------------- */

static bool one_status(const char *s, uint16_t *to)
{
	if (*s < '1' || *s > '5' || strspn(s, "0123456789") < 3)
		return false;
	*to = (uint16_t)((s[0] - '0') * 100 + (s[1] - '0') * 10 + (s[2] - '0'));
	return true;
}

/* "204", "2xx", "200-299" */
static bool read_status(const struct rv_tree *v, struct rv_statuses *to)
{
	const char *s = v->kind == RV_TREE_SCALAR ? v->text : "";

	if (*s >= '1' && *s <= '5' && !strcmp(s + 1, "xx")) {
		to->from = (uint16_t)((*s - '0') * 100);
		to->to = (uint16_t)(to->from + 99);
		return true;
	}
	if (!one_status(s, &to->from))
		return false;
	to->to = to->from;
	return !s[3] || (s[3] == '-' && one_status(s + 4, &to->to) && !s[7] && to->to >= to->from);
}

static void read_statuses(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	const struct rv_tree *const *items = v->kind == RV_TREE_LIST ? v->items : &v;
	uint32_t count = v->kind == RV_TREE_LIST ? v->count : 1;
	struct rv_status_list *list = to;
	struct rv_statuses *at;

	(void)row;
	if (!count || count > RV_WANT_STATUSES) {
		rv_read_complain(r, v->at, "needs 1 to %d statuses", RV_WANT_STATUSES);
		return;
	}
	at = rv_arena_array(r->arena, count, sizeof(*at));
	for (uint32_t i = 0; at && i < count; i++) {
		if (read_status(items[i], &at[list->count]))
			list->count++;
		else
			rv_read_refuse(r, items[i], "a status such as 204, 2xx or 200-299");
	}
	list->at = at;
}

/* --- the whole -------------------------------------------------------------------------------- */

static rv_words mismatch_words = {"fail", "retry", NULL};

#define WANT_AT(member) offsetof(struct rv_want, member)
static const struct rv_row http_rows[] = {
	{"url", read_url, 0, NULL, 0, 0, NULL, false},
	{"method", read_method, WANT_AT(method), NULL, 0, 0, NULL, false},
	{"headers", read_headers, WANT_AT(headers), NULL, 0, 0, NULL, false},
	{"send", read_send, WANT_AT(send), NULL, 0, 0, NULL, false},
	{"timeout", rv_read_duration, WANT_AT(timeout), NULL, RV_MS, LONG_TIME, NULL, false},
	{"status", read_statuses, WANT_AT(status), NULL, 0, 0, NULL, false},
	{"retry-status", read_statuses, WANT_AT(retry), NULL, 0, 0, NULL, false},
	{"fail-status", read_statuses, WANT_AT(fail), NULL, 0, 0, NULL, false},
	{"body", rv_read_want_body, WANT_AT(body), NULL, 0, 0, NULL, false},
	{"json", rv_read_want_json, 0, NULL, 0, 0, NULL, false},
	{"regex", rv_read_want_regex, WANT_AT(regex), NULL, 0, 0, NULL, false},
	{"on-mismatch", rv_read_word, WANT_AT(patient), mismatch_words, 0, 0, NULL, false},
};
const struct rv_table rv_http_table = RV_TABLE(http_rows);

static const struct rv_statuses *shared(struct rv_status_list a, struct rv_status_list b)
{
	for (uint32_t i = 0; i < a.count; i++)
		for (uint32_t k = 0; k < b.count; k++)
			if (a.at[i].from <= b.at[k].to && b.at[k].from <= a.at[i].to)
				return a.at[i].from > b.at[k].from ? &a.at[i] : &b.at[k];
	return NULL;
}

static void refuse_shared(struct rv_read *r, const struct rv_tree *v, struct rv_status_list a,
	const char *one, struct rv_status_list b, const char *other)
{
	const struct rv_statuses *s = shared(a, b);

	if (s)
		rv_read_complain(
			r, v->at, "has %u in both %s and %s", (unsigned)s->from, one, other);
}

static void check_http(struct rv_read *r, const struct rv_tree *v, const struct rv_want *w)
{
	static const struct rv_statuses preset = {200, 299};
	struct rv_status_list status = w->status;
	bool head = w->method && !strcmp(w->method, "HEAD");

	if (!status.count)
		status = (struct rv_status_list){&preset, 1};
	if (!w->url && !rv_tree_get(v, "url"))
		rv_read_complain(r, v->at, "needs a url");
	refuse_shared(r, v, status, "status", w->retry, "retry-status");
	refuse_shared(r, v, status, "status", w->fail, "fail-status");
	refuse_shared(r, v, w->retry, "retry-status", w->fail, "fail-status");
	if (head && (w->body || w->json_count || w->regex))
		rv_read_complain(r, v->at, "wants a body, but answers to HEAD have none");
	if (w->send && w->method && (head || !strcmp(w->method, "GET")))
		rv_read_complain(r, v->at, "sends a body with %s: write method: POST", w->method);
	if (rv_tree_get(v, "on-mismatch") && !w->body && !w->json_count && !w->regex)
		rv_read_complain(r, v->at,
			"has on-mismatch, but no body, json or regex that could be wrong");
}

void rv_read_http(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_want *w = rv_arena_alloc(r->arena, sizeof(*w));
	struct rv_check *k = to;

	(void)row;
	if (!w)
		return;
	if (v->kind == RV_TREE_SCALAR) {
		read_url(r, NULL, v, w);
	} else {
		if (!rv_read_table(r, &rv_http_table, v, w))
			return;
		check_http(r, v, w);
	}
	if (!w->method)
		w->method = w->send ? "POST" : "GET";
	/* With these a server waits for a body, or for the word that there is none. */
	if (!w->send && *w->method == 'P')
		w->send = "";
	k->http = w->url ? w : NULL;
	k->http_url = w->url;
	if (w->url)
		rv_address_of_url(w->url, &k->http_at);
}
