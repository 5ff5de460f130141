/* Tables and sentences: see show.h. */
#include "ctl/show.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/names.h"
#include "base/text.h"
#include "ctl/field.h"

static bool is_number(const cJSON *o, const char *key)
{
	return cJSON_IsNumber(rv_field(o, key));
}

/* --- exit statuses ----------------------------------------------------------------------------- */

static int worst_outcome(const cJSON *result)
{
	const cJSON *s;
	bool late = false, not_ready = false;

	cJSON_ArrayForEach(s, rv_field(result, "services"))
	{
		const char *outcome = rv_field_text(s, "outcome");

		if (!strcmp(outcome, "failed"))
			return CTL_FAILED;
		late |= !strcmp(outcome, "timeout");
		not_ready |= !strcmp(outcome, "not-ready");
	}
	if (not_ready)
		return CTL_NOT_READY;
	if (late)
		return CTL_TIMEOUT;
	return CTL_OK;
}

static bool is_good_state(const char *state)
{
	return !strcmp(state, "ready") || !strcmp(state, "exited") || !strcmp(state, "adopted");
}

int rv_show_exit(const struct rv_words *w, const cJSON *result)
{
	const cJSON *s;
	int status;

	switch (w->verb) {
	case RV_VERB_STATUS:
		if (w->name_count)
			cJSON_ArrayForEach(s,
				rv_field(result,
					"services")) if (!is_good_state(rv_field_text(s,
								 "state"))) return CTL_NOT_READY;
		return CTL_OK;
	case RV_VERB_WAIT:
		status = worst_outcome(result);
		return status || rv_field_is_true(result, "ok") ? status
			: !strcmp(rv_field_text(result, "boot"), "under-way") ||
				!strcmp(rv_field_text(result, "boot"), "not-yet")
			? CTL_TIMEOUT
			: CTL_NOT_READY;
	case RV_VERB_START:
	case RV_VERB_STOP:
	case RV_VERB_RESTART:
	case RV_VERB_RECREATE:
	case RV_VERB_PAUSE:
	case RV_VERB_RESUME:
	case RV_VERB_SIGNAL: return worst_outcome(result);
	case RV_VERB_RELOAD:
		return rv_field_number(result, "errors") > 0 ? CTL_FAILED : worst_outcome(result);
	case RV_VERB_CHECK: return rv_field_is_true(result, "ok") ? CTL_OK : CTL_FAILED;
	case RV_VERB_ENV:
	case RV_VERB_LOGS:
	case RV_VERB_WHY:
	case RV_VERB_EVENTS:
	case RV_VERB_PLAN:
	case RV_VERB_PLUGINS:
	case RV_VERB_VERSION:
	case RV_VERB_SHUTDOWN:
	case RV_VERB_COUNT: break;
	}
	return CTL_OK;
}

/* --- status ------------------------------------------------------------------------------------ */

enum { C_NAME, C_STATE, C_PID, C_UPTIME, C_RESTARTS, C_LAST, C_COUNT };

struct row {
	const char *name, *state;
	char pid[16], uptime[32], restarts[16];
	struct rv_buf last;
};

static void first_line(struct rv_buf *to, const char *text)
{
	rv_text_visible(to, text, strcspn(text, "\n"));
}

static void add_exit(struct rv_buf *to, const cJSON *e)
{
	char how[64];
	rv_exit exit = RV_EXIT_UNKNOWN;

	if (is_number(e, "code"))
		exit = (rv_exit)rv_field_number(e, "code");
	else if (is_number(e, "number"))
		exit = RV_EXIT_SIGNAL((rv_exit)rv_field_number(e, "number"));
	if (exit != RV_EXIT_UNKNOWN)
		rv_buf_str(to, rv_exit_text(exit, how, sizeof(how)));
}

/* One sentence: why it is where it is, or how the last life ended. */
static void add_last(struct rv_buf *to, const cJSON *s)
{
	const char *why = rv_field_text(s, "why"), *other = rv_field_text(s, "other");
	const char *detail = rv_field_text(s, "detail"), *state = rv_field_text(s, "state");

	if (*detail)
		first_line(to, detail);
	else if (!strcmp(state, "waiting") && *other)
		rv_buf_fmt(to, "waits for %s", other);
	else if (*why)
		rv_buf_fmt(to, "%s%s%s", why, *other ? ": " : "", other);
	else
		add_exit(to, rv_field(s, "exit"));
	if (rv_field_is_true(s, "unproven") && !strcmp(state, "ready"))
		rv_buf_fmt(to, "%sunproven", to->len ? "; " : "");
	if (rv_field_is_true(s, "disabled"))
		rv_buf_fmt(to, "%splugin disabled", to->len ? "; " : "");
	if (rv_field_is_true(s, "paused"))
		rv_buf_fmt(to, "%spaused", to->len ? "; " : "");
	if (is_number(s, "lost"))
		rv_buf_fmt(to, "%sgeneration %.0f was lost and is not replaced",
			to->len ? "; " : "", rv_field_number(s, "lost"));
	if (!to->len)
		rv_buf_str(to, "-");
}

static void fill_row(struct row *r, const cJSON *s)
{
	*r = (struct row){.name = rv_field_text(s, "name"),
		.state = rv_field_text(s, "state"),
		.pid = "-",
		.uptime = "-"};
	if (is_number(s, "pid"))
		snprintf(r->pid, sizeof(r->pid), "%.0f", rv_field_number(s, "pid"));
	if (is_number(s, "uptime_ms"))
		rv_text_ago((rv_time)rv_field_number(s, "uptime_ms") * RV_MS, r->uptime,
			sizeof(r->uptime));
	snprintf(r->restarts, sizeof(r->restarts), "%.0f", rv_field_number(s, "restarts"));
	add_last(&r->last, s);
}

static const char *cell(const struct row *r, int column)
{
	static const char *const heads[] = {"NAME", "STATE", "PID", "UPTIME", "RESTARTS", "LAST"};

	if (!r)
		return heads[column];
	switch (column) {
	case C_NAME: return r->name;
	case C_STATE: return r->state;
	case C_PID: return r->pid;
	case C_UPTIME: return r->uptime;
	case C_RESTARTS: return r->restarts;
	default: return rv_buf_text(&r->last);
	}
}

static bool may_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

static const char *colour_of(const char *state)
{
	if (is_good_state(state))
		return "\033[32m";
	if (!strcmp(state, "failed") || !strcmp(state, "unhealthy") || !strcmp(state, "killing"))
		return "\033[31m";
	return !strcmp(state, "stopped") ? "\033[2m" : "\033[33m";
}

/* Columns of the terminal; 0: as wide as it gets. */
static size_t screen_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

/* A line of so many characters at most; the rest is "…". */
static void print_fitting(const char *text, size_t most)
{
	size_t chars = 0, cut = 0, at = 0;

	for (; text[at]; at++) {
		if (((unsigned char)text[at] & 0xc0) == 0x80)
			continue;
		if (++chars == most)
			cut = at;
	}
	if (chars > most)
		printf("%.*s…\n", (int)cut, text);
	else
		puts(text);
}

static void print_row(const struct row *r, const int *width, bool colour, size_t screen)
{
	const char *last = cell(r, C_LAST);
	size_t used = 0;

	for (int c = 0; c < C_LAST; c++) {
		const char *text = cell(r, c);
		const char *paint = colour && r && c == C_STATE ? colour_of(r->state) : NULL;

		printf("%s%-*s%s  ", paint ? paint : "", width[c], text, paint ? "\033[0m" : "");
		used += (size_t)width[c] + 2;
	}
	print_fitting(last, screen > used + 10 ? screen - used : SIZE_MAX);
}

static void print_table(const struct row *rows, size_t n)
{
	int width[C_LAST];
	bool colour = may_colour();
	size_t screen = screen_width();

	for (int c = 0; c < C_LAST; c++) {
		width[c] = (int)strlen(cell(NULL, c));
		for (size_t i = 0; i < n; i++)
			if ((int)strlen(cell(&rows[i], c)) > width[c])
				width[c] = (int)strlen(cell(&rows[i], c));
	}
	print_row(NULL, width, colour, screen);
	for (size_t i = 0; i < n; i++)
		print_row(&rows[i], width, colour, screen);
}

/* The lines of a detail that the table has no room for. */
static void print_detail(const cJSON *s)
{
	const char *detail = rv_field_text(s, "detail");
	struct rv_buf text = {0};

	if (!strchr(detail, '\n'))
		return;
	rv_text_visible(&text, detail, strlen(detail));
	printf("\n%s: %s\n", rv_field_text(s, "name"), rv_buf_text(&text));
	rv_buf_fini(&text);
}

/* The sandbox as a whole, when it is not as it should be: ready without all, or a boot that failed. */
static void print_sandbox(FILE *to, const char *before, const cJSON *result)
{
	struct rv_buf text = {0};
	const char *sentence = rv_field_text(result, "sentence");

	if (!rv_field_is_true(result, "degraded") &&
		strcmp(rv_field_text(result, "boot"), "failed") != 0)
		return;
	rv_text_visible(&text, sentence, strlen(sentence));
	if (text.len)
		fprintf(to, "%s%s\n", before, rv_buf_text(&text));
	rv_buf_fini(&text);
}

int rv_show_status(const struct rv_words *w, const cJSON *result)
{
	const cJSON *s, *services = rv_field(result, "services");
	size_t n = (size_t)cJSON_GetArraySize(services), i = 0;
	struct row *rows = calloc(n + 1, sizeof(*rows));

	if (!rows)
		return CTL_FAILED;
	cJSON_ArrayForEach(s, services) fill_row(&rows[i++], s);
	print_table(rows, n);
	if (w->name_count)
		cJSON_ArrayForEach(s, services) print_detail(s);
	else
		print_sandbox(stdout, "\n", result);
	while (i)
		rv_buf_fini(&rows[--i].last);
	free(rows);
	return rv_show_exit(w, result);
}

/* --- start, stop, restart, wait, signal -------------------------------------------------------- */

static void print_good(const struct rv_words *w, const cJSON *s)
{
	if (w->verb == RV_VERB_WAIT || w->verb == RV_VERB_SIGNAL)
		return; /* nothing to say is the best answer */
	printf("%s: %s", rv_field_text(s, "name"), rv_field_text(s, "state"));
	if (is_number(s, "pid"))
		printf(", pid %.0f", rv_field_number(s, "pid"));
	if (*rv_field_text(s, "why"))
		printf(" (%s)", rv_field_text(s, "why"));
	putchar('\n');
}

/* Each line behind "  | ", as in reeve's own log. */
static void print_stderr(const cJSON *part)
{
	struct rv_buf bytes = {0}, text = {0};
	const char *line;

	rv_show_bytes(part, &bytes);
	rv_text_visible(&text, rv_buf_text(&bytes), bytes.len);
	line = rv_buf_text(&text);
	while (*line) {
		int len = (int)strcspn(line, "\n");

		fprintf(stderr, "  | %.*s\n", len, line);
		line += len + (line[len] != 0);
	}
	rv_buf_fini(&bytes);
	rv_buf_fini(&text);
}

static void print_bad(const struct rv_words *w, const cJSON *s)
{
	const char *why = rv_field_text(s, "why");
	bool late = !strcmp(rv_field_text(s, "outcome"), "timeout");
	struct rv_buf text = {0};

	rv_text_visible(&text, why, strlen(why));
	fprintf(stderr, "reevectl: cannot %s%s %s: %s%s%s%s\n", rv_verb_name(w->verb),
		w->verb == RV_VERB_WAIT ? " for" : "", rv_field_text(s, "name"),
		late ? "timed out, it is still " : "", rv_field_text(s, "state"),
		text.len ? ": " : "", rv_buf_text(&text));
	rv_buf_fini(&text);
	print_stderr(rv_field(s, "stderr"));
}

int rv_show_results(const struct rv_words *w, const cJSON *result)
{
	const cJSON *s;
	int status = rv_show_exit(w, result), bad = 0;

	cJSON_ArrayForEach(s, rv_field(result, "services"))
	{
		if (rv_field_is_true(s, "ok")) {
			print_good(w, s);
		} else {
			print_bad(w, s);
			bad++;
		}
	}
	if (!status && w->verb == RV_VERB_WAIT)
		print_sandbox(stderr, "reevectl: ", result);
	if (status && !bad)
		fprintf(stderr, "reevectl: the sandbox is not ready: its boot is %s\n",
			rv_field_text(result, "boot"));
	return status;
}

/* --- the rest ---------------------------------------------------------------------------------- */

/* As `reeve check` prints it. */
static void print_complaint(FILE *to, const cJSON *c)
{
	fputs(rv_field_text(c, "file"), to);
	if (is_number(c, "line"))
		fprintf(to, ":%.0f:%.0f", rv_field_number(c, "line"), rv_field_number(c, "column"));
	fprintf(to, "%s%s%s\n", *rv_field_text(c, "file") ? ": " : "",
		rv_field_is_true(c, "warning") ? "warning: " : "", rv_field_text(c, "text"));
}

void rv_show_complaints(FILE *to, const cJSON *result)
{
	const cJSON *c, *complaints = rv_field(result, "complaints");

	cJSON_ArrayForEach(c, complaints) print_complaint(to, c);
	if (cJSON_GetArraySize(complaints) <
		rv_field_number(result, "errors") + rv_field_number(result, "warnings"))
		fputs("more mistakes are not shown\n", to);
}

int rv_show_check(const cJSON *result)
{
	double errors = rv_field_number(result, "errors"),
	       warnings = rv_field_number(result, "warnings");

	rv_show_complaints(errors > 0 ? stderr : stdout, result);
	if (errors > 0) {
		fprintf(stderr, "reevectl: %.0f error%s, %.0f warning%s; reeve runs on as it is\n",
			errors, errors > 1 ? "s" : "", warnings,
			warnings > 1 || warnings < 1 ? "s" : "");
		return CTL_FAILED;
	}
	printf("no mistakes\n");
	return CTL_OK;
}

int rv_show_plan(const cJSON *result)
{
	fputs(rv_field_text(result, "text"), stdout);
	return CTL_OK;
}

static void print_bound(const cJSON *option, const char *key, const char *before)
{
	if (is_number(option, key))
		printf("%s%.0f", before, rv_field_number(option, key));
	else
		printf("%s%s", before, rv_field_text(option, key));
}

static void print_option(const cJSON *o)
{
	bool ranged = cJSON_HasObjectItem(o, "min");

	printf("  %s (%s", rv_field_text(o, "name"), rv_field_text(o, "type"));
	if (ranged) {
		print_bound(o, "min", ", ");
		print_bound(o, "max", "..");
	}
	if (*rv_field_text(o, "default"))
		printf(", default %s", rv_field_text(o, "default"));
	if (*rv_field_text(o, "env"))
		printf(", $%s", rv_field_text(o, "env"));
	printf(")\n      %s\n", rv_field_text(o, "summary"));
}

int rv_show_plugins(const cJSON *result)
{
	const cJSON *p, *o;
	bool first = true;

	cJSON_ArrayForEach(p, rv_field(result, "plugins"))
	{
		printf("%s%s: %s\n", first ? "" : "\n", rv_field_text(p, "name"),
			rv_field_text(p, "summary"));
		first = false;
		if (*rv_field_text(p, "error"))
			printf("  %s\n", rv_field_text(p, "error"));
		cJSON_ArrayForEach(o, rv_field(p, "options")) print_option(o);
	}
	return CTL_OK;
}

int rv_show_version(const cJSON *result)
{
	char up[32];

	rv_text_ago((rv_time)rv_field_number(result, "uptime_ms") * RV_MS, up, sizeof(up));
	printf("reeve %s, pid %.0f, up %s\n", rv_field_text(result, "version"),
		rv_field_number(result, "pid"), up);
	return CTL_OK;
}
