/* Is an answer by HTTP the one that was wanted? Values only: who asked has the answer, and conf said what is
 * wanted. */
#ifndef WIRE_ANSWER_H
#define WIRE_ANSWER_H

#include <stddef.h>

#include "base/want.h"

struct rv_answer {
	const char *error; /* on the way there or back: no whole answer came; "" */
	bool hopeless; /* with an error: it could not even be asked, and never will be */
	int status;
	const char *body;
	size_t body_len;
	bool cut; /* the body was longer */
};

/* RV_OK: it is. RV_RETRY: not yet. RV_FAIL: it never will be. why: "GET http://127.0.0.1/health answered 503,
   expected 2xx"; also when it is RV_OK. What was sent (values of headers, the body) is never in it, even when
   the answer repeats it; of the answer's body there is a short piece. */
enum rv_verdict rv_answer_judge(
	const struct rv_want *w, const struct rv_answer *a, char *why, size_t size);

#endif
