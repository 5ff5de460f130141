/* How it ends: what is kept of the first error and of those beside it, and the report of it all (endreport.h). */
#include "daemon/pump.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/names.h"
#include "daemon/endreport.h"
#include "daemon/say.h"
#include "daemon/tell.h"
#include "sys/clock.h"

enum { BESIDE_KEPT = 4096, LINE_KEPT = 300, TAIL_LINES = 40, TAIL_BYTES = 4096 };

/* --- while it runs ------------------------------------------------------------------------------ */

static void keep_beside(struct rv_ending *n, const char *service, const char *text)
{
	int len = (int)strcspn(text, "\n");
	struct rv_buf line = {.max = LINE_KEPT};

	if (len > LINE_KEPT / 2)
		len = LINE_KEPT / 2;
	rv_buf_fmt(&line, "%s%s%.*s", service ? service : "", service ? ": " : "", len, text);
	n->beside.max = BESIDE_KEPT;
	if (!line.len || !rv_buf_add(&n->beside, line.data, line.len + 1))
		n->beside_lost++;
	rv_buf_fini(&line);
}

/* Whom the first error is about, or will be when all is over. */
static rv_id first_of(const struct rv_engine *g)
{
	bool of_one = g->ending.first == RV_END_EXIT_FROM || g->ending.first == RV_END_GAVE_UP ||
		g->ending.first == RV_END_HEALTH;

	return g->ending.id == RV_NO_ID && of_one ? rv_core_culprit(g->core) : g->ending.id;
}

/* What is warned of on the way back is not the first error, and must not replace it. */
static void on_warning(void *ctx, const char *service, const char *text)
{
	struct rv_engine *g = ctx;

	const char *first = rv_pump_name(g, first_of(g));

	/* What failed by its timeout or its health has failed when it is gone, which is later. */
	if (service && first && !strcmp(service, first) && !strncmp(text, "failed: ", 8))
		return;
	if (g->ending.closing)
		keep_beside(&g->ending, service, text);
}

/* Whether a process ended in a way that asking it to leave does not explain. */
static bool is_odd(rv_exit how)
{
	static const int crashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP};

	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		if (how == RV_EXIT_SIGNAL(crashes[i]))
			return true;
	return how > 0 && how < 128;
}

void rv_ending_stopped(struct rv_engine *g, rv_id id)
{
	const struct rv_hands *h = &g->hands[id];
	char how[64], text[120];

	if (!g->ending.closing || !h->lived || id == g->ending.id || !is_odd(h->facts.exit))
		return;
	snprintf(text, sizeof(text), "%s when it was asked to stop",
		rv_exit_text(h->facts.exit, how, sizeof(how)));
	keep_beside(&g->ending, h->service->name, text);
}

void rv_ending_begin(struct rv_engine *g)
{
	struct rv_err e;

	g->ending.id = RV_NO_ID;
	rv_say_tap(on_warning, g);
	if (g->conf->termination_report && !rv_report_clear(g->conf->termination_report, &e))
		rv_say(RV_WARN, NULL, "%s", e.text);
}

void rv_ending_boot_failed(struct rv_engine *g, rv_id id, rv_exit exit, const char *why)
{
	g->ending.id = id;
	g->ending.exit = exit;
	rv_hands_note(&g->ending.why, "%s", why);
}

/* True when it has just begun to close. */
static bool notice_closing(struct rv_engine *g)
{
	struct rv_ending *n = &g->ending;

	if (n->closing || !rv_core_closing(g->core))
		return false;
	n->closing = rv_now();
	n->first = rv_core_end(g->core);
	/* A boot that failed and went on is not why it ends. */
	if (n->first != RV_END_BOOT_FAILED) {
		n->id = RV_NO_ID;
		free(n->why);
		n->why = NULL;
	}
	return true;
}

/* The way back of a boot may be cut short from outside: what is known is written before it. */
void rv_ending_turn(struct rv_engine *g)
{
	if (notice_closing(g) && g->ending.first == RV_END_BOOT_FAILED && !g->over &&
		g->conf->termination_report)
		rv_engine_report(g, 10, NULL, NULL);
}

void rv_ending_over(struct rv_engine *g, rv_id id)
{
	struct rv_ending *n = &g->ending;
	struct rv_buf why = {0};
	struct rv_look look;

	notice_closing(g); /* both may be in one turn */
	if (n->why || id == RV_NO_ID ||
		(n->first != RV_END_EXIT_FROM && n->first != RV_END_GAVE_UP &&
			n->first != RV_END_HEALTH))
		return;
	look = rv_core_look(g->core, id);
	rv_tell_why(&g->hands[id], &look, rv_pump_name(g, look.other), &why);
	n->id = id;
	n->exit = look.exit;
	rv_hands_note(&n->why, "%s", rv_buf_text(&why));
	rv_buf_fini(&why);
}

void rv_ending_fini(struct rv_engine *g)
{
	rv_say_tap(NULL, NULL);
	free(g->ending.why);
	rv_buf_fini(&g->ending.beside);
}

/* --- the report --------------------------------------------------------------------------------- */

static const char *what_of(const struct rv_engine *g, bool complete, const char *failure)
{
	if (failure)
		return "not-started";
	switch (complete ? g->end : g->ending.first) {
	case RV_END_REQUEST: return "stopped";
	case RV_END_EXIT_FROM: return "exited";
	case RV_END_BOOT_FAILED: return "boot-failed";
	case RV_END_GAVE_UP: return "gave-up";
	case RV_END_HEALTH: return "unhealthy";
	case RV_END_DEADLINE: return "deadline";
	case RV_END_FORCED: return "forced";
	case RV_END_NONE: break;
	}
	return "internal-error";
}

/* What failed comes first: of the others there may be too many. */
static size_t collect(const struct rv_engine *g, struct rv_report_service *to, char **whys)
{
	size_t n = 0;

	for (int failed = 1; failed >= 0; failed--) {
		for (size_t i = 0; i < g->plan->present; i++) {
			rv_id id = g->plan->order[i];
			struct rv_look look = rv_core_look(g->core, id);
			struct rv_buf why = {0};

			if ((look.state == RV_FAILED) != failed || !g->hands[id].service)
				continue;
			if (failed && id != g->ending.id) {
				rv_tell_why(
					&g->hands[id], &look, rv_pump_name(g, look.other), &why);
				rv_hands_note(&whys[n], "%s", rv_buf_text(&why));
			}
			to[n] = (struct rv_report_service){g->hands[id].service->name, look.state,
				look.exit, whys[n] ? whys[n] : "", rv_look_took(look)};
			n++;
			rv_buf_fini(&why);
		}
	}
	return n;
}

static void compose(
	struct rv_engine *g, int status, const char *failure, bool complete, struct rv_buf *to)
{
	const struct rv_ending *n = &g->ending;
	struct rv_report_service *list = calloc(g->slots + 1, sizeof(*list));
	char **whys = calloc(g->slots + 1, sizeof(*whys));
	rv_time now = rv_now();
	struct rv_buf tail = {0};
	struct rv_report r = {
		.what = what_of(g, complete, failure),
		.status = status,
		.complete = complete,
		.service = rv_pump_name(g, n->id),
		.why = failure ? failure : n->why,
		.exit = n->why ? n->exit : RV_EXIT_UNKNOWN,
		.beside = rv_buf_text(&n->beside),
		.beside_len = n->beside.len,
		.beside_lost = n->beside_lost,
		.ended = time(NULL),
		.boot = n->booted ? n->booted - g->began : -1,
		.run = now - g->began,
		.stop = n->closing ? now - n->closing : -1,
		.services = list,
	};

	r.began = r.ended - r.run / RV_SEC;
	if (n->id != RV_NO_ID && g->hands[n->id].capture)
		rv_tell_raw_tail(&g->hands[n->id], TAIL_LINES, TAIL_BYTES, &tail);
	r.lines = rv_buf_text(&tail);
	r.lines_len = tail.len;
	if (list && whys)
		r.service_count = collect(g, list, whys);
	rv_report_put(&r, to);
	for (size_t i = 0; whys && i < r.service_count; i++)
		free(whys[i]);
	free(whys);
	free(list);
	rv_buf_fini(&tail);
}

static void write_file(const char *path, struct rv_buf *text)
{
	struct rv_err e;

	rv_buf_str(text, "\n");
	if (!rv_report_write(path, text->data, text->len, &e))
		rv_say(RV_WARN, NULL, "%s", e.text);
	text->data[--text->len] = 0;
}

/* An end that was asked for needs no words, unless somebody wants to read them. */
static bool is_wanted(const struct rv_engine *g, int status, const char *failure)
{
	bool own = g->end == RV_END_REQUEST || g->end == RV_END_EXIT_FROM;

	return failure || !own || (status && !g->commanded);
}

void rv_engine_report(struct rv_engine *g, int status, const char *failure, struct rv_buf *line)
{
	const char *path = g->conf->termination_report;
	struct rv_buf text = {0};

	if (!path && !is_wanted(g, status, failure))
		return;
	rv_say_tap(NULL, NULL); /* what it warns of itself is not part of it */
	compose(g, status, failure, line != NULL, &text);
	if (path && !text.full)
		write_file(path, &text);
	if (line && !text.full)
		rv_buf_add(line, text.data, text.len);
	rv_buf_fini(&text);
	if (!line)
		rv_say_tap(on_warning, g);
}
