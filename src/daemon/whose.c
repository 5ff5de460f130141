/* Whose answer it is: see whose.h. */
#include "daemon/whose.h"

#include <string.h>
#include <unistd.h>

#include "daemon/proc.h"

struct life { /* its processes; all but the main one only when they are needed */
	struct rv_reaper *r;
	rv_id id;
	pid_t main;
	struct rv_pids rest;
	bool listed;
};

/* Reeve bound it, and keeps it. */
static bool is_inherited(const struct rv_service *s, const struct rv_address *a)
{
	static const uint8_t zero[16];

	for (size_t i = 0; i < s->listen_count; i++) {
		const struct rv_listen *l = &s->listen[i];
		size_t n = l->family == RV_TCP6 ? 16 : 4;

		if (l->family == RV_UNIX || l->port != a->port)
			continue;
		if (a->any ||
			((l->family == RV_TCP6) == a->v6 &&
				(!memcmp(l->ip, a->ip, n) || !memcmp(l->ip, zero, n))))
			return true;
	}
	return false;
}

static enum rv_held take_of_life(struct rv_sockets *sockets, struct life *l)
{
	if (rv_sockets_take(sockets, &l->main, l->main > 0) == RV_HELD_YES)
		return RV_HELD_YES;
	if (!l->listed)
		rv_reaper_list(l->r, l->id, &l->rest);
	l->listed = true;
	return rv_sockets_take(sockets, l->rest.at, l->rest.count);
}

static enum rv_whose judge_tcp(const struct rv_service *s, const struct rv_address *a,
	struct life *l, unsigned long *inode)
{
	struct rv_sockets sockets;
	enum rv_held held;
	size_t all;

	*inode = 0;
	if (is_inherited(s, a))
		return RV_WHOSE_OWN;
	rv_port_listeners(a, &sockets);
	all = sockets.count;
	held = all ? take_of_life(&sockets, l) : RV_HELD_UNKNOWN;
	/* Of a declared port it is enough to have a part: on other addresses others may be. */
	if (held == RV_HELD_YES || (a->any && sockets.count < all))
		return RV_WHOSE_OWN;
	*inode = all ? sockets.inodes[0] : 0;
	return held == RV_HELD_NO ? RV_WHOSE_OTHERS : RV_WHOSE_UNKNOWN;
}

static enum rv_whose judge(const struct rv_service *s, const struct rv_address *a, struct life *l,
	unsigned long *inode)
{
	const struct rv_address six = {.ip = {[15] = 1}, .port = a->port, .v6 = true};
	enum rv_whose w = judge_tcp(s, a, l, inode);
	unsigned long there;

	if (a->either && w != RV_WHOSE_OWN && judge_tcp(s, &six, l, &there) == RV_WHOSE_OWN)
		return RV_WHOSE_OWN;
	return w;
}

struct verdict {
	enum rv_whose whose; /* the worst so far */
	struct rv_doubt doubt; /* and where it was found */
};

static void keep_worse(struct verdict *v, enum rv_whose w, const struct rv_doubt *doubt)
{
	if (v->whose == RV_WHOSE_OTHERS || w == RV_WHOSE_OWN || w == v->whose)
		return;
	v->whose = w;
	v->doubt = *doubt;
}

static void weigh(
	struct verdict *v, const struct rv_service *s, const struct rv_address *a, struct life *l)
{
	struct rv_doubt doubt = {.at = *a};
	enum rv_whose w = judge(s, a, l, &doubt.inode);

	keep_worse(v, w, &doubt);
}

/* A plugin asks at the loopback address; where nobody is there, it has asked somewhere else. */
static void weigh_port(
	struct verdict *v, const struct rv_service *s, uint16_t port, bool home, struct life *l)
{
	struct rv_doubt doubt = {.at = {.ip = {127, 0, 0, 1}, .port = port}};
	enum rv_whose w = home ? judge(s, &doubt.at, l, &doubt.inode) : RV_WHOSE_UNKNOWN;

	if (w == RV_WHOSE_UNKNOWN && !doubt.inode)
		weigh(v, s, &(struct rv_address){.port = port, .any = true}, l);
	else
		keep_worse(v, w, &doubt);
}

enum rv_whose rv_whose_judge(const struct rv_service *s, const struct rv_check *k,
	struct rv_reaper *r, struct rv_doubt *doubt)
{
	struct life l = {.r = r, .id = s->id, .main = rv_reaper_pid(r, s->id)};
	struct rv_address tcp = {.port = k->tcp_port, .v6 = k->tcp_v6};
	struct verdict v = {.whose = RV_WHOSE_OWN};

	memcpy(tcp.ip, k->tcp_ip, sizeof(tcp.ip));
	if (!k->tcp || !rv_address_make_local(&tcp))
		tcp.port = 0;
	if (tcp.port)
		weigh(&v, s, &tcp, &l);
	if (k->http_at.port)
		weigh(&v, s, &k->http_at, &l);
	for (size_t i = 0; i < s->port_count; i++)
		if (s->ports[i] != tcp.port && s->ports[i] != k->http_at.port)
			weigh_port(&v, s, s->ports[i], k->plugin, &l);
	rv_pids_fini(&l.rest);
	*doubt = v.doubt;
	return v.whose;
}
