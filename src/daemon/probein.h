/* What the files of the prober share: see probe.h for what they do together. */
#ifndef DAEMON_PROBEIN_H
#define DAEMON_PROBEIN_H

#include "daemon/closed.h"
#include "daemon/knock.h"
#include "daemon/newfile.h"
#include "daemon/probe.h"
#include "daemon/readyfd.h"
#include "daemon/readyline.h"
#include "daemon/trial.h"

enum { URL_SHOWN = 600 }; /* bytes of a URL in a sentence */

/* First what the service tells by itself. */
enum kind {
	KIND_FD,
	KIND_NOTIFY,
	KIND_LOG,
	KIND_FILE,
	KIND_UNIX,
	KIND_TCP,
	KIND_HTTP,
	KIND_PLUGIN,
	KIND_EXEC,
	KIND_END
};
enum asked { ASKED_YES, ASKED_WAIT, ASKED_OVER };

struct rv_prober {
	struct rv_prober_env env;
	const struct rv_service *service;
	uint64_t generation;
	const struct rv_check *check;
	const struct rv_spawn *context;

	/* of this whole life */
	struct rv_readyfd ready;
	bool notified; /* READY=1 came */
	struct rv_readyline line;
	struct rv_newfile file;

	/* the attempt */
	bool open; /* asked, not answered yet */
	bool inside; /* of rv_prober_attempt: the answer waits for the loop */
	enum kind kind; /* being asked now */
	rv_time timeout;
	rv_time deadline; /* of the active kinds; 0: none asked yet */
	uint32_t attempts;
	struct ev_timer timer; /* deadline */
	struct ev_timer later; /* the answer, from the loop */
	struct rv_knock knock;
	struct rv_trial trial;
	struct rv_host_http *http;
	bool plugin_asked;
	struct rv_address
		closed; /* where the plugin would be refused, as it says; port 0: nobody knows */
	char *closed_why; /* how the plugin says that */
	rv_time grace; /* see rv_prober_patience; 0: the usual */
	bool asked_host; /* in this attempt */
	bool unsure; /* what it ended with tells of the host, not of the service */
	rv_time host_asked; /* when the host was asked last, or the life began */
	enum rv_verdict verdict;
	char why[1000];
};

/* Asks from p->kind on. p may be gone afterwards unless we are inside rv_prober_attempt. */
void rv_probe_proceed(struct rv_prober *p);
/* The attempt is over; p may be gone afterwards unless we are inside rv_prober_attempt. */
void rv_probe_finish(struct rv_prober *p, enum rv_verdict v);
/* The same for a way to ask, which returns it; p->why is filled. */
enum asked rv_probe_over(struct rv_prober *p, enum rv_verdict v);
/* Time left for the active kinds, ns; the first of them starts the clock. */
rv_time rv_probe_left(struct rv_prober *p);
/* The attempt ends then, unless there is an answer before. */
void rv_probe_timer(struct rv_prober *p, rv_time after);
/* What is being asked, for a sentence; returns `to`. */
const char *rv_probe_subject(const struct rv_prober *p, char *to, size_t size);

/* probeown.c */
enum asked rv_probe_ask_fd(struct rv_prober *p);
enum asked rv_probe_ask_file(struct rv_prober *p);
enum asked rv_probe_ask_unix(struct rv_prober *p);
enum asked rv_probe_ask_tcp(struct rv_prober *p);
enum asked rv_probe_ask_exec(struct rv_prober *p);
/* Callbacks of what a prober is made of; arg: the prober. */
void rv_probe_on_told(void *arg);
void rv_probe_on_line(void *arg);
void rv_probe_on_knocked(void *arg, bool yes, int error);
void rv_probe_on_ended(void *arg, rv_exit how);

/* probehost.c: KIND_HTTP and KIND_PLUGIN, but only where somebody listens. */
enum asked rv_probe_ask_host(struct rv_prober *p);

#endif
