/* Does anybody answer at a TCP port, or at a UNIX socket? One non-blocking connect, undone at once. */
#ifndef DAEMON_KNOCK_H
#define DAEMON_KNOCK_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum rv_knocked { RV_KNOCK_YES, RV_KNOCK_NO, RV_KNOCK_WAIT };

struct rv_knock {
	struct ev_loop *loop;
	struct ev_io io; /* io.fd -1: not knocking */
	pid_t peer; /* who made the UNIX socket that said yes listen; 0: not known */
	void (*answered)(void *arg, bool yes, int error);
	void *arg;
};

/* Makes it valid; nothing is open yet. */
void rv_knock_init(struct rv_knock *k, struct ev_loop *loop,
	void (*answered)(void *arg, bool yes, int error), void *arg);
/* ip: 4 or 16 bytes, network order. RV_KNOCK_WAIT: `answered` will be called, from the loop, unless it is
   stopped before. RV_KNOCK_NO: *error says why. */
enum rv_knocked rv_knock_start(
	struct rv_knock *k, const uint8_t *ip, bool v6, uint16_t port, int *error);
/* The same for a UNIX socket of any type; at most 107 bytes. It never has to wait. */
enum rv_knocked rv_knock_unix(struct rv_knock *k, const char *path, int *error);
/* Fine when nothing is open. */
void rv_knock_stop(struct rv_knock *k);

#endif
