/* Why libyaml could not go on, with the place, and with a guess at what was meant. */
#ifndef CONF_YAMLERROR_H
#define CONF_YAMLERROR_H

#include <yaml.h>

#include "conf/conf.h"

struct rv_yaml_text { /* the whole file */
	const char *file, *bytes;
	size_t len;
};
/* p has failed, and not for want of memory. */
void rv_yaml_complain(
	const struct rv_yaml_text *t, const yaml_parser_t *p, struct rv_complaints *c);

#endif
