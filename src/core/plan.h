/* The graph as numbers: what the core reads. Built once by conf, const ever after.
 *
 * A service is a slot, 0 .. nodes-1. Slots keep their number over reloads, so a slot may be vacant
 * (present == false). Names are for people and live elsewhere. `order` holds the slots that are
 * present in a topological order: dependencies first. All edges point to an earlier rank. */
#ifndef CORE_PLAN_H
#define CORE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lists.h"

typedef uint32_t rv_id;
#define RV_NO_ID UINT32_MAX

enum rv_edge_kind {
	RV_NEEDS, /* hard: pulls it in, waits for it, is affected by its loss */
	RV_WANTS, /* soft: pulls it in, waits until it is ready, finished, failed or timed out */
	RV_AFTER, /* order only: waits as for wants, but does not pull it in */
};

enum rv_until { RV_UNTIL_STARTED, RV_UNTIL_READY, RV_UNTIL_EXITED };

struct rv_edge {
	rv_id on;
	uint8_t kind; /* enum rv_edge_kind */
	uint8_t until; /* enum rv_until; of RV_NEEDS */
	bool part; /* part-of: an operator's stop or restart of `on` is one of ours, whatever on_loss says */
};

enum rv_type { RV_DAEMON, RV_TASK, RV_LAUNCHER };
enum rv_loss { RV_LOSS_RESTART, RV_LOSS_STOP, RV_LOSS_KEEP };
enum rv_restart_on { RV_RESTART_NEVER, RV_RESTART_FAILURE, RV_RESTART_ALWAYS };
enum rv_proof {
	RV_PROOF_NONE, /* a successful exec is ready, unproven */
	RV_PROOF_PROBE, /* ask by RV_ACT_PROBE until the answer is RV_OK */
};
enum rv_target {
	RV_TO_GROUP, /* the process group of the main process */
	RV_TO_MAIN,
	RV_TO_TREE, /* the whole life, other sessions included */
	RV_TO_STRAYS, /* the tree without that group; only in actions, no plan asks for it */
};

struct rv_step {
	int32_t signal; /* number */
	uint8_t to; /* enum rv_target */
	rv_time timeout; /* wait this long for gone before the next step; after the last: KILL */
};

/* Bits of rv_node.hooks: which hooks its plugin has. */
#define RV_HAS(hook) (1u << (hook))

struct rv_node {
	uint64_t digest; /* of everything whose change needs a restart; 0 for a vacant slot */
	uint64_t tuning; /* of everything that may change under a running service */
	uint32_t first_edge; /* into plan->edges */
	uint32_t edge_count;
	uint32_t first_back; /* into plan->backs: who depends on us */
	uint32_t back_count;
	uint32_t rank; /* position in plan->order */
	bool present;
	bool enabled; /* wanted at boot */
	bool essential;
	bool recreate; /* replacement is permitted */
	bool give_up_ends; /* on-give-up: shutdown */
	uint8_t type; /* enum rv_type */
	uint8_t on_loss; /* enum rv_loss */
	uint8_t proof; /* enum rv_proof */
	uint8_t restart_on; /* enum rv_restart_on */
	uint32_t hooks; /* RV_HAS(RV_HOOK_...) */
	rv_time ready_timeout; /* spawn to ready, of one start */
	uint32_t start_attempts; /* before first ready; 1: the first failure is final */
	rv_time delay; /* restart: first delay */
	uint32_t factor_milli; /* restart: delay grows by factor/1000, at least 1000 */
	rv_time max_delay;
	uint32_t limit; /* restarts within window; 0: none */
	rv_time window;
	rv_time health_period; /* 0: no health check */
	uint32_t health_threshold;
	bool health_restarts; /* on-failure: restart (else it is only shown) */
	rv_time stop_hook_timeout;
	rv_time cleanup_timeout;
	uint32_t first_step; /* into plan->steps */
	uint32_t step_count; /* may be 0: KILL at once */
};

struct rv_plan {
	size_t nodes; /* slots */
	const struct rv_node *node;
	size_t present; /* entries of order */
	const rv_id *order;
	size_t edge_count;
	const struct rv_edge *edges;
	const rv_id *backs; /* as many as edges: dependents, grouped by what they depend on */
	size_t step_count;
	const struct rv_step *steps;

	uint32_t max_starts; /* 0: no limit */
	rv_time boot_timeout; /* 0: none */
	rv_time start_grace; /* for hooks of a start that is cancelled */
	/* In force: at least start_grace + the longest stop path; like all times here it can be added to now. */
	rv_time shutdown_timeout;
	rv_time kill_timeout; /* KILL to gone; then it is named as stuck */
	bool rollback; /* on-boot-failure */
	rv_id exit_from; /* or RV_NO_ID */
};

enum rv_change { RV_SAME, RV_ADDED, RV_REMOVED, RV_CHANGED, RV_TUNED };

/* What a reload would do, slot by slot: writes max(old->nodes, new->nodes) entries to `change`.
   CHANGED needs a restart, TUNED does not (edges alone make a slot TUNED). Pure. */
void rv_plan_diff(const struct rv_plan *old, const struct rv_plan *new, uint8_t *change);

#endif
