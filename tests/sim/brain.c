/* Compiled once for each core: with rename.h in front the names below mean that core's functions. */
#include "brain.h"

#ifndef SIM_BRAIN
#define SIM_BRAIN brain_product
#endif
#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)

const struct brain SIM_BRAIN = {
	.name = TEXT(SIM_BRAIN),
	.size = rv_core_size,
	.actions_max = rv_core_actions_max,
	.init = rv_core_init,
	.apply = rv_core_apply,
	.settle = rv_core_settle,
	.adopt = rv_core_adopt,
	.deadline = rv_core_deadline,
	.look = rv_core_look,
	.boot = rv_core_boot,
	.closing = rv_core_closing,
};
