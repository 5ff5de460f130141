/* What a service writes: drained always, kept in a file with rotation by size, and its tail in memory.
 * Nothing that happens to the file or a reader ever blocks the service or the loop. */
#ifndef DAEMON_CAPTURE_H
#define DAEMON_CAPTURE_H

#include <ev.h>
#include <sys/types.h>

#include "conf/conf.h"

struct rv_capture;

/* Opens (creates, with its folders) the file at once, so that an impossible path fails before anything
   starts; e has path and reason. uid/gid: ignored for now (files belong to reeve). */
struct rv_capture *rv_capture_open(struct ev_loop *loop, const struct rv_log_conf *conf,
	const char *service, struct rv_err *e);
/* Drains what is in the pipe, writes it, closes. NULL is fine. */
void rv_capture_close(struct rv_capture *c);

/* A life begins: fills the descriptors to give to the child as 1 and 2 (the caller closes nothing; they
   are valid until rv_capture_spawned). With RV_LOG_INHERIT they are our own 1 and 2 for a kind `-`
   log... then nothing is captured and the tail comes from a pipe to stderr only where possible. */
bool rv_capture_begin(struct rv_capture *c, int *out, int *err, struct rv_err *e);
/* After the spawn (worked or not): closes our copies of the child's ends. */
void rv_capture_spawned(struct rv_capture *c);
/* The main process ended: drains what is in the pipe now; ends an unfinished line. */
void rv_capture_drain(struct rv_capture *c);

/* Appends the last lines, at most `lines` (0: all that is kept) and `bytes`, to `to`. Raw bytes; the
   printer makes them visible. err_only: only what came through stderr, this life. */
void rv_capture_tail(const struct rv_capture *c, size_t lines, size_t bytes, bool err_only,
	struct rv_buf *to);
/* Calls `more` with each chunk (whole lines where possible) as it comes. One reader may be slow: it
   must copy. Returns a handle for rv_capture_unfollow. */
struct rv_follower;
struct rv_follower *rv_capture_follow(struct rv_capture *c,
	void (*more)(void *ctx, const char *bytes, size_t n), void *ctx);
void rv_capture_unfollow(struct rv_capture *c, struct rv_follower *f);
/* Tells `more` of the next life's lines too. Bytes lost so far to a full disk and the like. */
uint64_t rv_capture_lost(const struct rv_capture *c);

#endif
