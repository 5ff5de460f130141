/* A start or restart with options: see ctl.h.
 *
 *   request -> the plugin's table -> the plugin -> the same request again, as one without options */
#include "daemon/control.h"

#include <stdlib.h>

#include "daemon/ctl.h"

/* A request whose options a plugin is looking at. */
struct rv_gift {
	struct rv_gift *next;
	struct rv_conn *conn;
	struct rv_request request; /* without what the line owned */
	rv_id id;
};

static void forget(struct rv_gift *gift)
{
	struct rv_gift **at = &gift->conn->control->gifts;

	while (*at != gift)
		at = &(*at)->next;
	*at = gift->next;
	gift->conn->waits--;
	free(gift);
}

static bool on_given(void *arg, const char *why)
{
	struct rv_gift *gift = arg;
	struct rv_conn *c = gift->conn;
	struct rv_request *r = &gift->request;
	size_t before = c->output.len;
	bool begun = false;

	r->names = r->few; /* it was copied */
	if (why)
		rv_verb_error(c, r, RV_RPC_REFUSED, "%s: %s", r->names[0], why);
	else
		begun = rv_wait_may_change(c, r, gift->id) && rv_wait_begin(c, r, &gift->id, 1);
	if (r->quiet)
		c->output.len = before;
	forget(gift);
	rv_conn_flush(c);
	if (c->ended || c->refused)
		ev_feed_event(c->control->loop, &c->out, EV_WRITE);
	return begun;
}

void rv_give(struct rv_conn *c, const struct rv_request *r, rv_id id)
{
	struct rv_gift *gift = c->waits < RV_CONN_WAITS_MAX ? calloc(1, sizeof(*gift)) : NULL;
	struct rv_engine *g = c->control->engine;
	struct rv_word words[RV_RPC_OPTIONS_MAX];
	struct rv_buf why = {0};

	if (!gift) {
		rv_verb_error(c, r, RV_RPC_REFUSED, "too many requests wait on this connection");
		return;
	}
	*gift = (struct rv_gift){.next = c->control->gifts, .conn = c, .request = *r, .id = id};
	gift->request.tree = NULL;
	gift->request.options = NULL;
	gift->request.few[0] = rv_engine_name(g, id);
	c->control->gifts = gift;
	c->waits++;
	for (size_t i = 0; i < r->option_count; i++)
		words[i] = (struct rv_word){r->options[i].key, r->options[i].value};
	if (!rv_engine_give(g, id, words, r->option_count, r->verb == RV_VERB_RESTART, on_given,
		    gift, &why)) {
		rv_verb_error(c, r, RV_RPC_REFUSED, "%s: %s", r->names[0], rv_buf_text(&why));
		forget(gift);
	}
	rv_buf_fini(&why);
}

void rv_give_drop(struct rv_conn *c)
{
	struct rv_gift *next;

	for (struct rv_gift *gift = c->control->gifts; gift; gift = next) {
		next = gift->next;
		if (gift->conn != c)
			continue;
		rv_engine_give_drop(c->control->engine, gift->id);
		forget(gift);
	}
}
