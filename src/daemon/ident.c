/* Users and groups by name: see ident.h. The group database is asked here, in the parent and once, so
 * that no child has to. */
#include "daemon/ident.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/fd.h"

#define NO_ID	UINT32_MAX /* (uid_t)-1 means "leave it" to the kernel */
#define MAX_BUF (1u << 20)

struct user {
	uid_t uid;
	gid_t gid;
	bool known; /* has an entry */
	const char *name, *home, *shell; /* in the arena; of a known one */
};

static bool parse_id(const char *text, uint32_t *id)
{
	int64_t v;

	if (!rv_text_int(text, &v) || v < 0 || v >= NO_ID || *text == '+')
		return false;
	*id = (uint32_t)v;
	return true;
}

/* The database says "no such entry" with many numbers. */
static bool is_trouble(int number)
{
	return number && number != ENOENT && number != ESRCH && number != EBADF && number != EPERM;
}

/* Finds by name, or by number when name is NULL. *found is NULL when there is no entry. */
static int ask_user(
	const char *name, uid_t uid, struct passwd *entry, char **memory, struct passwd **found)
{
	int number = ERANGE;

	for (size_t size = 1024; number == ERANGE && size <= MAX_BUF; size *= 4) {
		free(*memory);
		*memory = malloc(size);
		if (!*memory)
			return ENOMEM;
		number = name ? getpwnam_r(name, entry, *memory, size, found)
			      : getpwuid_r(uid, entry, *memory, size, found);
	}
	return number;
}

static int ask_group(const char *name, gid_t *gid, bool *found)
{
	rv_auto_free void *memory = NULL;
	struct group entry, *there = NULL;
	int number = ERANGE;

	for (size_t size = 1024; number == ERANGE && size <= MAX_BUF; size *= 4) {
		free(memory);
		memory = malloc(size);
		if (!memory)
			return ENOMEM;
		number = getgrnam_r(name, &entry, memory, size, &there);
	}
	*found = there;
	if (there)
		*gid = there->gr_gid;
	return number;
}

static void keep(struct user *u, const struct passwd *p, struct rv_arena *arena)
{
	u->uid = p->pw_uid;
	u->gid = p->pw_gid;
	u->known = true;
	if (!arena)
		return;
	u->name = rv_arena_strdup(arena, p->pw_name);
	u->home = rv_arena_strdup(arena, p->pw_dir);
	u->shell = rv_arena_strdup(arena, p->pw_shell && *p->pw_shell ? p->pw_shell : "/bin/sh");
}

static bool find_user(const char *text, struct rv_arena *arena, struct user *u, struct rv_err *e)
{
	rv_auto_free char *memory = NULL;
	struct passwd entry, *found = NULL;
	uint32_t id = NO_ID;
	int number = ask_user(text, 0, &entry, &memory, &found);

	if (!found && parse_id(text, &id))
		number = ask_user(NULL, id, &entry, &memory, &found);
	if (found) {
		keep(u, found, arena);
		return true;
	}
	if (id != NO_ID) {
		/* Not group 0, which a number without an entry has no right to. */
		*u = (struct user){.uid = id, .gid = id};
		return true;
	}
	if (is_trouble(number))
		return rv_fail_errno(e, number, "cannot look up user %s", text);
	return rv_fail(e, RV_ERR_CONFIG, "cannot find user %s: there is no such user", text);
}

static bool find_group(const char *text, gid_t *gid, struct rv_err *e)
{
	uint32_t id;
	bool found = false;
	int number = ask_group(text, gid, &found);

	if (found)
		return true;
	if (parse_id(text, &id)) {
		*gid = id;
		return true;
	}
	if (is_trouble(number))
		return rv_fail_errno(e, number, "cannot look up group %s", text);
	return rv_fail(e, RV_ERR_CONFIG, "cannot find group %s: there is no such group", text);
}

static bool groups_of_user(
	const struct user *u, gid_t gid, struct rv_arena *arena, struct rv_ident *who)
{
	int room = 32, n = 0;
	gid_t *list;

	who->set_groups = true;
	if (!u->known)
		return true;
	if (!u->name) /* memory was refused */
		return false;
	for (;;) {
		n = room;
		list = rv_arena_array(arena, (size_t)n, sizeof(*list));
		if (!list)
			return false;
		if (getgrouplist(u->name, gid, list, &n) >= 0)
			break;
		if (n <= room && room > 65536)
			return false;
		room = n > room ? n : 2 * room;
	}
	who->groups = list;
	who->group_count = (size_t)n;
	return true;
}

static bool groups_by_name(
	const char *const *names, struct rv_arena *arena, struct rv_ident *who, struct rv_err *e)
{
	size_t n = 0;
	gid_t *list;

	while (names[n])
		n++;
	list = rv_arena_array(arena, n, sizeof(*list));
	if (!list)
		return rv_fail_errno(e, ENOMEM, "cannot keep a list of groups");
	for (size_t i = 0; i < n; i++)
		if (!find_group(names[i], &list[i], e))
			return false;
	who->set_groups = true;
	who->groups = list;
	who->group_count = n;
	return true;
}

static bool has_group(gid_t gid)
{
	gid_t list[NGROUPS_MAX < 1024 ? NGROUPS_MAX : 1024];
	int n = getgroups((int)(sizeof(list) / sizeof(*list)), list);

	for (int i = 0; i < n; i++)
		if (list[i] == gid)
			return true;
	return gid == getegid();
}

/* Without root only what we are already: then there is nothing to set. Groups that were not asked for
   stay as they are. */
static bool only_ourselves(struct rv_ident *who, const char *user, const char *group,
	bool groups_given, struct rv_err *e)
{
	bool same = true;

	if (who->set_uid && who->uid != geteuid())
		return rv_fail(e, RV_ERR_DENIED,
			"cannot become user %s: reeve runs as user %u, and only root may change "
			"users",
			user, (unsigned)geteuid());
	if (group && who->gid != getegid())
		return rv_fail(e, RV_ERR_DENIED,
			"cannot become group %s: reeve does not run as root", group);
	for (size_t i = 0; groups_given && i < who->group_count; i++)
		same = same && has_group(who->groups[i]);
	if (!same || (groups_given && !who->group_count && getgroups(0, NULL) > 0))
		return rv_fail(e, RV_ERR_DENIED, "cannot set groups: reeve does not run as root");
	*who = (struct rv_ident){0};
	return true;
}

bool rv_ident_resolve(const char *user, const char *group, const char *const *groups,
	struct rv_arena *arena, struct rv_account *out, struct rv_err *e)
{
	struct user u = {.uid = geteuid(), .gid = getegid()};
	struct rv_ident *who = &out->who;

	*out = (struct rv_account){0};
	if (user && !find_user(user, arena, &u, e))
		return false;
	who->uid = u.uid;
	who->gid = u.gid;
	if (group && !find_group(group, &who->gid, e))
		return false;
	who->set_uid = user;
	who->set_gid = user || group;
	if (groups && !groups_by_name(groups, arena, who, e))
		return false;
	if (!groups && user && !groups_of_user(&u, who->gid, arena, who))
		return rv_fail_errno(e, ENOMEM, "cannot read the groups of user %s", user);
	out->name = u.name;
	out->home = u.home;
	out->shell = u.shell;
	return !geteuid() || only_ourselves(who, user, group, groups, e);
}

bool rv_ident_owner(const char *user, const char *group, uid_t *uid, gid_t *gid, struct rv_err *e)
{
	struct user u = {0};

	*uid = (uid_t)-1;
	*gid = (gid_t)-1;
	if (user) {
		if (!find_user(user, NULL, &u, e))
			return false;
		*uid = u.uid;
	}
	return !group || find_group(group, gid, e);
}

bool rv_ident_can_signal(const struct rv_ident *who)
{
	struct __user_cap_header_struct about = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (!who->set_uid || who->uid == geteuid() || who->uid == getuid())
		return true;
	return syscall(SYS_capget, &about, has) || (has[0].effective & (1u << CAP_KILL));
}
