/* Whether a service is lost, by an answer to one HTTP request. For confirm hooks.
 *
 *	what came                               verdict
 *	the answer of a ready one               alive
 *	connection refused, no process          lost, at once
 *	connection refused, its process lives   asked again; after three times, within a second, lost
 *	anything else                           cannot tell
 *
 * Anything else is a time-out, a reset, no HTTP, 401, 404, 429, 500, 502, 503, another body: whoever gives such an
 * answer is busy, hangs, is badly configured or is somebody else, and may be in the middle of somebody's work. A
 * refusal is not its answer but the kernel's: nobody listens there. Load, a hang and SIGSTOP never bring it about, so when it
 * stays, what was ready has closed its port and cannot be reached again. */
#ifndef PLUGINS_LOSS_H
#define PLUGINS_LOSS_H

#include <reeve/plugin.h>

/* True: it is time to send the request; false: its answer has come, and is to be judged. */
bool rv_loss_asks(const struct reeve_turn *t);
/* `next`: what a probe makes of the answer (OK: it is ready), with its why. Returns what confirm has to return. */
enum reeve_next rv_loss_judge(
	struct reeve_turn *t, const char *method, const char *url, enum reeve_next next);

#endif
