/* The hook check of the plugins, over values: what it would run, and what it makes of what came back. What the scripts find
 * is shown by tests/e2e/test_check.py and tests/stack/test_check.py. */
#include <sys/stat.h>
#include <unistd.h>

#include "stage.h"

static char folder[] = "/tmp/reeve-inspect-XXXXXX";

static void fresh_turn(uint32_t step)
{
	stage_turn();
	s.t.step = step;
	s.t.run = (struct reeve_run){.error = "", .output = "", .status = -1};
}

static void use(const char *name)
{
	stage_use(name);
	assert_non_null(s.plugin->ops->check);
	s.t.left_ns = INT64_C(60000000000);
}

static enum reeve_next check(void)
{
	return s.plugin->ops->check(NULL, &s.t);
}

/* What the first turn wants to run; the script among its words is shown as SCRIPT. */
static const char *runs(void)
{
	static char line[4096];
	size_t n = 0;

	fresh_turn(0);
	assert_int_equal(check(), REEVE_RUN);
	assert_false(s.t.arena_full);
	line[0] = 0;
	for (size_t i = 0; s.t.run.argv[i]; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s[%s]", i ? " " : "",
			strchr(s.t.run.argv[i], '\n') ? "SCRIPT" : s.t.run.argv[i]);
	return line;
}

static enum reeve_next ran(int status, const char *error, const char *output)
{
	fresh_turn(1);
	s.t.run = (struct reeve_run){
		.error = error, .status = status, .output = output, .output_len = strlen(output)};
	return check();
}

static void findings_are_lines_and_the_status_says_how_bad_they_are(void **state)
{
	static const struct {
		int status;
		const char *error, *output;
		enum reeve_next verdict;
		const char *why;
	} cases[] = {
		{0, "", "", REEVE_OK, ""},
		{0, "", "noise\n", REEVE_OK, ""},
		{0, "", "\nreeve: odd\nnoise", REEVE_OK, "odd"},
		{3, "", "noise\nreeve: one\nreeve: warning: two\n", REEVE_FAIL,
			"one\nwarning: two"},
		{3, "", "no finding\n", REEVE_FAIL,
			"/usr/bin/envd -version ended with status 3; its last line: no finding"},
		{2, "", "usage\n\n", REEVE_FAIL,
			"/usr/bin/envd -version ended with status 2; its last line: usage"},
		{256 + 11, "", "", REEVE_FAIL, "/usr/bin/envd -version was killed by signal 11"},
		{-1, "did not end within 20s", "", REEVE_FAIL,
			"/usr/bin/envd -version: did not end within 20s"},
	};

	(void)state;
	use("envd");
	assert_string_equal(runs(), "[/usr/bin/envd] [-version]");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			ran(cases[i].status, cases[i].error, cases[i].output), cases[i].verdict);
		assert_string_equal(s.t.why ? s.t.why : "", cases[i].why);
	}
}

static void a_last_line_without_end_is_cut(void **state)
{
	static char output[5000];

	(void)state;
	use("envd");
	memset(output, 'x', sizeof(output) - 1);
	assert_int_equal(ran(1, "", output), REEVE_FAIL);
	assert_int_equal(strlen(strrchr(s.t.why, ' ') + 1), 300);
}

static void another_program_in_place_of_envd_is_not_run(void **state)
{
	static const char *const command[] = {"/opt/wrapper", "x", NULL};

	(void)state;
	use("envd");
	s.t.command = command;
	fresh_turn(0);
	assert_int_equal(check(), REEVE_OK);
}

static void the_interpreter_imports_what_it_will_serve(void **state)
{
	static const char *const jupyter[] = {"/usr/bin/jupyter", "server", NULL};
	static const struct reeve_peer peers[] = {
		{"e", "envd", jupyter}, {"j", "jupyter", jupyter}, {"k", "jupyter", NULL}};

	(void)state;
	use("interpreter");
	assert_string_equal(runs(), "[/usr/bin/python3] [-B] [-c] [SCRIPT] [main:app] [] []");
	with("app", "server:make");
	with("app-dir", "/srv");
	with("python", "python3.11");
	s.t.peers = peers;
	s.t.peer_count = 3;
	assert_string_equal(runs(),
		"[python3.11] [-B] [-c] [SCRIPT] [server:make] [/srv] [1] [j] [/usr/bin/jupyter]");
	assert_int_equal(s.t.run.timeout_ns, s.t.left_ns);
}

static void the_interpreter_reads_a_command_that_replaces_its_own(void **state)
{
	static const char *const uvicorn[] = {
		"/venv/bin/python", "-m", "uvicorn", "--app-dir=/a", "m.n:app", "--fd", "3", NULL};
	static const char *const other[] = {"/usr/bin/gunicorn", "m:app", NULL};
	static const char *const no_app[] = {"/usr/bin/python3", "-m", "uvicorn", "/x:y", NULL};

	(void)state;
	use("interpreter");
	s.t.command = uvicorn;
	assert_string_equal(runs(), "[/venv/bin/python] [-B] [-c] [SCRIPT] [m.n:app] [/a] []");
	s.t.command = other;
	fresh_turn(0);
	assert_int_equal(check(), REEVE_RETRY);
	assert_non_null(strstr(s.t.why, "was not imported"));
	s.t.command = no_app;
	fresh_turn(0);
	assert_int_equal(check(), REEVE_RETRY);
}

static const char *write_script(const char *text)
{
	static char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/jupyter", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(path, 0755);
	return path;
}

/* By its first line, as the kernel would; or by the second, where installers put a long path. */
static void jupyters_python_is_found_by_the_head_of_its_command(void **state)
{
	static const struct {
		const char *text, *python, *sought;
	} cases[] = {
		{"#!/usr/bin/python3\nx", "/usr/bin/python3", ""},
		{"#! /opt/my/bin/python3.11 -s\nx", "/opt/my/bin/python3.11", ""},
		{"#!/usr/bin/env python3\r\nx", "python3", "1"},
		{"#!/bin/sh\n'''exec' \"/a long/bin/python\" \"$0\" \"$@\"\n", "/a long/bin/python",
			""},
		{"#!/bin/sh\n'''exec' /long/bin/python \"$0\" \"$@\"\n", "/long/bin/python", ""},
	};
	char want[300];

	(void)state;
	use("jupyter");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		with("bin", write_script(cases[i].text));
		snprintf(want, sizeof(want),
			"[%s] [-B] [-c] [SCRIPT] [%s/jupyter] [/home/user] [%s]", cases[i].python,
			folder, cases[i].sought);
		assert_string_equal(runs(), want);
	}
}

static void a_bare_jupyter_is_sought_in_the_services_path(void **state)
{
	static char path[200];
	const char *env[] = {"PATH_OF=x", path, NULL};

	(void)state;
	use("jupyter");
	write_script("#!/usr/bin/python3\n");
	snprintf(path, sizeof(path), "PATH=/nowhere:%s", folder);
	s.t.env = env;
	with("bin", "jupyter");
	assert_string_equal(
		runs(), "[/usr/bin/python3] [-B] [-c] [SCRIPT] [jupyter] [/home/user] []");
}

static void a_jupyter_that_names_no_python_is_asked_itself(void **state)
{
	static const char *const heads[] = {"#!/bin/bash\nexec x\n", "\177ELF", "",
		"#!/usr/bin/ruby\n", "#!/usr/bin/env ruby\n", "#!no end of line"};
	char want[200];

	(void)state;
	use("jupyter");
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		with("bin", write_script(heads[i]));
		snprintf(want, sizeof(want), "[%s/jupyter] [server] [--version]", folder);
		assert_string_equal(runs(), want);
		assert_int_equal(ran(0, "", "1.23\n"), REEVE_RETRY);
		assert_non_null(strstr(s.t.why, "its kernelspecs were not looked at"));
		assert_int_equal(ran(1, "", "no such command\n"), REEVE_FAIL);
	}
	with("bin", "/nonexistent/jupyter");
	assert_string_equal(runs(), "[/nonexistent/jupyter] [server] [--version]");
}

static void jupyters_own_command_is_read_for_its_python_and_folder(void **state)
{
	static const char *const python[] = {
		"python3", "-m", "jupyter_server", "--ServerApp.root_dir=/work", NULL};
	static const char *const other[] = {"/bin/true", NULL};

	(void)state;
	use("jupyter");
	s.t.command = python;
	assert_string_equal(runs(), "[python3] [-B] [-c] [SCRIPT] [python3] [/work] [1]");
	s.t.command = other;
	fresh_turn(0);
	assert_int_equal(check(), REEVE_RETRY);
	assert_non_null(strstr(s.t.why, "names no python"));
}

static void what_a_gateways_command_names_is_looked_for(void **state)
{
	static const char *const command[] = {"node", "/m/proxy.mjs", "--port=50005", "x.js", "--",
		"npx", "/m/server.js", "--", "python3", "/m/s.py", NULL};
	static const char *const plain[] = {"gateway", NULL};

	(void)state;
	use("mcp-gateway");
	s.t.command = command;
	assert_string_equal(runs(),
		"[/bin/sh] [-c] [SCRIPT] [sh] [python3] [/m/proxy.mjs] [/m/server.js] [/m/s.py]");
	s.t.command = plain;
	assert_string_equal(runs(), "[/bin/sh] [-c] [SCRIPT] [sh] []");
	assert_int_equal(ran(3, "", "reeve: cannot read /m/s.py\n"), REEVE_FAIL);
	assert_int_equal(ran(-1, "cannot execute /bin/sh: No such file", ""), REEVE_RETRY);
	assert_non_null(strstr(s.t.why, "was not looked at: cannot execute /bin/sh"));
}

static int enter(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int leave(void **state)
{
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/jupyter", folder);
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(findings_are_lines_and_the_status_says_how_bad_they_are),
		cmocka_unit_test(a_last_line_without_end_is_cut),
		cmocka_unit_test(another_program_in_place_of_envd_is_not_run),
		cmocka_unit_test(the_interpreter_imports_what_it_will_serve),
		cmocka_unit_test(the_interpreter_reads_a_command_that_replaces_its_own),
		cmocka_unit_test(jupyters_python_is_found_by_the_head_of_its_command),
		cmocka_unit_test(a_bare_jupyter_is_sought_in_the_services_path),
		cmocka_unit_test(a_jupyter_that_names_no_python_is_asked_itself),
		cmocka_unit_test(jupyters_own_command_is_read_for_its_python_and_folder),
		cmocka_unit_test(what_a_gateways_command_names_is_looked_for),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
