/* One simulated run: a core (and its oracle), a world of liars, a schedule, and the law.
 *
 * A schedule is the list of what the operator and fate do at given times; how the world answers is a
 * hash of (seed, service, generation, question), so that a schedule can be shrunk by dropping events. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "brain.h"
#include "dice.h"
#include "graph.h"

#define SIM_PENDING 512
#define SIM_PLOT    48

enum deed {
	DEED_EVENT, /* hand `event` to the core; RECREATE: generation counts back from the present */
	DEED_DIE, /* the main process of `event.id` ends */
	DEED_RELOAD, /* to a mutation of the plan by `salt` */
	DEED_LIE, /* an answer of an earlier life, of a kind drawn from `salt` */
};

struct deed_at {
	rv_time at;
	enum deed deed;
	uint64_t salt;
	struct rv_event event;
};

struct plot {
	uint64_t seed;
	bool honest; /* ends in a world that behaves, which has to come to rest */
	size_t n;
	struct deed_at deeds[SIM_PLOT];
};

/* What really is. */
struct truth {
	uint64_t generation;
	bool spawning, tree, main;
};

struct pending {
	rv_time at;
	bool lie; /* says something about the past; changes nothing in the world */
	struct rv_event event;
};

/* What the law remembers of one slot. */
struct record {
	enum rv_state state;
	enum rv_why why;
	uint64_t generation, recreate_of, confirmed_lost;
	bool alive, answered, exited, gone, proved, updated, cleaned, ordered, exempt, retired;
	bool guest; /* not ours */
	bool paused, told_paused; /* as ordered; as told */
	unsigned swings, tellings; /* of it, in this turn */
	bool freed; /* this life has been under a plan that asks nobody before its health ends it */
	bool anew; /* an operator has asked for a start since it was confirmed to be lost */
	bool replacing; /* lost, and no other life has been ready since, nor has an operator asked for one */
	bool quits, extended, narrow, spared, leaving_seen, stuck, killed, was_ready_once,
		uncounted;
	bool launched, found; /* a launcher ended with 0; its daemon is known */
	bool well; /* its last main process ended with 0 */
	bool uninformed; /* the environment has changed, and it was not asked to take it */
	bool untold; /* it was asked, and TOLD is to come */
	bool renewed; /* RENEW has come */
	unsigned sick; /* bad answers about its health, one after the other; at most so many */
	uint64_t unsure_turn; /* when an answer came that decides nothing: one behind it may */
	rv_time told_by;
	rv_time exited_at;
	int ask; /* -1, or a hook number; 100: probe, 101: health, 102: find */
	uint32_t asked,
		rest_asked; /* steps whose target, or whose strays, got their signal: a bit each */
	uint64_t ended_turn;
	uint32_t restarts, in_window;
	rv_time window_began, due, kill_at, since, spawn_failed_at;
	rv_time started, stop_began;
	rv_time start_until, step_until; /* what it asked for, as far as it may; 0: nothing */
};

struct sim {
	const struct brain *fast, *oracle; /* oracle may be NULL */
	struct graph *graph, *next, graphs[2];
	struct rv_core *core, *twin, *spare, *spare_twin, *copy;
	struct rv_actions out, twin_out;
	size_t most_actions; /* seen in a settle, for a look at how generous the maximum is */
	unsigned most_of_one; /* the same, of one service */
	rv_time now;
	uint64_t seed, turn;
	bool honest, reloading, over, trace;
	bool informs; /* the sandbox has variables */
	uint64_t end_of_turns;
	rv_time closing_since, honest_since, in_vain_since;
	struct truth truth[GRAPH_NODES];
	struct record record[GRAPH_NODES];
	int boots;
	size_t pending_count;
	struct pending pending[SIM_PENDING];
	bool failed;
	char why[256];
};

void sim_create(struct sim *s);
void sim_destroy(struct sim *s);
/* Runs one plot; false: the law was broken, s->why tells how. */
bool sim_run(struct sim *s, const struct plot *plot, const struct brain *fast,
	const struct brain *oracle);

/* A random plot for a seed. */
void plot_random(struct plot *p, uint64_t seed);
void plot_print(const struct plot *p);
const char *event_name(enum rv_event_kind k);
const char *action_name(enum rv_action_kind k);

/* world.c */
void world_act(struct sim *s, const struct rv_action *a);
void world_die(struct sim *s, rv_id id, rv_exit exit);
void world_lie(struct sim *s, uint64_t salt);
void world_push(struct sim *s, rv_time at, const struct rv_event *e, bool lie);
/* Makes it true; false: it did not happen (the process was gone already). */
bool world_happens(struct sim *s, const struct pending *p);

/* law.c, afterwards.c */
struct rv_look law_look(const struct sim *s, rv_id id);
bool law_is_satisfied(const struct sim *s, const struct rv_edge *e);
rv_time law_most_start(const struct sim *s, const struct record *r);
/* Forced, or the shutdown deadline has passed: no more hooks, no more order. */
bool law_all_is_killed(const struct sim *s);
void convict(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void law_event(struct sim *s, const struct rv_event *e);
void law_action(struct sim *s, const struct rv_action *a);
void law_settled(struct sim *s);
void law_adopted(struct sim *s);
/* Everybody is where he belongs, and only the health checks go on. */
bool law_at_rest(struct sim *s, bool complain);

#endif
