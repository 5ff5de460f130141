/* What happened, a line each, and why something has not: see show.h. */
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "ctl/show.h"

static const cJSON *member(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

static const char *text_of(const cJSON *o, const char *key)
{
	const cJSON *v = member(o, key);

	return cJSON_IsString(v) ? v->valuestring : "";
}

static double number_of(const cJSON *o, const char *key)
{
	const cJSON *v = member(o, key);

	return cJSON_IsNumber(v) ? v->valuedouble : 0;
}

static void print_visible(const char *text)
{
	struct rv_buf safe = {0};

	rv_text_visible(&safe, text, strcspn(text, "\n"));
	fputs(rv_buf_text(&safe), stdout);
	rv_buf_fini(&safe);
}

/* "21:30:01.123 web ready, generation 3, pid 812: ..." */
static void print_event(const cJSON *e)
{
	const char *time = text_of(e, "time"), *detail = text_of(e, "detail");
	const char *why = *detail ? detail : text_of(e, "why");
	const char *clock = strchr(time, 'T');

	printf("%.12s ", clock ? clock + 1 : time);
	if (!strcmp(text_of(e, "event"), "boot")) {
		printf("the boot is %s\n", text_of(e, "boot"));
		return;
	}
	printf("%s %s", text_of(e, "name"),
		strcmp(text_of(e, "event"), "state") ? text_of(e, "event") : text_of(e, "state"));
	if (number_of(e, "generation") > 0)
		printf(", generation %.0f", number_of(e, "generation"));
	if (number_of(e, "pid") > 0)
		printf(", pid %.0f", number_of(e, "pid"));
	if (*why)
		printf(": ");
	print_visible(why);
	if (*why && !*detail && *text_of(e, "other"))
		printf(": %s", text_of(e, "other"));
	putchar('\n');
}

static void put_event(const struct rv_words *w, const cJSON *e)
{
	char *text;

	if (!w->json) {
		print_event(e);
		return;
	}
	text = cJSON_PrintUnformatted(e);
	puts(text ? text : "null");
	cJSON_free(text);
}

void rv_show_events(const struct rv_words *w, const cJSON *result)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, member(result, "events")) put_event(w, e);
	fflush(stdout);
}

void rv_show_event(const struct rv_words *w, const cJSON *params)
{
	const cJSON *lost = member(params, "lost");

	if (!cJSON_IsNumber(lost))
		put_event(w, member(params, "event"));
	else if (w->json)
		printf("{\"lost\":%.0f}\n", lost->valuedouble);
	else
		fprintf(stderr, "reevectl: %.0f events were lost, this reader was too slow\n",
			lost->valuedouble);
	fflush(stdout);
}

int rv_show_why(const cJSON *result)
{
	const cJSON *s;

	if (*text_of(result, "sentence")) {
		print_visible(text_of(result, "sentence"));
		putchar('\n');
	}
	cJSON_ArrayForEach(s, member(result, "services"))
	{
		print_visible(text_of(s, "sentence"));
		putchar('\n');
	}
	return CTL_OK;
}
