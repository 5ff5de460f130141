/* Why a file is not YAML: see yamlerror.h. */
#include "conf/yamlerror.h"

#include <string.h>

/* Bytes that are no text are found before libyaml has lines: it only knows their offset. */
static struct rv_place place_of_byte(const struct rv_yaml_text *t, size_t offset)
{
	struct rv_place at = {t->file, 1, 1};

	for (size_t i = 0; i < offset && i < t->len; i++) {
		if (t->bytes[i] == '\n')
			at = (struct rv_place){t->file, at.line + 1, 1};
		else if (((unsigned char)t->bytes[i] & 0xc0) != 0x80)
			at.column++;
	}
	return at;
}

static const char *line_at(const struct rv_yaml_text *t, size_t line)
{
	const char *s = t->bytes, *end = t->bytes + t->len;

	for (; line && s; line--) {
		s = memchr(s, '\n', (size_t)(end - s));
		s = s ? s + 1 : NULL;
	}
	return s ? s : end;
}

/* Blanks and tabs are one byte each: what is in front of a tab at the place counts as bytes, or the line
   has other letters, and then the hint is missing. */
static bool is_tab(const struct rv_yaml_text *t, struct rv_place at)
{
	const char *s = line_at(t, at.line - 1), *end = t->bytes + t->len;

	return at.column <= (size_t)(end - s) && s[at.column - 1] == '\t';
}

static bool is_quote_or_dollar(char c)
{
	return c == '"' || c == '\'' || c == '$';
}

/* Inside { } the { of ${ begins a map. libyaml finds that at the end, so the lines of the map are searched. */
static const char *flow_hint(const struct rv_yaml_text *t, const yaml_parser_t *p)
{
	const char *s = line_at(t, p->context_mark.line),
		   *end = line_at(t, p->problem_mark.line + 1);

	if (!strstr(p->context, "flow"))
		return "";
	while (s && s < end) {
		s = memchr(s, '$', (size_t)(end - s));
		if (s && ++s < end && *s == '{' &&
			(s == t->bytes + 1 || !is_quote_or_dollar(s[-2])))
			return "; between { } or [ ] a ${...} needs quotes";
	}
	return "";
}

void rv_yaml_complain(const struct rv_yaml_text *t, const yaml_parser_t *p, struct rv_complaints *c)
{
	const char *problem = p->problem ? p->problem : "cannot be read";
	struct rv_place at = {
		t->file, (uint32_t)p->problem_mark.line + 1, (uint32_t)p->problem_mark.column + 1};

	if (p->error == YAML_READER_ERROR)
		rv_complain(c, place_of_byte(t, p->problem_offset), "cannot read: %s", problem);
	else if (is_tab(t, at))
		rv_complain(c, at, "not YAML: a tab cannot indent or separate: use blanks");
	else if (p->context)
		rv_complain(c, at, "not YAML: %s, %s that began in line %zu%s", problem, p->context,
			p->context_mark.line + 1, flow_hint(t, p));
	else
		rv_complain(c, at, "not YAML: %s", problem);
}
