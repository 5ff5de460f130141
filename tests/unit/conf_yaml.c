/* Unit tests of src/conf: YAML bytes -> one located tree, layer over layer. */
#include "conf_help.h"

#include <time.h>

static void what_is_no_yaml_is_refused_with_its_place(void **state)
{
	(void)state;
	refuse("services:\n  a: {command: [x}\n",
		"t.yaml:2:18: not YAML: did not find expected ',' or ']', while parsing a flow "
		"sequence "
		"that began in line 2\n");
	refuse("services:\n\ta: 1\n",
		"t.yaml:2:1: not YAML: a tab cannot indent or separate: use blanks\n");
	refuse("services:\n  a: {command: x, environment: {H: ${env.HOME}}}\n",
		"t.yaml:2:37: not YAML: did not find expected ',' or '}', while parsing a flow "
		"mapping that began in line 2; between { } or [ ] a ${...} needs quotes\n");
	refuse("services: {a: {command: x}\n# no end\n",
		"t.yaml:3:1: not YAML: did not find expected ',' or '}', while parsing a flow "
		"mapping "
		"that began in line 1\n");
}

static void an_empty_file_or_a_list_is_no_configuration(void **state)
{
	(void)state;
	refuse("", "t.yaml:1:1: no services: there is nothing to do\n");
	refuse("# nothing\n", "t.yaml:1:1: no services: there is nothing to do\n");
	refuse("services:\na:\n  command: x\n",
		"t.yaml:2:1: unknown key 'a' (if this is a service, indent it: it belongs below "
		"'services:')\n");
	refuse("servises: {a: {command: x}}\n",
		"t.yaml:1:1: unknown key 'servises' (did you mean 'services'?)\n");
	refuse("- a\n", "t.yaml:1:1: a configuration is a map of keys such as 'services'\n");
	refuse("word\n", "t.yaml:1:1: a configuration is a map of keys such as 'services'\n");
}

static void a_missing_file_is_named(void **state)
{
	const char *const paths[] = {"nosuch.yaml", NULL};
	struct rv_complaints c = {0};

	(void)state;
	assert_null(rv_draft_read(paths, NULL, NULL, &c));
	assert_string_equal(
		rv_buf_text(&c.text), "cannot read nosuch.yaml: No such file or directory\n");
	rv_complaints_fini(&c);
}

static void assert_part(
	const struct rv_complaints *c, size_t start, size_t end, const char *expected)
{
	assert_int_equal(end - start, strlen(expected));
	assert_memory_equal(c->text.data + start, expected, end - start);
}

static void a_program_finds_the_parts_of_each_complaint(void **state)
{
	const struct rv_place at = {"a:b.yaml", 3, 14}, whole = {"c.yaml", 0, 0},
			      nowhere = {"", 0, 0};
	struct rv_complaints c = {0};

	(void)state;
	rv_complain(&c, at, "wrong: %s", "x\ny");
	rv_complain_softly(&c, whole, "odd");
	for (int i = 0; i < 40; i++)
		rv_complain(&c, nowhere, "lost");
	assert_int_equal(c.count, 42);
	assert_part(&c, c.list[0].start, c.list[0].start + c.list[0].file_len, "a:b.yaml");
	assert_part(&c, c.list[0].text, c.list[0].end, "wrong: x\\ny");
	assert_true(c.list[0].line == 3 && c.list[0].column == 14 && !c.list[0].warning);
	assert_part(&c, c.list[1].start, c.list[1].start + c.list[1].file_len, "c.yaml");
	assert_part(&c, c.list[1].text, c.list[1].end, "odd");
	assert_true(c.list[1].line == 0 && c.list[1].warning);
	assert_int_equal(c.list[41].file_len, 0);
	assert_part(&c, c.list[41].text, c.list[41].end, "lost");
	rv_complaints_fini(&c);
}

/* The daemon reads in its loop: nothing that a path names may hold it. */
static void only_regular_files_are_read_and_none_is_waited_for(void **state)
{
	const char *const paths[] = {"fifo.yaml", "/dev/null", "dir.yaml/sub.yaml", NULL};
	struct rv_complaints c = {0};

	(void)state;
	assert_int_equal(mkfifo("fifo.yaml", 0600), 0);
	alarm(60); /* the end of a test that waits for ever */
	assert_null(rv_draft_read(paths, NULL, NULL, &c));
	assert_string_equal(rv_buf_text(&c.text),
		"cannot read fifo.yaml: not a regular file\n"
		"cannot read /dev/null: not a regular file\n"
		"cannot read dir.yaml/sub.yaml: No such file or directory\n");
	refuse("services: {a: {command: x, environment-file: /dev/null}}\n",
		"t.yaml:1:46: environment-file of service 'a' cannot be read: /dev/null: not a "
		"regular file\n");
	alarm(0);
	rv_complaints_fini(&c);
}

static void a_key_written_twice_is_refused_with_both_places(void **state)
{
	(void)state;
	refuse("services:\n  a: {command: x}\n  b: {command: x}\n  a: {command: y}\n",
		"t.yaml:4:3: key 'a' is written twice (first at t.yaml:2:3)\n");
	refuse("services:\n  a:\n    command: x\n    user: u\n    command: y\n",
		"t.yaml:5:5: key 'command' is written twice (first at t.yaml:3:5)\n");
	refuse("services:\n  a:\n    command: x\n    environment: {A: 1, B: 2, \"A\": 3}\n",
		"t.yaml:4:31: key 'A' is written twice (first at t.yaml:4:19)\n");
	refuse("environment: {A: 1}\nservices: {a: {command: x}}\nenvironment: {B: 1}\n",
		"t.yaml:3:1: key 'environment' is written twice (first at t.yaml:1:1)\n");
}

static void a_double_key_is_found_among_many(void **state)
{
	struct rv_buf b = {0};

	(void)state;
	rv_buf_str(&b, "services:\n  a:\n    command: x\n    environment:\n");
	for (int i = 0; i < 3000; i++)
		rv_buf_fmt(&b, "      V%d: x\n", i);
	rv_buf_str(&b, "      V77: y\n");
	refuse(rv_buf_text(&b),
		"t.yaml:3005:7: key 'V77' is written twice (first at t.yaml:82:7)\n");
	rv_buf_fini(&b);
}

/* Own keys win wherever << stands, and nesting is replaced. */
static void own_keys_win_over_merged_ones(void **state)
{
	static const char *const spellings[] = {"{<<: *b, environment: {A: \"2\"}, command: y}",
		"{environment: {A: \"2\"}, command: y, <<: *b}"};
	char yaml[400];

	(void)state;
	for (size_t i = 0; i < COUNT(spellings); i++) {
		struct got g;

		snprintf(yaml, sizeof(yaml),
			"services:\n  base: &b {restart: always, command: x, environment: {A: 1, "
			"B: 1}}\n"
			"  s: %s\n",
			spellings[i]);
		g = accept(yaml);
		assert_variable(service(&g, "s"), "A", "2");
		assert_null(variable(service(&g, "s"), "B"));
		assert_int_equal(node(&g, "s")->restart_on, RV_RESTART_ALWAYS);
		assert_list(service(&g, "s")->argv, "y|");
		assert_variable(service(&g, "base"), "A", "1");
		put_away(&g);
	}
}

static void of_merged_maps_the_earlier_wins(void **state)
{
	struct got g = accept("services:\n"
			      "  x: &x {command: x, user: ux}\n"
			      "  y: &y {command: y, user: uy, group: gy}\n"
			      "  s: {<<: [*x, *y]}\n");

	(void)state;
	assert_list(service(&g, "s")->argv, "x|");
	assert_string_equal(service(&g, "s")->user, "ux");
	assert_string_equal(service(&g, "s")->group, "gy");
	put_away(&g);
}

static void a_merge_of_a_merge_brings_all(void **state)
{
	struct got g = accept("services:\n"
			      "  x: &x {command: x, user: ux}\n"
			      "  y: &y {<<: *x, group: gy}\n"
			      "  z: {<<: *y, user: uz}\n");

	(void)state;
	assert_list(service(&g, "z")->argv, "x|");
	assert_string_equal(service(&g, "z")->user, "uz");
	assert_string_equal(service(&g, "z")->group, "gy");
	put_away(&g);
}

static void what_is_merged_must_be_a_map(void **state)
{
	(void)state;
	refuse("services:\n  a: {command: x, <<: word}\n",
		"t.yaml:2:23: << must name a map or a list of maps\n");
	refuse("services:\n  a: {command: x, <<: [word]}\n",
		"t.yaml:2:23: << must name a map or a list of maps\n");
	refuse("services:\n  b: &b {command: x, user: u, group: g, umask: 022}\n  a: {<<: [*b, "
	       "word, *b]}\n",
		"t.yaml:3:11: << must name a map or a list of maps\n");
	refuse("services:\n  a: {command: x, \"<<\": {user: u}}\n",
		"t.yaml:2:19: unknown key '<<' in service 'a'\n");
}

static void aliases_stand_for_scalars_lists_and_maps(void **state)
{
	struct got g = accept("services:\n"
			      "  a: {command: &c [x, &w word], environment: &e {A: *w}}\n"
			      "  b: {command: *c, environment: *e, user: *w}\n");

	(void)state;
	assert_list(service(&g, "b")->argv, "x|word|");
	assert_variable(service(&g, "b"), "A", "word");
	assert_string_equal(service(&g, "b")->user, "word");
	put_away(&g);
}

static void the_latest_anchor_of_a_name_counts(void **state)
{
	struct rv_buf b = {0};
	struct got g;

	(void)state;
	rv_buf_str(&b, "services:\n");
	for (int i = 0; i < 300; i++)
		rv_buf_fmt(&b, "  s%d: {command: [&a w%d, *a, &b%d z, *b%d]}\n", i, i, i, i / 2);
	g = accept(rv_buf_text(&b));
	assert_list(service(&g, "s299")->argv, "w299|w299|z|z|");
	put_away(&g);
	rv_buf_fini(&b);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void growing_and_self_referring_aliases_are_refused_quickly(void **state)
{
	struct rv_buf b = {0};
	double start = seconds();

	(void)state;
	rv_buf_str(&b, "services: {a: {command: x}}\nx0: &x0 [w]\n");
	for (int i = 1; i <= 10; i++) {
		rv_buf_fmt(&b, "x%d: &x%d [", i, i);
		for (int k = 0; k < 10; k++)
			rv_buf_fmt(&b, "%s*x%d", k ? ", " : "", i - 1);
		rv_buf_str(&b, "]\n");
	}
	refuse(rv_buf_text(&b),
		"t.yaml:8:15: aliases grow too large when they are written out\n"
		"t.yaml:2:1: unknown key 'x0'\nt.yaml:3:1: unknown key 'x1'\n"
		"t.yaml:4:1: unknown key 'x2'\nt.yaml:5:1: unknown key 'x3'\n"
		"t.yaml:6:1: unknown key 'x4'\nt.yaml:7:1: unknown key 'x5'\n"
		"t.yaml:8:1: unknown key 'x6'\n");
	refuse("services: {a: {command: x, environment: &a {X: *a}}}\n",
		"t.yaml:1:48: *a refers to itself\n");
	refuse("services: &a [*a]\n",
		"t.yaml:1:15: *a refers to itself\n"
		"t.yaml:1:11: services must be a map of services, not a list\n");
	assert_true(seconds() - start < 1);
	rv_buf_fini(&b);
}

static void unknown_anchors_and_second_documents_are_refused(void **state)
{
	(void)state;
	refuse("services: {a: {command: *nosuch}}\n",
		"t.yaml:1:25: unknown anchor: nothing is called &nosuch above\n"
		"t.yaml:1:25: command of service 'a' must be a command, not \"\"\n");
	refuse("services: {a: {command: x}}\n---\nservices: {b: {command: x}}\n",
		"t.yaml:2:1: a second document begins here; only one is read: remove '---'\n");
}

static void a_document_may_begin_and_end_with_marks(void **state)
{
	struct got g = accept("%YAML 1.2\n---\nservices: {a: {command: x}}\n...\n");

	(void)state;
	put_away(&g);
}

static void nesting_is_bounded(void **state)
{
	struct rv_buf b = {0};

	(void)state;
	rv_buf_str(&b, "services: ");
	for (int i = 0; i < 3000; i++)
		rv_buf_str(&b, "[");
	refuse(rv_buf_text(&b),
		"t.yaml:1:74: nested too deeply\n"
		"t.yaml:1:11: services must be a map of services, not a list\n");
	rv_buf_fini(&b);
}

static void aliases_do_not_get_around_the_bound_of_nesting(void **state)
{
	struct rv_buf b = {0};
	struct got g;

	(void)state;
	rv_buf_str(&b, "x0: &x0 [w]\n");
	for (int i = 1; i < 100; i++)
		rv_buf_fmt(&b, "x%d: &x%d [*x%d]\n", i, i, i - 1);
	g = read_given((struct given){.yaml = rv_buf_text(&b)});
	assert_null(g.conf);
	assert_non_null(strstr(rv_buf_text(&g.c.text), "t.yaml:65:6: nested too deeply\n"));
	put_away(&g);
	rv_buf_fini(&b);
}

static void keys_must_be_words_and_tags_must_be_known(void **state)
{
	(void)state;
	refuse("services: {a: {command: x, [b, c]: d}}\n",
		"t.yaml:1:28: a key must be a word, not a list\n");
	refuse("services: {a: {command: !!python/name:x x}}\n",
		"t.yaml:1:25: the tag tag:yaml.org,2002:python/name:x is not known here\n");
	refuse("services: !!set {a: {command: x}}\n",
		"t.yaml:1:11: the tag tag:yaml.org,2002:set is not known here\n");
	refuse("services: {a: {command: [\"a\\0b\"]}}\n",
		"t.yaml:1:26: a NUL byte cannot be part of a value\n");
}

static void a_string_tag_is_as_good_as_quotes(void **state)
{
	(void)state;
	refuse("services: {a: {command: x, essential: !!str true}}\n",
		"t.yaml:1:39: essential of service 'a' must be true or false (without quotes), not "
		"\"true\"\n");
}

static void bytes_that_are_no_utf8_are_refused(void **state)
{
	(void)state;
	refuse("services: {a: {command: \"\xff\xfe\"}}\n",
		"t.yaml:1:26: cannot read: invalid leading UTF-8 octet\n");
	refuse("a: 1\nb: \"\xc3\xa9\x01\"\n",
		"t.yaml:2:6: cannot read: control characters are not allowed\n");
}

/* --- layers ----------------------------------------------------------------------------------- */

static void a_later_file_changes_a_service_by_naming_it(void **state)
{
	struct got g = accept_given(
		(struct given){.yaml = "environment: {L: low, M: m}\n"
				       "services:\n"
				       "  a: {command: [x, y], environment: {A: 1, B: 1}, restart: "
				       "{limit: 9, on: always}}\n"
				       "  b: {command: x, needs: [a]}\n",
			.second = "environment: {L: high}\n"
				  "services:\n"
				  "  c: {command: c}\n"
				  "  a: {command: [z], environment: {B: 2}, restart: {limit: 3}}\n"
				  "  b: {needs: []}\n"});

	(void)state;
	assert_list(service(&g, "a")->argv, "z|");
	assert_variable(service(&g, "a"), "A", "1");
	assert_variable(service(&g, "a"), "B", "2");
	assert_variable(service(&g, "a"), "L", "high");
	assert_variable(service(&g, "a"), "M", "m");
	assert_int_equal(node(&g, "a")->limit, 3);
	assert_int_equal(node(&g, "a")->restart_on, RV_RESTART_ALWAYS);
	assert_int_equal(service(&g, "b")->dep_count, 0);
	assert_int_equal(node(&g, "c")->rank, 2);
	assert_list(g.conf->paths, "t.yaml|u.yaml|");
	put_away(&g);
}

static void override_replace_starts_afresh(void **state)
{
	struct got g = accept_given(
		(struct given){.yaml = "services:\n  a: {command: x, user: u, environment: {A: "
				       "1}}\n  b: {command: x}\n",
			.second = "services: {a: {override: replace, command: y}}\n"});

	(void)state;
	assert_list(service(&g, "a")->argv, "y|");
	assert_null(service(&g, "a")->user);
	assert_null(variable(service(&g, "a"), "A"));
	assert_int_equal(node(&g, "a")->rank, 0);
	put_away(&g);
	refuse("services: {a: {command: x, override: merge}}\n",
		"t.yaml:1:38: override of service 'a' must be replace, not merge\n");
}

static void a_mistake_in_a_layer_is_told_with_its_own_file(void **state)
{
	(void)state;
	refuse_given((struct given){.yaml = "services: {a: {command: x}}\n",
			     .second = "services:\n  a: {usr: u}\n"},
		"u.yaml:2:7: unknown key 'usr' in service 'a' (did you mean 'user'?)\n");
}

static void a_folder_is_read_in_the_order_of_names(void **state)
{
	const char *const paths[] = {"d", NULL};
	struct rv_complaints c = {0};
	struct rv_draft *d;
	struct rv_conf *conf;

	(void)state;
	assert_int_equal(mkdir("d", 0700), 0);
	write_file("d/20-b.yaml", "services: {a: {user: second}}\n");
	write_file("d/10-a.yaml", "services: {a: {user: first, command: x}}\n");
	write_file("d/30.yml", "not read\n");
	write_file("d/.40.yaml", "not read\n");
	d = rv_draft_read(paths, NULL, NULL, &c);
	assert_non_null(d);
	conf = rv_conf_build(d, NULL, 0, NULL, NULL, NULL, NULL, &c);
	rv_draft_destroy(d);
	assert_string_equal(rv_buf_text(&c.text),
		"d/30.yml:1:1: warning: not read: of a folder only *.yaml files are; rename it\n");
	assert_list(conf->paths, "d/10-a.yaml|d/20-b.yaml|");
	assert_string_equal(rv_conf_find(conf, "a")->user, "second");
	rv_conf_destroy(conf);
	rv_complaints_fini(&c);
}

static void a_folder_without_files_is_no_configuration(void **state)
{
	const char *const paths[] = {"empty", NULL};
	struct rv_complaints c = {0};

	(void)state;
	assert_int_equal(mkdir("empty", 0700), 0);
	assert_null(rv_draft_read(paths, NULL, NULL, &c));
	assert_string_equal(rv_buf_text(&c.text), "cannot read empty: no *.yaml file in it\n");
	rv_complaints_fini(&c);
	c = (struct rv_complaints){0};
	write_file("empty/a.yml", "services: {a: {command: x}}\n");
	assert_null(rv_draft_read(paths, NULL, NULL, &c));
	assert_string_equal(rv_buf_text(&c.text),
		"empty/a.yml:1:1: warning: not read: of a folder only *.yaml files are; rename it\n"
		"cannot read empty: no *.yaml file in it\n");
	rv_complaints_fini(&c);
}

static void a_broken_file_does_not_hide_the_mistakes_of_the_other(void **state)
{
	(void)state;
	refuse_given((struct given){.yaml = "services: {a: {command: x, type: no, needs: [zz]}}\n",
			     .second = "services: {b: {command: x}\n"},
		"u.yaml:2:1: not YAML: did not find expected ',' or '}', while parsing a flow "
		"mapping "
		"that began in line 1\n"
		"t.yaml:1:34: type of service 'a' must be daemon, task or launcher, not no\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_yaml_is_refused_with_its_place),
		cmocka_unit_test(an_empty_file_or_a_list_is_no_configuration),
		cmocka_unit_test(a_missing_file_is_named),
		cmocka_unit_test(a_program_finds_the_parts_of_each_complaint),
		cmocka_unit_test(only_regular_files_are_read_and_none_is_waited_for),
		cmocka_unit_test(a_key_written_twice_is_refused_with_both_places),
		cmocka_unit_test(a_double_key_is_found_among_many),
		cmocka_unit_test(own_keys_win_over_merged_ones),
		cmocka_unit_test(of_merged_maps_the_earlier_wins),
		cmocka_unit_test(a_merge_of_a_merge_brings_all),
		cmocka_unit_test(what_is_merged_must_be_a_map),
		cmocka_unit_test(aliases_stand_for_scalars_lists_and_maps),
		cmocka_unit_test(the_latest_anchor_of_a_name_counts),
		cmocka_unit_test(growing_and_self_referring_aliases_are_refused_quickly),
		cmocka_unit_test(unknown_anchors_and_second_documents_are_refused),
		cmocka_unit_test(a_document_may_begin_and_end_with_marks),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(aliases_do_not_get_around_the_bound_of_nesting),
		cmocka_unit_test(keys_must_be_words_and_tags_must_be_known),
		cmocka_unit_test(a_string_tag_is_as_good_as_quotes),
		cmocka_unit_test(bytes_that_are_no_utf8_are_refused),
		cmocka_unit_test(a_later_file_changes_a_service_by_naming_it),
		cmocka_unit_test(override_replace_starts_afresh),
		cmocka_unit_test(a_mistake_in_a_layer_is_told_with_its_own_file),
		cmocka_unit_test(a_folder_is_read_in_the_order_of_names),
		cmocka_unit_test(a_folder_without_files_is_no_configuration),
		cmocka_unit_test(a_broken_file_does_not_hide_the_mistakes_of_the_other),
	};

	return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
