/* Options of one start: see given.h. */
#include "ctl/given.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/words.h"
#include "sys/fd.h"
#include "wire/json.h"
#include "wire/rpc.h"

struct one {
	char *key;
	struct rv_buf value;
};

struct rv_given {
	size_t count;
	bool read_stdin;
	struct one list[RV_RPC_OPTIONS_MAX];
};

static bool refuse(struct rv_fault *f, const char *format, ...) RV_PRINTF(2, 3);
static bool refuse(struct rv_fault *f, const char *format, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	rv_fault_set(f, CTL_USAGE, "usage", "%s", text);
	return false;
}

/* All of it, as text, without the newline that editors put at an end. */
static bool slurp(struct one *o, int fd, const char *name, struct rv_fault *f)
{
	ssize_t n = 1;

	o->value.max = RV_RPC_LINE_MAX;
	while (n) {
		if (!rv_buf_reserve(&o->value, 4096))
			return refuse(f, "option %s: %s has more than %d bytes", o->key, name,
				RV_RPC_LINE_MAX - 4096);
		n = read(fd, o->value.data + o->value.len, 4096);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return refuse(
				f, "option %s: cannot read %s: %s", o->key, name, strerror(errno));
		o->value.len += (size_t)n;
	}
	if (o->value.len && o->value.data[o->value.len - 1] == '\n')
		o->value.len--;
	o->value.data[o->value.len] = 0;
	if (!rv_json_is_text(o->value.data, o->value.len))
		return refuse(f, "option %s: what %s has is no text: not UTF-8, or with a NUL byte",
			o->key, name);
	return true;
}

static bool read_from(struct rv_given *g, struct one *o, const char *name, struct rv_fault *f)
{
	rv_auto_fd fd = -1;

	if (!*name)
		return refuse(f, "option %s: a file is missing behind @ (@- is stdin)", o->key);
	if (!strcmp(name, "-")) {
		if (g->read_stdin)
			return refuse(f, "option %s: stdin is another option's already", o->key);
		g->read_stdin = true;
		return slurp(o, STDIN_FILENO, "stdin", f);
	}
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return refuse(f, "option %s: cannot open %s: %s", o->key, name, strerror(errno));
	return slurp(o, fd, name, f);
}

static bool take_word(struct one *o, char *value, struct rv_fault *f)
{
	size_t n = strlen(value);

	if (!rv_json_is_text(value, n))
		return refuse(f, "option %s: its value is not UTF-8", o->key);
	if (!rv_buf_str(&o->value, value + (value[0] == '@')))
		return refuse(f, "option %s: out of memory", o->key);
	memset(value, '*', n);
	return true;
}

bool rv_given_add(struct rv_given **at, char *word, struct rv_fault *f)
{
	char *equals = strchr(word, '=');
	struct rv_given *g = *at;
	struct one *o;

	if (!equals || equals == word)
		return refuse(f, "--option wants KEY=VALUE, KEY=@FILE or KEY=@-");
	if (!g)
		g = *at = calloc(1, sizeof(*g));
	if (!g)
		return refuse(f, "out of memory");
	if (g->count == RV_RPC_OPTIONS_MAX)
		return refuse(f, "at most %d options can be given", RV_RPC_OPTIONS_MAX);
	o = &g->list[g->count];
	o->key = strndup(word, (size_t)(equals - word));
	if (!o->key)
		return refuse(f, "out of memory");
	g->count++;
	for (size_t i = 0; i + 1 < g->count; i++)
		if (!strcmp(g->list[i].key, o->key))
			return refuse(f, "option %s is given twice", o->key);
	if (equals[1] == '@' && equals[2] != '@')
		return read_from(g, o, equals + 2, f);
	return take_word(o, equals + 1, f);
}

void rv_given_put(const struct rv_given *g, struct rv_buf *to)
{
	RV_JSON_LIT(to, "{");
	for (size_t i = 0; i < g->count; i++) {
		if (i)
			RV_JSON_LIT(to, ",");
		rv_json_str(to, g->list[i].key);
		RV_JSON_LIT(to, ":");
		rv_json_str(to, rv_buf_text(&g->list[i].value));
	}
	RV_JSON_LIT(to, "}");
}

void rv_given_destroy(struct rv_given *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->count; i++) {
		free(g->list[i].key);
		if (g->list[i].value.data)
			explicit_bzero(g->list[i].value.data, g->list[i].value.room);
		rv_buf_fini(&g->list[i].value);
	}
	free(g);
}
