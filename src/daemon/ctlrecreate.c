/* Reports of loss: what `recreate` permits, and what it answers. See ctl.h. */
#include <stdio.h>

#include "base/names.h"
#include "daemon/ctl.h"
#include "daemon/suspicion.h"

/* All or nothing: no replacement is begun beside one that is refused. */
bool rv_recreate_may(struct rv_conn *c, const struct rv_request *r, const rv_id *ids, size_t n)
{
	struct rv_engine *g = c->control->engine;

	for (size_t i = 0; i < n; i++) {
		const char *name = rv_engine_name(g, ids[i]);

		if (!rv_engine_conf(g)->plan->node[ids[i]].recreate)
			rv_verb_error(c, r, RV_RPC_REFUSED,
				"%s: it may not be replaced: recreate is not true in its "
				"configuration",
				name);
		else if (rv_engine_glance(g, ids[i]).flags & RV_LOOK_PAUSED)
			rv_verb_error(c, r, RV_RPC_REFUSED,
				"%s: it is paused: nothing is replaced before `reevectl resume %s`",
				name, name);
		else
			continue;
		return false;
	}
	return true;
}

void rv_recreate_note(struct rv_engine *g, struct rv_entry *e)
{
	struct rv_look look = rv_engine_glance(g, e->id);
	const struct rv_suspicion *d = rv_engine_suspicion(g, e->id);

	if (look.lost)
		e->before = look.lost;
	e->was_coming = look.state != RV_READY && look.state != RV_UNHEALTHY;
	e->answers = d ? d->answers : 0;
}

/* Memory may have been refused for it. */
static const char *said(const struct rv_suspicion *s)
{
	return s->why ? s->why : "";
}

static void explain_nothing(
	const struct rv_view *v, const struct rv_suspicion *asked, char *why, size_t size)
{
	if (asked && asked->verdict == RV_RETRY)
		snprintf(why, size,
			"whether it is lost cannot be told, so nothing was replaced%s%s",
			*said(asked) ? ": " : "", said(asked));
	else if (v->look.flags & RV_LOOK_PAUSED)
		snprintf(why, size, "it is paused: nothing is replaced before `reevectl resume %s`",
			v->name);
	else if (v->look.flags & RV_LOOK_DISABLED)
		snprintf(why, size,
			"whether it is lost cannot be told, so nothing was replaced: plugin %s is "
			"disabled",
			v->plugin);
	else
		snprintf(why, size,
			"something else was asked of it meanwhile: nothing was replaced");
}

static void explain_failure(const struct rv_view *v, char *why, size_t size)
{
	const char *more = v->detail && *v->detail ? v->detail : rv_why_text(v->look.why);

	snprintf(why, size, "%s%s", *more ? more : "it does not run",
		v->look.lost ? "; what was lost is not replaced, and may be reported again" : "");
}

static void explain_success(const struct rv_entry *e, const struct rv_view *v,
	const struct rv_rpc_loss *l, const struct rv_suspicion *asked, char *why, size_t size)
{
	if (l->replaced)
		snprintf(why, size, "%s, generation %llu instead of %llu: %s",
			l->lost ? "it was lost and has been replaced"
				: "it was started again meanwhile",
			(unsigned long long)v->look.generation, (unsigned long long)e->before,
			l->notice);
	else if (asked)
		snprintf(why, size, "it is alive, so nothing was replaced%s%s",
			*said(asked) ? ": " : "", said(asked));
	else
		snprintf(why, size, "it was on its way, and is ready: nothing was replaced");
}

void rv_recreate_explain(struct rv_engine *g, const struct rv_entry *e, const struct rv_view *v,
	struct rv_rpc_loss *l, char *why, size_t size)
{
	const struct rv_suspicion *d = rv_engine_suspicion(g, e->id);
	const struct rv_suspicion *asked = d && d->answers != e->answers ? d : NULL;
	bool up = v->look.state == RV_READY || v->look.state == RV_UNHEALTHY;

	*l = (struct rv_rpc_loss){
		.replaced = e->outcome == RV_DONE_OK && e->before && v->look.generation > e->before,
		.lost = v->look.lost};
	/* of this question; or of an earlier one, when that is why the life is known to be lost */
	if (d && (asked || (d->generation == e->before && d->verdict == RV_FAIL))) {
		l->verdict = rv_suspicion_word(d->verdict);
		l->status = d->status;
		if (l->replaced && d->verdict == RV_FAIL)
			l->lost = e->before;
	}
	if (l->replaced)
		l->notice = RV_FRESH_NOTICE;
	if (e->outcome == RV_DONE_OK)
		explain_success(e, v, l, asked, why, size);
	else if (e->outcome == RV_DONE_TIMEOUT || e->outcome == RV_DONE_YET)
		snprintf(why, size,
			up ? "its plugin is still being asked whether it is lost"
			   : "its replacement is not ready yet");
	else if (up)
		explain_nothing(v, asked, why, size);
	else
		explain_failure(v, why, size);
}
