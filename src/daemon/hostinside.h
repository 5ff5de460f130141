/* What the files of the host link share: hostlink.c (the door), hostasks.c (what is asked), hostdeath.c (the
 * process, its end, and whom it is laid to), hosthung.c (whether it hangs), hostload.c (the blocking questions of a
 * load). */
#ifndef DAEMON_HOSTINSIDE_H
#define DAEMON_HOSTINSIDE_H

#include <assert.h>

#include "daemon/hostparts.h"

#define RV_LINK_FORGET (60 * RV_SEC) /* deaths that count together */
enum { DEATHS_MAX = 3 };

/* Deaths of the host that are laid to one plugin's account, or to nobody's. */
struct rv_blame {
	struct rv_blame *next;
	char *plugin; /* "": nobody */
	rv_time deaths[DEATHS_MAX];
	bool disabled, back; /* back: to be told */
};

/* What is asked of the host: a hook of a service, or a GET. */
struct rv_ask {
	struct rv_ask *next, **at; /* in `asked`, or in `own`; at NULL: in neither */
	bool got; /* a get */
	bool flying; /* the present host has it */
	uint32_t number, id;
	rv_time deadline;
	/* own answer */
	enum rv_verdict verdict;
	char *why;
};

struct rv_slot { /* one a service that was ever asked for */
	struct rv_ask ask;
	uint32_t known; /* host run in which its instance was sent */
	const struct rv_service *as; /* what hooks see instead of the conf's; NULL: that */
	enum rv_hook hook;
	struct rv_host_facts facts;
	bool sent, again; /* to some host; to one that died */
	uint64_t memo_of; /* generation */
	unsigned char *memo;
	size_t memo_len;
	struct rv_host_run *run;
};

/* A get; with `as`, a rehearsal of one service, which is as little a matter of any slot. */
struct rv_host_http {
	struct rv_ask ask;
	const struct rv_want *want; /* who asked keeps it */
	void (*done)(void *arg, enum rv_verdict v, const char *why);
	const struct rv_service *as; /* NULL: a get */
	void (*tried)(void *arg, enum rv_verdict v, const char *why, const struct rv_recipe *r);
	void *arg;
};

struct rv_hostlink {
	struct rv_channel channel;
	uint32_t run; /* counts hosts that were started */
	uint32_t number; /* of the last ask */
	rv_time sent, heard,
		died; /* the last question, its last message; when the last one ended unasked */
	bool dying; /* hung up or killed, not reaped yet */
	bool expected; /* it was us who ended it, for no fault of its own */
	bool hung;
	bool killed; /* by us, for nonsense that it sent or for hanging up */
	bool inspecting; /* nothing runs: hooks are told of their peers */
	bool resting; /* it dies too often, and nobody is to blame: asked again at the next tick */
	/* A host died outside of any turn, so some plugin harms it behind its back: until then it
	   has one call at a time. 0: all that there are. */
	rv_time single;
	struct rv_blame *blames;
	struct rv_arena tables, recipes;
	const char *const *variables, *const *dropped; /* the sandbox's; NULL: none */
	/* after attach */
	struct ev_loop *loop;
	struct rv_reaper *reaper;
	const struct rv_conf *conf;
	const struct rv_hostlink_ops *ops;
	void *ctx;
	ev_io in, out;
	ev_timer tick, soon, idle;
	uint32_t turn; /* at the last tick */
	unsigned same; /* ticks for which the host was in that turn */
	int unread; /* bytes that it had not taken at the last tick */
	unsigned deaf, stopped; /* ticks for which it took none of them; for which it was stopped */
	struct rv_slot **slots;
	size_t slot_count;
	struct rv_ask *asked, *own;
	/* All gets, each at the place that its id names; NULL: free. Answers find theirs by it. */
	struct rv_host_http **gets;
	size_t get_count, get_room, get_next; /* next: where a free place is sought from */
};

static inline struct rv_slot *rv_link_slot(struct rv_ask *a)
{
	assert(!a->got);
	return (struct rv_slot *)a;
}

static inline struct rv_host_http *rv_link_get(struct rv_ask *a)
{
	assert(a->got);
	return (struct rv_host_http *)a;
}

/* ---- hostasks.c ---- */

void rv_link_unlink(struct rv_ask *a);
/* Gives a get its place and id; false: no memory. */
bool rv_link_get_add(struct rv_hostlink *h, struct rv_host_http *g);
/* Frees it, and its place; it must be in no list. */
void rv_link_get_free(struct rv_hostlink *h, struct rv_host_http *g);
/* Into `asked` or `own`, out of where it was. */
void rv_link_put(struct rv_ask **list, struct rv_ask *a);
/* The ask that a message is about, while it is in flight; NULL: it is not any more. */
struct rv_ask *rv_link_find(struct rv_hostlink *h, uint32_t number, uint32_t id);
/* Our own answer, handed out by the loop: so no callback comes from inside a call. */
void rv_link_answer(struct rv_hostlink *h, struct rv_ask *a, enum rv_verdict v, const char *why);
/* Tells the asker what `told` has: verdict, why, closed, recipe. The ask is forgotten before, so that it may ask
   again from inside. */
void rv_link_conclude(struct rv_hostlink *h, struct rv_ask *a, const struct rv_host_answer *told);
void rv_link_on_soon(struct ev_loop *loop, ev_timer *w, int events);
/* False: too large, or memory was refused. */
bool rv_link_post(struct rv_hostlink *h, const struct rv_hp_msg *m);
bool rv_link_post_instance(struct rv_hostlink *h, const struct rv_conf *conf, rv_id id,
	uint32_t number, bool rehearse, bool keep);
/* Sends it, or answers it ourselves. What comes while a host is dying waits for its successor. */
void rv_link_issue(struct rv_hostlink *h, struct rv_ask *a);
/* The one that the host has while it has one at a time; NULL: none. */
struct rv_ask *rv_link_flying(struct rv_hostlink *h);
void rv_link_cancel(struct rv_hostlink *h, const struct rv_ask *a);

/* ---- hostdeath.c ---- */

bool rv_link_is_disabled(struct rv_hostlink *h, const char *plugin);
/* NULL: no such service. */
const char *rv_link_plugin(const struct rv_hostlink *h, uint32_t id);
/* "plugin host died in jupyter.probe: SIGSEGV"; plugin NULL: nobody is to blame. */
void rv_link_death_text(const struct rv_hostlink *h, const char *plugin, uint32_t what, rv_exit how,
	char *to, size_t size);
void rv_link_watch(struct rv_hostlink *h);
bool rv_link_start(struct rv_hostlink *h, struct rv_err *e);
/* Ends it now and waits for it (KILL: it is prompt); for blocking calls and for our own end. */
rv_exit rv_link_end(struct rv_hostlink *h);
/* All that was asked of the last host. */
void rv_link_ask_again(struct rv_hostlink *h);
/* The reaper has it. */
void rv_link_on_end(void *arg, pid_t pid, rv_exit how);

/* ---- hosthung.c ---- */

/* `tick`, which runs while something is asked: it ends a host that hangs. */
void rv_link_tick_init(struct rv_hostlink *h);
/* Ends a host for what it did: nonsense, or hanging up and living on. */
void rv_link_put_down(struct rv_hostlink *h);

/* ---- hosttake.c ---- */

/* All whole frames that have come. */
void rv_link_take_all(struct rv_hostlink *h);

/* ---- hostlink.c ---- */

/* Nothing is asked: no ticks, and after a minute no host either. */
void rv_link_rest(struct rv_hostlink *h);

#endif
