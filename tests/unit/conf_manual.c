/* reeve.yaml(5) and the tables of keys name the same keys, both ways. */
#include "conf_help.h"

#include "conf/schema.h"

enum { MOST = 300 };

struct keys {
	char *name[MOST];
	size_t count;
};

static void add_key(struct keys *k, const char *name, size_t n)
{
	assert_true(k->count < MOST);
	k->name[k->count++] = strndup(name, n);
}

static void forget(struct keys *k)
{
	for (size_t i = 0; i < k->count; i++)
		free(k->name[i]);
}

static size_t count_of(const struct keys *k, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < k->count; i++)
		n += !strcmp(k->name[i], name);
	return n;
}

/* ".It Ic restart.delay", ".It Ic user , group" */
static void read_manual(struct keys *k)
{
	const char *src = getenv("RV_SRC");
	char path[1000], line[1000];
	FILE *f;

	snprintf(path, sizeof(path), "%s/man/reeve.yaml.5", src ? src : ".");
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot read %s: set RV_SRC to the source folder", path);
	while (fgets(line, sizeof(line), f)) {
		char *p = line + strlen(".It Ic "), *word;

		if (strncmp(line, ".It Ic ", strlen(".It Ic ")) != 0)
			continue;
		while ((word = strtok_r(NULL, " ,\n", &p)))
			add_key(k, word, strlen(word));
	}
	fclose(f);
}

static void read_tables(struct keys *k)
{
	struct rv_buf b = {0};
	const char *p, *end;

	rv_schema_list(&b);
	for (p = rv_buf_text(&b); (end = strchr(p, '\n')); p = end + 1)
		add_key(k, p, (size_t)(end - p));
	rv_buf_fini(&b);
}

static void every_key_is_in_the_manual_and_no_other(void **state)
{
	struct keys manual = {0}, tables = {0};
	size_t wrong = 0;

	(void)state;
	read_manual(&manual);
	read_tables(&tables);
	assert_true(tables.count > 70);
	for (size_t i = 0; i < tables.count; i++) {
		if (count_of(&manual, tables.name[i]) == count_of(&tables, tables.name[i]))
			continue;
		print_error("the manual lacks %s\n", tables.name[i]);
		wrong++;
	}
	for (size_t i = 0; i < manual.count; i++) {
		if (count_of(&tables, manual.name[i]))
			continue;
		print_error("no table has %s\n", manual.name[i]);
		wrong++;
	}
	assert_int_equal(wrong, 0);
	forget(&manual);
	forget(&tables);
}

/* The example of the manual, and one that has every map. */
static void the_example_of_the_manual_is_accepted(void **state)
{
	struct got g = accept(
		"version: 1\n"
		"services:\n"
		"  db:\n"
		"    command: [/usr/bin/db, --port, \"5432\"]\n"
		"    ready: {tcp: 5432}\n"
		"  api:\n"
		"    command: /usr/bin/api --listen-fd ${listen.http.fd}\n"
		"    needs: [db]\n"
		"    listen: [{name: http, tcp: \"0.0.0.0:8080\"}]\n"
		"    ready: {http: {url: \"http://127.0.0.1:${listen.http.port}/health\"}}\n");

	(void)state;
	assert_list(service(&g, "api")->argv, "/usr/bin/api|--listen-fd|3|");
	assert_string_equal(service(&g, "api")->ready.http_url, "http://127.0.0.1:8080/health");
	put_away(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_in_the_manual_and_no_other),
		cmocka_unit_test(the_example_of_the_manual_is_accepted),
	};

	return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
