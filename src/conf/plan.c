/* A conf and the plugins' recipes -> what is run, and the plan of numbers. */
#include "conf/whole.h"

#include <string.h>

/* --- digests ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ (h >> 29);
}

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t v;

	h = mix(h, n);
	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&v, p, 8);
		h = mix(h, v);
	}
	v = 0;
	memcpy(&v, p, n);
	return mix(h, v);
}

static uint64_t hash_text(uint64_t h, const char *s)
{
	return s ? hash_bytes(h, s, strlen(s)) : mix(h, 1);
}

static uint64_t hash_list(uint64_t h, const char *const *list)
{
	h = mix(h, list != NULL);
	for (; list && *list; list++)
		h = hash_text(h, *list);
	return mix(h, 2);
}

/* The order of variables means nothing. */
static uint64_t hash_environment(uint64_t h, const char *const *env)
{
	uint64_t sum = 0;

	for (; env && *env; env++)
		sum += hash_text(3, *env);
	return mix(h, sum);
}

static uint64_t hash_listen(uint64_t h, const struct rv_listen *l)
{
	h = hash_text(hash_text(h, l->name), l->family == RV_UNIX ? l->address : NULL);
	h = hash_bytes(mix(mix(h, l->family), l->port), l->ip, sizeof(l->ip));
	h = mix(mix(mix(h, (uint64_t)l->backlog), l->has_mode), l->mode);
	return hash_text(hash_text(h, l->owner), l->group);
}

static uint64_t hash_statuses(uint64_t h, struct rv_status_list list)
{
	for (uint32_t i = 0; i < list.count; i++)
		h = mix(mix(h, list.at[i].from), list.at[i].to);
	return mix(h, list.count);
}

static uint64_t hash_want(uint64_t h, const struct rv_want *w)
{
	h = hash_list(hash_text(hash_text(h, w->url), w->method), w->headers);
	h = mix(hash_text(h, w->send), (uint64_t)w->timeout);
	h = hash_statuses(hash_statuses(hash_statuses(h, w->status), w->retry), w->fail);
	for (uint32_t i = 0; i < w->json_count; i++)
		h = hash_text(
			hash_text(mix(h, w->json[i].kind), w->json[i].path), w->json[i].value);
	return mix(hash_text(hash_text(h, w->body), w->regex), w->patient);
}

static uint64_t hash_ready(uint64_t h, const struct rv_check *k)
{
	h = mix(mix(mix(h, k->has_fd), (uint64_t)k->fd), k->notify);
	h = hash_text(hash_text(hash_text(h, k->log_line), k->unix_path), k->file);
	h = k->http ? hash_want(h, k->http) : mix(h, 6);
	if (k->tcp)
		h = mix(mix(hash_bytes(h, k->tcp_ip, sizeof(k->tcp_ip)), k->tcp_port), k->tcp_v6);
	return mix(hash_list(h, k->exec), k->plugin);
}

/* What a running process has got: a change needs a new one. */
static uint64_t digest(const struct rv_detail *d)
{
	const struct rv_service *s = &d->s;
	uint64_t h = mix(mix(4, s->type), d->node.hooks);

	h = hash_list(hash_text(h, s->plugin), s->argv);
	h = hash_environment(h, s->env);
	h = hash_text(hash_text(h, s->user), s->group);
	h = hash_list(h, s->groups);
	h = mix(h, s->has_umask ? s->umask : 022);
	for (size_t i = 0; i < s->limit_count; i++)
		h = mix(mix(mix(h, (uint64_t)s->limits[i].resource), s->limits[i].soft),
			s->limits[i].hard);
	h = hash_text(h,
		s->working_dir ? s->working_dir
			       : "/"); /* a default that is written out is no change */
	for (size_t i = 0; i < s->port_count; i++)
		h = mix(h, s->ports[i]);
	for (size_t i = 0; i < s->listen_count; i++)
		h = hash_listen(h, &s->listen[i]);
	h = hash_ready(h, &s->ready);
	h = hash_text(mix(h, s->log.kind), s->log.path);
	for (size_t i = 0; i < s->option_count; i++) {
		const struct rv_option *o = &s->options[i];

		h = mix(h, o->value != NULL);
		h = hash_bytes(hash_text(h, o->key->name), o->value ? o->value : "", o->value_len);
	}
	return h ? h : 1;
}

/* What may change under a running service. */
static uint64_t tuning(const struct rv_detail *d)
{
	const struct rv_node *n = &d->node;
	const uint64_t values[] = {n->enabled, n->essential, n->recreate, n->give_up_ends,
		n->on_loss, n->restart_on, (uint64_t)n->ready_timeout, n->start_attempts,
		(uint64_t)n->delay, n->factor_milli, (uint64_t)n->max_delay, n->limit,
		(uint64_t)n->window, (uint64_t)n->health_period, n->health_threshold,
		n->health_restarts, (uint64_t)n->stop_hook_timeout, (uint64_t)n->cleanup_timeout,
		n->step_count, d->s.adopts, (uint64_t)d->s.ready.attempt_timeout, d->s.log.max_size,
		d->s.log.keep, d->s.renews};
	uint64_t h = hash_text(hash_bytes(5, values, sizeof(values)), d->s.summary);

	h = hash_text(mix(mix(h, d->s.main_pid.by), d->s.main_pid.port), d->s.main_pid.file);

	if (d->health)
		h = mix(hash_ready(h, d->health), (uint64_t)d->health->attempt_timeout);
	for (uint32_t i = 0; i < n->step_count; i++) {
		h = mix(mix(h, (uint64_t)d->steps[i].signal), d->steps[i].to);
		h = mix(h, (uint64_t)d->steps[i].timeout);
	}
	return h;
}

/* --- recipes ---------------------------------------------------------------------------------- */

static const char *const *copy_list(struct rv_arena *a, const char *const *list)
{
	const char **to;
	size_t n = 0;

	while (list && list[n])
		n++;
	to = rv_arena_array(a, n + 1, sizeof(*to));
	for (size_t i = 0; to && i < n; i++)
		to[i] = rv_arena_strdup(a, list[i]);
	return to;
}

/* The plugin knows the variable of its convention and its own option, so its word is the last. */
static void take_log_file(
	struct rv_whole *w, struct rv_detail *d, const char *path, struct rv_complaints *c)
{
	if (!path || !*path)
		return;
	if (!strcmp(path, "-")) {
		d->s.log.kind = RV_LOG_INHERIT;
		d->s.log.path = NULL;
	} else if (*path == '/') {
		d->s.log.kind = RV_LOG_FILE;
		d->s.log.path = rv_arena_strdup(&w->conf.arena, path);
	} else {
		rv_complain(c, d->s.at,
			"the log file of service '%s' must be an absolute path or -; what its "
			"option or variable says is neither",
			d->s.name);
	}
}

static bool has_claim(const struct rv_detail *d, uint16_t port)
{
	for (size_t i = 0; i < d->claim_count; i++)
		if (d->claims[i].port == port)
			return true;
	return false;
}

/* What a plugin reports of its own port is the listener that it inherits. */
static bool has_listener(const struct rv_detail *d, uint16_t port)
{
	for (size_t i = 0; i < d->s.listen_count; i++)
		if (d->s.listen[i].family != RV_UNIX && d->s.listen[i].port == port)
			return true;
	return false;
}

static void take_ports(struct rv_whole *w, struct rv_detail *d, const struct rv_recipe *recipe)
{
	size_t n = recipe ? recipe->port_count : 0;
	struct rv_claim *claims = rv_arena_array(
		&w->conf.arena, d->claim_count + n, sizeof(*claims));
	uint16_t *ports = rv_arena_array(&w->conf.arena, d->claim_count + n, sizeof(*ports));

	if (!claims || !ports)
		return;
	if (d->claim_count)
		memcpy(claims, d->claims, d->claim_count * sizeof(*claims));
	d->claims = claims;
	for (size_t i = 0; i < n; i++)
		if (recipe->ports[i] && !has_claim(d, recipe->ports[i]) &&
			!has_listener(d, recipe->ports[i]))
			claims[d->claim_count++] = (struct rv_claim){
				d->s.at, recipe->ports[i], true};
	for (size_t i = 0; i < d->claim_count; i++)
		ports[i] = claims[i].port;
	d->s.ports = ports;
	d->s.port_count = d->claim_count;
}

static void take_argv(struct rv_whole *w, struct rv_detail *d, const struct rv_recipe *recipe,
	struct rv_complaints *c)
{
	/* Without a recipe's word nothing is ever asked again; what it may say at a start is not known. */
	d->s.unused = recipe ? recipe->unused : 0;
	d->s.argv_is_static = !recipe || recipe->is_static ||
		(!recipe->argv && !recipe->env && !recipe->fixed);
	if (d->s.command) {
		d->s.argv = d->s.command;
	} else if (recipe && recipe->argv && recipe->argv[0]) {
		d->s.argv = copy_list(&w->conf.arena, recipe->argv);
	} else if (!recipe || (!recipe->fixed && !recipe->error)) {
		rv_complain(c, d->s.at, "service '%s' needs a command: plugin %s gave none",
			d->s.name, d->s.plugin);
	}
}

static void take_recipe(struct rv_whole *w, struct rv_detail *d, const struct rv_recipe *recipe,
	struct rv_complaints *c)
{
	const char *const *env = NULL;

	if (recipe && recipe->error)
		rv_complain(c, d->s.at, "service '%s': plugin %s refuses this: %s", d->s.name,
			d->s.plugin, recipe->error);
	if (recipe && recipe->env)
		env = copy_list(&w->conf.arena, recipe->env);
	rv_main_pid_settle(w, d, recipe, c);
	take_argv(w, d, recipe, c);
	take_ports(w, d, recipe);
	if (recipe)
		take_log_file(w, d, recipe->log_file, c);
	rv_environ_effective(w, d, env);
}

/* --- time to stop ----------------------------------------------------------------------------- */

/* More is never waited for, and with this a moment that is reckoned from now still is one. */
#define CENTURY (36525 * INT64_C(86400) * RV_SEC)

static rv_time add(rv_time a, rv_time b)
{
	return a > CENTURY - b ? CENTURY : a + b;
}

static rv_time stop_time(const struct rv_detail *d, rv_time kill)
{
	rv_time t = kill;

	for (uint32_t i = 0; i < d->node.step_count; i++)
		t = add(t, d->steps[i].timeout);
	if (d->node.hooks & RV_HAS(RV_HOOK_STOP))
		t = add(t, d->node.stop_hook_timeout);
	if (d->node.hooks & RV_HAS(RV_HOOK_CLEANUP))
		t = add(t, d->node.cleanup_timeout);
	return t;
}

/* The slowest chain from a service down to what it stands on, all of them deaf. */
static rv_time longest_stop(struct rv_whole *w, const struct rv_plan *p)
{
	rv_time *below = rv_arena_array(&w->conf.arena, p->nodes, sizeof(*below)), longest = 0;

	for (size_t i = 0; below && i < p->present; i++) {
		rv_id id = p->order[i];
		const struct rv_node *n = &p->node[id];
		rv_time deepest = 0;

		for (uint32_t k = 0; k < n->edge_count; k++)
			if (below[p->edges[n->first_edge + k].on] > deepest)
				deepest = below[p->edges[n->first_edge + k].on];
		below[id] = add(deepest, stop_time(&w->details[w->detail_of[id]], p->kill_timeout));
		if (below[id] > longest)
			longest = below[id];
	}
	return longest;
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool collect_steps(struct rv_whole *w, struct rv_plan *p)
{
	struct rv_step *steps;
	uint32_t n = 0;

	for (size_t i = 0; i < w->detail_count; i++)
		p->step_count += w->details[i].node.step_count;
	steps = rv_arena_array(&w->conf.arena, p->step_count, sizeof(*steps));
	if (!steps)
		return false;
	for (size_t i = 0; i < w->detail_count; i++) {
		struct rv_detail *d = &w->details[i];

		d->node.first_step = n;
		for (uint32_t k = 0; k < d->node.step_count; k++)
			steps[n++] = d->steps[k];
	}
	p->steps = steps;
	return true;
}

static bool make_plan(struct rv_whole *w)
{
	struct rv_plan *p = rv_arena_alloc(&w->conf.arena, sizeof(*p));
	rv_time least;

	if (!p)
		return false;
	*p = (struct rv_plan){.nodes = w->conf.service_count,
		.max_starts = w->top.max_starts,
		.boot_timeout = w->top.boot_timeout,
		.start_grace = w->top.start_grace,
		.kill_timeout = 5 * RV_SEC,
		.rollback = w->top.on_boot_failure != 0,
		.exit_from = w->exit_from};
	if (!collect_steps(w, p) || !rv_graph_build(w, p))
		return false;
	least = add(p->start_grace, longest_stop(w, p));
	p->shutdown_timeout = w->top.shutdown_timeout > least ? w->top.shutdown_timeout : least;
	w->conf.plan = p;
	return true;
}

bool rv_conf_plan(struct rv_conf *conf, const struct rv_recipe *recipes, struct rv_complaints *c)
{
	struct rv_whole *w = (struct rv_whole *)conf;
	size_t errors = c->errors;
	struct rv_service *list = rv_arena_array(&conf->arena, conf->service_count, sizeof(*list));

	for (size_t i = 0; i < w->detail_count; i++) {
		struct rv_detail *d = &w->details[i];

		take_recipe(w, d, recipes ? &recipes[d->s.id] : NULL, c);
		rv_ports_adoption(d, recipes && recipes[d->s.id].fixed, c);
		d->node.digest = digest(d);
		d->node.tuning = tuning(d);
	}
	if (!list || !make_plan(w) || !rv_mask_settle(w))
		conf->arena.full = true;
	for (size_t i = 0; list && i < conf->service_count; i++)
		list[i].id = (uint32_t)i;
	for (size_t i = 0; list && i < w->detail_count; i++) {
		w->details[i].s.mask = conf->mask;
		list[w->details[i].s.id] = w->details[i].s;
	}
	if (list)
		conf->services = list;
	rv_ports_check(w, true, c);
	if (!conf->arena.full)
		rv_advice_give(w, c);
	if (conf->arena.full)
		rv_complain(c, (struct rv_place){"", 0, 0},
			"cannot plan the configuration: out of memory");
	return c->errors == errors;
}
