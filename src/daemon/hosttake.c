/* What comes from the plugin host, frame by frame: memos, commands to run, answers. See hostinside.h. */
#include "daemon/hostinside.h"

#include <stdlib.h>
#include <string.h>

#include "sys/clock.h"

static void take_memo(struct rv_hostlink *h, const struct rv_hp_memo_is *m)
{
	struct rv_ask *a = rv_link_find(h, m->call, m->id);
	unsigned char *copy;

	if (!a || a->got)
		return;
	copy = realloc(rv_link_slot(a)->memo, m->memo.n + 1);
	if (!copy)
		return;
	if (m->memo.n)
		memcpy(copy, m->memo.p, m->memo.n);
	rv_link_slot(a)->memo = copy;
	rv_link_slot(a)->memo_len = m->memo.n;
}

static void post_ran(void *arg, const struct rv_hp_ran *ran)
{
	struct rv_hp_msg m = {.kind = RV_HP_RAN};
	struct rv_hostlink *h = arg;
	struct rv_ask *a = rv_link_find(h, ran->call, ran->id);

	if (!a)
		return;
	rv_link_slot(a)->run = NULL;
	m.u.ran = *ran;
	if (!h->dying)
		rv_link_post(h, &m);
}

static void take_run(struct rv_hostlink *h, const struct rv_hp_run *m)
{
	struct rv_host_run_env env = {
		.loop = h->loop, .reaper = h->reaper, .done = post_ran, .arg = h};
	struct rv_ask *a = rv_link_find(h, m->call, m->id);
	struct rv_hp_run ask = *m;
	struct rv_spawn context = {.umask = -1};
	struct rv_err e = {.text = "its service may not run commands now"};
	struct rv_hp_ran no = {.call = m->call, .id = m->id, .exit = RV_EXIT_UNKNOWN};
	rv_time left;

	if (!a || a->got || h->dying || rv_link_slot(a)->run || !m->argv || !m->argv[0])
		return;
	left = a->deadline - rv_now();
	if (ask.timeout > left)
		ask.timeout = left;
	if (h->ops->context(h->ctx, a->id, &context))
		rv_link_slot(a)->run = rv_host_run_start(&env, &ask, &context, &e);
	no.error = e.text;
	if (!rv_link_slot(a)->run)
		post_ran(h, &no);
}

static void take_answer(struct rv_hostlink *h, const struct rv_hp_answer *m, struct rv_arena *arena)
{
	struct rv_ask *a = rv_link_find(h, m->call, m->id);
	struct rv_host_answer told = {.verdict = (enum rv_verdict)m->verdict,
		.why = m->why,
		.closed = m->closed,
		.status = m->status};

	if (!a)
		return;
	if (!a->got && rv_link_slot(a)->hook == RV_HOOK_START &&
		!rv_host_recipe(&m->process, arena, &told.recipe))
		told = (struct rv_host_answer){
			.verdict = RV_FAIL, .why = "out of memory", .closed = ""};
	rv_link_conclude(h, a, &told);
}

/* Of a try; one of a blocking call that has given up is nobody's. */
static void take_recipe(struct rv_hostlink *h, const struct rv_hp_recipe *m, struct rv_arena *arena)
{
	struct rv_ask *a = rv_link_find(h, m->number, m->id);
	struct rv_host_answer told = {
		.verdict = *m->error ? RV_FAIL : RV_OK, .why = m->error, .closed = ""};

	if (!a || !a->got || !rv_link_get(a)->as)
		return;
	if (!rv_host_recipe(&m->process, arena, &told.recipe)) {
		told.verdict = RV_FAIL;
		told.why = "out of memory";
	}
	rv_link_conclude(h, a, &told);
}

static void take(struct rv_hostlink *h, const struct rv_hp_msg *m, struct rv_arena *arena)
{
	switch (m->kind) {
	case RV_HP_MEMO_IS: take_memo(h, &m->u.memo); break;
	case RV_HP_RUN: take_run(h, &m->u.run); break;
	case RV_HP_ANSWER: take_answer(h, &m->u.answer, arena); break;
	case RV_HP_RECIPE: take_recipe(h, &m->u.recipe, arena); break;
	case RV_HP_TABLE: break; /* of a blocking call that has given up */
	case RV_HP_DESCRIBE:
	case RV_HP_INSTANCE:
	case RV_HP_CALL:
	case RV_HP_RAN:
	case RV_HP_GET:
	case RV_HP_CANCEL:
	case RV_HP_KIND_END: h->channel.ended = true; break;
	}
}

void rv_link_take_all(struct rv_hostlink *h)
{
	struct rv_hp_msg m;
	bool more = true;

	while (more) {
		struct rv_arena arena = {0};

		more = rv_channel_next(&h->channel, &arena, &m) == RV_HP_OK;
		if (more) {
			h->heard = rv_now();
			take(h, &m, &arena);
		}
		rv_arena_fini(&arena);
	}
}
