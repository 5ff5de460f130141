/* Who holds a port: the tables of /proc/net say which socket, /proc/PID/fd whose it is. */
#include "daemon/holder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "daemon/listen.h"
#include "daemon/proc.h"

#define LISTENING 0x0a
#define TIME_WAIT 0x06

/* Looks for sockets whose local port it is. Listening ones come first in these tables, so a search for
   those alone need not read what may be thousands of connections. */
static bool search_table(const char *table, uint16_t port, bool listening, struct rv_port_use *use)
{
	FILE *f = fopen(table, "re");
	char line[512];
	bool found = false;

	while (f && fgets(line, sizeof(line), f)) {
		unsigned local, state;
		unsigned long inode;

		/* NOLINTNEXTLINE(cert-err34-c): the kernel writes no number that does not fit */
		if (sscanf(line,
			    " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*u %lu",
			    &local, &state, &inode) != 3)
			continue;
		if (listening && state != LISTENING)
			break;
		if (local != port)
			continue;
		/* Anything alive tells more than a connection that is fading away. */
		if (!found || use->closing)
			*use = (struct rv_port_use){inode, state == LISTENING, state == TIME_WAIT};
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

static bool process_has(pid_t pid, const char *link)
{
	char path[64], name[64];
	struct dirent *entry;
	bool has = false;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && !has && (entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, name, sizeof(name) - 1);
		name[n < 0 ? 0 : n] = 0;
		has = n > 0 && !strcmp(name, link);
	}
	if (dir)
		closedir(dir);
	return has;
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
	char link[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir = inode ? opendir("/proc") : NULL;

	snprintf(link, sizeof(link), "socket:[%lu]", inode);
	while (dir && !found && (entry = readdir(dir))) {
		pid_t it = (pid_t)strtol(entry->d_name, NULL, 10);

		if (it <= 0 || !process_has(it, link))
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
