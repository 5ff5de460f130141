/* What is asked of the plugin host, and how an answer comes back to who asked. See hostinside.h. */
#include "daemon/hostinside.h"

#include <stdlib.h>
#include <string.h>

#include "sys/clock.h"

/* ---- asks ---- */

void rv_link_unlink(struct rv_ask *a)
{
	if (!a->at)
		return;
	*a->at = a->next;
	if (a->next)
		a->next->at = a->at;
	a->at = NULL;
	a->next = NULL;
	a->flying = false;
}

void rv_link_put(struct rv_ask **list, struct rv_ask *a)
{
	rv_link_unlink(a);
	a->next = *list;
	a->at = list;
	if (a->next)
		a->next->at = &a->next;
	*list = a;
}

struct rv_ask *rv_link_find(struct rv_hostlink *h, uint32_t number, uint32_t id)
{
	uint32_t place = id & ~RV_HP_GET_BIT;
	struct rv_ask *a = NULL;

	if (!(id & RV_HP_GET_BIT) && id < h->slot_count && h->slots[id])
		a = &h->slots[id]->ask;
	else if (id & RV_HP_GET_BIT && place < h->get_room && h->gets[place])
		a = &h->gets[place]->ask;
	return a && a->at && a->number == number && !a->why ? a : NULL;
}

static bool make_places(struct rv_hostlink *h)
{
	size_t room = h->get_room ? 2 * h->get_room : 16;
	struct rv_host_http **more;

	if (h->get_count < h->get_room)
		return true;
	more = realloc(h->gets, room * sizeof(struct rv_host_http *));
	if (!more)
		return false;
	memset(more + h->get_room, 0, (room - h->get_room) * sizeof(*more));
	h->gets = more;
	h->get_next = h->get_room;
	h->get_room = room;
	return true;
}

bool rv_link_get_add(struct rv_hostlink *h, struct rv_host_http *g)
{
	if (!make_places(h))
		return false;
	while (h->gets[h->get_next % h->get_room])
		h->get_next++;
	g->ask.id = RV_HP_GET_BIT | (uint32_t)(h->get_next % h->get_room);
	h->gets[h->get_next++ % h->get_room] = g;
	h->get_count++;
	return true;
}

void rv_link_get_free(struct rv_hostlink *h, struct rv_host_http *g)
{
	h->gets[g->ask.id & ~RV_HP_GET_BIT] = NULL;
	h->get_count--;
	free(g->ask.why);
	free(g);
}

void rv_link_answer(struct rv_hostlink *h, struct rv_ask *a, enum rv_verdict v, const char *why)
{
	free(a->why);
	a->why = strdup(why);
	/* That it could not be asked says nothing of a service: it is no loss. */
	if (!a->got && rv_link_slot(a)->hook == RV_HOOK_CONFIRM)
		v = RV_RETRY;
	a->verdict = v;
	if (!a->got) {
		rv_host_run_drop(rv_link_slot(a)->run);
		rv_link_slot(a)->run = NULL;
	}
	rv_link_put(&h->own, a);
	if (!ev_is_active(&h->soon))
		ev_timer_start(h->loop, &h->soon);
}

void rv_link_conclude(struct rv_hostlink *h, struct rv_ask *a, const struct rv_host_answer *told)
{
	struct rv_host_answer answer = *told;
	struct rv_host_http *g;
	struct rv_slot *s;

	rv_link_unlink(a);
	if (a->got) {
		g = rv_link_get(a);
		if (g->as)
			g->tried(g->arg, told->verdict, told->why, &told->recipe);
		else
			g->done(g->arg, told->verdict, told->why);
		rv_link_get_free(h, g);
		return;
	}
	s = rv_link_slot(a);
	rv_host_run_drop(s->run);
	s->run = NULL;
	answer.id = a->id;
	answer.generation = s->facts.generation;
	answer.hook = s->hook;
	h->ops->answer(h->ctx, &answer);
}

static void hand_out(struct rv_hostlink *h)
{
	while (h->own) {
		struct rv_ask *a = h->own;
		char *why = a->why;

		a->why = NULL;
		rv_link_conclude(h, a,
			&(struct rv_host_answer){.verdict = a->verdict,
				.why = why ? why : "out of memory",
				.closed = ""});
		free(why);
	}
}

/* Of those that wait, the one that was asked first. */
static struct rv_ask *oldest(struct rv_hostlink *h)
{
	struct rv_ask *found = NULL;

	for (struct rv_ask *a = h->asked; a; a = a->next)
		if (!a->flying && (!found || (int32_t)(a->number - found->number) < 0))
			found = a;
	return found;
}

/* While one is asked at a time: the next, when its turn has come. */
static void go_on(struct rv_hostlink *h)
{
	struct rv_ask *a;

	if (!h->single || h->dying || h->resting)
		return;
	if (rv_now() > h->single)
		h->single = 0;
	while ((!h->single || !rv_link_flying(h)) && (a = oldest(h))) {
		rv_link_issue(h, a);
		if (!a->flying)
			break; /* answered by ourselves: the loop comes back to us */
	}
}

void rv_link_on_soon(struct ev_loop *loop, ev_timer *w, int events)
{
	struct rv_hostlink *h = w->data;

	(void)loop;
	(void)events;
	for (struct rv_blame *b = h->blames; b; b = b->next)
		if (b->back) {
			b->back = false;
			h->ops->disabled(h->ctx, b->plugin, false);
		}
	hand_out(h);
	go_on(h);
}

/* ---- sending ---- */

bool rv_link_post(struct rv_hostlink *h, const struct rv_hp_msg *m)
{
	bool fine = rv_channel_post(&h->channel, m);

	if (h->loop && h->channel.out.len)
		ev_io_start(h->loop, &h->out);
	return fine;
}

bool rv_link_post_instance(struct rv_hostlink *h, const struct rv_conf *conf, rv_id id,
	uint32_t number, bool rehearse, bool keep)
{
	struct rv_hp_msg m = {.kind = RV_HP_INSTANCE};
	struct rv_slot *slot = id < h->slot_count ? h->slots[id] : NULL;
	const struct rv_service *s = slot && slot->as && !rehearse ? slot->as : &conf->services[id];
	struct rv_arena arena = {0};
	bool fine = rv_host_instance(conf, s, h->variables, &arena, &m.u.instance);

	if (h->inspecting)
		fine = fine && rv_host_peers(conf, &conf->services[id], &arena, &m.u.instance);
	m.u.instance.number = number;
	m.u.instance.rehearse = rehearse;
	m.u.instance.keep = keep;
	fine = fine && rv_link_post(h, &m);
	rv_arena_fini(&arena);
	return fine;
}

static bool post_call(struct rv_hostlink *h, struct rv_slot *s, rv_time left)
{
	static const char *const none[] = {NULL};
	struct rv_hp_msg m = {.kind = RV_HP_CALL};

	m.u.call = (struct rv_hp_call){.call = s->ask.number,
		.id = s->ask.id,
		.hook = (uint8_t)s->hook,
		.again = s->again,
		.generation = s->facts.generation,
		.pid = s->facts.pid,
		.exit = s->facts.exit,
		.attempt = s->facts.attempt,
		.timeout = left,
		.memo = {.p = s->memo, .n = s->memo_len}};
	if (s->hook == RV_HOOK_UPDATE) {
		m.u.call.variables = h->variables ? h->variables : none;
		m.u.call.dropped = h->dropped ? h->dropped : none;
	}
	s->sent = true;
	return rv_link_post(h, &m);
}

static bool post_get(struct rv_hostlink *h, struct rv_host_http *g, rv_time left)
{
	struct rv_hp_msg m = {.kind = RV_HP_GET};

	m.u.get = (struct rv_hp_get){.call = g->ask.number,
		.id = g->ask.id,
		.dir = h->conf->plugin_dir,
		.want = *g->want,
		.timeout = left};
	return rv_link_post(h, &m);
}

/* Under the ask's own id, so that the answer, or a death, is found to be its. */
static bool post_try(struct rv_hostlink *h, struct rv_host_http *g)
{
	struct rv_hp_msg m = {.kind = RV_HP_INSTANCE};
	struct rv_arena arena = {0};
	bool fine = rv_host_instance(h->conf, g->as, h->variables, &arena, &m.u.instance);

	m.u.instance.id = g->ask.id;
	m.u.instance.number = g->ask.number;
	m.u.instance.rehearse = true;
	fine = fine && rv_link_post(h, &m);
	rv_arena_fini(&arena);
	return fine;
}

static bool post_got(struct rv_hostlink *h, struct rv_host_http *g, rv_time left)
{
	return g->as ? post_try(h, g) : post_get(h, g, left);
}

static bool post_hook(struct rv_hostlink *h, struct rv_slot *s, rv_time left)
{
	if (s->known != h->run && !rv_link_post_instance(h, h->conf, s->ask.id, 0, false, true))
		return false;
	s->known = h->run;
	return post_call(h, s, left);
}

void rv_link_issue(struct rv_hostlink *h, struct rv_ask *a)
{
	rv_time now = rv_now(), left = a->deadline - now;
	struct rv_err e;

	rv_link_put(&h->asked, a);
	ev_timer_stop(h->loop, &h->idle);
	if (!ev_is_active(&h->tick))
		ev_timer_again(h->loop, &h->tick);
	if (h->dying || h->resting || (h->single && rv_link_flying(h)))
		return;
	if (left <= 0) {
		rv_link_answer(h, a, RV_RETRY, "no time was left to ask the plugin host");
		return;
	}
	if (!h->channel.pid && !rv_link_start(h, &e)) {
		rv_link_answer(h, a, RV_FAIL, e.text);
		return;
	}
	if (a->got ? post_got(h, rv_link_get(a), left) : post_hook(h, rv_link_slot(a), left)) {
		a->flying = true;
		h->sent = now;
		return;
	}
	rv_link_answer(h, a, RV_FAIL, "cannot ask the plugin host: its configuration is too large");
}

struct rv_ask *rv_link_flying(struct rv_hostlink *h)
{
	for (struct rv_ask *a = h->asked; a; a = a->next)
		if (a->flying)
			return a;
	return NULL;
}

void rv_link_cancel(struct rv_hostlink *h, const struct rv_ask *a)
{
	struct rv_hp_msg m = {.kind = RV_HP_CANCEL};

	m.u.cancel = (struct rv_hp_cancel){.call = a->number, .id = a->id};
	if (h->channel.pid && !h->dying)
		rv_link_post(h, &m);
}
