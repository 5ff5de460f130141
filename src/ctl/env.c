/* Variables of the sandbox: see env.h. */
#include "ctl/env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "ctl/field.h"
#include "sys/fd.h"

bool rv_env_is_set(const struct rv_words *w)
{
	return w->has_verb && w->verb == RV_VERB_ENV && w->name_count &&
		!strcmp(w->names[0], "set");
}

static bool refuse(struct rv_fault *f, const char *text)
{
	rv_fault_set(f, CTL_USAGE, "usage", "%s", text);
	return false;
}

/* number: of the argument behind `env set`, from 1. What has no name may be a value, so it is not repeated. */
static bool take_word(struct rv_variables *v, char *word, int number, struct rv_buf *why)
{
	char *equals = strchr(word, '=');
	bool good;

	if (!equals) {
		rv_buf_fmt(why, "%sargument %d has no =: NAME=VALUE is expected",
			why->len ? "\n" : "", number);
		return false;
	}
	good = rv_variables_add(v, word, (size_t)(equals - word), equals + 1, why);
	memset(equals + 1, '*', strlen(equals + 1));
	return good;
}

static bool slurp(const char *path, struct rv_buf *to, struct rv_fault *f)
{
	bool is_stdin = !strcmp(path, "-");
	rv_auto_fd file = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int fd = is_stdin ? STDIN_FILENO : file;
	ssize_t n = fd < 0 ? -1 : 1;

	to->max = RV_VARIABLES_TEXT;
	while (n > 0 || (n < 0 && fd >= 0 && errno == EINTR)) {
		if (!rv_buf_reserve(to, 4096)) {
			rv_fault_set(f, CTL_USAGE, "usage", "%s has more than %d bytes", path,
				RV_VARIABLES_TEXT - 4096);
			return false;
		}
		n = read(fd, to->data + to->len, 4096);
		if (n > 0)
			to->len += (size_t)n;
	}
	if (n == 0)
		return true;
	rv_fault_set(f, CTL_USAGE, "usage", "cannot read %s: %s", path, strerror(errno));
	return false;
}

static bool take_source(struct rv_words *w, struct rv_buf *why, struct rv_fault *f)
{
	struct rv_buf text = {0};
	bool good = slurp(w->source, &text, f);

	f->text[0] = good ? 0 : f->text[0];
	if (good)
		good = rv_variables_read(w->variables, rv_buf_text(&text), text.len, why);
	if (text.data)
		explicit_bzero(text.data, text.room);
	rv_buf_fini(&text);
	return good;
}

/* One sentence of all complaints, which come in lines. */
static bool complain(const struct rv_buf *why, const char *source, struct rv_fault *f)
{
	struct rv_buf one = {0};

	for (const char *at = rv_buf_text(why); *at; at += strspn(at, "\n")) {
		size_t n = strcspn(at, "\n");

		rv_buf_str(&one, one.len ? "; " : "");
		rv_buf_add(&one, at, n);
		at += n;
	}
	rv_fault_set(f, CTL_USAGE, "usage", "%s%s%s", source ? source : "", source ? ": " : "",
		rv_buf_text(&one));
	rv_buf_fini(&one);
	return false;
}

static bool read_set(struct rv_words *w, struct rv_fault *f)
{
	struct rv_buf why = {0};
	bool good = true;

	*f = (struct rv_fault){0};
	w->variables = calloc(1, sizeof(*w->variables));
	if (!w->variables)
		return refuse(f, "out of memory");
	if (w->source && w->name_count)
		return refuse(f, "NAME=VALUE and --json exclude each other");
	for (int i = 0; i < w->name_count; i++)
		good &= take_word(w->variables, w->names[i], i + 1, &why);
	if (w->source)
		good = take_source(w, &why, f);
	good = good && rv_variables_fit(w->variables, &why);
	if (why.len)
		complain(&why, w->source, f);
	rv_buf_fini(&why);
	if (good && !w->variables->count && !w->replace)
		return refuse(f,
			"nothing to set: NAME=VALUE, or --json with a file that has envVars, is "
			"expected");
	w->name_count = 0;
	return good;
}

bool rv_env_read(struct rv_words *w, struct rv_fault *f)
{
	if (!rv_env_is_set(w)) {
		if (w->name_count > 1)
			return refuse(f, "env takes one name, or set");
		if (w->replace || w->has_timeout)
			return refuse(f, "--replace and --timeout are for env set");
		return true;
	}
	if (w->show_values)
		return refuse(f, "env set takes no --show-values");
	w->names++;
	w->name_count--;
	return read_set(w, f);
}

/* ---- what is shown ---- */

static void join(const char *before, const cJSON *names, const char *none)
{
	const char *between = before;
	const cJSON *one;

	if (!cJSON_GetArraySize(names))
		fputs(none, stdout);
	cJSON_ArrayForEach(one, names)
	{
		printf("%s%s", between, cJSON_IsString(one) ? one->valuestring : "?");
		between = ", ";
	}
}

static int show_change(const cJSON *result)
{
	bool any = cJSON_GetArraySize(rv_field(result, "told")) ||
		cJSON_GetArraySize(rv_field(result, "restarted"));

	fputs("the sandbox has", stdout);
	join(" ", rv_field(result, "variables"), " no variables");
	join("; told: ", rv_field(result, "told"), "");
	join("; restarted: ", rv_field(result, "restarted"), "");
	join("; run with the former ones until they are restarted: ", rv_field(result, "kept"), "");
	puts(any ? "" : "; nobody runs who is told: a service has them from its next start on");
	return CTL_OK;
}

static int widest(const cJSON *list, const char *key, int least)
{
	const cJSON *one;

	cJSON_ArrayForEach(one, list)
	{
		int n = (int)strlen(rv_field_text(one, key));

		least = n > least ? n : least;
	}
	return least;
}

int rv_env_show(const struct rv_words *w, const cJSON *result)
{
	const cJSON *list = rv_field(result, "variables"), *one;
	int name = widest(list, "name", 4), source = widest(list, "source", 6);

	if (w->variables)
		return show_change(result);
	if (w->show_values)
		printf("%-*s  %-*s  %s\n", name, "NAME", source, "SOURCE", "VALUE");
	else
		printf("%-*s  %s\n", name, "NAME", "SOURCE");
	cJSON_ArrayForEach(one, list)
	{
		struct rv_buf value = {0};

		rv_text_visible(
			&value, rv_field_text(one, "value"), strlen(rv_field_text(one, "value")));
		if (w->show_values)
			printf("%-*s  %-*s  %s\n", name, rv_field_text(one, "name"), source,
				rv_field_text(one, "source"), rv_buf_text(&value));
		else
			printf("%-*s  %s\n", name, rv_field_text(one, "name"),
				rv_field_text(one, "source"));
		rv_buf_fini(&value);
	}
	if (*rv_field_text(result, "note"))
		printf("note: %s\n", rv_field_text(result, "note"));
	return CTL_OK;
}
