/* `limits`: what a service may use of each resource that the kernel counts. */
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include "base/text.h"
#include "conf/whole.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *rv_limit_name(int resource)
{
	static const char *const names[] = {
		[RLIMIT_CPU] = "cpu",
		[RLIMIT_FSIZE] = "fsize",
		[RLIMIT_DATA] = "data",
		[RLIMIT_STACK] = "stack",
		[RLIMIT_CORE] = "core",
		[RLIMIT_RSS] = "rss",
		[RLIMIT_NPROC] = "nproc",
		[RLIMIT_NOFILE] = "nofile",
		[RLIMIT_MEMLOCK] = "memlock",
		[RLIMIT_AS] = "as",
		[RLIMIT_LOCKS] = "locks",
		[RLIMIT_SIGPENDING] = "sigpending",
		[RLIMIT_MSGQUEUE] = "msgqueue",
		[RLIMIT_NICE] = "nice",
		[RLIMIT_RTPRIO] = "rtprio",
		[RLIMIT_RTTIME] = "rttime",
	};

	if (resource < 0 || (size_t)resource >= sizeof(names) / sizeof(*names) || !names[resource])
		return "?";
	return names[resource];
}

static void read_amount(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	(void)row;
	if (v->kind == RV_TREE_SCALAR && !strcmp(v->text, "unlimited"))
		*(uint64_t *)to = UINT64_MAX;
	else if (v->kind != RV_TREE_SCALAR || !rv_text_size(v->text, to))
		rv_read_refuse(r, v, "a number, a size such as 64MiB, or unlimited");
}

static const struct rv_row limit_rows[] = {
	{"soft", read_amount, offsetof(struct rv_limit, soft), NULL, 0, 0, NULL, false},
	{"hard", read_amount, offsetof(struct rv_limit, hard), NULL, 0, 0, NULL, false},
};
static const struct rv_table limit_table = RV_TABLE(limit_rows);

static void read_limit(struct rv_read *r, const struct rv_tree *v, struct rv_limit *l)
{
	if (v->kind == RV_TREE_MAP) {
		if (!rv_tree_get(v, "soft") || !rv_tree_get(v, "hard"))
			rv_read_complain(r, v->at, "needs both soft and hard");
		rv_read_table(r, &limit_table, v, l);
	} else {
		read_amount(r, NULL, v, &l->soft);
		l->hard = l->soft;
	}
	if (l->soft > l->hard)
		rv_read_complain(r, v->at, "has a soft limit above the hard one");
}

void rv_service_limits(
	struct rv_read *r, const struct rv_row *row, const struct rv_tree *v, void *to)
{
	struct rv_detail *d = to;
	const char *names[RLIM_NLIMITS];
	struct rv_limit *list;
	char hint[100];

	(void)row;
	if (v->kind != RV_TREE_MAP) {
		rv_read_refuse(r, v, "a map such as {nofile: 1024}");
		return;
	}
	for (int i = 0; i < RLIM_NLIMITS; i++)
		names[i] = rv_limit_name(i);
	list = rv_arena_array(r->arena, v->count, sizeof(*list));
	for (uint32_t i = 0; list && i < v->count; i++) {
		const struct rv_pair *p = &v->pairs[i];
		int k = 0;

		while (k < RLIM_NLIMITS && strcmp(names[k], p->key) != 0)
			k++;
		if (k == RLIM_NLIMITS || !strcmp(p->key, "?")) {
			rv_read_complain(r, p->at, "has no limit called '%s'%s", p->key,
				rv_read_hint(p->key, names, COUNT(names), hint, sizeof(hint)));
			continue;
		}
		rv_read_enter(r, p->key);
		list[d->s.limit_count].resource = k;
		read_limit(r, p->value, &list[d->s.limit_count++]);
		rv_read_leave(r);
	}
	d->s.limits = list;
}
