/* The hands of one service: what the daemon holds for it between and during its lives.
 *
 * `facts` is fixed in size and free of pointers; everything else can be made again from the
 * configuration. */
#ifndef DAEMON_HANDS_H
#define DAEMON_HANDS_H

#include <ev.h>

#include "conf/conf.h"
#include "daemon/capture.h"
#include "daemon/suspicion.h"
#include "daemon/fresh.h"
#include "daemon/guest.h"
#include "daemon/hostlink.h"
#include "daemon/ident.h"
#include "daemon/lifeenv.h"
#include "daemon/listen.h"
#include "daemon/mainpid.h"
#include "daemon/notify.h"
#include "daemon/probe.h"
#include "daemon/reap.h"

/* What is known of the present life, or of the last one. */
struct rv_facts {
	uint64_t generation;
	rv_time started;
	pid_t pid; /* 0: no main process */
	pid_t daemon; /* that a launcher left; 0: not known */
	bool launched; /* a launcher has ended with 0 */
	uint32_t attempt; /* starts since the operator's last one */
	rv_exit exit;
};

struct rv_hands {
	const struct rv_service *service; /* NULL: vacant slot */
	struct rv_facts facts;
	struct rv_capture *capture;
	struct rv_prober *prober; /* of the present life; NULL: nothing to prove */
	bool asks_health; /* what the prober asks is its health, for it has been ready */
	struct rv_notify *notify; /* of the present life, or of the last; NULL: no ready.notify */
	const char *
		waits; /* static: what the last check waited for when it was given up; NULL: nothing */
	struct rv_listener **listeners; /* service->listen_count */
	struct rv_seek seek; /* for a launcher's daemon */
	struct rv_portkeep *keep; /* NULL: no port has to be held */
	struct rv_guest *guest; /* who holds the place of the present life; NULL: nobody */
	struct rv_account account;
	struct rv_spawn context; /* who, where and with which environment its commands run */
	const char *const *own_env; /* the context's, by the configuration */
	size_t own_recipe,
		env_recipe; /* of own_env, and of the context's: the first so many may be replaced by a recipe's */
	bool recipe_is_old; /* it was made for variables that the sandbox does not have any more ... */
	struct rv_fresh *fresh; /* ... and this one for those of number fresh_of; NULL: none */
	uint64_t fresh_of;
	uint64_t asked_of; /* which variables its start hook in flight is asked with */
	const char *listen_env[RV_LISTEN_VARS]; /* what a life has beyond it; NULL: no listeners */
	struct rv_given *
		given; /* options of the request that started it: service is theirs; NULL: the conf's */
	struct rv_given *given_next; /* in their place from the next start on ... */
	bool given_changes; /* ... when this is set */
	struct rv_given *given_asked; /* its plugin is being asked about these */
	bool asking; /* its start hook is in flight */
	uint32_t unused; /* RV_HAS(...): hooks that have nothing to do for this life */
	struct rv_stranger *stranger; /* who answered in its place in this life; NULL: nobody has */
	bool doubted; /* it was said that nobody knows whose answers are taken for its own */
	struct rv_suspicion *suspicion; /* whether it is lost; NULL: nobody has ever asked */
	uid_t stopped_by; /* who asked for its last stop */
	uid_t paused_by[2]; /* who asked last that it be resumed, and paused */
	bool lived; /* a process of it ran, and nobody has been told yet that it is gone */
	char *why; /* last cause, one sentence; NULL: none */
	char *probe_why; /* what the last readiness attempt said; NULL: nothing */
};

/* What all services share. */
struct rv_world {
	struct ev_loop *loop;
	struct rv_reaper *reaper;
	struct rv_hostlink *host;
	const struct rv_conf *conf;
	struct rv_reserved *reserved; /* NULL: none, or not to be had */
	bool holds; /* ports are held by sockets, for want of the former */
	struct rv_arena arena; /* accounts, environments */
	struct rv_envset *set; /* the sandbox's variables; NULL: it never had any */
	uint64_t set_number; /* counts how often they have become others */
	struct rv_prober_env prober;
	struct rv_notify_env notify;
	bool notifies; /* some service has ready.notify */
	char boot_id[17]; /* the start of every mark */
};

/* Fills account, context and listen_env from `service`. Of the world it takes memory only. */
bool rv_hands_context(struct rv_hands *h, struct rv_world *w, struct rv_err *e);
/* The sandbox's variables are others now: what is begun from now on has them. False: memory was refused, and nothing has
   changed. */
bool rv_hands_renew(struct rv_hands *h, struct rv_world *w);
/* Resolves user and groups, opens the log file and the listeners. e names what is wrong and where. */
bool rv_hands_open(
	struct rv_hands *h, struct rv_world *w, const struct rv_service *s, struct rv_err *e);
/* Gives everything back; the service must be gone. */
void rv_hands_close(struct rv_hands *h);

/* Reload (replace.c). For a service of the conf to come, beside what there is of the present one: all that can be had
   before anything is given up. Memory is the world's. was: the hands of the same name, or NULL. later: by listener,
   those that are not opened yet, for somebody of ours has the address. */
bool rv_hands_prepare(struct rv_hands *h, struct rv_world *w, const struct rv_service *s,
	const struct rv_hands *was, const bool *later, struct rv_err *e);
/* One socket serves both addresses in the same way. */
bool rv_hands_same_socket(const struct rv_listen *a, const struct rv_listen *b);
/* Moves what goes on under the new conf: with its life, or, of one that changed and is gone, what outlives one. Both confs
   are still there; `was` is closed afterwards. */
void rv_hands_take(struct rv_hands *h, struct rv_hands *was, bool changed);
/* Its life looks at the new conf from now on. tuned: so may do what is asked of its health. */
void rv_hands_rebind(struct rv_hands *h, struct rv_world *w, bool tuned);
/* Opens the listeners that are missing; what cannot be opened is tried again at each start. */
void rv_hands_reopen(struct rv_hands *h);

/* Starts life `generation`: argv and additions of the recipe (NULL: those of the configuration). */
bool rv_hands_start(struct rv_hands *h, struct rv_world *w, uint64_t generation,
	const struct rv_recipe *recipe, struct rv_err *e);
/* A launcher has ended with 0: looks for its daemon, once. Why it is not FOUND is in probe_why. */
enum rv_sought rv_hands_seek(struct rv_hands *h, struct rv_world *w);
/* The main process ended: keep how, drain what it wrote. */
void rv_hands_exited(struct rv_hands *h, rv_exit how);
/* Its main process is another one from now on, as it said itself. */
void rv_hands_followed(struct rv_hands *h, pid_t pid);
/* The whole life is gone: listeners are prepared for the next one. */
void rv_hands_gone(struct rv_hands *h);
/* A check in flight whose time is over is the last cause, before anybody says so. */
void rv_hands_learn(struct rv_hands *h);
/* The check in flight, if any, gets no answer. */
void rv_hands_unanswered(struct rv_hands *h);
/* What proves this life by `check`, from now on; replaces what proved an earlier one. */
bool rv_hands_prove(
	struct rv_hands *h, struct rv_world *w, const struct rv_check *check, struct rv_err *e);
/* One question about its health, by what `health` of the service says. False: memory was refused. */
bool rv_hands_health(struct rv_hands *h, struct rv_world *w, rv_time bound);
/* Nothing needs to be proven any more. */
void rv_hands_proven(struct rv_hands *h);

/* Replaces *to by a formatted sentence; keeps the old one when memory is refused. */
void rv_hands_note(char **to, const char *format, ...) RV_PRINTF(2, 3);

#endif
