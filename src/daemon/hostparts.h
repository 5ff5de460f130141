/* Parts of the host link that only hostlink.c puts together: the process and its channel, values from
 * configuration and back, and commands that a hook asked for. */
#ifndef DAEMON_HOSTPARTS_H
#define DAEMON_HOSTPARTS_H

#include "daemon/hostlink.h"
#include "wire/hostproto.h"

/* ---- hostchannel.c: the process and the bytes ---- */

struct rv_channel {
	pid_t pid; /* 0: no host */
	int fd; /* -1: none */
	int exe; /* our own binary */
	int page_fd;
	struct rv_hp_page *page;
	struct rv_buf in, out;
	size_t taken; /* of `in`, by rv_channel_next */
	bool ended; /* the other end is closed, or sent nonsense */
	bool nonsense; /* the latter */
};

/* Opens what lasts for life: binary and page. */
bool rv_channel_open(struct rv_channel *c, struct rv_err *e);
void rv_channel_close(struct rv_channel *c);
/* Starts a host: by a call of `run` in a fork, or, when it is NULL, by exec of our own binary. */
bool rv_channel_start(struct rv_channel *c, int (*run)(int fd), struct rv_err *e);
/* Closes our end and forgets the bytes; the process is the caller's to reap. */
void rv_channel_hang_up(struct rv_channel *c);
/* Non-blocking: moves what can be moved; sets `ended`. */
void rv_channel_flush(struct rv_channel *c);
/* True: something came. */
bool rv_channel_fill(struct rv_channel *c);
/* Puts bytes of frames in front of what is in `in` and not taken. */
bool rv_channel_put_back(struct rv_channel *c, const struct rv_buf *frames);
/* The next message in `in`; RV_HP_BAD sets `ended`. The arena holds what it points to. */
enum rv_hp_got rv_channel_next(struct rv_channel *c, struct rv_arena *a, struct rv_hp_msg *m);
bool rv_channel_post(struct rv_channel *c, const struct rv_hp_msg *m);

/* ---- hostvalues.c: conf <-> wire ---- */

/* variables: the sandbox's, or NULL. False: out of memory. Points into conf, variables and the arena. */
bool rv_host_instance(const struct rv_conf *conf, const struct rv_service *s,
	const char *const *variables, struct rv_arena *a, struct rv_hp_instance *to);
/* Adds what check is told of the services that it depends on. */
bool rv_host_peers(const struct rv_conf *conf, const struct rv_service *s, struct rv_arena *a,
	struct rv_hp_instance *to);
/* Deep copies into the arena; false: out of memory. */
bool rv_host_table(const struct rv_hp_table *t, struct rv_arena *a, struct rv_plugin_table *to);
bool rv_host_recipe(const struct rv_hp_process *p, struct rv_arena *a, struct rv_recipe *to);
/* A service that may need the host after the load. tells: there are variables to be told. */
bool rv_host_needed(const struct rv_service *s, bool tells);

/* ---- hostrun.c: REEVE_RUN ---- */

struct rv_host_run;
struct rv_host_run_env {
	struct ev_loop *loop;
	struct rv_reaper *reaper;
	/* Once, from the loop; `ran` is valid during the call. */
	void (*done)(void *arg, const struct rv_hp_ran *ran);
	void *arg;
};
/* context: filled but for argv, out, err and fds. NULL: e says why it could not be run. */
struct rv_host_run *rv_host_run_start(const struct rv_host_run_env *env,
	const struct rv_hp_run *ask, struct rv_spawn *context, struct rv_err *e);
/* Kills it; no callback comes. NULL is fine. */
void rv_host_run_drop(struct rv_host_run *r);

#endif
