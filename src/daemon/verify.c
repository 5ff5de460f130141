/* What only this machine can tell of a configuration: accounts, programs, folders. Nothing is made. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "daemon/ident.h"
#include "daemon/load.h"
#include "daemon/spawn.h"
#include "sys/fd.h"

/* --- accounts --------------------------------------------------------------------------------- */

/* Whose mistake it is, for all messages about it. */
struct subject {
	struct rv_complaints *c;
	const char *what; /* "service x", "reeve.control" */
	struct rv_place at;
};

static bool account_exists(const struct subject *s, const char *user, const char *group)
{
	struct rv_err e;
	uid_t uid;
	gid_t gid;

	if (rv_ident_owner(user, group, &uid, &gid, &e))
		return true;
	rv_complain(s->c, s->at, "%s: %s", s->what, e.text);
	return false;
}

static struct rv_place place_of(struct rv_place own, struct rv_place other)
{
	return own.line ? own : other;
}

static void check_service_accounts(const struct rv_service *s, const char *what,
	struct rv_arena *arena, struct rv_complaints *c)
{
	struct subject user = {c, what, place_of(s->user_at, s->at)};
	struct subject group = {c, what, place_of(s->group_at, s->at)};
	struct subject groups = {c, what, place_of(s->groups_at, s->at)};
	struct rv_account account;
	struct rv_err e;
	bool good = true;

	if (s->user)
		good = account_exists(&user, s->user, NULL) && good;
	if (s->group)
		good = account_exists(&group, NULL, s->group) && good;
	for (size_t i = 0; s->groups && s->groups[i]; i++)
		good = account_exists(&groups, NULL, s->groups[i]) && good;
	/* They are there; may we become them? */
	if (good && (s->user || s->group || s->groups) &&
		!rv_ident_resolve(s->user, s->group, s->groups, arena, &account, &e))
		rv_complain(c, user.at, "%s: %s", what, e.text);
	for (size_t i = 0; i < s->listen_count; i++) {
		struct subject socket = {c, what, s->listen[i].at};

		account_exists(&socket, s->listen[i].owner, NULL);
		account_exists(&socket, NULL, s->listen[i].group);
	}
}

void rv_load_accounts(const struct rv_conf *conf, struct rv_complaints *c)
{
	struct subject control = {c, "reeve.control", conf->control_at};
	struct rv_arena arena = {0};
	char what[150];

	account_exists(&control, conf->control_owner, NULL);
	account_exists(&control, NULL, conf->control_group);
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct rv_service *s = &conf->services[i];

		if (!s->name)
			continue;
		snprintf(what, sizeof(what), "service %s", s->name);
		check_service_accounts(s, what, &arena, c);
	}
	rv_arena_fini(&arena);
}

/* --- programs --------------------------------------------------------------------------------- */

/* What is told here repeats words of the configuration, which may have brought a secret. */
struct verifying {
	struct rv_complaints *c;
	const struct rv_mask *mask; /* NULL: memory was refused */
	const struct rv_service *s;
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
	(softly ? rv_complain_softly : rv_complain)(
		v->c, at, "service %s: %s", v->s->name, rv_buf_text(&shown));
	rv_buf_fini(&shown);
}

/* The reason why it cannot be executed, into `why`. */
struct reason {
	char text[400];
};

static bool refuse(struct reason *why, const char *text)
{
	snprintf(why->text, sizeof(why->text), "%s", text);
	return false;
}

/* line: what stands behind #! */
static bool judge_interpreter(char *line, struct reason *why)
{
	struct rv_buf seen = {.max = 300};
	bool good, dos;

	line += strspn(line, " \t");
	line[strcspn(line, " \t\n")] = 0;
	dos = strchr(line, '\r');
	good = *line != '/' || !access(line, F_OK);
	rv_text_visible(&seen, line, strlen(line));
	if (!good)
		snprintf(why->text, sizeof(why->text), "its interpreter %s does not exist%s",
			rv_buf_text(&seen), dos ? " (the file has DOS line ends)" : "");
	rv_buf_fini(&seen);
	return good;
}

/* As the kernel looks at the first bytes. What cannot be read may still be executed. */
static bool judge_content(int dir, const char *path, struct reason *why)
{
	rv_auto_fd fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char head[257] = "";
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);

	if (n < 0 || (n >= 4 && !memcmp(head, "\177ELF", 4)))
		return true;
	if (n >= 2 && !memcmp(head, "#!", 2))
		return judge_interpreter(head + 2, why);
	return refuse(why, "not a program: neither a known binary format nor a #! line");
}

static bool judge_program(int dir, const char *path, struct reason *why)
{
	struct stat st;

	if (fstatat(dir, path, &st, 0))
		return refuse(why, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return refuse(why, "it is a folder");
	if (!S_ISREG(st.st_mode))
		return refuse(why, "not a regular file");
	if (faccessat(dir, path, X_OK, 0)) {
		snprintf(why->text, sizeof(why->text), "%s (mode %04o)", strerror(errno),
			(unsigned)st.st_mode & 07777);
		return false;
	}
	return judge_content(dir, path, why);
}

static const char *path_of(const struct rv_service *s)
{
	for (size_t i = 0; s->env && s->env[i]; i++)
		if (!strncmp(s->env[i], "PATH=", 5))
			return s->env[i] + 5;
	return RV_SPAWN_PATH;
}

/* The first in the folders of PATH that may be executed, as the start will take it. */
static bool search_program(
	const struct rv_service *s, int dir, const char *name, struct reason *why)
{
	const char *p = path_of(s), *end;
	char path[PATH_MAX];
	struct stat st;

	for (;; p = end + 1) {
		end = strchrnul(p, ':');
		if ((size_t)snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - p), p,
			    end > p ? "/" : "", name) < sizeof(path) &&
			!fstatat(dir, path, &st, 0) && S_ISREG(st.st_mode) &&
			!faccessat(dir, path, X_OK, 0))
			return judge_content(dir, path, why);
		if (!*end)
			return refuse(why, "not found in the folders of PATH");
	}
}

/* As a spawn will: a relative path, and an empty element of PATH, begin in the service's own working folder. */
static void check_program(
	const struct verifying *v, const char *name, const char *use, struct rv_place at)
{
	const struct rv_service *s = v->s;
	rv_auto_fd dir = open(
		s->working_dir ? s->working_dir : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct reason why;

	if (strchr(name, '/') ? judge_program(dir, name, &why) : search_program(s, dir, name, &why))
		return;
	/* A working folder that is missing is told for itself. */
	if (dir >= 0 || *name == '/' || !strchr(name, '/'))
		tell(v, false, at, "cannot execute %s%s: %s", name, use, why.text);
}

/* --- folders and logs ------------------------------------------------------------------------- */

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

static void check_log(const struct verifying *v)
{
	const char *path = v->s->log.path;
	struct stat st;
	int number;

	if (v->s->log.kind != RV_LOG_FILE || !path)
		return;
	number = stat(path, &st) ? errno : 0;
	if (!number && S_ISDIR(st.st_mode)) {
		tell(v, false, v->s->at, "cannot write log %s: it is a folder", path);
		return;
	}
	if (number == ENOENT)
		number = may_make(path);
	else if (!number)
		number = may_write(path);
	/* Who checks is often not who will run it. */
	if (number == EACCES && geteuid())
		tell(v, true, v->s->at, "log %s cannot be written as user %u", path,
			(unsigned)geteuid());
	else if (number)
		tell(v, false, v->s->at, "cannot write log %s: %s", path, strerror(number));
}

void rv_load_verify(const struct rv_conf *conf, struct rv_complaints *c)
{
	struct rv_mask *mask = rv_mask_create(conf);

	for (size_t i = 0; i < conf->service_count; i++) {
		const struct rv_service *s = &conf->services[i];
		const char *const *argv = s->argv ? s->argv : s->command;
		struct verifying v = {c, mask, s};

		if (!s->name)
			continue;
		if (argv)
			check_program(&v, argv[0], "", s->at);
		if (s->ready.exec)
			check_program(&v, s->ready.exec[0], " (of ready.exec)", s->ready.at);
		check_folder(&v);
		check_log(&v);
	}
	rv_mask_destroy(mask);
}
