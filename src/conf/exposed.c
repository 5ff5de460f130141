/* `reeve check`: when somebody can connect to what is bound, which decides what a check from outside is worth. */
#include "conf/conf.h"

static void print_listener(const struct rv_mask *mask, const struct rv_service *s,
	const struct rv_listen *l, struct rv_buf *to)
{
	rv_buf_fmt(to, "%s: ", s->name);
	if (mask)
		rv_mask_add(mask, l->address, to);
	else
		rv_buf_str(to, l->name);
	if (l->backlog)
		rv_buf_fmt(to,
			" is listened on from the boot on (backlog %d): who only connects finds it "
			"open "
			"before %s is ready\n",
			l->backlog, s->name);
	else
		rv_buf_fmt(to, " is bound from the boot on, and open when %s listens\n", s->name);
}

void rv_conf_print_exposed(const struct rv_conf *conf, struct rv_buf *to)
{
	struct rv_mask *mask = rv_mask_create(conf);

	for (size_t i = 0; i < conf->plan->present; i++) {
		const struct rv_service *s = &conf->services[conf->plan->order[i]];

		for (size_t k = 0; k < s->listen_count; k++)
			print_listener(mask, s, &s->listen[k], to);
		for (size_t k = 0; k < s->port_count; k++)
			rv_buf_fmt(to, "%s: port %u is bound by %s itself\n", s->name, s->ports[k],
				s->name);
	}
	rv_mask_destroy(mask);
}
