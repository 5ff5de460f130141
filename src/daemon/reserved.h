/* The kernel's list of ports that it gives to nobody who does not ask for them by number (ip_local_reserved_ports, one a
 * network namespace): neither to a bind to port 0 nor to an outgoing connection.
 *
 * Others change the list, too, and keep what they find. So ours are added to it in one step that takes nothing away, and
 * at the end only those are taken out that were not there before. Between that read and that write the word of somebody
 * who is no reeve can be lost, as with every writer of this file; nothing better is to be had. A crash leaves ours in the
 * list. */
#ifndef DAEMON_RESERVED_H
#define DAEMON_RESERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct rv_reserved; /* what was added */

/* From now on these are reserved: what was added for others is taken out again. *r: what was added before, or NULL. False:
   it cannot be done here (read-only, not permitted, not this kernel's), and nothing is changed. */
bool rv_reserved_change(struct rv_reserved **r, const uint16_t *ports, size_t n, struct rv_err *e);
/* Takes them out again. NULL is fine. */
void rv_reserved_remove(struct rv_reserved *r);

#endif
