/* Whether a service is lost: see suspicion.h. */
#include "daemon/suspicion.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "daemon/pump.h"
#include "daemon/say.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* Few services are ever doubted, so there is no room for it before. */
static struct rv_suspicion *suspicion_of(struct rv_hands *h)
{
	if (!h->suspicion)
		h->suspicion = calloc(1, sizeof(*h->suspicion));
	return h->suspicion;
}

/* One that is unhealthy is asked about again and again: only what is new is worth a line. */
static void say(const struct rv_hands *h, const struct rv_suspicion *d, bool is_news)
{
	const char *name = h->service->name, *why = d->why ? d->why : "";
	const char *colon = *why ? ": " : "";

	switch (d->verdict) {
	case RV_OK:
		rv_say(is_news ? RV_INFO : RV_DEBUG, name,
			"not lost: its plugin says that it is alive%s%s", colon, why);
		break;
	case RV_RETRY:
		rv_say(is_news ? RV_WARN : RV_DEBUG, name,
			"not replaced: its plugin cannot tell whether it is lost%s%s", colon, why);
		break;
	case RV_FAIL:
		rv_say(RV_WARN, name, "lost, as its plugin has confirmed%s%s", colon, why);
		break;
	}
}

static void remember(
	struct rv_engine *g, const struct rv_hands *h, enum rv_happened word, const char *detail)
{
	struct rv_look look = rv_core_look(g->core, h->service->id);
	struct rv_happening *n = rv_history_add(&g->history);

	if (!n)
		return;
	*n = (struct rv_happening){.at = rv_now(),
		.generation = look.generation,
		.id = h->service->id,
		.other = RV_NO_ID,
		.exit = RV_EXIT_UNKNOWN,
		.pid = h->facts.pid,
		.state = (uint8_t)look.state,
		.boot = (uint8_t)rv_core_boot(g->core),
		.word = (uint8_t)word};
	rv_text_cut(detail, n->detail, sizeof(n->detail));
}

static void learn(
	struct rv_engine *g, struct rv_hands *h, enum rv_verdict v, int status, const char *why)
{
	static const enum rv_happened words[] = {[RV_OK] = RV_HAPPENED_ALIVE,
		[RV_RETRY] = RV_HAPPENED_UNCLEAR,
		[RV_FAIL] = RV_HAPPENED_LOST};
	struct rv_suspicion *d = suspicion_of(h);
	rv_auto_free char *before = NULL;
	bool is_news;

	if (!d)
		return;
	before = d->why;
	d->why = NULL;
	rv_pump_note(g, h, &d->why, why);
	is_news = !d->answers || d->generation != h->facts.generation || d->verdict != v ||
		!before || !d->why || strcmp(before, d->why) != 0;
	d->generation = h->facts.generation;
	d->answers++;
	d->verdict = v;
	d->status = status;
	say(h, d, is_news);
	remember(g, h, words[v], d->why ? d->why : "");
	rv_pump_notify(g, h->service->id);
}

void rv_suspicion_answered(struct rv_engine *g, struct rv_hands *h, const struct rv_host_answer *a)
{
	learn(g, h, a->verdict, a->status, a->why);
	rv_pump_verdict(g, RV_EV_HOOK_DONE, a->id, a->generation, RV_HOOK_CONFIRM, a->verdict);
}

void rv_suspicion_unanswered(struct rv_engine *g, struct rv_hands *h)
{
	bool disabled = rv_core_look(g->core, h->service->id).flags & RV_LOOK_DISABLED;

	learn(g, h, RV_RETRY, 0,
		disabled ? "the plugin is disabled" : "it has not answered in time");
}

void rv_suspicion_reported(struct rv_hands *h, uid_t uid)
{
	rv_say(RV_INFO, h->service->name, "reported lost by user %u", (unsigned)uid);
}

void rv_suspicion_free(struct rv_suspicion *d)
{
	if (d)
		free(d->why);
	free(d);
}
