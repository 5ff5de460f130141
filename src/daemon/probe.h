/* Readiness and health checks of the daemon: fd, log-line, file, unix, tcp, exec; http and plugin probes go
 * through the plugin host. One attempt at a time a service; several kinds in one check must all hold. */
#ifndef DAEMON_PROBE_H
#define DAEMON_PROBE_H

#include <ev.h>

#include "conf/conf.h"
#include "daemon/capture.h"
#include "daemon/hostlink.h"
#include "daemon/reap.h"
#include "daemon/spawn.h"

struct rv_prober; /* one a service life: keeps what passive kinds (fd, log-line) have told */

struct rv_prober_ops {
	/* The attempt is over. why: the sentence for the user, e.g. "GET http://127.0.0.1:49983/health:
	   503 Service Unavailable", "tcp 127.0.0.1:80: connection refused"; valid during the call.
	   Never called from inside rv_prober_attempt. */
	void (*done)(void *ctx, rv_id id, uint64_t generation, enum rv_verdict v, const char *why);
};

struct rv_prober_env {
	struct ev_loop *loop;
	struct rv_reaper *reaper;
	struct rv_hostlink *host;
	const struct rv_prober_ops *ops;
	void *ctx;
};

/* For one life, which is not spawned yet. check and service must outlive it. context: how exec probes run (user, directory,
   environment: argv, out, err and fds are replaced); copied shallowly, must outlive it too. */
struct rv_prober *rv_prober_create(const struct rv_prober_env *env,
	const struct rv_service *service, uint64_t generation, const struct rv_check *check,
	const struct rv_spawn *context);
/* Drops whatever is in flight; no callback comes any more. NULL is fine. */
void rv_prober_destroy(struct rv_prober *p);
/* ready.fd: the write end for the child (number check->fd there), valid until rv_prober_spawned. -1 when
   the check has no fd. */
int rv_prober_fd(struct rv_prober *p, struct rv_err *e);
void rv_prober_spawned(struct rv_prober *p);
/* ready.notify: READY=1 has come. */
void rv_prober_notified(struct rv_prober *p);
/* What a passive kind waits for, as a sentence (static); NULL: no such kind is being asked. */
const char *rv_prober_waits(const struct rv_prober *p);
/* The same for a kind of any sort. */
const char *rv_prober_asks(const struct rv_prober *p);
/* The attempt is going to be cancelled: what its end would have said, if that is due and only has not been
   heard of yet. NULL: it is not due. */
const char *rv_prober_late(struct rv_prober *p);
/* ready.log-line: what the service writes. Needed before the spawn when the check has one, and the capture must
   outlive it. */
void rv_prober_listen(struct rv_prober *p, struct rv_capture *capture);
/* Starts an attempt, bounded by `timeout` ns. A passive kind may keep it open until it has something to
   say. (s6 style: a newline on the fd is ready; closed without one is a permanent failure.) */
void rv_prober_attempt(struct rv_prober *p, rv_time timeout);
/* The answer of the plugin's probe hook, which comes to the engine (rv_hostlink_ops.answer); ignored when
   no attempt waits for it. `done` is not called from inside. */
void rv_prober_answer(struct rv_prober *p, const struct rv_host_answer *a);
/* Reload: the same service and context at another place. check: the same check there; NULL: it is where it was. Of the old
   ones nothing is looked at any more. */
void rv_prober_rebind(struct rv_prober *p, const struct rv_service *service,
	const struct rv_check *check, const struct rv_spawn *context);
/* Whether an attempt is open. */
bool rv_prober_is_open(const struct rv_prober *p);
/* So much later than its bound a host that does not answer is not waited for any more. */
void rv_prober_patience(struct rv_prober *p, rv_time grace);
/* The attempt that has just ended says nothing of the service: the plugin host could not ask it. */
bool rv_prober_unsure(const struct rv_prober *p);
/* Ends the attempt in flight without an answer. */
void rv_prober_cancel(struct rv_prober *p);

#endif
