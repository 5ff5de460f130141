/* What /proc tells of a process. Reads only; never signals. */
#ifndef DAEMON_PROC_H
#define DAEMON_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rv_proc {
	pid_t pid, parent, group, session;
	uint64_t start; /* clock ticks since boot: with pid, who it is */
	char state; /* R S D T Z X ... */
	char command[32];
};

/* A growing list of pids. Zeroed is empty and valid. */
struct rv_pids {
	pid_t *at;
	size_t count, room;
};
void rv_pids_fini(struct rv_pids *p);
/* False when memory is refused. */
bool rv_pids_add(struct rv_pids *p, pid_t pid);

/* Without /proc a life is its main process and its group: nobody else of it can be found. */
bool rv_proc_is_there(void);
/* False: no such process (any more), or no /proc. */
bool rv_proc_look(pid_t pid, struct rv_proc *to);
/* Appends the children of all threads of `pid`. Without CONFIG_PROC_CHILDREN all of /proc is read. */
void rv_proc_children(pid_t pid, struct rv_pids *to);
/* Our own children list: fd of rv_proc_open_children, or -1 for the slow way. */
int rv_proc_open_children(void);
void rv_proc_own_children(int fd, struct rv_pids *to);
/* Appends every descendant of list[from...] to the list itself, nearest first; nothing twice unless it
   moved meanwhile. */
void rv_proc_descend(struct rv_pids *list, size_t from);
/* The value of variable `name` in the environment it was exec'ed with. False: not there, not to be
   read, or longer than `size`. */
bool rv_proc_variable(pid_t pid, const char *name, char *to, size_t size);
/* False: it has none. It has ended, or is about to, which may take it a while after its memory is gone; or it is between
   two programs: of all these an environment that is empty says nothing. */
bool rv_proc_has_program(pid_t pid);

#endif
