/* What the tests of conf share: YAML text in, a conf or the complaints out. Included once a program. */
#ifndef TESTS_UNIT_CONF_HELP_H
#define TESTS_UNIT_CONF_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "conf/conf.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* What is read, and with what. Zeroed: nothing special. */
struct given {
	const char *yaml; /* becomes t.yaml */
	const char *second; /* becomes u.yaml, a later layer; NULL: none */
	const struct rv_plugin_table *tables;
	size_t table_count;
	const char *const *environ;
	const struct rv_conf *before;
	const char *const *command;
	const struct rv_recipe *recipes;
};

struct got {
	struct rv_complaints c;
	struct rv_conf *conf; /* planned; NULL: refused */
};

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
}

static struct got read_given(struct given g)
{
	const char *paths[] = {"t.yaml", g.second ? "u.yaml" : NULL, NULL};
	struct got got = {0};
	struct rv_draft *d;

	write_file("t.yaml", g.yaml);
	if (g.second)
		write_file("u.yaml", g.second);
	d = rv_draft_read(paths, NULL, g.command, &got.c);
	if (d)
		got.conf = rv_conf_build(
			d, g.tables, g.table_count, g.environ, g.before, NULL, NULL, &got.c);
	rv_draft_destroy(d);
	if (got.conf && !rv_conf_plan(got.conf, g.recipes, &got.c)) {
		rv_conf_destroy(got.conf);
		got.conf = NULL;
	}
	assert_true(!got.conf == (got.c.errors > 0));
	return got;
}

static void put_away(struct got *got)
{
	rv_conf_destroy(got->conf);
	rv_complaints_fini(&got->c);
}

/* The conf of a good file. */
static inline struct got accept_given(struct given g)
{
	struct got got = read_given(g);

	if (!got.conf)
		fail_msg("refused:\n%s\nin:\n%s", rv_buf_text(&got.c.text), g.yaml);
	return got;
}

static inline struct got accept(const char *yaml)
{
	return accept_given((struct given){.yaml = yaml});
}

/* All complaints, exactly. */
static inline void refuse_given(struct given g, const char *complaints)
{
	struct got got = read_given(g);

	if (got.conf)
		fail_msg("accepted, expected: %s", complaints);
	assert_string_equal(rv_buf_text(&got.c.text), complaints);
	put_away(&got);
}

static inline void refuse(const char *yaml, const char *complaints)
{
	refuse_given((struct given){.yaml = yaml}, complaints);
}

static inline const struct rv_service *service(const struct got *got, const char *name)
{
	const struct rv_service *s = rv_conf_find(got->conf, name);

	if (!s)
		fail_msg("no service '%s'", name);
	return s;
}

static inline const struct rv_node *node(const struct got *got, const char *name)
{
	return &got->conf->plan->node[service(got, name)->id];
}

/* The value of a variable that a service gets; NULL: none. Twice is a failure. */
static inline const char *variable(const struct rv_service *s, const char *name)
{
	size_t n = strlen(name);
	const char *found = NULL;

	for (const char *const *e = s->env; *e; e++) {
		if (!strncmp(*e, name, n) && (*e)[n] == '=') {
			assert_null(found);
			found = *e + n + 1;
		}
	}
	return found;
}

static inline void assert_variable(const struct rv_service *s, const char *name, const char *value)
{
	const char *got = variable(s, name);

	if (!got || strcmp(got, value) != 0)
		fail_msg("%s is '%s', not '%s'", name, got ? got : "(none)", value);
}

static inline void assert_list(const char *const *list, const char *joined)
{
	struct rv_buf b = {0};

	assert_non_null(list);
	for (; *list; list++)
		rv_buf_fmt(&b, "%s|", *list);
	assert_string_equal(rv_buf_text(&b), joined);
	rv_buf_fini(&b);
}

static char scratch[] = "/tmp/conf-test-XXXXXX";

static int enter_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) && !chdir(scratch) ? 0 : -1;
}

static int leave_scratch(void **state)
{
	char command[100];

	(void)state;
	if (chdir("/"))
		return -1;
	snprintf(command, sizeof(command), "rm -rf %s", scratch);
	return system(command);
}

#endif
