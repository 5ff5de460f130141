/* The control protocol as values: JSON-RPC 2.0, one object a line. Bytes in, values out, and back.
 *
 *   --> {"jsonrpc":"2.0","id":1,"method":"restart","params":{"names":["web"],"timeout_ms":5000}}
 *   <-- {"jsonrpc":"2.0","id":1,"result":{"ok":true,"services":[{"name":"web","ok":true,...}]}}
 *   <-- {"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"...","data":{"class":"no-such-service"}}}
 *
 * Requests are read with cJSON; answers are written straight into a buffer. */
#ifndef WIRE_RPC_H
#define WIRE_RPC_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/lists.h"
#include "wire/retry.h"
#include "wire/variables.h"

#define RV_RPC_LINE_MAX 65536 /* bytes of one request */
#define RV_RPC_ID_MAX	160 /* bytes of one id as JSON */

/* The methods; their names are the verbs of reevectl. `open`: everybody who can connect may use it. */
#define RV_VERBS(X)                            \
	X(RV_VERB_STATUS, "status", true)      \
	X(RV_VERB_WAIT, "wait", true)          \
	X(RV_VERB_WHY, "why", true)            \
	X(RV_VERB_EVENTS, "events", true)      \
	X(RV_VERB_VERSION, "version", true)    \
	X(RV_VERB_START, "start", false)       \
	X(RV_VERB_STOP, "stop", false)         \
	X(RV_VERB_RESTART, "restart", false)   \
	X(RV_VERB_RECREATE, "recreate", false) \
	X(RV_VERB_SIGNAL, "signal", false)     \
	X(RV_VERB_PAUSE, "pause", false)       \
	X(RV_VERB_RESUME, "resume", false)     \
	X(RV_VERB_RELOAD, "reload", false)     \
	X(RV_VERB_ENV, "env", false)           \
	X(RV_VERB_LOGS, "logs", false)         \
	X(RV_VERB_CHECK, "check", false)       \
	X(RV_VERB_PLAN, "plan", false)         \
	X(RV_VERB_PLUGINS, "plugins", false)   \
	X(RV_VERB_SHUTDOWN, "shutdown", false)

#define RV_VERB_ENUM(id, name, open) id,
enum rv_verb { RV_VERBS(RV_VERB_ENUM) RV_VERB_COUNT };
const char *rv_verb_name(enum rv_verb v);
bool rv_verb_from_name(const char *name, enum rv_verb *v);
/* The verb that is probably meant, or NULL. */
const char *rv_verb_nearest(const char *word);
bool rv_verb_is_open(enum rv_verb v);

/* Error codes of the protocol: those of JSON-RPC, and ours, one a class. */
#define RV_RPC_CODES(X)                               \
	X(RV_RPC_PARSE, -32700, "parse")              \
	X(RV_RPC_INVALID, -32600, "invalid-request")  \
	X(RV_RPC_NO_METHOD, -32601, "no-such-method") \
	X(RV_RPC_PARAMS, -32602, "usage")             \
	X(RV_RPC_INTERNAL, -32603, "internal")        \
	X(RV_RPC_FAILED, -32000, "failed")            \
	X(RV_RPC_NO_SUCH, -32001, "no-such-service")  \
	X(RV_RPC_DENIED, -32002, "denied")            \
	X(RV_RPC_TIMEOUT, -32003, "timeout")          \
	X(RV_RPC_STALE, -32004, "stale")              \
	X(RV_RPC_REFUSED, -32005, "refused")          \
	X(RV_RPC_NOT_READY, -32006, "not-ready")

#define RV_RPC_ENUM(id, code, class) id = (code),
enum rv_rpc_code { RV_RPC_CODES(RV_RPC_ENUM) };

struct rv_rpc_error {
	enum rv_rpc_code code;
	unsigned marks; /* enum rv_mark, beside that of a stale code */
	uint64_t present; /* of a stale one: the generation that is there; else 0 */
	char text[1000];
};
/* Sets *e and returns false. */
bool rv_rpc_fail(struct rv_rpc_error *e, enum rv_rpc_code code, const char *format, ...)
	RV_PRINTF(3, 4);

enum rv_rpc_until { RV_RPC_UNTIL_READY, RV_RPC_UNTIL_STOPPED, RV_RPC_UNTIL_EXITED };

/* An option of a plugin for one start: `--option KEY=VALUE`. */
#define RV_RPC_OPTIONS_MAX 64
struct rv_rpc_option {
	const char *key, *value;
};

struct cJSON;

/* One request. All is owned by it until rv_request_fini. */
struct rv_request {
	struct cJSON *tree;
	char id[RV_RPC_ID_MAX]; /* as JSON text */
	bool quiet; /* a notification: it has no id, and is never answered */
	enum rv_verb verb;
	const char **names;
	size_t name_count;
	const char *few[8]; /* where `names` points to when they are few */
	bool all; /* start, stop, restart: every service */
	bool no_wait;
	bool follow;
	bool if_lost;
	bool dry_run; /* reload */
	bool has_timeout;
	bool has_generation;
	rv_time timeout; /* ns */
	uint64_t generation; /* the life that is meant; for one name only */
	int signal;
	uint32_t lines; /* logs, events: 0: all that is kept */
	struct rv_rpc_option *options; /* start, restart: of the one service that is named */
	size_t option_count;
	struct rv_variables *variables; /* env: to be set; NULL: it is only looked at */
	bool replace; /* env: all others go */
	bool show_values; /* env */
	enum rv_rpc_until until;
};

/* A line without its newline. On false `r->id` is what the error's answer must carry ("null" when it could
   not be found), and e is set; fini is needed in both cases. */
RV_MUST_CHECK bool rv_request_read(
	const char *line, size_t n, struct rv_request *r, struct rv_rpc_error *e);
void rv_request_fini(struct rv_request *r);

/* {"jsonrpc":"2.0","id":ID,"result": -- the caller appends the value and then rv_rpc_end(). */
void rv_rpc_begin(struct rv_buf *to, const char *id);
void rv_rpc_end(struct rv_buf *to);
/* A whole error line. names: what data.names lists, may be NULL. */
void rv_rpc_put_error(struct rv_buf *to, const char *id, const struct rv_rpc_error *e,
	const char *const *names, size_t count);

/* Parts of a start, in microseconds; negative: it did not come to that. */
struct rv_rpc_durations {
	int64_t spawn_us, ready_us, init_us;
};
/* {"spawn_ms":0.412,"ready_ms":12.031,"init_ms":null} */
void rv_rpc_put_durations(struct rv_buf *to, const struct rv_rpc_durations *d);
/* null, {"code":3} or {"signal":"KILL","number":9} */
void rv_rpc_put_exit(struct rv_buf *to, rv_exit e);

/* One service as `status` shows it. */
struct rv_rpc_service {
	const char *name, *plugin, *summary; /* summary may be NULL */
	enum rv_state state;
	const char *why, *detail; /* "" when there is nothing to say */
	const char *other; /* the service that `why` is about, or NULL */
	const char *status_text; /* its own words about itself, or NULL: the member is left out */
	bool essential, enabled, unproven, held, paused, disabled, recreate;
	uint64_t lost; /* the life that was lost and has not been replaced; 0: none */
	pid_t pid; /* 0: none */
	uint64_t generation;
	uint32_t restarts;
	rv_exit exit;
	rv_time since, uptime, due; /* ns ago, ns, ns from now; due < 0: not */
	struct rv_rpc_durations took;
};
void rv_rpc_put_service(struct rv_buf *to, const struct rv_rpc_service *s);

/* What a service waits for, as `why` tells it. */
struct rv_rpc_cause {
	const char *name;
	enum rv_state state;
	pid_t pid; /* 0: none */
	uint64_t generation;
	rv_time since; /* ns ago */
	const char *sentence;
	const char *waits_for; /* a word: "check"; "nothing" */
	const char *other, *root; /* names, or NULL */
	const char *answer; /* of its check, or NULL */
	rv_time trying; /* how long it has been asked, ns; < 0: it is not */
	uint32_t attempt;
	rv_time left; /* ns; < 0: no bound */
	const char *const *next; /* who starts when it is there */
	size_t next_count;
	const char *const *options; /* names of those that this life was given */
	size_t option_count;
};
void rv_rpc_put_cause(struct rv_buf *to, const struct rv_rpc_cause *c);

/* Something that happened: a state was entered, unless `word` says otherwise. */
struct rv_rpc_event {
	const char *
		word; /* "paused", "lost", ...: the state is as it was; NULL: "state"; "reloaded", "environment": of no service */
	uint64_t number;
	int64_t wall; /* ns since 1970, UTC */
	rv_time at; /* since reeve began */
	const char *name; /* NULL: the boot was decided, or what `word` says */
	const char *boot;
	enum rv_state state;
	pid_t pid; /* 0: none */
	uint64_t generation;
	rv_exit exit;
	const char *why, *other, *detail;
};
void rv_rpc_put_event(struct rv_buf *to, const struct rv_rpc_event *e);

/* What became of one service in start, stop, restart, wait, signal, pause, resume. */
enum rv_rpc_outcome {
	RV_DONE_YET, /* no_wait: under way */
	RV_DONE_OK,
	RV_DONE_FAILED,
	RV_DONE_NOT_READY, /* wait: it will not come; signal: it does not run */
	RV_DONE_TIMEOUT,
};
struct rv_rpc_loss;
struct rv_rpc_result {
	const char *name;
	enum rv_rpc_outcome outcome;
	enum rv_state state;
	uint64_t generation;
	pid_t pid;
	const char *why; /* a sentence; "" when there is nothing to say */
	const char *tail; /* the last lines of its stderr, or NULL */
	size_t tail_len;
	unsigned marks; /* enum rv_mark, of what is not ok */
	const struct rv_rpc_loss *loss; /* of recreate, else NULL */
};

/* What became of a report of loss. */
struct rv_rpc_loss {
	const char *verdict; /* "alive", "lost", "unclear"; NULL: it was not asked */
	int status; /* the HTTP status that decided that; 0: none */
	uint64_t lost; /* the life that was lost; 0: none */
	bool replaced; /* another one is there instead */
	const char *notice; /* what this means for whoever used it, or NULL */
};
void rv_rpc_put_result(struct rv_buf *to, const struct rv_rpc_result *r);

#endif
