/* The ways to ask that need nobody else: what the service tells by itself, a file, a socket, a command. See probe.h. */
#include "daemon/probein.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/names.h"
#include "base/text.h"
#include "daemon/peer.h"
#include "sys/fd.h"

/* ---- ready.fd */

enum asked rv_probe_ask_fd(struct rv_prober *p)
{
	switch (p->ready.told) {
	case RV_TOLD_READY: return ASKED_YES;
	case RV_TOLD_NOTHING:
	case RV_TOLD_CLOSED: return ASKED_WAIT;
	case RV_TOLD_FAILED: break;
	}
	snprintf(p->why, sizeof(p->why), "ready fd %d was closed without a newline", p->check->fd);
	return rv_probe_over(p, RV_FAIL);
}

void rv_probe_on_told(void *arg)
{
	struct rv_prober *p = arg;

	if (p->open && p->kind == KIND_FD)
		rv_probe_proceed(p);
}

int rv_prober_fd(struct rv_prober *p, struct rv_err *e)
{
	if (!p->check->has_fd)
		return -1;
	if (!rv_readyfd_open(&p->ready)) {
		rv_fail_errno(e, errno, "cannot make a pipe for ready fd %d", p->check->fd);
		return -1;
	}
	return p->ready.child;
}

void rv_prober_spawned(struct rv_prober *p)
{
	rv_fd_close(&p->ready.child);
}

/* ---- ready.notify */

void rv_prober_notified(struct rv_prober *p)
{
	p->notified = true;
	if (p->open && p->kind == KIND_NOTIFY)
		rv_probe_proceed(p);
}

/* ---- log-line */

void rv_probe_on_line(void *arg)
{
	struct rv_prober *p = arg;

	if (p->open && p->kind == KIND_LOG)
		rv_probe_proceed(p);
}

void rv_prober_listen(struct rv_prober *p, struct rv_capture *capture)
{
	if (p->check->log_regex)
		rv_readyline_watch(&p->line, capture, p->check->log_regex);
}

/* ---- file */

enum asked rv_probe_ask_file(struct rv_prober *p)
{
	const struct rv_check *k = p->check;
	char why[200];

	if (rv_newfile_look(&p->file, k->file, k->file_anew, why, sizeof(why)))
		return ASKED_YES;
	snprintf(p->why, sizeof(p->why), "file %s: %s", k->file, why);
	return rv_probe_over(p, RV_RETRY);
}

/* ---- unix */

/* What reeve listens on for this service is its own; the paths may be written in different ways. */
static bool is_held_for(const struct rv_service *s)
{
	for (size_t i = 0; i < s->listen_count; i++)
		if (s->listen[i].family == RV_UNIX && s->listen[i].backlog)
			return true;
	return false;
}

/* The kernel refuses a connection to any file in the same way. */
static const char *why_no_socket(const char *path, int error, char *text, size_t size)
{
	struct stat st;

	if (error == EAGAIN)
		return "its queue is full: nobody accepts";
	if (error == ECONNREFUSED && !stat(path, &st) && !S_ISSOCK(st.st_mode))
		return "what is there is no socket";
	return rv_text_reason(error, text, size);
}

enum asked rv_probe_ask_unix(struct rv_prober *p)
{
	const struct rv_check *k = p->check;
	char text[200];
	int error = 0;

	if (rv_knock_unix(&p->knock, k->unix_path, &error) != RV_KNOCK_YES)
		snprintf(p->why, sizeof(p->why), "unix %s: %s", k->unix_path,
			why_no_socket(k->unix_path, error, text, sizeof(text)));
	else if (p->knock.peer == getpid() && !is_held_for(p->service))
		snprintf(p->why, sizeof(p->why),
			"unix %s: is listened on by reeve itself, not by this service",
			k->unix_path);
	else if (rv_peer_is_own(p->env.reaper, p->service->id, p->knock.peer, text, sizeof(text)))
		return ASKED_YES;
	else
		snprintf(p->why, sizeof(p->why),
			"unix %s: is listened on by %s, not by this service", k->unix_path, text);
	return rv_probe_over(p, RV_RETRY);
}

/* ---- tcp */

static void tcp_refused(struct rv_prober *p, int error)
{
	char text[128];

	snprintf(p->why, sizeof(p->why), "tcp %s: %s", p->check->tcp,
		rv_text_reason(error, text, sizeof(text)));
}

void rv_probe_on_knocked(void *arg, bool yes, int error)
{
	struct rv_prober *p = arg;

	if (yes) {
		p->kind++;
		rv_probe_proceed(p);
		return;
	}
	tcp_refused(p, error);
	rv_probe_finish(p, RV_RETRY);
}

enum asked rv_probe_ask_tcp(struct rv_prober *p)
{
	int error = 0;

	switch (rv_knock_start(
		&p->knock, p->check->tcp_ip, p->check->tcp_v6, p->check->tcp_port, &error)) {
	case RV_KNOCK_YES: return ASKED_YES;
	case RV_KNOCK_NO: break;
	case RV_KNOCK_WAIT: rv_probe_timer(p, rv_probe_left(p)); return ASKED_WAIT;
	}
	tcp_refused(p, error);
	return rv_probe_over(p, RV_RETRY);
}

/* ---- exec */

void rv_probe_on_ended(void *arg, rv_exit how)
{
	struct rv_prober *p = arg;
	struct rv_buf line = {0};
	char text[64];

	if (how == 0) {
		rv_trial_stop(&p->trial);
		p->kind++;
		rv_probe_proceed(p);
		return;
	}
	rv_trial_last_line(&p->trial, &line);
	snprintf(p->why, sizeof(p->why), "%s %s%s%s", p->check->exec[0],
		rv_exit_text(how, text, sizeof(text)), line.len ? ": " : "", rv_buf_text(&line));
	rv_buf_fini(&line);
	rv_probe_finish(p, RV_RETRY);
}

enum asked rv_probe_ask_exec(struct rv_prober *p)
{
	struct rv_err e = {0};

	if (rv_trial_start(&p->trial, p->context, p->check->exec, &e)) {
		rv_probe_timer(p, rv_probe_left(p));
		return ASKED_WAIT;
	}
	snprintf(p->why, sizeof(p->why), "%s", e.text);
	/* A program that is not there will not be there; but a full process table passes. */
	return rv_probe_over(p, e.code == RV_ERR_SYSTEM ? RV_RETRY : RV_FAIL);
}
