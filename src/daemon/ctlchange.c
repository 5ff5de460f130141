/* The methods that change services: start, stop, restart, recreate. See ctl.h; who asked waits in ctlwait.c. */
#include "daemon/control.h"

#include <stdlib.h>

#include "daemon/ctlwaits.h"

/* --all means what boot would start; restart and stop, what runs or is on its way. */
static size_t keep_meant(struct rv_engine *g, enum rv_aim aim, rv_id *ids, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		bool enabled = rv_engine_conf(g)->services[ids[i]].enabled;

		if (aim == RV_AIM_START ? enabled
					: aim == RV_AIM_STOP ||
					!rv_ctl_is_idle(rv_engine_glance(g, ids[i]).state))
			ids[kept++] = ids[i];
	}
	return kept;
}

static const struct {
	enum rv_aim aim;
	enum rv_event_kind event;
} changes[RV_VERB_COUNT] = {
	[RV_VERB_START] = {RV_AIM_START, RV_EV_START},
	[RV_VERB_STOP] = {RV_AIM_STOP, RV_EV_STOP},
	[RV_VERB_RESTART] = {RV_AIM_RESTART, RV_EV_RESTART},
	[RV_VERB_RECREATE] = {RV_AIM_RECREATE, RV_EV_RECREATE},
};

bool rv_wait_may_change(struct rv_conn *c, const struct rv_request *r, rv_id first)
{
	if (r->has_generation && rv_verb_is_stale(c, r, first))
		return false;
	if (r->verb == RV_VERB_STOP || !rv_engine_closing(c->control->engine))
		return true;
	rv_verb_error(c, r, RV_RPC_REFUSED, "reeve is shutting down: nothing is started any more");
	return false;
}

bool rv_wait_begin(struct rv_conn *c, const struct rv_request *r, const rv_id *ids, size_t n)
{
	struct rv_event e = {.kind = (uint8_t)changes[r->verb].event};

	if (!rv_wait_create(c, r, changes[r->verb].aim, ids, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		e.id = ids[i];
		/* a report binds the life that it is about; so much the core has to know */
		e.generation = r->has_generation
			? r->generation
			: rv_engine_glance(c->control->engine, ids[i]).generation;
		rv_engine_push(c->control->engine, &e);
	}
	return true;
}

void rv_wait_change(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_engine *g = c->control->engine;
	rv_id *ids;
	size_t n;

	if (!rv_verb_resolve(c, r, &ids, &n))
		return;
	if (r->all)
		n = keep_meant(g, changes[r->verb].aim, ids, n);
	if (!rv_wait_may_change(c, r, ids[0]) ||
		(r->verb == RV_VERB_RECREATE && !rv_recreate_may(c, r, ids, n))) {
		free(ids);
		return;
	}
	if (r->options)
		rv_give(c, r, ids[0]);
	else if (rv_wait_begin(c, r, ids, n))
		for (size_t i = 0; i < n; i++) {
			if (r->verb == RV_VERB_RECREATE) {
				rv_engine_reported(g, ids[i], c->uid);
				continue; /* the options of the life that is lost are those of the next */
			}
			rv_engine_give_none(g, ids[i], changes[r->verb].event);
			if (r->verb == RV_VERB_STOP)
				rv_engine_stopped_by(g, ids[i], c->uid);
		}
	free(ids);
}
