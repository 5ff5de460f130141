/* Requests about Jupyter's sessions, and what their answers say. See sessions.h. */
#include "sessions.h"

#include <string.h>

#include <cJSON.h>

#include <reeve/plugin.h>

enum reeve_next rv_session_ask(struct reeve_turn *t, const struct rv_session_server *at,
	const char *method, const char *path, const char *body, int64_t timeout_ns)
{
	struct reeve_list headers = {0};

	if (at->token && *at->token)
		reeve_add(t, &headers, reeve_fmt(t, "Authorization: token %s", at->token));
	if (body)
		reeve_add(t, &headers, "Content-Type: application/json");
	t->http = (struct reeve_http){.method = method,
		.url = reeve_fmt(t, "%s%s", at->base, path),
		.headers = headers.v,
		.body = body,
		.body_len = body ? strlen(body) : 0,
		.timeout_ns = timeout_ns};
	return REEVE_HTTP;
}

enum reeve_next rv_session_delete(struct reeve_turn *t, const struct rv_session_server *at,
	const char *id, int64_t timeout_ns)
{
	return rv_session_ask(
		t, at, "DELETE", reeve_fmt(t, "/api/sessions/%s", id), NULL, timeout_ns);
}

bool rv_session_is_gone(struct reeve_turn *t, const struct rv_session_server *at, const char *id)
{
	const char *url = reeve_fmt(t, "%s/api/sessions/%s", at->base, id);
	const struct reeve_http *h = &t->http;

	if (h->transport == REEVE_HTTP_DONE &&
		(h->status == 404 || (h->status >= 200 && h->status < 300)))
		return true;
	reeve_expect(t, "DELETE", url, 204);
	return false;
}

bool rv_session_copy_id(char id[RV_SESSION_ID], const char *text)
{
	static const char fine[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
	size_t n = text ? strspn(text, fine) : 0;

	if (!n || text[n] || n >= RV_SESSION_ID)
		return false;
	memcpy(id, text, n + 1);
	return true;
}

static const char *text_of(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

int rv_session_find(const struct reeve_http *h, const char *path, bool begins,
	char (*ids)[RV_SESSION_ID], int room)
{
	cJSON *list = h->truncated ? NULL : cJSON_ParseWithLength(h->answer, h->answer_len);
	int found = cJSON_IsArray(list) ? 0 : -1;
	size_t n = strlen(path);
	const cJSON *one;
	char spare[RV_SESSION_ID] = "";

	cJSON_ArrayForEach(one, list)
	{
		const char *its = text_of(one, "path");

		if (found < 0 || !its || strncmp(its, path, n) != 0 || (!begins && its[n]))
			continue;
		if (rv_session_copy_id(found < room ? ids[found] : spare, text_of(one, "id")))
			found++;
	}
	cJSON_Delete(list);
	return found;
}
