/* `ready: {notify: ...}`: what a life says of itself by sd_notify(3).
 *
 * One socket a life, so that a word is never taken for another life's. Who wrote is told by the kernel with each
 * datagram; it counts when that process belongs to the life. One that has ended before it could be asked (as
 * systemd-notify does) counts when its user is the one that the service was started as: whoever knows the path
 * and is that user could do anything to the service anyway. Others are refused, with one line in the log.
 *
 * A flood never has more than its share of the loop: beyond RV_NOTIFY_BURST datagrams in a tenth of a second
 * the socket is left alone for a moment, and its senders wait. */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

#include <ev.h>

#include "conf/conf.h"
#include "daemon/reap.h"
#include "daemon/spawn.h"

#define RV_NOTIFY_BURST	 128
#define RV_NOTIFY_STATUS 256 /* bytes of STATUS= that are kept */

struct rv_notify;

enum rv_says { RV_SAYS_NOTHING, RV_SAYS_READY, RV_SAYS_RELOADING, RV_SAYS_STOPPING };

/* Called when a datagram came; a burst of the same may be told once for each. */
struct rv_notify_ops {
	void (*ready)(void *ctx, rv_id id, uint64_t generation);
	void (*stopping)(void *ctx, rv_id id, uint64_t generation);
	void (*extend)(void *ctx, rv_id id, uint64_t generation, rv_time more);
	/* pid belongs to the life (it has been looked at just now) */
	void (*main_pid)(void *ctx, rv_id id, uint64_t generation, pid_t pid);
};

struct rv_notify_env {
	struct ev_loop *loop;
	struct rv_reaper *reaper;
	const char *runtime_dir;
	const struct rv_notify_ops *ops;
	void *ctx;
};

/* env and service must outlive it. NULL: e says why. */
struct rv_notify *rv_notify_open(const struct rv_notify_env *env, const struct rv_service *service,
	uint64_t generation, const struct rv_ident *who, struct rv_err *e);
/* "NOTIFY_SOCKET=..." for the child; valid until close. */
const char *rv_notify_variable(const struct rv_notify *n);
/* The main process, and each that follows it. */
void rv_notify_spawned(struct rv_notify *n, pid_t pid);
/* Reads what has come by now, at most a burst: before its end is told, so that last words are heard. */
void rv_notify_drain(struct rv_notify *n);
/* The life is gone: no callback comes any more. What it said last stays until destroy. NULL is fine. */
void rv_notify_close(struct rv_notify *n);
void rv_notify_destroy(struct rv_notify *n);

/* Reload: the same service at another place. */
void rv_notify_rebind(struct rv_notify *n, const struct rv_service *service);

enum rv_says rv_notify_says(const struct rv_notify *n);
/* One line, control characters made visible; "" when there is none. */
const char *rv_notify_status(const struct rv_notify *n);
/* Of ERRNO=; 0: none. */
int rv_notify_errno(const struct rv_notify *n);
/* It asked for more time, so that the configured bound is not the one that was in force. */
bool rv_notify_extended(const struct rv_notify *n);

#endif
