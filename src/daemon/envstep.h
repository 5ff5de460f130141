/* What the files of a change of the sandbox's variables share: envchange.c (the steps), envtell.c (who is told) and
 * envrenew.c (who is restarted). Nobody else includes it. */
#ifndef DAEMON_ENVSTEP_H
#define DAEMON_ENVSTEP_H

#include <ev.h>

#include "daemon/ctljudge.h"
#include "daemon/envchange.h"

enum rv_envstep { TELL, RENEW, TELL_BACK, RENEW_BACK };

/* One that has not taken what it was told. */
struct rv_refusal {
	char *why; /* what its hook has said; NULL: nothing */
	uint64_t life; /* of the way back: which life has not; 0: it has, or nobody knows yet */
};

struct rv_envchange {
	enum rv_envstep step;
	struct rv_envset
		*other; /* TELL, RENEW: that of before; later: the one that was not taken */
	bool failed, late;
	bool heard; /* TELL_BACK: the core has begun with it */
	struct rv_refusal *refusals; /* by id: of the variables that are in force */
	struct rv_buf why, undone; /* reasons: "envd: ..."; those of the way back */
	struct rv_buf told, renewed;
	struct rv_buf wanted; /* the names that were to be set */
	bool replace;
	rv_time began;
	struct rv_entry *
		renewing; /* of the present step: first those who are restarted, then those who go with them */
	size_t count, own; /* own: of the first kind */
	uint64_t *ran; /* by id: the life that ran when it began; 0: none */
	rv_time until; /* TELL, RENEW: the asker's time */
	ev_timer timer;
	rv_env_done *done; /* NULL: nobody waits any more */
	void *arg;
};

static inline bool rv_env_goes_back(const struct rv_envchange *c)
{
	return c->step >= TELL_BACK;
}

/* ---- envchange.c ---- */

/* One more name in a list of them. */
void rv_env_name(struct rv_buf *to, const struct rv_engine *g, rv_id id);
/* It is the reason, or one of those why it cannot be undone. */
void rv_env_blame(struct rv_engine *g, rv_id id, const char *why);
void rv_env_timer(struct rv_engine *g, rv_time within);
void rv_env_go_back(struct rv_engine *g);
/* It is over; g->change is not there any more. */
void rv_env_finish(struct rv_engine *g);

/* ---- envtell.c ---- */

/* All whom a hook tells are told what is in force now. */
void rv_env_tell(struct rv_engine *g, rv_time within);
/* Each may go on with the next step, or end the change. */
void rv_env_judge_telling(struct rv_engine *g);
void rv_env_blame_untold(struct rv_engine *g);
/* Those that run on with what was to be undone. */
void rv_env_blame_unwilling(struct rv_engine *g);
void rv_env_forget_refusals(struct rv_engine *g);

/* ---- envrenew.c ---- */

/* Each may end the change. */
void rv_env_renew(struct rv_engine *g);
void rv_env_renew_back(struct rv_engine *g);
void rv_env_judge_renewing(struct rv_engine *g);
bool rv_env_is_alive(enum rv_state s);
/* Those who were not started since: they, and all that they start, have what was before. */
void rv_env_kept(struct rv_engine *g, struct rv_buf *to);

#endif
