/* Option `contexts` as it is written: see contextlist.h. */
#include "contextlist.h"

#include <string.h>

#include <cJSON.h>

#include <reeve/plugin.h>

static bool refuse(struct reeve_turn *t, uint32_t i, const char *what)
{
	t->why = reeve_fmt(t, "option contexts, entry %u: %s", i + 1, what);
	return false;
}

/* A path without the slashes at its end. */
static const char *trimmed(struct reeve_turn *t, const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return reeve_str(t, path, n);
}

/* Jupyter starts a kernel in the folder of its session's path, which is relative to its root. */
static bool read_dir(struct reeve_turn *t, const char *root, uint32_t i, struct rv_context *c)
{
	const char *dir = trimmed(t, c->folder), *base = root ? trimmed(t, root) : NULL;
	size_t n = base ? strlen(base) : 0;

	if (!base)
		return refuse(t, i, "working-dir needs --ServerApp.root_dir=... in `command`");
	if (strncmp(dir, base, n) != 0 || (dir[n] && dir[n] != '/') || strstr(dir, "/.."))
		return refuse(t, i,
			reeve_fmt(t,
				"working-dir %s is not inside root-dir %s, where Jupyter can "
				"start kernels",
				dir, base));
	c->folder = dir;
	c->dir = dir[n] ? dir + n + 1 : "";
	return true;
}

static bool read_key(struct reeve_turn *t, uint32_t i, const cJSON *key, struct rv_context *c)
{
	const char **to = strcmp(key->string, "name") == 0 ? &c->name
		: strcmp(key->string, "kernel") == 0	   ? &c->kernel
		: strcmp(key->string, "working-dir") == 0  ? &c->folder
							   : NULL;

	if (!to)
		return refuse(t, i,
			reeve_fmt(t, "unknown key '%s'; it has name, kernel and working-dir",
				key->string));
	if (!cJSON_IsString(key) || !*key->valuestring)
		return refuse(t, i, reeve_fmt(t, "%s must be a string", key->string));
	*to = reeve_str(t, key->valuestring, strlen(key->valuestring));
	return true;
}

static bool read_one(
	struct reeve_turn *t, const char *root, const cJSON *one, struct rv_context_list *c)
{
	struct rv_context *to = &c->v[c->n];
	const cJSON *key;

	*to = (struct rv_context){.kernel = "python3", .dir = ""};
	if (!cJSON_IsObject(one))
		return refuse(t, c->n, "must be a map of name, kernel and working-dir");
	cJSON_ArrayForEach(key, one)
	{
		if (!read_key(t, c->n, key, to))
			return false;
	}
	if (!to->name)
		return refuse(t, c->n, "needs a name");
	for (uint32_t i = 0; i < c->n; i++)
		if (strcmp(c->v[i].name, to->name) == 0)
			return refuse(
				t, c->n, reeve_fmt(t, "name '%s' is taken by another", to->name));
	if (to->folder && !read_dir(t, root, c->n, to))
		return false;
	c->n++;
	return true;
}

bool rv_context_list_read(struct reeve_turn *t, const char *root, struct rv_context_list *c)
{
	const char *text = reeve_option_text(t, "contexts");
	cJSON *list = cJSON_Parse(*text ? text : "[]");
	bool fine = cJSON_IsArray(list) && cJSON_GetArraySize(list) <= RV_CONTEXTS_MAX;
	const cJSON *one;

	*c = (struct rv_context_list){.n = 0};
	if (!fine)
		t->why = reeve_fmt(t,
			"option contexts must be a list of at most %d maps of name, kernel and "
			"working-dir",
			RV_CONTEXTS_MAX);
	cJSON_ArrayForEach(one, list)
	{
		fine = fine && read_one(t, root, one, c);
	}
	cJSON_Delete(list);
	return fine;
}
