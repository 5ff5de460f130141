/* Log lines for people and for pipes: see show.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "ctl/show.h"
#include "wire/json.h"

/* Of several services each line gets its name in front, so lines are put together here. */
struct page {
	char *name;
	struct rv_buf rest; /* a line that has no end yet */
};

struct rv_pages {
	struct page *v;
	size_t n;
	int width;
	bool safe; /* a terminal: control characters are made visible */
};

static void print_bytes(const struct rv_pages *p, const char *bytes, size_t n)
{
	struct rv_buf text = {0};

	if (p->safe) {
		rv_text_visible(&text, bytes, n);
		fwrite(rv_buf_text(&text), 1, text.len, stdout);
	} else {
		fwrite(bytes, 1, n, stdout);
	}
	rv_buf_fini(&text);
}

static void print_lines(struct rv_pages *p, struct page *page, bool all)
{
	size_t done = 0;

	while (done < page->rest.len) {
		const char *line = page->rest.data + done;
		const char *end = memchr(line, '\n', page->rest.len - done);
		size_t len = end ? (size_t)(end - line) + 1 : page->rest.len - done;

		if (!end && !all)
			break;
		printf("%-*s | ", p->width, page->name);
		print_bytes(p, line, len);
		if (!end)
			putchar('\n');
		done += len;
	}
	rv_buf_drop(&page->rest, done);
}

void rv_show_bytes(const cJSON *part, struct rv_buf *to)
{
	const cJSON *text = cJSON_GetObjectItemCaseSensitive(part, "text");
	const cJSON *base64 = cJSON_GetObjectItemCaseSensitive(part, "base64");

	if (cJSON_IsString(text))
		rv_buf_str(to, text->valuestring);
	else if (cJSON_IsString(base64))
		rv_json_base64_read(to, base64->valuestring);
}

/* A service's part of an answer, or a notification. */
static void print_part(struct rv_pages *p, struct page *page, const cJSON *part, bool all)
{
	struct rv_buf bytes = {0};

	rv_show_bytes(part, &bytes);
	if (p->n == 1) {
		print_bytes(p, rv_buf_text(&bytes), bytes.len);
	} else {
		rv_buf_add(&page->rest, rv_buf_text(&bytes), bytes.len);
		print_lines(p, page, all || page->rest.len > RV_RPC_LINE_MAX);
	}
	rv_buf_fini(&bytes);
}

struct rv_pages *rv_pages_create(const struct rv_words *w, const cJSON *result)
{
	const cJSON *s, *services = cJSON_GetObjectItemCaseSensitive(result, "services");
	struct rv_pages *p = calloc(1, sizeof(*p));
	size_t n = (size_t)cJSON_GetArraySize(services);

	if (p)
		p->v = calloc(n + 1, sizeof(*p->v));
	if (!p || !p->v) {
		free(p);
		return NULL;
	}
	p->safe = isatty(STDOUT_FILENO);
	cJSON_ArrayForEach(s, services)
	{
		const cJSON *name = cJSON_GetObjectItemCaseSensitive(s, "name");
		struct page *page = &p->v[p->n];

		page->name = strdup(cJSON_IsString(name) ? name->valuestring : "?");
		if (!page->name)
			break;
		if ((int)strlen(page->name) > p->width)
			p->width = (int)strlen(page->name);
		p->n++;
	}
	n = 0;
	cJSON_ArrayForEach(s, services) if (n < p->n) print_part(p, &p->v[n++], s, !w->follow);
	fflush(stdout);
	return p;
}

/* Of that name; one that a reload has added has none yet. NULL: memory was refused. */
static struct page *page_of(struct rv_pages *p, const char *name)
{
	struct page *more;
	size_t i = 0;

	while (i < p->n && strcmp(p->v[i].name, name) != 0)
		i++;
	if (i < p->n)
		return &p->v[i];
	more = realloc(p->v, (p->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	p->v = more;
	p->v[p->n] = (struct page){.name = strdup(name)};
	return p->v[p->n].name ? &p->v[p->n++] : NULL;
}

void rv_pages_add(struct rv_pages *p, const cJSON *params)
{
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(params, "name");
	const cJSON *lost = cJSON_GetObjectItemCaseSensitive(params, "lost");
	struct page *page = cJSON_IsString(name) ? page_of(p, name->valuestring) : NULL;

	if (page && cJSON_IsNumber(lost))
		fprintf(stderr, "reevectl: %s: %.0f bytes were lost, this reader was too slow\n",
			page->name, lost->valuedouble);
	else if (page)
		print_part(p, page, params, false);
	fflush(stdout);
}

void rv_pages_destroy(struct rv_pages *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++) {
		print_lines(p, &p->v[i], true);
		free(p->v[i].name);
		rv_buf_fini(&p->v[i].rest);
	}
	free(p->v);
	free(p);
}
