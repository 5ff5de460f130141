/* A port of this machine at which nobody listens yet. As long as that is so, whoever wants to ask there needs not
 * try: a look costs a tenth of a request through the plugin host, the server sees nothing of it, and the time
 * belongs to the services that start. */
#ifndef DAEMON_CLOSED_H
#define DAEMON_CLOSED_H

#include <stdbool.h>
#include <stdint.h>

struct rv_closed {
	uint8_t ip[16]; /* 4 or 16 bytes, network order */
	bool v6;
	uint16_t port; /* 0: not known */
};

/* The place that a plain http URL names, when its host is a numeric address of loopback. Else it is not known. */
struct rv_closed rv_closed_of_url(const char *url);
/* True: nobody listens there. False: somebody does, or it cannot be told. */
bool rv_closed_look(const struct rv_closed *c);

#endif
