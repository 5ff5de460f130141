/* The methods that tell of the configuration: check, plan, plugins. Secrets and values of environment variables
 * never leave. See ctl.h. */
#include "daemon/control.h"

#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "daemon/ctl.h"
#include "daemon/load.h"
#include "wire/json.h"

void rv_verb_check(struct rv_conn *c, const struct rv_request *r)
{
	struct rv_control *k = c->control;
	struct rv_buf *out = &c->output;
	struct rv_complaints found = {0};

	if (!k->load) {
		rv_verb_error(c, r, RV_RPC_REFUSED, "there are no files to check yet");
		return;
	}
	rv_load_check(k->load, rv_engine_conf(k->engine), &found);
	rv_rpc_begin(out, r->id);
	rv_load_report(&found, out);
	rv_rpc_end(out);
	rv_complaints_fini(&found);
}

void rv_verb_plan(struct rv_conn *c, const struct rv_request *r)
{
	const struct rv_conf *conf = rv_engine_conf(c->control->engine);
	struct rv_buf *out = &c->output;
	struct rv_mask *mask = rv_mask_create(conf);
	struct rv_buf text = {0};

	if (!mask) {
		rv_verb_error(c, r, RV_RPC_INTERNAL, "out of memory");
		return;
	}
	rv_conf_print(conf, &text);
	rv_rpc_begin(out, r->id);
	RV_JSON_LIT(out, "{\"text\":");
	rv_json_strn(out, rv_buf_text(&text), text.len);
	RV_JSON_LIT(out, ",\"services\":[");
	for (size_t i = 0; conf->plan && i < conf->plan->present; i++) {
		if (i)
			RV_JSON_LIT(out, ",");
		rv_verb_put_planned(out, mask, conf, conf->plan->order[i]);
	}
	RV_JSON_LIT(out, "]}");
	rv_rpc_end(out);
	rv_buf_fini(&text);
	rv_mask_destroy(mask);
}

static void put_bound(struct rv_buf *out, const struct rv_key *key, int64_t v)
{
	char text[64];

	if (key->type == RV_KEY_DURATION)
		rv_json_str(out, rv_text_dur(v, text, sizeof(text)));
	else
		rv_json_int(out, v);
}

static const char *key_type_name(enum rv_key_type t)
{
	switch (t) {
	case RV_KEY_STRING: return "string";
	case RV_KEY_INT: return "int";
	case RV_KEY_BOOL: return "bool";
	case RV_KEY_DURATION: return "duration";
	case RV_KEY_SIZE: return "size";
	case RV_KEY_PORT: return "port";
	case RV_KEY_PATH: return "path";
	case RV_KEY_WORDS: return "words";
	case RV_KEY_SECRET: return "secret";
	case RV_KEY_JSON: return "json";
	case RV_KEY_SECRET_JSON: return "secret-json";
	}
	return "?";
}

static void put_key(struct rv_buf *out, const struct rv_key *key)
{
	RV_JSON_LIT(out, "{\"name\":");
	rv_json_str(out, key->name);
	RV_JSON_STR(out, "type", key_type_name(key->type));
	if (key->min || key->max) {
		RV_JSON_LIT(out, ",\"min\":");
		put_bound(out, key, key->min);
		RV_JSON_LIT(out, ",\"max\":");
		put_bound(out, key, key->max);
	}
	RV_JSON_STR(
		out, "default", key->preset && rv_key_is_secret(key->type) ? "***" : key->preset);
	RV_JSON_STR(out, "env", key->env);
	RV_JSON_BOOL(out, "secret", rv_key_is_secret(key->type));
	RV_JSON_STR(out, "summary", key->summary);
	RV_JSON_LIT(out, "}");
}

static void put_plugin(struct rv_buf *out, const struct rv_plugin_table *t)
{
	bool first = true;

	RV_JSON_LIT(out, "{\"name\":");
	rv_json_str(out, t->name);
	RV_JSON_STR(out, "summary", t->summary);
	RV_JSON_STR(out, "error", t->error);
	RV_JSON_LIT(out, ",\"hooks\":[");
	for (unsigned h = 0; h < RV_HOOK_COUNT; h++) {
		if (!(t->hooks & RV_HAS(h)))
			continue;
		if (!first)
			RV_JSON_LIT(out, ",");
		first = false;
		rv_json_str(out, rv_hook_name((enum rv_hook)h));
	}
	RV_JSON_LIT(out, "],\"options\":[");
	for (size_t i = 0; i < t->key_count; i++) {
		if (i)
			RV_JSON_LIT(out, ",");
		put_key(out, &t->keys[i]);
	}
	RV_JSON_LIT(out, "]}");
}

static bool is_first_of(const struct rv_conf *conf, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (conf->services[i].name && conf->services[i].table == conf->services[at].table)
			return false;
	return true;
}

void rv_verb_plugins(struct rv_conn *c, const struct rv_request *r)
{
	const struct rv_conf *conf = rv_engine_conf(c->control->engine);
	struct rv_buf *out = &c->output;
	bool first = true;

	rv_rpc_begin(out, r->id);
	RV_JSON_LIT(out, "{\"plugins\":[");
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct rv_service *s = &conf->services[i];

		if (!s->name || !s->table || !is_first_of(conf, i))
			continue;
		if (!first)
			RV_JSON_LIT(out, ",");
		first = false;
		put_plugin(out, s->table);
	}
	RV_JSON_LIT(out, "]}");
	rv_rpc_end(out);
}
