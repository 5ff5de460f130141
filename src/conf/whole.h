/* A conf with what only conf itself needs to know of it. Private to conf. */
#ifndef CONF_WHOLE_H
#define CONF_WHOLE_H

#include "conf/schema.h"

/* A port or path that somebody binds. */
struct rv_claim {
	struct rv_place at;
	uint16_t port;
	bool recipe; /* told by the plugin, not written in a file */
};

/* One service as it is read. `s` and `node` are what others get to see. */
struct rv_detail {
	struct rv_service s;
	struct rv_node node;
	const struct rv_step *steps;
	uint8_t type, startup, inherit; /* positions of their words */
	bool type_given;
	struct rv_place main_pid_at;
	bool restart_given;
	bool has_command;
	const char *const *inherit_names; /* inherit == RV_INHERIT_NAMES */
	const char *const *own_env; /* NAME=VALUE */
	const char *const *file_env;
	const struct rv_tree *needs, *wants, *after, *part_of,
		*options; /* read when all services are known */
	struct rv_claim *claims; /* ports as written */
	size_t claim_count;
	uint8_t if_running;
	struct rv_place if_running_at; /* line 0: not given */
	struct rv_place recreate_at;
	uint8_t log_given; /* log.file was read: s.log holds */
	struct rv_place command_at, plugin_at;
	uint8_t override_word;
	bool timeout_given; /* ready.timeout */
	struct rv_check *health; /* NULL: none */
};

enum { RV_INHERIT_ALL, RV_INHERIT_NONE, RV_INHERIT_NAMES };

/* What stands under `reeve` and at the top. */
struct rv_top {
	uint32_t version;
	const char *runtime_dir, *plugin_dir, *log_dir;
	struct rv_place plugin_dir_at; /* line 0: not given */
	unsigned control_mode;
	const char *control_owner, *control_group;
	struct rv_place control_at, runtime_dir_at, report_at;
	uint32_t max_starts;
	rv_time boot_timeout, platform_window, shutdown_timeout, start_grace, max_timeout;
	struct rv_place boot_timeout_at, platform_window_at; /* line 0: not given */
	const char *termination_report; /* or NULL */
	uint8_t on_boot_failure;
	const char *exit_from;
	struct rv_place exit_from_at;
	const char *const *environment, *const *file_env;
	const struct rv_tree *services;
};

struct rv_whole {
	struct rv_conf conf; /* first: one is the other */
	struct rv_top top;
	struct rv_detail *details; /* by place in the file, as `files` */
	size_t detail_count;
	struct rv_index names; /* service -> slot */
	uint32_t *slot_of; /* file order -> slot */
	uint32_t *detail_of; /* slot -> file order; RV_NO_ID: vacant */
	const struct rv_secret *secrets; /* that ${env.NAME} brought */
	const char *const *inherited; /* what all services may inherit */
	rv_id exit_from;
	bool broken;
};

/* graph.c */
extern const struct rv_table rv_needs_table;
bool rv_graph_read(struct rv_read *r, struct rv_whole *w);
bool rv_graph_build(struct rv_whole *w, struct rv_plan *plan);
/* advice.c: warnings; once there is a plan. */
void rv_advice_give(struct rv_whole *w, struct rv_complaints *c);
/* budget.c: the same, about time. */
void rv_budget_advise(struct rv_whole *w, struct rv_complaints *c);
/* top.c */
void rv_top_read(struct rv_read *r, struct rv_top *t);
/* fixed.c: `before` is in force. */
void rv_fixed_check(
	const struct rv_whole *w, const struct rv_conf *before, struct rv_complaints *c);
/* options.c */
void rv_options_read(struct rv_read *r, struct rv_detail *d);
/* One option as somebody at the control socket gave it: `o` is left as it was when it is refused. */
void rv_options_given(struct rv_read *r, struct rv_option *o, const char *text);
void rv_options_json(struct rv_buf *to, const char *s); /* appends it as a JSON string */
/* ports.c: recipes: only what a recipe takes part in. */
void rv_ports_check(struct rv_whole *w, bool recipes, struct rv_complaints *c);
/* Whether if-running can be kept, once ports and checks are known. unsure: ports may come at a start. */
void rv_ports_adoption(const struct rv_detail *d, bool unsure, struct rv_complaints *c);
/* net.c: "127.0.0.1:80" "[::1]:80" "localhost:80"; port_only: "80" is 127.0.0.1:80. */
bool rv_net_address(const char *s, bool port_only, uint8_t ip[16], uint16_t *port, bool *v6);
/* environ.c */
const char *const *rv_environ_read_map(struct rv_read *r, const struct rv_tree *v);
rv_row_reader rv_environ_file; /* const char *const *: the entries of the file that is named */
/* The first and then the second, which is stronger; either may be NULL. */
const char *const *rv_environ_join(
	struct rv_arena *a, const char *const *weak, const char *const *strong);
const char *const *rv_environ_inheritable(struct rv_arena *a, const char *const *environ);
/* Fills env and its parts. recipe: a plugin's additions, or NULL. */
void rv_environ_lay(const struct rv_whole *w, const struct rv_detail *d, const char *const *recipe,
	struct rv_arena *a, struct rv_service *to);
void rv_environ_effective(struct rv_whole *w, struct rv_detail *d, const char *const *recipe);
/* printenv.c: lines of `reeve plan`. */
void rv_print_environment(const struct rv_whole *w, const struct rv_detail *d, struct rv_buf *to);
/* socket.c */
extern const struct rv_table rv_listen_table;
rv_row_reader rv_service_ports, rv_service_listen;
/* ready.c */
extern const struct rv_table rv_ready_table, rv_health_table;
rv_row_reader rv_service_ready, rv_service_health;
/* Only what gives ready.fd its number: done first, since other keys may refer to it. */
void rv_service_number_fd(struct rv_read *r, const struct rv_tree *service);
/* http.c */
extern const struct rv_table rv_http_table;
rv_row_reader rv_read_http; /* struct rv_check */
/* httpbody.c: members of struct rv_want */
rv_row_reader rv_read_want_body, rv_read_want_regex, rv_read_want_json;
/* NULL: complained about at v. */
const struct rv_regex *rv_read_regex(struct rv_read *r, const struct rv_tree *v);
/* A string of any look, also an empty one, but not nothing at all; else it is refused. */
bool rv_read_is_text(struct rv_read *r, const struct rv_tree *v);
/* mainpid.c */
extern const struct rv_table rv_main_pid_table;
rv_row_reader rv_service_main_pid;
/* What type it is and where its daemon is found, when the plugin has told its part. recipe: or NULL. */
void rv_main_pid_settle(struct rv_whole *w, struct rv_detail *d, const struct rv_recipe *recipe,
	struct rv_complaints *c);
/* mask.c: fills conf.mask. False: memory was refused. */
bool rv_mask_settle(struct rv_whole *w);
/* ending.c */
extern const struct rv_table rv_restart_table, rv_stop_table, rv_log_table;
rv_row_reader rv_service_restart, rv_service_stop, rv_service_log;
/* limits.c */
rv_row_reader rv_service_limits;
/* service.c */
void rv_detail_read(struct rv_read *r, struct rv_detail *d, const struct rv_pair *p);
/* settle.c: its plugin has been chosen; readiness, health, log and the rest follow from it. */
void rv_detail_settle(struct rv_read *r, struct rv_whole *w, struct rv_detail *d);

#endif
