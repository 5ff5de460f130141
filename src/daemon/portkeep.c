/* Keeping ports: see portkeep.h. */
#include "daemon/portkeep.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "daemon/holder.h"
#include "daemon/portguard.h"
#include "sys/fd.h"

struct rv_portkeep {
	const uint16_t *ports;
	size_t count;
	int fds[]; /* -1: it is a life's, or somebody else's */
};

/* On all addresses, of both families where there are two. */
static int bind_at_all(uint16_t port)
{
	const struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	rv_auto_fd fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int off = 0;

	if (fd >= 0 && !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off))) {
		if (rv_port_bind(fd, (const struct sockaddr *)&six, sizeof(six)))
			return rv_fd_steal(&fd);
		if (errno == EADDRINUSE || errno == EACCES)
			return -1;
	}
	rv_fd_close(&fd);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && rv_port_bind(fd, (const struct sockaddr *)&four, sizeof(four)))
		return rv_fd_steal(&fd);
	return -1;
}

struct rv_portkeep *rv_portkeep_create(const uint16_t *ports, size_t n)
{
	struct rv_portkeep *k = calloc(1, sizeof(*k) + n * sizeof(k->fds[0]));

	if (!k)
		return NULL;
	k->ports = ports;
	k->count = n;
	for (size_t i = 0; i < n; i++)
		k->fds[i] = -1;
	rv_portkeep_hold(k);
	return k;
}

void rv_portkeep_destroy(struct rv_portkeep *k)
{
	rv_portkeep_release(k);
	free(k);
}

void rv_portkeep_rebind(struct rv_portkeep *k, const uint16_t *ports)
{
	if (k)
		k->ports = ports;
}

void rv_portkeep_hold(struct rv_portkeep *k)
{
	for (size_t i = 0; k && i < k->count; i++)
		if (k->fds[i] < 0)
			k->fds[i] = bind_at_all(k->ports[i]);
}

void rv_portkeep_release(struct rv_portkeep *k)
{
	for (size_t i = 0; k && i < k->count; i++)
		rv_fd_close(&k->fds[i]);
}

static bool is_held(const struct rv_portkeep *k, uint16_t port)
{
	for (size_t i = 0; k && i < k->count; i++)
		if (k->ports[i] == port && k->fds[i] >= 0)
			return true;
	return false;
}

/* What cannot be bound for another reason than a listener may still do for the service. */
uint16_t rv_portkeep_taken(struct rv_portkeep *k, const uint16_t *ports, size_t n)
{
	rv_portkeep_hold(k);
	for (size_t i = 0; i < n; i++) {
		rv_auto_fd fd = -1;

		if (is_held(k, ports[i]))
			continue;
		fd = bind_at_all(ports[i]);
		if (fd < 0 && !rv_port_is_free(ports[i]))
			return ports[i];
	}
	return 0;
}
