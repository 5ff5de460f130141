/* The daemon's end of the plugin host: asks, answers, and survives its death.
 *
 * The host is expendable. Calls that were in flight when it died are asked again, but for the one that
 * it died in: that fails, and says so. Callbacks never come from inside a call. */
#ifndef DAEMON_HOSTLINK_H
#define DAEMON_HOSTLINK_H

#include <ev.h>
#include <sys/types.h>

#include "conf/conf.h"
#include "daemon/reap.h"
#include "daemon/spawn.h"

struct rv_hostlink;

/* One answer of the host. All pointers are valid during the callback. */
struct rv_host_answer {
	rv_id id;
	uint64_t generation;
	enum rv_hook hook;
	enum rv_verdict verdict;
	const char *why; /* "" when there is nothing to say */
	const char *closed; /* a URL where nobody listens, which is why; "": another reason */
	int status; /* of the last HTTP answer that the hook got; 0: none */
	struct rv_recipe recipe; /* of start */
};

struct rv_hostlink_ops {
	void (*answer)(void *ctx, const struct rv_host_answer *a);
	/* A plugin was disabled (died three times in a minute) or is back. */
	void (*disabled)(void *ctx, const char *plugin, bool disabled);
	/* REEVE_RUN: how to run a command in this service's context (user, directory, environment);
	   fills all but argv, out, err and fds. False: it may not run. */
	bool (*context)(void *ctx, rv_id id, struct rv_spawn *to);
};

/* Forks the host; main does this before anything else, with signals blocked. `run` (rv_host_run) is
   called in the child, which never returns from here. A host that is started later is our own binary
   again: `/proc/self/exe --plugin-host 3` must come to rv_host_run(3). */
bool rv_hostlink_fork(int (*run)(int fd), struct rv_hostlink **out, struct rv_err *e);
/* Ends the host, drops all that is asked and leaves loop and reaper, which may be destroyed then. No callback
   comes any more; all that can be done after it is to destroy it. */
void rv_hostlink_detach(struct rv_hostlink *h);
/* Ends the host. NULL is fine. No callback comes any more. */
void rv_hostlink_destroy(struct rv_hostlink *h);

/* Blocking, bounded by 5 s each; may be called again later for a reload. Results live until the next
   call of the same function, or rv_hostlink_destroy. */
bool rv_hostlink_describe(struct rv_hostlink *h, const char *plugin_dir, const char *const *plugins,
	const struct rv_plugin_table **tables, size_t *count, struct rv_err *e);
/* Rehearses the start of each service whose plugin has one. One recipe a slot (zeroed for services
   without). May be called for a new configuration while calls under the old one are in flight: what
   hooks see changes with rv_hostlink_conf. */
bool rv_hostlink_rehearse(struct rv_hostlink *h, const struct rv_conf *conf,
	const struct rv_recipe **recipes, struct rv_err *e);

/* While it is attached: what a load wanted of it is through, so that it may rest. */
void rv_hostlink_loaded(struct rv_hostlink *h);

/* Joins the loop and the reaper. conf: the one that was rehearsed; must outlive the link or be replaced
   by rv_hostlink_conf. */
void rv_hostlink_attach(struct rv_hostlink *h, struct ev_loop *loop, struct rv_reaper *reaper,
	const struct rv_conf *conf, const struct rv_hostlink_ops *ops, void *ctx);
/* The same for `reeve check`: no service runs, and the only hook that is called is check. */
void rv_hostlink_inspect(struct rv_hostlink *h, struct ev_loop *loop, struct rv_reaper *reaper,
	const struct rv_conf *conf, const struct rv_hostlink_ops *ops, void *ctx);
void rv_hostlink_conf(struct rv_hostlink *h, const struct rv_conf *conf);
/* What the sandbox was given: in the environments that rehearsals and hooks see from now on, and, with the names of those that
   are not there any more, what the hook update tells. Both NULL-terminated, or NULL; they must stay until they are
   replaced. */
void rv_hostlink_variables(
	struct rv_hostlink *h, const char *const *variables, const char *const *dropped);

/* What hooks of the service see from the next call on: another service than the conf's, under the same id, which must
   stay until it is replaced. NULL: the conf's again. No call of it may be in flight. */
void rv_hostlink_vary(struct rv_hostlink *h, rv_id id, const struct rv_service *as);

/* Facts of the life that a hook may want to know. */
struct rv_host_facts {
	rv_id id;
	uint64_t generation;
	pid_t pid; /* 0: none */
	rv_exit exit; /* of the ended life, for cleanup */
	uint32_t attempt; /* from 1 */
};

/* Runs `hook` of the service; the answer comes to ops.answer, exactly once unless dropped. At most one
   call a service. The memo of the generation is kept here. */
void rv_hostlink_call(struct rv_hostlink *h, const struct rv_host_facts *facts, enum rv_hook hook,
	rv_time timeout);
void rv_hostlink_drop(struct rv_hostlink *h, rv_id id);

/* `ready: {http: ...}`: asks through the host's client, and judges the answer by what is wanted (which must
   live until then). done is called once, unless dropped; why as in probe.h. Returns a handle. */
struct rv_host_http;
struct rv_host_http *rv_hostlink_get(struct rv_hostlink *h, const struct rv_want *want,
	rv_time timeout, void (*done)(void *arg, enum rv_verdict v, const char *why), void *arg);
/* The same want at another place. */
void rv_hostlink_get_rebind(struct rv_host_http *g, const struct rv_want *want);
void rv_hostlink_get_drop(struct rv_hostlink *h, struct rv_host_http *g);

/* It was: no hook of its services is run. */
bool rv_hostlink_is_disabled(struct rv_hostlink *h, const char *plugin);

/* Asks the plugin of `as`, a service that differs from the conf's, what it makes of it, as rv_hostlink_rehearse does: in one
   turn, without I/O, and nothing is started. `as` must stay until then. tried is called once, unless dropped by
   rv_hostlink_get_drop. RV_OK: recipe, empty when only a start can tell; else why. NULL: memory was refused. */
struct rv_host_http *rv_hostlink_try(struct rv_hostlink *h, const struct rv_service *as,
	rv_time timeout,
	void (*tried)(void *arg, enum rv_verdict v, const char *why, const struct rv_recipe *r),
	void *arg);

/* It has said something since then, and has not died. Otherwise a question that was asked then, and had no good answer, tells
   of the host and not of whoever it was about. */
bool rv_hostlink_was_well(const struct rv_hostlink *h, rv_time since);

/* pid of the host, 0: not running (for status and `reevectl version`). */
pid_t rv_hostlink_pid(const struct rv_hostlink *h);

#endif
