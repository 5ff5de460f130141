/* Whether the plugin host hangs: looked at every tick while something is asked of it, or was
 * and is not waited for any more. */
#include <linux/sockios.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "daemon/hostinside.h"
#include "daemon/proc.h"
#include "sys/clock.h"

#define TURN_LIMIT (1 * RV_SEC) /* wall time of one turn */
#define LOAD_LIMIT (10 * RV_SEC) /* the same, while a plugin is loaded */
#define LATE	   (2 * RV_SEC) /* an answer that is later than this after its bound: the host hangs */
#define TICK	   0.25 /* s */

void rv_link_put_down(struct rv_hostlink *h)
{
	h->killed = true;
	kill(h->channel.pid, SIGKILL);
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

/* 'R' that wants to run, 'S' that sleeps, 'D' that waits for a disk, ...; 0: not to be told. */
static char state_of(pid_t pid)
{
	struct rv_proc p;

	return rv_proc_look(pid, &p) ? p.state : 0;
}

/* A host that is in one turn for four of our own ticks hangs; time that passed while nobody ran (a
   paused machine) does not count. Loading reads from disks, and gets longer; so does one that only
   waits for a processor, for what it uses of that has a bound of its own. */
static bool is_hung(struct rv_hostlink *h)
{
	const struct rv_hp_page *page = h->channel.page;
	rv_time limit = page->what < RV_HOOK_COUNT ? TURN_LIMIT : LOAD_LIMIT;

	h->same = page->since && page->turn == h->turn ? h->same + 1 : 0;
	h->turn = page->turn;
	if (h->same < 4 || rv_now() - page->since <= limit)
		return false;
	return state_of(h->channel.pid) != 'R' || rv_now() - page->since > LOAD_LIMIT;
}

/* So does one that somebody stopped, or that takes nothing of what it is told; the latter may be
   loading the HTTP client from a slow disk. */
static bool is_deaf(struct rv_hostlink *h)
{
	bool stopped = state_of(h->channel.pid) == 'T';
	int unread = 0;

	if (h->channel.fd < 0 || ioctl(h->channel.fd, SIOCOUTQ, &unread))
		unread = 0;
	h->stopped = stopped ? h->stopped + 1 : 0;
	h->deaf = unread && unread == h->unread ? h->deaf + 1 : 0;
	h->unread = unread;
	return h->stopped >= 4 || h->deaf * TICK * (double)RV_SEC > (double)LOAD_LIMIT;
}

static void on_tick(struct ev_loop *loop, ev_timer *w, int events)
{
	struct rv_hostlink *h = w->data;
	rv_time now = rv_now();
	bool hung;

	(void)loop;
	(void)events;
	if (h->resting) {
		h->resting = false;
		rv_link_ask_again(h);
		rv_link_rest(h);
		return;
	}
	if (h->dying) { /* it had its time to leave; a stopped one never does */
		if (!h->hung)
			rv_link_put_down(h);
		return;
	}
	hung = is_deaf(h);
	hung = is_hung(h) || hung; /* both count on */
	for (struct rv_ask *a = h->asked; a; a = a->next)
		hung |= now > a->deadline + LATE;
	if (!h->asked && !h->unread && !h->stopped && !h->same) {
		ev_timer_stop(h->loop, &h->tick);
		return;
	}
	if (hung && !h->dying) {
		h->hung = true;
		doom(h);
	}
}

void rv_link_tick_init(struct rv_hostlink *h)
{
	ev_timer_init(&h->tick, on_tick, TICK, TICK);
	h->tick.data = h;
}
