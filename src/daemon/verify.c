/* What only this machine can tell of a configuration: programs, folders, logs, addresses. Nothing is made, nothing is
 * started. Programs and working folders are looked at as the service's user, the rest as reeve's. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/guise.h"
#include "daemon/ident.h"
#include "daemon/load.h"
#include "daemon/program.h"
#include "daemon/spawn.h"
#include "sys/fd.h"

/* What is told here repeats words of the configuration, which may have brought a secret. */
struct verifying {
	struct rv_complaints *c;
	const struct rv_mask *mask; /* NULL: memory was refused */
	const struct rv_service *s; /* NULL: it is about reeve itself */
	const char *as; /* " as user NAME" while things are looked at so; else "" */
	bool broken; /* its program cannot be executed */
};

RV_PRINTF(4, 5)
static void tell(
	const struct verifying *v, bool softly, struct rv_place at, const char *format, ...)
{
	char text[2 * PATH_MAX + 600];
	struct rv_buf shown = {0};
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (v->mask)
		rv_mask_add(v->mask, text, &shown);
	else
		rv_buf_str(&shown, "out of memory");
	(softly ? rv_complain_softly : rv_complain)(v->c, at, "%s%s: %s", v->s ? "service " : "",
		v->s ? v->s->name : "reeve", rv_buf_text(&shown));
	rv_buf_fini(&shown);
}

/* --- programs --------------------------------------------------------------------------------- */

static const char *path_of(const struct rv_service *s)
{
	for (size_t i = 0; s->env && s->env[i]; i++)
		if (!strncmp(s->env[i], "PATH=", 5))
			return s->env[i] + 5;
	return RV_SPAWN_PATH;
}

/* As a spawn will: a relative path, and an empty element of PATH, begin in the service's own working folder. */
static bool check_program(
	const struct verifying *v, const char *name, const char *use, struct rv_place at)
{
	const struct rv_service *s = v->s;
	rv_auto_fd dir = open(
		s->working_dir ? s->working_dir : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct rv_program program;

	if (rv_program_look(&program, dir, name, path_of(s)))
		return true;
	/* A working folder that is missing is told for itself. */
	if (dir >= 0 || *name == '/' || !strchr(name, '/'))
		tell(v, false, at, "cannot execute %s%s%s: %s", name, use, v->as, program.why);
	return false;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_one_of(const char *word, const char *const *list)
{
	while (*list && strcmp(*list, word) != 0)
		list++;
	return *list;
}

/* `tini -- PROGRAM`: what an init or another wrapper executes, as far as it stands behind its "--". NULL: nothing. */
static const char *const *wrapped(const char *const *argv)
{
	static const char *const wrappers[] = {"tini", "tini-static", "dumb-init", "catatonit",
		"docker-init", "env", "nice", "setpriv", "stdbuf", NULL};

	if (!is_one_of(last_part(argv[0]), wrappers))
		return NULL;
	while (*argv && strcmp(*argv, "--") != 0)
		argv++;
	return *argv && argv[1] ? argv + 1 : NULL;
}

/* A script is an argument of the program that is executed, so no exec tells that it is missing. It may be made later, by
   another service: so it is a warning. */
static void check_script(const struct verifying *v, const char *const *argv)
{
	const char *program = last_part(argv[0]);
	bool runs = !strncmp(program, "python", 6) || !strcmp(program, "node") ||
		!strcmp(program, "sh") || !strcmp(program, "bash") || !strcmp(program, "perl");

	/* A plugin that checks knows better what its command is. */
	if (v->s->table && v->s->table->hooks & RV_HAS(RV_HOOK_CHECK))
		return;
	if (runs && argv[1] && *argv[1] == '/' && faccessat(AT_FDCWD, argv[1], R_OK, AT_EACCESS))
		tell(v, true, v->s->at, "%s has nothing to run: cannot read %s: %s", argv[0],
			argv[1], strerror(errno));
}

/* What the kernel takes of one argument or variable, its NUL included: MAX_ARG_STRLEN. The words may hold secrets. */
static void check_lengths(struct verifying *v, const char *const *argv)
{
	const char *const *env = v->s->env;
	size_t most = 32u * (size_t)sysconf(_SC_PAGESIZE) - 1;

	for (size_t i = 0; argv[i]; i++)
		if (strlen(argv[i]) > most)
			tell(v, false, v->s->at,
				"cannot execute its command: word %zu of it has %zu bytes, and %zu "
				"are the most",
				i + 1, strlen(argv[i]), most);
	for (size_t i = 0; env && env[i]; i++)
		if (strlen(env[i]) > most)
			tell(v, false, v->s->at,
				"cannot execute its command: the variable %.*s has %zu bytes, and "
				"%zu are the most",
				(int)strcspn(env[i], "="), env[i], strlen(env[i]), most);
}

static void check_command(struct verifying *v, const char *const *argv)
{
	const char *const *inner;

	v->broken = !check_program(v, argv[0], "", v->s->at);
	inner = wrapped(argv);
	if (inner && !check_program(v, inner[0], " (behind --)", v->s->at))
		v->broken = true;
	check_script(v, inner ? inner : argv);
	check_lengths(v, argv);
}

/* --- folders ---------------------------------------------------------------------------------- */

static void check_folder(const struct verifying *v)
{
	const char *dir = v->s->working_dir;
	struct stat st;

	if (!dir)
		return;
	if (stat(dir, &st))
		tell(v, false, v->s->at, "cannot enter working-dir %s: %s", dir, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		tell(v, false, v->s->at, "working-dir %s is no folder", dir);
	else if (faccessat(AT_FDCWD, dir, X_OK, AT_EACCESS))
		tell(v, false, v->s->at, "cannot enter working-dir %s%s: %s", dir, v->as,
			strerror(errno));
}

static int may_write(const char *path)
{
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) ? errno : 0;
}

/* Folders that are missing will be made: what counts is the first above that is there. */
static int may_make(const char *path)
{
	char above[PATH_MAX];
	struct stat st;
	char *slash;

	if ((size_t)snprintf(above, sizeof(above), "%s", path) >= sizeof(above))
		return ENAMETOOLONG;
	do {
		slash = strrchr(above, '/');
		if (!slash || slash == above)
			return may_write("/");
		*slash = 0;
	} while (stat(above, &st) && errno == ENOENT);
	if (stat(above, &st))
		return errno;
	return S_ISDIR(st.st_mode) ? may_write(above) : ENOTDIR;
}

static const char *reason(int number)
{
	return number == EISDIR ? "it is a folder" : strerror(number);
}

/* Of what reeve itself makes. Who checks is often not who will run it. */
static void tell_unmade(const struct verifying *v, struct rv_place at, const char *what,
	const char *path, int number)
{
	if (number == EACCES && geteuid())
		tell(v, true, at, "%s %s cannot be written as user %u", what, path,
			(unsigned)geteuid());
	else if (number)
		tell(v, false, at, "cannot write %s %s: %s", what, path, reason(number));
}

/* errno of writing a file that may have to be made, with its folders; 0: it can be. */
static int may_have_file(const char *path)
{
	struct stat st;

	if (!stat(path, &st))
		return S_ISDIR(st.st_mode) ? EISDIR : may_write(path);
	return errno == ENOENT ? may_make(path) : errno;
}

static void check_log(const struct verifying *v)
{
	const char *path = v->s->log.path;

	if (v->s->log.kind == RV_LOG_FILE && path)
		tell_unmade(v, v->s->at, "log", path, may_have_file(path));
}

/* It writes that itself, into a folder that nobody makes for it. */
static void check_pid_file(const struct verifying *v)
{
	const struct rv_main_pid *m = &v->s->main_pid;
	char dir[PATH_MAX];
	struct stat st;
	int number;

	if (v->s->type != RV_LAUNCHER || m->by != RV_MAIN_FILE || !m->file)
		return;
	snprintf(dir, sizeof(dir), "%.*s", (int)(last_part(m->file) - m->file), m->file);
	number = may_write(stat(m->file, &st) ? dir : m->file);
	if (number)
		tell(v, true, v->s->at, "its main-pid file %s cannot be written%s: %s", m->file,
			v->as, number == ENOENT ? "its folder is not there" : strerror(number));
}

/* --- limits ------------------------------------------------------------------------------------ */

/* On ourselves, and taken back. */
static bool can_have(const struct rv_limit *l, const struct rlimit *now)
{
	__rlimit_resource_t resource = (__rlimit_resource_t)l->resource;
	struct rlimit tried = {now->rlim_cur, l->hard == UINT64_MAX ? RLIM_INFINITY : l->hard};

	if (setrlimit(resource, &tried))
		return false;
	setrlimit(resource, now);
	return true;
}

/* Where the image runs there may be others, so these are warnings. */
static void check_limits(const struct verifying *v)
{
	for (size_t i = 0; i < v->s->limit_count; i++) {
		const struct rv_limit *l = &v->s->limits[i];
		struct rlimit now;

		if (getrlimit((__rlimit_resource_t)l->resource, &now) ||
			now.rlim_max == RLIM_INFINITY || l->hard <= now.rlim_max ||
			can_have(l, &now))
			continue;
		tell(v, true, v->s->at,
			"limits.%s is above the hard limit here, which is %llu: it could not be "
			"started",
			rv_limit_name(l->resource), (unsigned long long)now.rlim_max);
	}
}

/* --- addresses -------------------------------------------------------------------------------- */

/* The number of the error; 0: it can be bound, or somebody has it now, which is no matter of an image. */
static int try_bind(const struct rv_listen *l)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(l->port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(l->port)};
	bool is_v4 = l->family == RV_TCP4;
	rv_auto_fd fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	memcpy(&v4.sin_addr, l->ip, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, l->ip, sizeof(v6.sin6_addr));
	if (bind(fd, is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6,
		    is_v4 ? sizeof(v4) : sizeof(v6)) &&
		errno != EADDRINUSE)
		return errno;
	return 0;
}

/* Networks come and go: where the image runs it may be otherwise, so these are warnings. */
static void check_listeners(const struct verifying *v)
{
	for (size_t i = 0; i < v->s->listen_count; i++) {
		const struct rv_listen *l = &v->s->listen[i];
		int number;

		if (l->family == RV_UNIX) {
			number = may_make(l->address);
			tell_unmade(v, l->at, "socket", l->address, number);
			continue;
		}
		number = try_bind(l);
		if (number)
			tell(v, true, l->at, "cannot bind %s on this machine: %s", l->address,
				strerror(number));
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

/* As the service's user; where that cannot be, somebody else has told why (accounts.c), or it is told here. */
static void check_as_service(struct verifying *v, struct rv_arena *arena)
{
	const struct rv_service *s = v->s;
	const char *const *argv = s->argv ? s->argv : s->command;
	struct rv_account account = {0};
	struct rv_guise guise = {0};
	char as[300] = "";
	struct rv_err e;
	bool dressed;

	if ((s->user || s->group || s->groups) &&
		!rv_ident_resolve(s->user, s->group, s->groups, arena, &account, &e))
		account.who = (struct rv_ident){0};
	dressed = rv_guise_begin(&guise, &account.who);
	if (!dressed)
		tell(v, true, s->user_at.line ? s->user_at : s->at,
			"nothing was looked at as its user, and its plugin was not asked: to take "
			"on its groups is not permitted here");
	else if (account.who.set_uid)
		snprintf(as, sizeof(as), " as user %s", s->user);
	if (!rv_ident_can_signal(&account.who))
		tell(v, true, s->user_at.line ? s->user_at : s->at, RV_CANNOT_SIGNAL, s->user);
	v->as = as;
	if (argv)
		check_command(v, argv);
	if (s->ready.exec)
		check_program(v, s->ready.exec[0], " (of ready.exec)", s->ready.at);
	if (s->health && s->health->exec)
		check_program(v, s->health->exec[0], " (of health.exec)", s->health->at);
	check_folder(v);
	check_pid_file(v);
	v->broken |= !dressed;
	rv_guise_end(&guise);
	v->as = "";
}

static void check_reeve(const struct verifying *v, const struct rv_conf *conf, const char *init)
{
	char socket[PATH_MAX];
	struct rv_program program;
	rv_auto_fd dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (conf->runtime_dir && stat(conf->runtime_dir, &st) &&
		(size_t)snprintf(socket, sizeof(socket), "%s/x", conf->runtime_dir) <
			sizeof(socket))
		tell_unmade(v, conf->runtime_dir_at, "runtime-dir", conf->runtime_dir,
			may_make(socket));
	if (conf->runtime_dir &&
		(size_t)snprintf(socket, sizeof(socket), "%s/control.sock", conf->runtime_dir) >=
			sizeof(((struct sockaddr_un *)0)->sun_path))
		tell(v, false, conf->runtime_dir_at,
			"cannot open the control socket %s: the path is longer than %zu bytes; "
			"choose a shorter reeve.runtime-dir",
			socket, sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
	if (conf->termination_report)
		tell_unmade(v, conf->report_at, "termination-report", conf->termination_report,
			may_have_file(conf->termination_report));
	if (init && !rv_program_look(&program, dir, init, RV_SPAWN_PATH))
		tell(v, false, (struct rv_place){.file = ""},
			"cannot execute %s, which is to be PID 1: %s", init, program.why);
}

void rv_load_verify(
	const struct rv_conf *conf, const char *init, bool *broken, struct rv_complaints *c)
{
	struct rv_mask *mask = rv_mask_create(conf);
	struct rv_arena arena = {0};
	struct verifying own = {c, mask, NULL, "", false};

	check_reeve(&own, conf, init);
	for (size_t i = 0; i < conf->service_count; i++) {
		struct verifying v = {c, mask, &conf->services[i], "", false};

		if (!v.s->name)
			continue;
		check_as_service(&v, &arena);
		check_log(&v);
		check_limits(&v);
		check_listeners(&v);
		broken[i] = v.broken;
	}
	rv_arena_fini(&arena);
	rv_mask_destroy(mask);
}
