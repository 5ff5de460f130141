/* A port of this machine at which nobody listens yet. As long as that is so, whoever wants to ask there needs not
 * try: a look costs a tenth of a request through the plugin host, the server sees nothing of it, and the time
 * belongs to the services that start. */
#ifndef DAEMON_CLOSED_H
#define DAEMON_CLOSED_H

#include <stdbool.h>

#include "base/address.h"

/* True: nobody listens there. False: somebody does, or it cannot be told: of localhost, too, for that may lead
   to either of two. */
bool rv_closed_look(const struct rv_address *a);

#endif
