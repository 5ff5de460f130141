/* The contexts of a Jupyter Server: see contexts.h.
 *
 *   kernels there? -> POST -> POST -> ... -> ready
 *                      |
 *                      +- no answer -> look for its path -> there: delete it   } and those made before, then
 *                      |                                  -> not: say so       } fail with what was wrong first
 *                      +- the attempt ended, or the host died -> look for its path -> there: it is ours
 *
 * A POST is never sent twice for one context in one life: the memo says that it is on its way before it is. */
#include "contexts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cJSON.h>

#include <reeve/plugin.h>

#include "contextlist.h"

enum { WHY_MAX = 600 };

static const int64_t end_most = INT64_C(30000000000); /* to delete one; suited to a slow machine */

/* What outlives turns, attempts and the host: the turn's memo. Zero in a new life. */
struct kept {
	uint32_t made; /* sessions that are known, the first ones of `ids` */
	bool checked; /* the kernels are there */
	bool sent; /* the creation of the next one is on its way */
	bool failed; /* it was all in vain: what was made is deleted, then `why` is the answer */
	int64_t sent_at; /* monotonic */
	char ids[RV_CONTEXTS_MAX][RV_SESSION_ID];
	char why[WHY_MAX]; /* what was wrong first */
	char notes[WHY_MAX]; /* what else went wrong on the way back */
};

_Static_assert(sizeof(struct kept) <= REEVE_MEMO, "it is kept in the memo");

/* Everything about a turn. */
struct work {
	struct reeve_turn *t;
	struct rv_contexts_run *run;
	const struct rv_session_server *at;
	struct rv_context_list c;
	struct kept k;
};

bool rv_contexts_check(struct reeve_turn *t, const char *root)
{
	struct rv_context_list c;

	return rv_context_list_read(t, root, &c);
}

/* ---- paths ---- */

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static uint64_t mixed(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
	return (h ^ h >> 29) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Made of what is never the same twice, and the same whenever it is asked for. */
static const char *path_of(const struct work *w)
{
	const struct rv_context *c = &w->c.v[w->k.made];
	const char *facts = reeve_fmt(w->t, "%s %s %" PRIu64 " %d %" PRId64, w->t->service, c->name,
		w->t->generation, (int)w->t->pid, w->k.sent_at);
	uint64_t a = mixed(UINT64_C(14695981039346656037), facts), b = mixed(a, facts);

	return reeve_fmt(w->t, "%s%s%08x-%04x-%04x-%04x-%012" PRIx64, c->dir, *c->dir ? "/" : "",
		(uint32_t)(a >> 32), (uint32_t)(a >> 16 & 0xffff), (uint32_t)(a & 0xffff),
		(uint32_t)(b >> 48), b & UINT64_C(0xffffffffffff));
}

/* ---- failing ---- */

static const char *name_of(const struct work *w)
{
	return w->c.v[w->k.made].name;
}

static void fail_with(struct work *w, const char *why)
{
	if (!w->k.failed)
		snprintf(w->k.why, sizeof(w->k.why), "cannot create context %s: %s", name_of(w),
			why);
	w->k.failed = true;
}

static void note(struct work *w, const char *what)
{
	size_t n = strlen(w->k.notes);

	snprintf(w->k.notes + n, sizeof(w->k.notes) - n, "; %s", what);
}

/* We want to hear that there was no answer before the attempt ends. */
static int64_t nearly_all(const struct work *w)
{
	return w->t->left_ns - w->t->left_ns / 8;
}

/* Deletes what was made, the last one first; each is tried once. */
static enum reeve_next unmake(struct work *w)
{
	int64_t ns = nearly_all(w);

	w->t->why = reeve_fmt(w->t, "%s%s", w->k.why, w->k.notes);
	if (w->k.made == 0)
		return REEVE_FAIL;
	w->k.made--;
	w->run->asked = RV_ASKED_END;
	return rv_session_delete(w->t, w->at, w->k.ids[w->k.made], ns < end_most ? ns : end_most);
}

static enum reeve_next unmade(struct work *w)
{
	if (!rv_session_is_gone(w->t, w->at, w->k.ids[w->k.made]))
		note(w, w->t->why);
	return unmake(w);
}

/* ---- making ---- */

static enum reeve_next look(struct work *w)
{
	w->run->asked = RV_ASKED_LIST;
	w->t->why = w->k.failed ? w->k.why
				: reeve_fmt(w->t, "context %s is being created", name_of(w));
	return rv_session_ask(w->t, w->at, "GET", "/api/sessions", NULL, nearly_all(w));
}

static const char *body_of(struct work *w, const char *path)
{
	const struct rv_context *c = &w->c.v[w->k.made];
	cJSON *body = cJSON_CreateObject(), *kernel;
	char *text;
	const char *kept;

	cJSON_AddStringToObject(body, "path", path);
	cJSON_AddStringToObject(body, "name", c->name);
	cJSON_AddStringToObject(body, "type", "notebook");
	kernel = cJSON_AddObjectToObject(body, "kernel");
	cJSON_AddStringToObject(kernel, "name", c->kernel);
	text = cJSON_PrintUnformatted(body);
	kept = text ? reeve_str(w->t, text, strlen(text)) : "";
	cJSON_free(text);
	cJSON_Delete(body);
	return kept;
}

static int64_t patience(const struct work *w)
{
	return reeve_option_int(w->t, "context-timeout");
}

static enum reeve_next make(struct work *w)
{
	const struct rv_context *c = &w->c.v[w->k.made];
	struct stat st;

	/* Jupyter would silently take the nearest folder that is there. */
	if (c->folder && (stat(c->folder, &st) != 0 || !S_ISDIR(st.st_mode))) {
		fail_with(w, reeve_fmt(w->t, "its working-dir %s is no folder", c->folder));
		return unmake(w);
	}
	w->k.sent = true;
	w->k.sent_at = now();
	w->run->asked = RV_ASKED_SESSION;
	w->t->why = reeve_fmt(w->t, "context %s is being created", name_of(w));
	return rv_session_ask(
		w->t, w->at, "POST", "/api/sessions", body_of(w, path_of(w)), patience(w));
}

static enum reeve_next go(struct work *w)
{
	if (w->k.failed)
		return w->k.sent ? look(w) : unmake(w);
	if (w->k.made >= w->c.n)
		return REEVE_OK;
	if (w->k.sent)
		return look(w);
	if (w->k.checked)
		return make(w);
	w->run->asked = RV_ASKED_KERNELS;
	return rv_session_ask(w->t, w->at, "GET", "/api/kernelspecs", NULL, 0);
}

/* A POST that names a kernel which does not exist can keep a Jupyter from ever ending, so it is not sent. */
static bool has_kernels(struct work *w, const cJSON *specs)
{
	const char *there = "";
	const cJSON *one;

	cJSON_ArrayForEach(one, specs)
	{
		there = reeve_fmt(w->t, "%s%s%s", there, *there ? ", " : "", one->string);
	}
	for (uint32_t i = 0; i < w->c.n; i++) {
		const struct rv_context *c = &w->c.v[i];

		if (cJSON_GetObjectItemCaseSensitive(specs, c->kernel))
			continue;
		w->t->why = reeve_fmt(w->t,
			"cannot create context %s: there is no kernel %s; there are: %.300s",
			c->name, c->kernel, *there ? there : "none");
		return false;
	}
	return true;
}

static enum reeve_next kernels_came(struct work *w)
{
	const struct reeve_http *h = &w->t->http;
	const char *url = reeve_fmt(w->t, "%s/api/kernelspecs", w->at->base);
	enum reeve_next next = reeve_expect(w->t, "GET", url, 200);
	cJSON *json, *specs;

	if (next != REEVE_OK)
		return next;
	json = h->truncated ? NULL : cJSON_ParseWithLength(h->answer, h->answer_len);
	specs = cJSON_GetObjectItemCaseSensitive(json, "kernelspecs");
	if (!cJSON_IsObject(specs))
		w->t->why = reeve_fmt(w->t,
			"GET %s answered 200 without kernelspecs, or with too many: contexts "
			"cannot be created",
			url);
	w->k.checked = cJSON_IsObject(specs) && has_kernels(w, specs);
	cJSON_Delete(json);
	return w->k.checked ? go(w) : REEVE_FAIL;
}

static bool take_id(struct work *w)
{
	const struct reeve_http *h = &w->t->http;
	cJSON *json = h->truncated ? NULL : cJSON_ParseWithLength(h->answer, h->answer_len);
	const char *id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "id"));
	bool fine = rv_session_copy_id(w->k.ids[w->k.made], id);

	cJSON_Delete(json);
	return fine;
}

static enum reeve_next known(struct work *w)
{
	w->k.made++;
	w->k.sent = false;
	return go(w);
}

/* The attempt can end before the creation has had its time; the next attempt looks for it. */
static enum reeve_next session_came(struct work *w)
{
	const struct reeve_http *h = &w->t->http;
	const char *url = reeve_fmt(w->t, "%s/api/sessions", w->at->base);
	bool whole = h->transport == REEVE_HTTP_DONE, is_refusal;

	if (whole && h->status == 201 && take_id(w))
		return known(w);
	reeve_expect(w->t, "POST", url, 201);
	if (h->transport == REEVE_HTTP_REFUSED) {
		w->k.sent = false;
		return REEVE_RETRY;
	}
	if (h->transport == REEVE_HTTP_TIMEOUT && now() - w->k.sent_at < patience(w))
		return REEVE_RETRY;
	is_refusal = whole && (h->status / 100 == 4 || h->status == 501);
	if (whole && h->status == 201)
		fail_with(w, reeve_fmt(w->t, "POST %s answered 201 without an id", url));
	else
		fail_with(w, w->t->why);
	w->k.sent = !is_refusal;
	return go(w);
}

/* found: how many have its path; -1: that cannot be told. */
static const char *lost(struct work *w, int found, const char *path)
{
	if (found > 1)
		return reeve_fmt(
			w->t, "%d sessions have its path %s, and none was deleted", found, path);
	if (found == 0)
		return reeve_fmt(w->t, "a session may yet come, with path %s", path);
	return reeve_fmt(w->t, "a session may be left, with path %s: %s", path,
		w->t->why ? w->t->why : "what came is no list of sessions");
}

static enum reeve_next list_came(struct work *w)
{
	const char *path = path_of(w), *url = reeve_fmt(w->t, "%s/api/sessions", w->at->base);
	bool in_time = !w->k.failed && now() - w->k.sent_at < patience(w);
	int found = -1;

	if (reeve_expect(w->t, "GET", url, 200) == REEVE_OK)
		found = rv_session_find(&w->t->http, path, false, &w->k.ids[w->k.made], 1);
	if (found == 1 && in_time)
		return known(w);
	if (found < 1 && in_time) {
		w->t->why = reeve_fmt(w->t, "context %s is not there yet", name_of(w));
		return REEVE_RETRY;
	}
	if (found != 1)
		note(w, lost(w, found, path));
	fail_with(w, "it was not created within context-timeout");
	if (found == 1)
		w->k.made++;
	w->k.sent = false;
	return unmake(w);
}

/* ---- from outside ---- */

static enum reeve_next came(struct work *w)
{
	switch (w->run->asked) {
	case RV_ASKED_STATUS: return go(w);
	case RV_ASKED_KERNELS: return kernels_came(w);
	case RV_ASKED_SESSION: return session_came(w);
	case RV_ASKED_LIST: return list_came(w);
	case RV_ASKED_END: return unmade(w);
	}
	return REEVE_FAIL;
}

enum reeve_next rv_contexts_go_on(struct reeve_turn *t, struct rv_contexts_run *run,
	const struct rv_session_server *at, const char *root)
{
	struct work w = {.t = t, .run = run, .at = at};
	enum reeve_next next;

	if (!rv_context_list_read(t, root, &w.c))
		return REEVE_FAIL;
	memcpy(&w.k, t->memo, sizeof(w.k));
	next = came(&w);
	memcpy(t->memo, &w.k, sizeof(w.k));
	return next;
}

enum reeve_next rv_contexts_begin(struct reeve_turn *t, struct rv_contexts_run *run,
	const struct rv_session_server *at, const char *root)
{
	if (!*reeve_option_text(t, "contexts"))
		return REEVE_OK;
	run->asked = RV_ASKED_STATUS;
	return rv_contexts_go_on(t, run, at, root);
}
