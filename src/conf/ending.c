/* When a service ends: restart and stop; and where it logs. */
#include "conf/whole.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "base/names.h"

#define AT(member)   offsetof(struct rv_detail, member)
#define LONG_TIME    (366 * 86400 * RV_SEC)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static rv_words to_words = {"group", "main", "tree", NULL};

static bool restart_word(const char *s, uint8_t *on)
{
	static const char *const words[] = {"never", "failure", "always"};

	for (size_t i = 0; i < COUNT(words); i++) {
		if (!strcmp(s, words[i])) {
			*on = (uint8_t)i;
			return true;
		}
	}
	*on = RV_RESTART_NEVER;
	return !strcmp(s, "no");
}

static void read_restart_on(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;
	uint8_t on;

	(void)row;
	d->restart_given = true;
	if (v->kind == RV_TREE_SCALAR && restart_word(v->text, &on))
		d->node.restart_on = on;
	else
		rv_read_refuse(r, v, "never (or no), failure or always");
}

static const struct rv_row restart_rows[] = {
	{"on", read_restart_on, 0, NULL, 0, 0, NULL, false},
	{"delay", rv_read_duration, AT(node.delay), NULL, 0, LONG_TIME, NULL, false},
	{"factor", rv_read_factor, AT(node.factor_milli), NULL, 1000, 100000, NULL, false},
	{"max-delay", rv_read_duration, AT(node.max_delay), NULL, 0, LONG_TIME, NULL, false},
	{"limit", rv_read_uint, AT(node.limit), NULL, 0, 1000000, NULL, false},
	{"window", rv_read_duration, AT(node.window), NULL, RV_MS, LONG_TIME, NULL, false},
};
const struct rv_table rv_restart_table = RV_TABLE(restart_rows);

void rv_service_restart(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	if (v->kind == RV_TREE_SCALAR) {
		read_restart_on(r, row, v, to);
		return;
	}
	rv_read_table(r, &rv_restart_table, v, to);
	if (d->node.max_delay < d->node.delay) {
		if (rv_tree_get(v, "max-delay"))
			rv_read_complain(r, v->at, "has a max-delay below its delay");
		else
			d->node.max_delay = d->node.delay;
	}
}

static void read_signal(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	int n = v->kind == RV_TREE_SCALAR ? rv_signal_from_name(v->text) : 0;

	(void)row;
	if (n)
		*(int32_t *)to = n;
	else
		rv_read_refuse(r, v, "a signal such as TERM, INT or QUIT");
}

#define STEP_AT(member) offsetof(struct rv_step, member)
static const struct rv_row step_rows[] = {
	{"signal", read_signal, STEP_AT(signal), NULL, 0, 0, NULL, false},
	{"timeout", rv_read_duration, STEP_AT(timeout), NULL, 0, LONG_TIME, NULL, false},
	{"to", rv_read_word, STEP_AT(to), to_words, 0, 0, NULL, false},
};
static const struct rv_table step_table = RV_TABLE(step_rows);

/* `stop` while it is read. */
struct stopping {
	struct rv_step one; /* without `steps` */
	struct rv_detail *d;
};

static void read_steps(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = ((struct stopping *)to)->d;
	struct rv_step *steps;

	(void)row;
	if (v->kind != RV_TREE_LIST || v->count > 100) {
		rv_read_refuse(r, v, "a list of at most 100 steps");
		return;
	}
	steps = rv_arena_array(r->arena, v->count, sizeof(*steps));
	if (!steps)
		return;
	for (uint32_t i = 0; i < v->count; i++) {
		steps[i] = (struct rv_step){SIGTERM, RV_TO_GROUP, 5 * RV_SEC};
		rv_read_table(r, &step_table, v->items[i], &steps[i]);
	}
	d->steps = steps;
	d->node.step_count = v->count;
}

static void read_hook_timeout(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	rv_read_duration(r, row, v, &((struct stopping *)to)->d->node.stop_hook_timeout);
}

static void read_cleanup_timeout(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	rv_read_duration(r, row, v, &((struct stopping *)to)->d->node.cleanup_timeout);
}

/* Either the keys of one step, or `steps`. */
static const struct rv_row stop_rows[] = {
	{"signal", read_signal, STEP_AT(signal), NULL, 0, 0, NULL, false},
	{"timeout", rv_read_duration, STEP_AT(timeout), NULL, 0, LONG_TIME, NULL, false},
	{"to", rv_read_word, STEP_AT(to), to_words, 0, 0, NULL, false},
	{"steps", read_steps, 0, NULL, 0, 0, &step_table, false},
	{"hook-timeout", read_hook_timeout, 0, NULL, RV_MS, LONG_TIME, NULL, false},
	{"cleanup-timeout", read_cleanup_timeout, 0, NULL, RV_MS, LONG_TIME, NULL, false},
};
const struct rv_table rv_stop_table = RV_TABLE(stop_rows);

void rv_service_stop(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;
	struct stopping s = {.one = {SIGTERM, RV_TO_GROUP, 5 * RV_SEC}, .d = d};
	struct rv_step *one;

	(void)row;
	if (rv_tree_get(v, "steps") &&
		(rv_tree_get(v, "signal") || rv_tree_get(v, "timeout") || rv_tree_get(v, "to"))) {
		rv_read_complain(r, v->at,
			"has steps and other keys: signal, timeout and to belong "
			"into the steps");
		return;
	}
	if (!rv_read_table(r, &rv_stop_table, v, &s) || rv_tree_get(v, "steps"))
		return;
	one = rv_arena_alloc(r->arena, sizeof(*one));
	if (!one)
		return;
	*one = s.one;
	d->steps = one;
	d->node.step_count = 1;
}

static void read_log_file(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;

	d->log_given = true;
	if (rv_tree_is_null(v)) {
		d->s.log.kind = RV_LOG_NULL;
	} else if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "-")) {
		d->s.log.kind = RV_LOG_INHERIT;
	} else if (v->kind == RV_TREE_SCALAR && *v->text != '/' && *v->text != '$') {
		rv_read_refuse(r, v, "an absolute path, \"-\", or null without quotes");
	} else {
		d->s.log.kind = RV_LOG_FILE;
		rv_read_path(r, row, v, &d->s.log.path);
	}
}

static const struct rv_row log_rows[] = {
	{"file", read_log_file, 0, NULL, 0, 0, NULL, false},
	{"max-size", rv_read_size, AT(s.log.max_size), NULL, 0, 0, NULL, false},
	{"keep", rv_read_uint, AT(s.log.keep), NULL, 0, 10000, NULL, false},
};
const struct rv_table rv_log_table = RV_TABLE(log_rows);

void rv_service_log(struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	if (v->kind == RV_TREE_SCALAR)
		read_log_file(r, row, v, to);
	else
		rv_read_table(r, &rv_log_table, v, to);
}
