/* The plugin host's process: its start, its end, and to whose account that is laid. See
   hostinside.h. */
#include "daemon/hostinside.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/names.h"
#include "daemon/say.h"
#include "sys/clock.h"

/* ---- blame ---- */

static struct rv_blame *blame_of(struct rv_hostlink *h, const char *plugin)
{
	struct rv_blame *b;

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
		b->deaths[i] = -RV_LINK_FORGET;
	b->next = h->blames;
	h->blames = b;
	return b;
}

/* One more death; true: it was the third within a minute. */
static bool too_many(struct rv_hostlink *h, const char *plugin)
{
	struct rv_blame *b = blame_of(h, plugin);

	if (!b)
		return false;
	memmove(b->deaths, b->deaths + 1, sizeof(b->deaths) - sizeof(b->deaths[0]));
	b->deaths[DEATHS_MAX - 1] = rv_now();
	return b->deaths[DEATHS_MAX - 1] - b->deaths[0] < RV_LINK_FORGET;
}

bool rv_link_is_disabled(struct rv_hostlink *h, const char *plugin)
{
	for (struct rv_blame *b = h->blames; b; b = b->next)
		if (strcmp(b->plugin, plugin) == 0)
			return b->disabled;
	return false;
}

const char *rv_link_plugin(const struct rv_hostlink *h, uint32_t id)
{
	if (!h->conf || id >= h->conf->service_count || !h->conf->services[id].name)
		return NULL;
	return h->conf->services[id].plugin;
}

static const char *how_text(const struct rv_hostlink *h, rv_exit how, char *to, size_t size)
{
	if (h->hung && h->stopped)
		snprintf(to, size, "it was stopped");
	else if (h->hung && h->channel.page->since)
		snprintf(to, size, "hung: a turn took longer than 1s");
	else if (h->hung)
		snprintf(to, size, "it did not answer in time");
	else if (h->killed && h->channel.nonsense)
		snprintf(to, size, "it sent what is no answer");
	else if (h->killed)
		snprintf(to, size, "it closed its channel");
	else if (how == RV_EXIT_SIGNAL(SIGPROF))
		snprintf(to, size, "a turn took more than 100ms of CPU");
	else if (how >= 256 && rv_signal_name(how - 256))
		snprintf(to, size, "SIG%s", rv_signal_name(how - 256));
	else
		rv_exit_text(how, to, size);
	return to;
}

/* "plugin host died in jupyter.probe: SIGSEGV" */
void rv_link_death_text(const struct rv_hostlink *h, const char *plugin, uint32_t what, rv_exit how,
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

void rv_link_watch(struct rv_hostlink *h)
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

bool rv_link_start(struct rv_hostlink *h, struct rv_err *e)
{
	if (!rv_channel_start(&h->channel, NULL, e))
		return false;
	h->run++;
	h->expected = h->hung = h->killed = false;
	h->same = h->deaf = h->stopped = 0;
	h->unread = 0;
	if (h->reaper)
		rv_reaper_add_helper(h->reaper, h->channel.pid, rv_link_on_end, h);
	if (h->loop)
		rv_link_watch(h);
	return true;
}

rv_exit rv_link_end(struct rv_hostlink *h)
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

/* ---- death ---- */

static void disable(struct rv_hostlink *h, const char *plugin, const char *why)
{
	struct rv_blame *b = blame_of(h, plugin);
	char text[300];

	if (!b || b->disabled)
		return;
	b->disabled = true;
	rv_say(RV_ERROR, NULL,
		"plugin %s is disabled until a reload, or the next start of reeve: it ended the "
		"plugin host %d "
		"times within a minute (%s); its services run on, unproven",
		plugin, DEATHS_MAX, why);
	snprintf(text, sizeof(text),
		"plugin %s is disabled: it ended the plugin host %d times within a minute", plugin,
		DEATHS_MAX);
	for (struct rv_ask *a = h->asked, *next; a; a = next) {
		const char *of = a->got ? NULL : rv_link_plugin(h, a->id);

		next = a->next;
		if (of && strcmp(of, plugin) == 0)
			rv_link_answer(h, a, RV_FAIL, text);
	}
	h->ops->disabled(h->ctx, plugin, true);
}

/* A try has no slot, but a plugin. */
static struct rv_ask *trial_of(struct rv_hostlink *h, uint32_t place, const char **plugin)
{
	struct rv_host_http *g = place < h->get_room ? h->gets[place] : NULL;

	if (!g || !g->as)
		return NULL;
	*plugin = g->as->plugin;
	return g->ask.at && !g->ask.why ? &g->ask : NULL;
}

/* Which ask the host died in, as far as the page makes sense. */
static struct rv_ask *culprit(struct rv_hostlink *h, const char **plugin, uint32_t *what)
{
	const struct rv_hp_page *page = h->channel.page;
	uint32_t id = page->id;

	*plugin = NULL;
	*what = page->what;
	if (!page->since || (*what >= RV_HOOK_COUNT && *what != RV_HP_IN_INSTANCE))
		return NULL;
	if (id & RV_HP_GET_BIT)
		return trial_of(h, id & ~RV_HP_GET_BIT, plugin);
	*plugin = rv_link_plugin(h, id);
	if (!*plugin || id >= h->slot_count || !h->slots[id])
		return NULL;
	return h->slots[id]->ask.at && !h->slots[id]->ask.why ? &h->slots[id]->ask : NULL;
}

void rv_link_ask_again(struct rv_hostlink *h)
{
	struct rv_ask *list = NULL;

	while (h->asked) {
		struct rv_ask *a = h->asked;

		if (!a->got) {
			rv_host_run_drop(rv_link_slot(a)->run);
			rv_link_slot(a)->run = NULL;
			rv_link_slot(a)->again |= rv_link_slot(a)->sent;
		}
		rv_link_put(&list, a);
	}
	while (list)
		rv_link_issue(h, list);
}

/* An ask whose time is over is told what took it. */
static void tell_late(struct rv_hostlink *h, const char *text)
{
	rv_time now = rv_now();

	for (struct rv_ask *a = h->asked, *next; a; a = next) {
		next = a->next;
		if (a->deadline <= now)
			rv_link_answer(h, a, RV_RETRY, text);
	}
}

/* It dies again and again, and nobody is to blame. What is paced by its asker is told so; the rest
   has no second chance but here, so it waits a little, and its own bound ends it. */
static void rest_a_while(struct rv_hostlink *h, const char *text)
{
	for (struct rv_ask *a = h->asked, *next; a; a = next) {
		next = a->next;
		if (a->got || rv_link_slot(a)->hook == RV_HOOK_PROBE)
			rv_link_answer(h, a, RV_RETRY, text);
	}
	h->resting = h->asked;
}

/* The host died outside of any turn, or of what it sent before the one that it was in. The first
   time nobody can be blamed; from then on it has one call at a time, and the one that it has when
   that happens again is the culprit. */
static struct rv_ask *suspect(struct rv_hostlink *h, const char **plugin, uint32_t *what)
{
	struct rv_ask *a = h->single ? rv_link_flying(h) : NULL;

	*plugin = NULL; /* a host that sent nonsense may be in another's turn by now */
	h->single = rv_now() + RV_LINK_FORGET;
	if (!a || a->got)
		return NULL;
	*plugin = rv_link_plugin(h, a->id);
	*what = rv_link_slot(a)->hook;
	return *plugin ? a : NULL;
}

void rv_link_on_end(void *arg, pid_t pid, rv_exit how)
{
	struct rv_hostlink *h = arg;
	const char *plugin;
	char text[200];
	struct rv_ask *a;
	uint32_t what;
	bool outside;

	(void)pid;
	/* What it said before it died is true. */
	h->dying = true;
	while (rv_channel_fill(&h->channel))
		rv_link_take_all(h);
	rv_link_take_all(h);
	ev_io_stop(h->loop, &h->in);
	ev_io_stop(h->loop, &h->out);
	rv_channel_hang_up(&h->channel);
	/* KILL comes from a hand or for want of memory: the call may succeed the next time. */
	outside = how == RV_EXIT_SIGNAL(SIGKILL) && !h->hung && !h->killed;
	a = culprit(h, &plugin, &what);
	if ((!plugin || h->killed) && !outside && !h->hung && !h->expected)
		a = suspect(h, &plugin, &what);
	rv_link_death_text(h, plugin, what, how, text, sizeof(text));
	h->channel.page->since = 0;
	h->dying = false;
	if (h->expected) {
		rv_link_ask_again(h);
		return;
	}
	h->died = rv_now();
	rv_say(RV_WARN, a && !a->got ? h->conf->services[a->id].name : NULL, "%s", text);
	if (a && !outside)
		rv_link_answer(h, a, RV_FAIL, text);
	tell_late(h, text);
	if (too_many(h, plugin ? plugin : "")) {
		if (plugin)
			disable(h, plugin, text);
		else
			rest_a_while(h, text);
	}
	if (!h->resting)
		rv_link_ask_again(h);
	rv_link_rest(h);
}
