/* Requests of the control protocol: see rpc.h. */
#include "wire/rpc.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "wire/json.h"

#define NS_PER_MS    1000000
#define TIMEOUT_MAX  1e12 /* ms; far beyond every bound of the daemon */
#define EXACT_MAX    9007199254740992.0 /* 2^53: a double counts exactly up to here */
#define LINES_PRESET 20

static bool is_whole(double v)
{
	return v >= -EXACT_MAX && v <= EXACT_MAX && (double)(int64_t)v == v;
}

/* The id as the JSON text that the answer carries. A number is sent back as it came when it is an integer
   that a double holds exactly. */
static bool read_id(const cJSON *item, struct rv_request *r, struct rv_rpc_error *e)
{
	struct rv_buf text = {.max = RV_RPC_ID_MAX - 1};
	bool ok = true;

	if (!item)
		return true; /* a notification */
	if (cJSON_IsString(item))
		rv_json_str(&text, item->valuestring);
	else if (cJSON_IsNull(item))
		RV_JSON_LIT(&text, "null");
	else if (cJSON_IsNumber(item) && is_whole(item->valuedouble))
		rv_json_int(&text, (int64_t)item->valuedouble);
	else
		ok = false;
	if (!ok || text.full) {
		snprintf(r->id, sizeof(r->id), "null");
		ok = rv_rpc_fail(e, RV_RPC_INVALID,
			"id must be null, an integer below 2^53, or a string of at most %d bytes",
			RV_RPC_ID_MAX - 3);
	} else {
		memcpy(r->id, rv_buf_text(&text), text.len + 1);
	}
	rv_buf_fini(&text);
	return ok;
}

static bool read_names(const cJSON *item, struct rv_request *r, struct rv_rpc_error *e)
{
	const cJSON *one;
	size_t n = 0;

	if (!cJSON_IsArray(item))
		return rv_rpc_fail(e, RV_RPC_PARAMS, "names must be a list of strings");
	cJSON_ArrayForEach(one, item)
	{
		if (!cJSON_IsString(one))
			return rv_rpc_fail(e, RV_RPC_PARAMS, "names must be a list of strings");
		n++;
	}
	r->names = r->few;
	if (n > sizeof(r->few) / sizeof(r->few[0])) {
		r->names = calloc(n, sizeof(*r->names));
		if (!r->names)
			return rv_rpc_fail(e, RV_RPC_INTERNAL, "out of memory");
	}
	cJSON_ArrayForEach(one, item) r->names[r->name_count++] = one->valuestring;
	return true;
}

static bool read_bool(const cJSON *item, bool *to, struct rv_rpc_error *e)
{
	if (!cJSON_IsBool(item))
		return rv_rpc_fail(e, RV_RPC_PARAMS, "%s must be true or false", item->string);
	*to = cJSON_IsTrue(item);
	return true;
}

/* A whole number between 0 and max. */
static bool read_count(const cJSON *item, double max, double *to, struct rv_rpc_error *e)
{
	double v = item->valuedouble;

	if (!cJSON_IsNumber(item) || !is_whole(v) || v < 0 || v > max)
		return rv_rpc_fail(e, RV_RPC_PARAMS, "%s must be a whole number from 0 to %.0f",
			item->string, max);
	*to = v;
	return true;
}

/* {"KEY":"VALUE",...}; a key that is there twice is caught where its meaning is known. */
static bool read_options(const cJSON *item, struct rv_request *r, struct rv_rpc_error *e)
{
	struct rv_rpc_option *list;
	const cJSON *one;
	size_t n = 0;

	if (!cJSON_IsObject(item))
		return rv_rpc_fail(e, RV_RPC_PARAMS, "options must be an object of strings");
	cJSON_ArrayForEach(one, item)
	{
		if (!cJSON_IsString(one))
			return rv_rpc_fail(e, RV_RPC_PARAMS,
				"options must be an object of strings; %.64s is none", one->string);
		n++;
	}
	if (n > RV_RPC_OPTIONS_MAX)
		return rv_rpc_fail(
			e, RV_RPC_PARAMS, "at most %d options can be given", RV_RPC_OPTIONS_MAX);
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return rv_rpc_fail(e, RV_RPC_INTERNAL, "out of memory");
	r->options = list;
	cJSON_ArrayForEach(one, item)
		list[r->option_count++] = (struct rv_rpc_option){one->string, one->valuestring};
	return true;
}

/* All that is wrong with them in one sentence. */
static bool read_environment(const cJSON *item, struct rv_request *r, struct rv_rpc_error *e)
{
	struct rv_buf why = {0};
	bool fine;

	r->variables = calloc(1, sizeof(*r->variables));
	if (!r->variables)
		return rv_rpc_fail(e, RV_RPC_INTERNAL, "out of memory");
	fine = rv_variables_read_map(r->variables, item, &why);
	for (size_t i = 0; i < why.len; i++)
		if (why.data[i] == '\n')
			why.data[i] = ';';
	if (!fine)
		rv_rpc_fail(e, RV_RPC_PARAMS, "%s", rv_buf_text(&why));
	rv_buf_fini(&why);
	return fine;
}

static bool read_until(const cJSON *item, struct rv_request *r, struct rv_rpc_error *e)
{
	static const char *const words[] = {"ready", "stopped", "exited"};

	for (unsigned i = 0; cJSON_IsString(item) && i < 3; i++) {
		if (!strcmp(item->valuestring, words[i])) {
			r->until = (enum rv_rpc_until)i;
			return true;
		}
	}
	return rv_rpc_fail(e, RV_RPC_PARAMS, "until must be ready, stopped or exited");
}

static bool read_signal(const cJSON *item, struct rv_request *r, struct rv_rpc_error *e)
{
	char digits[16];

	if (cJSON_IsString(item)) {
		r->signal = rv_signal_from_name(item->valuestring);
	} else if (cJSON_IsNumber(item) && item->valuedouble == item->valueint) {
		snprintf(digits, sizeof(digits), "%d", item->valueint);
		r->signal = rv_signal_from_name(digits);
	}
	if (r->signal)
		return true;
	return rv_rpc_fail(e, RV_RPC_PARAMS,
		"signal must be the name or number of a signal, such as \"TERM\"");
}

enum param {
	P_NAMES,
	P_ALL,
	P_NO_WAIT,
	P_TIMEOUT,
	P_GENERATION,
	P_SIGNAL,
	P_UNTIL,
	P_LINES,
	P_FOLLOW,
	P_DRY_RUN,
	P_OPTIONS,
	P_ENVIRONMENT,
	P_REPLACE,
	P_SHOW_VALUES,
	P_IF_LOST,
	P_COUNT
};

static const char *const param_names[P_COUNT] = {
	[P_NAMES] = "names",
	[P_ALL] = "all",
	[P_NO_WAIT] = "no_wait",
	[P_TIMEOUT] = "timeout_ms",
	[P_GENERATION] = "generation",
	[P_SIGNAL] = "signal",
	[P_UNTIL] = "until",
	[P_LINES] = "lines",
	[P_FOLLOW] = "follow",
	[P_DRY_RUN] = "dry_run",
	[P_OPTIONS] = "options",
	[P_ENVIRONMENT] = "environment",
	[P_REPLACE] = "replace",
	[P_SHOW_VALUES] = "show_values",
	[P_IF_LOST] = "if_lost",
};

#define BIT(p) (1u << (p))
#define CHANGE (BIT(P_NAMES) | BIT(P_ALL) | BIT(P_NO_WAIT) | BIT(P_TIMEOUT) | BIT(P_GENERATION))

static const unsigned verb_params[RV_VERB_COUNT] = {
	[RV_VERB_STATUS] = BIT(P_NAMES),
	[RV_VERB_WAIT] = BIT(P_NAMES) | BIT(P_TIMEOUT) | BIT(P_UNTIL) | BIT(P_GENERATION),
	[RV_VERB_WHY] = BIT(P_NAMES),
	[RV_VERB_EVENTS] = BIT(P_NAMES) | BIT(P_LINES) | BIT(P_FOLLOW),
	[RV_VERB_START] = CHANGE | BIT(P_OPTIONS),
	[RV_VERB_STOP] = CHANGE,
	[RV_VERB_RESTART] = CHANGE | BIT(P_OPTIONS),
	[RV_VERB_RECREATE] = BIT(P_NAMES) | BIT(P_NO_WAIT) | BIT(P_TIMEOUT) | BIT(P_GENERATION) |
		BIT(P_IF_LOST),
	[RV_VERB_SIGNAL] = BIT(P_NAMES) | BIT(P_SIGNAL) | BIT(P_GENERATION),
	[RV_VERB_PAUSE] = BIT(P_NAMES) | BIT(P_GENERATION),
	[RV_VERB_RESUME] = BIT(P_NAMES) | BIT(P_GENERATION),
	[RV_VERB_RELOAD] = BIT(P_NO_WAIT) | BIT(P_TIMEOUT) | BIT(P_DRY_RUN),
	[RV_VERB_ENV] = BIT(P_NAMES) | BIT(P_TIMEOUT) | BIT(P_ENVIRONMENT) | BIT(P_REPLACE) |
		BIT(P_SHOW_VALUES),
	[RV_VERB_LOGS] = BIT(P_NAMES) | BIT(P_LINES) | BIT(P_FOLLOW),
};

static bool read_param(
	enum param p, const cJSON *item, struct rv_request *r, struct rv_rpc_error *e)
{
	double v = 0;
	bool ok = false;

	switch (p) {
	case P_NAMES: return read_names(item, r, e);
	case P_ALL: return read_bool(item, &r->all, e);
	case P_NO_WAIT: return read_bool(item, &r->no_wait, e);
	case P_FOLLOW: return read_bool(item, &r->follow, e);
	case P_IF_LOST: return read_bool(item, &r->if_lost, e);
	case P_DRY_RUN: return read_bool(item, &r->dry_run, e);
	case P_SIGNAL: return read_signal(item, r, e);
	case P_UNTIL: return read_until(item, r, e);
	case P_OPTIONS: return read_options(item, r, e);
	case P_ENVIRONMENT: return read_environment(item, r, e);
	case P_REPLACE: return read_bool(item, &r->replace, e);
	case P_SHOW_VALUES: return read_bool(item, &r->show_values, e);
	case P_TIMEOUT:
		ok = r->has_timeout = read_count(item, TIMEOUT_MAX, &v, e);
		r->timeout = (rv_time)v * NS_PER_MS;
		break;
	case P_GENERATION:
		ok = r->has_generation = read_count(item, EXACT_MAX, &v, e);
		r->generation = (uint64_t)v;
		break;
	case P_LINES:
		ok = read_count(item, 1e9, &v, e);
		r->lines = (uint32_t)v;
		break;
	case P_COUNT: break;
	}
	return ok;
}

/* Strict, so that a misspelt "timeout" is not a wait without bound. */
static bool read_params(const cJSON *params, struct rv_request *r, struct rv_rpc_error *e)
{
	unsigned seen = 0;
	const cJSON *item;

	if (!params)
		return true;
	if (!cJSON_IsObject(params))
		return rv_rpc_fail(e, RV_RPC_PARAMS, "params must be an object");
	cJSON_ArrayForEach(item, params)
	{
		unsigned p = 0;

		while (p < P_COUNT && strcmp(param_names[p], item->string) != 0)
			p++;
		if (p == P_COUNT || !(verb_params[r->verb] & BIT(p))) {
			const char *near = p == P_COUNT
				? rv_text_nearest(item->string, param_names, P_COUNT)
				: NULL;

			return rv_rpc_fail(e, RV_RPC_PARAMS, "%s has no parameter \"%.64s\"%s%s%s",
				rv_verb_name(r->verb), item->string,
				near ? " (did you mean \"" : "", near ? near : "",
				near ? "\"?)" : "");
		}
		if (seen & BIT(p))
			return rv_rpc_fail(e, RV_RPC_PARAMS, "%s is given twice", item->string);
		seen |= BIT(p);
		if (!read_param((enum param)p, item, r, e))
			return false;
	}
	return true;
}

static bool check_request(const struct rv_request *r, struct rv_rpc_error *e)
{
	bool changes = r->verb == RV_VERB_START || r->verb == RV_VERB_STOP ||
		r->verb == RV_VERB_RESTART;

	if (changes && !r->name_count && !r->all)
		return rv_rpc_fail(
			e, RV_RPC_PARAMS, "%s needs names, or all", rv_verb_name(r->verb));
	if (r->all && r->name_count)
		return rv_rpc_fail(e, RV_RPC_PARAMS, "names and all cannot be combined");
	if (r->verb == RV_VERB_SIGNAL && (!r->name_count || !r->signal))
		return rv_rpc_fail(e, RV_RPC_PARAMS, "signal needs a signal and names");
	if (r->verb == RV_VERB_RECREATE && !r->name_count)
		return rv_rpc_fail(e, RV_RPC_PARAMS, "recreate needs names");
	if (r->verb == RV_VERB_RECREATE && !r->if_lost)
		return rv_rpc_fail(e, RV_RPC_PARAMS,
			"recreate needs if_lost: only what is lost is replaced; restart ends what "
			"is alive");
	if (r->has_generation && r->name_count != 1)
		return rv_rpc_fail(e, RV_RPC_PARAMS, "generation needs exactly one name");
	if (r->verb == RV_VERB_ENV && r->name_count > 1)
		return rv_rpc_fail(e, RV_RPC_PARAMS, "env shows the environment of one service");
	if (r->variables ? r->name_count || r->show_values
			 : r->replace || (r->verb == RV_VERB_ENV && r->has_timeout))
		return rv_rpc_fail(e, RV_RPC_PARAMS,
			"environment goes with replace and timeout_ms, names with show_values");
	if (r->options && r->name_count != 1)
		return rv_rpc_fail(e, RV_RPC_PARAMS, "options need exactly one name");
	return true;
}

static bool read_method(const cJSON *item, struct rv_request *r, struct rv_rpc_error *e)
{
	const char *near, *method = cJSON_GetStringValue(item);

	if (!method)
		return rv_rpc_fail(e, RV_RPC_INVALID, "method must be a string");
	if (rv_verb_from_name(method, &r->verb))
		return true;
	near = rv_verb_nearest(method);
	return rv_rpc_fail(e, RV_RPC_NO_METHOD, "no method \"%.64s\"%s%s%s", method,
		near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

/* What follows the object may only be blanks. A NUL would end strings early: neither raw nor escaped. */
static cJSON *read_tree(const char *line, size_t n, struct rv_rpc_error *e)
{
	const char *end = line;
	cJSON *tree = NULL;

	if (!memchr(line, 0, n) && !memmem(line, n, "\\u0000", 6))
		tree = cJSON_ParseWithLengthOpts(line, n, &end, false);
	while (tree && end < line + n && (*end == ' ' || *end == '\t' || *end == '\r'))
		end++;
	if (tree && end == line + n)
		return tree;
	rv_rpc_fail(e, RV_RPC_PARSE, "not JSON: one object a line is expected");
	cJSON_Delete(tree);
	return NULL;
}

struct members {
	const cJSON *id, *version, *method, *params;
};

/* Others mean nothing to us. Returns the name of one that is there twice, so that nobody knows which is meant; NULL: none. */
static const char *take_members(const cJSON *tree, struct members *m)
{
	const struct {
		const char *name;
		const cJSON **to;
	} known[] = {{"id", &m->id}, {"jsonrpc", &m->version}, {"method", &m->method},
		{"params", &m->params}};
	const char *twice = NULL;
	const cJSON *item;

	cJSON_ArrayForEach(item, tree)
	{
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
			if (strcmp(item->string, known[i].name) != 0)
				continue;
			if (*known[i].to)
				twice = known[i].name;
			*known[i].to = item;
		}
	}
	return twice;
}

bool rv_request_read(const char *line, size_t n, struct rv_request *r, struct rv_rpc_error *e)
{
	struct members m = {0};
	const char *protocol, *twice;

	*r = (struct rv_request){.id = "null", .lines = LINES_PRESET};
	r->tree = read_tree(line, n, e);
	if (!r->tree)
		return false;
	if (!cJSON_IsObject(r->tree))
		return rv_rpc_fail(e, RV_RPC_INVALID, "one JSON object a line is expected");
	twice = take_members(r->tree, &m);
	if (twice && !strcmp(twice, "id"))
		m.id = NULL; /* whose answer it is cannot be told */
	if (!read_id(m.id, r, e))
		return false;
	if (twice)
		return rv_rpc_fail(e, RV_RPC_INVALID, "\"%s\" is given twice", twice);
	protocol = cJSON_GetStringValue(m.version);
	if (!protocol || strcmp(protocol, "2.0") != 0)
		return rv_rpc_fail(e, RV_RPC_INVALID, "\"jsonrpc\":\"2.0\" is missing");
	if (!read_method(m.method, r, e))
		return false;
	r->quiet = !m.id;
	return read_params(m.params, r, e) && check_request(r, e);
}

void rv_request_fini(struct rv_request *r)
{
	if (r->names && r->names != r->few)
		free(r->names);
	free(r->options);
	if (r->variables)
		rv_variables_fini(r->variables);
	free(r->variables);
	cJSON_Delete(r->tree);
	r->tree = NULL;
	r->names = NULL;
	r->options = NULL;
	r->variables = NULL;
}
