/* Reads the plans of stories. */
#include "notation.h"

#include <stdlib.h>
#include <string.h>

rv_time time_read(const char *text)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text)
		return -1;
	if (!strcmp(end, "s"))
		return (rv_time)(n * 1e9 + 0.5);
	if (!strcmp(end, "ms"))
		return (rv_time)(n * 1e6 + 0.5);
	if (!strcmp(end, "us"))
		return (rv_time)(n * 1e3 + 0.5);
	return *end || n != 0 ? -1 : 0;
}

void cast_init(struct cast *c, const struct cast *names)
{
	memset(c, 0, sizeof(*c));
	if (names) {
		memcpy(c->names, names->names, sizeof(c->names));
		c->graph.plan.nodes = names->graph.plan.nodes;
	}
	c->graph.plan.start_grace = 5 * RV_SEC;
	c->graph.plan.shutdown_timeout = 20 * RV_SEC;
	c->graph.plan.kill_timeout = 2 * RV_SEC;
	c->graph.plan.exit_from = RV_NO_ID;
}

rv_id cast_find(const struct cast *c, const char *name)
{
	for (rv_id id = 0; id < c->graph.plan.nodes; id++)
		if (!strcmp(c->names[id], name))
			return id;
	return RV_NO_ID;
}

/* Position of `word` in a list of names, or -1. */
static int which(const char *word, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(names[i], word))
			return i;
	return -1;
}

static bool add_edges(struct cast *c, struct rv_node *n, char *list, enum rv_edge_kind kind)
{
	static const char *const untils[] = {"started", "ready", "exited", NULL};
	char *rest = NULL;

	for (char *w = strtok_r(list, ",", &rest); w; w = strtok_r(NULL, ",", &rest)) {
		char *colon = strchr(w, ':');
		int until = -1;
		if (colon) {
			*colon = '\0';
			until = which(colon + 1, untils);
		}
		rv_id on = cast_find(c, w);
		if (on == RV_NO_ID || !c->graph.node[on].present || (colon && until < 0))
			return false;
		if (until < 0)
			until = c->graph.node[on].type == RV_TASK ? RV_UNTIL_EXITED
								  : RV_UNTIL_READY;
		c->graph.edges[c->graph.plan.edge_count++] = (struct rv_edge){
			.on = on, .kind = (uint8_t)kind, .until = (uint8_t)until};
		n->edge_count++;
	}
	return true;
}

/* An edge that is there already is one of them, too. */
static bool add_parts(struct cast *c, struct rv_node *n, char *list)
{
	char *rest = NULL;

	for (char *w = strtok_r(list, ",", &rest); w; w = strtok_r(NULL, ",", &rest)) {
		rv_id on = cast_find(c, w);
		uint32_t e = n->first_edge, end = n->first_edge + n->edge_count;

		while (e < end && c->graph.edges[e].on != on)
			e++;
		if (e == end && !add_edges(c, n, w, RV_AFTER))
			return false;
		c->graph.edges[e].part = true;
	}
	return true;
}

static bool set_steps(struct cast *c, struct rv_node *n, char *list)
{
	char *rest = NULL;

	n->step_count = 0;
	for (char *w = strtok_r(list, ",", &rest); w; w = strtok_r(NULL, ",", &rest)) {
		char *colon = strchr(w, ':');
		rv_time t = colon ? time_read(colon + 1) : 5 * RV_SEC;
		if (t < 0)
			return false;
		c->graph.steps[n->first_step + n->step_count++] = (struct rv_step){
			.signal = 15, .timeout = t};
	}
	c->graph.plan.step_count = n->first_step + n->step_count;
	return true;
}

static bool set_hooks(struct rv_node *n, char *list)
{
	static const char *const hooks[] = {
		"start", "stop", "cleanup", "confirm", "update", "probe", "check", NULL};
	char *rest = NULL;

	for (char *w = strtok_r(list, ",", &rest); w; w = strtok_r(NULL, ",", &rest)) {
		int h = which(w, hooks);
		if (h < 0)
			return false;
		n->hooks |= RV_HAS(h);
	}
	return true;
}

static bool set_time(rv_time *to, const char *text)
{
	*to = time_read(text);
	return *to >= 0;
}

static bool set_number(uint32_t *to, const char *text)
{
	*to = (uint32_t)strtoul(text, NULL, 10);
	return true;
}

static bool set_word(uint8_t *to, const char *word, const char *const *names)
{
	int i = which(word, names);

	*to = (uint8_t)i;
	return i >= 0;
}

static bool service_flag(struct rv_node *n, const char *w)
{
	if (!strcmp(w, "disabled"))
		n->enabled = false;
	else if (!strcmp(w, "inessential"))
		n->essential = false;
	else if (!strcmp(w, "recreate"))
		n->recreate = true;
	else if (!strcmp(w, "gives-up"))
		n->give_up_ends = true;
	else if (!strcmp(w, "health-restarts"))
		n->health_restarts = true;
	else if (!strcmp(w, "changed"))
		n->digest++;
	else
		return false;
	return true;
}

static bool service_value(struct cast *c, struct rv_node *n, const char *key, char *v)
{
	static const char *const keys[] = {"needs", "wants", "after", "steps", "hooks", "type",
		"loss", "proof", "restart", "ready", "delay", "max-delay", "window", "health",
		"stop-hook", "cleanup", "attempts", "factor", "limit", "threshold", "part-of",
		NULL};
	static const char *const types[] = {"daemon", "task", "launcher", NULL};
	static const char *const losses[] = {"restart", "stop", "keep", NULL};
	static const char *const proofs[] = {"none", "probe", NULL};
	static const char *const policies[] = {"never", "failure", "always", NULL};

	switch (which(key, keys)) {
	case 0: return add_edges(c, n, v, RV_NEEDS);
	case 1: return add_edges(c, n, v, RV_WANTS);
	case 2: return add_edges(c, n, v, RV_AFTER);
	case 3: return set_steps(c, n, v);
	case 4: return set_hooks(n, v);
	case 5: return set_word(&n->type, v, types);
	case 6: return set_word(&n->on_loss, v, losses);
	case 7: return set_word(&n->proof, v, proofs);
	case 8: return set_word(&n->restart_on, v, policies);
	case 9: return set_time(&n->ready_timeout, v);
	case 10: return set_time(&n->delay, v);
	case 11: return set_time(&n->max_delay, v);
	case 12: return set_time(&n->window, v);
	case 13: return set_time(&n->health_period, v);
	case 14: return set_time(&n->stop_hook_timeout, v);
	case 15: return set_time(&n->cleanup_timeout, v);
	case 16: return set_number(&n->start_attempts, v);
	case 17: return set_number(&n->factor_milli, v);
	case 18: return set_number(&n->limit, v);
	case 19: return set_number(&n->health_threshold, v);
	case 20: return add_parts(c, n, v);
	default: return false;
	}
}

static struct rv_node *service_new(struct cast *c, const char *name)
{
	rv_id id = cast_find(c, name);

	if (id == RV_NO_ID) {
		id = (rv_id)c->graph.plan.nodes++;
		strncpy(c->names[id], name, sizeof(c->names[id]) - 1);
	}
	c->graph.order[c->graph.plan.present++] = id;
	c->graph.node[id] = (struct rv_node){
		.digest = 1,
		.present = true,
		.enabled = true,
		.essential = true,
		.first_edge = (uint32_t)c->graph.plan.edge_count,
		.first_step = (uint32_t)c->graph.plan.step_count,
		.restart_on = RV_RESTART_FAILURE,
		.ready_timeout = 30 * RV_SEC,
		.start_attempts = 1,
		.delay = 100 * RV_MS,
		.factor_milli = 2000,
		.max_delay = 30 * RV_SEC,
		.window = 60 * RV_SEC,
		.health_threshold = 3,
		.stop_hook_timeout = 5 * RV_SEC,
		.cleanup_timeout = 10 * RV_SEC,
	};
	return &c->graph.node[id];
}

static bool service_line(struct cast *c, char **rest, const char **complaint)
{
	char *name = strtok_r(NULL, " \t", rest), term[] = "TERM:5s";
	struct rv_node *n;

	*complaint = "service";
	if (!name)
		return false;
	n = service_new(c, name);
	set_steps(c, n, term);
	for (char *w = strtok_r(NULL, " \t", rest); w; w = strtok_r(NULL, " \t", rest)) {
		char *is = strchr(w, '=');
		*complaint = w;
		if (is)
			*is++ = '\0';
		if (is ? !service_value(c, n, w, is) : !service_flag(n, w))
			return false;
	}
	return true;
}

static bool whole_value(struct cast *c, const char *key, const char *v)
{
	static const char *const keys[] = {"max-starts", "boot-timeout", "start-grace",
		"shutdown-timeout", "kill-timeout", "exit-from", NULL};
	struct rv_plan *p = &c->graph.plan;

	switch (which(key, keys)) {
	case 0: return set_number(&p->max_starts, v);
	case 1: return set_time(&p->boot_timeout, v);
	case 2: return set_time(&p->start_grace, v);
	case 3: return set_time(&p->shutdown_timeout, v);
	case 4: return set_time(&p->kill_timeout, v);
	case 5: p->exit_from = cast_find(c, v); return p->exit_from != RV_NO_ID;
	default: return false;
	}
}

static bool whole_line(struct cast *c, char **rest, const char **complaint)
{
	for (char *w = strtok_r(NULL, " \t", rest); w; w = strtok_r(NULL, " \t", rest)) {
		char *is = strchr(w, '=');
		*complaint = w;
		if (is)
			*is++ = '\0';
		if (is ? !whole_value(c, w, is) : strcmp(w, "rollback") != 0)
			return false;
		c->graph.plan.rollback |= !is;
	}
	return true;
}

bool cast_line(struct cast *c, char *line, const char **complaint)
{
	char *rest = NULL, *verb = strtok_r(line, " \t", &rest);

	*complaint = verb ? verb : "";
	if (verb && !strcmp(verb, "service"))
		return service_line(c, &rest, complaint);
	if (verb && !strcmp(verb, "reeve"))
		return whole_line(c, &rest, complaint);
	return false;
}
