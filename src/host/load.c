/* The loader: see load.h. Nothing is ever closed again: a plugin lives as long as its host. */
#include "host/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lists.h"

enum { OPTIONS_MAX = 256, STATE_MAX = 1 << 20, SIZE_MAX_SANE = 4096, TEXT_MAX = 1024 };

_Static_assert((int)REEVE_JSON == (int)RV_KEY_JSON, "option types are the same on both sides");
_Static_assert((int)REEVE_SECRET_JSON == (int)RV_KEY_SECRET_JSON,
	"option types are the same on both sides");
_Static_assert((int)REEVE_SECRET == (int)RV_KEY_SECRET, "option types are the same on both sides");

reeve_hook rv_plugin_hook(const struct rv_plugin *p, unsigned hook)
{
	switch ((enum rv_hook)hook) {
	case RV_HOOK_START: return p->ops.start;
	case RV_HOOK_STOP: return p->ops.stop;
	case RV_HOOK_CLEANUP: return p->ops.cleanup;
	case RV_HOOK_CONFIRM: return p->ops.confirm;
	case RV_HOOK_UPDATE: return p->ops.update;
	case RV_HOOK_PROBE: return p->ops.probe;
	case RV_HOOK_CHECK: return p->ops.check;
	case RV_HOOK_COUNT: break;
	}
	return NULL;
}

static bool is_text(const char *s)
{
	return s && strnlen(s, TEXT_MAX) < TEXT_MAX;
}

static bool is_option_name(const char *s)
{
	return is_text(s) && *s >= 'a' && *s <= 'z' &&
		strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(s);
}

static bool take_options(struct rv_plugins *all, struct rv_plugin *p, struct rv_err *e)
{
	const struct reeve_option *o = p->d->options;
	size_t n = 0;

	while (o && n <= OPTIONS_MAX && o[n].name)
		n++;
	if (n > OPTIONS_MAX)
		return rv_fail(e, RV_ERR_CONFIG, "its option table has no end");
	p->keys = rv_arena_array(&all->arena, n, sizeof(*p->keys));
	if (!p->keys)
		return rv_fail(e, RV_ERR_SYSTEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		if (!is_option_name(o[i].name))
			return rv_fail(e, RV_ERR_CONFIG,
				"the name of its option %zu is not kebab-case", i);
		if ((unsigned)o[i].type > REEVE_SECRET_JSON || !is_text(o[i].summary) ||
			(o[i].preset && !is_text(o[i].preset)) || (o[i].env && !is_text(o[i].env)))
			return rv_fail(e, RV_ERR_CONFIG,
				"its option %s has no known type, or no summary", o[i].name);
		p->keys[i] = (struct rv_key){.name = o[i].name,
			.type = (enum rv_key_type)o[i].type,
			.min = o[i].min,
			.max = o[i].max,
			.preset = o[i].preset,
			.env = o[i].env,
			.summary = o[i].summary};
	}
	p->key_count = (uint32_t)n;
	return true;
}

static bool take_ops(struct rv_plugin *p, struct rv_err *e)
{
	const struct reeve_ops *ops = p->d->ops;

	if (!ops)
		return rv_fail(e, RV_ERR_CONFIG,
			"it has no table of hooks (`ops` is NULL; a plugin without hooks has an "
			"empty one)");
	if (ops->size < offsetof(struct reeve_ops, probe) || ops->size > SIZE_MAX_SANE)
		return rv_fail(e, RV_ERR_CONFIG,
			"its table of hooks claims %u bytes, expected %zu: set ops.size to "
			"sizeof(struct reeve_ops)",
			ops->size, sizeof(*ops));
	memcpy(&p->ops, ops, ops->size < sizeof(*ops) ? ops->size : sizeof(*ops));
	for (unsigned h = 0; h < RV_HOOK_COUNT; h++)
		if (rv_plugin_hook(p, h))
			p->hooks |= 1u << h;
	return true;
}

static bool check(const struct reeve_plugin *d, const char *name, struct rv_err *e)
{
	if (d->abi != REEVE_ABI)
		return rv_fail(e, RV_ERR_CONFIG,
			"it is built for plugin ABI %u and this reeve speaks %u: build it again "
			"with the "
			"reeve/plugin.h of this reeve",
			d->abi, REEVE_ABI);
	if (d->size < sizeof(*d) || d->size > SIZE_MAX_SANE)
		return rv_fail(e, RV_ERR_CONFIG,
			"its descriptor claims %u bytes, expected %zu: set size to sizeof(struct "
			"reeve_plugin)",
			d->size, sizeof(*d));
	if (d->state_size > STATE_MAX)
		return rv_fail(e, RV_ERR_CONFIG,
			"it asks for %zu bytes of state, at most %d are given", d->state_size,
			STATE_MAX);
	if (!is_text(d->name) || strcmp(d->name, name) != 0)
		return rv_fail(e, RV_ERR_CONFIG,
			"it calls itself \"%.64s\": the file's name must be NAME.so",
			is_text(d->name) ? d->name : "");
	if (!is_text(d->summary))
		return rv_fail(e, RV_ERR_CONFIG, "it has no summary");
	return true;
}

static bool open_it(struct rv_plugins *all, struct rv_plugin *p, const char *name, struct rv_err *e)
{
	struct stat st;
	void *so;

	if (stat(p->path, &st))
		return rv_fail(e, RV_ERR_CONFIG, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode)) /* the open of a FIFO would wait for a writer */
		return rv_fail(e, RV_ERR_CONFIG, "it is no file");
	so = dlopen(p->path, RTLD_NOW | RTLD_LOCAL);
	if (!so) {
		const char *why = dlerror();
		size_t n = strlen(p->path);

		if (strncmp(why, p->path, n) == 0 && why[n] == ':')
			why += n + 2; /* the path is in our sentence already */
		return rv_fail(e, RV_ERR_CONFIG, "%s", why);
	}
	p->d = dlsym(so, "reeve_plugin_v1");
	if (!p->d)
		return rv_fail(e, RV_ERR_CONFIG,
			"it exports no reeve_plugin_v1, so it is no plugin of reeve");
	return check(p->d, name, e) && take_ops(p, e) && take_options(all, p, e);
}

const struct rv_plugin *rv_plugin_load(struct rv_plugins *all, const char *dir, const char *name)
{
	char *path = rv_arena_fmt(&all->arena, "%s/%s.so", dir, name);
	struct rv_plugin *p;
	struct rv_err e = {0};

	for (p = all->first; p; p = p->next)
		if (path && strcmp(p->path, path) == 0)
			return p;
	p = rv_arena_alloc(&all->arena, sizeof(*p));
	if (!p || !path)
		return NULL;
	p->path = path;
	p->next = all->first;
	all->first = p;
	if (!*name || strchr(name, '/'))
		rv_fail(&e, RV_ERR_CONFIG,
			"a plugin's name is the name of its file, without folder and .so");
	else if (open_it(all, p, name, &e))
		return p;
	p->error = rv_arena_fmt(&all->arena, "cannot load plugin %s: %s: %s%s", name, path, e.text,
		access(path, F_OK) ? " (--plugin-dir or else reeve.plugin-dir names the only "
				     "folder that is searched: put the plugin there)"
				   : "");
	if (!p->error)
		p->error = "cannot load plugin: out of memory";
	p->d = NULL;
	return p;
}
