/* The vocabularies that are logged, sent and tested: one list each, from which enums and names come. */
#ifndef BASE_LISTS_H
#define BASE_LISTS_H

#include <stdint.h>

/* Tables for the eye: one word a line, what it means beside it. clang-format would undo that. */
/* clang-format off */

/* What a service is doing. One vocabulary in code, JSON, logs and man pages. */
#define RV_STATES(X)                                                                               \
	X(RV_STOPPED, "stopped")     /* nothing runs, nothing is asked for */                      \
	X(RV_WAITING, "waiting")     /* wanted; its dependencies are not there yet */              \
	X(RV_QUEUED, "queued")       /* could start; waits for a start permit */                   \
	X(RV_STARTING, "starting")   /* spawned, or about to be; not proven ready yet */           \
	X(RV_READY, "ready")         /* proven, or nothing proves it (flag unproven) */            \
	X(RV_UNHEALTHY, "unhealthy") /* was ready; its health check fails, or it is ending */      \
	X(RV_STOPPING, "stopping")   /* being asked to leave, or leftovers are being removed */    \
	X(RV_KILLING, "killing")     /* KILL was sent to the whole tree */                         \
	X(RV_BACKOFF, "backoff")     /* will be restarted after a delay */                         \
	X(RV_EXITED, "exited")       /* finished well by itself */                                 \
	X(RV_FAILED, "failed")       /* could not start, or gave up */                             \
	X(RV_ADOPTED, "adopted")     /* runs, but was not started by us: probed, never signalled */

/* Why a service is where it is; the sentence that a user reads is made from it by the daemon. */
#define RV_WHYS(X)                                                                                 \
	X(RV_WHY_NONE, "")                                                                         \
	X(RV_WHY_SPAWN, "could not be started")       /* exec, user, directory, recipe */          \
	X(RV_WHY_EXIT_EARLY, "exited before it was ready")                                         \
	X(RV_WHY_EXIT, "exited")                                                                   \
	X(RV_WHY_NO_DAEMON, "left no daemon")         /* a launcher */                             \
	X(RV_WHY_PROBE_FAILED, "readiness check failed") /* a permanent answer */                  \
	X(RV_WHY_READY_TIMEOUT, "not ready in time")                                               \
	X(RV_WHY_UPDATE, "did not take its environment")                                           \
	X(RV_WHY_HEALTH, "health check failed")                                                    \
	X(RV_WHY_LIMIT, "restart limit reached")                                                   \
	X(RV_WHY_DEPENDENCY, "dependency lost")                                                    \
	X(RV_WHY_DEPENDENCY_FAILED, "dependency failed")                                           \
	X(RV_WHY_OPERATOR, "stopped on request")                                                   \
	X(RV_WHY_RESTART, "restarted on request")                                                  \
	X(RV_WHY_UNNEEDED, "not needed any more")                                                  \
	X(RV_WHY_RECREATE, "replaced on request")                                                  \
	X(RV_WHY_RELOAD, "configuration changed")                                                  \
	X(RV_WHY_ENVIRONMENT, "environment changed")                                               \
	X(RV_WHY_ROLLBACK, "boot rolled back")                                                     \
	X(RV_WHY_SHUTDOWN, "shutting down")                                                        \
	X(RV_WHY_BOOT_TIMEOUT, "boot timeout")                                                     \
	X(RV_WHY_GONE, "the adopted one is gone")                                                  \
	X(RV_WHY_STUCK, "survived KILL")                                                           \
	X(RV_WHY_QUITS, "says that it is stopping")                                                \
	X(RV_WHY_GRACE, "start-grace is over")

/* The hooks of a plugin, in the order of their precedence (later ones yield to earlier ones). */
#define RV_HOOKS(X)                                                                                \
	X(RV_HOOK_START, "start")                                                                  \
	X(RV_HOOK_STOP, "stop")                                                                    \
	X(RV_HOOK_CLEANUP, "cleanup")                                                              \
	X(RV_HOOK_CONFIRM, "confirm")                                                              \
	X(RV_HOOK_UPDATE, "update")                                                                \
	X(RV_HOOK_PROBE, "probe")                                                                  \
	X(RV_HOOK_CHECK, "check")

#define RV_LIST_ENUM(id, name) id,
#define RV_LIST_NAME(id, name) name,

/* clang-format on */
enum rv_state { RV_STATES(RV_LIST_ENUM) RV_STATE_COUNT };
enum rv_why { RV_WHYS(RV_LIST_ENUM) RV_WHY_COUNT };
enum rv_hook { RV_HOOKS(RV_LIST_ENUM) RV_HOOK_COUNT };

/* Monotonic nanoseconds. Wall time is for printing only. */
typedef int64_t rv_time;
#define RV_US	 INT64_C(1000)
#define RV_MS	 INT64_C(1000000)
#define RV_SEC	 INT64_C(1000000000)
#define RV_NEVER INT64_MAX

/* How a process ended: 0..255 its code; 256 + n: killed by signal n; -1: not known, or not ended. */
typedef int32_t rv_exit;
#define RV_EXIT_UNKNOWN	  (-1)
#define RV_EXIT_SIGNAL(n) (256 + (n))

/* The answer to a question put to the world. */
enum rv_verdict {
	RV_OK, /* yes: ready, healthy, done, alive */
	RV_RETRY, /* not yet, or cannot tell: this attempt is over */
	RV_FAIL, /* no, and it never will: permanent; confirm: lost */
};

#endif
