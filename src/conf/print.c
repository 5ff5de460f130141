/* The effective configuration for a reader, in start order: what `reeve plan` shows. Secrets are ***,
 * also where something else repeats them; of variables only the names are shown. */
#include "conf/print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"

static const char *const until_words[] = {"started", "ready", "exited"};
static const char *const kind_words[] = {"needs", "wants", "after"};
static const char *const on_words[] = {"never", "failure", "always"};
static const char *const loss_words[] = {"restart", "stop", "keep"};
static const char *const to_words[] = {"group", "main", "tree"};

void rv_print_label(struct rv_buf *to, const char *name)
{
	rv_buf_fmt(to, "    %-14s", name);
}

static const char *dur(rv_time t, char *to, size_t size)
{
	return rv_text_dur(t, to, size);
}
#define DUR(t) dur(t, (char[40]){0}, 40)

/* With the largest unit that says it exactly, as the file may have it. */
static const char *size_text(uint64_t v, char *to, size_t size)
{
	static const char *const units[] = {" bytes", "KiB", "MiB", "GiB", "TiB"};
	size_t u = 0;

	for (; v && v % 1024 == 0 && u + 1 < sizeof(units) / sizeof(units[0]); u++)
		v /= 1024;
	snprintf(to, size, "%" PRIu64 "%s", v, units[u]);
	return to;
}
#define SIZE(v) size_text(v, (char[40]){0}, 40)

/* --- words ------------------------------------------------------------------------------------ */

/* What a file may say with ${...}: without secrets, and without control characters. */
void rv_print_text(const struct rv_sheet *p, const char *text)
{
	struct rv_buf shown = {0};

	rv_mask_add(p->mask, text, &shown);
	rv_text_visible(p->to, rv_buf_text(&shown), shown.len);
	rv_buf_fini(&shown);
}

/* As a shell would want it. Masked before it is quoted, for a quote inside a secret would hide it from us. */
void rv_print_word(const struct rv_sheet *p, const char *word)
{
	const char *safe =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
	struct rv_buf shown = {0}, quoted = {0};

	if (*word && strspn(word, safe) == strlen(word)) {
		rv_print_text(p, word);
		return;
	}
	rv_mask_add(p->mask, word, &shown);
	rv_buf_str(&quoted, "'");
	for (const char *s = rv_buf_text(&shown); *s; s++) {
		if (*s == '\'')
			rv_buf_str(&quoted, "'\\''");
		else
			rv_buf_add(&quoted, s, 1);
	}
	rv_buf_str(&quoted, "'");
	rv_text_visible(p->to, rv_buf_text(&quoted), quoted.len);
	rv_buf_fini(&shown);
	rv_buf_fini(&quoted);
}

void rv_print_argv(const struct rv_sheet *p, const char *const *argv)
{
	for (size_t i = 0; argv[i]; i++) {
		if (i)
			rv_buf_str(p->to, " ");
		rv_print_word(p, argv[i]);
	}
}

/* --- lines of a service ----------------------------------------------------------------------- */

static void print_process(const struct rv_sheet *p, const struct rv_service *s)
{
	struct rv_buf *to = p->to;

	rv_print_label(to, "command");
	if (s->argv)
		rv_print_argv(p, s->argv);
	else
		rv_buf_fmt(to, "(plugin %s tells it at each start)", s->plugin);
	rv_buf_str(to, "\n");
	rv_print_label(to, "directory");
	rv_print_text(p, s->working_dir ? s->working_dir : "/");
	rv_buf_str(to, "\n");
	rv_print_label(to, "user");
	rv_buf_fmt(to, "%s", s->user ? s->user : "(reeve's)");
	if (s->group)
		rv_buf_fmt(to, ", group %s", s->group);
	if (s->groups)
		rv_buf_str(to, s->groups[0] ? ", groups" : ", no groups");
	for (size_t i = 0; s->groups && s->groups[i]; i++)
		rv_buf_fmt(to, " %s", s->groups[i]);
	rv_buf_str(to, "\n");
	if (s->has_umask) {
		rv_print_label(to, "umask");
		rv_buf_fmt(to, "%03o\n", s->umask);
	}
}

static void print_amount(struct rv_buf *to, uint64_t v)
{
	if (v == UINT64_MAX)
		rv_buf_str(to, "unlimited");
	else
		rv_buf_fmt(to, "%" PRIu64, v);
}

static void print_limits(const struct rv_service *s, struct rv_buf *to)
{
	if (!s->limit_count)
		return;
	rv_print_label(to, "limits");
	for (size_t i = 0; i < s->limit_count; i++) {
		rv_buf_fmt(to, "%s%s ", i ? ", " : "", rv_limit_name(s->limits[i].resource));
		print_amount(to, s->limits[i].soft);
		if (s->limits[i].soft == s->limits[i].hard)
			continue;
		rv_buf_str(to, " of ");
		print_amount(to, s->limits[i].hard);
	}
	rv_buf_str(to, "\n");
}

static void print_parts(const struct rv_conf *conf, const struct rv_detail *d, struct rv_buf *to)
{
	bool any = false;

	for (size_t i = 0; i < d->s.dep_count; i++) {
		if (!d->s.deps[i].part)
			continue;
		if (!any)
			rv_print_label(to, "part of");
		rv_buf_fmt(to, "%s%s", any ? ", " : "", conf->services[d->s.deps[i].on].name);
		any = true;
	}
	if (any)
		rv_buf_str(to, "\n");
}

static void print_graph(const struct rv_conf *conf, const struct rv_detail *d, struct rv_buf *to)
{
	for (int kind = RV_NEEDS; kind <= RV_AFTER; kind++) {
		bool any = false;

		for (size_t i = 0; i < d->s.dep_count; i++) {
			const struct rv_dependency *dep = &d->s.deps[i];

			if (dep->kind != kind)
				continue;
			if (!any)
				rv_print_label(to, kind_words[kind]);
			rv_buf_fmt(to, "%s%s", any ? ", " : "", conf->services[dep->on].name);
			if (kind == RV_NEEDS)
				rv_buf_fmt(to, " until %s", until_words[dep->until]);
			any = true;
		}
		if (any && kind == RV_NEEDS)
			rv_buf_fmt(to, " (lost: %s)", loss_words[d->node.on_loss]);
		if (any)
			rv_buf_str(to, "\n");
	}
	print_parts(conf, d, to);
}

static void print_sockets(const struct rv_sheet *p, const struct rv_service *s)
{
	struct rv_buf *to = p->to;

	for (size_t i = 0; i < s->listen_count; i++) {
		const struct rv_listen *l = &s->listen[i];

		rv_print_label(to, i ? "" : "listen");
		rv_buf_fmt(to, "%s: ", l->name);
		rv_print_text(p, l->address);
		rv_buf_fmt(to, " as descriptor %d", l->fd);
		if (l->backlog)
			rv_buf_fmt(to, ", backlog %d", l->backlog);
		if (l->has_mode)
			rv_buf_fmt(to, ", mode %04o", l->mode);
		if (l->owner)
			rv_buf_fmt(to, ", owner %s", l->owner);
		if (l->group)
			rv_buf_fmt(to, ", group %s", l->group);
		rv_buf_str(to, "\n");
	}
	if (s->port_count)
		rv_print_label(to, "ports");
	for (size_t i = 0; i < s->port_count; i++)
		rv_buf_fmt(to, "%s%u", i ? " " : "", s->ports[i]);
	if (s->port_count)
		rv_buf_fmt(to, "%s\n", s->adopts ? " (running already: adopted)" : "");
}

static void print_main_pid(const struct rv_sheet *p, const struct rv_service *s)
{
	const struct rv_main_pid *m = &s->main_pid;

	if (s->type != RV_LAUNCHER)
		return;
	rv_print_label(p->to, "main pid");
	switch (m->by) {
	case RV_MAIN_TREE: rv_buf_str(p->to, "the process that it leaves\n"); break;
	case RV_MAIN_PORT: rv_buf_fmt(p->to, "who listens on port %u\n", m->port); break;
	case RV_MAIN_FILE:
		rv_buf_str(p->to, "in ");
		rv_print_text(p, m->file);
		rv_buf_str(p->to, "\n");
		break;
	}
}

static void print_policy(const struct rv_detail *d, struct rv_buf *to)
{
	const struct rv_node *n = &d->node;

	rv_print_label(to, "restart");
	rv_buf_str(to, on_words[n->restart_on]);
	if (n->restart_on != RV_RESTART_NEVER) {
		rv_buf_fmt(to, ", delay %s", DUR(n->delay));
		if (n->factor_milli % 1000)
			rv_buf_fmt(
				to, " x %u.%03u", n->factor_milli / 1000, n->factor_milli % 1000);
		else
			rv_buf_fmt(to, " x %u", n->factor_milli / 1000);
		rv_buf_fmt(to, " up to %s, ", DUR(n->max_delay));
		if (n->limit)
			rv_buf_fmt(to, "at most %u in %s", n->limit, DUR(n->window));
		else
			rv_buf_str(to, "no limit");
		if (n->give_up_ends)
			rv_buf_str(to, ", then reeve ends");
	}
	if (n->start_attempts != 1)
		rv_buf_fmt(to, ", %u attempts to start", n->start_attempts);
	rv_buf_str(to, "\n");
	if (n->recreate) {
		rv_print_label(to, "recreate");
		rv_buf_str(to, "when its plugin confirms that it is lost\n");
	}
	rv_print_label(to, "stop");
	if (n->hooks & RV_HAS(RV_HOOK_STOP))
		rv_buf_fmt(to, "hook %s, ", DUR(n->stop_hook_timeout));
	for (uint32_t i = 0; i < n->step_count; i++)
		rv_buf_fmt(to, "%s to %s %s, ", rv_signal_name(d->steps[i].signal),
			to_words[d->steps[i].to], DUR(d->steps[i].timeout));
	rv_buf_str(to, "KILL to tree");
	if (n->hooks & RV_HAS(RV_HOOK_CLEANUP))
		rv_buf_fmt(to, ", cleanup %s", DUR(n->cleanup_timeout));
	rv_buf_str(to, "\n");
}

static void print_log(const struct rv_sheet *p, const struct rv_log_conf *l)
{
	struct rv_buf *to = p->to;

	rv_print_label(to, "log");
	switch (l->kind) {
	case RV_LOG_INHERIT: rv_buf_str(to, "reeve's own output\n"); return;
	case RV_LOG_NULL: rv_buf_str(to, "discarded\n"); return;
	case RV_LOG_FILE: break;
	}
	rv_print_text(p, l->path);
	if (l->max_size)
		rv_buf_fmt(to, ", rotated at %s, %u kept\n", SIZE(l->max_size), l->keep);
	else
		rv_buf_str(to, ", not rotated\n");
}

static void print_value(const struct rv_sheet *p, const struct rv_option *o)
{
	const char *end = o->value + o->value_len;

	if (rv_key_is_secret(o->key->type)) {
		rv_buf_str(p->to, "***");
	} else if (o->key->type == RV_KEY_WORDS) {
		for (const char *w = o->value; w < end; w += strlen(w) + 1) {
			rv_buf_str(p->to, w == o->value ? "" : " ");
			rv_print_word(p, w);
		}
	} else {
		rv_print_word(p, o->value);
	}
}

static void print_options(const struct rv_sheet *p, const struct rv_service *s)
{
	struct rv_buf *to = p->to;
	bool any = false;

	for (size_t i = 0; i < s->option_count; i++) {
		const struct rv_option *o = &s->options[i];

		if (!o->value)
			continue;
		rv_print_label(to, any ? "" : "options");
		any = true;
		rv_buf_fmt(to, "%s = ", o->key->name);
		print_value(p, o);
		switch (o->from) {
		case RV_FROM_PRESET: rv_buf_str(to, "  (default)\n"); break;
		case RV_FROM_ENV: rv_buf_fmt(to, "  (variable %s)\n", o->key->env); break;
		case RV_FROM_YAML:
		case RV_FROM_START: rv_buf_str(to, "  (file)\n"); break;
		}
	}
}

static void print_service(
	const struct rv_sheet *p, const struct rv_whole *w, const struct rv_detail *d)
{
	static const char *const types[] = {"daemon", "task", "launcher"};
	const struct rv_service *s = &d->s;
	struct rv_buf *to = p->to;

	rv_buf_fmt(to, "\n%u. %s: %s of plugin %s%s%s\n", d->node.rank + 1, s->name, types[s->type],
		s->plugin, s->enabled ? "" : ", disabled", s->essential ? "" : ", not essential");
	if (s->summary) {
		rv_print_label(to, "summary");
		rv_text_visible(to, s->summary, strlen(s->summary));
		rv_buf_str(to, "\n");
	}
	print_process(p, s);
	print_limits(s, to);
	rv_print_environment(w, d, to);
	print_graph(&w->conf, d, to);
	print_sockets(p, s);
	print_main_pid(p, s);
	rv_print_ready(p, s);
	rv_print_health(p, s, &d->node);
	print_policy(d, to);
	print_log(p, &s->log);
	print_options(p, s);
}

static void print_top(const struct rv_conf *conf, struct rv_buf *to)
{
	const struct rv_plan *p = conf->plan;

	rv_buf_str(to, "reeve\n");
	rv_print_label(to, "files");
	for (size_t i = 0; conf->paths[i]; i++)
		rv_buf_fmt(to, "%s%s", i ? " " : "", conf->paths[i]);
	rv_buf_str(to, "\n");
	rv_print_label(to, "control");
	rv_buf_fmt(to, "%s/control.sock, mode %04o", conf->runtime_dir, conf->control_mode);
	if (conf->control_owner)
		rv_buf_fmt(to, ", owner %s", conf->control_owner);
	if (conf->control_group)
		rv_buf_fmt(to, ", group %s", conf->control_group);
	rv_buf_str(to, "\n");
	rv_print_label(to, "plugins");
	rv_buf_fmt(to, "%s\n", conf->plugin_dir);
	rv_print_label(to, "boot");
	rv_buf_fmt(to, "within %s, then %s", p->boot_timeout ? DUR(p->boot_timeout) : "any time",
		p->rollback ? "rollback" : "continue");
	if (p->max_starts)
		rv_buf_fmt(to, ", %u starts at one time", p->max_starts);
	rv_buf_str(to, "\n");
	if (conf->max_timeout) {
		rv_print_label(to, "requests");
		rv_buf_fmt(to, "wait %s at most\n", DUR(conf->max_timeout));
	}
	rv_print_label(to, "shutdown");
	rv_buf_fmt(
		to, "within %s (start grace %s)\n", DUR(p->shutdown_timeout), DUR(p->start_grace));
	if (conf->termination_report) {
		rv_print_label(to, "report");
		rv_buf_fmt(to, "%s\n", conf->termination_report);
	}
	if (p->exit_from != RV_NO_ID) {
		rv_print_label(to, "exit from");
		rv_buf_fmt(to, "%s\n", conf->services[p->exit_from].name);
	}
}

void rv_conf_print(const struct rv_conf *conf, struct rv_buf *to)
{
	const struct rv_whole *w = (const struct rv_whole *)conf;
	struct rv_mask *mask;

	if (!conf->plan)
		return;
	mask = rv_mask_create(conf);
	if (!mask) {
		rv_buf_str(to, "cannot show the plan: out of memory\n");
		return;
	}
	print_top(conf, to);
	for (size_t i = 0; i < conf->plan->present; i++)
		print_service(&(struct rv_sheet){to, mask}, w,
			&w->details[w->detail_of[conf->plan->order[i]]]);
	rv_mask_destroy(mask);
}
