/* A command run for its exit status: exec probes. Its output is drained, and the last line of it kept. */
#ifndef DAEMON_TRIAL_H
#define DAEMON_TRIAL_H

#include <ev.h>

#include "daemon/reap.h"
#include "daemon/spawn.h"

struct rv_trial {
	struct ev_loop *loop;
	struct rv_reaper *reaper;
	struct ev_io io; /* its output; io.fd -1: none */
	pid_t pid; /* 0: nothing runs */
	char *output; /* owned: the last RV_TRIAL_KEPT bytes of it */
	size_t kept;
	void (*ended)(void *arg, rv_exit how);
	void *arg;
};

#define RV_TRIAL_KEPT 4096

/* Makes it valid; nothing runs yet. */
void rv_trial_init(struct rv_trial *t, struct ev_loop *loop, struct rv_reaper *reaper,
	void (*ended)(void *arg, rv_exit how), void *arg);
/* Runs argv in the context. `ended` is called from a turn of the reaper, unless it is stopped before. */
bool rv_trial_start(struct rv_trial *t, const struct rv_spawn *context, const char *const *argv,
	struct rv_err *e);
/* Kills what runs; forgets the output. Fine when nothing runs. */
void rv_trial_stop(struct rv_trial *t);
/* The last line of output with something in it, made visible, cut with "…" behind 300 bytes; appends nothing when
   there is none. Until rv_trial_stop. */
void rv_trial_last_line(const struct rv_trial *t, struct rv_buf *to);

#endif
