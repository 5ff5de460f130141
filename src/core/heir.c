/* Who follows a main process that ended with 0: the daemon of a launcher, or the one that such a daemon has
 * handed over to. Asked while starting (begin.c), and shortly while up (run.c). */
#include "core/mind.h"

#define PACE_LEAST (5 * RV_MS)
#define PACE_MOST  (250 * RV_MS)

void rv_heir_ask(const struct rv_turn *t, struct rv_slot *s)
{
	struct rv_action *a = rv_emit(t, s, RV_ACT_FIND);

	a->attempt = ++s->attempt;
	a->timeout = t->now < s->ready_by ? s->ready_by - t->now : 0;
	s->ask = RV_ASK_FIND;
	rv_machine_due(t, s, s->ready_by);
}

void rv_heir_begin(const struct rv_turn *t, struct rv_slot *s)
{
	rv_machine_drop(t, s);
	s->seeking = true;
	s->attempt = 0;
	rv_mark(t->c, s, RV_SET_GROUND);
	rv_heir_ask(t, s);
}

void rv_heir_pause(const struct rv_turn *t, struct rv_slot *s)
{
	rv_time wait = PACE_LEAST << (s->attempt < 8 ? s->attempt - 1 : 7);

	if (wait > PACE_MOST)
		wait = PACE_MOST;
	if (wait > s->ready_by - t->now)
		wait = s->ready_by - t->now;
	s->ask = RV_ASK_NONE;
	rv_machine_due(t, s, t->now + wait);
}

void rv_heir_end(struct rv_slot *s)
{
	s->seeking = s->exited = RV_FAULT(43);
	s->exit = RV_EXIT_UNKNOWN;
	s->attempt = 0;
}
