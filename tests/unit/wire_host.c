/* The host protocol: what is written is read, and nothing else is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/hostproto.h"

static const char *const words[] = {"python3", "-m", "", NULL};
static const uint16_t ports[] = {80, 49983};
static const struct rv_key keys[] = {
	{"port", RV_KEY_PORT, 1, 65535, "49983", "ENVD_PORT", "where it listens"},
	{"token", RV_KEY_SECRET, 0, 0, NULL, NULL, "who may ask"},
};
static const struct rv_hp_option options[] = {
	{.key = {.name = "args", .type = RV_KEY_WORDS},
		.from = 2,
		.set = true,
		.value = {"a\0b", 3}},
	{.key = {.name = "token", .type = RV_KEY_SECRET}},
};
static const struct rv_hp_listener listeners[] = {{"http", "0.0.0.0:80", 80, 3, true}};

static const struct rv_hp_peer peers[] = {{"db", "exec", words}, {"later", "good", NULL}};

#define PROCESS                                                                                \
	{                                                                                      \
		.argv = words, .env = words, .ports = ports, .port_count = 2, .type = 2,       \
		.main_pid = 77, .pid_file = "/run/x.pid", .main_port = 8080, .log_file = "/x", \
		.is_static = true, .unused = 5                                                 \
	}

static const struct rv_statuses statuses[] = {{200, 299}, {304, 304}};
static const struct rv_member members[] = {
	{"/a/b", RV_MEMBER_STRING, "ok"}, {"/c", RV_MEMBER_THERE, ""}};

static const struct rv_hp_msg samples[] = {
	{RV_HP_DESCRIBE, {.describe = {"/usr/lib/reeve/plugins", words}}},
	{RV_HP_TABLE, {.table = {1, "envd", "runs envd", "", 3, keys, 2}}},
	{RV_HP_INSTANCE,
		{.instance = {7, 9, true, true, "/d", "envd", "e", words, words, options, 2,
			 listeners, 1, ports, 2, peers, 2}}},
	{RV_HP_RECIPE, {.recipe = {7, 9, true, "no", PROCESS}}},
	{RV_HP_CALL,
		{.call = {1, 7, RV_HOOK_UPDATE, true, 3, 4711, 256 + 9, 2, 5, {"memo", 4}, words,
			 words}}},
	{RV_HP_MEMO_IS, {.memo = {1, 7, {"m\0m", 3}}}},
	{RV_HP_RUN, {.run = {1, 7, words, {"in", 2}, 8}}},
	{RV_HP_RAN, {.ran = {1, 7, "", 3, true, {"out", 3}}}},
	{RV_HP_ANSWER, {.answer = {1, 7, RV_FAIL, "because", "http://127.0.0.1:1/", 502, PROCESS}}},
	{RV_HP_GET,
		{.get = {1, RV_HP_GET_BIT, "/d",
			 {"http://127.0.0.1/", "POST", words, "sent", 7, {statuses, 2},
				 {statuses, 1}, {0}, "", members, 2, "^x$", true},
			 9}}},
	{RV_HP_CANCEL, {.cancel = {1, 7}}},
};
enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

static enum rv_hp_got decode_once(
	const void *bytes, size_t n, struct rv_hp_msg *m, struct rv_arena *a)
{
	/* Exactly as much memory as there are bytes, so that a sanitizer sees one too many. */
	char *exact = malloc(n ? n : 1);
	enum rv_hp_got got;
	size_t used;

	memcpy(exact, bytes, n);
	got = rv_hp_decode(exact, n, a, m, &used);
	assert_true(got == RV_HP_OK ? used > 0 && used <= n : used == 0);
	free(exact);
	return got;
}

static void every_message_comes_back_as_it_was(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLES; i++) {
		struct rv_buf once = {0}, again = {0};
		struct rv_arena a = {0};
		struct rv_hp_msg m;

		assert_true(rv_hp_encode(&samples[i], &once));
		assert_int_equal(decode_once(once.data, once.len, &m, &a), RV_HP_OK);
		assert_true(rv_hp_encode(&m, &again));
		assert_int_equal(once.len, again.len);
		assert_memory_equal(once.data, again.data, once.len);
		rv_arena_fini(&a);
		rv_buf_fini(&once);
		rv_buf_fini(&again);
	}
}

static void an_instance_keeps_every_field(void **state)
{
	struct rv_buf b = {0};
	struct rv_arena a = {0};
	struct rv_hp_msg m;
	const struct rv_hp_instance *i = &m.u.instance;

	(void)state;
	assert_true(rv_hp_encode(&samples[2], &b));
	assert_int_equal(decode_once(b.data, b.len, &m, &a), RV_HP_OK);
	assert_int_equal(i->id, 7);
	assert_string_equal(i->command[1], "-m");
	assert_string_equal(i->command[2], "");
	assert_null(i->command[3]);
	assert_int_equal(i->option_count, 2);
	assert_int_equal(i->options[0].value.n, 3);
	assert_memory_equal(i->options[0].value.p, "a\0b\0", 4);
	assert_true(i->options[0].set);
	assert_false(i->options[1].set);
	assert_int_equal(i->listeners[0].fd, 3);
	assert_int_equal(i->ports[1], 49983);
	assert_int_equal(i->peer_count, 2);
	assert_string_equal(i->peers[0].plugin, "exec");
	assert_string_equal(i->peers[0].argv[1], "-m");
	assert_null(i->peers[1].argv);
	rv_arena_fini(&a);
	rv_buf_fini(&b);
}

static void an_absent_default_is_not_an_empty_one(void **state)
{
	struct rv_buf b = {0};
	struct rv_arena a = {0};
	struct rv_hp_msg m;

	(void)state;
	assert_true(rv_hp_encode(&samples[1], &b));
	assert_int_equal(decode_once(b.data, b.len, &m, &a), RV_HP_OK);
	assert_string_equal(m.u.table.keys[0].preset, "49983");
	assert_null(m.u.table.keys[1].preset);
	assert_null(m.u.table.keys[1].env);
	rv_arena_fini(&a);
	rv_buf_fini(&b);
}

static void a_frame_cut_anywhere_is_not_whole_yet(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLES; i++) {
		struct rv_buf b = {0};

		assert_true(rv_hp_encode(&samples[i], &b));
		for (size_t n = 0; n < b.len; n++) {
			struct rv_arena a = {0};
			struct rv_hp_msg m;

			assert_int_equal(decode_once(b.data, n, &m, &a), RV_HP_MORE);
			rv_arena_fini(&a);
		}
		rv_buf_fini(&b);
	}
}

static void a_frame_that_ends_too_early_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLES; i++) {
		struct rv_buf b = {0};
		uint32_t whole;

		assert_true(rv_hp_encode(&samples[i], &b));
		memcpy(&whole, b.data, sizeof(whole));
		for (uint32_t n = 1; n < whole; n++) {
			struct rv_arena a = {0};
			struct rv_hp_msg m;

			memcpy(b.data, &n, sizeof(n));
			assert_int_equal(decode_once(b.data, n + 4, &m, &a), RV_HP_BAD);
			rv_arena_fini(&a);
		}
		rv_buf_fini(&b);
	}
}

static void a_frame_with_something_behind_its_fields_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLES; i++) {
		struct rv_buf b = {0};
		struct rv_arena a = {0};
		struct rv_hp_msg m;
		uint32_t n;

		assert_true(rv_hp_encode(&samples[i], &b));
		assert_true(rv_buf_add(&b, "", 1));
		n = (uint32_t)b.len - 4;
		memcpy(b.data, &n, sizeof(n));
		assert_int_equal(decode_once(b.data, b.len, &m, &a), RV_HP_BAD);
		rv_arena_fini(&a);
		rv_buf_fini(&b);
	}
}

static void a_length_of_nothing_or_of_too_much_is_refused_before_it_arrives(void **state)
{
	const uint32_t bad[] = {0, RV_HP_MAX + 1, UINT32_MAX};
	struct rv_arena a = {0};
	struct rv_hp_msg m;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(decode_once(&bad[i], 4, &m, &a), RV_HP_BAD);
	rv_arena_fini(&a);
}

static void a_word_with_a_nul_inside_is_refused(void **state)
{
	struct rv_buf b = {0};
	struct rv_arena a = {0};
	struct rv_hp_msg m;
	char *url;

	(void)state;
	assert_true(rv_hp_encode(&samples[9], &b));
	url = memmem(b.data, b.len, "127", 3);
	assert_non_null(url);
	*url = 0;
	assert_int_equal(decode_once(b.data, b.len, &m, &a), RV_HP_BAD);
	rv_arena_fini(&a);
	rv_buf_fini(&b);
}

static void what_is_too_large_is_not_written_at_all(void **state)
{
	struct rv_buf b = {0};
	char *big = calloc(1, RV_HP_MAX + 1);
	struct rv_hp_msg m = {RV_HP_CALL, {.call = {.memo = {big, RV_HP_MEMO + 1}}}};

	(void)state;
	rv_buf_str(&b, "x");
	assert_false(rv_hp_encode(&m, &b));
	m.u.call.memo.n = RV_HP_MEMO;
	assert_true(rv_hp_encode(&m, &b));
	b.len = 1;
	memset(big, 'a', RV_HP_MAX);
	m = (struct rv_hp_msg){RV_HP_GET, {.get = {.want = {.url = big}}}};
	assert_false(rv_hp_encode(&m, &b));
	assert_int_equal(b.len, 1);
	free(big);
	rv_buf_fini(&b);
}

/* Whole frames with one byte changed: refused, or read within their bounds; never worse. */
static void changed_bytes_do_no_harm(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (size_t i = 0; i < SAMPLES; i++) {
		struct rv_buf b = {0};

		assert_true(rv_hp_encode(&samples[i], &b));
		for (int round = 0; round < 2000; round++) {
			struct rv_arena a = {.max = 64 << 20};
			struct rv_hp_msg m;
			size_t at = 4 + (size_t)rand_r(&seed) % (b.len - 4);
			char was = b.data[at];

			b.data[at] = (char)rand_r(&seed);
			decode_once(b.data, b.len, &m, &a);
			b.data[at] = was;
			rv_arena_fini(&a);
		}
		rv_buf_fini(&b);
	}
}

static void garbage_does_no_harm(void **state)
{
	unsigned seed = 7;
	unsigned char bytes[256];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct rv_arena a = {.max = 64 << 20};
		struct rv_hp_msg m;
		uint32_t n = (uint32_t)rand_r(&seed) % (sizeof(bytes) - 4);

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)(rand_r(&seed) % 7 ? rand_r(&seed) % 4
								     : rand_r(&seed));
		memcpy(bytes, &n, sizeof(n));
		bytes[4] = (unsigned char)(1 + round % (RV_HP_KIND_END - 1));
		decode_once(bytes, n + 4, &m, &a);
		rv_arena_fini(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_comes_back_as_it_was),
		cmocka_unit_test(an_instance_keeps_every_field),
		cmocka_unit_test(an_absent_default_is_not_an_empty_one),
		cmocka_unit_test(a_frame_cut_anywhere_is_not_whole_yet),
		cmocka_unit_test(a_frame_that_ends_too_early_is_refused),
		cmocka_unit_test(a_frame_with_something_behind_its_fields_is_refused),
		cmocka_unit_test(a_length_of_nothing_or_of_too_much_is_refused_before_it_arrives),
		cmocka_unit_test(a_word_with_a_nul_inside_is_refused),
		cmocka_unit_test(what_is_too_large_is_not_written_at_all),
		cmocka_unit_test(changed_bytes_do_no_harm),
		cmocka_unit_test(garbage_does_no_harm),
	};

	return cmocka_run_group_tests_name("wire_host", tests, NULL, NULL);
}
