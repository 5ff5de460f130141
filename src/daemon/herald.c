/* Words for our own supervisor: see herald.h. */
#include "daemon/herald.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "daemon/say.h"
#include "sys/fd.h"

#define AGAIN 0.1 /* seconds, after a try that found its queue full */

struct rv_herald {
	struct ev_loop *loop;
	struct rv_engine *engine;
	struct rv_watcher watcher;
	struct ev_timer again;
	int fd;
	struct sockaddr_un at;
	socklen_t at_len;
	const char *boot, *stop; /* still to be told, in this order; NULL: nothing */
	bool ready, failed; /* told of the boot */
	bool stopping;
};

/* False: it has to be tried again. Whoever is not there any more is not told. */
static bool tell(struct rv_herald *h, const char **what)
{
	ssize_t n;

	if (!*what)
		return true;
	do
		n = sendto(h->fd, *what, strlen(*what), MSG_DONTWAIT | MSG_NOSIGNAL,
			(const struct sockaddr *)&h->at, h->at_len);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == ENOBUFS))
		return false;
	if (n < 0)
		rv_say(RV_WARN, NULL, "cannot tell NOTIFY_SOCKET how it is: %s", strerror(errno));
	*what = NULL;
	return true;
}

static void tell_all(struct rv_herald *h)
{
	if (tell(h, &h->boot) && tell(h, &h->stop))
		return;
	ev_timer_set(&h->again, AGAIN, 0.);
	ev_timer_start(h->loop, &h->again);
}

static void on_again(struct ev_loop *loop, struct ev_timer *w, int events)
{
	(void)loop, (void)events;
	tell_all(w->data);
}

/* What it came to when the boot failed and was not rolled back: somebody may have started what was missing. */
static const char *word_after_failure(const struct rv_herald *h)
{
	switch (rv_engine_whole(h->engine)) {
	case RV_WHOLE_READY: return "READY=1\nSTATUS=all ready";
	case RV_WHOLE_DEGRADED: return "READY=1\nSTATUS=ready, degraded";
	case RV_WHOLE_NOT_READY: break;
	}
	return h->failed ? NULL : "STATUS=boot failed";
}

static const char *word_for(const struct rv_herald *h)
{
	switch (rv_engine_boot(h->engine)) {
	case RV_BOOT_DONE: return "READY=1\nSTATUS=all ready";
	case RV_BOOT_DEGRADED: return "READY=1\nSTATUS=ready, degraded";
	case RV_BOOT_FAILED: return word_after_failure(h);
	case RV_BOOT_NOT_YET:
	case RV_BOOT_UNDER_WAY: break;
	}
	return NULL;
}

static void on_change(struct rv_watcher *w, rv_id id)
{
	struct rv_herald *h = (struct rv_herald *)((char *)w - offsetof(struct rv_herald, watcher));
	const char *word;

	(void)id;
	word = h->ready ? NULL : word_for(h);
	if (word) {
		h->boot = word;
		h->ready = *word == 'R';
		h->failed = !h->ready;
	}
	if (!h->stopping && rv_engine_closing(h->engine)) {
		h->stopping = true;
		h->stop = "STOPPING=1\nSTATUS=stopping";
	}
	if (!ev_is_active(&h->again))
		tell_all(h);
}

/* A path, or the name of an abstract socket behind '@'. */
static bool find(struct rv_herald *h, const char *path)
{
	size_t n = strlen(path);

	if ((path[0] != '/' && path[0] != '@') || !path[1] || n >= sizeof(h->at.sun_path))
		return false;
	h->at.sun_family = AF_UNIX;
	memcpy(h->at.sun_path, path, n + 1);
	if (path[0] == '@')
		h->at.sun_path[0] = 0;
	h->at_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (path[0] == '/'));
	return true;
}

struct rv_herald *rv_herald_create(struct ev_loop *loop, struct rv_engine *engine, const char *path)
{
	struct rv_herald *h;

	if (!path || !*path)
		return NULL;
	h = calloc(1, sizeof(*h));
	if (h)
		h->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (!h || h->fd < 0 || !find(h, path)) {
		rv_say(RV_WARN, NULL,
			"NOTIFY_SOCKET is ignored: it is no path of a socket that can be written "
			"to");
		if (h)
			rv_fd_close(&h->fd);
		free(h);
		return NULL;
	}
	h->loop = loop;
	h->engine = engine;
	ev_timer_init(&h->again, on_again, 0., 0.);
	h->again.data = h;
	h->watcher.changed = on_change;
	rv_engine_watch(engine, &h->watcher);
	return h;
}

void rv_herald_destroy(struct rv_herald *h)
{
	if (!h)
		return;
	rv_engine_unwatch(h->engine, &h->watcher);
	ev_timer_stop(h->loop, &h->again);
	(void)(tell(h, &h->boot) && tell(h, &h->stop));
	rv_fd_close(&h->fd);
	free(h);
}
