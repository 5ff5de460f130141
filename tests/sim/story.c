/* story: plays transcripts and demands the exact actions.
 *
 *   story [--regenerate] FILE...
 *
 * A transcript has a plan (see notation.h; `new` begins a second one for `adopt`), then commands at the
 * left margin and under each, behind a tab, what the core did since the one before: deadlines that came
 * in between, then the answer to the command. `at 1.5s exited app 3 & gone app` are two events of one
 * turn; `at 3s` alone lets time pass. A life is the present one unless a generation is given: `app.1`. `why NAME`
 * asks what it waits for. */
#include "brain.h"
#include "notation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 400

struct text {
	char *v;
	size_t n, room;
};

struct stage {
	struct cast casts[2], *cast, *next;
	struct rv_core *core;
	struct rv_actions out;
	rv_time now;
	bool begun;
	struct text said;
};

static void add(struct text *t, const char *s)
{
	size_t n = strlen(s);

	if (t->n + n + 1 > t->room) {
		t->room = (t->n + n + 1) * 2;
		t->v = realloc(t->v, t->room);
		if (!t->v)
			abort();
	}
	memcpy(t->v + t->n, s, n + 1);
	t->n += n;
}

static const char *state_name(unsigned s)
{
	static const char *const names[] = {RV_STATES(RV_LIST_NAME)};
	return names[s];
}

static const char *hook_name(unsigned h)
{
	static const char *const names[] = {RV_HOOKS(RV_LIST_NAME)};
	return names[h];
}

static const char *why_text(unsigned w)
{
	static const char *const names[] = {RV_WHYS(RV_LIST_NAME)};
	return names[w];
}

static const char *end_name(unsigned e)
{
	static const char *const names[] = {"none", "request", "exit-from", "boot-failed",
		"gave-up", "health", "deadline", "forced"};
	return names[e];
}

static const char *name_of(const struct stage *st, rv_id id)
{
	return id == RV_NO_ID ? "-" : st->cast->names[id];
}

/* What an action says, without who and when. */
static void describe(const struct stage *st, const struct rv_action *a, char *to, size_t size)
{
	double bound = (double)a->timeout / 1e9;

	switch ((enum rv_action_kind)a->kind) {
	case RV_ACT_START: snprintf(to, size, "start, life %u", (unsigned)a->generation); break;
	case RV_ACT_FIND: snprintf(to, size, "find %u, at most %.6g s", a->attempt, bound); break;
	case RV_ACT_PROBE: snprintf(to, size, "probe %u, at most %.6g s", a->attempt, bound); break;
	case RV_ACT_HEALTH:
		snprintf(to, size, "health %u, at most %.6g s", a->attempt, bound);
		break;
	case RV_ACT_HOOK:
		snprintf(to, size, "hook %s, at most %.6g s", hook_name(a->hook), bound);
		break;
	case RV_ACT_DROP:
		snprintf(to, size, "drop %s%s%s%s", hook_name(a->hook), a->why ? ": " : "",
			why_text(a->why), a->verdict == RV_FAIL ? ", its time is over" : "");
		break;
	case RV_ACT_SIGNAL:
		snprintf(to, size, "signal, step %u%s", a->step,
			a->to == RV_TO_TREE		? ", to the tree"
				: a->to == RV_TO_STRAYS ? ", to the strays"
							: "");
		break;
	case RV_ACT_KILL: snprintf(to, size, "kill"); break;
	case RV_ACT_STATE:
		snprintf(to, size, "is %s%s%s%s%s", state_name(a->state), a->why ? ": " : "",
			why_text(a->why), a->other != RV_NO_ID ? ", " : "",
			a->other != RV_NO_ID ? name_of(st, a->other) : "");
		break;
	case RV_ACT_STUCK: snprintf(to, size, "is stuck"); break;
	case RV_ACT_PAUSED: snprintf(to, size, a->paused ? "is paused" : "is resumed"); break;
	case RV_ACT_TOLD:
		snprintf(to, size, "%s", a->verdict == RV_OK ? "knows it" : "does not know it");
		break;
	case RV_ACT_BOOT:
		snprintf(to, size, "boot %s%s%s", a->verdict == RV_OK ? "done" : "failed",
			a->degraded	 ? ", degraded"
				: a->why ? ": "
					 : "",
			why_text(a->why));
		break;
	case RV_ACT_RETIRED: snprintf(to, size, "retired are gone"); break;
	case RV_ACT_OVER: snprintf(to, size, "over: %s, exit %d", end_name(a->end), a->exit); break;
	}
}

static void settle(struct stage *st)
{
	st->out.n = 0;
	rv_core_settle(st->core, st->now, &st->out);
	for (size_t i = 0; i < st->out.n; i++) {
		const struct rv_action *a = &st->out.v[i];
		char what[200], line[LINE];
		describe(st, a, what, sizeof(what));
		snprintf(line, sizeof(line), "\t%.6g %s %s\n", (double)st->now / 1e9,
			name_of(st, a->id), what);
		add(&st->said, line);
	}
}

static void begin(struct stage *st)
{
	if (st->begun)
		return;
	st->begun = true;
	graph_seal(&st->cast->graph);
	st->core = calloc(1, rv_core_size(&st->cast->graph.plan));
	st->out.room = rv_core_actions_max(&st->cast->graph.plan) + 100;
	st->out.v = calloc(st->out.room, sizeof(*st->out.v));
	if (!st->core || !st->out.v)
		abort();
	rv_core_init(st->core, &st->cast->graph.plan, 1);
}

/* The old core points at the old plan, which stays where it is. */
static void adopt(struct stage *st)
{
	struct rv_core *old = st->core;
	struct cast *before = st->cast;

	st->core = calloc(1, rv_core_size(&st->next->graph.plan));
	if (!st->core)
		abort();
	rv_core_adopt(st->core, &st->next->graph.plan, old);
	free(old);
	st->cast = st->next;
	st->next = before;
}

static int find(const char *word, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(word, names[i]))
			return i;
	return -1;
}

/* NAME or NAME.GENERATION, "all". */
static bool who(struct stage *st, char *word, struct rv_event *e)
{
	char *dot = strchr(word, '.');

	if (dot)
		*dot++ = '\0';
	e->id = cast_find(st->cast, word);
	if (e->id == RV_NO_ID)
		return !strcmp(word, "all");
	e->generation = dot ? strtoull(dot, NULL, 10) : rv_core_look(st->core, e->id).generation;
	return true;
}

static void retire(struct stage *st)
{
	uint8_t change[GRAPH_NODES];
	struct rv_event e = {.kind = RV_EV_RETIRE_BEGIN, .id = RV_NO_ID};

	graph_seal(&st->next->graph);
	rv_plan_diff(&st->cast->graph.plan, &st->next->graph.plan, change);
	rv_core_apply(st->core, st->now, &e, &st->out);
	e.kind = RV_EV_RETIRE;
	for (e.id = 0; e.id < st->cast->graph.plan.nodes; e.id++)
		if (change[e.id] == RV_REMOVED || change[e.id] == RV_CHANGED)
			rv_core_apply(st->core, st->now, &e, &st->out);
	e = (struct rv_event){.kind = RV_EV_RETIRE_END, .id = RV_NO_ID};
	rv_core_apply(st->core, st->now, &e, &st->out);
}

/* VERB [WHO] [HOOK] [VERDICT|EXIT|TIME] */
static bool event(struct stage *st, char *text)
{
	static const char *const verbs[] = {"boot", "start", "stop", "restart", "recreate", "pause",
		"resume", "shutdown", "force", "retire-begin", "retire", "retire-end", "disabled",
		"inform", "renew", "spawned", "spawn-failed", "adopted", "found", "exited", "gone",
		"proved", "health", "hook", "extend", "quits", NULL};
	static const char *const hooks[] = {RV_HOOKS(RV_LIST_NAME) NULL};
	static const char *const verdicts[] = {"ok", "retry", "fail", NULL};
	char *rest = NULL, *verb = strtok_r(text, " ", &rest), *word;
	struct rv_event e = {.id = RV_NO_ID, .exit = 0};
	int kind;

	if (!strcmp(verb, "reload")) {
		retire(st);
		return true;
	}
	if (!strcmp(verb, "adopt")) {
		adopt(st);
		return true;
	}
	kind = find(verb, verbs);
	if (kind < 0)
		return false;
	e.kind = (uint8_t)kind;
	word = strtok_r(NULL, " ", &rest);
	if (word && !who(st, word, &e))
		return false;
	for (word = strtok_r(NULL, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		int h = find(word, hooks), v = find(word, verdicts);
		if (h >= 0)
			e.hook = (uint8_t)h;
		else if (v >= 0)
			e.verdict = (uint8_t)v;
		else if (e.kind == RV_EV_EXTEND || e.kind == RV_EV_INFORM)
			e.time = time_read(word);
		else
			e.exit = (rv_exit)strtol(word, NULL, 10);
	}
	rv_core_apply(st->core, st->now, &e, &st->out);
	return true;
}

/* Deadlines up to `until`, each in its own settle. */
static void pass(struct stage *st, rv_time until)
{
	for (int i = 0; i < 10000; i++) {
		rv_time due = rv_core_deadline(st->core);
		if (due > until || due == RV_NEVER)
			break;
		if (due > st->now)
			st->now = due;
		settle(st);
	}
	st->now = until;
}

static bool command(struct stage *st, char *line)
{
	char *rest = NULL, *at = strtok_r(line, " ", &rest), *one;
	rv_time when;
	bool any = false;

	if (!at || strcmp(at, "at") != 0)
		return false;
	at = strtok_r(NULL, " ", &rest);
	when = at ? time_read(at) : -1;
	begin(st);
	if (when < st->now)
		return false;
	pass(st, when);
	for (char *events = rest, *more; events && *events; events = more) {
		more = strstr(events, " & ");
		if (more) {
			*more = '\0';
			more += 3;
		}
		one = events;
		if (!event(st, one))
			return false;
		any = true;
	}
	if (any)
		settle(st);
	return true;
}

/* `why NAME`: what it waits for, and who starts when it is there. */
static bool why(struct stage *st, const char *name)
{
	static const char *const words[] = {"nothing", "service", "permit", "spawn", "check",
		"exit", "daemon", "update", "dependents", "stop hook", "leave", "death", "cleanup",
		"delay", "resume"};
	static const char *const kinds[] = {"needs", "wants", "after"};
	static const char *const untils[] = {"started", "ready", "exited"};
	rv_id id = cast_find(st->cast, name), heirs[4];
	struct rv_await a;
	char line[LINE];
	size_t n;

	begin(st);
	if (id == RV_NO_ID)
		return false;
	a = rv_core_await(st->core, id);
	n = rv_core_heirs(st->core, id, heirs, 4);
	snprintf(line, sizeof(line), "\t%.6g %.80s awaits %s", (double)st->now / 1e9, name,
		words[a.what]);
	add(&st->said, line);
	if (a.other != RV_NO_ID) {
		snprintf(line, sizeof(line), " %s", name_of(st, a.other));
		add(&st->said, line);
	}
	if (a.what == RV_AWAIT_SERVICE) {
		snprintf(line, sizeof(line), ", %s until %s", kinds[a.kind],
			a.kind == RV_NEEDS ? untils[a.until] : "settled");
		add(&st->said, line);
	}
	snprintf(line, sizeof(line), "; %u ahead, attempt %u, step %u", a.ahead, a.attempt, a.step);
	add(&st->said, line);
	if (a.by != RV_NEVER) {
		snprintf(line, sizeof(line), ", by %.6g", (double)a.by / 1e9);
		add(&st->said, line);
	}
	for (size_t i = 0; i < n && i < 4; i++) {
		snprintf(line, sizeof(line), "%s%s", i ? "," : ", then ", name_of(st, heirs[i]));
		add(&st->said, line);
	}
	add(&st->said, "\n");
	return true;
}

/* A line of the plan or a command. */
static bool play_line(struct stage *st, bool *second, char *line)
{
	const char *complaint;

	if (!strcmp(line, "new")) {
		cast_init(st->next, st->cast);
		*second = true;
		return true;
	}
	if (!strncmp(line, "at ", 3))
		return command(st, line);
	if (!strncmp(line, "why ", 4))
		return why(st, line + 4);
	return cast_line(*second ? st->next : st->cast, line, &complaint);
}

/* The whole transcript as it should read, into `to`; false: a line makes no sense. */
static bool play(const char *text, struct text *to, char wrong[LINE])
{
	struct stage st = {.now = 0};
	bool second = false, good = true;

	st.cast = &st.casts[0];
	st.next = &st.casts[1];
	cast_init(st.cast, NULL);
	while (*text && good) {
		size_t n = strcspn(text, "\n");
		char line[LINE] = {0};
		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		text += n + (text[n] == '\n');
		if (line[0] == '\t')
			continue; /* what was said the last time */
		add(to, line);
		add(to, "\n");
		if (!line[0] || line[0] == '#')
			continue;
		strcpy(wrong, line);
		good = play_line(&st, &second, line);
		if (st.said.n)
			add(to, st.said.v);
		st.said.n = 0;
	}
	free(st.core);
	free(st.out.v);
	free(st.said.v);
	return good;
}

static bool slurp(const char *path, struct text *to)
{
	FILE *f = fopen(path, "r");
	char part[1024];

	if (!f)
		return false;
	for (size_t n; (n = fread(part, 1, sizeof(part) - 1, f)) > 0;) {
		part[n] = '\0';
		add(to, part);
	}
	fclose(f);
	return to->n > 0;
}

static void show_difference(const char *want, const char *got)
{
	while (*want && *got) {
		size_t w = strcspn(want, "\n"), g = strcspn(got, "\n");
		if (w != g || strncmp(want, got, w) != 0)
			break;
		want += w + 1;
		got += g + 1;
	}
	printf("# expected: %.*s\n# happened: %.*s\n", (int)strcspn(want, "\n"), want,
		(int)strcspn(got, "\n"), got);
}

static bool try_story(const char *path, bool regenerate)
{
	struct text want = {0}, got = {0};
	char wrong[LINE] = "";
	bool good = slurp(path, &want);

	if (!good)
		printf("# cannot read %s\n", path);
	if (good && !play(want.v, &got, wrong)) {
		printf("# does not make sense: %s\n", wrong);
		good = false;
	}
	if (good && regenerate) {
		FILE *f = fopen(path, "w");
		good = f && fwrite(got.v, 1, got.n, f) == got.n;
		if (f)
			good &= fclose(f) == 0;
	} else if (good && strcmp(want.v, got.v) != 0) {
		show_difference(want.v, got.v);
		good = false;
	}
	free(want.v);
	free(got.v);
	return good;
}

/* stories/a_restart_waits_its_backoff.txt -> "a restart waits its backoff" */
static void title(const char *path, char *to, size_t size)
{
	const char *slash = strrchr(path, '/');

	snprintf(to, size, "%s", slash ? slash + 1 : path);
	to[strcspn(to, ".")] = '\0';
	for (char *p = to; *p; p++)
		if (*p == '_')
			*p = ' ';
}

int main(int argc, char **argv)
{
	bool regenerate = argc > 1 && !strcmp(argv[1], "--regenerate"), all = true;
	int first = regenerate ? 2 : 1;

	if (argc <= first) {
		fprintf(stderr, "usage: story [--regenerate] FILE...\n");
		return 2;
	}
	printf("1..%d\n", argc - first);
	for (int i = first; i < argc; i++) {
		char name[200];
		bool good = try_story(argv[i], regenerate);
		title(argv[i], name, sizeof(name));
		printf("%sok %d - %s\n", good ? "" : "not ", i - first + 1, name);
		all &= good;
	}
	return all ? 0 : 1;
}
