/* Listening sockets by netlink: see sockdiag.h. */
#include "daemon/sockdiag.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "sys/fd.h"

/* The kernel answers within the call that asks, and has the next piece of a long answer ready when one was taken. So nothing
   here waits: one that does not answer so is not asked. */

/* A program for the kernel's filter: the local port is at least, and at most, this one. A jump to 4 behind the end refuses. */
struct request {
	struct nlmsghdr head;
	struct inet_diag_req_v2 what;
	struct nlattr attribute;
	struct inet_diag_bc_op ops[4];
};

static bool ask(int fd, bool v6, uint16_t port)
{
	const struct request q = {
		.head = {.nlmsg_len = sizeof(q),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.what = {.sdiag_family = v6 ? AF_INET6 : AF_INET,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = 1u << TCP_LISTEN},
		.attribute = {.nla_len = sizeof(q.attribute) + sizeof(q.ops),
			.nla_type = INET_DIAG_REQ_BYTECODE},
		.ops = {{INET_DIAG_BC_S_GE, 2 * sizeof(q.ops[0]), sizeof(q.ops) + 4}, {0, 0, port},
			{INET_DIAG_BC_S_LE, 2 * sizeof(q.ops[0]), 2 * sizeof(q.ops[0]) + 4},
			{0, 0, port}},
	};

	return send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q);
}

enum heard { HEARD_ALL, HEARD_MORE, HEARD_TROUBLE };

static enum heard hear(const char *bytes, size_t n, bool v6,
	void (*each)(void *arg, bool v6, const uint8_t *ip, unsigned long inode), void *arg)
{
	struct nlmsghdr head;
	struct inet_diag_msg one;
	int error;

	while (n >= sizeof(head)) {
		const char *data = bytes + NLMSG_HDRLEN;
		size_t step;

		memcpy(&head, bytes, sizeof(head));
		if (head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > n ||
			head.nlmsg_type == NLMSG_ERROR)
			return HEARD_TROUBLE;
		if (head.nlmsg_type == NLMSG_DONE) {
			if (head.nlmsg_len < NLMSG_HDRLEN + sizeof(error))
				return HEARD_ALL;
			memcpy(&error, data, sizeof(error));
			return error < 0 ? HEARD_TROUBLE : HEARD_ALL;
		}
		if (head.nlmsg_len < NLMSG_HDRLEN + sizeof(one))
			return HEARD_TROUBLE;
		memcpy(&one, data, sizeof(one));
		each(arg, v6, (const uint8_t *)one.id.idiag_src, one.idiag_inode);
		step = NLMSG_ALIGN(head.nlmsg_len);
		bytes += step < n ? step : n;
		n -= step < n ? step : n;
	}
	return HEARD_MORE;
}

bool rv_sockdiag_listeners(bool v6, uint16_t port,
	void (*each)(void *arg, bool v6, const uint8_t *ip, unsigned long inode), void *arg)
{
	rv_auto_fd fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	enum heard heard = HEARD_MORE;
	char bytes[8192];
	ssize_t n;

	if (fd < 0 || !ask(fd, v6, port))
		return false;
	while (heard == HEARD_MORE) {
		do
			n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return false;
		heard = hear(bytes, (size_t)n, v6, each, arg);
	}
	return heard == HEARD_ALL;
}

static bool ask_for_one(int fd, bool v6, const uint8_t *ip, uint16_t port)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 what;
	} q = {.head = {.nlmsg_len = sizeof(q),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST},
		.what = {.sdiag_family = v6 ? AF_INET6 : AF_INET,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = 1u << TCP_LISTEN,
			.id = {.idiag_sport = htons(port),
				.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};

	memcpy(q.what.id.idiag_src, ip, v6 ? 16 : 4);
	return send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q);
}

int rv_sockdiag_reached(bool v6, const uint8_t *ip, uint16_t port)
{
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} a;
	const struct nlmsgerr *no = NLMSG_DATA(&a.head);
	rv_auto_fd fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t n;

	if (fd < 0 || !ask_for_one(fd, v6, ip, port))
		return -errno;
	n = recv(fd, &a, sizeof(a), MSG_DONTWAIT);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*no)))
		return -EPROTO;
	return a.head.nlmsg_type == NLMSG_ERROR ? no->error : 0;
}
