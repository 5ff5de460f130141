/* What happened, a line each, and why something has not: see show.h. */
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "ctl/field.h"
#include "ctl/show.h"

static void print_visible(const char *text)
{
	struct rv_buf safe = {0};

	rv_text_visible(&safe, text, strcspn(text, "\n"));
	fputs(rv_buf_text(&safe), stdout);
	rv_buf_fini(&safe);
}

/* What is of no single service. */
static void print_of_all(const cJSON *e)
{
	const char *event = rv_field_text(e, "event"), *detail = rv_field_text(e, "detail");

	if (!strcmp(event, "reloaded"))
		printf("the configuration was reloaded");
	else if (!strcmp(event, "environment"))
		printf("the environment was changed");
	else if (!strcmp(event, "environment-failed"))
		printf("the environment was not changed");
	else
		printf("the boot is %s", rv_field_text(e, "boot"));
	printf("%s", *detail ? ": " : "");
	print_visible(detail);
	putchar('\n');
}

/* "21:30:01.123 web ready, generation 3, pid 812: ..." */
static void print_event(const cJSON *e)
{
	const char *time = rv_field_text(e, "time"), *detail = rv_field_text(e, "detail");
	const char *why = *detail ? detail : rv_field_text(e, "why");
	const char *clock = strchr(time, 'T');

	printf("%.12s ", clock ? clock + 1 : time);
	if (!rv_field(e, "name")) {
		print_of_all(e);
		return;
	}
	printf("%s %s", rv_field_text(e, "name"),
		strcmp(rv_field_text(e, "event"), "state") ? rv_field_text(e, "event")
							   : rv_field_text(e, "state"));
	if (rv_field_number(e, "generation") > 0)
		printf(", generation %.0f", rv_field_number(e, "generation"));
	if (rv_field_number(e, "pid") > 0)
		printf(", pid %.0f", rv_field_number(e, "pid"));
	if (*why)
		printf(": ");
	print_visible(why);
	if (*why && !*detail && *rv_field_text(e, "other"))
		printf(": %s", rv_field_text(e, "other"));
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

	cJSON_ArrayForEach(e, rv_field(result, "events")) put_event(w, e);
	fflush(stdout);
}

void rv_show_event(const struct rv_words *w, const cJSON *params)
{
	const cJSON *lost = rv_field(params, "lost");

	if (!cJSON_IsNumber(lost))
		put_event(w, rv_field(params, "event"));
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

	if (*rv_field_text(result, "sentence")) {
		print_visible(rv_field_text(result, "sentence"));
		putchar('\n');
	}
	cJSON_ArrayForEach(s, rv_field(result, "services"))
	{
		print_visible(rv_field_text(s, "sentence"));
		putchar('\n');
	}
	return CTL_OK;
}
