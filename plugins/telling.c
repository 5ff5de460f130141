/* The one request: see telling.h. */
#include "telling.h"

#include <string.h>

#include <cJSON.h>
#include <reeve/plugin.h>

#include "variables.h"

enum { BODY_MOST = 48 << 10 }; /* bytes; reeve's own set has 16 KiB at most */

static const int64_t bound = INT64_C(5000000000);

/* NULL: it does not fit. */
static const char *body_of(struct reeve_turn *t)
{
	cJSON *body = cJSON_CreateObject(), *envs = cJSON_AddObjectToObject(body, "envVars");
	const char *text = NULL;
	bool fine = envs;

	for (size_t i = 0; fine && i < t->variable_count; i++)
		fine = rv_variables_add(envs, t->variables[i]);
	if (fine)
		text = rv_variables_print(t, body, BODY_MOST);
	cJSON_Delete(body);
	return text;
}

static enum reeve_next tell(struct reeve_turn *t, const char *url)
{
	static const char *const headers[] = {"Content-Type: application/json", NULL};
	const char *body = body_of(t);

	if (!body) {
		t->why = "the sandbox's variables do not fit into a request";
		return REEVE_FAIL;
	}
	t->http = (struct reeve_http){.method = "POST",
		.url = url,
		.headers = headers,
		.body = body,
		.body_len = strlen(body),
		.timeout_ns = bound};
	return REEVE_HTTP;
}

enum reeve_next rv_telling_update(struct reeve_turn *t, const char *url)
{
	if (t->step == 0)
		return tell(t, url);
	if (t->http.transport == REEVE_HTTP_DONE && t->http.status >= 200 && t->http.status < 300)
		return REEVE_OK;
	reeve_expect(t, "POST", url, 204);
	return REEVE_FAIL;
}
