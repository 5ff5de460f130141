/* Whence each variable of a service comes, for `reeve plan`: names and sources, never values. */
#include "conf/whole.h"

#include <string.h>

#include "base/text.h"

/* The very entry, not one like it: layers hand on what they were made of. */
static bool is_of(const char *const *list, const char *entry)
{
	for (; list && *list; list++)
		if (*list == entry)
			return true;
	return false;
}

static const char *source_of(const struct rv_whole *w, const struct rv_detail *d, const char *entry)
{
	if (is_of(d->own_env, entry))
		return "service";
	if (is_of(d->file_env, entry))
		return "file";
	if (is_of(w->conf.variables, entry))
		return "create";
	return is_of(w->conf.environment, entry) ? "sandbox" : "plugin";
}

/* A list of names with their sources that begins with the first of them. */
static void put_name(struct rv_buf *to, bool *any, const char *name, size_t n, const char *source)
{
	if (!*any)
		rv_buf_fmt(to, "    %-14s", "environment");
	rv_buf_str(to, *any ? ", " : "");
	rv_text_visible(to, name, n);
	rv_buf_fmt(to, " (%s)", source);
	*any = true;
}

static bool is_set(const struct rv_environ *all, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = all->inherited; all->list && all->list[i]; i++)
		if (!strncmp(all->list[i], name, n) && all->list[i][n] == '=')
			return true;
	return false;
}

void rv_print_environment(const struct rv_whole *w, const struct rv_detail *d, struct rv_buf *to)
{
	static const char *const account[] = {"HOME", "USER", "LOGNAME", "SHELL"};
	static const char *const listeners[] = {"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"};
	struct rv_arena mine = {0};
	struct rv_environ all;
	bool any = false;

	rv_buf_fmt(to, "    %-14s", "inherits");
	rv_buf_str(to,
		d->inherit == RV_INHERIT_ALL		? "all"
			: d->inherit == RV_INHERIT_NONE ? "none"
							: "");
	for (size_t i = 0; d->inherit == RV_INHERIT_NAMES && d->inherit_names[i]; i++)
		rv_buf_fmt(to, "%s%s", i ? " " : "", d->inherit_names[i]);
	rv_buf_str(to, "\n");
	rv_conf_environ(&d->s, w->conf.variables, &mine, &all);
	for (const char *const *e = all.list; e && *e; e++) {
		if (!is_of(w->inherited, *e))
			put_name(to, &any, *e, strcspn(*e, "="), source_of(w, d, *e));
	}
	for (size_t i = 0; d->s.user && i < 4; i++)
		if (!is_set(&all, account[i]))
			put_name(to, &any, account[i], strlen(account[i]), "account");
	for (size_t i = 0; d->s.listen_count && i < 3; i++)
		put_name(to, &any, listeners[i], strlen(listeners[i]), "listen");
	if (any)
		rv_buf_str(to, "\n");
	rv_arena_fini(&mine);
}
