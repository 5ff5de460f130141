/* Whether somebody listens: see closed.h. The kernel is asked for the one socket that a connect would reach. */
#include "daemon/closed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "daemon/sockdiag.h"
#include "sys/fd.h"

#define SCHEME "http://"

/* "1.2.3.4" or "[::1]", n bytes. */
static bool take_host(struct rv_closed *c, const char *host, size_t n)
{
	char text[INET6_ADDRSTRLEN];

	c->v6 = n > 2 && host[0] == '[' && host[n - 1] == ']';
	if (c->v6) {
		host++;
		n -= 2;
	}
	if (n >= sizeof(text))
		return false;
	memcpy(text, host, n);
	text[n] = 0;
	return inet_pton(c->v6 ? AF_INET6 : AF_INET, text, c->ip) == 1 &&
		(c->v6 ? IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)c->ip) : c->ip[0] == 127);
}

static bool take_port(struct rv_closed *c, const char *digits, size_t n)
{
	char *end;
	unsigned long port;

	if (n < 1 || n > 5 || digits[0] < '0' || digits[0] > '9')
		return false;
	port = strtoul(digits, &end, 10);
	c->port = (uint16_t)port;
	return end == digits + n && port && port <= UINT16_MAX;
}

struct rv_closed rv_closed_of_url(const char *url)
{
	struct rv_closed c = {.port = 80};
	const char *at, *colon;
	size_t n;

	if (strncasecmp(url, SCHEME, strlen(SCHEME)) != 0)
		return (struct rv_closed){0};
	at = url + strlen(SCHEME);
	n = strcspn(at, "/?#");
	colon = memrchr(at, ':', n);
	if (colon && at[n - 1] != ']') {
		if (!take_port(&c, colon + 1, (size_t)(at + n - colon) - 1))
			return (struct rv_closed){0};
		n = (size_t)(colon - at);
	}
	return take_host(&c, at, n) ? c : (struct rv_closed){0};
}

static int look(const struct rv_closed *c)
{
	return rv_sockdiag_reached(c->v6, c->ip, c->port);
}

/* A kernel without this part says -ENOENT, too. So it has to find one that is there. */
static bool can_look(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct rv_closed c = {.ip = {127, 0, 0, 1}};
	socklen_t len = sizeof(a);
	rv_auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) || listen(fd, 1) ||
		getsockname(fd, (struct sockaddr *)&a, &len))
		return false;
	c.port = ntohs(a.sin_port);
	return !look(&c);
}

bool rv_closed_look(const struct rv_closed *c)
{
	static enum { UNTRIED, WORKS, USELESS } kernel; /* learned once; there is one thread */

	if (!c->port || kernel == USELESS)
		return false;
	if (kernel == UNTRIED)
		kernel = can_look() ? WORKS : USELESS;
	return kernel == WORKS && look(c) == -ENOENT;
}
