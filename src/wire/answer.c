/* Judging an answer: see answer.h. */
#include "wire/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cJSON.h>

#include "base/buf.h"
#include "base/regex.h"
#include "base/text.h"

enum {
	URL_SHOWN = 300, /* bytes of it in a sentence */
	SHOWN = 80, /* of a body, or of what it should be */
	SECRET_LEAST = 4, /* shorter ones are in every text */
};

/* ---- words ----------------------------------------------------------------------------------- */

static void hide(char *text, size_t *n, const char *secret, size_t len)
{
	char *at = text;

	if (len < SECRET_LEAST)
		return;
	while ((at = memmem(at, *n - (size_t)(at - text), secret, len))) {
		memset(at, '*', 3);
		memmove(at + 3, at + len, *n - (size_t)(at - text) - len);
		*n -= len - 3;
		at += 3;
	}
}

/* What we sent is nobody's to read; a server may send it back to us. */
static void hide_sent(const struct rv_want *w, char *text, size_t *n)
{
	for (size_t i = 0; w->headers && w->headers[i]; i++) {
		const char *value = strchr(w->headers[i], ':'), *last;

		if (!value)
			continue;
		value += 1 + strspn(value + 1, " ");
		last = strrchr(value, ' '); /* "Bearer s3cret" */
		hide(text, n, value, strlen(value));
		if (last)
			hide(text, n, last + 1, strlen(last + 1));
	}
	if (w->send)
		hide(text, n, w->send, strlen(w->send));
}

static void quote(struct rv_buf *to, const char *text, size_t n)
{
	rv_buf_str(to, "\"");
	for (size_t i = 0, end; i < n && i < SHOWN; i = end + 1) {
		/* A newline would break the sentence; all else that is no letter is made visible. */
		for (end = i; end < n && end < SHOWN && text[end] != '\n';)
			end++;
		rv_text_visible(to, text + i, end - i);
		if (end < n && end < SHOWN)
			rv_buf_str(to, "\\n");
	}
	rv_buf_str(to, n > SHOWN ? "...\"" : "\"");
}

/* A piece of the answer. */
static void quote_answer(struct rv_buf *to, const struct rv_want *w, const char *text, size_t n)
{
	char *copy = malloc(n + 1);

	if (!copy) {
		rv_buf_str(to, "\"...\"");
		return;
	}
	memcpy(copy, text, n);
	hide_sent(w, copy, &n);
	quote(to, copy, n);
	free(copy);
}

/* ---- the status ------------------------------------------------------------------------------ */

static bool is_in(struct rv_status_list list, int status)
{
	for (uint32_t i = 0; i < list.count; i++)
		if (status >= list.at[i].from && status <= list.at[i].to)
			return true;
	return false;
}

static enum rv_verdict judge_status(const struct rv_want *w, int status)
{
	if (w->status.count ? is_in(w->status, status) : status >= 200 && status <= 299)
		return RV_OK;
	if (is_in(w->retry, status))
		return RV_RETRY;
	if (is_in(w->fail, status))
		return RV_FAIL;
	return status == 429 || status >= 500 ? RV_RETRY : RV_FAIL;
}

static void tell_expected(struct rv_buf *to, struct rv_status_list list)
{
	rv_buf_str(to, ", expected ");
	if (!list.count)
		rv_buf_str(to, "2xx");
	for (uint32_t i = 0; i < list.count; i++) {
		const struct rv_statuses *s = &list.at[i];

		rv_buf_str(to, i ? i + 1 < list.count ? ", " : " or " : "");
		if (s->from % 100 == 0 && s->to == s->from + 99)
			rv_buf_fmt(to, "%dxx", s->from / 100);
		else if (s->from == s->to)
			rv_buf_fmt(to, "%d", s->from);
		else
			rv_buf_fmt(to, "%d-%d", s->from, s->to);
	}
}

/* ---- the body -------------------------------------------------------------------------------- */

/* One step of a path: the key is unescaped into `key`. Returns what follows; NULL: too long. */
static const char *next_key(const char *path, char *key, size_t size)
{
	size_t n = 0;

	for (path++; *path && *path != '/'; path++) {
		if (n + 1 == size)
			return NULL;
		key[n] = *path;
		if (*path == '~' && path[1])
			key[n] = *++path == '1' ? '/' : '~';
		n++;
	}
	key[n] = 0;
	return path;
}

static const cJSON *find(const cJSON *json, const char *path)
{
	char key[1024];

	while (json && path && *path) {
		path = next_key(path, key, sizeof(key));
		json = path && cJSON_IsObject(json) ? cJSON_GetObjectItemCaseSensitive(json, key)
						    : NULL;
	}
	return json;
}

static bool equals(const cJSON *json, const struct rv_member *m)
{
	switch ((enum rv_member_kind)m->kind) {
	case RV_MEMBER_THERE: break;
	case RV_MEMBER_STRING: return cJSON_IsString(json) && !strcmp(json->valuestring, m->value);
	case RV_MEMBER_NUMBER:
		return cJSON_IsNumber(json) && !(json->valuedouble < strtod(m->value, NULL)) &&
			!(json->valuedouble > strtod(m->value, NULL));
	case RV_MEMBER_BOOL: return cJSON_IsBool(json) && cJSON_IsTrue(json) == (*m->value == 't');
	}
	return true;
}

/* Only scalars are shown: what is within others may be what was sent, written in another way. */
static void tell_found(struct rv_buf *to, const struct rv_want *w, const cJSON *json)
{
	if (cJSON_IsString(json))
		quote_answer(to, w, json->valuestring, strlen(json->valuestring));
	else if (cJSON_IsNumber(json))
		rv_buf_fmt(to, "%.15g", json->valuedouble);
	else if (cJSON_IsBool(json))
		rv_buf_str(to, cJSON_IsTrue(json) ? "true" : "false");
	else
		rv_buf_str(to,
			cJSON_IsNull(json)	      ? "null"
				: cJSON_IsArray(json) ? "a list"
						      : "an object");
}

static void tell_member(
	struct rv_buf *to, const struct rv_want *w, const struct rv_member *m, const cJSON *json)
{
	rv_buf_fmt(to, json ? " with %.200s " : " without the member %.200s", m->path);
	if (json)
		tell_found(to, w, json);
	if (m->kind == RV_MEMBER_THERE)
		return;
	rv_buf_str(to, json ? ", expected " : ", expected to be ");
	if (m->kind == RV_MEMBER_STRING)
		quote(to, m->value, strlen(m->value));
	else
		rv_buf_str(to, m->value);
}

static bool judge_json(const struct rv_want *w, const struct rv_answer *a, struct rv_buf *why)
{
	cJSON *json = a->cut ? NULL : cJSON_ParseWithLength(a->body, a->body_len);
	bool good = cJSON_IsObject(json);

	if (!good)
		rv_buf_str(why,
			a->cut ? " with a body that is too long to be read as JSON"
			       : " with a body that is no JSON object: ");
	if (!good && !a->cut)
		quote_answer(why, w, a->body, a->body_len);
	for (uint32_t i = 0; good && i < w->json_count; i++) {
		const cJSON *found = find(json, w->json[i].path);

		good = found && equals(found, &w->json[i]);
		if (!good)
			tell_member(why, w, &w->json[i], found);
	}
	cJSON_Delete(json);
	return good;
}

static bool judge_regex(const struct rv_want *w, const struct rv_answer *a, struct rv_buf *why)
{
	struct rv_arena arena = {0};
	struct rv_err e;
	const struct rv_regex *x = rv_regex_compile(&arena, w->regex, &e);
	bool good = x && rv_regex_match(x, a->body, a->body_len, a->cut ? RV_REGEX_NOT_EOL : 0);

	rv_arena_fini(&arena);
	if (good)
		return true;
	if (!x) {
		rv_buf_fmt(why, ", but its body cannot be judged: %s", e.text);
		return false;
	}
	rv_buf_str(why, " with the body ");
	quote_answer(why, w, a->body, a->body_len);
	rv_buf_str(why, ", which has no match for ");
	quote(why, w->regex, strlen(w->regex));
	return false;
}

static bool judge_body(const struct rv_want *w, const struct rv_answer *a, struct rv_buf *why)
{
	size_t n = w->body ? strlen(w->body) : 0;

	if (w->body && (a->cut || a->body_len != n || memcmp(a->body, w->body, n) != 0)) {
		rv_buf_str(why, " with the body ");
		quote_answer(why, w, a->body, a->body_len);
		rv_buf_str(why, ", expected ");
		quote(why, w->body, n);
		return false;
	}
	return (!w->json_count || judge_json(w, a, why)) && (!w->regex || judge_regex(w, a, why));
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum rv_verdict judge(const struct rv_want *w, const struct rv_answer *a, struct rv_buf *why)
{
	enum rv_verdict v;

	if (*a->error) {
		rv_buf_fmt(why, ": %s", a->error);
		return a->hopeless ? RV_FAIL : RV_RETRY;
	}
	rv_buf_fmt(why, " answered %d", a->status);
	v = judge_status(w, a->status);
	if (v != RV_OK)
		tell_expected(why, w->status);
	else if (!judge_body(w, a, why))
		v = w->patient ? RV_RETRY : RV_FAIL;
	return v;
}

enum rv_verdict rv_answer_judge(
	const struct rv_want *w, const struct rv_answer *a, char *why, size_t size)
{
	struct rv_buf text = {0};
	char url[URL_SHOWN];
	enum rv_verdict v;

	rv_buf_fmt(&text, "%s %s", w->method, rv_text_url(w->url, url, sizeof(url)));
	v = judge(w, a, &text);
	rv_text_cut(rv_buf_text(&text), why, size);
	rv_buf_fini(&text);
	return v;
}
