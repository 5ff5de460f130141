/* reeve's own stdout and stderr, for services that log to `-`. A process has one of each, so there is one
 * outlet for each (one for both when they are the same file). A reader that is slow costs lines, never time. */
#ifndef DAEMON_OUTLET_H
#define DAEMON_OUTLET_H

#include <ev.h>
#include <stddef.h>

#define RV_OUTLET_HELD 262144 /* bytes that wait for a slow reader; more are lost, with a note */

struct rv_outlet;

/* fd: 1 or 2. Counted; the last release gives everything back, after one more attempt to write. NULL:
   no memory. */
struct rv_outlet *rv_outlet_take(struct ev_loop *loop, int fd);
void rv_outlet_release(struct rv_outlet *o);
/* Whole lines. Returns how many bytes were lost now. */
size_t rv_outlet_write(struct rv_outlet *o, const char *bytes, size_t n);

#endif
