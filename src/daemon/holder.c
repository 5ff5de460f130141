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
#include "daemon/sockdiag.h"

#define LISTENING 0x0a
#define TIME_WAIT 0x06

struct row { /* of a table */
	char address[40]; /* digits */
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
			    " %*u: %39[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*u %lu",
			    row->address, &row->port, &row->state, &row->inode) == 4)
			return true;
	return false;
}

/* Looks for sockets whose local port it is. */
static bool search_table(const char *table, uint16_t port, struct rv_port_use *use)
{
	FILE *f = fopen(table, "re");
	bool found = false;
	struct row row;

	while (f && next_row(f, &row)) {
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

/* The kernel prints words of the machine's own byte order. False: of the other family. */
static bool read_address(const char *digits, bool v6, uint8_t ip[16])
{
	size_t words = v6 ? 4 : 1;
	char word[9] = "";

	if (strlen(digits) != 8 * words)
		return false;
	for (size_t i = 0; i < words; i++) {
		uint32_t value;

		memcpy(word, digits + 8 * i, 8);
		value = (uint32_t)strtoul(word, NULL, 16);
		memcpy(ip + 4 * i, &value, 4);
	}
	return true;
}

/* How well a socket fits the address, as the kernel chooses for a new connection; 0: not at all. An IPv6 socket on all
   addresses may be for IPv6 only, which the tables do not tell: then nobody got an IPv4 answer from it, and it is the
   best only if there was none. */
static int fits(const uint8_t *ip, bool v6, const struct rv_address *to)
{
	static const uint8_t zero[16], mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (to->any)
		return 1;
	if (v6 == to->v6) {
		if (!memcmp(ip, to->ip, v6 ? 16 : 4))
			return 3;
		return memcmp(ip, zero, v6 ? 16 : 4) ? 0 : 2;
	}
	if (!v6)
		return 0;
	if (!memcmp(ip, mapped, 12) && !memcmp(ip + 12, to->ip, 4))
		return 3;
	return memcmp(ip, zero, 16) ? 0 : 1;
}

struct search {
	const struct rv_address *to;
	struct rv_sockets *found;
	int best;
};

static void consider(void *arg, bool v6, const uint8_t *ip, unsigned long inode)
{
	struct search *q = arg;
	int fit = fits(ip, v6, q->to);

	if (!fit || fit < q->best)
		return;
	if (fit > q->best)
		q->found->count = 0;
	q->best = fit;
	if (q->found->count < RV_SOCKETS_MAX)
		q->found->inodes[q->found->count++] = inode;
}

static void search_listeners(const char *table, bool v6, struct search *q)
{
	FILE *f = fopen(table, "re");
	struct row row;
	uint8_t ip[16];

	/* Those come first. */
	while (f && next_row(f, &row) && row.state == LISTENING)
		if (row.port == q->to->port && read_address(row.address, v6, ip))
			consider(q, v6, ip, row.inode);
	if (f)
		fclose(f);
}

void rv_port_listeners(const struct rv_address *to, struct rv_sockets *s)
{
	struct search q = {.to = to, .found = s};

	s->count = 0;
	if (rv_sockdiag_listeners(false, to->port, consider, &q) &&
		rv_sockdiag_listeners(true, to->port, consider, &q))
		return;
	s->count = 0;
	q.best = 0;
	search_listeners("/proc/net/tcp", false, &q);
	search_listeners("/proc/net/tcp6", true, &q);
}

bool rv_port_look(uint16_t port, bool listening, struct rv_port_use *use)
{
	const struct rv_address any = {.port = port, .any = true};
	struct rv_port_use six;
	struct rv_sockets s;

	if (listening) {
		rv_port_listeners(&any, &s);
		*use = (struct rv_port_use){.inode = s.count ? s.inodes[0] : 0, .listening = true};
		return s.count;
	}
	if (!search_table("/proc/net/tcp", port, use))
		return search_table("/proc/net/tcp6", port, use);
	if (use->closing && search_table("/proc/net/tcp6", port, &six) && !six.closing)
		*use = six;
	return true;
}

static void take(struct rv_sockets *s, const char *link)
{
	unsigned long inode;

	if (strncmp(link, "socket:[", 8) != 0)
		return;
	inode = strtoul(link + 8, NULL, 10);
	for (size_t i = 0; i < s->count; i++)
		if (s->inodes[i] == inode)
			s->inodes[i--] = s->inodes[--s->count];
}

/* False: what it has is not to be read. One that has ended has nothing. */
static bool take_of_process(struct rv_sockets *s, pid_t pid)
{
	struct dirent *entry;
	char path[64], link[64];
	bool all = true;
	ssize_t len;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT || errno == ESRCH;
	while (s->count && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		len = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		all = all && (len >= 0 || errno == ENOENT);
		link[len < 0 ? 0 : len] = 0;
		take(s, link);
	}
	closedir(dir);
	return all;
}

enum rv_held rv_sockets_take(struct rv_sockets *s, const pid_t *pids, size_t n)
{
	bool all = true;

	for (size_t i = 0; i < n && s->count; i++)
		all = take_of_process(s, pids[i]) && all;
	if (!s->count)
		return RV_HELD_YES;
	return all ? RV_HELD_NO : RV_HELD_UNKNOWN;
}

enum rv_held rv_port_held_by(uint16_t port, const pid_t *pids, size_t n)
{
	const struct rv_address any = {.port = port, .any = true};
	struct rv_sockets s;
	enum rv_held held;
	size_t all;

	rv_port_listeners(&any, &s);
	all = s.count;
	held = all ? rv_sockets_take(&s, pids, n) : RV_HELD_UNKNOWN;
	return s.count < all ? RV_HELD_YES : held;
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

static bool has_socket(pid_t pid, unsigned long inode)
{
	struct rv_sockets one = {.inodes = {inode}, .count = 1};

	take_of_process(&one, pid);
	return !one.count;
}

bool rv_inode_holder(unsigned long inode, pid_t *pid, char *to, size_t size)
{
	struct dirent *entry;
	bool found = false;
	DIR *dir = inode ? opendir("/proc") : NULL;

	while (dir && !found && (entry = readdir(dir))) {
		pid_t it = (pid_t)strtol(entry->d_name, NULL, 10);

		if (it <= 0 || !has_socket(it, inode))
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
