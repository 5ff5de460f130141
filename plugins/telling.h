/* How a server is told the sandbox's variables: POST {"envVars": {...}}, the whole set each time, so that what is not in it
 * any more is gone there, too. Any 2xx means that it has them. */
#ifndef PLUGINS_TELLING_H
#define PLUGINS_TELLING_H

#include <reeve/plugin.h>

/* A turn of a hook that does nothing else. Tried once: who is told has just answered, or does so all the time. */
enum reeve_next rv_telling_update(struct reeve_turn *t, const char *url);

#endif
