/* A TCP address of this machine, as a client of it names it. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rv_address {
	uint8_t ip[16]; /* network order; 4 bytes for IPv4 */
	uint16_t port; /* 0: not known */
	bool v6;
	bool any; /* whatever the IP address */
	bool either; /* localhost: if not there, then at ::1 */
};

/* "127.0.0.1:80", "[::1]:80", "port 80". */
const char *rv_address_text(const struct rv_address *a, char *to, size_t size);
/* To connect to "any address" is to connect to oneself, and then a says so. False: elsewhere. */
bool rv_address_make_local(struct rv_address *a);
/* Host and port of a plain http URL, where the host is this machine's loopback. False, with port 0: it leads elsewhere, or is
   not written as strictly as we need it to be sure: with a name, a user, or what is no port behind the host. */
bool rv_address_of_url(const char *url, struct rv_address *a);

#endif
