/* Who made a UNIX socket listen: the service that was asked there, or somebody else. */
#ifndef DAEMON_PEER_H
#define DAEMON_PEER_H

#include "daemon/reap.h"

/* peer: the pid that the kernel told (SO_PEERCRED); 0: not told. False: a process that lives, and is neither of the
   service's life nor ourselves; "pid 4711 (nginx)" in `who`. One that has gone may have left the socket to its
   children. */
bool rv_peer_is_own(struct rv_reaper *r, rv_id id, pid_t peer, char *who, size_t size);

#endif
