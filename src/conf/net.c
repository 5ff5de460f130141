/* Numeric addresses with a port. */
#include "conf/whole.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/text.h"

static bool read_port(const char *s, uint16_t *port)
{
	int64_t n;

	if (*s < '0' || *s > '9' || !rv_text_int(s, &n) || n < 1 || n > 65535)
		return false;
	*port = (uint16_t)n;
	return true;
}

bool rv_net_address(const char *s, bool port_only, uint8_t ip[16], uint16_t *port, bool *v6)
{
	const char *colon = strrchr(s, ':'), *from = s;
	char host[64];
	size_t n;

	memset(ip, 0, 16);
	*v6 = false;
	if (!colon) {
		static const uint8_t loopback[4] = {127, 0, 0, 1};

		memcpy(ip, loopback, 4);
		return port_only && read_port(s, port);
	}
	n = (size_t)(colon - s);
	if (*s == '[' && n > 2 && colon[-1] == ']') {
		*v6 = true;
		from++;
		n -= 2;
	}
	if (!n || n >= sizeof(host))
		return false;
	memcpy(host, from, n);
	host[n] = 0;
	if (!*v6 && !strcmp(host, "localhost"))
		strcpy(host, "127.0.0.1");
	return inet_pton(*v6 ? AF_INET6 : AF_INET, host, ip) == 1 && read_port(colon + 1, port);
}
