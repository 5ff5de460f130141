/* Configuration: YAML bytes -> located tree -> checked immutable value -> plan.
 *
 *   draft = rv_draft_read(paths)                    files, layers, merging; syntax complaints
 *   rv_draft_plugins(draft)                         which plugins to describe
 *   conf  = rv_conf_build(draft, tables, environ)   every check, expansion; names, types, options
 *   rv_conf_plan(conf, recipes, before)             ports, digests, the graph as numbers
 *
 * Each step adds to the same complaints and goes on as far as it can, so that one run lists all
 * mistakes. Everything a conf points to is in its arena, const, and lives until rv_conf_destroy. */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdio.h>
#include <sys/types.h>

#include "base/address.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/keys.h"
#include "base/regex.h"
#include "base/want.h"
#include "core/plan.h"

/* All mistakes of one run, one a line: "file:line:column: text (did you mean ...)". */
struct rv_complaints {
	struct rv_buf text;
	size_t errors, warnings;
	struct rv_complaint *list; /* those in `text`, for programs */
	size_t count, room;
};
/* Positions in the text of all: the file begins at `start`, the sentence is from `text` to before `end`. */
struct rv_complaint {
	size_t start, file_len, text, end;
	uint32_t line, column; /* 0: none */
	bool warning;
};
void rv_complaints_fini(struct rv_complaints *c);

struct rv_mask;

struct rv_place {
	const char *file; /* as the user named it; "" for what no file says */
	uint32_t line, column; /* from 1 */
};
/* Adds a line; a warning's text starts with "warning: " behind the place. */
void rv_complain(struct rv_complaints *c, struct rv_place at, const char *format, ...)
	RV_PRINTF(3, 4);
void rv_complain_softly(struct rv_complaints *c, struct rv_place at, const char *format, ...)
	RV_PRINTF(3, 4);

/* What a plugin tells of itself, as plain values (from the host's describe). */
struct rv_plugin_table {
	const char *name;
	const char *summary;
	const struct rv_key *keys;
	size_t key_count;
	uint32_t hooks; /* RV_HAS(...) */
	const char *error; /* not NULL: could not be loaded; the sentence says what and where */
};

/* What a plugin's start hook returned in rehearsal. Strings are copied by rv_conf_plan. */
struct rv_recipe {
	/* NULL-terminated; NULL: no recipe (plugin without start, or `error`) */
	const char *const *argv;
	const char *const *env; /* additions, NAME=VALUE, NULL-terminated; may be NULL */
	const uint16_t *ports; /* effective ports that the service binds itself */
	size_t port_count;
	bool is_static; /* the same for every start until configuration changes */
	uint32_t unused; /* RV_HAS(...): hooks that have nothing to do */
	bool fixed; /* softly failed: will be known at start only; not an error */
	const char *log_file; /* log path of the plugin's convention; NULL: none */
	uint8_t type; /* 0: as configured; 1 + enum rv_type. The file's own word is stronger */
	const char *pid_file; /* of a launcher; NULL: none */
	uint16_t main_port; /* of a launcher; 0: none */
	const char *error; /* the plugin refuses this configuration */
};

enum rv_family { RV_TCP4, RV_TCP6, RV_UNIX };

struct rv_listen {
	const char *name; /* for ${listen.NAME.fd} and LISTEN_FDNAMES */
	struct rv_place at;
	enum rv_family family;
	const char *address; /* as written: "127.0.0.1:49999", "[::]:80", "/run/x.sock" */
	uint8_t ip[16]; /* network order; 4 bytes for TCP4 */
	uint16_t port;
	int backlog; /* 0: bind only, the service listens; else reeve listens */
	bool has_mode;
	unsigned mode; /* UNIX socket */
	const char *owner, *group; /* UNIX socket; NULL: ours */
	int fd; /* number in the child: 3, 4, ... */
};

/* Whose words count on NOTIFY_SOCKET; NONE: the service has none. */
#define RV_NOTIFY_PATH "%s/notify/%016llx" /* runtime-dir, a number of each life */
enum rv_notify_from { RV_NOTIFY_NONE, RV_NOTIFY_MAIN, RV_NOTIFY_TREE };

/* Kinds of readiness and health checks; several in one check must all hold. */
struct rv_check {
	struct rv_place at;
	bool has_fd, fd_auto;
	int fd; /* in the child; set for auto as well */
	uint8_t notify; /* enum rv_notify_from */
	const char *tcp; /* "HOST:PORT" numeric, or NULL */
	uint8_t tcp_ip[16];
	uint16_t tcp_port;
	bool tcp_v6;
	const char *unix_path; /* of a socket, or NULL */
	const char *http_url; /* or NULL; the same as http->url */
	const struct rv_want *http; /* or NULL */
	struct rv_address http_at; /* of http_url; port 0: not the loopback, or not to be told */
	const char *file; /* or NULL */
	bool file_anew; /* it counts only once it has appeared, or changed, in this life */
	const char *log_line; /* as written, or NULL */
	const struct rv_regex *log_regex; /* of log_line */
	const char *const *exec; /* argv or NULL */
	bool exit; /* nothing but the end of a task or a launcher: no probe */
	bool plugin; /* the plugin's probe hook */
	rv_time timeout; /* ready: whole; 0 never happens */
	rv_time attempt_timeout; /* one attempt, default 2s */
};

struct rv_log_conf {
	enum { RV_LOG_FILE, RV_LOG_INHERIT, RV_LOG_NULL } kind;
	const char *path;
	uint64_t max_size; /* bytes; 0: no rotation */
	uint32_t keep; /* rotated files */
};

struct rv_limit { /* one resource limit */
	int resource; /* RLIMIT_... */
	uint64_t soft, hard; /* RLIM_INFINITY as UINT64_MAX */
};
/* "nofile" for RLIMIT_NOFILE; "?": there is no such resource. Numbers are below RLIM_NLIMITS. */
const char *rv_limit_name(int resource);

/* A launcher: how its daemon is told from whatever else it leaves behind. */
enum rv_main_by {
	RV_MAIN_TREE, /* the only, or the oldest process */
	RV_MAIN_FILE,
	RV_MAIN_PORT, /* who listens on it */
};
struct rv_main_pid {
	enum rv_main_by by;
	bool given; /* the file says so: no plugin changes it */
	const char *file;
	uint16_t port; /* TCP */
};

enum rv_from { RV_FROM_PRESET, RV_FROM_ENV, RV_FROM_YAML, RV_FROM_START };

struct rv_option { /* one plugin option with its effective value */
	const struct rv_key *key;
	const char *value; /* text; WORDS: NUL-separated words, JSON: JSON text; NULL: not set */
	size_t value_len;
	enum rv_from from;
};

struct rv_dependency { /* as written, for messages and `reeve plan` */
	rv_id on;
	uint8_t kind, until; /* enum rv_edge_kind, enum rv_until */
	bool part; /* part-of */
	struct rv_place at;
};

struct rv_service {
	rv_id id;
	const char *name;
	struct rv_place at;
	const char *plugin;
	const char *summary; /* or NULL */
	bool flawed; /* the files have a mistake in it: only a witness sees such a one */
	bool is_command; /* of `reeve -- CMD`: has our stdin, stdout and stderr */
	bool enabled, essential;
	enum rv_type type;
	struct rv_main_pid main_pid; /* of a launcher */
	/* NULL-terminated argv of the file; NULL: the plugin's recipe */
	const char *const *command;
	const char *const *argv; /* effective, after rv_conf_plan; NULL: known at start only */
	bool argv_is_static;
	uint32_t
		unused; /* RV_HAS(...): hooks that need not be asked, as long as no start says otherwise */
	const struct rv_dependency *deps;
	size_t dep_count;
	const char *user, *group; /* as written; NULL: ours */
	const char *const *groups; /* NULL: the user's own; empty list: none */
	struct rv_place user_at, group_at, groups_at;
	bool has_umask;
	unsigned umask;
	const struct rv_limit *limits;
	size_t limit_count;
	const char *working_dir; /* NULL: "/" */
	/* Environment in order of strength, weakest first, all NAME=VALUE, NULL-terminated:
	   inherited, sandbox `environment-file` and `environment`, the recipe's additions,
	   `environment-file`, `environment`. What the sandbox was given at its creation comes behind its
	   own (rv_conf_environ). reeve's own (LISTEN_*, NOTIFY..., REEVE_*) are added at spawn. */
	const char *const *env;
	size_t env_inherited; /* the first so many came from reeve's own environment and nobody set them */
	size_t env_weak; /* the first so many lose to a plugin's additions: inherited and sandbox */
	size_t env_recipe; /* up to here they are the recipe's: another recipe replaces them */
	bool renews; /* on-environment-change: restart */
	const uint16_t *ports; /* that it binds itself: `ports` and the recipe's */
	size_t port_count;
	bool adopts; /* if-running: adopt. Then it has ports, no listeners, and a check that a stranger can pass */
	const struct rv_listen *listen;
	size_t listen_count;
	struct rv_check
		ready; /* plugin set when the plugin's probe is in force; else what is set */
	bool has_ready; /* anything proves it */
	const struct rv_check
		*health; /* asked again and again while it is ready; NULL: nothing is */
	struct rv_log_conf log;
	const struct rv_option *options;
	size_t option_count;
	const struct rv_plugin_table *table;
	const struct rv_mask *mask; /* the conf's: see there */
};

struct rv_conf {
	struct rv_arena arena;
	const char *runtime_dir, *plugin_dir;
	unsigned control_mode;
	const char *control_owner, *control_group; /* NULL: ours */
	struct rv_place control_at, runtime_dir_at, report_at; /* line 0: not given */
	const char *log_dir; /* NULL: services without log.file inherit ours */
	rv_time max_timeout; /* of a request that waits; 0: what the daemon has of its own */
	const char *termination_report; /* where the end of reeve is told; NULL: nowhere */
	const char *const *environment; /* sandbox level */
	const char *const
		*variables; /* that the sandbox was given, for printing; the daemon's; NULL: none */
	const struct rv_service *services; /* by slot; name NULL for a vacant one */
	size_t service_count;
	bool commanded; /* `reeve -- CMD`: plan->exit_from is its service */
	const struct rv_plan *plan; /* after rv_conf_plan */
	struct rv_mask *
		mask; /* after rv_conf_plan: what no sentence about a service may show; NULL: nothing is secret */
	const char *const *paths; /* the files that were read, in order, NULL-terminated */
};

struct rv_draft;
/* paths: files or folders, NULL-terminated; NULL: /etc/reeve/reeve.yaml and reeve.d. NULL on
   complaints only if nothing could be read at all. plugin_dir: override of --plugin-dir, or NULL.
   command: argv of `reeve -- CMD` which becomes the service `main`, or NULL. */
struct rv_draft *rv_draft_read(const char *const *paths, const char *plugin_dir,
	const char *const *command, struct rv_complaints *c);
void rv_draft_destroy(struct rv_draft *d);
/* Distinct plugin names, NULL-terminated, and the folder to find them in; owned by the draft. */
const char *const *rv_draft_plugins(const struct rv_draft *d, const char **plugin_dir);

/* Sees what could be read of a conf that is refused, and can add what it finds itself. Commands and environments are those
   of the files: recipes and plan are missing. */
typedef void rv_conf_witness(const struct rv_conf *conf, struct rv_complaints *c, void *arg);
/* environ: reeve's own environment. before: the conf in force (slots keep their numbers), or NULL.
   tables are copied. NULL when there were errors; then `seen` was called, unless it is NULL. */
struct rv_conf *rv_conf_build(const struct rv_draft *d, const struct rv_plugin_table *tables,
	size_t table_count, const char *const *environ, const struct rv_conf *before,
	rv_conf_witness *seen, void *arg, struct rv_complaints *c);
/* recipes: one a slot, or NULL (no rehearsal was needed). Fills argv, ports, plan. */
bool rv_conf_plan(struct rv_conf *conf, const struct rv_recipe *recipes, struct rv_complaints *c);
void rv_conf_destroy(struct rv_conf *conf);

/* The environment of a service in a sandbox that was given `variables` (NAME=VALUE, each name once; NULL: none): they are
   stronger than what the sandbox has in the files, and weaker than what the service has. Without any it is the
   service's own, and no memory is used. The members are as in rv_service. False: memory was refused. */
struct rv_environ {
	const char *const *list;
	size_t inherited, weak, recipe;
};
bool rv_conf_environ(const struct rv_service *s, const char *const *variables, struct rv_arena *a,
	struct rv_environ *to);

/* By name; NULL: none. */
const struct rv_service *rv_conf_find(const struct rv_conf *conf, const char *name);

/* A service as one request to start it wants it: some options in place of the configuration's. */
struct rv_variant {
	struct rv_arena arena; /* of what differs; the rest is the conf's, which must outlive it */
	struct rv_service s; /* its command, ports and environment wait for a recipe of their own */
	const char *const *given; /* names of the options that differ */
	size_t given_count;
	const char *const *env; /* as s.env; s.env may be replaced */
	const uint16_t *ports; /* that the files declare */
	size_t port_count;
	bool typed; /* the files declare its type: a recipe's is no matter */
};
struct rv_word {
	const char *key, *value;
};
/* Values are checked by the plugin's table, as in a file; no value is in a complaint. False: complained about, and
   nothing is left of *to. */
bool rv_variant_init(struct rv_variant *to, const struct rv_conf *conf, rv_id id,
	const struct rv_word *words, size_t count, struct rv_complaints *c);
/* The same options on top of another conf that has the service in the same slot. False: it does not take them any more, or
   memory was refused; nothing is left of *to. `from` stays. */
bool rv_variant_again(
	struct rv_variant *to, const struct rv_variant *from, const struct rv_conf *conf);
/* Its memory is wiped: secrets may be in it. */
void rv_variant_fini(struct rv_variant *v);
/* What of it must not be shown. */
struct rv_mask *rv_variant_mask(const struct rv_variant *v);

/* What must not be shown, wherever it turns up: the values of all secret options, and those that
   ${env.NAME} brought of variables whose name speaks of a secret (TOKEN, SECRET, PASS, KEY, CREDENTIAL,
   AUTH). Refers to the conf. NULL: memory was refused; then show nothing. */
struct rv_mask *rv_mask_create(const struct rv_conf *conf);
/* The values of a list NAME=VALUE, but for those that are so short that they would be found in any text. */
struct rv_mask *rv_mask_values(const char *const *list);
void rv_mask_destroy(struct rv_mask *m);
/* Appends text with *** for each of them. */
void rv_mask_add(const struct rv_mask *m, const char *text, struct rv_buf *to);

/* `reeve plan`: the effective configuration for a reader, in start order; secrets as ***, names of
   environment variables without values. */
void rv_conf_print(const struct rv_conf *conf, struct rv_buf *to);
/* `reeve check`: a line for each listener and port, and from when on it is open. */
void rv_conf_print_exposed(const struct rv_conf *conf, struct rv_buf *to);

#endif
