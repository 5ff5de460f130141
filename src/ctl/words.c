/* The command line: see words.h. */
#include "ctl/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "ctl/env.h"
#include "ctl/fault.h"
#include "ctl/given.h"
#include "wire/variables.h"

#define TIMEOUT_MAX   (366 * 86400 * RV_SEC) /* as in a configuration; it is added to the clock */
#define PRESET_SOCKET "/run/reeve/control.sock"

enum option {
	O_SOCKET,
	O_JSON,
	O_HELP,
	O_VERSION,
	O_ALL,
	O_NO_WAIT,
	O_TIMEOUT,
	O_GENERATION,
	O_LINES,
	O_FOLLOW,
	O_DRY_RUN,
	O_READY,
	O_STOPPED,
	O_EXITED,
	O_OPTION,
	O_SHOW_VALUES,
	O_REPLACE,
	O_IF_LOST,
	O_COUNT
};

#define V(verb) (1u << (verb))
#define EVERY	(V(RV_VERB_COUNT) - 1)
#define CHANGE	(V(RV_VERB_START) | V(RV_VERB_STOP) | V(RV_VERB_RESTART))
#define WAIT	V(RV_VERB_WAIT)
#define RELOAD	V(RV_VERB_RELOAD)
#define LOSS	V(RV_VERB_RECREATE)
#define PAUSE	(V(RV_VERB_PAUSE) | V(RV_VERB_RESUME))

static const struct {
	const char *name; /* --NAME */
	char letter; /* -L, or 0 */
	const char *value; /* what it takes, or NULL */
	unsigned verbs;
} options[O_COUNT] = {
	[O_SOCKET] = {"socket", 's', "a path", EVERY},
	[O_JSON] = {"json", 0, NULL, EVERY},
	[O_HELP] = {"help", 'h', NULL, EVERY},
	[O_VERSION] = {"version", 'V', NULL, EVERY},
	[O_ALL] = {"all", 'a', NULL, CHANGE},
	[O_NO_WAIT] = {"no-wait", 0, NULL, CHANGE | LOSS | RELOAD | V(RV_VERB_SHUTDOWN)},
	[O_TIMEOUT] = {"timeout", 't', "a duration, such as 30s",
		CHANGE | LOSS | WAIT | RELOAD | V(RV_VERB_SHUTDOWN) | V(RV_VERB_ENV)},
	[O_GENERATION] = {"generation", 0, "a number",
		CHANGE | LOSS | WAIT | V(RV_VERB_SIGNAL) | PAUSE},
	[O_LINES] = {"lines", 'n', "a number, or all", V(RV_VERB_LOGS) | V(RV_VERB_EVENTS)},
	[O_FOLLOW] = {"follow", 'f', NULL, V(RV_VERB_LOGS) | V(RV_VERB_EVENTS)},
	[O_DRY_RUN] = {"dry-run", 0, NULL, RELOAD},
	[O_READY] = {"ready", 0, NULL, WAIT},
	[O_STOPPED] = {"stopped", 0, NULL, WAIT},
	[O_EXITED] = {"exited", 0, NULL, WAIT},
	[O_OPTION] = {"option", 'o', "KEY=VALUE, KEY=@FILE or KEY=@-",
		V(RV_VERB_START) | V(RV_VERB_RESTART)},
	[O_SHOW_VALUES] = {"show-values", 0, NULL, V(RV_VERB_ENV)},
	[O_REPLACE] = {"replace", 0, NULL, V(RV_VERB_ENV)},
	[O_IF_LOST] = {"if-lost", 0, NULL, LOSS},
};

static const struct {
	const char *use, *text;
} helps[RV_VERB_COUNT] = {
	[RV_VERB_STATUS] = {"status [NAME...]", "show services; 3 when a named one is not ready"},
	[RV_VERB_START] = {"start NAME... | --all",
		"start, with all that is needed; wait until ready"},
	[RV_VERB_STOP] = {"stop NAME... | --all", "stop, dependents first; wait until gone"},
	[RV_VERB_RESTART] = {"restart NAME... | --all", "stop and start; wait until ready again"},
	[RV_VERB_RECREATE] = {"recreate NAME... --if-lost",
		"replace what its plugin confirms to be lost; wait until ready"},
	[RV_VERB_SIGNAL] = {"signal SIGNAL NAME...", "send a signal to the main process"},
	[RV_VERB_PAUSE] = {"pause [NAME...]", "restart nothing automatically until resumed"},
	[RV_VERB_RESUME] = {"resume [NAME...]", "restart again what ends; what is due, at once"},
	[RV_VERB_RELOAD] = {"reload",
		"load the configuration files again; wait until what changed is ready"},
	[RV_VERB_ENV] = {"env [NAME] | env set NAME=VALUE... | env set --json FILE",
		"list variables and where they come from; change the sandbox's"},
	[RV_VERB_LOGS] = {"logs [-f] [-n N] [NAME...]", "show what services wrote; -f: go on"},
	[RV_VERB_WAIT] = {"wait [--ready|--stopped|--exited] [NAME...]",
		"wait for services, or for the whole sandbox"},
	[RV_VERB_WHY] = {"why [NAME...]", "say what a service, or the sandbox, waits for"},
	[RV_VERB_EVENTS] = {"events [-f] [-n N] [NAME...]", "show changes of state; -f: go on"},
	[RV_VERB_CHECK] = {"check", "validate the configuration files again"},
	[RV_VERB_PLAN] = {"plan", "print the effective configuration"},
	[RV_VERB_PLUGINS] = {"plugins", "list plugins and their options"},
	[RV_VERB_VERSION] = {"version", "print both versions"},
	[RV_VERB_SHUTDOWN] = {"shutdown", "stop everything in reverse; reeve ends"},
};

/* "cannot ... : reason" */
const char *rv_words_deed(const struct rv_words *w)
{
	switch (w->verb) {
	case RV_VERB_STATUS: return "show the status";
	case RV_VERB_ENV: return w->variables ? "change the environment" : "show the environment";
	case RV_VERB_LOGS: return "show logs";
	case RV_VERB_WHY: return "say why";
	case RV_VERB_EVENTS: return "show events";
	case RV_VERB_RELOAD: return "reload";
	case RV_VERB_CHECK: return "check the files";
	case RV_VERB_PLAN: return "show the plan";
	case RV_VERB_PLUGINS: return "list plugins";
	case RV_VERB_VERSION: return "ask for the version";
	case RV_VERB_SHUTDOWN: return "shut down";
	case RV_VERB_START:
	case RV_VERB_STOP:
	case RV_VERB_RESTART:
	case RV_VERB_RECREATE:
	case RV_VERB_SIGNAL:
	case RV_VERB_PAUSE:
	case RV_VERB_RESUME:
	case RV_VERB_WAIT:
	case RV_VERB_COUNT: break;
	}
	return rv_verb_name(w->verb);
}

void rv_words_help(const struct rv_words *w)
{
	static const enum rv_verb order[] = {RV_VERB_STATUS, RV_VERB_START, RV_VERB_STOP,
		RV_VERB_RESTART, RV_VERB_RECREATE, RV_VERB_SIGNAL, RV_VERB_PAUSE, RV_VERB_RESUME,
		RV_VERB_RELOAD, RV_VERB_ENV, RV_VERB_LOGS, RV_VERB_WAIT, RV_VERB_WHY,
		RV_VERB_EVENTS, RV_VERB_CHECK, RV_VERB_PLAN, RV_VERB_PLUGINS, RV_VERB_VERSION,
		RV_VERB_SHUTDOWN};

	if (w->has_verb)
		printf("usage: reevectl [-s SOCKET] [--json] %s\n%s\n\noptions:\n",
			helps[w->verb].use, helps[w->verb].text);
	else
		printf("usage: reevectl [-s SOCKET] [--json] VERB ...\n\nverbs:\n");
	for (size_t i = 0; !w->has_verb && i < sizeof(order) / sizeof(order[0]); i++)
		printf("  %-44s %s\n", helps[order[i]].use, helps[order[i]].text);
	if (!w->has_verb)
		printf("  %-44s %s\n\noptions, before or behind the verb:\n", "help [VERB]",
			"print this, or what a verb takes");
	for (unsigned o = 0; o < O_COUNT; o++) {
		char letter[5] = "    ";

		if (w->has_verb ? !(options[o].verbs & V(w->verb)) : options[o].verbs != EVERY)
			continue;
		if (options[o].letter)
			snprintf(letter, sizeof(letter), "-%c, ", options[o].letter);
		printf("  %s--%s%s%s\n", letter, options[o].name, options[o].value ? "  " : "",
			options[o].value ? options[o].value : "");
	}
	printf("\nThe socket is REEVE_SOCKET, or " PRESET_SOCKET ". See reevectl(1).\n");
}

static bool complain(const struct rv_words *w, const char *what, const char *word, const char *more)
{
	struct rv_fault f;

	rv_fault_set(&f, CTL_USAGE, "usage", "%s%s%s (see reevectl --help)", what, word, more);
	rv_fault_tell(&f, w->json);
	return false;
}

static bool read_value(struct rv_words *w, enum option o, char *v)
{
	struct rv_fault f;
	int64_t n;

	switch (o) {
	case O_SOCKET: w->socket = v; return *v || complain(w, "--socket needs a path", "", "");
	case O_TIMEOUT:
		w->has_timeout = true;
		if (!rv_text_duration(v, &w->timeout))
			return complain(w, "not a duration, such as 500ms, 30s or 2m: ", v, "");
		return w->timeout <= TIMEOUT_MAX ||
			complain(w, "a timeout is at most 366d, not ", v, "");
	case O_GENERATION:
		w->has_generation = true;
		if (!rv_text_int(v, &n) || n < 0)
			return complain(w, "not a generation: ", v, "");
		w->generation = (uint64_t)n;
		return true;
	case O_LINES:
		w->has_lines = true;
		if (!strcmp(v, "all"))
			return true;
		if (!rv_text_int(v, &n) || n < 0 || n > 1000000000)
			return complain(w, "not a number of lines: ", v, "");
		w->lines = (uint32_t)n;
		return true;
	case O_OPTION:
		if (rv_given_add(&w->given, v, &f))
			return true;
		rv_fault_tell(&f, w->json);
		return false;
	case O_JSON:
	case O_HELP:
	case O_VERSION:
	case O_ALL:
	case O_NO_WAIT:
	case O_FOLLOW:
	case O_DRY_RUN:
	case O_READY:
	case O_STOPPED:
	case O_EXITED:
	case O_SHOW_VALUES:
	case O_REPLACE:
	case O_IF_LOST:
	case O_COUNT: break;
	}
	return false;
}

static bool read_until(struct rv_words *w, enum rv_rpc_until until)
{
	if (w->has_until && w->until != until)
		return complain(w, "--ready, --stopped and --exited exclude each other", "", "");
	w->has_until = true;
	w->until = until;
	return true;
}

static bool read_flag(struct rv_words *w, enum option o)
{
	switch (o) {
	case O_JSON: w->json = true; break;
	case O_SHOW_VALUES: w->show_values = true; break;
	case O_REPLACE: w->replace = true; break;
	case O_HELP: w->help = true; break;
	case O_VERSION: w->version = true; break;
	case O_ALL: w->all = true; break;
	case O_NO_WAIT: w->no_wait = true; break;
	case O_FOLLOW: w->follow = true; break;
	case O_IF_LOST: w->if_lost = true; break;
	case O_DRY_RUN: w->dry_run = true; break;
	case O_READY: return read_until(w, RV_RPC_UNTIL_READY);
	case O_STOPPED: return read_until(w, RV_RPC_UNTIL_STOPPED);
	case O_EXITED: return read_until(w, RV_RPC_UNTIL_EXITED);
	case O_SOCKET:
	case O_TIMEOUT:
	case O_GENERATION:
	case O_LINES:
	case O_OPTION:
	case O_COUNT: break;
	}
	return true;
}

/* Which option a word is; *value is what hangs at it (`--lines=5`, `-n5`), or NULL. */
static enum option find_option(char *word, char **value)
{
	size_t len = strcspn(word, "=");

	*value = NULL;
	for (unsigned o = 0; o < O_COUNT; o++) {
		if (word[1] != '-') {
			if (!options[o].letter || word[1] != options[o].letter)
				continue;
			if (word[2] && !options[o].value)
				return O_COUNT;
			*value = word[2] ? word + 2 : NULL;
			return (enum option)o;
		}
		if (strlen(options[o].name) == len - 2 &&
			!strncmp(word + 2, options[o].name, len - 2)) {
			*value = word[len] ? word + len + 1 : NULL;
			return (enum option)o;
		}
	}
	return O_COUNT;
}

static bool unknown_option(const struct rv_words *w, const char *word)
{
	const char *names[O_COUNT], *near;
	char more[80] = "";

	for (unsigned o = 0; o < O_COUNT; o++)
		names[o] = options[o].name;
	near = word[1] == '-' ? rv_text_nearest(word + 2, names, O_COUNT) : NULL;
	if (near)
		snprintf(more, sizeof(more), " (did you mean --%s?)", near);
	return complain(w, "unknown option ", word, more);
}

/* Of `env set --json FILE`: one that has no word behind it, or NAME=VALUE, is about the answer. */
static bool is_source(const char *word)
{
	return word && (!strcmp(word, "-") || (*word != '-' && !strchr(word, '=')));
}

static bool read_option(struct rv_words *w, char **argv, int *i, unsigned *seen)
{
	char *value, *word = argv[*i];
	enum option o = find_option(word, &value);

	if (o == O_COUNT)
		return unknown_option(w, word);
	if (o == O_JSON && rv_env_is_set(w) && (value || is_source(argv[*i + 1]))) {
		w->source = value ? value : argv[++*i];
		return true;
	}
	*seen |= 1u << o;
	if (!options[o].value)
		return value ? complain(w, "no value is taken by --", options[o].name, "")
			     : read_flag(w, o);
	if (!value)
		value = argv[++*i];
	if (!value) {
		--*i;
		return complain(w, options[o].value, " is missing behind --", options[o].name);
	}
	return read_value(w, o, value);
}

static bool read_verb(struct rv_words *w, const char *word)
{
	const char *near = rv_verb_nearest(word);
	char more[80] = "";

	w->has_verb = rv_verb_from_name(word, &w->verb);
	if (w->has_verb)
		return true;
	if (near)
		snprintf(more, sizeof(more), " (did you mean %s?)", near);
	return complain(w, "unknown verb ", word, more);
}

/* A complaint about any word is already for who wants JSON. */
static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], "--json"))
			return true;
	return false;
}

static bool check_names(struct rv_words *w)
{
	bool changes = V(w->verb) & CHANGE;
	struct rv_fault f;

	if (w->verb == RV_VERB_ENV && !rv_env_read(w, &f)) {
		rv_fault_tell(&f, w->json);
		return false;
	}

	if (w->verb == RV_VERB_SIGNAL) {
		if (w->name_count < 2)
			return complain(w,
				"signal needs a signal and a name, such as: signal KILL NAME", "",
				"");
		w->signal = rv_signal_from_name(w->names[0]);
		if (!w->signal)
			return complain(w, "not a signal: ", w->names[0], "");
		w->names++;
		w->name_count--;
	}
	if (changes && !w->name_count && !w->all)
		return complain(w, rv_verb_name(w->verb), " needs a name, or --all", "");
	if (w->verb == RV_VERB_RECREATE && !w->name_count)
		return complain(w, "recreate needs a name", "", "");
	if (w->verb == RV_VERB_RECREATE && !w->if_lost)
		return complain(w,
			"recreate needs --if-lost: only what is lost is replaced; restart ends "
			"what is "
			"alive",
			"", "");
	if (w->name_count && w->all)
		return complain(w, "names and --all exclude each other", "", "");
	if (w->given && w->name_count != 1)
		return complain(w, "--option needs exactly one name", "", "");
	if (w->has_generation && w->name_count != 1)
		return complain(w, "--generation needs exactly one name", "", "");
	if (w->name_count &&
		(V(w->verb) &
			(RELOAD | V(RV_VERB_CHECK) | V(RV_VERB_PLAN) | V(RV_VERB_PLUGINS) |
				V(RV_VERB_VERSION) | V(RV_VERB_SHUTDOWN))))
		return complain(w, rv_verb_name(w->verb), " takes no names: ", w->names[0]);
	return true;
}

bool rv_words_read(struct rv_words *w, int argc, char **argv)
{
	const char *env = getenv("REEVE_SOCKET");
	unsigned seen = 0;
	bool plain = false;

	*w = (struct rv_words){.socket = env && *env ? env : PRESET_SOCKET,
		.json = wants_json(argc, argv),
		.names = argv};
	for (int i = 1; i < argc; i++) {
		if (!plain && !strcmp(argv[i], "--")) {
			plain = true;
		} else if (!plain && argv[i][0] == '-' && argv[i][1]) {
			if (!read_option(w, argv, &i, &seen))
				return false;
		} else if (!w->has_verb && !w->help && !strcmp(argv[i], "help")) {
			w->help = true;
		} else if (!w->has_verb) {
			if (!read_verb(w, argv[i]))
				return false;
		} else {
			w->names[w->name_count++] = argv[i];
		}
	}
	if (w->help || w->version)
		return true;
	if (!w->has_verb)
		return complain(w, "a verb is missing", "", "");
	for (unsigned o = 0; o < O_COUNT; o++)
		if ((seen & 1u << o) && !(options[o].verbs & V(w->verb)))
			return complain(w, rv_verb_name(w->verb), " takes no --", options[o].name);
	w->json = seen & 1u << O_JSON;
	return check_names(w);
}

void rv_words_fini(struct rv_words *w)
{
	rv_given_destroy(w->given);
	w->given = NULL;
	if (w->variables)
		rv_variables_fini(w->variables);
	free(w->variables);
	w->variables = NULL;
}
