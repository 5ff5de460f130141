/* The daemon's end of the plugin host: see hostlink.h.
 *
 *   call -> [instance] CALL -> MEMO_IS, RUN/RAN ... -> ANSWER -> ops.answer
 *             host dies: the call that it died in fails; all others are asked again, `again` set
 *
 * Answers of our own (a plugin that is disabled, a host that cannot be started) go through `own`, so
 * that no callback ever comes from inside a call. */
#include "daemon/hostlink.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/hostinside.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define IDLE 60. /* s */

/* ---- the channel ---- */

void rv_link_rest(struct rv_hostlink *h)
{
	if (h->asked && h->single && !ev_is_active(&h->soon))
		ev_timer_start(h->loop, &h->soon);
	if (h->asked || (h->dying && h->channel.ended))
		return;
	if (!h->channel.pid || h->heard >= h->sent) /* else nobody waits, but it owes an answer */
		ev_timer_stop(h->loop, &h->tick);
	if (h->channel.pid && !h->dying) {
		h->idle.repeat = IDLE;
		ev_timer_again(h->loop, &h->idle);
	}
}

/* The host leaves when it sees our end closed. */
static void send_away(struct rv_hostlink *h)
{
	if (!h->channel.pid || h->dying)
		return;
	h->dying = h->expected = true;
	ev_io_stop(h->loop, &h->in);
	ev_io_stop(h->loop, &h->out);
	ev_timer_stop(h->loop, &h->idle);
	rv_fd_close(&h->channel.fd);
}

static void on_idle(struct ev_loop *loop, ev_timer *w, int events)
{
	struct rv_hostlink *h = w->data;

	(void)events;
	ev_timer_stop(loop, w);
	if (!h->asked && !h->own)
		send_away(h);
}

static void on_in(struct ev_loop *loop, ev_io *w, int events)
{
	struct rv_hostlink *h = w->data;

	(void)loop;
	(void)events;
	rv_channel_fill(&h->channel);
	rv_link_take_all(h);
	if (h->channel.ended) { /* it is dying; how, the reaper will tell */
		h->dying = true;
		ev_io_stop(h->loop, &h->in);
		ev_io_stop(h->loop, &h->out);
		if (h->channel.nonsense)
			rv_link_put_down(h);
		else /* one that hung up and lives on is ended by the tick */
			ev_timer_again(h->loop, &h->tick);
	}
	rv_link_rest(h);
}

static void on_out(struct ev_loop *loop, ev_io *w, int events)
{
	struct rv_hostlink *h = w->data;

	(void)events;
	rv_channel_flush(&h->channel);
	if (!h->channel.out.len || h->channel.ended)
		ev_io_stop(loop, w);
}

/* ---- public ---- */

bool rv_hostlink_fork(int (*run)(int fd), struct rv_hostlink **out, struct rv_err *e)
{
	struct rv_hostlink *h = calloc(1, sizeof(*h));

	if (!h)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot start the plugin host: out of memory");
	h->run = 1;
	if (!rv_channel_open(&h->channel, e) || !rv_channel_start(&h->channel, run, e)) {
		rv_channel_close(&h->channel);
		free(h);
		return false;
	}
	*out = h;
	return true;
}

void rv_hostlink_attach(struct rv_hostlink *h, struct ev_loop *loop, struct rv_reaper *reaper,
	const struct rv_conf *conf, const struct rv_hostlink_ops *ops, void *ctx)
{
	bool needed = false;

	h->loop = loop;
	h->reaper = reaper;
	h->ops = ops;
	h->ctx = ctx;
	ev_io_init(&h->in, on_in, 0, EV_READ);
	ev_io_init(&h->out, on_out, 0, EV_WRITE);
	rv_link_tick_init(h);
	ev_timer_init(&h->soon, rv_link_on_soon, 0., 0.);
	ev_timer_init(&h->idle, on_idle, IDLE, IDLE);
	h->in.data = h->out.data = h->soon.data = h->idle.data = h;
	rv_hostlink_conf(h, conf);
	if (!h->channel.pid)
		return;
	rv_reaper_add_helper(reaper, h->channel.pid, rv_link_on_end, h);
	rv_link_watch(h);
	for (size_t i = 0; i < conf->service_count; i++)
		needed |= h->inspecting || rv_host_needed(&conf->services[i], h->variables);
	if (!needed)
		send_away(h);
	else
		rv_link_rest(h);
}

void rv_hostlink_inspect(struct rv_hostlink *h, struct ev_loop *loop, struct rv_reaper *reaper,
	const struct rv_conf *conf, const struct rv_hostlink_ops *ops, void *ctx)
{
	h->inspecting = true;
	rv_hostlink_attach(h, loop, reaper, conf, ops, ctx);
}

void rv_hostlink_loaded(struct rv_hostlink *h)
{
	rv_link_rest(h);
}

static bool make_room(struct rv_hostlink *h)
{
	size_t n = h->conf->service_count;
	struct rv_slot **v;

	if (n <= h->slot_count)
		return true;
	v = realloc(h->slots, n * sizeof(struct rv_slot *));
	if (!v)
		return false;
	memset(v + h->slot_count, 0, (n - h->slot_count) * sizeof(*v));
	h->slots = v;
	h->slot_count = n;
	return true;
}

static void forget_instances(struct rv_hostlink *h)
{
	for (size_t i = 0; i < h->slot_count; i++)
		if (h->slots[i])
			h->slots[i]->known = 0;
}

void rv_hostlink_variables(
	struct rv_hostlink *h, const char *const *variables, const char *const *dropped)
{
	h->variables = variables;
	h->dropped = dropped;
	forget_instances(h);
}

void rv_hostlink_conf(struct rv_hostlink *h, const struct rv_conf *conf)
{
	h->conf = conf;
	make_room(h); /* if not now, then at the first call */
	forget_instances(h);
	for (struct rv_blame *b = h->blames; b; b = b->next) {
		if (!b->disabled)
			continue;
		b->disabled = false;
		b->back = true;
		for (int i = 0; i < DEATHS_MAX; i++)
			b->deaths[i] = -RV_LINK_FORGET;
		if (!ev_is_active(&h->soon))
			ev_timer_start(h->loop, &h->soon);
	}
}

static struct rv_slot *slot_for(struct rv_hostlink *h, rv_id id)
{
	assert(id < h->conf->service_count);
	if (!make_room(h))
		return NULL;
	if (!h->slots[id])
		h->slots[id] = calloc(1, sizeof(struct rv_slot));
	return h->slots[id];
}

void rv_hostlink_vary(struct rv_hostlink *h, rv_id id, const struct rv_service *as)
{
	struct rv_slot *s = as || (id < h->slot_count && h->slots[id]) ? slot_for(h, id) : NULL;

	if (!s)
		return; /* without a slot it has no calls either */
	s->as = as;
	s->known = 0;
}

void rv_hostlink_call(struct rv_hostlink *h, const struct rv_host_facts *facts, enum rv_hook hook,
	rv_time timeout)
{
	struct rv_slot *s = slot_for(h, facts->id);
	const char *plugin = rv_link_plugin(h, facts->id);
	char text[200];

	if (!s)
		return; /* the core's own bound ends it */
	if (s->ask.at)
		rv_hostlink_drop(h, facts->id);
	if (s->memo_of != facts->generation) {
		s->memo_of = facts->generation;
		s->memo_len = 0;
	}
	s->ask.number = ++h->number;
	s->ask.id = facts->id;
	s->ask.deadline = rv_now() + timeout;
	s->hook = hook;
	s->facts = *facts;
	s->again = s->sent = false;
	if (plugin && !rv_link_is_disabled(h, plugin)) {
		rv_link_issue(h, &s->ask);
		return;
	}
	snprintf(text, sizeof(text), "plugin %s is disabled", plugin ? plugin : "(none)");
	rv_link_answer(h, &s->ask, RV_FAIL, text);
}

void rv_hostlink_drop(struct rv_hostlink *h, rv_id id)
{
	struct rv_slot *s = id < h->slot_count ? h->slots[id] : NULL;

	if (!s || !s->ask.at)
		return;
	if (!s->ask.why)
		rv_link_cancel(h, &s->ask);
	rv_host_run_drop(s->run);
	s->run = NULL;
	free(s->ask.why);
	s->ask.why = NULL;
	rv_link_unlink(&s->ask);
	rv_link_rest(h);
}

bool rv_hostlink_is_disabled(struct rv_hostlink *h, const char *plugin)
{
	return rv_link_is_disabled(h, plugin);
}

static struct rv_host_http *fly(struct rv_hostlink *h, struct rv_host_http *g, rv_time timeout)
{
	g->ask.got = true;
	g->ask.number = ++h->number;
	g->ask.deadline = rv_now() + timeout;
	rv_link_issue(h, &g->ask);
	return g;
}

struct rv_host_http *rv_hostlink_try(struct rv_hostlink *h, const struct rv_service *as,
	rv_time timeout,
	void (*tried)(void *arg, enum rv_verdict v, const char *why, const struct rv_recipe *r),
	void *arg)
{
	struct rv_host_http *g = calloc(1, sizeof(*g));

	if (!g || !rv_link_get_add(h, g)) {
		free(g);
		return NULL;
	}
	g->as = as;
	g->tried = tried;
	g->arg = arg;
	return fly(h, g, timeout);
}

struct rv_host_http *rv_hostlink_get(struct rv_hostlink *h, const struct rv_want *want,
	rv_time timeout, void (*done)(void *arg, enum rv_verdict v, const char *why), void *arg)
{
	struct rv_host_http *g = calloc(1, sizeof(*g));

	if (!g || !rv_link_get_add(h, g)) {
		free(g);
		return NULL;
	}
	g->want = want;
	g->done = done;
	g->arg = arg;
	return fly(h, g, timeout);
}

void rv_hostlink_get_rebind(struct rv_host_http *g, const struct rv_want *want)
{
	g->want = want;
}

void rv_hostlink_get_drop(struct rv_hostlink *h, struct rv_host_http *g)
{
	if (!g)
		return;
	if (!g->ask.why)
		rv_link_cancel(h, &g->ask);
	rv_link_unlink(&g->ask);
	rv_link_get_free(h, g);
	rv_link_rest(h);
}

bool rv_hostlink_was_well(const struct rv_hostlink *h, rv_time since)
{
	return h->heard >= since && h->died < since && !h->dying;
}

pid_t rv_hostlink_pid(const struct rv_hostlink *h)
{
	return h->channel.pid;
}

void rv_hostlink_detach(struct rv_hostlink *h)
{
	while (h->asked)
		rv_link_unlink(h->asked);
	rv_link_end(h);
	if (h->loop) {
		ev_timer_stop(h->loop, &h->tick);
		ev_timer_stop(h->loop, &h->soon);
		ev_timer_stop(h->loop, &h->idle);
	}
	for (size_t i = 0; i < h->slot_count; i++) {
		if (!h->slots[i])
			continue;
		rv_host_run_drop(h->slots[i]->run);
		h->slots[i]->run = NULL;
	}
	h->loop = NULL;
	h->reaper = NULL;
}

void rv_hostlink_destroy(struct rv_hostlink *h)
{
	if (!h)
		return;
	rv_hostlink_detach(h);
	for (size_t i = 0; i < h->slot_count; i++) {
		if (!h->slots[i])
			continue;
		free(h->slots[i]->ask.why);
		free(h->slots[i]->memo);
		free(h->slots[i]);
	}
	free(h->slots);
	free(h->gets);
	while (h->blames) {
		struct rv_blame *b = h->blames;

		h->blames = b->next;
		free(b->plugin);
		free(b);
	}
	rv_arena_fini(&h->tables);
	rv_arena_fini(&h->recipes);
	rv_channel_close(&h->channel);
	free(h);
}
