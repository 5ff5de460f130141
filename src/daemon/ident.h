/* Names of users and groups -> numbers, once, before anything starts. */
#ifndef DAEMON_IDENT_H
#define DAEMON_IDENT_H

#include "base/arena.h"
#include "daemon/spawn.h"

struct rv_account {
	struct rv_ident who;
	const char *name; /* NULL for a number without an entry */
	const char *home, *shell; /* NULL for a number without an entry */
};

/* user, group: name or number, NULL: ours. groups: NULL-terminated names or numbers; NULL: those of
   the group database for the user (none for a number without an entry); empty: none. Memory from the
   arena. False: unknown name, or not permitted (we are not root and it is not ourselves). */
bool rv_ident_resolve(const char *user, const char *group, const char *const *groups,
	struct rv_arena *arena, struct rv_account *out, struct rv_err *e);
/* May we signal what runs as `who`? A root whose container took CAP_KILL away may not. */
bool rv_ident_can_signal(const struct rv_ident *who);
#define RV_CANNOT_SIGNAL                                                                          \
	"reeve may not signal processes of user %s, and so not stop it: it lacks the capability " \
	"CAP_KILL (KILL in the words of container platforms)"
/* One name each, for sockets: NULL leaves -1. */
bool rv_ident_owner(const char *user, const char *group, uid_t *uid, gid_t *gid, struct rv_err *e);

#endif
