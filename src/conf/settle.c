/* One service, once its plugin is known: what its files leave open is settled by what that plugin can do. */
#include "conf/whole.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>

static bool has_check(const struct rv_check *k)
{
	return k->has_fd || k->notify || k->log_regex || k->tcp || k->unix_path || k->http ||
		k->file || k->exec;
}

static void settle_readiness(struct rv_detail *d)
{
	struct rv_check *k = &d->s.ready;

	k->plugin = !has_check(k) && !k->exit && (d->node.hooks & RV_HAS(RV_HOOK_PROBE));
	d->s.has_ready = has_check(k) || k->plugin;
	d->node.proof = d->s.has_ready ? RV_PROOF_PROBE : RV_PROOF_NONE;
}

/* Its plugin's probe is the check that need not be written. */
static void settle_health(struct rv_read *r, struct rv_detail *d)
{
	struct rv_check *k = d->health;

	if (!k)
		return;
	k->plugin = !has_check(k) && (d->node.hooks & RV_HAS(RV_HOOK_PROBE));
	d->s.health = k;
	if (!has_check(k) && !k->plugin && d->s.table && !d->s.table->error)
		rv_complain(r->c, k->at,
			"health of service '%s' has nothing to ask: give it http, tcp, unix, file "
			"or "
			"exec, for its plugin has no probe",
			d->s.name);
	if (d->type == RV_TASK)
		rv_complain(r->c, k->at,
			"health of service '%s' is for what runs on: a task is there when it has "
			"ended",
			d->s.name);
}

/* Only what is ours may be replaced, and only when something can tell that it is lost. */
static void settle_recreate(struct rv_read *r, const struct rv_detail *d)
{
	const char *name = d->s.name;

	if (!d->node.recreate)
		return;
	if (d->s.adopts)
		rv_complain(r->c, d->recreate_at,
			"recreate of service '%s' cannot be true: if-running: adopt takes what "
			"reeve did "
			"not start, and that is never replaced",
			name);
	if (d->type == RV_TASK)
		rv_complain(r->c, d->recreate_at,
			"recreate of service '%s' is for what runs on: a task is there when it has "
			"ended",
			name);
	else if (d->s.table && !d->s.table->error && !(d->node.hooks & RV_HAS(RV_HOOK_CONFIRM)))
		rv_complain(r->c, d->recreate_at,
			"recreate of service '%s' cannot be true: only the confirm hook of a "
			"plugin can "
			"tell that it is lost, and plugin %s has none",
			name, d->s.plugin);
}

/* The address of a UNIX socket has room for so many bytes. */
static void check_notify_path(
	struct rv_read *r, const struct rv_whole *w, const struct rv_detail *d)
{
	size_t most = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
	int n = snprintf(NULL, 0, RV_NOTIFY_PATH, w->top.runtime_dir, 0ULL);

	if (d->s.ready.notify && (n < 0 || (size_t)n > most))
		rv_complain(r->c, d->s.ready.at,
			"ready.notify of service '%s' needs a socket below reeve.runtime-dir, and "
			"its path would have %d bytes, but %zu are possible: choose a shorter "
			"reeve.runtime-dir",
			d->s.name, n, most);
}

static void settle_log(struct rv_read *r, struct rv_detail *d, const char *dir)
{
	if (d->log_given)
		return;
	if (dir)
		d->s.log.path = rv_arena_fmt(r->arena, "%s/%s.log", dir, d->s.name);
	else
		d->s.log.kind = RV_LOG_INHERIT;
}

/* What a plugin may look at while its recipes are made; both are completed by the recipes. */
static void show_to_plugin(struct rv_read *r, struct rv_whole *w, struct rv_detail *d)
{
	uint16_t *ports = rv_arena_array(r->arena, d->claim_count, sizeof(*ports));

	if (!ports)
		return;
	for (size_t i = 0; i < d->claim_count; i++)
		ports[i] = d->claims[i].port;
	d->s.ports = ports;
	d->s.port_count = d->claim_count;
	rv_environ_effective(w, d, NULL);
}

void rv_detail_settle(struct rv_read *r, struct rv_whole *w, struct rv_detail *d)
{
	bool ends_us = w->top.exit_from && !strcmp(w->top.exit_from, d->s.name);

	settle_readiness(d);
	settle_health(r, d);
	settle_recreate(r, d);
	check_notify_path(r, w, d);
	settle_log(r, d, w->top.log_dir);
	if (d->node.hooks)
		show_to_plugin(r, w, d);
	if (ends_us && !d->restart_given)
		d->node.restart_on = RV_RESTART_NEVER;
	if (!d->has_command && d->s.table && !d->s.table->error &&
		!(d->node.hooks & RV_HAS(RV_HOOK_START)) && !w->broken)
		rv_complain(r->c, d->s.at,
			"service '%s' needs a command: plugin %s has none of its "
			"own",
			d->s.name, d->s.plugin);
}
