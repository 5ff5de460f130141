/* What plugins know of the sessions of a Jupyter Server: GET, POST and DELETE on /api/sessions.
 *
 * A session is a kernel that has a path; deleting the session ends the kernel. Only those are ever deleted
 * that are known to be ours, by their path. */
#ifndef PLUGINS_SESSIONS_H
#define PLUGINS_SESSIONS_H

#include <reeve/plugin.h>

enum { RV_SESSION_ID = 40 }; /* bytes of an id, with its NUL: Jupyter's are UUIDs */

/* Where a server is. */
struct rv_session_server {
	const char *base; /* http://HOST:PORT, without a slash behind it */
	const char *token; /* "" or NULL: none */
};

/* Fills t->http with a request; body NULL: none. Returns REEVE_HTTP. */
enum reeve_next rv_session_ask(struct reeve_turn *t, const struct rv_session_server *at,
	const char *method, const char *path, const char *body, int64_t timeout_ns);

/* As rv_session_ask: DELETE of one session. */
enum reeve_next rv_session_delete(struct reeve_turn *t, const struct rv_session_server *at,
	const char *id, int64_t timeout_ns);

/* Whether the answer to a DELETE says that the session is gone: 2xx, and 404, which is gone already. If not,
   t->why names the request and what came instead. */
bool rv_session_is_gone(struct reeve_turn *t, const struct rv_session_server *at, const char *id);

/* Copies the id of a session object; false: it has none that could stand in a URL. */
bool rv_session_copy_id(char id[RV_SESSION_ID], const char *text);

/* Copies at most `room` ids of the sessions in the answer to GET /api/sessions whose path is `path`, or
   begins with it. Returns how many there are, which may be more; -1: the answer is no list of sessions. */
int rv_session_find(const struct reeve_http *h, const char *path, bool begins,
	char (*ids)[RV_SESSION_ID], int room);

#endif
