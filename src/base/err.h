/* One error: a class, and a sentence for the user. Owned by the caller, fixed size, no allocation. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

#define RV_MUST_CHECK	__attribute__((warn_unused_result))
#define RV_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* Classes of errors; each maps to an exit status (design: `reeve` 78, 10, 11, 12, 70). */
enum rv_code {
	RV_ERR_NONE,
	RV_ERR_CONFIG, /* the configuration is wrong: 78 */
	RV_ERR_USAGE, /* the command line is wrong: 2 */
	RV_ERR_SYSTEM, /* the system refused: errno is in the text */
	RV_ERR_START, /* a service could not be started: 10 */
	RV_ERR_NO_SUCH, /* no service of that name: reevectl 4 */
	RV_ERR_DENIED, /* not permitted: reevectl 5 */
	RV_ERR_TIMEOUT, /* a bound passed: reevectl 6 */
	RV_ERR_STALE, /* the request is for an earlier life: reevectl 8 */
	RV_ERR_REFUSED, /* not possible now, e.g. a start during shutdown: reevectl 1 */
	RV_ERR_PROTOCOL, /* the peer sent what it may not send */
	RV_ERR_INTERNAL, /* our own mistake: 70 */
};

struct rv_err {
	enum rv_code code;
	char text[1000]; /* "cannot <verb> <object>: <reason>", lower case, no full stop */
};

/* Sets *e and returns false, so that a function can `return rv_fail(e, ...)`. e may be NULL. */
bool rv_fail(struct rv_err *e, enum rv_code code, const char *format, ...) RV_PRINTF(3, 4);
/* The same with ": <strerror(number)>" behind it; the class is RV_ERR_SYSTEM. */
bool rv_fail_errno(struct rv_err *e, int number, const char *format, ...) RV_PRINTF(3, 4);
/* Puts "<format>: " in front of the text that is there, keeps the class; returns false. */
bool rv_fail_in(struct rv_err *e, const char *format, ...) RV_PRINTF(2, 3);

#endif
