/* Answers with what is no answer; which one, the number of the attempt says. */
#include <string.h>

#include <reeve/plugin.h>

static char endless[1 << 18];

static enum reeve_next probe(void *self, struct reeve_turn *t)
{
	(void)self;
	memset(endless, 'x', sizeof(endless));
	switch (t->attempt) {
	case 1: return (enum reeve_next)77;
	case 2: t->why = endless; return REEVE_FAIL;
	case 3: return REEVE_HTTP; /* without a URL */
	case 4: t->http.url = endless; return REEVE_HTTP;
	case 5: return REEVE_RUN; /* without an argv */
	case 6:
		for (int i = 0; i < 100000; i++)
			t->why = reeve_fmt(t, "%d and more", i);
		return REEVE_OK;
	case 7:
		t->http.url = "http://127.0.0.1/";
		t->http.body = endless;
		t->http.body_len = SIZE_MAX;
		return REEVE_HTTP;
	default: t->why = "at last"; return REEVE_OK;
	}
}

static const struct reeve_ops ops = {.size = sizeof(struct reeve_ops), .probe = probe};

REEVE_EXPORT const struct reeve_plugin reeve_plugin_v1 = {
	.abi = REEVE_ABI,
	.size = sizeof(struct reeve_plugin),
	.name = "garbage",
	.summary = "misbehaves",
	.ops = &ops,
};
