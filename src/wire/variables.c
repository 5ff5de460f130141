/* Create-time variables: see variables.h. */
#include "wire/variables.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "wire/json.h"

/* Those that make a shell, a loader or an interpreter run somebody else's code. Upper and lower case are one. */
static const char *const forbidden[] = {"BASH_ENV", "ENV", "LD_PRELOAD", "LD_AUDIT",
	"LD_LIBRARY_PATH", "LD_ORIGIN_PATH", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH",
	"GCONV_PATH", "PATH", "PYTHONPATH", "NODE_PATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
	"GEM_PATH", "RUBYOPT", "RUBYLIB", "PERL5LIB", "PERLLIB", "CLASSPATH", "IFS"};

static void wipe(char *entry)
{
	if (entry)
		explicit_bzero(entry, strlen(entry));
	free(entry);
}

void rv_variables_fini(struct rv_variables *v)
{
	for (size_t i = 0; i < v->count; i++)
		wipe(v->list[i]);
	free(v->list);
	*v = (struct rv_variables){0};
}

/* ---- what one may be ---- */

/* Complaints are lines, so a line end in a name is shown, too. */
static void put_name(struct rv_buf *to, const char *s, size_t n)
{
	const char *end;

	while ((end = memchr(s, '\n', n))) {
		rv_text_visible(to, s, (size_t)(end - s));
		rv_buf_str(to, "\\n");
		n -= (size_t)(end - s) + 1;
		s = end + 1;
	}
	rv_text_visible(to, s, n);
}

/* A line that begins with its name, which may be anything. */
static bool refuse(struct rv_buf *why, const char *name, size_t n, const char *format, ...)
	RV_PRINTF(4, 5);
static bool refuse(struct rv_buf *why, const char *name, size_t n, const char *format, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	rv_buf_str(why, why->len ? "\n" : "");
	put_name(why, name, n < 64 ? n : 64);
	rv_buf_fmt(why, "%s %s", n < 64 ? "" : "...", text);
	return false;
}

static bool is_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z');

		if (!letter && s[i] != '_' && (!i || s[i] < '0' || s[i] > '9'))
			return false;
	}
	return n;
}

static bool is_forbidden(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
		if (strlen(forbidden[i]) == n && !strncasecmp(forbidden[i], s, n))
			return true;
	return false;
}

/* What reeve tells a service of its sockets and of itself. */
static bool is_ours(const char *s, size_t n)
{
	return (n > 6 && !strncmp(s, "REEVE_", 6)) || (n > 7 && !strncmp(s, "LISTEN_", 7)) ||
		(n == 13 && !strncmp(s, "NOTIFY_SOCKET", n));
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
			return true;
	return false;
}

static bool check_name(const char *s, size_t n, struct rv_buf *why)
{
	if (!n)
		return refuse(why, "\"\"", 2, "is no name for a variable");
	if (n > RV_VARIABLE_NAME)
		return refuse(why, s, n, "is too long a name: %zu bytes, at most %d", n,
			RV_VARIABLE_NAME);
	if (!is_name(s, n))
		return refuse(why, s, n,
			"is no name for a variable: letters, digits and _, not a digit first");
	if (is_forbidden(s, n))
		return refuse(
			why, s, n, "may not be set: it changes which code is run (see reeve(8))");
	if (is_ours(s, n))
		return refuse(why, s, n, "may not be set: reeve uses it itself");
	return true;
}

static bool check_value(const char *name, size_t n, const char *value, struct rv_buf *why)
{
	size_t len = strlen(value);

	if (len > RV_VARIABLE_VALUE)
		return refuse(why, name, n, "has a value of %zu bytes, at most %d", len,
			RV_VARIABLE_VALUE);
	if (has_control(value))
		return refuse(why, name, n,
			"has a value with a control character (a line end, for example); only a "
			"tab may be in one");
	if (!rv_json_is_text(value, len))
		return refuse(why, name, n, "has a value that is not UTF-8");
	return true;
}

/* ---- the list ---- */

static size_t find(const struct rv_variables *v, const char *name, size_t n)
{
	size_t i = 0;

	while (i < v->count && (strncmp(v->list[i], name, n) != 0 || v->list[i][n] != '='))
		i++;
	return i;
}

static bool make_room(struct rv_variables *v)
{
	size_t room = v->room ? 2 * v->room : 16;
	char **more;

	if (v->count + 1 < v->room)
		return true;
	more = reallocarray(v->list, room, sizeof(*more));
	if (!more)
		return false;
	v->list = more;
	v->room = room;
	return true;
}

static bool put(struct rv_variables *v, size_t at, const char *name, size_t n, const char *value)
{
	size_t len = strlen(value);
	char *entry = make_room(v) ? malloc(n + len + 2) : NULL;

	if (!entry)
		return false;
	memcpy(entry, name, n);
	entry[n] = '=';
	memcpy(entry + n + 1, value, len + 1);
	if (at == v->count)
		v->list[++v->count] = NULL;
	else
		wipe(v->list[at]);
	v->list[at] = entry;
	return true;
}

bool rv_variables_add(
	struct rv_variables *v, const char *name, size_t n, const char *value, struct rv_buf *why)
{
	bool good = check_name(name, n, why);

	if (!check_value(name, n, value, why) || !good)
		return false;
	if (find(v, name, n) < v->count)
		return refuse(why, name, n, "is given twice");
	return put(v, v->count, name, n, value) || refuse(why, name, n, "is lost: out of memory");
}

bool rv_variables_lay(struct rv_variables *v, const struct rv_variables *over)
{
	for (size_t i = 0; i < over->count; i++) {
		const char *entry = over->list[i];
		size_t n = strcspn(entry, "=");

		if (!put(v, find(v, entry, n), entry, n, entry + n + 1))
			return false;
	}
	return true;
}

bool rv_variables_fit(const struct rv_variables *v, struct rv_buf *why)
{
	struct rv_buf json = {0};
	bool fits;

	rv_variables_put(v, &json);
	fits = !json.full && json.len <= RV_VARIABLES_SUM;
	if (json.full)
		rv_buf_str(why, why->len ? "\nout of memory" : "out of memory");
	else if (!fits)
		rv_buf_fmt(why,
			"%sall variables together have %zu bytes as a JSON object, at most %d",
			why->len ? "\n" : "", json.len, RV_VARIABLES_SUM);
	if (json.data)
		explicit_bzero(json.data, json.room);
	rv_buf_fini(&json);
	return fits;
}

const char *rv_variables_find(const struct rv_variables *v, const char *name, size_t n)
{
	size_t i = find(v, name, n);

	return i < v->count ? v->list[i] + n + 1 : NULL;
}

void rv_variables_put(const struct rv_variables *v, struct rv_buf *to)
{
	RV_JSON_LIT(to, "{");
	for (size_t i = 0; i < v->count; i++) {
		size_t n = strcspn(v->list[i], "=");

		if (i)
			RV_JSON_LIT(to, ",");
		rv_json_strn(to, v->list[i], n);
		RV_JSON_LIT(to, ":");
		rv_json_str(to, v->list[i] + n + 1);
	}
	RV_JSON_LIT(to, "}");
}

void rv_variables_name(const struct rv_variables *v, struct rv_buf *to)
{
	for (size_t i = 0; i < v->count; i++) {
		rv_buf_str(to, i ? ", " : "");
		rv_buf_add(to, v->list[i], strcspn(v->list[i], "="));
	}
}

/* ---- from JSON ---- */

bool rv_variables_read_map(struct rv_variables *v, const cJSON *map, struct rv_buf *why)
{
	bool good = true;
	const cJSON *one;

	if (!cJSON_IsObject(map)) {
		rv_buf_str(why, why->len ? "\n" : "");
		rv_buf_str(why,
			"variables must be an object of strings, such as {\"NAME\": \"VALUE\"}");
		return false;
	}
	cJSON_ArrayForEach(one, map)
	{
		size_t n = strlen(one->string);

		if (cJSON_IsString(one))
			good &= rv_variables_add(v, one->string, n, one->valuestring, why);
		else
			good = refuse(why, one->string, n, "has a value that is no string");
	}
	return rv_variables_fit(v, why) && good;
}

static bool complain(struct rv_buf *why, const char *text)
{
	rv_buf_str(why, text);
	return false;
}

/* A map of variables that was given as it is would have no effect, and nobody would know. */
static bool is_bare_map(const cJSON *tree)
{
	for (const cJSON *one = tree->child; one; one = one->next)
		if (!cJSON_IsString(one))
			return false;
	return tree->child;
}

/* Two names of one thing. found: how often it is there. */
static const cJSON *find_map(const cJSON *tree, size_t *found)
{
	const cJSON *map = NULL;

	*found = 0;
	for (const cJSON *one = tree->child; one; one = one->next) {
		if (strcmp(one->string, "envVars") != 0 && strcmp(one->string, "envs") != 0)
			continue;
		map = one;
		++*found;
	}
	return map;
}

static bool read_request(struct rv_variables *v, const cJSON *tree, struct rv_buf *why)
{
	const cJSON *map;
	size_t found;

	if (!cJSON_IsObject(tree))
		return complain(why, "it must be an object with envVars, an object of strings");
	map = find_map(tree, &found);
	if (found > 1)
		return complain(why,
			"envVars and envs are the same, and only one of them may be given, once");
	if (!map && is_bare_map(tree))
		return complain(why,
			"it has neither envVars nor envs: write {\"envVars\": {\"NAME\": "
			"\"VALUE\"}}");
	return !map || cJSON_IsNull(map) || rv_variables_read_map(v, map, why);
}

bool rv_variables_read(struct rv_variables *v, const char *text, size_t n, struct rv_buf *why)
{
	cJSON *tree = NULL;
	const char *end = text;
	bool good;

	/* a NUL would end a string early */
	if (!memchr(text, 0, n) && !memmem(text, n, "\\u0000", 6))
		tree = cJSON_ParseWithLengthOpts(text, n, &end, false);
	while (tree && end < text + n && strchr(" \t\r\n", *end))
		end++;
	if (tree && end == text + n)
		good = read_request(v, tree, why);
	else
		good = complain(why, "it is not JSON (or has a NUL character in it)");
	cJSON_Delete(tree);
	return good;
}
