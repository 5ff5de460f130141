/* reevectl: one request to reeve, and its answer for a reader or a program. */
#include <stdio.h>

#include "ctl/call.h"
#include "ctl/env.h"
#include "ctl/field.h"
#include "ctl/show.h"
#include "ctl/words.h"
#include "sys/clock.h"

#define ENV_BACK \
	(45 * RV_SEC) /* what it may take to undo a change of the environment that has failed */
#define WAIT_PRESET (60 * RV_SEC) /* as long a `wait` without --timeout looks for a reeve */

#define PING_ID 0
#define PING	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"version\"}\n"

static void print_json(const cJSON *value)
{
	char *text = cJSON_PrintUnformatted(value);

	puts(text ? text : "null");
	fflush(stdout);
	cJSON_free(text);
}

static int status_of_error(const cJSON *error)
{
	const cJSON *code = rv_field(error, "code");

	switch (cJSON_IsNumber(code) ? code->valueint : 0) {
	case RV_RPC_PARAMS: return CTL_USAGE;
	case RV_RPC_NO_SUCH: return CTL_NO_SUCH;
	case RV_RPC_DENIED: return CTL_DENIED;
	case RV_RPC_TIMEOUT: return CTL_TIMEOUT;
	case RV_RPC_STALE: return CTL_STALE;
	case RV_RPC_NOT_READY: return CTL_NOT_READY;
	default: return CTL_FAILED;
	}
}

/* An error has one form, whoever found it. */
static int show_error(const struct rv_words *w, const cJSON *error)
{
	const cJSON *message = rv_field(error, "message");
	const cJSON *class = rv_field(rv_field(error, "data"), "class");
	struct rv_fault f;

	rv_fault_set(&f, status_of_error(error),
		cJSON_IsString(class) ? class->valuestring : "failed", "cannot %s: %s",
		rv_words_deed(w),
		cJSON_IsString(message) ? message->valuestring : "reeve gave no reason");
	f.retry_safe = rv_field_is_true(rv_field(error, "data"), "retrySafe");
	f.generation = (int64_t)rv_field_number(rv_field(error, "data"), "generation");
	return rv_fault_tell(&f, w->json);
}

static int show_result(const struct rv_words *w, const cJSON *result)
{
	if (w->json) {
		print_json(result);
		return rv_show_exit(w, result);
	}
	switch (w->verb) {
	case RV_VERB_STATUS: return rv_show_status(w, result);
	case RV_VERB_WAIT:
	case RV_VERB_START:
	case RV_VERB_STOP:
	case RV_VERB_RESTART:
	case RV_VERB_RECREATE:
	case RV_VERB_PAUSE:
	case RV_VERB_RESUME:
	case RV_VERB_SIGNAL: return rv_show_results(w, result);
	case RV_VERB_RELOAD: return rv_show_reload(w, result);
	case RV_VERB_CHECK: return rv_show_check(result);
	case RV_VERB_PLAN: return rv_show_plan(result);
	case RV_VERB_PLUGINS: return rv_show_plugins(result);
	case RV_VERB_VERSION: return rv_show_version(result);
	case RV_VERB_WHY: return rv_show_why(result);
	case RV_VERB_ENV: return rv_env_show(w, result);
	case RV_VERB_EVENTS:
	case RV_VERB_LOGS:
	case RV_VERB_SHUTDOWN:
	case RV_VERB_COUNT: break;
	}
	return CTL_OK;
}

static bool takes_long(enum rv_verb v)
{
	return v == RV_VERB_START || v == RV_VERB_STOP || v == RV_VERB_RESTART ||
		v == RV_VERB_RECREATE || v == RV_VERB_WAIT || v == RV_VERB_RELOAD ||
		v == RV_VERB_ENV;
}

/* Prints what comes until reeve ends the connection. pages: of logs. */
static void follow(const struct rv_words *w, struct rv_call *c, struct rv_pages *pages)
{
	const char *line;

	while (rv_call_line(c, RV_NEVER, &line) == RV_GOT_LINE) {
		cJSON *note = cJSON_Parse(line);
		const cJSON *params = rv_field(note, "params");

		if (params && w->verb == RV_VERB_EVENTS)
			rv_show_event(w, params);
		else if (params && w->json)
			print_json(params);
		else if (params && pages)
			rv_pages_add(pages, params);
		cJSON_Delete(note);
	}
}

static int show_logs(const struct rv_words *w, struct rv_call *c, const cJSON *result)
{
	struct rv_pages *pages = NULL;

	if (w->json) {
		print_json(result);
	} else {
		pages = rv_pages_create(w, result);
		if (!pages)
			return CTL_FAILED;
	}
	if (w->follow)
		follow(w, c, pages);
	rv_pages_destroy(pages);
	return CTL_OK;
}

static int show_events(const struct rv_words *w, struct rv_call *c, const cJSON *result)
{
	rv_show_events(w, result);
	if (w->follow)
		follow(w, c, NULL);
	return CTL_OK;
}

/* reeve is gone when the connection is. */
static int watch_end(const struct rv_words *w, struct rv_call *c, const cJSON *result)
{
	rv_time until = w->has_timeout ? rv_now() + w->timeout : RV_NEVER;
	const char *line;
	enum rv_got got = w->no_wait ? RV_GOT_END : RV_GOT_LINE;
	struct rv_fault f;

	while (got == RV_GOT_LINE)
		got = rv_call_line(c, until, &line);
	if (got == RV_GOT_TIMEOUT) {
		rv_fault_set(&f, CTL_TIMEOUT, "timeout",
			"cannot wait any longer: reeve is still shutting down");
		return rv_fault_tell(&f, w->json);
	}
	if (w->json)
		print_json(result);
	return CTL_OK;
}

static int use_answer(const struct rv_words *w, struct rv_call *c, const cJSON *answer)
{
	const cJSON *error = rv_field(answer, "error"), *result = rv_field(answer, "result");

	if (error)
		return show_error(w, error);
	if (w->verb == RV_VERB_LOGS)
		return show_logs(w, c, result);
	if (w->verb == RV_VERB_EVENTS)
		return show_events(w, c, result);
	if (w->verb == RV_VERB_SHUTDOWN)
		return watch_end(w, c, result);
	return show_result(w, result);
}

/* How much later than it was bounded an answer may come. */
static rv_time more_of(const struct rv_words *w)
{
	return w->verb == RV_VERB_ENV ? ENV_BACK : RV_CALL_BOUND;
}

/* Ours, among the answers; the first one of all must come soon, for it says that reeve lives. */
static int await(const struct rv_words *w, struct rv_call *c)
{
	rv_time until = rv_now() + RV_CALL_BOUND;
	enum rv_got got;
	const char *line;
	struct rv_fault f;

	while ((got = rv_call_line(c, until, &line)) == RV_GOT_LINE) {
		cJSON *answer = cJSON_Parse(line);
		const cJSON *id = rv_field(answer, "id");
		int status;

		if (!cJSON_IsNumber(id) || id->valueint != PING_ID) {
			if (cJSON_IsObject(answer)) {
				status = use_answer(w, c, answer);
			} else {
				rv_call_unanswered(c, RV_GOT_END, &f);
				status = rv_fault_tell(&f, w->json);
			}
			cJSON_Delete(answer);
			return status;
		}
		cJSON_Delete(answer);
		/* it lives: from here on its own bounds hold, which are 10 minutes at most */
		until = w->has_timeout ? rv_now() + w->timeout + more_of(w) : RV_NEVER;
	}
	if (w->verb == RV_VERB_SHUTDOWN && got == RV_GOT_END) {
		if (w->json)
			puts("{\"ok\":true}");
		return CTL_OK;
	}
	rv_call_unanswered(c, got, &f);
	return rv_fault_tell(&f, w->json);
}

/* Who waits for reeve may come before it; what that took is missing from the timeout. */
static int open_call(struct rv_words *w, struct rv_call *call, struct rv_fault *f)
{
	bool patient = w->verb == RV_VERB_WAIT;
	rv_time began = rv_now(), bound = RV_CALL_BOUND;
	int status;

	if (patient)
		bound = w->has_timeout ? w->timeout : WAIT_PRESET;
	status = rv_call_open(call, w->socket, began + bound, patient, f);
	if (patient && w->has_timeout) {
		w->timeout -= rv_now() - began;
		if (w->timeout < 0)
			w->timeout = 0;
	}
	return status;
}

static int run(struct rv_words *w)
{
	struct rv_buf request = {0};
	struct rv_call call;
	struct rv_fault f;
	int status = open_call(w, &call, &f);

	if (takes_long(w->verb))
		rv_buf_str(&request, PING);
	rv_words_request(w, "1", &request);
	if (!status)
		status = rv_call_send(&call, &request, &f);
	rv_buf_fini(&request);
	if (status)
		status = rv_fault_tell(&f, w->json);
	else
		status = await(w, &call);
	rv_call_close(&call);
	return status;
}

int main(int argc, char **argv)
{
	struct rv_words w;
	int status = CTL_OK;

	if (!rv_words_read(&w, argc, argv)) {
		rv_words_fini(&w);
		return CTL_USAGE;
	}
	if (w.help)
		rv_words_help(&w);
	else if (w.version || (w.verb == RV_VERB_VERSION && !w.json))
		puts("reevectl " PACKAGE_VERSION);
	if (!w.help && !w.version) {
		fflush(stdout);
		status = run(&w);
	}
	rv_words_fini(&w);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "reevectl: cannot write the answer\n");
		return status ? status : CTL_FAILED;
	}
	return status;
}
