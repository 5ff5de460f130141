/* Sentences: see tell.h. */
#include "daemon/tell.h"

#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "daemon/say.h"
#include "sys/clock.h"

enum { TAIL_LINES = 12, TAIL_BYTES = 4096, STDERR_BYTES = 1024 };

static const char *probe_cause(const struct rv_hands *h)
{
	const char *waits = h->prober ? rv_prober_waits(h->prober) : NULL;

	if (h->probe_why && *h->probe_why)
		return h->probe_why;
	if (!waits)
		waits = h->waits;
	return waits ? waits : "no answer yet";
}

void rv_tell_words(const struct rv_hands *h, const char *before, struct rv_buf *to)
{
	const char *status = h->notify ? rv_notify_status(h->notify) : "";
	int number = h->notify ? rv_notify_errno(h->notify) : 0;

	if (*status)
		rv_buf_fmt(to, "%s%s", before, status);
	if (number)
		rv_buf_fmt(to, "%serrno %d: %s", *status ? "; " : before, number, strerror(number));
}

static void add_says(const struct rv_hands *h, struct rv_buf *to)
{
	if (h->notify && rv_notify_says(h->notify) == RV_SAYS_RELOADING)
		rv_buf_str(to, "reloading");
	rv_tell_words(h, to->len ? ": " : "", to);
}

static void ended(const struct rv_hands *h, struct rv_buf *to)
{
	char how[64];

	rv_buf_str(to, rv_exit_text(h->facts.exit, how, sizeof(how)));
}

/* The last line that it wrote to stderr: what a launcher has to say, it says before it ends. */
static void add_stderr(const struct rv_hands *h, struct rv_buf *to)
{
	struct rv_buf raw = {0};
	const char *line, *end;

	rv_capture_tail(h->capture, 0, STDERR_BYTES, true, &raw);
	line = rv_buf_text(&raw);
	end = line + raw.len;
	while (end > line && (end[-1] == '\n' || end[-1] == '\r'))
		end--;
	for (const char *p = line; p < end; p++)
		if (*p == '\n')
			line = p + 1;
	if (end > line) {
		rv_buf_str(to, ": ");
		rv_text_visible(to, line, (size_t)(end - line));
	}
	rv_buf_fini(&raw);
}

/* How it ended; of a launcher, which of its two processes. */
static void who_ended(const struct rv_hands *h, struct rv_buf *to)
{
	if (h->facts.daemon)
		rv_buf_fmt(to, "its daemon (pid %d) ", (int)h->facts.daemon);
	else if (h->service->type == RV_LAUNCHER)
		rv_buf_str(to, "its launcher ");
	ended(h, to);
	if (h->service->type == RV_LAUNCHER && !h->facts.daemon)
		add_stderr(h, to);
}

static bool is_before_ready(const struct rv_hands *h)
{
	return h->service->type == RV_DAEMON || h->facts.daemon;
}

static void too_late(const struct rv_hands *h, struct rv_buf *to)
{
	char time[32];

	rv_text_dur(h->service->ready.timeout, time, sizeof(time));
	if (h->service->type == RV_LAUNCHER && !h->facts.launched)
		rv_buf_fmt(to, "its launcher did not end within %s", time);
	else if (h->service->type == RV_LAUNCHER && !h->facts.daemon)
		rv_buf_fmt(to, "its daemon was not found within %s: %s", time, probe_cause(h));
	else
		rv_buf_fmt(to, "not ready within %s%s; last check: %s", time,
			h->notify && rv_notify_extended(h->notify)
				? " and what else it was given when it asked for more"
				: "",
			probe_cause(h));
}

static void no_daemon(const struct rv_hands *h, struct rv_buf *to)
{
	rv_buf_str(to, "its launcher ended with 0 and left no daemon");
	if (h->probe_why && *h->probe_why)
		rv_buf_fmt(to, ": %s", h->probe_why);
}

/* With the last cause: the limit is only why there is no other try. */
static void gave_up(const struct rv_hands *h, const struct rv_look *look, struct rv_buf *to)
{
	rv_buf_fmt(
		to, "gave up after %u restart%s; ", look->restarts, look->restarts == 1 ? "" : "s");
	if (h->why) {
		rv_buf_str(to, h->why);
		return;
	}
	if (h->facts.launched && !h->facts.daemon) {
		no_daemon(h, to);
		return;
	}
	if (h->service->type == RV_LAUNCHER && !look->ready)
		who_ended(h, to);
	else
		ended(h, to);
	if (!look->ready && h->probe_why && *h->probe_why)
		rv_buf_fmt(to, "; last check: %s", h->probe_why);
}

/* What its plugin makes of its bad health. */
static void doubts(const struct rv_hands *h, const struct rv_look *look, struct rv_buf *to)
{
	const struct rv_suspicion *d = h->suspicion;

	if (!d || d->generation != look->generation)
		return;
	rv_buf_fmt(to, "; its plugin %s%s%s",
		d->verdict == RV_FAIL	      ? "has confirmed that it is lost"
			: d->verdict == RV_OK ? "says that it is alive"
					      : "cannot tell whether it is lost",
		d->why && *d->why ? ": " : "", d->why ? d->why : "");
}

void rv_tell_why(
	const struct rv_hands *h, const struct rv_look *look, const char *other, struct rv_buf *to)
{
	switch (look->why) {
	case RV_WHY_SPAWN: rv_buf_str(to, h->why ? h->why : rv_why_text(look->why)); break;
	case RV_WHY_EXIT_EARLY:
		who_ended(h, to);
		rv_buf_str(to, is_before_ready(h) ? " before it was ready" : "");
		if (h->probe_why && *h->probe_why)
			rv_buf_fmt(to, "; last check: %s", h->probe_why);
		rv_tell_words(h, "; it said: ", to);
		break;
	case RV_WHY_EXIT:
		ended(h, to);
		if (h->facts.exit != 0)
			rv_tell_words(h, "; it said: ", to);
		break;
	case RV_WHY_PROBE_FAILED:
	case RV_WHY_HEALTH:
		rv_buf_fmt(to, "%s: %s", rv_why_text(look->why), probe_cause(h));
		if (look->why == RV_WHY_HEALTH)
			doubts(h, look, to);
		break;
	case RV_WHY_READY_TIMEOUT:
		too_late(h, to);
		rv_tell_words(h, "; it said: ", to);
		break;
	case RV_WHY_NO_DAEMON: no_daemon(h, to); break;
	case RV_WHY_LIMIT: gave_up(h, look, to); break;
	case RV_WHY_UPDATE: rv_buf_fmt(to, "%s: %s", rv_why_text(look->why), probe_cause(h)); break;
	case RV_WHY_DEPENDENCY:
	case RV_WHY_DEPENDENCY_FAILED:
		rv_buf_fmt(to, "%s%s%s", rv_why_text(look->why), other ? ": " : "",
			other ? other : "");
		break;
	case RV_WHY_NONE:
		if (other && look->state == RV_WAITING)
			rv_buf_fmt(to, "waits for %s", other);
		else if (look->state == RV_ADOPTED && h->guest)
			rv_buf_fmt(to, "reeve did not start it: %s had port %u before",
				rv_guest_text(h->guest), rv_guest_port(h->guest));
		else if (look->state == RV_STARTING && h->probe_why && *h->probe_why)
			rv_buf_str(to, h->probe_why);
		else
			add_says(h, to);
		if (!to->len && look->state == RV_STARTING && h->prober &&
			rv_prober_waits(h->prober))
			rv_buf_str(to, rv_prober_waits(h->prober));
		break;
	case RV_WHY_QUITS:
		rv_buf_str(to, rv_why_text(look->why));
		rv_tell_words(h, ": ", to);
		break;
	case RV_WHY_GONE: rv_buf_str(to, h->why ? h->why : rv_why_text(look->why)); break;
	case RV_WHY_RECREATE:
		rv_buf_str(to, "lost");
		if (h->suspicion && h->suspicion->why && *h->suspicion->why)
			rv_buf_fmt(to, ": %s", h->suspicion->why);
		break;
	case RV_WHY_OPERATOR:
	case RV_WHY_RESTART:
	case RV_WHY_RELOAD:
	case RV_WHY_ENVIRONMENT:
	case RV_WHY_ROLLBACK:
	case RV_WHY_SHUTDOWN:
	case RV_WHY_BOOT_TIMEOUT:
	case RV_WHY_UNNEEDED:
	case RV_WHY_GRACE:
	case RV_WHY_STUCK: rv_buf_str(to, rv_why_text(look->why)); break;
	case RV_WHY_COUNT: break;
	}
}

void rv_tell_raw_tail(const struct rv_hands *h, size_t lines, size_t bytes, struct rv_buf *to)
{
	rv_capture_tail(h->capture, lines, bytes, true, to);
	if (!to->len)
		rv_capture_tail(h->capture, lines, bytes, false, to);
}

/* The same, each line indented, control characters made visible. */
static void show_tail(const struct rv_hands *h, struct rv_buf *to)
{
	struct rv_buf raw = {0}, clean = {0};
	char *line, *rest;

	rv_tell_raw_tail(h, TAIL_LINES, TAIL_BYTES, &raw);
	rv_text_visible(&clean, rv_buf_text(&raw), raw.len);
	for (line = clean.data; line && *line; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = 0;
		rv_buf_fmt(to, "%s  | %s", to->len ? "\n" : "", line);
		if (!rest)
			break;
	}
	rv_buf_fini(&raw);
	rv_buf_fini(&clean);
}

static void failed(const struct rv_hands *h, const struct rv_look *look, const char *why)
{
	struct rv_buf tail = {0};

	if (look->why != RV_WHY_SPAWN)
		show_tail(h, &tail);
	rv_say(RV_ERROR, h->service->name, "failed: %s%s%s", why,
		tail.len ? "; its last lines:\n" : "", rv_buf_text(&tail));
	rv_buf_fini(&tail);
}

/* Where the time went, unless all of it was the checks'. */
static void parts(const struct rv_look *look, struct rv_buf *to)
{
	const uint32_t us[] = {look->spawn_us, look->proof_us, look->init_us};
	static const char *const names[] = {"spawn", "checks", "init"};
	char time[32];

	if (us[0] < 1000 && us[2] < 1000)
		return;
	for (size_t i = 0; i < 3; i++)
		if (us[i] != RV_NOT_YET && us[i] >= 1000)
			rv_buf_fmt(to, "%s %s %s", to->len ? "," : ";", names[i],
				rv_text_dur(us[i] / 1000 * RV_MS, time, sizeof(time)));
}

/* Not by the clock of the life: that may be over already. */
static const char *took(const struct rv_look *look, char *to, size_t size)
{
	rv_time all = ((rv_time)look->spawn_us + look->proof_us + look->init_us) / 1000 * RV_MS;

	if (!all)
		return "at once";
	snprintf(to, size, "after ");
	rv_text_dur(all, to + strlen(to), size - strlen(to));
	return to;
}

void rv_tell_took(const struct rv_look *look, struct rv_buf *to)
{
	struct rv_buf where = {0};
	char time[40];

	parts(look, &where);
	rv_buf_fmt(to, "%s%s", took(look, time, sizeof(time)), rv_buf_text(&where));
	rv_buf_fini(&where);
}

bool rv_tell_is_back(const struct rv_look *look)
{
	return look->state == RV_READY && look->ready && look->since > look->ready;
}

/* One that is quick may have been reaped in the turn in which its start was heard of. */
static const char *whom(const struct rv_hands *h, char *to, size_t size)
{
	if (!h->facts.pid)
		return "has ended already";
	snprintf(to, size, "pid %d", (int)h->facts.pid);
	return to;
}

static void became_ready(const struct rv_hands *h, const struct rv_look *look)
{
	struct rv_buf where = {0};
	char time[40], pid[24];

	if (rv_tell_is_back(look)) {
		rv_say(RV_INFO, h->service->name, "ready again (%s)", whom(h, pid, sizeof(pid)));
		return;
	}
	parts(look, &where);
	rv_say(RV_INFO, h->service->name, "ready %s (%s%s)%s", took(look, time, sizeof(time)),
		whom(h, pid, sizeof(pid)), rv_buf_text(&where),
		look->flags & RV_LOOK_UNPROVEN ? ", unproven: nothing checks it" : "");
	rv_buf_fini(&where);
}

void rv_tell_state(const struct rv_hands *h, const struct rv_look *look, const char *why)
{
	const char *name = h->service->name;
	char time[32];

	switch (look->state) {
	case RV_READY: became_ready(h, look); break;
	case RV_FAILED: failed(h, look, why); break;
	case RV_BACKOFF:
		if (look->flags & RV_LOOK_PAUSED)
			rv_say(RV_WARN, name,
				"%s; it is paused: not started again before `reevectl resume %s`",
				why, name);
		else
			rv_say(RV_WARN, name, "%s; next start in %s", why,
				rv_text_dur((look->due - look->since) / RV_MS * RV_MS, time,
					sizeof(time)));
		break;
	case RV_EXITED:
		rv_say(RV_INFO, name,
			h->service->type == RV_TASK || h->service->is_command
				? "finished"
				: "ended by itself with 0: it is not started again");
		break;
	case RV_STOPPED: rv_say(h->lived ? RV_INFO : RV_DEBUG, name, "stopped"); break;
	case RV_UNHEALTHY: rv_say(RV_WARN, name, "unhealthy: %s", why); break;
	case RV_KILLING: rv_say(RV_WARN, name, "did not stop in time: killed"); break;
	case RV_ADOPTED:
		rv_say(RV_INFO, name,
			"adopted: %s answers as it should; it is not started, and never "
			"signalled",
			h->guest ? rv_guest_text(h->guest) : "somebody");
		break;
	case RV_WAITING:
	case RV_QUEUED:
	case RV_STARTING:
	case RV_STOPPING:
		if (h->guest && look->state == RV_STOPPING) {
			rv_say(RV_INFO, name, "let go: %s was adopted, and runs on",
				rv_guest_text(h->guest));
			break;
		}
		rv_say(RV_DEBUG, name, "%s%s%s", rv_state_name(look->state), *why ? ": " : "", why);
		break;
	case RV_STATE_COUNT: break;
	}
}
