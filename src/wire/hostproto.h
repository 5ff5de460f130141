/* What daemon and plugin host say to each other, as values. No I/O.
 *
 * A frame is u32 length (of what follows), u8 kind, payload; numbers in the byte order of the
 * machine, for both ends are on it. Every length is checked against what is there, every enum and
 * count against its bound: a frame from a corrupted peer is refused, never believed.
 *
 *	daemon                                 host
 *	DESCRIBE dir, names          ->
 *	                             <-        TABLE, one a name
 *	INSTANCE one service         ->
 *	                             <-        RECIPE (when `rehearse`)
 *	CALL hook of a service       ->
 *	                             <-        MEMO (whenever it changed), RUN a command
 *	RAN its outcome              ->
 *	                             <-        ANSWER, once a call, unless cancelled
 *	GET a URL                    ->
 *	                             <-        ANSWER
 *	CANCEL a call or get         ->
 */
#ifndef WIRE_HOSTPROTO_H
#define WIRE_HOSTPROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/keys.h"
#include "base/lists.h"
#include "base/want.h"

enum {
	RV_HP_MAX = 4 << 20, /* bytes of a frame */
	RV_HP_MEMO = 4096, /* of a memo */
	RV_HP_BYTES = 65536, /* of a command's output */
};

enum rv_hp_kind {
	RV_HP_DESCRIBE = 1,
	RV_HP_TABLE,
	RV_HP_INSTANCE,
	RV_HP_RECIPE,
	RV_HP_CALL,
	RV_HP_MEMO_IS,
	RV_HP_RUN,
	RV_HP_RAN,
	RV_HP_ANSWER,
	RV_HP_GET,
	RV_HP_CANCEL,
	RV_HP_KIND_END,
};

struct rv_hp_bytes {
	const void *p; /* with a NUL behind it after decoding */
	size_t n;
};

struct rv_hp_describe {
	const char *dir;
	const char *const *names; /* NULL-terminated */
};

struct rv_hp_table {
	uint32_t index; /* into the names of DESCRIBE */
	const char *name, *summary;
	const char *error; /* "" when it was loaded */
	uint32_t hooks; /* bits by enum rv_hook */
	const struct rv_key *keys;
	uint32_t key_count;
};

struct rv_hp_option {
	struct rv_key key; /* name and type only */
	uint8_t from; /* 0 preset, 1 environment, 2 configuration */
	bool set;
	struct rv_hp_bytes value; /* words are NUL-separated */
};

struct rv_hp_listener {
	const char *name, *address;
	uint16_t port;
	int32_t fd;
	bool listening;
};

/* One that a service depends on. */
struct rv_hp_peer {
	const char *service, *plugin;
	const char *const *argv; /* NULL: not known */
};

/* A service as its plugin sees it; replaces what the host knew under that id. */
struct rv_hp_instance {
	uint32_t id;
	uint32_t number; /* comes back in RECIPE */
	bool rehearse, keep; /* answer with a recipe; remember it for calls */
	const char *dir, *plugin, *service;
	const char *const *command; /* NULL-terminated; NULL: none */
	const char *const *env;
	const struct rv_hp_option *options;
	uint32_t option_count;
	const struct rv_hp_listener *listeners;
	uint32_t listener_count;
	const uint16_t *ports;
	uint32_t port_count;
	const struct rv_hp_peer *peers; /* none but for check */
	uint32_t peer_count;
};

struct rv_hp_process {
	const char *const *argv, *const *env; /* NULL: none */
	const uint16_t *ports;
	uint32_t port_count;
	uint8_t type; /* 0 as configured, 1 + enum rv_type */
	int32_t main_pid;
	const char *pid_file; /* "" none */
	uint16_t main_port; /* 0 none */
	const char *log_file; /* "" none */
	bool is_static;
	uint8_t unused; /* hooks that need not be called: REEVE_UNUSED_... */
};
#define RV_HP_UNUSED 8 /* values of it */

struct rv_hp_recipe {
	uint32_t id, number;
	bool fixed; /* only a start can tell */
	const char *error; /* "" none */
	struct rv_hp_process process;
};

struct rv_hp_call {
	uint32_t call, id; /* call: a number that comes back; id: the service */
	uint8_t hook; /* enum rv_hook */
	bool again;
	uint64_t generation;
	int32_t pid;
	rv_exit exit;
	uint32_t attempt;
	rv_time timeout;
	struct rv_hp_bytes memo;
	/* of update, NULL-terminated; else NULL */
	const char *const *variables, *const *dropped;
};

struct rv_hp_memo_is {
	uint32_t call, id;
	struct rv_hp_bytes memo;
};

struct rv_hp_run {
	uint32_t call, id;
	const char *const *argv;
	struct rv_hp_bytes input;
	rv_time timeout;
};

struct rv_hp_ran {
	uint32_t call, id;
	const char *error; /* "" none */
	rv_exit exit;
	bool truncated;
	struct rv_hp_bytes output;
};

struct rv_hp_answer {
	uint32_t call, id;
	uint8_t verdict; /* enum rv_verdict */
	const char *why;
	const char *
		closed; /* of a probe that is not ready: the URL that refused the connection at last, else "" */
	int32_t status; /* of the last HTTP answer that it got; 0: none */
	struct rv_hp_process process; /* of start */
};

struct rv_hp_get {
	uint32_t call, id; /* id: of the get, comes back */
	const char *dir; /* of plugins, beside which the HTTP client lies */
	struct rv_want want;
	rv_time timeout; /* of the attempt; want.timeout may be shorter */
};

struct rv_hp_cancel {
	uint32_t call, id;
};

/* The page that both ends map: what plugin code the host is in, so that its death has a name. Written
   by the host only, and believed by the daemon only as far as it makes sense. */
struct rv_hp_page {
	_Atomic int64_t since; /* rv_now() when it was entered; 0: in none */
	_Atomic uint32_t id; /* the service; of RV_HP_IN_TABLE: the index into the names */
	_Atomic uint32_t what; /* enum rv_hook, or one of these */
	_Atomic uint32_t turn; /* counts all turns */
};
#define RV_HP_IN_TABLE	  1000u /* loading for DESCRIBE */
#define RV_HP_IN_INSTANCE 1001u /* loading for INSTANCE */

/* An id with this bit belongs to a get, not to a service. */
#define RV_HP_GET_BIT (UINT32_C(1) << 31)

struct rv_hp_msg {
	enum rv_hp_kind kind;
	union {
		struct rv_hp_describe describe;
		struct rv_hp_table table;
		struct rv_hp_instance instance;
		struct rv_hp_recipe recipe;
		struct rv_hp_call call;
		struct rv_hp_memo_is memo;
		struct rv_hp_run run;
		struct rv_hp_ran ran;
		struct rv_hp_answer answer;
		struct rv_hp_get get;
		struct rv_hp_cancel cancel;
	} u;
};

/* Appends one frame. False (and nothing added): it is too large, or memory was refused. */
bool rv_hp_encode(const struct rv_hp_msg *m, struct rv_buf *to);

/* What lies at the front of `bytes`. */
enum rv_hp_got {
	RV_HP_MORE, /* not a whole frame yet */
	RV_HP_OK, /* *m is filled, *used bytes were it */
	RV_HP_BAD, /* not ours: close the channel */
};
/* Everything that *m points to is in the arena. */
enum rv_hp_got rv_hp_decode(
	const void *bytes, size_t n, struct rv_arena *a, struct rv_hp_msg *m, size_t *used);

#endif
