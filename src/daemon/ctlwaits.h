/* The inside of requests that wait: ctlwait.c (who waits, and until when), ctlchange.c (what is asked for), ctlanswer.c (what is
 * answered). Nobody else includes it. */
#ifndef DAEMON_CTLWAITS_H
#define DAEMON_CTLWAITS_H

#include "daemon/ctl.h"
#include "daemon/ctljudge.h"

struct rv_wait {
	struct rv_wait *next;
	struct rv_conn *conn;
	enum rv_aim aim;
	bool whole; /* the sandbox, not named services: boot must be decided too */
	bool quiet; /* a notification */
	bool no_wait; /* answered as soon as the core has seen it */
	unsigned born; /* loop turn of the request */
	ev_timer timer;
	char id[RV_RPC_ID_MAX];
	struct rv_buf head; /* members in front of the others */
	size_t count;
	struct rv_entry entries[];
};

/* wait --ready without names */
static inline bool rv_wait_is_of_sandbox(const struct rv_wait *w)
{
	return w->whole && w->aim == RV_AIM_READY;
}

/* ctlwait.c. Takes what `ids` names and the request's bound; joins the list. NULL: it is answered why not. */
struct rv_wait *rv_wait_create(struct rv_conn *c, const struct rv_request *r, enum rv_aim aim,
	const rv_id *ids, size_t count);

/* ctlanswer.c. It is decided, and not good: keeps why, for others of the request may take longer. */
void rv_wait_note(struct rv_wait *w, struct rv_entry *e);
/* Into the output of its connection; nothing for a notification. */
void rv_wait_answer(struct rv_wait *w);

#endif
