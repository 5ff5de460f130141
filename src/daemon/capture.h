/* What a service writes: drained always, kept in a file with rotation by size, and its tail in memory.
 * Nothing that happens to the file or a reader ever blocks the service or the loop.
 *
 * stdout and stderr are two pipes, joined line by line: a line is passed on when its newline has come, so
 * the streams never mix inside a line. A line may be RV_CAPTURE_LINE long; of a longer one that much is
 * passed on at a time, and the other stream may then break it (with a newline) in between. What has no
 * newline when its writer ends is passed on with one. */
#ifndef DAEMON_CAPTURE_H
#define DAEMON_CAPTURE_H

#include <ev.h>
#include <sys/types.h>

#include "conf/conf.h"
#include "daemon/lines.h"

#define RV_CAPTURE_LINE RV_LINES_MAX

struct rv_capture;

/* Opens (creates, with its folders) the file at once, so that an impossible path fails before anything
   starts; e has path and reason. Files belong to reeve, mode 0640. A path /dev/null is RV_LOG_NULL.
   service must outlive it. */
struct rv_capture *rv_capture_open(struct ev_loop *loop, const struct rv_log_conf *conf,
	const char *service, struct rv_err *e);
/* Who the service runs as, so that it can open /dev/stdout and /dev/stderr again by name. */
void rv_capture_owner(struct rv_capture *c, uid_t uid);
/* Reload: the same log under a new configuration. conf: as it was opened by, but for rotation; service as above. */
void rv_capture_rebind(struct rv_capture *c, const struct rv_log_conf *conf, const char *service);
/* Goes on with the log that `fresh` has opened, and with its name; lines in memory and followers stay. `fresh` has the old
   log then, and is to be closed. No life may be there. */
void rv_capture_redirect(struct rv_capture *c, struct rv_capture *fresh);
/* Drains what is in the pipes, writes it, closes. Forgets its followers: their handles are not valid any
   more. NULL is fine. */
void rv_capture_close(struct rv_capture *c);

/* A life begins: fills the descriptors to give to the child as 1 and 2 (the caller closes nothing; they
   are valid until rv_capture_spawned). Always pipes: for RV_LOG_INHERIT whole lines are passed on to our
   own 1 and 2. Pipes of earlier lives that somebody still holds are read on. */
bool rv_capture_begin(struct rv_capture *c, int *out, int *err, struct rv_err *e);
/* After the spawn (worked or not): closes our copies of the child's ends. */
void rv_capture_spawned(struct rv_capture *c);
/* The main process ended: drains what is in the pipes now; ends an unfinished line. The pipes stay open
   for what is left of the life. */
void rv_capture_drain(struct rv_capture *c);

/* Appends the last lines, at most `lines` (0: all that is kept) and `bytes`, to `to`. Raw bytes; the
   printer makes them visible. err_only: only what came through stderr, this life. */
void rv_capture_tail(
	const struct rv_capture *c, size_t lines, size_t bytes, bool err_only, struct rv_buf *to);
/* The same without lines that have no end yet: for who follows, and gets those when they have one. */
void rv_capture_tail_whole(
	const struct rv_capture *c, size_t lines, size_t bytes, struct rv_buf *to);
/* The same from the log file and NAME.1, for more lines than memory keeps; at most `bytes`. False: there is
   no such file (a log to `-` or nowhere): use rv_capture_tail. */
bool rv_capture_read_back(
	const struct rv_capture *c, size_t lines, size_t bytes, struct rv_buf *to);
/* Calls `more` with each chunk (whole lines where possible) as it comes. One reader may be slow: it
   must copy. The next life's lines come too. It may unfollow from inside `more`, but not close. Returns a
   handle for rv_capture_unfollow; NULL: no memory. */
struct rv_follower;
struct rv_follower *rv_capture_follow(
	struct rv_capture *c, void (*more)(void *ctx, const char *bytes, size_t n), void *ctx);
void rv_capture_unfollow(struct rv_capture *c, struct rv_follower *f);
/* Calls `line` with the lines of the present life, and of the next one, as they come: n bytes, whole lines but
   for pieces of one that is too long. Those of earlier lives, which may still come, are left out. One watcher;
   it may end it from inside. NULL ends it. */
void rv_capture_watch(struct rv_capture *c,
	void (*line)(void *ctx, unsigned which, const char *bytes, size_t n), void *ctx);
/* Bytes lost so far to a full disk, a slow reader and the like. */
uint64_t rv_capture_lost(const struct rv_capture *c);

#endif
