/* The floor of restart.py: what the kernel itself needs to start a child anew that has ended.
 *
 *   loop PROGRAM TABLE COUNT
 *
 * COUNT children `PROGRAM TABLE SLOT`, an epoll on their pidfds, waitpid, vfork, exec, and nothing else: no readiness, no
 * log, no configuration, no process group, nobody who asks whether something of the last life is left. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 10000 };

static int watcher;
static pid_t pid[MOST];
static int handle[MOST];

static void start(char *program, char *table, int slot)
{
	char number[16];
	char *argv[] = {program, table, number, NULL};
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = (uint32_t)slot};

	snprintf(number, sizeof(number), "%d", slot);
	pid[slot] = vfork();
	if (!pid[slot]) {
		execv(program, argv);
		_exit(127);
	}
	handle[slot] = (int)syscall(SYS_pidfd_open, pid[slot], 0);
	epoll_ctl(watcher, EPOLL_CTL_ADD, handle[slot], &e);
}

int main(int argc, char **argv)
{
	struct epoll_event e;
	int count = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0;

	if (count < 1 || count > MOST)
		return 2;
	watcher = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < count; i++)
		start(argv[1], argv[2], i);
	for (;;) {
		if (epoll_wait(watcher, &e, 1, -1) != 1)
			continue;
		waitpid(pid[e.data.u32], NULL, 0);
		close(handle[e.data.u32]);
		start(argv[1], argv[2], (int)e.data.u32);
	}
}
