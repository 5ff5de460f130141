/* What is no mistake, but hardly meant: warnings about a planned configuration. */
#include "conf/whole.h"

#include <string.h>

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

static bool is_asked(const struct rv_check *k, const struct rv_listen *l)
{
	if (l->family == RV_UNIX)
		return k->unix_path && !strcmp(k->unix_path, l->address);
	return k->tcp && k->tcp_port == l->port && k->tcp_v6 == (l->family == RV_TCP6);
}

/* A listener with a backlog takes connections from the boot on, whatever its service does. */
static void check_proof(const struct rv_whole *w, struct rv_complaints *c)
{
	for (size_t i = 0; i < w->detail_count; i++) {
		const struct rv_service *s = &w->details[i].s;
		const struct rv_check *k = &s->ready;

		if (k->has_fd || k->notify || k->http || k->file || k->log_line || k->exec ||
			k->plugin)
			continue;
		for (size_t n = 0; n < s->listen_count; n++)
			if (s->listen[n].backlog && is_asked(k, &s->listen[n]))
				rv_complain_softly(c, k->at,
					"service '%s' is ready as soon as it runs: reeve itself "
					"listens there, for listener '%s' has a backlog; ask by "
					"ready.http or ready.exec, or leave the backlog out",
					s->name, s->listen[n].name);
	}
}

/* reeve holds the port, so nobody is ever refused there: what only its plugin may find lost never is while it lives. */
static void check_loss(const struct rv_whole *w, struct rv_complaints *c)
{
	for (size_t i = 0; i < w->detail_count; i++) {
		const struct rv_detail *d = &w->details[i];

		if (d->node.recreate && d->health && d->node.health_restarts && d->s.listen_count)
			rv_complain_softly(c, d->health->at,
				"service '%s' is not restarted for bad health: with recreate only "
				"its plugin can tell that it is lost, and with listen it never "
				"does while its process lives; leave recreate out, and health "
				"restarts it",
				d->s.name);
	}
}

/* Of a task its end is all that is asked. Not an error: such files did what a task does. */
static void check_tasks(const struct rv_whole *w, struct rv_complaints *c)
{
	for (size_t i = 0; i < w->detail_count; i++) {
		const struct rv_service *s = &w->details[i].s;

		if (s->type == RV_TASK && s->has_ready && !s->ready.plugin)
			rv_complain_softly(c, s->ready.at,
				"ready of service '%s' is not looked at: a task is there when it "
				"has ended with 0; only its timeout counts, unless its type is "
				"daemon",
				s->name);
	}
}

void rv_advice_give(struct rv_whole *w, struct rv_complaints *c)
{
	rv_budget_advise(w, c);
	check_essential(w, c);
	check_proof(w, c);
	check_tasks(w, c);
	check_loss(w, c);
}
