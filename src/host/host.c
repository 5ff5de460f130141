/* The process around the driver: becoming the host, and its channel. */
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/drive.h"
#include "sys/fd.h"

struct host {
	struct ev_loop *loop;
	struct rv_drive *drive;
	int fd;
	ev_io in, out;
	struct rv_buf read, write;
	int status;
};

static void leave(struct host *h, int status)
{
	h->status = status;
	ev_break(h->loop, EVBREAK_ALL);
}

static void flush(struct host *h)
{
	ssize_t n = 0;

	while (h->write.len) {
		n = send(h->fd, h->write.data, h->write.len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		rv_buf_drop(&h->write, (size_t)n);
	}
	if (n < 0 && errno != EAGAIN)
		leave(h, 0); /* the daemon is gone */
	else if (h->write.len)
		ev_io_start(h->loop, &h->out);
	else
		ev_io_stop(h->loop, &h->out);
}

/* What cannot be encoded is too large or starved of memory: better to be started anew. */
static void post(void *arg, const struct rv_hp_msg *m)
{
	struct host *h = arg;

	if (!rv_hp_encode(m, &h->write))
		leave(h, 70);
	else if (!ev_is_active(&h->out))
		ev_io_start(h->loop, &h->out);
}

static bool take_frames(struct host *h)
{
	size_t at = 0, used;
	enum rv_hp_got got = RV_HP_MORE;
	struct rv_hp_msg m;

	while (at < h->read.len) {
		struct rv_arena arena = {0};

		got = rv_hp_decode(h->read.data + at, h->read.len - at, &arena, &m, &used);
		if (got == RV_HP_OK && !rv_drive_take(h->drive, &m, &arena))
			got = RV_HP_BAD;
		rv_arena_fini(&arena);
		if (got != RV_HP_OK)
			break;
		at += used;
	}
	rv_buf_drop(&h->read, at);
	return got != RV_HP_BAD;
}

static void on_in(struct ev_loop *loop, ev_io *w, int events)
{
	struct host *h = w->data;
	ssize_t n;

	(void)loop;
	(void)events;
	if (!rv_buf_reserve(&h->read, 65536)) {
		leave(h, 70);
		return;
	}
	n = recv(h->fd, h->read.data + h->read.len, 65536, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		leave(h, 0);
		return;
	}
	h->read.len += (size_t)n;
	if (!take_frames(h))
		leave(h, 70);
	else
		flush(h);
}

static void on_out(struct ev_loop *loop, ev_io *w, int events)
{
	(void)loop;
	(void)events;
	flush(w->data);
}

/* Signals that people send to all that is called reeve: they are the daemon's, who ends us in its own way. */
static const int not_for_us[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE};

/* Nothing of the daemon's is left: signals, session, descriptors. */
static void become(int fd)
{
	struct sigaction preset = {.sa_handler = SIG_DFL};
	sigset_t none;
	int null;

	for (int s = 1; s < NSIG; s++)
		sigaction(s, &preset, NULL);
	for (size_t i = 0; i < sizeof(not_for_us) / sizeof(not_for_us[0]); i++)
		signal(not_for_us[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "reeve-host");
	if (fd > 3)
		syscall(SYS_close_range, 3u, (unsigned)fd - 1, 0u);
	syscall(SYS_close_range, (unsigned)fd + 2, ~0u, 0u);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null > 0) {
		dup2(null, 0);
		close(null);
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	rv_fd_nonblock(fd, true);
}

static struct rv_hp_page *map_page(int fd)
{
	void *p = mmap(NULL, sizeof(struct rv_hp_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		p = mmap(NULL, sizeof(struct rv_hp_page), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

int rv_host_run(int fd)
{
	struct host h = {.fd = fd, .read.max = 2 * RV_HP_MAX, .write.max = 64 << 20};
	struct rv_hp_page *page;

	become(fd);
	page = map_page(fd + 1);
	h.loop = ev_loop_new(EVFLAG_AUTO);
	if (!page || !h.loop)
		return 70;
	h.drive = rv_drive_create(h.loop, page, post, &h);
	if (!h.drive)
		return 70;
	ev_io_init(&h.in, on_in, fd, EV_READ);
	ev_io_init(&h.out, on_out, fd, EV_WRITE);
	h.in.data = h.out.data = &h;
	ev_io_start(h.loop, &h.in);
	ev_run(h.loop, 0);
	flush(&h);
	rv_drive_destroy(h.drive);
	ev_loop_destroy(h.loop);
	rv_buf_fini(&h.read);
	rv_buf_fini(&h.write);
	return h.status;
}
