/* The methods `pause` and `resume`: whether what ends is restarted automatically. See ctl.h. */
#include <stdlib.h>

#include "daemon/ctl.h"
#include "wire/json.h"

static void put_one(struct rv_conn *c, rv_id id)
{
	struct rv_view v = rv_engine_look(c->control->engine, id);
	struct rv_rpc_result result = {
		.name = v.name,
		.state = v.look.state,
		.generation = v.look.generation,
		.pid = v.pid,
		.outcome = RV_DONE_OK,
		.why = "",
	};

	rv_rpc_put_result(&c->output, &result);
}

/* Without names: all. Nobody waits for anything: it is in force when the answer is read. */
void rv_verb_pause(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_buf *out = &c->output;
	rv_id *ids;
	size_t n;

	if (!rv_verb_resolve(c, r, &ids, &n))
		return;
	if (r->has_generation && rv_verb_is_stale(c, r, ids[0])) {
		free(ids);
		return;
	}
	for (size_t i = 0; i < n; i++)
		rv_engine_pause(c->control->engine, ids[i], r->verb == RV_VERB_PAUSE, c->uid);
	rv_rpc_begin(out, r->id);
	RV_JSON_LIT(out, "{\"services\":[");
	for (size_t i = 0; i < n; i++) {
		if (i)
			RV_JSON_LIT(out, ",");
		put_one(c, ids[i]);
	}
	RV_JSON_LIT(out, "],\"ok\":true}");
	rv_rpc_end(out);
	free(ids);
}
