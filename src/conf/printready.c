/* What proves that a service is ready, for a reader: a line of `reeve plan`. */
#include "conf/print.h"

#include <string.h>

#include "base/text.h"

static void print_statuses(struct rv_buf *to, const char *what, struct rv_status_list list)
{
	for (uint32_t i = 0; i < list.count; i++) {
		rv_buf_fmt(to, "%s%u", i ? " " : what, (unsigned)list.at[i].from);
		if (list.at[i].to != list.at[i].from)
			rv_buf_fmt(to, "-%u", (unsigned)list.at[i].to);
	}
}

/* Names of headers only: values may be secrets. */
static void print_http(const struct rv_sheet *p, const struct rv_want *w)
{
	struct rv_buf *to = p->to;

	rv_buf_str(to, "http ");
	if (strcmp(w->method, "GET") != 0)
		rv_buf_fmt(to, "%s ", w->method);
	rv_print_text(p, w->url);
	for (size_t i = 0; w->headers && w->headers[i]; i++)
		rv_buf_fmt(to, "%s%.*s", i ? " " : " with ", (int)strcspn(w->headers[i], ":"),
			w->headers[i]);
	print_statuses(to, ": status ", w->status);
	print_statuses(to, ": retry ", w->retry);
	print_statuses(to, ": fail ", w->fail);
	if (w->body) {
		rv_buf_str(to, ": body ");
		rv_print_word(p, w->body);
	}
	for (uint32_t i = 0; i < w->json_count; i++) {
		rv_buf_str(to, i ? " " : ": json ");
		rv_print_word(p, w->json[i].path);
		if (w->json[i].kind != RV_MEMBER_THERE)
			rv_buf_str(to, "=");
		if (w->json[i].kind != RV_MEMBER_THERE)
			rv_print_word(p, w->json[i].value);
	}
	if (w->regex) {
		rv_buf_str(to, ": regex ");
		rv_print_word(p, w->regex);
	}
	rv_buf_str(to, ", ");
}

static void print_kind(const struct rv_sheet *p, const char *kind, const char *text)
{
	if (!text)
		return;
	rv_buf_fmt(p->to, "%s ", kind);
	rv_print_word(p, text);
	rv_buf_str(p->to, ", ");
}

static void print_kinds(
	const struct rv_sheet *p, const struct rv_service *s, const struct rv_check *k)
{
	struct rv_buf *to = p->to;

	if (k->plugin)
		rv_buf_fmt(to, "plugin %s, ", s->plugin);
	if (k->has_fd)
		rv_buf_fmt(to, "fd %d, ", k->fd);
	if (k->notify)
		rv_buf_fmt(to, "notify by %s, ", k->notify == RV_NOTIFY_MAIN ? "main" : "tree");
	print_kind(p, "log-line", k->log_line);
	print_kind(p, "file", k->file);
	print_kind(p, "unix", k->unix_path);
	if (k->tcp)
		rv_buf_fmt(to, "tcp %s, ", k->tcp);
	if (k->http)
		print_http(p, k->http);
	if (k->exec) {
		rv_buf_str(to, "exec ");
		rv_print_argv(p, k->exec);
		rv_buf_str(to, ", ");
	}
}

void rv_print_ready(const struct rv_sheet *p, const struct rv_service *s)
{
	const struct rv_check *k = &s->ready;
	struct rv_buf *to = p->to;
	char whole[40], once[40];

	rv_print_label(to, "ready");
	if (!s->has_ready) {
		rv_buf_str(to,
			s->type == RV_TASK		 ? "when it has ended with 0\n"
				: s->type == RV_LAUNCHER ? "when it has ended with 0 and left a "
							   "daemon\n"
							 : "when it runs (nothing proves it)\n");
		return;
	}
	print_kinds(p, s, k);
	rv_buf_fmt(to, "within %s (attempt %s)\n", rv_text_dur(k->timeout, whole, sizeof(whole)),
		rv_text_dur(k->attempt_timeout, once, sizeof(once)));
}

void rv_print_health(const struct rv_sheet *p, const struct rv_service *s, const struct rv_node *n)
{
	char period[40], once[40];

	if (!s->health)
		return;
	rv_print_label(p->to, "health");
	print_kinds(p, s, s->health);
	rv_buf_fmt(p->to, "every %s (attempt %s), after %u failures %s\n",
		rv_text_dur(n->health_period, period, sizeof(period)),
		rv_text_dur(s->health->attempt_timeout, once, sizeof(once)), n->health_threshold,
		!n->health_restarts   ? "only shown"
			: n->recreate ? "restart if its plugin confirms that it is lost"
				      : "restart");
}
