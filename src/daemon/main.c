/* reeve: the command line, the first fork, and the loop. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <ev.h>

#include "base/names.h"
#include "base/text.h"
#include "daemon/control.h"
#include "daemon/engine.h"
#include "daemon/envsource.h"
#include "daemon/herald.h"
#include "daemon/load.h"
#include "daemon/outlet.h"
#include "daemon/reload.h"
#include "daemon/say.h"
#include "daemon/spawn.h"
#include "host/host.h"
#include "sys/fd.h"

/* Of two that are named the later in this list wins; the first three exclude each other. */
enum verb { VERB_RUN, VERB_CHECK, VERB_PLAN, VERB_VERSION, VERB_HELP };

#define NEVER 1e11 /* seconds since 1970 */

enum { EXIT_REFUSED = 10, EXIT_INTERNAL = 70, EXIT_CONFIG = 78, EXIT_USAGE = 2 };

struct words { /* the command line */
	enum verb verb;
	unsigned named; /* a bit for each verb that is there */
	const char **paths;
	size_t path_count;
	const char *plugin_dir;
	char **command;
	/* of check */
	bool json;
	const char *init; /* NULL: none was named */
	rv_time limit; /* 0: none was named */
	const char *environment; /* of run, check and plan; NULL: none was named */
};

static const char usage[] =
	"usage: reeve [-v | -q] [-c PATH]... [--plugin-dir DIR] [--environment FILE] "
	"[-- COMMAND [ARG...]]\n"
	"       reeve check [-c PATH]... [--plugin-dir DIR] [--environment FILE] [--init PROGRAM]\n"
	"                   [--timeout T] [--json] [-- COMMAND...]\n"
	"       reeve plan [-c PATH]... [--plugin-dir DIR] [--environment FILE] [-- COMMAND...]\n"
	"       reeve version\n"
	"\n"
	"Starts the services of a YAML graph in order, proves them ready, and stops them in "
	"reverse.\n"
	"  -c PATH            a file, or a folder with *.yaml; may be repeated, later ones change "
	"earlier ones\n"
	"                     (default: " RV_CONFIG_DIR
	"/reeve.yaml, then reeve.d/*.yaml beside it)\n"
	"  --plugin-dir DIR   where NAME.so of each plugin is (default: " RV_PLUGIN_DIR ")\n"
	"  --environment FILE what the sandbox is created with: a JSON object that has envVars (or "
	"envs), an object\n"
	"                     of strings; - is stdin (default: REEVE_CREATE_ENVIRONMENT, as JSON)\n"
	"  -v, -q             log every change of state; log nothing but warnings and errors\n"
	"  -- COMMAND         the last service; signals go to it, its exit status is ours\n"
	"check validates all that can be validated without starting; plan prints what would run.\n"
	"  --init PROGRAM     check that this can be executed, too: what is to be PID 1 in front "
	"of "
	"reeve\n"
	"  --timeout T        of check: what plugins verify may take this long altogether (5m)\n"
	"  --json             of check: print one JSON object\n"
	"See reeve(8), reeve.yaml(5), reevectl(1).\n";

/* --- command line ------------------------------------------------------------------------------ */

static bool takes_value(
	const char *word, const char *option, char **argv, int *i, const char **value)
{
	size_t n = strlen(option);

	if (strncmp(word, option, n) != 0)
		return false;
	if (word[n] == '=' || (word[n] && option[1] != '-')) {
		*value = word + n + (word[n] == '=');
		return true;
	}
	if (word[n])
		return false;
	*value = argv[*i + 1];
	if (*value)
		++*i;
	return true;
}

static bool is_verb(const char *word, struct words *w)
{
	static const struct {
		const char *name;
		enum verb verb;
	} verbs[] = {{"run", VERB_RUN}, {"check", VERB_CHECK}, {"plan", VERB_PLAN},
		{"version", VERB_VERSION}, {"help", VERB_HELP}, {"--version", VERB_VERSION},
		{"-V", VERB_VERSION}, {"--help", VERB_HELP}, {"-h", VERB_HELP}};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (!strcmp(word, verbs[i].name)) {
			w->verb = verbs[i].verb > w->verb ? verbs[i].verb : w->verb;
			w->named |= 1u << verbs[i].verb;
			return true;
		}
	}
	return false;
}

static bool is_one_verb(const struct words *w)
{
	unsigned acts = w->named & (1u << VERB_RUN | 1u << VERB_CHECK | 1u << VERB_PLAN);

	if (w->verb > VERB_PLAN || !(acts & (acts - 1)))
		return true;
	fprintf(stderr, "reeve: run, check and plan exclude each other; try reeve --help\n");
	return false;
}

static bool read_word(char **argv, int *i, struct words *w)
{
	const char *value = NULL, *word = argv[*i];

	if (!strcmp(word, "-v") || !strcmp(word, "--verbose")) {
		rv_say_level(RV_DEBUG);
		return true;
	}
	if (!strcmp(word, "-q") || !strcmp(word, "--quiet")) {
		rv_say_level(RV_WARN);
		return true;
	}
	if (is_verb(word, w))
		return true;
	if (w->verb == VERB_CHECK && !strcmp(word, "--json")) {
		w->json = true;
		return true;
	}
	if (takes_value(word, "-c", argv, i, &value) ||
		takes_value(word, "--config", argv, i, &value)) {
		if (value)
			w->paths[w->path_count++] = value;
	} else if (takes_value(word, "--plugin-dir", argv, i, &value)) {
		w->plugin_dir = value;
	} else if (takes_value(word, "--environment", argv, i, &value)) {
		w->environment = value;
	} else if (w->verb == VERB_CHECK && takes_value(word, "--init", argv, i, &value)) {
		w->init = value;
	} else if (w->verb == VERB_CHECK && takes_value(word, "--timeout", argv, i, &value)) {
		if (value && (!rv_text_duration(value, &w->limit) || w->limit <= 0)) {
			fprintf(stderr,
				"reeve: --timeout %s is no time like 90s or 5m; try reeve --help\n",
				value);
			return false;
		}
	} else {
		fprintf(stderr, "reeve: unknown word '%s'; try reeve --help\n", word);
		return false;
	}
	if (value && *value)
		return true;
	fprintf(stderr, "reeve: %s needs a value; try reeve --help\n", word);
	return false;
}

static bool read_words(int argc, char **argv, struct words *w)
{
	w->paths = calloc((size_t)argc + 1, sizeof(*w->paths));
	if (!w->paths) {
		fputs("reeve: cannot begin: out of memory\n", stderr);
		return false;
	}
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--")) {
			w->command = argv + i + 1;
			if (!*w->command) {
				fprintf(stderr, "reeve: nothing behind --; try reeve --help\n");
				return false;
			}
			break;
		}
		if (!read_word(argv, &i, w))
			return false;
	}
	if (w->command && w->verb != VERB_RUN && w->verb != VERB_PLAN && w->verb != VERB_CHECK) {
		fprintf(stderr, "reeve: a command makes no sense here; try reeve --help\n");
		return false;
	}
	return is_one_verb(w);
}

/* --- signals ----------------------------------------------------------------------------------- */

static const int ours[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

/* From here on no signal is lost: they stay pending until the loop reads them. Dispositions that a
   parent left behind (CHLD ignored, TERM ignored) would drop them, so they are reset first. */
static void block_signals(sigset_t *set)
{
	static const int ignored[] = {SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU};

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		sigaddset(set, ours[i]);
	}
	sigprocmask(SIG_SETMASK, set, NULL);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		signal(ours[i], SIG_DFL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
}

struct signalled { /* whom signals are for */
	struct rv_engine *engine;
	struct rv_control *control;
	const struct rv_load *files;
};

/* The result is in the log. */
static void reload(const struct signalled *to)
{
	struct rv_complaints c = {0};
	struct rv_replacing what;

	rv_engine_reload(to->engine, to->files, &c, &what);
	rv_complaints_fini(&c);
}

/* The documented way to bring back a control socket that somebody removed. */
static void restore_socket(struct rv_control *control)
{
	struct rv_err e;

	if (!rv_control_restore(control, &e))
		rv_say(RV_WARN, NULL, "%s", e.text);
}

static void on_signal(struct ev_loop *loop, ev_io *w, int revents)
{
	const struct signalled *to = w->data;
	struct signalfd_siginfo info[16];
	ssize_t n;

	(void)loop;
	(void)revents;
	do {
		n = read(w->fd, info, sizeof(info));
		for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(info[0]); i++) {
			if (info[i].ssi_signo == SIGHUP)
				restore_socket(to->control);
			if (info[i].ssi_signo == SIGCHLD)
				rv_engine_children(to->engine);
			else if (rv_engine_signalled(to->engine, (int)info[i].ssi_signo))
				reload(to);
		}
	} while (n == (ssize_t)sizeof(info));
}

/* Descriptors 0-2 must exist, or a log file would become our stderr. */
static void fill_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

/* --- verbs ------------------------------------------------------------------------------------- */

static int say_failed(const struct rv_err *e)
{
	rv_say(RV_ERROR, NULL, "%s", e->text);
	switch (e->code) {
	case RV_ERR_CONFIG:
	case RV_ERR_USAGE: return EXIT_CONFIG;
	case RV_ERR_INTERNAL: return EXIT_INTERNAL;
	case RV_ERR_NONE:
	case RV_ERR_SYSTEM:
	case RV_ERR_START:
	case RV_ERR_NO_SUCH:
	case RV_ERR_DENIED:
	case RV_ERR_TIMEOUT:
	case RV_ERR_STALE:
	case RV_ERR_REFUSED:
	case RV_ERR_PROTOCOL: break;
	}
	return EXIT_REFUSED;
}

static void on_never(struct ev_loop *loop, ev_periodic *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents;
}

/* The loop, from the boot to the end. Owns nothing that was given. last_line: what is to be the last line of the log. */
static int run_loop(struct ev_loop *loop, struct rv_engine *g, const struct rv_load *files,
	const sigset_t *set, struct rv_buf *last_line)
{
	rv_auto_fd fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	struct rv_control *control;
	struct rv_herald *herald;
	struct rv_err e;
	ev_periodic never;
	ev_io io;
	int status;

	if (fd < 0) {
		rv_fail_errno(&e, errno, "cannot receive signals");
		return say_failed(&e);
	}
	control = rv_control_create(loop, g, &e);
	if (!control) {
		status = say_failed(&e);
		/* Where another one runs, the report is the other's. */
		if (e.code != RV_ERR_REFUSED)
			rv_engine_report(g, status, e.text, last_line);
		return status;
	}
	rv_control_files(control, files);
	herald = rv_herald_create(loop, g, getenv("NOTIFY_SOCKET"));
	ev_io_init(&io, on_signal, fd, EV_READ);
	io.data = &(struct signalled){g, control, files};
	ev_io_start(loop, &io);
	/* Only with a watcher of this kind does libev let the kernel tell it that the clock was set; else it
	   wakes up once a minute to look. */
	ev_periodic_init(&never, on_never, NEVER, 0., NULL);
	ev_periodic_start(loop, &never);
	if (rv_engine_begin(g, &e)) {
		/* Before the first turn: then nothing is started that would have to go at once. */
		ev_invoke(loop, &io, EV_READ);
		ev_run(loop, 0);
		status = rv_engine_status(g);
		rv_engine_report(g, status, NULL, last_line);
	} else {
		status = say_failed(&e);
		rv_engine_report(g, status, e.text, last_line);
	}
	rv_herald_destroy(herald);
	rv_control_destroy(control);
	ev_periodic_stop(loop, &never);
	ev_io_stop(loop, &io);
	return status;
}

/* variables: taken over. */
static int run(struct rv_conf *conf, struct rv_hostlink *host, const struct rv_load *files,
	struct rv_variables *variables, const sigset_t *set)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_NOENV);
	struct rv_buf last_line = {0};
	struct rv_outlet *own;
	struct rv_engine *g;
	struct rv_err e;
	int status;

	if (!loop) {
		rv_fail(&e, RV_ERR_SYSTEM, "cannot make an event loop");
		return say_failed(&e);
	}
	own = rv_outlet_take(loop, STDERR_FILENO);
	rv_say_through(own);
	g = rv_engine_create(loop, conf, host, &e);
	if (!g) {
		status = say_failed(&e);
	} else if (!rv_engine_variables(g, variables, &e)) {
		status = say_failed(&e);
		rv_engine_destroy(g);
	} else {
		status = run_loop(loop, g, files, set, &last_line);
		rv_engine_destroy(g);
	}
	if (last_line.len)
		rv_say(status ? RV_ERROR : RV_INFO, NULL, "report: %s", rv_buf_text(&last_line));
	rv_buf_fini(&last_line);
	rv_say_through(NULL);
	if (own)
		rv_outlet_release(own);
	ev_loop_destroy(loop);
	return status;
}

static int show_plan(struct rv_conf *conf, struct rv_hostlink *host)
{
	struct rv_buf text = {0};

	rv_conf_print(conf, &text);
	fwrite(rv_buf_text(&text), 1, text.len, stdout);
	rv_buf_fini(&text);
	rv_conf_destroy(conf);
	rv_hostlink_destroy(host);
	return 0;
}

static int check(const struct words *w, const struct rv_load *files, struct rv_hostlink *host,
	struct rv_complaints *c)
{
	struct rv_conf *conf = rv_load_conf(files, host, NULL, c);
	int status;

	if (!conf && !c->errors)
		rv_complain(c, (struct rv_place){.file = ""},
			"cannot read the configuration: out of memory");
	status = rv_load_verdict(c, conf ? conf->plan->present : 0, w->json, *files->ended);
	if (!status && !w->json) {
		struct rv_buf text = {0};

		rv_conf_print_exposed(conf, &text);
		fputs(rv_buf_text(&text), stdout);
		rv_buf_fini(&text);
	}
	rv_conf_destroy(conf);
	rv_hostlink_destroy(host);
	return status;
}

/* The host is forked before anything is read, so that it loads plugins while we read. */
static int load_and_act(const struct words *w, struct rv_variables *variables, const sigset_t *set)
{
	bool checks = w->verb == VERB_CHECK;
	int ended = 0;
	struct rv_load files = {w->path_count ? w->paths : NULL, w->plugin_dir,
		(const char *const *)w->command, checks, checks, w->limit, w->init, variables,
		&ended};
	struct rv_complaints c = {0};
	struct rv_hostlink *host;
	struct rv_conf *conf;
	struct rv_err e;
	int status;

	if (!rv_hostlink_fork(rv_host_run, &host, &e))
		return say_failed(&e);
	rv_spawn_prepare();
	rv_envsource_read(w->environment, variables, &c);
	if (checks) {
		status = check(w, &files, host, &c);
		rv_complaints_fini(&c);
		return status;
	}
	conf = rv_load_conf(&files, host, NULL, &c);
	rv_load_print(&c);
	status = c.errors ? EXIT_CONFIG : 0;
	rv_complaints_fini(&c);
	if (conf)
		return w->verb == VERB_RUN ? run(conf, host, &files, variables, set)
					   : show_plan(conf, host);
	rv_hostlink_destroy(host);
	if (!status)
		fputs("reeve: cannot read the configuration: out of memory\n", stderr);
	return status ? status : EXIT_INTERNAL;
}

int main(int argc, char **argv)
{
	struct rv_variables variables = {0};
	struct words w = {0};
	sigset_t set;
	int status = EXIT_USAGE;

	if (argc == 3 && !strcmp(argv[1], "--plugin-host"))
		return rv_host_run((int)strtol(argv[2], NULL, 10));
	block_signals(&set);
	fill_standard_fds();
	if (read_words(argc, argv, &w)) {
		status = 0;
		if (w.verb == VERB_HELP || w.verb == VERB_VERSION)
			fputs(w.verb == VERB_HELP ? usage : "reeve " PACKAGE_VERSION "\n", stdout);
		else
			status = load_and_act(&w, &variables, &set);
	}
	rv_variables_fini(&variables);
	free(w.paths);
	return status;
}
