/* The link to the plugin host, with a real host, a real reaper, and plugins that misbehave. */
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "daemon/hostlink.h"
#include "host/host.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "server.h"

#define PATIENCE (60 * RV_SEC) /* with what nobody means to take long */
enum { SLOTS = 4 };

static char root[] = "/tmp/reeve-hostlink-XXXXXX", plugin_dir[4096];

/* ---- a world: four services of given plugins, a loop, a reaper ---- */

struct said { /* the last answer to a service, and how many there were */
	int count;
	uint64_t generation;
	enum rv_hook hook;
	enum rv_verdict verdict;
	char why[2000];
	char argv0[64], env0[64];
	size_t ports;
};

struct world {
	struct ev_loop *loop;
	struct rv_hostlink *host;
	struct rv_reaper *reaper;
	ev_signal child;
	ev_timer poll;
	struct rv_service services[SLOTS];
	struct rv_plugin_table tables[SLOTS];
	struct rv_key keys[SLOTS][4];
	struct rv_option options[SLOTS][4];
	struct rv_conf conf;
	struct said said[SLOTS];
	char disabled[64];
	int disabled_count, back_count;
	bool no_context;
};

static struct world *living; /* of the test that runs */

static void on_answer(void *ctx, const struct rv_host_answer *a)
{
	struct world *w = ctx;
	struct said *s = &w->said[a->id];

	s->count++;
	s->generation = a->generation;
	s->hook = a->hook;
	s->verdict = a->verdict;
	snprintf(s->why, sizeof(s->why), "%s", a->why);
	if (a->recipe.argv)
		snprintf(s->argv0, sizeof(s->argv0), "%s", a->recipe.argv[0]);
	if (a->recipe.env)
		snprintf(s->env0, sizeof(s->env0), "%s", a->recipe.env[0]);
	s->ports = a->recipe.port_count;
}

static void on_disabled(void *ctx, const char *plugin, bool disabled)
{
	struct world *w = ctx;

	snprintf(w->disabled, sizeof(w->disabled), "%s", plugin);
	if (disabled)
		w->disabled_count++;
	else
		w->back_count++;
}

static bool on_context(void *ctx, rv_id id, struct rv_spawn *to)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin", "MARK=context", NULL};
	struct world *w = ctx;

	(void)id;
	to->env = env;
	to->dir = "/";
	to->umask = -1;
	return !w->no_context;
}

static const struct rv_hostlink_ops ops = {on_answer, on_disabled, on_context};

static void on_child(struct ev_loop *loop, ev_signal *s, int events)
{
	(void)loop;
	(void)events;
	rv_reaper_turn(((struct world *)s->data)->reaper);
}

static void on_poll(struct ev_loop *loop, ev_timer *t, int events)
{
	(void)loop;
	(void)events;
	rv_reaper_turn(((struct world *)t->data)->reaper);
}

static void no_life(void *ctx, rv_id id, uint64_t generation)
{
	(void)ctx;
	(void)id;
	(void)generation;
}

static void no_exit(void *ctx, rv_id id, uint64_t generation, rv_exit how)
{
	(void)how;
	no_life(ctx, id, generation);
}

static void set_option(struct world *w, rv_id id, size_t n, const char *name, enum rv_key_type type,
	const char *value, size_t len)
{
	w->keys[id][n] = (struct rv_key){.name = name, .type = type};
	w->options[id][n] = (struct rv_option){
		.key = &w->keys[id][n], .value = value, .value_len = len, .from = RV_FROM_YAML};
	if (w->services[id].option_count <= n)
		w->services[id].option_count = n + 1;
}

static void say(struct world *w, rv_id id, const char *what, const char *url)
{
	set_option(w, id, 0, "do", RV_KEY_STRING, what, strlen(what));
	set_option(w, id, 1, "url", RV_KEY_STRING, url, url ? strlen(url) : 0);
	set_option(w, id, 2, "argv", RV_KEY_WORDS, NULL, 0);
	set_option(w, id, 3, "limit", RV_KEY_DURATION, "50s", 3);
}

static struct world *world_create(const char *const plugins[SLOTS])
{
	static const char *const names[SLOTS] = {"a", "b", "c", "d"};
	static const char *const env[] = {"LANG=C.UTF-8", NULL};
	static const struct rv_reaper_ops reaper_ops = {no_exit, no_life};
	struct world *w = calloc(1, sizeof(*w));
	struct rv_err e;

	assert_non_null(w);
	living = w;
	w->loop = ev_loop_new(EVFLAG_AUTO);
	w->reaper = rv_reaper_create(SLOTS, &reaper_ops, w);
	assert_true(rv_hostlink_fork(rv_host_run, &w->host, &e));
	ev_signal_init(&w->child, on_child, SIGCHLD);
	ev_timer_init(&w->poll, on_poll, 0.02, 0.02);
	w->child.data = w->poll.data = w;
	ev_signal_start(w->loop, &w->child);
	ev_timer_start(w->loop, &w->poll);
	w->conf = (struct rv_conf){
		.plugin_dir = plugin_dir, .services = w->services, .service_count = SLOTS};
	for (rv_id i = 0; i < SLOTS; i++) {
		w->tables[i] = (struct rv_plugin_table){
			.name = plugins[i], .hooks = RV_HAS(RV_HOOK_PROBE)};
		w->services[i] = (struct rv_service){.id = i,
			.name = names[i],
			.plugin = plugins[i],
			.env = env,
			.options = w->options[i],
			.ready = {.plugin = true},
			.table = &w->tables[i]};
		say(w, i, "ok", NULL);
	}
	return w;
}

static void attach(struct world *w)
{
	rv_hostlink_attach(w->host, w->loop, w->reaper, &w->conf, &ops, w);
}

static void world_destroy(struct world *w)
{
	rv_hostlink_destroy(w->host);
	ev_signal_stop(w->loop, &w->child);
	ev_timer_stop(w->loop, &w->poll);
	rv_reaper_destroy(w->reaper);
	ev_loop_destroy(w->loop);
	free(w);
	living = NULL;
}

/* After a test that failed halfway. */
static int clean_up(void **state)
{
	(void)state;
	if (living)
		world_destroy(living);
	return 0;
}

static void call_in(struct world *w, rv_id id, enum rv_hook hook, uint64_t generation,
	uint32_t attempt, rv_time timeout)
{
	const struct rv_host_facts f = {.id = id,
		.generation = generation,
		.pid = 4711,
		.exit = RV_EXIT_UNKNOWN,
		.attempt = attempt};

	rv_hostlink_call(w->host, &f, hook, timeout);
}

static void probe(struct world *w, rv_id id)
{
	call_in(w, id, RV_HOOK_PROBE, 1, 1, PATIENCE);
}

static void await(struct world *w, rv_id id, int count)
{
	rv_time until = rv_now() + PATIENCE;

	while (w->said[id].count < count && rv_now() < until)
		ev_run(w->loop, EVRUN_ONCE);
	assert_int_equal(w->said[id].count, count);
}

static void run_for(struct world *w, rv_time ns)
{
	rv_time until = rv_now() + ns;

	while (rv_now() < until)
		ev_run(w->loop, EVRUN_ONCE);
}

/* Until the host has taken what it was told before: it answers this one, which waits for nothing, after that. */
static void await_host(struct world *w, rv_id id)
{
	int before = w->said[id].count;

	probe(w, id);
	await(w, id, before + 1);
}

#define ALL(name)                            \
	(const char *const[SLOTS])           \
	{                                    \
		name, "good", "good", "good" \
	}

/* ---- loading ---- */

static const struct rv_plugin_table *describe(struct world *w, const char *const *names)
{
	const struct rv_plugin_table *t = NULL;
	size_t n = 0, want = 0;
	struct rv_err e;

	while (names[want])
		want++;
	assert_true(rv_hostlink_describe(w->host, plugin_dir, names, &t, &n, &e));
	assert_int_equal(n, want);
	return t;
}

static void a_good_plugin_is_described_as_a_table_of_values(void **state)
{
	struct world *w = world_create(ALL("good"));
	const struct rv_plugin_table *t = describe(w, (const char *const[]){"good", NULL});

	(void)state;
	assert_string_equal(t->name, "good");
	assert_string_equal(t->summary, "behaves");
	assert_null(t->error);
	assert_int_equal(t->hooks, RV_HAS(RV_HOOK_START) | RV_HAS(RV_HOOK_PROBE));
	assert_int_equal(t->key_count, 5);
	assert_string_equal(t->keys[3].name, "for");
	assert_int_equal(t->keys[3].type, RV_KEY_DURATION);
	assert_string_equal(t->keys[3].preset, "20ms");
	assert_null(t->keys[1].preset);
	world_destroy(w);
}

static void what_cannot_be_loaded_is_refused_with_path_and_reason(void **state)
{
	static const struct {
		const char *name, *reason;
	} bad[] = {{"nothere", "No such file"}, {"noplugin", "no plugin of reeve"},
		{"nullops", "no table of hooks"}, {"oldabi", "ABI 0"},
		{"hugesize", "claims 4294967295"}, {"hugestate", "bytes of state"},
		{"endlesstable", "has no end"}, {"othername", "calls itself \"another\""},
		{"../good", "name of its file"}};
	enum { N = sizeof(bad) / sizeof(bad[0]) };
	const char *names[N + 2] = {0};
	struct world *w = world_create(ALL("good"));
	const struct rv_plugin_table *t;

	(void)state;
	for (size_t i = 0; i < N; i++)
		names[i] = bad[i].name;
	names[N] = "good";
	t = describe(w, names);
	for (size_t i = 0; i < N; i++) {
		assert_non_null(t[i].error);
		if (!strstr(t[i].error, bad[i].reason))
			fail_msg("%s: %s", bad[i].name, t[i].error);
		assert_non_null(strstr(t[i].error, plugin_dir));
		assert_int_equal(t[i].hooks, 0);
	}
	assert_null(t[N].error);
	world_destroy(w);
}

static void a_plugin_that_dies_while_it_is_loaded_costs_only_itself(void **state)
{
	struct world *w = world_create(ALL("good"));
	const struct rv_plugin_table *t = describe(
		w, (const char *const[]){"good", "diesloading", "oldabi", "good", NULL});

	(void)state;
	assert_null(t[0].error);
	assert_non_null(strstr(t[1].error, "died while loading diesloading: exited with 3"));
	assert_non_null(strstr(t[2].error, "ABI 0"));
	assert_null(t[3].error);
	world_destroy(w);
}

/* ---- rehearsal ---- */

static const struct rv_recipe *rehearse(struct world *w)
{
	const struct rv_recipe *r = NULL;
	struct rv_err e;

	assert_true(rv_hostlink_rehearse(w->host, &w->conf, &r, &e));
	return r;
}

static void a_rehearsal_brings_recipes_refusals_and_doubts(void **state)
{
	struct world *w = world_create(ALL("good"));
	const struct rv_recipe *r;

	(void)state;
	for (rv_id i = 0; i < 3; i++)
		w->tables[i].hooks |= RV_HAS(RV_HOOK_START);
	say(w, 0, "17", NULL);
	say(w, 1, "refuse", NULL);
	say(w, 2, "later", NULL);
	r = rehearse(w);
	assert_string_equal(r[0].argv[0], "/bin/sleep");
	assert_string_equal(r[0].argv[1], "17");
	assert_null(r[0].argv[2]);
	assert_string_equal(r[0].env[0], "GREETING=hello");
	assert_int_equal(r[0].port_count, 1);
	assert_int_equal(r[0].ports[0], 4242);
	assert_true(r[0].is_static);
	assert_string_equal(r[0].log_file, "/tmp/good.log");
	assert_int_equal(r[0].unused, RV_HAS(RV_HOOK_UPDATE) | RV_HAS(RV_HOOK_CLEANUP));
	assert_null(r[0].error);
	assert_string_equal(r[1].error, "option do: cannot be refuse");
	assert_null(r[1].argv);
	assert_true(r[2].fixed);
	assert_null(r[2].error);
	assert_null(r[3].argv);
	assert_false(r[3].fixed);
	world_destroy(w);
}

/* What a try of one service brought. */
struct tried {
	int count;
	enum rv_verdict verdict;
	char why[200], argv2[20];
};

static void on_tried(void *arg, enum rv_verdict v, const char *why, const struct rv_recipe *r)
{
	struct tried *t = arg;

	t->count++;
	t->verdict = v;
	snprintf(t->why, sizeof(t->why), "%s", why);
	if (r->argv)
		snprintf(t->argv2, sizeof(t->argv2), "%s", r->argv[1]);
}

static struct tried try(struct world *w, rv_id id, const char *what)
{
	struct rv_option option = {.key = &w->keys[id][0],
		.value = what,
		.value_len = strlen(what),
		.from = RV_FROM_START};
	struct rv_service as = w->services[id];
	rv_time until = rv_now() + PATIENCE;
	struct tried t = {0};

	as.options = &option;
	as.option_count = 1;
	assert_non_null(rv_hostlink_try(w->host, &as, 5 * RV_SEC, on_tried, &t));
	assert_int_equal(t.count, 0);
	while (!t.count && rv_now() < until)
		ev_run(w->loop, EVRUN_ONCE);
	assert_int_equal(t.count, 1);
	return t;
}

static void a_service_that_differs_is_tried_without_touching_the_one_that_is(void **state)
{
	struct world *w = world_create(
		(const char *const[SLOTS]){"good", "diesrehearsing", "good", "good"});
	struct tried t;

	(void)state;
	attach(w);
	t = try(w, 0, "17");
	assert_int_equal(t.verdict, RV_OK);
	assert_string_equal(t.argv2, "17");
	t = try(w, 0, "refuse");
	assert_int_equal(t.verdict, RV_FAIL);
	assert_string_equal(t.why, "option do: cannot be refuse");
	t = try(w, 0, "later");
	assert_int_equal(t.verdict, RV_OK);
	assert_string_equal(t.argv2, "");
	probe(w, 0);
	await(w, 0, 1);
	assert_int_equal(w->said[0].verdict, RV_OK);
	t = try(w, 1, "ok"); /* its death is its own, and it is not asked again */
	assert_int_equal(t.verdict, RV_FAIL);
	assert_non_null(strstr(t.why, "died in diesrehearsing.start: exited with 4"));
	probe(w, 0);
	await(w, 0, 2);
	assert_int_equal(w->said[0].verdict, RV_OK);
	assert_int_equal(w->disabled_count, 0);
	world_destroy(w);
}

static void what_hooks_see_can_be_another_service_and_survives_the_host(void **state)
{
	struct world *w = world_create(ALL("good"));
	struct rv_option option = {
		.key = &w->keys[0][0], .value = "retry", .value_len = 5, .from = RV_FROM_START};
	struct rv_service as = w->services[0];

	(void)state;
	attach(w);
	as.options = &option;
	as.option_count = 1;
	probe(w, 0);
	await(w, 0, 1);
	assert_int_equal(w->said[0].verdict, RV_OK);
	rv_hostlink_vary(w->host, 0, &as);
	probe(w, 0);
	await(w, 0, 2);
	assert_int_equal(w->said[0].verdict, RV_RETRY);
	kill(rv_hostlink_pid(w->host), SIGKILL);
	run_for(w, 200 * RV_MS);
	probe(w, 0);
	await(w, 0, 3);
	assert_int_equal(w->said[0].verdict, RV_RETRY);
	rv_hostlink_vary(w->host, 0, NULL);
	probe(w, 0);
	await(w, 0, 4);
	assert_int_equal(w->said[0].verdict, RV_OK);
	world_destroy(w);
}

static void a_plugin_that_dies_in_rehearsal_costs_only_its_own_recipe(void **state)
{
	struct world *w = world_create(
		(const char *const[SLOTS]){"good", "diesrehearsing", "good", "diesrehearsing"});
	const struct rv_recipe *r;

	(void)state;
	for (rv_id i = 0; i < SLOTS; i++)
		w->tables[i].hooks |= RV_HAS(RV_HOOK_START);
	r = rehearse(w);
	assert_non_null(r[0].argv);
	assert_non_null(strstr(r[1].error, "died in diesrehearsing.start: exited with 4"));
	assert_non_null(r[2].argv);
	assert_non_null(r[3].error);
	world_destroy(w);
}

/* ---- calls ---- */

static void a_hook_sees_its_service_and_answers_once(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	attach(w);
	probe(w, 1);
	assert_int_equal(w->said[1].count, 0); /* never from inside */
	await(w, 1, 1);
	assert_int_equal(w->said[1].verdict, RV_OK);
	assert_int_equal(w->said[1].hook, RV_HOOK_PROBE);
	assert_string_equal(w->said[1].why, "b gen 1 pid 4711 self 1 memo 0 again 0 env C.UTF-8");
	probe(w, 1);
	await(w, 1, 2);
	assert_non_null(strstr(w->said[1].why, "self 2"));
	run_for(w, 50 * RV_MS);
	assert_int_equal(w->said[1].count, 2);
	world_destroy(w);
}

static void a_start_that_only_a_start_can_tell_brings_its_recipe(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	say(w, 0, "later", NULL);
	w->tables[0].hooks |= RV_HAS(RV_HOOK_START);
	attach(w);
	call_in(w, 0, RV_HOOK_START, 1, 1, PATIENCE);
	await(w, 0, 1);
	assert_int_equal(w->said[0].verdict, RV_OK);
	assert_string_equal(w->said[0].argv0, "/bin/sleep");
	assert_string_equal(w->said[0].env0, "GREETING=hello");
	assert_int_equal(w->said[0].ports, 1);
	world_destroy(w);
}

static void many_calls_wait_at_the_same_time(void **state)
{
	struct world *w = world_create(ALL("good"));
	rv_time began;

	(void)state;
	for (rv_id i = 0; i < SLOTS; i++) {
		say(w, i, "wait", NULL);
		set_option(w, i, 2, "for", RV_KEY_DURATION, i ? "100ms" : "2m", i ? 5 : 2);
	}
	attach(w);
	began = rv_now();
	for (rv_id i = 0; i < SLOTS; i++)
		call_in(w, i, RV_HOOK_PROBE, 1, 1, 600 * RV_SEC);
	for (rv_id i = 1; i < SLOTS; i++)
		await(w, i, 1);
	assert_true(rv_now() - began >= 300 * RV_MS); /* three pauses of 100 ms ... */
	assert_int_equal(w->said[0].count, 0); /* ... while the first one waits all the time */
	world_destroy(w);
}

static void a_hook_that_outlives_its_bound_is_told_with_its_last_reason(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	say(w, 0, "wait", NULL);
	set_option(w, 0, 2, "for", RV_KEY_DURATION, "1m", 2);
	attach(w);
	await_host(w, 1);
	call_in(w, 0, RV_HOOK_PROBE, 1, 1, 400 * RV_MS);
	await(w, 0, 1);
	assert_int_equal(w->said[0].verdict, RV_RETRY);
	assert_string_equal(w->said[0].why, "no answer within 400ms: still waiting");
	world_destroy(w);
}

static void a_dropped_call_is_never_answered(void **state)
{
	struct world *w = world_create(ALL("good"));
	int before;

	(void)state;
	say(w, 0, "wait", NULL);
	set_option(w, 0, 2, "for", RV_KEY_DURATION, "100ms", 5);
	attach(w);
	probe(w, 0);
	await_host(w, 1);
	before = w->said[0].count; /* 0, unless somebody held us up: the three pauses are 300 ms */
	rv_hostlink_drop(w->host, 0);
	await_host(w, 1);
	run_for(w, 500 * RV_MS);
	assert_int_equal(w->said[0].count, before);
	world_destroy(w);
}

static void a_later_call_of_a_service_replaces_the_one_in_flight(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	say(w, 0, "wait", NULL);
	set_option(w, 0, 2, "for", RV_KEY_DURATION, "20ms", 4);
	attach(w);
	probe(w, 0);
	call_in(w, 0, RV_HOOK_PROBE, 2, 1, PATIENCE);
	await(w, 0, 1);
	assert_int_equal(w->said[0].generation, 2);
	run_for(w, 200 * RV_MS);
	assert_int_equal(w->said[0].count, 1);
	world_destroy(w);
}

static void the_memo_lives_as_long_as_its_generation(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	say(w, 0, "memo", NULL);
	attach(w);
	for (int i = 1; i <= 3; i++) {
		probe(w, 0);
		await(w, 0, i);
	}
	assert_non_null(strstr(w->said[0].why, "self 3 memo 3"));
	kill(rv_hostlink_pid(w->host), SIGKILL); /* self is lost with the host, the memo is not */
	probe(w, 0);
	await(w, 0, 4);
	assert_non_null(strstr(w->said[0].why, "self 1 memo 4"));
	call_in(w, 0, RV_HOOK_PROBE, 2, 1, PATIENCE);
	await(w, 0, 5);
	assert_non_null(strstr(w->said[0].why, "memo 1"));
	world_destroy(w);
}

/* ---- death ---- */

static void calls_in_flight_are_asked_again_when_the_host_is_killed(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	for (rv_id i = 0; i < SLOTS; i++) {
		say(w, i, "wait", NULL);
		set_option(w, i, 2, "for", RV_KEY_DURATION, "10s", 3);
	}
	attach(w);
	for (rv_id i = 0; i < SLOTS; i++)
		probe(w, i);
	run_for(w, 100 * RV_MS);
	kill(rv_hostlink_pid(w->host), SIGKILL);
	for (rv_id i = 0; i < SLOTS; i++) {
		await(w, i, 1);
		assert_int_equal(w->said[i].verdict, RV_OK);
		assert_non_null(strstr(w->said[i].why, "again 1"));
	}
	assert_int_equal(w->disabled_count, 0);
	world_destroy(w);
}

static void a_turn_that_is_bad(const char *plugin, const char *why)
{
	struct world *w = world_create(ALL(plugin));

	for (rv_id i = 1; i < SLOTS; i++) {
		say(w, i, "wait", NULL);
		set_option(w, i, 2, "for", RV_KEY_DURATION, "1s", 2);
	}
	attach(w);
	for (rv_id i = 1; i < SLOTS; i++)
		probe(w, i);
	run_for(w, 50 * RV_MS);
	probe(w, 0);
	await(w, 0, 1);
	assert_int_equal(w->said[0].verdict, RV_FAIL);
	assert_string_equal(w->said[0].why, why);
	for (rv_id i = 1; i < SLOTS; i++) {
		await(w, i, 1);
		assert_int_equal(w->said[i].verdict, RV_OK);
	}
	run_for(w, 50 * RV_MS);
	assert_int_equal(w->said[0].count, 1);
	world_destroy(w);
}

static void a_crash_is_told_with_plugin_hook_and_signal_and_disturbs_nobody(void **state)
{
	(void)state;
	a_turn_that_is_bad("crash", "plugin host died in crash.probe: SIGSEGV");
}

static void a_wild_pointer_is_laid_to_the_plugin_that_handed_it_out(void **state)
{
	struct world *w = world_create(ALL("wildpointer"));

	(void)state;
	attach(w);
	probe(w, 0);
	await(w, 0, 1);
	assert_int_equal(w->said[0].verdict, RV_FAIL);
	assert_non_null(strstr(w->said[0].why, "plugin host died in wildpointer.probe: "));
	world_destroy(w);
}

static void a_spinning_turn_is_ended_after_its_share_of_the_processor(void **state)
{
	(void)state;
	a_turn_that_is_bad(
		"spin", "plugin host died in spin.probe: a turn took more than 100ms of CPU");
}

static void a_sleeping_turn_is_ended_after_its_share_of_time(void **state)
{
	(void)state;
	a_turn_that_is_bad(
		"sleeper", "plugin host died in sleeper.probe: hung: a turn took longer than 1s");
}

static void endless_turns_end(void **state)
{
	(void)state;
	a_turn_that_is_bad("endless", "endless.probe did not end after 1000 turns");
}

static void answers_that_cannot_be_fail_the_call_and_nothing_else(void **state)
{
	static const char *const why[] = {"garbage.probe returned 77, which is no answer",
		"garbage.probe gave a reason without an end",
		"garbage.probe asked for an HTTP request that cannot be: no URL, or a string "
		"without an end",
		"garbage.probe asked for an HTTP request that cannot be: no URL, or a string "
		"without an end",
		"garbage.probe asked for a command that cannot be: no argv, or a string without an "
		"end",
		"garbage.probe built more than 65536 bytes of strings in a turn",
		"garbage.probe asked for an HTTP request that cannot be: no URL, or a string "
		"without an end",
		"at last"};
	struct world *w = world_create(ALL("garbage"));
	pid_t pid;

	(void)state;
	attach(w);
	pid = rv_hostlink_pid(w->host);
	for (int i = 1; i <= 8; i++) {
		call_in(w, 0, RV_HOOK_PROBE, 1, (uint32_t)i, PATIENCE);
		await(w, 0, i);
		assert_string_equal(w->said[0].why, why[i - 1]);
		assert_int_equal(w->said[0].verdict, i < 8 ? RV_FAIL : RV_OK);
	}
	assert_int_equal(rv_hostlink_pid(w->host), pid); /* it never died for it */
	world_destroy(w);
}

static void three_deaths_within_a_minute_disable_the_plugin_and_no_other(void **state)
{
	struct world *w = world_create(ALL("crash"));

	(void)state;
	attach(w);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(w->disabled_count, 0);
		probe(w, 0);
		await(w, 0, i);
	}
	assert_int_equal(w->disabled_count, 1);
	assert_string_equal(w->disabled, "crash");
	probe(w, 0);
	await(w, 0, 4);
	assert_int_equal(w->said[0].verdict, RV_FAIL);
	assert_string_equal(w->said[0].why, "plugin crash is disabled");
	probe(w, 1);
	await(w, 1, 1);
	assert_int_equal(w->said[1].verdict, RV_OK);
	rv_hostlink_conf(w->host, &w->conf); /* a reload gives it another chance */
	assert_int_equal(w->back_count, 0);
	probe(w, 0);
	await(w, 0, 5);
	assert_int_equal(w->back_count, 1);
	assert_non_null(strstr(w->said[0].why, "SIGSEGV"));
	world_destroy(w);
}

static void what_else_a_disabled_plugin_was_asked_fails_with_it(void **state)
{
	struct world *w = world_create(
		(const char *const[SLOTS]){"crash", "crash", "crash", "good"});

	(void)state;
	attach(w);
	for (rv_id i = 0; i < SLOTS;
		i++) /* each is the culprit once, the last after a second chance */
		probe(w, i);
	for (rv_id i = 0; i < SLOTS; i++)
		await(w, i, 1);
	assert_int_equal(w->disabled_count, 1);
	assert_int_equal(w->said[3].verdict, RV_OK);
	rv_hostlink_conf(w->host, &w->conf);
	for (rv_id i = 0; i < 2; i++) {
		probe(w, i);
		await(w, i, 2);
	}
	for (rv_id i = 0; i < SLOTS;
		i++) /* the third death within a minute, with others in flight */
		probe(w, i);
	await(w, 0, 3);
	await(w, 1, 3);
	await(w, 2, 2);
	await(w, 3, 2);
	assert_int_equal(w->disabled_count, 2);
	assert_int_equal(!!strstr(w->said[0].why, "died in") + !!strstr(w->said[1].why, "died in") +
			!!strstr(w->said[2].why, "died in"),
		1);
	assert_int_equal(!!strstr(w->said[0].why, "is disabled: it ended") +
			!!strstr(w->said[1].why, "is disabled: it ended") +
			!!strstr(w->said[2].why, "is disabled: it ended"),
		2);
	assert_int_equal(w->said[3].verdict, RV_OK);
	world_destroy(w);
}

static void deaths_at_nobodys_door_do_not_go_on_for_ever(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	say(w, 0, "wait", NULL);
	set_option(w, 0, 2, "for", RV_KEY_DURATION, "10s", 3);
	attach(w);
	for (int i = 0; i < 3; i++) {
		call_in(w, 0, RV_HOOK_PROBE, (uint64_t)i + 1, 1, PATIENCE);
		/* `again` would answer at once: so it is asked anew each time */
		await_host(w, 1);
		run_for(w,
			50 * RV_MS); /* it is in nobody's turn any more, but waits for what comes */
		kill(rv_hostlink_pid(w->host), SIGKILL);
		await(w, 0, i + 1);
	}
	assert_int_equal(w->said[0].verdict, RV_RETRY);
	assert_string_equal(w->said[0].why, "plugin host died: SIGKILL");
	assert_int_equal(w->disabled_count, 0);
	await_host(w, 1);
	assert_int_equal(w->said[1].verdict, RV_OK);
	world_destroy(w);
}

static void a_host_that_nobody_needs_leaves_and_comes_back_when_it_is_needed(void **state)
{
	struct world *w = world_create(ALL("good"));
	rv_time until = rv_now() + PATIENCE;

	(void)state;
	for (rv_id i = 0; i < SLOTS; i++)
		w->tables[i].hooks = 0;
	attach(w);
	while (rv_hostlink_pid(w->host) && rv_now() < until)
		ev_run(w->loop, EVRUN_ONCE);
	assert_int_equal(rv_hostlink_pid(w->host), 0);
	probe(w, 0);
	await(w, 0, 1);
	assert_int_equal(w->said[0].verdict, RV_OK);
	assert_non_null(strstr(w->said[0].why, "again 0"));
	assert_true(rv_hostlink_pid(w->host) > 0);
	world_destroy(w);
}

static void a_reload_is_described_and_rehearsed_beside_calls_in_flight(void **state)
{
	struct world *w = world_create(ALL("good"));
	const struct rv_plugin_table *t;

	(void)state;
	say(w, 0, "wait", NULL);
	set_option(w, 0, 2, "for", RV_KEY_DURATION, "1m", 2);
	attach(w);
	call_in(w, 0, RV_HOOK_PROBE, 1, 1, 600 * RV_SEC);
	await_host(w, 1);
	t = describe(w, (const char *const[]){"good", "diesloading", NULL});
	assert_null(t[0].error);
	assert_non_null(t[1].error);
	assert_int_equal(w->said[0].count, 0);
	await(w, 0,
		1); /* asked again, for one of the two took the host along: that is answered at once */
	assert_int_equal(w->said[0].verdict, RV_OK);
	assert_non_null(strstr(w->said[0].why, "again 1"));
	await_host(w, 1);
	world_destroy(w);
}

/* ---- HTTP ---- */

static struct server server;

static char *url_of(const char *path, char *to, size_t size)
{
	snprintf(to, size, "http://127.0.0.1:%d%s", server.port, path);
	return to;
}

static struct rv_want *want_of(struct rv_want *w, const char *path, char *to, size_t size)
{
	*w = (struct rv_want){.url = url_of(path, to, size), .method = "GET"};
	return w;
}

static void a_hook_asks_by_http_and_gets_the_answer_in_its_next_turn(void **state)
{
	struct world *w = world_create(ALL("good"));
	char url[SLOTS][100];

	(void)state;
	say(w, 0, "http", url_of("/echo", url[0], sizeof(url[0])));
	say(w, 1, "post", url_of("/echo", url[1], sizeof(url[1])));
	say(w, 2, "http", url_of("/hang", url[2], sizeof(url[2])));
	set_option(w, 2, 3, "limit", RV_KEY_DURATION, "300ms", 5);
	say(w, 3, "http", "http://127.0.0.1:1/");
	attach(w);
	for (rv_id i = 0; i < SLOTS; i++)
		probe(w, i);
	for (rv_id i = 0; i < SLOTS; i++)
		await(w, i, 1);
	assert_non_null(strstr(w->said[0].why, "0|200||0|GET /echo HTTP/1.1"));
	assert_non_null(strstr(w->said[1].why, "0|200||0|POST /echo HTTP/1.1"));
	assert_string_equal(w->said[2].why, "2|0|no answer within 300ms|0|");
	assert_string_equal(w->said[3].why, "1|0|Connection refused|0|");
	world_destroy(w);
}

/* In a folder of its own there is an http.so that takes longer to load than a turn may last. */
static void a_client_that_is_slow_to_load_is_not_laid_to_the_plugin(void **state)
{
	struct world *w = world_create(ALL("good"));
	const char *build = getenv("RV_BUILD");
	char dir[100], from[5000], to[200], link[300];
	pid_t pid;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/slow", root);
	assert_int_equal(mkdir(dir, 0755), 0);
	snprintf(to, sizeof(to), "%s/http.so", dir);
	snprintf(from, sizeof(from), "%s/tests/plugins/slowhttp.so", build ? build : ".");
	assert_int_equal(symlink(from, to), 0);
	snprintf(to, sizeof(to), "%s/plugins", dir);
	assert_int_equal(mkdir(to, 0755), 0);
	snprintf(from, sizeof(from), "%s/good.so", plugin_dir);
	w->conf.plugin_dir = to;
	snprintf(link, sizeof(link), "%s/good.so", to);
	assert_int_equal(symlink(from, link), 0);
	say(w, 0, "http", "http://127.0.0.1:1/");
	attach(w);
	pid = rv_hostlink_pid(w->host);
	probe(w, 0);
	await(w, 0, 1);
	assert_int_equal(w->said[0].verdict, RV_OK); /* the plugin was told, and told us */
	/* (An installed one would be found behind it.) */
	assert_true(strstr(w->said[0].why, "cannot load the HTTP client: ") ||
		strstr(w->said[0].why, "Connection refused"));
	assert_int_equal(rv_hostlink_pid(w->host), pid);
	world_destroy(w);
}

struct get {
	int count;
	enum rv_verdict verdict;
	char why[300];
};

static void on_get(void *arg, enum rv_verdict v, const char *why)
{
	struct get *g = arg;

	g->count++;
	g->verdict = v;
	snprintf(g->why, sizeof(g->why), "%s", why);
}

static void a_get_is_judged_by_its_status(void **state)
{
	static const struct {
		const char *path;
		enum rv_verdict verdict;
		const char *why;
	} cases[] = {{"/status/200", RV_OK, "answered 200"}, {"/204", RV_OK, "answered 204"},
		{"/302", RV_FAIL, "answered 302, expected 2xx"},
		{"/status/401", RV_FAIL, "answered 401, expected 2xx"},
		{"/status/404", RV_FAIL, "answered 404, expected 2xx"},
		{"/status/429", RV_RETRY, "answered 429, expected 2xx"},
		{"/status/500", RV_RETRY, "answered 500, expected 2xx"},
		{"/status/503", RV_RETRY, "answered 503, expected 2xx"}, {"/cut", RV_RETRY, ""},
		{"/silent", RV_RETRY, ""}, {"/hang", RV_RETRY, "no answer within"},
		{"/status/500?key=s3cret", RV_RETRY, "/status/500?*** answered 500"}};
	enum { N = sizeof(cases) / sizeof(cases[0]) };
	struct world *w = world_create(ALL("good"));
	struct get got[N] = {0};
	struct rv_want want[N];
	char url[N][100];
	rv_time until = rv_now() + PATIENCE;
	int all = 0;

	(void)state;
	attach(w);
	for (size_t i = 0; i < N; i++)
		assert_non_null(rv_hostlink_get(w->host,
			want_of(&want[i], cases[i].path, url[i], sizeof(url[i])),
			strcmp(cases[i].path, "/hang") ? PATIENCE : RV_SEC, on_get, &got[i]));
	while (all < N && rv_now() < until) {
		ev_run(w->loop, EVRUN_ONCE);
		all = 0;
		for (size_t i = 0; i < N; i++)
			all += got[i].count;
	}
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(got[i].count, 1);
		if (got[i].verdict != cases[i].verdict || !strstr(got[i].why, cases[i].why))
			fail_msg("%s: %d %s", cases[i].path, got[i].verdict, got[i].why);
		assert_null(strstr(got[i].why, "s3cret"));
		if (!strchr(cases[i].path, '?'))
			assert_non_null(strstr(got[i].why, cases[i].path));
	}
	world_destroy(w);
}

static void a_get_outlives_the_host_and_can_be_dropped(void **state)
{
	struct world *w = world_create(ALL("good"));
	struct get one = {0}, two = {0};
	struct rv_host_http *g;
	struct rv_want want;
	rv_time until = rv_now() + PATIENCE;
	char url[100];
	int before;

	(void)state;
	attach(w);
	want_of(&want, "/hang", url, sizeof(url));
	assert_non_null(rv_hostlink_get(w->host, &want, RV_SEC, on_get, &one));
	g = rv_hostlink_get(w->host, &want, RV_SEC, on_get, &two);
	run_for(w, 50 * RV_MS);
	kill(rv_hostlink_pid(w->host), SIGKILL);
	run_for(w, 50 * RV_MS);
	before = two.count; /* 0, unless somebody held us up for its second */
	if (!before)
		rv_hostlink_get_drop(w->host, g);
	while (!one.count && rv_now() < until)
		ev_run(w->loop, EVRUN_ONCE);
	assert_int_equal(one.count, 1);
	assert_int_equal(one.verdict, RV_RETRY);
	if (!strstr(one.why, "no time was left") && !strstr(one.why, "plugin host died"))
		assert_non_null(strstr(one.why, "no answer within")); /* nobody held us up */
	run_for(w, 100 * RV_MS);
	assert_int_equal(two.count, before);
	world_destroy(w);
}

/* ---- the process ---- */

/* Names of what the descriptors of a process are, one a line. */
static void descriptors(pid_t pid, char *to, size_t size)
{
	char pattern[64], name[300];
	size_t used = 0;
	glob_t found;

	to[0] = 0;
	snprintf(pattern, sizeof(pattern), "/proc/%d/fd/*", pid);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		ssize_t n = readlink(found.gl_pathv[i], name, sizeof(name) - 1);

		name[n > 0 ? n : 0] = 0;
		used += (size_t)snprintf(to + used, size - used, "%s %s\n",
			strrchr(found.gl_pathv[i], '/') + 1, name);
	}
	globfree(&found);
}

static size_t environment_size(pid_t pid)
{
	char path[64], bytes[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	fd = open(path, O_RDONLY);
	n = read(fd, bytes, sizeof(bytes));
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

static void the_host_inherits_neither_descriptors_nor_later_an_environment(void **state)
{
	int leak = open("/etc/passwd", O_RDONLY); /* not CLOEXEC, on purpose */
	int high = fcntl(leak, F_DUPFD, 300);
	struct world *w = world_create(ALL("good"));
	char names[4096];

	(void)state;
	attach(w);
	for (int later = 0; later < 2; later++) {
		probe(w, 0);
		await(w, 0, later + 1);
		descriptors(rv_hostlink_pid(w->host), names, sizeof(names));
		if (strstr(names, "/etc/passwd") || strstr(names, "memfd"))
			fail_msg("%s", names);
		assert_non_null(strstr(names, "0 /dev/null\n"));
		assert_int_equal(getsid(rv_hostlink_pid(w->host)), rv_hostlink_pid(w->host));
		if (later)
			assert_int_equal(environment_size(rv_hostlink_pid(w->host)), 0);
		kill(rv_hostlink_pid(w->host), SIGKILL);
	}
	close(leak);
	close(high);
	world_destroy(w);
}

static void the_host_does_not_outlive_its_daemon(void **state)
{
	struct world *w = world_create(ALL("sleeper"));
	rv_time until = rv_now() + PATIENCE;
	int pipes[2];
	pid_t daemon, host = 0;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	daemon = fork();
	if (daemon == 0) {
		struct rv_hostlink *h;
		struct rv_err e;

		if (rv_hostlink_fork(rv_host_run, &h, &e))
			host = rv_hostlink_pid(h);
		if (write(pipes[1], &host, sizeof(host)) == sizeof(host))
			pause();
		_exit(0);
	}
	assert_int_equal(read(pipes[0], &host, sizeof(host)), sizeof(host));
	assert_true(host > 0);
	kill(daemon, SIGKILL);
	while (kill(host, 0) == 0 && rv_now() < until) /* we are subreaper: it comes to us */
		run_for(w, 10 * RV_MS);
	assert_int_equal(kill(host, 0), -1);
	close(pipes[0]);
	close(pipes[1]);
	world_destroy(w);
}

/* ---- commands ---- */

static void set_argv(struct world *w, rv_id id, const char *words, size_t len)
{
	set_option(w, id, 2, "argv", RV_KEY_WORDS, words, len);
}
#define ARGV(words) words, sizeof(words) - 1

static void a_command_runs_in_the_context_of_its_service(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	say(w, 0, "run", NULL);
	set_argv(w, 0, ARGV("/bin/sh\0-c\0echo $MARK; echo err >&2; exit 3"));
	attach(w);
	probe(w, 0);
	await(w, 0, 1);
	assert_string_equal(w->said[0].why, "3||0|12|context\nerr\n");
	world_destroy(w);
}

static void a_command_reads_what_the_hook_gave_it_or_nothing(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	for (rv_id i = 0; i < 2; i++) {
		say(w, i, "run", i ? NULL : "for its stdin");
		set_argv(w, i, ARGV("/bin/cat"));
	}
	attach(w);
	probe(w, 0);
	probe(w, 1);
	await(w, 0, 1);
	await(w, 1, 1);
	assert_string_equal(w->said[0].why, "0||0|13|for its stdin");
	assert_string_equal(w->said[1].why, "0||0|0|");
	world_destroy(w);
}

static void a_command_that_does_not_end_is_ended(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	say(w, 0, "run", NULL);
	set_argv(w, 0, ARGV("/bin/sh\0-c\0echo early; sleep 100"));
	set_option(w, 0, 3, "limit", RV_KEY_DURATION, "2s", 2);
	attach(w);
	probe(w, 0);
	await(w, 0, 1);
	assert_string_equal(w->said[0].why, "-1|did not end within 2s|0|6|early\n");
	world_destroy(w);
}

static void a_command_that_is_missing_is_told_by_its_name(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	say(w, 0, "run", NULL);
	set_argv(w, 0, ARGV("/no/such/program"));
	attach(w);
	probe(w, 0);
	await(w, 0, 1);
	assert_non_null(strstr(w->said[0].why, "/no/such/program"));
	assert_non_null(strstr(w->said[0].why, "No such file"));
	w->no_context = true;
	probe(w, 0);
	await(w, 0, 2);
	assert_non_null(strstr(w->said[0].why, "may not run commands now"));
	world_destroy(w);
}

static void endless_output_is_cut(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	say(w, 0, "run", NULL);
	set_argv(w, 0, ARGV("/bin/sh\0-c\0yes | head -c 1000000"));
	attach(w);
	probe(w, 0);
	await(w, 0, 1);
	assert_non_null(strstr(w->said[0].why, "0||1|65536|y\ny\n"));
	world_destroy(w);
}

static void a_command_that_writes_for_ever_does_not_hold_the_loop(void **state)
{
	struct world *w = world_create(ALL("good"));

	(void)state;
	say(w, 0, "run", NULL);
	/* several, so that there is always something to read */
	set_argv(w, 0, ARGV("/bin/sh\0-c\0for i in 1 2 3 4; do cat /dev/zero & done; wait"));
	set_option(w, 0, 3, "limit", RV_KEY_DURATION, "2s", 2);
	attach(w);
	probe(w, 0);
	await(w, 0, 1);
	assert_non_null(strstr(w->said[0].why, "did not end within 2s|1|65536|"));
	world_destroy(w);
}

/* The pid that a command wrote into a file, when it is there with the end of its line. */
static pid_t pid_told(struct world *w, const char *path)
{
	rv_time until = rv_now() + PATIENCE;
	char text[32] = "";

	while (!strchr(text, '\n') && rv_now() < until) {
		rv_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text, sizeof(text) - 1);

		text[n > 0 ? n : 0] = 0;
		run_for(w, 5 * RV_MS);
	}
	assert_non_null(strchr(text, '\n'));
	return atoi(text);
}

static void a_command_in_flight_ends_with_its_call(void **state)
{
	struct world *w = world_create(ALL("good"));
	char mark[] = "/tmp/reeve-hostlink-XXXXXX", words[200];
	int fd = mkstemp(mark), n;
	rv_time until;
	pid_t pid;

	(void)state;
	close(fd);
	say(w, 0, "run", NULL);
	n = snprintf(words, sizeof(words), "/bin/sh%c-c%cecho $$ >%s; exec sleep 1000", 0, 0, mark);
	set_argv(w, 0, words, (size_t)n);
	set_option(w, 0, 3, "limit", RV_KEY_DURATION, "10m", 3);
	attach(w);
	call_in(w, 0, RV_HOOK_PROBE, 1, 1, 600 * RV_SEC);
	pid = pid_told(w, mark);
	rv_hostlink_drop(w->host, 0);
	until = rv_now() + PATIENCE;
	while (kill(pid, 0) == 0 && rv_now() < until)
		run_for(w, 5 * RV_MS);
	assert_int_equal(kill(pid, 0), -1);
	unlink(mark);
	assert_int_equal(w->said[0].count, 0);
	world_destroy(w);
}

/* http.so is sought beside the folder of plugins: so a folder of links is made, as an image might. */
static void make_plugin_dir(void)
{
	const char *build = getenv("RV_BUILD");
	char from[5000], to[5000];
	glob_t found;

	assert_non_null(mkdtemp(root));
	snprintf(plugin_dir, sizeof(plugin_dir), "%s/plugins", root);
	assert_int_equal(mkdir(plugin_dir, 0755), 0);
	snprintf(from, sizeof(from), "%s/http.so", build ? build : ".");
	snprintf(to, sizeof(to), "%s/http.so", root);
	assert_int_equal(symlink(from, to), 0);
	snprintf(from, sizeof(from), "%s/tests/plugins/*.so", build ? build : ".");
	assert_int_equal(glob(from, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		snprintf(to, sizeof(to), "%s%s", plugin_dir, strrchr(found.gl_pathv[i], '/'));
		assert_int_equal(symlink(found.gl_pathv[i], to), 0);
	}
	globfree(&found);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int start_server(void **state)
{
	(void)state;
	make_plugin_dir();
	server = server_start();
	return 0;
}

static int stop_server(void **state)
{
	(void)state;
	server_stop(&server);
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}

#define TEST(f) cmocka_unit_test_teardown(f, clean_up)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_good_plugin_is_described_as_a_table_of_values),
		TEST(what_cannot_be_loaded_is_refused_with_path_and_reason),
		TEST(a_plugin_that_dies_while_it_is_loaded_costs_only_itself),
		TEST(a_rehearsal_brings_recipes_refusals_and_doubts),
		TEST(a_service_that_differs_is_tried_without_touching_the_one_that_is),
		TEST(what_hooks_see_can_be_another_service_and_survives_the_host),
		TEST(a_plugin_that_dies_in_rehearsal_costs_only_its_own_recipe),
		TEST(a_hook_sees_its_service_and_answers_once),
		TEST(a_start_that_only_a_start_can_tell_brings_its_recipe),
		TEST(many_calls_wait_at_the_same_time),
		TEST(a_hook_that_outlives_its_bound_is_told_with_its_last_reason),
		TEST(a_dropped_call_is_never_answered),
		TEST(a_later_call_of_a_service_replaces_the_one_in_flight),
		TEST(the_memo_lives_as_long_as_its_generation),
		TEST(calls_in_flight_are_asked_again_when_the_host_is_killed),
		TEST(a_crash_is_told_with_plugin_hook_and_signal_and_disturbs_nobody),
		TEST(a_wild_pointer_is_laid_to_the_plugin_that_handed_it_out),
		TEST(a_spinning_turn_is_ended_after_its_share_of_the_processor),
		TEST(a_sleeping_turn_is_ended_after_its_share_of_time),
		TEST(endless_turns_end),
		TEST(answers_that_cannot_be_fail_the_call_and_nothing_else),
		TEST(three_deaths_within_a_minute_disable_the_plugin_and_no_other),
		TEST(what_else_a_disabled_plugin_was_asked_fails_with_it),
		TEST(deaths_at_nobodys_door_do_not_go_on_for_ever),
		TEST(a_host_that_nobody_needs_leaves_and_comes_back_when_it_is_needed),
		TEST(a_reload_is_described_and_rehearsed_beside_calls_in_flight),
		TEST(a_hook_asks_by_http_and_gets_the_answer_in_its_next_turn),
		TEST(a_client_that_is_slow_to_load_is_not_laid_to_the_plugin),
		TEST(a_get_is_judged_by_its_status),
		TEST(a_get_outlives_the_host_and_can_be_dropped),
		TEST(the_host_inherits_neither_descriptors_nor_later_an_environment),
		TEST(the_host_does_not_outlive_its_daemon),
		TEST(a_command_runs_in_the_context_of_its_service),
		TEST(a_command_reads_what_the_hook_gave_it_or_nothing),
		TEST(a_command_that_does_not_end_is_ended),
		TEST(a_command_that_is_missing_is_told_by_its_name),
		TEST(endless_output_is_cut),
		TEST(a_command_that_writes_for_ever_does_not_hold_the_loop),
		TEST(a_command_in_flight_ends_with_its_call),
	};

	if (argc == 3 && strcmp(argv[1], "--plugin-host") == 0)
		return rv_host_run(atoi(argv[2]));
	if (argc == 2)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("hostlink", tests, start_server, stop_server);
}
