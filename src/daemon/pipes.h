/* Pipes for what services write. A few are made in advance, after a start, since between the death of a service
 * and its next exec every system call counts. */
#ifndef DAEMON_PIPES_H
#define DAEMON_PIPES_H

#include <stdbool.h>

/* fd[0], ours to keep: CLOEXEC, non-blocking, out of the low numbers. fd[1], for the child: CLOEXEC, blocking.
   False: errno. The caller closes both. */
bool rv_pipe_take(int fd[2]);
/* Makes those of the next start, as far as that is possible. */
void rv_pipe_stock(void);
/* Closes what nobody took. */
void rv_pipe_empty(void);

#endif
