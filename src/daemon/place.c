/* The place of a service: see place.h. */
#include "daemon/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "daemon/whose.h"
#include "daemon/portkeep.h"
#include "daemon/say.h"
#include "sys/clock.h"

#define STRANGER_STAYS RV_SEC

enum rv_place_is rv_place_look(struct rv_hands *h, struct rv_world *w, struct rv_tenant *t,
	uint16_t *port, struct rv_err *e)
{
	const struct rv_service *s = h->service;

	*port = s->port_count ? rv_portkeep_taken(h->keep, s->ports, s->port_count) : 0;
	if (!*port || !rv_tenant_find(w, *port, t))
		return RV_PLACE_FREE;
	if (s->adopts && t->service == RV_NO_ID)
		return RV_PLACE_GUEST;
	rv_fail(e, RV_ERR_START, "cannot start: port %u is already in use by %s", *port, t->text);
	return RV_PLACE_TAKEN;
}

bool rv_place_adopt(struct rv_hands *h, struct rv_world *w, uint64_t generation,
	const struct rv_tenant *t, uint16_t port, void (*gone)(void *ctx, rv_id id), void *ctx,
	struct rv_err *e)
{
	rv_place_part(h);
	h->facts = (struct rv_facts){.generation = generation,
		.started = rv_now(),
		.attempt = h->facts.attempt + 1,
		.pid = t->pid,
		.exit = RV_EXIT_UNKNOWN};
	h->guest = rv_guest_create(w->loop, h->service, port, t->pid, gone, ctx);
	if (!h->guest)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot adopt %s: out of memory", t->text);
	rv_say(RV_INFO, h->service->name,
		"port %u is listened on by %s: not started, asked instead", port, t->text);
	return rv_hands_prove(h, w, rv_guest_check(h->guest), e);
}

void rv_place_part(struct rv_hands *h)
{
	if (!h->guest)
		return;
	rv_hands_proven(h);
	rv_guest_destroy(h->guest);
	h->guest = NULL;
	h->facts.pid = 0;
}

/* Its end may wait to be collected. */
static bool lives(const struct rv_hands *h)
{
	siginfo_t info = {.si_pid = 0};

	return h->facts.pid > 0 &&
		!waitid(P_PID, (id_t)h->facts.pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
		!info.si_pid;
}

static bool trust(struct rv_hands *h, const struct rv_doubt *doubt, struct rv_err *e)
{
	char where[80];

	rv_address_text(&doubt->at, where, sizeof(where));
	if (!lives(h))
		return rv_fail(e, RV_ERR_START,
			"%s answers, but the service has ended: it was somebody else", where);
	if (!h->doubted)
		rv_say(RV_INFO, h->service->name,
			"it cannot be told who answers at %s: taken for the service, which runs",
			where);
	h->doubted = true;
	return true;
}

struct rv_stranger {
	unsigned long inode;
	rv_time asked;
	struct rv_tenant who;
};

/* Who has the socket. To find that out all of /proc is walked, and a check may ask hundreds of times: what was learned of a
   stranger is good for a while. */
static bool is_somebody_else(
	struct rv_hands *h, const struct rv_world *w, unsigned long inode, struct rv_tenant *t)
{
	rv_time now = rv_now();

	if (h->stranger && h->stranger->inode == inode &&
		now - h->stranger->asked < STRANGER_STAYS) {
		*t = h->stranger->who;
		return true;
	}
	rv_tenant_of(w, inode, t);
	if (t->service == h->service->id)
		return false; /* it came only now, or it is a process that was not known yet */
	if (!h->stranger)
		h->stranger = malloc(sizeof(*h->stranger));
	if (h->stranger)
		*h->stranger = (struct rv_stranger){inode, now, *t};
	return true;
}

bool rv_place_is_own(struct rv_hands *h, struct rv_world *w, struct rv_err *e)
{
	struct rv_doubt doubt = {.inode = 0};
	struct rv_tenant t;

	switch (rv_whose_judge(h->service, &h->service->ready, w->reaper, &doubt)) {
	case RV_WHOSE_OWN: return true;
	case RV_WHOSE_UNKNOWN: return trust(h, &doubt, e);
	case RV_WHOSE_OTHERS: break;
	}
	if (!is_somebody_else(h, w, doubt.inode, &t))
		return true;
	return rv_fail(e, RV_ERR_START, "port %u is listened on by %s, not by this service",
		doubt.at.port, t.text);
}
