/* A command that a hook asked for, run in the service's context: see hostparts.h.
 *
 * It is over when it was reaped and its output is read; descendants that keep the pipe open are not
 * waited for: the reaper kills what a helper leaves behind. */
#include "daemon/hostparts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/fd.h"

struct rv_host_run {
	struct rv_host_run_env env;
	uint32_t call, id;
	pid_t pid; /* 0: reaped */
	rv_exit exit;
	int fd;
	ev_io out;
	ev_timer timer;
	rv_time timeout;
	struct rv_buf text;
	bool truncated;
};

static void destroy(struct rv_host_run *r)
{
	if (!r)
		return;
	if (r->env.loop) {
		ev_io_stop(r->env.loop, &r->out);
		ev_timer_stop(r->env.loop, &r->timer);
	}
	rv_fd_close(&r->fd);
	rv_buf_fini(&r->text);
	free(r);
}

static void finish(struct rv_host_run *r, const char *error)
{
	struct rv_hp_ran ran = {.call = r->call,
		.id = r->id,
		.error = error,
		.exit = r->exit,
		.truncated = r->truncated,
		.output = {.p = rv_buf_text(&r->text), .n = r->text.len}};
	void (*done)(void *arg, const struct rv_hp_ran *m) = r->env.done;
	void *arg = r->env.arg;

	r->env.done = NULL;
	done(arg, &ran);
	destroy(r);
}

/* Reads what is there, at most twice what is kept: what is written for ever is read a little in each turn. False at
   the end of it. */
static bool drain(struct rv_host_run *r)
{
	char chunk[8192];
	ssize_t n = 0;

	for (size_t done = 0; done < (size_t)2 * RV_HP_BYTES; done += (size_t)n) {
		size_t take = RV_HP_BYTES - r->text.len;

		n = read(r->fd, chunk, sizeof(chunk));
		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR);
		if (take > (size_t)n)
			take = (size_t)n;
		r->truncated |= take < (size_t)n || !rv_buf_add(&r->text, chunk, take);
	}
	return true;
}

static void on_out(struct ev_loop *loop, ev_io *w, int events)
{
	struct rv_host_run *r = w->data;

	(void)events;
	if (!drain(r))
		ev_io_stop(loop, w);
}

static void on_exit_of(void *arg, pid_t pid, rv_exit how)
{
	struct rv_host_run *r = arg;

	(void)pid;
	r->pid = 0;
	r->exit = how;
	drain(r);
	finish(r, "");
}

static void on_timeout(struct ev_loop *loop, ev_timer *w, int events)
{
	struct rv_host_run *r = w->data;
	char took[32], text[80];

	(void)loop;
	(void)events;
	drain(r);
	rv_reaper_drop_helper(r->env.reaper, r->pid, true);
	snprintf(text, sizeof(text), "did not end within %s",
		rv_text_dur(r->timeout, took, sizeof(took)));
	finish(r, text);
}

/* What it reads from its stdin, as a file without a name: nobody has to be there to write it. */
static int input_file(const struct rv_hp_bytes *input)
{
	rv_auto_fd fd = memfd_create("reeve-input", MFD_CLOEXEC);

	if (fd < 0 || !rv_write_all(fd, input->p, input->n) || lseek(fd, 0, SEEK_SET) != 0)
		return -1;
	return rv_fd_steal(&fd);
}

/* Both pipes and input are closed by the caller. */
static bool spawn(struct rv_host_run *r, const struct rv_hp_run *ask, struct rv_spawn *context,
	int out, int input, struct rv_err *e)
{
	const struct rv_spawn_fd fd = {.ours = input, .child = 0};
	struct rv_spawned spawned;
	bool ok;

	context->argv = ask->argv;
	context->out = context->err = out;
	context->fds = &fd;
	context->fd_count = input >= 0;
	ok = rv_spawn(context, &spawned, e);
	context->fds = NULL; /* ours ends here */
	if (!ok)
		return false;
	r->pid = spawned.pid;
	return true;
}

struct rv_host_run *rv_host_run_start(const struct rv_host_run_env *env,
	const struct rv_hp_run *ask, struct rv_spawn *context, struct rv_err *e)
{
	rv_auto_fd input = ask->input.n ? input_file(&ask->input) : -1;
	struct rv_host_run *r = calloc(1, sizeof(*r));
	int pipes[2];

	if (!r || (ask->input.n && input < 0) || pipe2(pipes, O_CLOEXEC)) {
		free(r);
		rv_fail_errno(e, errno, "cannot run %.200s", ask->argv[0]);
		return NULL;
	}
	rv_fd_nonblock(pipes[0], true);
	*r = (struct rv_host_run){.env = *env,
		.call = ask->call,
		.id = ask->id,
		.exit = RV_EXIT_UNKNOWN,
		.fd = pipes[0],
		.timeout = ask->timeout,
		.text.max = RV_HP_BYTES};
	ev_io_init(&r->out, on_out, r->fd, EV_READ);
	ev_timer_init(&r->timer, on_timeout, (double)ask->timeout / 1e9, 0.);
	r->out.data = r->timer.data = r;
	if (!spawn(r, ask, context, pipes[1], input, e)) {
		close(pipes[1]);
		destroy(r);
		return NULL;
	}
	close(pipes[1]);
	rv_reaper_add_helper(env->reaper, r->pid, on_exit_of, r);
	ev_now_update(env->loop);
	ev_io_start(env->loop, &r->out);
	ev_timer_start(env->loop, &r->timer);
	return r;
}

void rv_host_run_drop(struct rv_host_run *r)
{
	if (!r)
		return;
	if (r->pid)
		rv_reaper_drop_helper(r->env.reaper, r->pid, true);
	destroy(r);
}
