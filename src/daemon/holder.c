/* Who holds a port: the tables of /proc/net say which socket, /proc/PID/fd whose it is. */
#include "daemon/holder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "daemon/proc.h"

#define LISTENING 0x0a
#define TIME_WAIT 0x06

enum { LISTENERS_MAX = 64 }; /* on one port: one an address, or more that share it */

struct row { /* of a table */
	unsigned port, state;
	unsigned long inode;
};

/* False: the end. The heading is skipped. */
static bool next_row(FILE *f, struct row *row)
{
	char line[512];

	while (fgets(line, sizeof(line), f))
		/* NOLINTNEXTLINE(cert-err34-c): the kernel writes no number that does not fit */
		if (sscanf(line,
			    " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*u %lu",
			    &row->port, &row->state, &row->inode) == 3)
			return true;
	return false;
}

/* Looks for sockets whose local port it is. Listening ones come first in these tables, so a search for
   those alone need not read what may be thousands of connections. */
static bool search_table(const char *table, uint16_t port, bool listening, struct rv_port_use *use)
{
	FILE *f = fopen(table, "re");
	bool found = false;
	struct row row;

	while (f && next_row(f, &row)) {
		if (listening && row.state != LISTENING)
			break;
		if (row.port != port)
			continue;
		/* Anything alive tells more than a connection that is fading away. */
		if (!found || use->closing)
			*use = (struct rv_port_use){
				row.inode, row.state == LISTENING, row.state == TIME_WAIT};
		found = true;
		if (!use->closing)
			break;
	}
	if (f)
		fclose(f);
	return found;
}

bool rv_port_look(uint16_t port, bool listening, struct rv_port_use *use)
{
	struct rv_port_use six;

	if (!search_table("/proc/net/tcp", port, listening, use))
		return search_table("/proc/net/tcp6", port, listening, use);
	if (use->closing && search_table("/proc/net/tcp6", port, listening, &six) && !six.closing)
		*use = six;
	return true;
}

/* The inodes of all sockets that listen on the port, one an address. */
static size_t listeners_of(const char *table, uint16_t port, unsigned long *to, size_t room)
{
	FILE *f = fopen(table, "re");
	struct row row;
	size_t n = 0;

	while (f && n < room && next_row(f, &row) && row.state == LISTENING)
		if (row.port == port)
			to[n++] = row.inode;
	if (f)
		fclose(f);
	return n;
}

static bool is_one_of(const char *link, const unsigned long *inodes, size_t n)
{
	char name[64];

	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "socket:[%lu]", inodes[i]);
		if (!strcmp(name, link))
			return true;
	}
	return false;
}

/* Whether the process has one of these sockets. */
static enum rv_held process_has(pid_t pid, const unsigned long *inodes, size_t n)
{
	enum rv_held has = RV_HELD_NO;
	struct dirent *entry;
	char path[64], link[64];
	ssize_t len;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT || errno == ESRCH ? RV_HELD_NO : RV_HELD_UNKNOWN;
	while (has != RV_HELD_YES && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		len = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		if (len < 0 && errno != ENOENT)
			has = RV_HELD_UNKNOWN;
		link[len < 0 ? 0 : len] = 0;
		if (is_one_of(link, inodes, n))
			has = RV_HELD_YES;
	}
	closedir(dir);
	return has;
}

enum rv_held rv_port_held_by(uint16_t port, const pid_t *pids, size_t n)
{
	unsigned long inodes[LISTENERS_MAX];
	size_t count = listeners_of("/proc/net/tcp", port, inodes, LISTENERS_MAX);
	enum rv_held held = RV_HELD_NO;

	count += listeners_of("/proc/net/tcp6", port, inodes + count, LISTENERS_MAX - count);
	if (!count)
		return RV_HELD_UNKNOWN;
	for (size_t i = 0; i < n; i++) {
		enum rv_held has = process_has(pids[i], inodes, count);

		if (has == RV_HELD_YES)
			return has;
		if (has == RV_HELD_UNKNOWN)
			held = has;
	}
	return held;
}

bool rv_pid_text(pid_t pid, char *to, size_t size)
{
	struct rv_buf text = {.max = 256};
	struct rv_proc p;

	if (!rv_proc_look(pid, &p))
		return false;
	rv_buf_fmt(&text, "pid %d (", (int)pid);
	rv_text_visible(&text, p.command, strlen(p.command));
	rv_buf_str(&text, ")");
	snprintf(to, size, "%s", rv_buf_text(&text));
	rv_buf_fini(&text);
	return true;
}

bool rv_inode_holder(unsigned long inode, pid_t *pid, char *to, size_t size)
{
	struct dirent *entry;
	bool found = false;
	DIR *dir = inode ? opendir("/proc") : NULL;

	while (dir && !found && (entry = readdir(dir))) {
		pid_t it = (pid_t)strtol(entry->d_name, NULL, 10);

		if (it <= 0 || process_has(it, &inode, 1) != RV_HELD_YES)
			continue;
		*pid = it;
		found = rv_pid_text(it, to, size);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool rv_port_holder(uint16_t port, pid_t *pid, char *to, size_t size)
{
	struct rv_port_use use;

	*pid = 0;
	if (size)
		*to = 0;
	return rv_port_look(port, true, &use) && rv_inode_holder(use.inode, pid, to, size);
}

bool rv_port_is_free(uint16_t port)
{
	struct rv_port_use use;

	return !rv_port_look(port, true, &use);
}
