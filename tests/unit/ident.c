/* Users and groups: names, numbers, and what must never happen silently. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/ident.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct rv_arena arena;

static struct rv_account must(const char *user, const char *group, const char *const *groups)
{
	struct rv_account a;
	struct rv_err e = {0};

	if (!rv_ident_resolve(user, group, groups, &arena, &a, &e))
		fail_msg("%s", e.text);
	return a;
}

static void must_not(const char *user, const char *group, const char *const *groups,
	enum rv_code code, const char *text)
{
	struct rv_account a;
	struct rv_err e = {0};

	assert_false(rv_ident_resolve(user, group, groups, &arena, &a, &e));
	assert_string_equal(e.text, text);
	assert_int_equal(e.code, code);
}

static void need_root(void)
{
	if (geteuid())
		skip();
}

static void nothing_asked_is_nothing_changed(void **state)
{
	struct rv_account a = must(NULL, NULL, NULL);

	(void)state;
	assert_false(a.who.set_uid || a.who.set_gid || a.who.set_groups);
	assert_null(a.name);
}

static void a_name_brings_its_group_groups_home_and_shell(void **state)
{
	const struct passwd *p;
	struct rv_account a;
	gid_t groups[64];
	int n = 64;

	(void)state;
	need_root();
	a = must("nobody", NULL, NULL);
	p = getpwnam("nobody");
	assert_true(a.who.set_uid && a.who.set_gid && a.who.set_groups);
	assert_int_equal(a.who.uid, p->pw_uid);
	assert_int_equal(a.who.gid, p->pw_gid);
	assert_string_equal(a.name, "nobody");
	assert_string_equal(a.home, p->pw_dir);
	assert_string_equal(a.shell, p->pw_shell);
	getgrouplist("nobody", p->pw_gid, groups, &n);
	assert_int_equal(a.who.group_count, n);
	assert_memory_equal(a.who.groups, groups, (size_t)n * sizeof(gid_t));
}

static void the_number_of_a_known_user_is_that_user(void **state)
{
	struct rv_account a;
	char number[16];

	(void)state;
	need_root();
	snprintf(number, sizeof(number), "%u", (unsigned)getpwnam("nobody")->pw_uid);
	a = must(number, NULL, NULL);
	assert_string_equal(a.name, "nobody");
	assert_int_equal(a.who.gid, getpwnam("nobody")->pw_gid);
}

static void a_number_without_entry_has_no_groups_and_not_group_root(void **state)
{
	struct rv_account a;

	(void)state;
	need_root();
	a = must("471147", NULL, NULL);
	assert_int_equal(a.who.uid, 471147);
	assert_int_equal(a.who.gid, 471147);
	assert_true(a.who.set_uid && a.who.set_gid && a.who.set_groups);
	assert_int_equal(a.who.group_count, 0);
	assert_null(a.name);
	assert_null(a.home);
}

static void a_given_group_replaces_the_main_one(void **state)
{
	struct rv_account a;

	(void)state;
	need_root();
	a = must("nobody", "daemon", NULL);
	assert_int_equal(a.who.gid, getgrnam("daemon")->gr_gid);
	for (size_t i = 0; i < a.who.group_count; i++)
		assert_int_not_equal(a.who.groups[i], 0);
	a = must("471147", "4712", NULL);
	assert_int_equal(a.who.gid, 4712);
}

static void given_groups_replace_those_of_the_database(void **state)
{
	struct rv_account a;

	(void)state;
	need_root();
	a = must("nobody", NULL, LIST("daemon", "4713"));
	assert_int_equal(a.who.group_count, 2);
	assert_int_equal(a.who.groups[0], getgrnam("daemon")->gr_gid);
	assert_int_equal(a.who.groups[1], 4713);
	a = must("nobody", NULL, (const char *const[]){NULL});
	assert_true(a.who.set_groups);
	assert_int_equal(a.who.group_count, 0);
}

static void unknown_names_are_refused_by_name(void **state)
{
	(void)state;
	must_not("no-such-user", NULL, NULL, RV_ERR_CONFIG,
		"cannot find user no-such-user: there is no such user");
	must_not(NULL, "no-such-group", NULL, RV_ERR_CONFIG,
		"cannot find group no-such-group: there is no such group");
	must_not(NULL, NULL, LIST("no-such-group"), RV_ERR_CONFIG,
		"cannot find group no-such-group: there is no such group");
}

/* (uid_t)-1 would mean "leave it as it is", and a wrapped number root. */
static void numbers_that_are_no_ids_are_refused(void **state)
{
	static const char *const bad[] = {
		"4294967295", "4294967296", "-1", "-4294967296", "+5", "", "1x"};
	struct rv_account a;
	struct rv_err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_false(rv_ident_resolve(bad[i], NULL, NULL, &arena, &a, &e));
		assert_false(rv_ident_resolve(NULL, bad[i], NULL, &arena, &a, &e));
	}
}

static void ordinary(void)
{
	char own[16], text[200];

	snprintf(own, sizeof(own), "%u", (unsigned)geteuid());
	assert_false(must(own, NULL, NULL).who.set_uid);
	assert_false(must(own, NULL, NULL).who.set_groups);
	snprintf(text, sizeof(text),
		"cannot become user root: reeve runs as user %s, and only root may change users",
		own);
	must_not("root", NULL, NULL, RV_ERR_DENIED, text);
	must_not(NULL, "root", NULL, RV_ERR_DENIED,
		"cannot become group root: reeve does not run as root");
	must_not(NULL, NULL, LIST("root"), RV_ERR_DENIED,
		"cannot set groups: reeve does not run as root");
}

static void without_root_only_our_own_name_works(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid()) {
		if (getegid())
			ordinary();
		return;
	}
	pid = fork();
	if (!pid) {
		if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
			_exit(99);
		ordinary();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void an_owner_is_found_or_left(void **state)
{
	struct rv_err e = {0};
	uid_t uid;
	gid_t gid;

	(void)state;
	assert_true(rv_ident_owner(NULL, NULL, &uid, &gid, &e));
	assert_int_equal(uid, (uid_t)-1);
	assert_int_equal(gid, (gid_t)-1);
	assert_true(rv_ident_owner("root", "4711", &uid, &gid, &e));
	assert_int_equal(uid, 0);
	assert_int_equal(gid, 4711);
	assert_false(rv_ident_owner("no-such-user", NULL, &uid, &gid, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_asked_is_nothing_changed),
		cmocka_unit_test(a_name_brings_its_group_groups_home_and_shell),
		cmocka_unit_test(the_number_of_a_known_user_is_that_user),
		cmocka_unit_test(a_number_without_entry_has_no_groups_and_not_group_root),
		cmocka_unit_test(a_given_group_replaces_the_main_one),
		cmocka_unit_test(given_groups_replace_those_of_the_database),
		cmocka_unit_test(unknown_names_are_refused_by_name),
		cmocka_unit_test(numbers_that_are_no_ids_are_refused),
		cmocka_unit_test(without_root_only_our_own_name_works),
		cmocka_unit_test(an_owner_is_found_or_left),
	};
	int failed = cmocka_run_group_tests_name("ident", tests, NULL, NULL);

	rv_arena_fini(&arena);
	return failed;
}
