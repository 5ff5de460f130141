/* Who binds what: two services cannot have one address, and who is adopted must be known by one. */
#include "conf/whole.h"

#include <stdlib.h>
#include <string.h>

struct bound {
	uint16_t port; /* 0: a UNIX socket */
	uint8_t family; /* enum rv_family */
	bool any, recipe, ours; /* any: all addresses; ours: reeve binds it */
	uint8_t ip[16];
	const char *path;
	const struct rv_service *s;
	struct rv_place at;
	size_t turn; /* keeps the order of the file */
};

/* Those that are equal here are looked at pair by pair: one port, or one path. */
static int by_address(const struct bound *x, const struct bound *y)
{
	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return x->port ? 0 : strcmp(x->path, y->path);
}

static int by_turn(const void *a, const void *b)
{
	const struct bound *x = a, *y = b;
	int c = by_address(x, y);

	if (c)
		return c;
	return x->turn < y->turn ? -1 : 1;
}

static bool clash(const struct bound *x, const struct bound *y)
{
	static const uint8_t zero[16];
	bool x_any = x->any || !memcmp(x->ip, zero, 16), y_any = y->any || !memcmp(y->ip, zero, 16);

	/* What a plugin reports of its own port is the listener that it inherits. */
	if (x->s == y->s && (x->recipe || y->recipe))
		return false;
	if (!x->port)
		return !strcmp(x->path, y->path);
	if (x->ours && y->ours && x->family != y->family)
		return false; /* a listener of ours on [::] is IPv6 only */
	return x_any || y_any || (x->family == y->family && !memcmp(x->ip, y->ip, 16));
}

static void complain(struct rv_complaints *c, const struct bound *first, const struct bound *second)
{
	char where[200] = "", port[20];

	if (first->at.file && *first->at.file)
		snprintf(where, sizeof(where), " (%s:%u:%u)", first->at.file, first->at.line,
			first->at.column);
	snprintf(port, sizeof(port), "port %u", second->port);
	if (first->s == second->s)
		rv_complain(c, second->at, "service '%s' has %s twice%s", second->s->name,
			second->port ? port : second->path, where);
	else
		rv_complain(c, second->at, "%s of service '%s' clashes with service '%s'%s",
			second->port ? port : second->path, second->s->name, first->s->name, where);
}

static size_t collect(const struct rv_whole *w, struct bound *to)
{
	size_t n = 0;

	for (size_t i = 0; i < w->detail_count; i++) {
		const struct rv_detail *d = &w->details[i];

		for (size_t k = 0; k < d->s.listen_count; k++) {
			const struct rv_listen *l = &d->s.listen[k];

			if (!l->address)
				continue;
			to[n] = (struct bound){.port = l->port,
				.family = (uint8_t)l->family,
				.path = l->address,
				.s = &d->s,
				.at = l->at,
				.turn = n,
				.ours = true};
			memcpy(to[n++].ip, l->ip, 16);
		}
		for (size_t k = 0; k < d->claim_count; k++) {
			to[n] = (struct bound){.port = d->claims[k].port,
				.any = true,
				.s = &d->s,
				.at = d->claims[k].at,
				.recipe = d->claims[k].recipe,
				.turn = n};
			n++;
		}
	}
	return n;
}

void rv_ports_check(struct rv_whole *w, bool recipes, struct rv_complaints *c)
{
	struct bound *all;
	size_t n = 0;

	for (size_t i = 0; i < w->detail_count; i++)
		n += w->details[i].s.listen_count + w->details[i].claim_count;
	if (!n)
		return;
	all = calloc(n, sizeof(*all));
	if (!all) {
		w->conf.arena.full = true;
		return;
	}
	n = collect(w, all);
	qsort(all, n, sizeof(*all), by_turn);
	for (size_t i = 0, first = 0; i < n; i++) {
		if (by_address(&all[i], &all[first]) != 0)
			first = i;
		/* One complaint for each that comes too late. A group is small but for mistakes. */
		for (size_t k = first; k < i; k++) {
			if (recipes && !all[i].recipe && !all[k].recipe)
				continue;
			if (clash(&all[k], &all[i])) {
				complain(c, &all[k], &all[i]);
				break;
			}
		}
	}
	free(all);
}

/* Of these a process that reeve did not start can give no sign: it has no descriptor of ours. */
static bool can_ask_a_stranger(const struct rv_check *k)
{
	return k->plugin || k->tcp || k->unix_path || k->http_url || k->exec;
}

/* And these come from what reeve started, or not at all. */
static bool waits_for_a_sign(const struct rv_check *k)
{
	return k->has_fd || k->notify || k->log_regex || k->file;
}

void rv_ports_adoption(const struct rv_detail *d, bool unsure, struct rv_complaints *c)
{
	const char *name = d->s.name, *word = d->s.adopts ? "adopt" : "fail";

	if (!d->if_running_at.line)
		return;
	if (!d->claim_count && !unsure)
		rv_complain(c, d->if_running_at,
			"if-running of service '%s' cannot be %s: it is found by its port, and it "
			"has none; "
			"name what it binds in ports",
			name, word);
	if (!d->s.adopts)
		return;
	if (d->s.type == RV_TASK)
		rv_complain(c, d->if_running_at,
			"if-running of service '%s' cannot be adopt: a task has to run to its end",
			name);
	else if (!can_ask_a_stranger(&d->s.ready))
		rv_complain(c, d->if_running_at,
			"if-running of service '%s' cannot be adopt: nothing would prove who "
			"answers "
			"there; give it ready.http, ready.tcp, ready.unix or ready.exec",
			name);
	else if (waits_for_a_sign(&d->s.ready))
		rv_complain(c, d->if_running_at,
			"if-running of service '%s' cannot be adopt: ready.fd, notify, log-line "
			"and "
			"file are signs that only a process of its own start gives",
			name);
	if (d->s.listen_count)
		rv_complain(c, d->if_running_at,
			"if-running of service '%s' cannot be adopt: reeve itself binds its "
			"listeners",
			name);
}
