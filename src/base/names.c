/* Words: see names.h. */
#include "base/names.h"

#include <signal.h>
#include <stdio.h>
#include <strings.h>

#include "base/text.h"

static const char *const states[] = {RV_STATES(RV_LIST_NAME)};
static const char *const whys[] = {RV_WHYS(RV_LIST_NAME)};
static const char *const hooks[] = {RV_HOOKS(RV_LIST_NAME)};

/* clang-format off */
#define SIGNALS(X)                                                                                 \
	X(HUP) X(INT) X(QUIT) X(ILL) X(TRAP) X(ABRT) X(BUS) X(FPE) X(KILL) X(USR1) X(SEGV)         \
	X(USR2) X(PIPE) X(ALRM) X(TERM) X(STKFLT) X(CHLD) X(CONT) X(STOP) X(TSTP) X(TTIN)          \
	X(TTOU) X(URG) X(XCPU) X(XFSZ) X(VTALRM) X(PROF) X(WINCH) X(IO) X(PWR) X(SYS)
/* clang-format on */
#define SIGNAL_ENTRY(name) {SIG##name, #name},

static const struct {
	int number;
	const char *name;
} signals[] = {SIGNALS(SIGNAL_ENTRY)};

static const size_t n_signals = sizeof(signals) / sizeof(signals[0]);

const char *rv_state_name(enum rv_state s)
{
	return (unsigned)s < RV_STATE_COUNT ? states[s] : "?";
}

const char *rv_why_text(enum rv_why w)
{
	return (unsigned)w < RV_WHY_COUNT ? whys[w] : "?";
}

const char *rv_hook_name(enum rv_hook h)
{
	return (unsigned)h < RV_HOOK_COUNT ? hooks[h] : "?";
}

const char *rv_exit_text(rv_exit e, char *to, size_t size)
{
	if (e < 0) {
		snprintf(to, size, "ended");
	} else if (e < 256) {
		snprintf(to, size, "exited with %d", (int)e);
	} else {
		const char *name = rv_signal_name(e - 256);

		if (name)
			snprintf(to, size, "killed by SIG%s", name);
		else
			snprintf(to, size, "killed by signal %d", (int)e - 256);
	}
	return to;
}

int rv_exit_status(rv_exit e)
{
	if (e < 0)
		return 1;
	return e < 256 ? e : 128 + (e - 256);
}

const char *rv_signal_name(int number)
{
	static const char *const realtime[] = {"RTMIN", "RTMIN+1", "RTMIN+2", "RTMIN+3", "RTMIN+4",
		"RTMIN+5", "RTMIN+6", "RTMIN+7", "RTMIN+8", "RTMIN+9", "RTMIN+10", "RTMIN+11",
		"RTMIN+12", "RTMIN+13", "RTMIN+14", "RTMIN+15"};

	for (size_t i = 0; i < n_signals; i++)
		if (signals[i].number == number)
			return signals[i].name;
	if (number >= SIGRTMIN && number < SIGRTMIN + 16)
		return realtime[number - SIGRTMIN];
	return NULL;
}

/* "RTMIN", or "RTMIN+2": what rv_signal_name gives. 0: neither. */
static int realtime_from_name(const char *name)
{
	int64_t n = 0;

	if (strncasecmp(name, "RTMIN", 5) != 0)
		return 0;
	name += 5;
	if (*name && (*name != '+' || name[1] < '0' || name[1] > '9' || !rv_text_int(name + 1, &n)))
		return 0;
	return n > SIGRTMAX - SIGRTMIN ? 0 : SIGRTMIN + (int)n;
}

int rv_signal_from_name(const char *name)
{
	int64_t n;

	if (!strncasecmp(name, "SIG", 3))
		name += 3;
	for (size_t i = 0; i < n_signals; i++)
		if (!strcasecmp(signals[i].name, name))
			return signals[i].number;
	if (*name < '0' || *name > '9')
		return realtime_from_name(name);
	return rv_text_int(name, &n) && n >= 1 && n <= SIGRTMAX ? (int)n : 0;
}
