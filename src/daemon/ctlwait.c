/* Who waits for a result: the method wait, and those that change something (ctlchange.c, ctlreload.c). See ctl.h.
 *
 * A change is pushed to the engine and judged from the next turn on, when the core has seen it: each time that
 * something changed, every service of the request is looked at until it is where it shall be, or cannot get
 * there any more. A client that leaves takes its waiting with it, and nothing else. */
#include "daemon/control.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/ctlwaits.h"
#include "daemon/reload.h"

#define PRESET_TIMEOUT (60 * RV_SEC) /* and what the services' own bounds add to it */
#define MAX_TIMEOUT    (600 * RV_SEC)
#define SCAN_MAX       64 /* with more services than this, a wait looks at the first open one only */

static void forget(struct rv_wait *w)
{
	struct rv_wait **at = &w->conn->control->waits;

	ev_timer_stop(w->conn->control->loop, &w->timer);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	w->conn->waits--;
	for (size_t i = 0; i < w->count; i++) {
		free(w->entries[i].gone);
		free(w->entries[i].said);
	}
	rv_buf_fini(&w->head);
	free(w);
}

static void conclude(struct rv_wait *w)
{
	struct rv_conn *c = w->conn;

	rv_wait_answer(w);
	forget(w);
	rv_conn_flush(c);
	if (c->ended || c->refused) /* this may have been all that it stayed for */
		ev_feed_event(c->control->loop, &c->out, EV_WRITE);
}

/* Of the whole sandbox all that is not lacked is as it should be, at this moment. */
static enum rv_rpc_outcome judge(const struct rv_wait *w, const struct rv_entry *e)
{
	struct rv_engine *g = w->conn->control->engine;

	if (rv_wait_is_of_sandbox(w) && rv_engine_presence(g, e->id) != RV_LACKED)
		return RV_DONE_OK;
	return rv_ctl_judge(g, w->aim, e);
}

/* True when all is decided. */
static bool look_at(struct rv_wait *w)
{
	struct rv_engine *g = w->conn->control->engine;
	bool waits = w->aim >= RV_AIM_READY;
	size_t open = 0;

	if (rv_wait_is_of_sandbox(w) && rv_engine_boot(g) <= RV_BOOT_UNDER_WAY &&
		!rv_engine_closing(g))
		return false;
	for (size_t i = 0; i < w->count; i++) {
		struct rv_entry *e = &w->entries[i];

		if (e->decided)
			continue;
		e->outcome = judge(w, e);
		if (e->outcome == RV_DONE_YET && !w->no_wait) {
			open++;
			if (w->count > SCAN_MAX)
				return false;
			continue;
		}
		e->decided = !rv_wait_is_of_sandbox(w) || e->outcome != RV_DONE_OK;
		if (e->outcome != RV_DONE_OK && e->outcome != RV_DONE_YET)
			rv_wait_note(w, e);
		if (waits && e->outcome != RV_DONE_OK) {
			/* a wait that cannot succeed ends; the others are told as they are */
			for (i++; i < w->count; i++)
				if (!w->entries[i].decided)
					w->entries[i].outcome = judge(w, &w->entries[i]);
			return true;
		}
	}
	/* What a reload has added is not among them. */
	return !open &&
		(!rv_wait_is_of_sandbox(w) || rv_engine_closing(g) ||
			rv_engine_whole(g) != RV_WHOLE_NOT_READY);
}

void rv_wait_judge(struct rv_control *k)
{
	bool early = false;
	struct rv_wait *next;

	for (struct rv_wait *w = k->waits; w; w = next) {
		next = w->next;
		if (ev_iteration(k->loop) == w->born ||
			(w->aim == RV_AIM_RELOAD && !rv_engine_is_settled(k->engine)))
			early = true; /* the core has not seen it yet */
		else if (look_at(w))
			conclude(w);
	}
	if (early)
		ev_timer_start(k->loop, &k->judge);
}

static void on_timeout(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct rv_wait *w = timer->data;

	(void)loop, (void)events;
	if (!look_at(w)) {
		for (size_t i = 0; i < w->count; i++)
			if (!w->entries[i].decided && w->entries[i].outcome != RV_DONE_OK)
				w->entries[i].outcome = RV_DONE_TIMEOUT;
	}
	conclude(w);
}

/* --- requests ---------------------------------------------------------------------------------- */

/* How long one service may rightfully take, from a stop to being ready again. */
static rv_time own_bound(const struct rv_plan *plan, rv_id id)
{
	const struct rv_node *n = &plan->node[id];
	rv_time sum = n->stop_hook_timeout + n->cleanup_timeout + plan->kill_timeout;

	if (n->recreate)
		sum += n->ready_timeout; /* of confirm */

	for (uint32_t i = 0; i < n->step_count; i++)
		sum += plan->steps[n->first_step + i].timeout;
	for (uint32_t i = 0; i < n->start_attempts && sum < MAX_TIMEOUT; i++)
		sum += n->ready_timeout;
	return sum;
}

rv_time rv_wait_ceiling(const struct rv_control *k)
{
	rv_time most = rv_engine_conf(k->engine)->max_timeout;

	return most > 0 && most < MAX_TIMEOUT ? most : MAX_TIMEOUT;
}

static rv_time bound_of(const struct rv_wait *w, const struct rv_request *r)
{
	const struct rv_plan *plan = rv_engine_conf(w->conn->control->engine)->plan;
	rv_time bound = PRESET_TIMEOUT, most = rv_wait_ceiling(w->conn->control);

	if (r->has_timeout)
		return r->timeout < most ? r->timeout : most;
	if (w->whole && plan)
		bound += plan->boot_timeout;
	for (size_t i = 0; plan && i < w->count && bound < MAX_TIMEOUT; i++)
		bound += own_bound(plan, w->entries[i].id);
	return bound < most ? bound : most;
}

rv_time rv_wait_bound(const struct rv_control *k, const struct rv_request *r)
{
	rv_time most = rv_wait_ceiling(k);

	return r->has_timeout && r->timeout < most ? r->timeout : most;
}

static bool is_there(enum rv_aim aim, enum rv_state s)
{
	switch (aim) {
	case RV_AIM_START: return s == RV_READY || s == RV_UNHEALTHY || s == RV_ADOPTED;
	case RV_AIM_STOP: return rv_ctl_is_idle(s);
	case RV_AIM_RESTART:
	case RV_AIM_RELOAD:
	case RV_AIM_RECREATE:
	case RV_AIM_READY:
	case RV_AIM_STOPPED:
	case RV_AIM_EXITED: break;
	}
	return false;
}

/* Joins the list. */
static void wait_from_now(struct rv_wait *w, rv_time bound)
{
	struct rv_control *k = w->conn->control;

	ev_timer_init(&w->timer, on_timeout, (double)bound / (double)RV_SEC, 0.);
	w->timer.data = w;
	ev_timer_start(k->loop, &w->timer);
	w->next = k->waits;
	k->waits = w;
	w->conn->waits++;
	ev_timer_start(k->loop, &k->judge);
}

struct rv_wait *rv_wait_create(struct rv_conn *c, const struct rv_request *r, enum rv_aim aim,
	const rv_id *ids, size_t count)
{
	struct rv_control *k = c->control;
	struct rv_wait *w;

	if (c->waits >= (c->admin ? RV_CONN_WAITS_MAX : RV_CONN_WAITS_OTHERS_MAX)) {
		rv_verb_error(c, r, RV_RPC_REFUSED, "too many requests wait on this connection");
		return NULL;
	}
	w = calloc(1, sizeof(*w) + count * sizeof(w->entries[0]));
	if (!w) {
		rv_verb_error(c, r, RV_RPC_INTERNAL, "out of memory");
		return NULL;
	}
	w->conn = c;
	w->aim = aim;
	w->whole = !r->name_count && !r->all;
	w->quiet = r->quiet;
	w->no_wait = r->no_wait;
	w->born = ev_iteration(k->loop);
	memcpy(w->id, r->id, sizeof(w->id));
	w->count = count;
	for (size_t i = 0; i < count; i++) {
		struct rv_look look = rv_engine_glance(k->engine, ids[i]);

		w->entries[i].id = ids[i];
		w->entries[i].before = look.generation;
		w->entries[i].was_there = is_there(aim, look.state);
		w->entries[i].was_adopted = look.state == RV_ADOPTED;
		if (aim == RV_AIM_RECREATE)
			rv_recreate_note(k->engine, &w->entries[i]);
	}
	wait_from_now(w, bound_of(w, r));
	return w;
}

/* The slots are those of the conf that comes: of the present one nothing is looked at. */
bool rv_wait_reload(struct rv_conn *c, const struct rv_request *r, const rv_id *ids, size_t n,
	rv_time bound, struct rv_buf *head)
{
	struct rv_wait *w = calloc(1, sizeof(*w) + n * sizeof(w->entries[0]));

	if (!w)
		return false;
	w->conn = c;
	w->aim = RV_AIM_RELOAD;
	w->quiet = r->quiet;
	memcpy(w->id, r->id, sizeof(w->id));
	w->head = *head;
	*head = (struct rv_buf){0};
	w->count = n;
	for (size_t i = 0; i < n; i++)
		w->entries[i].id = ids[i];
	w->born = ev_iteration(c->control->loop);
	wait_from_now(w, bound);
	return true;
}

/* The whole sandbox does without it; who asked for it by name is told. */
static void lose(struct rv_wait *w, const struct rv_replacing *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->count; i++) {
		struct rv_entry e = w->entries[i];
		bool removed = !e.gone && r->change[e.id] == RV_REMOVED;

		if (removed && w->whole)
			continue;
		if (removed) {
			e.gone = strdup(r->before->services[e.id].name);
			e.decided = true;
			e.outcome = w->aim == RV_AIM_STOP || w->aim == RV_AIM_STOPPED ? RV_DONE_OK
				: w->aim >= RV_AIM_READY ? RV_DONE_NOT_READY
							 : RV_DONE_FAILED;
		}
		if (!removed || e.gone)
			w->entries[kept++] = e;
	}
	w->count = kept;
}

void rv_wait_replacing(struct rv_control *k, const struct rv_replacing *r)
{
	for (struct rv_wait *w = k->waits; w; w = w->next)
		lose(w, r);
}

/* Of a whole sandbox: what must be ready for it to be. */
static size_t keep_essential(struct rv_engine *g, rv_id *ids, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		const struct rv_service *s = &rv_engine_conf(g)->services[ids[i]];

		if (s->enabled && s->essential)
			ids[kept++] = ids[i];
	}
	return kept;
}

void rv_wait_wait(struct rv_conn *c, const struct rv_request *r)
{
	static const enum rv_aim aims[] = {RV_AIM_READY, RV_AIM_STOPPED, RV_AIM_EXITED};
	enum rv_aim aim = aims[r->until];
	rv_id *ids;
	size_t n;

	if (!rv_verb_resolve(c, r, &ids, &n))
		return;
	if (!r->name_count && aim == RV_AIM_READY)
		n = keep_essential(c->control->engine, ids, n);
	if (!r->has_generation || !rv_verb_is_stale(c, r, ids[0]))
		rv_wait_create(c, r, aim, ids, n);
	free(ids);
}

void rv_wait_drop(struct rv_conn *c)
{
	struct rv_wait *next;

	for (struct rv_wait *w = c->control->waits; w; w = next) {
		next = w->next;
		if (w->conn == c)
			forget(w);
	}
}

void rv_wait_end(struct rv_control *k)
{
	struct rv_wait *next;

	for (struct rv_wait *w = k->waits; w; w = next) {
		struct rv_conn *c = w->conn;
		struct rv_rpc_error e;

		next = w->next;
		if (look_at(w)) {
			rv_wait_answer(w);
		} else if (!w->quiet) {
			rv_rpc_fail(&e, RV_RPC_REFUSED, "reeve is shutting down");
			e.marks = w->aim < RV_AIM_READY ? RV_MARK_UNSAFE : 0u;
			rv_rpc_put_error(&c->output, w->id, &e, NULL, 0);
		}
		forget(w);
	}
}
