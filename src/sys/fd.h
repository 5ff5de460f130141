/* Descriptors and files: cleanup attributes, low numbers kept free, folders made, whole writes. */
#ifndef SYS_FD_H
#define SYS_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"

void rv_fd_close(int *fd); /* closes if >= 0, sets -1, keeps errno */
static inline void rv_free_ptr(void *p)
{
	free(*(void **)p);
}
#define rv_auto_fd   __attribute__((cleanup(rv_fd_close))) int
#define rv_auto_free __attribute__((cleanup(rv_free_ptr)))

static inline int rv_fd_steal(int *fd)
{
	int r = *fd;

	*fd = -1;
	return r;
}

/* A descriptor that stays long is moved out of the low numbers (CLOEXEC), so that those are free for what is
   handed to a new process, which copies the table up to the highest of these. Returns the new number; fd itself when none is free. */
#define RV_FD_LOW 64
int rv_fd_lift(int fd);

/* Creates every missing folder of the path `dir` (0755). */
bool rv_mkdirs(const char *dir, struct rv_err *e);
/* The same for the folder that `file` lies in. */
bool rv_mkdirs_for(const char *file, struct rv_err *e);
/* All of it, over EINTR; for pipes and files that do not block long. */
bool rv_write_all(int fd, const void *bytes, size_t n);
bool rv_fd_nonblock(int fd, bool on);

#endif
