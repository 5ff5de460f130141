/* Inside the control server: what ctldoor.c (who comes in), control.c (connections), verbs.c (methods), ctlwait.c
 * (methods that wait) and ctllogs.c (logs) share. Nobody else includes this.
 *
 *   bytes -> control.c: lines -> verbs.c: rv_request -> an answer at once
 *                                                    -> ctlwait.c: an answer when it is settled
 *                                                    -> ctllogs.c, ctlevents.c: an answer, then notifications
 *
 * Connections are closed from the loop only (`broken` marks them), so that no verb and no callback of the
 * engine ever finds one gone. */
#ifndef DAEMON_CTL_H
#define DAEMON_CTL_H

#include <ev.h>

#include "daemon/control.h"
#include "daemon/ctljudge.h"
#include "daemon/ctlsock.h"
#include "wire/rpc.h"

#define RV_CONNS_MAX	    64
#define RV_CONNS_OTHERS_MAX 48 /* of those: who is neither root nor us */
#define RV_CONN_WAITS_MAX   256
/* of a connection that is not an admin's: each change of state looks at all of them */
#define RV_CONN_WAITS_OTHERS_MAX 8
#define RV_CONN_HIGH		 (256 * 1024) /* pending output at which no further request is read */
#define RV_CONN_FOLLOW_MAX	 (1024 * 1024) /* pending output at which log lines are dropped */

struct rv_wait;
struct rv_follow;
struct rv_gift;
struct rv_renewal;
struct rv_envask;
struct rv_onlooker;

struct rv_conn {
	struct rv_control *control;
	int fd;
	bool admin; /* root, or our own uid */
	uid_t uid; /* of who connected */
	ev_tstamp last; /* when something came in or went out */
	bool ended; /* the peer sends no more; answers that are due still go out */
	bool refused; /* it broke the protocol, or all that it followed is gone: closed when its output is */
	bool broken; /* closed in the next turn */
	ev_io in, out;
	struct rv_buf input; /* lines that are not complete, or wait until output drains */
	struct rv_buf output; /* answers; the first `sent` bytes have left */
	size_t sent;
	size_t waits;
	struct rv_follow *follows;
	char *follows_all; /* id of the request to follow all, so also what a reload adds; NULL: none */
	struct rv_onlooker *onlooker; /* of events; NULL: none */
};

struct rv_control {
	struct ev_loop *loop;
	struct rv_engine *engine;
	const struct rv_load *load; /* for check; NULL: not told yet */
	struct rv_ctlsock sock;
	struct rv_ctlsock_perm perm;
	ev_io accept;
	ev_timer pause; /* no descriptors: accept again later */
	bool complained;
	ev_timer judge; /* due at once: something changed, waits are looked at */
	struct rv_watcher watcher;
	struct rv_conn *conns[RV_CONNS_MAX];
	size_t count, others;
	struct rv_wait *waits;
	struct rv_gift *gifts; /* options that plugins are being asked about */
	struct rv_renewal *renewals; /* reloads that are waited for */
	bool replaced; /* there is another conf, and its additions have not been looked at */
	struct rv_envask *env_asks; /* changes of the environment: the first is under way */
	char scratch[65536];
};

static inline size_t rv_conn_pending(const struct rv_conn *c)
{
	return c->output.len - c->sent;
}
/* Sends what it can; the rest goes when the socket takes it. */
void rv_conn_flush(struct rv_conn *c);
/* From the loop only, and not of a connection that a verb or a callback of the engine is about. */
void rv_conn_close(struct rv_conn *c);
/* Takes fd, when it is true. */
bool rv_conn_open(struct rv_control *k, int fd, uid_t uid, bool admin);

/* ctldoor.c: who comes in, from now on; and when one has left. */
void rv_door_open(struct rv_control *k);
void rv_door_close(struct rv_control *k);
void rv_door_left(struct rv_control *k);

/* verbs.c: one line of a client; answers into c->output. */
void rv_verb_line(struct rv_conn *c, const char *line, size_t n);
/* Slots of the request's names, or of all services in start order when it has none; false: e says which names
   are unknown, and the answer is already written. *ids is the caller's to free. */
bool rv_verb_resolve(struct rv_conn *c, const struct rv_request *r, rv_id **ids, size_t *count);
void rv_verb_error(struct rv_conn *c, const struct rv_request *r, enum rv_rpc_code code,
	const char *format, ...) RV_PRINTF(4, 5);
/* The request names a generation that is not the present one of `id`: the answer is written. */
bool rv_verb_is_stale(struct rv_conn *c, const struct rv_request *r, rv_id id);
const char *rv_boot_name(enum rv_boot b);
/* ctlwhy.c: the members "ready", "degraded" and "sentence" of the whole sandbox, each with a comma behind it. */
void rv_why_put_sandbox(struct rv_engine *g, struct rv_buf *out);

/* ctlpause.c: pause, resume */
void rv_verb_pause(struct rv_conn *c, const struct rv_request *r);

/* ctlreload.c */
void rv_verb_reload(struct rv_conn *c, const struct rv_request *r);
/* Before another conf takes the place of the present one, or when that is given up. */
void rv_reload_replacing(struct rv_control *k, const struct rv_replacing *r);
void rv_reload_forget(struct rv_conn *c); /* the client left */
void rv_reload_end(struct rv_control *k); /* reeve leaves */
/* ctlenv.c. The request's variables are taken over. */
void rv_verb_env(struct rv_conn *c, struct rv_request *r);
void rv_env_drop(struct rv_conn *c); /* the client left */
void rv_env_refuse_all(struct rv_control *k); /* reeve leaves */

/* ctlplan.c */
void rv_verb_check(struct rv_conn *c, const struct rv_request *r);
void rv_verb_plan(struct rv_conn *c, const struct rv_request *r);
void rv_verb_plugins(struct rv_conn *c, const struct rv_request *r);

/* ctlservice.c: one service of the plan, as an object. */
void rv_verb_put_planned(
	struct rv_buf *to, const struct rv_mask *mask, const struct rv_conf *conf, rv_id id);

/* ctlchange.c */
void rv_wait_change(struct rv_conn *c, const struct rv_request *r); /* start, stop, restart */
/* Not stale, and not while reeve closes; false: that is answered. */
bool rv_wait_may_change(struct rv_conn *c, const struct rv_request *r, rv_id first);
/* Pushes the change, and answers when it is through. False: that it could not is answered. */
bool rv_wait_begin(struct rv_conn *c, const struct rv_request *r, const rv_id *ids, size_t n);
/* ctlwait.c */
/* How long the request may wait at most. */
rv_time rv_wait_bound(const struct rv_control *k, const struct rv_request *r);
/* A reload is about to be through: answers when all of `ids` are up that are to be. head: members in front of those of the
   answer; taken over. False: memory was refused. */
bool rv_wait_reload(struct rv_conn *c, const struct rv_request *r, const rv_id *ids, size_t n,
	rv_time bound, struct rv_buf *head);
/* Another conf comes: who waits for what is not in it any more is told so. */
void rv_wait_replacing(struct rv_control *k, const struct rv_replacing *r);
void rv_wait_wait(struct rv_conn *c, const struct rv_request *r);
/* No request waits longer, whatever it asks for; nothing else that takes time is shortened by it. */
rv_time rv_wait_ceiling(const struct rv_control *k);
void rv_wait_judge(struct rv_control *k); /* answers all that are settled */
void rv_wait_drop(struct rv_conn *c); /* the client left: forgets its waits */
void rv_wait_end(
	struct rv_control *k); /* reeve leaves: answers what is settled, refuses the rest */

/* What a caller must know whose life of a service is gone. */
#define RV_FRESH_NOTICE                                                                          \
	"the life that was meant is over and another began with fresh state: nothing of it was " \
	"restored, "                                                                             \
	"and nothing is done again that was under way, so look at what is there before you go on"

/* ctlrecreate.c: reports of loss. Whether all that are named may be replaced; false: why not is answered. */
bool rv_recreate_may(struct rv_conn *c, const struct rv_request *r, const rv_id *ids, size_t n);
/* When a report comes: what its end is told by. */
void rv_recreate_note(struct rv_engine *g, struct rv_entry *e);
/* What became of a report: the parts, and the sentence. `loss` may point to what lives until the engine runs again. */
void rv_recreate_explain(struct rv_engine *g, const struct rv_entry *e, const struct rv_view *v,
	struct rv_rpc_loss *loss, char *why, size_t size);

/* ctlgive.c: a start or restart with options: answered when their plugin has looked at them, and all is through. */
void rv_give(struct rv_conn *c, const struct rv_request *r, rv_id id);
void rv_give_drop(struct rv_conn *c);

/* ctllogs.c */
void rv_logs(struct rv_conn *c, const struct rv_request *r);
void rv_logs_drop(struct rv_conn *c);
/* Another conf comes; it is there. */
void rv_logs_replacing(struct rv_conn *c, const struct rv_replacing *r);
void rv_logs_replaced(struct rv_conn *c);
/* The output has drained: tell what was lost. */
void rv_logs_drained(struct rv_conn *c);

/* ctlwhy.c */
void rv_why(struct rv_conn *c, const struct rv_request *r);

/* ctlevents.c */
void rv_events(struct rv_conn *c, const struct rv_request *r);
void rv_events_drop(struct rv_conn *c);
/* Another conf comes. */
void rv_events_replacing(struct rv_conn *c, const struct rv_replacing *r);
/* Something happened, or the output has drained: tells what has not been told. */
void rv_events_tell(struct rv_conn *c);

#endif
