/* What a plugin hands out, looked at with bounds. A pointer to nowhere still ends the host: it is looked at
 * while the page says in which hook, so the death has a name. */
#ifndef HOST_TRUST_H
#define HOST_TRUST_H

#include "reeve/plugin.h"
#include "wire/hostproto.h"

/* NULL is fine; a string or a list without an end within its bound is not. */
bool rv_trust_text(const char *s);
bool rv_trust_list(const char *const *v);
/* Reads a byte of each page of it, so that a wild pointer is met now and not later. */
void rv_trust_bytes(const void *p, size_t n);
/* The recipe that a turn of start has made. */
bool rv_trust_process(const struct reeve_turn *t);
/* Of one that is to be trusted; points into it. */
struct rv_hp_process rv_trust_recipe(const struct reeve_turn *t);

#endif
