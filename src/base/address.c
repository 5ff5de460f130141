/* Addresses of this machine: see address.h. */
#include "base/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SCHEME "http://"

const char *rv_address_text(const struct rv_address *a, char *to, size_t size)
{
	char ip[INET6_ADDRSTRLEN] = "";

	if (a->any) {
		snprintf(to, size, "port %u", a->port);
		return to;
	}
	inet_ntop(a->v6 ? AF_INET6 : AF_INET, a->ip, ip, sizeof(ip));
	snprintf(to, size, a->v6 ? "[%s]:%u" : "%s:%u", ip, a->port);
	return to;
}

bool rv_address_make_local(struct rv_address *a)
{
	static const uint8_t zero[16], one[16] = {[15] = 1}, home[4] = {127, 0, 0, 1};

	if (!memcmp(a->ip, zero, a->v6 ? 16 : 4))
		memcpy(a->ip, a->v6 ? one : home, a->v6 ? 16 : 4);
	return a->v6 ? !memcmp(a->ip, one, 16) : a->ip[0] == 127;
}

/* ":8080", n bytes, or nothing at all. */
static bool read_port(struct rv_address *a, const char *s, size_t n)
{
	unsigned port = 0;

	a->port = 80;
	if (!n)
		return true;
	if (*s != ':' || n < 2 || n > 6)
		return false;
	for (size_t i = 1; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		port = port * 10 + (unsigned)(s[i] - '0');
	}
	a->port = (uint16_t)port;
	return port >= 1 && port <= UINT16_MAX;
}

/* "1.2.3.4", "::1" or "localhost", n bytes. */
static bool read_host(struct rv_address *a, const char *s, size_t n)
{
	char text[INET6_ADDRSTRLEN];

	if (n >= sizeof(text))
		return false;
	memcpy(text, s, n);
	text[n] = 0;
	a->either = !a->v6 && !strcasecmp(text, "localhost");
	return inet_pton(a->v6 ? AF_INET6 : AF_INET, a->either ? "127.0.0.1" : text, a->ip) == 1 &&
		rv_address_make_local(a);
}

bool rv_address_of_url(const char *url, struct rv_address *a)
{
	const char *host = url + strlen(SCHEME), *end, *behind;
	size_t n;

	*a = (struct rv_address){.port = 0};
	if (strncasecmp(url, SCHEME, strlen(SCHEME)) != 0)
		return false;
	n = strcspn(host, "/?#");
	behind = host + n;
	a->v6 = *host == '[';
	end = memchr(host, a->v6 ? ']' : ':', n);
	if (a->v6 && !end)
		return false;
	host += a->v6;
	end = end ? end : behind;
	if (read_host(a, host, (size_t)(end - host)) &&
		read_port(a, end + a->v6, (size_t)(behind - end) - a->v6))
		return true;
	*a = (struct rv_address){.port = 0};
	return false;
}
