/* A stage for the hooks of a plugin: one service of it, with the options of its table and a turn to hand in. */
#ifndef TESTS_UNIT_STAGE_H
#define TESTS_UNIT_STAGE_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "reeve/plugin.h"

struct stage {
	const struct reeve_plugin *plugin;
	struct reeve_value values[16];
	struct reeve_turn t;
	void *self; /* just as large as the plugin says, so that the sanitizer sees what is beyond it */
	unsigned char memo[REEVE_MEMO];
	char arena[REEVE_ARENA] __attribute__((aligned(16)));
};

static struct stage s; /* of the test that runs */

/* The number that the host makes of an option's text. */
static inline void stage_number(struct reeve_value *v)
{
	int64_t n = 0;
	uint64_t size = 0;
	bool yes = false;

	v->number = 0;
	if (!v->text)
		return;
	if (v->type == REEVE_INT || v->type == REEVE_PORT)
		assert_true(rv_text_int(v->text, &n));
	else if (v->type == REEVE_DURATION)
		assert_true(rv_text_duration(v->text, &n));
	else if (v->type == REEVE_SIZE)
		assert_true(rv_text_size(v->text, &size));
	else if (v->type == REEVE_BOOL)
		assert_true(rv_text_bool(v->text, &yes));
	v->number = n + (int64_t)size + yes;
}

static inline const struct reeve_plugin *stage_load(const char *name)
{
	const char *build = getenv("RV_BUILD");
	const struct reeve_plugin *p;
	char path[4096];
	void *so;

	snprintf(path, sizeof(path), "%s/plugins/%s.so", build ? build : ".", name);
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		fail_msg("%s", dlerror());
	p = dlsym(so, "reeve_plugin_v1");
	assert_non_null(p);
	return p;
}

/* Afresh: nothing is left of the test before. */
static inline void stage_use(const char *name)
{
	size_t n = 0;

	free(s.self);
	memset(&s, 0, sizeof(s));
	s.plugin = stage_load(name);
	s.self = calloc(1, s.plugin->state_size ? s.plugin->state_size : 1);
	assert_non_null(s.self);
	for (const struct reeve_option *o = s.plugin->options; o && o->name; o++, n++) {
		assert_true(n < sizeof(s.values) / sizeof(s.values[0]));
		s.values[n] = (struct reeve_value){.name = o->name,
			.type = o->type,
			.text = o->preset,
			.len = o->preset ? strlen(o->preset) : 0};
		stage_number(&s.values[n]);
	}
	s.t = (struct reeve_turn){.size = sizeof(s.t),
		.service = "x",
		.options = s.values,
		.option_count = n,
		.left_ns = INT64_C(5000000000),
		.memo = s.memo,
		.arena = s.arena,
		.arena_room = sizeof(s.arena)};
}

static inline void stage_option(const char *name, const char *text, size_t len)
{
	for (size_t i = 0; i < s.t.option_count; i++) {
		struct reeve_value *v = &s.values[i];

		if (strcmp(v->name, name) != 0)
			continue;
		v->text = text;
		v->len = len;
		v->from = REEVE_FROM_CONFIG;
		stage_number(v);
		return;
	}
	fail_msg("no option %s", name);
}

static inline void with(const char *name, const char *text)
{
	stage_option(name, text, strlen(text));
}

/* What the host does before each turn. */
static inline void stage_turn(void)
{
	s.t.arena_used = 0;
	s.t.arena_full = false;
	s.t.why = NULL;
}

#endif
