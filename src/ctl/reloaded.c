/* What a reload has changed: see show.h. */
#include <stdio.h>

#include "ctl/field.h"
#include "ctl/show.h"

static int refused(const cJSON *result)
{
	double errors = rv_field_number(result, "errors");

	rv_show_complaints(stderr, result);
	fprintf(stderr, "reevectl: cannot reload: %.0f error%s; reeve runs on as it was\n", errors,
		errors > 1 ? "s" : "");
	return CTL_FAILED;
}

static void print_list(const char *what, const cJSON *names)
{
	const cJSON *one;
	const char *before = ": ";

	if (!cJSON_GetArraySize(names))
		return;
	fputs(what, stdout);
	cJSON_ArrayForEach(one, names)
	{
		printf("%s%s", before, cJSON_IsString(one) ? one->valuestring : "?");
		before = ", ";
	}
	putchar('\n');
}

int rv_show_reload(const struct rv_words *w, const cJSON *result)
{
	if (rv_field_number(result, "errors") > 0)
		return refused(result);
	rv_show_complaints(stderr, result);
	print_list("added", rv_field(result, "added"));
	print_list("removed", rv_field(result, "removed"));
	print_list("changed", rv_field(result, "changed"));
	print_list("restarted with these", rv_field(result, "restarted"));
	print_list("adjusted", rv_field(result, "adjusted"));
	printf("unchanged: %.0f\n", rv_field_number(result, "unchanged"));
	if (w->dry_run)
		printf("all this would come of a reload; nothing was done\n");
	return rv_show_results(w, result);
}
