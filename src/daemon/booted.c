/* The boot is decided: what is said of it, and of each that it has to do without. */
#include "daemon/pump.h"

#include "base/names.h"
#include "base/text.h"
#include "daemon/say.h"
#include "daemon/tell.h"
#include "sys/clock.h"

enum { NAMED = 50 }; /* services that have a line each */

static bool is_missing(const struct rv_engine *g, rv_id id)
{
	return rv_core_presence(g->core, id) != RV_THERE;
}

/* "a, b, c", in the order of the plan. */
static void name_missing(const struct rv_engine *g, struct rv_buf *to)
{
	size_t n = 0;

	for (size_t i = 0; i < g->plan->present; i++) {
		rv_id id = g->plan->order[i];

		if (is_missing(g, id))
			rv_buf_fmt(to, "%s%s", n++ ? ", " : "", g->hands[id].service->name);
	}
}

/* A line each: what it could not start, and why. */
static void explain_missing(const struct rv_engine *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->plan->present; i++) {
		rv_id id = g->plan->order[i];
		struct rv_look look = rv_core_look(g->core, id);
		struct rv_buf why = {0};

		if (!is_missing(g, id) || n++ >= NAMED)
			continue;
		rv_tell_why(&g->hands[id], &look, rv_pump_name(g, look.other), &why);
		rv_say(RV_WARN, g->hands[id].service->name, "not there (%s)%s%s",
			rv_state_name(look.state), why.len ? ": " : "", rv_buf_text(&why));
		rv_buf_fini(&why);
	}
	if (n > NAMED)
		rv_say(RV_WARN, NULL, "and %zu more are not there", n - NAMED);
}

static void went_well(const struct rv_engine *g, const char *time)
{
	enum rv_whole whole = rv_core_whole(g->core);
	struct rv_buf missing = {.max = 4096};

	if (whole == RV_WHOLE_READY) {
		rv_say(RV_INFO, NULL, "all ready after %s", time);
		return;
	}
	name_missing(g, &missing);
	rv_say(RV_WARN, NULL, "%s after %s%s: without %s",
		whole == RV_WHOLE_DEGRADED ? "ready" : "boot is over", time,
		whole == RV_WHOLE_DEGRADED ? ", but degraded" : ", degraded",
		rv_buf_text(&missing));
	rv_buf_fini(&missing);
	explain_missing(g);
}

/* The sentence about the first that failed, whatever has become of it since. */
static void first_error(struct rv_engine *g, const struct rv_action *a, struct rv_buf *to)
{
	struct rv_hands *h = &g->hands[a->id];
	struct rv_look look = rv_core_look(g->core, a->id);

	look.why = (enum rv_why)a->why;
	look.other = a->other;
	rv_hands_learn(h);
	rv_tell_why(h, &look, rv_pump_name(g, a->other), to);
	/* No other line will tell it: it did not fail by itself. */
	if (look.why != RV_WHY_BOOT_TIMEOUT)
		return;
	if (look.state == RV_WAITING && a->other != RV_NO_ID)
		rv_buf_fmt(to, "; it waits for %s", rv_pump_name(g, a->other));
	else if (h->probe_why && *h->probe_why)
		rv_buf_fmt(to, "; last check: %s", h->probe_why);
}

static void failed(struct rv_engine *g, const struct rv_action *a, const char *time)
{
	const char *name = rv_pump_name(g, a->id);
	struct rv_buf why = {0};

	if (name)
		first_error(g, a, &why);
	else
		rv_buf_str(&why, rv_why_text((enum rv_why)a->why));
	rv_ending_boot_failed(g, a->id, a->exit, rv_buf_text(&why));
	rv_say(RV_ERROR, NULL, "boot failed after %s: %s%s%s", time, name ? name : "",
		name ? ": " : "", rv_buf_text(&why));
	if (!rv_core_closing(g->core)) {
		rv_say(RV_WARN, NULL, "going on without it (reeve.on-boot-failure)");
		explain_missing(g);
	}
	rv_buf_fini(&why);
}

void rv_booted(struct rv_engine *g, const struct rv_action *a)
{
	char time[32];

	g->ending.booted = rv_now();
	rv_text_dur((g->ending.booted - g->began) / RV_MS * RV_MS, time, sizeof(time));
	if (a->verdict == RV_OK)
		went_well(g, time);
	else
		failed(g, a, time);
}
