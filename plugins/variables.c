/* Flat JSON objects of strings: see variables.h. */
#include "variables.h"

#include <stdlib.h>
#include <string.h>

#include <reeve/plugin.h>

static const char *wrong_with(struct reeve_turn *t, const cJSON *json)
{
	const cJSON *v;

	if (t->http.truncated)
		return "is too long";
	if (!json)
		return "is no JSON";
	if (!cJSON_IsObject(json))
		return "is no object";
	cJSON_ArrayForEach(v, json)
	{
		if (!cJSON_IsString(v))
			return reeve_fmt(
				t, "has a value that is no string: that of %.100s", v->string);
	}
	return NULL;
}

cJSON *rv_variables_parse(struct reeve_turn *t, const char *url)
{
	cJSON *json = cJSON_ParseWithLength(t->http.answer, t->http.answer_len);
	const char *wrong = wrong_with(t, json);

	if (!wrong)
		return json;
	t->why = reeve_fmt(t,
		"GET %s answered 200 with an invalid environment, which must be a flat object "
		"of strings: it %s",
		url, wrong);
	cJSON_Delete(json);
	return NULL;
}

bool rv_variables_add(cJSON *object, const char *variable)
{
	size_t n = strcspn(variable, "=");
	cJSON *value = cJSON_CreateString(variable[n] ? variable + n + 1 : "");
	char *name = strndup(variable, n);
	bool fine = value && name && cJSON_AddItemToObject(object, name, value);

	if (!fine)
		cJSON_Delete(value);
	free(name);
	return fine;
}

const char *rv_variables_print(struct reeve_turn *t, cJSON *object, size_t most)
{
	char *text = reeve_alloc(t, most);

	/* It wants some bytes more than it writes. */
	if (!text || !cJSON_PrintPreallocated(object, text, (int)most, false))
		return NULL;
	return text;
}
