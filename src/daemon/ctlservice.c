/* One service of the plan as JSON: what `reevectl --json plan` lists. Secrets are ***, and of environment
 * variables only the names leave. See ctl.h. */
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "daemon/ctl.h"
#include "wire/json.h"

/* What is written to, and what must not get there. */
struct sheet {
	struct rv_buf *to;
	const struct rv_mask *mask;
};

static void put_str(struct rv_buf *to, const char *key, const char *value)
{
	rv_json_key(to, key);
	rv_json_str(to, value);
}

static void put_bool(struct rv_buf *to, const char *key, bool value)
{
	rv_json_key(to, key);
	rv_json_bool(to, value);
}

static void put_int(struct rv_buf *to, const char *key, int64_t value)
{
	rv_json_key(to, key);
	rv_json_int(to, value);
}

static void put_ms(struct rv_buf *to, const char *key, rv_time t)
{
	put_int(to, key, t / RV_MS);
}

/* What a file may say with ${...}. */
static void put_masked(const struct sheet *p, const char *word)
{
	struct rv_buf text = {0};

	if (!word) {
		RV_JSON_LIT(p->to, "null");
		return;
	}
	rv_mask_add(p->mask, word, &text);
	rv_json_strn(p->to, rv_buf_text(&text), text.len);
	rv_buf_fini(&text);
}

static void put_words(const struct sheet *p, const char *const *words)
{
	if (!words) {
		RV_JSON_LIT(p->to, "null");
		return;
	}
	RV_JSON_LIT(p->to, "[");
	for (size_t i = 0; words[i]; i++) {
		if (i)
			RV_JSON_LIT(p->to, ",");
		put_masked(p, words[i]);
	}
	RV_JSON_LIT(p->to, "]");
}

/* Names only: values of environment variables never leave. */
static void put_env_names(struct rv_buf *to, const struct rv_conf *conf, const struct rv_service *s)
{
	struct rv_arena arena = {0};
	struct rv_environ all;

	rv_conf_environ(s, conf->variables, &arena, &all);
	rv_json_key(to, "environment");
	RV_JSON_LIT(to, "[");
	for (size_t i = 0; all.list && all.list[i]; i++) {
		if (i)
			RV_JSON_LIT(to, ",");
		rv_json_strn(to, all.list[i], strcspn(all.list[i], "="));
	}
	RV_JSON_LIT(to, "]");
	rv_arena_fini(&arena);
}

static void put_process(
	const struct sheet *p, const struct rv_conf *conf, const struct rv_service *s)
{
	rv_json_key(p->to, "argv");
	put_words(p, s->argv);
	rv_json_key(p->to, "user");
	put_masked(p, s->user);
	rv_json_key(p->to, "group");
	put_masked(p, s->group);
	rv_json_key(p->to, "groups");
	put_words(p, s->groups);
	rv_json_key(p->to, "working_dir");
	put_masked(p, s->working_dir ? s->working_dir : "/");
	put_env_names(p->to, conf, s);
}

static void put_dependencies(
	struct rv_buf *to, const struct rv_conf *conf, const struct rv_service *s)
{
	static const char *const kinds[] = {"needs", "wants", "after"};
	static const char *const untils[] = {"started", "ready", "exited"};

	for (int kind = RV_NEEDS; kind <= RV_AFTER; kind++) {
		bool any = false;

		rv_json_key(to, kinds[kind]);
		RV_JSON_LIT(to, "[");
		for (size_t i = 0; i < s->dep_count; i++) {
			const struct rv_dependency *d = &s->deps[i];

			if (d->kind != kind)
				continue;
			rv_buf_str(to, any ? ",{\"name\":" : "{\"name\":");
			any = true;
			rv_json_str(to, conf->services[d->on].name);
			if (kind == RV_NEEDS)
				put_str(to, "until", untils[d->until]);
			RV_JSON_LIT(to, "}");
		}
		RV_JSON_LIT(to, "]");
	}
}

static void put_parts(struct rv_buf *to, const struct rv_conf *conf, const struct rv_service *s)
{
	bool any = false;

	rv_json_key(to, "part_of");
	RV_JSON_LIT(to, "[");
	for (size_t i = 0; i < s->dep_count; i++) {
		if (!s->deps[i].part)
			continue;
		rv_buf_str(to, any ? "," : "");
		any = true;
		rv_json_str(to, conf->services[s->deps[i].on].name);
	}
	RV_JSON_LIT(to, "]");
}

static void put_listener(const struct sheet *p, const struct rv_listen *l)
{
	static const char *const families[] = {"tcp4", "tcp6", "unix"};
	char mode[16];

	RV_JSON_LIT(p->to, "{\"name\":");
	rv_json_str(p->to, l->name);
	put_str(p->to, "family", families[l->family]);
	rv_json_key(p->to, "address");
	put_masked(p, l->address);
	put_int(p->to, "fd", l->fd);
	put_int(p->to, "backlog", l->backlog);
	if (l->family == RV_UNIX) {
		snprintf(mode, sizeof(mode), "%04o", l->mode);
		put_str(p->to, "mode", l->has_mode ? mode : NULL);
		put_str(p->to, "owner", l->owner);
		put_str(p->to, "group", l->group);
	}
	RV_JSON_LIT(p->to, "}");
}

static void put_sockets(const struct sheet *p, const struct rv_service *s)
{
	rv_json_key(p->to, "listen");
	RV_JSON_LIT(p->to, "[");
	for (size_t i = 0; i < s->listen_count; i++) {
		if (i)
			RV_JSON_LIT(p->to, ",");
		put_listener(p, &s->listen[i]);
	}
	RV_JSON_LIT(p->to, "]");
	rv_json_key(p->to, "ports");
	RV_JSON_LIT(p->to, "[");
	for (size_t i = 0; i < s->port_count; i++) {
		if (i)
			RV_JSON_LIT(p->to, ",");
		rv_json_int(p->to, s->ports[i]);
	}
	RV_JSON_LIT(p->to, "]");
	rv_json_key(p->to, "if_running");
	rv_json_str(p->to, s->adopts ? "adopt" : "fail");
}

/* Of a launcher; null for all others. */
static void put_main_pid(const struct sheet *p, const struct rv_service *s)
{
	rv_json_key(p->to, "main_pid");
	if (s->type != RV_LAUNCHER) {
		RV_JSON_LIT(p->to, "null");
		return;
	}
	switch (s->main_pid.by) {
	case RV_MAIN_TREE: RV_JSON_LIT(p->to, "{\"tree\":true}"); break;
	case RV_MAIN_PORT: rv_buf_fmt(p->to, "{\"port\":%u}", s->main_pid.port); break;
	case RV_MAIN_FILE:
		RV_JSON_LIT(p->to, "{\"file\":");
		put_masked(p, s->main_pid.file);
		RV_JSON_LIT(p->to, "}");
		break;
	}
}

/* NULL: nothing. */
static void put_text(const struct sheet *p, const char *key, const char *text)
{
	if (!text)
		return;
	rv_json_key(p->to, key);
	put_masked(p, text);
}

static void put_statuses(struct rv_buf *to, const char *key, struct rv_status_list list)
{
	if (!list.count)
		return;
	rv_json_key(to, key);
	for (uint32_t i = 0; i < list.count; i++)
		rv_buf_fmt(to, "%s[%u,%u]", i ? "," : "[", (unsigned)list.at[i].from,
			(unsigned)list.at[i].to);
	RV_JSON_LIT(to, "]");
}

/* What is not the usual. Values of headers, and what is sent, are nobody's to see. */
static void put_want(const struct sheet *p, const struct rv_want *w)
{
	if (strcmp(w->method, "GET") != 0)
		put_str(p->to, "http_method", w->method);
	if (w->headers)
		rv_json_key(p->to, "http_headers");
	for (size_t i = 0; w->headers && w->headers[i]; i++) {
		rv_buf_str(p->to, i ? "," : "[");
		rv_json_strn(p->to, w->headers[i], strcspn(w->headers[i], ":"));
	}
	if (w->headers)
		rv_buf_str(p->to, w->headers[0] ? "]" : "[]");
	put_statuses(p->to, "http_status", w->status);
	put_statuses(p->to, "http_retry_status", w->retry);
	put_statuses(p->to, "http_fail_status", w->fail);
	put_text(p, "http_body", w->body);
	put_text(p, "http_regex", w->regex);
	if (w->json_count)
		put_int(p->to, "http_members", w->json_count);
}

/* Of an object that the caller goes on with, and ends. */
static void put_kinds(const struct sheet *p, const struct rv_check *k)
{
	RV_JSON_LIT(p->to, "{\"plugin\":");
	rv_json_bool(p->to, k->plugin);
	if (k->has_fd)
		put_int(p->to, "fd", k->fd);
	if (k->notify)
		put_str(p->to, "notify", k->notify == RV_NOTIFY_MAIN ? "main" : "tree");
	put_text(p, "log_line", k->log_line);
	put_text(p, "file", k->file);
	put_text(p, "unix", k->unix_path);
	if (k->tcp)
		put_str(p->to, "tcp", k->tcp);
	put_text(p, "http", k->http_url);
	if (k->http)
		put_want(p, k->http);
	if (k->exec) {
		rv_json_key(p->to, "exec");
		put_words(p, k->exec);
	}
}

static void put_ready(const struct sheet *p, const struct rv_service *s)
{
	const struct rv_check *k = &s->ready;

	rv_json_key(p->to, "ready");
	if (!s->has_ready) {
		rv_buf_str(p->to, s->type == RV_DAEMON ? "null" : "{\"exit\":0}");
		return;
	}
	put_kinds(p, k);
	put_ms(p->to, "timeout_ms", k->timeout);
	put_ms(p->to, "attempt_timeout_ms", k->attempt_timeout);
	RV_JSON_LIT(p->to, "}");
}

static void put_health(const struct sheet *p, const struct rv_service *s, const struct rv_node *n)
{
	rv_json_key(p->to, "health");
	if (!s->health) {
		RV_JSON_LIT(p->to, "null");
		return;
	}
	put_kinds(p, s->health);
	put_ms(p->to, "period_ms", n->health_period);
	put_ms(p->to, "attempt_timeout_ms", s->health->attempt_timeout);
	put_int(p->to, "threshold", n->health_threshold);
	put_str(p->to, "on_failure", n->health_restarts ? "restart" : "none");
	RV_JSON_LIT(p->to, "}");
}

static void put_restart(struct rv_buf *to, const struct rv_node *n)
{
	static const char *const words[] = {"never", "failure", "always"};

	rv_json_key(to, "restart");
	RV_JSON_LIT(to, "{\"on\":");
	rv_json_str(to, words[n->restart_on]);
	put_ms(to, "delay_ms", n->delay);
	rv_json_key(to, "factor");
	rv_buf_fmt(to, "%u.%03u", n->factor_milli / 1000, n->factor_milli % 1000);
	put_ms(to, "max_delay_ms", n->max_delay);
	put_int(to, "limit", n->limit);
	put_ms(to, "window_ms", n->window);
	put_str(to, "on_give_up", n->give_up_ends ? "shutdown" : "ignore");
	put_int(to, "start_attempts", n->start_attempts);
	RV_JSON_LIT(to, "}");
	put_bool(to, "recreate", n->recreate);
}

/* The last step is KILL, whatever is configured. */
static void put_stop(struct rv_buf *to, const struct rv_plan *plan, const struct rv_node *n)
{
	static const char *const targets[] = {"group", "main", "tree", "strays"};

	rv_json_key(to, "stop");
	RV_JSON_LIT(to, "[");
	for (uint32_t i = 0; i < n->step_count; i++) {
		const struct rv_step *step = &plan->steps[n->first_step + i];

		RV_JSON_LIT(to, "{\"signal\":");
		rv_json_str(to, rv_signal_name(step->signal));
		put_str(to, "to", targets[step->to]);
		put_ms(to, "timeout_ms", step->timeout);
		RV_JSON_LIT(to, "},");
	}
	RV_JSON_LIT(to, "{\"signal\":\"KILL\",\"to\":\"tree\"");
	put_ms(to, "timeout_ms", plan->kill_timeout);
	RV_JSON_LIT(to, "}]");
}

static void put_log(const struct sheet *p, const struct rv_log_conf *l)
{
	rv_json_key(p->to, "log");
	switch (l->kind) {
	case RV_LOG_INHERIT: RV_JSON_LIT(p->to, "{\"to\":\"inherit\"}"); return;
	case RV_LOG_NULL: RV_JSON_LIT(p->to, "{\"to\":\"null\"}"); return;
	case RV_LOG_FILE: break;
	}
	RV_JSON_LIT(p->to, "{\"to\":\"file\",\"path\":");
	put_masked(p, l->path);
	put_int(p->to, "max_size", (int64_t)l->max_size);
	put_int(p->to, "keep", l->keep);
	RV_JSON_LIT(p->to, "}");
}

static void put_value(const struct sheet *p, const struct rv_option *o)
{
	const char *end = o->value + o->value_len;

	if (rv_key_is_secret(o->key->type)) {
		RV_JSON_LIT(p->to, "\"***\"");
		return;
	}
	if (o->key->type != RV_KEY_WORDS) {
		put_masked(p, o->value);
		return;
	}
	RV_JSON_LIT(p->to, "[");
	for (const char *w = o->value; w < end; w += strlen(w) + 1) {
		if (w != o->value)
			RV_JSON_LIT(p->to, ",");
		put_masked(p, w);
	}
	RV_JSON_LIT(p->to, "]");
}

static void put_options(const struct sheet *p, const struct rv_service *s)
{
	static const char *const sources[] = {"default", "variable", "file"};
	bool any = false;

	rv_json_key(p->to, "options");
	RV_JSON_LIT(p->to, "[");
	for (size_t i = 0; i < s->option_count; i++) {
		const struct rv_option *o = &s->options[i];

		if (!o->value)
			continue;
		rv_buf_str(p->to, any ? ",{\"name\":" : "{\"name\":");
		any = true;
		rv_json_str(p->to, o->key->name);
		rv_json_key(p->to, "value");
		put_value(p, o);
		put_str(p->to, "source", sources[o->from]);
		if (o->from == RV_FROM_ENV)
			put_str(p->to, "variable", o->key->env);
		RV_JSON_LIT(p->to, "}");
	}
	RV_JSON_LIT(p->to, "]");
}

void rv_verb_put_planned(
	struct rv_buf *to, const struct rv_mask *mask, const struct rv_conf *conf, rv_id id)
{
	static const char *const types[] = {"daemon", "task", "launcher"};
	const struct sheet p = {to, mask};
	const struct rv_service *s = &conf->services[id];
	const struct rv_node *n = &conf->plan->node[id];

	RV_JSON_LIT(to, "{\"name\":");
	rv_json_str(to, s->name);
	put_str(to, "type", types[s->type]);
	put_str(to, "plugin", s->plugin);
	rv_json_key(to, "summary");
	put_masked(&p, s->summary);
	put_bool(to, "enabled", s->enabled);
	put_bool(to, "essential", s->essential);
	put_process(&p, conf, s);
	put_dependencies(to, conf, s);
	put_parts(to, conf, s);
	put_sockets(&p, s);
	put_main_pid(&p, s);
	put_ready(&p, s);
	put_health(&p, s, n);
	put_restart(to, n);
	put_stop(to, conf->plan, n);
	put_log(&p, &s->log);
	put_options(&p, s);
	RV_JSON_LIT(to, "}");
}
