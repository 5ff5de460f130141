/* Who made a UNIX socket listen: see peer.h. */
#include "daemon/peer.h"

#include <stdio.h>
#include <unistd.h>

#include "daemon/holder.h"
#include "daemon/proc.h"

bool rv_peer_is_own(struct rv_reaper *r, rv_id id, pid_t peer, char *who, size_t size)
{
	struct rv_proc now;

	/* Without a life of ours it is who was there already, which is asked for what it is. */
	if (!peer || peer == getpid() || !rv_reaper_pid(r, id) || !rv_proc_look(peer, &now) ||
		rv_reaper_owns(r, id, peer))
		return true;
	if (!rv_pid_text(peer, who, size))
		snprintf(who, size, "pid %d", (int)peer);
	return false;
}
