/* The method `reload`: see ctl.h and reload.h.
 *
 *   request -> the files are wrong: that is the answer
 *           -> phase one is waited for here -> phase two: what became of each is waited for as after a start (ctlwait.c) */
#include "daemon/control.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/ctl.h"
#include "daemon/reload.h"
#include "sys/clock.h"
#include "wire/json.h"

/* A request that waits for phase two. */
struct rv_renewal {
	struct rv_renewal *next;
	struct rv_conn *conn;
	struct rv_request request; /* without what the line owned */
	uint64_t number; /* of the reload */
	rv_time until;
	ev_timer timer;
	struct rv_buf complaints; /* warnings, as members */
};

/* ---- what is told ---- */

static bool is_in_list(const struct rv_replacing *r, rv_id id, enum rv_change change)
{
	return r->change[id] == (uint8_t)change && !r->swept[id];
}

/* The names of all that are `change`, or, where it is RV_SAME, of those that were swept along. */
static void put_list(
	struct rv_buf *to, const char *key, const struct rv_replacing *r, enum rv_change change)
{
	bool any = false;

	rv_buf_fmt(to, ",\"%s\":[", key);
	for (rv_id id = 0; id < r->slots; id++) {
		const struct rv_conf *conf = change == RV_REMOVED ? r->before : r->now;

		if (change == RV_SAME ? !r->swept[id] : !is_in_list(r, id, change))
			continue;
		rv_buf_str(to, any ? "," : "");
		any = true;
		rv_json_str(to, conf->services[id].name);
	}
	RV_JSON_LIT(to, "]");
}

static void put_changes(struct rv_buf *to, const struct rv_replacing *r)
{
	int64_t same = 0;

	for (rv_id id = 0; id < r->slots; id++)
		same += r->now->services[id].name && is_in_list(r, id, RV_SAME);
	put_list(to, "added", r, RV_ADDED);
	put_list(to, "removed", r, RV_REMOVED);
	put_list(to, "changed", r, RV_CHANGED);
	put_list(to, "restarted", r, RV_SAME);
	put_list(to, "adjusted", r, RV_TUNED);
	RV_JSON_LIT(to, ",\"unchanged\":");
	rv_json_int(to, same);
}

/* ---- the request ---- */

static void forget(struct rv_renewal *w)
{
	struct rv_renewal **at = &w->conn->control->renewals;

	ev_timer_stop(w->conn->control->loop, &w->timer);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	w->conn->waits--;
	rv_buf_fini(&w->complaints);
	free(w);
}

static void refuse(struct rv_renewal *w, enum rv_rpc_code code, const char *why)
{
	struct rv_conn *c = w->conn;

	if (!w->request.quiet)
		rv_verb_error(c, &w->request, code, "%s", why);
	forget(w);
	ev_io_start(c->control->loop, &c->out); /* the loop sends, and looks whether it stays */
}

static void on_timeout(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)events;
	refuse(timer->data, RV_RPC_TIMEOUT,
		"the services that are removed or changed have not stopped yet; it goes on when "
		"they have");
}

static struct rv_renewal *create(struct rv_conn *c, const struct rv_request *r)
{
	rv_time bound = rv_wait_bound(c->control, r);
	struct rv_renewal *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->conn = c;
	w->request = *r;
	w->request.tree = NULL;
	w->request.names = NULL;
	w->request.options = NULL;
	w->until = rv_now() + bound;
	ev_timer_init(&w->timer, on_timeout, (double)bound / (double)RV_SEC, 0.);
	w->timer.data = w;
	ev_now_update(c->control->loop); /* reading the files took a while */
	ev_timer_start(c->control->loop, &w->timer);
	w->next = c->control->renewals;
	c->control->renewals = w;
	c->waits++;
	return w;
}

static void put_refused(
	struct rv_conn *c, const struct rv_request *r, const struct rv_complaints *found)
{
	rv_rpc_begin(&c->output, r->id);
	rv_load_report(found, &c->output);
	rv_rpc_end(&c->output);
}

static void put_begun(struct rv_conn *c, const struct rv_request *r,
	const struct rv_complaints *found, const struct rv_replacing *what)
{
	struct rv_buf *out = &c->output;

	rv_rpc_begin(out, r->id);
	RV_JSON_LIT(out, "{\"ok\":true,");
	rv_load_put_complaints(found, out);
	put_changes(out, what);
	RV_JSON_LIT(out, ",\"services\":[]}");
	rv_rpc_end(out);
}

static void foresee(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_control *k = c->control;
	struct rv_complaints found = {0};
	struct rv_replacing what;
	struct rv_reload *would = rv_engine_foresee(k->engine, k->load, &found, &what);

	if (would)
		put_begun(c, r, &found, &what);
	else
		put_refused(c, r, &found);
	rv_reload_destroy(would);
	rv_complaints_fini(&found);
}

void rv_verb_reload(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_control *k = c->control;
	const char *not_now = rv_engine_reload_is_refused(k->engine);
	struct rv_complaints found = {0};
	struct rv_replacing what;
	struct rv_renewal *w = NULL;

	if (!k->load || not_now) {
		rv_verb_error(
			c, r, RV_RPC_REFUSED, "%s", not_now ? not_now : "reeve knows no files yet");
		return;
	}
	if (c->waits >= RV_CONN_WAITS_MAX) {
		rv_verb_error(c, r, RV_RPC_REFUSED, "too many requests wait on this connection");
		return;
	}
	if (!r->quiet)
		rv_conn_flush(c); /* what was asked before this waits for no plugin */
	if (r->dry_run) {
		foresee(c, r);
		return;
	}
	if (!rv_engine_reload(k->engine, k->load, &found, &what)) {
		put_refused(c, r, &found);
	} else if (r->no_wait || !(w = create(c, r))) {
		put_begun(c, r, &found, &what);
	} else {
		w->number = what.number;
		rv_load_put_complaints(&found, &w->complaints);
	}
	rv_complaints_fini(&found);
}

/* ---- phase two ---- */

/* Those that are to be up when it is through; whether they are needed at all is not known before. */
static size_t collect(const struct rv_replacing *r, rv_id *ids)
{
	size_t n = 0;

	for (rv_id id = 0; id < r->slots; id++)
		if (r->swept[id] || r->change[id] == RV_ADDED || r->change[id] == RV_CHANGED ||
			r->change[id] == RV_TUNED)
			ids[n++] = id;
	return n;
}

static void go_on(struct rv_renewal *w, const struct rv_replacing *r)
{
	rv_time left = w->until - rv_now();
	rv_id *ids = calloc(r->slots + 1, sizeof(*ids));
	struct rv_buf *head = &w->complaints;

	put_changes(head, r);
	if (ids && !head->full &&
		rv_wait_reload(
			w->conn, &w->request, ids, collect(r, ids), left > 0 ? left : 0, head))
		forget(w);
	else
		refuse(w, RV_RPC_INTERNAL, "it is through, but memory to wait with was refused");
	free(ids);
}

void rv_reload_replacing(struct rv_control *k, const struct rv_replacing *r)
{
	struct rv_renewal *next;

	for (struct rv_renewal *w = k->renewals; w; w = next) {
		next = w->next;
		if (w->number != r->number)
			continue;
		if (r->given_up)
			refuse(w, RV_RPC_REFUSED,
				"another reload has taken the place of this one before it was "
				"through");
		else
			go_on(w, r);
	}
}

void rv_reload_forget(struct rv_conn *c)
{
	struct rv_renewal *next;

	for (struct rv_renewal *w = c->control->renewals; w; w = next) {
		next = w->next;
		if (w->conn == c)
			forget(w);
	}
}

void rv_reload_end(struct rv_control *k)
{
	while (k->renewals)
		refuse(k->renewals, RV_RPC_REFUSED, "reeve is shutting down");
}
