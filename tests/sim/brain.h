/* One compiled core as a value, so that the simulator can run several side by side. */
#ifndef SIM_BRAIN_H
#define SIM_BRAIN_H

#include "core/core.h"

struct brain {
	const char *name;
	size_t (*size)(const struct rv_plan *p);
	size_t (*actions_max)(const struct rv_plan *p);
	void (*init)(struct rv_core *c, const struct rv_plan *p, uint64_t seed);
	void (*apply)(
		struct rv_core *c, rv_time now, const struct rv_event *e, struct rv_actions *out);
	void (*settle)(struct rv_core *c, rv_time now, struct rv_actions *out);
	void (*adopt)(struct rv_core *n, const struct rv_plan *p, const struct rv_core *old);
	rv_time (*deadline)(const struct rv_core *c);
	struct rv_look (*look)(const struct rv_core *c, rv_id id);
	enum rv_boot (*boot)(const struct rv_core *c);
	bool (*closing)(const struct rv_core *c);
};

extern const struct brain brain_product; /* libcore.a as it ships */
extern const struct brain brain_faulty; /* the same sources with planted faults */
extern const struct brain brain_sweep; /* the oracle: visits everything, counts everything anew */

#endif
