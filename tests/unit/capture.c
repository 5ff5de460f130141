/* Log capture: real pipes, real files, a loop of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/capture.h"
#include "daemon/tail.h"
#include "sys/clock.h"
#include "sys/fd.h"

struct world {
	struct ev_loop *loop;
	char dir[64];
	char path[128];
	struct rv_log_conf conf;
	struct rv_capture *c;
	int out, err; /* what a child would have as 1 and 2 */
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->loop = ev_loop_new(0);
	strcpy(w->dir, "/tmp/rv-capture-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/t.log", w->dir);
	w->conf = (struct rv_log_conf){.kind = RV_LOG_FILE, .path = w->path, .keep = 3};
	w->out = w->err = -1;
	*state = w;
	return 0;
}

static void let_go(struct world *w)
{
	rv_fd_close(&w->out);
	rv_fd_close(&w->err);
}

static int teardown(void **state)
{
	struct world *w = *state;
	char command[128];

	let_go(w);
	rv_capture_close(w->c);
	ev_loop_destroy(w->loop);
	snprintf(command, sizeof(command), "rm -rf %s", w->dir);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

static void begin(struct world *w)
{
	struct rv_err e;
	int out, err;

	let_go(w);
	assert_true(rv_capture_begin(w->c, &out, &err, &e));
	w->out = dup(out);
	w->err = dup(err);
	rv_capture_spawned(w->c);
}

static void open_and_begin(struct world *w)
{
	struct rv_err e = {0};

	w->c = rv_capture_open(w->loop, &w->conf, "t", &e);
	if (!w->c)
		fail_msg("%s", e.text);
	begin(w);
}

static void turn(struct world *w)
{
	for (int i = 0; i < 50; i++)
		ev_run(w->loop, EVRUN_NOWAIT);
}

/* Writes what fits, with the loop draining in between. */
static void say(struct world *w, int fd, const char *text, size_t n)
{
	while (n) {
		size_t part = n < 32768 ? n : 32768;

		assert_true(rv_write_all(fd, text, part));
		turn(w);
		text += part;
		n -= part;
	}
}

static void out(struct world *w, const char *text)
{
	say(w, w->out, text, strlen(text));
}

static void err(struct world *w, const char *text)
{
	say(w, w->err, text, strlen(text));
}

static void lines(struct world *w, int fd, int from, int to)
{
	struct rv_buf b = {0};

	for (int i = from; i < to; i++)
		rv_buf_fmt(&b, "%08d %.90s\n", i,
			"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			"xxxx"
			"xxxxxxxxxxxxxxxxxxxxxxxxxxx");
	say(w, fd, b.data, b.len);
	rv_buf_fini(&b);
}

static const char *slurp(const char *path)
{
	static struct rv_buf b;

	rv_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	char chunk[4096];
	ssize_t n;

	if (fd < 0)
		return "(no such file)";
	rv_buf_clear(&b);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		assert_true(rv_buf_add(&b, chunk, (size_t)n));
	assert_int_equal(n, 0);
	return rv_buf_text(&b);
}

static const char *numbered(struct world *w, int i)
{
	static char path[160];

	snprintf(path, sizeof(path), i ? "%s.%d" : "%s", w->path, i);
	return path;
}

static bool exists(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* Makes the next write look at the path again. */
static void pass_time(void)
{
	poll(NULL, 0, 12);
}

static const char *tail(struct world *w, size_t count, size_t bytes, bool err_only)
{
	static struct rv_buf b;

	rv_buf_clear(&b);
	rv_capture_tail(w->c, count, bytes, err_only, &b);
	return rv_buf_text(&b);
}

static void lines_reach_the_file_as_they_are(void **state)
{
	struct world *w = *state;

	open_and_begin(w);
	out(w, "one\ntwo\n");
	err(w, "a\0b\n");
	assert_string_equal(slurp(w->path), "one\ntwo\n");
	say(w, w->err, "\0b\n", 3);
	assert_int_equal(rv_capture_lost(w->c), 0);
}

static void streams_never_mix_inside_a_line(void **state)
{
	struct world *w = *state;

	open_and_begin(w);
	out(w, "<1-left");
	err(w, "(err 1)\n");
	out(w, "-right>\n<2");
	err(w, "(err");
	out(w, ">\n");
	err(w, " 2)\n");
	assert_string_equal(slurp(w->path), "(err 1)\n<1-left-right>\n<2>\n(err 2)\n");
}

/* Lines of one letter, of all lengths up to the longest that may be, behind a number. */
static void make_lines(struct rv_buf *b, char letter, unsigned *seed)
{
	for (int i = 0; i < 300; i++) {
		size_t n = (size_t)rand_r(seed) % (i % 10 ? 200 : i % 100 ? 9000 : 65000);

		rv_buf_fmt(b, "%c%d ", letter, i);
		rv_buf_reserve(b, n);
		memset(b->data + b->len, letter, n);
		b->len += n;
		rv_buf_str(b, "\n");
	}
}

/* Picks the lines of one letter out of a text. */
static void pick_lines(struct rv_buf *b, const char *text, char letter)
{
	for (const char *end; *text; text = end + 1) {
		end = strchr(text, '\n');
		if (*text == letter)
			rv_buf_add(b, text, (size_t)(end - text) + 1);
		else
			assert_true(*text == 'a' || *text == 'b');
	}
}

static void send_in_pieces(struct world *w, const struct rv_buf *in, unsigned *seed)
{
	size_t at[2] = {0, 0};

	while (at[0] < in[0].len || at[1] < in[1].len) {
		int i = rand_r(seed) % 2;
		size_t n = (size_t)rand_r(seed) % (rand_r(seed) % 16 ? 700 : 60000) + 1;

		if (n > in[i].len - at[i])
			n = in[i].len - at[i];
		assert_true(rv_write_all(i ? w->err : w->out, in[i].data + at[i], n));
		at[i] += n;
		for (int k = 0; k < 3; k++)
			ev_run(w->loop, EVRUN_NOWAIT);
	}
}

static void lines_in_pieces_of_any_size_come_out_whole_and_in_order(void **state)
{
	struct world *w = *state;
	struct rv_buf in[2] = {{0}, {0}}, back = {0};

	open_and_begin(w);
	for (unsigned seed = 1, n = 0; n < 8; n++) {
		make_lines(&in[0], 'a', &seed);
		make_lines(&in[1], 'b', &seed);
		send_in_pieces(w, in, &seed);
		for (int i = 0; i < 2; i++) {
			rv_buf_clear(&back);
			pick_lines(&back, slurp(w->path), i ? 'b' : 'a');
			assert_int_equal(back.len, in[i].len);
			assert_memory_equal(back.data, in[i].data, in[i].len);
			rv_buf_clear(&in[i]);
		}
		assert_int_equal(truncate(w->path, 0), 0);
	}
	rv_buf_fini(&in[0]);
	rv_buf_fini(&in[1]);
	rv_buf_fini(&back);
}

static void what_came_on_both_in_one_turn_has_stdout_first(void **state)
{
	struct world *w = *state;

	open_and_begin(w);
	assert_true(rv_write_all(w->err, "err\n", 4) && rv_write_all(w->out, "out\n", 4));
	turn(w);
	assert_true(rv_write_all(w->out, "out\n", 4) && rv_write_all(w->err, "err\n", 4));
	turn(w);
	assert_true(rv_write_all(w->err, "err\n", 4) && rv_write_all(w->out, "out\n", 4));
	rv_capture_drain(w->c);
	assert_string_equal(slurp(w->path), "out\nerr\nout\nerr\nout\nerr\n");
}

static void the_owner_may_open_its_stdout_by_name(void **state)
{
	struct world *w = *state;
	char name[64];
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	open_and_begin(w);
	rv_capture_owner(w->c, 65534);
	begin(w);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", w->out);
	pid = fork();
	if (pid == 0) {
		int fd = setuid(65534) || prctl(PR_SET_DUMPABLE, 1)
			? -1
			: open(name, O_WRONLY | O_CLOEXEC);

		_exit(fd >= 0 && write(fd, "by name\n", 8) == 8 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	turn(w);
	assert_string_equal(slurp(w->path), "by name\n");
}

static void last_words_get_a_newline_and_the_next_life_a_fresh_line(void **state)
{
	struct world *w = *state;

	open_and_begin(w);
	out(w, "one\nLAST-WORDS");
	let_go(w);
	turn(w);
	assert_string_equal(slurp(w->path), "one\nLAST-WORDS\n");
	begin(w);
	out(w, "again\nLAST");
	rv_capture_drain(w->c);
	assert_string_equal(slurp(w->path), "one\nLAST-WORDS\nagain\nLAST\n");
	begin(w);
	out(w, "x");
	rv_capture_close(w->c);
	w->c = NULL;
	assert_string_equal(slurp(w->path), "one\nLAST-WORDS\nagain\nLAST\nx\n");
}

static void a_file_that_ends_inside_a_line_is_continued_on_a_fresh_one(void **state)
{
	struct world *w = *state;
	FILE *f = fopen(w->path, "w");

	fputs("cut of", f);
	fclose(f);
	open_and_begin(w);
	out(w, "new\n");
	assert_string_equal(slurp(w->path), "cut of\nnew\n");
}

static void an_overlong_line_is_passed_on_in_pieces_that_the_other_stream_may_break(void **state)
{
	struct world *w = *state;
	char *big = malloc(RV_CAPTURE_LINE + 100);
	const char *got;

	memset(big, 'L', RV_CAPTURE_LINE + 100);
	open_and_begin(w);
	say(w, w->out, big, RV_CAPTURE_LINE + 100);
	err(w, "err\n");
	out(w, "end\n");
	got = slurp(w->path);
	assert_int_equal(strspn(got, "L"), RV_CAPTURE_LINE);
	assert_int_equal(strncmp(got + RV_CAPTURE_LINE, "\nerr\nLLL", 8), 0);
	assert_string_equal(got + strlen(got) - 5, "Lend\n");
	assert_int_equal(strlen(got), RV_CAPTURE_LINE + 100 + 1 + 4 + 4);
	free(big);
}

static void rotation_keeps_every_line_whole_and_every_file_bounded(void **state)
{
	struct world *w = *state;
	int next = 0;

	w->conf.max_size = 8192;
	w->conf.keep = 50;
	open_and_begin(w);
	for (int i = 0; i < 3000; i += 7)
		lines(w, w->out, i, i + 7 < 3000 ? i + 7 : 3000);
	for (int i = 50; i >= 0; i--) {
		const char *text = slurp(numbered(w, i));

		if (!exists(numbered(w, i)))
			continue;
		assert_true(strlen(text) <= 8192 && strlen(text) >= 100);
		assert_int_equal(text[strlen(text) - 1], '\n');
		for (; *text; text += 100)
			assert_int_equal(atoi(text), next++);
	}
	assert_int_equal(next, 3000);
}

static void no_more_files_are_kept_than_asked(void **state)
{
	struct world *w = *state;

	w->conf.max_size = 1000;
	open_and_begin(w);
	lines(w, w->out, 0, 200);
	assert_true(exists(numbered(w, 3)));
	assert_false(exists(numbered(w, 4)));
	assert_int_equal(atoi(slurp(w->path)), 190);
	assert_int_equal(atoi(slurp(numbered(w, 3))), 160);
}

static void keep_0_empties_the_file(void **state)
{
	struct world *w = *state;

	w->conf.max_size = 1000;
	w->conf.keep = 0;
	open_and_begin(w);
	lines(w, w->out, 0, 25);
	assert_false(exists(numbered(w, 1)));
	assert_int_equal(atoi(slurp(w->path)), 20);
	assert_int_equal(strlen(slurp(w->path)), 500);
}

static void a_removed_moved_or_truncated_file_is_made_anew(void **state)
{
	struct world *w = *state;
	char away[160];

	w->conf.max_size = 1000;
	snprintf(away, sizeof(away), "%s/away", w->dir);
	open_and_begin(w);
	out(w, "one\n");
	unlink(w->path);
	pass_time();
	out(w, "two\n");
	assert_string_equal(slurp(w->path), "two\n");
	rename(w->path, away);
	pass_time();
	out(w, "three\n");
	assert_string_equal(slurp(w->path), "three\n");
	assert_string_equal(slurp(away), "two\n");
	lines(w, w->out, 0, 9);
	assert_int_equal(truncate(w->path, 0), 0);
	pass_time();
	lines(w, w->out, 9, 19);
	assert_false(exists(numbered(w, 1))); /* size was accounted anew */
	assert_int_equal(strlen(slurp(w->path)), 1000);
}

static void a_file_put_in_its_place_is_continued(void **state)
{
	struct world *w = *state;
	char other[160];
	FILE *f;

	snprintf(other, sizeof(other), "%s/other", w->dir);
	open_and_begin(w);
	out(w, "one\n");
	f = fopen(other, "w");
	fputs("theirs\n", f);
	fclose(f);
	rename(other, w->path);
	pass_time();
	out(w, "two\n");
	assert_string_equal(slurp(w->path), "theirs\ntwo\n");
}

static void a_numbered_file_that_is_missing_makes_room(void **state)
{
	struct world *w = *state;

	w->conf.max_size = 1000;
	open_and_begin(w);
	lines(w, w->out, 0, 35);
	assert_int_equal(atoi(slurp(numbered(w, 3))), 0);
	unlink(numbered(w, 2));
	lines(w, w->out, 35, 45);
	assert_int_equal(atoi(slurp(numbered(w, 3))), 0); /* the oldest stays */
	assert_int_equal(atoi(slurp(numbered(w, 2))), 20);
	assert_int_equal(atoi(slurp(numbered(w, 1))), 30);
}

static void a_numbered_name_that_is_a_link_to_the_log_itself_is_let_go(void **state)
{
	struct world *w = *state;

	w->conf.max_size = 1000;
	w->conf.keep = 1;
	open_and_begin(w);
	lines(w, w->out, 0, 5);
	assert_int_equal(link(w->path, numbered(w, 1)), 0);
	lines(w, w->out, 5, 15);
	assert_int_equal(atoi(slurp(numbered(w, 1))), 0);
	assert_int_equal(atoi(slurp(w->path)), 10);
}

static void a_removed_folder_is_made_again(void **state)
{
	struct world *w = *state;
	char path[160], folder[160];
	struct stat st;

	snprintf(folder, sizeof(folder), "%s/a", w->dir);
	snprintf(path, sizeof(path), "%s/a/b/t.log", w->dir);
	w->conf.path = path;
	open_and_begin(w);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	out(w, "one\n");
	unlink(path);
	path[strlen(path) - 6] = 0;
	rmdir(path);
	rmdir(folder);
	path[strlen(path)] = '/';
	pass_time();
	out(w, "two\n");
	assert_string_equal(slurp(path), "two\n");
}

static void a_folder_in_the_way_of_rotation_is_stepped_over(void **state)
{
	struct world *w = *state;

	w->conf.max_size = 1000;
	open_and_begin(w);
	mkdir(numbered(w, 1), 0755);
	lines(w, w->out, 0, 45);
	assert_int_equal(atoi(slurp(w->path)), 40);
	assert_int_equal(atoi(slurp(numbered(w, 2))), 30);
	assert_int_equal(atoi(slurp(numbered(w, 3))), 20);
	assert_false(exists(numbered(w, 4)));
	rmdir(numbered(w, 1));
	lines(w, w->out, 45, 65);
	assert_int_equal(atoi(slurp(numbered(w, 1))), 50);
	assert_true(exists(numbered(w, 2)) && exists(numbered(w, 3)));
}

static void a_path_that_is_impossible_fails_at_once_and_is_named(void **state)
{
	struct world *w = *state;
	struct rv_err e = {0};
	char path[160];
	FILE *f = fopen(w->path, "w");

	fclose(f);
	snprintf(path, sizeof(path), "%s/x/y.log", w->path);
	w->conf.path = path;
	assert_null(rv_capture_open(w->loop, &w->conf, "t", &e));
	assert_non_null(strstr(e.text, path));
	assert_non_null(strstr(e.text, "Not a directory"));
}

static void a_fifo_without_a_reader_does_not_block(void **state)
{
	struct world *w = *state;

	assert_int_equal(mkfifo(w->path, 0600), 0);
	w->conf.max_size = 1000;
	open_and_begin(w);
	lines(w, w->out, 0, 3000);
	assert_true(rv_capture_lost(w->c) > 100000);
	assert_false(exists(numbered(w, 1)));
	assert_non_null(strstr(tail(w, 1, 0, false), "00002999"));
}

static void a_null_log_keeps_the_tail_only(void **state)
{
	struct world *w = *state;

	w->conf.path = "/dev/null";
	open_and_begin(w);
	lines(w, w->out, 0, 100);
	assert_int_equal(atoi(tail(w, 2, 0, false)), 98);
	assert_false(exists(w->path));
	assert_int_equal(rv_capture_lost(w->c), 0);
}

static void the_tail_has_both_streams_in_order_and_stderr_of_this_life_alone(void **state)
{
	struct world *w = *state;

	open_and_begin(w);
	err(w, "old err\n");
	begin(w);
	out(w, "o1\n");
	err(w, "e1\n");
	out(w, "o2\n");
	err(w, "e2\nunfin");
	assert_string_equal(tail(w, 0, 0, false), "old err\no1\ne1\no2\ne2\nunfin\n");
	assert_string_equal(tail(w, 0, 0, true), "e1\ne2\nunfin\n");
	assert_string_equal(tail(w, 2, 0, false), "e2\nunfin\n");
	assert_string_equal(tail(w, 0, 8, false), "unfin\n");
	assert_string_equal(tail(w, 0, 3, false), "in\n");
	lines(w, w->out, 0, 500); /* a flood on stdout leaves stderr alone */
	assert_string_equal(tail(w, 0, 0, true), "e1\ne2\nunfin\n");
}

static void the_tail_ring_equals_a_simple_model(void **state)
{
	struct rv_tail t = {0};
	struct rv_buf got = {0}, all = {0};
	unsigned seed = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char block[13000];
		size_t n = 0, want = (size_t)rand_r(&seed) % (i % 97 ? 200 : 12000) + 1;

		while (n < want)
			n += (size_t)snprintf(block + n, sizeof(block) - n, "%d-%zu\n", i, n);
		rv_tail_add(&t, 0, block, n);
		if (i % 13 == 0)
			rv_tail_add(&t, 1, "e\n", 2);
		if (i % 101 == 0)
			rv_tail_life(&t);
		rv_buf_add(&all, block, n);
		if (i % 20)
			continue;
		rv_buf_clear(&got);
		rv_tail_read(&t, false, &got);
		/* Without stderr's lines, it is the end of all that was added, from a line start. */
		for (char *e; (e = strstr(got.data, "\ne\n"));)
			memmove(e, e + 2, strlen(e + 2) + 1);
		if (!strncmp(got.data, "e\n", 2))
			memmove(got.data, got.data + 2, strlen(got.data + 2) + 1);
		got.len = strlen(got.data);
		assert_true(got.len <= all.len);
		assert_memory_equal(got.data, all.data + all.len - got.len, got.len);
		if (all.len > got.len) {
			assert_int_equal(all.data[all.len - got.len - 1], '\n');
			assert_true(got.len > RV_TAIL_RING / 2);
		}
	}
	rv_buf_fini(&got);
	rv_buf_fini(&all);
	rv_tail_fini(&t);
}

static void what_a_descendant_writes_after_the_end_is_still_kept(void **state)
{
	struct world *w = *state;
	int orphan;

	open_and_begin(w);
	out(w, "main\n");
	orphan = dup(w->out);
	let_go(w);
	rv_capture_drain(w->c);
	assert_true(rv_write_all(orphan, "orphan 1\n", 9));
	turn(w);
	begin(w);
	out(w, "next\n");
	assert_true(rv_write_all(orphan, "orphan 2\n", 9));
	turn(w);
	assert_string_equal(slurp(w->path), "main\norphan 1\nnext\norphan 2\n");
	close(orphan);
}

static void drain_takes_all_that_is_in_the_pipe_without_the_loop(void **state)
{
	struct world *w = *state;
	static char text[60000];

	memset(text, 'x', sizeof(text));
	for (size_t i = 99; i < sizeof(text); i += 100)
		text[i] = '\n';
	open_and_begin(w);
	assert_true(rv_write_all(w->out, text, sizeof(text)));
	rv_capture_drain(w->c);
	assert_int_equal(strlen(slurp(w->path)), sizeof(text));
}

struct ear {
	struct rv_capture *c;
	struct rv_follower *f;
	struct rv_buf heard;
	bool once;
};

static void hear(void *ctx, const char *bytes, size_t n)
{
	struct ear *ear = ctx;

	rv_buf_add(&ear->heard, bytes, n);
	if (ear->once)
		rv_capture_unfollow(ear->c, ear->f);
}

static void followers_hear_what_comes_and_may_leave_while_they_hear(void **state)
{
	struct world *w = *state;
	struct ear all = {0}, one = {.once = true};

	open_and_begin(w);
	out(w, "before\n");
	one.c = w->c;
	all.f = rv_capture_follow(w->c, hear, &all);
	one.f = rv_capture_follow(w->c, hear, &one);
	out(w, "a\nb");
	begin(w);
	out(w, "c\n");
	assert_string_equal(rv_buf_text(&all.heard), "a\nb\nc\n");
	assert_string_equal(rv_buf_text(&one.heard), "a\n");
	rv_capture_unfollow(w->c, all.f);
	out(w, "d\n");
	assert_string_equal(rv_buf_text(&all.heard), "a\nb\nc\n");
	rv_buf_fini(&all.heard);
	rv_buf_fini(&one.heard);
}

static void the_file_is_read_back_over_a_rotation(void **state)
{
	struct world *w = *state;
	struct rv_buf b = {0};

	w->conf.max_size = 40000;
	open_and_begin(w);
	lines(w, w->out, 0, 500);
	assert_true(rv_capture_read_back(w->c, 300, 1 << 20, &b));
	assert_int_equal(b.len, 30000);
	assert_int_equal(atoi(b.data), 200);
	rv_buf_fini(&b);
}

/* The log cannot grow any more: by a limit on file sizes, or a full file system. */
static void lines_are_lost_and_logging_resumes(struct world *w, void (*free_space)(struct world *))
{
	const char *text, *note;
	rv_time until = rv_now() + 5 * RV_SEC;

	lines(w, w->out, 0, 6000);
	assert_true(rv_capture_lost(w->c) > 100000);
	assert_non_null(strstr(tail(w, 1, 0, false), "00005999"));
	free_space(w);
	do {
		assert_true(rv_now() < until);
		poll(NULL, 0, 10);
		lines(w, w->out, 7000, 7001);
		text = slurp(w->path);
		note = strstr(text, "\nreeve: ");
	} while (!note);
	assert_non_null(strstr(note, " bytes were lost here: "));
	assert_non_null(strstr(note, "\n00007000 "));
	assert_int_equal(strtoull(note + 8, NULL, 10), rv_capture_lost(w->c));
}

static void lift_limit(struct world *w)
{
	struct rlimit r;

	(void)w;
	getrlimit(RLIMIT_FSIZE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_FSIZE, &r);
}

static void a_limit_on_file_sizes_loses_lines_with_a_note(void **state)
{
	struct world *w = *state;
	struct rlimit r;
	uint64_t before;
	const char *note;

	signal(SIGXFSZ, SIG_IGN);
	open_and_begin(w);
	getrlimit(RLIMIT_FSIZE, &r);
	r.rlim_cur = 65536 - 50;
	setrlimit(RLIMIT_FSIZE, &r);
	lines_are_lost_and_logging_resumes(w, lift_limit);
	before = rv_capture_lost(w->c);
	r.rlim_cur = 65536 + 1000;
	setrlimit(RLIMIT_FSIZE, &r);
	lines(w, w->out, 8000, 8100);
	lift_limit(w);
	poll(NULL, 0, 1100); /* the longest pause between two attempts, and a little */
	out(w, "here again\n");
	note = strstr(strstr(slurp(w->path), "\nreeve: ") + 1, "\nreeve: ");
	assert_non_null(note); /* the second note has the second loss only */
	assert_int_equal(strtoull(note + 8, NULL, 10), rv_capture_lost(w->c) - before);
}

static void remove_filler(struct world *w)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/filler", w->dir);
	assert_int_equal(unlink(path), 0);
}

static void a_full_disk_loses_lines_with_a_note(void **state)
{
	struct world *w = *state;
	static const char zeros[65536];
	char path[160];
	int fd;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("none", w->dir, "tmpfs", 0, "size=256k"))
		skip();
	snprintf(path, sizeof(path), "%s/filler", w->dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(rv_write_all(fd, zeros, sizeof(zeros)));
	close(fd);
	open_and_begin(w);
	lines_are_lost_and_logging_resumes(w, remove_filler);
	rv_capture_close(w->c);
	w->c = NULL;
	umount(w->dir);
}

/* Puts a pipe in the place of our stdout while the body runs. */
static int stdout_becomes_pipe(int *saved)
{
	int fd[2];

	fflush(stdout);
	*saved = dup(STDOUT_FILENO);
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	dup2(fd[1], STDOUT_FILENO);
	close(fd[1]);
	rv_fd_nonblock(fd[0], true);
	return fd[0];
}

static size_t read_some(int fd, char *to, size_t size)
{
	ssize_t n = read(fd, to, size - 1);

	to[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

static void an_inherited_log_goes_to_our_stdout_and_a_slow_reader_costs_lines_only(void **state)
{
	struct world *w = *state;
	static char text[1 << 20];
	rv_time start = rv_now();
	size_t got = 0;
	int saved, fd = stdout_becomes_pipe(&saved);

	w->conf.kind = RV_LOG_INHERIT;
	open_and_begin(w);
	out(w, "hello\nunfin");
	read_some(fd, text, sizeof(text));
	lines(w, w->out, 0, 6000);
	for (int i = 0; i < 100; i++) {
		got += read_some(fd, text + got, sizeof(text) - got);
		turn(w);
	}
	lines(w, w->out, 7000, 7001);
	got += read_some(fd, text + got, sizeof(text) - got);
	let_go(w);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fd);
	assert_true(rv_capture_lost(w->c) > 0);
	assert_non_null(strstr(text, "unfin00000000 xxx"));
	assert_non_null(strstr(text, "\nreeve: "));
	assert_non_null(strstr(text, " bytes were lost here: the reader is too slow\n00007000 "));
	assert_true(rv_now() - start < 10 * RV_SEC);
	assert_false(exists(w->path));
	assert_int_equal(atoi(tail(w, 1, 0, false)), 7000);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(lines_reach_the_file_as_they_are), CASE(streams_never_mix_inside_a_line),
		CASE(lines_in_pieces_of_any_size_come_out_whole_and_in_order),
		CASE(what_came_on_both_in_one_turn_has_stdout_first),
		CASE(the_owner_may_open_its_stdout_by_name),
		CASE(last_words_get_a_newline_and_the_next_life_a_fresh_line),
		CASE(a_file_that_ends_inside_a_line_is_continued_on_a_fresh_one),
		CASE(an_overlong_line_is_passed_on_in_pieces_that_the_other_stream_may_break),
		CASE(rotation_keeps_every_line_whole_and_every_file_bounded),
		CASE(no_more_files_are_kept_than_asked), CASE(keep_0_empties_the_file),
		CASE(a_removed_moved_or_truncated_file_is_made_anew),
		CASE(a_file_put_in_its_place_is_continued),
		CASE(a_numbered_file_that_is_missing_makes_room),
		CASE(a_numbered_name_that_is_a_link_to_the_log_itself_is_let_go),
		CASE(a_removed_folder_is_made_again),
		CASE(a_folder_in_the_way_of_rotation_is_stepped_over),
		CASE(a_path_that_is_impossible_fails_at_once_and_is_named),
		CASE(a_fifo_without_a_reader_does_not_block), CASE(a_null_log_keeps_the_tail_only),
		CASE(the_tail_has_both_streams_in_order_and_stderr_of_this_life_alone),
		CASE(the_tail_ring_equals_a_simple_model),
		CASE(what_a_descendant_writes_after_the_end_is_still_kept),
		CASE(drain_takes_all_that_is_in_the_pipe_without_the_loop),
		CASE(followers_hear_what_comes_and_may_leave_while_they_hear),
		CASE(the_file_is_read_back_over_a_rotation),
		CASE(a_limit_on_file_sizes_loses_lines_with_a_note),
		CASE(an_inherited_log_goes_to_our_stdout_and_a_slow_reader_costs_lines_only),
		CASE(a_full_disk_loses_lines_with_a_note), /* last: in a mount namespace of its own */
	};

	alarm(600); /* whatever blocks is a fault */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
