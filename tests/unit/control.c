/* The control socket, over a real socket and a real loop, with an engine that obeys a script. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>
#include <ev.h>

#include "base/names.h"
#include "daemon/because.h"
#include "daemon/capture.h"
#include "daemon/control.h"
#include "daemon/envchange.h"
#include "daemon/envset.h"
#include "daemon/ident.h"
#include "daemon/reload.h"
#include "sys/clock.h"
#include "wire/rpc.h"

/* --- an engine that does what it is told ------------------------------------------------------- */

enum { SLOTS = 4, WEB = 0, DB = 1, TASK = 2, VACANT = 3, HISTORY = 16 };

struct fake {
	struct rv_look look;
	const char *name, *detail;
	pid_t pid;
	int signalled;
	bool fails; /* its next start fails */
	bool lazy; /* stays where it is after a start or a stop; the test moves it on */
};

struct rv_follower {
	void (*more)(void *ctx, const char *bytes, size_t n);
	void *ctx;
};

struct rv_capture {
	const char *tail;
	struct rv_follower follower;
};

struct rv_engine {
	struct ev_loop *loop;
	struct rv_conf conf;
	struct rv_service services[SLOTS];
	struct rv_plan plan;
	struct rv_node nodes[SLOTS];
	struct fake slot[SLOTS];
	struct rv_event queue[256];
	size_t queued;
	size_t events; /* that were applied, ever */
	enum rv_event_kind last;
	struct rv_watcher *watcher;
	struct rv_history history;
	uid_t stopped_by[SLOTS];
	rv_id asked_id; /* options of it are looked at by its plugin: `given` waits */
	bool (*given)(void *arg, const char *why);
	void *given_arg;
	enum rv_boot boot;
	bool closing;
	bool wrong; /* what a reload finds */
	bool unsettled;
	uint64_t reloads;
	uint8_t change[SLOTS];
	bool swept[SLOTS];
	ev_prepare prepare;
	struct rv_capture capture[SLOTS];
};

static void move_to(struct rv_engine *g, rv_id id, enum rv_state state)
{
	struct rv_happening *n = rv_history_add(&g->history);

	*n = (struct rv_happening){.at = rv_now(),
		.id = id,
		.other = RV_NO_ID,
		.exit = RV_EXIT_UNKNOWN,
		.state = (uint8_t)state,
		.generation = g->slot[id].look.generation};
	snprintf(n->detail, sizeof(n->detail), "%s", g->slot[id].detail ? g->slot[id].detail : "");
	g->slot[id].look.state = state;
	g->slot[id].look.since = rv_now();
	if (g->watcher)
		g->watcher->changed(g->watcher, id);
}

static void begin_life(struct rv_engine *g, rv_id id)
{
	struct fake *f = &g->slot[id];

	f->look.generation++;
	f->look.flags = RV_LOOK_WANTED | RV_LOOK_NEEDED;
	f->look.why = RV_WHY_NONE;
	f->look.started = rv_now();
	f->pid = 1000 + (pid_t)f->look.generation;
	if (f->lazy)
		move_to(g, id, RV_STARTING);
	else if (f->fails) {
		f->pid = 0;
		f->look.why = RV_WHY_EXIT_EARLY;
		f->look.exit = 3;
		move_to(g, id, RV_FAILED);
	} else
		move_to(g, id, id == TASK ? RV_EXITED : RV_READY);
}

static void apply_one(struct rv_engine *g, const struct rv_event *e)
{
	struct fake *f = e->id < SLOTS ? &g->slot[e->id] : NULL;

	g->events++;
	g->last = (enum rv_event_kind)e->kind;
	if (e->kind == RV_EV_START && f->look.state != RV_READY)
		begin_life(g, e->id);
	else if (e->kind == RV_EV_RESTART)
		begin_life(g, e->id);
	else if (e->kind == RV_EV_STOP) {
		f->look.flags = RV_LOOK_HELD;
		f->look.why = RV_WHY_OPERATOR;
		if (!f->lazy)
			f->pid = 0;
		if (f->look.state != RV_EXITED)
			move_to(g, e->id, f->lazy ? RV_STOPPING : RV_STOPPED);
	} else if (e->kind == RV_EV_SHUTDOWN)
		g->closing = true;
}

static void on_prepare(struct ev_loop *loop, ev_prepare *w, int events)
{
	struct rv_engine *g = w->data;

	(void)loop, (void)events;
	for (size_t i = 0; i < g->queued; i++)
		apply_one(g, &g->queue[i]);
	g->queued = 0;
}

const struct rv_conf *rv_engine_conf(const struct rv_engine *g)
{
	return &g->conf;
}

struct rv_hostlink *rv_engine_host(const struct rv_engine *g)
{
	(void)g;
	return NULL;
}

pid_t rv_hostlink_pid(const struct rv_hostlink *h)
{
	(void)h;
	return 0;
}

size_t rv_engine_slots(const struct rv_engine *g)
{
	(void)g;
	return SLOTS;
}

struct rv_view rv_engine_look(struct rv_engine *g, rv_id id)
{
	const struct fake *f = &g->slot[id];

	return (struct rv_view){.id = id,
		.name = f->name,
		.plugin = "exec",
		.look = f->look,
		.essential = true,
		.enabled = true,
		.pid = f->pid,
		.detail = f->detail ? f->detail : "",
		.other = f->look.other < SLOTS ? g->slot[f->look.other].name : NULL};
}

struct rv_look rv_engine_glance(const struct rv_engine *g, rv_id id)
{
	return g->slot[id].look;
}

const char *rv_engine_name(const struct rv_engine *g, rv_id id)
{
	return g->slot[id].name;
}

rv_id rv_engine_find(const struct rv_engine *g, const char *name)
{
	for (rv_id id = 0; id < SLOTS; id++)
		if (g->slot[id].name && !strcmp(g->slot[id].name, name))
			return id;
	return RV_NO_ID;
}

enum rv_boot rv_engine_boot(const struct rv_engine *g)
{
	return g->boot;
}

bool rv_engine_closing(const struct rv_engine *g)
{
	return g->closing;
}

/* None of them is held, and all are essential. */
enum rv_presence rv_engine_presence(const struct rv_engine *g, rv_id id)
{
	enum rv_state state = g->slot[id].look.state;

	if (!g->services[id].enabled || state == RV_READY || state == RV_ADOPTED ||
		(state == RV_EXITED && id == TASK))
		return RV_THERE;
	return RV_LACKED;
}

enum rv_whole rv_engine_whole(const struct rv_engine *g)
{
	bool ready = !g->closing && g->boot > RV_BOOT_UNDER_WAY;

	for (rv_id id = 0; id < VACANT; id++)
		ready &= rv_engine_presence(g, id) == RV_THERE;
	return ready ? RV_WHOLE_READY : RV_WHOLE_NOT_READY;
}

rv_time rv_engine_started(const struct rv_engine *g)
{
	(void)g;
	return 0;
}

const struct rv_history *rv_engine_history(const struct rv_engine *g)
{
	return &g->history;
}

void rv_because_tell(
	struct rv_engine *g, rv_id id, bool open, struct rv_because *b, struct rv_buf *sentence)
{
	*b = (struct rv_because){.id = id,
		.look = g->slot[id].look,
		.await = {.what = RV_AWAIT_CHECK, .other = RV_NO_ID, .by = RV_NEVER},
		.root = id,
		.answer = open ? NULL : "refused"};
	rv_buf_fmt(sentence, "%s is asked", g->slot[id].name);
}

bool rv_engine_give(struct rv_engine *g, rv_id id, const struct rv_word *words, size_t count,
	bool restart, bool (*given)(void *arg, const char *why), void *arg, struct rv_buf *why)
{
	(void)restart;
	if (count != 1 || strcmp(words[0].key, "token") != 0) {
		rv_buf_str(why, "no such option");
		return false;
	}
	g->asked_id = id;
	g->given = given;
	g->given_arg = arg;
	return true;
}

void rv_engine_give_drop(struct rv_engine *g, rv_id id)
{
	assert_int_equal(id, g->asked_id);
	g->given = NULL;
}

void rv_engine_stopped_by(struct rv_engine *g, rv_id id, uid_t uid)
{
	g->stopped_by[id] = uid;
}

uid_t rv_engine_stopper(const struct rv_engine *g, rv_id id)
{
	return g->stopped_by[id];
}

bool rv_engine_waits_for_resume(const struct rv_engine *g, rv_id id)
{
	(void)g, (void)id;
	return false;
}

const struct rv_account *rv_engine_account(const struct rv_engine *g, rv_id id)
{
	static const struct rv_account none;

	(void)g, (void)id;
	return &none;
}

/* What is done about other variables is tested with a real engine. */
bool rv_env_change(struct rv_engine *g, struct rv_variables *variables, bool replace,
	rv_time within, rv_env_done *done, void *arg, struct rv_err *e)
{
	(void)g, (void)replace, (void)within, (void)done, (void)arg;
	rv_variables_fini(variables);
	return rv_fail(e, RV_ERR_REFUSED, "not here");
}

bool rv_env_changes(const struct rv_engine *g)
{
	(void)g;
	return false;
}

void rv_env_disown(struct rv_engine *g)
{
	(void)g;
}

const struct rv_envset *rv_engine_env(const struct rv_engine *g)
{
	(void)g;
	return NULL;
}

const char *const *rv_envset_list(const struct rv_envset *s)
{
	(void)s;
	return NULL;
}

const struct rv_suspicion *rv_engine_suspicion(const struct rv_engine *g, rv_id id)
{
	(void)g, (void)id;
	return NULL;
}

void rv_engine_reported(struct rv_engine *g, rv_id id, uid_t uid)
{
	(void)g, (void)id, (void)uid;
}

void rv_engine_pause(struct rv_engine *g, rv_id id, bool paused, uid_t uid)
{
	struct rv_event e = {.kind = paused ? RV_EV_PAUSE : RV_EV_RESUME, .id = id};

	(void)uid;
	rv_engine_push(g, &e);
}

void rv_engine_give_none(struct rv_engine *g, rv_id id, enum rv_event_kind request)
{
	(void)g, (void)id, (void)request;
}

size_t rv_engine_given(const struct rv_engine *g, rv_id id, const char *const **names)
{
	(void)g, (void)id;
	*names = NULL;
	return 0;
}

void rv_engine_push(struct rv_engine *g, const struct rv_event *e)
{
	g->queue[g->queued++] = *e;
}

void rv_engine_watch(struct rv_engine *g, struct rv_watcher *w)
{
	g->watcher = w;
}

void rv_engine_unwatch(struct rv_engine *g, struct rv_watcher *w)
{
	(void)w;
	g->watcher = NULL;
}

bool rv_engine_signal(struct rv_engine *g, rv_id id, int number, struct rv_err *e)
{
	if (!g->slot[id].pid)
		return rv_fail(e, RV_ERR_REFUSED, "it does not run");
	g->slot[id].signalled = number;
	return true;
}

struct rv_capture *rv_engine_capture(struct rv_engine *g, rv_id id)
{
	return g->capture[id].tail ? &g->capture[id] : NULL;
}

void rv_capture_tail(
	const struct rv_capture *c, size_t lines, size_t bytes, bool err_only, struct rv_buf *to)
{
	(void)lines, (void)bytes, (void)err_only;
	rv_buf_str(to, c->tail);
}

void rv_capture_tail_whole(
	const struct rv_capture *c, size_t lines, size_t bytes, struct rv_buf *to)
{
	rv_capture_tail(c, lines, bytes, false, to);
}

bool rv_capture_read_back(const struct rv_capture *c, size_t lines, size_t bytes, struct rv_buf *to)
{
	(void)c, (void)lines, (void)bytes, (void)to;
	return false;
}

struct rv_follower *rv_capture_follow(
	struct rv_capture *c, void (*more)(void *ctx, const char *bytes, size_t n), void *ctx)
{
	c->follower = (struct rv_follower){more, ctx};
	return &c->follower;
}

void rv_capture_unfollow(struct rv_capture *c, struct rv_follower *f)
{
	assert_ptr_equal(f, &c->follower);
	c->follower.more = NULL;
}

uint64_t rv_capture_lost(const struct rv_capture *c)
{
	(void)c;
	return 0;
}

void rv_conf_print(const struct rv_conf *conf, struct rv_buf *to)
{
	for (size_t i = 0; i < (conf->plugin_dir ? 10000 : 1); i++)
		rv_buf_str(to, "the plan\n");
}

/* A mask that knows one secret. */
struct rv_mask *rv_mask_create(const struct rv_conf *conf)
{
	(void)conf;
	return calloc(1, 1);
}

void rv_mask_destroy(struct rv_mask *m)
{
	free(m);
}

void rv_mask_add(const struct rv_mask *m, const char *text, struct rv_buf *to)
{
	const char *secret = strstr(text, "sesame");

	(void)m;
	rv_buf_add(to, text, secret ? (size_t)(secret - text) : strlen(text));
	rv_buf_str(to, secret ? "***" : "");
}

void rv_complaints_fini(struct rv_complaints *c)
{
	rv_buf_fini(&c->text);
	free(c->list);
}

void rv_load_check(const struct rv_load *l, const struct rv_conf *running, struct rv_complaints *c)
{
	(void)l, (void)running;
	c->errors = 1;
	c->warnings = 1;
	rv_buf_str(&c->text, "x.yaml:7:3: wrong\nwarning: odd\n");
	c->list = calloc(2, sizeof(*c->list));
	c->count = 2;
	c->list[0] = (struct rv_complaint){
		.file_len = 6, .text = 12, .end = 17, .line = 7, .column = 3};
	c->list[1] = (struct rv_complaint){.start = 18, .text = 27, .end = 30, .warning = true};
}

bool rv_engine_is_settled(const struct rv_engine *g)
{
	return !g->unsettled;
}

static struct rv_replacing replacing(struct rv_engine *g)
{
	return (struct rv_replacing){.number = g->reloads,
		.before = &g->conf,
		.now = &g->conf,
		.change = g->change,
		.swept = g->swept,
		.slots = SLOTS};
}

bool rv_engine_reload(struct rv_engine *g, const struct rv_load *files, struct rv_complaints *c,
	struct rv_replacing *r)
{
	if (g->wrong) {
		rv_load_check(files, &g->conf, c);
		return false;
	}
	g->reloads++;
	*r = replacing(g);
	return true;
}

const char *rv_engine_reload_is_refused(const struct rv_engine *g)
{
	return g->closing ? "reeve is shutting down" : NULL;
}

struct rv_reload *rv_engine_foresee(struct rv_engine *g, const struct rv_load *files,
	struct rv_complaints *c, struct rv_replacing *r)
{
	(void)files, (void)c;
	*r = replacing(g);
	return (struct rv_reload *)g;
}

void rv_reload_destroy(struct rv_reload *r)
{
	(void)r;
}

bool rv_ident_owner(const char *user, const char *group, uid_t *uid, gid_t *gid, struct rv_err *e)
{
	if (user && !strcmp(user, "nobody-here"))
		return rv_fail(e, RV_ERR_CONFIG, "no user nobody-here");
	*uid = user ? (uid_t)atoi(user) : (uid_t)-1;
	*gid = group ? (gid_t)atoi(group) : (gid_t)-1;
	return true;
}

static unsigned born_mode;

/* Stands before libc's: what a socket's mode is at the moment of its birth. */
int bind(int fd, const struct sockaddr *a, socklen_t len)
{
	int r = (int)syscall(SYS_bind, fd, a, len);
	struct stat st;

	if (!r && !lstat(((const struct sockaddr_un *)(const void *)a)->sun_path, &st))
		born_mode = st.st_mode & 07777;
	return r;
}

/* --- the stage --------------------------------------------------------------------------------- */

static const char *const web_argv[] = {"/bin/web", "--token=sesame", NULL};
static const char *const web_env[] = {"PATH=/bin", "SECRET=hidden-value", NULL};
static const struct rv_key web_keys[] = {
	{.name = "token",
		.type = RV_KEY_SECRET,
		.preset = "hidden-preset",
		.summary = "who may in"},
	{.name = "wait",
		.type = RV_KEY_DURATION,
		.min = RV_SEC,
		.max = 60 * RV_SEC,
		.summary = "how long"},
};
static const struct rv_plugin_table table = {.name = "exec",
	.summary = "runs a command",
	.keys = web_keys,
	.key_count = 2,
	.hooks = RV_HAS(RV_HOOK_START)};
static const struct rv_option web_options[] = {
	{.key = &web_keys[0], .value = "sesame", .value_len = 6}};
static const rv_id order[] = {DB, WEB, TASK};

struct stage {
	char dir[64], path[100];
	struct rv_engine g;
	struct rv_control *control;
	struct rv_buf in; /* what the client has read */
};

static void fill_engine(struct rv_engine *g, const char *dir)
{
	static const char *const names[SLOTS] = {"web", "db", "task", NULL};

	g->boot = RV_BOOT_DONE;
	g->plan = (struct rv_plan){.nodes = SLOTS, .node = g->nodes, .present = 3, .order = order};
	g->conf = (struct rv_conf){.runtime_dir = dir,
		.control_mode = 0660,
		.services = g->services,
		.service_count = SLOTS,
		.plan = &g->plan};
	for (rv_id id = 0; id < SLOTS; id++) {
		g->slot[id].name = names[id];
		g->slot[id].look = (struct rv_look){.state = RV_STOPPED,
			.other = RV_NO_ID,
			.exit = RV_EXIT_UNKNOWN,
			.due = RV_NEVER};
		g->services[id] = (struct rv_service){.id = id,
			.enabled = true,
			.essential = true,
			.name = names[id],
			.plugin = "exec",
			.table = names[id] ? &table : NULL,
			.type = id == TASK ? RV_TASK : RV_DAEMON};
	}
	g->services[WEB].argv = web_argv;
	g->services[WEB].env = web_env;
	g->services[WEB].options = web_options;
	g->services[WEB].option_count = 1;
	g->capture[WEB].tail = "line 1\nline 2\n";
}

static void open_control(struct stage *s)
{
	struct rv_err e = {0};

	s->control = rv_control_create(s->g.loop, &s->g, &e);
	if (!s->control)
		fail_msg("%s", e.text);
}

static int set_up(void **state)
{
	struct stage *s = calloc(1, sizeof(*s));

	strcpy(s->dir, "/tmp/reeve-control-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	chmod(s->dir, 0755);
	snprintf(s->path, sizeof(s->path), "%s/control.sock", s->dir);
	s->g.loop = ev_loop_new(EVFLAG_NOENV);
	fill_engine(&s->g, s->dir);
	ev_prepare_init(&s->g.prepare, on_prepare);
	s->g.prepare.data = &s->g;
	ev_prepare_start(s->g.loop, &s->g.prepare);
	rv_history_init(&s->g.history, HISTORY);
	open_control(s);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct stage *s = *state;

	rv_control_destroy(s->control);
	ev_prepare_stop(s->g.loop, &s->g.prepare);
	ev_loop_destroy(s->g.loop);
	unlink(s->path);
	rmdir(s->path);
	rv_history_fini(&s->g.history);
	if (rmdir(s->dir))
		fail_msg("something was left in %s", s->dir);
	rv_buf_fini(&s->in);
	free(s);
	return 0;
}

static int dial(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static void spin(struct stage *s, int turns)
{
	while (turns--)
		ev_run(s->g.loop, EVRUN_NOWAIT);
}

static void post(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void say(int fd, const char *method, const char *params)
{
	char line[2048];

	snprintf(line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}\n", method, params);
	post(fd, line);
}

/* The next line, turning the loop until it is there; NULL at the end of the connection. Bounded. */
static cJSON *hear_within(struct stage *s, int fd, rv_time bound)
{
	rv_time until = rv_now() + bound;

	for (;;) {
		char *end = s->in.len ? memchr(s->in.data, '\n', s->in.len) : NULL;
		char chunk[8192];
		ssize_t n;

		if (end) {
			size_t len = (size_t)(end - s->in.data);
			cJSON *tree = cJSON_ParseWithLength(s->in.data, len);

			if (!tree)
				fail_msg("not JSON: %.*s", (int)len, s->in.data);
			rv_buf_drop(&s->in, len + 1);
			return tree;
		}
		spin(s, 1);
		n = recv(fd, chunk, sizeof(chunk), 0);
		if (n > 0)
			rv_buf_add(&s->in, chunk, (size_t)n);
		else if (n == 0 || errno == ECONNRESET)
			return NULL;
		else if (rv_now() > until)
			fail_msg("no answer");
	}
}

static cJSON *hear(struct stage *s, int fd)
{
	return hear_within(s, fd, 10 * RV_SEC);
}

/* One request and its answer. */
static cJSON *ask(struct stage *s, int fd, const char *method, const char *params)
{
	say(fd, method, params);
	return hear(s, fd);
}

static bool is_silent(struct stage *s, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	spin(s, 20);
	return poll(&p, 1, 0) == 0;
}

static const cJSON *at(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	if (!v)
		fail_msg("no \"%s\"", key);
	return v;
}

static const cJSON *service_of(const cJSON *answer, int i)
{
	return cJSON_GetArrayItem(at(at(answer, "result"), "services"), i);
}

/* One request of one service, and what became of it. */
static void expect_outcome(struct stage *s, const char *method, const char *params,
	const char *outcome, const char *state)
{
	int fd = dial(s->path);
	cJSON *answer;

	answer = ask(s, fd, method, params);
	assert_string_equal(at(service_of(answer, 0), "outcome")->valuestring, outcome);
	assert_string_equal(at(service_of(answer, 0), "state")->valuestring, state);
	cJSON_Delete(answer);
	close(fd);
}

static void expect_error(
	struct stage *s, int fd, const char *method, const char *params, int code, const char *part)
{
	cJSON *answer;

	answer = ask(s, fd, method, params);
	assert_int_equal(at(at(answer, "error"), "code")->valueint, code);
	if (!strstr(at(at(answer, "error"), "message")->valuestring, part))
		fail_msg("\"%s\" is not in \"%s\"", part,
			at(at(answer, "error"), "message")->valuestring);
	cJSON_Delete(answer);
}

/* --- answers at once --------------------------------------------------------------------------- */

static void status_lists_all_in_start_order(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	move_to(&s->g, WEB, RV_READY);
	s->g.slot[WEB].pid = 77;
	s->g.slot[WEB].detail = "said: secret";
	post(fd, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"status\"}\n");
	answer = hear(s, fd);
	assert_string_equal(at(answer, "id")->valuestring, "x");
	assert_string_equal(at(at(answer, "result"), "boot")->valuestring, "done");
	assert_int_equal(cJSON_GetArraySize(at(at(answer, "result"), "services")), 3);
	assert_string_equal(at(service_of(answer, 0), "name")->valuestring, "db");
	assert_string_equal(at(service_of(answer, 1), "name")->valuestring, "web");
	assert_int_equal(at(service_of(answer, 1), "pid")->valueint, 77);
	assert_string_equal(at(service_of(answer, 1), "detail")->valuestring, "said: secret");
	cJSON_Delete(answer);
	close(fd);
}

static void unknown_names_are_all_listed_and_nothing_is_changed(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	answer = ask(s, fd, "start", "{\"names\":[\"web\",\"wbe\",\"zzzzzz\"]}");
	assert_int_equal(at(at(answer, "error"), "code")->valueint, RV_RPC_NO_SUCH);
	assert_non_null(
		strstr(at(at(answer, "error"), "message")->valuestring, "did you mean \"web\""));
	assert_int_equal(cJSON_GetArraySize(at(at(at(answer, "error"), "data"), "names")), 2);
	cJSON_Delete(answer);
	spin(s, 5);
	assert_int_equal(s->g.events, 0);
	close(fd);
}

static void pipelined_requests_are_answered_in_one_go(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	struct rv_buf all = {0};

	for (int i = 0; i < 500; i++)
		rv_buf_fmt(&all,
			"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"status\",\"params\":{"
			"\"names\":[\"web\"]}}\n",
			i);
	for (size_t sent = 0; sent < all.len;
		spin(s, 1)) { /* the client reads nothing in between */
		ssize_t n = send(fd, all.data + sent, all.len - sent, MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
	}
	for (int i = 0; i < 500; i++) {
		cJSON *answer = hear(s, fd);

		assert_int_equal(at(answer, "id")->valueint, i);
		cJSON_Delete(answer);
	}
	rv_buf_fini(&all);
	close(fd);
}

static void requests_in_pieces_and_without_a_last_newline_are_understood(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	const char *line = "\n  \r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"version\"}";
	cJSON *answer;

	for (size_t i = 0; line[i]; i++) {
		assert_int_equal(send(fd, line + i, 1, 0), 1);
		spin(s, 1);
	}
	shutdown(fd, SHUT_WR);
	answer = hear(s, fd);
	assert_string_equal(at(at(answer, "result"), "version")->valuestring, PACKAGE_VERSION);
	cJSON_Delete(answer);
	assert_null(hear(s, fd)); /* and then it closes */
	close(fd);
}

static void garbage_is_answered_and_the_connection_goes_on(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	post(fd, "GET / HTTP/1.1\n");
	answer = hear(s, fd);
	assert_int_equal(at(at(answer, "error"), "code")->valueint, RV_RPC_PARSE);
	cJSON_Delete(answer);
	expect_error(s, fd, "strat", "{}", RV_RPC_NO_METHOD, "did you mean \"start\"");
	close(fd);
}

static void a_line_without_end_is_refused_and_closed(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	char block[4096];
	cJSON *answer;

	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 20; i++) {
		(void)!send(fd, block, sizeof(block), MSG_NOSIGNAL);
		spin(s, 1);
	}
	answer = hear(s, fd);
	assert_int_equal(at(at(answer, "error"), "code")->valueint, RV_RPC_INVALID);
	cJSON_Delete(answer);
	assert_null(hear(s, fd));
	close(fd);
}

static void a_notification_acts_and_is_not_answered(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);

	post(fd,
		"{\"jsonrpc\":\"2.0\",\"method\":\"start\",\"params\":{\"names\":[\"web\"]}}\n"
		"{\"jsonrpc\":\"2.0\",\"method\":\"status\"}\n{\"jsonrpc\":\"2.0\",\"method\":"
		"\"logs\",\"params\":{\"names\":[\"nix\"]}}\n");
	assert_true(is_silent(s, fd));
	assert_int_equal(s->g.slot[WEB].look.state, RV_READY);
	close(fd);
}

static void plan_and_plugins_never_tell_a_secret(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;
	char *text;

	answer = ask(s, fd, "plan", "{}");
	text = cJSON_PrintUnformatted(answer);
	assert_non_null(strstr(text, "\"--token=***\""));
	assert_null(strstr(text, "sesame"));
	assert_null(strstr(text, "hidden-value"));
	assert_non_null(strstr(text, "\"SECRET\""));
	cJSON_free(text);
	cJSON_Delete(answer);
	answer = ask(s, fd, "plugins", "{}");
	text = cJSON_PrintUnformatted(answer);
	assert_int_equal(cJSON_GetArraySize(at(at(answer, "result"), "plugins")), 1);
	assert_null(strstr(text, "hidden-preset"));
	assert_non_null(strstr(text, "\"min\":\"1s\",\"max\":\"1m\""));
	cJSON_free(text);
	cJSON_Delete(answer);
	close(fd);
}

static void expect_json(const cJSON *o, const char *key, const char *json)
{
	char *text = cJSON_PrintUnformatted(at(o, key));

	assert_non_null(text);
	if (strcmp(text, json) != 0)
		fail_msg("%s is %s, not %s", key, text, json);
	cJSON_free(text);
}

static void a_plan_has_all_of_a_service_as_members(void **state)
{
	static const struct rv_step steps[] = {{SIGINT, RV_TO_GROUP, 2 * RV_SEC}};
	static const struct rv_dependency deps[] = {
		{.on = DB, .kind = RV_NEEDS, .until = RV_UNTIL_READY},
		{.on = TASK, .kind = RV_AFTER}};
	static const struct rv_listen listen[] = {
		{.name = "http", .address = "127.0.0.1:80", .fd = 3},
		{.name = "x",
			.family = RV_UNIX,
			.address = "/run/sesame",
			.fd = 4,
			.has_mode = true,
			.mode = 0660}};
	static const char *const probe[] = {"/bin/probe", "sesame", NULL};
	static const struct rv_key env_key = {
		.name = "words", .type = RV_KEY_WORDS, .env = "WORDS"};
	const struct rv_option options[] = {web_options[0],
		{.key = &env_key, .value = "a\0b sesame", .value_len = 11, .from = RV_FROM_ENV},
		{.key = &web_keys[1]}};
	struct stage *s = *state;
	struct rv_service *web = &s->g.services[WEB];
	int fd = dial(s->path);
	cJSON *answer, *got;

	s->g.plan.steps = steps;
	s->g.plan.kill_timeout = 5 * RV_SEC;
	s->g.nodes[WEB] = (struct rv_node){.step_count = 1,
		.restart_on = RV_RESTART_FAILURE,
		.delay = RV_SEC,
		.factor_milli = 1500,
		.limit = 5,
		.window = 60 * RV_SEC};
	web->deps = deps;
	web->dep_count = 2;
	web->listen = listen;
	web->listen_count = 2;
	web->has_ready = true;
	web->ready = (struct rv_check){
		.exec = probe, .http_url = "http://h/?sesame", .timeout = RV_SEC};
	web->log = (struct rv_log_conf){
		.kind = RV_LOG_FILE, .path = "/var/log/web", .max_size = 10, .keep = 2};
	web->user = "nobody";
	web->options = options;
	web->option_count = 3;
	answer = ask(s, fd, "plan", "{}");
	got = cJSON_GetArrayItem(at(at(answer, "result"), "services"), 1);
	expect_json(got, "name", "\"web\"");
	expect_json(got, "type", "\"daemon\"");
	expect_json(got, "user", "\"nobody\"");
	expect_json(got, "group", "null");
	expect_json(got, "environment", "[\"PATH\",\"SECRET\"]");
	expect_json(got, "needs", "[{\"name\":\"db\",\"until\":\"ready\"}]");
	expect_json(got, "wants", "[]");
	expect_json(got, "after", "[{\"name\":\"task\"}]");
	expect_json(got, "listen",
		"[{\"name\":\"http\",\"family\":\"tcp4\",\"address\":\"127.0.0.1:80\",\"fd\":3,"
		"\"backlog\":0},"
		"{\"name\":\"x\",\"family\":\"unix\",\"address\":\"/run/"
		"***\",\"fd\":4,\"backlog\":0,"
		"\"mode\":\"0660\",\"owner\":null,\"group\":null}]");
	expect_json(got, "ready",
		"{\"plugin\":false,\"http\":\"http://h/?***\",\"exec\":[\"/bin/probe\",\"***\"],"
		"\"timeout_ms\":1000,\"attempt_timeout_ms\":0}");
	expect_json(got, "restart",
		"{\"on\":\"failure\",\"delay_ms\":1000,\"factor\":1.5,\"max_delay_ms\":0,\"limit\":"
		"5,"
		"\"window_ms\":60000,\"on_give_up\":\"ignore\",\"start_attempts\":0}");
	expect_json(got, "stop",
		"[{\"signal\":\"INT\",\"to\":\"group\",\"timeout_ms\":2000},"
		"{\"signal\":\"KILL\",\"to\":\"tree\",\"timeout_ms\":5000}]");
	expect_json(got, "log",
		"{\"to\":\"file\",\"path\":\"/var/log/web\",\"max_size\":10,\"keep\":2}");
	expect_json(got, "options",
		"[{\"name\":\"token\",\"value\":\"***\",\"source\":\"default\"},{\"name\":"
		"\"words\",\"value\":"
		"[\"a\",\"b ***\"],\"source\":\"variable\",\"variable\":\"WORDS\"}]");
	expect_json(cJSON_GetArrayItem(at(at(answer, "result"), "services"), 2), "ready",
		"{\"exit\":0}");
	cJSON_Delete(answer);
	close(fd);
}

static void check_reads_the_files_again(void **state)
{
	struct stage *s = *state;
	struct rv_load load = {0};
	int fd = dial(s->path);
	cJSON *answer;
	char *text;

	rv_control_files(s->control, &load);
	answer = ask(s, fd, "check", "{}");
	assert_true(cJSON_IsFalse(at(at(answer, "result"), "ok")));
	text = cJSON_PrintUnformatted(at(answer, "result"));
	assert_string_equal(text,
		"{\"ok\":false,\"errors\":1,\"warnings\":1,\"complaints\":[{\"file\":\"x.yaml\","
		"\"line\":"
		"7,\"column\":3,\"warning\":false,\"text\":\"wrong\"},{\"file\":null,\"line\":null,"
		"\"column\":null,\"warning\":true,\"text\":\"odd\"}]}");
	cJSON_free(text);
	cJSON_Delete(answer);
	close(fd);
}

static void wrong_files_are_the_answer_to_a_reload(void **state)
{
	struct stage *s = *state;
	struct rv_load load = {0};
	int fd = dial(s->path);
	cJSON *answer;

	rv_control_files(s->control, &load);
	s->g.wrong = true;
	answer = ask(s, fd, "reload", "{}");
	assert_true(cJSON_IsFalse(at(at(answer, "result"), "ok")));
	assert_int_equal(at(at(answer, "result"), "errors")->valueint, 1);
	assert_int_equal(cJSON_GetArraySize(at(at(answer, "result"), "complaints")), 2);
	cJSON_Delete(answer);
	close(fd);
}

/* WEB is changed, DB removed, TASK stands on one of them. */
static void reload_begins(struct stage *s, struct rv_load *load)
{
	rv_control_files(s->control, load);
	s->g.change[WEB] = RV_CHANGED;
	s->g.change[DB] = RV_REMOVED;
	s->g.swept[TASK] = true;
	for (rv_id id = WEB; id <= TASK; id++)
		s->g.slot[id].look.flags = RV_LOOK_NEEDED;
}

static void tell_replacing(struct stage *s, bool given_up)
{
	struct rv_replacing r = replacing(&s->g);

	r.given_up = given_up;
	s->g.watcher->replacing(s->g.watcher, &r);
	if (given_up)
		return;
	s->g.unsettled = true;
	s->g.watcher->changed(s->g.watcher, RV_NO_ID);
}

static void a_reload_is_answered_when_all_that_it_brings_is_there(void **state)
{
	struct stage *s = *state;
	struct rv_load load = {0};
	int fd = dial(s->path);
	cJSON *answer;
	char *text;

	reload_begins(s, &load);
	move_to(&s->g, TASK, RV_STOPPED);
	move_to(&s->g, WEB, RV_READY); /* its old life, as far as anybody has looked */
	say(fd, "reload", "{}");
	assert_true(is_silent(s, fd));
	move_to(&s->g, WEB, RV_STOPPED);
	tell_replacing(s, false);
	assert_true(is_silent(s, fd));
	s->g.unsettled = false;
	move_to(&s->g, WEB, RV_STARTING);
	move_to(&s->g, TASK, RV_EXITED);
	assert_true(is_silent(s, fd));
	move_to(&s->g, WEB, RV_READY);
	answer = hear(s, fd);
	cJSON_DeleteItemFromObject(cJSON_GetObjectItem(answer, "result"), "boot");
	assert_int_equal(cJSON_GetArraySize(at(at(answer, "result"), "services")), 2);
	cJSON_DeleteItemFromObject(cJSON_GetObjectItem(answer, "result"), "services");
	text = cJSON_PrintUnformatted(at(answer, "result"));
	assert_string_equal(text,
		"{\"errors\":0,\"warnings\":0,\"complaints\":[],\"added\":[],\"removed\":[\"db\"],"
		"\"changed\":[\"web\"],\"restarted\":[\"task\"],\"adjusted\":[],\"unchanged\":0,"
		"\"ok\":true}");
	cJSON_free(text);
	cJSON_Delete(answer);
	close(fd);
}

static void a_reload_that_another_one_replaces_has_failed(void **state)
{
	struct stage *s = *state;
	struct rv_load load = {0};
	int fd = dial(s->path), next = dial(s->path), late = dial(s->path);
	cJSON *answer;

	reload_begins(s, &load);
	say(fd, "reload", "{}");
	assert_true(is_silent(s, fd));
	tell_replacing(s, true);
	answer = hear(s, fd);
	assert_int_equal(at(at(answer, "error"), "code")->valueint, RV_RPC_REFUSED);
	cJSON_Delete(answer);
	say(next, "reload", "{}");
	say(late, "reload", "{\"timeout_ms\":20}");
	answer = hear(s, late);
	assert_int_equal(at(at(answer, "error"), "code")->valueint, RV_RPC_TIMEOUT);
	cJSON_Delete(answer);
	close(late);
	answer = ask(s, fd, "reload", "{\"no_wait\":true}");
	assert_true(cJSON_IsTrue(at(at(answer, "result"), "ok")));
	cJSON_Delete(answer);
	close(fd);
	close(next); /* who leaves waits for nothing any more */
	spin(s, 3);
	tell_replacing(s, false);
}

static void who_waits_for_what_a_reload_removes_is_told(void **state)
{
	struct stage *s = *state;
	struct rv_load load = {0};
	int fd = dial(s->path);
	cJSON *answer;

	reload_begins(s, &load);
	move_to(&s->g, DB, RV_READY);
	say(fd, "wait", "{\"names\":[\"db\"],\"until\":\"exited\"}");
	assert_true(is_silent(s, fd));
	move_to(&s->g, DB, RV_STOPPED);
	tell_replacing(s, false);
	s->g.services[DB].name = NULL;
	s->g.slot[DB].name = NULL;
	s->g.unsettled = false;
	answer = hear(s, fd);
	assert_string_equal(at(service_of(answer, 0), "name")->valuestring, "db");
	assert_string_equal(at(service_of(answer, 0), "outcome")->valuestring, "not-ready");
	assert_non_null(strstr(at(service_of(answer, 0), "why")->valuestring, "removed"));
	cJSON_Delete(answer);
	close(fd);
}

static void signal_goes_to_those_that_run(void **state)
{
	struct stage *s = *state;

	expect_outcome(
		s, "signal", "{\"names\":[\"web\"],\"signal\":\"HUP\"}", "not-ready", "stopped");
	s->g.slot[WEB].pid = 5;
	move_to(&s->g, WEB, RV_READY);
	expect_outcome(s, "signal", "{\"names\":[\"web\"],\"signal\":\"USR1\"}", "done", "ready");
	assert_int_equal(s->g.slot[WEB].signalled, SIGUSR1);
}

static void shutdown_is_passed_on_and_later_starts_are_refused(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);

	cJSON_Delete(ask(s, fd, "shutdown", "{}"));
	spin(s, 3);
	assert_int_equal(s->g.last, RV_EV_SHUTDOWN);
	expect_error(s, fd, "start", "{\"names\":[\"web\"]}", RV_RPC_REFUSED, "shutting down");
	expect_error(s, fd, "restart", "{\"names\":[\"web\"]}", RV_RPC_REFUSED, "shutting down");
	expect_outcome(s, "stop", "{\"names\":[\"web\"]}", "done", "stopped");
	close(fd);
}

/* --- answers that wait ------------------------------------------------------------------------- */

static void start_waits_until_ready(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	s->g.slot[WEB].lazy = true;
	say(fd, "start", "{\"names\":[\"web\"]}");
	assert_true(is_silent(s, fd));
	assert_int_equal(s->g.slot[WEB].look.state, RV_STARTING);
	move_to(&s->g, WEB, RV_READY);
	answer = hear(s, fd);
	assert_true(cJSON_IsTrue(at(at(answer, "result"), "ok")));
	assert_string_equal(at(service_of(answer, 0), "outcome")->valuestring, "done");
	cJSON_Delete(answer);
	close(fd);
}

static void what_is_there_already_is_a_success(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	move_to(&s->g, WEB, RV_READY);
	s->g.slot[WEB].look.generation = 3;
	answer = ask(s, fd, "start", "{\"names\":[\"web\"]}");
	assert_true(cJSON_IsTrue(at(service_of(answer, 0), "ok")));
	assert_string_equal(
		at(service_of(answer, 0), "why")->valuestring, "it was running already");
	assert_int_equal(at(service_of(answer, 0), "generation")->valueint, 3);
	cJSON_Delete(answer);
	close(fd);
	expect_outcome(s, "stop", "{\"names\":[\"db\"]}", "done", "stopped");
	expect_outcome(s, "stop", "{\"names\":[\"db\"]}", "done", "stopped");
}

static void a_start_that_fails_says_why(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	s->g.slot[WEB].fails = true;
	s->g.slot[WEB].detail = "exited with 3; last lines: boom";
	answer = ask(s, fd, "start", "{\"names\":[\"web\",\"db\",\"web\"]}");
	assert_true(cJSON_IsFalse(at(at(answer, "result"), "ok")));
	assert_int_equal(cJSON_GetArraySize(at(at(answer, "result"), "services")), 2);
	assert_string_equal(at(service_of(answer, 0), "outcome")->valuestring, "failed");
	assert_string_equal(
		at(service_of(answer, 0), "why")->valuestring, "exited with 3; last lines: boom");
	assert_string_equal(
		at(at(service_of(answer, 0), "stderr"), "text")->valuestring, "line 1\nline 2\n");
	assert_string_equal(at(service_of(answer, 1), "outcome")->valuestring, "done");
	cJSON_Delete(answer);
	close(fd);
}

static void a_failure_of_before_is_not_the_outcome_of_a_new_start(void **state)
{
	struct stage *s = *state;

	move_to(&s->g, WEB, RV_FAILED);
	expect_outcome(s, "start", "{\"names\":[\"web\"]}", "done", "ready");
}

static void restart_waits_for_the_next_generation(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	move_to(&s->g, WEB, RV_READY);
	s->g.slot[WEB].look.generation = 8;
	s->g.slot[WEB].lazy = true;
	say(fd, "restart", "{\"names\":[\"web\"]}");
	assert_true(is_silent(s, fd));
	s->g.slot[WEB].look.generation = 8; /* as if the old life were still there */
	move_to(&s->g, WEB, RV_READY);
	assert_true(is_silent(s, fd));
	s->g.slot[WEB].look.generation = 9;
	move_to(&s->g, WEB, RV_READY);
	answer = hear(s, fd);
	assert_int_equal(at(service_of(answer, 0), "generation")->valueint, 9);
	cJSON_Delete(answer);
	close(fd);
}

static void options_are_for_one_service_and_a_wrong_one_changes_nothing(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	expect_error(s, fd, "start", "{\"names\":[\"web\"],\"options\":{\"tokn\":\"x\"}}",
		RV_RPC_REFUSED, "no such option");
	expect_error(s, fd, "start", "{\"names\":[\"web\",\"db\"],\"options\":{\"token\":\"x\"}}",
		RV_RPC_PARAMS, "exactly one name");
	expect_error(s, fd, "start", "{\"names\":[\"web\"],\"options\":{\"token\":1}}",
		RV_RPC_PARAMS, "token");
	expect_error(
		s, fd, "start", "{\"names\":[\"web\"],\"options\":[]}", RV_RPC_PARAMS, "object");
	expect_error(
		s, fd, "stop", "{\"names\":[\"web\"],\"options\":{}}", RV_RPC_PARAMS, "options");
	assert_int_equal(s->g.events, 0);
	say(fd, "start", "{\"names\":[\"web\"],\"options\":{\"token\":\"x\"}}");
	assert_true(is_silent(s, fd));
	assert_false(s->g.given(s->g.given_arg, "token must be longer"));
	answer = hear(s, fd);
	assert_string_equal(
		at(at(answer, "error"), "message")->valuestring, "web: token must be longer");
	cJSON_Delete(answer);
	assert_int_equal(s->g.events, 0);
	say(fd, "start", "{\"names\":[\"web\"],\"options\":{\"token\":\"x\"}}");
	spin(s, 5);
	assert_true(s->g.given(s->g.given_arg, NULL));
	answer = hear(s, fd);
	assert_true(cJSON_IsTrue(at(at(answer, "result"), "ok")));
	assert_int_equal(s->g.events, 1);
	cJSON_Delete(answer);
	close(fd);
}

static void a_client_that_leaves_while_its_options_are_looked_at_starts_nothing(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);

	say(fd, "start", "{\"names\":[\"web\"],\"options\":{\"token\":\"x\"}}");
	spin(s, 5);
	assert_non_null(s->g.given);
	close(fd);
	spin(s, 5);
	assert_null(s->g.given);
	assert_int_equal(s->g.events, 0);
}

static void a_stale_generation_changes_nothing(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);

	s->g.slot[WEB].look.generation = 8;
	expect_error(s, fd, "restart", "{\"names\":[\"web\"],\"generation\":7}", RV_RPC_STALE,
		"not the present");
	expect_error(s, fd, "stop", "{\"names\":[\"web\"],\"generation\":9}", RV_RPC_STALE,
		"not the present");
	expect_error(s, fd, "signal", "{\"names\":[\"web\"],\"generation\":7,\"signal\":9}",
		RV_RPC_STALE, "not the present");
	spin(s, 3);
	assert_int_equal(s->g.events, 0);
	expect_outcome(s, "restart", "{\"names\":[\"web\"],\"generation\":8}", "done", "ready");
	close(fd);
}

static void a_wait_has_a_bound_and_says_where_things_are(void **state)
{
	struct stage *s = *state;

	s->g.slot[WEB].lazy = true;
	expect_outcome(
		s, "start", "{\"names\":[\"web\"],\"timeout_ms\":30}", "timeout", "starting");
	expect_outcome(s, "start", "{\"names\":[\"web\"],\"timeout_ms\":0}", "timeout", "starting");
}

static void no_wait_answers_when_the_core_has_seen_it(void **state)
{
	struct stage *s = *state;

	s->g.slot[WEB].lazy = true;
	expect_outcome(
		s, "start", "{\"names\":[\"web\"],\"no_wait\":true}", "under-way", "starting");
	expect_outcome(
		s, "stop", "{\"names\":[\"web\"],\"no_wait\":true}", "under-way", "stopping");
}

static void stop_waits_until_it_is_gone(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	move_to(&s->g, WEB, RV_READY);
	s->g.slot[WEB].lazy = true;
	say(fd, "stop", "{\"names\":[\"web\"]}");
	assert_true(is_silent(s, fd));
	move_to(&s->g, WEB, RV_KILLING);
	assert_true(is_silent(s, fd));
	move_to(&s->g, WEB, RV_STOPPED);
	answer = hear(s, fd);
	assert_true(cJSON_IsTrue(at(at(answer, "result"), "ok")));
	cJSON_Delete(answer);
	close(fd);
}

static void a_stop_that_somebody_undoes_fails_and_one_that_is_stuck_does_too(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	move_to(&s->g, WEB, RV_READY);
	s->g.slot[WEB].lazy = true;
	say(fd, "stop", "{\"names\":[\"web\"]}");
	assert_true(is_silent(s, fd));
	s->g.slot[WEB].look.flags = RV_LOOK_WANTED | RV_LOOK_NEEDED;
	s->g.slot[WEB].look.generation++;
	move_to(&s->g, WEB, RV_STARTING);
	answer = hear(s, fd);
	assert_string_equal(at(service_of(answer, 0), "outcome")->valuestring, "failed");
	cJSON_Delete(answer);
	say(fd, "stop", "{\"names\":[\"web\"]}");
	assert_true(is_silent(s, fd));
	s->g.slot[WEB].look.why = RV_WHY_STUCK;
	move_to(&s->g, WEB, RV_KILLING);
	answer = hear(s, fd);
	assert_string_equal(at(service_of(answer, 0), "why")->valuestring, "survived KILL");
	cJSON_Delete(answer);
	say(fd, "restart", "{\"names\":[\"web\"]}");
	assert_true(is_silent(s, fd));
	s->g.slot[WEB].look.why = RV_WHY_STUCK;
	move_to(&s->g, WEB, RV_KILLING);
	answer = hear(s, fd);
	assert_string_equal(at(service_of(answer, 0), "outcome")->valuestring, "failed");
	cJSON_Delete(answer);
	close(fd);
}

static void what_is_not_ours_is_not_stopped(void **state)
{
	struct stage *s = *state;

	s->g.slot[WEB].lazy = true;
	move_to(&s->g, WEB, RV_ADOPTED);
	expect_outcome(s, "start", "{\"names\":[\"db\"]}", "done", "ready");
	s->g.slot[WEB].look.state = RV_ADOPTED;
	expect_outcome(s, "wait", "{\"names\":[\"web\"]}", "done", "adopted");
	expect_outcome(
		s, "wait", "{\"names\":[\"web\"],\"until\":\"stopped\"}", "not-ready", "adopted");
}

static void a_client_that_leaves_takes_only_its_waiting_along(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path), other = dial(s->path);
	cJSON *answer;

	s->g.slot[WEB].lazy = true;
	say(fd, "start", "{\"names\":[\"web\"]}");
	assert_true(is_silent(s, fd));
	say(other, "wait", "{\"names\":[\"web\"]}");
	assert_true(is_silent(s, other));
	close(fd);
	spin(s, 5);
	move_to(&s->g, WEB, RV_READY);
	answer = hear(s, other);
	assert_true(cJSON_IsTrue(at(at(answer, "result"), "ok")));
	cJSON_Delete(answer);
	close(other);
}

static void a_half_closed_client_still_gets_what_it_waits_for(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	s->g.slot[WEB].lazy = true;
	say(fd, "start", "{\"names\":[\"web\"]}");
	shutdown(fd, SHUT_WR);
	assert_true(is_silent(s, fd));
	move_to(&s->g, WEB, RV_READY);
	answer = hear(s, fd);
	assert_true(cJSON_IsTrue(at(at(answer, "result"), "ok")));
	cJSON_Delete(answer);
	assert_null(hear(s, fd));
	close(fd);
}

static void wait_tells_what_will_not_come(void **state)
{
	struct stage *s = *state;

	expect_outcome(s, "wait", "{\"names\":[\"web\"]}", "not-ready", "stopped");
	move_to(&s->g, WEB, RV_FAILED);
	expect_outcome(s, "wait", "{\"names\":[\"web\"]}", "not-ready", "failed");
	expect_outcome(s, "wait", "{\"names\":[\"web\"],\"until\":\"stopped\"}", "done", "failed");
	expect_outcome(
		s, "wait", "{\"names\":[\"web\"],\"until\":\"exited\"}", "not-ready", "failed");
	move_to(&s->g, WEB, RV_EXITED);
	expect_outcome(s, "wait", "{\"names\":[\"web\"]}", "not-ready", "exited");
	expect_outcome(s, "wait", "{\"names\":[\"web\"],\"until\":\"exited\"}", "done", "exited");
	move_to(&s->g, TASK, RV_EXITED);
	expect_outcome(s, "wait", "{\"names\":[\"task\"]}", "done", "exited");
	s->g.slot[WEB].look.other = DB; /* waits for what failed */
	move_to(&s->g, DB, RV_FAILED);
	move_to(&s->g, WEB, RV_WAITING);
	expect_outcome(s, "wait", "{\"names\":[\"web\"]}", "not-ready", "waiting");
	expect_outcome(s, "wait", "{\"names\":[\"web\"],\"until\":\"stopped\",\"timeout_ms\":10}",
		"timeout", "waiting");
}

static void the_sandbox_is_ready_when_boot_is_done_and_all_is_there(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	s->g.boot = RV_BOOT_UNDER_WAY;
	for (rv_id id = 0; id < 3; id++)
		move_to(&s->g, id, id == TASK ? RV_EXITED : RV_READY);
	say(fd, "wait", "{}");
	assert_true(is_silent(s, fd));
	move_to(&s->g, WEB, RV_BACKOFF);
	s->g.boot = RV_BOOT_DONE;
	s->g.watcher->changed(s->g.watcher, RV_NO_ID);
	assert_true(is_silent(s, fd));
	move_to(&s->g, WEB, RV_READY);
	answer = hear(s, fd);
	assert_true(cJSON_IsTrue(at(at(answer, "result"), "ok")));
	assert_int_equal(cJSON_GetArraySize(at(at(answer, "result"), "services")), 0);
	cJSON_Delete(answer);
	move_to(&s->g, DB, RV_FAILED);
	answer = ask(s, fd, "wait", "{}");
	assert_true(cJSON_IsFalse(at(at(answer, "result"), "ok")));
	assert_string_equal(at(service_of(answer, 0), "name")->valuestring, "db");
	cJSON_Delete(answer);
	close(fd);
}

static void a_boot_that_failed_is_ready_when_it_was_not_rolled_back_and_all_is_there(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	s->g.boot = RV_BOOT_UNDER_WAY;
	for (rv_id id = 0; id < 3; id++)
		move_to(&s->g, id, RV_READY);
	move_to(&s->g, WEB, RV_FAILED);
	say(fd, "wait", "{}");
	assert_true(is_silent(s, fd));
	s->g.boot = RV_BOOT_FAILED;
	s->g.watcher->changed(s->g.watcher, RV_NO_ID);
	answer = hear(s, fd);
	assert_true(cJSON_IsFalse(at(at(answer, "result"), "ok")));
	assert_string_equal(at(at(answer, "result"), "boot")->valuestring, "failed");
	cJSON_Delete(answer);
	move_to(&s->g, WEB, RV_READY);
	answer = ask(s, fd, "wait", "{}");
	assert_true(cJSON_IsTrue(at(at(answer, "result"), "ok")));
	assert_string_equal(at(at(answer, "result"), "boot")->valuestring, "failed");
	cJSON_Delete(answer);
	s->g.closing = true; /* as it is with a rollback */
	answer = ask(s, fd, "wait", "{}");
	assert_true(cJSON_IsFalse(at(at(answer, "result"), "ok")));
	cJSON_Delete(answer);
	close(fd);
}

static void all_means_every_service(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	answer = ask(s, fd, "start", "{\"all\":true}");
	assert_int_equal(cJSON_GetArraySize(at(at(answer, "result"), "services")), 3);
	assert_true(cJSON_IsTrue(at(at(answer, "result"), "ok")));
	cJSON_Delete(answer);
	answer = ask(s, fd, "stop", "{\"all\":true}");
	assert_true(cJSON_IsTrue(at(at(answer, "result"), "ok")));
	cJSON_Delete(answer);
	assert_int_equal(s->g.slot[DB].look.state, RV_STOPPED);
	close(fd);
}

static void waits_are_answered_when_reeve_leaves(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	s->g.slot[WEB].lazy = true;
	say(fd, "start", "{\"names\":[\"web\"]}");
	assert_true(is_silent(s, fd));
	rv_control_destroy(s->control);
	s->control = NULL;
	answer = hear(s, fd);
	assert_int_equal(at(at(answer, "error"), "code")->valueint, RV_RPC_REFUSED);
	cJSON_Delete(answer);
	assert_null(hear(s, fd));
	close(fd);
}

static void waits_on_one_connection_are_bounded(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;

	s->g.slot[WEB].lazy = true;
	for (int i = 0; i < 256; i++) {
		say(fd, "wait", "{\"names\":[\"web\"],\"until\":\"stopped\"}");
		if (!i)
			cJSON_Delete(hear(s, fd)); /* it is stopped: answered */
		if (!i)
			move_to(&s->g, WEB, RV_READY);
		spin(s, 1);
	}
	say(fd, "wait", "{\"names\":[\"web\"],\"until\":\"stopped\"}");
	assert_true(is_silent(s, fd));
	answer = ask(s, fd, "wait", "{\"names\":[\"web\"],\"until\":\"stopped\"}");
	assert_int_equal(at(at(answer, "error"), "code")->valueint, RV_RPC_REFUSED);
	cJSON_Delete(answer);
	close(fd);
}

/* --- logs -------------------------------------------------------------------------------------- */

static void logs_come_as_a_tail_and_then_as_they_are_written(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	cJSON *answer;
	struct rv_follower *f = &s->g.capture[WEB].follower;

	answer = ask(s, fd, "logs", "{\"names\":[\"web\"],\"follow\":true,\"lines\":5}");
	assert_string_equal(at(service_of(answer, 0), "text")->valuestring, "line 1\nline 2\n");
	cJSON_Delete(answer);
	f->more(f->ctx, "line 3\n", 7);
	f->more(f->ctx, "\xff\n", 2);
	answer = hear(s, fd);
	assert_string_equal(at(answer, "method")->valuestring, "log");
	assert_string_equal(at(at(answer, "params"), "text")->valuestring, "line 3\n");
	cJSON_Delete(answer);
	answer = hear(s, fd);
	assert_string_equal(at(at(answer, "params"), "base64")->valuestring, "/wo=");
	cJSON_Delete(answer);
	close(fd);
	spin(s, 3);
	assert_null(f->more);
}

static void a_follower_that_does_not_read_loses_lines_and_is_told_how_many(void **state)
{
	struct stage *s = *state;
	struct rv_follower *f = &s->g.capture[WEB].follower;
	int fd = dial(s->path), other = dial(s->path);
	uint64_t told = 0, got = 0;
	char line[1000];
	cJSON *note;

	say(fd, "logs", "{\"names\":[\"web\"],\"follow\":true}");
	spin(s, 5);
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	for (int i = 0; i < 4000; i++) {
		f->more(f->ctx, line, sizeof(line));
		spin(s, i % 64 == 0);
	}
	say(other, "version", "{}"); /* nobody else notices */
	cJSON_Delete(hear(s, other));
	rv_buf_clear(&s->in);
	cJSON_Delete(hear(s, fd));
	while (got + told < 4000 * sizeof(line)) {
		const cJSON *lost;

		note = hear(s, fd);
		lost = cJSON_GetObjectItem(at(note, "params"), "lost");
		if (lost)
			told += (uint64_t)lost->valuedouble;
		else
			got += strlen(at(at(note, "params"), "text")->valuestring);
		cJSON_Delete(note);
	}
	assert_int_equal(got + told, 4000 * sizeof(line));
	assert_true(told > 0);
	f->more(f->ctx, "again\n", 6);
	note = hear(s, fd);
	assert_string_equal(at(at(note, "params"), "text")->valuestring, "again\n");
	cJSON_Delete(note);
	assert_true(is_silent(s, fd));
	close(fd);
	close(other);
}

static const cJSON *event_of(const cJSON *note)
{
	assert_string_equal(at(note, "method")->valuestring, "event");
	return at(at(note, "params"), "event");
}

static void events_are_the_last_ones_and_then_each_that_comes(void **state)
{
	struct stage *s = *state;
	int fd = dial(s->path);
	const cJSON *list;
	cJSON *answer;

	s->g.slot[WEB].look.generation = 7;
	move_to(&s->g, WEB, RV_STARTING);
	move_to(&s->g, DB, RV_FAILED);
	move_to(&s->g, WEB, RV_READY);
	answer = ask(s, fd, "events", "{\"names\":[\"web\"],\"follow\":true,\"lines\":1}");
	list = at(at(answer, "result"), "events");
	assert_int_equal(cJSON_GetArraySize(list), 1);
	assert_string_equal(at(cJSON_GetArrayItem(list, 0), "state")->valuestring, "ready");
	assert_int_equal(at(cJSON_GetArrayItem(list, 0), "generation")->valueint, 7);
	assert_int_equal(at(cJSON_GetArrayItem(list, 0), "number")->valueint, 2);
	cJSON_Delete(answer);
	move_to(&s->g, DB, RV_READY); /* was not asked for */
	move_to(&s->g, WEB, RV_STOPPED);
	answer = hear(s, fd);
	assert_string_equal(at(event_of(answer), "state")->valuestring, "stopped");
	cJSON_Delete(answer);
	assert_true(is_silent(s, fd));
	expect_error(s, fd, "events", "{\"follow\":true}", RV_RPC_REFUSED, "already");
	answer = ask(s, fd, "events", "{\"lines\":0}");
	assert_int_equal(cJSON_GetArraySize(at(at(answer, "result"), "events")), 5);
	cJSON_Delete(answer);
	close(fd);
	spin(s, 3);
}

/* Its output is bounded, and so is what is kept for it: it loses what is old, and nothing stops for it. */
static void an_onlooker_that_does_not_read_loses_events_and_is_told_how_many(void **state)
{
	enum { EVENTS = 20000 };
	struct stage *s = *state;
	int fd = dial(s->path), other = dial(s->path), sum = 0, last = -1, lost = 0;

	say(fd, "events", "{\"follow\":true}");
	spin(s, 5);
	for (int i = 0; i < EVENTS; i++) {
		move_to(&s->g, WEB, i % 2 ? RV_READY : RV_STARTING);
		spin(s, i % 64 == 0);
	}
	say(other, "version", "{}"); /* nobody else notices */
	cJSON_Delete(hear(s, other));
	rv_buf_clear(&s->in);
	cJSON_Delete(hear(s, fd));
	while (sum < EVENTS) {
		cJSON *note = hear(s, fd);
		const cJSON *n = cJSON_GetObjectItem(at(note, "params"), "lost");

		if (n) {
			lost += n->valueint;
			last += n->valueint;
			sum += n->valueint;
		} else {
			assert_int_equal(at(event_of(note), "number")->valueint, ++last);
			sum++;
		}
		cJSON_Delete(note);
	}
	assert_int_equal(sum, EVENTS);
	assert_true(lost > 0 && lost < EVENTS);
	assert_true(is_silent(s, fd));
	close(fd);
	close(other);
}

static void a_client_that_asks_and_never_reads_is_not_read_for_ever(void **state)
{
	static char requests[70 * 1000];
	struct stage *s = *state;
	size_t sent = 0, idle = 0;
	int fd = dial(s->path);

	memset(requests, '\n', sizeof(requests));
	for (size_t i = 0; i < sizeof(requests); i += 70)
		memcpy(requests + i, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}", 42);
	while (idle < 50 && sent < ((size_t)16 << 20)) {
		ssize_t n = send(fd, requests, sizeof(requests) / 70 * 70, MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		idle = n > 0 ? 0 : idle + 1;
		spin(s, 1);
	}
	assert_true(sent < ((size_t)4 << 20));
	close(fd);
}

static void large_answers_to_many_requests_come_one_after_the_other(void **state)
{
	enum { REQUESTS = 800 }; /* of 90 kB each: more than a buffer may hold */
	static const char one[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"plan\"}\n";
	static char chunk[1 << 18];
	struct stage *s = *state;
	struct rv_buf all = {0};
	rv_time until = rv_now() + 60 * RV_SEC;
	size_t answers = 0;
	int fd = dial(s->path);

	s->g.conf.plugin_dir = "large";
	for (int i = 0; i < REQUESTS; i++)
		rv_buf_str(&all, one);
	post(fd, all.data);
	while (answers < REQUESTS && rv_now() < until) {
		ssize_t n;

		spin(s, 1);
		n = recv(fd, chunk, sizeof(chunk), 0);
		assert_int_not_equal(n, 0);
		for (ssize_t i = 0; i < n; i++)
			answers += chunk[i] == '\n';
	}
	assert_int_equal(answers, REQUESTS);
	rv_buf_fini(&all);
	close(fd);
}

/* --- permission and exhaustion ----------------------------------------------------------------- */

static void others_may_look_and_wait_only(void **state)
{
	static const char *const closed[] = {"start", "stop", "restart", "signal", "pause",
		"resume", "logs", "check", "plan", "plugins", "shutdown"};
	struct stage *s = *state;
	cJSON *answer;
	int fd;

	if (geteuid())
		skip();
	chmod(s->path, 0666);
	assert_int_equal(seteuid(65534), 0);
	fd = dial(s->path);
	assert_int_equal(seteuid(0), 0);
	s->g.slot[WEB].detail = "exited; last lines of stderr: secret";
	answer = ask(s, fd, "status", "{\"names\":[\"web\"]}");
	assert_string_equal(at(service_of(answer, 0), "detail")->valuestring, "");
	cJSON_Delete(answer);
	answer = ask(s, fd, "wait", "{\"names\":[\"web\"]}");
	assert_null(strstr(at(service_of(answer, 0), "why")->valuestring, "secret"));
	cJSON_Delete(answer);
	move_to(&s->g, WEB, RV_FAILED);
	answer = ask(s, fd, "events", "{}");
	assert_string_equal(at(cJSON_GetArrayItem(at(at(answer, "result"), "events"), 0), "detail")
				    ->valuestring,
		"");
	cJSON_Delete(answer);
	answer = ask(s, fd, "why", "{\"names\":[\"web\"]}");
	assert_true(cJSON_IsNull(at(service_of(answer, 0), "check")));
	cJSON_Delete(answer);
	cJSON_Delete(ask(s, fd, "version", "{}"));
	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		expect_error(s, fd, closed[i],
			i < 3		 ? "{\"names\":[\"web\"]}"
				: i == 3 ? "{\"names\":[\"web\"],\"signal\":9}"
					 : "{}",
			RV_RPC_DENIED, closed[i]);
	spin(s, 3);
	assert_int_equal(s->g.events, 0);
	close(fd);
}

static void others_may_have_few_waits_at_a_time(void **state)
{
	struct stage *s = *state;
	cJSON *answer;
	int fd;

	if (geteuid())
		skip();
	chmod(s->path, 0666);
	assert_int_equal(seteuid(65534), 0);
	fd = dial(s->path);
	assert_int_equal(seteuid(0), 0);
	move_to(&s->g, WEB, RV_READY);
	for (int i = 0; i < 8; i++)
		say(fd, "wait", "{\"names\":[\"web\"],\"until\":\"stopped\"}");
	assert_true(is_silent(s, fd));
	answer = ask(s, fd, "wait", "{\"names\":[\"web\"],\"until\":\"stopped\"}");
	assert_int_equal(at(at(answer, "error"), "code")->valueint, RV_RPC_REFUSED);
	cJSON_Delete(answer);
	close(fd);
}

static void more_clients_than_fit_wait_for_their_turn(void **state)
{
	struct stage *s = *state;
	int fds[70];

	move_to(&s->g, WEB, RV_READY);
	for (int i = 0; i < 70; i++) {
		fds[i] = dial(s->path);
		assert_true(fds[i] >= 0);
		say(fds[i], "wait", "{\"names\":[\"web\"],\"until\":\"stopped\"}");
		spin(s, 2);
	}
	say(fds[69], "version", "{}");
	assert_true(is_silent(s, fds[69]));
	say(fds[0], "version", "{}");
	cJSON_Delete(hear(s, fds[0]));
	for (int i = 0; i < 10; i++)
		close(fds[i]);
	cJSON_Delete(hear(s, fds[69]));
	for (int i = 10; i < 70; i++)
		close(fds[i]);
}

/* True when reeve has closed it. */
static bool is_closed(struct stage *s, int fd)
{
	char byte;

	spin(s, 5);
	return recv(fd, &byte, 1, 0) == 0;
}

static void a_newcomer_gets_the_place_of_the_one_that_was_idle_for_longest(void **state)
{
	struct stage *s = *state;
	int fds[64], late;
	rv_time until;

	move_to(&s->g, WEB, RV_READY);
	for (int i = 0; i < 64; i++) {
		fds[i] = dial(s->path);
		assert_true(fds[i] >= 0);
		if (!i)
			say(fds[0], "wait", "{\"names\":[\"web\"],\"until\":\"stopped\"}");
		spin(s, 2);
	}
	for (until = rv_now() + 1100 * RV_MS; rv_now() < until; usleep(10000))
		spin(s, 1);
	cJSON_Delete(ask(s, fds[1], "version", "{}"));
	late = dial(s->path);
	cJSON_Delete(ask(s, late, "version", "{}"));
	assert_true(is_closed(s, fds[2]));
	for (int i = 0; i < 64; i++)
		if (i != 2 && is_closed(s, fds[i]))
			fail_msg("%d was closed", i);
	for (int i = 0; i < 64; i++)
		close(fds[i]);
	close(late);
}

static void running_out_of_descriptors_is_survived(void **state)
{
	struct stage *s = *state;
	struct rlimit old, none;
	int fd = dial(s->path), late = dial(s->path), lowest = dup(fd);
	int turns = 0;
	rv_time until;

	say(fd, "version", "{}");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = (rlim_t)lowest; /* nothing new fits */
	close(lowest);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	spin(s, 50);
	assert_true(is_silent(s, fd));
	until = rv_now() + 600 * RV_MS;
	for (; rv_now() < until; turns++)
		ev_run(s->g.loop, EVRUN_ONCE);
	assert_true(turns < 20); /* it sleeps until the next try, and does not spin */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	cJSON_Delete(hear(s, fd));
	cJSON_Delete(ask(s, late, "version", "{}"));
	close(fd);
	close(late);
}

/* --- the socket file --------------------------------------------------------------------------- */

static void close_control(struct stage *s)
{
	rv_control_destroy(s->control);
	s->control = NULL;
}

static void expect_refused(struct stage *s, const char *part)
{
	struct rv_err e = {0};

	assert_null(rv_control_create(s->g.loop, &s->g, &e));
	if (!strstr(e.text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, e.text);
}

static void a_second_reeve_is_refused_and_the_first_unharmed(void **state)
{
	struct stage *s = *state;
	int fd;

	expect_refused(s, "another reeve");
	fd = dial(s->path);
	assert_true(fd >= 0);
	cJSON_Delete(ask(s, fd, "version", "{}"));
	close(fd);
}

/* A socket that nobody listens on any more. */
static void leave_stale(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 5), 0);
	close(fd);
}

static void a_stale_socket_is_replaced(void **state)
{
	struct stage *s = *state;
	int fd;

	close_control(s);
	leave_stale(s->path);
	open_control(s);
	fd = dial(s->path);
	assert_true(fd >= 0);
	close(fd);
	close_control(s);
	assert_int_equal(access(s->path, F_OK), -1);
}

static void what_is_no_socket_is_refused_and_left_alone(void **state)
{
	struct stage *s = *state;
	char target[100], text[8] = "";
	struct stat st;
	int fd;

	close_control(s);
	snprintf(target, sizeof(target), "%s/target", s->dir);
	fd = open(s->path, O_CREAT | O_WRONLY, 0644);
	assert_int_equal(write(fd, "keep", 4), 4);
	close(fd);
	expect_refused(s, "a file is in the way");
	assert_int_equal(rename(s->path, target), 0);
	assert_int_equal(symlink(target, s->path), 0);
	expect_refused(s, "symbolic link");
	fd = open(target, O_RDONLY);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 4);
	close(fd);
	assert_string_equal(text, "keep");
	unlink(target);
	expect_refused(s, "symbolic link"); /* dangling now */
	assert_int_equal(lstat(s->path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(access(target, F_OK), -1);
	unlink(s->path);
	assert_int_equal(mkdir(s->path, 0755), 0);
	expect_refused(s, "folder");
	assert_int_equal(rmdir(s->path), 0);
}

/* Looks at everything in the folder in a tight loop, in another process, until the socket is there; leaves with
   0 when nothing ever had more than its mode, and the socket had exactly that at its first sight. */
static pid_t watch_mode(const char *dir, const char *path, unsigned mode)
{
	pid_t pid = fork();
	rv_time until = rv_now() + 5 * RV_SEC;
	DIR *d;
	struct stat st;

	if (pid)
		return pid;
	d = opendir(dir);
	while (d && rv_now() < until) {
		const struct dirent *e;

		rewinddir(d);
		while ((e = readdir(d)) != NULL)
			if (!fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
				S_ISSOCK(st.st_mode) && (st.st_mode & 07777 & ~mode))
				_exit(1);
		if (!lstat(path, &st))
			_exit((st.st_mode & 07777) == mode ? 0 : 1);
	}
	_exit(2);
}

static void the_mode_is_right_from_the_first_sight_whatever_the_umask(void **state)
{
	static const mode_t masks[] = {0, 077};
	struct stage *s = *state;

	for (size_t i = 0; i < 40; i++) {
		mode_t old;
		pid_t pid;
		int how;

		close_control(s);
		if (i % 4 == 1)
			leave_stale(s->path);
		unlink(s->path);
		pid = watch_mode(s->dir, s->path, 0660);
		usleep(2000); /* lets the watcher begin to look; what it sees is right in any case */
		old = umask(masks[i % 2]);
		open_control(s);
		assert_int_equal(umask(old), masks[i % 2]);
		assert_int_equal(born_mode, 0600);
		assert_int_equal(waitpid(pid, &how, 0), pid);
		assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
	}
}

static void owner_and_group_are_as_configured(void **state)
{
	struct stage *s = *state;
	struct stat st;

	if (geteuid())
		skip();
	close_control(s);
	s->g.conf.control_owner = "12";
	s->g.conf.control_group = "34";
	s->g.conf.control_mode = 0600;
	open_control(s);
	assert_int_equal(lstat(s->path, &st), 0);
	assert_int_equal(st.st_uid, 12);
	assert_int_equal(st.st_gid, 34);
	assert_int_equal(st.st_mode & 07777, 0600);
	close_control(s);
	s->g.conf.control_owner = "nobody-here";
	s->g.conf.control_at = (struct rv_place){"reeve.yaml", 3, 12};
	expect_refused(s, "reeve.yaml:3:12: reeve.control: no user");
}

static void only_what_is_still_ours_is_removed(void **state)
{
	struct stage *s = *state;
	int fd;

	unlink(s->path);
	fd = open(s->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	close(fd);
	close_control(s);
	assert_int_equal(access(s->path, F_OK), 0);
}

static void a_socket_that_vanished_comes_back(void **state)
{
	struct stage *s = *state;
	int before = dial(s->path), after;
	struct rv_err e;

	spin(s, 2);
	assert_true(rv_control_restore(s->control, &e)); /* it is there: nothing happens */
	unlink(s->path);
	assert_int_equal(dial(s->path), -1);
	assert_true(rv_control_restore(s->control, &e));
	after = dial(s->path);
	assert_true(after >= 0);
	cJSON_Delete(ask(s, after, "version", "{}"));
	cJSON_Delete(ask(s, before, "version", "{}"));
	close(before);
	close(after);
}

static void a_lock_on_its_folder_does_not_hold_the_loop_when_it_comes_back(void **state)
{
	struct stage *s = *state;
	int lock = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	rv_time quickest = RV_NEVER;
	struct rv_err e;

	assert_int_equal(flock(lock, LOCK_EX), 0);
	for (int i = 0; i < 3; i++) { /* the machine may stand still once */
		rv_time before = rv_now();

		unlink(s->path);
		assert_true(rv_control_restore(s->control, &e));
		if (rv_now() - before < quickest)
			quickest = rv_now() - before;
	}
	assert_true(quickest < 900 * RV_MS); /* a start would wait for a second each time */
	fd = dial(s->path);
	assert_true(fd >= 0);
	close(fd);
	close(lock);
}

static void a_runtime_dir_is_made_when_missing_and_a_bad_one_is_named(void **state)
{
	struct stage *s = *state;
	char deep[120], file[120], longer[300];

	close_control(s);
	snprintf(deep, sizeof(deep), "%s/a/b", s->dir);
	s->g.conf.runtime_dir = deep;
	open_control(s);
	close_control(s);
	assert_int_equal(rmdir(deep), 0);
	snprintf(deep, sizeof(deep), "%s/a", s->dir);
	assert_int_equal(rmdir(deep), 0);
	snprintf(file, sizeof(file), "%s/f", s->dir);
	close(open(file, O_CREAT | O_WRONLY, 0644));
	s->g.conf.runtime_dir = file;
	expect_refused(s, "reeve.runtime-dir");
	unlink(file);
	memset(longer, 'x', sizeof(longer));
	longer[0] = '/';
	longer[sizeof(longer) - 1] = 0;
	s->g.conf.runtime_dir = longer;
	expect_refused(s, "shorter reeve.runtime-dir");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(status_lists_all_in_start_order),
		TEST(unknown_names_are_all_listed_and_nothing_is_changed),
		TEST(pipelined_requests_are_answered_in_one_go),
		TEST(requests_in_pieces_and_without_a_last_newline_are_understood),
		TEST(garbage_is_answered_and_the_connection_goes_on),
		TEST(a_line_without_end_is_refused_and_closed),
		TEST(a_notification_acts_and_is_not_answered),
		TEST(plan_and_plugins_never_tell_a_secret),
		TEST(a_plan_has_all_of_a_service_as_members),
		TEST(check_reads_the_files_again),
		TEST(wrong_files_are_the_answer_to_a_reload),
		TEST(a_reload_is_answered_when_all_that_it_brings_is_there),
		TEST(a_reload_that_another_one_replaces_has_failed),
		TEST(who_waits_for_what_a_reload_removes_is_told),
		TEST(signal_goes_to_those_that_run),
		TEST(shutdown_is_passed_on_and_later_starts_are_refused),
		TEST(start_waits_until_ready),
		TEST(what_is_there_already_is_a_success),
		TEST(a_start_that_fails_says_why),
		TEST(a_failure_of_before_is_not_the_outcome_of_a_new_start),
		TEST(restart_waits_for_the_next_generation),
		TEST(options_are_for_one_service_and_a_wrong_one_changes_nothing),
		TEST(a_client_that_leaves_while_its_options_are_looked_at_starts_nothing),
		TEST(a_stale_generation_changes_nothing),
		TEST(a_wait_has_a_bound_and_says_where_things_are),
		TEST(no_wait_answers_when_the_core_has_seen_it),
		TEST(stop_waits_until_it_is_gone),
		TEST(a_stop_that_somebody_undoes_fails_and_one_that_is_stuck_does_too),
		TEST(what_is_not_ours_is_not_stopped),
		TEST(a_client_that_leaves_takes_only_its_waiting_along),
		TEST(a_half_closed_client_still_gets_what_it_waits_for),
		TEST(wait_tells_what_will_not_come),
		TEST(the_sandbox_is_ready_when_boot_is_done_and_all_is_there),
		TEST(a_boot_that_failed_is_ready_when_it_was_not_rolled_back_and_all_is_there),
		TEST(all_means_every_service),
		TEST(waits_are_answered_when_reeve_leaves),
		TEST(waits_on_one_connection_are_bounded),
		TEST(logs_come_as_a_tail_and_then_as_they_are_written),
		TEST(a_follower_that_does_not_read_loses_lines_and_is_told_how_many),
		TEST(events_are_the_last_ones_and_then_each_that_comes),
		TEST(an_onlooker_that_does_not_read_loses_events_and_is_told_how_many),
		TEST(a_client_that_asks_and_never_reads_is_not_read_for_ever),
		TEST(large_answers_to_many_requests_come_one_after_the_other),
		TEST(others_may_look_and_wait_only),
		TEST(others_may_have_few_waits_at_a_time),
		TEST(more_clients_than_fit_wait_for_their_turn),
		TEST(a_newcomer_gets_the_place_of_the_one_that_was_idle_for_longest),
		TEST(running_out_of_descriptors_is_survived),
		TEST(a_second_reeve_is_refused_and_the_first_unharmed),
		TEST(a_stale_socket_is_replaced),
		TEST(what_is_no_socket_is_refused_and_left_alone),
		TEST(the_mode_is_right_from_the_first_sight_whatever_the_umask),
		TEST(owner_and_group_are_as_configured),
		TEST(only_what_is_still_ours_is_removed),
		TEST(a_socket_that_vanished_comes_back),
		TEST(a_lock_on_its_folder_does_not_hold_the_loop_when_it_comes_back),
		TEST(a_runtime_dir_is_made_when_missing_and_a_bad_one_is_named),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
