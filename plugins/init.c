/* GET /envs, POST /init, GET /envs: see init.h. */
#include "init.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <cJSON.h>
#include <reeve/plugin.h>

#include "marks.h"
#include "variables.h"

enum { BODY_MOST = 48 << 10 }; /* bytes of a request; reeve's own set has 16 KiB at most */

/* Bytes of the name in NAME=VALUE. */
static size_t name_len(const char *variable)
{
	return strcspn(variable, "=");
}

static const char *value_of(const char *variable)
{
	size_t n = name_len(variable);

	return variable[n] ? variable + n + 1 : "";
}

/* The variables that envd sets by itself; what anybody sends for them is skipped without a word. */
static bool is_envds_own(const char *name, size_t n)
{
	static const char *const own[] = {
		"E2B_SANDBOX", "E2B_SANDBOX_ID", "E2B_TEMPLATE_ID", "E2B_EVENTS_ADDRESS"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strlen(own[i]) == n && strncmp(own[i], name, n) == 0)
			return true;
	return false;
}

/* ---- how a run ends ---- */

static enum reeve_next fail(struct rv_init *i, struct reeve_turn *t)
{
	const char *tried = i->attempt > 1 ? reeve_fmt(t, " (tried %u times)", i->attempt) : "";
	const char *hint = "";

	/* one that has answered and then does not is there, and that it does not says nothing of its age */
	if (!i->is_envd && (!i->has_answered || t->http.transport == REEVE_HTTP_DONE))
		hint = reeve_fmt(t,
			"; no answer had X-Envd-Version, by which envd shows that it can be "
			"given variables: it is too old, or not envd%s",
			i->has_answered ? "" : ", or not there");
	t->why = reeve_fmt(t, "%s%s%s", t->why, tried, hint);
	return REEVE_FAIL;
}

/* What t->why says may pass by itself. */
static enum reeve_next again(struct rv_init *i, struct reeve_turn *t)
{
	int64_t pause = reeve_option_int(t, "init-pause");

	if (i->attempt >= (uint64_t)reeve_option_int(t, "init-attempts") || t->left_ns <= pause)
		return fail(i, t);
	snprintf(i->cause, sizeof(i->cause), "%s", t->why);
	i->attempt++;
	i->doing = RV_INIT_PAUSE;
	t->wait_ns = pause;
	return REEVE_WAIT;
}

/* ---- requests ---- */

static const char *url_of(struct reeve_turn *t, uint16_t port, const char *path)
{
	return reeve_fmt(t, "http://127.0.0.1:%u%s", port, path);
}

/* Should the run be over before the answer comes, the cause of the last attempt is what is told. */
static enum reeve_next ask(struct rv_init *i, struct reeve_turn *t, enum rv_init_doing doing)
{
	i->doing = doing;
	t->http.timeout_ns = reeve_option_int(t, "init-timeout");
	t->why = *i->cause ? i->cause : NULL;
	return REEVE_HTTP;
}

static enum reeve_next read_envs(
	struct rv_init *i, struct reeve_turn *t, uint16_t port, enum rv_init_doing doing)
{
	const char *token = reeve_option_text(t, "token");
	struct reeve_list headers = {0};

	if (*token)
		reeve_add(t, &headers, reeve_fmt(t, "X-Access-Token: %s", token));
	t->http = (struct reeve_http){.url = url_of(t, port, "/envs"), .headers = headers.v};
	return ask(i, t, doing);
}

/* Now, as RFC 3339 with nanoseconds: envd applies what is later than all that came before. */
static const char *stamp(struct reeve_turn *t)
{
	struct timespec now;
	struct tm tm;
	char text[40];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	return reeve_fmt(t, "%s.%09ldZ", text, now.tv_nsec);
}

/* Takes `envs`. NULL: it does not fit. */
static const char *body_of(struct reeve_turn *t, cJSON *envs)
{
	const char *token = reeve_option_text(t, "token"), *text = NULL;
	cJSON *body = cJSON_CreateObject();

	if (!cJSON_AddItemToObject(body, "envVars", envs)) {
		cJSON_Delete(envs);
	} else if (cJSON_AddStringToObject(body, "timestamp", stamp(t)) &&
		(!*token || cJSON_AddStringToObject(body, "accessToken", token))) {
		text = rv_variables_print(t, body, BODY_MOST);
	}
	cJSON_Delete(body);
	return text;
}

static enum reeve_next send_init(
	struct rv_init *i, struct reeve_turn *t, uint16_t port, cJSON *envs)
{
	static const char *const headers[] = {"Content-Type: application/json", NULL};
	const char *body = body_of(t, envs);

	if (!body) {
		t->why = reeve_fmt(t,
			"with those that it has already, the sandbox's variables are more than %d "
			"KiB",
			BODY_MOST >> 10);
		return fail(i, t);
	}
	t->http = (struct reeve_http){.method = "POST",
		.url = url_of(t, port, "/init"),
		.headers = headers,
		.body = body,
		.body_len = strlen(body)};
	return ask(i, t, RV_INIT_SEND);
}

/* ---- answers ---- */

static void look_for_version(struct rv_init *i, const struct reeve_http *h)
{
	static const char name[] = "X-Envd-Version:";

	for (const char *s = h->answer_headers; s && *s; s = strchr(s, '\n'), s += s != NULL)
		i->is_envd |= strncasecmp(s, name, sizeof(name) - 1) == 0;
}

/* Whether one answer is good. RETRY: it may be at the next attempt. t->why says what it is. */
static enum reeve_next judge(struct reeve_turn *t, const char *method, const char *url, int status)
{
	enum reeve_next next = reeve_expect(t, method, url, status);
	const struct reeve_http *h = &t->http;

	if (next == REEVE_OK || h->transport == REEVE_HTTP_INVALID)
		return next;
	if (h->transport == REEVE_HTTP_BROKEN && h->status)
		return REEVE_FAIL; /* it has answered, and its answer cannot be read */
	if (h->transport != REEVE_HTTP_DONE)
		return REEVE_RETRY;
	return h->status >= 502 && h->status <= 504 ? REEVE_RETRY : REEVE_FAIL;
}

static enum reeve_next judge_init(struct reeve_turn *t, const char *url)
{
	const struct reeve_http *h = &t->http;
	enum reeve_next next = judge(t, "POST", url, 204);

	if (next != REEVE_FAIL || h->transport != REEVE_HTTP_DONE || h->status < 200 ||
		h->status > 299)
		return next;
	if (reeve_option_bool(t, "init-any-2xx"))
		return REEVE_OK;
	t->why = reeve_fmt(t, "%s (option init-any-2xx takes it)", t->why);
	return REEVE_FAIL;
}

static enum reeve_next failed(struct rv_init *i, struct reeve_turn *t, enum reeve_next next)
{
	return next == REEVE_RETRY ? again(i, t) : fail(i, t);
}

/* ---- the union ---- */

/* The names that reeve answers for: those that it sets, and those that it has set. */
static bool mark_ours(struct rv_marks *m, const struct reeve_turn *t)
{
	bool fine = true;

	for (size_t k = 0; fine && k < t->variable_count; k++)
		fine = rv_marks_add(m, t->variables[k], name_len(t->variables[k]), NULL);
	for (size_t k = 0; fine && k < t->dropped_count; k++)
		fine = rv_marks_add(m, t->dropped[k], strlen(t->dropped[k]), NULL);
	rv_marks_sort(m);
	return fine;
}

/* Takes out what is ours, and what is envd's own. */
static bool weed(cJSON *envs, const struct reeve_turn *t)
{
	struct rv_marks ours = {0};
	bool fine = mark_ours(&ours, t);

	for (cJSON *v = envs->child, *next; v; v = next) {
		size_t n = strlen(v->string);

		next = v->next;
		if (is_envds_own(v->string, n) || rv_marks_have(&ours, v->string, n, NULL))
			cJSON_Delete(cJSON_DetachItemViaPointer(envs, v));
	}
	rv_marks_fini(&ours);
	return fine;
}

static bool add_ours(cJSON *envs, const struct reeve_turn *t)
{
	for (size_t k = 0; k < t->variable_count; k++)
		if (!is_envds_own(t->variables[k], name_len(t->variables[k])) &&
			!rv_variables_add(envs, t->variables[k]))
			return false;
	return true;
}

static bool mark_all(struct rv_marks *m, const cJSON *envs)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, envs)
	{
		if (!rv_marks_add(m, v->string, strlen(v->string), v->valuestring))
			return false;
	}
	rv_marks_sort(m);
	return true;
}

/* The answer to GET /envs, or NULL, and then *next is what comes now. */
static cJSON *envs_of(struct rv_init *i, struct reeve_turn *t, uint16_t port, enum reeve_next *next)
{
	const char *url = url_of(t, port, "/envs");
	enum reeve_next answer = judge(t, "GET", url, 200);
	cJSON *envs = answer == REEVE_OK ? rv_variables_parse(t, url) : NULL;

	if (!envs)
		*next = failed(i, t, answer);
	return envs;
}

/* What is there has come: what is to be there is sent. */
static enum reeve_next unite(struct rv_init *i, struct reeve_turn *t, uint16_t port)
{
	struct rv_marks all = {0};
	enum reeve_next next;
	cJSON *envs = envs_of(i, t, port, &next);
	bool fine;

	if (!envs)
		return next;
	fine = weed(envs, t) && add_ours(envs, t) && mark_all(&all, envs);
	if (fine && all.count <= RV_INIT_MOST) {
		i->sent_count = all.count;
		if (all.count)
			memcpy(i->sent, all.v, all.count * sizeof(*all.v));
		next = send_init(i, t, port, envs);
	} else {
		cJSON_Delete(envs);
		t->why = fine ? reeve_fmt(t,
					"with those that it has already, the sandbox's variables "
					"are more than %d",
					RV_INIT_MOST)
			      : "out of memory";
		next = fail(i, t);
	}
	rv_marks_fini(&all);
	return next;
}

/* ---- the comparison ---- */

/* The name of the first of ours that is not there as it was sent; "": there is none. */
static const char *first_missing(struct reeve_turn *t, const struct rv_marks *there)
{
	for (size_t k = 0; k < t->variable_count; k++) {
		const char *one = t->variables[k];

		if (!is_envds_own(one, name_len(one)) &&
			!rv_marks_have(there, one, name_len(one), value_of(one)))
			return reeve_str(t, one, name_len(one));
	}
	return "";
}

static enum reeve_next is_missing(
	struct rv_init *i, struct reeve_turn *t, uint16_t port, const struct rv_marks *there)
{
	const char *name = first_missing(t, there);

	t->why = reeve_fmt(t,
		"POST %s was answered well, but GET /envs shows that %zu of %zu variables are not "
		"as they were sent%s%s: somebody has set others since, or with a later time stamp",
		url_of(t, port, "/init"), rv_marks_missing(i->sent, i->sent_count, there),
		i->sent_count, *name ? ", such as " : "", name);
	return again(i, t);
}

/* What was not sent to envd, for it would not take it; NULL: nothing. */
static const char *skipped(struct reeve_turn *t)
{
	for (size_t k = 0; k < t->variable_count; k++) {
		size_t n = name_len(t->variables[k]);

		if (is_envds_own(t->variables[k], n))
			return reeve_fmt(t,
				"envd sets %s by itself, and takes no other value for it",
				reeve_str(t, t->variables[k], n));
	}
	return NULL;
}

static enum reeve_next compare(struct rv_init *i, struct reeve_turn *t, uint16_t port)
{
	struct rv_marks there = {0};
	enum reeve_next next;
	cJSON *envs = envs_of(i, t, port, &next);
	bool fine;

	if (!envs)
		return next;
	fine = mark_all(&there, envs);
	cJSON_Delete(envs);
	if (!fine) {
		t->why = "out of memory";
		next = fail(i, t);
	} else if (rv_marks_missing(i->sent, i->sent_count, &there)) {
		next = is_missing(i, t, port, &there);
	} else {
		t->why = skipped(t);
		next = REEVE_OK;
	}
	rv_marks_fini(&there);
	return next;
}

enum reeve_next rv_init_update(struct rv_init *i, struct reeve_turn *t, uint16_t port)
{
	enum reeve_next next;

	if (t->step == 0) {
		i->attempt = 1;
		i->is_envd = i->has_answered = false;
		i->cause[0] = 0;
		if (!t->variable_count && !t->dropped_count)
			return REEVE_OK;
		return read_envs(i, t, port, RV_INIT_READ);
	}
	if (i->doing == RV_INIT_PAUSE)
		return read_envs(i, t, port, RV_INIT_READ);
	i->has_answered |= t->http.transport == REEVE_HTTP_DONE;
	look_for_version(i, &t->http);
	if (i->doing == RV_INIT_READ)
		return unite(i, t, port);
	if (i->doing == RV_INIT_COMPARE)
		return compare(i, t, port);
	next = judge_init(t, url_of(t, port, "/init"));
	return next == REEVE_OK ? read_envs(i, t, port, RV_INIT_COMPARE) : failed(i, t, next);
}
