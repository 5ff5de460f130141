/* Looks at what a plugin handed out before anybody relies on it: see trust.h. */
#include "host/trust.h"

#include <string.h>

enum {
	LIST_MAX = 4096, /* strings of an argv or an environment */
	PORTS_MAX = 1024,
	TEXT_MAX = 1 << 17,
};

/* At most TEXT_MAX bytes are looked at: a string without an end is refused. */
bool rv_trust_text(const char *s)
{
	return !s || strnlen(s, TEXT_MAX) < TEXT_MAX;
}

void rv_trust_bytes(const void *p, size_t n)
{
	const volatile char *bytes = p;

	for (size_t i = 0; i < n; i += 4096)
		(void)bytes[i];
	if (n)
		(void)bytes[n - 1];
}

bool rv_trust_list(const char *const *v)
{
	size_t n = 0;

	while (v && v[n] && n < LIST_MAX && rv_trust_text(v[n]))
		n++;
	return !v || !v[n];
}

bool rv_trust_process(const struct reeve_turn *t)
{
	const struct reeve_process *p = &t->process;

	return rv_trust_list(p->argv) && rv_trust_list(p->env) &&
		(unsigned)p->type <= REEVE_LAUNCHER && p->port_count <= PORTS_MAX &&
		(!p->port_count || p->ports) && rv_trust_text(p->log_file) &&
		rv_trust_text(t->pid_file);
}

struct rv_hp_process rv_trust_recipe(const struct reeve_turn *t)
{
	const struct reeve_process *p = &t->process;

	return (struct rv_hp_process){.argv = p->argv,
		.env = p->env,
		.ports = p->ports,
		.port_count = (uint32_t)p->port_count,
		.type = (uint8_t)p->type,
		.main_pid = p->main_pid,
		.pid_file = t->pid_file,
		.main_port = t->main_port,
		.log_file = p->log_file,
		.is_static = p->is_static,
		.unused = (uint8_t)(t->unused % RV_HP_UNUSED)};
}
