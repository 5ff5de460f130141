/* What was asked for, as the line that goes to the daemon: see words.h. */
#include "base/buf.h"
#include "ctl/given.h"
#include "ctl/words.h"
#include "wire/json.h"
#include "wire/variables.h"

/* Writes `"key":` behind a comma when something is there already. */
static void put_key(struct rv_buf *to, bool *first, const char *key)
{
	if (!*first)
		RV_JSON_LIT(to, ",");
	*first = false;
	rv_json_str(to, key);
	RV_JSON_LIT(to, ":");
}

static void put_names(const struct rv_words *w, struct rv_buf *to, bool *first)
{
	if (!w->name_count)
		return;
	put_key(to, first, "names");
	for (int i = 0; i < w->name_count; i++) {
		rv_buf_str(to, i ? "," : "[");
		rv_json_str(to, w->names[i]);
	}
	RV_JSON_LIT(to, "]");
}

static void put_yes(struct rv_buf *to, bool *first, const char *key, bool is)
{
	if (!is)
		return;
	put_key(to, first, key);
	rv_json_bool(to, true);
}

static void put_number(struct rv_buf *to, bool *first, const char *key, bool is, int64_t n)
{
	if (!is)
		return;
	put_key(to, first, key);
	rv_json_int(to, n);
}

static void put_params(const struct rv_words *w, struct rv_buf *to)
{
	static const char *const untils[] = {"ready", "stopped", "exited"};
	bool ends = w->verb == RV_VERB_SHUTDOWN; /* how long we wait for that is our own matter */
	bool first = true;

	put_names(w, to, &first);
	put_yes(to, &first, "all", w->all);
	put_yes(to, &first, "no_wait", w->no_wait && !ends);
	put_number(to, &first, "timeout_ms", w->has_timeout && !ends,
		(w->timeout + RV_MS - 1) / RV_MS);
	put_number(to, &first, "generation", w->has_generation, (int64_t)w->generation);
	put_number(to, &first, "signal", w->signal, w->signal);
	if (w->has_until) {
		put_key(to, &first, "until");
		rv_json_str(to, untils[w->until]);
	}
	put_number(to, &first, "lines", w->has_lines, w->lines);
	put_yes(to, &first, "dry_run", w->dry_run);
	put_yes(to, &first, "follow", w->follow);
	put_yes(to, &first, "if_lost", w->if_lost);
	if (w->given) {
		put_key(to, &first, "options");
		rv_given_put(w->given, to);
	}
	put_yes(to, &first, "show_values", w->show_values);
	put_yes(to, &first, "replace", w->replace);
	if (w->variables) {
		put_key(to, &first, "environment");
		rv_variables_put(w->variables, to);
	}
}

void rv_words_request(const struct rv_words *w, const char *id, struct rv_buf *to)
{
	RV_JSON_LIT(to, "{\"jsonrpc\":\"2.0\",\"id\":");
	rv_buf_str(to, id);
	RV_JSON_LIT(to, ",\"method\":");
	rv_json_str(to, rv_verb_name(w->verb));
	RV_JSON_LIT(to, ",\"params\":{");
	put_params(w, to);
	RV_JSON_LIT(to, "}}\n");
}
