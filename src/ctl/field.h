/* Members of an answer, wherever something else may stand in their place. */
#ifndef CTL_FIELD_H
#define CTL_FIELD_H

#include <stdbool.h>

#include <cjson/cJSON.h>

/* NULL: none, or o is no object, or NULL. */
static inline const cJSON *rv_field(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

/* "" when it is no string. */
static inline const char *rv_field_text(const cJSON *o, const char *key)
{
	const cJSON *v = rv_field(o, key);

	return cJSON_IsString(v) ? v->valuestring : "";
}

/* 0 when it is no number. */
static inline double rv_field_number(const cJSON *o, const char *key)
{
	const cJSON *v = rv_field(o, key);

	return cJSON_IsNumber(v) ? v->valuedouble : 0;
}

static inline bool rv_field_is_true(const cJSON *o, const char *key)
{
	return cJSON_IsTrue(rv_field(o, key));
}

#endif
