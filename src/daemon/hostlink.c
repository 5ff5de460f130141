/* The daemon's end of the plugin host: see hostlink.h.
 *
 *   call -> [instance] CALL -> MEMO_IS, RUN/RAN ... -> ANSWER -> ops.answer
 *             host dies: the call that it died in fails; all others are asked again, `again` set
 *
 * Answers of our own (a plugin that is disabled, a host that cannot be started) go through `own`, so
 * that no callback ever comes from inside a call. */
#include "daemon/hostlink.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/names.h"
#include "base/text.h"
#include "daemon/hostparts.h"
#include "daemon/say.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define SYNC_LIMIT (5 * RV_SEC) /* describe and rehearse */
#define TURN_LIMIT (1 * RV_SEC) /* wall time of one turn */
#define LATE	   (2 * RV_SEC) /* an answer that is later than this after its bound: the host hangs */
#define FORGET	   (60 * RV_SEC) /* deaths that count together */
#define TICK	   0.25
#define IDLE	   60.
enum { DEATHS_MAX = 3, WHY_MAX = 1000 };

/* Deaths of the host that are laid to one plugin's account, or to nobody's. */
struct blame {
	struct blame *next;
	char *plugin; /* "": nobody */
	rv_time deaths[DEATHS_MAX];
	bool disabled, back; /* back: to be told */
};

/* What is asked of the host: a hook of a service, or a GET. */
struct ask {
	struct ask *next, **at; /* in `asked`, or in `own`; at NULL: in neither */
	bool got; /* a get */
	uint32_t number, id;
	rv_time deadline, timeout;
	/* own answer */
	enum rv_verdict verdict;
	char *why;
};

struct slot { /* one a service that was ever asked for */
	struct ask ask;
	uint32_t known; /* host run in which its instance was sent */
	enum rv_hook hook;
	struct rv_host_facts facts;
	bool sent, again; /* to some host; to one that died */
	uint64_t memo_of; /* generation */
	unsigned char *memo;
	size_t memo_len;
	struct rv_host_run *run;
};

struct rv_host_http {
	struct ask ask;
	char *url;
	void (*done)(void *arg, enum rv_verdict v, const char *why);
	void *arg;
};

struct rv_hostlink {
	struct rv_channel channel;
	uint32_t run; /* counts hosts that were started */
	uint32_t number; /* of the last ask */
	bool dying; /* hung up or killed, not reaped yet */
	bool expected; /* it was us who ended it, for no fault of its own */
	bool hung;
	struct blame *blames;
	struct rv_arena tables, recipes;
	/* after attach */
	struct ev_loop *loop;
	struct rv_reaper *reaper;
	const struct rv_conf *conf;
	const struct rv_hostlink_ops *ops;
	void *ctx;
	ev_io in, out;
	ev_timer tick, soon, idle;
	uint32_t turn; /* at the last tick */
	unsigned same; /* ticks for which the host was in that turn */
	struct slot **slots;
	size_t slot_count;
	struct ask *asked, *own;
};

static void on_host_end(void *arg, pid_t pid, rv_exit how);

/* ---- asks ---- */

static void unlink_ask(struct ask *a)
{
	if (!a->at)
		return;
	*a->at = a->next;
	if (a->next)
		a->next->at = a->at;
	a->at = NULL;
	a->next = NULL;
}

static void link_ask(struct ask **list, struct ask *a)
{
	unlink_ask(a);
	a->next = *list;
	a->at = list;
	if (a->next)
		a->next->at = &a->next;
	*list = a;
}

static struct slot *slot_of(struct ask *a)
{
	assert(!a->got);
	return (struct slot *)a;
}

static struct rv_host_http *get_of(struct ask *a)
{
	assert(a->got);
	return (struct rv_host_http *)a;
}

static struct ask *find_ask(struct rv_hostlink *h, uint32_t number, uint32_t id)
{
	struct ask *a;

	if (!(id & RV_HP_GET_BIT)) {
		a = id < h->slot_count && h->slots[id] ? &h->slots[id]->ask : NULL;
		return a && a->at && a->number == number && !a->why ? a : NULL;
	}
	for (a = h->asked; a; a = a->next)
		if (a->got && a->number == number)
			return a;
	return NULL;
}

/* Our own answer, to be handed out by the loop. */
static void answer_ourselves(
	struct rv_hostlink *h, struct ask *a, enum rv_verdict v, const char *why)
{
	free(a->why);
	a->why = strdup(why);
	a->verdict = v;
	if (!a->got) {
		rv_host_run_drop(slot_of(a)->run);
		slot_of(a)->run = NULL;
	}
	link_ask(&h->own, a);
	if (!ev_is_active(&h->soon))
		ev_timer_start(h->loop, &h->soon);
}

/* Tells the asker; the ask is forgotten before, so that it may ask again from inside. */
static void conclude(struct rv_hostlink *h, struct ask *a, enum rv_verdict v, const char *why,
	const struct rv_recipe *recipe)
{
	struct rv_host_answer answer;
	struct rv_host_http *g;
	struct slot *s;

	unlink_ask(a);
	if (a->got) {
		g = get_of(a);
		g->done(g->arg, v, why);
		free(g->url);
		free(g);
		return;
	}
	s = slot_of(a);
	rv_host_run_drop(s->run);
	s->run = NULL;
	answer = (struct rv_host_answer){.id = a->id,
		.generation = s->facts.generation,
		.hook = s->hook,
		.verdict = v,
		.why = why};
	if (recipe)
		answer.recipe = *recipe;
	h->ops->answer(h->ctx, &answer);
}

static void hand_out(struct rv_hostlink *h)
{
	while (h->own) {
		struct ask *a = h->own;
		char *why = a->why;

		a->why = NULL;
		conclude(h, a, a->verdict, why ? why : "out of memory", NULL);
		free(why);
	}
}

static void on_soon(struct ev_loop *loop, ev_timer *w, int events)
{
	struct rv_hostlink *h = w->data;

	(void)loop;
	(void)events;
	for (struct blame *b = h->blames; b; b = b->next)
		if (b->back) {
			b->back = false;
			h->ops->disabled(h->ctx, b->plugin, false);
		}
	hand_out(h);
}

/* ---- blame ---- */

static struct blame *blame_of(struct rv_hostlink *h, const char *plugin)
{
	struct blame *b;

	for (b = h->blames; b; b = b->next)
		if (strcmp(b->plugin, plugin) == 0)
			return b;
	b = calloc(1, sizeof(*b));
	if (b)
		b->plugin = strdup(plugin);
	if (!b || !b->plugin) {
		free(b);
		return NULL;
	}
	for (int i = 0; i < DEATHS_MAX; i++)
		b->deaths[i] = -FORGET;
	b->next = h->blames;
	h->blames = b;
	return b;
}

/* One more death; true: it was the third within a minute. */
static bool too_many(struct rv_hostlink *h, const char *plugin)
{
	struct blame *b = blame_of(h, plugin);

	if (!b)
		return false;
	memmove(b->deaths, b->deaths + 1, sizeof(b->deaths) - sizeof(b->deaths[0]));
	b->deaths[DEATHS_MAX - 1] = rv_now();
	return b->deaths[DEATHS_MAX - 1] - b->deaths[0] < FORGET;
}

static bool is_disabled(struct rv_hostlink *h, const char *plugin)
{
	for (struct blame *b = h->blames; b; b = b->next)
		if (strcmp(b->plugin, plugin) == 0)
			return b->disabled;
	return false;
}

static const char *plugin_of(const struct rv_hostlink *h, uint32_t id)
{
	if (!h->conf || id >= h->conf->service_count || !h->conf->services[id].name)
		return NULL;
	return h->conf->services[id].plugin;
}

static const char *how_text(const struct rv_hostlink *h, rv_exit how, char *to, size_t size)
{
	if (h->hung && h->channel.page->since)
		snprintf(to, size, "hung: a turn took longer than 1s");
	else if (h->hung)
		snprintf(to, size, "it did not answer in time");
	else if (how == RV_EXIT_SIGNAL(SIGPROF))
		snprintf(to, size, "a turn took more than 100ms of CPU");
	else if (how >= 256 && rv_signal_name(how - 256))
		snprintf(to, size, "SIG%s", rv_signal_name(how - 256));
	else
		rv_exit_text(how, to, size);
	return to;
}

/* "plugin host died in jupyter.probe: SIGSEGV" */
static void death_text(const struct rv_hostlink *h, const char *plugin, uint32_t what, rv_exit how,
	char *to, size_t size)
{
	char text[64];

	how_text(h, how, text, sizeof(text));
	if (!plugin)
		snprintf(to, size, "plugin host died: %s", text);
	else if (what < RV_HOOK_COUNT)
		snprintf(to, size, "plugin host died in %s.%s: %s", plugin,
			rv_hook_name((enum rv_hook)what), text);
	else
		snprintf(to, size, "plugin host died while loading %s: %s", plugin, text);
}

/* ---- the process ---- */

static void watch(struct rv_hostlink *h)
{
	ev_io_stop(h->loop, &h->in);
	ev_io_stop(h->loop, &h->out);
	if (h->channel.fd < 0)
		return;
	ev_io_set(&h->in, h->channel.fd, EV_READ);
	ev_io_set(&h->out, h->channel.fd, EV_WRITE);
	ev_io_start(h->loop, &h->in);
	if (h->channel.out.len)
		ev_io_start(h->loop, &h->out);
}

static bool start_host(struct rv_hostlink *h, struct rv_err *e)
{
	if (!rv_channel_start(&h->channel, NULL, e))
		return false;
	h->run++;
	h->expected = h->hung = false;
	h->same = 0;
	if (h->reaper)
		rv_reaper_add_helper(h->reaper, h->channel.pid, on_host_end, h);
	if (h->loop)
		watch(h);
	return true;
}

/* Ends it now and waits for it (KILL: it is prompt); for blocking calls and for our own end. */
static rv_exit end_now(struct rv_hostlink *h)
{
	pid_t pid = h->channel.pid;
	int status = 0;

	if (h->loop) {
		ev_io_stop(h->loop, &h->in);
		ev_io_stop(h->loop, &h->out);
	}
	if (!pid)
		return RV_EXIT_UNKNOWN;
	if (h->reaper)
		rv_reaper_drop_helper(h->reaper, pid, false);
	/* One that closed the channel is on its way out by itself, and how is worth knowing. */
	for (int i = h->channel.ended ? 0 : 1000; waitpid(pid, &status, WNOHANG) == 0; i++) {
		if (i == 1000)
			kill(pid, SIGKILL);
		poll(NULL, 0, 1);
	}
	rv_channel_hang_up(&h->channel);
	h->dying = false;
	return WIFSIGNALED(status) ? RV_EXIT_SIGNAL(WTERMSIG(status)) : WEXITSTATUS(status);
}

/* False: too large, or memory was refused. */
static bool post(struct rv_hostlink *h, const struct rv_hp_msg *m)
{
	bool fine = rv_channel_post(&h->channel, m);

	if (h->loop && h->channel.out.len)
		ev_io_start(h->loop, &h->out);
	return fine;
}

/* ---- sending ---- */

static bool post_instance(struct rv_hostlink *h, const struct rv_conf *conf, rv_id id,
	uint32_t number, bool rehearse, bool keep)
{
	struct rv_hp_msg m = {.kind = RV_HP_INSTANCE};
	struct rv_arena arena = {0};
	bool fine = rv_host_instance(conf, &conf->services[id], &arena, &m.u.instance);

	m.u.instance.number = number;
	m.u.instance.rehearse = rehearse;
	m.u.instance.keep = keep;
	fine = fine && post(h, &m);
	rv_arena_fini(&arena);
	return fine;
}

static bool post_call(struct rv_hostlink *h, struct slot *s, rv_time left)
{
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
	s->sent = true;
	return post(h, &m);
}

static bool post_get(struct rv_hostlink *h, struct rv_host_http *g, rv_time left)
{
	struct rv_hp_msg m = {.kind = RV_HP_GET};

	m.u.get = (struct rv_hp_get){.call = g->ask.number,
		.id = g->ask.id,
		.dir = h->conf->plugin_dir,
		.url = g->url,
		.timeout = left};
	return post(h, &m);
}

static bool post_hook(struct rv_hostlink *h, struct slot *s, rv_time left)
{
	if (s->known != h->run && !post_instance(h, h->conf, s->ask.id, 0, false, true))
		return false;
	s->known = h->run;
	return post_call(h, s, left);
}

/* Sends it, or answers it ourselves. A dying host's successor gets it when that one is reaped. */
static void issue(struct rv_hostlink *h, struct ask *a)
{
	rv_time left = a->deadline - rv_now();
	struct rv_err e;

	link_ask(&h->asked, a);
	ev_timer_stop(h->loop, &h->idle);
	if (!ev_is_active(&h->tick))
		ev_timer_again(h->loop, &h->tick);
	if (h->dying)
		return;
	if (left <= 0) {
		answer_ourselves(h, a, RV_RETRY, "no time was left to ask the plugin host");
		return;
	}
	if (!h->channel.pid && !start_host(h, &e)) {
		answer_ourselves(h, a, RV_FAIL, e.text);
		return;
	}
	if (a->got ? post_get(h, get_of(a), left) : post_hook(h, slot_of(a), left))
		return;
	answer_ourselves(
		h, a, RV_FAIL, "cannot ask the plugin host: its configuration is too large");
}

static void post_cancel(struct rv_hostlink *h, const struct ask *a)
{
	struct rv_hp_msg m = {.kind = RV_HP_CANCEL};

	m.u.cancel = (struct rv_hp_cancel){.call = a->number, .id = a->id};
	if (h->channel.pid && !h->dying)
		post(h, &m);
}

/* ---- receiving ---- */

static void take_memo(struct rv_hostlink *h, const struct rv_hp_memo_is *m)
{
	struct ask *a = find_ask(h, m->call, m->id);
	unsigned char *copy;

	if (!a || a->got)
		return;
	copy = realloc(slot_of(a)->memo, m->memo.n + 1);
	if (!copy)
		return;
	if (m->memo.n)
		memcpy(copy, m->memo.p, m->memo.n);
	slot_of(a)->memo = copy;
	slot_of(a)->memo_len = m->memo.n;
}

static void post_ran(void *arg, const struct rv_hp_ran *ran)
{
	struct rv_hp_msg m = {.kind = RV_HP_RAN};
	struct rv_hostlink *h = arg;
	struct ask *a = find_ask(h, ran->call, ran->id);

	if (!a)
		return;
	slot_of(a)->run = NULL;
	m.u.ran = *ran;
	if (!h->dying)
		post(h, &m);
}

static void take_run(struct rv_hostlink *h, const struct rv_hp_run *m)
{
	struct rv_host_run_env env = {
		.loop = h->loop, .reaper = h->reaper, .done = post_ran, .arg = h};
	struct ask *a = find_ask(h, m->call, m->id);
	struct rv_hp_run ask = *m;
	struct rv_spawn context = {.umask = -1};
	struct rv_err e = {.text = "its service may not run commands now"};
	struct rv_hp_ran no = {.call = m->call, .id = m->id, .exit = RV_EXIT_UNKNOWN};
	rv_time left;

	if (!a || a->got || !m->argv || !m->argv[0])
		return;
	left = a->deadline - rv_now();
	if (ask.timeout > left)
		ask.timeout = left;
	if (h->ops->context(h->ctx, a->id, &context))
		slot_of(a)->run = rv_host_run_start(&env, &ask, &context, &e);
	no.error = e.text;
	if (!slot_of(a)->run)
		post_ran(h, &no);
}

static void take_answer(struct rv_hostlink *h, const struct rv_hp_answer *m, struct rv_arena *arena)
{
	struct ask *a = find_ask(h, m->call, m->id);
	struct rv_recipe recipe = {0};
	bool fine = true;

	if (!a)
		return;
	if (!a->got && slot_of(a)->hook == RV_HOOK_START)
		fine = rv_host_recipe(&m->process, arena, &recipe);
	if (fine)
		conclude(h, a, (enum rv_verdict)m->verdict, m->why, &recipe);
	else
		conclude(h, a, RV_FAIL, "out of memory", NULL);
}

static void take(struct rv_hostlink *h, const struct rv_hp_msg *m, struct rv_arena *arena)
{
	switch (m->kind) {
	case RV_HP_MEMO_IS: take_memo(h, &m->u.memo); break;
	case RV_HP_RUN: take_run(h, &m->u.run); break;
	case RV_HP_ANSWER: take_answer(h, &m->u.answer, arena); break;
	case RV_HP_TABLE:
	case RV_HP_RECIPE: break; /* of a blocking call that has given up */
	case RV_HP_DESCRIBE:
	case RV_HP_INSTANCE:
	case RV_HP_CALL:
	case RV_HP_RAN:
	case RV_HP_GET:
	case RV_HP_CANCEL:
	case RV_HP_KIND_END: h->channel.ended = true; break;
	}
}

static void take_all(struct rv_hostlink *h)
{
	struct rv_hp_msg m;
	bool more = true;

	while (more) {
		struct rv_arena arena = {0};

		more = rv_channel_next(&h->channel, &arena, &m) == RV_HP_OK;
		if (more)
			take(h, &m, &arena);
		rv_arena_fini(&arena);
	}
}

/* Nothing is asked: no ticks, and after a minute no host either. */
static void rest(struct rv_hostlink *h)
{
	if (h->asked)
		return;
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

static void doom(struct rv_hostlink *h)
{
	if (h->dying)
		return;
	h->dying = true;
	ev_io_stop(h->loop, &h->in);
	ev_io_stop(h->loop, &h->out);
	kill(h->channel.pid, SIGKILL);
}

static void on_in(struct ev_loop *loop, ev_io *w, int events)
{
	struct rv_hostlink *h = w->data;

	(void)loop;
	(void)events;
	rv_channel_fill(&h->channel);
	take_all(h);
	if (h->channel.ended) { /* it is dying; how, the reaper will tell */
		h->dying = true;
		ev_io_stop(h->loop, &h->in);
		ev_io_stop(h->loop, &h->out);
		kill(h->channel.pid, SIGKILL);
	}
	rest(h);
}

static void on_out(struct ev_loop *loop, ev_io *w, int events)
{
	struct rv_hostlink *h = w->data;

	(void)events;
	rv_channel_flush(&h->channel);
	if (!h->channel.out.len || h->channel.ended)
		ev_io_stop(loop, w);
}

/* A host that is in one turn for four of our own ticks hangs; time that passed while nobody ran (a paused
   machine) does not count. */
static void on_tick(struct ev_loop *loop, ev_timer *w, int events)
{
	struct rv_hostlink *h = w->data;
	const struct rv_hp_page *page = h->channel.page;
	rv_time now = rv_now();

	(void)loop;
	(void)events;
	h->same = page->since && page->turn == h->turn ? h->same + 1 : 0;
	h->turn = page->turn;
	if (h->same >= 4 && now - page->since > TURN_LIMIT && !h->dying) {
		h->hung = true;
		doom(h);
	}
	for (struct ask *a = h->asked; a && !h->dying; a = a->next)
		if (now > a->deadline + LATE) {
			h->hung = true;
			doom(h);
		}
}

/* ---- death ---- */

static void disable(struct rv_hostlink *h, const char *plugin, const char *why)
{
	struct blame *b = blame_of(h, plugin);
	char text[300];

	if (!b || b->disabled)
		return;
	b->disabled = true;
	rv_say(RV_ERROR, NULL,
		"plugin %s is disabled until the configuration is loaded again: it ended the "
		"plugin host %d "
		"times within a minute (%s)",
		plugin, DEATHS_MAX, why);
	snprintf(text, sizeof(text),
		"plugin %s is disabled: it ended the plugin host %d times within a minute", plugin,
		DEATHS_MAX);
	for (struct ask *a = h->asked, *next; a; a = next) {
		const char *of = a->got ? NULL : plugin_of(h, a->id);

		next = a->next;
		if (of && strcmp(of, plugin) == 0)
			answer_ourselves(h, a, RV_FAIL, text);
	}
	h->ops->disabled(h->ctx, plugin, true);
}

/* Which ask the host died in, as far as the page makes sense. */
static struct ask *culprit(struct rv_hostlink *h, const char **plugin, uint32_t *what)
{
	const struct rv_hp_page *page = h->channel.page;
	uint32_t id = page->id;

	*plugin = NULL;
	*what = page->what;
	if (!page->since || (*what >= RV_HOOK_COUNT && *what != RV_HP_IN_INSTANCE))
		return NULL;
	*plugin = plugin_of(h, id);
	if (!*plugin || id >= h->slot_count || !h->slots[id])
		return NULL;
	return h->slots[id]->ask.at && !h->slots[id]->ask.why ? &h->slots[id]->ask : NULL;
}

static void ask_again(struct rv_hostlink *h)
{
	struct ask *list = NULL;

	while (h->asked) {
		struct ask *a = h->asked;

		if (!a->got) {
			rv_host_run_drop(slot_of(a)->run);
			slot_of(a)->run = NULL;
			slot_of(a)->again |= slot_of(a)->sent;
		}
		link_ask(&list, a);
	}
	while (list)
		issue(h, list);
}

static void on_host_end(void *arg, pid_t pid, rv_exit how)
{
	struct rv_hostlink *h = arg;
	const char *plugin;
	char text[200];
	struct ask *a;
	uint32_t what;

	(void)pid;
	/* What it said before it died is true. */
	while (h->channel.fd >= 0 && !h->channel.ended) {
		size_t before = h->channel.in.len;

		rv_channel_fill(&h->channel);
		if (h->channel.in.len == before)
			break;
	}
	h->dying = true;
	take_all(h);
	ev_io_stop(h->loop, &h->in);
	ev_io_stop(h->loop, &h->out);
	rv_channel_hang_up(&h->channel);
	a = culprit(h, &plugin, &what);
	death_text(h, plugin, what, how, text, sizeof(text));
	h->channel.page->since = 0;
	h->dying = false;
	if (h->expected) {
		ask_again(h);
		return;
	}
	rv_say(RV_WARN, a ? h->conf->services[a->id].name : NULL, "%s", text);
	if (a)
		answer_ourselves(h, a, RV_FAIL, text);
	if (too_many(h, plugin ? plugin : "")) {
		if (plugin)
			disable(h, plugin, text);
		else
			while (h->asked)
				answer_ourselves(h, h->asked, RV_RETRY, text);
	}
	ask_again(h);
	rest(h);
}

/* ---- blocking calls ---- */

/* Turns until `*missing` is 0 or the host is over. on: takes a message; what it refuses is kept for the
   loop. False: the host died, or the time is over. */
static bool pump(struct rv_hostlink *h, const size_t *missing,
	bool (*on)(void *arg, const struct rv_hp_msg *m), void *arg, rv_time until)
{
	struct rv_buf later = {.max = h->channel.in.max};
	struct rv_hp_msg m;

	while (*missing && !h->channel.ended && rv_now() < until) {
		struct pollfd p = {.fd = h->channel.fd,
			.events = (short)(POLLIN | (h->channel.out.len ? POLLOUT : 0))};

		poll(&p, 1, (int)((until - rv_now()) / RV_MS) + 1);
		if (p.revents & POLLOUT)
			rv_channel_flush(&h->channel);
		if (p.revents & (POLLIN | POLLHUP | POLLERR))
			rv_channel_fill(&h->channel);
		for (bool more = true; more;) {
			struct rv_arena arena = {0};

			more = rv_channel_next(&h->channel, &arena, &m) == RV_HP_OK;
			if (more && !on(arg, &m))
				rv_hp_encode(&m, &later);
			rv_arena_fini(&arena);
		}
	}
	if (later.len) {
		rv_buf_add(&later, h->channel.in.data, h->channel.in.len);
		rv_buf_fini(&h->channel.in);
		h->channel.in = later;
		if (h->loop)
			ev_feed_event(h->loop, &h->in, EV_READ);
	} else {
		rv_buf_fini(&later);
	}
	return !*missing;
}

/* A host that can be asked; calls that its predecessor had are asked again. */
static bool revive(struct rv_hostlink *h, struct rv_err *e)
{
	if (h->dying)
		end_now(h);
	if (h->channel.pid)
		return true;
	if (!start_host(h, e))
		return false;
	ask_again(h);
	return true;
}

/* After pump failed: replaces the host. text: what happened; *id, *what: where (what 0xffff: unknown). */
static bool replace(
	struct rv_hostlink *h, const char *plugin, char *text, size_t size, struct rv_err *e)
{
	uint32_t what = h->channel.page->what;
	rv_exit how;

	h->hung = !h->channel.ended;
	how = end_now(h);
	if (h->hung && plugin)
		snprintf(text, size, "plugin %s did not %s within 5s", plugin,
			what == RV_HOOK_START ? "answer" : "load");
	else if (h->hung)
		snprintf(text, size, "plugin host did not answer within 5s");
	else
		death_text(h, plugin, what, how, text, size);
	h->channel.page->since = 0;
	return revive(h, e);
}

struct describing {
	struct rv_hostlink *h;
	struct rv_plugin_table *tables;
	size_t *index; /* of those that were asked for now */
	size_t asked, missing;
	bool fine;
};

static bool on_table(void *arg, const struct rv_hp_msg *m)
{
	struct describing *d = arg;
	struct rv_plugin_table *t;

	if (m->kind != RV_HP_TABLE)
		return false;
	if (m->u.table.index >= d->asked)
		return true;
	t = &d->tables[d->index[m->u.table.index]];
	if (!t->name)
		d->missing--;
	d->fine &= rv_host_table(&m->u.table, &d->h->tables, t);
	return true;
}

static void ask_tables(struct rv_hostlink *h, struct describing *d, const char *dir,
	const char *const *plugins, const char **names)
{
	struct rv_hp_msg m = {.kind = RV_HP_DESCRIBE};

	d->asked = 0;
	for (size_t i = 0; plugins[i]; i++)
		if (!d->tables[i].name) {
			d->index[d->asked] = i;
			names[d->asked++] = plugins[i];
		}
	names[d->asked] = NULL;
	d->missing = d->asked;
	m.u.describe = (struct rv_hp_describe){.dir = dir, .names = names};
	post(h, &m);
}

static bool describe(struct rv_hostlink *h, const char *dir, const char *const *plugins,
	struct describing *d, const char **names, struct rv_err *e)
{
	rv_time until = rv_now() + SYNC_LIMIT;
	char text[200];

	for (;;) {
		const struct rv_hp_page *page = h->channel.page;
		struct rv_plugin_table *t = NULL;

		ask_tables(h, d, dir, plugins, names);
		if (pump(h, &d->missing, on_table, d, until))
			return d->fine || rv_fail(e, RV_ERR_SYSTEM, "out of memory");
		if (page->since && page->what == RV_HP_IN_TABLE && page->id < d->asked)
			t = &d->tables[d->index[page->id]];
		if (!replace(h, t ? names[page->id] : NULL, text, sizeof(text), e))
			return false;
		if (!t || t->name)
			return rv_fail(e, RV_ERR_SYSTEM, "cannot load plugins: %s", text);
		t->name = rv_arena_strdup(&h->tables, plugins[t - d->tables]);
		t->summary = "";
		t->error = rv_arena_fmt(&h->tables, "cannot load plugin %s: %s", t->name, text);
		until = rv_now() + SYNC_LIMIT;
	}
}

bool rv_hostlink_describe(struct rv_hostlink *h, const char *plugin_dir, const char *const *plugins,
	const struct rv_plugin_table **tables, size_t *count, struct rv_err *e)
{
	struct describing d = {.h = h, .fine = true};
	const char **names;
	size_t n = 0;

	while (plugins[n])
		n++;
	rv_arena_fini(&h->tables);
	d.tables = rv_arena_array(&h->tables, n, sizeof(*d.tables));
	d.index = rv_arena_array(&h->tables, n, sizeof(*d.index));
	names = rv_arena_array(&h->tables, n + 1, sizeof(*names));
	if (!d.tables || !d.index || !names)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot load plugins: out of memory");
	if (n && !revive(h, e))
		return false;
	if (n && !describe(h, plugin_dir, plugins, &d, names, e))
		return false;
	*tables = d.tables;
	*count = n;
	return true;
}

struct rehearsing {
	struct rv_hostlink *h;
	struct rv_recipe *recipes;
	bool *have;
	size_t count, missing;
	uint32_t number;
	bool fine;
};

static bool on_recipe(void *arg, const struct rv_hp_msg *m)
{
	struct rehearsing *r = arg;
	const struct rv_hp_recipe *from = &m->u.recipe;
	struct rv_recipe *to;

	if (m->kind != RV_HP_RECIPE)
		return false;
	if (from->number != r->number || from->id >= r->count || r->have[from->id])
		return true;
	to = &r->recipes[from->id];
	r->fine &= rv_host_recipe(&from->process, &r->h->recipes, to);
	to->fixed = from->fixed;
	if (*from->error)
		to->error = rv_arena_strdup(&r->h->recipes, from->error);
	r->have[from->id] = true;
	r->missing--;
	return true;
}

static bool has_start(const struct rv_service *s)
{
	return s->name && s->table && !s->table->error && (s->table->hooks & RV_HAS(RV_HOOK_START));
}

static bool ask_recipes(struct rv_hostlink *h, const struct rv_conf *conf, struct rehearsing *r)
{
	r->number = ++h->number;
	r->missing = 0;
	for (size_t i = 0; i < r->count; i++)
		if (!r->have[i] && has_start(&conf->services[i])) {
			r->missing++;
			if (!post_instance(h, conf, (rv_id)i, r->number, true, false))
				return false;
		}
	return true;
}

static bool rehearse(
	struct rv_hostlink *h, const struct rv_conf *conf, struct rehearsing *r, struct rv_err *e)
{
	rv_time until = rv_now() + SYNC_LIMIT;
	char text[200];

	for (;;) {
		const struct rv_hp_page *page = h->channel.page;
		uint32_t id;
		bool known;

		if (!ask_recipes(h, conf, r))
			return rv_fail(
				e, RV_ERR_SYSTEM, "cannot ask plugins for recipes: too large");
		if (pump(h, &r->missing, on_recipe, r, until))
			return r->fine || rv_fail(e, RV_ERR_SYSTEM, "out of memory");
		id = page->id;
		known = page->since && id < r->count && has_start(&conf->services[id]) &&
			!r->have[id];
		if (!replace(h, known ? conf->services[id].plugin : NULL, text, sizeof(text), e))
			return false;
		if (!known)
			return rv_fail(
				e, RV_ERR_SYSTEM, "cannot ask plugins for recipes: %s", text);
		r->have[id] = true;
		r->recipes[id].error = rv_arena_strdup(&h->recipes, text);
		until = rv_now() + SYNC_LIMIT;
	}
}

bool rv_hostlink_rehearse(struct rv_hostlink *h, const struct rv_conf *conf,
	const struct rv_recipe **recipes, struct rv_err *e)
{
	struct rehearsing r = {.h = h, .count = conf->service_count, .fine = true};
	bool any = false;

	rv_arena_fini(&h->recipes);
	r.recipes = rv_arena_array(&h->recipes, r.count, sizeof(*r.recipes));
	r.have = rv_arena_array(&h->recipes, r.count, sizeof(*r.have));
	if (!r.recipes || !r.have)
		return rv_fail(e, RV_ERR_SYSTEM, "cannot ask plugins for recipes: out of memory");
	for (size_t i = 0; i < r.count; i++)
		any |= has_start(&conf->services[i]);
	if (any && !revive(h, e))
		return false;
	if (any && !rehearse(h, conf, &r, e))
		return false;
	*recipes = r.recipes;
	return true;
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
	ev_timer_init(&h->tick, on_tick, TICK, TICK);
	ev_timer_init(&h->soon, on_soon, 0., 0.);
	ev_timer_init(&h->idle, on_idle, IDLE, IDLE);
	h->in.data = h->out.data = h->tick.data = h->soon.data = h->idle.data = h;
	rv_hostlink_conf(h, conf);
	if (!h->channel.pid)
		return;
	rv_reaper_add_helper(reaper, h->channel.pid, on_host_end, h);
	watch(h);
	for (size_t i = 0; i < conf->service_count; i++)
		needed |= rv_host_needed(&conf->services[i]);
	if (!needed)
		send_away(h);
	else
		rest(h);
}

void rv_hostlink_conf(struct rv_hostlink *h, const struct rv_conf *conf)
{
	struct slot **v;

	h->conf = conf;
	if (conf->service_count > h->slot_count) {
		v = realloc(h->slots, conf->service_count * sizeof(struct slot *));
		if (v) {
			memset(v + h->slot_count, 0,
				(conf->service_count - h->slot_count) * sizeof(*v));
			h->slots = v;
			h->slot_count = conf->service_count;
		}
	}
	for (size_t i = 0; i < h->slot_count; i++)
		if (h->slots[i])
			h->slots[i]->known = 0;
	for (struct blame *b = h->blames; b; b = b->next) {
		if (!b->disabled)
			continue;
		b->disabled = false;
		b->back = true;
		for (int i = 0; i < DEATHS_MAX; i++)
			b->deaths[i] = -FORGET;
		if (!ev_is_active(&h->soon))
			ev_timer_start(h->loop, &h->soon);
	}
}

static struct slot *slot_for(struct rv_hostlink *h, rv_id id)
{
	assert(id < h->slot_count);
	if (!h->slots[id])
		h->slots[id] = calloc(1, sizeof(struct slot));
	return h->slots[id];
}

void rv_hostlink_call(struct rv_hostlink *h, const struct rv_host_facts *facts, enum rv_hook hook,
	rv_time timeout)
{
	struct slot *s = slot_for(h, facts->id);
	const char *plugin = plugin_of(h, facts->id);
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
	s->ask.timeout = timeout;
	s->ask.deadline = rv_now() + timeout;
	s->hook = hook;
	s->facts = *facts;
	s->again = s->sent = false;
	if (plugin && !is_disabled(h, plugin)) {
		issue(h, &s->ask);
		return;
	}
	snprintf(text, sizeof(text), "plugin %s is disabled", plugin ? plugin : "(none)");
	answer_ourselves(h, &s->ask, RV_FAIL, text);
}

void rv_hostlink_drop(struct rv_hostlink *h, rv_id id)
{
	struct slot *s = id < h->slot_count ? h->slots[id] : NULL;

	if (!s || !s->ask.at)
		return;
	if (!s->ask.why)
		post_cancel(h, &s->ask);
	rv_host_run_drop(s->run);
	s->run = NULL;
	free(s->ask.why);
	s->ask.why = NULL;
	unlink_ask(&s->ask);
	rest(h);
}

struct rv_host_http *rv_hostlink_get(struct rv_hostlink *h, const char *url, rv_time timeout,
	void (*done)(void *arg, enum rv_verdict v, const char *why), void *arg)
{
	struct rv_host_http *g = calloc(1, sizeof(*g));

	if (g)
		g->url = strdup(url);
	if (!g || !g->url) {
		free(g);
		return NULL;
	}
	g->done = done;
	g->arg = arg;
	g->ask.got = true;
	g->ask.number = ++h->number;
	g->ask.id = RV_HP_GET_BIT;
	g->ask.timeout = timeout;
	g->ask.deadline = rv_now() + timeout;
	issue(h, &g->ask);
	return g;
}

void rv_hostlink_get_drop(struct rv_hostlink *h, struct rv_host_http *g)
{
	if (!g)
		return;
	if (!g->ask.why)
		post_cancel(h, &g->ask);
	unlink_ask(&g->ask);
	free(g->ask.why);
	free(g->url);
	free(g);
	rest(h);
}

pid_t rv_hostlink_pid(const struct rv_hostlink *h)
{
	return h->channel.pid;
}

void rv_hostlink_destroy(struct rv_hostlink *h)
{
	if (!h)
		return;
	while (h->asked)
		unlink_ask(h->asked);
	end_now(h);
	if (h->loop) {
		ev_timer_stop(h->loop, &h->tick);
		ev_timer_stop(h->loop, &h->soon);
		ev_timer_stop(h->loop, &h->idle);
	}
	for (size_t i = 0; i < h->slot_count; i++) {
		if (!h->slots[i])
			continue;
		rv_host_run_drop(h->slots[i]->run);
		free(h->slots[i]->ask.why);
		free(h->slots[i]->memo);
		free(h->slots[i]);
	}
	free(h->slots);
	while (h->blames) {
		struct blame *b = h->blames;

		h->blames = b->next;
		free(b->plugin);
		free(b);
	}
	rv_arena_fini(&h->tables);
	rv_arena_fini(&h->recipes);
	rv_channel_close(&h->channel);
	free(h);
}
