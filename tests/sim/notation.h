/* The tiny notation of plans in stories: one line a service, dependencies first.
 *
 *   reeve max-starts=1 boot-timeout=25s start-grace=5s shutdown-timeout=20s kill-timeout=2s rollback
 *   reeve exit-from=main
 *   service db hooks=stop,cleanup proof=probe steps=TERM:5s,INT:1s
 *   service app needs=db,setup:exited wants=log after=net delay=200ms limit=3 loss=stop
 *
 * Everything has a default: a daemon that is ready when it is exec'ed, one step TERM 5s, restart on
 * failure after 100 ms, no limit. */
#ifndef SIM_NOTATION_H
#define SIM_NOTATION_H

#include "graph.h"

struct cast {
	struct graph graph;
	char names[GRAPH_NODES][32];
};

/* An empty plan with the defaults; `names` are those of an earlier one, or NULL: slots are kept. */
void cast_init(struct cast *c, const struct cast *names);
/* One line of a plan. False: it makes no sense; *complaint points at the word. */
bool cast_line(struct cast *c, char *line, const char **complaint);
rv_id cast_find(const struct cast *c, const char *name);
/* "250ms", "5s", "0"; -1: no time. */
rv_time time_read(const char *text);

#endif
