/* The reaper with real processes: orphans, leftovers, statuses, and when a life is gone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/kin.h"
#include "daemon/mainpid.h"
#include "daemon/proc.h"
#include "daemon/reap.h"
#include "daemon/spawn.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define SLOTS	  64
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

struct seen_life {
	int exited, gone;
	rv_exit how;
	uint64_t generation;
	uint64_t turn_of_exit, turn_of_gone;
};

struct world {
	struct rv_reaper *r;
	struct seen_life lives[SLOTS];
	uint64_t turn;
	int helpers_done;
	rv_exit helper_how;
	int out; /* 0: ours */
	bool restart; /* start anew from inside `gone` */
	int restarts;
	char dir[64];
};

static void on_exited(void *ctx, rv_id id, uint64_t generation, rv_exit how)
{
	struct world *w = ctx;

	assert_int_equal(w->lives[id].gone, 0);
	w->lives[id].exited++;
	w->lives[id].how = how;
	w->lives[id].generation = generation;
	w->lives[id].turn_of_exit = w->turn;
}

static pid_t start(struct world *w, rv_id id, uint64_t generation, const char *const *argv);

static void on_gone(void *ctx, rv_id id, uint64_t generation)
{
	struct world *w = ctx;

	assert_int_equal(w->lives[id].exited, 1);
	assert_int_equal(w->lives[id].generation, generation);
	w->lives[id].gone++;
	w->lives[id].turn_of_gone = w->turn;
	if (w->restart && w->restarts < 20) {
		w->restarts++;
		start(w, id, generation + 1, LIST("/bin/true"));
	}
}

static const struct rv_reaper_ops ops = {.exited = on_exited, .gone = on_gone};

/* ---- one whose environment cannot be had for a while: the linker puts these two before the real ones */

static struct {
	pid_t pid; /* 0: everybody's is there */
	int times; /* so often it is asked in vain */
	bool ends; /* it is about to end; else it is between two programs */
} bare;

bool __real_rv_proc_variable(pid_t pid, const char *name, char *to, size_t size);
bool __wrap_rv_proc_variable(pid_t pid, const char *name, char *to, size_t size);
bool __real_rv_proc_has_program(pid_t pid);
bool __wrap_rv_proc_has_program(pid_t pid);

bool __wrap_rv_proc_variable(pid_t pid, const char *name, char *to, size_t size)
{
	if (pid == bare.pid && bare.times) {
		bare.times--;
		return false;
	}
	return __real_rv_proc_variable(pid, name, to, size);
}

bool __wrap_rv_proc_has_program(pid_t pid)
{
	return (pid != bare.pid || !bare.ends) && __real_rv_proc_has_program(pid);
}

static pid_t spawn_into(int out, const char *mark, const char *const *argv)
{
	char variable[128];
	struct rv_spawn s = {.argv = argv, .umask = -1, .out = out, .err = 2};
	struct rv_spawned child;
	struct rv_err e = {0};

	snprintf(variable, sizeof(variable), "REEVE_INVOCATION_ID=%s", mark);
	s.env = LIST("PATH=/usr/local/bin:/usr/bin:/bin", variable);
	if (!rv_spawn(&s, &child, &e))
		fail_msg("%s", e.text);
	return child.pid;
}

static pid_t spawn(const char *mark, const char *const *argv)
{
	return spawn_into(STDOUT_FILENO, mark, argv);
}

static pid_t start(struct world *w, rv_id id, uint64_t generation, const char *const *argv)
{
	char mark[64];
	pid_t pid;

	snprintf(mark, sizeof(mark), "%d-%u-%llu", (int)getpid(), id,
		(unsigned long long)generation);
	pid = spawn_into(w->out ? w->out : STDOUT_FILENO, mark, argv);
	w->lives[id] = (struct seen_life){0};
	rv_reaper_add_life(w->r, id, generation, pid, mark);
	rv_reaper_note_output(w->r, id, w->out ? w->out : STDOUT_FILENO);
	return pid;
}

/* Before each script: the folder, and a pid written such that it is whole when it is seen. */
#define PRELUDE                                            \
	"import os,signal,subprocess,sys,threading,time\n" \
	"T=sys.argv[1]\n"                                  \
	"def tell(n):\n"                                   \
	" open(T+'/t-'+n,'w').write(str(os.getpid())); os.rename(T+'/t-'+n,T+'/'+n)\n"

/* What `env -i setsid` would make: only having been seen tells whose it is. */
#define SCRUBBED                                                                                  \
	"def scrubbed():\n"                                                                       \
	" subprocess.Popen([sys.executable,'-S','-c',"                                            \
	"'import os,sys,time; T=sys.argv[1]; open(T+\"/t-left\",\"w\").write(str(os.getpid()));'" \
	"'os.rename(T+\"/t-left\",T+\"/left\"); time.sleep(1000)',T],"                            \
	"env={},start_new_session=True)\n"

static pid_t start_python(struct world *w, rv_id id, uint64_t generation, const char *code)
{
	return start(w, id, generation, LIST("/usr/bin/python3", "-S", "-c", code, w->dir));
}

/* ---- waiting: turns until something holds, with a bound ---- */

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

#define UNTIL(w, condition)                                                     \
	do {                                                                    \
		rv_time end_ = rv_now() + 20 * RV_SEC;                          \
		while (!(condition)) {                                          \
			if (rv_now() > end_)                                    \
				fail_msg("waited too long for %s", #condition); \
			(w)->turn++;                                            \
			rv_reaper_turn((w)->r);                                 \
			nap();                                                  \
		}                                                               \
	} while (0)

static bool exists(const struct world *w, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	return !access(path, F_OK);
}

static pid_t pid_in(const struct world *w, const char *name)
{
	char path[128];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	return pid;
}

/* The pid that a script tells by that name, when it does. */
static pid_t told_pid(struct world *w, const char *name)
{
	UNTIL(w, exists(w, name));
	return pid_in(w, name);
}

static void turns(struct world *w, int n)
{
	for (int i = 0; i < n; i++) {
		rv_reaper_turn(w->r);
		nap();
	}
}

static void say_go(const struct world *w)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/go", w->dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
}

static void lose_main(struct world *w, rv_id id)
{
	kill(rv_reaper_pid(w->r, id), SIGKILL);
	UNTIL(w, w->lives[id].exited);
}

static bool is_dead(pid_t pid)
{
	struct rv_proc p;

	return !rv_proc_look(pid, &p) || p.state == 'Z';
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	bare.pid = 0;
	strcpy(w->dir, "/tmp/rv-reap-XXXXXX");
	if (!mkdtemp(w->dir))
		return -1;
	setenv("T", w->dir, 1);
	w->r = rv_reaper_create(SLOTS, &ops, w);
	*state = w;
	return w->r ? 0 : -1;
}

static int teardown(void **state)
{
	struct world *w = *state;
	char command[128];

	assert_int_equal(rv_reaper_sweep(w->r, 5 * RV_SEC), 0);
	rv_reaper_destroy(w->r);
	snprintf(command, sizeof(command), "rm -rf %s", w->dir);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

/* ---- statuses ---- */

static void an_exit_and_gone_come_in_one_turn_when_nothing_is_left(void **state)
{
	struct world *w = *state;

	start(w, 3, 7, LIST("/bin/sh", "-c", "exit 42"));
	UNTIL(w, w->lives[3].exited);
	assert_int_equal(w->lives[3].how, 42);
	assert_int_equal(w->lives[3].generation, 7);
	assert_int_equal(w->lives[3].gone, 1);
	assert_int_equal(w->lives[3].turn_of_exit, w->lives[3].turn_of_gone);
	assert_int_equal(rv_reaper_pid(w->r, 3), 0);
	assert_int_equal(rv_reaper_wait(w->r), RV_NEVER);
}

static void a_death_by_signal_is_told_as_such(void **state)
{
	struct world *w = *state;
	pid_t pid = start(w, 0, 1, LIST("/bin/sleep", "1000"));

	assert_int_equal(rv_reaper_pid(w->r, 0), pid);
	assert_true(rv_reaper_signal(w->r, 0, SIGTERM, RV_TO_GROUP));
	UNTIL(w, w->lives[0].gone);
	assert_int_equal(w->lives[0].how, RV_EXIT_SIGNAL(SIGTERM));
	assert_false(rv_reaper_signal(w->r, 0, SIGTERM, RV_TO_GROUP));
}

static void a_new_life_may_begin_inside_gone(void **state)
{
	struct world *w = *state;

	w->restart = true;
	start(w, 5, 1, LIST("/bin/true"));
	UNTIL(w, w->restarts == 20 && w->lives[5].gone);
	assert_int_equal(w->lives[5].generation, 21);
}

/* With few modules: a fork costs as much as there is to copy. */
static const char storm[] = "import os,sys,time\n"
			    "for i in range(2000):\n"
			    " p=os.fork()\n"
			    " if p==0:\n"
			    "  if os.fork()==0:\n"
			    "   time.sleep(i*37%500/1000); os._exit(i%7)\n"
			    "  os._exit(0)\n"
			    " os.waitpid(p,0)\n"
			    "open(sys.argv[1]+'/made','w').close()\n"
			    "time.sleep(1000)\n";

static size_t zombies_of(pid_t parent)
{
	struct rv_pids list = {0};
	struct rv_proc p;
	size_t n = 0;

	rv_proc_children(parent, &list);
	for (size_t i = 0; i < list.count; i++)
		n += rv_proc_look(list.at[i], &p) && p.state == 'Z';
	rv_pids_fini(&list);
	return n;
}

static void start_coded(struct world *w, rv_id id, uint64_t generation)
{
	char code[2] = {(char)('0' + id), 0};

	start(w, id, generation, LIST("/bin/sh", "-c", "exit $((40 + $1))", "sh", code));
}

/* 2000 orphans end within half a second while services end too. */
static void orphans_are_collected_and_never_steal_a_status(void **state)
{
	struct world *w = *state;
	uint64_t generation = 2;
	size_t left;
	rv_time end;

	start_python(w, 0, 1, storm);
	for (rv_id id = 1; id <= 8; id++)
		start_coded(w, id, 1);
	end = rv_now() + 60 * RV_SEC;
	while (!exists(w, "made")) {
		assert_true(rv_now() < end);
		rv_reaper_turn(w->r);
		poll(NULL, 0, 5); /* the storm needs a processor, too */
		for (rv_id id = 1; id <= 8; id++) {
			if (!w->lives[id].gone)
				continue;
			assert_int_equal(w->lives[id].how, 40 + id);
			start_coded(w, id, generation++);
		}
	}
	assert_int_equal(w->lives[0].exited, 0);
	end = rv_now() + 20 * RV_SEC;
	do {
		rv_reaper_turn(w->r);
		nap();
		left = zombies_of(getpid()); /* looked at once: the next orphan may end any time */
	} while (rv_now() < end && left);
	assert_int_equal(left, 0);
	rv_reaper_kill(w->r, 0);
	UNTIL(w, w->lives[0].gone);
	assert_int_equal(w->lives[0].how, RV_EXIT_SIGNAL(SIGKILL));
}

static bool is_zombie(pid_t pid)
{
	struct rv_proc p;

	return rv_proc_look(pid, &p) && p.state == 'Z';
}

static void the_first_that_ended_is_told_before_the_rest_is_looked_at(void **state)
{
	struct world *w = *state;
	pid_t pid[3];
	int told = 0;

	for (rv_id id = 0; id < 3; id++)
		pid[id] = start(w, id, 1, LIST("/bin/true"));
	for (rv_id id = 0; id < 3; id++)
		while (!is_zombie(pid[id]))
			nap();
	assert_true(rv_reaper_first(w->r));
	for (rv_id id = 0; id < 3; id++)
		told += w->lives[id].exited && w->lives[id].gone;
	assert_int_equal(told, 1);
	rv_reaper_turn(w->r);
	for (rv_id id = 0; id < 3; id++)
		assert_true(w->lives[id].exited && w->lives[id].gone);
	assert_false(rv_reaper_first(w->r));
}

/* ---- leftovers ---- */

/* double fork, own session, and the main process is killed first. */
static void a_daemonised_leftover_is_found_when_the_main_process_was_killed_first(void **state)
{
	struct world *w = *state;
	pid_t left;

	start_python(w, 1, 1,
		PRELUDE "if os.fork()==0:\n"
			" os.setsid()\n"
			" if os.fork()==0:\n"
			"  tell('left'); time.sleep(1000)\n"
			" os._exit(0)\n"
			"time.sleep(1000)\n");
	left = told_pid(w, "left");
	lose_main(w, 1);
	turns(w, 20);
	assert_int_equal(w->lives[1].gone, 0);
	assert_int_equal(rv_reaper_wait(w->r), RV_NEVER); /* its end will be a SIGCHLD */
	assert_true(rv_reaper_owns(w->r, 1, left));
	assert_false(is_dead(left));
	rv_reaper_kill(w->r, 1);
	UNTIL(w, w->lives[1].gone);
	assert_true(is_dead(left));
}

static void a_scrubbed_descendant_is_found_because_it_was_seen(void **state)
{
	struct world *w = *state;
	pid_t left;

	start_python(w, 1, 1, PRELUDE SCRUBBED "scrubbed()\ntime.sleep(1000)\n");
	left = told_pid(w, "left");
	assert_true(rv_reaper_signal(w->r, 1, SIGTERM, RV_TO_GROUP));
	UNTIL(w, w->lives[1].exited);
	rv_reaper_turn(w->r);
	assert_int_equal(w->lives[1].gone, 0);
	assert_false(is_dead(left));
	rv_reaper_kill(w->r, 1);
	UNTIL(w, w->lives[1].gone);
	assert_true(is_dead(left));
}

/* `(env -i setsid cmd &)`: its parent is gone at once, and the main process crashes before anybody
   looked. Only its output tells. */
static void a_scrubbed_orphan_that_nobody_saw_is_told_by_its_output(void **state)
{
	struct world *w = *state;
	int ends[2], other[2];
	pid_t left;

	assert_int_equal(pipe(ends) | pipe(other), 0);
	w->out = other[1];
	start(w, 2, 1, LIST("/bin/sleep", "1000"));
	w->out = ends[1];
	start_python(w, 1, 1,
		PRELUDE SCRUBBED "if os.fork()==0:\n"
				 " scrubbed(); os._exit(0)\n"
				 "time.sleep(1000)\n");
	left = told_pid(w, "left");
	UNTIL(w, (rv_kin_meet(w->r), rv_pidmap_find(&w->r->known, left)));
	lose_main(w, 1);
	assert_int_equal(w->lives[1].gone, 0);
	assert_true(rv_reaper_owns(w->r, 1, left));
	assert_false(rv_reaper_owns(w->r, 2, left));
	rv_reaper_kill(w->r, 1);
	UNTIL(w, w->lives[1].gone);
	assert_true(is_dead(left));
	assert_int_equal(w->lives[2].exited, 0);
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(other[i]);
	}
}

/* Their numbers fill several pieces of what the kernel tells at a time. */
static void a_long_list_of_children_is_read_to_its_end(void **state)
{
	struct world *w = *state;
	struct rv_pids fast = {0}, slow = {0};
	pid_t first = 0;

	for (int i = 0; i < 1500; i++) {
		pid_t pid = fork();

		if (!pid) {
			if (first)
				setpgid(0, first);
			pause();
			_exit(0);
		}
		assert_true(pid > 0);
		first = first ? first : pid;
		setpgid(pid, first);
	}
	rv_proc_own_children(w->r->children_fd, &fast);
	rv_proc_own_children(-1, &slow);
	assert_true(fast.count >= 1500);
	assert_int_equal(fast.count, slow.count);
	rv_pids_fini(&fast);
	rv_pids_fini(&slow);
	kill(-first, SIGKILL);
	while (waitpid(-first, NULL, 0) > 0)
		;
}

/* Its parent ends at once, and the main process stays. */
static const char leaves_an_orphan[] = PRELUDE
	"if os.fork()==0:\n"
	" if os.fork()==0: os.setsid(); tell('left'); time.sleep(1000)\n"
	" os._exit(0)\n"
	"os.wait(); time.sleep(1000)\n";

/* Between two lives of the only service there is nobody to be waited for. */
static void an_orphan_is_known_before_anybody_ended_also_when_there_was_no_child_at_all(
	void **state)
{
	struct world *w = *state;
	rv_time end = rv_now() + 20 * RV_SEC;
	struct rv_proc p;

	start(w, 0, 1, LIST("/bin/true"));
	UNTIL(w, w->lives[0].gone);
	assert_true(w->r->childless);
	start_python(w, 0, 2, leaves_an_orphan);
	while (!exists(w, "left") || !rv_proc_look(pid_in(w, "left"), &p) || p.parent != getpid()) {
		assert_true(rv_now() < end);
		nap();
	}
	assert_true(rv_reaper_owns(w->r, 0, p.pid));
}

static int by_number(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The one is in the order of birth, the other in that of the numbers, which begin anew at the greatest. */
static void without_children_files_the_slow_way_finds_the_same(void **state)
{
	struct world *w = *state;
	struct rv_pids fast = {0}, slow = {0};

	start(w, 1, 1, LIST("/bin/sleep", "1000"));
	start(w, 2, 1, LIST("/bin/sleep", "1000"));
	rv_proc_own_children(w->r->children_fd, &fast);
	rv_proc_own_children(-1, &slow);
	assert_int_equal(slow.count, 2);
	assert_int_equal(fast.count, 2);
	qsort(fast.at, 2, sizeof(pid_t), by_number);
	qsort(slow.at, 2, sizeof(pid_t), by_number);
	assert_memory_equal(fast.at, slow.at, 2 * sizeof(pid_t));
	rv_pids_fini(&fast);
	rv_pids_fini(&slow);
	rv_fd_close(&w->r->children_fd);
	rv_reaper_kill(w->r, 1);
	UNTIL(w, w->lives[1].gone);
	assert_int_equal(w->lives[2].exited, 0);
}

/* A job of a shell: own group, but the shell's session. */
static void a_scrubbed_job_is_told_by_its_session(void **state)
{
	struct world *w = *state;
	pid_t left;

	start_python(w, 1, 1,
		PRELUDE "subprocess.Popen([sys.executable,'-S','-c',"
			"'import os,sys,time; T=sys.argv[1]; os.setpgid(0,0);'"
			"'open(T+\"/t-left\",\"w\").write(str(os.getpid()));'"
			"'os.rename(T+\"/t-left\",T+\"/left\"); "
			"time.sleep(1000)',T],env={},stdout=-3,stderr=-3)\n"
			"time.sleep(1000)\n");
	left = told_pid(w, "left");
	lose_main(w, 1);
	assert_int_equal(w->lives[1].gone, 0);
	rv_reaper_kill(w->r, 1);
	UNTIL(w, w->lives[1].gone);
	assert_true(is_dead(left));
}

/* A tells nothing by itself and is not in the group, but holds a child there. */
static void a_group_that_does_not_empty_leads_to_who_holds_it(void **state)
{
	struct world *w = *state;
	pid_t holder, member;

	start_python(w, 1, 1,
		PRELUDE "if os.fork()==0:\n"
			" if os.fork()==0:\n"
			"  tell('member'); time.sleep(1000)\n"
			" os.setsid(); n=os.open('/dev/null',2); os.dup2(n,1); os.dup2(n,2)\n"
			" os.execve('/usr/bin/python3',['python3','-S','-c','''import os,sys,time\n"
			"T=sys.argv[1]; open(T+'/t-holder','w').write(str(os.getpid()))\n"
			"os.rename(T+'/t-holder',T+'/holder'); time.sleep(1000)''',T],{})\n"
			"time.sleep(1000)\n");
	UNTIL(w, exists(w, "holder") && exists(w, "member"));
	holder = pid_in(w, "holder");
	member = pid_in(w, "member");
	lose_main(w, 1);
	turns(w, 20);
	assert_int_equal(w->lives[1].gone, 0);
	rv_reaper_kill(w->r, 1);
	UNTIL(w, w->lives[1].gone);
	assert_true(is_dead(holder));
	assert_true(is_dead(member));
}

/* Its own children may have become ours behind the look. */
static void an_unknown_child_that_ended_unasked_makes_us_look_again(void **state)
{
	struct world *w = *state;
	pid_t pid = fork();
	struct rv_proc p;

	if (!pid)
		_exit(0);
	while (rv_proc_look(pid, &p) && p.state != 'Z')
		nap();
	assert_false(rv_kin_meet(w->r));
	rv_reaper_turn(w->r);
	assert_true(rv_kin_meet(w->r));
}

/* Leaves one that only its mark tells, and ends when it is told to, so that it is met by a turn of ours only then. */
static const char leaver[] = PRELUDE "if os.fork()==0:\n"
				     " os.setsid()\n"
				     " if os.fork()==0:\n"
				     "  os.setsid(); tell('left'); time.sleep(1000)\n"
				     " while not os.path.exists(T+'/left'): time.sleep(0.001)\n"
				     " os._exit(0)\n"
				     "while not os.path.exists(T+'/left'): time.sleep(0.001)\n";

/* What it left; nothing of it was met yet. */
static pid_t left_unmet(struct world *w, rv_id id)
{
	pid_t main_pid = start_python(w, id, 1, leaver);
	rv_time end = rv_now() + 20 * RV_SEC;
	struct rv_proc p = {0};

	while (!(exists(w, "left") && is_zombie(main_pid) && rv_proc_look(pid_in(w, "left"), &p) &&
		p.parent == getpid())) {
		assert_true(rv_now() < end);
		nap();
	}
	return p.pid;
}

/* Its memory goes first: it may have gigabytes of it, and still hold its ports. */
static void who_is_about_to_end_when_it_is_met_is_not_nobodys(void **state)
{
	struct world *w = *state;
	pid_t left = left_unmet(w, 1);

	bare.pid = left;
	bare.times = INT_MAX;
	bare.ends = true;
	w->r->doubted = left; /* its second is not over, whatever holds us up */
	w->r->doubted_since = rv_now() + 3600 * RV_SEC;
	UNTIL(w, w->lives[1].exited);
	assert_int_equal(w->lives[1].gone, 0);
	assert_true(rv_reaper_wait(w->r) <= 50 * RV_MS);
	kill(left, SIGKILL);
	UNTIL(w, w->lives[1].gone);
	assert_true(is_dead(left));
}

static void who_does_not_come_to_its_end_holds_others_up_for_a_second_only(void **state)
{
	struct world *w = *state;
	pid_t left = left_unmet(w, 1);
	rv_time began = rv_now();

	bare.pid = left;
	bare.times = INT_MAX;
	bare.ends = true;
	UNTIL(w, w->lives[1].gone);
	assert_true(rv_now() - began >= RV_SEC);
	assert_false(is_dead(left));
}

static void who_is_between_two_programs_when_it_is_met_is_asked_again(void **state)
{
	struct world *w = *state;
	pid_t left = left_unmet(w, 1);

	bare.pid = left;
	bare.times = 1;
	bare.ends = false;
	UNTIL(w, w->lives[1].exited);
	assert_int_equal(w->lives[1].gone, 0);
	assert_int_equal(bare.times, 0);
	assert_true(rv_reaper_owns(w->r, 1, left));
	rv_reaper_kill(w->r, 1);
	UNTIL(w, w->lives[1].gone);
}

static void who_has_ended_has_no_program(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	while (!is_zombie(pid))
		nap();
	assert_false(rv_proc_has_program(pid));
	assert_true(rv_proc_has_program(getpid()));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(rv_proc_has_program(pid));
}

static void children_of_threads_are_found_too(void **state)
{
	struct world *w = *state;
	pid_t left;

	start_python(w, 1, 1,
		PRELUDE SCRUBBED "def f():\n"
				 " scrubbed(); time.sleep(1000)\n"
				 "threading.Thread(target=f).start()\n"
				 "time.sleep(1000)\n");
	left = told_pid(w, "left");
	assert_true(rv_reaper_owns(w->r, 1, left));
	rv_reaper_kill(w->r, 1);
	UNTIL(w, w->lives[1].gone);
	assert_true(is_dead(left));
}

/* Fieldcase 11: the shell dies at once, its slow child keeps the life open. */
static void a_life_is_not_gone_before_its_group_is_empty(void **state)
{
	struct world *w = *state;

	start_python(w, 1, 1,
		PRELUDE "if os.fork()==0:\n"
			" def f(*a):\n"
			"  while not os.path.exists(T+'/go'): time.sleep(0.001)\n"
			"  open(T+'/clean','w').close(); os._exit(0)\n"
			" signal.signal(15,f)\n"
			" tell('ready')\n"
			" while True: time.sleep(1000)\n"
			"time.sleep(1000)\n");
	UNTIL(w, exists(w, "ready"));
	assert_true(rv_reaper_signal(w->r, 1, SIGTERM, RV_TO_GROUP));
	UNTIL(w, w->lives[1].exited);
	turns(w, 20);
	assert_int_equal(w->lives[1].gone, 0);
	say_go(w);
	UNTIL(w, w->lives[1].gone);
	assert_true(exists(w, "clean"));
}

static void a_forking_leftover_is_caught_by_the_kill(void **state)
{
	struct world *w = *state;
	struct rv_buf names = {0};

	start_python(w, 1, 1,
		PRELUDE "signal.signal(15,signal.SIG_IGN)\n"
			"tell('ready')\n"
			"for i in range(100000):\n"
			" if os.fork(): os._exit(0)\n"
			" os.setsid()\n"
			" time.sleep(.001)\n");
	UNTIL(w, exists(w, "ready") && w->lives[1].exited);
	assert_int_equal(w->lives[1].gone, 0);
	rv_reaper_name(w->r, 1, &names);
	rv_buf_fini(&names);
	rv_reaper_kill(w->r, 1);
	assert_true(rv_reaper_wait(w->r) <= 50 * RV_MS);
	UNTIL(w, w->lives[1].gone);
}

static void leftovers_of_one_life_are_not_those_of_another(void **state)
{
	struct world *w = *state;
	pid_t other;

	start_python(w, 2, 1,
		PRELUDE "if os.fork()==0:\n"
			" os.setsid()\n"
			" if os.fork()==0:\n"
			"  tell('other'); time.sleep(1000)\n"
			" os._exit(0)\n"
			"time.sleep(1000)\n");
	other = told_pid(w, "other");
	start(w, 1, 1, LIST("/bin/sh", "-c", "exit 0"));
	UNTIL(w, w->lives[1].gone);
	start(w, 1, 2, LIST("/bin/sleep", "1000"));
	rv_reaper_kill(w->r, 1);
	UNTIL(w, w->lives[1].gone);
	assert_false(is_dead(other));
	assert_true(rv_reaper_owns(w->r, 2, other));
	assert_false(rv_reaper_owns(w->r, 1, other));
	assert_int_equal(w->lives[2].exited, 0);
}

/* 40: a real-time signal. */
static void signals_go_to_main_group_or_tree(void **state)
{
	struct world *w = *state;

	start_python(w, 1, 1,
		PRELUDE "signal.pthread_sigmask(0,[40])\n"
			"def count(name):\n" /* one by one: a handler would see several as one */
			" while True:\n"
			"  signal.sigwait([40])\n"
			"  open(T+'/'+name+str(time.monotonic_ns()),'w').close()\n"
			"if os.fork()==0:\n"
			" tell('a'); count('group-')\n"
			"if os.fork()==0:\n"
			" os.setsid(); tell('b'); count('far-')\n"
			"tell('c'); count('main-')\n");
	UNTIL(w, exists(w, "a") && exists(w, "b") && exists(w, "c"));
	assert_true(rv_reaper_signal(w->r, 1, 40, RV_TO_MAIN));
	UNTIL(w, !system("test $(ls $T | grep -c main-) = 1"));
	assert_true(rv_reaper_signal(w->r, 1, 40, RV_TO_GROUP));
	UNTIL(w,
		!system("test $(ls $T | grep -c main-) = 2 && test $(ls $T | grep -c group-) = 1"));
	assert_true(rv_reaper_signal(w->r, 1, 40, RV_TO_TREE));
	UNTIL(w,
		!system("test $(ls $T | grep -c main-) = 3 && test $(ls $T | grep -c group-) = 2 &&"
			" test $(ls $T | grep -c far-) = 1"));
	for (int i = 0; i < 40; i++) /* signals of this number queue: a second one would show */
		nap();
	assert_int_equal(
		system("test $(ls $T | grep -c main-) = 3 && test $(ls $T | grep -c group-) = 2"),
		0);
	rv_reaper_kill(w->r, 1);
	UNTIL(w, w->lives[1].gone);
}

static void what_is_left_is_named(void **state)
{
	struct world *w = *state;
	struct rv_buf names = {0};
	char want[64];
	pid_t pid = start(w, 1, 1, LIST("/bin/sleep", "1000"));

	rv_reaper_name(w->r, 1, &names);
	snprintf(want, sizeof(want), "%d (sleep)", (int)pid);
	assert_string_equal(rv_buf_text(&names), want);
	rv_buf_fini(&names);
	rv_reaper_kill(w->r, 1);
	UNTIL(w, w->lives[1].gone);
}

/* ---- identity ---- */

/* A number that was seen and now belongs to somebody else. */
static void a_recycled_number_is_never_signalled(void **state)
{
	struct world *w = *state;
	pid_t pid = start(w, 1, 1, LIST("/bin/sleep", "1000"));
	pid_t stranger = fork();
	struct rv_proc p;

	if (!stranger) {
		pid_t inner = fork();

		if (!inner)
			execl("/bin/sleep", "sleep", "1000", (char *)NULL);
		waitpid(inner, NULL, 0);
		_exit(0);
	}
	UNTIL(w, !system("true") && rv_proc_look(stranger, &p));
	{
		struct rv_pids inner = {0};

		UNTIL(w, (rv_proc_children(stranger, &inner), inner.count > 0));
		rv_proc_look(inner.at[0], &p);
		rv_pidmap_put(&w->r->seen,
			&(struct rv_kinsman){.pid = p.pid,
				.kin = RV_KIN_SEEN,
				.id = 1,
				.generation = 1,
				.start = p.start - 100});
		assert_false(rv_kin_signal(w->r, p.pid, SIGKILL));
		assert_false(is_dead(p.pid));
		rv_pidmap_find(&w->r->seen, p.pid)->start = p.start;
		assert_true(rv_kin_signal(w->r, p.pid, SIGKILL));
		rv_pids_fini(&inner);
	}
	assert_int_equal(rv_reaper_pid(w->r, 1), pid);
	rv_reaper_kill(w->r, 1);
	UNTIL(w, w->lives[1].gone);
}

/* ---- helpers ---- */

static void helper_done(void *arg, pid_t pid, rv_exit how)
{
	struct world *w = arg;

	assert_true(pid > 0);
	w->helpers_done++;
	w->helper_how = how;
}

static void a_helper_is_told_once_and_its_group_is_killed(void **state)
{
	struct world *w = *state;
	pid_t left;

	rv_reaper_add_helper(w->r,
		spawn("",
			LIST("/bin/sh", "-c",
				"sleep 1000 & echo $! > $1/t-left; mv $1/t-left $1/left; exit 9",
				"sh", w->dir)),
		helper_done, w);
	UNTIL(w, w->helpers_done);
	assert_int_equal(w->helper_how, 9);
	left = pid_in(w, "left");
	UNTIL(w, is_dead(left));
	assert_int_equal(w->helpers_done, 1);
}

static void a_dropped_helper_is_killed_and_never_told(void **state)
{
	struct world *w = *state;
	pid_t pid = spawn("", LIST("/bin/sleep", "1000"));

	rv_reaper_add_helper(w->r, pid, helper_done, w);
	rv_reaper_drop_helper(w->r, pid, true);
	UNTIL(w, is_dead(pid) && !zombies_of(getpid()));
	assert_int_equal(w->helpers_done, 0);
}

/* ---- the end ---- */

static void whoever_was_just_killed_does_not_count_as_resisting(void **state)
{
	struct world *w = *state;
	pid_t pid = start(w, 1, 1, LIST("/bin/sleep", "1000"));

	assert_int_equal(rv_reaper_sweep(w->r, 0), 0);
	assert_int_equal(kill(pid, 0), -1);
}

static void the_sweep_leaves_no_child_but_spares_what_was_there_before_us(void **state)
{
	struct world *w = *state;
	struct rv_reaper *late;
	pid_t before = spawn("", LIST("/bin/sleep", "1000"));

	late = rv_reaper_create(4, &ops, w);
	assert_non_null(late);
	spawn("", LIST("/bin/sh", "-c", "setsid sleep 1000 & sleep 1000"));
	assert_int_equal(rv_reaper_sweep(late, 5 * RV_SEC), 0);
	rv_reaper_destroy(late);
	if (getpid() == 1) { /* then everything in the namespace is ours */
		assert_true(is_dead(before));
		return;
	}
	assert_false(is_dead(before));
	{
		struct rv_pids list = {0};

		rv_proc_children(getpid(), &list);
		assert_int_equal(list.count, 1);
		assert_int_equal(list.at[0], before);
		rv_pids_fini(&list);
	}
}

/* ---- launchers ---- */

/* Leaves a process in a session of its own, which has a child, and ends with 0. */
static const char launcher[] = PRELUDE
	"if os.fork()==0:\n"
	" os.setsid()\n"
	" if os.fork()==0:\n"
	"  tell('child'); time.sleep(1000)\n"
	" tell('left'); time.sleep(1000)\n"
	"while not (os.path.exists(T+'/left') and os.path.exists(T+'/child')):\n"
	" time.sleep(0.001)\n";

/* The daemon of a launcher that has ended. */
static pid_t launch(struct world *w, rv_id id)
{
	start_python(w, id, 1, launcher);
	rv_reaper_expect_heir(w->r, id);
	UNTIL(w, w->lives[id].exited);
	assert_int_equal(w->lives[id].how, 0);
	turns(w, 5);
	assert_int_equal(w->lives[id].gone, 0);
	assert_int_equal(rv_reaper_pid(w->r, id), 0);
	return pid_in(w, "left");
}

static void a_life_goes_on_with_another_main_process(void **state)
{
	struct world *w = *state;
	pid_t daemon = launch(w, 0), child = pid_in(w, "child");

	assert_true(rv_reaper_hand_over(w->r, 0, daemon));
	assert_int_equal(rv_reaper_pid(w->r, 0), daemon);
	assert_true(rv_reaper_hand_over(w->r, 0, daemon));
	w->lives[0].exited = 0;
	turns(w, 5);
	assert_int_equal(w->lives[0].gone, 0);
	assert_int_equal(rv_reaper_wait(w->r), RV_NEVER);
	assert_true(rv_reaper_owns(w->r, 0, child));
	/* Its end is the life's, and its group is what it was: the child is found by it. */
	kill(daemon, SIGKILL);
	UNTIL(w, w->lives[0].exited);
	assert_int_equal(w->lives[0].how, RV_EXIT_SIGNAL(SIGKILL));
	assert_int_equal(w->lives[0].gone, 0);
	assert_true(rv_reaper_ask(w->r, 0, SIGTERM, RV_TO_GROUP));
	UNTIL(w, w->lives[0].gone);
	assert_true(is_dead(child));
}

/* A daemon that is found before it makes a session of its own, which it does when it is told to. */
static const char wanderer[] = PRELUDE "if os.fork()==0:\n"
				       " tell('left')\n"
				       " while not os.path.exists(T+'/go'): time.sleep(0.001)\n"
				       " os.setsid(); tell('moved'); time.sleep(1000)\n"
				       "while not os.path.exists(T+'/left'): time.sleep(0.001)\n";

static void a_main_process_that_leaves_its_group_is_followed_there(void **state)
{
	struct world *w = *state;
	pid_t daemon;

	start_python(w, 0, 1, wanderer);
	rv_reaper_expect_heir(w->r, 0);
	UNTIL(w, w->lives[0].exited);
	daemon = pid_in(w, "left");
	turns(w, 2);
	assert_true(rv_reaper_hand_over(w->r, 0, daemon));
	w->lives[0].exited = 0;
	say_go(w);
	assert_int_equal(told_pid(w, "moved"), daemon);
	assert_true(rv_reaper_ask(w->r, 0, SIGTERM, RV_TO_GROUP));
	UNTIL(w, w->lives[0].gone);
	assert_int_equal(w->lives[0].how, RV_EXIT_SIGNAL(SIGTERM));
}

/* Whoever was put into our own group must not take us with it. */
static void a_main_process_in_our_own_group_is_signalled_alone(void **state)
{
	struct world *w = *state;
	pid_t late;

	setpgid(0, 0); /* if it goes wrong, we are the only one */
	launch(w, 0);
	late = fork();
	if (!late)
		for (;;)
			pause();
	turns(w, 2);
	assert_true(rv_reaper_claim(w->r, 0, late));
	assert_true(rv_reaper_hand_over(w->r, 0, late));
	w->lives[0].exited = 0;
	signal(SIGUSR1, SIG_IGN);
	assert_true(rv_reaper_signal(w->r, 0, SIGUSR1, RV_TO_GROUP));
	UNTIL(w, w->lives[0].exited);
	assert_int_equal(w->lives[0].how, RV_EXIT_SIGNAL(SIGUSR1));
	rv_reaper_kill(w->r, 0);
	UNTIL(w, w->lives[0].gone);
	assert_int_equal(rv_reaper_whose(w->r, getpid()), RV_NO_ID);
}

static void who_is_found_late_may_still_be_killed_with_the_tree(void **state)
{
	struct world *w = *state;
	pid_t daemon = launch(w, 0), child = pid_in(w, "child");

	rv_reaper_kill(w->r, 0);
	UNTIL(w, w->lives[0].gone);
	assert_true(is_dead(daemon) && is_dead(child));
}

static void a_life_that_waits_for_its_heir_is_gone_when_there_is_none(void **state)
{
	struct world *w = *state;

	start(w, 0, 1, LIST("/bin/sh", "-c", "exit 0"));
	rv_reaper_expect_heir(w->r, 0);
	UNTIL(w, w->lives[0].exited);
	turns(w, 5);
	assert_int_equal(w->lives[0].gone, 0);
	rv_reaper_no_heir(w->r, 0);
	UNTIL(w, w->lives[0].gone);
	/* Asked to leave it does not wait, nor when it ended badly. */
	start(w, 0, 2, LIST("/bin/sh", "-c", "exit 0"));
	rv_reaper_expect_heir(w->r, 0);
	UNTIL(w, w->lives[0].exited);
	rv_reaper_ask(w->r, 0, SIGTERM, RV_TO_TREE);
	UNTIL(w, w->lives[0].gone);
	start(w, 0, 3, LIST("/bin/sh", "-c", "exit 3"));
	rv_reaper_expect_heir(w->r, 0);
	UNTIL(w, w->lives[0].gone);
}

static bool may_be_claimed(struct world *w, rv_id id, pid_t pid)
{
	struct rv_pids list = {0};
	bool found = false;

	rv_reaper_unclaimed(w->r, id, &list);
	for (size_t i = 0; i < list.count; i++)
		found = found || list.at[i] == pid;
	rv_pids_fini(&list);
	return found;
}

/* One that forks twice is on its way for a moment. */
static void the_tree_is_looked_at_twice_before_it_is_believed(void **state)
{
	const struct rv_service s = {.name = "s", .type = RV_LAUNCHER};
	struct world *w = *state;
	struct rv_seek k = {0};
	struct rv_err why;
	pid_t pid = 0, daemon;

	assert_true(rv_seek_begin(&k, &s.main_pid, NULL));
	daemon = launch(w, 0);
	assert_int_equal(rv_seek_try(&k, &s, w->r, &pid, &why), RV_SOUGHT_NOT_YET);
	assert_non_null(strstr(why.text, "may not be its last process yet"));
	assert_int_equal(rv_seek_try(&k, &s, w->r, &pid, &why), RV_SOUGHT_FOUND);
	assert_int_equal(pid, daemon);
	assert_int_equal(rv_reaper_pid(w->r, 0), daemon);
	w->lives[0].exited = 0;
	rv_reaper_kill(w->r, 0);
	UNTIL(w, w->lives[0].gone);
	rv_seek_fini(&k);
}

static void only_one_of_this_life_can_follow(void **state)
{
	struct world *w = *state;
	pid_t early = spawn("nobody", LIST("/bin/sleep", "1000")), late, other;

	poll(NULL, 0, 50); /* /proc counts in hundredths of a second */
	launch(w, 0);
	late = spawn("nobody", LIST("/bin/sleep", "1000"));
	other = start(w, 1, 1, LIST("/bin/sleep", "1000"));
	turns(w, 2);
	assert_false(rv_reaper_hand_over(w->r, 0, pid_in(w, "child"))); /* no child of ours */
	assert_false(rv_reaper_hand_over(w->r, 0, other));
	assert_false(rv_reaper_hand_over(w->r, 0, late));
	assert_false(rv_reaper_hand_over(w->r, 0, getpid()));
	assert_false(may_be_claimed(w, 0, early) || rv_reaper_claim(w->r, 0, early));
	assert_false(may_be_claimed(w, 0, other) || rv_reaper_claim(w->r, 0, other));
	assert_true(may_be_claimed(w, 0, late) && rv_reaper_claim(w->r, 0, late));
	assert_true(rv_reaper_hand_over(w->r, 0, late));
	w->lives[0].exited = 0;
	rv_reaper_kill(w->r, 0);
	UNTIL(w, w->lives[0].gone);
	assert_true(is_dead(late) && is_dead(pid_in(w, "left")));
	assert_false(is_dead(early) || is_dead(other));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_exit_and_gone_come_in_one_turn_when_nothing_is_left),
		T(a_death_by_signal_is_told_as_such),
		T(a_new_life_may_begin_inside_gone),
		T(the_first_that_ended_is_told_before_the_rest_is_looked_at),
		T(orphans_are_collected_and_never_steal_a_status),
		T(a_daemonised_leftover_is_found_when_the_main_process_was_killed_first),
		T(a_scrubbed_descendant_is_found_because_it_was_seen),
		T(a_scrubbed_orphan_that_nobody_saw_is_told_by_its_output),
		T(a_long_list_of_children_is_read_to_its_end),
		T(an_orphan_is_known_before_anybody_ended_also_when_there_was_no_child_at_all),
		T(without_children_files_the_slow_way_finds_the_same),
		T(a_scrubbed_job_is_told_by_its_session),
		T(a_group_that_does_not_empty_leads_to_who_holds_it),
		T(an_unknown_child_that_ended_unasked_makes_us_look_again),
		T(who_is_about_to_end_when_it_is_met_is_not_nobodys),
		T(who_does_not_come_to_its_end_holds_others_up_for_a_second_only),
		T(who_is_between_two_programs_when_it_is_met_is_asked_again),
		T(who_has_ended_has_no_program),
		T(children_of_threads_are_found_too),
		T(a_life_is_not_gone_before_its_group_is_empty),
		T(a_forking_leftover_is_caught_by_the_kill),
		T(leftovers_of_one_life_are_not_those_of_another),
		T(signals_go_to_main_group_or_tree),
		T(what_is_left_is_named),
		T(a_recycled_number_is_never_signalled),
		T(a_helper_is_told_once_and_its_group_is_killed),
		T(a_dropped_helper_is_killed_and_never_told),
		T(a_life_goes_on_with_another_main_process),
		T(a_main_process_that_leaves_its_group_is_followed_there),
		T(a_main_process_in_our_own_group_is_signalled_alone),
		T(who_is_found_late_may_still_be_killed_with_the_tree),
		T(a_life_that_waits_for_its_heir_is_gone_when_there_is_none),
		T(the_tree_is_looked_at_twice_before_it_is_believed),
		T(only_one_of_this_life_can_follow),
		T(whoever_was_just_killed_does_not_count_as_resisting),
		T(the_sweep_leaves_no_child_but_spares_what_was_there_before_us),
	};

	rv_spawn_prepare();
	return cmocka_run_group_tests_name("reap", tests, NULL, NULL);
}
