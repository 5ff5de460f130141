/* Users and groups of a configuration, against those of this machine: see load.h. */
#include <stdio.h>
#include <unistd.h>

#include "daemon/ident.h"
#include "daemon/load.h"

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

/* The accounts are there; may we become them? */
static void check_ours(
	const struct rv_service *s, const struct subject *user, bool softly, struct rv_arena *arena)
{
	struct rv_account account;
	struct rv_err e;

	if (rv_ident_resolve(s->user, s->group, s->groups, arena, &account, &e))
		return;
	if (softly && e.code == RV_ERR_DENIED)
		rv_complain_softly(user->c, user->at,
			"%s: nothing was looked at with its user and groups: this check runs as "
			"user %u, and only root may change users; run it as root",
			user->what, (unsigned)geteuid());
	else
		rv_complain(user->c, user->at, "%s: %s", user->what, e.text);
}

static void check_service_accounts(const struct rv_service *s, const char *what, bool softly,
	struct rv_arena *arena, struct rv_complaints *c)
{
	struct subject user = {c, what, place_of(s->user_at, s->at)};
	struct subject group = {c, what, place_of(s->group_at, s->at)};
	struct subject groups = {c, what, place_of(s->groups_at, s->at)};
	bool good = true;

	if (s->user)
		good = account_exists(&user, s->user, NULL) && good;
	if (s->group)
		good = account_exists(&group, NULL, s->group) && good;
	for (size_t i = 0; s->groups && s->groups[i]; i++)
		good = account_exists(&groups, NULL, s->groups[i]) && good;
	if (good && (s->user || s->group || s->groups))
		check_ours(s, &user, softly, arena);
	for (size_t i = 0; i < s->listen_count; i++) {
		struct subject socket = {c, what, s->listen[i].at};

		account_exists(&socket, s->listen[i].owner, NULL);
		account_exists(&socket, NULL, s->listen[i].group);
	}
}

void rv_load_accounts(const struct rv_conf *conf, bool softly, struct rv_complaints *c)
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
		check_service_accounts(s, what, softly, &arena, c);
	}
	rv_arena_fini(&arena);
}
