/* One exec: a child with exactly what it may have, and the truth about whether exec worked. */
#ifndef DAEMON_SPAWN_H
#define DAEMON_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Where programs are sought for a service without a PATH of its own. */
#define RV_SPAWN_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct rv_spawn_fd {
	int ours; /* stays open here */
	int child; /* number over there, >= 3, sorted or not; or 0: stdin instead of /dev/null */
};

struct rv_spawn_limit {
	int resource;
	uint64_t soft, hard; /* UINT64_MAX: infinity */
};

/* Who a process runs as, resolved before (daemon/ident.h), so that the child needs no NSS. */
struct rv_ident {
	bool set_uid, set_gid, set_groups;
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t group_count;
};

struct rv_spawn {
	const char *const *argv; /* argv[0] with a slash: that file; else sought in PATH of `env` */
	/* Complete; NULL-terminated. "LISTEN_PID=" (empty) is filled in with the child's pid when present. */
	const char *const *env;
	const char *dir; /* NULL: "/" */
	struct rv_ident who;
	int umask; /* -1: 022 */
	const struct rv_spawn_limit *limits;
	size_t limit_count;
	bool our_stdin; /* 0 is ours; else /dev/null */
	int out, err; /* descriptors for 1 and 2, -1: /dev/null; stdin is /dev/null */
	const struct rv_spawn_fd *fds;
	size_t fd_count;
};

struct rv_spawned {
	pid_t pid;
};

/* Returns after the exec, with vfork semantics. The child is a session leader with an empty signal
   mask, default dispositions, stdin /dev/null, no descriptor of ours but the given ones, no
   ambient resource limits of ours (the ones that reeve was started with). On failure nothing is
   left: e says which step (exec, chdir, user, ...), of which path, and why. A missing program is an
   error here, never an exit status 127. We do not run meanwhile, so another user whose process it is
   already cannot keep it from its exec: one that is stopped goes on, or is killed after 10 s. */
bool rv_spawn(const struct rv_spawn *s, struct rv_spawned *out, struct rv_err *e);

/* Call early: fills 0 to 2 with /dev/null when they are closed, makes inherited descriptors
   CLOEXEC, raises our RLIMIT_NOFILE and remembers what services shall get instead, and which signals are
   not at their defaults: call it again when handlers or ignored signals have changed. */
void rv_spawn_prepare(void);

#endif
