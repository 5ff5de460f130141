/* Reading /proc: see proc.h. Plain open/read into fixed buffers; a process may vanish at any line. */
#include "daemon/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/fd.h"

void rv_pids_fini(struct rv_pids *p)
{
	free(p->at);
	*p = (struct rv_pids){0};
}

bool rv_pids_add(struct rv_pids *p, pid_t pid)
{
	if (p->count == p->room) {
		size_t room = p->room ? 2 * p->room : 64;
		pid_t *at = realloc(p->at, room * sizeof(*at));

		if (!at)
			return false;
		p->at = at;
		p->room = room;
	}
	p->at[p->count++] = pid;
	return true;
}

static int open_proc(pid_t pid, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

/* A command may hold blanks and parentheses: the fields start behind the last ')'. */
static bool parse_stat(char *text, struct rv_proc *to)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long long start;
	int parent, group, session;
	char state;

	if (!open || !close || close < open)
		return false;
	*close = 0;
	snprintf(to->command, sizeof(to->command), "%s", open + 1);
	/* NOLINTNEXTLINE(cert-err34-c): the kernel writes no number that does not fit */
	if (sscanf(close + 1,
		    " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		    &state, &parent, &group, &session, &start) != 5)
		return false;
	to->state = state;
	to->parent = parent;
	to->group = group;
	to->session = session;
	to->start = start;
	return true;
}

bool rv_proc_is_there(void)
{
	char self[32];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	if (n < 0)
		return false;
	self[n] = 0;
	return strtol(self, NULL, 10) == getpid() && !access("/proc/self/stat", R_OK);
}

bool rv_proc_look(pid_t pid, struct rv_proc *to)
{
	rv_auto_fd fd = open_proc(pid, "stat");
	char text[1024];
	ssize_t n;

	*to = (struct rv_proc){.pid = pid};
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = 0;
	return parse_stat(text, to);
}

/* Digits and blanks, in pieces; a number may be cut by the end of a piece. The kernel fills a piece as
   long as another number fits, so one that is shorter is the last: to ask again would make it count to
   there once more. */
static void read_list(int fd, struct rv_pids *to)
{
	char text[4096];
	const ssize_t full = sizeof(text) - 32;
	off_t at = 0;
	ssize_t n;
	pid_t pid = 0;

	do {
		n = pread(fd, text, sizeof(text), at);
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			if (pid)
				rv_pids_add(to, pid);
			pid = 0;
		}
		at += n;
	} while (n > full);
	if (pid)
		rv_pids_add(to, pid);
}

/* Calls each with the number of every numeric entry of a folder. */
static bool each_number(const char *path, void (*each)(void *ctx, pid_t number), void *ctx)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return false;
	while ((entry = readdir(dir)))
		if (*entry->d_name >= '1' && *entry->d_name <= '9')
			each(ctx, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(dir);
	return true;
}

struct search {
	pid_t parent;
	struct rv_pids *to;
	bool has_files;
};

static void add_if_child(void *ctx, pid_t pid)
{
	struct search *s = ctx;
	struct rv_proc p;

	if (rv_proc_look(pid, &p) && p.parent == s->parent)
		rv_pids_add(s->to, pid);
}

static void scan_all(pid_t parent, struct rv_pids *to)
{
	each_number("/proc", add_if_child, &(struct search){.parent = parent, .to = to});
}

static void add_of_thread(void *ctx, pid_t thread)
{
	struct search *s = ctx;
	char file[64];
	rv_auto_fd fd = -1;

	snprintf(file, sizeof(file), "task/%d/children", (int)thread);
	fd = open_proc(s->parent, file);
	if (fd < 0)
		return;
	s->has_files = true;
	read_list(fd, s->to);
}

void rv_proc_children(pid_t pid, struct rv_pids *to)
{
	struct search s = {.parent = pid, .to = to};
	struct rv_proc gone;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	each_number(path, add_of_thread, &s);
	if (!s.has_files && rv_proc_look(pid, &gone))
		scan_all(pid, to);
}

int rv_proc_open_children(void)
{
	char file[64];

	snprintf(file, sizeof(file), "task/%d/children", (int)getpid());
	return open_proc(getpid(), file);
}

void rv_proc_own_children(int fd, struct rv_pids *to)
{
	if (fd >= 0)
		read_list(fd, to);
	else
		scan_all(getpid(), to);
}

void rv_proc_descend(struct rv_pids *list, size_t from)
{
	for (; from < list->count; from++)
		rv_proc_children(list->at[from], list);
}

/* Finds NAME= at the start of a string that follows a NUL; state is kept over pieces. */
struct matcher {
	const char *name;
	size_t matched; /* characters of NAME=; SIZE_MAX: this string is not it */
	char *to;
	size_t size, used;
};

/* True when the value is complete. */
static bool match(struct matcher *m, char c)
{
	size_t n = strlen(m->name);

	if (m->matched == n + 1) {
		if (m->used < m->size)
			m->to[m->used++] = c;
		return !c;
	}
	if (!c)
		m->matched = 0;
	else if (m->matched != SIZE_MAX && c == (m->matched == n ? '=' : m->name[m->matched]))
		m->matched++;
	else
		m->matched = SIZE_MAX;
	return false;
}

bool rv_proc_variable(pid_t pid, const char *name, char *to, size_t size)
{
	struct matcher m = {.name = name, .to = to, .size = size};
	rv_auto_fd fd = open_proc(pid, "environ");
	char text[8192];
	ssize_t n;

	while (fd >= 0 && (n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (match(&m, text[i]))
				return m.used && !to[m.used - 1];
	return false;
}

bool rv_proc_has_program(pid_t pid)
{
	rv_auto_fd fd = open_proc(pid, "cmdline");
	char byte;

	return fd >= 0 && read(fd, &byte, 1) > 0;
}
