/* The way into a plugin and out of it: see inside.h. */
#include <sys/time.h>

#include "host/inside.h"
#include "sys/clock.h"

void rv_turn_enter(struct rv_drive *d, uint32_t id, uint32_t what)
{
	struct itimerval cpu = {.it_value.tv_usec = RV_TURN_CPU_MS * 1000};

	if (what >= RV_HOOK_COUNT) /* loading: the dynamic linker works for it */
		cpu = (struct itimerval){.it_value.tv_sec = 1};
	d->page->id = id;
	d->page->what = what;
	d->page->turn++;
	d->page->since = rv_now();
	setitimer(ITIMER_PROF, &cpu, NULL);
}

void rv_turn_leave(struct rv_drive *d)
{
	struct itimerval off = {0};

	setitimer(ITIMER_PROF, &off, NULL);
	d->page->since = 0;
}

struct reeve_turn rv_turn_of(struct rv_drive *d, const struct rv_instance *i)
{
	return (struct reeve_turn){.size = sizeof(struct reeve_turn),
		.service = i->m.service,
		.options = i->values,
		.option_count = i->m.option_count,
		.command = i->m.command,
		.env = i->m.env,
		.listeners = i->listeners,
		.listener_count = i->m.listener_count,
		.ports = i->m.ports,
		.port_count = i->m.port_count,
		.peers = i->peers,
		.peer_count = i->m.peer_count,
		.exit = RV_EXIT_UNKNOWN,
		.arena = d->arena,
		.arena_room = sizeof(d->arena)};
}
