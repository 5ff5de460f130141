/* The hook check of every service: see checkup.h.
 *
 *   next -> rv_hostlink_call -> [RUN in the service's context] -> answer -> next ... -> tell */
#include "daemon/checkup.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/text.h"
#include "daemon/hands.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define SWEEP_LIMIT (2 * RV_SEC)
#define LATE	    (5 * RV_SEC) /* after its bound an answer is awaited no longer than this */

enum { AT_ONCE = 4 }; /* more imports side by side than processors only take memory */

struct visit {
	struct rv_hands hands; /* context alone */
	bool due, asked, answered;
	rv_time began, timeout;
	enum rv_verdict verdict;
	char *why; /* owned; NULL: memory was refused */
};

struct checkup {
	const struct rv_conf *conf;
	struct rv_hostlink *host;
	struct rv_world world; /* loop, reaper, and memory */
	struct visit *visits; /* by slot */
	size_t next, running, at_once;
	rv_time one; /* bound of each */
	rv_time until; /* and of all */
	bool joined; /* the host has our loop and reaper */
	int signal; /* that ended it; 0: none */
	ev_io signals;
	ev_timer reaping, watch;
};

/* --- asking ----------------------------------------------------------------------------------- */

static void ask(struct checkup *k, rv_id id)
{
	struct rv_host_facts facts = {
		.id = id, .generation = 1, .exit = RV_EXIT_UNKNOWN, .attempt = 1};
	struct visit *v = &k->visits[id];
	rv_time left = k->until - rv_now();

	v->asked = true;
	v->began = rv_now();
	v->timeout = left < k->one ? left : k->one;
	k->running++;
	rv_hostlink_call(k->host, &facts, RV_HOOK_CHECK, v->timeout);
}

static void go_on(struct checkup *k)
{
	while (k->next < k->conf->service_count && k->running < k->at_once && rv_now() < k->until) {
		rv_id id = (rv_id)k->next++;

		if (k->visits[id].due)
			ask(k, id);
	}
	if (!k->running)
		ev_break(k->world.loop, EVBREAK_ALL);
}

static void on_answer(void *ctx, const struct rv_host_answer *a)
{
	struct checkup *k = ctx;
	struct visit *v = &k->visits[a->id];

	v->answered = true;
	v->verdict = a->verdict;
	/* What has had all its time and cannot tell is a start that would hang, too. */
	if (v->verdict == RV_RETRY && rv_now() - v->began >= v->timeout)
		v->verdict = RV_FAIL;
	v->why = strdup(a->why);
	k->running--;
	go_on(k);
}

static void on_disabled(void *ctx, const char *plugin, bool disabled)
{
	(void)ctx;
	(void)plugin;
	(void)disabled;
}

static bool on_context(void *ctx, rv_id id, struct rv_spawn *to)
{
	struct checkup *k = ctx;

	*to = k->visits[id].hands.context;
	return true;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void reap(struct checkup *k)
{
	rv_time wait;

	rv_reaper_turn(k->world.reaper);
	wait = rv_reaper_wait(k->world.reaper);
	ev_timer_stop(k->world.loop, &k->reaping);
	if (wait == RV_NEVER)
		return;
	ev_timer_set(&k->reaping, (double)wait / 1e9, 0.);
	ev_timer_start(k->world.loop, &k->reaping);
}

static void on_reaping(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop;
	(void)events;
	reap(w->data);
}

static void on_signal(struct ev_loop *loop, ev_io *w, int events)
{
	struct checkup *k = w->data;
	struct signalfd_siginfo info;

	(void)events;
	while (read(w->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			reap(k);
		} else {
			k->signal = (int)info.ssi_signo;
			ev_break(loop, EVBREAK_ALL);
		}
	}
}

/* A hook that is out of time is answered for by the host; this is for an answer that does not come at all. */
static void on_watch(struct ev_loop *loop, ev_timer *w, int events)
{
	struct checkup *k = w->data;
	rv_time now = rv_now();

	(void)events;
	for (size_t i = 0; i < k->next; i++) {
		struct visit *v = &k->visits[i];

		if (!v->asked || v->answered || now < v->began + v->timeout + LATE)
			continue;
		rv_hostlink_drop(k->host, (rv_id)i);
		v->answered = true;
		v->verdict = RV_FAIL;
		v->why = strdup("its check was not heard of any more");
		k->running--;
	}
	if (now > k->until + LATE)
		ev_break(loop, EVBREAK_ALL);
	else
		go_on(k);
}

static void run(struct checkup *k, int fd)
{
	struct ev_loop *loop = k->world.loop;

	ev_io_init(&k->signals, on_signal, fd, EV_READ);
	ev_timer_init(&k->reaping, on_reaping, 0., 0.);
	ev_timer_init(&k->watch, on_watch, 1., 1.);
	k->signals.data = k->reaping.data = k->watch.data = k;
	ev_io_start(loop, &k->signals);
	ev_timer_start(loop, &k->watch);
	go_on(k);
	if (k->running)
		ev_run(loop, 0);
	ev_io_stop(loop, &k->signals);
	ev_timer_stop(loop, &k->reaping);
	ev_timer_stop(loop, &k->watch);
}

/* --- telling ---------------------------------------------------------------------------------- */

/* What a plugin says may repeat a secret of its options. */
static void tell_line(struct rv_complaints *c, const struct rv_mask *mask,
	const struct rv_service *s, bool softly, const char *line)
{
	struct rv_buf shown = {0};

	if (mask)
		rv_mask_add(mask, line, &shown);
	else
		rv_buf_str(&shown, "out of memory");
	(softly ? rv_complain_softly : rv_complain)(
		c, s->at, "service %s: plugin %s: %s", s->name, s->plugin, rv_buf_text(&shown));
	rv_buf_fini(&shown);
}

static void tell(struct rv_complaints *c, const struct rv_mask *mask, const struct rv_service *s,
	struct visit *v)
{
	static const char mark[] = "warning: ";
	char *line, *rest = v->why;

	if (!rest)
		rest = v->why = strdup("out of memory");
	if (rest && !*rest && v->verdict == RV_FAIL)
		tell_line(c, mask, s, false, "its check fails and says no reason");
	if (rest && !*rest && v->verdict == RV_RETRY)
		tell_line(c, mask, s, true, "could not tell whether all is well");
	while (rest && (line = strsep(&rest, "\n"))) {
		bool softly = !strncmp(line, mark, sizeof(mark) - 1);

		if (softly)
			line += sizeof(mark) - 1;
		if (*line)
			tell_line(c, mask, s, softly || v->verdict != RV_FAIL, line);
	}
}

static void tell_all(struct checkup *k, rv_time limit, struct rv_complaints *c)
{
	struct rv_mask *mask = rv_mask_create(k->conf);
	char took[32], text[100];

	snprintf(text, sizeof(text), "was not checked: all checks together may take %s (--timeout)",
		rv_text_dur(limit, took, sizeof(took)));
	for (size_t i = 0; i < k->conf->service_count; i++) {
		struct visit *v = &k->visits[i];

		if (v->answered)
			tell(c, mask, &k->conf->services[i], v);
		else if (v->due && !k->signal)
			tell_line(c, mask, &k->conf->services[i], false, text);
	}
	rv_mask_destroy(mask);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Who has no context (an unknown user, one that we may not become) is told of elsewhere. */
static size_t invite(struct checkup *k, const struct rv_recipe *recipes, const bool *broken)
{
	size_t n = 0;

	for (size_t i = 0; i < k->conf->service_count; i++) {
		const struct rv_service *s = &k->conf->services[i];
		struct visit *v = &k->visits[i];
		struct rv_err e;

		if (!s->name || !s->table || !(s->table->hooks & RV_HAS(RV_HOOK_CHECK)) ||
			s->flawed || recipes[i].error || broken[i])
			continue;
		v->hands.service = s;
		v->due = rv_hands_context(&v->hands, &k->world, &e);
		n += v->due;
	}
	return n;
}

static size_t processors(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > AT_ONCE ? AT_ONCE : (size_t)n;
}

static void visit_all(struct checkup *k)
{
	static const struct rv_hostlink_ops ops = {on_answer, on_disabled, on_context};
	static const struct rv_reaper_ops none = {NULL, NULL};
	rv_auto_fd fd = -1;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	k->world.loop = ev_loop_new(EVFLAG_NOENV);
	k->world.reaper = rv_reaper_create(k->conf->service_count, &none, k);
	if (fd < 0 || !k->world.loop || !k->world.reaper)
		return;
	k->joined = true;
	rv_hostlink_inspect(k->host, k->world.loop, k->world.reaper, k->conf, &ops, k);
	run(k, fd);
}

/* The host goes first, so that it asks for nothing any more; then whatever its commands left behind. */
static void leave(struct checkup *k)
{
	if (k->joined)
		rv_hostlink_detach(k->host);
	if (k->world.reaper)
		rv_reaper_sweep(k->world.reaper, SWEEP_LIMIT);
	rv_reaper_destroy(k->world.reaper);
	if (k->world.loop)
		ev_loop_destroy(k->world.loop);
	for (size_t i = 0; i < k->conf->service_count; i++)
		free(k->visits[i].why);
	free(k->visits);
	rv_arena_fini(&k->world.arena);
}

int rv_checkup(const struct rv_conf *conf, struct rv_hostlink *host,
	const struct rv_recipe *recipes, const bool *broken, rv_time limit, struct rv_complaints *c)
{
	rv_time all = limit ? limit : RV_CHECKUP_ALL;
	struct checkup k = {.conf = conf,
		.host = host,
		.one = limit ? limit : RV_CHECKUP_ONE,
		.until = rv_now() + all};

	k.visits = calloc(conf->service_count + 1, sizeof(*k.visits));
	if (!k.visits) {
		rv_complain(c, (struct rv_place){.file = ""}, "cannot ask plugins: out of memory");
		return 0;
	}
	k.world.conf = conf;
	k.at_once = processors();
	if (invite(&k, recipes, broken))
		visit_all(&k);
	tell_all(&k, all, c);
	leave(&k);
	return k.signal;
}
