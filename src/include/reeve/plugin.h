/* reeve/plugin.h: everything a plugin of reeve sees.
 *
 * A plugin teaches reeve one kind of service: how to start it, when it is really ready, what must
 * be done before its signals and after its end. It is a shared object, PLUGIN-DIR/NAME.so, that
 * exports one constant:
 *
 *	REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
 *		.abi = REEVE_ABI, .size = sizeof(struct reeve_plugin),
 *		.name = "hello", .summary = "says hello", .options = options, .ops = &ops,
 *	};
 *
 * Plugins are loaded by the plugin host, a process of its own beside reeve. When a plugin crashes or
 * hangs, the host is replaced, the call fails with a message that names the plugin, and no service
 * is touched for it.
 *
 * A hook is a step function over data. It never blocks on the world, never calls back, and holds no
 * descriptor between turns. Each turn hands in what the last request brought and returns the next
 * thing to do:
 *
 *	static enum reeve_next probe(void *self, struct reeve_turn *t)
 *	{
 *		if (t->step == 0) {
 *			t->http.url = "http://127.0.0.1:8080/health";
 *			return REEVE_HTTP;
 *		}
 *		if (t->http.status == 200)
 *			return REEVE_OK;
 *		t->why = reeve_fmt(t, "GET /health answered %d, expected 200", t->http.status);
 *		return REEVE_RETRY;
 *	}
 *
 * Bounds: a turn may take 100 ms of CPU and 1 s of wall time; a hook run may take 1000 turns and the
 * time that left_ns tells. Short reads of local files are allowed in a turn.
 *
 * Units: times are int64_t nanoseconds of a monotonic clock, or lengths of time. Strings end with NUL.
 * Ownership: what a turn hands in is valid until the hook returns. What a hook hands out must be
 * valid when it returns, is copied at once, and is built best with the helpers at the end of this
 * file. Members are only ever appended to structures; `size` members tell how many there are. */
#ifndef REEVE_PLUGIN_H
#define REEVE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REEVE_ABI 1

#define REEVE_EXPORT __attribute__((visibility("default")))

#define REEVE_MEMO  4096 /* bytes that a service keeps over turns, hooks, and deaths of the host */
#define REEVE_ARENA 65536 /* bytes of strings that one turn can build */
#define REEVE_BODY  65536 /* bytes of an HTTP body or of a command's output; the rest is cut */

/* What a hook returns. Anything else fails the call. */
enum reeve_next {
	REEVE_OK, /* yes: ready, done, alive */
	REEVE_HTTP, /* perform t->http, then call again */
	REEVE_RUN, /* run t->run in the service's context, then call again */
	REEVE_WAIT, /* call again after t->wait_ns; a pause inside an attempt */
	REEVE_RETRY, /* not yet, or cannot tell: this attempt is over, t->why says what is missing */
	REEVE_FAIL, /* no, and it never will: t->why says what is wrong and what to do */
};

/* ---- options ---------------------------------------------------------------------------------- */

enum reeve_type {
	REEVE_STRING,
	REEVE_INT,
	REEVE_BOOL,
	REEVE_DURATION, /* min and max in ns */
	REEVE_SIZE, /* bytes */
	REEVE_PORT, /* 1..65535 */
	REEVE_PATH, /* a string that names a file */
	REEVE_WORDS, /* a string split at blanks, or a list of strings */
	REEVE_SECRET, /* a string that is shown as *** everywhere */
	REEVE_JSON, /* any YAML, handed over as JSON text; a string is taken as it is */
	REEVE_SECRET_JSON, /* the same, and shown as *** everywhere */
};

/* A row of the option table; a row without a name ends it. From it come the checks of a
   configuration, `reevectl plugins` and the documentation. */
struct reeve_option {
	const char *name; /* kebab-case */
	enum reeve_type type;
	int64_t min, max; /* of numbers; both 0: no range */
	const char
		*preset; /* default, as a user would write it; NULL: none, the option is not set */
	const char *env; /* environment variable of reeve that sets it (non-empty only): it beats
	                        the default and loses to the configuration; NULL: none */
	const char *summary; /* one sentence, lower case */
};

enum reeve_from { REEVE_FROM_PRESET, REEVE_FROM_ENV, REEVE_FROM_CONFIG };

/* An option's effective value, already checked against the table. */
struct reeve_value {
	const char *name;
	enum reeve_type type;
	enum reeve_from from;
	const char *text; /* NULL: not set. WORDS: words, each with its NUL; see reeve_word */
	size_t len; /* bytes of text, without the last NUL */
	int64_t number; /* INT, PORT, SIZE; DURATION: ns; BOOL: 0 or 1 */
};

/* ---- what hooks ask for, and what comes back -------------------------------------------------- */

/* How a request ended on its way; REEVE_HTTP_DONE means that a whole answer came. */
enum reeve_transport {
	REEVE_HTTP_DONE,
	REEVE_HTTP_REFUSED, /* nobody listens */
	REEVE_HTTP_TIMEOUT,
	REEVE_HTTP_BROKEN, /* reset, closed early, or not HTTP: `status` may be known */
	REEVE_HTTP_INVALID, /* could not be asked at all: bad URL, or no HTTP client */
};

/* http:// only. Redirects are never followed, proxies never asked, connections not reused. */
struct reeve_http {
	/* asked; empty at the start of each turn */
	const char *method; /* NULL: GET, or POST with a body */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
	const void *body;
	size_t body_len;
	int64_t timeout_ns; /* 0: 2 s; never more than left_ns */
	/* answered; of the request of the turn before */
	enum reeve_transport transport;
	const char *error; /* the transport error as words: "connection refused"; or "" */
	int status; /* 0: no answer */
	const char *answer_headers; /* lines "Name: value\n" */
	const char *answer; /* the body, with a NUL behind it */
	size_t answer_len;
	bool truncated; /* the body was longer than REEVE_BODY, or broke off */
};

/* A command, run by reeve as the service's user, in its folder, with its environment. */
struct reeve_run {
	/* asked; empty at the start of each turn */
	const char *const *argv;
	const void *input; /* for its stdin; NULL: /dev/null */
	size_t input_len;
	int64_t timeout_ns; /* 0: 5 s; never more than left_ns */
	/* answered */
	const char *error; /* it could not be run, or did not end in time; or "" */
	int status; /* 0..255 its code, 256 + n: killed by signal n, -1: did not run */
	const char *output; /* stdout and stderr, with a NUL behind */
	size_t output_len;
	bool truncated;
};

enum reeve_kind {
	REEVE_AS_CONFIGURED,
	REEVE_DAEMON,
	REEVE_TASK,
	REEVE_LAUNCHER, /* exit 0 means that it left a daemon behind: t->pid_file, t->main_port */
};

/* The recipe that start returns. Who it runs as, its folder, its log and its descriptors are the
   configuration's matter, not the plugin's. */
struct reeve_process {
	const char *const *argv; /* NULL-terminated. The configuration's `command` replaces it */
	/* Additions NAME=VALUE, NULL-terminated; weaker than the configuration's. */
	const char *const *env;
	enum reeve_kind type; /* weaker than the configuration's `type` */
	const uint16_t *ports; /* TCP ports that it will bind itself, for the clash check */
	size_t port_count;
	int32_t main_pid; /* not used: no pid is known before the start. See t->pid_file */
	const char *log_file; /* the log path that its own convention wants; "-": reeve's own
	                            output; NULL: the configuration's */
	bool is_static; /* true: the same for every start until the configuration changes, so
	                            that start need not be asked again */
};

/* Which hooks need not be called: what they would answer is REEVE_OK. */
#define REEVE_UNUSED_UPDATE  1u
#define REEVE_UNUSED_STOP    2u
#define REEVE_UNUSED_CLEANUP 4u

/* ---- facts ------------------------------------------------------------------------------------ */

/* A socket that reeve binds and the service inherits. */
struct reeve_listener {
	const char *name;
	const char *address; /* "127.0.0.1:49999", "[::]:80", "/run/x.sock" */
	uint16_t port; /* 0: a UNIX socket */
	int32_t fd; /* its number in the service */
	bool listening; /* reeve has called listen; else the service shall */
};

/* Another service that this one needs, wants or starts after; for check. */
struct reeve_peer {
	const char *service, *plugin;
	const char *const *argv; /* what will be executed; NULL: known at start only */
};

/* Everything about one turn of one run of a hook. */
struct reeve_turn {
	uint32_t size; /* sizeof(struct reeve_turn) of the host */
	uint32_t step; /* turns before this one in this run; 0 first */
	bool rehearse; /* start is asked when configuration is read: answer without HTTP, RUN
	                        or WAIT; RETRY says that only a real start can tell */
	bool again; /* an earlier run of this hook may have acted without having been heard
	                        (the host died): look before you act twice */
	int64_t left_ns; /* until this run must have ended */

	/* the service */
	const char *service; /* its name */
	const struct reeve_value *options; /* one for each row of the table, in its order */
	size_t option_count;
	const char *const *command; /* the configuration's command; NULL: the plugin's recipe */
	const char *const *env; /* its whole environment NAME=VALUE, NULL-terminated */
	const struct reeve_listener *listeners;
	size_t listener_count;
	const uint16_t *ports; /* the configuration's `ports` */
	size_t port_count;

	/* its life */
	uint64_t generation; /* one for each start, never reused */
	int32_t pid; /* main process; 0: none */
	int32_t exit; /* cleanup: how it ended, as reeve_run.status; -1: not known */
	uint32_t attempt; /* from 1, of this hook in this life */

	/* yours to change */
	unsigned char *memo; /* REEVE_MEMO bytes, zero in a new generation; kept by reeve */
	struct reeve_http http;
	struct reeve_run run;
	int64_t wait_ns;
	struct reeve_process process; /* of start */
	const char *why; /* the sentence that a user will read; lower case, no full stop */

	/* where the helpers build strings; empty at the start of each turn */
	char *arena;
	size_t arena_used, arena_room;
	bool arena_full; /* something did not fit: the call fails and says so */

	/* check only: whom it depends on */
	const struct reeve_peer *peers;
	size_t peer_count;

	/* of start, when t->process.type is REEVE_LAUNCHER: how its daemon is told from whatever else it
	   leaves behind. Neither: the only, or the oldest process. The configuration's main-pid is
	   stronger. */
	const char *pid_file; /* the daemon writes its pid there */
	uint16_t main_port; /* the daemon listens on this TCP port */

	/* of start: hooks that have nothing to do for a service with these options, REEVE_UNUSED_... Reeve goes on
	   without calling them, until a start says otherwise. */
	uint32_t unused;
	/* of update: the variables that the sandbox was given when it was created, or since then, as NAME=VALUE,
	   NULL-terminated: all of them, each time, also when it was told before. `env` is another thing: what its process has,
	   where the configuration is stronger. */
	const char *const *variables;
	size_t variable_count;
	/* Names that were among them once and are not any more: if the service still has them, it has them from us. */
	const char *const *dropped;
	size_t dropped_count;
};

/* ---- the plugin ------------------------------------------------------------------------------- */

/* self: state_size bytes of this service, zeroed at first; may be fresh at any turn 0, because the
   host can be replaced between runs. What must survive goes into t->memo. */
typedef enum reeve_next (*reeve_hook)(void *self, struct reeve_turn *t);

/* Each may be NULL. */
struct reeve_ops {
	uint32_t size; /* sizeof(struct reeve_ops) */
	reeve_hook start; /* OK: t->process is the recipe */
	reeve_hook probe; /* OK: ready   RETRY: not yet   FAIL: never */
	reeve_hook
		update; /* tell a running service t->variables: before it counts as ready, and when they have
		           changed. It is not asked while the sandbox has none. OK: it has taken all of them;
		           anything else: it has not, and a start has failed */
	reeve_hook stop; /* OK: now send the signals */
	reeve_hook cleanup; /* after the last process is gone; the next life waits for it */
	reeve_hook
		confirm; /* somebody suspects that it is lost. OK: alive   RETRY: cannot tell   FAIL: lost,
	                       and t->why says by what: only this, with a reason, has it replaced */
	reeve_hook check; /* everything that can be verified without starting, for `reeve check`:
	                     OK: all is well   RETRY: cannot tell here   FAIL: a start would fail.
	                     Each line of t->why is told for itself: as a mistake after FAIL unless
	                     it begins with "warning: ", as a warning after OK and RETRY */
};

struct reeve_plugin {
	uint32_t abi; /* REEVE_ABI */
	uint32_t size; /* sizeof(struct reeve_plugin) */
	size_t state_size; /* of one service's `self`; at most 1 MiB */
	const char *name; /* as the file: NAME.so */
	const char *summary; /* one sentence, lower case */
	const struct reeve_option *options; /* NULL: none */
	const struct reeve_ops *ops; /* never NULL; a table of NULLs for a plugin without hooks */
};

/* ---- helpers: strings in the arena of the turn ------------------------------------------------ */

/* n zeroed bytes, aligned for any type; NULL and arena_full when they do not fit. */
static inline void *reeve_alloc(struct reeve_turn *t, size_t n)
{
	size_t at = (t->arena_used + 15) & ~(size_t)15;
	char *p;

	if (at > t->arena_room || n > t->arena_room - at) {
		t->arena_full = true;
		return NULL;
	}
	p = t->arena + at;
	__builtin_memset(p, 0, n);
	t->arena_used = at + n;
	return p;
}

/* The first n bytes of s as a string; "" when they do not fit. */
static inline const char *reeve_str(struct reeve_turn *t, const char *s, size_t n)
{
	char *p = (char *)reeve_alloc(t, n + 1);

	if (!p)
		return "";
	__builtin_memcpy(p, s, n);
	return p;
}

/* As printf; "" when it does not fit. */
static inline const char *reeve_fmt(struct reeve_turn *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static inline const char *reeve_fmt(struct reeve_turn *t, const char *format, ...)
{
	char *p = t->arena + t->arena_used;
	size_t room = t->arena_room - t->arena_used;
	__builtin_va_list ap;
	int n;

	if (room == 0) {
		t->arena_full = true;
		return "";
	}
	__builtin_va_start(ap, format);
	n = __builtin_vsnprintf(p, room, format, ap);
	__builtin_va_end(ap);
	if (n < 0 || (size_t)n >= room) {
		*p = 0;
		t->arena_full = true;
		return "";
	}
	t->arena_used += (size_t)n + 1;
	return p;
}

/* A NULL-terminated list of strings that grows: an argv, headers, environment additions. Start with
   {0}; read `v`. The strings are not copied. */
struct reeve_list {
	const char **v;
	size_t n, room;
};

static inline void reeve_add(struct reeve_turn *t, struct reeve_list *l, const char *s)
{
	if (l->n + 1 >= l->room) {
		size_t room = l->room ? 2 * l->room : 16;
		const char **v = (const char **)reeve_alloc(t, room * sizeof(*v));

		if (!v)
			return;
		if (l->n)
			__builtin_memcpy(v, l->v, l->n * sizeof(*v));
		l->v = v;
		l->room = room;
	}
	l->v[l->n++] = s;
}

/* An argv of these words; end with NULL. */
static inline const char *const *reeve_argv(struct reeve_turn *t, ...) __attribute__((sentinel));
static inline const char *const *reeve_argv(struct reeve_turn *t, ...)
{
	struct reeve_list l = {0};
	__builtin_va_list ap;
	const char *s;

	__builtin_va_start(ap, t);
	while ((s = __builtin_va_arg(ap, const char *)))
		reeve_add(t, &l, s);
	__builtin_va_end(ap);
	return l.v;
}

/* One port as the list that t->process.ports wants. */
static inline void reeve_port(struct reeve_turn *t, uint16_t port)
{
	uint16_t *p = (uint16_t *)reeve_alloc(t, sizeof(*p));

	if (p) {
		*p = port;
		t->process.ports = p;
		t->process.port_count = 1;
	}
}

/* ---- helpers: options and environment --------------------------------------------------------- */

/* NULL: no such row in the table. */
static inline const struct reeve_value *reeve_option(const struct reeve_turn *t, const char *name)
{
	for (size_t i = 0; i < t->option_count; i++)
		if (__builtin_strcmp(t->options[i].name, name) == 0)
			return &t->options[i];
	return NULL;
}

/* The text; "" when it is not set. */
static inline const char *reeve_option_text(const struct reeve_turn *t, const char *name)
{
	const struct reeve_value *v = reeve_option(t, name);

	return v && v->text ? v->text : "";
}

/* The number (a duration in ns); 0 when it is not set. */
static inline int64_t reeve_option_int(const struct reeve_turn *t, const char *name)
{
	const struct reeve_value *v = reeve_option(t, name);

	return v && v->text ? v->number : 0;
}

static inline bool reeve_option_bool(const struct reeve_turn *t, const char *name)
{
	return reeve_option_int(t, name) != 0;
}

/* Set by the user: in the configuration or by its environment variable. */
static inline bool reeve_option_given(const struct reeve_turn *t, const char *name)
{
	const struct reeve_value *v = reeve_option(t, name);

	return v && v->text && v->from != REEVE_FROM_PRESET;
}

/* Walks the words of a WORDS option: size_t at = 0; while ((w = reeve_word(v, &at))) ... */
static inline const char *reeve_word(const struct reeve_value *v, size_t *at)
{
	const char *w;

	if (!v || !v->text || *at >= v->len)
		return NULL;
	w = v->text + *at;
	*at += __builtin_strlen(w) + 1;
	return w;
}

/* The value of a variable in the service's environment; NULL when it has none. */
static inline const char *reeve_env(const struct reeve_turn *t, const char *name)
{
	size_t n = __builtin_strlen(name);

	for (size_t i = 0; t->env && t->env[i]; i++)
		if (__builtin_strncmp(t->env[i], name, n) == 0 && t->env[i][n] == '=')
			return t->env[i] + n + 1;
	return NULL;
}

/* The last value of a flag in an argv: of `--port 80`, `--port=80`; NULL: not there, or without one. */
static inline const char *reeve_flag(const char *const *argv, const char *flag)
{
	size_t n = __builtin_strlen(flag);
	const char *value = NULL;

	for (size_t i = 0; argv && argv[i]; i++) {
		if (__builtin_strncmp(argv[i], flag, n) != 0)
			continue;
		if (argv[i][n] == '=')
			value = argv[i] + n + 1;
		else if (!argv[i][n] && argv[i + 1])
			value = argv[i + 1];
	}
	return value;
}

/* A port in decimal; 0: it is none. */
static inline uint16_t reeve_port_of(const char *s)
{
	uint32_t v = 0;

	for (; s && *s >= '0' && *s <= '9' && v <= 65535; s++)
		v = 10 * v + (uint32_t)(*s - '0');
	return s && !*s && v <= 65535 ? (uint16_t)v : 0;
}

/* The log path of a convention: a variable that is set and not empty, then the option; NULL: neither. */
static inline const char *reeve_log_file(
	const struct reeve_turn *t, const char *variable, const char *option)
{
	const char *s = reeve_env(t, variable);

	if (s && *s)
		return s;
	s = reeve_option_text(t, option);
	return *s ? s : NULL;
}

/* ---- helpers: judging an HTTP answer ---------------------------------------------------------- */

/* What readiness makes of the answer in t->http, before its body is looked at. OK: a whole answer with
   this status. RETRY: nobody there yet, or busy: refused, timed out, broken off, 429, 5xx. FAIL: any
   other status, for it will not change by waiting. Sets why to "METHOD URL answered 404, expected 200",
   or to what went wrong on the way; of the URL, what stands behind '?' is not shown. */
static inline enum reeve_next reeve_expect(
	struct reeve_turn *t, const char *method, const char *url, int status)
{
	url = reeve_str(t, url, __builtin_strcspn(url, "?"));
	if (t->http.transport != REEVE_HTTP_DONE) {
		t->why = reeve_fmt(t, "%s %s: %s", method, url, t->http.error);
		return t->http.transport == REEVE_HTTP_INVALID ? REEVE_FAIL : REEVE_RETRY;
	}
	if (t->http.status == status)
		return REEVE_OK;
	t->why = reeve_fmt(
		t, "%s %s answered %d, expected %d", method, url, t->http.status, status);
	return t->http.status == 429 || t->http.status >= 500 ? REEVE_RETRY : REEVE_FAIL;
}

/* ---- helpers: what check found ---------------------------------------------------------------- */

/* Adds a line to t->why. */
static inline void reeve_note(struct reeve_turn *t, const char *line)
{
	t->why = t->why && *t->why ? reeve_fmt(t, "%s\n%s", t->why, line) : line;
}

/* What a script found that check has run: it prints a line "reeve: TEXT" for each finding and ends with 0
   when all is well (its lines are warnings then), with 3 when a start would fail. Of any other end, and of
   none, why says that `what` ended so, and the last line that came. */
static inline enum reeve_next reeve_findings(struct reeve_turn *t, const char *what)
{
	static const char mark[] = "reeve: ";
	const char *s = t->run.output, *last = "", *end;
	size_t last_len = 0, skip = sizeof(mark) - 1;

	for (; *s; s = *end ? end + 1 : end) {
		end = s + __builtin_strcspn(s, "\n");
		if (__builtin_strncmp(s, mark, skip) == 0)
			reeve_note(t, reeve_str(t, s + skip, (size_t)(end - s) - skip));
		if (end != s) {
			last = s;
			last_len = (size_t)(end - s) < 300 ? (size_t)(end - s) : 300;
		}
	}
	if (!*t->run.error && (t->run.status == 0 || (t->run.status == 3 && t->why)))
		return t->run.status ? REEVE_FAIL : REEVE_OK;
	if (*t->run.error)
		t->why = reeve_fmt(t, "%s: %s", what, t->run.error);
	else if (t->run.status >= 256)
		t->why = reeve_fmt(t, "%s was killed by signal %d", what, t->run.status - 256);
	else
		t->why = reeve_fmt(t, "%s ended with status %d", what, t->run.status);
	if (last_len)
		t->why = reeve_fmt(
			t, "%s; its last line: %s", t->why, reeve_str(t, last, last_len));
	return REEVE_FAIL;
}

#ifdef __cplusplus
}
#endif

#endif
