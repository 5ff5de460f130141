/* Unit tests of src/conf: the graph, ports, recipes, digests, `reeve -- CMD`, and what is printed. */
#include "conf_help.h"

#include <time.h>

/* --- the graph -------------------------------------------------------------------------------- */

/* "a b c": the names in start order. */
static void assert_order(const struct got *g, const char *names)
{
	struct rv_buf b = {0};

	for (size_t i = 0; i < g->conf->plan->present; i++)
		rv_buf_fmt(
			&b, "%s%s", i ? " " : "", g->conf->services[g->conf->plan->order[i]].name);
	assert_string_equal(rv_buf_text(&b), names);
	rv_buf_fini(&b);
}

static void the_order_is_that_of_the_file_where_it_is_free(void **state)
{
	struct got g = accept("services:\n"
			      "  web: {command: x, needs: [api, db]}\n"
			      "  log: {command: x}\n"
			      "  api: {command: x, needs: [cache, queue]}\n"
			      "  queue: {command: x, needs: [db]}\n"
			      "  cache: {command: x, wants: [db]}\n"
			      "  db: {command: x, after: [log]}\n");

	(void)state;
	assert_order(&g, "log db queue cache api web");
	put_away(&g);
}

/* What core/plan.h promises of every plan. */
static void assert_sound(const struct rv_plan *p)
{
	size_t edges = 0, backs = 0, steps = 0, present = 0;

	for (rv_id i = 0; i < p->nodes; i++) {
		const struct rv_node *n = &p->node[i];

		present += n->present;
		assert_true(n->present == (n->digest != 0));
		if (!n->present)
			continue;
		assert_int_equal(p->order[n->rank], i);
		edges += n->edge_count;
		backs += n->back_count;
		steps += n->step_count;
		assert_true(n->first_step + n->step_count <= p->step_count);
		for (uint32_t k = 0; k < n->edge_count; k++)
			assert_true(p->node[p->edges[n->first_edge + k].on].rank < n->rank);
		for (uint32_t k = 0; k < n->back_count; k++) {
			const struct rv_node *b = &p->node[p->backs[n->first_back + k]];
			bool found = false;

			for (uint32_t m = 0; m < b->edge_count; m++)
				found = found || p->edges[b->first_edge + m].on == i;
			assert_true(found);
		}
	}
	assert_int_equal(present, p->present);
	assert_int_equal(edges, p->edge_count);
	assert_int_equal(backs, p->edge_count);
	assert_int_equal(steps, p->step_count);
}

static void a_plan_has_both_directions_of_every_edge(void **state)
{
	struct got g = accept(
		"services:\n"
		"  a: {command: x, needs: [{service: b, until: started}], wants: [c], after: "
		"[d, t]}\n"
		"  b: {command: x, stop: {steps: []}}\n"
		"  c: {command: x, needs: [b], stop: {steps: [{}, {}]}}\n"
		"  d: {command: x, needs: [c, t]}\n"
		"  t: {command: x, type: task}\n");
	const struct rv_plan *p = g.conf->plan;
	const struct rv_edge *e = &p->edges[node(&g, "a")->first_edge];

	(void)state;
	assert_sound(p);
	assert_int_equal(p->edge_count, 7);
	assert_int_equal(e[0].kind, RV_NEEDS);
	assert_int_equal(e[0].until, RV_UNTIL_STARTED);
	assert_int_equal(e[1].kind, RV_WANTS);
	assert_int_equal(e[2].kind, RV_AFTER);
	assert_int_equal(node(&g, "b")->back_count, 2);
	put_away(&g);
}

static void a_service_named_in_two_lists_counts_with_the_stronger(void **state)
{
	struct got g = accept("services:\n"
			      "  a: {command: x, after: [b], wants: [b], needs: [b]}\n"
			      "  b: {command: x}\n");

	(void)state;
	assert_int_equal(g.conf->plan->edge_count, 1);
	assert_int_equal(g.conf->plan->edges[0].kind, RV_NEEDS);
	put_away(&g);
	refuse("services:\n  a: {command: x, needs: [b, b]}\n  b: {command: x}\n",
		"t.yaml:2:30: needs of service 'a' names 'b' twice\n");
}

static void part_of_adds_to_an_edge_or_is_one(void **state)
{
	struct got g = accept("services:\n"
			      "  a: {command: x, needs: [b], part-of: [c, b]}\n"
			      "  b: {command: x}\n"
			      "  c: {command: x}\n");
	const struct rv_plan *p = g.conf->plan;
	const struct rv_edge *e = &p->edges[node(&g, "a")->first_edge];

	(void)state;
	assert_sound(p);
	assert_int_equal(p->edge_count, 2);
	assert_int_equal(e[0].kind, RV_NEEDS);
	assert_true(e[0].part);
	assert_int_equal(e[1].kind, RV_AFTER);
	assert_true(e[1].part);
	put_away(&g);
	g = accept("services:\n  a: {command: x, needs: [b]}\n  b: {command: x}\n");
	assert_false(g.conf->plan->edges[0].part);
	put_away(&g);
}

static void part_of_names_services_and_makes_no_cycle(void **state)
{
	(void)state;
	refuse("services: {a: {command: x, part-of: b}}\n",
		"t.yaml:1:37: part-of of service 'a' must be a list of services, not b\n");
	refuse("services:\n  a: {command: x, part-of: [nosuch]}\n  b: {command: x}\n",
		"t.yaml:2:29: part-of of service 'a' names 'nosuch', but there is no such "
		"service\n");
	refuse("services:\n  a: {command: x, part-of: [a]}\n",
		"t.yaml:2:29: part-of of service 'a' names the service itself\n");
	refuse("services:\n  a: {command: x, part-of: [b, b]}\n  b: {command: x}\n",
		"t.yaml:2:32: part-of of service 'a' names 'b' twice\n");
	refuse("services:\n"
	       "  a: {command: x, part-of: [b]}\n"
	       "  b: {command: x, needs: [a]}\n",
		"t.yaml:2:29: dependency cycle: a -> b -> a ('a' is part of 'b' at t.yaml:2:29, "
		"'b' needs 'a' at t.yaml:3:27)\n");
}

static void dependencies_must_be_services_and_words(void **state)
{
	(void)state;
	refuse("services: {a: {command: x, needs: b}}\n",
		"t.yaml:1:35: needs of service 'a' must be a list of services, not b\n");
	refuse("services: {a: {command: x, wants: [{service: b}]}, b: {command: x}}\n",
		"t.yaml:1:36: wants of service 'a' must be the name of a service, not a map\n");
	refuse("services: {a: {command: x, needs: [{until: ready}]}}\n",
		"t.yaml:1:36: needs of service 'a' has an entry without 'service'\n");
	refuse("services: {a: {command: x, needs: [{service: b, until: reddy}]}, b: {command: "
	       "x}}\n",
		"t.yaml:1:56: needs.until of service 'a' must be started, ready or exited, not "
		"reddy\n");
	refuse("services: {a: {command: x, needs: [{service: b, until: exited}]}, b: {command: "
	       "x}}\n",
		"t.yaml:1:56: needs of service 'a' waits until 'b' has exited, which is no task\n");
}

static void cycles_are_named_in_order_with_their_lines(void **state)
{
	(void)state;
	refuse("services:\n  a: {command: x, needs: [a]}\n",
		"t.yaml:2:27: needs of service 'a' names the service itself\n");
	refuse("services:\n"
	       "  d: {command: x}\n"
	       "  a: {command: x, needs: [d, b]}\n"
	       "  b: {command: x, wants: [c]}\n"
	       "  c: {command: x, after: [a]}\n"
	       "  e: {command: x, needs: [c]}\n",
		"t.yaml:3:30: dependency cycle: a -> b -> c -> a ('a' needs 'b' at t.yaml:3:30, "
		"'b' "
		"wants 'c' at t.yaml:4:27, 'c' comes after 'a' at t.yaml:5:27)\n");
	refuse("services:\n  a: {command: x, needs: [nosuch]}\n",
		"t.yaml:2:27: needs of service 'a' names 'nosuch', but there is no such service\n");
}

static void each_cycle_is_told_once(void **state)
{
	struct got g = read_given((struct given){.yaml = "services:\n"
							 "  a: {command: x, needs: [b]}\n"
							 "  b: {command: x, needs: [a]}\n"
							 "  c: {command: x, needs: [d, a]}\n"
							 "  d: {command: x, needs: [c]}\n"});

	(void)state;
	assert_int_equal(g.c.errors, 2);
	assert_non_null(strstr(rv_buf_text(&g.c.text), "cycle: a -> b -> a"));
	assert_non_null(strstr(rv_buf_text(&g.c.text), "cycle: c -> d -> c"));
	put_away(&g);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Depth is no problem, legal or not. */
static void a_chain_of_2000_is_checked_quickly(void **state)
{
	struct rv_buf b = {0};
	double start = seconds();
	struct got g;

	(void)state;
	rv_buf_str(&b, "services:\n");
	for (int i = 1; i < 2000; i++)
		rv_buf_fmt(&b, "  s%d: {command: x, needs: [s%d]}\n", i, i - 1);
	rv_buf_str(&b, "  s0: {command: x}\n");
	g = accept(rv_buf_text(&b));
	assert_sound(g.conf->plan);
	assert_int_equal(node(&g, "s1999")->rank, 1999);
	put_away(&g);
	rv_buf_drop(&b, 0);
	b.len -= strlen("}\n");
	rv_buf_str(&b, ", after: [s1999]}\n");
	g = read_given((struct given){.yaml = rv_buf_text(&b)});
	assert_int_equal(g.c.errors, 1);
	assert_non_null(strstr(rv_buf_text(&g.c.text), "(1960 more) -> s1"));
	put_away(&g);
	rv_buf_fini(&b);
	assert_true(seconds() - start < 10); /* far below, but for the sanitizers */
}

static void exit_from_names_a_service_that_does_not_restart(void **state)
{
	struct got g = accept(
		"reeve: {exit-from: a}\nservices: {a: {command: x}, b: {command: x}}\n");

	(void)state;
	assert_int_equal(node(&g, "a")->restart_on, RV_RESTART_NEVER);
	assert_int_equal(node(&g, "b")->restart_on, RV_RESTART_FAILURE);
	assert_int_equal(g.conf->plan->exit_from, service(&g, "a")->id);
	put_away(&g);
	g = accept("reeve: {exit-from: a}\nservices: {a: {command: x, restart: failure}}\n");
	assert_int_equal(node(&g, "a")->restart_on, RV_RESTART_FAILURE);
	put_away(&g);
}

/* --- time to stop and to start ---------------------------------------------------------------- */

static void the_shutdown_has_time_for_the_longest_path(void **state)
{
	static const struct rv_plugin_table tables[] = {
		{.name = "h", .hooks = RV_HAS(RV_HOOK_STOP) | RV_HAS(RV_HOOK_CLEANUP)}};
	struct got g = accept_given(
		(struct given){.yaml = "reeve: {start-grace: 1s, shutdown-timeout: 3s}\n"
				       "services:\n"
				       "  a: {command: x, plugin: h, stop: {timeout: 2s}}\n"
				       "  b: {command: x, needs: [a], stop: {steps: [{timeout: "
				       "3s}, {timeout: 4s}]}}\n"
				       "  c: {command: x, needs: [a], stop: {timeout: 1s}}\n",
			.tables = tables,
			.table_count = 1});

	(void)state;
	/* grace 1, b 3+4 and KILL 5, a: hook 5, 2, KILL 5, cleanup 10 */
	assert_int_equal(g.conf->plan->shutdown_timeout, (1 + 3 + 4 + 5 + 5 + 2 + 5 + 10) * RV_SEC);
	put_away(&g);
	g = accept("reeve: {shutdown-timeout: 5m}\nservices: {a: {command: x}}\n");
	assert_int_equal(g.conf->plan->shutdown_timeout, 300 * RV_SEC);
	put_away(&g);
}

static void a_shutdown_that_may_take_for_ever_has_an_end_all_the_same(void **state)
{
	struct rv_buf text = {0};
	struct got g;

	(void)state;
	rv_buf_str(&text, "services:\n  s0: {command: x}\n");
	for (unsigned i = 1; i < 400; i++)
		rv_buf_fmt(&text, "  s%u: {command: x, needs: [s%u], stop: {timeout: 366d}}\n", i,
			i - 1);
	g = accept(rv_buf_text(&text));
	assert_true(g.conf->plan->shutdown_timeout > 90 * INT64_C(366 * 86400) * RV_SEC);
	assert_true(g.conf->plan->shutdown_timeout < RV_NEVER / 2);
	put_away(&g);
	rv_buf_fini(&text);
}

static void an_essential_service_that_needs_another_kind_is_warned_about(void **state)
{
	struct got g = accept("services:\n"
			      "  b: {command: x, essential: false}\n"
			      "  a: {command: x, needs: [b]}\n"
			      "  c: {command: x, wants: [b]}\n"
			      "  d: {command: x, needs: [b], essential: false}\n"
			      "  e: {command: x, needs: [b], startup: disabled}\n");

	(void)state;
	assert_string_equal(rv_buf_text(&g.c.text),
		"t.yaml:3:27: warning: service 'a' is essential and needs 'b', which is not: the "
		"boot fails without it all the same (wants does not)\n");
	put_away(&g);
}

/* Accepted, with these warnings. */
static void is_warned(const char *yaml, const char *warnings)
{
	struct got g = accept(yaml);

	assert_string_equal(rv_buf_text(&g.c.text), warnings);
	put_away(&g);
}

static void a_check_that_a_task_has_is_warned_about(void **state)
{
	(void)state;
	is_warned("services:\n"
		  "  a: {command: x, type: task, ready: {tcp: 1}}\n"
		  "  b: {command: x, type: task, ready: {timeout: 1s}}\n"
		  "  c: {command: x, type: task, ready: {exit: true}}\n"
		  "  d: {command: x, type: launcher, ready: {tcp: 1}}\n",
		"t.yaml:2:38: warning: ready of service 'a' is not looked at: a task is there when "
		"it has ended with 0; only its timeout counts, unless its type is daemon\n");
}

/* */
static void gates_that_add_up_to_more_than_the_window_are_warned_about_once(void **state)
{
	(void)state;
	is_warned("services:\n"
		  "  a: {command: x, ready: {tcp: 1, timeout: 20s}}\n"
		  "  b: {command: x, ready: {tcp: 2, timeout: 20s}, needs: [a]}\n"
		  "  c: {command: x, ready: {tcp: 3, timeout: 20s}, needs: [b]}\n",
		"t.yaml:4:3: warning: what may pass until 'c' is ready adds up to 1m "
		"(a 20s + b 20s + c 20s), more than reeve.platform-window, 30s, but "
		"reeve.boot-timeout ends the boot after 25s\n");
	is_warned("services:\n"
		  "  a: {command: x, ready: {tcp: 1, timeout: 20s}}\n"
		  "  b: {command: x, ready: {tcp: 2, timeout: 7s}, needs: [a]}\n",
		"t.yaml:3:3: warning: what may pass until 'b' is ready adds up to 27s "
		"(a 20s + b 7s), but reeve.boot-timeout ends the boot after 25s\n");
	is_warned("reeve: {platform-window: 60s, boot-timeout: 60s}\n"
		  "services:\n"
		  "  a: {command: x, ready: {tcp: 1, timeout: 20s}}\n"
		  "  b: {command: x, ready: {tcp: 2, timeout: 20s}, needs: [a]}\n"
		  "  c: {command: x, ready: {tcp: 3, timeout: 20s}, needs: [b]}\n",
		"");
	is_warned("services: {a: {command: x, ready: {tcp: 1}}}\n", "");
}

static void attempts_and_their_delays_are_part_of_the_sum(void **state)
{
	(void)state;
	is_warned("services:\n"
		  "  a: {command: x, ready: {tcp: 1, timeout: 9s}, start-attempts: 3,\n"
		  "      restart: {delay: 1s, factor: 4, max-delay: 3s}}\n",
		"t.yaml:2:3: warning: what may pass until 'a' is ready adds up to 31s "
		"(a 31s (3 starts)), more than reeve.platform-window, 30s, but "
		"reeve.boot-timeout ends the boot after 25s\n");
}

static void only_the_longest_way_that_the_boot_takes_counts(void **state)
{
	(void)state;
	is_warned("services:\n"
		  "  a: {command: x, ready: {tcp: 1, timeout: 20s}}\n"
		  "  b: {command: x, ready: {tcp: 2, timeout: 20s}}\n"
		  "  c: {command: x, needs: [a, b]}\n"
		  "  d: {command: x, ready: {tcp: 3, timeout: 20s}, needs: [{service: a, until: "
		  "started}]}\n"
		  "  e: {command: x, ready: {tcp: 4, timeout: 20s}, startup: disabled}\n"
		  "  f: {command: x, ready: {tcp: 5, timeout: 20s}, after: [e]}\n",
		"");
	is_warned("services:\n"
		  "  e: {command: x, ready: {tcp: 4, timeout: 20s}, startup: disabled}\n"
		  "  f: {command: x, ready: {tcp: 5, timeout: 20s}, wants: [e]}\n",
		"t.yaml:3:3: warning: what may pass until 'f' is ready adds up to 40s "
		"(e 20s + f 20s), more than reeve.platform-window, 30s, but "
		"reeve.boot-timeout ends the boot after 25s\n");
}

static void a_way_is_named_by_those_that_take_its_time(void **state)
{
	char yaml[2000] = "services:\n";
	size_t n = strlen(yaml);

	(void)state;
	is_warned("services:\n"
		  "  a: {command: x, ready: {tcp: 1, timeout: 20s}}\n"
		  "  m: {command: x, needs: [a]}\n"
		  "  b: {command: x, ready: {tcp: 2, timeout: 20s}, needs: [m]}\n"
		  "  last: {command: x, needs: [b]}\n",
		"t.yaml:4:3: warning: what may pass until 'b' is ready adds up to 40s "
		"(a 20s + b 20s), more than reeve.platform-window, 30s, but "
		"reeve.boot-timeout ends the boot after 25s\n");
	for (int i = 0; i < 10; i++) {
		char needs[40] = "";

		if (i)
			snprintf(needs, sizeof(needs), ", needs: [s%d]", i - 1);
		n += (size_t)snprintf(yaml + n, sizeof(yaml) - n,
			"  s%d: {command: x, ready: {tcp: %d, timeout: 4s}%s}\n", i, i + 1, needs);
	}
	is_warned(yaml,
		"t.yaml:11:3: warning: what may pass until 's9' is ready adds up to 40s "
		"(4 more + s4 4s + s5 4s + s6 4s + s7 4s + s8 4s + s9 4s), more than "
		"reeve.platform-window, 30s, but reeve.boot-timeout ends the boot after 25s\n");
}

static void a_boot_that_may_outlast_the_window_is_warned_about(void **state)
{
	(void)state;
	is_warned("reeve:\n"
		  "  boot-timeout: 31s\n"
		  "services: {a: {command: x}}\n",
		"t.yaml:2:17: warning: reeve.boot-timeout, 31s, is longer than "
		"reeve.platform-window, 30s: the platform gives up before reeve can say why\n");
	is_warned("reeve:\n"
		  "  platform-window: 20s\n"
		  "services: {a: {command: x}}\n",
		"t.yaml:2:20: warning: reeve.boot-timeout, 25s, is longer than "
		"reeve.platform-window, 20s: the platform gives up before reeve can say why\n");
	is_warned("reeve: {boot-timeout: 0}\n"
		  "services: {a: {command: x}}\n",
		"t.yaml:1:23: warning: reeve.boot-timeout sets no limit, but "
		"reeve.platform-window is 30s: the platform gives up before reeve can say why\n");
	is_warned("reeve: {boot-timeout: 0, platform-window: 0}\n"
		  "services: {a: {command: x, ready: {tcp: 1, timeout: 5m}}}\n",
		"");
}

/* --- ports ------------------------------------------------------------------------------------ */

static void clashing_ports_are_told_with_both_places(void **state)
{
	static const struct {
		const char *a, *b, *complaint;
	} t[] = {
		{"ports: [80]", "ports: [80]",
			"t.yaml:3:27: port 80 of service 'b' clashes with service "
			"'a' (t.yaml:2:27)\n"},
		{"listen: [{name: l, tcp: \"127.0.0.1:80\"}]", "ports: [80]",
			"t.yaml:3:27: port 80 of service 'b' clashes with service 'a' "
			"(t.yaml:2:28)\n"},
		{"listen: [{name: l, tcp: \"127.0.0.1:80\"}]",
			"listen: [{name: l, tcp: \"0.0.0.0:80\"}]",
			"t.yaml:3:28: port 80 of service 'b' clashes with service 'a' "
			"(t.yaml:2:28)\n"},
		{"ports: [80]", "listen: [{name: l, tcp: \"[::1]:80\"}]",
			"t.yaml:3:28: port 80 of service 'b' clashes with service 'a' "
			"(t.yaml:2:27)\n"},
		{"listen: [{name: l, unix: /x}]", "listen: [{name: m, unix: /x}]",
			"t.yaml:3:28: /x of service 'b' clashes with service 'a' (t.yaml:2:28)\n"},
		{"ports: [80, 80]", "ports: [81]",
			"t.yaml:2:31: service 'a' has port 80 twice (t.yaml:2:27)\n"},
		{"ports: [80], listen: [{name: l, tcp: \"127.0.0.1:80\"}]", "ports: [81]",
			"t.yaml:2:27: service 'a' has port 80 twice (t.yaml:2:41)\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		char yaml[400];

		snprintf(yaml, sizeof(yaml),
			"services:\n  a: {command: x, %s}\n  b: {command: x, %s}\n", t[i].a,
			t[i].b);
		refuse(yaml, t[i].complaint);
	}
}

static void one_port_on_two_addresses_is_no_clash(void **state)
{
	struct got g = accept(
		"services:\n"
		"  a: {command: x, listen: [{name: l, tcp: \"127.0.0.1:80\"}]}\n"
		"  b: {command: x, listen: [{name: l, tcp: \"127.0.0.2:80\"}, {name: m, tcp: "
		"\"[::1]:80\"}]}\n"
		"  c: {command: x, listen: [{name: l, tcp: \"0.0.0.0:81\"}, {name: m, tcp: "
		"\"[::]:81\"}]}\n");

	(void)state;
	put_away(&g);
}

static void who_adopts_needs_a_port_and_a_proof(void **state)
{
	static const char no_port[] =
		"it is found by its port, and it has none; name what it binds in "
		"ports\n";
	static const struct {
		const char *keys, *complaint;
	} t[] = {{"if-running: adopt, ready: {tcp: 80}", no_port}, {"if-running: fail", no_port},
		{"if-running: adopt, ports: [80]",
			"nothing would prove who answers there; give it ready.http, ready.tcp, "
			"ready.unix or ready.exec\n"},
		{"if-running: adopt, ports: [80], ready: {fd: auto}",
			"nothing would prove who answers there; give it ready.http, ready.tcp, "
			"ready.unix or ready.exec\n"},
		{"if-running: adopt, ports: [80], ready: {tcp: 80, log-line: x}",
			"ready.fd, notify, log-line and file are signs that only a process of its "
			"own start gives\n"},
		{"if-running: adopt, ports: [80], type: task", "a task has to run to its end\n"},
		{"if-running: adopt, ports: [80], ready: {tcp: 80}, "
		 "listen: [{name: l, unix: /x}]",
			"reeve itself binds its listeners\n"}};
	struct got g;

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		char yaml[400], complaint[400];

		snprintf(yaml, sizeof(yaml), "services: {a: {command: x, %s}}\n", t[i].keys);
		snprintf(complaint, sizeof(complaint),
			"t.yaml:1:40: if-running of service 'a' cannot be %s: %s",
			strstr(yaml, "adopt") ? "adopt" : "fail", t[i].complaint);
		refuse(yaml, complaint);
	}
	refuse("services: {a: {command: x, if-running: join}}\n",
		"t.yaml:1:40: if-running of service 'a' must be fail or adopt, not join\n");
	g = accept("services:\n"
		   "  a: {command: x, ports: [80], ready: {tcp: 80}, if-running: adopt}\n"
		   "  b: {command: x, ports: [81], if-running: fail}\n");
	assert_true(service(&g, "a")->adopts);
	assert_false(service(&g, "b")->adopts);
	put_away(&g);
}

/* --- recipes ---------------------------------------------------------------------------------- */

static const char *const argv_of_recipe[] = {"/bin/p", "-port", "81", NULL};
static const uint16_t port_81[] = {81}, port_82[] = {82};
static const struct rv_key port_key[] = {{"token", RV_KEY_SECRET, 0, 0, NULL, NULL, "a secret"}};
static const struct rv_plugin_table starters[] = {{.name = "p",
	.hooks = RV_HAS(RV_HOOK_START) | RV_HAS(RV_HOOK_PROBE),
	.keys = port_key,
	.key_count = 1}};

static struct got read_with_recipe(const char *yaml, const struct rv_recipe *recipes)
{
	return read_given((struct given){
		.yaml = yaml, .tables = starters, .table_count = 1, .recipes = recipes});
}

static void a_recipe_gives_what_no_command_gives(void **state)
{
	const struct rv_recipe recipes[] = {
		{.argv = argv_of_recipe, .ports = port_81, .port_count = 1, .is_static = true},
		{.argv = argv_of_recipe, .ports = port_82, .port_count = 1}};
	struct got g = read_with_recipe(
		"services:\n  a: {plugin: p}\n  b: {plugin: p, command: own}\n", recipes);
	const struct rv_service *a, *b;

	(void)state;
	assert_non_null(g.conf);
	a = service(&g, "a");
	b = service(&g, "b");
	assert_list(a->argv, "/bin/p|-port|81|");
	assert_true(a->argv_is_static);
	assert_null(a->command);
	assert_int_equal(a->port_count, 1);
	assert_int_equal(a->ports[0], 81);
	assert_list(b->argv, "own|");
	assert_true(a->has_ready && a->ready.plugin);
	assert_int_equal(node(&g, "a")->proof, RV_PROOF_PROBE);
	assert_int_equal(node(&g, "a")->hooks, starters[0].hooks);
	put_away(&g);
}

static void refuse_recipe(const char *yaml, const struct rv_recipe *recipes, const char *complaint)
{
	struct got g = read_with_recipe(yaml, recipes);

	assert_null(g.conf);
	assert_string_equal(rv_buf_text(&g.c.text), complaint);
	put_away(&g);
}

/* The file's word about type and main-pid is stronger than the plugin's. */
static void a_recipe_may_be_a_launcher_unless_the_file_says_otherwise(void **state)
{
	const struct rv_recipe recipes[] = {
		{.argv = argv_of_recipe, .type = 1 + RV_LAUNCHER, .main_port = 81},
		{.argv = argv_of_recipe, .type = 1 + RV_LAUNCHER, .pid_file = "/run/x.pid"},
		{.argv = argv_of_recipe, .type = 1 + RV_LAUNCHER, .pid_file = "/run/x.pid"},
		{.argv = argv_of_recipe, .type = 1 + RV_LAUNCHER, .main_port = 81}};
	struct got g = read_with_recipe("services:\n  a: {plugin: p}\n  b: {plugin: p}\n"
					"  c: {plugin: p, main-pid: tree}\n"
					"  d: {plugin: p, type: daemon}\n",
		recipes);

	(void)state;
	assert_non_null(g.conf);
	assert_int_equal(service(&g, "a")->type, RV_LAUNCHER);
	assert_int_equal(node(&g, "a")->type, RV_LAUNCHER);
	assert_int_equal(service(&g, "a")->main_pid.by, RV_MAIN_PORT);
	assert_int_equal(service(&g, "a")->main_pid.port, 81);
	assert_int_equal(service(&g, "b")->main_pid.by, RV_MAIN_FILE);
	assert_string_equal(service(&g, "b")->main_pid.file, "/run/x.pid");
	assert_int_equal(service(&g, "c")->main_pid.by, RV_MAIN_TREE);
	assert_int_equal(node(&g, "d")->type, RV_DAEMON);
	put_away(&g);
}

static void the_end_alone_may_be_what_is_asked_of_tasks_and_launchers(void **state)
{
	const struct rv_recipe recipes[] = {{.argv = argv_of_recipe}, {.argv = argv_of_recipe}};
	struct got g = read_with_recipe(
		"services:\n  a: {plugin: p, type: launcher, ready: {exit: true, timeout: 1s}}\n"
		"  b: {plugin: p, type: task, ready: {exit: true}}\n",
		recipes);

	(void)state;
	assert_non_null(g.conf);
	assert_int_equal(node(&g, "a")->proof, RV_PROOF_NONE);
	assert_int_equal(node(&g, "b")->proof, RV_PROOF_NONE);
	put_away(&g);
	refuse_recipe("services: {a: {plugin: p, ready: {exit: true}}}\n", recipes,
		"t.yaml:1:34: ready.exit of service 'a' is for tasks and launchers: a daemon that "
		"ends before it is ready has failed\n");
}

static void main_pid_is_for_launchers_only(void **state)
{
	const struct rv_recipe none[] = {{.argv = argv_of_recipe}};
	const struct rv_recipe bad[] = {
		{.argv = argv_of_recipe, .type = 1 + RV_LAUNCHER, .pid_file = "x.pid"}};

	(void)state;
	refuse_recipe("services: {a: {plugin: p, main-pid: tree}}\n", none,
		"t.yaml:1:37: main-pid of service 'a' says where a launcher's daemon is found, but "
		"its type is daemon: write type: launcher, or leave main-pid out\n");
	refuse_recipe("services: {a: {plugin: p}}\n", bad,
		"t.yaml:1:12: service 'a': the pid file that plugin p names must be an absolute "
		"path\n");
}

static void plugins_see_environment_and_ports_before_they_give_recipes(void **state)
{
	static const char *const paths[] = {"t.yaml", NULL};
	struct rv_complaints c = {0};
	struct rv_draft *d;
	struct rv_conf *conf;

	(void)state;
	write_file("t.yaml", "services: {a: {plugin: p, ports: [7], environment: {A: 1}}}\n");
	d = rv_draft_read(paths, NULL, NULL, &c);
	conf = rv_conf_build(d, starters, 1, NULL, NULL, NULL, NULL, &c);
	rv_draft_destroy(d);
	assert_non_null(conf);
	assert_list(rv_conf_find(conf, "a")->env, "A=1|");
	assert_int_equal(rv_conf_find(conf, "a")->ports[0], 7);
	rv_conf_destroy(conf);
	rv_complaints_fini(&c);
}

static void ready_replaces_the_probe_of_the_plugin(void **state)
{
	const struct rv_recipe recipes[] = {{.argv = argv_of_recipe}};
	struct got g = read_with_recipe("services: {a: {plugin: p, ready: {tcp: 1}}}\n", recipes);

	(void)state;
	assert_false(service(&g, "a")->ready.plugin);
	put_away(&g);
	g = read_with_recipe("services: {a: {plugin: p, ready: {timeout: 1s}}}\n", recipes);
	assert_true(service(&g, "a")->ready.plugin);
	assert_int_equal(node(&g, "a")->ready_timeout, RV_SEC);
	put_away(&g);
}

static void a_recipe_that_is_known_at_start_only_is_no_mistake(void **state)
{
	const struct rv_recipe recipes[] = {{.fixed = true}};
	struct got g = read_with_recipe("services: {a: {plugin: p}}\n", recipes);

	(void)state;
	assert_non_null(g.conf);
	assert_null(service(&g, "a")->argv);
	assert_false(service(&g, "a")->argv_is_static);
	put_away(&g);
}

static void a_recipe_can_be_wrong(void **state)
{
	const struct rv_recipe refused[] = {{.error = "port 0 is none"}}, empty[] = {{0}},
			       same[] = {{.argv = argv_of_recipe,
						 .ports = port_81,
						 .port_count = 1},
				       {.argv = argv_of_recipe, .ports = port_81, .port_count = 1}},
			       relative[] = {{.argv = argv_of_recipe, .log_file = "p.log"}};

	(void)state;
	refuse_recipe("services: {a: {plugin: p}}\n", refused,
		"t.yaml:1:12: service 'a': plugin p refuses this: port 0 is none\n");
	refuse_recipe("services: {a: {plugin: p}}\n", empty,
		"t.yaml:1:12: service 'a' needs a command: plugin p gave none\n");
	refuse_recipe("services:\n  a: {plugin: p}\n  b: {plugin: p}\n", same,
		"t.yaml:3:3: port 81 of service 'b' clashes with service 'a' (t.yaml:2:3)\n");
	refuse_recipe("services: {a: {plugin: p}}\n", relative,
		"t.yaml:1:12: the log file of service 'a' must be an absolute path or -; "
		"what its option or variable says is neither\n");
}

static void the_effective_port_of_a_plugin_may_be_its_own_listener(void **state)
{
	const struct rv_recipe recipes[] = {
		{.argv = argv_of_recipe, .ports = port_81, .port_count = 1}};
	struct got g = read_with_recipe(
		"services: {a: {plugin: p, listen: [{name: l, tcp: \"127.0.0.1:81\"}]}}\n",
		recipes);

	(void)state;
	assert_non_null(g.conf);
	assert_int_equal(service(&g, "a")->port_count, 0); /* it is kept by the listener */
	put_away(&g);
	g = read_with_recipe("services: {a: {plugin: p, ports: [81]}}\n", recipes);
	assert_non_null(g.conf);
	assert_int_equal(service(&g, "a")->port_count, 1);
	put_away(&g);
}

static void the_log_path_of_a_recipe_wins(void **state)
{
	static const struct {
		const char *log_file, *path;
		int kind;
	} t[] = {{NULL, "/own", RV_LOG_FILE}, {"", "/own", RV_LOG_FILE},
		{"/conv", "/conv", RV_LOG_FILE}, {"-", NULL, RV_LOG_INHERIT}};

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		const struct rv_recipe recipes[] = {
			{.argv = argv_of_recipe, .log_file = t[i].log_file}};
		struct got g = read_with_recipe("services: {a: {plugin: p, log: /own}}\n", recipes);

		assert_non_null(g.conf);
		assert_int_equal(service(&g, "a")->log.kind, t[i].kind);
		if (t[i].path)
			assert_string_equal(service(&g, "a")->log.path, t[i].path);
		put_away(&g);
	}
}

/* --- slots and digests ------------------------------------------------------------------------ */

static void what_belongs_to_reeve_itself_stays_over_reloads(void **state)
{
	struct got one = accept(
		"reeve: {runtime-dir: /a, control: {mode: \"0600\", group: \"7\"}}\n"
		"services: {a: {command: x}}\n");
	struct got same = accept_given((struct given){
		.yaml = "reeve: {control: {group: \"7\", mode: \"0600\"}, runtime-dir: /a, "
			"max-starts: 3, shutdown-timeout: 9s}\nservices: {b: {command: x}}\n",
		.before = one.conf});
	struct got other = read_given(
		(struct given){.yaml = "reeve:\n  plugin-dir: /p\n  control: {owner: \"8\"}\n"
				       "services: {a: {command: x}}\n",
			.before = one.conf});

	(void)state;
	assert_null(other.conf);
	assert_int_equal(other.c.errors, 5);
	assert_string_equal(rv_buf_text(&other.c.text),
		"reeve.runtime-dir cannot be changed by a reload, only by a restart of reeve: it "
		"is /a now, and would be /run/reeve\n"
		"t.yaml:2:15: reeve.plugin-dir cannot be changed by a reload, only by a restart of "
		"reeve: it is " RV_PLUGIN_DIR " now, and would be /p\n"
		"t.yaml:3:12: reeve.control.mode cannot be changed by a reload, only by a restart "
		"of "
		"reeve: it is 0600 now, and would be 0660\n"
		"t.yaml:3:12: reeve.control.owner cannot be changed by a reload, only by a restart "
		"of reeve: it is ours now, and would be 8\n"
		"t.yaml:3:12: reeve.control.group cannot be changed by a reload, only by a restart "
		"of reeve: it is 7 now, and would be ours\n");
	put_away(&other);
	put_away(&same);
	put_away(&one);
}

static void slots_are_kept_over_reloads(void **state)
{
	struct got one = accept("services: {a: {command: x}, b: {command: x}, c: {command: x}}\n");
	struct got two = accept_given(
		(struct given){.yaml = "services: {n: {command: x}, c: {command: x, needs: [n]}, "
				       "a: {command: x}}\n",
			.before = one.conf});
	struct got three = accept_given((struct given){
		.yaml = "services: {m: {command: x}, a: {command: x}, n: {command: x}}\n",
		.before = two.conf});

	(void)state;
	assert_int_equal(service(&one, "b")->id, 1);
	assert_int_equal(service(&two, "a")->id, 0);
	assert_int_equal(service(&two, "c")->id, 2);
	/* b's slot is vacant now, but n did not get it: no slot changes hands in one step. */
	assert_int_equal(service(&two, "n")->id, 3);
	assert_int_equal(two.conf->service_count, 4);
	assert_null(two.conf->services[1].name);
	assert_false(two.conf->plan->node[1].present);
	assert_int_equal(two.conf->plan->node[1].digest, 0);
	assert_null(rv_conf_find(two.conf, "b"));
	assert_sound(two.conf->plan);
	assert_order(&two, "n c a");
	assert_int_equal(service(&three, "m")->id, 1);
	assert_int_equal(service(&three, "n")->id, 3);
	assert_sound(three.conf->plan);
	put_away(&one);
	put_away(&two);
	put_away(&three);
}

/* Meaning is compared, not text. */
static void spelling_does_not_change_a_digest(void **state)
{
	static const char *const same[] = {
		"services: {a: {command: [x, y], environment: {A: 1, B: 2}, user: u}}\n",
		"# comment\nversion: 1\nservices:\n  a:\n    user: 'u'\n    environment: {B: "
		"\"2\", A: 1}\n"
		"    command: \"x 'y'\"\n",
		"services: {a: {command: [x, y], environment: &e {A: 1, B: 2}, user: u, plugin: "
		"exec, "
		"restart: {on: failure, delay: 200ms, factor: 2, max-delay: 30s, limit: 5, window: "
		"1m}, "
		"startup: enabled, type: daemon, essential: true, stop: {signal: SIGTERM}, log: "
		"/var/log/reeve/a.log, needs: [], inherit-environment: all, umask: \"022\", "
		"working-dir: /}}\n"};
	uint64_t digest = 0, tuning = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(same); i++) {
		struct got g = accept(same[i]);
		const struct rv_node *n = node(&g, "a");

		if (!i) {
			digest = n->digest;
			tuning = n->tuning;
		}
		assert_true(n->digest == digest && n->tuning == tuning);
		put_away(&g);
	}
}

static void a_change_shows_in_the_digest_that_it_belongs_to(void **state)
{
	static const struct {
		const char *keys;
		bool restart, tune;
	} t[] = {{"command: y", true, false}, {"environment: {A: 1}", true, false},
		{"user: u", true, false}, {"group: g", true, false}, {"groups: []", true, false},
		{"umask: 027", true, false}, {"limits: {core: 0}", true, false},
		{"working-dir: /x", true, false}, {"ports: [80]", true, false},
		{"listen: [{name: a, unix: /x}]", true, false}, {"ready: {tcp: 80}", true, false},
		{"type: task", true, false}, {"log: null", true, false}, {"log: /x", true, false},
		{"inherit-environment: none", true, false}, {"summary: s", false, true},
		{"startup: disabled", false, true}, {"essential: false", false, true},
		{"restart: {limit: 6}", false, true}, {"restart: never", false, true},
		{"stop: {timeout: 6s}", false, true}, {"stop: {steps: []}", false, true},
		{"ready: {timeout: 6s}", false, true}, {"log: {max-size: 1}", false, true},
		{"log: {keep: 6}", false, true}, {"start-attempts: 2", false, true},
		{"on-give-up: shutdown", false, true}, {"on-dependency-loss: keep", false, true}};
	static const char *const environ[] = {"HOME=/", NULL};
	struct got g = accept_given(
		(struct given){.yaml = "services: {a: {command: x}}\n", .environ = environ});
	uint64_t digest = node(&g, "a")->digest, tuning = node(&g, "a")->tuning;

	(void)state;
	put_away(&g);
	for (size_t i = 0; i < COUNT(t); i++) {
		bool own = !strncmp(t[i].keys, "command", 7);
		char yaml[300];

		snprintf(yaml, sizeof(yaml), "services: {a: {%s%s}}\n", own ? "" : "command: x, ",
			t[i].keys);
		g = accept_given((struct given){.yaml = yaml, .environ = environ});
		if ((node(&g, "a")->digest != digest) != t[i].restart ||
			(node(&g, "a")->tuning != tuning) != t[i].tune)
			fail_msg("%s: digest %d, tuning %d", t[i].keys,
				node(&g, "a")->digest != digest, node(&g, "a")->tuning != tuning);
		put_away(&g);
	}
}

/* --- `reeve -- CMD` --------------------------------------------------------------------------- */

static const char *const shell[] = {"sh", "-c", "echo ${HOME} \"$1\"", NULL};

static void the_command_of_the_command_line_becomes_main(void **state)
{
	struct got g = accept_given(
		(struct given){.yaml = "reeve: {exit-from: a}\n"
				       "services:\n"
				       "  a: {command: x}\n"
				       "  off: {command: x, startup: disabled}\n"
				       "  t: {command: x, type: task}\n",
			.command = shell});
	const struct rv_service *s = service(&g, "main");
	char cwd[200];

	(void)state;
	assert_list(s->argv, "sh|-c|echo ${HOME} \"$1\"|");
	assert_string_equal(s->working_dir, getcwd(cwd, sizeof(cwd)));
	assert_string_equal(s->plugin, "exec");
	assert_true(s->essential);
	assert_int_equal(s->log.kind, RV_LOG_INHERIT);
	assert_int_equal(node(&g, "main")->restart_on, RV_RESTART_NEVER);
	assert_int_equal(g.conf->plan->exit_from, s->id);
	assert_int_equal(s->dep_count, 2);
	assert_int_equal(s->deps[0].on, service(&g, "a")->id);
	assert_int_equal(s->deps[0].until, RV_UNTIL_READY);
	assert_int_equal(s->deps[1].on, service(&g, "t")->id);
	assert_int_equal(s->deps[1].until, RV_UNTIL_EXITED);
	assert_int_equal(node(&g, "main")->rank, 3);
	put_away(&g);
}

static void the_name_main_is_taken_by_the_command(void **state)
{
	struct got g = accept("services: {main: {command: x}}\n");

	(void)state;
	put_away(&g);
	refuse_given((struct given){.yaml = "services: {main: {command: x}}\n", .command = shell},
		"t.yaml:1:12: service 'main' has the name that the command after -- takes: rename "
		"it, "
		"or start reeve without a command\n");
}

static void the_command_needs_no_file_but_hides_no_mistake(void **state)
{
	struct got g = accept_given(
		(struct given){.yaml = "reeve: {log: {dir: /l}}\n", .command = shell});

	(void)state;
	assert_int_equal(g.conf->plan->present, 1);
	put_away(&g);
	refuse_given((struct given){.yaml = "services: [a]\n", .command = shell},
		"t.yaml:1:11: services must be a map of services, not a list\n");
}

static void without_any_file_the_command_is_all_there_is(void **state)
{
	struct rv_complaints c = {0};
	struct rv_draft *d;
	struct rv_conf *conf;

	(void)state;
	if (!access(RV_CONFIG_DIR "/reeve.yaml", F_OK) || !access(RV_CONFIG_DIR "/reeve.d", F_OK))
		skip();
	assert_null(rv_draft_read(NULL, NULL, NULL, &c));
	assert_string_equal(rv_buf_text(&c.text),
		"cannot read " RV_CONFIG_DIR
		"/reeve.yaml: No such file or directory; name a file with -c\n");
	rv_complaints_fini(&c);
	d = rv_draft_read(NULL, NULL, shell, &c);
	conf = rv_conf_build(d, NULL, 0, NULL, NULL, NULL, NULL, &c);
	rv_draft_destroy(d);
	assert_string_equal(rv_buf_text(&c.text), "");
	assert_true(rv_conf_plan(conf, NULL, &c));
	assert_int_equal(conf->plan->present, 1);
	rv_conf_destroy(conf);
	rv_complaints_fini(&c);
}

static void a_cycle_through_the_command_is_told(void **state)
{
	(void)state;
	refuse_given((struct given){.yaml = "services: {a: {command: x, needs: [main]}}\n",
			     .command = shell},
		"t.yaml:1:36: dependency cycle: a -> main -> a ('a' needs 'main' at t.yaml:1:36, "
		"'main' needs 'a')\n");
}

/* --- what `reeve plan` prints ----------------------------------------------------------------- */

static void the_plan_reads_like_this(void **state)
{
	static const char *const argv[] = {"/bin/p", "--token=s3cret", "it's", NULL};
	static const char *const env[] = {"R=s3cret", NULL};
	static const struct rv_recipe recipes[] = {
		{.argv = argv, .env = env, .ports = port_81, .port_count = 1}, {0}, {0}};
	static const struct rv_key keys[] = {
		{"token", RV_KEY_SECRET, 0, 0, NULL, "P_TOKEN", "a secret"},
		{"extra", RV_KEY_WORDS, 0, 0, NULL, NULL, "more"},
		{"bin", RV_KEY_PATH, 0, 0, "/bin/p", NULL, "the program"},
		{"none", RV_KEY_STRING, 0, 0, NULL, NULL, "not set"}};
	static const struct rv_plugin_table tables[] = {{.name = "p",
		.keys = keys,
		.key_count = 4,
		.hooks = RV_HAS(RV_HOOK_START) | RV_HAS(RV_HOOK_PROBE)}};
	struct got g = accept_given((struct given){
		.yaml = "reeve: {exit-from: api, max-starts: 2, control: {group: sandbox}}\n"
			"environment: {LANG: C.UTF-8}\n"
			"services:\n"
			"  api:\n"
			"    plugin: p\n"
			"    summary: answers\n"
			"    needs: [{service: db, until: started}]\n"
			"    wants: [seed]\n"
			"    user: user\n"
			"    umask: 027\n"
			"    limits: {nofile: {soft: 10, hard: unlimited}, core: 0}\n"
			"    working-dir: /home/user\n"
			"    environment: {SECRET: hush}\n"
			"    options: {extra: [a, 'b c']}\n"
			"  db:\n"
			"    command: [db, '']\n"
			"    listen: [{name: u, unix: /run/db.sock, mode: '0660'}, {name: t, tcp: "
			"'127.0.0.1:80', backlog: 8}]\n"
			"    ready: {fd: auto, exec: [test, -S, /run/db.sock], timeout: 10s}\n"
			"    inherit-environment: none\n"
			"    restart: {on: always, factor: 1.5, limit: 0}\n"
			"    stop: {steps: [{signal: INT, timeout: 1s, to: main}, {}]}\n"
			"    log: {file: /tmp/db.log, max-size: 0}\n"
			"  seed: {command: seed, type: task, startup: disabled, essential: false, "
			"log: null, "
			"restart: no}\n",
		.tables = tables,
		.table_count = 1,
		.recipes = recipes,
		.environ = (const char *const[]){"P_TOKEN=s3cret", "HOME=/", NULL}});
	struct rv_buf b = {0};

	(void)state;
	rv_conf_print(g.conf, &b);
	assert_string_equal(rv_buf_text(&b),
		"reeve\n"
		"    files         t.yaml\n"
		"    control       /run/reeve/control.sock, mode 0660, group sandbox\n"
		"    plugins       " RV_PLUGIN_DIR "\n"
		"    boot          within 25s, then rollback, 2 starts at one time\n"
		"    shutdown      within 26s (start grace 5s)\n"
		"    exit from     api\n"
		"\n"
		"1. db: daemon of plugin exec\n"
		"    command       db ''\n"
		"    directory     /\n"
		"    user          (reeve's)\n"
		"    inherits      none\n"
		"    environment   LANG (sandbox), LISTEN_FDS (listen), LISTEN_PID (listen), "
		"LISTEN_FDNAMES (listen)\n"
		"    listen        u: /run/db.sock as descriptor 3, mode 0660\n"
		"                  t: 127.0.0.1:80 as descriptor 4, backlog 8\n"
		"    ready         fd 5, exec test -S /run/db.sock, within 10s (attempt 2s)\n"
		"    restart       always, delay 200ms x 1.500 up to 30s, no limit\n"
		"    stop          INT to main 1s, TERM to group 5s, KILL to tree\n"
		"    log           /tmp/db.log, not rotated\n"
		"\n"
		"2. seed: task of plugin exec, disabled, not essential\n"
		"    command       seed\n"
		"    directory     /\n"
		"    user          (reeve's)\n"
		"    inherits      all\n"
		"    environment   LANG (sandbox)\n"
		"    ready         when it has ended with 0\n"
		"    restart       never\n"
		"    stop          TERM to group 5s, KILL to tree\n"
		"    log           discarded\n"
		"\n"
		"3. api: daemon of plugin p\n"
		"    summary       answers\n"
		"    command       /bin/p --token=*** 'it'\\''s'\n"
		"    directory     /home/user\n"
		"    user          user\n"
		"    umask         027\n"
		"    limits        nofile 10 of unlimited, core 0\n"
		"    inherits      all\n"
		"    environment   LANG (sandbox), R (plugin), SECRET (service), HOME (account), "
		"USER "
		"(account), LOGNAME (account), SHELL (account)\n"
		"    needs         db until started (lost: restart)\n"
		"    wants         seed\n"
		"    ports         81\n"
		"    ready         plugin p, within 30s (attempt 2s)\n"
		"    restart       never\n"
		"    stop          TERM to group 5s, KILL to tree\n"
		"    log           /var/log/reeve/api.log, rotated at 10MiB, 5 kept\n"
		"    options       token = ***  (variable P_TOKEN)\n"
		"                  extra = a 'b c'  (file)\n"
		"                  bin = /bin/p  (default)\n");
	assert_null(strstr(rv_buf_text(&b), "s3cret"));
	assert_null(strstr(rv_buf_text(&b), "hush"));
	rv_buf_fini(&b);
	put_away(&g);
}

/* A secret is one wherever it turns up: in another option, behind quotes, in another service. */
static void the_plan_hides_a_secret_wherever_it_turns_up(void **state)
{
	static const struct rv_key keys[] = {{"token", RV_KEY_SECRET, 0, 0, NULL, NULL, "a secret"},
		{"extra", RV_KEY_WORDS, 0, 0, NULL, NULL, "more"},
		{"text", RV_KEY_STRING, 0, 0, NULL, NULL, "more"},
		{"json", RV_KEY_JSON, 0, 0, NULL, NULL, "more"}};
	static const struct rv_plugin_table tables[] = {
		{.name = "p", .keys = keys, .key_count = COUNT(keys)}};
	struct got g = accept_given((struct given){
		.yaml = "services:\n"
			"  a:\n"
			"    plugin: p\n"
			"    command: [a, \"x it's s3cret y\", \"${env.API_KEY}\", '${env.PORT}']\n"
			"    working-dir: \"/home/it's s3cret\"\n"
			"    log: {file: \"/var/it's s3cret.log\"}\n"
			"    options: {token: \"it's s3cret\", extra: [\"--t=it's s3cret\"], text: "
			"\"${env.api_token}\", json: {a: \"${env.QUOTED_KEY}\"}}\n"
			"  b:\n"
			"    command: [b, \"it's s3cret\"]\n"
			"    ready: {http: {url: \"http://127.0.0.1/?k=${env.API_KEY}\"}}\n",
		.tables = tables,
		.table_count = 1,
		.environ = (const char *const[]){"API_KEY=s3cret-key", "api_token=s3cret-low",
			"PORT=8080", "QUOTED_KEY=s3cret-\"q\"", NULL}});
	struct rv_buf b = {0};

	(void)state;
	rv_conf_print(g.conf, &b);
	assert_null(strstr(rv_buf_text(&b), "s3cret"));
	assert_non_null(strstr(rv_buf_text(&b), "command       a 'x *** y' *** 8080\n"));
	assert_non_null(strstr(rv_buf_text(&b), "command       b '***'\n"));
	assert_non_null(strstr(rv_buf_text(&b), "/home/***\n"));
	assert_non_null(strstr(rv_buf_text(&b), "text = ***  (file)\n"));
	assert_non_null(strstr(rv_buf_text(&b), "?k=***,"));
	assert_non_null(strstr(rv_buf_text(&b), "json = '{\"a\":\"***\"}'  (file)\n"));
	rv_buf_fini(&b);
	put_away(&g);
}

/* */
static void recreate_is_for_what_is_ours_and_can_be_confirmed(void **state)
{
	static const struct rv_plugin_table tables[] = {
		{.name = "p", .hooks = RV_HAS(RV_HOOK_CONFIRM)}, {.name = "q"}};
	static const struct {
		const char *keys, *complaint;
	} t[] = {{"recreate: true, plugin: p, ports: [80], ready: {tcp: 80}, if-running: adopt",
			 "cannot be true: if-running: adopt takes what reeve did not start, and "
			 "that is "
			 "never replaced\n"},
		{"recreate: true, plugin: p, type: task",
			"is for what runs on: a task is there when it has ended\n"},
		{"recreate: true, plugin: q",
			"cannot be true: only the confirm hook of a plugin can tell that it is "
			"lost, and "
			"plugin q has none\n"},
		{"recreate: true",
			"cannot be true: only the confirm hook of a plugin can tell that it is "
			"lost, and "
			"plugin exec has none\n"}};
	struct given given = {.tables = tables, .table_count = COUNT(tables)};
	uint64_t digest, tuning;
	struct got g;

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		char yaml[400], complaint[400];

		snprintf(yaml, sizeof(yaml), "services: {a: {command: x, %s}}\n", t[i].keys);
		snprintf(complaint, sizeof(complaint), "t.yaml:1:38: recreate of service 'a' %s",
			t[i].complaint);
		given.yaml = yaml;
		refuse_given(given, complaint);
	}
	refuse("services: {a: {command: x, recreate: \"yes\"}}\n",
		"t.yaml:1:38: recreate of service 'a' must be true or false (without quotes), not "
		"\"yes\"\n");
	given.yaml = "services: {a: {command: x, plugin: p}}\n";
	g = accept_given(given);
	assert_false(node(&g, "a")->recreate);
	digest = node(&g, "a")->digest;
	tuning = node(&g, "a")->tuning;
	put_away(&g);
	given.yaml = "services: {a: {command: x, plugin: p, recreate: true}}\n";
	g = accept_given(given);
	assert_true(node(&g, "a")->recreate);
	assert_true(node(&g, "a")->digest == digest && node(&g, "a")->tuning != tuning);
	put_away(&g);
	given.yaml = "services: {a: {command: x, recreate: false}}\n";
	g = accept_given(given);
	put_away(&g);
	given.yaml =
		"services: {a: {command: x, plugin: p, recreate: true, listen: [{name: l, tcp: "
		"\"127.0.0.1:81\"}], health: {tcp: 81}}}\n";
	g = accept_given(given);
	assert_non_null(strstr(rv_buf_text(&g.c.text),
		"t.yaml:1:105: warning: service 'a' is not restarted for bad health: with recreate "
		"only "));
	put_away(&g);
	given.yaml =
		"services: {a: {command: x, plugin: p, recreate: true, listen: [{name: l, tcp: "
		"\"127.0.0.1:81\"}], health: {tcp: 81, on-failure: none}}}\n";
	g = accept_given(given);
	assert_string_equal(rv_buf_text(&g.c.text), "");
	put_away(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_is_that_of_the_file_where_it_is_free),
		cmocka_unit_test(a_plan_has_both_directions_of_every_edge),
		cmocka_unit_test(a_service_named_in_two_lists_counts_with_the_stronger),
		cmocka_unit_test(part_of_adds_to_an_edge_or_is_one),
		cmocka_unit_test(part_of_names_services_and_makes_no_cycle),
		cmocka_unit_test(dependencies_must_be_services_and_words),
		cmocka_unit_test(cycles_are_named_in_order_with_their_lines),
		cmocka_unit_test(each_cycle_is_told_once),
		cmocka_unit_test(a_chain_of_2000_is_checked_quickly),
		cmocka_unit_test(exit_from_names_a_service_that_does_not_restart),
		cmocka_unit_test(the_shutdown_has_time_for_the_longest_path),
		cmocka_unit_test(a_shutdown_that_may_take_for_ever_has_an_end_all_the_same),
		cmocka_unit_test(an_essential_service_that_needs_another_kind_is_warned_about),
		cmocka_unit_test(a_check_that_a_task_has_is_warned_about),
		cmocka_unit_test(gates_that_add_up_to_more_than_the_window_are_warned_about_once),
		cmocka_unit_test(attempts_and_their_delays_are_part_of_the_sum),
		cmocka_unit_test(only_the_longest_way_that_the_boot_takes_counts),
		cmocka_unit_test(a_way_is_named_by_those_that_take_its_time),
		cmocka_unit_test(a_boot_that_may_outlast_the_window_is_warned_about),
		cmocka_unit_test(clashing_ports_are_told_with_both_places),
		cmocka_unit_test(who_adopts_needs_a_port_and_a_proof),
		cmocka_unit_test(recreate_is_for_what_is_ours_and_can_be_confirmed),
		cmocka_unit_test(one_port_on_two_addresses_is_no_clash),
		cmocka_unit_test(a_recipe_gives_what_no_command_gives),
		cmocka_unit_test(a_recipe_may_be_a_launcher_unless_the_file_says_otherwise),
		cmocka_unit_test(the_end_alone_may_be_what_is_asked_of_tasks_and_launchers),
		cmocka_unit_test(main_pid_is_for_launchers_only),
		cmocka_unit_test(plugins_see_environment_and_ports_before_they_give_recipes),
		cmocka_unit_test(ready_replaces_the_probe_of_the_plugin),
		cmocka_unit_test(a_recipe_that_is_known_at_start_only_is_no_mistake),
		cmocka_unit_test(a_recipe_can_be_wrong),
		cmocka_unit_test(the_effective_port_of_a_plugin_may_be_its_own_listener),
		cmocka_unit_test(the_log_path_of_a_recipe_wins),
		cmocka_unit_test(slots_are_kept_over_reloads),
		cmocka_unit_test(what_belongs_to_reeve_itself_stays_over_reloads),
		cmocka_unit_test(spelling_does_not_change_a_digest),
		cmocka_unit_test(a_change_shows_in_the_digest_that_it_belongs_to),
		cmocka_unit_test(the_command_of_the_command_line_becomes_main),
		cmocka_unit_test(the_name_main_is_taken_by_the_command),
		cmocka_unit_test(the_command_needs_no_file_but_hides_no_mistake),
		cmocka_unit_test(without_any_file_the_command_is_all_there_is),
		cmocka_unit_test(a_cycle_through_the_command_is_told),
		cmocka_unit_test(the_plan_hides_a_secret_wherever_it_turns_up),
		cmocka_unit_test(the_plan_reads_like_this),
	};

	return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
