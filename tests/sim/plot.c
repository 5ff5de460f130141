/* Schedules: drawn, printed. */
#include "sim.h"

#include <stdio.h>

const char *event_name(enum rv_event_kind k)
{
	static const char *const names[] = {"BOOT", "START", "STOP", "RESTART", "RECREATE", "PAUSE",
		"RESUME", "SHUTDOWN", "FORCE", "RETIRE_BEGIN", "RETIRE", "RETIRE_END", "DISABLED",
		"INFORM", "RENEW", "SPAWNED", "SPAWN_FAILED", "ADOPTED", "FOUND", "EXITED", "GONE",
		"PROVED", "HEALTH", "HOOK_DONE", "EXTEND", "QUITS"};

	return names[k];
}

const char *action_name(enum rv_action_kind k)
{
	static const char *const names[] = {"START", "FIND", "PROBE", "HEALTH", "HOOK", "DROP",
		"SIGNAL", "KILL", "STATE", "STUCK", "PAUSED", "TOLD", "BOOT", "RETIRED", "OVER"};

	return names[k];
}

static struct rv_event random_order(struct dice *d)
{
	static const uint8_t kinds[] = {RV_EV_START, RV_EV_START, RV_EV_STOP, RV_EV_STOP,
		RV_EV_RESTART, RV_EV_RECREATE, RV_EV_RECREATE, RV_EV_PAUSE, RV_EV_RESUME,
		RV_EV_DISABLED};
	struct rv_event e = {
		.kind = kinds[below(d, sizeof(kinds))],
		.id = (rv_id)below(d, GRAPH_NODES),
		.verdict = one_in(d, 2) ? RV_OK : RV_FAIL,
	};

	if (e.kind == RV_EV_RECREATE)
		e.generation = one_in(d, 3); /* so many lives ago */
	if (one_in(d, 12) && e.kind != RV_EV_RECREATE)
		e.id = RV_NO_ID;
	return e;
}

/* Reports of loss, and what may come between a report and the new life: a pause often does, for a while. */
static struct deed_at lossy_deed(struct dice *d, const struct deed_at *before)
{
	static const uint8_t kinds[] = {RV_EV_RECREATE, RV_EV_RECREATE, RV_EV_RECREATE, RV_EV_PAUSE,
		RV_EV_RESUME, RV_EV_STOP, RV_EV_START};
	struct deed_at x = {
		.deed = DEED_EVENT,
		.salt = roll(d),
		.event = {.kind = kinds[below(d, sizeof(kinds))], .id = (rv_id)below(d, 3)},
	};

	if (before && before->deed == DEED_EVENT && one_in(d, 2)) {
		if (before->event.kind == RV_EV_RECREATE)
			x.event = (struct rv_event){.kind = RV_EV_PAUSE, .id = before->event.id};
		else if (before->event.kind == RV_EV_PAUSE)
			x.event = (struct rv_event){.kind = RV_EV_RESUME, .id = before->event.id};
	}
	return x;
}

/* The environment changes; who cannot be told is restarted. */
static struct deed_at news(struct dice *d)
{
	struct rv_event e = {.kind = RV_EV_INFORM, .id = RV_NO_ID};

	e.verdict = one_in(d, 5) ? RV_FAIL : RV_OK;
	e.time = one_in(d, 2) ? 0 : (rv_time)(1 + below(d, 300)) * RV_MS;
	if (one_in(d, 3)) {
		e.kind = RV_EV_RENEW;
		e.id = (rv_id)below(d, GRAPH_NODES);
	}
	return (struct deed_at){.deed = DEED_EVENT, .salt = roll(d), .event = e};
}

static struct deed_at random_deed(struct dice *d)
{
	struct deed_at x = {.salt = roll(d), .event = {.id = (rv_id)below(d, GRAPH_NODES)}};
	uint64_t kind = below(d, 20);

	if (kind < 11) {
		x.deed = DEED_EVENT;
		x.event = random_order(d);
	} else if (kind < 14) {
		x.deed = DEED_DIE;
		x.event.exit = (rv_exit)below(d, 2);
	} else if (kind < 17) {
		x.deed = DEED_LIE;
	} else if (kind < 19) {
		x.deed = DEED_RELOAD;
	} else {
		x.deed = DEED_EVENT;
		x.event = (struct rv_event){
			.kind = one_in(d, 6)   ? RV_EV_FORCE
				: one_in(d, 3) ? RV_EV_SHUTDOWN
					       : RV_EV_RESUME,
			.id = RV_NO_ID,
		};
	}
	return x;
}

void plot_random(struct plot *p, uint64_t seed)
{
	static const rv_time gaps[] = {
		0, 0, RV_US, RV_MS, 20 * RV_MS, 150 * RV_MS, RV_SEC, 3 * RV_SEC};
	struct dice d = {hash(seed, 3, 0, 0)};
	rv_time at = RV_SEC;

	p->seed = seed;
	p->honest = one_in(&d, 2);
	p->n = below(&d, SIM_PLOT);
	if (one_in(&d, 3))
		p->n = p->n / 8;
	bool lossy = one_in(&d, 4), informed = one_in(&d, 3);
	for (size_t i = 0; i < p->n; i++) {
		at += gaps[below(&d, lossy ? 7 : 8)]; /* what is lost is not long on its way back */
		p->deeds[i] = lossy && !one_in(&d, 8) ? lossy_deed(&d, i ? &p->deeds[i - 1] : NULL)
			: informed && one_in(&d, 3)   ? news(&d)
						      : random_deed(&d);
		p->deeds[i].at = at;
	}
}

void plot_print(const struct plot *p)
{
	static const char *const deeds[] = {"event", "die", "reload", "lie"};

	printf("# seed %llu, %zu deeds%s\n", (unsigned long long)p->seed, p->n,
		p->honest ? ", then an honest world" : "");
	for (size_t i = 0; i < p->n; i++) {
		const struct deed_at *d = &p->deeds[i];
		printf("#   %.6f  %s", (double)d->at / 1e9, deeds[d->deed]);
		if (d->deed == DEED_EVENT)
			printf(" %s verdict %u", event_name((enum rv_event_kind)d->event.kind),
				d->event.verdict);
		if (d->deed == DEED_EVENT || d->deed == DEED_DIE)
			printf(" id %d", (int)d->event.id);
		printf("\n");
	}
}
