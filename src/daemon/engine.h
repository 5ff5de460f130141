/* The pump: the only place where mind (core) and hands (everything else in this room) meet.
 *
 * World -> events -> core -> actions -> hands. Performing an action never applies an event: what a hand
 * learns at once (a failed spawn) is queued and applied in the same turn, before the loop sleeps. */
#ifndef DAEMON_ENGINE_H
#define DAEMON_ENGINE_H

#include <ev.h>
#include <sys/types.h>

#include "conf/conf.h"
#include "core/core.h"
#include "daemon/history.h"
#include "daemon/hostlink.h"
#include "wire/rpc.h"
#include "wire/variables.h"

struct rv_engine;
struct rv_capture;
struct rv_envset;
struct rv_suspicion;

/* One service as status shows it. Strings are valid until the engine runs again, unless they say less. */
struct rv_view {
	rv_id id;
	const char *name, *summary, *plugin;
	struct rv_look look;
	bool essential, enabled;
	pid_t pid; /* 0: none */
	const char *detail; /* one sentence: why it is there, last cause; "" when there is nothing;
			       until the next look */
	const char *other; /* name of look.other, or NULL */
	const char *status_text; /* what it said of itself by sd_notify, visible; NULL: nothing */
};

static inline int64_t rv_look_us(uint32_t us)
{
	return us == RV_NOT_YET ? -1 : (int64_t)us;
}

/* The parts of its last start. */
static inline struct rv_rpc_durations rv_look_took(struct rv_look look)
{
	return (struct rv_rpc_durations){
		rv_look_us(look.spawn_us), rv_look_us(look.proof_us), rv_look_us(look.init_us)};
}

struct rv_replacing;

/* Told of each change, in order; registered by the control server and by `reeve`'s own lines. */
struct rv_watcher {
	struct rv_watcher *next;
	void (*changed)(struct rv_watcher *w,
		rv_id id); /* state of id changed; RV_NO_ID: boot, closing, or a reload is through */
	void (*replacing)(
		struct rv_watcher *w, const struct rv_replacing *r); /* reload.h; may be NULL */
};

/* conf: planned; owned by the engine from now on, with host, also when it fails. Nothing is opened or started yet, so that the
   control socket can be claimed first. */
struct rv_engine *rv_engine_create(
	struct ev_loop *loop, struct rv_conf *conf, struct rv_hostlink *host, struct rv_err *e);
void rv_engine_destroy(struct rv_engine *g);
/* What the sandbox was given: taken over. To be said at most once, before begin. False: memory was refused. */
bool rv_engine_variables(struct rv_engine *g, struct rv_variables *variables, struct rv_err *e);
/* What it has now; NULL: it never had any. */
const struct rv_envset *rv_engine_env(const struct rv_engine *g);
/* Opens logs and listeners of all services, then asks the core to boot. */
bool rv_engine_begin(struct rv_engine *g, struct rv_err *e);
/* A signal to reeve itself: TERM and INT stop everything in reverse, a second one kills; with `reeve --
   CMD` terminal signals go to the command. True: it was HUP, and for us: a reload is asked for. */
bool rv_engine_signalled(struct rv_engine *g, int number);
/* SIGCHLD came: collect children in this turn. */
void rv_engine_children(struct rv_engine *g);

const struct rv_conf *rv_engine_conf(const struct rv_engine *g);
struct rv_hostlink *rv_engine_host(const struct rv_engine *g);
/* Number of slots; a vacant one has view.name NULL. */
size_t rv_engine_slots(const struct rv_engine *g);
struct rv_view rv_engine_look(struct rv_engine *g, rv_id id);
/* The part that costs nothing: no sentence is made. For those who look at many, again and again. */
struct rv_look rv_engine_glance(const struct rv_engine *g, rv_id id);
/* NULL: a vacant slot. */
const char *rv_engine_name(const struct rv_engine *g, rv_id id);
rv_id rv_engine_find(const struct rv_engine *g, const char *name); /* RV_NO_ID: none */
enum rv_boot rv_engine_boot(const struct rv_engine *g);
bool rv_engine_closing(const struct rv_engine *g);
/* As the core has it: what the sandbox has of one, and of all. */
enum rv_presence rv_engine_presence(const struct rv_engine *g, rv_id id);
enum rv_whole rv_engine_whole(const struct rv_engine *g);
/* The core has digested all that was pushed, and a new plan. */
bool rv_engine_is_settled(const struct rv_engine *g);
/* Of its user; the slot is not vacant. */
const struct rv_account *rv_engine_account(const struct rv_engine *g, rv_id id);
rv_time rv_engine_started(const struct rv_engine *g);
/* Written before watchers are told. */
const struct rv_history *rv_engine_history(const struct rv_engine *g);

/* Queues an event for the core; it is applied before the loop sleeps again. */
void rv_engine_push(struct rv_engine *g, const struct rv_event *e);
void rv_engine_watch(struct rv_engine *g, struct rv_watcher *w);
void rv_engine_unwatch(struct rv_engine *g, struct rv_watcher *w);
/* Options from a request to start a service (or, with `restart`, to restart it). They take the place of the conf's from its
   next start on and hold for automatic restarts; a stop on request, or a start on request of what is down, ends
   them. They are checked by the plugin's table now, and then by the plugin itself: `given` is called once, from the loop:
   why NULL: they are good, and it pushes the event and says true, or says false and nothing changes. False: it will not be
   called, and *why says what is wrong with them, or that it runs. One request a service at a time. */
bool rv_engine_give(struct rv_engine *g, rv_id id, const struct rv_word *words, size_t count,
	bool restart, bool (*given)(void *arg, const char *why), void *arg, struct rv_buf *why);
/* Whoever asked is not there any more; nothing is changed, and `given` is not called. Fine when nothing is asked. */
void rv_engine_give_drop(struct rv_engine *g, rv_id id);
/* A request to start, stop or restart it without any: to be told in the turn in which its event is pushed. */
void rv_engine_give_none(struct rv_engine *g, rv_id id, enum rv_event_kind request);
/* Whose request it is that it is stopped. */
void rv_engine_stopped_by(struct rv_engine *g, rv_id id, uid_t uid);
uid_t rv_engine_stopper(const struct rv_engine *g, rv_id id);
/* It could start, and is paused. */
bool rv_engine_waits_for_resume(const struct rv_engine *g, rv_id id);
/* Whose report it is that it is lost: to be told in the turn in which its event is pushed. */
void rv_engine_reported(struct rv_engine *g, rv_id id, uid_t uid);
/* What was found out about such reports; NULL: nothing yet. Until the engine runs again. */
const struct rv_suspicion *rv_engine_suspicion(const struct rv_engine *g, rv_id id);
/* Whether it may be restarted automatically, and whose request that is. Each change is told in the turn to come, as an event
   and a line of the log. */
void rv_engine_pause(struct rv_engine *g, rv_id id, bool paused, uid_t uid);
/* Names of those that are in force, or will be at the next start; the number of them. */
size_t rv_engine_given(const struct rv_engine *g, rv_id id, const char *const **names);
/* Sends a signal to the service's main process now. False: it does not run, or adopted. */
bool rv_engine_signal(struct rv_engine *g, rv_id id, int number, struct rv_err *e);
struct rv_capture *rv_engine_capture(struct rv_engine *g, rv_id id);

/* Writes the termination report, if the configuration asks for it; and to `line`, if it is of use there, what is to be
   the last line of the log. failure: why it never began, or NULL. line NULL: it is not the end yet. */
void rv_engine_report(struct rv_engine *g, int status, const char *failure, struct rv_buf *line);
/* After the loop has ended (ev_break by the engine at OVER): the exit status of reeve. */
int rv_engine_status(const struct rv_engine *g);

#endif
