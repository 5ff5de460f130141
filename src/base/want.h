/* One HTTP request, and which answers to it are wanted. Values only: conf reads them, the daemon hands
 * them on, and the plugin host asks and judges by them. */
#ifndef BASE_WANT_H
#define BASE_WANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lists.h"

struct rv_statuses { /* both ends included */
	uint16_t from, to;
};

struct rv_status_list {
	const struct rv_statuses *at;
	uint32_t count;
};

enum rv_member_kind { RV_MEMBER_THERE, RV_MEMBER_STRING, RV_MEMBER_NUMBER, RV_MEMBER_BOOL };
#define RV_MEMBER_KINDS (RV_MEMBER_BOOL + 1)

/* A member of the JSON object that an answer's body must be. */
struct rv_member {
	const char *
		path; /* as RFC 6901 writes it: "/database/state", ~1 for a / and ~0 for a ~ in a key */
	uint8_t kind; /* enum rv_member_kind */
	const char *value; /* as written: "ok", "5", "true"; "" for THERE */
};

enum {
	RV_WANT_STATUSES = 64, /* ranges in one list */
	RV_WANT_MEMBERS = 64,
	RV_WANT_HEADERS = 64,
	RV_WANT_SEND = 65536, /* bytes sent with a request */
};

struct rv_want {
	const char *url, *method; /* never NULL */
	const char *const
		*headers; /* "Name: value", NULL-terminated, or NULL. Values are never shown */
	const char *send; /* body of the request; NULL: none */
	rv_time timeout; /* of one request; 0: what the attempt has left */

	/* A status is looked for in these, in this order; one that is in none of them is worth another try
	   when it is 429 or 5xx, and else final. */
	struct rv_status_list status, retry, fail; /* none in status: 2xx */

	/* What the body must be; all that is given must hold. */
	const char *body; /* exactly; NULL: anything */
	const struct rv_member *json;
	uint32_t json_count; /* above 0: a JSON object */
	const char *regex; /* POSIX extended, as written; NULL: none */
	bool patient; /* a wrong body is worth another try */
};

#endif
