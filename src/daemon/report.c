/* Complaints for programs: see load.h. */
#include "daemon/load.h"

#include <stdio.h>

#include "wire/json.h"

enum { EXIT_CONFIG = 78 };

/* Without a place: null for what it lacks. */
static void put_complaint(
	struct rv_buf *out, const struct rv_complaints *all, const struct rv_complaint *one)
{
	const char *text = rv_buf_text(&all->text);

	RV_JSON_LIT(out, "{\"file\":");
	if (one->file_len)
		rv_json_strn(out, text + one->start, one->file_len);
	else
		RV_JSON_LIT(out, "null");
	if (one->line) {
		rv_buf_fmt(out, ",\"line\":%u,\"column\":%u", one->line, one->column);
	} else {
		RV_JSON_LIT(out, ",\"line\":null,\"column\":null");
	}
	RV_JSON_LIT(out, ",\"warning\":");
	rv_json_bool(out, one->warning);
	RV_JSON_LIT(out, ",\"text\":");
	rv_json_strn(out, text + one->text, one->end - one->text);
	RV_JSON_LIT(out, "}");
}

void rv_load_put_complaints(const struct rv_complaints *c, struct rv_buf *out)
{
	RV_JSON_LIT(out, "\"errors\":");
	rv_json_int(out, (int64_t)c->errors);
	RV_JSON_LIT(out, ",\"warnings\":");
	rv_json_int(out, (int64_t)c->warnings);
	RV_JSON_LIT(out, ",\"complaints\":[");
	for (size_t i = 0; i < c->count; i++) {
		if (i)
			RV_JSON_LIT(out, ",");
		put_complaint(out, c, &c->list[i]);
	}
	RV_JSON_LIT(out, "]");
}

void rv_load_report(const struct rv_complaints *c, struct rv_buf *out)
{
	RV_JSON_LIT(out, "{\"ok\":");
	rv_json_bool(out, !c->errors);
	RV_JSON_LIT(out, ",");
	rv_load_put_complaints(c, out);
	RV_JSON_LIT(out, "}");
}

void rv_load_print(const struct rv_complaints *c)
{
	if (c->text.len)
		fputs(rv_buf_text(&c->text), stderr);
	if (c->text.full)
		fputs("reeve: out of memory: not every reason can be told\n", stderr);
	if (c->errors)
		fprintf(stderr, "reeve: %zu error%s in the configuration; nothing was started\n",
			c->errors, c->errors == 1 ? "" : "s");
}

static void print_sum(const struct rv_complaints *c, size_t services)
{
	printf("%zu service%s, no mistakes", services, services == 1 ? "" : "s");
	if (c->warnings)
		printf(", %zu warning%s", c->warnings, c->warnings == 1 ? "" : "s");
	puts("");
}

int rv_load_verdict(const struct rv_complaints *c, size_t services, bool json, int ended)
{
	struct rv_buf text = {0};

	if (json) {
		rv_load_report(c, &text);
		puts(rv_buf_text(&text));
		rv_buf_fini(&text);
	} else {
		rv_load_print(c);
		if (!c->errors)
			print_sum(c, services);
	}
	if (ended)
		return 128 + ended;
	return c->errors ? EXIT_CONFIG : 0;
}
