/* What is no mistake, but hardly meant: warnings about a planned configuration. */
#include "conf/whole.h"

/* "Not essential" does not help a service that an essential one cannot run without. */
static void check_essential(const struct rv_whole *w, struct rv_complaints *c)
{
	for (size_t i = 0; i < w->detail_count; i++) {
		const struct rv_service *s = &w->details[i].s;

		for (size_t k = 0; k < s->dep_count && s->essential && s->enabled; k++) {
			const struct rv_dependency *d = &s->deps[k];
			const struct rv_service *on = &w->conf.services[d->on];

			if (d->kind == RV_NEEDS && !on->essential && !s->is_command)
				rv_complain_softly(c, d->at,
					"service '%s' is essential and needs '%s', which is not: "
					"the boot fails without it all the same (wants does not)",
					s->name, on->name);
		}
	}
}

void rv_advice_give(struct rv_whole *w, struct rv_complaints *c)
{
	rv_budget_advise(w, c);
	check_essential(w, c);
}
